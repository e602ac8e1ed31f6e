# SPDX-License-Identifier: BSD-3-Clause
# What others' build systems, package managers and languages find.
cmakedir = $(libdir)/cmake/Orrery
nodist_cmake_DATA = packages/cmake/OrreryConfig.cmake packages/cmake/OrreryConfigVersion.cmake
CLEANFILES += packages/cmake/OrreryConfig.cmake packages/cmake/OrreryConfigVersion.cmake
if COMPAT
cmakecompatdir = $(libdir)/cmake/STARPU
nodist_cmakecompat_DATA = packages/cmake/STARPUConfig.cmake packages/cmake/STARPUConfigVersion.cmake
CLEANFILES += packages/cmake/STARPUConfig.cmake packages/cmake/STARPUConfigVersion.cmake
endif
if HAVE_MPI
cmake_has_mpi = TRUE
else
cmake_has_mpi = FALSE
endif
fill_cmake = $(AM_V_GEN)$(MKDIR_P) $(@D) && sed -e 's|@libdir[@]|$(libdir)|g' -e 's|@pkgincludedir[@]|$(pkgincludedir)|g' \
	-e 's|@HAS_MPI[@]|$(cmake_has_mpi)|g' -e 's|@MPI_CFLAGS[@]|$(MPI_CFLAGS)|g' -e 's|@MPI_LIBS[@]|$(MPI_LIBS)|g' \
	-e 's|@STARPU_INTERFACE_VERSION[@]|$(STARPU_INTERFACE_VERSION)|g'
packages/cmake/OrreryConfig.cmake packages/cmake/STARPUConfig.cmake: %: %.in Makefile
	$(fill_cmake) $(srcdir)/$@.in >$@
packages/cmake/OrreryConfigVersion.cmake: packages/cmake/Version.cmake.in Makefile
	$(fill_cmake) -e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|g' $(srcdir)/packages/cmake/Version.cmake.in >$@
packages/cmake/STARPUConfigVersion.cmake: packages/cmake/Version.cmake.in Makefile
	$(fill_cmake) -e 's|@PACKAGE_VERSION[@]|$(STARPU_INTERFACE_VERSION)|g' $(srcdir)/packages/cmake/Version.cmake.in >$@

# The module for Fortran: a source, as modules of compilers differ. Where StarPU's programs look for it.
fortrandir = $(pkgincludedir)
fortran_DATA = packages/fortran/fstarpu_mod.f90
if HAVE_MPI
fortran_DATA += packages/fortran/fstarpu_mpi_mod.f90
endif
