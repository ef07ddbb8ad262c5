/* SPDX-License-Identifier: MIT
 * Runs of one name beside each other: how each ended, what it used, and how that changed. */
#include "sink/report/report.h"

#include "base/process.h"

#include <string.h>

const struct history_column history_columns[HISTORY_FIGURES] = {
    [HISTORY_WALL] = {"time", process_wall_seconds},
    [HISTORY_CPU] = {"CPU time", process_cpu_seconds},
    [HISTORY_MEMORY] = {"peak memory", process_memory_rss_bytes},
};

bool history_has_names(const struct report_history *h)
{
    for (size_t i = 1; h->is_overview && i < h->count; i++)
        if (strcmp(h->runs[i].name, h->runs[0].name) != 0)
            return true;
    return false;
}

double history_change(const struct report_history *h, size_t i, enum history_figure f)
{
    if (!i || i >= h->count)
        return NAN;
    const struct report_past *now = &h->runs[i], *before = &h->runs[i - 1];
    if (strcmp(now->name, before->name) != 0)
        return NAN;
    enum quality q = now->figures[f].quality, p = before->figures[f].quality;
    /* A lower bound may be far below the truth. */
    if (q == QUALITY_UNKNOWN || p == QUALITY_UNKNOWN || q == QUALITY_LOWER_BOUND ||
        p == QUALITY_LOWER_BOUND || !(before->figures[f].value > 0))
        return NAN;
    return now->figures[f].value / before->figures[f].value - 1;
}

void history_put_change(const struct report_history *h, size_t i, enum history_figure f,
                        struct buf *b)
{
    double change = history_change(h, i, f);
    if (isnan(change))
        return;
    double size = change < 0 ? -change : change;
    if (size < 0.0005) {
        buf_puts(b, "0 %");
        return;
    }
    if (change > 9.995) {
        buf_puts(b, "× ");
        buf_double_fixed(b, change + 1, 0);
        return;
    }
    buf_puts(b, change < 0 ? "−" : "+");
    buf_double_fixed(b, size * 100, size < 0.0995 ? 1 : 0);
    buf_puts(b, " %");
}

void history_put_figure(const struct report_past *p, enum history_figure f, struct buf *b)
{
    if (p->figures[f].quality == QUALITY_UNKNOWN) {
        buf_putc(b, '?');
        return;
    }
    buf_puts(b, p->figures[f].quality == QUALITY_LOWER_BOUND ? "≥ " : "");
    human_number(b, metric_of(history_columns[f].unit), p->figures[f].value);
}

bool history_is_bad(const struct report_past *p)
{
    return p->end.ended && !p->end.unknown && (p->end.signaled || p->end.status);
}

void history_put_end(const struct report_past *p, struct buf *b)
{
    const struct toll_end *end = &p->end;
    const char *name = end->signaled ? signal_name(end->status) : NULL;
    if (p->cut_short)
        buf_puts(b, "cut off");
    else if (end->timed_out)
        buf_puts(b, "timed out");
    else if (end->oom_killed)
        buf_puts(b, "OOM kill");
    else if (!end->ended)
        buf_puts(b, "left running");
    else if (end->unknown)
        buf_puts(b, "unknown");
    else if (name)
        buf_printf(b, "SIG%s", name);
    else
        buf_printf(b, end->signaled ? "signal %d" : "exit %d", end->status);
}
