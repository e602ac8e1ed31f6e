! SPDX-License-Identifier: BSD-3-Clause
! fstarpu_mpi_mod.f90: ranks for Fortran 2008, over C's functions (starpu_mpi_fortran.h, and those that are bound by
! their own names). Compile it with the program, after fstarpu_mod.f90.
! Threads, ranks, errors: as starpu_mpi.h says. Communicators are the numbers of the module mpi. A task's list
! begins with the address of one.
! Not here: tasks and data of one rank (fstarpu_mod.f90).
module fstarpu_mpi_mod
    use iso_c_binding
    use fstarpu_mod
    implicit none

    ! ---- The session ----
    interface
        function fstarpu_mpi_shutdown() &
            bind(C, name="starpu_mpi_shutdown")
            import
            integer(c_int) :: fstarpu_mpi_shutdown
        end function

        subroutine fstarpu_mpi_comm_amounts_retrieve(comm_amounts) &
            bind(C, name="starpu_mpi_comm_stats_retrieve")
            import
            integer(c_size_t), intent(out) :: comm_amounts(*)
        end subroutine

        function fstarpu_mpi_comm_size(mpi_comm, sz) &
            bind(C, name="fstarpu_mpi_comm_size")
            import
            integer(c_int) :: fstarpu_mpi_comm_size
            integer(c_int), value, intent(in) :: mpi_comm
            integer(c_int), intent(out) :: sz
        end function

        function fstarpu_mpi_comm_rank(mpi_comm, rank) &
            bind(C, name="fstarpu_mpi_comm_rank")
            import
            integer(c_int) :: fstarpu_mpi_comm_rank
            integer(c_int), value, intent(in) :: mpi_comm
            integer(c_int), intent(out) :: rank
        end function

        function fstarpu_mpi_world_rank() &
            bind(C, name="starpu_mpi_world_rank")
            import
            integer(c_int) :: fstarpu_mpi_world_rank
        end function

        function fstarpu_mpi_world_size() &
            bind(C, name="starpu_mpi_world_size")
            import
            integer(c_int) :: fstarpu_mpi_world_size
        end function

        function fstarpu_mpi_world_comm() &
            bind(C, name="fstarpu_mpi_world_comm")
            import
            integer(c_int) :: fstarpu_mpi_world_comm
        end function
    end interface

    ! ---- Data and their owners ----
    interface
        subroutine fstarpu_mpi_get_data_on_node(mpi_comm, dh, node) &
            bind(C, name="fstarpu_mpi_get_data_on_node")
            import
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
        end subroutine

        subroutine fstarpu_mpi_get_data_on_node_detached(mpi_comm, dh, node, callback, arg) &
            bind(C, name="fstarpu_mpi_get_data_on_node_detached")
            import
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: node
            type(c_funptr), value, intent(in) :: callback
            type(c_ptr), value, intent(in) :: arg
        end subroutine

        subroutine fstarpu_mpi_cache_flush(mpi_comm, dh) &
            bind(C, name="fstarpu_mpi_cache_flush")
            import
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: dh
        end subroutine

        subroutine fstarpu_mpi_cache_flush_all_data(mpi_comm) &
            bind(C, name="fstarpu_mpi_cache_flush_all_data")
            import
            integer(c_int), value, intent(in) :: mpi_comm
        end subroutine

        function fstarpu_mpi_get_communication_tag() &
            bind(C, name="starpu_mpi_get_communication_tag")
            import
            integer(c_int64_t) :: fstarpu_mpi_get_communication_tag
        end function

        subroutine fstarpu_mpi_set_communication_tag(tag) &
            bind(C, name="starpu_mpi_set_communication_tag")
            import
            integer(c_int64_t), value, intent(in) :: tag
        end subroutine

        subroutine fstarpu_mpi_data_register_comm(dh, tag, rank, mpi_comm) &
            bind(C, name="fstarpu_mpi_data_register_comm")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int64_t), value, intent(in) :: tag
            integer(c_int), value, intent(in) :: rank
            integer(c_int), value, intent(in) :: mpi_comm
        end subroutine

        subroutine fstarpu_mpi_data_register(dh, tag, rank) &
            bind(C, name="fstarpu_mpi_data_register")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int64_t), value, intent(in) :: tag
            integer(c_int), value, intent(in) :: rank
        end subroutine

        subroutine fstarpu_mpi_data_set_rank_comm(dh, rank, mpi_comm) &
            bind(C, name="fstarpu_mpi_data_set_rank_comm")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: rank
            integer(c_int), value, intent(in) :: mpi_comm
        end subroutine

        subroutine fstarpu_mpi_data_set_rank(dh, rank) &
            bind(C, name="fstarpu_mpi_data_set_rank")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: rank
        end subroutine

        subroutine fstarpu_mpi_data_set_tag(dh, tag) &
            bind(C, name="starpu_mpi_data_set_tag")
            import
            type(c_ptr), value, intent(in) :: dh
            integer(c_int64_t), value, intent(in) :: tag
        end subroutine

        function fstarpu_mpi_data_get_rank(dh) &
            bind(C, name="starpu_mpi_data_get_rank")
            import
            integer(c_int) :: fstarpu_mpi_data_get_rank
            type(c_ptr), value, intent(in) :: dh
        end function

        function fstarpu_mpi_data_get_tag(dh) &
            bind(C, name="starpu_mpi_data_get_tag")
            import
            integer(c_int64_t) :: fstarpu_mpi_data_get_tag
            type(c_ptr), value, intent(in) :: dh
        end function

        subroutine fstarpu_mpi_data_migrate(mpi_comm, dh, rank) &
            bind(C, name="fstarpu_mpi_data_migrate")
            import
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: rank
        end subroutine

        function fstarpu_mpi_cache_is_enabled() &
            bind(C, name="starpu_mpi_cache_is_enabled")
            import
            integer(c_int) :: fstarpu_mpi_cache_is_enabled
        end function

        function fstarpu_mpi_cache_set(enabled) &
            bind(C, name="starpu_mpi_cache_set")
            import
            integer(c_int) :: fstarpu_mpi_cache_set
            integer(c_int), value, intent(in) :: enabled
        end function

        function fstarpu_mpi_datatype_register(dh, alloc_func, free_func) &
            bind(C, name="starpu_mpi_datatype_register")
            import
            integer(c_int) :: fstarpu_mpi_datatype_register
            type(c_ptr), value, intent(in) :: dh
            type(c_funptr), value, intent(in) :: alloc_func
            type(c_funptr), value, intent(in) :: free_func
        end function

        function fstarpu_mpi_datatype_unregister(dh) &
            bind(C, name="starpu_mpi_datatype_unregister")
            import
            integer(c_int) :: fstarpu_mpi_datatype_unregister
            type(c_ptr), value, intent(in) :: dh
        end function
    end interface

    ! ---- Tasks ----
    interface
        function fstarpu_mpi_task_build(arglist) &
            bind(C, name="fstarpu_mpi_task_build")
            import
            type(c_ptr) :: fstarpu_mpi_task_build
            type(c_ptr), intent(in) :: arglist(*)
        end function

        subroutine fstarpu_mpi_task_post_build(arglist) &
            bind(C, name="fstarpu_mpi_task_post_build")
            import
            type(c_ptr), intent(in) :: arglist(*)
        end subroutine

        subroutine fstarpu_mpi_task_insert(arglist) &
            bind(C, name="fstarpu_mpi_task_insert")
            import
            type(c_ptr), intent(in) :: arglist(*)
        end subroutine

        subroutine fstarpu_mpi_insert_task(arglist) &
            bind(C, name="fstarpu_mpi_task_insert")
            import
            type(c_ptr), intent(in) :: arglist(*)
        end subroutine

        subroutine fstarpu_mpi_redux_data(mpi_comm, dh) &
            bind(C, name="fstarpu_mpi_redux_data")
            import
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: dh
        end subroutine

        subroutine fstarpu_mpi_redux_data_prio(mpi_comm, dh, prio) &
            bind(C, name="fstarpu_mpi_redux_data_prio")
            import
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: prio
        end subroutine

        function fstarpu_mpi_node_selection_register_policy(policy_func) &
            bind(C, name="starpu_mpi_node_selection_register_policy")
            import
            integer(c_int) :: fstarpu_mpi_node_selection_register_policy
            type(c_funptr), value, intent(in) :: policy_func
        end function

        function fstarpu_mpi_node_selection_unregister_policy(policy) &
            bind(C, name="starpu_mpi_node_selection_unregister_policy")
            import
            integer(c_int) :: fstarpu_mpi_node_selection_unregister_policy
            type(c_ptr), value, intent(in) :: policy
        end function

        function fstarpu_mpi_data_selection_get_current_policy() &
            bind(C, name="starpu_mpi_node_selection_get_current_policy")
            import
            integer(c_int) :: fstarpu_mpi_data_selection_get_current_policy
        end function

        function fstarpu_mpi_data_selection_set_current_policy(policy) &
            bind(C, name="starpu_mpi_node_selection_set_current_policy")
            import
            integer(c_int) :: fstarpu_mpi_data_selection_set_current_policy
            type(c_ptr), value, intent(in) :: policy
        end function
    end interface

    ! ---- Messages ----
    interface
        function fstarpu_mpi_isend(dh, mpi_req, dst, data_tag, mpi_comm) &
            bind(C, name="fstarpu_mpi_isend")
            import
            integer(c_int) :: fstarpu_mpi_isend
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: mpi_req
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
        end function

        function fstarpu_mpi_isend_prio(dh, mpi_req, dst, data_tag, prio, mpi_comm) &
            bind(C, name="fstarpu_mpi_isend_prio")
            import
            integer(c_int) :: fstarpu_mpi_isend_prio
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: mpi_req
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: prio
            integer(c_int), value, intent(in) :: mpi_comm
        end function

        function fstarpu_mpi_irecv(dh, mpi_req, src, data_tag, mpi_comm) &
            bind(C, name="fstarpu_mpi_irecv")
            import
            integer(c_int) :: fstarpu_mpi_irecv
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: mpi_req
            integer(c_int), value, intent(in) :: src
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
        end function

        function fstarpu_mpi_send(dh, dst, data_tag, mpi_comm) &
            bind(C, name="fstarpu_mpi_send")
            import
            integer(c_int) :: fstarpu_mpi_send
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
        end function

        function fstarpu_mpi_send_prio(dh, dst, data_tag, prio, mpi_comm) &
            bind(C, name="fstarpu_mpi_send_prio")
            import
            integer(c_int) :: fstarpu_mpi_send_prio
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: prio
            integer(c_int), value, intent(in) :: mpi_comm
        end function

        function fstarpu_mpi_recv(dh, src, data_tag, mpi_comm, mpi_status) &
            bind(C, name="fstarpu_mpi_recv")
            import
            integer(c_int) :: fstarpu_mpi_recv
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: src
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: mpi_status
        end function

        function fstarpu_mpi_isend_detached(dh, dst, data_tag, mpi_comm, callback, arg) &
            bind(C, name="fstarpu_mpi_isend_detached")
            import
            integer(c_int) :: fstarpu_mpi_isend_detached
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_funptr), value, intent(in) :: callback
            type(c_ptr), value, intent(in) :: arg
        end function

        function fstarpu_mpi_isend_detached_prio(dh, dst, data_tag, prio, mpi_comm, callback, arg) &
            bind(C, name="fstarpu_mpi_isend_detached_prio")
            import
            integer(c_int) :: fstarpu_mpi_isend_detached_prio
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: prio
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_funptr), value, intent(in) :: callback
            type(c_ptr), value, intent(in) :: arg
        end function

        function fstarpu_mpi_recv_detached(dh, src, data_tag, mpi_comm, callback, arg) &
            bind(C, name="fstarpu_mpi_recv_detached")
            import
            integer(c_int) :: fstarpu_mpi_recv_detached
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: src
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_funptr), value, intent(in) :: callback
            type(c_ptr), value, intent(in) :: arg
        end function

        function fstarpu_mpi_issend(dh, mpi_req, dst, data_tag, mpi_comm) &
            bind(C, name="fstarpu_mpi_issend")
            import
            integer(c_int) :: fstarpu_mpi_issend
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: mpi_req
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
        end function

        function fstarpu_mpi_issend_prio(dh, mpi_req, dst, data_tag, prio, mpi_comm) &
            bind(C, name="fstarpu_mpi_issend_prio")
            import
            integer(c_int) :: fstarpu_mpi_issend_prio
            type(c_ptr), value, intent(in) :: dh
            type(c_ptr), value, intent(in) :: mpi_req
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: prio
            integer(c_int), value, intent(in) :: mpi_comm
        end function

        function fstarpu_mpi_issend_detached(dh, dst, data_tag, mpi_comm, callback, arg) &
            bind(C, name="fstarpu_mpi_issend_detached")
            import
            integer(c_int) :: fstarpu_mpi_issend_detached
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_funptr), value, intent(in) :: callback
            type(c_ptr), value, intent(in) :: arg
        end function

        function fstarpu_mpi_issend_detached_prio(dh, dst, data_tag, prio, mpi_comm, callback, arg) &
            bind(C, name="fstarpu_mpi_issend_detached_prio")
            import
            integer(c_int) :: fstarpu_mpi_issend_detached_prio
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: prio
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_funptr), value, intent(in) :: callback
            type(c_ptr), value, intent(in) :: arg
        end function

        function fstarpu_mpi_wait(req, st) &
            bind(C, name="starpu_mpi_wait")
            import
            integer(c_int) :: fstarpu_mpi_wait
            type(c_ptr), value, intent(in) :: req
            type(c_ptr), value, intent(in) :: st
        end function

        function fstarpu_mpi_test(req, flag, st) &
            bind(C, name="starpu_mpi_test")
            import
            integer(c_int) :: fstarpu_mpi_test
            type(c_ptr), value, intent(in) :: req
            type(c_ptr), value, intent(in) :: flag
            type(c_ptr), value, intent(in) :: st
        end function

        function fstarpu_mpi_barrier(mpi_comm) &
            bind(C, name="fstarpu_mpi_barrier")
            import
            integer(c_int) :: fstarpu_mpi_barrier
            integer(c_int), value, intent(in) :: mpi_comm
        end function

        function fstarpu_mpi_recv_detached_sequential_consistency(dh, src, data_tag, mpi_comm, &
            callback, arg, seq_const) &
            bind(C, name="fstarpu_mpi_recv_detached_sequential_consistency")
            import
            integer(c_int) :: fstarpu_mpi_recv_detached_sequential_consistency
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: src
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_funptr), value, intent(in) :: callback
            type(c_ptr), value, intent(in) :: arg
            integer(c_int), value, intent(in) :: seq_const
        end function

        function fstarpu_mpi_scatter_detached(dhs, cnt, root, mpi_comm, scallback, sarg, rcallback, rarg) &
            bind(C, name="fstarpu_mpi_scatter_detached")
            import
            integer(c_int) :: fstarpu_mpi_scatter_detached
            type(c_ptr), intent(in) :: dhs(*)
            integer(c_int), value, intent(in) :: cnt
            integer(c_int), value, intent(in) :: root
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_funptr), value, intent(in) :: scallback
            type(c_ptr), value, intent(in) :: sarg
            type(c_funptr), value, intent(in) :: rcallback
            type(c_ptr), value, intent(in) :: rarg
        end function

        function fstarpu_mpi_gather_detached(dhs, cnt, root, mpi_comm, scallback, sarg, rcallback, rarg) &
            bind(C, name="fstarpu_mpi_gather_detached")
            import
            integer(c_int) :: fstarpu_mpi_gather_detached
            type(c_ptr), intent(in) :: dhs(*)
            integer(c_int), value, intent(in) :: cnt
            integer(c_int), value, intent(in) :: root
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_funptr), value, intent(in) :: scallback
            type(c_ptr), value, intent(in) :: sarg
            type(c_funptr), value, intent(in) :: rcallback
            type(c_ptr), value, intent(in) :: rarg
        end function

        function fstarpu_mpi_isend_detached_unlock_tag(dh, dst, data_tag, mpi_comm, starpu_tag) &
            bind(C, name="fstarpu_mpi_isend_detached_unlock_tag")
            import
            integer(c_int) :: fstarpu_mpi_isend_detached_unlock_tag
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: starpu_tag
        end function

        function fstarpu_mpi_isend_detached_unlock_tag_prio(dh, dst, data_tag, prio, mpi_comm, starpu_tag) &
            bind(C, name="fstarpu_mpi_isend_detached_unlock_tag_prio")
            import
            integer(c_int) :: fstarpu_mpi_isend_detached_unlock_tag_prio
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: dst
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: prio
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: starpu_tag
        end function

        function fstarpu_mpi_recv_detached_unlock_tag(dh, src, data_tag, mpi_comm, starpu_tag) &
            bind(C, name="fstarpu_mpi_recv_detached_unlock_tag")
            import
            integer(c_int) :: fstarpu_mpi_recv_detached_unlock_tag
            type(c_ptr), value, intent(in) :: dh
            integer(c_int), value, intent(in) :: src
            integer(c_int64_t), value, intent(in) :: data_tag
            integer(c_int), value, intent(in) :: mpi_comm
            type(c_ptr), value, intent(in) :: starpu_tag
        end function

        function fstarpu_mpi_isend_array_detached_unlock_tag(array_size, dhs, dsts, data_tags, &
            mpi_comms, starpu_tag) &
            bind(C, name="fstarpu_mpi_isend_array_detached_unlock_tag")
            import
            integer(c_int) :: fstarpu_mpi_isend_array_detached_unlock_tag
            integer(c_int), value, intent(in) :: array_size
            type(c_ptr), intent(in) :: dhs(*)
            integer(c_int), intent(in) :: dsts(*)
            integer(c_int64_t), intent(in) :: data_tags(*)
            integer(c_int), intent(in) :: mpi_comms(*)
            type(c_ptr), value, intent(in) :: starpu_tag
        end function

        function fstarpu_mpi_isend_array_detached_unlock_tag_prio(array_size, dhs, dsts, data_tags, &
            prio, mpi_comms, starpu_tag) &
            bind(C, name="fstarpu_mpi_isend_array_detached_unlock_tag_prio")
            import
            integer(c_int) :: fstarpu_mpi_isend_array_detached_unlock_tag_prio
            integer(c_int), value, intent(in) :: array_size
            type(c_ptr), intent(in) :: dhs(*)
            integer(c_int), intent(in) :: dsts(*)
            integer(c_int64_t), intent(in) :: data_tags(*)
            integer(c_int), intent(in) :: prio(*)
            integer(c_int), intent(in) :: mpi_comms(*)
            type(c_ptr), value, intent(in) :: starpu_tag
        end function

        function fstarpu_mpi_recv_array_detached_unlock_tag(array_size, dhs, srcs, data_tags, &
            mpi_comms, starpu_tag) &
            bind(C, name="fstarpu_mpi_recv_array_detached_unlock_tag")
            import
            integer(c_int) :: fstarpu_mpi_recv_array_detached_unlock_tag
            integer(c_int), value, intent(in) :: array_size
            type(c_ptr), intent(in) :: dhs(*)
            integer(c_int), intent(in) :: srcs(*)
            integer(c_int64_t), intent(in) :: data_tags(*)
            integer(c_int), intent(in) :: mpi_comms(*)
            type(c_ptr), value, intent(in) :: starpu_tag
        end function

        function fstarpu_mpi_wait_for_all(mpi_comm) &
            bind(C, name="fstarpu_mpi_wait_for_all")
            import
            integer(c_int) :: fstarpu_mpi_wait_for_all
            integer(c_int), value, intent(in) :: mpi_comm
        end function

        function fstarpu_mpi_req_alloc() &
            bind(C, name="fstarpu_mpi_req_alloc")
            import
            type(c_ptr) :: fstarpu_mpi_req_alloc
        end function

        subroutine fstarpu_mpi_req_free(req) &
            bind(C, name="fstarpu_mpi_req_free")
            import
            type(c_ptr), value, intent(in) :: req
        end subroutine

        function fstarpu_mpi_status_alloc() &
            bind(C, name="fstarpu_mpi_status_alloc")
            import
            type(c_ptr) :: fstarpu_mpi_status_alloc
        end function

        subroutine fstarpu_mpi_status_free(st) &
            bind(C, name="fstarpu_mpi_status_free")
            import
            type(c_ptr), value, intent(in) :: st
        end subroutine
    end interface

contains

    ! Starts the layer, as starpu_mpi_init_comm(); without mpi_comm on all ranks. Returns 0 or a negative error.
    function fstarpu_mpi_init(initialize_mpi, mpi_comm) bind(C)
        integer(c_int) :: fstarpu_mpi_init
        integer(c_int), intent(in) :: initialize_mpi
        integer(c_int), optional, intent(in) :: mpi_comm
        interface
            function fstarpu_mpi_init_comm(initialize_mpi, has_comm, mpi_comm) &
                bind(C, name="fstarpu_mpi_init_comm")
                import
                integer(c_int) :: fstarpu_mpi_init_comm
                integer(c_int), value, intent(in) :: initialize_mpi, has_comm, mpi_comm
            end function
        end interface
        if (present(mpi_comm)) then
            fstarpu_mpi_init = fstarpu_mpi_init_comm(initialize_mpi, 1, mpi_comm)
        else
            fstarpu_mpi_init = fstarpu_mpi_init_comm(initialize_mpi, 0, 0)
        end if
    end function

end module fstarpu_mpi_mod
