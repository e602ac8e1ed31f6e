/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c: the filters of blocks.
 * Threads: any. Owns: nothing. Not here: the cutting (cut.c). */
#include "core/data/filters/cut.h"

enum { X, Y, Z };

ORR_FILTER(starpu_block_filter_block, BLOCK, orr_cut_block(&c, X))
ORR_FILTER(starpu_block_filter_block_shadow, BLOCK, orr_cut_shadow(&c, X))
ORR_FILTER(starpu_block_filter_vertical_block, BLOCK, orr_cut_block(&c, Y))
ORR_FILTER(starpu_block_filter_vertical_block_shadow, BLOCK, orr_cut_shadow(&c, Y))
ORR_FILTER(starpu_block_filter_depth_block, BLOCK, orr_cut_block(&c, Z))
ORR_FILTER(starpu_block_filter_depth_block_shadow, BLOCK, orr_cut_shadow(&c, Z))
ORR_FILTER(starpu_block_filter_pick_matrix_z, MATRIX, orr_cut_pick(&c, Z))
ORR_FILTER(starpu_block_filter_pick_matrix_y, MATRIX, orr_cut_pick(&c, Y))
ORR_CHILD_OPS(starpu_block_filter_pick_matrix_child_ops, starpu_interface_matrix_ops)
ORR_FILTER(starpu_block_filter_pick_variable, VARIABLE, orr_cut_element(&c))
ORR_CHILD_OPS(starpu_block_filter_pick_variable_child_ops, starpu_interface_variable_ops)
