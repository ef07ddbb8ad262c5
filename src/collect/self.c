/* SPDX-License-Identifier: MIT */
#include "collect/self.h"

#include "base/clock.h"
#include "base/file.h"
#include "parse/statm.h"

void self_collect(const struct sysroot *root, uint64_t cpu_base_ns, struct row *row, bool refresh)
{
    if (!root->live)
        return;
    row_put_u64(row, self_cpu_seconds, left_u64(clock_own_cpu(), cpu_base_ns));
    if (!refresh)
        return;
    char text[128];
    struct statm st;
    ssize_t n = file_read_at(root->proc, "self/statm", text, sizeof text);
    if (n > 0 && parse_statm(scan_text(text, (size_t)n), &st) == 0)
        row_put_u64(row, self_memory_rss_bytes, st.rss_pages * (uint64_t)sysconf(_SC_PAGESIZE));
}
