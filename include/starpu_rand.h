/* SPDX-License-Identifier: BSD-3-Clause */
/* starpu_rand.h: pseudo-random numbers that STARPU_RAND_SEED makes repeatable.
 *
 * Threads: any with a state of its own (the _r forms); the others share one state.
 * Owns: nothing; macros over the C library's drand48 family, which -std=c11 alone does not declare.
 * Not here: anything for cryptography.
 */
#ifndef STARPU_RAND_H
#define STARPU_RAND_H

#include <starpu_helper.h>

#include <stdlib.h>

/* The seed to use: STARPU_RAND_SEED, else the one given. */
#define starpu_seed(seed) starpu_get_env_number_default("STARPU_RAND_SEED", (seed))

#define starpu_srand48(seed) srand48(starpu_seed(seed))
#define starpu_drand48() drand48()
#define starpu_lrand48() lrand48()
#define starpu_erand48(xsubi) erand48(xsubi)

typedef struct drand48_data starpu_drand48_data;
#define starpu_srand48_r(seed, buffer) srand48_r(starpu_seed(seed), (buffer))
#define starpu_drand48_r(buffer, result) drand48_r((buffer), (result))
#define starpu_lrand48_r(buffer, result) lrand48_r((buffer), (result))
#define starpu_erand48_r(xsubi, buffer, result) erand48_r((xsubi), (buffer), (result))

#endif
