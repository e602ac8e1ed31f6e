# SPDX-License-Identifier: BSD-3-Clause
# liborrery-mpi: headers and sources, one line each.
orrery_mpi_sources += mpi/wire.h mpi/transport.h
orrery_mpi_sources += mpi/payload.c mpi/payload.h
orrery_mpi_sources += mpi/match.c mpi/match.h
orrery_mpi_sources += mpi/engine.c mpi/engine.h
orrery_mpi_sources += mpi/transport_mpi.c mpi/transport_mpi.h
orrery_mpi_sources += mpi/transport_inproc.c mpi/transport_inproc.h
orrery_mpi_sources += mpi/cluster.h mpi/comm.h
orrery_mpi_sources += mpi/progress.c mpi/progress.h
orrery_mpi_sources += mpi/coll.c mpi/coll.h
orrery_mpi_sources += mpi/control.c mpi/control.h
orrery_mpi_sources += mpi/pulse.c mpi/pulse.h
orrery_mpi_sources += mpi/guard.c mpi/guard.h
orrery_mpi_sources += mpi/stuck.c mpi/stuck.h
orrery_mpi_sources += mpi/stream.c mpi/stream.h
orrery_mpi_sources += mpi/handle_payload.c mpi/handle_payload.h
orrery_mpi_sources += mpi/message.c mpi/message.h
orrery_mpi_sources += mpi/ownership.c mpi/ownership.h
orrery_mpi_sources += mpi/cache.c mpi/cache.h
orrery_mpi_sources += mpi/exchange.c mpi/exchange.h
orrery_mpi_sources += mpi/redux.c mpi/redux.h
orrery_mpi_sources += mpi/select.c mpi/select.h
orrery_mpi_sources += mpi/insert.c mpi/insert.h
orrery_mpi_sources += mpi/collective.c mpi/collective.h
orrery_mpi_sources += mpi/tags.c mpi/tags.h
orrery_mpi_sources += mpi/api_comm.c mpi/api_comm.h
orrery_mpi_sources += mpi/api_init.c mpi/api_p2p.c mpi/api_data.c mpi/api_task.c mpi/api_datatype.c mpi/api_lb.c
