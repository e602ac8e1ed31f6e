/* SPDX-License-Identifier: BSD-3-Clause */
/* tensor.c: the filters of tensors.
 * Threads: any. Owns: nothing. Not here: the cutting (cut.c). */
#include "core/data/filters/cut.h"

enum { X, Y, Z, T };

ORR_FILTER(starpu_tensor_filter_block, TENSOR, orr_cut_block(&c, X))
ORR_FILTER(starpu_tensor_filter_block_shadow, TENSOR, orr_cut_shadow(&c, X))
ORR_FILTER(starpu_tensor_filter_vertical_block, TENSOR, orr_cut_block(&c, Y))
ORR_FILTER(starpu_tensor_filter_vertical_block_shadow, TENSOR, orr_cut_shadow(&c, Y))
ORR_FILTER(starpu_tensor_filter_depth_block, TENSOR, orr_cut_block(&c, Z))
ORR_FILTER(starpu_tensor_filter_depth_block_shadow, TENSOR, orr_cut_shadow(&c, Z))
ORR_FILTER(starpu_tensor_filter_time_block, TENSOR, orr_cut_block(&c, T))
ORR_FILTER(starpu_tensor_filter_time_block_shadow, TENSOR, orr_cut_shadow(&c, T))
ORR_FILTER(starpu_tensor_filter_pick_block_t, BLOCK, orr_cut_pick(&c, T))
ORR_FILTER(starpu_tensor_filter_pick_block_z, BLOCK, orr_cut_pick(&c, Z))
ORR_FILTER(starpu_tensor_filter_pick_block_y, BLOCK, orr_cut_pick(&c, Y))
ORR_CHILD_OPS(starpu_tensor_filter_pick_block_child_ops, starpu_interface_block_ops)
ORR_FILTER(starpu_tensor_filter_pick_variable, VARIABLE, orr_cut_element(&c))
ORR_CHILD_OPS(starpu_tensor_filter_pick_variable_child_ops, starpu_interface_variable_ops)
