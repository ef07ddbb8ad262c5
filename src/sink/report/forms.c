/* SPDX-License-Identifier: MIT
 * The forms of a report as outputs of a run: a page, Markdown, one chart. */
#include "sink/report/report.h"

#include <string.h>

/* The chart that a picture shows: the first with figures, which is CPU or memory. */
static void svg_run(struct sink *s, const struct report *r)
{
    const struct chart *first = NULL;
    struct buf title = {0};
    for (unsigned i = 0; i < REPORT_CHARTS && !first; i++)
        first = chart_is_empty(&r->charts[i]) ? NULL : &r->charts[i];
    report_put_title(r, &title);
    buf_putc(&title, '\0');
    charts_draw(r, &first, first ? 1 : 0, buf_failed(&title) ? "" : title.data, &s->text);
    s->text.failed |= buf_failed(&title);
    buf_done(&title);
}

static const struct report_form report_svg = {.name = "svg", .run = svg_run};

const struct report_form *report_form_find(const char *name)
{
    static const struct report_form *const forms[] = {&report_text, &report_html, &report_markdown,
                                                      &report_svg, &report_json};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (strcmp(forms[i]->name, name) == 0)
            return forms[i];
    return NULL;
}

/* ==== Outputs ================================================================================= */

static void report_sink_begin(struct sink *s, const struct run *run)
{
    (void)run;
    s->state = report_new();
}

static void report_sink_frame(struct sink *s, const struct frame *f)
{
    if (s->state)
        report_add_frame(s->state, f);
}

static void report_sink_process_end(struct sink *s, const struct process_end *e)
{
    if (s->state)
        report_add_process(s->state, e);
}

static void report_sink_mark(struct sink *s, const struct run_mark *m)
{
    if (s->state)
        report_add_mark(s->state, m);
}

static void report_sink_close(struct sink *s)
{
    report_free(s->state);
    s->state = NULL;
}

static void report_sink_write(struct sink *s, const struct summary *summary,
                              const struct report_form *form)
{
    struct report *r = s->state;
    struct buf title = {0};
    if (!r) { /* no memory */
        s->text.failed = true;
        return;
    }
    r->summary = summary;
    r->selection = &s->selection;
    s->text.units = BYTES_BINARY; /* as on the axes of the charts */
    report_put_title(r, &title);
    buf_putc(&title, '\0');
    if (form->begin && !buf_failed(&title))
        form->begin(s, title.data);
    form->run(s, r);
    if (form->end)
        form->end(s);
    s->text.failed |= r->has_failed || buf_failed(&title);
    buf_done(&title);
}

static void html_summary(struct sink *s, const struct summary *summary)
{
    report_sink_write(s, summary, &report_html);
}

static void markdown_summary(struct sink *s, const struct summary *summary)
{
    report_sink_write(s, summary, &report_markdown);
}

static void svg_summary(struct sink *s, const struct summary *summary)
{
    report_sink_write(s, summary, &report_svg);
}

#define REPORT_CALLBACKS                                                                           \
    .holds_one_run = true, .writes_at_end = true, .has_no_bytes = true,                            \
    .begin = report_sink_begin, .frame = report_sink_frame,                                        \
    .process_end = report_sink_process_end, .mark = report_sink_mark, .close = report_sink_close

const struct sink_kind sink_html = {
    .format = {"html", ".html", "a report with charts, one page that needs no network", "FILE"},
    .other_suffixes = {".htm"},
    REPORT_CALLBACKS,
    .summary = html_summary,
};

const struct sink_kind sink_markdown = {
    .format = {"markdown", ".md", "a short report for a merge request or a CI job", "FILE"},
    REPORT_CALLBACKS,
    .summary = markdown_summary,
};

const struct sink_kind sink_svg = {
    .format = {"svg", ".svg", "a chart of the CPU or memory over time", "FILE"},
    REPORT_CALLBACKS,
    .summary = svg_summary,
};
