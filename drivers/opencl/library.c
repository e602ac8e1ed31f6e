/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c: OpenCL's library, loaded when somebody wants a device, and the names of its errors.
 * Threads: loading by the main thread; names any. Owns: orr_cl. Not here: what is done with it.
 *
 * It is never unloaded: it has threads of its own. ORRERY_OPENCL_LIBRARY names another file, for tests. */
#include <dlfcn.h>
#include <string.h>

#include "core/base/env.h"
#include "core/base/log.h"
#include "drivers/opencl/opencl.h"

struct orr_opencl_library orr_cl;
static int (*runs_cpu_functions)(void); /* of a test's library; NULL: it is OpenCL's */

/* Fills in the table; the name of what the library lacks, NULL: nothing. */
static const char *fill_in(void *library, struct orr_opencl_library *out)
{
#define TAKE(name)                                                                                           \
    if (!(out->name = (__typeof__(out->name))dlsym(library, "cl" #name))) return "cl" #name;
    ORR_OPENCL_FUNCTIONS(TAKE)
#undef TAKE
    return NULL;
}

bool orr_opencl_load(void)
{
    static bool loaded;
    if (loaded) return true;
    const char *file = orr_env_string(ORR_SETTING(ORRERY_OPENCL_LIBRARY));
    if (!file) file = "libOpenCL.so.1";
    if (strcmp(file, "none") == 0) return false;
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        orr_info("OpenCL devices are not looked for: %s", dlerror());
        return false;
    }
    const char *lacks = fill_in(library, &orr_cl);
    if (lacks) {
        orr_info("OpenCL devices are not looked for: %s has no %s; OpenCL 1.2 is needed", file, lacks);
        dlclose(library);
        return false;
    }
    runs_cpu_functions = (int (*)(void))dlsym(library, "shim_runs_cpu_functions");
    loaded = true;
    return true;
}

bool orr_opencl_runs_cpu_functions(void)
{
    return runs_cpu_functions && runs_cpu_functions();
}

/* ---- errors ---- */

static const struct {
    cl_int status;
    const char *name;
} names[] = {
#define NAME(error)                                                                                          \
    {                                                                                                        \
        error, #error                                                                                        \
    }
    NAME(CL_SUCCESS),
    NAME(CL_DEVICE_NOT_FOUND),
    NAME(CL_DEVICE_NOT_AVAILABLE),
    NAME(CL_COMPILER_NOT_AVAILABLE),
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    NAME(CL_OUT_OF_RESOURCES),
    NAME(CL_OUT_OF_HOST_MEMORY),
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE),
    NAME(CL_MEM_COPY_OVERLAP),
    NAME(CL_IMAGE_FORMAT_MISMATCH),
    NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED),
    NAME(CL_BUILD_PROGRAM_FAILURE),
    NAME(CL_MAP_FAILURE),
    NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NAME(CL_COMPILE_PROGRAM_FAILURE),
    NAME(CL_LINKER_NOT_AVAILABLE),
    NAME(CL_LINK_PROGRAM_FAILURE),
    NAME(CL_DEVICE_PARTITION_FAILED),
    NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    NAME(CL_INVALID_VALUE),
    NAME(CL_INVALID_DEVICE_TYPE),
    NAME(CL_INVALID_PLATFORM),
    NAME(CL_INVALID_DEVICE),
    NAME(CL_INVALID_CONTEXT),
    NAME(CL_INVALID_QUEUE_PROPERTIES),
    NAME(CL_INVALID_COMMAND_QUEUE),
    NAME(CL_INVALID_HOST_PTR),
    NAME(CL_INVALID_MEM_OBJECT),
    NAME(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR),
    NAME(CL_INVALID_IMAGE_SIZE),
    NAME(CL_INVALID_SAMPLER),
    NAME(CL_INVALID_BINARY),
    NAME(CL_INVALID_BUILD_OPTIONS),
    NAME(CL_INVALID_PROGRAM),
    NAME(CL_INVALID_PROGRAM_EXECUTABLE),
    NAME(CL_INVALID_KERNEL_NAME),
    NAME(CL_INVALID_KERNEL_DEFINITION),
    NAME(CL_INVALID_KERNEL),
    NAME(CL_INVALID_ARG_INDEX),
    NAME(CL_INVALID_ARG_VALUE),
    NAME(CL_INVALID_ARG_SIZE),
    NAME(CL_INVALID_KERNEL_ARGS),
    NAME(CL_INVALID_WORK_DIMENSION),
    NAME(CL_INVALID_WORK_GROUP_SIZE),
    NAME(CL_INVALID_WORK_ITEM_SIZE),
    NAME(CL_INVALID_GLOBAL_OFFSET),
    NAME(CL_INVALID_EVENT_WAIT_LIST),
    NAME(CL_INVALID_EVENT),
    NAME(CL_INVALID_OPERATION),
    NAME(CL_INVALID_GL_OBJECT),
    NAME(CL_INVALID_BUFFER_SIZE),
    NAME(CL_INVALID_MIP_LEVEL),
    NAME(CL_INVALID_GLOBAL_WORK_SIZE),
    NAME(CL_INVALID_PROPERTY),
    NAME(CL_INVALID_IMAGE_DESCRIPTOR),
    NAME(CL_INVALID_COMPILER_OPTIONS),
    NAME(CL_INVALID_LINKER_OPTIONS),
    NAME(CL_INVALID_DEVICE_PARTITION_COUNT),
#undef NAME
};

const char *orr_opencl_error(cl_int status)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].status == status) return names[i].name;
    return "unknown OpenCL error";
}
