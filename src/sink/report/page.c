/* SPDX-License-Identifier: MIT
 * The report as a page of HTML that needs nothing else. */
#include "sink/report/job.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ==== HTML ==================================================================================== */

static void html_cell(struct buf *b, const char *class, const char *text)
{
    buf_printf(b, "<td%s>", class);
    html_put(b, text);
    buf_puts(b, "</td>");
}

static void html_answer(const struct report *r, struct buf *b)
{
    const struct toll_end *end = &r->summary->whole.end;
    bool is_known = end->ended && !end->unknown,
         is_bad = is_known && (end->signaled || end->status);
    struct buf text = {0};
    bool has_name = report_put_name(r, &text);
    if (!has_name)
        report_put_title(r, &text);
    buf_puts(b, "<header><h1>");
    if (!buf_failed(&text) && text.length)
        html_add(b, text.data, text.length);
    if (has_name) { /* a long command is not a heading */
        buf_clear(&text);
        human_command(&text, r->summary->run->command);
        buf_puts(b, "</h1>\n<p class=\"command\">");
        if (!buf_failed(&text) && text.length)
            html_add(b, text.data, text.length);
    }
    buf_clear(&text);
    buf_printf(b, "</%s>\n<p class=\"how%s\"><b>", has_name ? "p" : "h1",
               is_bad     ? " bad"
               : is_known ? " good"
                          : "");
    human_end(&text, r->summary);
    if (!buf_failed(&text) && text.length)
        html_add(b, text.data, text.length);
    buf_puts(b, "</b>");
    if (*r->summary->run->host) {
        buf_puts(b, " on ");
        html_put(b, r->summary->run->host);
    }
    buf_puts(b, ", started <time>");
    report_put_time(b, r->summary->run->start_real_ns);
    buf_puts(b, "</time></p>\n<dl class=\"cards\">\n");
    for (size_t i = 0; i < REPORT_ANSWERS; i++) {
        buf_clear(&text);
        enum quality q;
        if (!report_put_answer(r, &report_answers[i], &text, &q) || buf_failed(&text))
            continue;
        buf_printf(b, "<div><dt>%s</dt><dd>", report_answers[i].label);
        html_add(b, text.data, text.length);
        buf_printf(b, "<small>%s%s%s</small></dd></div>\n", report_answers[i].after,
                   *report_answers[i].after ? ", " : "", report_quality_word(q));
    }
    buf_puts(b, "</dl></header>\n");
    buf_done(&text);
}

static void html_findings(const struct report *r, struct buf *b)
{
    static const char *const classes[] = {"note", "warning", "problem"};
    struct report_findings f = {0};
    if (report_is_judged(r)) {
        report_find(r, &f);
        buf_puts(b, "<section><h2>Findings</h2>\n<ul class=\"findings\">\n");
    }
    for (unsigned i = 0; i < f.count; i++) {
        const struct report_finding *one = &f.items[i];
        buf_printf(b, "<li class=\"%s\" data-finding=\"%s\">", classes[one->weight], one->key);
        if (!buf_failed(&one->sentence) && one->sentence.length)
            html_add(b, one->sentence.data, one->sentence.length);
        if (!buf_failed(&one->evidence) && one->evidence.length) {
            buf_puts(b, "<small>");
            html_add(b, one->evidence.data, one->evidence.length);
            buf_puts(b, "</small>");
        }
        buf_puts(b, "</li>\n");
    }
    if (report_is_judged(r))
        buf_puts(b, f.count ? "</ul></section>\n"
                            : "<li class=\"note\">Nothing stands out.</li>\n</ul></section>\n");
    if (r->summary->note_count)
        buf_puts(b, "<section><h2>Notes</h2>\n<ul class=\"findings\">\n");
    for (size_t i = 0; i < r->summary->note_count && i < SUMMARY_NOTES; i++) {
        buf_puts(b, "<li class=\"note\">");
        html_put(b, r->summary->notes[i]);
        buf_puts(b, "</li>\n");
    }
    if (r->summary->note_count)
        buf_puts(b, "</ul></section>\n");
    report_findings_done(&f);
}

static void html_used(const struct report *r, struct buf *b)
{
    static const double NEAR = 0.9; /* as in the findings */
    struct limit_used used[LIMITS];
    struct buf name = {0};
    unsigned count = report_used(r, used);
    if (!count)
        return;
    buf_puts(b, "<section><h2>Limits</h2>\n<table class=\"used\">\n");
    for (unsigned i = 0; i < count; i++) {
        const struct limit_used *u = &used[i];
        double share = u->used / u->allowed;
        buf_clear(&name);
        report_put_used(&name, u);
        buf_putc(&name, '\0');
        if (buf_failed(&name))
            break;
        buf_printf(b, "<tr><th scope=\"row\">%s<small>", name.data);
        html_put(b, u->limit->by);
        buf_printf(b,
                   "</small></th><td class=\"bar\"><svg role=\"meter\" aria-label=\"%s\" "
                   "aria-valuemin=\"0\" aria-valuemax=\"100\" aria-valuenow=\"",
                   name.data);
        buf_double_fixed(b, share > 1 ? 100 : share * 100, 1);
        buf_printf(b,
                   "\"><rect class=\"track\" width=\"100%%\" height=\"100%%\" rx=\"4\"/><rect "
                   "class=\"%s\" height=\"100%%\" rx=\"4\" width=\"",
                   share >= NEAR ? "k" : "r");
        /* A little is not nothing. */
        buf_double_fixed(b, share > 1 ? 100 : share > 0 && share < 0.004 ? 0.4 : share * 100, 1);
        buf_printf(b, "%%\"/></svg></td><td class=\"n\">%s", u->is_least ? "≥ " : "");
        human_number(b, u->unit, u->used);
        buf_puts(b, " of ");
        human_number(b, u->unit, u->allowed);
        buf_puts(b, "</td><td class=\"n\">");
        buf_clear(&name);
        human_percent(&name, share);
        buf_putc(&name, '\0');
        if (!buf_failed(&name)) /* a small share begins with "<" */
            html_put(b, name.data);
        buf_puts(b, "</td></tr>\n");
    }
    buf_puts(b, "</table></section>\n");
    b->failed |= name.failed;
    buf_done(&name);
}

static void html_put_left_out(struct buf *b, uint64_t count, const char *one, const char *several)
{
    if (count)
        buf_printf(b, "<p class=\"legend\">%llu %s not shown.</p>\n", (unsigned long long)count,
                   count == 1 ? one : several);
}

static void html_timeline(const struct report *r, struct buf *b)
{
    if (!timeline_is_empty(r)) {
        buf_puts(b, "<section><h2>Timeline</h2>\n");
        buf_puts(b, "<div class=\"wide\">");
        struct timeline_drawn drawn = timeline_draw(r, b);
        buf_puts(b, "</div>\n");
        uint64_t phases = r->phase_count + r->phases_left_out - drawn.phases;
        uint64_t lines = 0, together = 0; /* of several processes, whose times are not known */
        for (unsigned i = 0; i < r->process_count; i++)
            if (r->processes[i].count > 1) {
                lines++;
                together += r->processes[i].count;
            }
        uint64_t processes = r->process_count - lines + r->processes_left_out - drawn.processes;
        html_put_left_out(b, phases, "later phase is", "later phases are");
        html_put_left_out(b, processes, "process with less CPU time is",
                          "processes with less CPU time are");
        html_put_left_out(b, together, "", "processes whose times are not known are");
        buf_puts(b, "</section>\n");
    }
}

static void html_charts(const struct report *r, struct buf *b)
{
    uint64_t width_ns = 0;
    bool any = false;
    for (unsigned i = 0; i < REPORT_CHARTS; i++) {
        const struct chart *c = &r->charts[i];
        if (chart_is_empty(c))
            continue;
        buf_puts(b, any ? "" : "<section class=\"charts\"><h2>Over time</h2>\n");
        any = true;
        buf_printf(b, "<figure><h3>%s</h3>\n<div class=\"head\"><p class=\"legend\">%s",
                   chart_title(c), c->plan->about);
        for (unsigned k = 0; k < c->count; k++) {
            bool is_drawn = chart_series_is_drawn(c, k);
            if (!c->series[k].trace.count)
                continue;
            width_ns = max_u64(width_ns, c->series[k].trace.width_ns);
            if (c->count == 1 && !*c->series[k].name)
                continue;
            if (is_drawn)
                buf_printf(b, "<span><i style=\"background:var(--c%u)\"></i>", k);
            else
                buf_puts(b, "<span><i></i>");
            html_put(b, *c->series[k].name ? c->series[k].name : c->plan->title);
            buf_puts(b, is_drawn ? "</span> " : ": 0</span> ");
        }
        buf_puts(b, c->left_out ? " (more are not shown)</p></div>\n" : "</p></div>\n");
        buf_puts(b, "<div class=\"wide\">");
        chart_draw(r, c, b);
        buf_puts(b, "</div>");
        buf_puts(b, "</figure>\n");
    }
    if (!any)
        return;
    if (r->phase_count || r->event_count)
        buf_printf(b, "<p class=\"legend\">%s%s%s.</p>\n",
                   r->phase_count ? "Coloured bands are the phases of the timeline" : "",
                   r->phase_count && r->event_count ? ", " : "",
                   r->event_count ? "dotted lines are events" : "");
    buf_puts(b, "<p class=\"legend thinned\">Each point stands for ");
    human_seconds(b, (double)width_ns / 1e9);
    buf_printf(
        b,
        " of the run: the line is the mean, the band reaches from the smallest to the largest of "
        "%llu samples. No sampled peak is left out; what happened between two samples is "
        "unknown.</p>\n",
        (unsigned long long)r->frames);
    script_put_data(r, b);
    buf_puts(b, "</section>\n");
}

static void html_largest(const struct report *r, struct buf *b)
{
    const struct largest *l = r->summary->largest;
    const struct largest_program *programs[LARGEST_PROGRAMS];
    bool is_least = report_misses_processes(r), has_second = false, has_sockets = false;
    if (!l || (!l->by_memory_count && !l->by_cpu_count))
        return;
    for (unsigned i = 0; i < l->by_memory_count; i++)
        has_sockets |= l->by_memory[i].has_sockets;
    buf_puts(
        b,
        "<section><h2>Largest processes</h2>\n<div class=\"wide\"><table class=\"stack\"><tr><th "
        "class=\"n\">pid</th><th>command</th><th class=\"n\">peak RSS</th><th class=\"n\">CPU time"
        "</th>");
    buf_puts(b, has_sockets ? "<th class=\"n\">network</th></tr>\n" : "</tr>\n");
    for (unsigned i = 0; i < l->by_memory_count + l->by_cpu_count; i++) {
        bool is_second = i >= l->by_memory_count;
        const struct largest_process *p = is_second ? &l->by_cpu[i - l->by_memory_count]
                                                    : &l->by_memory[i];
        bool is_listed = false; /* in the other list */
        for (unsigned k = 0; is_second && k < l->by_memory_count; k++)
            is_listed |= l->by_memory[k].pid == p->pid && l->by_memory[k].start == p->start;
        if (is_listed)
            continue;
        if (is_second && !has_second && l->by_memory_count) /* the order begins anew */
            buf_printf(
                b,
                "<tr><th class=\"lead\" colspan=\"%d\">Others with the most CPU time</th></tr>\n",
                4 + has_sockets);
        has_second |= is_second;
        buf_printf(b, "<tr><td class=\"n\" data-is=\"pid\">%d</td>", (int)p->pid);
        html_cell(b, " class=\"c lead\"", *p->command ? p->command : p->name);
        buf_printf(b, "<td class=\"n\" data-is=\"peak RSS\">%s",
                   p->has_peak && p->peak_bytes && !p->is_recorded ? "≥ " : "");
        if (p->has_peak && p->peak_bytes)
            buf_bytes(b, (double)p->peak_bytes);
        else
            buf_putc(b, '?');
        buf_printf(b, "</td><td class=\"n\" data-is=\"CPU\">%s",
                   p->has_cpu && !p->is_complete && p->cpu_ns ? "≥ " : "");
        if (p->has_cpu && (p->is_complete || p->cpu_ns))
            human_seconds(b, (double)p->cpu_ns / 1e9);
        else
            buf_putc(b, '?');
        if (has_sockets)
            buf_printf(b, "</td><td class=\"n\" data-is=\"network\">%s",
                       p->has_sockets ? p->is_recorded ? "" : "≥ " : "?");
        if (p->has_sockets)
            buf_bytes(b, (double)p->socket_bytes);
        buf_puts(b, "</td></tr>\n");
    }
    buf_puts(b, "</table></div>\n");
    unsigned count = largest_programs_by_cpu(l, programs);
    if (count > 1) {
        buf_puts(b,
                 "<h3>By program</h3>\n<div class=\"wide\"><table class=\"stack\"><tr><th>program"
                 "</th><th class=\"n\">processes</th><th class=\"n\">CPU time</th><th "
                 "class=\"n\">largest"
                 "</th></tr>\n");
        for (unsigned i = 0; i < count && i < 20; i++) {
            buf_puts(b, "<tr>");
            html_cell(b, " class=\"c lead\"", programs[i]->name);
            buf_printf(b,
                       "<td class=\"n\" data-is=\"processes\">%s%llu</td><td class=\"n\" "
                       "data-is=\"CPU\">%s",
                       is_least ? "≥ " : "", (unsigned long long)programs[i]->count,
                       programs[i]->is_complete && !is_least             ? ""
                       : programs[i]->is_complete || programs[i]->cpu_ns ? "≥ "
                                                                         : "?");
            if (programs[i]->is_complete || programs[i]->cpu_ns)
                human_seconds(b, (double)programs[i]->cpu_ns / 1e9);
            buf_printf(b, "</td><td class=\"n\" data-is=\"largest\">%s",
                       programs[i]->peak_bytes && !programs[i]->is_recorded ? "≥ " : "");
            if (programs[i]->peak_bytes)
                buf_bytes(b, (double)programs[i]->peak_bytes);
            else
                buf_putc(b, '?');
            buf_puts(b, "</td></tr>\n");
        }
        buf_puts(b, "</table></div>\n");
    }
    if (is_least)
        buf_puts(b, "<p class=\"legend\">Of the processes that were seen; shorter ones may be "
                    "missing.</p>\n");
    buf_puts(b, "</section>\n");
}

/* Processes that ended, as children of those that started them. */
static void html_tree(const struct report *r, struct buf *b)
{
    struct tree_row rows[REPORT_PROCESSES];
    unsigned count = report_tree(r, rows), depth = 0;
    if (count < 2)
        return;
    buf_puts(b, "<section><h2>Process tree</h2>\n<div class=\"wide\"><ul class=\"tree\">\n");
    for (unsigned i = 0; i < count; i++) {
        const struct report_span *p = &r->processes[rows[i].process];
        for (; depth > rows[i].depth; depth--)
            buf_puts(b, "</ul></li>\n");
        buf_puts(b, "<li>");
        html_put(b, p->name);
        if (p->count)
            buf_printf(b, " × %llu <small>like", (unsigned long long)p->count);
        else
            buf_puts(b, " <small>");
        buf_printf(b, "%s%d", p->count ? " " : "", (int)p->pid);
        if (p->end.ended && p->end.status) {
            buf_puts(b, ", ");
            history_put_end(&(struct report_past){.end = p->end}, b);
        }
        if (p->has_cpu && (p->is_complete || p->cpu_seconds > 0)) {
            buf_printf(b, ", CPU %s", p->is_complete ? "" : "≥ ");
            human_seconds(b, p->cpu_seconds);
        }
        if (p->peak_bytes) {
            buf_puts(b, p->is_recorded ? ", peak RSS " : ", peak RSS ≥ ");
            buf_bytes(b, (double)p->peak_bytes);
        }
        buf_puts(b, ", lived ");
        human_seconds(b, (double)(p->until_ns - min_u64(p->from_ns, p->until_ns)) / 1e9);
        buf_puts(b, "</small>");
        bool has_children = i + 1 < count && rows[i + 1].depth > rows[i].depth;
        buf_puts(b, has_children ? "\n<ul>\n" : "</li>\n");
        depth += has_children;
    }
    for (; depth; depth--)
        buf_puts(b, "</ul></li>\n");
    buf_puts(b, "</ul></div>\n");
    if (r->processes_left_out)
        buf_printf(b, "<p class=\"legend\">%llu more ended, with less CPU time.</p>\n",
                   (unsigned long long)r->processes_left_out);
    buf_puts(b, "</section>\n");
}

static void html_figure_row(struct buf *b, const struct metric *m, const struct series *s,
                            enum quality q)
{
    bool is_counter = m->kind == METRIC_COUNTER;
    double figure = is_counter ? metric_number(m, s->last) : s->max;
    if (q == QUALITY_UNKNOWN || s->is_unlimited || (q == QUALITY_LOWER_BOUND && figure <= 0))
        return;
    buf_puts(b, "<tr><th scope=\"row\">");
    html_put(b, m->facts.title);
    /* On a phone a cell has no heading but what data-is has. */
    static const char empty[] = "<td class=\"n\"></td>";
    buf_printf(b, "</th>%s<td class=\"n\" data-is=\"%s\">%s", is_counter ? "" : empty,
               is_counter ? "total" : "peak", q == QUALITY_LOWER_BOUND ? "≥ " : "");
    human_number(b, m, figure);
    bool has_mean = !is_counter || m->unit != UNIT_seconds; /* not seconds per second */
    buf_printf(b, "</td>%s<td class=\"n\" data-is=\"mean\">%s", is_counter ? empty : "",
               q == QUALITY_LOWER_BOUND && has_mean ? "≥ " : "");
    if (is_counter)
        human_rate(b, m, series_mean(s, m));
    else
        human_number(b, m, series_mean(s, m));
    buf_printf(b, "</td><td class=\"q\">%s</td></tr>\n", report_quality_word(q));
}

static void html_figures(const struct report *r, struct buf *b)
{
    static const char head[] = "<table class=\"figures\"><tr><th>figure</th><th class=\"n\">total"
                               "</th><th class=\"n\">peak</th><th class=\"n\">mean</th><th>quality"
                               "</th></tr>\n";
    const struct summary *s = r->summary;
    buf_puts(b, "<section><h2>All figures</h2>\n");
    if (s->has_target) {
        buf_puts(b, head);
        FOR_EACH_BIT(id, r->selection->parts[PART_COMBINED])
        {
            const struct metric *m = metric_of((enum metric_id)id);
            if (m->show <= SHOW_MORE)
                html_figure_row(b, m, &s->whole.series[PART_COMBINED][id],
                                report_quality(r, (enum metric_id)id));
        }
        buf_puts(b, "</table>\n");
    }
    for (size_t i = 0; i < s->instance_count; i++) {
        const struct instance_summary *t = &s->instances[i];
        enum entity_kind kind = t->instance->entity.kind;
        const char *name = entity_name(&t->instance->entity);
        if (kind == ENTITY_CORE || kind == ENTITY_THREAD)
            continue; /* there may be hundreds */
        buf_printf(b, "<details><summary>%s%s",
                   kind == ENTITY_SYSTEM ? "machine" : entity_kind_name(kind), *name ? " " : "");
        html_put(b, name);
        buf_puts(b, "</summary>\n");
        buf_puts(b, head);
        FOR_EACH_BIT(k, r->selection->of[kind])
        {
            const struct metric *m = metric_of(metric_first(kind) + (enum metric_id)k);
            if (m->show <= SHOW_MORE && t->series[k].observed_ns)
                html_figure_row(b, m, &t->series[k], summary_instance_quality(&t->series[k], m));
        }
        buf_puts(b, "</table></details>\n");
    }
    buf_puts(b, "</section>\n");
}

static void html_thread_figure(const struct report *r, struct buf *b,
                               const struct instance_summary *t, enum metric_id id,
                               const char *heading)
{
    const struct series *s = &t->series[id - thread_first];
    enum quality q = summary_instance_quality(s, metric_of(id));
    buf_printf(b, "<td class=\"n\" data-is=\"%s\">", heading);
    if (q == QUALITY_UNKNOWN || !(r->selection->of[ENTITY_THREAD] >> (id - thread_first) & 1)) {
        buf_puts(b, "?</td>");
        return;
    }
    buf_puts(b, q == QUALITY_LOWER_BOUND ? "≥ " : "");
    human_number(b, metric_of(id),
                 metric_of(id)->kind == METRIC_COUNTER ? metric_number(metric_of(id), s->last)
                                                       : s->max);
    buf_puts(b, "</td>");
}

static void html_threads(const struct report *r, struct buf *b)
{
    size_t count;
    const struct instance_summary **sorted = summary_threads(r->summary, &count);
    if (count)
        buf_puts(b, "<section><h2>Busiest threads</h2>\n<div class=\"wide\"><table "
                    "class=\"stack\"><tr><th>thread"
                    "</th><th>process</th><th class=\"n\">CPU time</th><th class=\"n\">most cores"
                    "</th><th class=\"n\">waiting for a CPU</th></tr>\n");
    for (size_t i = 0; i < count; i++) {
        const struct entity *e = &sorted[i]->instance->entity;
        buf_puts(b, "<tr>");
        html_cell(b, " class=\"c lead\"", entity_name(e));
        buf_puts(b, "<td class=\"c\">");
        const char *process = entity_label(e, "process"), *pid = entity_label(e, "pid");
        html_put(b, process ? process : "");
        buf_putc(b, ' ');
        html_put(b, pid ? pid : "");
        buf_puts(b, "</td>");
        html_thread_figure(r, b, sorted[i], thread_cpu_seconds, "CPU");
        html_thread_figure(r, b, sorted[i], thread_cpu_cores, "most cores");
        html_thread_figure(r, b, sorted[i], thread_cpu_wait_seconds, "waiting");
        buf_puts(b, "</tr>\n");
    }
    buf_puts(b, count ? "</table></div></section>\n" : "");
    free(sorted);
}

static void html_phases(const struct report *r, struct buf *b)
{
    enum { OPEN = 30 }; /* the charts come after them */
    static const char head[] = "<div class=\"wide\"><table class=\"stack\"><tr><th>phase</th><th "
                               "class=\"n\">times</th><th class=\"n\">time</th><th class=\"n\">CPU "
                               "time</th><th class=\"n\">peak RSS</th></tr>\n";
    const struct mark_totals *t = &r->summary->marks;
    if (!t->phase_count)
        return;
    buf_printf(b, "<section><h2>Phases</h2>\n%s", head);
    for (size_t i = 0; i < t->phase_count; i++) {
        const struct phase_total *p = &t->phases[i];
        struct phase_figure cpu = phase_total_figure(p, process_cpu_seconds);
        struct phase_figure rss = phase_total_figure(p, process_memory_rss_bytes);
        if (i == OPEN)
            buf_printf(b, "</table></div>\n<details><summary>%zu more</summary>\n%s",
                       t->phase_count - OPEN, head);
        buf_puts(b, "<tr>");
        html_cell(b, " class=\"c lead\"", p->name);
        buf_printf(b,
                   "<td class=\"n\" data-is=\"times\">%llu</td><td class=\"n\" data-is=\"time\">",
                   (unsigned long long)p->count);
        human_seconds(b, (double)p->total_ns / 1e9);
        buf_printf(b, "</td><td class=\"n\" data-is=\"CPU\">%s",
                   cpu.quality == QUALITY_LOWER_BOUND && cpu.total >= 0 ? "≥ " : "");
        if (cpu.quality == QUALITY_UNKNOWN || cpu.total < 0)
            buf_putc(b, '?');
        else
            human_seconds(b, cpu.total);
        buf_printf(b, "</td><td class=\"n\" data-is=\"peak RSS\">%s",
                   rss.quality == QUALITY_LOWER_BOUND ? "≥ " : "");
        if (rss.quality == QUALITY_UNKNOWN || rss.max < 0)
            buf_putc(b, '?');
        else
            buf_bytes(b, rss.max);
        buf_puts(b, "</td></tr>\n");
    }
    buf_printf(b, "</table></div>%s</section>\n", t->phase_count > OPEN ? "</details>" : "");
}

static void html_machine(const struct report *r, struct buf *b)
{
    const struct run *run = r->summary->run;
    buf_puts(b, "<section><h2>Machine</h2>\n<div class=\"wide\"><table class=\"machine\">\n<tr><th "
                "scope=\"row\">host"
                "</th>");
    html_cell(b, "", run->host);
    buf_puts(b, "</tr>\n<tr><th scope=\"row\">kernel</th>");
    html_cell(b, "", run->kernel);
    buf_printf(b, "</tr>\n<tr><th scope=\"row\">CPUs</th><td>%u", run->cpus);
    if (run->online_cpus > run->cpus)
        buf_printf(b, " of %u", run->online_cpus);
    buf_puts(b, "</td></tr>\n");
    if (*run->parallel.rank || *run->job.id) {
        struct buf place = {0};
        words_put_place(&place, run);
        buf_printf(b, "<tr><th scope=\"row\">%s</th>", *run->parallel.rank ? "rank" : "job");
        html_cell(b, "", place.data ? place.data : "");
        buf_puts(b, "</tr>\n");
        buf_done(&place);
    }
    for (char **label = run->labels; label && *label; label++) {
        buf_puts(b, "<tr><th scope=\"row\">label</th>");
        html_cell(b, " class=\"c\"", *label);
        buf_puts(b, "</tr>\n");
    }
    buf_puts(b, "<tr><th scope=\"row\">run</th>");
    html_cell(b, "", run->id);
    buf_puts(b, "</tr>\n</table></div>\n");
    const struct series *cpu = &r->summary->self[self_cpu_seconds - self_first];
    double elapsed = (double)r->summary->elapsed_ns / 1e9;
    if (cpu->observed_ns && elapsed >= 0.1) {
        double used = metric_number(metric_of(self_cpu_seconds), cpu->last);
        buf_puts(b, "<p class=\"legend\">toll used ");
        buf_double_fixed(b, used / elapsed * 100, used / elapsed < 0.01 ? 3 : 1);
        buf_puts(b, " % of one core to measure.</p>\n");
    }
    buf_puts(b, "</section>\n");
}

/* ==== Earlier runs ============================================================================ */

static void html_history(struct sink *s, const struct report_history *h)
{
    enum { ROWS = 30 };
    struct buf *b = &s->text, text = {0};
    size_t shown = h->is_overview || h->count < ROWS ? h->count : ROWS;
    if (h->is_overview)
        buf_printf(b, "<section><h1>%zu runs</h1>\n<div class=\"curves\">\n", h->count);
    else
        buf_puts(b, "<section><h2>Earlier runs of this name</h2>\n<div class=\"curves\">\n");
    /* A curve through runs of different jobs means nothing. */
    for (unsigned f = 0; f < HISTORY_FIGURES && !history_has_names(h); f++) {
        size_t start = b->length;
        buf_printf(b, "<figure><figcaption>%s</figcaption>\n", history_columns[f].title);
        size_t drawing = b->length;
        history_draw(h, f, b);
        if (b->length == drawing)
            b->length = start;
        else
            buf_puts(b, "</figure>\n");
    }
    buf_puts(
        b, "</div>\n<div class=\"wide\"><table class=\"stack\"><tr><th>started</th><th>ended</th>");
    for (unsigned f = 0; f < HISTORY_FIGURES; f++)
        buf_printf(b, "<th class=\"n\">%s</th>", history_columns[f].title);
    buf_puts(b, "<th>run</th></tr>\n");
    for (size_t i = h->count; i-- > h->count - shown;) {
        const struct report_past *p = &h->runs[i];
        bool is_this = !h->is_overview && i + 1 == h->count;
        buf_printf(b, "<tr%s><th scope=\"row\" class=\"lead\">", is_this ? " class=\"now\"" : "");
        report_put_time(b, p->start_ns);
        buf_printf(b, "%s</th><td data-is=\"ended\"%s>", is_this ? " (this run)" : "",
                   history_is_bad(p) ? " class=\"bad\"" : "");
        history_put_end(p, b);
        buf_puts(b, "</td>");
        for (unsigned f = 0; f < HISTORY_FIGURES; f++) {
            buf_printf(b, "<td class=\"n\" data-is=\"%s\">",
                       f == HISTORY_WALL  ? "time"
                       : f == HISTORY_CPU ? "CPU"
                                          : "memory");
            history_put_figure(p, f, b);
            buf_clear(&text);
            history_put_change(h, i, f, &text);
            if (text.length && !buf_failed(&text)) {
                buf_puts(b, "<small>");
                buf_add(b, text.data, text.length);
                buf_puts(b, "</small>");
            }
            buf_puts(b, "</td>");
        }
        buf_puts(b, "<td class=\"c\" data-is=\"run\">");
        if (h->is_overview && *p->id) {
            buf_puts(b, "<a href=\"#run-");
            html_put(b, p->id);
            buf_puts(b, "\">");
        }
        html_put(b, h->is_overview && *p->name ? p->name : p->record);
        if (!h->is_overview)
            buf_printf(b, ":%llu", (unsigned long long)p->number);
        buf_puts(b, h->is_overview && *p->id ? "</a></td></tr>\n" : "</td></tr>\n");
    }
    buf_puts(b, "</table></div>\n<p class=\"legend\">Below each figure: its change from the "
                "previous run of this name, unless one of them is a lower bound.");
    if (shown < h->count)
        buf_printf(b, " %zu older runs have no row.", h->count - shown);
    if (h->count > HISTORY_CURVE)
        buf_printf(b, " The curves have the newest %d.", HISTORY_CURVE);
    buf_puts(b, "</p></section>\n");
    b->failed |= text.failed;
    buf_done(&text);
}

/* ==== Page ==================================================================================== */

static void html_begin(struct sink *s, const char *title)
{
    struct buf *b = &s->text;
    buf_puts(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name="
                "\"viewport\" content=\"width=device-width,initial-scale=1\">\n<meta http-equiv="
                "\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                "'unsafe-inline'; base-uri 'none'; form-action 'none'");
    if (script_is_built_in())
        buf_printf(b, "; script-src '%s'", report_script_hash);
    buf_puts(b, "\">\n<title>");
    html_put(b, title);
    buf_puts(b, " · toll</title>\n");
    buf_printf(b, "<style>%s%s</style>", report_chart_style, report_page_style);
    script_put_style(b);
    buf_puts(b, "</head>\n<body><main>\n");
}

static void html_run(struct sink *s, const struct report *r)
{
    struct buf *b = &s->text;
    buf_puts(b, "<article");
    if (*r->summary->run->id) {
        buf_puts(b, " id=\"run-");
        html_put(b, r->summary->run->id);
        buf_putc(b, '"');
    }
    buf_puts(b, ">\n");
    html_answer(r, b);
    html_findings(r, b);
    html_used(r, b);
    html_timeline(r, b);
    html_threads(r, b);
    html_phases(r, b);
    html_charts(r, b);
    html_largest(r, b);
    html_tree(r, b);
    html_figures(r, b);
    html_machine(r, b);
    buf_puts(b, "</article>\n");
}

static void html_end(struct sink *s)
{
    buf_printf(&s->text, "<footer>Written by toll " TOLL_VERSION ".%s</footer>\n</main>\n",
               script_is_built_in()
                   ? ""
                   : " It was built without uPlot, with which charts can be zoomed.");
    script_put(&s->text);
    buf_puts(&s->text, "</body></html>\n");
}

const struct report_form report_html = {
    .job = job_html,
    .name = "html",
    .between = "<hr>\n",
    .begin = html_begin,
    .run = html_run,
    .history = html_history,
    .end = html_end,
};
