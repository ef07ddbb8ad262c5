/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

/* What was read, written as seconds, reads the same within what a double can hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    uint64_t ns, again;
    fuzz_fill(&ns, sizeof ns);
    int r = scan_duration(text, &ns);
    if (r < 0) {
        CHECK(r == -EINVAL && fuzz_is_filled(&ns, sizeof ns));
        return 0;
    }
    CHECK(ns <= UINT64_C(1000000000000000000));
    struct buf b = {0};
    buf_seconds(&b, ns);
    CHECK(scan_duration(b.data, &again) == 0);
    CHECK(max_u64(ns, again) - min_u64(ns, again) <= 1 + (ns >> 50));
    buf_done(&b);
    return 0;
}
