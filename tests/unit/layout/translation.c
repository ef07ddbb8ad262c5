/* SPDX-License-Identifier: MIT */
#include "layout/translation.h"
#include "layout/layout.h"
#include "unit.h"

#include <math.h>

/* ---- translation ---------------------------------------------------------------------------- */

/* Rows of tables that are made up here, from figures that are. */

enum { TARGETS = 2, GPUS = 2 };

static const double unknown = (double)NAN;

/* What there is to see at one moment. */
struct moment {
    double elapsed, processes[TARGETS], pss[TARGETS], cpu[TARGETS], busy, idle;
    bool has_none; /* no target at all */
    double load[GPUS], power[GPUS];
};

static double figure(const void *of, const struct layout_place *place, enum layout_take take)
{
    const struct moment *m = of;
    size_t target = place->target ? place->target - 1 : 0;
    (void)take;
    if (place->kind == ENTITY_SYSTEM)
        return place->id == system_cpu_idle_seconds ? m->idle : m->busy;
    if (place->kind == ENTITY_GPU)
        return place->id == gpu_power_watts ? m->power[place->instance] : m->load[place->instance];
    switch (place->id) {
    case process_wall_seconds: return m->has_none ? unknown : m->elapsed;
    case process_processes_count: return m->processes[target];
    case process_memory_pss_bytes: return m->pss[target];
    case process_cpu_seconds: return m->cpu[target];
    default: return unknown;
    }
}

static bool pss_is_partial; /* it is that of some processes alone */

static bool is_partial(const void *of, const struct layout_place *place)
{
    (void)of;
    return pss_is_partial && place->id == process_memory_pss_bytes;
}

static size_t count_targets(const void *of, enum entity_kind kind)
{
    (void)of;
    return kind == ENTITY_TARGET ? TARGETS : kind == ENTITY_GPU ? GPUS : 0;
}

static double fact(const void *of, enum layout_fact fact, size_t target)
{
    (void)target;
    return fact == FACT_ELAPSED ? ((const struct moment *)of)->elapsed
           : fact == FACT_CPUS  ? 4
                                : unknown;
}

static const struct layout_column of_target[] = {
    {"processes", "target_processes", TAKE_VALUE, LAYOUT_INTEGER, .flags = ENDED_IS_ZERO},
    {"pss", "target_memory_pss_bytes", TAKE_VALUE, LAYOUT_INTEGER, .flags = NEEDED},
    {"cpu", "target_cpu_seconds", TAKE_RATE, .type = LAYOUT_FLOAT},
    {"machine", "system_cpu_seconds", TAKE_RATE, .type = LAYOUT_FLOAT},
};

enum { PROCESSES, PSS, CPU, MACHINE };

static const struct layout_column of_machine[] = {
    {"busy", "system_cpu_seconds", TAKE_SHARE, LAYOUT_FLOAT, .factor = 100, .flags = NEEDED,
     .per = "system_cpu_seconds + system_cpu_idle_seconds"},
};

static const struct layout_table targets = {.subject = SUBJECT_TARGET,
                                            .each = EACH_TARGET,
                                            .keeps_ended = true,
                                            .columns = of_target,
                                            .count = ARRAY_LEN(of_target)};

static const struct layout_table machine = {.columns = of_machine, .count = ARRAY_LEN(of_machine)};

static const struct layout_column of_gpu[] = {
    {"gpu", "@number", TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"load", "gpu.*.utilization_ratio", TAKE_VALUE, .type = LAYOUT_FLOAT},
    {"power", "gpu.*.power_watts", TAKE_VALUE, .type = LAYOUT_FLOAT},
};

static const struct layout_table gpus = {
    .each = EACH_GPU, .columns = of_gpu, .count = ARRAY_LEN(of_gpu)};

static const struct layout nobodys = {.facts.name = "nobody's"};

static const struct layout_choice choice = {.layout = &nobodys};

static const char *gpu_name(const void *of, enum entity_kind kind, size_t place)
{
    static const char *const names[] = {"nvidia0", "nvidia1"};
    return names[place % ARRAY_LEN(names)];
}

static int put(struct translation *t, const struct moment *m, bool last)
{
    struct layout_source source = {.of = m,
                                   .figure = figure,
                                   .count = count_targets,
                                   .name = gpu_name,
                                   .fact = fact,
                                   .is_paced = true,
                                   .is_partial = is_partial};
    return translation_put(t, &source, last);
}

static double cpu_at_mark(struct translation *t, const struct moment *m)
{
    struct layout_source source = {
        .of = m, .figure = figure, .count = count_targets, .fact = fact, .between = true};
    assert_int_equal(translation_put(t, &source, false), TARGETS);
    return translation_cell(t, 0, CPU)->number;
}

static double translation_at(const struct translation *t, size_t row, size_t column)
{
    return translation_cell(t, row, column)->number;
}

/* The row of the end has what was seen last; behind it there is one only for what was found later.
 */
static void test_translation_ends(void **state)
{
    struct translation t;
    assert_int_equal(translation_open(&t, &choice, &targets), 0);
    struct moment m = {1, {3, 1}, {70, 50}, {1, 0}, 0, 0, false, {0}, {0}};
    assert_int_equal(put(&t, &m, false), 2);
    m = (struct moment){2, {unknown, 1}, {unknown, 60}, {3, 0}, 0, 0, false, {0}, {0}};
    assert_int_equal(put(&t, &m, false), 2);
    assert_true(translation_at(&t, 0, PROCESSES) == 0 && translation_at(&t, 0, PSS) == 70 &&
                translation_at(&t, 0, CPU) == 2);
    assert_true(translation_at(&t, 1, PROCESSES) == 1 && translation_at(&t, 1, PSS) == 60);
    m.elapsed = 3;
    assert_int_equal(put(&t, &m, false), 1);
    assert_true(translation_at(&t, 0, PSS) == 60);
    m.elapsed = 4;
    m.cpu[0] = 4;
    assert_int_equal(put(&t, &m, false), 2);
    assert_true(translation_at(&t, 0, PROCESSES) == 0 && translation_at(&t, 0, CPU) == 1);
    m.processes[0] = 2; /* a name that others have again */
    m.elapsed = 5;
    assert_int_equal(put(&t, &m, false), 2);
    assert_true(translation_at(&t, 0, PROCESSES) == 2);
    m.processes[0] = m.processes[1] = unknown;
    m.elapsed = 6;
    assert_int_equal(put(&t, &m, true), 2);
    translation_done(&t);
}

/* Nothing was seen of it: there is no row. What may not be read of processes that live is unknown.
 */
static void test_translation_too_late(void **state)
{
    struct translation t;
    assert_int_equal(translation_open(&t, &choice, &targets), 0);
    struct moment m = {1, {unknown, 1}, {unknown, unknown}, {1, 1}, 0, 0, false, {0}, {0}};
    assert_int_equal(put(&t, &m, true), 1);
    assert_true(translation_at(&t, 0, PROCESSES) == 1 && isnan(translation_at(&t, 0, PSS)));
    translation_done(&t);
    assert_int_equal(translation_open(&t, &choice, &targets), 0);
    m.processes[1] = unknown;
    m.has_none = true; /* nobody has ended */
    assert_int_equal(put(&t, &m, true), 2);
    translation_done(&t);
}

/* Some milliseconds say nothing of a CPU: the rate is that of the row before, too. */
static void test_translation_short_end(void **state)
{
    struct translation t;
    assert_int_equal(translation_open(&t, &choice, &targets), 0);
    struct moment m = {1, {1, 1}, {1, 1}, {1, 0}, 0, 0, false, {0}, {0}};
    put(&t, &m, false);
    m.elapsed = 1.96;
    m.cpu[0] = 1.9;
    put(&t, &m, false);
    m.elapsed = 2;
    m.cpu[0] = 2;
    assert_int_equal(put(&t, &m, true), 1); /* the other one slept */
    assert_float_equal(translation_at(&t, 0, CPU), 1, 1e-9);
    translation_done(&t);
}

/* Rows may come somewhat closer than a tenth of a second, and of four CPUs the kernel's ticks make
 * more than four then. A rate in the last row is over at least a tenth of a second all the same,
 * and not over many rows more than that needs. */
static void test_translation_short_end_after_short_rows(void **state)
{
    static const double rows[] = {0.096, 0.05, 0.01};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct translation t;
        assert_int_equal(translation_open(&t, &choice, &targets), 0);
        struct moment m = {rows[i], {1, 1}, {1, 1}, {0, 0}, 0, 0, false, {0}, {0}};
        for (; m.elapsed < 1; m.elapsed += rows[i]) /* at first they sleep … */
            put(&t, &m, false);
        double woken = m.elapsed;
        for (; m.elapsed < woken + 0.4; m.elapsed += rows[i]) { /* … then all CPUs are busy */
            m.busy = m.cpu[0] = 4 * (m.elapsed - woken);
            put(&t, &m, false);
        }
        m.busy = m.cpu[0] = 4 * (m.elapsed - woken) + 0.02; /* ticks come all at once */
        put(&t, &m, false);
        m.elapsed += 0.0004;
        m.cpu[0] += 0.001;
        assert_int_equal(put(&t, &m, true), 1);
        assert_float_equal(translation_at(&t, 0, MACHINE), 4,
                           0.25); /* not of the time in which they slept */
        assert_float_equal(translation_at(&t, 0, CPU), 4, 0.25);
        translation_done(&t);
    }
}

/* Of a run of milliseconds the CPU of the machine is not known: it is counted in hundredths of a
 * second. What a process used is known, unless it would be more than there is. */
static void test_translation_short_run(void **state)
{
    static const struct {
        double elapsed, cpu, busy, expected_cpu, expected_busy;
    } runs[] = {
        {0.003, 0.0015, 0, 0.5, NAN},    {0.003, 0.0015, 0.01, 0.5, NAN},
        {0.004, 0.0200, 0, NAN, NAN},    {0.050, 0.0250, 0.05, 0.5, 1},
        {0.050, 0.0250, 0.25, 0.5, NAN}, {0.200, 0.1000, 0.20, 0.5, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        struct translation t;
        assert_int_equal(translation_open(&t, &choice, &targets), 0);
        struct moment m = {runs[i].elapsed, {1, 1}, {1, 1}, {runs[i].cpu, 0}, runs[i].busy, 0,
                           false,           {0},    {0}};
        assert_int_equal(put(&t, &m, true), TARGETS);
        const double expected[] = {runs[i].expected_cpu, runs[i].expected_busy};
        for (size_t column = 0; column < 2; column++) {
            double found = translation_at(&t, 0, CPU + column);
            assert_int_equal(isnan(found), isnan(expected[column]));
            if (!isnan(found))
                assert_float_equal(found, expected[column], 1e-9);
        }
        translation_done(&t);
    }
}

/* An end some milliseconds behind a row is told when there is anything to tell. */
static void test_translation_end_behind_a_row(void **state)
{
    for (int grows = 0; grows < 2; grows++) {
        struct translation t;
        assert_int_equal(translation_open(&t, &choice, &targets), 0);
        struct moment m = {1, {1, 1}, {1, 1}, {1, 1}, 0, 0, false, {0}, {0}};
        put(&t, &m, false);
        m.elapsed = 2;
        assert_int_equal(put(&t, &m, false), TARGETS); /* in which they slept */
        m.elapsed = 2.003;
        m.cpu[0] += 0.001 * grows;
        assert_int_equal(put(&t, &m, true), grows);
        translation_done(&t);
    }
}

/* A moment at a mark has no rate, and one just behind a mark has that of the row before, too. */
static void test_translation_marks(void **state)
{
    struct translation t;
    assert_int_equal(translation_open(&t, &choice, &targets), 0);
    struct moment m = {1, {1, 1}, {1, 1}, {1, 0}, 0, 0, false, {0}, {0}};
    put(&t, &m, false);
    m.elapsed = 1.005;
    m.cpu[0] = 1.02;
    assert_true(isnan(cpu_at_mark(&t, &m)));
    m.elapsed = 1.5;
    m.cpu[0] = 1.25;
    assert_float_equal(cpu_at_mark(&t, &m), 0.5, 1e-9); /* since the last row that had one */
    m.elapsed = 1.51;
    m.cpu[0] = 1.28;
    assert_true(isnan(cpu_at_mark(&t, &m)));
    m.elapsed = 1.52;
    m.cpu[0] = 1.26 + 0.26;
    put(&t, &m, false);
    assert_float_equal(translation_at(&t, 0, CPU), 1, 1e-9); /* of 0.52 s */
    m.elapsed = 1.57;
    m.cpu[0] = 1.57;
    put(&t, &m, false);
    assert_float_equal(translation_at(&t, 0, CPU), 1,
                       1e-9); /* what is sampled so often has rates as often */
    translation_done(&t);
}

/* What is read seldom stands until it is read again, but not when it was read and lacks a process:
 * then it is unknown until all of it is there. */
static void test_translation_parts(void **state)
{
    struct translation t;
    assert_int_equal(translation_open(&t, &choice, &targets), 0);
    struct moment m = {.elapsed = 1, .processes = {2, 2}, .pss = {50, 60}};
    assert_int_equal(put(&t, &m, false), TARGETS);
    m = (struct moment){.elapsed = 2, .processes = {2, 2}, .pss = {unknown, unknown}};
    assert_int_equal(put(&t, &m, false), TARGETS);
    assert_true(translation_at(&t, 0, PSS) == 50);
    m.elapsed = 3;
    pss_is_partial = true;
    assert_int_equal(put(&t, &m, false), TARGETS);
    assert_true(isnan(translation_at(&t, 0, PSS)) && isnan(translation_at(&t, 1, PSS)));
    m.elapsed = 4; /* not read */
    pss_is_partial = false;
    assert_int_equal(put(&t, &m, false), TARGETS);
    assert_true(isnan(translation_at(&t, 0, PSS)));
    m = (struct moment){.elapsed = 5, .processes = {2, 2}, .pss = {70, 60}};
    assert_int_equal(put(&t, &m, false), TARGETS);
    assert_true(translation_at(&t, 0, PSS) == 70);
    translation_done(&t);
}

/* A share is of what all grew by, whatever time it took; there is none of nothing. */
static void test_translation_shares(void **state)
{
    struct translation t;
    assert_int_equal(translation_open(&t, &choice, &machine), 0);
    struct moment m = {.elapsed = 1, .busy = 3, .idle = 1};
    assert_int_equal(put(&t, &m, false), 1);
    assert_true(translation_at(&t, 0, 0) == 75);
    m = (struct moment){.elapsed = 1.5, .busy = 3, .idle = 1};
    assert_int_equal(put(&t, &m, false), 0);
    m = (struct moment){.elapsed = 2, .busy = 4, .idle = unknown};
    assert_int_equal(put(&t, &m, false), 0);
    m = (struct moment){.elapsed = 3, .busy = 4, .idle = 4};
    assert_int_equal(put(&t, &m, false), 1);
    assert_true(translation_at(&t, 0, 0) == 25);
    translation_done(&t);
}

/* A GPU has a row when any of its figures is known. */
static void test_translation_gpus(void **state)
{
    struct translation t;
    assert_int_equal(translation_open(&t, &choice, &gpus), 0);
    struct moment m = {.elapsed = 1, .load = {0.5, 0}, .power = {unknown, 20}};
    assert_int_equal(put(&t, &m, false), 2);
    assert_true(translation_at(&t, 0, 1) == 0.5 && isnan(translation_at(&t, 0, 2)) &&
                translation_at(&t, 1, 2) == 20);
    m = (struct moment){.elapsed = 2, .load = {unknown, 0.25}, .power = {unknown, unknown}};
    assert_int_equal(put(&t, &m, false), 1);
    assert_true(translation_at(&t, 0, 0) == 1 && translation_at(&t, 0, 1) == 0.25);
    translation_done(&t);
}

static const char *name_in_list(const void *of, enum entity_kind kind, size_t place)
{
    return ((const char *const *)of)[place];
}

/* As the machine counts them where that is clear, otherwise by their places. */
static void test_gpu_numbers(void **state)
{
    static const char *const chosen[] = {"nvidia2", "nvidia7"},
                             *const mixed[] = {"amd1", "nvidia1"},
                             *const parts[] = {"nvidia2", "nvidia3:1"},
                             *const unnamed[] = {NULL, "nvidia"};
    const struct {
        const char *const *names;
        size_t numbers[2];
    } cases[] = {{chosen, {2, 7}}, {mixed, {0, 1}}, {parts, {0, 1}}, {unnamed, {0, 1}}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t place = 0; place < 2; place++)
            assert_int_equal(gpu_number(cases[i].names, name_in_list, 2, place),
                             cases[i].numbers[place]);
}

/* ---- terms ---------------------------------------------------------------------------------- */

static void test_terms_figures(void **state)
{
    struct terms t;
    assert_int_equal(terms_parse(&t, "main_memory_rss_bytes"), 0);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.items[0].of, TERM_FIGURE);
    assert_int_equal(t.items[0].kind, ENTITY_TARGET);
    assert_int_equal(t.items[0].part, PART_MAIN);
    assert_int_equal(t.items[0].id, process_memory_rss_bytes);
    assert_int_equal(terms_parse(&t, "system_memory_total_bytes - system_memory_free_bytes + "
                                     "self_cpu_seconds"),
                     0);
    assert_int_equal(t.count, 3);
    assert_false(t.items[0].minus);
    assert_true(t.items[1].minus);
    assert_false(t.items[2].minus);
    assert_int_equal(t.items[2].kind, ENTITY_SELF);
    assert_true(terms_have(&t, ENTITY_SYSTEM));
    assert_false(terms_have(&t, ENTITY_TARGET));
}

static void test_terms_instances_facts_options(void **state)
{
    struct terms t;
    assert_int_equal(terms_parse(&t, "mount.*.size_bytes - mount.*.available_bytes"), 0);
    assert_int_equal(t.items[1].of, TERM_SUM);
    assert_int_equal(t.items[1].id, mount_available_bytes);
    assert_int_equal(terms_parse(&t, "mount./.used_ratio"), 0);
    assert_int_equal(t.items[0].of, TERM_ROOT);
    assert_int_equal(t.items[0].id, mount_used_ratio);
    assert_int_equal(terms_parse(&t, "gpu.*"), 0);
    assert_int_equal(t.items[0].of, TERM_COUNT);
    assert_int_equal(terms_parse(&t, "gpu.*.utilization_ratio>0"), 0);
    assert_int_equal(t.items[0].of, TERM_ABOVE_ZERO);
    assert_int_equal(t.items[0].id, gpu_utilization_ratio);
    assert_int_equal(terms_parse(&t, "@own_pid"), 0);
    assert_int_equal(t.items[0].fact, FACT_OWN_PID);
    assert_int_equal(terms_parse(&t, "gpu.*.power_watts^"), 0);
    assert_int_equal(t.items[0].of, TERM_LARGEST);
    assert_int_equal(t.items[0].id, gpu_power_watts);
    assert_int_equal(terms_parse(&t, "~loss"), 0);
    assert_int_equal(t.items[0].of, TERM_OWN);
    assert_string_equal(t.items[0].option, "loss");
    assert_int_equal(terms_parse(&t, "=ram_unit"), 0);
    assert_string_equal(t.items[0].option, "ram_unit");
}

static void test_terms_what_is_none(void **state)
{
    static const char *const wrong[] = {
        "",
        " ",
        "target_memory",
        "target_cpu_seconds -",
        "target_cpu_seconds  + main_cpu_seconds",
        "target_cpu_seconds * main_cpu_seconds",
        "@nothing",
        "planet.*",
        "gpu.*.weight",
        "gpu.*.^",
        "mount./",
        "mount./x",
        "gpu.*utilization_ratio",
        "gpu.*.utilization_ratio>00",
        "@pid + @pid + @pid + @pid + @pid + @pid + @pid",
    };
    struct terms t;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_int_equal(terms_parse(&t, wrong[i]), -EINVAL);
}

/* ---- layouts -------------------------------------------------------------------------------- */

/* Every table of every layout can be read: figures, options, labels, words. */

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static unsigned dots(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '.';
    return count;
}

static void check_option(const struct layout *d, const char *name)
{
    if (name)
        assert_true(layout_option_number(d, name, strlen(name)) >= 0);
}

/* An option, or terms. */
static void check_terms(const struct layout *d, const char *text)
{
    struct terms terms;
    if (text && layout_option_number(d, text, strlen(text)) < 0)
        assert_int_equal(terms_parse(&terms, text), 0);
}

static void check_column(const struct layout *d, const struct layout_table *t,
                         const struct layout_column *c)
{
    struct terms terms;
    if (terms_parse(&terms, c->terms) < 0)
        fail_msg("%s: %s: %s", d->facts.name, c->name, c->terms);
    check_option(d, c->scale);
    check_terms(d, c->per);
    check_terms(d, c->otherwise);
    if (terms.items[0].of == TERM_OPTION)
        check_option(d, terms.items[0].option);
    bool is_document = !layout_table_is_sampled(t);
    if (strcmp(t->format, "text") == 0 && !t->separator && !t->template)
        assert_int_equal(dots(c->label), dots(c->name));
    if (is_document)
        assert_true(c->take != TAKE_DELTA && c->take != TAKE_RATE);
    else
        assert_true(c->take != TAKE_MAX && c->take != TAKE_MEAN);
    for (size_t i = 0; i < terms.count; i++) {
        const struct term *term = &terms.items[i];
        if (term->of != TERM_FIGURE && term->of != TERM_SUM)
            continue;
        bool of_counter = metric_of(term->id)->kind == METRIC_COUNTER;
        if (c->take == TAKE_DELTA || c->take == TAKE_RATE || c->take == TAKE_TOTAL ||
            c->take == TAKE_SHARE)
            assert_true(of_counter);
    }
    if (c->take == TAKE_SHARE)
        assert_non_null(c->per);
    for (const struct layout_column *other = t->columns; other < c; other++)
        assert_string_not_equal(other->name, c->name);
}

static void test_layouts_tables(void **state)
{
    for (size_t i = 0; layouts[i]; i++) {
        const struct layout *d = layouts[i];
        assert_true(d->option_count <= LAYOUT_OPTIONS_AT_MOST);
        for (size_t k = 0; k < d->table_count; k++) {
            const struct layout_table *t = &d->tables[k];
            assert_true(has_word(d->facts.formats, t->format));
            assert_true(t->count > 0);
            for (size_t c = 0; c < t->count; c++)
                check_column(d, t, &t->columns[c]);
            for (size_t c = 0; t->preface && c < t->preface->count; c++)
                check_column(d, t->preface, &t->preface->columns[c]);
        }
    }
}

/* What stands for an option that is not given, and what is given by default, is accepted. */
static void test_layouts_options(void **state)
{
    for (size_t i = 0; layouts[i]; i++) {
        struct layout_choice c;
        struct toll_error e = {0};
        if (layout_choice_parse(&c, layouts[i]->facts.name, &e) < 0)
            fail_msg("%s", e.message);
        layout_choice_done(&c);
        for (size_t k = 0; k < layouts[i]->option_count; k++) {
            const struct layout_option *o = &layouts[i]->options[k];
            struct terms terms;
            assert_non_null(o->help);
            if (o->otherwise)
                assert_int_equal(terms_parse(&terms, o->otherwise), 0);
        }
    }
}

/* ---- python number -------------------------------------------------------------------------- */

/* What Python 3 prints for them. */
static void test_python_number_float(void **state)
{
    static const struct {
        double value;
        const char *text;
    } all[] = {
        {0, "0.0"},
        {1, "1.0"},
        {-2.5, "-2.5"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {63.0882304, "63.0882304"},
        {2399.9201279999997, "2399.9201279999997"},
        {0.0001, "0.0001"},
        {0.00001, "1e-05"},
        {0.000012345, "1.2345e-05"},
        {123456789012345680.0, "1.2345678901234568e+17"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {9007199254740993.0, "9007199254740992.0"},
        {1794813586.9341764, "1794813586.9341764"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "null"},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct buf b = {0};
        python_float(&b, all[i].value);
        assert_string_equal(b.data, all[i].text);
        buf_done(&b);
    }
}

static void test_python_number_round(void **state)
{
    assert_float_equal(python_round(0.70985, 4), 0.7098, 0); /* 0.70984999999999998 */
    assert_float_equal(python_round(2.675, 2), 2.67, 0);     /* 2.67499999999999982 */
    assert_float_equal(python_round(0.5, 3), 0.5, 0);
    assert_float_equal(python_round(63.08823, 3), 63.088, 0);
    assert_float_equal(python_round(1e300, 3), 1e300, 0);
}

static void test_python_number_integer(void **state)
{
    static const struct {
        double value;
        const char *text;
    } all[] = {{0, "0"},      {-0.2, "0"},   {41.6, "42"}, {-3, "-3"}, {1e15, "1000000000000000"},
               {NAN, "null"}, {1e30, "null"}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct buf b = {0};
        python_integer(&b, all[i].value);
        assert_string_equal(b.data, all[i].text);
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_translation_ends),
        cmocka_unit_test(test_translation_too_late),
        cmocka_unit_test(test_translation_short_end),
        cmocka_unit_test(test_translation_short_end_after_short_rows),
        cmocka_unit_test(test_translation_short_run),
        cmocka_unit_test(test_translation_end_behind_a_row),
        cmocka_unit_test(test_translation_marks),
        cmocka_unit_test(test_translation_shares),
        cmocka_unit_test(test_translation_parts),
        cmocka_unit_test(test_translation_gpus),
        cmocka_unit_test(test_gpu_numbers),
        cmocka_unit_test(test_terms_figures),
        cmocka_unit_test(test_terms_instances_facts_options),
        cmocka_unit_test(test_terms_what_is_none),
        cmocka_unit_test(test_layouts_tables),
        cmocka_unit_test(test_layouts_options),
        cmocka_unit_test(test_python_number_float),
        cmocka_unit_test(test_python_number_round),
        cmocka_unit_test(test_python_number_integer),
    };
    return RUN("layout/translation", tests);
}
