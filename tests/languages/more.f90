! SPDX-License-Identifier: BSD-3-Clause
! Fortran over fstarpu_mod: contexts, planned pieces, filters of all sorts, blocks and tensors, callbacks, tags, tasks that
! wait for tasks, lists. Prints TAP. Run by tests/languages/fortran.sh.
module more_kernels
    use iso_c_binding
    use fstarpu_mod
    implicit none
    integer(c_int), target :: callbacks = 0
contains
    recursive subroutine add_one(buffers, args) bind(C)
        type(c_ptr), value, intent(in) :: buffers, args
        integer(c_int), pointer :: x(:)
        call c_f_pointer(fstarpu_vector_get_ptr(buffers, 0), x, [fstarpu_vector_get_nx(buffers, 0)])
        x = x + 1
        if (c_associated(args)) x = -1
    end subroutine

    ! log = log*10 + digit
    recursive subroutine append(buffers, args) bind(C)
        type(c_ptr), value, intent(in) :: buffers, args
        integer(c_int), pointer :: log
        integer(c_int), target :: digit
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 0), log)
        call fstarpu_unpack_arg(args, (/ c_loc(digit), C_NULL_PTR /))
        log = log*10 + digit
    end subroutine

    ! The context that it runs in.
    recursive subroutine note_context(buffers, args) bind(C)
        type(c_ptr), value, intent(in) :: buffers, args
        integer(c_int), pointer :: found
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 0), found)
        found = fstarpu_sched_ctx_get_ctx_for_task(fstarpu_task_get_current())
        if (c_associated(args)) found = -1
    end subroutine

    recursive subroutine sum_block(buffers, args) bind(C)
        type(c_ptr), value, intent(in) :: buffers, args
        integer(c_int), pointer :: b(:, :, :), total
        integer :: ldy, ldz
        ldy = fstarpu_block_get_ldy(buffers, 0)
        ldz = fstarpu_block_get_ldz(buffers, 0)
        call c_f_pointer(fstarpu_block_get_ptr(buffers, 0), b, [ldy, ldz/ldy, fstarpu_block_get_nz(buffers, 0)])
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 1), total)
        total = sum(b(1:fstarpu_block_get_nx(buffers, 0), 1:fstarpu_block_get_ny(buffers, 0), :))
        if (c_associated(args)) total = -1
    end subroutine

    recursive subroutine sum_tensor(buffers, args) bind(C)
        type(c_ptr), value, intent(in) :: buffers, args
        integer(c_int), pointer :: t(:, :, :, :), total
        integer :: n(4)
        n = [fstarpu_tensor_get_nx(buffers, 0), fstarpu_tensor_get_ny(buffers, 0), fstarpu_tensor_get_nz(buffers, 0), &
            fstarpu_tensor_get_nt(buffers, 0)]
        call c_f_pointer(fstarpu_tensor_get_ptr(buffers, 0), t, n)
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 1), total)
        total = sum(t)
        if (fstarpu_tensor_get_ldy(buffers, 0) /= n(1) .or. fstarpu_tensor_get_ldz(buffers, 0) /= n(1)*n(2) .or. &
            fstarpu_tensor_get_ldt(buffers, 0) /= n(1)*n(2)*n(3) .or. c_associated(args)) total = -1
    end subroutine

    recursive subroutine count_call(arg) bind(C)
        type(c_ptr), value, intent(in) :: arg
        integer(c_int), pointer :: count
        call c_f_pointer(arg, count)
        count = count + 1
    end subroutine

    ! A filter of the program's own: equal parts, by the library's.
    recursive subroutine halves(parent, child, filter, id, nparts) bind(C)
        type(c_ptr), value, intent(in) :: parent, child, filter, id, nparts
        call fstarpu_vector_filter_block(parent, child, filter, id, nparts)
    end subroutine
end module

program more
    use iso_c_binding
    use fstarpu_mod
    use more_kernels
    use tap
    implicit none
    type(c_ptr) :: add_cl, append_cl

    if (fstarpu_init(C_NULL_PTR) /= 0) stop 77
    add_cl = fstarpu_codelet_allocate()
    call fstarpu_codelet_add_cpu_func(add_cl, c_funloc(add_one))
    call fstarpu_codelet_add_buffer(add_cl, FSTARPU_RW.ior.FSTARPU_LOCALITY)
    append_cl = fstarpu_codelet_allocate()
    call fstarpu_codelet_add_cpu_func(append_cl, c_funloc(append))
    call fstarpu_codelet_add_buffer(append_cl, FSTARPU_RW)

    call contexts()
    call planned()
    call filters()
    call shapes()
    call order()
    call lists()
    call workers()

    call fstarpu_codelet_free(add_cl)
    call fstarpu_codelet_free(append_cl)
    call fstarpu_shutdown()
    print '(a,i0)', "1..", facts
contains
    subroutine contexts()
        integer(c_int) :: ids(2), count
        integer(c_int), target :: first, second, found(2), low = -3, high = 7
        character(kind=c_char, len=6), target :: policy = "eager"//C_NULL_CHAR
        type(c_ptr) :: cl, handles(2)
        count = fstarpu_worker_get_ids_by_type(FSTARPU_CPU_WORKER, ids, 2)
        first = fstarpu_sched_ctx_create(ids(1:1), 1, "one"//C_NULL_CHAR, &
            (/ FSTARPU_SCHED_CTX_POLICY_NAME, C_NULL_PTR, C_NULL_PTR /))
        second = fstarpu_sched_ctx_create(ids(2:2), 1, "two"//C_NULL_CHAR, (/ FSTARPU_SCHED_CTX_POLICY_NAME, &
            c_loc(policy), FSTARPU_SCHED_CTX_POLICY_MAX_PRIO, c_loc(high), FSTARPU_SCHED_CTX_POLICY_MIN_PRIO, c_loc(low), &
            FSTARPU_SCHED_CTX_USER_DATA, c_loc(low), FSTARPU_SCHED_CTX_AWAKE_WORKERS, C_NULL_PTR /))
        call fact(count == 2 .and. first > 0 .and. second > first .and. fstarpu_sched_ctx_get_nworkers(first) == 1 .and. &
            fstarpu_sched_ctx_contains_worker(ids(2), second) == 1 .and. fstarpu_sched_ctx_contains_worker(ids(1), second) == 0, &
            "contexts are made of workers")
        call fact(fstarpu_sched_ctx_min_priority_is_set(first) == 0 .and. fstarpu_sched_ctx_get_min_priority(second) == -3 .and. &
            fstarpu_sched_ctx_get_max_priority(second) == 7 .and. &
            c_associated(fstarpu_sched_ctx_get_user_data(second), c_loc(low)), "they get priorities and data where they are given")
        call fact(fstarpu_sched_ctx_create(ids(1:1), 1, "three"//C_NULL_CHAR, (/ FSTARPU_RW, c_loc(low), C_NULL_PTR /)) < 0, &
            "an argument that contexts do not have is refused")
        call fstarpu_sched_ctx_set_inheritor(second, first)
        cl = fstarpu_codelet_allocate()
        call fstarpu_codelet_add_cpu_func(cl, c_funloc(note_context))
        call fstarpu_codelet_add_buffer(cl, FSTARPU_W)
        call fstarpu_variable_data_register(handles(1), 0, c_loc(found(1)), 4_c_size_t)
        call fstarpu_variable_data_register(handles(2), 0, c_loc(found(2)), 4_c_size_t)
        call fstarpu_task_insert((/ cl, FSTARPU_W, handles(1), FSTARPU_SCHED_CTX, c_loc(first), C_NULL_PTR /))
        call fstarpu_task_insert((/ cl, FSTARPU_W, handles(2), FSTARPU_SCHED_CTX, c_loc(second), C_NULL_PTR /))
        call fstarpu_task_wait_for_all_in_ctx(first)
        call fstarpu_task_wait_for_all_in_ctx(second)
        call fstarpu_data_unregister(handles(1))
        call fstarpu_data_unregister(handles(2))
        call fact(found(1) == first .and. found(2) == second, "tasks run in the context that the list names")
        call fstarpu_sched_ctx_add_workers(ids(1:1), 1, second)
        call fact(fstarpu_sched_ctx_get_nworkers(second) == 2, "workers are added to a context")
        call fstarpu_sched_ctx_finished_submit(second)
        call fstarpu_sched_ctx_delete(second)
        call fstarpu_sched_ctx_delete(first)
        call fstarpu_codelet_free(cl)
    end subroutine

    subroutine planned()
        integer(c_int), target :: x(12)
        type(c_ptr) :: vector, filter, pieces(3)
        integer :: k
        x = 0
        call fstarpu_vector_data_register(vector, 0, c_loc(x), 12, 4_c_size_t)
        filter = fstarpu_df_alloc_vector_filter_block()
        call fstarpu_data_filter_set_nchildren(filter, 3)
        call fstarpu_data_partition_plan(vector, filter, pieces)
        call fstarpu_task_insert((/ add_cl, FSTARPU_RW.ior.FSTARPU_LOCALITY, vector, C_NULL_PTR /))
        call fstarpu_data_partition_submit(vector, 3, pieces)
        do k = 1, 3
            call fstarpu_task_insert((/ add_cl, FSTARPU_RW.ior.FSTARPU_LOCALITY, pieces(k), C_NULL_PTR /))
        end do
        call fstarpu_task_insert((/ add_cl, FSTARPU_RW.ior.FSTARPU_LOCALITY, pieces(2), C_NULL_PTR /))
        call fstarpu_data_unpartition_submit(vector, 3, pieces, -1)
        call fstarpu_task_insert((/ add_cl, FSTARPU_RW.ior.FSTARPU_LOCALITY, vector, C_NULL_PTR /))
        call fstarpu_data_partition_clean(vector, 3, pieces)
        call fstarpu_data_unregister(vector)
        call fstarpu_data_filter_free(filter)
        call fact(all(x(1:4) == 3) .and. all(x(5:8) == 4) .and. all(x(9:12) == 3), "planned pieces follow each other in order")
    end subroutine

    subroutine filters()
        integer(c_int), target :: x(12), lengths(3) = [2, 7, 3]
        type(c_ptr) :: vector, filter, piece
        x = 0
        call fstarpu_vector_data_register(vector, 0, c_loc(x), 12, 4_c_size_t)
        filter = fstarpu_df_alloc_vector_filter_list()
        call fstarpu_data_filter_set_nchildren(filter, 3)
        call fstarpu_data_filter_set_filter_arg_ptr(filter, c_loc(lengths))
        call fstarpu_data_partition(vector, filter)
        piece = fstarpu_data_get_child(vector, 1)
        call fstarpu_task_insert((/ add_cl, FSTARPU_RW.ior.FSTARPU_LOCALITY, piece, C_NULL_PTR /))
        call fact(fstarpu_data_get_nb_children(vector) == 3, "a vector is cut by a list of lengths")
        call fstarpu_data_unpartition(vector, 0)
        call fstarpu_data_filter_free(filter)
        filter = fstarpu_df_alloc_vector_filter_divide_in_2()
        call fstarpu_data_filter_set_filter_arg(filter, 5)
        call fstarpu_data_partition(vector, filter)
        piece = fstarpu_data_get_sub_data(vector, 1, [0])
        call fstarpu_task_insert((/ add_cl, FSTARPU_RW.ior.FSTARPU_LOCALITY, piece, C_NULL_PTR /))
        call fstarpu_data_unpartition(vector, 0)
        call fstarpu_data_filter_free(filter)
        filter = fstarpu_data_filter_allocate()
        call fstarpu_data_filter_set_nchildren(filter, 2)
        call fstarpu_data_filter_set_filter_func(filter, c_funloc(halves))
        call fstarpu_data_partition(vector, filter)
        piece = fstarpu_data_get_child(vector, 1)
        call fstarpu_task_insert((/ add_cl, FSTARPU_RW.ior.FSTARPU_LOCALITY, piece, C_NULL_PTR /))
        call fstarpu_data_unpartition(vector, 0)
        call fstarpu_data_filter_free(filter)
        call fstarpu_data_unregister(vector)
        call fact(all(x == [1, 1, 2, 2, 2, 1, 2, 2, 2, 1, 1, 1]), "so is it in two parts, and by a filter in Fortran")
    end subroutine

    subroutine shapes()
        integer(c_int), target :: b(4, 5, 6), t(2, 3, 4, 5), total = 0
        type(c_ptr) :: block_cl, tensor_cl, block, tensor, result, piece, filter
        block_cl = fstarpu_codelet_allocate()
        call fstarpu_codelet_add_cpu_func(block_cl, c_funloc(sum_block))
        call fstarpu_codelet_add_buffer(block_cl, FSTARPU_R)
        call fstarpu_codelet_add_buffer(block_cl, FSTARPU_W)
        tensor_cl = fstarpu_codelet_allocate()
        call fstarpu_codelet_add_cpu_func(tensor_cl, c_funloc(sum_tensor))
        call fstarpu_codelet_add_buffer(tensor_cl, FSTARPU_R)
        call fstarpu_codelet_add_buffer(tensor_cl, FSTARPU_W)
        b = 100
        b(1:3, 1:4, :) = 1
        t = 1
        call fstarpu_variable_data_register(result, 0, c_loc(total), 4_c_size_t)
        call fstarpu_block_data_register(block, 0, c_loc(b), 4, 20, 3, 4, 6, 4_c_size_t)
        call fstarpu_task_insert((/ block_cl, FSTARPU_R, block, FSTARPU_W, result, C_NULL_PTR /))
        call fstarpu_data_acquire(result, FSTARPU_R)
        call fact(total == 72, "a block within a larger one is summed")
        call fstarpu_data_release(result)
        filter = fstarpu_df_alloc_block_filter_vertical_block()
        call fstarpu_data_filter_set_nchildren(filter, 2)
        call fstarpu_data_partition(block, filter)
        piece = fstarpu_data_get_child(block, 0)
        call fstarpu_task_insert((/ block_cl, FSTARPU_R, piece, FSTARPU_W, result, C_NULL_PTR /))
        call fstarpu_data_acquire(result, FSTARPU_R)
        call fact(total == 36, "so is half of it")
        call fstarpu_data_release(result)
        call fstarpu_data_unpartition(block, 0)
        call fstarpu_data_filter_free(filter)
        call fstarpu_data_unregister(block)
        call fstarpu_tensor_data_register(tensor, 0, c_loc(t), 2, 6, 24, 2, 3, 4, 5, 4_c_size_t)
        call fstarpu_task_insert((/ tensor_cl, FSTARPU_R, tensor, FSTARPU_W, result, C_NULL_PTR /))
        call fstarpu_data_unregister(tensor)
        call fstarpu_data_unregister(result)
        call fact(total == 120, "and a tensor")
        call fstarpu_codelet_free(block_cl)
        call fstarpu_codelet_free(tensor_cl)
    end subroutine

    ! Tags, and tasks that wait for tasks: against the order of submission, on data without sequential consistency.
    subroutine order()
        integer(c_int), target :: log = 0, digit(4) = [1, 2, 3, 4], none = 0, ndeps = 1
        integer(c_long_long), target :: tag(2) = [101_c_long_long, 102_c_long_long]
        type(c_ptr) :: handle
        type(c_ptr), target :: before(1)
        call fstarpu_variable_data_register(handle, 0, c_loc(log), 4_c_size_t)
        call fstarpu_tag_declare_deps_array(101, 1, tag(2:2))
        call fstarpu_task_insert((/ append_cl, FSTARPU_RW, handle, FSTARPU_VALUE, c_loc(digit(2)), FSTARPU_SZ_C_INT, &
            FSTARPU_TAG, c_loc(tag(1)), FSTARPU_SEQUENTIAL_CONSISTENCY, c_loc(none), FSTARPU_CALLBACK_WITH_ARG, &
            transfer(c_funloc(count_call), C_NULL_PTR), c_loc(callbacks), C_NULL_PTR /))
        call fstarpu_task_insert((/ append_cl, FSTARPU_RW, handle, FSTARPU_VALUE, c_loc(digit(1)), FSTARPU_SZ_C_INT, &
            FSTARPU_TAG, c_loc(tag(2)), FSTARPU_SEQUENTIAL_CONSISTENCY, c_loc(none), FSTARPU_PROLOGUE_CALLBACK, &
            transfer(c_funloc(count_call), C_NULL_PTR), FSTARPU_PROLOGUE_CALLBACK_ARG, c_loc(callbacks), C_NULL_PTR /))
        call fact(fstarpu_tag_wait_array(2, tag) == 0 .and. log == 12, "a task waits for a tag of a later one")
        call fact(callbacks == 2, "callbacks before and after a task get their argument, which stays Fortran's")
        before(1) = fstarpu_task_create()
        call fstarpu_task_insert((/ append_cl, FSTARPU_RW, handle, FSTARPU_VALUE, c_loc(digit(4)), FSTARPU_SZ_C_INT, &
            FSTARPU_TASK_DEPS_ARRAY, c_loc(ndeps), c_loc(before), FSTARPU_SEQUENTIAL_CONSISTENCY, c_loc(none), C_NULL_PTR /))
        call fstarpu_task_insert((/ append_cl, FSTARPU_RW, handle, FSTARPU_VALUE, c_loc(digit(3)), FSTARPU_SZ_C_INT, &
            FSTARPU_SEQUENTIAL_CONSISTENCY, c_loc(none), FSTARPU_TASK_SYNCHRONOUS, c_loc(ndeps), C_NULL_PTR /))
        if (fstarpu_task_submit(before(1)) /= 0) stop 1
        call fstarpu_data_unregister(handle)
        call fact(log == 1234, "a task waits for one that is made by hand")
    end subroutine

    subroutine lists()
        integer(c_int), target :: log = 0, one = 1, two = 2, n = 1
        type(c_ptr) :: handle, handles, descrs
        call fstarpu_variable_data_register(handle, 0, c_loc(log), 4_c_size_t)
        handles = fstarpu_data_handle_array_alloc(1)
        call fstarpu_data_handle_array_set(handles, 0, handle)
        descrs = fstarpu_data_descr_alloc()
        call fstarpu_data_descr_set(descrs, handle, FSTARPU_RW)
        call fstarpu_task_insert((/ append_cl, FSTARPU_DATA_ARRAY, handles, c_loc(n), FSTARPU_VALUE, c_loc(one), &
            FSTARPU_SZ_C_INT, C_NULL_PTR /))
        call fstarpu_task_insert((/ append_cl, FSTARPU_DATA_MODE_ARRAY, descrs, c_loc(n), FSTARPU_VALUE, c_loc(two), &
            FSTARPU_SZ_C_INT, C_NULL_PTR /))
        call fstarpu_task_insert((/ append_cl, ip_to_p(int(z'7fff0000', c_intptr_t)), handle, C_NULL_PTR /))
        call fstarpu_task_insert((/ append_cl, FSTARPU_RW, handle, FSTARPU_VALUE, c_loc(two), FSTARPU_SZ_C_INT, &
            FSTARPU_CL_ARGS_NFREE, c_loc(one), FSTARPU_SZ_C_INT, C_NULL_PTR /))
        call fstarpu_data_unregister(handle)
        call fact(log == 12, "data come in arrays; a list with an unknown kind, or values twice, is no task")
        call fstarpu_data_handle_array_free(handles)
        call fstarpu_data_descrg_free(descrs)
    end subroutine

    subroutine workers()
        character(kind=c_char, len=40) :: name
        type(c_ptr) :: kind
        integer :: length
        name = repeat("x", 40)
        kind = fstarpu_worker_get_type(0)
        call fstarpu_worker_get_type_as_string(kind, name, 40_c_size_t)
        length = index(name, C_NULL_CHAR)
        call fact(length > 3 .and. index(name(1:length), "CPU") > 0 .and. fstarpu_worker_get_by_devid(kind, 0) == 0, &
            "a worker's kind has a name and numbers")
        call fact(fstarpu_memory_nodes_get_count() >= 1 .and. fstarpu_worker_get_memory_node(0) == 0, "and a memory node")
    end subroutine
end program
