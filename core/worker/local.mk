# SPDX-License-Identifier: BSD-3-Clause
# Workers: running, idling, waking, waiting; what policies may call; profiling.
liborrery_la_SOURCES += core/worker/worker.c core/worker/setup.c core/worker/worker.h core/worker/own.h core/worker/census.c core/worker/rest.c core/worker/local.c core/worker/order.h core/worker/running.c core/worker/ready.c
liborrery_la_SOURCES += core/worker/admission.c core/worker/progress.c core/worker/driver.h core/worker/device.c core/worker/device.h core/worker/inputs.c core/worker/inputs.h core/worker/elsewhere.c core/worker/elsewhere.h core/worker/convert.c core/worker/convert.h
liborrery_la_SOURCES += core/worker/park.c core/worker/park.h core/worker/bell.c core/worker/bell.h core/worker/wait.c core/worker/wait.h
liborrery_la_SOURCES += core/worker/driven.c core/worker/doze.c core/worker/doze.h core/worker/policy.c core/worker/policy.h core/worker/context.h core/worker/query.c core/worker/names.c
liborrery_la_SOURCES += core/worker/counters.c core/worker/member.c core/worker/member.h core/worker/serve.c core/worker/serve.h core/worker/group.c core/worker/group.h core/worker/tally.c core/worker/tally.h core/worker/binding.c core/worker/combined.c core/worker/combined.h core/worker/parallel.c core/worker/parallel.h core/worker/hooks.c core/worker/breaks.c core/worker/crash.c core/worker/crash.h
liborrery_la_SOURCES += core/worker/profile.c core/worker/energy.c core/worker/bus_profile.c core/worker/bus_profile.h core/worker/bound.c core/worker/bound.h core/worker/bound_order.c
liborrery_la_SOURCES += core/worker/joblist.c core/worker/joblist.h core/worker/jobpool.c core/worker/jobpool.h
liborrery_la_SOURCES += core/worker/tell.c core/worker/tell.h core/worker/weighed.h core/worker/hooked.c core/worker/hooked.h core/worker/expected_end.c
liborrery_la_SOURCES += core/worker/lending.c core/worker/lending.h
