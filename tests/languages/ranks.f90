! SPDX-License-Identifier: BSD-3-Clause
! Fortran over fstarpu_mpi_mod: messages of each sort, data with owners, tasks on all ranks. Any number of ranks: each talks
! to its neighbours in a ring. Prints TAP. Run by tests/languages/fortran.sh.
module rank_kernels
    use iso_c_binding
    use fstarpu_mpi_mod
    use fstarpu_mod
    implicit none
contains
    ! x = x*10 + 1 + the rank, and what was packed
    recursive subroutine append(buffers, args) bind(C)
        type(c_ptr), value, intent(in) :: buffers, args
        integer(c_int), pointer :: x
        integer(c_int), target :: packed
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 0), x)
        call fstarpu_unpack_arg(args, (/ c_loc(packed), C_NULL_PTR /))
        x = x*10 + 1 + fstarpu_mpi_world_rank() + packed
    end subroutine

    recursive subroutine add(buffers, args) bind(C)
        type(c_ptr), value, intent(in) :: buffers, args
        integer(c_int), pointer :: x, y
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 0), x)
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 1), y)
        x = x + y
        if (c_associated(args)) x = -1
    end subroutine

    recursive subroutine received(arg) bind(C)
        type(c_ptr), value, intent(in) :: arg
        integer(c_int), pointer :: count
        call c_f_pointer(arg, count)
        count = count + 1
    end subroutine
end module

program ranks
    use iso_c_binding
    use fstarpu_mpi_mod
    use fstarpu_mod
    use rank_kernels
    use tap
    implicit none
    integer(c_int), target :: comm
    integer(c_int) :: rank, world, next, before
    type(c_ptr) :: append_cl, add_cl

    if (fstarpu_init(C_NULL_PTR) /= 0) stop 77
    if (fstarpu_mpi_init(1) /= 0) stop 1
    comm = fstarpu_mpi_world_comm()
    if (fstarpu_mpi_comm_rank(comm, rank) /= 0 .or. fstarpu_mpi_comm_size(comm, world) /= 0) stop 1
    next = mod(rank + 1, world)
    before = mod(rank + world - 1, world)
    append_cl = fstarpu_codelet_allocate()
    call fstarpu_codelet_add_cpu_func(append_cl, c_funloc(append))
    call fstarpu_codelet_add_buffer(append_cl, FSTARPU_RW)
    add_cl = fstarpu_codelet_allocate()
    call fstarpu_codelet_add_cpu_func(add_cl, c_funloc(add))
    call fstarpu_codelet_add_buffer(add_cl, FSTARPU_RW)
    call fstarpu_codelet_add_buffer(add_cl, FSTARPU_R)
    call fact(rank == fstarpu_mpi_world_rank() .and. world == fstarpu_mpi_world_size(), "the layer starts, in no arguments")
    call messages()
    call tasks()
    call built()
    call spread()
    call fact(fstarpu_mpi_barrier(comm) == 0 .and. fstarpu_mpi_wait_for_all(comm) == 0, "all is waited for")
    call fstarpu_codelet_free(append_cl)
    call fstarpu_codelet_free(add_cl)
    call fstarpu_shutdown()
    call fact(fstarpu_mpi_shutdown() == 0, "the runtime that ends first waits for the layer")
    print '(a,i0)', "1..", facts
contains
    ! A value goes round by each sort of message.
    subroutine messages()
        integer(c_int), target :: mine(5), theirs(5), arrived, done
        integer(c_int) :: dests(2), sources(2), comms(2), k, error
        integer(c_int64_t) :: tags(2)
        integer(c_long_long) :: tag
        type(c_ptr) :: from(5), to(5), request(2), status
        mine = rank + [100, 200, 300, 400, 500]
        theirs = 0
        arrived = 0
        do k = 1, 5
            call fstarpu_variable_data_register(from(k), 0, c_loc(mine(k)), 4_c_size_t)
            call fstarpu_variable_data_register(to(k), 0, c_loc(theirs(k)), 4_c_size_t)
        end do
        request(1) = fstarpu_mpi_req_alloc()
        request(2) = fstarpu_mpi_req_alloc()
        status = fstarpu_mpi_status_alloc()
        error = fstarpu_mpi_irecv(to(1), request(1), before, 1_c_int64_t, comm) + &
            fstarpu_mpi_isend(from(1), request(2), next, 1_c_int64_t, comm)
        error = error + fstarpu_mpi_wait(request(1), status)
        done = 0
        do while (done == 0 .and. error == 0)
            error = fstarpu_mpi_test(request(2), c_loc(done), status)
        end do
        call fstarpu_mpi_req_free(request(1))
        call fstarpu_mpi_req_free(request(2))
        error = error + fstarpu_mpi_recv_detached(to(2), before, 2_c_int64_t, comm, c_funloc(received), c_loc(arrived)) + &
            fstarpu_mpi_issend_detached_prio(from(2), next, 2_c_int64_t, 3, comm, C_NULL_FUNPTR, C_NULL_PTR)
        error = error + fstarpu_mpi_isend_detached(from(3), next, 3_c_int64_t, comm, C_NULL_FUNPTR, C_NULL_PTR)
        error = error + fstarpu_mpi_recv(to(3), before, 3_c_int64_t, comm, status)
        call fstarpu_mpi_status_free(status)
        dests = next
        sources = before
        comms = comm
        tags = [4_c_int64_t, 5_c_int64_t]
        error = error + fstarpu_mpi_recv_array_detached_unlock_tag(2, to(4:5), sources, tags, comms, ip_to_p(77_c_intptr_t)) + &
            fstarpu_mpi_isend_array_detached_unlock_tag_prio(2, from(4:5), dests, tags, [1, 2], comms, &
            ip_to_p(78_c_intptr_t))
        tag = 77
        error = error + fstarpu_tag_wait(tag)
        tag = 78
        error = error + fstarpu_tag_wait(tag) + fstarpu_mpi_wait_for_all(comm)
        do k = 1, 5
            call fstarpu_data_unregister(from(k))
            call fstarpu_data_unregister(to(k))
        end do
        call fact(error == 0 .and. all(theirs == before + [100, 200, 300, 400, 500]) .and. arrived == 1, &
            "values go round by requests, detached, and by arrays that signal tags")
    end subroutine

    ! One datum on each rank, which tasks take round; a sum of all where the list says it.
    subroutine tasks()
        integer(c_int), target :: x, packed, last
        integer(c_int) :: k, expected
        type(c_ptr) :: data(world)
        x = 0
        do k = 1, world
            if (k - 1 == rank) then
                call fstarpu_variable_data_register(data(k), 0, c_loc(x), 4_c_size_t)
            else
                call fstarpu_variable_data_register(data(k), -1, C_NULL_PTR, 4_c_size_t)
            end if
            call fstarpu_mpi_data_register(data(k), int(1000 + k, c_int64_t), k - 1)
        end do
        packed = 2
        do k = 1, world
            call fstarpu_mpi_task_insert((/ c_loc(comm), append_cl, FSTARPU_RW, data(k), FSTARPU_VALUE, c_loc(packed), &
                FSTARPU_SZ_C_INT, C_NULL_PTR /))
        end do
        last = world - 1
        do k = 2, world
            call fstarpu_mpi_insert_task((/ c_loc(comm), add_cl, FSTARPU_RW, data(1), FSTARPU_R, data(k), &
                FSTARPU_EXECUTE_ON_NODE, c_loc(last), C_NULL_PTR /))
        end do
        call fstarpu_mpi_task_insert((/ c_loc(comm), append_cl, FSTARPU_RW, data(1), FSTARPU_VALUE, c_loc(packed), &
            FSTARPU_SZ_C_INT, FSTARPU_EXECUTE_ON_DATA, data(world), C_NULL_PTR /))
        expected = (world*(world + 1)/2 + 2*world)*10 + 1 + last + packed
        call fstarpu_mpi_get_data_on_node(comm, data(1), last)
        call fstarpu_data_acquire(data(1), FSTARPU_R)
        if (rank == last) call c_value(fstarpu_data_get_local_ptr(data(1)), x)
        call fstarpu_data_release(data(1))
        call fact(rank /= last .or. x == expected, "tasks run where the owner, a rank and data say, with their values")
        call fact(fstarpu_mpi_data_get_rank(data(1)) == 0 .and. fstarpu_mpi_data_get_tag(data(1)) == 1001, "data have owners")
        call fstarpu_mpi_data_migrate(comm, data(1), last)
        call fact(fstarpu_mpi_data_get_rank(data(1)) == last, "and get others")
        call fstarpu_mpi_cache_flush_all_data(comm)
        do k = 1, world
            call fstarpu_data_unregister(data(k))
        end do
    end subroutine

    subroutine c_value(address, x)
        type(c_ptr), intent(in) :: address
        integer(c_int), intent(out) :: x
        integer(c_int), pointer :: there
        call c_f_pointer(address, there)
        x = there
    end subroutine

    subroutine built()
        integer(c_int), target :: x, packed
        type(c_ptr) :: handle, task
        x = 7
        packed = 0
        if (rank == 0) call fstarpu_variable_data_register(handle, 0, c_loc(x), 4_c_size_t)
        if (rank /= 0) call fstarpu_variable_data_register(handle, -1, C_NULL_PTR, 4_c_size_t)
        call fstarpu_mpi_data_register(handle, 2000_c_int64_t, 0)
        task = fstarpu_mpi_task_build((/ c_loc(comm), append_cl, FSTARPU_RW, handle, FSTARPU_VALUE, c_loc(packed), &
            FSTARPU_SZ_C_INT, C_NULL_PTR /))
        call fact(c_associated(task) .eqv. rank == 0, "a task is built on the rank that runs it")
        if (c_associated(task)) then
            if (fstarpu_task_submit(task) /= 0) stop 1
        end if
        call fstarpu_mpi_task_post_build((/ c_loc(comm), append_cl, FSTARPU_RW, handle, FSTARPU_VALUE, c_loc(packed), &
            FSTARPU_SZ_C_INT, C_NULL_PTR /))
        call fstarpu_data_unregister(handle)
        call fact(rank /= 0 .or. x == 71, "the program submits it")
        call fstarpu_mpi_task_insert((/ C_NULL_PTR /))
    end subroutine

    ! A part for each rank goes there, and comes back changed.
    subroutine spread()
        integer(c_int), target :: x(world), mine, packed
        integer(c_int) :: k, error
        type(c_ptr) :: data(world)
        x = [(k, k=1, world)]
        mine = 0
        packed = -1 - rank
        do k = 1, world
            if (rank == 0) then
                call fstarpu_variable_data_register(data(k), 0, c_loc(x(k)), 4_c_size_t)
            else if (k - 1 == rank) then
                call fstarpu_variable_data_register(data(k), 0, c_loc(mine), 4_c_size_t)
            else
                call fstarpu_variable_data_register(data(k), -1, C_NULL_PTR, 4_c_size_t)
            end if
            call fstarpu_mpi_data_register(data(k), int(3000 + k, c_int64_t), k - 1)
        end do
        error = fstarpu_mpi_scatter_detached(data, world, 0, comm, C_NULL_FUNPTR, C_NULL_PTR, C_NULL_FUNPTR, C_NULL_PTR)
        call fstarpu_insert_task((/ append_cl, FSTARPU_RW, data(rank + 1), FSTARPU_VALUE, c_loc(packed), FSTARPU_SZ_C_INT, &
            C_NULL_PTR /))
        error = error + fstarpu_mpi_gather_detached(data, world, 0, comm, C_NULL_FUNPTR, C_NULL_PTR, C_NULL_FUNPTR, C_NULL_PTR)
        error = error + fstarpu_mpi_wait_for_all(comm)
        do k = 1, world
            call fstarpu_data_unregister(data(k))
        end do
        call fact(error == 0 .and. (rank /= 0 .or. all(x == [(10*k, k=1, world)])), "parts are spread over the ranks, and gathered")
    end subroutine
end program
