/* SPDX-License-Identifier: MIT */
#include "source/cgroup/limits.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kmsg k;
    fuzz_fill(&k, sizeof k);
    int r = parse_kmsg(fuzz_text(data, size), &k);
    if (r < 0) {
        CHECK(r == -EBADMSG && fuzz_is_filled(&k, sizeof k));
        return 0;
    }
    CHECK(k.message.at <= k.message.end);
    CHECK(!kmsg_tells_killed(k.message, 29095) || memmem(data, size, "29095", 5));
    return 0;
}
