/* SPDX-License-Identifier: MIT */
#include "source/machine/memory.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vmstat v;
    fuzz_fill(&v, sizeof v);
    int r = parse_vmstat(fuzz_text(data, size), &v);
    if (r < 0)
        CHECK_FAILURE(r, -ENODATA, size, &v);
    else
        CHECK(v.seen && v.seen < BIT(VMSTAT_KEYS));
    return 0;
}
