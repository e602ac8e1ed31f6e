# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe: builds the repository that this file lies in (spack repo add packages/spack; spack install orrery)."""
import os

from spack.package import *

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))


class Orrery(AutotoolsPackage):
    """Task runtime for clusters of heterogeneous nodes, with the StarPU interface."""

    git = "file://" + CHECKOUT

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("mpi", default=True, description="The layer for several ranks")
    variant("lpsolve", default=False, description="The hypervisor's strategies that need linear programs")
    variant("compat", default=True, description="Files under StarPU's names")
    variant("docs", default=False, description="Manual pages and HTML")

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.8:", type="build", when="+docs")
    depends_on("hwloc@2:")
    depends_on("uthash")
    depends_on("mpi@3:", when="+mpi")
    depends_on("lpsolve", when="+lpsolve")

    conflicts("starpu", when="+compat", msg="both install StarPU's names: orrery~compat")

    def autoreconf(self, spec, prefix):
        Executable("./bootstrap")()

    def configure_args(self):
        args = ["--without-openblas"]
        args += self.with_or_without("lpsolve")
        args += self.enable_or_disable("mpi") + self.enable_or_disable("compat") + self.enable_or_disable("docs")
        if self.spec.satisfies("+mpi"):
            args.append("--with-mpicc=" + self.spec["mpi"].mpicc)
        return args
