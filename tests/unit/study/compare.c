/* SPDX-License-Identifier: MIT */
#include "study/compare.h"

#include "scratch.h"

/* ==== Conditions ============================================================================== */

static int parse(const char *text, struct condition *ret, struct toll_error *e)
{
    char *copy = exact_copy(text, strlen(text));
    int r = condition_parse(copy, strlen(text), ret, e);
    free(copy);
    return r;
}

static void test_condition_parse(void **state)
{
    static const struct {
        const char *text;
        struct condition is;
    } good[] = {
        {"memory_peak > 2G", {FIGURE_MEMORY_PEAK, IS_ABOVE, false, false, 0x1p31}},
        {"memory_peak_bytes>=2GB", {FIGURE_MEMORY_PEAK, IS_AT_LEAST, false, false, 2e9}},
        {" memory_peak  >  512Mi ", {FIGURE_MEMORY_PEAK, IS_ABOVE, false, false, 0x1p29}},
        {"memory_peak > 1.5k", {FIGURE_MEMORY_PEAK, IS_ABOVE, false, false, 1536}},
        {"memory_peak > 1T", {FIGURE_MEMORY_PEAK, IS_ABOVE, false, false, 0x1p40}},
        {"cpu_seconds > +5%", {FIGURE_CPU, IS_ABOVE, true, true, 0.05}},
        {"cpu > +5 %", {FIGURE_CPU, IS_ABOVE, true, true, 0.05}},
        {"cpu < -10%", {FIGURE_CPU, IS_BELOW, true, true, -0.1}},
        {"memory_peak > +100M", {FIGURE_MEMORY_PEAK, IS_ABOVE, true, false, 104857600}},
        {"time <= 250ms", {FIGURE_WALL, IS_AT_MOST, false, false, 0.25}},
        {"time > 2m", {FIGURE_WALL, IS_ABOVE, false, false, 120}},
        {"time > 1h", {FIGURE_WALL, IS_ABOVE, false, false, 3600}},
        {"time > 90", {FIGURE_WALL, IS_ABOVE, false, false, 90}},
        {"processes == 1", {FIGURE_PROCESSES, IS_EQUAL, false, false, 1}},
        {"cores < 1.5", {FIGURE_CORES_MEAN, IS_BELOW, false, false, 1.5}},
        {"energy > 2kJ", {FIGURE_ENERGY, IS_ABOVE, false, false, 2000}},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct condition c;
        struct toll_error e = {0};
        if (parse(good[i].text, &c, &e) < 0)
            fail_msg("%s: %s", good[i].text, e.message);
        assert_int_equal(c.figure, good[i].is.figure);
        assert_int_equal(c.operator, good[i].is.operator);
        assert_int_equal(c.is_relative, good[i].is.is_relative);
        assert_int_equal(c.is_percent, good[i].is.is_percent);
        assert_true(c.limit == good[i].is.limit);
    }
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"", "no figure"},
        {"> 2G", "no figure"},
        {"memory_pek > 2G", "unknown figure 'memory_pek' (did you mean 'memory_peak'?)"},
        {"bananas > 2", "expected one of time, cpu"},
        {"memory_peak", "no operator after 'memory_peak' (expected >, >=, <, <= or ==)"},
        {"memory_peak = 2G", "no operator"},
        {"memory_peak => 2G", "invalid operator '=>' after 'memory_peak' (expected >=)"},
        {"memory_peak =< 2G", "invalid operator '=<' after 'memory_peak' (expected <=)"},
        {"memory_peak != 2G", "no operator"},
        {"memory_peak > ", "invalid limit ''"},
        {"memory_peak > 2X", "invalid limit '2X' (expected a size such as 512M"},
        {"memory_peak > 2s", "invalid limit '2s'"},
        {"time > 2G", "invalid limit '2G' (expected a time such as 90s"},
        {"memory_peak > 2G 3G", "invalid limit"},
        {"cpu > 5%", "'5%' has no sign (expected +5% or -5%"},
        {"cpu > +", "invalid limit '+'"},
        {"cpu > ++5%", "invalid limit"},
        {"cpu > 1e999", "invalid limit"},
        {"cpu > nan", "invalid limit"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct condition c;
        struct toll_error e = {0};
        memset(&c, UNTOUCHED, sizeof c);
        assert_int_equal(parse(bad[i].text, &c, &e), -EINVAL);
        assert_true(is_untouched(&c, sizeof c));
        if (!strstr(e.message, bad[i].why))
            fail_msg("%s: %s", bad[i].text, e.message);
    }
}

static enum toll_judged judge(const char *text, struct study_value value,
                              const struct study_value *baseline, const char *sentence)
{
    struct condition c;
    struct toll_error e = {0};
    struct buf b = {0};
    struct condition_side v = {value, 1, 1}, base = {{0}, 1, 1};
    assert_int_equal(parse(text, &c, &e), 0);
    if (baseline)
        base.value = *baseline;
    enum toll_judged judged = condition_judge(&c, &v, baseline ? &base : NULL, &b);
    assert_false(buf_failed(&b));
    assert_string_equal(b.data, sentence);
    buf_done(&b);
    return judged;
}

static void test_condition_judge(void **state)
{
    const struct study_value exact = {2.3 * 0x1p30, QUALITY_EXACT}, none = {0},
                             bound = {2.3 * 0x1p30, QUALITY_LOWER_BOUND},
                             base = {0x1p31, QUALITY_EXACT},
                             base_bound = {0x1p31, QUALITY_LOWER_BOUND};
    assert_int_equal(judge("memory_peak > 2G", exact, NULL,
                           "memory_peak was 2.30 GiB, above the limit of 2.00 GiB"),
                     TOLL_FAILED);
    assert_int_equal(judge("memory_peak > 3G", exact, NULL,
                           "memory_peak was 2.30 GiB, not above the limit of 3.00 GiB"),
                     TOLL_PASSED);
    assert_int_equal(judge("memory_peak > 2G", bound, NULL,
                           "memory_peak was at least 2.30 GiB, above the limit of 2.00 GiB"),
                     TOLL_FAILED);
    assert_int_equal(judge("memory_peak > 3G", bound, NULL,
                           "memory_peak was at least 2.30 GiB; whether that is above the limit of "
                           "3.00 GiB is unknown, since a lower bound may be too low"),
                     TOLL_NOT_PROVEN);
    assert_int_equal(judge("memory_peak < 3G", bound, NULL,
                           "memory_peak was at least 2.30 GiB; whether that is below the limit of "
                           "3.00 GiB is unknown, since a lower bound may be too low"),
                     TOLL_NOT_PROVEN);
    assert_int_equal(judge("memory_peak < 2G", bound, NULL,
                           "memory_peak was at least 2.30 GiB, not below the limit of 2.00 GiB"),
                     TOLL_PASSED);
    assert_int_equal(judge("memory_peak > 2G", none, NULL,
                           "memory_peak cannot be checked: it is unknown in this run"),
                     TOLL_FAILED);
    assert_int_equal(judge("memory_peak > +5%", exact, &base,
                           "memory_peak was 2.30 GiB, +15 % from the baseline of 2.00 GiB, above "
                           "the limit of +5 %"),
                     TOLL_FAILED);
    assert_int_equal(judge("memory_peak > +20%", exact, &base,
                           "memory_peak was 2.30 GiB, +15 % from the baseline of 2.00 GiB, not "
                           "above the limit of +20 %"),
                     TOLL_PASSED);
    assert_int_equal(
        judge("memory_peak > +100M", exact, &base,
              "memory_peak was 2.30 GiB, +307 MiB from the baseline of 2.00 GiB, above "
              "the limit of +100 MiB"),
        TOLL_FAILED);
    /* The baseline may have been larger than it looks. */
    assert_int_equal(
        judge("memory_peak > +5%", exact, &base_bound,
              "memory_peak was 2.30 GiB, +15 % from the baseline of at least 2.00 GiB; "
              "whether that is above the limit of +5 % is unknown, since a lower bound "
              "may be too low"),
        TOLL_NOT_PROVEN);
    assert_int_equal(
        judge("memory_peak > +20%", exact, &base_bound,
              "memory_peak was 2.30 GiB, +15 % from the baseline of at least 2.00 GiB, "
              "not above the limit of +20 %"),
        TOLL_PASSED);
    assert_int_equal(judge("memory_peak > +5%", exact, &none,
                           "memory_peak cannot be checked: it is unknown in the baseline"),
                     TOLL_FAILED);
    assert_int_equal(judge("memory_peak > +5%", exact, NULL,
                           "memory_peak cannot be checked: the baseline has no runs"),
                     TOLL_NOT_PROVEN);
}

static void test_unknown_in_some_runs(void **state)
{
    const struct condition_side some = {{0x1p31, QUALITY_EXACT}, 5, 6};
    static const struct {
        const char *text, *sentence;
        enum toll_judged judged;
    } cases[] = {
        {"memory_peak > 3G",
         "memory_peak was 2.00 GiB (mean of 5 runs), not above the limit of 3.00 GiB; unknown in 1 "
         "of 6 runs",
         TOLL_NOT_PROVEN},
        {"memory_peak > 1G",
         "memory_peak was 2.00 GiB (mean of 5 runs), above the limit of 1.00 GiB; unknown in 1 of "
         "6 runs",
         TOLL_FAILED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct condition c;
        struct toll_error e = {0};
        struct buf b = {0};
        assert_int_equal(parse(cases[i].text, &c, &e), 0);
        assert_int_equal(condition_judge(&c, &some, NULL, &b), cases[i].judged);
        assert_string_equal(b.data, cases[i].sentence);
        buf_done(&b);
    }
}

/* ==== Comparisons of made-up runs ============================================================= */

static double random_share(uint64_t *seed)
{
    return (double)(next_random(seed) >> 11) * 0x1p-53;
}

/* Nearly normal, mean 0, deviation 1. */
static double random_normal(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += random_share(seed);
    return sum;
}

struct noise {
    double sd;    /* of time and CPU time, as a share */
    bool is_wild; /* now and then a run is disturbed and takes up to 20 % longer */
};

static char empty[] = "", path[] = "made up";

/* A job of a second and 100 MiB, times `slower` and `larger`. */
static void add_run(struct compare_group *g, uint64_t *seed, struct noise noise, double slower,
                    double larger)
{
    struct study_run *r = &g->runs.items[g->runs.count++];
    double load = noise.is_wild && random_below(seed, 10) == 0 ? 1 + 0.2 * random_share(seed) : 1;
    double cpu = slower * load * (1 + noise.sd * random_normal(seed));
    double rss = larger * 100e6 * (1 + noise.sd / 2 * random_normal(seed));
    *r = (struct study_run){.path = path, .id = empty, .name = empty};
    r->end.ended = true;
    for (unsigned f = 0; f < STUDY_FIGURES; f++) /* each with its own noise */
        r->figures[f] = (struct study_value){50e6 * (1 + noise.sd * random_normal(seed)),
                                             QUALITY_EXACT};
    r->figures[FIGURE_CPU].value = cpu;
    r->figures[FIGURE_CPU_USER].value = 0.8 * cpu;
    r->figures[FIGURE_CPU_SYSTEM].value = 0.2 * cpu;
    r->figures[FIGURE_WALL].value = cpu * (1.2 + 0.5 * noise.sd * random_normal(seed));
    r->figures[FIGURE_CORES_MEAN].value = cpu / r->figures[FIGURE_WALL].value;
    r->figures[FIGURE_CORES_P90].value = 1;
    r->figures[FIGURE_MEMORY_PEAK] = (struct study_value){rss, QUALITY_SAMPLED};
    r->figures[FIGURE_MEMORY_MEAN].value = 0.7 * rss;
    r->figures[FIGURE_PSS_PEAK].value = 0.9 * rss;
    r->figures[FIGURE_SWAP_PEAK].value = 0;
    r->figures[FIGURE_FAULTS_MAJOR].value = (double)random_below(seed, 3);
    r->figures[FIGURE_PROCESSES].value = 3;
    r->figures[FIGURE_PROCESSES_PEAK].value = 2 + (double)random_below(seed, 2);
    r->figures[FIGURE_THREADS_PEAK].value = 4;
    r->figures[FIGURE_GPU_MEMORY_PEAK].quality = QUALITY_UNKNOWN;
}

static struct toll_compared *made_up(uint64_t *seed, size_t runs, struct noise noise, double slower,
                                     double larger)
{
    static const char *const names[] = {"old", "new"};
    struct toll_compared *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->groups = calloc(2, sizeof *c->groups);
    assert_non_null(c->groups);
    c->group_count = 2;
    for (unsigned i = 0; i < 2; i++) {
        struct compare_group *g = &c->groups[i];
        g->text = strdup(names[i]);
        g->shown = strdup(names[i]);
        g->runs.items = calloc(runs, sizeof *g->runs.items);
        g->is_used = calloc(runs, sizeof *g->is_used);
        assert_true(g->text && g->shown && g->runs.items && g->is_used);
        g->used = runs;
        for (size_t k = 0; k < runs; k++) {
            add_run(g, seed, noise, i ? slower : 1, i ? larger : 1);
            g->is_used[k] = true;
        }
    }
    return c;
}

static void free_made_up(struct toll_compared *c)
{
    for (size_t i = 0; i < 2; i++)
        c->groups[i].runs.count = 0; /* strings of runs are static here */
    toll_compared_free(c);
}

static const struct compare_row *row(const struct toll_compared *c, enum study_figure f)
{
    for (size_t i = 0; i < c->row_count; i++)
        if (c->rows[i].figure == f && !c->rows[i].phase)
            return &c->rows[i];
    return NULL;
}

static bool is_shown(const struct toll_compared *c, enum study_figure f)
{
    const struct compare_row *r = row(c, f);
    return r && r->changes[1].result == COMPARE_SHOWN;
}

static const struct noise noises[] = {{0.01, false}, {0.02, false}, {0.02, true}};

/* Of a hundred comparisons of identical jobs at least 95 show no difference in any figure. */
static void test_identical_runs(void **state)
{
    static const size_t counts[] = {2, 3, 5, 10, 30};
    uint64_t seed = 1;
    for (size_t n = 0; n < ARRAY_LEN(noises); n++)
        for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
            unsigned alarms = 0;
            for (unsigned trial = 0; trial < 100; trial++) {
                struct toll_compared *c = made_up(&seed, counts[k], noises[n], 1, 1);
                assert_int_equal(compare_groups(c), 0);
                bool any = false;
                for (size_t i = 0; i < c->row_count; i++)
                    any |= c->rows[i].changes[1].result == COMPARE_SHOWN;
                alarms += any;
                free_made_up(c);
            }
            if (alarms > 5)
                fail_msg("noise %zu, %zu runs: %u of 100 are false alarms", n, counts[k], alarms);
        }
}

/* 5 % more time, or 5 % more memory, is found with ten runs each. */
static void test_five_percent(void **state)
{
    uint64_t seed = 2;
    for (size_t n = 0; n < 2; n++) {
        unsigned slower = 0, larger = 0, wrong = 0;
        for (unsigned trial = 0; trial < 100; trial++) {
            struct toll_compared *c = made_up(&seed, 10, noises[n], 1.05, 1);
            assert_int_equal(compare_groups(c), 0);
            slower += is_shown(c, FIGURE_WALL) && is_shown(c, FIGURE_CPU);
            wrong += is_shown(c, FIGURE_MEMORY_PEAK);
            free_made_up(c);
            c = made_up(&seed, 10, noises[n], 1, 1.05);
            assert_int_equal(compare_groups(c), 0);
            larger += is_shown(c, FIGURE_MEMORY_PEAK);
            wrong += is_shown(c, FIGURE_WALL) || is_shown(c, FIGURE_CPU);
            free_made_up(c);
        }
        if (slower < 90 || larger < 95 || wrong > 5)
            fail_msg("noise %zu: slower %u, larger %u of 100; wrong %u", n, slower, larger, wrong);
    }
}

static void assert_verdict(const struct toll_compared *c, const char *expected)
{
    struct buf b = {0};
    compare_put_verdict(&b, c, 1);
    assert_false(buf_failed(&b));
    assert_string_equal(b.data, expected);
    buf_done(&b);
}

static void set_figure(struct toll_compared *c, size_t group, enum study_figure f, double value,
                       enum quality quality)
{
    for (size_t i = 0; i < c->groups[group].runs.count; i++)
        c->groups[group].runs.items[i].figures[f] = (struct study_value){value, quality};
}

static void test_verdicts(void **state)
{
    const struct noise calm = {0.0001, false};
    uint64_t seed = 3;
    struct toll_compared *c = made_up(&seed, 5, calm, 1.12, 1);
    set_figure(c, 0, FIGURE_CPU_USER, 1, QUALITY_EXACT);
    set_figure(c, 1, FIGURE_CPU_USER, 1, QUALITY_EXACT);
    set_figure(c, 0, FIGURE_CPU_SYSTEM, 1, QUALITY_EXACT);
    set_figure(c, 1, FIGURE_CPU_SYSTEM, 1, QUALITY_EXACT);
    assert_int_equal(compare_groups(c), 0);
    assert_verdict(c, "new is 12 % slower, uses 12 % more CPU time and the same memory");
    free_made_up(c);

    c = made_up(&seed, 1, calm, 1.12, 1);
    assert_int_equal(compare_groups(c), 0);
    assert_int_equal(row(c, FIGURE_WALL)->changes[1].result, COMPARE_SINGLE);
    struct buf b = {0};
    compare_put_verdict(&b, c, 1);
    assert_non_null(strstr(b.data, "new: one run each: a difference cannot be tested; time +12"));
    buf_done(&b);
    free_made_up(c);

    /* A lower bound below the other shows nothing; one that is above does. */
    c = made_up(&seed, 5, calm, 1, 1);
    set_figure(c, 1, FIGURE_MEMORY_PEAK, 50e6, QUALITY_LOWER_BOUND);
    assert_int_equal(compare_groups(c), 0);
    assert_verdict(c, "new: no difference shown in time and CPU time; memory cannot be compared "
                      "(lower bounds)");
    free_made_up(c);
    c = made_up(&seed, 5, calm, 1, 1);
    set_figure(c, 0, FIGURE_MEMORY_PEAK, 100e6, QUALITY_EXACT);
    set_figure(c, 1, FIGURE_MEMORY_PEAK, 150e6, QUALITY_LOWER_BOUND);
    assert_int_equal(compare_groups(c), 0);
    assert_verdict(c, "new uses at least 50 % more memory, takes the same time and uses the same "
                      "CPU time");
    free_made_up(c);

    /* Unknown in one group is named, in both left out. */
    c = made_up(&seed, 5, calm, 1, 1);
    set_figure(c, 1, FIGURE_MEMORY_PEAK, 0, QUALITY_UNKNOWN);
    assert_int_equal(compare_groups(c), 0);
    assert_null(row(c, FIGURE_GPU_MEMORY_PEAK));
    assert_int_equal(row(c, FIGURE_MEMORY_PEAK)->changes[1].result, COMPARE_UNKNOWN);
    assert_verdict(c, "new: no difference shown in time and CPU time; memory cannot be compared "
                      "(unknown)");
    free_made_up(c);
}

/* ==== Gates =================================================================================== */

#define A_RUN(id, name, wall)                                                                      \
    "{\"type\":\"run\",\"schema\":\"toll.record/1\",\"id\":\"01a1ed27-6fe0-7f3e-ac1a-"             \
    "30f2193ce9" id "\",\"name\":\"" name "\",\"command\":[\"" name "\"],\"start\":"               \
    "\"2026-11-18T05:00:00.000Z\"}\n"                                                              \
    "{\"type\":\"summary\",\"schema\":\"toll.summary/1\",\"wall_seconds\":" wall                   \
    ",\"end\":{\"status\":\"exited\",\"code\":0},\"target\":{\"combined\":{}}}\n"

static struct toll_gate *gate(const char *baseline, int expected)
{
    const char *const groups[] = {baseline, NULL}, *const conditions[] = {"time > +5%", NULL};
    struct toll_compare asked = {
        .size = sizeof asked, .groups = groups, .conditions = conditions, .in = scratch};
    struct toll_error e = {0};
    struct toll_gate *g = NULL;
    int r = toll_gate_new(&g, &asked, &e);
    if (r != expected)
        fail_msg("%s: %d, not %d: %s", baseline, r, expected, e.message);
    assert_true((g != NULL) == (r == 0));
    return g;
}

/* A name that no run has may be the first run; a run that is asked for by its record is missing. */
static void test_baseline_without_runs(void **state)
{
    scratch_write("a.jsonl", A_RUN("aa", "build", "10") A_RUN("ab", "build", "10"));
    static const char *const tolerated[] = {"nothing", "name=nothing", "branch=new", "a:7"};
    static const char *const missing[] = {"a.jsonl:7",         "a.jsonl:0123456789ab",
                                          "a.jsonl:name=test", "b.jsonl",
                                          "b.jsonl:1",         "b.jsonl:name=build"};
    assert_int_equal(chdir(scratch), 0);
    for (size_t i = 0; i < ARRAY_LEN(tolerated); i++)
        toll_gate_free(gate(tolerated[i], 0));
    for (size_t i = 0; i < ARRAY_LEN(missing); i++)
        gate(missing[i], -ENOENT);
    toll_gate_free(gate("a.jsonl:2", 0));
    assert_int_equal(chdir("/"), 0);
}

/* Each judgement chooses from the whole baseline. */
static void test_gate_of_several_names(void **state)
{
    const struct {
        char *name;
        const char *sentence;
    } runs[] = {
        {(char[]){"build"}, "time was 20.0 s, +100 % from the baseline of 10.0 s, above"},
        {(char[]){"test"}, "time was 20.0 s, +0 % from the baseline of 20.0 s, not above"},
        {(char[]){"other"},
         "time was 20.0 s, +33.3 % from the baseline of 15.0 s (mean of 2 runs), above"},
        {(char[]){"build"}, "time was 20.0 s, +100 % from the baseline of 10.0 s, above"},
    };
    struct toll_gate *g = gate(
        scratch_write("names.jsonl", A_RUN("aa", "build", "10") A_RUN("ab", "test", "20")), 0);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        char *command[] = {runs[i].name, NULL};
        struct run run = {.command = command, .name = runs[i].name};
        struct summary *s = calloc(1, sizeof *s);
        assert_non_null(s);
        assert_int_equal(summary_init(s, &run), 0);
        s->elapsed_ns = 20 * NS_PER_SECOND;
        s->has_target = true;
        s->whole.end = (struct toll_end){.ended = true};
        assert_int_equal(study_gate_add(g, s), 0);
        assert_true(toll_gate_judge(g) >= 0);
        const char *sentence = toll_gate_judgement(g, 0)->sentence;
        if (!strstr(sentence, runs[i].sentence))
            fail_msg("%s: %s", runs[i].name, sentence);
        toll_gate_clear(g);
        summary_done(s);
        free(s);
    }
    toll_gate_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_condition_parse),       cmocka_unit_test(test_condition_judge),
        cmocka_unit_test(test_unknown_in_some_runs),  cmocka_unit_test(test_identical_runs),
        cmocka_unit_test(test_five_percent),          cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_baseline_without_runs), cmocka_unit_test(test_gate_of_several_names),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
