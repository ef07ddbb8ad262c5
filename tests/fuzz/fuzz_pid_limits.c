/* SPDX-License-Identifier: MIT */
#include "source/cgroup/limits.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pid_limits l;
    fuzz_fill(&l, sizeof l);
    int r = parse_pid_limits(fuzz_text(data, size), &l);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &l);
        return 0;
    }
    CHECK(l.known && l.known < 1U << PID_LIMITS);
    CHECK(memmem(data, size, "Max ", 4));
    return 0;
}
