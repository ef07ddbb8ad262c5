/* SPDX-License-Identifier: MIT
 * What a report is made of, collected sample by sample. */
#include "sink/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== Traces ================================================================================== */

enum { FIRST_WIDTH_NS = NS_PER_MS };

void trace_merge(struct trace_column *into, const struct trace_column *from)
{
    if (!from->covered_ns)
        return;
    bool is_first = !into->covered_ns;
    into->min = is_first || from->min < into->min ? from->min : into->min;
    into->max = is_first || from->max > into->max ? from->max : into->max;
    into->sum += from->sum;
    into->covered_ns += from->covered_ns;
}

/* Makes room for a time by merging neighbours, each two into one. */
static void trace_widen(struct trace *t, uint64_t until_ns)
{
    while ((until_ns - 1) / t->width_ns >= TRACE_COLUMNS) {
        for (unsigned i = 0; i < TRACE_COLUMNS / 2; i++) {
            struct trace_column both = t->columns[2 * i];
            trace_merge(&both, &t->columns[2 * i + 1]);
            t->columns[i] = both;
        }
        memset(t->columns + TRACE_COLUMNS / 2, 0, TRACE_COLUMNS / 2 * sizeof *t->columns);
        t->width_ns *= 2;
    }
}

/* Room for another point: more memory up to TRACE_POINTS of them, then each two are merged. */
static bool trace_make_room(struct trace *t)
{
    if (t->point_count < t->point_capacity)
        return true;
    if (t->point_capacity < TRACE_POINTS) {
        unsigned capacity = t->point_capacity ? 4 * t->point_capacity : 64;
        capacity = capacity < TRACE_POINTS ? capacity : TRACE_POINTS;
        struct trace_point *points = realloc(t->points, capacity * sizeof *points);
        if (!points)
            return false;
        t->points = points;
        t->point_capacity = capacity;
        return true;
    }
    t->point_count /= 2;
    t->point_values *= 2;
    for (unsigned i = 0; i < t->point_count; i++) {
        struct trace_point both = t->points[2 * i + 1];
        trace_merge(&both.of, &t->points[2 * i].of);
        t->points[i] = both;
    }
    return true;
}

/* t->count is that of the values before this one. */
static bool trace_add_point(struct trace *t, const struct trace_column *value, uint64_t until_ns)
{
    t->point_values += !t->point_values;
    if (!t->point_count || t->count % t->point_values == 0) {
        if (!trace_make_room(t))
            return false;
        t->points[t->point_count++] = (struct trace_point){.until_ns = until_ns};
    }
    struct trace_point *last = &t->points[t->point_count - 1];
    trace_merge(&last->of, value);
    last->until_ns = max_u64(last->until_ns, until_ns);
    return true;
}

void trace_done(struct trace *t)
{
    free(t->columns);
    free(t->points);
    *t = (struct trace){0};
}

bool trace_add(struct trace *t, double value, uint64_t from_ns, uint64_t until_ns)
{
    until_ns = min_u64(until_ns, INT64_MAX); /* a record may say anything */
    if (until_ns <= from_ns)
        return true;
    if (!t->columns) {
        t->columns = calloc(TRACE_COLUMNS, sizeof *t->columns);
        t->width_ns = FIRST_WIDTH_NS;
        if (!t->columns)
            return false;
    }
    trace_widen(t, until_ns);
    double all = value * ((double)(until_ns - from_ns) / 1e9);
    bool ok = trace_add_point(t, &(struct trace_column){value, value, all, until_ns - from_ns},
                              until_ns);
    if (!t->count++ || value > t->max) {
        t->max = value;
        t->max_at_ns = until_ns;
    }
    t->end_ns = max_u64(t->end_ns, until_ns);
    uint64_t last = (until_ns - 1) / t->width_ns;
    for (uint64_t i = from_ns / t->width_ns; i <= last; i++) {
        uint64_t begin = max_u64(from_ns, i * t->width_ns);
        uint64_t end = min_u64(until_ns, (i + 1) * t->width_ns);
        double seconds = (double)(end - begin) / 1e9;
        trace_merge(&t->columns[i],
                    &(struct trace_column){value, value, value * seconds, end - begin});
    }
    return ok;
}

unsigned trace_length(const struct trace *t)
{
    return t->width_ns ? (unsigned)((t->end_ns + t->width_ns - 1) / t->width_ns) : 0;
}

double trace_mean(const struct trace_column *c)
{
    return c->sum / ((double)c->covered_ns / 1e9);
}

bool trace_slope(const struct trace *t, uint64_t from_ns, uint64_t until_ns, double *ret_slope,
                 double *ret_fit)
{
    double n = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0, yy = 0;
    unsigned first = t->width_ns ? (unsigned)(from_ns / t->width_ns) : 0;
    double y_base = 0; /* large values that differ by little would lose their digits in squares */
    for (unsigned i = first; i < trace_length(t) && i * t->width_ns < until_ns; i++) {
        const struct trace_column *c = &t->columns[i];
        if (!c->covered_ns)
            continue;
        if (n == 0)
            y_base = trace_mean(c);
        double x = ((double)(i - first) + 0.5) * (double)t->width_ns / 1e9;
        double y = trace_mean(c) - y_base;
        n++;
        x_sum += x;
        y_sum += y;
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    double dx = n * xx - x_sum * x_sum, dy = n * yy - y_sum * y_sum, both = n * xy - x_sum * y_sum;
    if (n < 10 || dx <= 0)
        return false;
    *ret_slope = both / dx;
    *ret_fit = dy > 0 ? both * both / (dx * dy) : 0;
    return true;
}

/* ==== Charts ================================================================================== */

/* Which figures are drawn together, in the order of the page. Of a kind of device each has a curve
 * of its own, with its name. */
static const struct chart_plan plans[] = {
    {"cpu", "CPU", "cores in use", ENTITY_TARGET, LIMIT_CPUS, {{process_cpu_cores, ""}}},
    {"memory",
     "Memory",
     "of all processes together",
     ENTITY_TARGET,
     LIMIT_MEMORY_BYTES,
     {{process_memory_rss_bytes, "RSS"},
      {process_memory_pss_bytes, "PSS, shared pages counted once"},
      {process_memory_shared_bytes, "anonymous: RSS without files and shared memory"},
      {process_memory_swap_bytes, "swapped out"}}},
    {"disk",
     "Disk",
     "bytes per second",
     ENTITY_TARGET,
     NO_LIMIT,
     {{process_storage_read_bytes, "read"}, {process_storage_written_bytes, "written"}}},
    {"network",
     "Network",
     "bytes per second",
     ENTITY_TARGET,
     NO_LIMIT,
     {{process_network_received_bytes, "received"}, {process_network_sent_bytes, "sent"}}},
    {"processes",
     "Processes and threads",
     "at the same time",
     ENTITY_TARGET,
     NO_LIMIT,
     {{process_processes_count, "all processes"}, {process_threads_count, "all threads"}}},
    {"gpu",
     "GPU utilisation",
     "share of the time",
     ENTITY_GPU,
     NO_LIMIT,
     {{gpu_utilization_ratio, ""}}},
    {"gpu_memory",
     "GPU memory",
     "in use by any process",
     ENTITY_GPU,
     NO_LIMIT,
     {{gpu_memory_used_bytes, ""}}},
    {"gpu_power", "GPU power", "of each GPU", ENTITY_GPU, NO_LIMIT, {{gpu_power_watts, ""}}},
    {"power",
     "Processor power",
     "of the whole machine",
     ENTITY_SYSTEM,
     NO_LIMIT,
     {{system_power_watts, ""}}},
    {"cgroup_pressure",
     "Pressure in the job's cgroup",
     "share of the time in which a task waited",
     ENTITY_CGROUP,
     NO_LIMIT,
     {{cgroup_cpu_pressure_some_seconds, "for a CPU"},
      {cgroup_memory_pressure_some_seconds, "for memory"},
      {cgroup_io_pressure_some_seconds, "for I/O"}}},
    {"machine_cpu",
     "CPU of the machine",
     "cores in use by any process",
     ENTITY_SYSTEM,
     NO_LIMIT,
     {{system_cpu_cores, "all processes"}}},
    {"machine_memory",
     "Memory of the machine",
     "in use by any process",
     ENTITY_SYSTEM,
     NO_LIMIT,
     {{system_memory_used_bytes, "in use"}, {system_swap_used_bytes, "swap in use"}}},
    {"pressure",
     "Pressure on the machine",
     "share of the time in which a task waited",
     ENTITY_SYSTEM,
     NO_LIMIT,
     {{system_cpu_pressure_some_seconds, "for a CPU"},
      {system_memory_pressure_some_seconds, "for memory"},
      {system_io_pressure_some_seconds, "for I/O"}}},
};

_Static_assert(ARRAY_LEN(plans) == REPORT_CHARTS, "a chart for each plan");

const struct chart_plan *chart_plan_at(size_t i)
{
    return i < ARRAY_LEN(plans) ? &plans[i] : NULL;
}

/* Resident memory is anonymous, of files, or shared; the kernel's files have the last two. */
static bool chart_draws_rest(const struct chart_curve *curve)
{
    return curve->id == process_memory_shared_bytes;
}

static unsigned chart_curve_number(const struct chart *c, enum metric_id id)
{
    unsigned i = 0;
    while (c->plan->curves[i].name && c->plan->curves[i].id != id)
        i++;
    return i;
}

/* The curve of a figure, made when it is first met; NULL when there is no room for another. */
static struct chart_series *chart_series_of(struct chart *c, const struct chart_curve *curve,
                                            const struct instance *m)
{
    unsigned number = m ? m->number : 0;
    for (unsigned i = 0; i < c->count; i++)
        if (c->series[i].id == curve->id && c->series[i].instance == number)
            return &c->series[i];
    /* Of several cgroups, which overlap as a rule, the first. */
    bool is_of_another = c->plan->of == ENTITY_CGROUP && c->count &&
                         c->series[0].instance != number;
    if (c->count == CHART_SERIES || is_of_another) {
        c->left_out = true;
        return NULL;
    }
    /* In the order of the plan, whichever figure was known first: colours are those of other pages.
     */
    unsigned at = c->count++;
    for (; at > 0 && chart_curve_number(c, c->series[at - 1].id) > chart_curve_number(c, curve->id);
         at--)
        c->series[at] = c->series[at - 1];
    struct chart_series *s = &c->series[at];
    *s = (struct chart_series){0};
    s->id = curve->id;
    s->instance = number;
    s->is_rest = chart_draws_rest(curve);
    const char *device = m && c->plan->of == ENTITY_GPU ? entity_name(&m->entity) : "";
    snprintf(s->name, sizeof s->name, "%s%s", *device ? "GPU " : "",
             *device ? device : curve->name);
    return s;
}

/* Rates are drawn over windows of a tenth of a second at least, as the summary has them: the kernel
 * hands on CPU time of children in steps of ten milliseconds, which a shorter window would show as
 * bursts that never were. What is read four times or about once a second has longer ones. */
static uint64_t chart_least_window_ns(const struct metric *m)
{
    if (m->cost == COST_OFTEN)
        return METRIC_CATCHES_UP_NS / 2;
    return metric_catches_up(m) ? METRIC_CATCHES_UP_NS : 100 * NS_PER_MS;
}

/* A figure that is a rate already: the mean over the window. */
static bool chart_add_rate(struct chart_series *s, const struct metric *m, double value,
                           const struct frame *f)
{
    if (!s->window_ns)
        s->window_from_ns = left_u64(f->elapsed_ns, f->interval_ns);
    s->window += value * ((double)f->interval_ns / 1e9);
    s->window_ns += f->interval_ns;
    if (s->window_ns < chart_least_window_ns(m) && !(f->last && !s->trace.count))
        return true;
    double mean = s->window / ((double)s->window_ns / 1e9);
    s->window = 0;
    s->window_ns = 0;
    return trace_add(&s->trace, mean, s->window_from_ns, f->elapsed_ns);
}

/* A counter: its growth over all the time since it was last drawn, also where samples lack it. */
static bool chart_add_growth(struct chart_series *s, const struct metric *m, uint64_t now,
                             const struct frame *f)
{
    uint64_t past_ns = left_u64(f->elapsed_ns, s->last_ns), from_ns = s->last_ns;
    if (s->has_last && past_ns < chart_least_window_ns(m))
        return true;
    union value growth = {.u = left_u64(now, s->last)};
    bool is_first = !s->has_last;
    s->last = now;
    s->last_ns = f->elapsed_ns;
    s->has_last = true;
    return is_first || trace_add(&s->trace, metric_number(m, growth) / ((double)past_ns / 1e9),
                                 from_ns, f->elapsed_ns);
}

bool chart_series_add(struct chart_series *s, union value value, const struct frame *f)
{
    const struct metric *m = metric_of(s->id);
    if (!f->interval_ns)
        return true;
    if (m->kind == METRIC_COUNTER)
        return chart_add_growth(s, m, value.u, f);
    if (m->fold == FOLD_RATE)
        return chart_add_rate(s, m, metric_number(m, value), f);
    /* GPUs are not read at each frequent sample, and drivers give means of up to a second. */
    uint64_t from_ns = left_u64(f->elapsed_ns, f->interval_ns);
    bool is_of_gpu = (unsigned)(s->id - gpu_first) < metric_count(ENTITY_GPU);
    if (is_of_gpu && s->has_last && f->elapsed_ns - s->last_ns <= NS_PER_SECOND)
        from_ns = s->last_ns;
    s->last_ns = f->elapsed_ns;
    s->has_last = true;
    return trace_add(&s->trace, metric_number(m, value), from_ns, f->elapsed_ns);
}

/* Adds what a row has. */
static bool chart_add_row(struct chart *c, const struct row *row, const struct instance *m,
                          const struct frame *f)
{
    bool ok = true;
    for (const struct chart_curve *curve = c->plan->curves; curve->name; curve++) {
        enum metric_id first = c->plan->curves[0].id;
        if (!row_has(row, curve->id) || (chart_draws_rest(curve) && !row_has(row, first)))
            continue;
        struct chart_series *s = chart_series_of(c, curve, m);
        if (!s)
            continue;
        union value value = row_value(row, curve->id);
        if (chart_draws_rest(
                curve)) /* of whole numbers; what is subtracted may be a second older */
            value.u = left_u64(row_value(row, first).u, value.u);
        ok &= chart_series_add(s, value, f);
    }
    return ok;
}

/* ==== Model =================================================================================== */

struct report *report_new(void)
{
    struct report *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    for (unsigned i = 0; i < REPORT_CHARTS; i++)
        r->charts[i].plan = &plans[i];
    r->phases = calloc(REPORT_PHASES, sizeof *r->phases);
    r->processes = calloc(REPORT_PROCESSES, sizeof *r->processes);
    r->events = calloc(REPORT_EVENTS, sizeof *r->events);
    if (!r->phases || !r->processes || !r->events) {
        report_free(r);
        return NULL;
    }
    return r;
}

void report_free(struct report *r)
{
    if (!r)
        return;
    for (unsigned i = 0; i < REPORT_CHARTS; i++)
        for (unsigned k = 0; k < r->charts[i].count; k++)
            trace_done(&r->charts[i].series[k].trace);
    free(r->phases);
    free(r->processes);
    free(r->events);
    free(r);
}

void report_add_frame(struct report *r, const struct frame *f)
{
    bool ok = true;
    r->frames++;
    for (unsigned i = 0; i < REPORT_CHARTS; i++) {
        struct chart *c = &r->charts[i];
        if (c->plan->of == ENTITY_TARGET) {
            if (f->target[PART_COMBINED].row)
                ok &= chart_add_row(c, f->target[PART_COMBINED].row, NULL, f);
            continue;
        }
        for (size_t k = 0; k < f->machine_count; k++)
            if (f->machine[k]->entity.kind == c->plan->of)
                ok &= chart_add_row(c, &f->machine[k]->row, f->machine[k], f);
    }
    r->has_failed |= !ok;
}

void report_add_process(struct report *r, const struct process_end *e)
{
    const struct process *p = e->process;
    struct row copy;
    const struct row *row = process_shown(p, &copy);
    uint64_t seen = row_seen(row);
    uint64_t lived = row_has(&p->own, process_wall_seconds)
                         ? row_value(&p->own, process_wall_seconds).u
                         : 0;
    struct report_span one = {
        .pid = p->entity.pid,
        .parent = p->entity.parent,
        .until_ns = e->elapsed_ns,
        .from_ns = e->elapsed_ns - min_u64(lived, e->elapsed_ns),
        .has_cpu = seen >> process_cpu_seconds & 1,
        .is_complete = e->has_status && row_has(row, process_cpu_seconds),
        .is_recorded = e->is_recorded,
        .count = e->count,
        .peak_bytes = seen >> process_memory_peak_bytes & 1
                          ? row_value(row, process_memory_peak_bytes).u
                          : 0,
    };
    if (e->has_status)
        one.end = e->end;
    if (one.has_cpu)
        one.cpu_seconds = metric_number(metric_of(process_cpu_seconds),
                                        row_value(row, process_cpu_seconds));
    snprintf(one.name, sizeof one.name, "%s", entity_name(&p->entity));
    /* A process whose children used much stays, so that the tree has it. Which of both ends first
     * is not known when both are gone at the same sample. */
    one.weight = one.cpu_seconds;
    for (unsigned i = 0; i < r->process_count; i++) {
        if (r->processes[i].parent == one.pid)
            one.weight += r->processes[i].weight;
        if (r->processes[i].pid == one.parent)
            r->processes[i].weight += one.cpu_seconds;
    }
    struct report_span *s = &r->processes[r->process_count];
    if (r->process_count == REPORT_PROCESSES) { /* the one that used least makes room */
        r->processes_left_out++;
        s = &r->processes[0];
        for (unsigned i = 1; i < REPORT_PROCESSES; i++)
            s = r->processes[i].weight < s->weight ? &r->processes[i] : s;
        if (one.weight <= s->weight)
            return;
    } else {
        r->process_count++;
    }
    *s = one;
}

/* A pid may be that of several processes, one after the other: the parent was there when the child
 * began, as far as times are known. */
static bool tree_is_parent(const struct report_span *parent, const struct report_span *child)
{
    return parent != child && parent->pid == child->parent &&
           parent->from_ns <= child->from_ns + 100 * NS_PER_MS &&
           parent->until_ns >= child->from_ns;
}

static unsigned tree_add(const struct report *r, unsigned process, unsigned depth, bool *is_added,
                         struct tree_row *ret, unsigned count)
{
    enum { DEEPEST = 30 };
    is_added[process] = true;
    ret[count++] = (struct tree_row){process, depth};
    /* Children in the order of their beginning. */
    for (;;) {
        int first = -1;
        for (unsigned i = 0; i < r->process_count; i++)
            if (!is_added[i] && tree_is_parent(&r->processes[process], &r->processes[i]) &&
                (first < 0 || r->processes[i].from_ns < r->processes[first].from_ns))
                first = (int)i;
        if (first < 0 || depth == DEEPEST)
            return count;
        count = tree_add(r, (unsigned)first, depth + 1, is_added, ret, count);
    }
}

unsigned report_tree(const struct report *r, struct tree_row ret[REPORT_PROCESSES])
{
    bool is_added[REPORT_PROCESSES] = {false};
    unsigned count = 0;
    while (count < r->process_count) {
        /* The earliest without a parent here; when times contradict each other, the earliest. */
        int root = -1, any = -1;
        for (unsigned i = 0; i < r->process_count; i++) {
            bool has_parent = false;
            for (unsigned k = 0; k < r->process_count && !has_parent; k++)
                has_parent = !is_added[k] && tree_is_parent(&r->processes[k], &r->processes[i]);
            if (is_added[i])
                continue;
            if (any < 0 || r->processes[i].from_ns < r->processes[any].from_ns)
                any = (int)i;
            if (!has_parent && (root < 0 || r->processes[i].from_ns < r->processes[root].from_ns))
                root = (int)i;
        }
        count = tree_add(r, (unsigned)(root < 0 ? any : root), 0, is_added, ret, count);
    }
    return count;
}

/* Phases of one name have one colour; names take turns. */
static unsigned report_phase_colour(struct report *r, const char *name)
{
    for (unsigned i = 0; i < r->phase_count; i++)
        if (strcmp(r->phases[i].name, name) == 0)
            return r->phases[i].colour;
    return r->phase_names++ % PHASE_COLOURS;
}

void report_add_mark(struct report *r, const struct run_mark *m)
{
    if (m->kind == MARK_EVENT && r->event_count < REPORT_EVENTS) {
        struct report_event *e = &r->events[r->event_count++];
        snprintf(e->name, sizeof e->name, "%s", m->name);
        e->at_ns = m->elapsed_ns;
    } else if (m->kind == MARK_EVENT) {
        r->events_left_out++;
    } else if (m->kind == MARK_PHASE_END && m->phase && r->phase_count < REPORT_PHASES) {
        const struct phase *p = m->phase;
        struct report_span *s = &r->phases[r->phase_count];
        *s = (struct report_span){
            .pid = p->pid,
            .from_ns = p->begin_ns - min_u64(m->start_ns, p->begin_ns),
            .until_ns = p->end_ns - min_u64(m->start_ns, p->end_ns),
        };
        snprintf(s->name, sizeof s->name, "%s", m->name);
        s->colour = report_phase_colour(r, s->name);
        r->phase_count++;
    } else if (m->kind == MARK_PHASE_END) {
        r->phases_left_out++;
    }
}

/* ==== Figures ================================================================================= */

enum quality report_quality(const struct report *r, enum metric_id id)
{
    const struct target_summary *t = &r->summary->whole;
    if (!r->summary->has_target || !(r->selection->parts[PART_COMBINED] >> id & 1))
        return QUALITY_UNKNOWN;
    enum quality q = t->provenance[PART_COMBINED][id].quality;
    return q == QUALITY_LOWER_BOUND && report_figure(r, id) <= 0 ? QUALITY_UNKNOWN : q;
}

double report_figure(const struct report *r, enum metric_id id)
{
    const struct series *s = &r->summary->whole.series[PART_COMBINED][id];
    const struct metric *m = metric_of(id);
    return m->kind == METRIC_COUNTER ? metric_number(m, s->last) : s->max;
}

double report_mean(const struct report *r, enum metric_id id)
{
    return series_mean(&r->summary->whole.series[PART_COMBINED][id], metric_of(id));
}
