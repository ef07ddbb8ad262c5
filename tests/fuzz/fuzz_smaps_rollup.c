/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "fuzz.h"

/* What was read, written as the kernel does, reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct smaps_rollup st, again;
    fuzz_fill(&st, sizeof st);
    int r = parse_smaps_rollup(fuzz_text(data, size), &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    CHECK(st.pss_bytes % 1024 == 0 && st.uss_bytes % 1024 == 0);
    char text[256];
    int length = snprintf(
        text, sizeof text,
        "Rss: %ju kB\nPss: %ju kB\nPss_Dirty: 1 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: %ju kB\n",
        st.rss_bytes / 1024, st.pss_bytes / 1024, st.uss_bytes / 1024);
    CHECK(parse_smaps_rollup(scan_text(text, (size_t)length), &again) == 0);
    CHECK(memcmp(&st, &again, sizeof st) == 0);
    return 0;
}
