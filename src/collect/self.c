/* SPDX-License-Identifier: MIT */
#include "collect/self.h"

#include "base/clock.h"
#include "base/file.h"
#include "parse/statm.h"

#include <fcntl.h>

void self_open(struct self_source *s, const struct sysroot *root)
{
    *s = (struct self_source){.statm = -1, .live = root->live};
    if (root->live)
        s->statm = openat(root->proc, "self/statm", O_RDONLY | O_CLOEXEC);
}

void self_close(struct self_source *s)
{
    if (s->statm >= 0)
        close(s->statm);
    s->statm = -1;
}

void self_collect(struct self_source *s, struct row *row, bool refresh)
{
    if (!s->live)
        return; /* of a replay, the cost means nothing */
    row_put_u64(row, self_cpu_seconds, clock_own_cpu());
    if (!refresh || s->statm < 0)
        return;
    char text[128];
    struct statm st;
    ssize_t n = file_reread(s->statm, text, sizeof text);
    if (n > 0 && parse_statm(scan_text(text, (size_t)n), &st) == 0)
        row_put_u64(row, self_memory_rss_bytes, st.rss_pages * (uint64_t)sysconf(_SC_PAGESIZE));
}
