! SPDX-License-Identifier: BSD-3-Clause
! TAP for tests in Fortran: facts, counted; the program prints how many there were. Run by one thread.
module tap
    implicit none
    integer :: facts = 0
contains
    subroutine fact(holds, text)
        logical, intent(in) :: holds
        character(*), intent(in) :: text
        facts = facts + 1
        if (holds) then
            print '(a,i0,2a)', "ok ", facts, " - ", text
        else
            print '(a,i0,2a)', "not ok ", facts, " - ", text
        end if
    end subroutine
end module
