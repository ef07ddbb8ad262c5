/* SPDX-License-Identifier: MIT */
#include "collect/self.h"

#include "base/file.h"
#include "parse/statm.h"

void self_collect(const struct sysroot *root, uint64_t cpu_ns, struct row *row, bool with_memory)
{
    if (!root->live)
        return;
    row_put_u64(row, self_cpu_seconds, cpu_ns);
    if (!with_memory)
        return;
    char text[128];
    struct statm st;
    ssize_t n = file_read_at(root->proc, "self/statm", text, sizeof text);
    if (n > 0 && parse_statm(scan_text(text, (size_t)n), &st) == 0)
        row_put_u64(row, self_memory_rss_bytes, st.rss_pages * (uint64_t)sysconf(_SC_PAGESIZE));
}
