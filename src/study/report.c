/* SPDX-License-Identifier: MIT
 * toll_report: runs are read from their records one after the other, and each that is wanted is
 * written while its summary is at hand. What is kept of a run is its text and a few figures, so
 * that earlier runs can be shown beside the newest. */
#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "sink/report/job.h"
#include "study/study.h"

#include <stdio.h>
#include <strings.h>

/* A run that was written. */
struct written_run {
    char *text, *title, *id; /* owned */
    char *cut_short;         /* owned: a sentence; NULL: its record has the end */
    uint64_t start_ns, number;
};

struct reporting {
    struct toll_report asked;
    struct toll_output output;
    const struct report_form *form;
    struct report *report;    /* owned: of the run that is read; NULL: it is not wanted */
    struct written_run *runs; /* owned: all, or the newest so far */
    size_t count, capacity;
    struct study_ranks ranks; /* of parallel jobs */
    bool merges_ranks;        /* a rank is written alone only if no other of its job is there */
    bool has_failed;          /* no memory */
};

static void written_run_done(struct written_run *w)
{
    free(w->text);
    free(w->title);
    free(w->id);
    free(w->cut_short);
    *w = (struct written_run){0};
}

static bool reporting_wants(const struct reporting *p, const struct record_item *item)
{
    const char *id = p->asked.run_id;
    size_t length = id ? strlen(id) : 0, whole = strlen(item->run->id);
    return (!p->asked.run || p->asked.run == item->number) &&
           (!id || (length <= whole && strcasecmp(item->run->id + whole - length, id) == 0));
}

static struct sink reporting_sink(const struct reporting *p)
{
    unsigned flags = p->output.flags;
    return (struct sink){
        .flags = flags,
        .columns = p->output.columns,
        .text.units = flags & TOLL_OUTPUT_BYTES ? BYTES_PLAIN
                      : flags & TOLL_OUTPUT_SI  ? BYTES_DECIMAL
                                                : BYTES_BINARY,
    };
}

/* Writes the run that was read; without `all`, one that is newer replaces it. */
static void reporting_write_run(struct reporting *p, const struct record_item *item)
{
    struct sink s = reporting_sink(p);
    struct buf title = {0};
    uint64_t start_ns = item->run->start_real_ns;
    if (!p->asked.all && p->count && p->runs[0].start_ns > start_ns)
        return;
    if (!p->asked.all && p->count)
        written_run_done(&p->runs[--p->count]);
    if (!ARRAY_RESERVE(p->runs, p->capacity, p->count + 1)) {
        p->has_failed = true;
        return;
    }
    p->report->summary = item->summary;
    p->report->selection = item->selection;
    p->form->run(&s, p->report);
    report_put_title(p->report, &title);
    struct written_run *w = &p->runs[p->count++];
    *w = (struct written_run){
        .text = buf_take(&s.text),
        .title = buf_take(&title),
        .id = strdup(item->run->id),
        .cut_short = item->cut_short ? strdup(item->cut_short) : NULL,
        .start_ns = start_ns,
        .number = item->number,
    };
    p->has_failed |= p->report->has_failed || !w->text || !w->title || !w->id ||
                     (item->cut_short && !w->cut_short);
}

static bool written_is(const struct written_run *w, const struct study_run *r)
{
    return w->start_ns == r->start_ns && w->number == r->number && strcmp(w->id, r->id) == 0;
}

/* Of a run that was written a whole copy was found, and is written next if it is wanted. */
static void reporting_drop_run(void *arg, const struct study_run *run, size_t number)
{
    struct reporting *p = arg;
    (void)number;
    for (size_t i = 0; p->report && i < p->count; i++)
        if (written_is(&p->runs[i], run)) {
            written_run_done(&p->runs[i]);
            p->runs[i] = p->runs[--p->count];
            return;
        }
}

static void reporting_read_item(void *arg, const struct record_item *item)
{
    struct reporting *p = arg;
    if (p->merges_ranks)
        study_ranks_item(&p->ranks, item);
    if (item->kind == RECORD_RUN) {
        bool is_wanted = reporting_wants(p, item) &&
                         !(p->merges_ranks && *item->run->parallel.rank);
        report_free(p->report);
        p->report = is_wanted ? report_new() : NULL;
        p->has_failed |= is_wanted && !p->report;
    }
    if (!p->report)
        return;
    switch (item->kind) {
    case RECORD_FRAME: report_add_frame(p->report, item->frame); break;
    case RECORD_PROCESS_END: report_add_process(p->report, item->process_end); break;
    case RECORD_MARK: report_add_mark(p->report, item->mark); break;
    case RECORD_SUMMARY: reporting_write_run(p, item); break;
    default: break;
    }
}

/* ==== Earlier runs ============================================================================ */

static const enum study_figure history_from[HISTORY_FIGURES] = {
    [HISTORY_WALL] = FIGURE_WALL,
    [HISTORY_CPU] = FIGURE_CPU,
    [HISTORY_MEMORY] = FIGURE_MEMORY_PEAK,
};

/* The written runs, or the runs of the newest one's name up to it. False: no memory. */
static bool reporting_find_history(const struct reporting *p, const struct study_runs *runs,
                                   struct report_past **ret, size_t *ret_count)
{
    const struct study_run *newest = NULL;
    struct report_past *past = calloc(runs->count + 1, sizeof *past);
    size_t count = 0;
    if (!past)
        return false;
    for (size_t i = 0; i < runs->count && !p->asked.all; i++)
        if (written_is(&p->runs[0], &runs->items[i]))
            newest = &runs->items[i];
    for (size_t i = 0; i < runs->count; i++) {
        const struct study_run *r = &runs->items[i];
        bool is_shown = newest && r <= newest && strcmp(r->name, newest->name) == 0;
        for (size_t k = 0; k < p->count && p->asked.all && !is_shown; k++)
            is_shown = written_is(&p->runs[k], r);
        if (!is_shown)
            continue;
        struct report_past *one = &past[count++];
        *one = (struct report_past){
            .name = r->name,
            .record = r->path,
            .id = r->id,
            .number = r->number,
            .start_ns = r->start_ns,
            .end = r->end,
            .cut_short = r->cut_short,
        };
        for (unsigned f = 0; f < HISTORY_FIGURES; f++) {
            one->figures[f].value = r->figures[history_from[f]].value;
            one->figures[f].quality = r->figures[history_from[f]].quality;
        }
    }
    *ret = past;
    *ret_count = count;
    return true;
}

/* Which of the runs that are shown lack their end; with several records, in which. */
static void reporting_note_ends(const struct reporting *p, const struct study_runs *runs,
                                bool names_records)
{
    for (size_t i = 0; i < p->count; i++) {
        struct buf b = {0};
        for (size_t k = 0; k < runs->count && names_records && p->runs[i].cut_short; k++)
            if (written_is(&p->runs[i], &runs->items[k])) {
                buf_printf(&b, "%s: ", runs->items[k].path);
                break;
            }
        if (p->runs[i].cut_short)
            buf_puts(&b, p->runs[i].cut_short);
        if (b.length && !buf_failed(&b) && p->asked.note)
            p->asked.note(p->asked.note_arg, b.data);
        buf_done(&b);
    }
}

/* ==== The whole =============================================================================== */

static int compare_written(const void *left, const void *right)
{
    const struct written_run *a = left, *b = right;
    return (a->start_ns < b->start_ns) - (a->start_ns > b->start_ns);
}

/* Puts the parts together: the page, its runs, the newest first, and the runs beside each other. */
static char *reporting_put_together(struct reporting *p, const struct study_runs *runs)
{
    const struct report_form *form = p->form;
    struct sink s = reporting_sink(p);
    struct report_past *past = NULL;
    size_t past_count = 0;
    char title[64];
    snprintf(title, sizeof title, "%zu runs", p->count);
    qsort(p->runs, p->count, sizeof *p->runs, compare_written);
    if (!reporting_find_history(p, runs, &past, &past_count))
        return NULL;
    struct report_history h = {
        .runs = past, .count = past_count, .is_overview = p->asked.all && p->count > 1};
    for (unsigned f = 0; f < HISTORY_FIGURES; f++)
        h.keys[f] = study_figures[history_from[f]].key;
    if (form->begin)
        form->begin(&s, p->count > 1 ? title : p->runs[0].title);
    if (form->history && h.is_overview && !form->history_is_last)
        form->history(&s, &h);
    for (size_t i = 0; i < p->count; i++) {
        if (i && form->between)
            buf_puts(&s.text, form->between);
        buf_puts(&s.text, p->runs[i].text);
    }
    if (form->history && (form->history_is_last || (!h.is_overview && h.count > 1)))
        form->history(&s, &h);
    if (form->end)
        form->end(&s);
    free(past);
    return buf_take(&s.text);
}

/* Writes the ranks of the newest job as one. 1, 0 when the newest run is not one of several ranks,
 * or -errno and a sentence. */
static int reporting_write_job(struct reporting *p, const struct study_runs *runs, char **ret,
                               struct toll_error *e)
{
    struct report_job job;
    struct sink s = reporting_sink(p);
    struct buf title = {0};
    struct report_history none = {0};
    int r = p->ranks.has_failed ? -ENOMEM : study_ranks_newest(&p->ranks, runs, &job);
    if (r == -ENOMEM)
        return err_set(e, r, "cannot write the report: out of memory");
    if (r > 0 && !p->form->job) {
        report_job_done(&job);
        return err_set(e, -EINVAL, "%s shows one run (choose a rank with --run, or another format)",
                       p->form->name);
    }
    if (r <= 0)
        return r;
    report_job_put_title(&job, &title);
    if (p->form->begin)
        p->form->begin(&s, title.data ? title.data : "");
    if (p->form->history && p->form->history_is_last)
        p->form->history(&s, &none);
    p->form->job(&s, &job);
    if (p->form->end)
        p->form->end(&s);
    report_job_done(&job);
    buf_done(&title);
    *ret = buf_take(&s.text);
    return *ret ? 1 : err_set(e, -ENOMEM, "cannot write the report: out of memory");
}

/* Reads the newest run again, which is a rank alone, and writes it like any other. */
static int reporting_write_rank(struct reporting *p, const struct study_runs *runs,
                                struct toll_error *e)
{
    struct study_runs again = {0};
    const struct study_run *newest = NULL;
    for (size_t i = 0; i < runs->count; i++)
        if (!newest || runs->items[i].start_ns >= newest->start_ns)
            newest = &runs->items[i];
    if (!newest || !*newest->parallel.rank)
        return 0;
    struct study_filter filter = {.id = *newest->id ? newest->id : NULL, .number = newest->number};
    struct study_hook hook = {reporting_read_item, reporting_drop_run, p};
    p->merges_ranks = false;
    int r = study_add(&again, newest->path, &filter, &hook, NULL, NULL, e);
    study_runs_done(&again);
    return r;
}

int toll_report(const struct toll_report *asked, const struct toll_output *output, char **ret,
                struct toll_error *e)
{
    static const char *const here[] = {".", NULL};
    struct reporting p = {0};
    struct study_runs runs = {0};
    if (!ret)
        return err_set_no_place(e);
    int r = sized_take(&p.asked, sizeof p.asked, asked, "report", e);
    if (r == 0)
        r = sized_take(&p.output, sizeof p.output, output, "output", e);
    if (r < 0)
        return r;
    const char *format = p.output.format ? p.output.format : "text";
    p.form = report_form_find(format);
    if (!p.form)
        return err_set(e, -EINVAL,
                       "unknown format '%s' (expected text, markdown, html, json or svg)", format);
    if (p.asked.all && !p.form->between)
        return err_set(e, -EINVAL, "%s shows one run (choose one, or another format)", format);
    struct study_filter filter = {.name = p.asked.name, .labels = p.asked.labels};
    struct study_hook hook = {reporting_read_item, reporting_drop_run, &p};
    p.merges_ranks = !p.asked.all && !p.asked.run && !p.asked.run_id;
    const char *const *path = p.asked.records ? p.asked.records : here;
    for (; r == 0 && *path; path++)
        r = study_add(&runs, *path, &filter, &hook, p.asked.note, p.asked.note_arg, e);
    char *text = NULL;
    if (r == 0 && p.merges_ranks) {
        r = reporting_write_job(&p, &runs, &text, e);
        if (r == 0)
            r = reporting_write_rank(&p, &runs, e);
    }
    bool is_job = text;
    r = r > 0 ? 0 : r;
    report_free(p.report);
    if (r == 0 && !p.count && !p.has_failed && !is_job)
        r = !runs.seen
                ? err_set(e, -ENOENT, "no run in %zu record%s", runs.records,
                          runs.records == 1 ? "" : "s")
                : err_set(e, -ENOENT, "none of %zu run%s in %zu record%s matches", runs.seen,
                          runs.seen == 1 ? "" : "s", runs.records, runs.records == 1 ? "" : "s");
    study_sort(&runs);
    if (r == 0 && !is_job)
        reporting_note_ends(&p, &runs,
                            !p.asked.records || p.asked.records[1] ||
                                file_is_directory(p.asked.records[0]));
    if (!is_job)
        text = r == 0 && !p.has_failed ? reporting_put_together(&p, &runs) : NULL;
    if (r == 0 && !text)
        r = err_set(e, -ENOMEM, "cannot write the report: out of memory");
    if (r == 0)
        *ret = text;
    for (size_t i = 0; i < p.count; i++)
        written_run_done(&p.runs[i]);
    free(p.runs);
    study_ranks_done(&p.ranks);
    study_runs_done(&runs);
    return r;
}
