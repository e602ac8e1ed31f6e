/* SPDX-License-Identifier: BSD-3-Clause */
/* bus.c: bandwidth and latency between memory nodes.
 * Threads: any. Owns: nothing: drivers measure their links when their node is registered. Not here:
 * transfers. */
#include "core/perf/bus.h"

#include <math.h>
#include <starpu_perfmodel.h>

#include "core/base/env.h"
#include "core/mem/node.h"

static const struct orr_env env_limit = {
    "STARPU_LIMIT_BANDWIDTH", "0", "MB/s",
    "assume that no link between memory nodes is faster than this (0: no limit)"
};

/* Whose methods describe the link: the destination's when both ends are devices. NULL: main memory at both
 * ends. */
static const struct orr_node_ops *link_ops(unsigned src, unsigned dst)
{
    if (src >= orr_node_count || dst >= orr_node_count || src == dst) return NULL;
    return orr_nodes[dst].ops ? orr_nodes[dst].ops : orr_nodes[src].ops;
}

double starpu_transfer_bandwidth(unsigned src_node, unsigned dst_node)
{
    if (src_node >= orr_node_count || dst_node >= orr_node_count) return NAN;
    const struct orr_node_ops *ops = link_ops(src_node, dst_node);
    if (!ops || !ops->bandwidth_MB_per_s) return INFINITY; /* nothing is moved */
    double limit = orr_env_double(&env_limit, 0, 0, 1e12),
           bandwidth = ops->bandwidth_MB_per_s(src_node, dst_node);
    return limit > 0 && bandwidth > limit ? limit : bandwidth;
}

double starpu_transfer_latency(unsigned src_node, unsigned dst_node)
{
    if (src_node >= orr_node_count || dst_node >= orr_node_count) return NAN;
    const struct orr_node_ops *ops = link_ops(src_node, dst_node);
    return ops && ops->latency_us ? ops->latency_us(src_node, dst_node) : 0;
}

double starpu_transfer_predict(unsigned src_node, unsigned dst_node, size_t size)
{
    return orr_bus_predict_us(src_node, dst_node, size);
}

double orr_bus_predict_us(unsigned src_node, unsigned dst_node, size_t bytes)
{
    const struct orr_node_ops *ops = link_ops(src_node, dst_node);
    if (!ops) return 0;
    double bandwidth =
        ops->bandwidth_MB_per_s ? ops->bandwidth_MB_per_s(src_node, dst_node) : 0; /* bytes per us */
    double latency = ops->latency_us ? ops->latency_us(src_node, dst_node) : 0;
    return latency + (bandwidth > 0 ? (double)bytes / bandwidth : 0);
}

static void print_table(FILE *f, const char *title, double (*value)(unsigned, unsigned))
{
    fprintf(f, "# %s\nfrom/to", title);
    for (unsigned d = 0; d < orr_node_count; d++) fprintf(f, "\t%s", orr_nodes[d].name);
    fprintf(f, "\n");
    for (unsigned s = 0; s < orr_node_count; s++) {
        fprintf(f, "%s", orr_nodes[s].name);
        for (unsigned d = 0; d < orr_node_count; d++) {
            if (s == d)
                fprintf(f, "\t-");
            else
                fprintf(f, "\t%.3f", value(s, d));
        }
        fprintf(f, "\n");
    }
}

void starpu_bus_print_bandwidth(FILE *f)
{
    print_table(f, "bandwidth in MB/s", starpu_transfer_bandwidth);
    print_table(f, "latency in us", starpu_transfer_latency);
}

void starpu_bus_print_affinity(FILE *f)
{
    fprintf(f, "# memory node\tdevice\n");
    for (unsigned n = 0; n < orr_node_count; n++) fprintf(f, "%u\t%s\n", n, orr_nodes[n].name);
}

void starpu_bus_print_filenames(FILE *f)
{
    fprintf(f, "links between memory nodes are described by their drivers at start-up; no file keeps them\n");
}
