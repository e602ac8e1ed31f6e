# SPDX-License-Identifier: BSD-3-Clause
# Programs that are installed, most over the public interface alone: the source is the name with .c, one line here.
TOOLS = tools/starpu_calibrate_bus tools/starpu_machine_display tools/starpu_sched_display \
	tools/starpu_perfmodel_display tools/starpu_perfmodel_plot tools/orrery_settings tools/orrery_plan \
	tools/orrery_report tools/starpu_fxt_tool tools/orrery_doctor tools/orrery tools/orrery_top tools/orrery_why tools/starpu_config \
	tools/starpu_mpi_comm_matrix tools/starpu_perfmodel_recdump tools/starpu_tasks_rec_complete tools/orrery_stats
bin_PROGRAMS += $(TOOLS)
# Programs of StarPU's that orrery_stats is, by their names.
STATS_LINKS = tools/starpu_codelet_profile tools/starpu_codelet_histo_profile tools/starpu_workers_activity \
	tools/starpu_trace_state_stats tools/starpu_paje_state_stats tools/starpu_paje_draw_histogram tools/starpu_paje_summary \
	tools/starpu_lp2paje
$(STATS_LINKS): tools/orrery_stats$(EXEEXT)
	$(AM_V_GEN)rm -f $@ && $(LN_S) orrery_stats$(EXEEXT) $@
CLEANFILES += $(STATS_LINKS)
tools_orrery_stats_SOURCES = tools/stats/orrery_stats.c tools/stats/stats.h tools/stats/distrib.c tools/stats/activity.c \
	tools/stats/trace_states.c tools/stats/paje.c tools/stats/paje.h tools/stats/paje_states.c tools/stats/lp2paje.c tools/plot.h tools/grow.h tools/tool.h
tools_orrery_stats_LDADD = -lm
tools_orrery_stats_CFLAGS = $(PROG_CFLAGS)
# What both programs have that read records of tasks.
RECORDS_SOURCES = tools/records.c tools/records.h tools/grow.h tools/tool.h
tools_starpu_perfmodel_recdump_SOURCES = tools/starpu_perfmodel_recdump.c $(RECORDS_SOURCES)
tools_starpu_perfmodel_recdump_LDADD = liborrery.la
tools_starpu_perfmodel_recdump_CFLAGS = $(PROG_CFLAGS)
tools_starpu_tasks_rec_complete_SOURCES = tools/starpu_tasks_rec_complete.c $(RECORDS_SOURCES)
tools_starpu_tasks_rec_complete_LDADD = liborrery.la
tools_starpu_tasks_rec_complete_CFLAGS = $(PROG_CFLAGS)
# A shell script, which shells read.
bin_SCRIPTS += tools/starpu_env
CLEANFILES += tools/starpu_env tools/starpu_config.txt
tools/starpu_env: tools/starpu_env.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed -e 's|@prefix[@]|$(prefix)|g' -e 's|@bindir[@]|$(bindir)|g' -e 's|@libdir[@]|$(libdir)|g' \
	  -e 's|@mandir[@]|$(mandir)|g' -e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|g' \
	  -e 's|@STARPU_INTERFACE_VERSION[@]|$(STARPU_INTERFACE_VERSION)|g' $(srcdir)/tools/starpu_env.in >$@ && chmod +x $@
if MALLOC
# Before a program's libraries by LD_PRELOAD, so it is linked with none of them: it asks whether liborrery is there.
pkglib_LTLIBRARIES = liborrery-malloc.la
liborrery_malloc_la_SOURCES = tools/malloc/malloc.c
liborrery_malloc_la_CFLAGS = $(AM_CFLAGS) -fno-builtin
liborrery_malloc_la_LDFLAGS = -module -avoid-version -shared
liborrery_malloc_la_LIBADD = -ldl
bin_SCRIPTS += tools/orrery_malloc
endif
CLEANFILES += tools/orrery_malloc
tools/orrery_malloc: tools/malloc/orrery_malloc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed -e 's|@pkglibdir[@]|$(pkglibdir)|g' -e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|g' \
	  $(srcdir)/tools/malloc/orrery_malloc.in >$@ && chmod +x $@
# What the header defines where nothing else is said, each constant with its value.
tools/starpu_config.txt: include/starpu_config.h
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(CC) -E -dM -I include -x c include/starpu_config.h | grep -E '^#define (STARPU|ORRERY)_[A-Z0-9_]* .' | \
	  LC_ALL=C sort >$@
tools_starpu_config_SOURCES = tools/starpu_config.c tools/tool.h
tools_starpu_config_LDADD =
tools_starpu_config_CFLAGS = $(PROG_CFLAGS) -DCONFIG_LIST='"$(abs_top_builddir)/tools/starpu_config.txt"'
tools/starpu_config-starpu_config.$(OBJEXT): tools/starpu_config.txt
tools_starpu_mpi_comm_matrix_SOURCES = tools/starpu_mpi_comm_matrix.c tools/plot.h tools/tool.h
tools_starpu_mpi_comm_matrix_LDADD =
tools_starpu_mpi_comm_matrix_CFLAGS = $(PROG_CFLAGS)
tools_starpu_calibrate_bus_SOURCES = tools/starpu_calibrate_bus.c tools/tool.h
tools_starpu_calibrate_bus_LDADD = liborrery.la
tools_starpu_calibrate_bus_CFLAGS = $(PROG_CFLAGS)
tools_starpu_machine_display_SOURCES = tools/starpu_machine_display.c tools/tool.h
tools_starpu_machine_display_LDADD = liborrery.la
tools_starpu_machine_display_CFLAGS = $(PROG_CFLAGS)
tools_starpu_sched_display_SOURCES = tools/starpu_sched_display.c tools/tool.h
tools_starpu_sched_display_LDADD = liborrery.la
tools_starpu_sched_display_CFLAGS = $(PROG_CFLAGS)
tools_starpu_perfmodel_display_SOURCES = tools/starpu_perfmodel_display.c tools/tool.h
tools_starpu_perfmodel_display_LDADD = liborrery.la
tools_starpu_perfmodel_display_CFLAGS = $(PROG_CFLAGS)
tools_starpu_perfmodel_plot_SOURCES = tools/starpu_perfmodel_plot.c tools/plot.h tools/tool.h
tools_starpu_perfmodel_plot_LDADD = liborrery.la -lm
tools_starpu_perfmodel_plot_CFLAGS = $(PROG_CFLAGS)
# Not linked with the library: what is wrong with that, its programs say.
tools_orrery_SOURCES = tools/orrery.c core/base/near.c core/base/near.h tools/tool.h
tools_orrery_LDADD =
tools_orrery_CFLAGS = $(PROG_CFLAGS)
tools_orrery_settings_SOURCES = tools/orrery_settings.c tools/tool.h
tools_orrery_settings_LDADD = liborrery.la
tools_orrery_settings_CFLAGS = $(PROG_CFLAGS)
tools_orrery_doctor_SOURCES = tools/orrery_doctor.c tools/tool.h
tools_orrery_doctor_LDADD = liborrery.la -ldl
tools_orrery_doctor_CFLAGS = $(PROG_CFLAGS)
if HAVE_MPI
# It runs the placements of the library, which are private: so it has both libraries in it.
bin_PROGRAMS += tools/orrery_simulate
tools_orrery_simulate_SOURCES = tools/simulate/simulate.c tools/simulate/engine.c tools/simulate/engine.h \
	tools/simulate/graph.c tools/simulate/graph.h tools/tool.h
tools_orrery_simulate_LDADD = liborrery_mpi_internal.la liborrery_internal.la $(LPSOLVE_LIBS)
tools_orrery_simulate_CFLAGS = $(PROG_CFLAGS)
endif
# Compiled with the part of liborrery-mpi that knows the file, which needs no MPI.
tools_orrery_plan_SOURCES = tools/plan/orrery_plan.c tools/plan/heft.c tools/plan/heft.h tools/tool.h mpi/place/planfile.c \
	mpi/place/planfile.h mpi/place/plangraph.c mpi/place/plangraph.h mpi/place/machine.c mpi/place/machine.h mpi/wire/host.c mpi/wire/host.h
tools_orrery_plan_LDADD = liborrery.la -lm
tools_orrery_plan_CFLAGS = $(PROG_CFLAGS)
# What both programs have that read recordings.
READER_SOURCES = tools/report/read.c tools/report/clocks.c tools/report/notes.c tools/report/model.c tools/report/advice.c tools/report/links.c \
	tools/report/order.c tools/report/order.h tools/report/table.h tools/report/export.c tools/report/paje.c tools/report/tables.c \
	tools/report/report.h tools/report/utf8.h tools/grow.h \
	tools/tool.h core/base/otrace.h
tools_orrery_report_SOURCES = tools/report/orrery_report.c tools/report/text.c tools/report/html.c tools/report/page.html $(READER_SOURCES)
tools_orrery_report_LDADD = liborrery.la -lm
tools_orrery_report_CFLAGS = $(PROG_CFLAGS) -DREPORT_PAGE='"$(abs_top_srcdir)/tools/report/page.html"'
tools/report/orrery_report-html.$(OBJEXT): $(srcdir)/tools/report/page.html
# Of orrery_report without its main, for tests.
REPORT_OBJECTS = tools/report/orrery_report-read.$(OBJEXT) tools/report/orrery_report-clocks.$(OBJEXT) \
	tools/report/orrery_report-notes.$(OBJEXT) tools/report/orrery_report-model.$(OBJEXT) tools/report/orrery_report-advice.$(OBJEXT) \
	tools/report/orrery_report-links.$(OBJEXT) tools/report/orrery_report-order.$(OBJEXT) \
	tools/report/orrery_report-export.$(OBJEXT) tools/report/orrery_report-paje.$(OBJEXT) tools/report/orrery_report-tables.$(OBJEXT) \
	tools/report/orrery_report-text.$(OBJEXT) tools/report/orrery_report-html.$(OBJEXT)
tools_starpu_fxt_tool_SOURCES = tools/report/starpu_fxt_tool.c $(READER_SOURCES)
tools_starpu_fxt_tool_LDADD = liborrery.la -lm
tools_starpu_fxt_tool_CFLAGS = $(PROG_CFLAGS)
# Compiled with the part of the library that knows the pages, which needs nothing else of it.
tools_orrery_top_SOURCES = tools/live/orrery_top.c tools/live/pages.h tools/tool.h core/base/livepage.c core/base/livepage.h
tools_orrery_why_SOURCES = tools/live/orrery_why.c tools/live/pages.h tools/tool.h core/base/livepage.c core/base/livepage.h
tools_orrery_why_LDADD = liborrery.la
tools_orrery_why_CFLAGS = $(PROG_CFLAGS)
tools_orrery_top_LDADD = liborrery.la
tools_orrery_top_CFLAGS = $(PROG_CFLAGS)
# A debugger reads it by itself, beside the library's real name, where this folder is among those it trusts: under /usr it is.
gdbdir = $(datadir)/gdb/auto-load$(libdir)
nodist_gdb_DATA = tools/gdb/liborrery.so.0.0.0-gdb.py
CLEANFILES += tools/gdb/liborrery.so.0.0.0-gdb.py
tools/gdb/liborrery.so.0.0.0-gdb.py: $(srcdir)/tools/gdb/liborrery-gdb.py
	$(AM_V_GEN)$(MKDIR_P) tools/gdb && cp $(srcdir)/tools/gdb/liborrery-gdb.py $@
