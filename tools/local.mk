# SPDX-License-Identifier: BSD-3-Clause
# Programs over the public interface that are installed:
#   bin_PROGRAMS += tools/orrery_machine
#   tools_orrery_machine_SOURCES = tools/orrery_machine.c
#   tools_orrery_machine_LDADD = liborrery.la
#   tools_orrery_machine_CFLAGS = $(PROG_CFLAGS)
