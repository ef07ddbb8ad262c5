/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cpu_list l;
    fuzz_fill(&l, sizeof l);
    int r = parse_cpu_list(fuzz_text(data, size), &l);
    if (r < 0) {
        CHECK(r == -EBADMSG || r == -ENODATA);
        CHECK(fuzz_is_filled(&l, sizeof l));
        return 0;
    }
    struct cpu_list same = l;
    CHECK(cpu_list_count(&l) > 0 && cpu_list_count(&l) <= CPU_LIST_MOST);
    cpu_list_keep(&same, &l);
    CHECK(memcmp(&same, &l, sizeof l) == 0);
    return 0;
}
