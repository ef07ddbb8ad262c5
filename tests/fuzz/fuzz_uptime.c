/* SPDX-License-Identifier: MIT */
#include "source/machine/load.h"

#include "fuzz.h"

/* What was read, written as the kernel does, reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t ns, again;
    fuzz_fill(&ns, sizeof ns);
    int r = parse_uptime(fuzz_text(data, size), &ns);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &ns);
        return 0;
    }
    char text[64];
    int length = snprintf(text, sizeof text, "%ju.%02ju 0.00\n", ns / NS_PER_SECOND,
                          ns % NS_PER_SECOND / (NS_PER_SECOND / 100));
    CHECK(parse_uptime(scan_text(text, (size_t)length), &again) == 0);
    CHECK(ns == again);
    return 0;
}
