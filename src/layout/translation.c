/* SPDX-License-Identifier: MIT */
#include "layout/translation.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* ---- Opening --------------------------------------------------------------------------------- */

int translation_open(struct translation *t, const struct layout_choice *choice,
                     const struct layout_table *table)
{
    *t = (struct translation){.choice = choice, .table = table};
    t->terms = calloc(table->count, sizeof *t->terms);
    t->divisors = calloc(table->count, sizeof *t->divisors);
    t->otherwise = calloc(table->count, sizeof *t->otherwise);
    if (!t->terms || !t->divisors || !t->otherwise)
        return -ENOMEM;
    for (size_t i = 0; i < table->count; i++) {
        const struct layout_column *c = &table->columns[i];
        const char *divisor = cell_divisor(choice, c);
        terms_parse(&t->terms[i], c->terms);
        if (divisor)
            terms_parse(&t->divisors[i], divisor);
        if (c->otherwise)
            terms_parse(&t->otherwise[i], c->otherwise);
    }
    return 0;
}

void translation_done(struct translation *t)
{
    for (size_t i = 0; i < t->row_count; i++)
        free(t->rows[i].before); /* the others are of the same block */
    free(t->rows);
    free(t->terms);
    free(t->divisors);
    free(t->otherwise);
    free(t->cells);
    free(t->texts);
    buf_done(&t->command);
    *t = (struct translation){0};
}

static int translation_make_room(struct translation *t, size_t rows)
{
    size_t columns = t->table->count;
    if (rows <= t->row_count)
        return 0;
    struct translation_row *more = realloc(t->rows, rows * sizeof *more);
    if (more)
        t->rows = more;
    struct layout_cell *cells = realloc(t->cells, rows * columns * sizeof *cells);
    if (cells)
        t->cells = cells;
    void *texts = realloc(t->texts, rows * columns * sizeof *t->texts);
    if (texts)
        t->texts = texts;
    if (!more || !cells || !texts)
        return -ENOMEM;
    for (; t->row_count < rows; t->row_count++)
        if (translation_row_init(&t->rows[t->row_count], columns) < 0)
            return -ENOMEM;
    return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The next row that is ready: of the thing with this number. */
static void translation_make_row(struct translation *t, const struct row_of *r, size_t number)
{
    struct translation_row *state = &t->rows[number];
    size_t at = t->ready++ * t->table->count;
    for (size_t i = 0; i < t->table->count; i++) {
        bool is_text = t->table->columns[i].type == LAYOUT_TEXT;
        t->cells[at + i] = (struct layout_cell){
            .number = is_text ? (double)NAN : cell_figure(t, r, i, state),
            .text = is_text ? cell_text(t, r, i, t->texts[at + i]) : NULL,
        };
        state->means[i] = state->weights[i] = 0;
    }
}

/* What can be read of processes that live may be denied; it is missing only when they have ended
 * before anything of them was known. */
static bool translation_row_lacks(const struct translation *t, const struct row_of *r,
                                  bool has_begun)
{
    bool is_too_late = r->has_ended && !has_begun && r->source->is_paced;
    for (size_t i = 0; i < t->table->count; i++)
        if ((t->table->columns[i].flags & NEEDED) &&
            isnan(translation_cell(t, t->ready - 1, i)->number) &&
            (is_too_late || !terms_have(&t->terms[i], ENTITY_TARGET)))
            return true;
    return false;
}

static bool translation_row_has_grown(const struct translation *t)
{
    for (size_t i = 0; i < t->table->count; i++) {
        enum layout_take take = t->table->columns[i].take;
        if ((take == TAKE_DELTA || take == TAKE_RATE) &&
            translation_cell(t, t->ready - 1, i)->number > 0 &&
            terms_have(&t->terms[i], ENTITY_TARGET))
            return true;
    }
    return false;
}

/* The energy of a GPU may be read ahead of all else: in a table without it there is nothing to
 * write then. */
static bool translation_row_lacks_gpu(const struct translation *t, const struct row_of *r)
{
    bool has_figures = false;
    for (size_t i = 0; i < t->table->count; i++) {
        bool is_figure = terms_have(&t->terms[i], ENTITY_GPU);
        has_figures |= is_figure;
        if (is_figure && !isnan(translation_cell(t, t->ready - 1, i)->number))
            return false;
    }
    return r->each == EACH_GPU && has_figures;
}

static void translation_finish_row(struct translation *t, const struct row_of *r, size_t number)
{
    struct translation_row *state = &t->rows[number];
    translation_make_row(t, r, number);
    /* Processes that have ended have one row more, that of their end, and further ones only for
     * what becomes known later. Those that live on have none for an end soon after a row. */
    bool had_end = r->has_ended ? state->end_is_written : t->is_cut;
    bool is_repeated = t->table->subject == SUBJECT_TARGET && r->source->is_paced && had_end &&
                       !translation_row_has_grown(t);
    if (is_repeated || translation_row_lacks(t, r, state->has_begun) ||
        translation_row_lacks_gpu(t, r))
        t->ready--;
    state->has_begun = true;
    state->end_is_written = r->has_ended;
}

static void translation_add_sample(const struct translation *t, const struct row_of *r,
                                   size_t number)
{
    struct translation_row *state = &t->rows[number];
    double weight = r->source->fact(r->source->of, FACT_INTERVAL, 0);
    for (size_t i = 0; i < t->table->count; i++) {
        bool is_averaged = cell_is_averaged(t, &t->table->columns[i]);
        double value = is_averaged ? cell_look(t, r, i, state) : (double)NAN;
        /* A mean of the moments at which all could be read is not that of the time. */
        bool lacks = is_averaged && isnan(value) && terms_are_partial(r, &t->terms[i]);
        if ((isnan(value) && !lacks) || !(weight > 0))
            continue;
        state->weights[i] += weight;
        state->means[i] += (value - state->means[i]) * (weight / state->weights[i]);
    }
}

/* ---- Samples --------------------------------------------------------------------------------- */

static bool translation_is_soon(const struct translation *t, const struct layout_source *s)
{
    return s->fact(s->of, FACT_ELAPSED, 0) - t->row_at < SHORT_SECONDS;
}

/* Whether a sample makes no row of its own: figures of a moment are none, and what was asked for
 * is one row an interval. What it has comes with the next one. */
static bool translation_skips(const struct translation *t, const struct layout_source *s, bool last)
{
    if (last)
        return t->table->skips_end && t->step && translation_is_soon(t, s);
    if (s->between && t->table->keeps_time)
        return true;
    bool is_at_once = s->is_paced && translation_is_soon(t, s);
    return !t->was_fed && (t->table->skips_first || (t->table->skips_start && is_at_once));
}

int translation_put(struct translation *t, const struct layout_source *s, bool last)
{
    enum layout_each each = t->table->each;
    size_t instances = each == EACH_GPU      ? s->count(s->of, ENTITY_GPU)
                       : each == EACH_TARGET ? s->count(s->of, ENTITY_TARGET)
                                             : 0;
    size_t rows = each == EACH_GPU ? instances : instances ? instances : 1;
    int samples = t->table->averages ? layout_option_number(t->choice->layout, "samples", 7) : -1;
    size_t wanted = samples < 0 ? 1 : (size_t)t->choice->options[samples].number;
    t->has_gpus |= s->count(s->of, ENTITY_GPU) > 0 || s->fact(s->of, FACT_HAS_GPUS, 0) > 0;
    t->ready = 0;
    if (translation_make_room(t, rows) < 0)
        return -ENOMEM;
    bool is_none = translation_skips(t, s, last);
    t->was_fed |= !s->between;
    t->samples += !is_none;
    t->is_last = last;
    t->is_cut = last && t->step && translation_is_soon(t, s);
    bool is_due = t->is_paced_by_caller ? t->is_due : t->samples >= wanted;
    bool is_full = !is_none && (is_due || last);
    for (size_t i = 0; i < rows; i++) {
        struct translation_row *state = &t->rows[i];
        struct row_of r = {.source = s, .each = each};
        if (r.each == EACH_GPU)
            r.instance = i;
        else if (instances)
            r.target = i + 1;
        /* Processes that were seen alive and are gone have ended; with the last sample also those
         * that were never seen. */
        double living = r.each == EACH_GPU ? (double)NAN : row_living(&r, PART_COMBINED);
        state->has_lived |= living > 0;
        r.has_ended = !(living > 0) && (state->has_lived || (last && row_has_target(&r)));
        /* A row that is made of several samples begins with the first of them. */
        if (!state->is_based && s->fact(s->of, FACT_SINCE, r.target) > 0) {
            state->is_based = true;
            for (size_t c = 0; c < t->table->count; c++)
                cell_base(t, &r, c, state, is_full);
        }
        if (!is_none)
            translation_add_sample(t, &r, i);
        for (size_t c = 0; is_none && c < t->table->count; c++) /* what is read seldom */
            if (t->table->columns[c].take == TAKE_VALUE && t->table->columns[c].type != LAYOUT_TEXT)
                cell_look(t, &r, c, state);
        if (is_full)
            translation_finish_row(t, &r, i);
    }
    if (is_full)
        t->samples = 0;
    if (!t->ready)
        return 0;
    t->row_at = s->fact(s->of, FACT_ELAPSED, 0);
    t->step++;
    return (int)t->ready;
}

/* ---- Names and needs ------------------------------------------------------------------------- */

void translation_name(struct buf *b, const struct translation *t, size_t column)
{
    const struct layout_column *c = &t->table->columns[column];
    if (c->flags & WITH_PREFIX)
        buf_puts(b, layout_choice_value(t->choice, "prefix"));
    buf_puts(b, c->name);
}

static bool terms_need_machine(const char *text)
{
    struct terms terms = {0};
    if (text)
        terms_parse(&terms, text);
    for (size_t i = 0; i < terms.count; i++) {
        const struct term *t = &terms.items[i];
        if (t->of < TERM_FACT && t->kind != ENTITY_TARGET && t->kind != ENTITY_SELF &&
            t->kind != ENTITY_GPU)
            return true;
    }
    return false;
}

bool layout_table_needs_rollup(const struct layout_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct terms terms = {0};
        if (table->columns[i].flags & NEEDED)
            terms_parse(&terms, table->columns[i].terms);
        for (size_t k = 0; k < terms.count; k++)
            if (terms.items[k].of == TERM_FIGURE && terms.items[k].kind == ENTITY_TARGET &&
                (PROCESS_ROLLUP_BITS >> terms.items[k].id & 1))
                return true;
    }
    return false;
}

bool layout_table_needs_system(const struct layout_choice *c, const struct layout_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (terms_need_machine(table->columns[i].terms) ||
            terms_need_machine(cell_divisor(c, &table->columns[i])))
            return true;
    return false;
}

/* ==== Figures of a frame ====================================================================== */

static const struct instance *frame_view_find_instance(const struct frame *f, enum entity_kind kind,
                                                       size_t i)
{
    for (size_t k = 0; k < f->machine_count; k++)
        if (f->machine[k]->entity.kind == kind && !i--)
            return f->machine[k];
    return NULL;
}

static const struct row *frame_view_find_row(const struct frame *f, const struct layout_place *p)
{
    if (p->kind == ENTITY_TARGET && p->target)
        return p->target <= f->target_count ? f->targets[p->target - 1].parts[p->part].row : NULL;
    if (p->kind == ENTITY_TARGET)
        return f->target[p->part].row;
    if (p->kind == ENTITY_SELF)
        return f->self.row;
    const struct instance *m = frame_view_find_instance(f, p->kind, p->instance);
    return m ? &m->row : NULL;
}

/* Every run has the number of CPUs, also where the machine was not measured. */
static double of_the_run(const struct run *run, const struct layout_place *place)
{
    return place->id == system_cpus_online_count && run->online_cpus ? (double)run->online_cpus
                                                                     : (double)NAN;
}

static double frame_figure(const void *of, const struct layout_place *place, enum layout_take take)
{
    const struct frame_view *view = of;
    const struct metric *m = metric_of(place->id);
    const struct row *row = frame_view_find_row(view->frame, place);
    return row && row_has(row, place->id) ? metric_recorded(m, row_value(row, place->id))
                                          : of_the_run(view->run, place);
}

static bool frame_is_partial(const void *of, const struct layout_place *place)
{
    const struct row *row = frame_view_find_row(((const struct frame_view *)of)->frame, place);
    return row && row->at_least >> (place->id - row->first) & 1;
}

static size_t frame_count(const void *of, enum entity_kind kind)
{
    const struct frame *f = ((const struct frame_view *)of)->frame;
    size_t count = 0;
    if (kind == ENTITY_TARGET)
        return f->target_count;
    for (size_t i = 0; i < f->machine_count; i++)
        count += f->machine[i]->entity.kind == kind;
    return count;
}

/* What a run says of itself, whatever is looked at. */
static double run_fact(const struct run *run, enum layout_fact fact, size_t target)
{
    const struct run_target *one = target && target <= run->target_count ? &run->targets[target - 1]
                                                                         : NULL;
    pid_t group = one ? one->group : run->group;
    pid_t pid = one ? one->pid : run->pid;
    switch (fact) {
    case FACT_PID: return pid ? (double)pid : (double)NAN;
    case FACT_OWN_PID: return run->own_pid ? (double)run->own_pid : (double)NAN;
    case FACT_GROUP: return group ? (double)group : (double)NAN;
    case FACT_CPUS: return run->online_cpus ? (double)run->online_cpus : (double)NAN;
    case FACT_GPUS:
        return run->gpus_unlisted && !run->gpu_count ? (double)NAN : (double)run->gpu_count;
    case FACT_SINCE: return run->since_start;
    case FACT_HAS_GPUS: return run->gpus || run->gpus_unlisted || run->gpus_unread;
    case FACT_PAGE: return (double)sysconf(_SC_PAGESIZE);
    default: return (double)NAN;
    }
}

static double frame_fact(const void *of, enum layout_fact fact, size_t target)
{
    const struct frame_view *v = of;
    switch (fact) {
    case FACT_TIME: return layout_seconds(v->frame->real_ns);
    case FACT_ELAPSED: return (double)v->frame->elapsed_ns / 1e9;
    case FACT_INTERVAL: return (double)v->frame->interval_ns / 1e9;
    default: return run_fact(v->run, fact, target);
    }
}

static const char *frame_name(const void *of, enum entity_kind kind, size_t number)
{
    const struct frame *f = ((const struct frame_view *)of)->frame;
    if (kind == ENTITY_TARGET)
        return number && number <= f->target_count ? f->targets[number - 1].name : "";
    const struct instance *m = frame_view_find_instance(f, kind, number);
    return m ? entity_name(&m->entity) : "";
}

/* The summary has it. */
static double frame_own(const void *of, const char *name)
{
    return (double)NAN;
}

static enum space_kind frame_space(const void *of, size_t instance)
{
    const struct instance *m = frame_view_find_instance(((const struct frame_view *)of)->frame,
                                                        ENTITY_MOUNT, instance);
    return m ? entity_space(&m->entity) : SPACE_NONE;
}

struct layout_source frame_view_source(const struct frame_view *view)
{
    return (struct layout_source){
        .of = view,
        .figure = frame_figure,
        .count = frame_count,
        .fact = frame_fact,
        .name = frame_name,
        .own = frame_own,
        .space = frame_space,
        .between = view->frame->between,
        .is_paced = true,
        .run = view->run,
        .is_partial = frame_is_partial,
    };
}

/* ---- A summary ------------------------------------------------------------------------------- */

static const struct instance_summary *find_summary(const struct summary *s, enum entity_kind kind,
                                                   size_t i)
{
    for (size_t k = 0; k < s->instance_count; k++)
        if (s->instances[k].instance->entity.kind == kind && !i--)
            return &s->instances[k];
    return NULL;
}

static const struct target_summary *find_target(const struct summary *s, size_t target)
{
    if (!s->has_target || target > s->target_count)
        return NULL;
    return target ? &s->targets[target - 1] : &s->whole;
}

/* The statistics, when anything is known of it. */
static const struct series *frame_view_find_series(const struct summary *s,
                                                   const struct layout_place *p)
{
    unsigned i = p->id - metric_first(p->kind);
    if (p->kind == ENTITY_TARGET) {
        const struct target_summary *t = find_target(s, p->target);
        bool is_known = t && (t->has_parts || p->part == PART_COMBINED) &&
                        t->provenance[p->part][p->id].quality != QUALITY_UNKNOWN;
        return is_known ? &t->series[p->part][p->id] : NULL;
    }
    if (p->kind == ENTITY_SELF)
        return &s->self[i];
    const struct instance_summary *instance = find_summary(s, p->kind, p->instance);
    return instance ? &instance->series[i] : NULL;
}

static bool summary_is_partial(const void *of, const struct layout_place *p)
{
    const struct target_summary *t = p->kind == ENTITY_TARGET ? find_target(of, p->target) : NULL;
    return t && t->partial[p->part] >> p->id & 1;
}

static double summary_figure(const void *of, const struct layout_place *place,
                             enum layout_take take)
{
    const struct series *s = frame_view_find_series(of, place);
    const struct metric *m = metric_of(place->id);
    if (summary_is_partial(of, place))
        return (double)NAN;
    if (!s || !s->observed_ns)
        return of_the_run(((const struct summary *)of)->run, place);
    switch (take) {
    case TAKE_MAX: return s->count ? s->max : (double)NAN;
    case TAKE_MEAN:
    case TAKE_SHARE:
    case TAKE_RATE: return series_mean(s, m);
    default: return metric_number(m, s->last);
    }
}

static size_t summary_count(const void *of, enum entity_kind kind)
{
    const struct summary *s = of;
    size_t count = 0;
    if (kind == ENTITY_TARGET)
        return s->target_count;
    for (size_t i = 0; i < s->instance_count; i++)
        count += s->instances[i].instance->entity.kind == kind;
    return count;
}

/* Of a program that ended at once, a mark that was read before it had its memory says nothing. */
static double summary_largest_process(const struct summary *s)
{
    const double least_of_a_program = 1 << 20;
    const struct series *series = &s->whole.series[PART_COMBINED][process_memory_peak_bytes];
    enum quality q = s->whole.provenance[PART_COMBINED][process_memory_peak_bytes].quality;
    bool is_premature = q == QUALITY_LOWER_BOUND && series->max < least_of_a_program;
    return !series->count || q == QUALITY_UNKNOWN || is_premature ? (double)NAN : series->max;
}

static double summary_fact(const void *of, enum layout_fact fact, size_t target)
{
    const struct summary *s = of;
    const struct toll_end *end = &s->whole.end;
    struct energy energy = energy_of(s); /* of the machine */
    const struct job_energy *job = &s->job_energy;
    struct memory_peak peak = summary_memory_peak(s, UINT64_MAX);
    switch (fact) {
    case FACT_EXIT:
        return !end->ended || end->unknown ? (double)NAN : end->signaled ? 0 : (double)end->status;
    case FACT_MEMORY_PEAK: return peak.quality == QUALITY_UNKNOWN ? (double)NAN : peak.bytes;
    case FACT_LARGEST: return summary_largest_process(s);
    case FACT_CARBON: return job->grams.has_high ? job->grams.high / job->kwh.high : (double)NAN;
    case FACT_PUE: return job->pue > 0 ? job->pue : 1;
    case FACT_TRACKING: return job->is_asked;
    case FACT_PROCESSORS_ENERGY:
        if (job->is_asked)
            return job->cpu.has_high ? job->cpu.high : (double)NAN;
        return energy.knows_processors ? energy.processors_joules : (double)NAN;
    case FACT_GPUS_ENERGY: /* none where there is no GPU */
        if (job->is_asked)
            return job->gpu.has_high ? job->gpu.high : (double)NAN;
        return energy.knows_gpus                             ? energy.gpus_joules
               : summary_fact(of, FACT_HAS_GPUS, target) > 0 ? (double)NAN
                                                             : 0;
    case FACT_TIME: return layout_seconds(s->run->start_real_ns + s->elapsed_ns);
    case FACT_ELAPSED:
    case FACT_INTERVAL: return (double)s->elapsed_ns / 1e9;
    case FACT_HAS_GPUS: /* by now they would have shown */
        return s->run->gpus_unlisted || s->run->gpus_unread || s->run->gpu_count;
    default: return run_fact(s->run, fact, target);
    }
}

static const char *summary_name(const void *of, enum entity_kind kind, size_t number)
{
    const struct summary *s = of;
    if (kind == ENTITY_TARGET)
        return number && number <= s->run->target_count ? s->run->targets[number - 1].name : "";
    const struct instance_summary *t = find_summary(s, kind, number);
    return t ? entity_name(&t->instance->entity) : "";
}

static double summary_own(const void *of, const char *name)
{
    const struct mark_totals *m = &((const struct summary *)of)->marks;
    for (size_t i = 0; i < m->gauge_count; i++)
        if (strcmp(m->gauges[i].name, name) == 0)
            return m->gauges[i].max;
    return (double)NAN;
}

static enum space_kind summary_space(const void *of, size_t instance)
{
    const struct instance_summary *t = find_summary(of, ENTITY_MOUNT, instance);
    return t ? entity_space(&t->instance->entity) : SPACE_NONE;
}

struct layout_source summary_view_source(const struct summary *summary)
{
    return (struct layout_source){
        .of = summary,
        .figure = summary_figure,
        .count = summary_count,
        .fact = summary_fact,
        .name = summary_name,
        .own = summary_own,
        .space = summary_space,
        .is_summary = true,
        .run = summary->run,
        .end = &summary->whole.end,
        .is_partial = summary_is_partial,
    };
}
