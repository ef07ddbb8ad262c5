/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "fuzz.h"

/* What was read, written as the kernel does, reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct statm st, again;
    fuzz_fill(&st, sizeof st);
    int r = parse_statm(fuzz_text(data, size), &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    char text[96];
    int length = snprintf(text, sizeof text, "%ju %ju %ju 0 0 0 0\n", st.virtual_pages,
                          st.rss_pages, st.shared_pages);
    CHECK(parse_statm(scan_text(text, (size_t)length), &again) == 0);
    CHECK(memcmp(&st, &again, sizeof st) == 0);
    return 0;
}
