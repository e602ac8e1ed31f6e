! SPDX-License-Identifier: BSD-3-Clause
! Fortran over fstarpu_mod: vectors in pieces, values as arguments, variables, a model, priorities, what is refused.
! Prints TAP. Run by tests/languages/fortran.sh.
module kernels
    use iso_c_binding
    use fstarpu_mod
    implicit none
contains
    ! x = x * factor + shift
    recursive subroutine scale(buffers, args) bind(C)
        type(c_ptr), value, intent(in) :: buffers, args
        real(c_double), pointer :: x(:)
        real(c_double), target :: factor
        integer(c_int), target :: shift
        call c_f_pointer(fstarpu_vector_get_ptr(buffers, 0), x, [fstarpu_vector_get_nx(buffers, 0)])
        call fstarpu_unpack_arg(args, (/ c_loc(factor), c_loc(shift), C_NULL_PTR /))
        x = x*factor + shift
    end subroutine

    ! total = total + sum of m, a matrix of any leading dimension
    recursive subroutine add_up(buffers, args) bind(C)
        type(c_ptr), value, intent(in) :: buffers, args
        integer(c_int), pointer :: m(:, :), total
        call c_f_pointer(fstarpu_matrix_get_ptr(buffers, 0), m, &
            [fstarpu_matrix_get_ld(buffers, 0), fstarpu_matrix_get_ny(buffers, 0)])
        call c_f_pointer(fstarpu_variable_get_ptr(buffers, 1), total)
        total = total + sum(m(1:fstarpu_matrix_get_nx(buffers, 0), :))
        if (c_associated(args)) total = -1
    end subroutine
end module

program tasks
    use iso_c_binding
    use fstarpu_mod
    use kernels
    use tap
    implicit none
    type(c_ptr) :: scale_cl, sum_cl, vector, matrix, total_handle, filter, piece, model, conf
    real(c_double), target :: x(100), factor = 2
    integer(c_int), target :: m(6, 5), total = 0, shift = 1, priority = 1
    integer :: k

    conf = fstarpu_conf_allocate()
    call fstarpu_conf_set_ncpu(conf, 2)
    if (fstarpu_init(conf) /= 0) stop 77
    call fstarpu_conf_free(conf)
    call fact(fstarpu_cpu_worker_get_count() >= 1, "the runtime starts from a configuration")
    call fact(p_to_ip(FSTARPU_SZ_C_DOUBLE) == 8 .and. p_to_ip(FSTARPU_RW) == 3 .and. FSTARPU_NMAXBUFS >= 1, &
        "constants have C's values")

    model = fstarpu_perfmodel_allocate()
    call fstarpu_perfmodel_set_symbol(model, "fortran_scale"//C_NULL_CHAR)
    call fstarpu_perfmodel_set_type(model, FSTARPU_HISTORY_BASED)
    scale_cl = fstarpu_codelet_allocate()
    call fstarpu_codelet_set_name(scale_cl, "scale"//C_NULL_CHAR)
    call fstarpu_codelet_set_model(scale_cl, model)
    call fstarpu_codelet_add_cpu_func(scale_cl, c_funloc(scale))
    call fstarpu_codelet_add_buffer(scale_cl, FSTARPU_RW)

    x = [(real(k, c_double), k=1, 100)]
    call fstarpu_vector_data_register(vector, 0, c_loc(x), 100, 8_c_size_t)
    filter = fstarpu_df_alloc_vector_filter_block()
    call fstarpu_data_filter_set_nchildren(filter, 10)
    call fstarpu_data_partition(vector, filter)
    do k = 0, 9
        piece = fstarpu_data_get_sub_data(vector, 1, [k])
        call fstarpu_task_insert((/ scale_cl, FSTARPU_RW, piece, FSTARPU_VALUE, c_loc(factor), FSTARPU_SZ_C_DOUBLE, &
            FSTARPU_VALUE, c_loc(shift), FSTARPU_SZ_C_INT, FSTARPU_PRIORITY, c_loc(priority), C_NULL_PTR /))
    end do
    call fstarpu_data_unpartition(vector, 0)
    call fstarpu_data_filter_free(filter)
    call fstarpu_data_acquire(vector, FSTARPU_R)
    call fact(all(abs(x - [(2*real(k, c_double) + 1, k=1, 100)]) < 1d-12), &
        "tasks with packed values compute a vector by pieces")
    call fstarpu_data_release(vector)
    call fstarpu_data_unregister(vector)

    sum_cl = fstarpu_codelet_allocate()
    call fstarpu_codelet_add_cpu_func(sum_cl, c_funloc(add_up))
    call fstarpu_codelet_add_buffer(sum_cl, FSTARPU_R)
    call fstarpu_codelet_add_buffer(sum_cl, FSTARPU_RW)
    m = 1
    call fstarpu_matrix_data_register(matrix, 0, c_loc(m), 6, 4, 5, 4_c_size_t)
    call fstarpu_variable_data_register(total_handle, 0, c_loc(total), 4_c_size_t)
    do k = 1, 10
        call fstarpu_task_insert((/ sum_cl, FSTARPU_R, matrix, FSTARPU_RW, total_handle, C_NULL_PTR /))
    end do
    call fstarpu_task_wait_for_all()
    ! Data that do not go with the codelet: said, and nothing runs.
    call fstarpu_task_insert((/ sum_cl, FSTARPU_R, matrix, C_NULL_PTR /))
    call fstarpu_data_unregister(matrix)
    call fstarpu_data_unregister(total_handle)
    call fact(total == 200, "a matrix with a leading dimension is summed by ten tasks; one with wrong data does not run")

    call fstarpu_codelet_free(scale_cl)
    call fstarpu_codelet_free(sum_cl)
    call fstarpu_perfmodel_free(model)
    call fstarpu_shutdown()
    print '(a,i0)', "1..", facts
end program
