/* SPDX-License-Identifier: MIT
 * The report as Markdown: short, for a merge request or the page of a CI job. */
#include "sink/report/job.h"

#include <string.h>

/* Text from outside in Markdown: what could be markup is escaped, a line stays a line. */
static void markdown_put(struct buf *b, const char *text, size_t length)
{
    struct buf clean = {0};
    buf_printable(&clean, text, length);
    for (size_t i = 0; !buf_failed(&clean) && i < clean.length; i++) {
        char c = clean.data[i];
        if (c == '<')
            buf_puts(b, "&lt;");
        else if (c == '>')
            buf_puts(b, "&gt;");
        else if (c == '&')
            buf_puts(b, "&amp;");
        else {
            if (strchr("\\`*_{}[]()#+!|~@", c))
                buf_putc(b, '\\');
            buf_putc(b, c);
        }
    }
    b->failed |= buf_failed(&clean);
    buf_done(&clean);
}

static void markdown_run(struct sink *s, const struct report *r)
{
    struct buf *b = &s->text;
    static const char *const signs[] = {"", "**Warning:** ", "**Problem:** "};
    struct buf text = {0};
    report_put_title(r, &text);
    buf_puts(b, "### ");
    if (!buf_failed(&text) && text.length) { /* a command line may be a whole script */
        size_t fits = utf8_fitting(text.data, text.length, 100);
        markdown_put(b, text.data, fits);
        buf_puts(b, fits < text.length ? "…" : "");
    }
    buf_clear(&text);
    human_end(&text, r->summary);
    buf_puts(b, "\n\n");
    if (!buf_failed(&text) && text.length)
        buf_add(b, text.data, text.length);
    buf_puts(b, " on ");
    markdown_put(b, r->summary->run->host, strlen(r->summary->run->host));
    if (*r->summary->run->parallel.rank || *r->summary->run->job.id) {
        buf_clear(&text);
        buf_puts(&text, *r->summary->run->parallel.rank ? ", rank " : ", job ");
        words_put_place(&text, r->summary->run);
        if (!buf_failed(&text))
            markdown_put(b, text.data, text.length);
    }
    buf_puts(b, "\n\n| | | |\n|---|--:|---|\n");
    for (size_t i = 0; i < REPORT_ANSWERS; i++) {
        buf_clear(&text);
        enum quality q;
        if (!report_put_answer(r, &report_answers[i], &text, &q) || buf_failed(&text))
            continue;
        buf_printf(b, "| %s | ", report_answers[i].label);
        buf_add(b, text.data, text.length);
        buf_printf(b, " | %s%s%s |\n", report_answers[i].after,
                   *report_answers[i].after ? ", " : "", report_quality_word(q));
    }
    struct limit_used used[LIMITS];
    unsigned count = report_used(r, used);
    for (unsigned i = 0; i < count && i < 2; i++) {
        buf_puts(b, "| ");
        report_put_used(b, &used[i]);
        buf_printf(b, " | %s", used[i].is_least ? "≥ " : "");
        buf_clear(&text);
        human_percent(&text, used[i].used / used[i].allowed);
        if (!buf_failed(&text)) /* a small share begins with "<" */
            markdown_put(b, text.data, text.length);
        buf_puts(b, " | of ");
        human_number(b, used[i].unit, used[i].allowed);
        buf_puts(b, " allowed (");
        markdown_put(b, used[i].limit->by, strlen(used[i].limit->by)); /* a record has any text */
        buf_puts(b, ") |\n");
    }
    struct report_findings f;
    report_find(r, &f);
    buf_puts(b, f.count ? "\n" : "");
    for (unsigned i = 0; i < f.count && i < REPORT_FINDINGS_SHOWN; i++) {
        buf_printf(b, "- %s", signs[f.items[i].weight]);
        if (!buf_failed(&f.items[i].sentence) && f.items[i].sentence.length)
            markdown_put(b, f.items[i].sentence.data, f.items[i].sentence.length);
        if (!buf_failed(&f.items[i].evidence) && f.items[i].evidence.length) {
            buf_putc(b, ' ');
            buf_putc(b, '(');
            markdown_put(b, f.items[i].evidence.data, f.items[i].evidence.length);
            buf_putc(b, ')');
        }
        buf_putc(b, '\n');
    }
    if (f.count > REPORT_FINDINGS_SHOWN)
        buf_printf(b, "- and %u more\n", f.count - REPORT_FINDINGS_SHOWN);
    report_findings_done(&f);
    const struct largest *l = r->summary->largest;
    if (l && l->by_memory_count > 1) {
        buf_puts(b, "\n| Largest processes | peak RSS | CPU time |\n|---|--:|--:|\n");
        for (unsigned i = 0; i < l->by_memory_count && i < 5; i++) {
            const struct largest_process *p = &l->by_memory[i];
            const char *name = *p->command ? p->command : p->name;
            size_t length = utf8_fitting(name, strlen(name), 60);
            buf_puts(b, "| ");
            markdown_put(b, name, length);
            buf_printf(b, "%s | %s", name[length] ? "…" : "",
                       p->has_peak && p->peak_bytes && !p->is_recorded ? "≥ " : "");
            if (p->has_peak && p->peak_bytes)
                buf_bytes(b, (double)p->peak_bytes);
            else
                buf_putc(b, '?');
            buf_printf(b, " | %s", p->has_cpu && !p->is_complete && p->cpu_ns ? "≥ " : "");
            if (p->has_cpu && (p->is_complete || p->cpu_ns))
                human_seconds(b, (double)p->cpu_ns / 1e9);
            else
                buf_putc(b, '?');
            buf_puts(b, " |\n");
        }
    }
    buf_done(&text);
}

static void markdown_history(struct sink *s, const struct report_history *h)
{
    enum { ROWS = 10 };
    struct buf *b = &s->text, text = {0};
    size_t shown = h->is_overview || h->count < ROWS ? h->count : ROWS;
    buf_printf(b, "%s| %s | ended |", h->is_overview ? "" : "\n",
               h->is_overview ? "Runs" : "Earlier runs");
    for (unsigned f = 0; f < HISTORY_FIGURES; f++)
        buf_printf(b, " %s | |", history_columns[f].title);
    buf_puts(b, "\n|---|---|");
    for (unsigned f = 0; f < HISTORY_FIGURES; f++)
        buf_puts(b, "--:|--:|");
    buf_putc(b, '\n');
    for (size_t i = h->count; i-- > h->count - shown;) {
        const struct report_past *p = &h->runs[i];
        buf_puts(b, "| ");
        report_put_time(b, p->start_ns);
        if (h->is_overview && *p->name) {
            buf_puts(b, " ");
            markdown_put(b, p->name, strlen(p->name));
        }
        buf_puts(b, !h->is_overview && i + 1 == h->count ? " (this run) | " : " | ");
        history_put_end(p, b);
        buf_puts(b, " |");
        for (unsigned f = 0; f < HISTORY_FIGURES; f++) {
            buf_putc(b, ' ');
            history_put_figure(p, f, b);
            buf_puts(b, " | ");
            buf_clear(&text);
            history_put_change(h, i, f, &text);
            if (text.length && !buf_failed(&text))
                buf_add(b, text.data, text.length);
            buf_puts(b, " |");
        }
        buf_putc(b, '\n');
    }
    if (shown < h->count)
        buf_printf(b, "\n%zu older runs are not shown.\n", h->count - shown);
    if (h->is_overview)
        buf_putc(b, '\n');
    b->failed |= text.failed;
    buf_done(&text);
}

const struct report_form report_markdown = {
    .job = job_markdown,
    .name = "markdown",
    .between = "\n",
    .run = markdown_run,
    .history = markdown_history,
};
