/* SPDX-License-Identifier: BSD-3-Clause */
/* ndim.c: the filters of n-dimensional arrays; filter_arg is the dimension that is cut or picked from.
 * Threads: any. Owns: nothing. Not here: the cutting (cut.c). */
#include "core/data/filters/cut.h"

ORR_FILTER(starpu_ndim_filter_block, NDIM, orr_cut_block(&c, f->filter_arg))
ORR_FILTER(starpu_ndim_filter_block_shadow, NDIM, orr_cut_shadow(&c, f->filter_arg))
ORR_FILTER(starpu_ndim_filter_pick_ndim, NDIM, orr_cut_pick(&c, f->filter_arg))
ORR_FILTER(starpu_ndim_filter_5d_pick_tensor, TENSOR, orr_cut_pick(&c, f->filter_arg))
ORR_CHILD_OPS(starpu_ndim_filter_pick_tensor_child_ops, starpu_interface_tensor_ops)
ORR_FILTER(starpu_ndim_filter_4d_pick_block, BLOCK, orr_cut_pick(&c, f->filter_arg))
ORR_CHILD_OPS(starpu_ndim_filter_pick_block_child_ops, starpu_interface_block_ops)
ORR_FILTER(starpu_ndim_filter_3d_pick_matrix, MATRIX, orr_cut_pick(&c, f->filter_arg))
ORR_CHILD_OPS(starpu_ndim_filter_pick_matrix_child_ops, starpu_interface_matrix_ops)
ORR_FILTER(starpu_ndim_filter_2d_pick_vector, VECTOR, orr_cut_pick(&c, f->filter_arg))
ORR_CHILD_OPS(starpu_ndim_filter_pick_vector_child_ops, starpu_interface_vector_ops)
ORR_FILTER(starpu_ndim_filter_1d_pick_variable, VARIABLE, orr_cut_pick(&c, 0))
ORR_FILTER(starpu_ndim_filter_pick_variable, VARIABLE, orr_cut_element(&c))
ORR_CHILD_OPS(starpu_ndim_filter_pick_variable_child_ops, starpu_interface_variable_ops)
ORR_FILTER(starpu_ndim_filter_to_tensor, TENSOR, orr_cut_whole(&c))
ORR_CHILD_OPS(starpu_ndim_filter_to_tensor_child_ops, starpu_interface_tensor_ops)
ORR_FILTER(starpu_ndim_filter_to_block, BLOCK, orr_cut_whole(&c))
ORR_CHILD_OPS(starpu_ndim_filter_to_block_child_ops, starpu_interface_block_ops)
ORR_FILTER(starpu_ndim_filter_to_matrix, MATRIX, orr_cut_whole(&c))
ORR_CHILD_OPS(starpu_ndim_filter_to_matrix_child_ops, starpu_interface_matrix_ops)
ORR_FILTER(starpu_ndim_filter_to_vector, VECTOR, orr_cut_whole(&c))
ORR_CHILD_OPS(starpu_ndim_filter_to_vector_child_ops, starpu_interface_vector_ops)
ORR_FILTER(starpu_ndim_filter_to_variable, VARIABLE, orr_cut_whole(&c))
ORR_CHILD_OPS(starpu_ndim_filter_to_variable_child_ops, starpu_interface_variable_ops)
