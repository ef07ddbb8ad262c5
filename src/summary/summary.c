/* SPDX-License-Identifier: MIT */
#include "summary/summary.h"

#include "base/memory.h"
#include "base/text/secrets.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== Run facts =============================================================================== */

static void free_strings(char **strings)
{
    for (char **s = strings; s && *s; s++)
        free(*s);
    free(strings);
}

static char **copy_strings(const char *const strings[])
{
    size_t count = 0;
    while (strings[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(strings[i]);
        if (!copy[i]) {
            free_strings(copy);
            return NULL;
        }
    }
    return copy;
}

/* The last word of a path. */
static const char *run_facts_name_of(const char *command)
{
    const char *slash = strrchr(command, '/');
    return slash && slash[1] ? slash + 1 : command;
}

/* ---- What is kept of words from outside ------------------------------------------------------ */

static char *kept_text(const struct run *r, const char *text)
{
    if (r->shows_secrets)
        return strdup(text);
    struct buf b = {0};
    secrets_mask_text(&b, text, strlen(text));
    char *kept = buf_failed(&b) ? NULL : strdup(b.data ? b.data : "");
    buf_done(&b);
    return kept;
}

static char **kept_command(const struct run *r, const char *const argv[])
{
    const char *const program[] = {argv[0], NULL};
    if (r->no_args)
        argv = program;
    return r->shows_secrets ? copy_strings(argv) : secrets_mask_command(argv);
}

static char **kept_labels(const struct run *r, const char *const labels[])
{
    char **kept = copy_strings(labels);
    for (char **l = kept; l && *l && !r->shows_secrets; l++) {
        char *masked = secrets_mask_pair(*l);
        if (!masked) {
            free_strings(kept);
            return NULL;
        }
        free(*l);
        *l = masked;
    }
    return kept;
}

int run_set_name(struct run *r, const char *name)
{
    char *kept = kept_text(r, name);
    if (!kept)
        return -ENOMEM;
    free(r->name);
    r->name = kept;
    return 0;
}

int run_set_command(struct run *r, char *const argv[])
{
    free_strings(r->command);
    r->command = kept_command(r, (const char *const *)argv);
    if (!r->command)
        return -ENOMEM;
    return r->name ? 0 : run_set_name(r, run_facts_name_of(argv[0]));
}

int run_mask_secrets(struct run *r)
{
    char **words;
    if (r->command) {
        if (!(words = kept_command(r, (const char *const *)r->command)))
            return -ENOMEM;
        free_strings(r->command);
        r->command = words;
    }
    if (r->labels) {
        if (!(words = kept_labels(r, (const char *const *)r->labels)))
            return -ENOMEM;
        free_strings(r->labels);
        r->labels = words;
    }
    return r->name ? run_set_name(r, r->name) : 0;
}

bool run_is_named(const struct run *r)
{
    return r->name && *r->name &&
           !(r->command && r->command[0] && strcmp(r->name, run_facts_name_of(r->command[0])) == 0);
}

/* Of a key that was given twice, as in a configuration file and on the command line, the last value
 * holds. */
int run_set_labels(struct run *r, const char *const labels[])
{
    free_strings(r->labels);
    r->labels = kept_labels(r, labels);
    size_t count = 0;
    for (char **label = r->labels; label && *label; label++) {
        size_t key = strcspn(*label, "=");
        bool comes_again = false;
        for (char **other = label + 1; *other && !comes_again; other++)
            comes_again = strcspn(*other, "=") == key && strncmp(*label, *other, key) == 0;
        if (comes_again)
            free(*label);
        else
            r->labels[count++] = *label;
    }
    if (r->labels)
        r->labels[count] = NULL;
    return r->labels ? 0 : -ENOMEM;
}

int run_add_target(struct run *r, const char *name, const char *what)
{
    if (!ARRAY_GROW(r->targets, r->target_count))
        return -ENOMEM;
    struct run_target *t = &r->targets[r->target_count++];
    *t = (struct run_target){.name = strdup(name), .what = kept_text(r, what)};
    return t->name && t->what ? 0 : -ENOMEM;
}

void run_forget(struct run *r, bool name_is_given)
{
    for (size_t i = 0; i < r->target_count; i++) {
        free(r->targets[i].name);
        free(r->targets[i].what);
    }
    free(r->targets);
    r->targets = NULL;
    r->target_count = 0;
    free_strings(r->command);
    r->command = NULL;
    if (!name_is_given) {
        free(r->name);
        r->name = NULL;
    }
    r->pid = r->group = 0;
}

void run_done(struct run *r)
{
    run_forget(r, false);
    free(r->version);
    free(r->metrics);
    free_strings(r->labels);
    *r = (struct run){0};
}

/* ==== Energy ================================================================================== */

/* Its total, which is 0 where nothing was seen of it, and how good that is. */
static enum quality energy_total_of(const struct instance_summary *t, enum metric_id id,
                                    double *ret)
{
    const struct series *s = &t->series[id - t->instance->row.first];
    enum quality quality = summary_instance_quality(s, metric_of(id));
    if (quality == QUALITY_UNKNOWN && s->observed_ns)
        quality = QUALITY_LOWER_BOUND;
    *ret = metric_number(metric_of(id), s->last);
    return quality;
}

static void energy_add_gpu(struct energy *e, const struct instance_summary *t)
{
    double joules;
    if (entity_label(&t->instance->entity, "instance"))
        return; /* the whole board has the counter */
    /* An Intel GPU inside a processor has this address and no counter: it is part of the package.
     */
    const char *vendor = entity_label(&t->instance->entity, "vendor");
    const char *pci = entity_label(&t->instance->entity, "pci");
    if (vendor && pci && strcmp(vendor, "intel") == 0 && strcmp(pci, "0000:00:02.0") == 0)
        return;
    if (!e->has_gpus)
        e->gpus_quality = QUALITY_EXACT;
    e->has_gpus = true;
    enum quality quality = energy_total_of(t, gpu_energy_joules, &joules);
    if (quality < e->gpus_quality)
        e->gpus_quality = quality;
    e->gpus_joules += joules;
}

/* Cores and the like are parts of a package; other memory than the package's is not meant. */
static void add_processor(struct energy *e, const struct instance_summary *t)
{
    double joules;
    if (strncmp(entity_name(&t->instance->entity), "package-", 8) != 0 ||
        strchr(entity_name(&t->instance->entity), ' ') ||
        energy_total_of(t, rapl_energy_joules, &joules) == QUALITY_UNKNOWN)
        return;
    e->knows_processors = true;
    e->processors_joules += joules;
}

struct energy energy_of(const struct summary *s)
{
    struct energy e = {0};
    if (s->energy)
        return *s->energy;
    for (size_t i = 0; i < s->instance_count; i++) {
        if (s->instances[i].instance->entity.kind == ENTITY_GPU)
            energy_add_gpu(&e, &s->instances[i]);
        if (s->instances[i].instance->entity.kind == ENTITY_RAPL)
            add_processor(&e, &s->instances[i]);
    }
    if ((s->run && s->run->gpus_awaited) ||
        (e.gpus_quality == QUALITY_LOWER_BOUND && e.gpus_joules <= 0)) /* at least nothing */
        e.gpus_quality = QUALITY_UNKNOWN;
    e.knows_gpus = e.gpus_quality != QUALITY_UNKNOWN;
    return e;
}

/* ==== Summary ================================================================================= */

/* Quantiles are kept of the target as a whole, of the machine and of toll itself. */
enum { HISTOGRAMS = PROCESS_METRICS + SELF_METRICS + SYSTEM_METRICS };

static void init_target(struct target_summary *t)
{
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < PROCESS_METRICS; i++)
            t->provenance[part][i].source = "";
}

int summary_init(struct summary *s, const struct run *run)
{
    memset(s, 0, sizeof *s);
    s->run = run;
    s->histograms = calloc(HISTOGRAMS, sizeof *s->histograms);
    if (!s->histograms || octave_store_init(&s->octaves, HISTOGRAMS) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < HISTOGRAMS; i++)
        s->histograms[i].store = &s->octaves;
    init_target(&s->whole);
    for (unsigned i = 0; i < PROCESS_METRICS; i++)
        s->whole.series[PART_COMBINED][i].histogram = &s->histograms[i];
    for (unsigned i = 0; i < SELF_METRICS; i++)
        s->self[i].histogram = &s->histograms[PROCESS_METRICS + i];
    return 0;
}

int summary_add_targets(struct summary *s, size_t count)
{
    s->targets = calloc(count, sizeof *s->targets);
    if (!s->targets)
        return -ENOMEM;
    s->target_count = count;
    for (size_t i = 0; i < count; i++)
        init_target(&s->targets[i]);
    return 0;
}

void summary_done(struct summary *s)
{
    free(s->outputs);
    free(s->largest);
    for (size_t i = 0; i < SUMMARY_NOTES; i++)
        free(s->notes[i]);
    for (size_t i = 0; i < s->instance_count; i++)
        free(s->instances[i].series);
    free(s->instances);
    mark_totals_done(&s->marks);
    free(s->targets);
    free(s->histograms);
    octave_store_done(&s->octaves);
    memset(s, 0, sizeof *s);
}

/* old: bits of what is of an earlier frame, and was put then. */
static void put_row(const struct summary *s, struct series *series, const struct row *row,
                    uint64_t old, uint64_t elapsed_ns)
{
    bool since_start = s->run->since_start;
    if (!row)
        return;
    FOR_EACH_BIT(i, row_seen(row) & ~old)
    {
        enum metric_id id = row->first + (enum metric_id)i;
        const struct metric *m = metric_of(id);
        if (since_start && m->kind == METRIC_COUNTER && !series[i].last.u)
            series[i].last = row_value(row, id); /* what was before has no rate */
        series_put(&series[i], m, row_value(row, id), elapsed_ns);
    }
}

/* A counter has what it lacked when the process is reaped; a gauge is for good without it. */
static void note_bounds(uint64_t *denied, const struct row *row)
{
    if (!row || !(*denied | row->at_least))
        return;
    FOR_EACH_BIT(id, *denied & row->present)
    {
        if (metric_of(id)->kind == METRIC_COUNTER)
            *denied &= ~BIT(id);
    }
    *denied |= row->at_least;
}

/* What the parts had at the moment of the maximum of the whole: their own maxima are of others. */
static void put_parts_at_peak(struct target_summary *t, uint64_t elapsed_ns)
{
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        const struct metric *m = metric_of(id);
        if (m->kind == METRIC_COUNTER || t->series[PART_COMBINED][id].max_at_ns != elapsed_ns)
            continue;
        for (unsigned part = 0; part < PARTS; part++) {
            struct series *s = &t->series[part][id];
            bool is_known = part != PART_COMBINED &&
                            series_observed_at(s, m, elapsed_ns, &s->at_peak);
            s->at_peak_ns = is_known ? elapsed_ns : 0;
        }
    }
}

static void put_target(const struct summary *s, struct target_summary *t,
                       const struct frame_row parts[PARTS], uint64_t old, uint64_t elapsed_ns)
{
    for (unsigned part = 0; part < PARTS; part++) {
        const struct row *row = parts[part].row;
        put_row(s, t->series[part], row, old, elapsed_ns);
        note_bounds(&t->denied[part], row);
        if (row && (row_seen(row) >> process_memory_rss_bytes & 1))
            FOR_EACH_BIT(id, PROCESS_ROLLUP_BITS)
        t->series[part][id].last_is_old = !(row_seen(row) >> id & 1);
    }
    put_parts_at_peak(t, elapsed_ns);
}

/* By its number, as long as there was memory for all that were met before. */
static struct series *summary_find_series(const struct summary *s, const struct instance *m)
{
    if (m->number <= s->instance_count && s->instances[m->number - 1].instance == m)
        return s->instances[m->number - 1].series;
    for (size_t i = 0; i < s->instance_count; i++)
        if (s->instances[i].instance == m)
            return s->instances[i].series;
    return NULL;
}

struct histogram *summary_system_histogram(const struct summary *s, unsigned i)
{
    return &s->histograms[PROCESS_METRICS + SELF_METRICS + i];
}

/* A thing is met when it is first read: its number is one more than there were. */
static struct series *summary_series_of(struct summary *s, const struct instance *m)
{
    struct series *met = summary_find_series(s, m);
    if (met)
        return met;
    if (!ARRAY_GROW(s->instances, s->instance_count))
        return NULL;
    struct series *series = calloc(metric_count(m->entity.kind), sizeof *series);
    if (!series)
        return NULL;
    if (m->entity.kind == ENTITY_SYSTEM)
        for (unsigned i = 0; i < SYSTEM_METRICS; i++)
            series[i].histogram = summary_system_histogram(s, i);
    s->instances[s->instance_count++] = (struct instance_summary){.instance = m, .series = series};
    return series;
}

/* A value stands for the time since the frame before; without one the curve has a gap. */
static void summary_add_curve(struct curve *c, const struct row *row, enum metric_id id,
                              uint64_t elapsed_ns)
{
    bool is_known = row_seen(row) >> (id - row->first) & 1;
    curve_add(c, is_known ? metric_number(metric_of(id), row_value(row, id)) : NAN, c->end_ns,
              elapsed_ns);
}

void summary_curves(struct summary *s, const struct frame *f)
{
    const struct row *whole = f->target[PART_COMBINED].row;
    if (whole) {
        summary_add_curve(&s->cores_curve, whole, process_cpu_cores, f->elapsed_ns);
        summary_add_curve(&s->memory_curve, whole, process_memory_rss_bytes, f->elapsed_ns);
    }
    for (size_t i = 0; !whole && i < f->machine_count; i++)
        if (f->machine[i]->entity.kind == ENTITY_SYSTEM) {
            const struct row *row = &f->machine[i]->row;
            summary_add_curve(&s->cores_curve, row, system_cpu_cores, f->elapsed_ns);
            summary_add_curve(&s->memory_curve, row, system_memory_used_bytes, f->elapsed_ns);
        }
}

void summary_process(struct summary *s, const struct process *p, const struct process_end *end)
{
    if (!s->largest)
        s->largest = calloc(1, sizeof *s->largest);
    if (!s->largest)
        return; /* the table is missing then, nothing else */
    struct row copy;
    const struct row *row = process_shown(p, &copy);
    uint64_t seen = row_seen(row);
    struct largest_process l = {
        .pid = p->entity.pid,
        .start = p->entity.start_ticks,
        .has_cpu = seen >> process_cpu_seconds & 1,
        .has_peak = seen >> process_memory_peak_bytes & 1,
        .has_sockets = (seen & PROCESS_SOCKET_BITS) == PROCESS_SOCKET_BITS,
        .is_complete = end && p->has_ended && !p->baseline.user && !p->baseline.system,
        .is_recorded = end && end->is_recorded,
        .count = end ? end->count : 0,
    };
    memcpy(l.name, p->entity.name, sizeof l.name);
    if (p->command)
        snprintf(l.command, sizeof l.command, "%s", p->command);
    /* What it used before it was tracked, rounded up, is not the run's. */
    uint64_t before_ns = p->baseline.user + p->baseline.system;
    l.cpu_ns = l.has_cpu ? row_value(row, process_cpu_seconds).u : 0;
    l.cpu_ns -= min_u64(l.cpu_ns, before_ns);
    l.peak_bytes = l.has_peak ? row_value(row, process_memory_peak_bytes).u : 0;
    if (l.has_sockets)
        l.socket_bytes = row_value(row, process_socket_sent_bytes).u +
                         row_value(row, process_socket_received_bytes).u;
    largest_add(s->largest, &l);
}

void summary_frame(struct summary *s, const struct frame *f)
{
    /* What a counter had at an earlier moment would make a rate over the wrong time. A gauge may
     * have been read since the last sample that has all. */
    uint64_t old = f->is_brief ? metric_cost_mask(COST_OFTEN) & ~metric_fold_mask(FOLD_SUM) : 0;
    put_target(s, &s->whole, f->target, old, f->elapsed_ns);
    for (size_t i = 0; i < f->target_count && i < s->target_count; i++)
        put_target(s, &s->targets[i], f->targets[i].parts, old, f->elapsed_ns);
    for (size_t i = 0; i < f->machine_count; i++) {
        struct series *series = summary_series_of(s, f->machine[i]);
        if (series)
            put_row(s, series, &f->machine[i]->row, 0, f->elapsed_ns);
        FOR_EACH_BIT(k, series ? f->machine[i]->unlimited : 0)
        series[k].is_unlimited = !series[k].observed_ns;
    }
    put_row(s, s->self, f->self.row, 0, f->elapsed_ns);
}

bool summary_note(struct summary *s, const char *sentence)
{
    size_t kept = s->note_count < SUMMARY_NOTES ? s->note_count : SUMMARY_NOTES;
    for (size_t i = 0; i < kept; i++)
        if (strcmp(s->notes[i], sentence) == 0)
            return false;
    s->note_count++;
    if (kept == SUMMARY_NOTES)
        return false; /* enough is enough */
    s->notes[kept] = strdup(sentence);
    if (!s->notes[kept])
        s->note_count--;
    return true;
}

static void end_target(struct target_summary *t, uint64_t elapsed_ns)
{
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            series_end(&t->series[part][id], metric_of(id), elapsed_ns);
    /* The last window may have the maximum of a rate. */
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < PROCESS_METRICS; i++)
            if (t->series[part][i].at_peak_ns != t->series[PART_COMBINED][i].max_at_ns)
                t->series[part][i].at_peak_ns = 0;
}

void summary_end(struct summary *s, uint64_t elapsed_ns)
{
    s->elapsed_ns = elapsed_ns;
    end_target(&s->whole, elapsed_ns);
    for (size_t i = 0; i < s->target_count; i++)
        end_target(&s->targets[i], elapsed_ns);
    for (size_t t = 0; t < s->instance_count; t++)
        for (unsigned i = 0; i < metric_count(s->instances[t].instance->entity.kind); i++)
            series_end(&s->instances[t].series[i],
                       metric_of(s->instances[t].instance->row.first + i), elapsed_ns);
    for (unsigned i = 0; i < SELF_METRICS; i++)
        series_end(&s->self[i], metric_of(metric_first(ENTITY_SELF) + i), elapsed_ns);
}

enum quality summary_instance_quality(const struct series *s, const struct metric *m)
{
    if (!s->observed_ns) /* a limit that was read and is not set has no number */
        return s->is_unlimited ? QUALITY_SAMPLED : QUALITY_UNKNOWN;
    bool counts = m->kind == METRIC_COUNTER;
    if (s->coverage == COVERED_SO_FAR)
        return QUALITY_LOWER_BOUND;
    if (s->coverage == COVERED_PARTLY) { /* at least nothing is not known */
        double figure = counts ? metric_number(m, s->last) : s->max;
        return figure > 0 ? QUALITY_LOWER_BOUND : QUALITY_UNKNOWN;
    }
    return counts && s->coverage == COVERED ? QUALITY_EXACT : QUALITY_SAMPLED;
}

static int summary_compare_threads(const void *a, const void *b)
{
    enum { CPU = thread_cpu_seconds - thread_first };
    const struct instance_summary *const *x = a, *const *y = b;
    uint64_t one = (*x)->series[CPU].last.u, other = (*y)->series[CPU].last.u;
    if (one != other)
        return one > other ? -1 : 1;
    return *x < *y ? -1 : *x > *y; /* in the order in which they got a row */
}

const struct instance_summary **summary_threads(const struct summary *s, size_t *ret_count)
{
    size_t count = 0;
    const struct instance_summary **sorted = calloc(s->instance_count + 1, sizeof *sorted);
    for (size_t i = 0; sorted && i < s->instance_count; i++)
        if (s->instances[i].instance->entity.kind == ENTITY_THREAD)
            sorted[count++] = &s->instances[i];
    if (count)
        qsort(sorted, count, sizeof *sorted, summary_compare_threads);
    *ret_count = count;
    return sorted;
}

/* The largest value that a sample had. */
static double summary_sampled_memory(const struct summary *s)
{
    const struct curve *c = &s->memory_curve;
    double most = 0;
    for (unsigned i = 0; i < CURVE_POINTS; i++)
        if (c->points[i].covered_ns && c->points[i].max > most)
            most = c->points[i].max;
    return most;
}

/* A figure of all targets together, the total of a counter or the peak of a gauge. A lower bound of
 * zero says nothing: it is unknown. */
static enum quality summary_figure(const struct summary *s, uint64_t selected, enum metric_id id,
                                   double *ret)
{
    const struct series *series = &s->whole.series[PART_COMBINED][id];
    enum quality q = s->whole.provenance[PART_COMBINED][id].quality;
    *ret = metric_of(id)->kind == METRIC_COUNTER ? metric_number(metric_of(id), series->last)
                                                 : series->max;
    if (!(selected >> id & 1) || series->is_unlimited)
        return QUALITY_UNKNOWN;
    return q == QUALITY_LOWER_BOUND && *ret <= 0 ? QUALITY_UNKNOWN : q;
}

struct memory_peak summary_memory_peak(const struct summary *s, uint64_t selected)
{
    const double least_of_a_program = 1 << 20;
    struct memory_peak m = {0};
    double largest, started;
    m.quality = summary_figure(s, selected, process_memory_rss_bytes, &m.bytes);
    if (m.quality == QUALITY_UNKNOWN)
        m.bytes = 0;
    enum quality of_largest = summary_figure(s, selected, process_memory_peak_bytes, &largest);
    if (of_largest == QUALITY_UNKNOWN)
        largest = 0;
    enum quality of_started = summary_figure(s, selected, process_processes_started_count,
                                             &started);
    bool is_alone = of_started != QUALITY_UNKNOWN && started <= 1;
    bool is_short = s->run->command && s->elapsed_ns < SUMMARY_SHORTEST_FOR_MEMORY_NS;
    bool is_selected = selected >> process_memory_rss_bytes & 1;
    /* A record without a summary: then even the duration is a lower bound. */
    bool is_cut_short = s->whole.end.unknown && !s->whole.end.ended;
    bool is_so_far = s->whole.provenance[PART_COMBINED][process_wall_seconds].quality ==
                     QUALITY_LOWER_BOUND;
    bool is_partial = s->whole.partial[PART_COMBINED] >> process_memory_rss_bytes & 1;
    /* A mark that was read before the program had its memory is no better than a sample. */
    bool is_premature = is_short && largest < least_of_a_program &&
                        of_largest == QUALITY_LOWER_BOUND;
    m.is_of_largest = largest > 0 && largest >= m.bytes && !is_premature &&
                      largest > SUMMARY_NOTICEABLE * summary_sampled_memory(s);
    if (m.is_of_largest) {
        m.bytes = largest;
        /* No other process was seen. Unless all are counted, one may have lived between samples. */
        bool is_known_alone = of_started >= QUALITY_EXACT_IF_REAPED;
        m.quality = !is_alone || of_largest == QUALITY_LOWER_BOUND ? QUALITY_LOWER_BOUND
                    : is_known_alone                               ? of_largest
                                                                   : QUALITY_SAMPLED;
        m.why = !is_alone ? "samples missed the peak of all processes together"
                : of_largest == QUALITY_LOWER_BOUND ? "it may have grown after the last sample"
                                                    : NULL;
    } else if (m.quality == QUALITY_UNKNOWN) {
        /* Without /proc not even the command was seen, however long it runs. */
        bool is_seen = of_started != QUALITY_UNKNOWN;
        m.why = is_short && is_selected && is_seen ? "too short to be sampled" : NULL;
    } else if (is_short && m.bytes < least_of_a_program) {
        /* Whatever was sampled was before the program had its memory. */
        m.quality = QUALITY_UNKNOWN;
        m.why = "too short to be sampled";
    } else if (is_short) {
        m.quality = QUALITY_LOWER_BOUND;
        m.why = "the run was too short for more samples";
    } else if (m.quality == QUALITY_LOWER_BOUND) {
        m.why = is_partial     ? "some processes could not be read"
                : is_cut_short ? "the record ends before the run did"
                : is_so_far    ? "the run is still being measured"
                               : "samples were skipped";
    }
    return m;
}

/* ==== Curve =================================================================================== */

enum { CURVE_FIRST_WIDTH_NS = 1000000 };

static void curve_halve(struct curve *c)
{
    for (unsigned i = 0; i < CURVE_POINTS; i++) {
        if (i >= CURVE_POINTS / 2) {
            c->points[i].sum = c->points[i].max = 0;
            c->points[i].covered_ns = 0;
            continue;
        }
        unsigned a = 2 * i, b = a + 1;
        double max = c->points[a].max;
        if (!c->points[a].covered_ns || (c->points[b].covered_ns && c->points[b].max > max))
            max = c->points[b].max;
        c->points[i].sum = c->points[a].sum + c->points[b].sum;
        c->points[i].covered_ns = c->points[a].covered_ns + c->points[b].covered_ns;
        c->points[i].max = max;
    }
    c->width_ns *= 2;
}

void curve_add(struct curve *c, double value, uint64_t from_ns, uint64_t until_ns)
{
    if (until_ns <= from_ns)
        return;
    if (!c->width_ns)
        c->width_ns = CURVE_FIRST_WIDTH_NS;
    while ((until_ns - 1) / c->width_ns >= CURVE_POINTS)
        curve_halve(c);
    for (uint64_t i = from_ns / c->width_ns; isfinite(value) && i * c->width_ns < until_ns; i++) {
        uint64_t begin = i * c->width_ns, end = begin + c->width_ns;
        uint64_t ns = (end < until_ns ? end : until_ns) - (begin > from_ns ? begin : from_ns);
        if (!c->points[i].covered_ns || value > c->points[i].max)
            c->points[i].max = value;
        c->points[i].sum += value * (double)ns / 1e9;
        c->points[i].covered_ns += ns;
    }
    if (until_ns > c->end_ns)
        c->end_ns = until_ns;
}

unsigned curve_columns(const struct curve *c, unsigned count, bool largest, double *columns)
{
    unsigned points = c->width_ns ? (unsigned)((c->end_ns - 1) / c->width_ns) + 1 : 0;
    if (count > points)
        count = points;
    for (unsigned column = 0; column < count; column++) {
        double sum = 0, max = NAN;
        uint64_t covered_ns = 0;
        for (unsigned i = column * points / count; i < (column + 1) * points / count; i++) {
            if (!c->points[i].covered_ns)
                continue;
            if (!(max >= c->points[i].max)) /* NAN at first */
                max = c->points[i].max;
            sum += c->points[i].sum;
            covered_ns += c->points[i].covered_ns;
        }
        columns[column] = largest ? max : covered_ns ? sum / ((double)covered_ns / 1e9) : NAN;
    }
    return count;
}

/* ==== Largest processes ======================================================================= */

/* In a list: more before less; equal ones in the order of their start, so that a record that is
 * read has the same order. */
static bool largest_is_before(const struct largest_process *one, uint64_t value,
                              const struct largest_process *other, uint64_t other_value)
{
    if (value != other_value)
        return value > other_value;
    return one->start != other->start ? one->start < other->start : one->pid < other->pid;
}

static void largest_insert(struct largest_process list[LARGEST_KEPT], unsigned *count,
                           const struct largest_process *p, bool by_memory)
{
    unsigned at = *count;
    uint64_t value = by_memory ? p->peak_bytes : p->cpu_ns;
    while (at && largest_is_before(p, value, &list[at - 1],
                                   by_memory ? list[at - 1].peak_bytes : list[at - 1].cpu_ns))
        at--;
    if (at == LARGEST_KEPT)
        return;
    unsigned moved = *count - at - (*count == LARGEST_KEPT);
    memmove(&list[at + 1], &list[at], moved * sizeof *list);
    list[at] = *p;
    *count += *count < LARGEST_KEPT;
}

void largest_list(struct largest *l, const struct largest_process *p)
{
    if (p->has_peak)
        largest_insert(l->by_memory, &l->by_memory_count, p, true);
    if (p->has_cpu)
        largest_insert(l->by_cpu, &l->by_cpu_count, p, false);
}

void largest_add(struct largest *l, const struct largest_process *p)
{
    uint64_t count = max_u64(p->count, 1);
    l->count += count;
    if (count == 1) /* what several used is not one of the largest */
        largest_list(l, p);

    struct largest_program *program = NULL;
    for (unsigned i = 0; i < l->program_count && !program; i++)
        if (strcmp(l->programs[i].name, p->name) == 0)
            program = &l->programs[i];
    if (!program && l->program_count == LARGEST_PROGRAMS) {
        l->unlisted += count;
        return;
    }
    if (!program) {
        program = &l->programs[l->program_count++];
        memcpy(program->name, p->name, sizeof program->name);
        program->is_complete = program->is_recorded = true;
    }
    program->count += count;
    program->cpu_ns += p->cpu_ns;
    if (p->peak_bytes > program->peak_bytes)
        program->peak_bytes = p->peak_bytes;
    program->is_complete &= p->is_complete && p->has_cpu;
    program->is_recorded &= p->is_recorded;
}

static int largest_compare_programs(const void *a, const void *b)
{
    const struct largest_program *one = *(const struct largest_program *const *)a;
    const struct largest_program *other = *(const struct largest_program *const *)b;
    if (one->cpu_ns != other->cpu_ns)
        return one->cpu_ns < other->cpu_ns ? 1 : -1;
    return strcmp(one->name, other->name);
}

unsigned largest_programs_by_cpu(const struct largest *l, const struct largest_program **sorted)
{
    for (unsigned i = 0; i < l->program_count; i++)
        sorted[i] = &l->programs[i];
    qsort(sorted, l->program_count, sizeof *sorted, largest_compare_programs);
    return l->program_count;
}
