/* SPDX-License-Identifier: BSD-3-Clause */
/* program.c: programs in OpenCL C: found, built for each device, stored as binaries; their kernels.
 * Threads: any. Owns: nothing. Not here: launching (the codelets' functions do that themselves).
 *
 * Binaries are stored beside the models, one for each device: what a device is called and which driver it has
 * is in the file's name, so that another machine or another driver does not take it for its own. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/env.h"
#include "core/base/log.h"
#include "core/perf/store.h"
#include "drivers/opencl/opencl.h"

/* What programs have for starpu_opencl_load_program_source (starpu_opencl.h). */
enum { PATH_BYTES = 1024, SOURCE_BYTES = 65536 };

/* ---- sources ---- */

static bool open_at(const char *folder, const char *name, FILE **file_out, char path_out[PATH_BYTES])
{
    int n = snprintf(path_out, PATH_BYTES, "%s%s%s", folder, folder[0] ? "/" : "", name);
    if (n < 0 || n >= PATH_BYTES) return false;
    *file_out = fopen(path_out, "r");
    return *file_out != NULL;
}

/* Opens a source: as it is named, else in the folder of the setting. NULL: there is none. */
static FILE *open_source(const char *name, char path_out[PATH_BYTES])
{
    const char *folder = orr_env_string(ORR_SETTING(STARPU_OPENCL_PROGRAM_DIR));
    FILE *f;
    if (open_at("", name, &f, path_out)) return f;
    if (folder && name[0] != '/' && open_at(folder, name, &f, path_out)) return f;
    orr_error(
        "the OpenCL source %s cannot be read (%s): it is looked for from the working folder, and in the "
        "one that STARPU_OPENCL_PROGRAM_DIR names",
        name, strerror(errno));
    return NULL;
}

/* All of a file, ended by a 0; NULL: it cannot be read. */
static char *read_all(FILE *f, size_t *bytes_out)
{
    size_t room = 4096, used = 0;
    char *text = orr_malloc(room);
    while (text) {
        used += fread(text + used, 1, room - 1 - used, f);
        if (used < room - 1) break;
        char *more = orr_realloc(text, room *= 2);
        if (!more) orr_free(text);
        text = more;
    }
    if (text && ferror(f)) {
        orr_free(text);
        return NULL;
    }
    if (text) text[used] = 0;
    *bytes_out = used;
    return text;
}

static void folder_of(const char *path, char folder_out[PATH_BYTES])
{
    const char *slash = strrchr(path, '/');
    snprintf(folder_out, PATH_BYTES, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

/* A source, its path and its folder; NULL: it was said why not. */
static char *load_source(const char *name, char path_out[PATH_BYTES], char folder_out[PATH_BYTES])
{
    size_t bytes;
    path_out[0] = folder_out[0] = 0;
    FILE *f = open_source(name, path_out);
    if (!f) {
        path_out[0] = 0;
        return NULL;
    }
    char *text = read_all(f, &bytes);
    if (!text) orr_error("the OpenCL source %s cannot be read, or is too large", path_out);
    fclose(f);
    folder_of(path_out, folder_out);
    return text;
}

void starpu_opencl_load_program_source(const char *source_file_name, char *located_file_name,
                                       char *located_dir_name, char *opencl_program_source)
{
    char *text = load_source(source_file_name, located_file_name, located_dir_name);
    size_t bytes = text ? strlen(text) : 0;
    if (bytes >= SOURCE_BYTES)
        orr_error("the OpenCL source %s has %zu bytes, of which %d are taken; call "
                  "starpu_opencl_load_program_source_malloc()",
                  source_file_name, bytes, SOURCE_BYTES - 1);
    snprintf(opencl_program_source, SOURCE_BYTES, "%s", text ? text : "");
    orr_free(text);
}

void starpu_opencl_load_program_source_malloc(const char *source_file_name, char **located_file_name,
                                              char **located_dir_name, char **opencl_program_source)
{
    char path[PATH_BYTES] = "", folder[PATH_BYTES] = "";
    *opencl_program_source = load_source(source_file_name, path, folder);
    *located_file_name = orr_strdup(path);
    *located_dir_name = orr_strdup(folder);
}

/* ---- building ---- */

/* What the compiler said, line by line. */
static void show_log(const struct orr_opencl_device *d, cl_program program)
{
    size_t bytes = 0;
    char *save = NULL;
    if (orr_cl.GetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) != CL_SUCCESS)
        return;
    char *text = orr_calloc(1, bytes + 1);
    if (text &&
        orr_cl.GetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, bytes, text, NULL) == CL_SUCCESS)
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            orr_error("  %s", line);
    orr_free(text);
}

/* Builds what was made of a source or a binary; takes it over. */
static cl_int build(const struct orr_opencl_device *d, cl_program program, const char *name,
                    const char *options, cl_program *program_out)
{
    cl_int r = orr_cl.BuildProgram(program, 1, &d->id, options, NULL, NULL);
    if (r == CL_SUCCESS) {
        *program_out = program;
        return r;
    }
    orr_error("the OpenCL program %s cannot be built for %s with options \"%s\": %s (%d); the compiler says:",
              name, d->name, options ? options : "", orr_opencl_error(r), (int)r);
    show_log(d, program);
    orr_cl.ReleaseProgram(program);
    return r;
}

static cl_int build_source(const struct orr_opencl_device *d, const char *source, const char *name,
                           const char *options, cl_program *program_out)
{
    cl_int r;
    cl_program program = orr_cl.CreateProgramWithSource(d->context, 1, &source, NULL, &r);
    if (program) return build(d, program, name, options, program_out);
    orr_error("the OpenCL program %s cannot be made for %s: %s (%d)", name, d->name, orr_opencl_error(r),
              (int)r);
    return r;
}

int starpu_opencl_unload_opencl(struct starpu_opencl_program *opencl_programs)
{
    cl_int first = CL_SUCCESS;
    for (int i = 0; i < STARPU_MAXOPENCLDEVS; i++) {
        cl_program p = opencl_programs->programs[i];
        cl_int r = p ? orr_cl.ReleaseProgram(p) : CL_SUCCESS;
        if (first == CL_SUCCESS) first = r;
        opencl_programs->programs[i] = NULL;
    }
    return first;
}

/* Makes the program of each device by a function; on an error none is left. */
typedef cl_int (*make_fn)(const struct orr_opencl_device *d, void *arg, cl_program *program_out);

static int make_each(struct starpu_opencl_program *programs, make_fn make, void *arg)
{
    memset(programs, 0, sizeof *programs);
    for (int i = 0; i < STARPU_MAXOPENCLDEVS; i++) {
        const struct orr_opencl_device *d = orr_opencl_device(i);
        cl_int r = d ? make(d, arg, &programs->programs[i]) : CL_SUCCESS;
        if (r == CL_SUCCESS) continue;
        starpu_opencl_unload_opencl(programs);
        return r;
    }
    return CL_SUCCESS;
}

struct source {
    const char *text, *name, *options;
};

static cl_int make_of_source(const struct orr_opencl_device *d, void *arg, cl_program *program_out)
{
    const struct source *s = arg;
    return build_source(d, s->text, s->name, s->options, program_out);
}

int starpu_opencl_load_opencl_from_string(const char *opencl_program_source,
                                          struct starpu_opencl_program *opencl_programs,
                                          const char *build_options)
{
    return make_each(opencl_programs, make_of_source,
                     &(struct source){ opencl_program_source, "(a text)", build_options });
}

/* The text of a file, and options with which it finds what it includes; both to be freed. */
static int prepare_file(const char *name, const char *options, char **text_out, char **options_out)
{
    char path[PATH_BYTES], folder[PATH_BYTES];
    *options_out = NULL;
    *text_out = load_source(name, path, folder);
    if (!*text_out) return CL_INVALID_VALUE;
    *options_out = orr_printf_alloc("-I %s%s%s", folder, options ? " " : "", options ? options : "");
    if (*options_out) return CL_SUCCESS;
    orr_free(*text_out);
    return CL_OUT_OF_HOST_MEMORY;
}

int starpu_opencl_load_opencl_from_file(const char *source_file_name,
                                        struct starpu_opencl_program *opencl_programs,
                                        const char *build_options)
{
    char *text, *options;
    memset(opencl_programs, 0, sizeof *opencl_programs);
    int r = prepare_file(source_file_name, build_options, &text, &options);
    if (r != CL_SUCCESS) return r;
    r = make_each(opencl_programs, make_of_source, &(struct source){ text, source_file_name, options });
    orr_free(text);
    orr_free(options);
    return r;
}

/* ---- binaries ---- */

enum { PLACES = STARPU_MAXOPENCLDEVS > 0 ? STARPU_MAXOPENCLDEVS : 1 };

/* Letters, digits and what else may stand in a file's name. */
static void plain(char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '.' && *text != '-') *text = '_';
}

/* The file of a program for a device. False: there is no folder for it, or its name is too long. */
static bool binary_path(const struct orr_opencl_device *d, const char *id, bool make, char path[PATH_BYTES])
{
    char folder[PATH_BYTES], own[256], device[96] = "", driver[64] = "";
    const char *slash = strrchr(id, '/');
    orr_cl.GetDeviceInfo(d->id, CL_DEVICE_NAME, sizeof device, device, NULL);
    orr_cl.GetDeviceInfo(d->id, CL_DRIVER_VERSION, sizeof driver, driver, NULL);
    device[sizeof device - 1] = driver[sizeof driver - 1] = 0;
    if (orr_store_folder("programs", folder, sizeof folder, make) != 0) return false;
    if (snprintf(own, sizeof own, "%s.%s.%s", slash ? slash + 1 : id, device, driver) >= (int)sizeof own)
        return false;
    plain(own);
    return snprintf(path, PATH_BYTES, "%s/%s", folder, own) < PATH_BYTES;
}

/* A program has a place for each device of its context, and was built for this one. */
static cl_int get_binary(const struct orr_opencl_device *d, cl_program program, unsigned char **bytes_out,
                         size_t *size_out)
{
    cl_device_id devices[PLACES];
    size_t sizes[PLACES] = { 0 }, used = 0;
    unsigned char *binaries[PLACES] = { NULL };
    unsigned at = 0;
    cl_int r = orr_cl.GetProgramInfo(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &used);
    if (r != CL_SUCCESS) return r;
    unsigned n = (unsigned)(used / sizeof devices[0]);
    while (at < n && devices[at] != d->id) at++;
    r = orr_cl.GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &used);
    if (r != CL_SUCCESS) return r;
    if (used == sizeof sizes[0]) at = 0; /* PoCL leaves out devices for which it was not built */
    if (at == n || sizes[at] == 0) return CL_INVALID_BINARY;
    if (!(binaries[at] = orr_malloc(sizes[at]))) return CL_OUT_OF_HOST_MEMORY;
    r = orr_cl.GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binaries, binaries, NULL);
    if (r != CL_SUCCESS) {
        orr_free(binaries[at]);
        return r;
    }
    *bytes_out = binaries[at];
    *size_out = sizes[at];
    return CL_SUCCESS;
}

/* What stands before a binary in its file: libraries believe what they are given, and crash on what is
 * damaged. */
struct binary_head {
    char magic[24];
    uint64_t bytes, checksum;
};
static const char binary_magic[24] = "Orrery OpenCL binary 1\n";

static bool write_binary(const char *path, const void *bytes, size_t size)
{
    struct binary_head head = { .bytes = size, .checksum = orr_store_checksum(bytes, size) };
    char *all = orr_malloc(sizeof head + size);
    int r = -ENOMEM;
    if (all) {
        memcpy(head.magic, binary_magic, sizeof head.magic);
        memcpy(all, &head, sizeof head);
        memcpy(all + sizeof head, bytes, size);
        r = orr_store_replace(path, all, sizeof head + size);
    }
    orr_free(all);
    if (r) orr_error("the OpenCL binary %s cannot be written: %s", path, strerror(-r));
    return r == 0;
}

/* The binary in what a file holds; NULL: it is damaged. */
static const unsigned char *binary_in(const char *all, size_t size, size_t *size_out)
{
    struct binary_head head;
    if (size < sizeof head) return NULL;
    memcpy(&head, all, sizeof head);
    *size_out = size - sizeof head;
    bool well = memcmp(head.magic, binary_magic, sizeof head.magic) == 0 && head.bytes == *size_out &&
                head.checksum == orr_store_checksum(all + sizeof head, *size_out);
    return well ? (const unsigned char *)all + sizeof head : NULL;
}

static cl_int store_binary(const struct orr_opencl_device *d, void *arg, cl_program *program_out)
{
    const struct source *s = arg;
    unsigned char *bytes;
    size_t size = 0;
    char path[PATH_BYTES];
    cl_int r = build_source(d, s->text, s->name, s->options, program_out);
    if (r != CL_SUCCESS) return r;
    r = get_binary(d, *program_out, &bytes, &size);
    if (r != CL_SUCCESS) {
        orr_error("the OpenCL program %s has no binary for %s: %s (%d)", s->name, d->name,
                  orr_opencl_error(r), (int)r);
    } else {
        if (!binary_path(d, s->name, true, path)) {
            orr_error("the OpenCL program %s cannot be stored: there is no folder for programs that are "
                      "stored (it is "
                      "beside that of models, STARPU_PERF_MODEL_DIR or STARPU_HOME), or the name is too long",
                      s->name);
            r = CL_OUT_OF_RESOURCES;
        } else if (!write_binary(path, bytes, size)) {
            r = CL_OUT_OF_RESOURCES;
        }
        orr_free(bytes);
    }
    if (r != CL_SUCCESS) {
        orr_cl.ReleaseProgram(*program_out);
        *program_out = NULL;
    }
    return r;
}

int starpu_opencl_compile_opencl_from_string(const char *opencl_program_source, const char *file_name,
                                             const char *build_options)
{
    struct starpu_opencl_program programs;
    int r = make_each(&programs, store_binary,
                      &(struct source){ opencl_program_source, file_name, build_options });
    if (r == CL_SUCCESS) starpu_opencl_unload_opencl(&programs);
    return r;
}

int starpu_opencl_compile_opencl_from_file(const char *source_file_name, const char *build_options)
{
    char *text, *options;
    int r = prepare_file(source_file_name, build_options, &text, &options);
    if (r != CL_SUCCESS) return r;
    r = starpu_opencl_compile_opencl_from_string(text, source_file_name, options);
    orr_free(text);
    orr_free(options);
    return r;
}

static cl_int load_binary(const struct orr_opencl_device *d, void *arg, cl_program *program_out)
{
    const char *id = arg;
    char path[PATH_BYTES];
    size_t size;
    cl_int r, status;
    FILE *f = binary_path(d, id, false, path) ? fopen(path, "r") : NULL;
    char *bytes = f ? read_all(f, &size) : NULL;
    if (f) fclose(f);
    if (!bytes) {
        orr_error(
            "there is no stored OpenCL binary %s for %s; starpu_opencl_compile_opencl_from_file() makes one",
            id, d->name);
        return CL_INVALID_BINARY;
    }
    const unsigned char *binary = binary_in(bytes, size, &size);
    if (!binary) {
        orr_free(bytes);
        orr_error("the stored OpenCL binary %s is damaged, or of another version of this library; "
                  "starpu_opencl_compile_opencl_from_file() makes it again",
                  path);
        return CL_INVALID_BINARY;
    }
    cl_program program = orr_cl.CreateProgramWithBinary(d->context, 1, &d->id, &size, &binary, &status, &r);
    orr_free(bytes);
    if (program) return build(d, program, id, NULL, program_out);
    orr_error("the stored OpenCL binary %s is not accepted: %s (%d)", path, orr_opencl_error(r), (int)r);
    return r;
}

int starpu_opencl_load_binary_opencl(const char *kernel_id, struct starpu_opencl_program *opencl_programs)
{
    return make_each(opencl_programs, load_binary, (void *)kernel_id);
}

/* ---- kernels ---- */

int starpu_opencl_load_kernel(cl_kernel *kernel, cl_command_queue *queue,
                              struct starpu_opencl_program *opencl_programs, const char *kernel_name,
                              int devid)
{
    cl_int r = CL_INVALID_DEVICE;
    struct orr_opencl_device *d = orr_opencl_device(devid);
    cl_program program = d ? opencl_programs->programs[devid] : NULL;
    *kernel = NULL;
    if (d && !program) r = CL_INVALID_PROGRAM;
    if (program) *kernel = orr_cl.CreateKernel(program, kernel_name, &r);
    if (queue) *queue = d ? d->kernels : NULL;
    if (!*kernel)
        orr_error("the OpenCL kernel %s cannot be made for device %d: %s (%d)", kernel_name, devid,
                  orr_opencl_error(r), (int)r);
    return r;
}

int starpu_opencl_release_kernel(cl_kernel kernel)
{
    return kernel ? orr_cl.ReleaseKernel(kernel) : CL_INVALID_KERNEL;
}
