/* SPDX-License-Identifier: BSD-3-Clause */
/* Of tests/core/alloc_failures.h: under policies that have more to allocate. Threads, Owns, Not here: see
 * there. */
#include "tests/core/alloc_failures.h"

int main(void)
{
    const char *sanitizer = getenv("ORR_SANITIZER");
    if (sanitizer && strcmp(sanitizer, "none") != 0) skip_all("with a sanitizer alloc_failures is enough");
    begin_in_folder();
    check_whole();
    check_policy("pheft", false);
    check_policy("peager", false);
    check_policy("graph_test", false);
    return end_in_folder();
}
