/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "fuzz.h"

/* What was read, written as the kernel does, reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schedstat st, again;
    fuzz_fill(&st, sizeof st);
    int r = parse_schedstat(fuzz_text(data, size), &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    char text[64];
    int length = snprintf(text, sizeof text, "%ju %ju 1\n", st.run_ns, st.wait_ns);
    CHECK(parse_schedstat(scan_text(text, (size_t)length), &again) == 0);
    CHECK(memcmp(&st, &again, sizeof st) == 0);
    return 0;
}
