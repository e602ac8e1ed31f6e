/* SPDX-License-Identifier: BSD-3-Clause */
/* matrix.c: the filters of matrices.
 * Threads: any. Owns: nothing. Not here: the cutting (cut.c). */
#include "core/data/filters/cut.h"

enum { X, Y };

ORR_FILTER(starpu_matrix_filter_block, MATRIX, orr_cut_block(&c, X))
ORR_FILTER(starpu_matrix_filter_block_shadow, MATRIX, orr_cut_shadow(&c, X))
ORR_FILTER(starpu_matrix_filter_vertical_block, MATRIX, orr_cut_block(&c, Y))
ORR_FILTER(starpu_matrix_filter_vertical_block_shadow, MATRIX, orr_cut_shadow(&c, Y))
ORR_FILTER(starpu_matrix_filter_pick_vector_y, VECTOR, orr_cut_pick(&c, Y))
ORR_CHILD_OPS(starpu_matrix_filter_pick_vector_child_ops, starpu_interface_vector_ops)
ORR_FILTER(starpu_matrix_filter_pick_variable, VARIABLE, orr_cut_element(&c))
ORR_CHILD_OPS(starpu_matrix_filter_pick_variable_child_ops, starpu_interface_variable_ops)
