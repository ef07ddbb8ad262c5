/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "fuzz.h"

static void check_namespaces(const uint8_t *data, size_t size)
{
    enum { MOST = 4 };
    pid_t pids[MOST];
    int n = parse_pid_namespaces(fuzz_text(data, size), pids, MOST);
    CHECK(n >= -EBADMSG || n == -ENODATA || n == -ESRCH);
    CHECK(n <= MOST && n != 0);
    for (int i = 0; i < n; i++)
        CHECK(pids[i] >= 0);
    CHECK(n <= 0 || memmem(data, size, "NSpid:", 6));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_namespaces(data, size);
    struct pid_status st;
    fuzz_fill(&st, sizeof st);
    int r = parse_pid_status(fuzz_text(data, size), &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    CHECK(st.high_water_bytes % 1024 == 0 && (st.has_memory || !st.high_water_bytes));
    CHECK(st.shared_bytes % 1024 == 0 && (st.has_shared || !st.shared_bytes));
    CHECK(st.swap_bytes % 1024 == 0 && (st.has_swap || !st.swap_bytes));
    CHECK(memmem(data, size, "SigIgn:", 7) && memmem(data, size, "voluntary_ctxt_switches:", 24));
    CHECK(!st.has_memory || memmem(data, size, "VmHWM:", 6));
    CHECK(!st.has_shared ||
          (memmem(data, size, "RssFile:", 8) && memmem(data, size, "RssShmem:", 9)));
    CHECK(!st.has_swap || memmem(data, size, "VmSwap:", 7));
    return 0;
}
