! SPDX-License-Identifier: BSD-3-Clause
! fstarpu_mod.f90: the StarPU interface for Fortran 2008, over C's functions (starpu_fortran.h, and those that are
! bound by their own names). Compile it with the program: modules of compilers differ.
! Threads, errors, units: as starpu.h says. Numbers of enumerations, and sizes, are type(c_ptr): FSTARPU_RW,
! FSTARPU_SZ_C_INT. fstarpu_init() sets these variables, so it comes first. Strings end in C_NULL_CHAR.
! Not here: MPI; what takes a structure of C.
module fstarpu_mod
    use iso_c_binding
    implicit none
    private :: constant

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
            bind(C, name="starpu_vector_data_register")
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
            bind(C, name="starpu_matrix_data_register")
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
            bind(C, name="starpu_block_data_register")
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
