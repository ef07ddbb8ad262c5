/* SPDX-License-Identifier: MIT */
#include "source/machine/memory.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct meminfo m;
    fuzz_fill(&m, sizeof m);
    int r = parse_meminfo(fuzz_text(data, size), &m);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &m);
        return 0;
    }
    CHECK(m.seen & BIT(MEMINFO_TOTAL));
    CHECK(m.seen < BIT(MEMINFO_KEYS));
    for (unsigned key = 0; key < MEMINFO_KEYS; key++)
        CHECK(!(m.seen & BIT(key)) || m.bytes[key] % 1024 == 0);
    return 0;
}
