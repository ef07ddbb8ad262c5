/* SPDX-License-Identifier: MIT */
#include "source/machine/load.h"

#include "fuzz.h"

static void check_loads(const uint8_t *data, size_t size)
{
    struct loadavg l;
    fuzz_fill(&l, sizeof l);
    int r = parse_loadavg(fuzz_text(data, size), &l);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &l);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(l.load); i++)
        CHECK(l.load[i] >= 0 && l.load[i] < 2e19);
}

/* What was read, written as the kernel does, reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_loads(data, size);
    uint64_t pid, again;
    fuzz_fill(&pid, sizeof pid);
    int r = parse_loadavg_last_pid(fuzz_text(data, size), &pid);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &pid);
        return 0;
    }
    char text[64];
    int length = snprintf(text, sizeof text, "0.27 0.06 0.02 1/81 %ju\n", pid);
    CHECK(parse_loadavg_last_pid(scan_text(text, (size_t)length), &again) == 0);
    CHECK(pid == again);
    return 0;
}
