! SPDX-License-Identifier: BSD-3-Clause
! fstarpu_mod.f90: the StarPU interface for Fortran 2008, over C's functions (starpu_fortran.h, and those that are
! bound by their own names). Compile it with the program: modules of compilers differ.
! Threads, errors, units: as starpu.h says. Numbers of enumerations, and sizes, are type(c_ptr): FSTARPU_RW,
! FSTARPU_SZ_C_INT. fstarpu_init() sets these variables, so it comes first. Strings end in C_NULL_CHAR.
! Not here: ranks (fstarpu_mpi_mod.f90); what takes a structure of C.
module fstarpu_mod
    use iso_c_binding
    implicit none
    private :: constant

    interface operator(.ior.)
        procedure or_cptrs
    end interface

    type(c_ptr), protected, save :: FSTARPU_R = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_W = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_RW = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCRATCH = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_REDUX = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_COMMUTE = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SSEND = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_LOCALITY = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_DATA_ARRAY = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_DATA_MODE_ARRAY = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CL_ARGS = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CL_ARGS_NFREE = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CALLBACK = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CALLBACK_WITH_ARG = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CALLBACK_ARG = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_PRIORITY = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_EXECUTE_ON_NODE = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_EXECUTE_ON_DATA = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_EXECUTE_ON_WORKER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_WORKER_ORDER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_EXECUTE_WHERE = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_FLOPS = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_TAG = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_TAG_ONLY = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_NAME = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_TASK_COLOR = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_TASK_SYNCHRONOUS = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_VALUE = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CPU_WORKER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CUDA_WORKER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_OPENCL_WORKER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_ANY_WORKER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_NOWHERE = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CPU = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CUDA = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_OPENCL = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CUDA_ASYNC = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_OPENCL_ASYNC = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_HISTORY_BASED = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_REGRESSION_BASED = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_NL_REGRESSION_BASED = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_MULTIPLE_REGRESSION_BASED = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_MPI_REDUX = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_PROLOGUE_CALLBACK = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_PROLOGUE_CALLBACK_ARG = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_PROLOGUE_CALLBACK_POP = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_PROLOGUE_CALLBACK_POP_ARG = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_NODE_SELECTION_POLICY = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_HYPERVISOR_TAG = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_POSSIBLY_PARALLEL = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SEQUENTIAL_CONSISTENCY = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_HANDLES_SEQUENTIAL_CONSISTENCY = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_TASK_NO_SUBMITORDER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_TASK_DEPS_ARRAY = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_TASK_END_DEP = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_TASK_SCHED_DATA = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX_POLICY_NAME = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX_POLICY_STRUCT = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX_POLICY_MIN_PRIO = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX_POLICY_MAX_PRIO = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX_POLICY_INIT = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX_HIERARCHY_LEVEL = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX_NESTED = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX_AWAKE_WORKERS = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SCHED_CTX_USER_DATA = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_PER_WORKER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_PER_ARCH = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CODELET_SIMGRID_EXECUTE = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_CODELET_SIMGRID_EXECUTE_AND_INJECT = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_C_DOUBLE = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_C_FLOAT = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_C_CHAR = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_C_INT = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_C_INTPTR_T = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_C_PTR = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_C_SIZE_T = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_CHARACTER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_INTEGER = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_INT4 = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_INT8 = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_REAL = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_REAL4 = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_REAL8 = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_DOUBLE_PRECISION = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_COMPLEX = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_COMPLEX4 = C_NULL_PTR
    type(c_ptr), protected, save :: FSTARPU_SZ_COMPLEX8 = C_NULL_PTR
    integer(c_int), protected, save :: FSTARPU_NMAXBUFS = 0

    ! ---- Starting and stopping ----
    interface
        function fstarpu_conf_allocate() &
            bind(C, name="fstarpu_conf_allocate")
            import
            type(c_ptr) :: fstarpu_conf_allocate
        end function

        subroutine fstarpu_conf_init(conf) &
            bind(C, name="starpu_conf_init")
            import
            type(c_ptr), value, intent(in) :: conf
        end subroutine

        subroutine fstarpu_conf_free(conf) &
            bind(C, name="fstarpu_conf_free")
            import
            type(c_ptr), value, intent(in) :: conf
        end subroutine

        subroutine fstarpu_conf_set_sched_policy_name(conf, policy_name) &
            bind(C, name="fstarpu_conf_set_sched_policy_name")
            import
            type(c_ptr), value, intent(in) :: conf
            character(c_char), intent(in) :: policy_name
        end subroutine

        subroutine fstarpu_conf_set_min_prio(conf, min_prio) &
            bind(C, name="fstarpu_conf_set_min_prio")
            import
            type(c_ptr), value, intent(in) :: conf
            integer(c_int), value, intent(in) :: min_prio
        end subroutine

        subroutine fstarpu_conf_set_max_prio(conf, max_prio) &
            bind(C, name="fstarpu_conf_set_max_prio")
            import
            type(c_ptr), value, intent(in) :: conf
            integer(c_int), value, intent(in) :: max_prio
        end subroutine

        subroutine fstarpu_conf_set_ncpu(conf, ncpu) &
            bind(C, name="fstarpu_conf_set_ncpu")
            import
            type(c_ptr), value, intent(in) :: conf
            integer(c_int), value, intent(in) :: ncpu
        end subroutine

        subroutine fstarpu_conf_set_ncuda(conf, ncuda) &
            bind(C, name="fstarpu_conf_set_ncuda")
            import
            type(c_ptr), value, intent(in) :: conf
            integer(c_int), value, intent(in) :: ncuda
        end subroutine

        subroutine fstarpu_conf_set_nopencl(conf, nopencl) &
            bind(C, name="fstarpu_conf_set_nopencl")
            import
            type(c_ptr), value, intent(in) :: conf
            integer(c_int), value, intent(in) :: nopencl
        end subroutine

        function fstarpu_init_internal(conf) &
            bind(C, name="starpu_init")
            import
            integer(c_int) :: fstarpu_init_internal
            type(c_ptr), value, intent(in) :: conf
        end function

        subroutine fstarpu_shutdown() &
            bind(C, name="starpu_shutdown")
            import
        end subroutine

        subroutine fstarpu_pause() &
            bind(C, name="starpu_pause")
            import
        end subroutine

        subroutine fstarpu_resume() &
            bind(C, name="starpu_resume")
            import
        end subroutine

        function fstarpu_is_paused() &
            bind(C, name="starpu_is_paused")
            import
            integer(c_int) :: fstarpu_is_paused
        end function

        subroutine fstarpu_get_version(major, minor, release) &
            bind(C, name="starpu_get_version")
            import
            integer(c_int), intent(out) :: major
            integer(c_int), intent(out) :: minor
            integer(c_int), intent(out) :: release
        end subroutine

        function fstarpu_get_constant(s) &
            bind(C, name="fstarpu_get_constant")
            import
            type(c_ptr) :: fstarpu_get_constant
            character(c_char), intent(in) :: s
        end function

        function fstarpu_timing_now() &
            bind(C, name="starpu_timing_now")
            import
            real(c_double) :: fstarpu_timing_now
        end function

        subroutine fstarpu_sleep(seconds) &
            bind(C, name="starpu_sleep")
            import
            real(c_float), value, intent(in) :: seconds
        end subroutine

        subroutine fstarpu_usleep(microseconds) &
            bind(C, name="starpu_usleep")
            import
            real(c_float), value, intent(in) :: microseconds
        end subroutine
    end interface

    ! ---- Workers ----
    interface
        function fstarpu_worker_get_count() &
            bind(C, name="starpu_worker_get_count")
            import
            integer(c_int) :: fstarpu_worker_get_count
        end function

        function fstarpu_cpu_worker_get_count() &
            bind(C, name="starpu_cpu_worker_get_count")
            import
            integer(c_int) :: fstarpu_cpu_worker_get_count
        end function

        function fstarpu_cuda_worker_get_count() &
            bind(C, name="starpu_cuda_worker_get_count")
            import
            integer(c_int) :: fstarpu_cuda_worker_get_count
        end function

        function fstarpu_opencl_worker_get_count() &
            bind(C, name="starpu_opencl_worker_get_count")
            import
            integer(c_int) :: fstarpu_opencl_worker_get_count
        end function

        function fstarpu_worker_get_id() &
            bind(C, name="starpu_worker_get_id")
            import
            integer(c_int) :: fstarpu_worker_get_id
        end function

        function fstarpu_worker_get_type(id) &
            bind(C, name="fstarpu_worker_get_type")
            import
            type(c_ptr) :: fstarpu_worker_get_type
            integer(c_int), value, intent(in) :: id
        end function

        function fstarpu_worker_get_count_by_type(typeid) &
            bind(C, name="fstarpu_worker_get_count_by_type")
            import
            integer(c_int) :: fstarpu_worker_get_count_by_type
            type(c_ptr), value, intent(in) :: typeid
        end function

        function fstarpu_worker_get_ids_by_type(typeid, workerids, maxsize) &
            bind(C, name="fstarpu_worker_get_ids_by_type")
            import
            integer(c_int) :: fstarpu_worker_get_ids_by_type
            type(c_ptr), value, intent(in) :: typeid
            integer(c_int), intent(out) :: workerids(*)
            integer(c_int), value, intent(in) :: maxsize
        end function

        function fstarpu_worker_get_by_type(typeid, num) &
            bind(C, name="fstarpu_worker_get_by_type")
            import
            integer(c_int) :: fstarpu_worker_get_by_type
            type(c_ptr), value, intent(in) :: typeid
            integer(c_int), value, intent(in) :: num
        end function

        subroutine fstarpu_worker_get_name(id, dst, maxlen) &
            bind(C, name="starpu_worker_get_name")
            import
            integer(c_int), value, intent(in) :: id
            character(c_char), intent(out) :: dst
            integer(c_size_t), value, intent(in) :: maxlen
        end subroutine
    end interface

    ! ---- Codelets and models ----
    interface
        function fstarpu_codelet_allocate() &
            bind(C, name="fstarpu_codelet_allocate")
            import
            type(c_ptr) :: fstarpu_codelet_allocate
        end function

        subroutine fstarpu_codelet_free(cl) &
            bind(C, name="fstarpu_codelet_free")
            import
            type(c_ptr), value, intent(in) :: cl
        end subroutine

        subroutine fstarpu_codelet_set_name(cl, cl_name) &
            bind(C, name="fstarpu_codelet_set_name")
            import
            type(c_ptr), value, intent(in) :: cl
            character(c_char), intent(in) :: cl_name
        end subroutine

        subroutine fstarpu_codelet_set_color(cl, color) &
            bind(C, name="fstarpu_codelet_set_color")
            import
            type(c_ptr), value, intent(in) :: cl
            integer(c_int), value, intent(in) :: color
        end subroutine

        subroutine fstarpu_codelet_set_model(cl, cl_perfmodel) &
            bind(C, name="fstarpu_codelet_set_model")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_ptr), value, intent(in) :: cl_perfmodel
        end subroutine

        subroutine fstarpu_codelet_set_energy_model(cl, cl_perfmodel) &
            bind(C, name="fstarpu_codelet_set_energy_model")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_ptr), value, intent(in) :: cl_perfmodel
        end subroutine

        subroutine fstarpu_codelet_set_flags(cl, flags) &
            bind(C, name="fstarpu_codelet_set_flags")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_ptr), value, intent(in) :: flags
        end subroutine

        subroutine fstarpu_codelet_set_where(cl, where) &
            bind(C, name="fstarpu_codelet_set_where")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_ptr), value, intent(in) :: where
        end subroutine

        subroutine fstarpu_codelet_set_nbuffers(cl, nbuffers) &
            bind(C, name="fstarpu_codelet_set_nbuffers")
            import
            type(c_ptr), value, intent(in) :: cl
            integer(c_int), value, intent(in) :: nbuffers
        end subroutine

        subroutine fstarpu_codelet_set_variable_nbuffers(cl) &
            bind(C, name="fstarpu_codelet_set_variable_nbuffers")
            import
            type(c_ptr), value, intent(in) :: cl
        end subroutine

        subroutine fstarpu_codelet_add_cpu_func(cl, f_ptr) &
            bind(C, name="fstarpu_codelet_add_cpu_func")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_funptr), value, intent(in) :: f_ptr
        end subroutine

        subroutine fstarpu_codelet_add_cuda_func(cl, f_ptr) &
            bind(C, name="fstarpu_codelet_add_cuda_func")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_funptr), value, intent(in) :: f_ptr
        end subroutine

        subroutine fstarpu_codelet_add_cuda_flags(cl, flags) &
            bind(C, name="fstarpu_codelet_add_cuda_flags")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_ptr), value, intent(in) :: flags
        end subroutine

        subroutine fstarpu_codelet_add_opencl_func(cl, f_ptr) &
            bind(C, name="fstarpu_codelet_add_opencl_func")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_funptr), value, intent(in) :: f_ptr
        end subroutine

        subroutine fstarpu_codelet_add_opencl_flags(cl, flags) &
            bind(C, name="fstarpu_codelet_add_opencl_flags")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_ptr), value, intent(in) :: flags
        end subroutine

        subroutine fstarpu_codelet_add_buffer(cl, mode) &
            bind(C, name="fstarpu_codelet_add_buffer")
            import
            type(c_ptr), value, intent(in) :: cl
            type(c_ptr), value, intent(in) :: mode
        end subroutine

        function fstarpu_perfmodel_allocate() &
            bind(C, name="fstarpu_perfmodel_allocate")
            import
            type(c_ptr) :: fstarpu_perfmodel_allocate
        end function

        subroutine fstarpu_perfmodel_free(model) &
            bind(C, name="fstarpu_perfmodel_free")
            import
            type(c_ptr), value, intent(in) :: model
        end subroutine

        subroutine fstarpu_perfmodel_set_symbol(model, model_symbol) &
            bind(C, name="fstarpu_perfmodel_set_symbol")
            import
            type(c_ptr), value, intent(in) :: model
            character(c_char), intent(in) :: model_symbol
        end subroutine

        subroutine fstarpu_perfmodel_set_type(model, type) &
            bind(C, name="fstarpu_perfmodel_set_type")
            import
            type(c_ptr), value, intent(in) :: model
            type(c_ptr), value, intent(in) :: type
        end subroutine
    end interface

    ! ---- Tasks ----
    interface
        subroutine fstarpu_task_insert(arglist) &
            bind(C, name="fstarpu_task_insert")
            import
            type(c_ptr), dimension(*), intent(in) :: arglist
        end subroutine

        subroutine fstarpu_insert_task(arglist) &
            bind(C, name="fstarpu_task_insert")
            import
            type(c_ptr), dimension(*), intent(in) :: arglist
        end subroutine

        subroutine fstarpu_unpack_arg(cl_arg, bufferlist) &
            bind(C, name="fstarpu_unpack_arg")
            import
            type(c_ptr), value, intent(in) :: cl_arg
            type(c_ptr), dimension(*), intent(in) :: bufferlist
        end subroutine

        subroutine fstarpu_task_wait_for_all() &
            bind(C, name="starpu_task_wait_for_all")
            import
        end subroutine

        subroutine fstarpu_task_wait_for_n_submitted(n) &
            bind(C, name="starpu_task_wait_for_n_submitted")
            import
            integer(c_int), value, intent(in) :: n
        end subroutine

        function fstarpu_task_wait_for_no_ready() &
            bind(C, name="starpu_task_wait_for_no_ready")
            import
            integer(c_int) :: fstarpu_task_wait_for_no_ready
        end function

        function fstarpu_task_nready() &
            bind(C, name="starpu_task_nready")
            import
            integer(c_int) :: fstarpu_task_nready
        end function

        function fstarpu_task_nsubmitted() &
            bind(C, name="starpu_task_nsubmitted")
            import
            integer(c_int) :: fstarpu_task_nsubmitted
        end function

        function fstarpu_task_create() &
            bind(C, name="starpu_task_create")
            import
            type(c_ptr) :: fstarpu_task_create
        end function

        function fstarpu_task_submit(task) &
            bind(C, name="starpu_task_submit")
            import
            integer(c_int) :: fstarpu_task_submit
            type(c_ptr), value, intent(in) :: task
        end function

        subroutine fstarpu_task_destroy(task) &
            bind(C, name="starpu_task_destroy")
            import
            type(c_ptr), value, intent(in) :: task
        end subroutine

        function fstarpu_task_wait(task) &
            bind(C, name="starpu_task_wait")
            import
            integer(c_int) :: fstarpu_task_wait
            type(c_ptr), value, intent(in) :: task
        end function

        function fstarpu_tag_wait(id) &
            bind(C, name="starpu_tag_wait")
            import
            integer(c_int) :: fstarpu_tag_wait
            integer(c_long_long), value, intent(in) :: id
        end function

        subroutine fstarpu_tag_notify_from_apps(id) &
            bind(C, name="starpu_tag_notify_from_apps")
            import
            integer(c_long_long), value, intent(in) :: id
        end subroutine

        subroutine fstarpu_tag_remove(id) &
            bind(C, name="starpu_tag_remove")
            import
            integer(c_long_long), value, intent(in) :: id
        end subroutine

        subroutine fstarpu_do_schedule() &
            bind(C, name="starpu_do_schedule")
            import
        end subroutine
    end interface

    ! ---- Data ----
    interface
        subroutine fstarpu_variable_data_register(dh, home_node, ptr, elt_size) &
            bind(C, name="starpu_variable_data_register")
            import
            type(c_ptr), intent(out) :: dh
            integer(c_int), value, intent(in) :: home_node
            type(c_ptr), value, intent(in) :: ptr
            integer(c_size_t), value, intent(in) :: elt_size
        end subroutine

        function fstarpu_variable_get_ptr(buffers, i) &
            bind(C, name="fstarpu_variable_get_ptr")
            import
            type(c_ptr) :: fstarpu_variable_get_ptr
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        subroutine fstarpu_vector_data_register(dh, home_node, ptr, nx, elt_size) &
            bind(C, name="fstarpu_vector_data_register")
            import
            type(c_ptr), intent(out) :: dh
            integer(c_int), value, intent(in) :: home_node
            type(c_ptr), value, intent(in) :: ptr
            integer(c_int), value, intent(in) :: nx
            integer(c_size_t), value, intent(in) :: elt_size
        end subroutine

        function fstarpu_vector_get_ptr(buffers, i) &
            bind(C, name="fstarpu_vector_get_ptr")
            import
            type(c_ptr) :: fstarpu_vector_get_ptr
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_vector_get_nx(buffers, i) &
            bind(C, name="fstarpu_vector_get_nx")
            import
            integer(c_int) :: fstarpu_vector_get_nx
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        subroutine fstarpu_matrix_data_register(dh, home_node, ptr, ld, nx, ny, elt_size) &
            bind(C, name="fstarpu_matrix_data_register")
            import
            type(c_ptr), intent(out) :: dh
            integer(c_int), value, intent(in) :: home_node
            type(c_ptr), value, intent(in) :: ptr
            integer(c_int), value, intent(in) :: ld
            integer(c_int), value, intent(in) :: nx
            integer(c_int), value, intent(in) :: ny
            integer(c_size_t), value, intent(in) :: elt_size
        end subroutine

        function fstarpu_matrix_get_ptr(buffers, i) &
            bind(C, name="fstarpu_matrix_get_ptr")
            import
            type(c_ptr) :: fstarpu_matrix_get_ptr
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_matrix_get_ld(buffers, i) &
            bind(C, name="fstarpu_matrix_get_ld")
            import
            integer(c_int) :: fstarpu_matrix_get_ld
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_matrix_get_nx(buffers, i) &
            bind(C, name="fstarpu_matrix_get_nx")
            import
            integer(c_int) :: fstarpu_matrix_get_nx
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_matrix_get_ny(buffers, i) &
            bind(C, name="fstarpu_matrix_get_ny")
            import
            integer(c_int) :: fstarpu_matrix_get_ny
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        subroutine fstarpu_block_data_register(dh, home_node, ptr, ldy, ldz, nx, ny, nz, elt_size) &
            bind(C, name="fstarpu_block_data_register")
            import
            type(c_ptr), intent(out) :: dh
            integer(c_int), value, intent(in) :: home_node
            type(c_ptr), value, intent(in) :: ptr
            integer(c_int), value, intent(in) :: ldy
            integer(c_int), value, intent(in) :: ldz
            integer(c_int), value, intent(in) :: nx
            integer(c_int), value, intent(in) :: ny
            integer(c_int), value, intent(in) :: nz
            integer(c_size_t), value, intent(in) :: elt_size
        end subroutine

        function fstarpu_block_get_ptr(buffers, i) &
            bind(C, name="fstarpu_block_get_ptr")
            import
            type(c_ptr) :: fstarpu_block_get_ptr
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_block_get_ldy(buffers, i) &
            bind(C, name="fstarpu_block_get_ldy")
            import
            integer(c_int) :: fstarpu_block_get_ldy
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_block_get_ldz(buffers, i) &
            bind(C, name="fstarpu_block_get_ldz")
            import
            integer(c_int) :: fstarpu_block_get_ldz
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_block_get_nx(buffers, i) &
            bind(C, name="fstarpu_block_get_nx")
            import
            integer(c_int) :: fstarpu_block_get_nx
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_block_get_ny(buffers, i) &
            bind(C, name="fstarpu_block_get_ny")
            import
            integer(c_int) :: fstarpu_block_get_ny
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_block_get_nz(buffers, i) &
            bind(C, name="fstarpu_block_get_nz")
            import
            integer(c_int) :: fstarpu_block_get_nz
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        subroutine fstarpu_void_data_register(dh) &
            bind(C, name="starpu_void_data_register")
            import
            type(c_ptr), intent(out) :: dh
        end subroutine

        subroutine fstarpu_data_register_same(dh_dst, dh_src) &
            bind(C, name="starpu_data_register_same")
            import
            type(c_ptr), intent(out) :: dh_dst
            type(c_ptr), value, intent(in) :: dh_src
        end subroutine

        subroutine fstarpu_data_unregister(dh) &
            bind(C, name="starpu_data_unregister")
            import
            type(c_ptr), value, intent(in) :: dh
        end subroutine

        subroutine fstarpu_data_unregister_no_coherency(dh) &
            bind(C, name="starpu_data_unregister_no_coherency")
            import
            type(c_ptr), value, intent(in) :: dh
        end subroutine

        subroutine fstarpu_data_unregister_submit(dh) &
            bind(C, name="starpu_data_unregister_submit")
            import
            type(c_ptr), value, intent(in) :: dh
        end subroutine

        subroutine fstarpu_data_acquire(dh, mode) &
            bind(C, name="fstarpu_data_acquire")
            import
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: mode
        end subroutine

        subroutine fstarpu_data_release(dh) &
            bind(C, name="starpu_data_release")
            import
            type(c_ptr), value, intent(in) :: dh
        end subroutine

        subroutine fstarpu_data_invalidate(dh) &
            bind(C, name="starpu_data_invalidate")
            import
            type(c_ptr), value, intent(in) :: dh
        end subroutine

        subroutine fstarpu_data_invalidate_submit(dh) &
            bind(C, name="starpu_data_invalidate_submit")
            import
            type(c_ptr), value, intent(in) :: dh
        end subroutine

        subroutine fstarpu_data_set_reduction_methods(dh, redux_cl, init_cl) &
            bind(C, name="starpu_data_set_reduction_methods")
            import
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: redux_cl
            type(c_ptr), value, intent(in) :: init_cl
        end subroutine

        function fstarpu_data_handle_array_alloc(nb) &
            bind(C, name="fstarpu_data_handle_array_alloc")
            import
            type(c_ptr) :: fstarpu_data_handle_array_alloc
            integer(c_int), value, intent(in) :: nb
        end function

        subroutine fstarpu_data_handle_array_free(handles) &
            bind(C, name="fstarpu_data_handle_array_free")
            import
            type(c_ptr), value, intent(in) :: handles
        end subroutine

        subroutine fstarpu_data_handle_array_set(handles, i, handle) &
            bind(C, name="fstarpu_data_handle_array_set")
            import
            type(c_ptr), value, intent(in) :: handles
            integer(c_int), value, intent(in) :: i
            type(c_ptr), value, intent(in) :: handle
        end subroutine

        function fstarpu_data_descr_array_alloc(nb) &
            bind(C, name="fstarpu_data_descr_array_alloc")
            import
            type(c_ptr) :: fstarpu_data_descr_array_alloc
            integer(c_int), value, intent(in) :: nb
        end function

        subroutine fstarpu_data_descr_array_free(descrs) &
            bind(C, name="fstarpu_data_descr_array_free")
            import
            type(c_ptr), value, intent(in) :: descrs
        end subroutine

        subroutine fstarpu_data_descr_array_set(descrs, i, handle, mode) &
            bind(C, name="fstarpu_data_descr_array_set")
            import
            type(c_ptr), value, intent(in) :: descrs
            integer(c_int), value, intent(in) :: i
            type(c_ptr), value, intent(in) :: handle
            type(c_ptr), value, intent(in) :: mode
        end subroutine
    end interface

    ! ---- Pieces of data ----
    interface
        function fstarpu_df_alloc_vector_filter_block() &
            bind(C, name="fstarpu_df_alloc_vector_filter_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_vector_filter_block
        end function

        function fstarpu_df_alloc_matrix_filter_block() &
            bind(C, name="fstarpu_df_alloc_matrix_filter_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_matrix_filter_block
        end function

        function fstarpu_df_alloc_matrix_filter_vertical_block() &
            bind(C, name="fstarpu_df_alloc_matrix_filter_vertical_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_matrix_filter_vertical_block
        end function

        function fstarpu_df_alloc_block_filter_block() &
            bind(C, name="fstarpu_df_alloc_block_filter_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_block_filter_block
        end function

        function fstarpu_data_filter_allocate() &
            bind(C, name="fstarpu_data_filter_allocate")
            import
            type(c_ptr) :: fstarpu_data_filter_allocate
        end function

        subroutine fstarpu_data_filter_free(filter) &
            bind(C, name="fstarpu_data_filter_free")
            import
            type(c_ptr), value, intent(in) :: filter
        end subroutine

        subroutine fstarpu_data_filter_set_nchildren(filter, nchildren) &
            bind(C, name="fstarpu_data_filter_set_nchildren")
            import
            type(c_ptr), value, intent(in) :: filter
            integer(c_int), value, intent(in) :: nchildren
        end subroutine

        subroutine fstarpu_data_partition(dh, filter) &
            bind(C, name="starpu_data_partition")
            import
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: filter
        end subroutine

        subroutine fstarpu_data_unpartition(root_dh, gathering_node) &
            bind(C, name="starpu_data_unpartition")
            import
            type(c_ptr), value, intent(in) :: root_dh
            integer(c_int), value, intent(in) :: gathering_node
        end subroutine

        function fstarpu_data_get_sub_data(root_dh, depth, indices) &
            bind(C, name="fstarpu_data_get_sub_data")
            import
            type(c_ptr) :: fstarpu_data_get_sub_data
            type(c_ptr), value, intent(in) :: root_dh
            integer(c_int), value, intent(in) :: depth
            integer(c_int), intent(in) :: indices(*)
        end function

        subroutine fstarpu_data_map_filters(root_dh, nfilters, filters) &
            bind(C, name="fstarpu_data_map_filters")
            import
            type(c_ptr), value, intent(in) :: root_dh
            integer(c_int), value, intent(in) :: nfilters
            type(c_ptr), dimension(*), intent(in) :: filters
        end subroutine
    end interface

    ! ---- Workers and memory nodes ----
    interface
        subroutine fstarpu_topology_print() &
            bind(C, name="fstarpu_topology_print")
            import
        end subroutine

        function fstarpu_asynchronous_copy_disabled() &
            bind(C, name="starpu_asynchronous_copy_disabled")
            import
            integer(c_int) :: fstarpu_asynchronous_copy_disabled
        end function

        function fstarpu_asynchronous_cuda_copy_disabled() &
            bind(C, name="starpu_asynchronous_cuda_copy_disabled")
            import
            integer(c_int) :: fstarpu_asynchronous_cuda_copy_disabled
        end function

        function fstarpu_asynchronous_opencl_copy_disabled() &
            bind(C, name="starpu_asynchronous_opencl_copy_disabled")
            import
            integer(c_int) :: fstarpu_asynchronous_opencl_copy_disabled
        end function

        function fstarpu_combined_worker_get_count() &
            bind(C, name="starpu_combined_worker_get_count")
            import
            integer(c_int) :: fstarpu_combined_worker_get_count
        end function

        function fstarpu_worker_is_combined_worker(id) &
            bind(C, name="starpu_worker_is_combined_worker")
            import
            integer(c_int) :: fstarpu_worker_is_combined_worker
            integer(c_int), value, intent(in) :: id
        end function

        function fstarpu_worker_get_bindid(id) &
            bind(C, name="starpu_worker_get_bindid")
            import
            integer(c_int) :: fstarpu_worker_get_bindid
            integer(c_int), value, intent(in) :: id
        end function

        function fstarpu_combined_worker_get_id() &
            bind(C, name="starpu_combined_worker_get_id")
            import
            integer(c_int) :: fstarpu_combined_worker_get_id
        end function

        function fstarpu_combined_worker_get_size() &
            bind(C, name="starpu_combined_worker_get_size")
            import
            integer(c_int) :: fstarpu_combined_worker_get_size
        end function

        function fstarpu_combined_worker_get_rank() &
            bind(C, name="starpu_combined_worker_get_rank")
            import
            integer(c_int) :: fstarpu_combined_worker_get_rank
        end function

        function fstarpu_worker_get_by_devid(typeid, devid) &
            bind(C, name="fstarpu_worker_get_by_devid")
            import
            integer(c_int) :: fstarpu_worker_get_by_devid
            type(c_ptr), value, intent(in) :: typeid
            integer(c_int), value, intent(in) :: devid
        end function

        function fstarpu_worker_get_devid(id) &
            bind(C, name="starpu_worker_get_devid")
            import
            integer(c_int) :: fstarpu_worker_get_devid
            integer(c_int), value, intent(in) :: id
        end function

        function fstarpu_worker_is_slave_somewhere(id) &
            bind(C, name="starpu_worker_is_slave_somewhere")
            import
            integer(c_int) :: fstarpu_worker_is_slave_somewhere
            integer(c_int), value, intent(in) :: id
        end function

        subroutine fstarpu_worker_get_type_as_string(typeid, dst, maxlen) &
            bind(C, name="fstarpu_worker_get_type_as_string")
            import
            type(c_ptr), value, intent(in) :: typeid
            character(c_char), intent(out) :: dst(*)
            integer(c_size_t), value, intent(in) :: maxlen
        end subroutine

        function fstarpu_malloc_on_node(node, sz) &
            bind(C, name="starpu_malloc_on_node")
            import
            integer(c_intptr_t) :: fstarpu_malloc_on_node
            integer(c_int), value, intent(in) :: node
            integer(c_size_t), value, intent(in) :: sz
        end function

        subroutine fstarpu_free_on_node(node, addr, sz) &
            bind(C, name="starpu_free_on_node")
            import
            integer(c_int), value, intent(in) :: node
            integer(c_intptr_t), value, intent(in) :: addr
            integer(c_size_t), value, intent(in) :: sz
        end subroutine

        function fstarpu_worker_get_memory_node(id) &
            bind(C, name="starpu_worker_get_memory_node")
            import
            integer(c_int) :: fstarpu_worker_get_memory_node
            integer(c_int), value, intent(in) :: id
        end function

        function fstarpu_memory_nodes_get_count() &
            bind(C, name="starpu_memory_nodes_get_count")
            import
            integer(c_int) :: fstarpu_memory_nodes_get_count
        end function

        subroutine fstarpu_memchunk_tidy(mem_node) &
            bind(C, name="starpu_memchunk_tidy")
            import
            integer(c_int), value, intent(in) :: mem_node
        end subroutine
    end interface

    ! ---- Codelets and tasks, tags ----
    interface
        subroutine fstarpu_tag_declare_deps_array(id, ndeps, tag_array) &
            bind(C, name="fstarpu_tag_declare_deps_array")
            import
            integer(c_int), value, intent(in) :: id
            integer(c_int), value, intent(in) :: ndeps
            integer(c_long_long), intent(in) :: tag_array(*)
        end subroutine

        subroutine fstarpu_task_declare_deps_array(task, ndeps, task_array) &
            bind(C, name="starpu_task_declare_deps_array")
            import
            type(c_ptr), value, intent(in) :: task
            integer(c_int), value, intent(in) :: ndeps
            type(c_ptr), intent(in) :: task_array(*)
        end subroutine

        function fstarpu_tag_wait_array(ntags, tag_array) &
            bind(C, name="starpu_tag_wait_array")
            import
            integer(c_int) :: fstarpu_tag_wait_array
            integer(c_int), value, intent(in) :: ntags
            integer(c_long_long), intent(in) :: tag_array(*)
        end function

        subroutine fstarpu_tag_restart(id) &
            bind(C, name="starpu_tag_restart")
            import
            integer(c_long_long), value, intent(in) :: id
        end subroutine

        function fstarpu_tag_get_task(id) &
            bind(C, name="starpu_tag_get_task")
            import
            type(c_ptr) :: fstarpu_tag_get_task
            integer(c_long_long), value, intent(in) :: id
        end function

        subroutine fstarpu_task_init(task) &
            bind(C, name="starpu_task_init")
            import
            type(c_ptr), value, intent(in) :: task
        end subroutine

        subroutine fstarpu_task_clean(task) &
            bind(C, name="starpu_task_clean")
            import
            type(c_ptr), value, intent(in) :: task
        end subroutine

        function fstarpu_task_submit_to_ctx(task, sched_ctx_id) &
            bind(C, name="starpu_task_submit_to_ctx")
            import
            integer(c_int) :: fstarpu_task_submit_to_ctx
            type(c_ptr), value, intent(in) :: task
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_task_finished(task) &
            bind(C, name="starpu_task_finished")
            import
            integer(c_int) :: fstarpu_task_finished
            type(c_ptr), value, intent(in) :: task
        end function

        function fstarpu_task_wait_array(task_array, ntasks) &
            bind(C, name="starpu_task_wait_array")
            import
            integer(c_int) :: fstarpu_task_wait_array
            type(c_ptr), intent(in) :: task_array(*)
            integer(c_int), value, intent(in) :: ntasks
        end function

        subroutine fstarpu_task_wait_for_all_in_ctx(ctx) &
            bind(C, name="starpu_task_wait_for_all_in_ctx")
            import
            integer(c_int), value, intent(in) :: ctx
        end subroutine

        subroutine fstarpu_task_wait_for_n_submitted_in_ctx(ctx, n) &
            bind(C, name="starpu_task_wait_for_n_submitted_in_ctx")
            import
            integer(c_int), value, intent(in) :: ctx
            integer(c_int), value, intent(in) :: n
        end subroutine

        subroutine fstarpu_codelet_init(codelet) &
            bind(C, name="starpu_codelet_init")
            import
            type(c_ptr), value, intent(in) :: codelet
        end subroutine

        subroutine fstarpu_codelet_display_stats(codelet) &
            bind(C, name="starpu_codelet_display_stats")
            import
            type(c_ptr), value, intent(in) :: codelet
        end subroutine

        function fstarpu_task_get_current() &
            bind(C, name="starpu_task_get_current")
            import
            type(c_ptr) :: fstarpu_task_get_current
        end function

        function fstarpu_task_dup(task) &
            bind(C, name="starpu_task_dup")
            import
            type(c_ptr) :: fstarpu_task_dup
            type(c_ptr), value, intent(in) :: task
        end function

        subroutine fstarpu_task_set_implementation(task, impl) &
            bind(C, name="starpu_task_set_implementation")
            import
            type(c_ptr), value, intent(in) :: task
            integer(c_int), value, intent(in) :: impl
        end subroutine

        function fstarpu_task_get_implementation(task) &
            bind(C, name="starpu_task_get_implementation")
            import
            integer(c_int) :: fstarpu_task_get_implementation
            type(c_ptr), value, intent(in) :: task
        end function
    end interface

    ! ---- Data: where they are, arbiters ----
    interface
        subroutine fstarpug_data_ptr_register(dh, node) &
            bind(C, name="starpu_data_ptr_register")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
        end subroutine

        function fstarpu_data_handle_to_pointer(dh, node) &
            bind(C, name="starpu_data_handle_to_pointer")
            import
            type(c_ptr) :: fstarpu_data_handle_to_pointer
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
        end function

        function fstarpu_data_pointer_is_inside(dh, node, ptr) &
            bind(C, name="starpu_data_pointer_is_inside")
            import
            integer(c_int) :: fstarpu_data_pointer_is_inside
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            type(c_ptr), value, intent(in) :: ptr
        end function

        function fstarpu_data_get_local_ptr(dh) &
            bind(C, name="starpu_data_get_local_ptr")
            import
            type(c_ptr) :: fstarpu_data_get_local_ptr
            type(c_ptr), value, intent(in) :: dh
        end function

        subroutine fstarpu_block_ptr_register(dh, node, ptr, dev_handle, offset, ldy, ldz) &
            bind(C, name="fstarpu_block_ptr_register")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            type(c_ptr), value, intent(in) :: ptr
            type(c_ptr), value, intent(in) :: dev_handle
            integer(c_size_t), value, intent(in) :: offset
            integer(c_int), value, intent(in) :: ldy
            integer(c_int), value, intent(in) :: ldz
        end subroutine

        subroutine fstarpu_matrix_ptr_register(dh, node, ptr, dev_handle, offset, ld) &
            bind(C, name="fstarpu_matrix_ptr_register")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            type(c_ptr), value, intent(in) :: ptr
            type(c_ptr), value, intent(in) :: dev_handle
            integer(c_size_t), value, intent(in) :: offset
            integer(c_int), value, intent(in) :: ld
        end subroutine

        subroutine fstarpu_vector_ptr_register(dh, node, ptr, dev_handle, offset) &
            bind(C, name="starpu_vector_ptr_register")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            type(c_ptr), value, intent(in) :: ptr
            type(c_ptr), value, intent(in) :: dev_handle
            integer(c_size_t), value, intent(in) :: offset
        end subroutine

        subroutine fstarpu_variable_ptr_register(dh, node, ptr, dev_handle, offset) &
            bind(C, name="starpu_variable_ptr_register")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            type(c_ptr), value, intent(in) :: ptr
            type(c_ptr), value, intent(in) :: dev_handle
            integer(c_size_t), value, intent(in) :: offset
        end subroutine

        subroutine fstarpu_data_advise_as_important(dh, is_important) &
            bind(C, name="starpu_data_advise_as_important")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: is_important
        end subroutine

        subroutine fstarpu_data_release_on_node(dh, node) &
            bind(C, name="starpu_data_release_on_node")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
        end subroutine

        function fstarpu_arbiter_create() &
            bind(C, name="starpu_arbiter_create")
            import
            type(c_ptr) :: fstarpu_arbiter_create
        end function

        subroutine fstarpu_data_assign_arbiter(dh, arbiter) &
            bind(C, name="starpu_data_assign_arbiter")
            import
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: arbiter
        end subroutine

        subroutine fstarpu_data_arbiter_destroy(arbiter) &
            bind(C, name="starpu_arbiter_destroy")
            import
            type(c_ptr), value, intent(in) :: arbiter
        end subroutine

        subroutine fstarpu_data_request_allocation(dh, node) &
            bind(C, name="starpu_data_request_allocation")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
        end subroutine

        subroutine fstarpu_data_fetch_on_node(dh, node, async) &
            bind(C, name="starpu_data_fetch_on_node")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            integer(c_int), value, intent(in) :: async
        end subroutine

        subroutine fstarpu_data_prefetch_on_node(dh, node, async) &
            bind(C, name="starpu_data_prefetch_on_node")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            integer(c_int), value, intent(in) :: async
        end subroutine

        subroutine fstarpu_data_prefetch_on_node_prio(dh, node, async, prio) &
            bind(C, name="starpu_data_prefetch_on_node_prio")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            integer(c_int), value, intent(in) :: async
            integer(c_int), value, intent(in) :: prio
        end subroutine

        subroutine fstarpu_data_idle_prefetch_on_node(dh, node, async) &
            bind(C, name="starpu_data_idle_prefetch_on_node")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            integer(c_int), value, intent(in) :: async
        end subroutine

        subroutine fstarpu_data_idle_prefetch_on_node_prio(dh, node, async, prio) &
            bind(C, name="starpu_data_idle_prefetch_on_node_prio")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            integer(c_int), value, intent(in) :: async
            integer(c_int), value, intent(in) :: prio
        end subroutine

        function fstarpu_data_is_on_node(dh, node) &
            bind(C, name="starpu_data_is_on_node")
            import
            integer(c_int) :: fstarpu_data_is_on_node
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
        end function

        subroutine fstarpu_data_wont_use(dh) &
            bind(C, name="starpu_data_wont_use")
            import
            type(c_ptr), value, intent(in) :: dh
        end subroutine

        function fstarpu_data_test_if_allocated_on_node(dh, mem_node) &
            bind(C, name="starpu_data_test_if_allocated_on_node")
            import
            integer(c_int) :: fstarpu_data_test_if_allocated_on_node
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: mem_node
        end function

        function fstarpu_data_descr_alloc() &
            bind(C, name="fstarpu_data_descr_alloc")
            import
            type(c_ptr) :: fstarpu_data_descr_alloc
        end function

        subroutine fstarpu_data_descrg_free(descr) &
            bind(C, name="fstarpu_data_descr_array_free")
            import
            type(c_ptr), value, intent(in) :: descr
        end subroutine

        subroutine fstarpu_data_descr_set(descr, handle, mode) &
            bind(C, name="fstarpu_data_descr_set")
            import
            type(c_ptr), value, intent(in) :: descr
            type(c_ptr), value, intent(in) :: handle
            type(c_ptr), value, intent(in) :: mode
        end subroutine
    end interface

    ! ---- Pieces of data: filters, plans ----
    interface
        function fstarpu_df_alloc_bcsr_filter_canonical_block() &
            bind(C, name="fstarpu_df_alloc_bcsr_filter_canonical_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_bcsr_filter_canonical_block
        end function

        function fstarpu_df_alloc_csr_filter_vertical_block() &
            bind(C, name="fstarpu_df_alloc_csr_filter_vertical_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_csr_filter_vertical_block
        end function

        function fstarpu_df_alloc_matrix_filter_block_shadow() &
            bind(C, name="fstarpu_df_alloc_matrix_filter_block_shadow")
            import
            type(c_ptr) :: fstarpu_df_alloc_matrix_filter_block_shadow
        end function

        function fstarpu_df_alloc_matrix_filter_vertical_block_shadow() &
            bind(C, name="fstarpu_df_alloc_matrix_filter_vertical_block_shadow")
            import
            type(c_ptr) :: fstarpu_df_alloc_matrix_filter_vertical_block_shadow
        end function

        function fstarpu_df_alloc_vector_filter_block_shadow() &
            bind(C, name="fstarpu_df_alloc_vector_filter_block_shadow")
            import
            type(c_ptr) :: fstarpu_df_alloc_vector_filter_block_shadow
        end function

        function fstarpu_df_alloc_vector_filter_list() &
            bind(C, name="fstarpu_df_alloc_vector_filter_list")
            import
            type(c_ptr) :: fstarpu_df_alloc_vector_filter_list
        end function

        function fstarpu_df_alloc_vector_filter_divide_in_2() &
            bind(C, name="fstarpu_df_alloc_vector_filter_divide_in_2")
            import
            type(c_ptr) :: fstarpu_df_alloc_vector_filter_divide_in_2
        end function

        function fstarpu_df_alloc_block_filter_block_shadow() &
            bind(C, name="fstarpu_df_alloc_block_filter_block_shadow")
            import
            type(c_ptr) :: fstarpu_df_alloc_block_filter_block_shadow
        end function

        function fstarpu_df_alloc_block_filter_vertical_block() &
            bind(C, name="fstarpu_df_alloc_block_filter_vertical_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_block_filter_vertical_block
        end function

        function fstarpu_df_alloc_block_filter_vertical_block_shadow() &
            bind(C, name="fstarpu_df_alloc_block_filter_vertical_block_shadow")
            import
            type(c_ptr) :: fstarpu_df_alloc_block_filter_vertical_block_shadow
        end function

        subroutine fstarpu_data_filter_set_filter_func(filter, f_ptr) &
            bind(C, name="fstarpu_data_filter_set_filter_func")
            import
            type(c_ptr), value, intent(in) :: filter
            type(c_funptr), value, intent(in) :: f_ptr
        end subroutine

        subroutine fstarpu_data_filter_set_get_nchildren_func(filter, f_ptr) &
            bind(C, name="fstarpu_data_filter_set_get_nchildren_func")
            import
            type(c_ptr), value, intent(in) :: filter
            type(c_funptr), value, intent(in) :: f_ptr
        end subroutine

        subroutine fstarpu_data_filter_set_get_child_ops_func(filter, f_ptr) &
            bind(C, name="fstarpu_data_filter_set_get_child_ops_func")
            import
            type(c_ptr), value, intent(in) :: filter
            type(c_funptr), value, intent(in) :: f_ptr
        end subroutine

        subroutine fstarpu_data_filter_set_filter_arg(filter, filter_arg) &
            bind(C, name="fstarpu_data_filter_set_filter_arg")
            import
            type(c_ptr), value, intent(in) :: filter
            integer(c_int), value, intent(in) :: filter_arg
        end subroutine

        subroutine fstarpu_data_filter_set_filter_arg_ptr(filter, filter_arg_ptr) &
            bind(C, name="fstarpu_data_filter_set_filter_arg_ptr")
            import
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: filter_arg_ptr
        end subroutine

        subroutine fstarpu_data_partition_plan(dh, filter, children) &
            bind(C, name="starpu_data_partition_plan")
            import
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), intent(out) :: children(*)
        end subroutine

        subroutine fstarpu_data_partition_submit(dh, nparts, children) &
            bind(C, name="starpu_data_partition_submit")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: nparts
            type(c_ptr), intent(in) :: children(*)
        end subroutine

        subroutine fstarpu_data_partition_readonly_submit(dh, nparts, children) &
            bind(C, name="starpu_data_partition_readonly_submit")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: nparts
            type(c_ptr), intent(in) :: children(*)
        end subroutine

        subroutine fstarpu_data_partition_readwrite_upgrade_submit(dh, nparts, children) &
            bind(C, name="starpu_data_partition_readwrite_upgrade_submit")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: nparts
            type(c_ptr), intent(in) :: children(*)
        end subroutine

        subroutine fstarpu_data_unpartition_submit(dh, nparts, children, gathering_node) &
            bind(C, name="starpu_data_unpartition_submit")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: nparts
            type(c_ptr), intent(in) :: children(*)
            integer(c_int), value, intent(in) :: gathering_node
        end subroutine

        subroutine fstarpu_data_unpartition_readonly_submit(dh, nparts, children, gathering_node) &
            bind(C, name="starpu_data_unpartition_readonly_submit")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: nparts
            type(c_ptr), intent(in) :: children(*)
            integer(c_int), value, intent(in) :: gathering_node
        end subroutine

        subroutine fstarpu_data_partition_clean(dh, nparts, children) &
            bind(C, name="starpu_data_partition_clean")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: nparts
            type(c_ptr), intent(in) :: children(*)
        end subroutine

        function fstarpu_data_get_nb_children(dh) &
            bind(C, name="starpu_data_get_nb_children")
            import
            integer(c_int) :: fstarpu_data_get_nb_children
            type(c_ptr), value, intent(in) :: dh
        end function

        function fstarpu_data_get_child(dh, i) &
            bind(C, name="starpu_data_get_child")
            import
            type(c_ptr) :: fstarpu_data_get_child
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: i
        end function

        subroutine fstarpu_matrix_filter_block(father_interface, child_interface, filter, id, nparts) &
            bind(C, name="starpu_matrix_filter_block")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_matrix_filter_block_shadow(father_interface, child_interface, filter, id, &
            nparts) &
            bind(C, name="starpu_matrix_filter_block_shadow")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_matrix_filter_vertical_block(father_interface, child_interface, filter, id, &
            nparts) &
            bind(C, name="starpu_matrix_filter_vertical_block")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_matrix_filter_vertical_block_shadow(father_interface, child_interface, &
            filter, id, nparts) &
            bind(C, name="starpu_matrix_filter_vertical_block_shadow")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_vector_filter_block(father_interface, child_interface, filter, id, nparts) &
            bind(C, name="starpu_vector_filter_block")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_vector_filter_block_shadow(father_interface, child_interface, filter, id, &
            nparts) &
            bind(C, name="starpu_vector_filter_block_shadow")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_vector_filter_list_long(father_interface, child_interface, filter, id, nparts) &
            bind(C, name="starpu_vector_filter_list_long")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_vector_filter_list(father_interface, child_interface, filter, id, nparts) &
            bind(C, name="starpu_vector_filter_list")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_vector_divide_in_2(father_interface, child_interface, filter, id, nparts) &
            bind(C, name="starpu_vector_filter_divide_in_2")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_block_filter_block(father_interface, child_interface, filter, id, nparts) &
            bind(C, name="starpu_block_filter_block")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_block_filter_block_shadow(father_interface, child_interface, filter, id, &
            nparts) &
            bind(C, name="starpu_block_filter_block_shadow")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_block_filter_vertical_block(father_interface, child_interface, filter, id, &
            nparts) &
            bind(C, name="starpu_block_filter_vertical_block")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_block_filter_vertical_block_shadow(father_interface, child_interface, &
            filter, id, nparts) &
            bind(C, name="starpu_block_filter_vertical_block_shadow")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_block_filter_depth_block(father_interface, child_interface, filter, id, nparts) &
            bind(C, name="starpu_block_filter_depth_block")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine

        subroutine fstarpu_block_filter_depth_block_shadow(father_interface, child_interface, filter, &
            id, nparts) &
            bind(C, name="starpu_block_filter_depth_block_shadow")
            import
            type(c_ptr), value, intent(in) :: father_interface
            type(c_ptr), value, intent(in) :: child_interface
            type(c_ptr), value, intent(in) :: filter
            type(c_ptr), value, intent(in) :: id
            type(c_ptr), value, intent(in) :: nparts
        end subroutine
    end interface

    ! ---- Scheduling contexts ----
    interface
        function fstarpu_sched_ctx_create(workers_array, nworkers, ctx_name, arglist) &
            bind(C, name="fstarpu_sched_ctx_create")
            import
            integer(c_int) :: fstarpu_sched_ctx_create
            integer(c_int), intent(in) :: workers_array(*)
            integer(c_int), value, intent(in) :: nworkers
            character(c_char), intent(in) :: ctx_name
            type(c_ptr), intent(in) :: arglist(*)
        end function

        function fstarpu_sched_ctx_create_inside_interval(policy_name, sched_ctx_name, min_ncpus, &
            max_ncpus, min_ngpus, max_ngpus, allow_overlap) &
            bind(C, name="starpu_sched_ctx_create_inside_interval")
            import
            integer(c_int) :: fstarpu_sched_ctx_create_inside_interval
            character(c_char), intent(in) :: policy_name
            character(c_char), intent(in) :: sched_ctx_name
            integer(c_int), value, intent(in) :: min_ncpus
            integer(c_int), value, intent(in) :: max_ncpus
            integer(c_int), value, intent(in) :: min_ngpus
            integer(c_int), value, intent(in) :: max_ngpus
            integer(c_int), value, intent(in) :: allow_overlap
        end function

        subroutine fstarpu_sched_ctx_register_close_callback(sched_ctx_id, close_callback, args) &
            bind(C, name="starpu_sched_ctx_register_close_callback")
            import
            integer(c_int), value, intent(in) :: sched_ctx_id
            type(c_funptr), value, intent(in) :: close_callback
            type(c_ptr), value, intent(in) :: args
        end subroutine

        subroutine fstarpu_sched_ctx_add_workers(workerids, nworkers, ctx) &
            bind(C, name="starpu_sched_ctx_add_workers")
            import
            integer(c_int), intent(in) :: workerids(*)
            integer(c_int), value, intent(in) :: nworkers
            integer(c_int), value, intent(in) :: ctx
        end subroutine

        subroutine fstarpu_sched_ctx_remove_workers(workerids, nworkers, ctx) &
            bind(C, name="starpu_sched_ctx_remove_workers")
            import
            integer(c_int), intent(in) :: workerids(*)
            integer(c_int), value, intent(in) :: nworkers
            integer(c_int), value, intent(in) :: ctx
        end subroutine

        subroutine fstarpu_sched_ctx_display_workers(ctx) &
            bind(C, name="fstarpu_sched_ctx_display_workers")
            import
            integer(c_int), value, intent(in) :: ctx
        end subroutine

        subroutine fstarpu_sched_ctx_delete(ctx) &
            bind(C, name="starpu_sched_ctx_delete")
            import
            integer(c_int), value, intent(in) :: ctx
        end subroutine

        subroutine fstarpu_sched_ctx_set_inheritor(ctx, inheritor) &
            bind(C, name="starpu_sched_ctx_set_inheritor")
            import
            integer(c_int), value, intent(in) :: ctx
            integer(c_int), value, intent(in) :: inheritor
        end subroutine

        function fstarpu_sched_ctx_get_inheritor(ctx) &
            bind(C, name="starpu_sched_ctx_get_inheritor")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_inheritor
            integer(c_int), value, intent(in) :: ctx
        end function

        function fstarpu_sched_ctx_get_hierarchy_level(ctx) &
            bind(C, name="starpu_sched_ctx_get_hierarchy_level")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_hierarchy_level
            integer(c_int), value, intent(in) :: ctx
        end function

        subroutine fstarpu_sched_ctx_set_context(ctx_ptr) &
            bind(C, name="starpu_sched_ctx_set_context")
            import
            type(c_ptr), value, intent(in) :: ctx_ptr
        end subroutine

        function fstarpu_sched_ctx_get_context() &
            bind(C, name="starpu_sched_ctx_get_context")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_context
        end function

        subroutine fstarpu_sched_ctx_stop_task_submission() &
            bind(C, name="starpu_sched_ctx_stop_task_submission")
            import
        end subroutine

        subroutine fstarpu_sched_ctx_finished_submit(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_finished_submit")
            import
            integer(c_int), value, intent(in) :: sched_ctx_id
        end subroutine

        function fstarpu_sched_ctx_get_nworkers(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_get_nworkers")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_nworkers
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_get_nshared_workers(sched_ctx_id, sched_ctx_id2) &
            bind(C, name="starpu_sched_ctx_get_nshared_workers")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_nshared_workers
            integer(c_int), value, intent(in) :: sched_ctx_id
            integer(c_int), value, intent(in) :: sched_ctx_id2
        end function

        function fstarpu_sched_ctx_contains_worker(workerid, sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_contains_worker")
            import
            integer(c_int) :: fstarpu_sched_ctx_contains_worker
            integer(c_int), value, intent(in) :: workerid
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_contains_type_of_worker(arch, sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_contains_type_of_worker")
            import
            integer(c_int) :: fstarpu_sched_ctx_contains_type_of_worker
            integer(c_int), value, intent(in) :: arch
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_worker_get_id(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_worker_get_id")
            import
            integer(c_int) :: fstarpu_sched_ctx_worker_get_id
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_get_ctx_for_task(task) &
            bind(C, name="starpu_sched_ctx_get_ctx_for_task")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_ctx_for_task
            type(c_ptr), value, intent(in) :: task
        end function

        function fstarpu_sched_ctx_overlapping_ctxs_on_worker(workerid) &
            bind(C, name="starpu_sched_ctx_overlapping_ctxs_on_worker")
            import
            integer(c_int) :: fstarpu_sched_ctx_overlapping_ctxs_on_worker
            integer(c_int), value, intent(in) :: workerid
        end function

        function fstarpu_sched_get_min_priority() &
            bind(C, name="starpu_sched_get_min_priority")
            import
            integer(c_int) :: fstarpu_sched_get_min_priority
        end function

        function fstarpu_sched_get_max_priority() &
            bind(C, name="starpu_sched_get_max_priority")
            import
            integer(c_int) :: fstarpu_sched_get_max_priority
        end function

        function fstarpu_sched_set_min_priority(min_prio) &
            bind(C, name="starpu_sched_set_min_priority")
            import
            integer(c_int) :: fstarpu_sched_set_min_priority
            integer(c_int), value, intent(in) :: min_prio
        end function

        function fstarpu_sched_set_max_priority(max_prio) &
            bind(C, name="starpu_sched_set_max_priority")
            import
            integer(c_int) :: fstarpu_sched_set_max_priority
            integer(c_int), value, intent(in) :: max_prio
        end function

        function fstarpu_sched_ctx_get_min_priority(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_get_min_priority")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_min_priority
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_get_max_priority(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_get_max_priority")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_max_priority
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_set_min_priority(sched_ctx_id, min_prio) &
            bind(C, name="starpu_sched_ctx_set_min_priority")
            import
            integer(c_int) :: fstarpu_sched_ctx_set_min_priority
            integer(c_int), value, intent(in) :: sched_ctx_id
            integer(c_int), value, intent(in) :: min_prio
        end function

        function fstarpu_sched_ctx_set_max_priority(sched_ctx_id, max_prio) &
            bind(C, name="starpu_sched_ctx_set_max_priority")
            import
            integer(c_int) :: fstarpu_sched_ctx_set_max_priority
            integer(c_int), value, intent(in) :: sched_ctx_id
            integer(c_int), value, intent(in) :: max_prio
        end function

        function fstarpu_sched_ctx_min_priority_is_set(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_min_priority_is_set")
            import
            integer(c_int) :: fstarpu_sched_ctx_min_priority_is_set
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_max_priority_is_set(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_max_priority_is_set")
            import
            integer(c_int) :: fstarpu_sched_ctx_max_priority_is_set
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_get_user_data(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_get_user_data")
            import
            type(c_ptr) :: fstarpu_sched_ctx_get_user_data
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        subroutine fstarpu_sched_ctx_delete_worker_collection(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_delete_worker_collection")
            import
            integer(c_int), value, intent(in) :: sched_ctx_id
        end subroutine

        subroutine fstarpu_sched_ctx_set_policy_data(sched_ctx_id, policy_data) &
            bind(C, name="starpu_sched_ctx_set_policy_data")
            import
            integer(c_int), value, intent(in) :: sched_ctx_id
            type(c_ptr), value, intent(in) :: policy_data
        end subroutine

        function fstarpu_sched_ctx_get_policy_data(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_get_policy_data")
            import
            type(c_ptr) :: fstarpu_sched_ctx_get_policy_data
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_exec_parallel_code(func, param, sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_exec_parallel_code")
            import
            type(c_ptr) :: fstarpu_sched_ctx_exec_parallel_code
            type(c_funptr), value, intent(in) :: func
            type(c_ptr), value, intent(in) :: param
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_get_nready_tasks(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_get_nready_tasks")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_nready_tasks
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_get_nready_flops(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_get_nready_flops")
            import
            real(c_double) :: fstarpu_sched_ctx_get_nready_flops
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        subroutine fstarpu_sched_ctx_list_task_counters_increment(sched_ctx_id, workerid) &
            bind(C, name="starpu_sched_ctx_list_task_counters_increment")
            import
            integer(c_int), value, intent(in) :: sched_ctx_id
            integer(c_int), value, intent(in) :: workerid
        end subroutine

        subroutine fstarpu_sched_ctx_list_task_counters_decrement(sched_ctx_id, workerid) &
            bind(C, name="starpu_sched_ctx_list_task_counters_decrement")
            import
            integer(c_int), value, intent(in) :: sched_ctx_id
            integer(c_int), value, intent(in) :: workerid
        end subroutine

        subroutine fstarpu_sched_ctx_list_task_counters_reset(sched_ctx_id, workerid) &
            bind(C, name="starpu_sched_ctx_list_task_counters_reset")
            import
            integer(c_int), value, intent(in) :: sched_ctx_id
            integer(c_int), value, intent(in) :: workerid
        end subroutine

        subroutine fstarpu_sched_ctx_list_task_counters_reset_all(task, sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_list_task_counters_reset_all")
            import
            type(c_ptr), value, intent(in) :: task
            integer(c_int), value, intent(in) :: sched_ctx_id
        end subroutine

        function fstarpu_sched_ctx_get_priority(worker, sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_get_priority")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_priority
            integer(c_int), value, intent(in) :: worker
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        subroutine fstarpu_sched_ctx_bind_current_thread_to_cpuid(cpuid) &
            bind(C, name="starpu_sched_ctx_bind_current_thread_to_cpuid")
            import
            integer(c_int), value, intent(in) :: cpuid
        end subroutine

        function fstarpu_sched_ctx_book_workers_for_task(sched_ctx_id, workerids, nworkers) &
            bind(C, name="starpu_sched_ctx_book_workers_for_task")
            import
            integer(c_int) :: fstarpu_sched_ctx_book_workers_for_task
            integer(c_int), value, intent(in) :: sched_ctx_id
            integer(c_int), intent(in) :: workerids(*)
            integer(c_int), value, intent(in) :: nworkers
        end function

        subroutine fstarpu_sched_ctx_unbook_workers_for_task(sched_ctx_id, master) &
            bind(C, name="starpu_sched_ctx_unbook_workers_for_task")
            import
            integer(c_int), value, intent(in) :: sched_ctx_id
            integer(c_int), value, intent(in) :: master
        end subroutine

        function fstarpu_sched_ctx_worker_is_master_for_child_ctx(workerid, sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_worker_is_master_for_child_ctx")
            import
            integer(c_int) :: fstarpu_sched_ctx_worker_is_master_for_child_ctx
            integer(c_int), value, intent(in) :: workerid
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        function fstarpu_sched_ctx_master_get_context(masterid) &
            bind(C, name="starpu_sched_ctx_master_get_context")
            import
            integer(c_int) :: fstarpu_sched_ctx_master_get_context
            integer(c_int), value, intent(in) :: masterid
        end function

        function fstarpu_sched_ctx_get_worker_rank(sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_get_worker_rank")
            import
            integer(c_int) :: fstarpu_sched_ctx_get_worker_rank
            integer(c_int), value, intent(in) :: sched_ctx_id
        end function

        subroutine fstarpu_sched_ctx_call_pushed_task_cb(workerid, sched_ctx_id) &
            bind(C, name="starpu_sched_ctx_call_pushed_task_cb")
            import
            integer(c_int), value, intent(in) :: workerid
            integer(c_int), value, intent(in) :: sched_ctx_id
        end subroutine
    end interface

    ! ---- What is recorded and shown ----
    interface
        subroutine fstarpu_display_stats() &
            bind(C, name="starpu_display_stats")
            import
        end subroutine

        subroutine fstarpu_display_memory_stats() &
            bind(C, name="starpu_data_display_memory_stats")
            import
        end subroutine

        subroutine fstarpu_fxt_autostart_profiling(autostart) &
            bind(C, name="starpu_fxt_autostart_profiling")
            import
            integer(c_int), value, intent(in) :: autostart
        end subroutine

        subroutine fstarpu_fxt_start_profiling() &
            bind(C, name="starpu_fxt_start_profiling")
            import
        end subroutine

        subroutine fstarpu_fxt_stop_profiling() &
            bind(C, name="starpu_fxt_stop_profiling")
            import
        end subroutine

        subroutine fstarpu_trace_user_event(code) &
            bind(C, name="starpu_fxt_trace_user_event")
            import
            integer(c_long), value, intent(in) :: code
        end subroutine
    end interface

    ! ---- Tensors ----
    interface
        subroutine fstarpu_tensor_data_register(dh, home_node, ptr, ldy, ldz, ldt, nx, ny, nz, nt, elt_size) &
            bind(C, name="fstarpu_tensor_data_register")
            import
            type(c_ptr), intent(out) :: dh
            integer(c_int), value, intent(in) :: home_node
            type(c_ptr), value, intent(in) :: ptr
            integer(c_int), value, intent(in) :: ldy, ldz, ldt, nx, ny, nz, nt
            integer(c_size_t), value, intent(in) :: elt_size
        end subroutine

        function fstarpu_tensor_get_ptr(buffers, i) &
            bind(C, name="fstarpu_tensor_get_ptr")
            import
            type(c_ptr) :: fstarpu_tensor_get_ptr
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_tensor_get_ldy(buffers, i) &
            bind(C, name="fstarpu_tensor_get_ldy")
            import
            integer(c_int) :: fstarpu_tensor_get_ldy
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_tensor_get_ldz(buffers, i) &
            bind(C, name="fstarpu_tensor_get_ldz")
            import
            integer(c_int) :: fstarpu_tensor_get_ldz
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_tensor_get_ldt(buffers, i) &
            bind(C, name="fstarpu_tensor_get_ldt")
            import
            integer(c_int) :: fstarpu_tensor_get_ldt
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_tensor_get_nx(buffers, i) &
            bind(C, name="fstarpu_tensor_get_nx")
            import
            integer(c_int) :: fstarpu_tensor_get_nx
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_tensor_get_ny(buffers, i) &
            bind(C, name="fstarpu_tensor_get_ny")
            import
            integer(c_int) :: fstarpu_tensor_get_ny
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_tensor_get_nz(buffers, i) &
            bind(C, name="fstarpu_tensor_get_nz")
            import
            integer(c_int) :: fstarpu_tensor_get_nz
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_tensor_get_nt(buffers, i) &
            bind(C, name="fstarpu_tensor_get_nt")
            import
            integer(c_int) :: fstarpu_tensor_get_nt
            type(c_ptr), value, intent(in) :: buffers
            integer(c_int), value, intent(in) :: i
        end function

        function fstarpu_df_alloc_tensor_filter_block() &
            bind(C, name="fstarpu_df_alloc_tensor_filter_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_tensor_filter_block
        end function

        function fstarpu_df_alloc_tensor_filter_vertical_block() &
            bind(C, name="fstarpu_df_alloc_tensor_filter_vertical_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_tensor_filter_vertical_block
        end function

        function fstarpu_df_alloc_tensor_filter_depth_block() &
            bind(C, name="fstarpu_df_alloc_tensor_filter_depth_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_tensor_filter_depth_block
        end function

        function fstarpu_df_alloc_tensor_filter_time_block() &
            bind(C, name="fstarpu_df_alloc_tensor_filter_time_block")
            import
            type(c_ptr) :: fstarpu_df_alloc_tensor_filter_time_block
        end function
    end interface

contains

    ! Numbers as arguments of lists, and back; the union of flags.
    function ip_to_p(i) bind(C)
        type(c_ptr) :: ip_to_p
        integer(c_intptr_t), value, intent(in) :: i
        ip_to_p = transfer(i, C_NULL_PTR)
    end function

    function sz_to_p(sz) bind(C)
        type(c_ptr) :: sz_to_p
        integer(c_size_t), value, intent(in) :: sz
        sz_to_p = ip_to_p(int(sz, kind=c_intptr_t))
    end function

    function p_to_ip(p) bind(C)
        integer(c_intptr_t) :: p_to_ip
        type(c_ptr), value, intent(in) :: p
        p_to_ip = transfer(p, 0_c_intptr_t)
    end function

    function fstarpu_csizet_to_cptr(i)
        type(c_ptr) :: fstarpu_csizet_to_cptr
        integer(c_size_t), intent(in) :: i
        fstarpu_csizet_to_cptr = sz_to_p(i)
    end function

    function fstarpu_int_to_cptr(i)
        type(c_ptr) :: fstarpu_int_to_cptr
        integer, intent(in) :: i
        fstarpu_int_to_cptr = ip_to_p(int(i, kind=c_intptr_t))
    end function

    function or_cptrs(op1, op2)
        type(c_ptr) :: or_cptrs
        type(c_ptr), intent(in) :: op1, op2
        or_cptrs = ip_to_p(ior(p_to_ip(op1), p_to_ip(op2)))
    end function

    function constant(name)
        type(c_ptr) :: constant
        character(*), intent(in) :: name
        constant = fstarpu_get_constant("FSTARPU_"//name//C_NULL_CHAR)
    end function

    ! Starts the runtime, as starpu_init(); conf may be C_NULL_PTR. Returns 0 or a negative error.
    function fstarpu_init(conf) bind(C)
        integer(c_int) :: fstarpu_init
        type(c_ptr), value, intent(in) :: conf
        FSTARPU_R = constant("R")
        FSTARPU_W = constant("W")
        FSTARPU_RW = constant("RW")
        FSTARPU_SCRATCH = constant("SCRATCH")
        FSTARPU_REDUX = constant("REDUX")
        FSTARPU_COMMUTE = constant("COMMUTE")
        FSTARPU_SSEND = constant("SSEND")
        FSTARPU_LOCALITY = constant("LOCALITY")
        FSTARPU_DATA_ARRAY = constant("DATA_ARRAY")
        FSTARPU_DATA_MODE_ARRAY = constant("DATA_MODE_ARRAY")
        FSTARPU_CL_ARGS = constant("CL_ARGS")
        FSTARPU_CL_ARGS_NFREE = constant("CL_ARGS_NFREE")
        FSTARPU_CALLBACK = constant("CALLBACK")
        FSTARPU_CALLBACK_WITH_ARG = constant("CALLBACK_WITH_ARG")
        FSTARPU_CALLBACK_ARG = constant("CALLBACK_ARG")
        FSTARPU_PRIORITY = constant("PRIORITY")
        FSTARPU_EXECUTE_ON_NODE = constant("EXECUTE_ON_NODE")
        FSTARPU_EXECUTE_ON_DATA = constant("EXECUTE_ON_DATA")
        FSTARPU_EXECUTE_ON_WORKER = constant("EXECUTE_ON_WORKER")
        FSTARPU_WORKER_ORDER = constant("WORKER_ORDER")
        FSTARPU_EXECUTE_WHERE = constant("EXECUTE_WHERE")
        FSTARPU_FLOPS = constant("FLOPS")
        FSTARPU_TAG = constant("TAG")
        FSTARPU_TAG_ONLY = constant("TAG_ONLY")
        FSTARPU_NAME = constant("NAME")
        FSTARPU_TASK_COLOR = constant("TASK_COLOR")
        FSTARPU_TASK_SYNCHRONOUS = constant("TASK_SYNCHRONOUS")
        FSTARPU_VALUE = constant("VALUE")
        FSTARPU_SCHED_CTX = constant("SCHED_CTX")
        FSTARPU_CPU_WORKER = constant("CPU_WORKER")
        FSTARPU_CUDA_WORKER = constant("CUDA_WORKER")
        FSTARPU_OPENCL_WORKER = constant("OPENCL_WORKER")
        FSTARPU_ANY_WORKER = constant("ANY_WORKER")
        FSTARPU_NOWHERE = constant("NOWHERE")
        FSTARPU_CPU = constant("CPU")
        FSTARPU_CUDA = constant("CUDA")
        FSTARPU_OPENCL = constant("OPENCL")
        FSTARPU_CUDA_ASYNC = constant("CUDA_ASYNC")
        FSTARPU_OPENCL_ASYNC = constant("OPENCL_ASYNC")
        FSTARPU_HISTORY_BASED = constant("HISTORY_BASED")
        FSTARPU_REGRESSION_BASED = constant("REGRESSION_BASED")
        FSTARPU_NL_REGRESSION_BASED = constant("NL_REGRESSION_BASED")
        FSTARPU_MULTIPLE_REGRESSION_BASED = constant("MULTIPLE_REGRESSION_BASED")
        FSTARPU_MPI_REDUX = constant("MPI_REDUX")
        FSTARPU_PROLOGUE_CALLBACK = constant("PROLOGUE_CALLBACK")
        FSTARPU_PROLOGUE_CALLBACK_ARG = constant("PROLOGUE_CALLBACK_ARG")
        FSTARPU_PROLOGUE_CALLBACK_POP = constant("PROLOGUE_CALLBACK_POP")
        FSTARPU_PROLOGUE_CALLBACK_POP_ARG = constant("PROLOGUE_CALLBACK_POP_ARG")
        FSTARPU_NODE_SELECTION_POLICY = constant("NODE_SELECTION_POLICY")
        FSTARPU_HYPERVISOR_TAG = constant("HYPERVISOR_TAG")
        FSTARPU_POSSIBLY_PARALLEL = constant("POSSIBLY_PARALLEL")
        FSTARPU_SEQUENTIAL_CONSISTENCY = constant("SEQUENTIAL_CONSISTENCY")
        FSTARPU_HANDLES_SEQUENTIAL_CONSISTENCY = constant("HANDLES_SEQUENTIAL_CONSISTENCY")
        FSTARPU_TASK_NO_SUBMITORDER = constant("TASK_NO_SUBMITORDER")
        FSTARPU_TASK_DEPS_ARRAY = constant("TASK_DEPS_ARRAY")
        FSTARPU_TASK_END_DEP = constant("TASK_END_DEP")
        FSTARPU_TASK_SCHED_DATA = constant("TASK_SCHED_DATA")
        FSTARPU_SCHED_CTX_POLICY_NAME = constant("SCHED_CTX_POLICY_NAME")
        FSTARPU_SCHED_CTX_POLICY_STRUCT = constant("SCHED_CTX_POLICY_STRUCT")
        FSTARPU_SCHED_CTX_POLICY_MIN_PRIO = constant("SCHED_CTX_POLICY_MIN_PRIO")
        FSTARPU_SCHED_CTX_POLICY_MAX_PRIO = constant("SCHED_CTX_POLICY_MAX_PRIO")
        FSTARPU_SCHED_CTX_POLICY_INIT = constant("SCHED_CTX_POLICY_INIT")
        FSTARPU_SCHED_CTX_HIERARCHY_LEVEL = constant("SCHED_CTX_HIERARCHY_LEVEL")
        FSTARPU_SCHED_CTX_NESTED = constant("SCHED_CTX_NESTED")
        FSTARPU_SCHED_CTX_AWAKE_WORKERS = constant("SCHED_CTX_AWAKE_WORKERS")
        FSTARPU_SCHED_CTX_USER_DATA = constant("SCHED_CTX_USER_DATA")
        FSTARPU_PER_WORKER = constant("PER_WORKER")
        FSTARPU_PER_ARCH = constant("PER_ARCH")
        FSTARPU_CODELET_SIMGRID_EXECUTE = constant("CODELET_SIMGRID_EXECUTE")
        FSTARPU_CODELET_SIMGRID_EXECUTE_AND_INJECT = constant("CODELET_SIMGRID_EXECUTE_AND_INJECT")
        FSTARPU_SZ_C_DOUBLE = ip_to_p(int(storage_size(0.0_c_double)/8, kind=c_intptr_t))
        FSTARPU_SZ_C_FLOAT = ip_to_p(int(storage_size(0.0_c_float)/8, kind=c_intptr_t))
        FSTARPU_SZ_C_CHAR = ip_to_p(int(storage_size(' ')/8, kind=c_intptr_t))
        FSTARPU_SZ_C_INT = ip_to_p(int(storage_size(0_c_int)/8, kind=c_intptr_t))
        FSTARPU_SZ_C_INTPTR_T = ip_to_p(int(storage_size(0_c_intptr_t)/8, kind=c_intptr_t))
        FSTARPU_SZ_C_PTR = ip_to_p(int(storage_size(C_NULL_PTR)/8, kind=c_intptr_t))
        FSTARPU_SZ_C_SIZE_T = ip_to_p(int(storage_size(0_c_size_t)/8, kind=c_intptr_t))
        FSTARPU_SZ_CHARACTER = ip_to_p(int(storage_size(' ')/8, kind=c_intptr_t))
        FSTARPU_SZ_INTEGER = ip_to_p(int(storage_size(0)/8, kind=c_intptr_t))
        FSTARPU_SZ_INT4 = ip_to_p(int(storage_size(0_4)/8, kind=c_intptr_t))
        FSTARPU_SZ_INT8 = ip_to_p(int(storage_size(0_8)/8, kind=c_intptr_t))
        FSTARPU_SZ_REAL = ip_to_p(int(storage_size(0.0)/8, kind=c_intptr_t))
        FSTARPU_SZ_REAL4 = ip_to_p(int(storage_size(0.0_4)/8, kind=c_intptr_t))
        FSTARPU_SZ_REAL8 = ip_to_p(int(storage_size(0.0_8)/8, kind=c_intptr_t))
        FSTARPU_SZ_DOUBLE_PRECISION = ip_to_p(int(storage_size(0.0d0)/8, kind=c_intptr_t))
        FSTARPU_SZ_COMPLEX = ip_to_p(int(storage_size((0.0, 0.0))/8, kind=c_intptr_t))
        FSTARPU_SZ_COMPLEX4 = ip_to_p(int(storage_size((0.0_4, 0.0_4))/8, kind=c_intptr_t))
        FSTARPU_SZ_COMPLEX8 = ip_to_p(int(storage_size((0.0_8, 0.0_8))/8, kind=c_intptr_t))
        FSTARPU_NMAXBUFS = int(p_to_ip(constant("NMAXBUFS")), kind=c_int)
        fstarpu_init = fstarpu_init_internal(conf)
    end function

end module fstarpu_mod
