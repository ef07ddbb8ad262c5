/* SPDX-License-Identifier: MIT
 * What to request next time: each rule of toll recommend, with its edges. */
#include "study/study.h"
#include "unit.h"

#define MIB (1024.0 * 1024)

enum { MOST = 30 };

static char *no_words[] = {NULL};
static char none[] = "", job[] = "job";

/* A run that finished after ten minutes with 100 MiB and half a core. */
static struct study_run run_finished(void)
{
    struct study_run r = {
        .id = none,
        .name = job,
        .host = none,
        .path = none,
        .command = no_words,
        .labels = no_words,
        .has_target = true,
        .end = {.ended = true},
        .cores_allowed = 4,
        .elapsed_ns = 600 * NS_PER_SECOND,
    };
    r.figures[FIGURE_WALL] = (struct study_value){600, QUALITY_EXACT};
    r.figures[FIGURE_CPU] = (struct study_value){300, QUALITY_EXACT};
    r.figures[FIGURE_CORES_P90] = (struct study_value){0.5, QUALITY_SAMPLED};
    r.figures[FIGURE_MEMORY_PEAK] = (struct study_value){100 * MIB, QUALITY_EXACT};
    return r;
}

static void run_set_peak(struct study_run *r, double mib, enum quality q)
{
    r->figures[FIGURE_MEMORY_PEAK] = (struct study_value){mib * MIB, q};
}

static void run_set_seconds(struct study_run *r, double seconds)
{
    r->elapsed_ns = (uint64_t)(seconds * 1e9);
    r->figures[FIGURE_WALL].value = seconds;
}

static struct study_run run_oom_killed(double limit_mib)
{
    struct study_run r = run_finished();
    r.end = (struct toll_end){.ended = true, .signaled = true, .status = 9, .oom_killed = true};
    r.memory_limit = limit_mib * MIB;
    run_set_peak(&r, limit_mib > 0 ? limit_mib - 1 : 100, QUALITY_SAMPLED);
    run_set_seconds(&r, 5);
    return r;
}

static struct study_run run_timed_out(double seconds)
{
    struct study_run r = run_finished();
    r.end = (struct toll_end){.ended = true, .signaled = true, .status = 15, .timed_out = true};
    run_set_seconds(&r, seconds);
    return r;
}

static struct study_advice advise(const struct study_run *runs, size_t count)
{
    const struct study_run *list[MOST];
    struct study_advice a;
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++)
        list[i] = &runs[i];
    study_advise(list, count, &a);
    return a;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void margin_depends_on_the_number_of_runs(void **state)
{
    struct study_run runs[] = {run_finished(), run_finished(), run_finished()};
    run_set_peak(&runs[0], 80, QUALITY_EXACT);
    assert_true(advise(runs + 1, 1).memory_bytes == 150 * MIB);
    assert_true(advise(runs, 2).memory_bytes == 150 * MIB);
    struct study_advice a = advise(runs, 3);
    assert_true(a.memory_bytes == 120 * MIB);
    assert_true(a.peaks.least == 80 * MIB && a.peaks.most == 100 * MIB);
    assert_int_equal(a.peaks.count, 3);
    assert_false(a.memory_is_least);
}

static void rise_counts_only_where_the_peak_is_sampled(void **state)
{
    struct study_run runs[] = {run_finished(), run_finished(), run_finished()};
    runs[0].memory_rise = 40 * MIB;
    assert_true(advise(runs, 3).memory_bytes == 120 * MIB);
    run_set_peak(&runs[1], 100, QUALITY_SAMPLED);
    runs[1].memory_rise = 30 * MIB;
    struct study_advice a = advise(runs, 3);
    assert_true(a.memory_bytes == 150 * MIB && a.memory_rise == 30 * MIB);
}

static void lower_bound_stays_one(void **state)
{
    struct study_run runs[] = {run_finished(), run_finished(), run_finished()};
    run_set_peak(&runs[1], 50, QUALITY_LOWER_BOUND);
    runs[1].memory_rise = 10 * MIB;
    struct study_advice a = advise(runs, 3);
    assert_true(a.memory_is_least && a.peaks.is_least);
    assert_true(a.memory_bytes == 130 * MIB); /* it was sampled too */
}

static void unknown_memory_is_left_out(void **state)
{
    struct study_run runs[] = {run_finished(), run_finished(), run_finished()};
    run_set_peak(&runs[1], 0, QUALITY_UNKNOWN);
    struct study_advice a = advise(runs, 3);
    assert_int_equal(a.runs, 3);
    assert_int_equal(a.peaks_unknown, 1);
    assert_true(a.memory_bytes == 150 * MIB); /* of two peaks */
    run_set_peak(&runs[0], 0, QUALITY_UNKNOWN);
    run_set_peak(&runs[2], 0, QUALITY_UNKNOWN);
    a = advise(runs, 3);
    assert_true(a.memory_bytes == 0 && a.peaks.count == 0);
    assert_int_equal(a.cpus, 1);
}

static void memory_is_rounded_up(void **state)
{
    const struct {
        double peak, asked; /* of three runs, in MiB */
    } cases[] = {{1, 10},       {100, 120},    {100.1, 130},  {800, 960},
                 {833, 1000},   {834, 1100},   {2000, 2400},  {2048, 2500},
                 {8333, 10000}, {8400, 10240}, {9000, 11264}, {100000, 120832}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct study_run runs[] = {run_finished(), run_finished(), run_finished()};
        run_set_peak(&runs[0], cases[i].peak, QUALITY_EXACT);
        run_set_peak(&runs[1], cases[i].peak, QUALITY_EXACT);
        run_set_peak(&runs[2], cases[i].peak, QUALITY_EXACT);
        double asked = advise(runs, 3).memory_bytes / MIB;
        if (asked != cases[i].asked)
            fail_msg("%g MiB: %g, not %g", cases[i].peak, asked, cases[i].asked);
    }
}

static void oom_kill_asks_for_more_than_the_limit(void **state)
{
    struct study_run small = run_oom_killed(200), large = run_oom_killed(1000);
    struct study_advice a = advise(&small, 1);
    assert_true(a.memory_bytes == 300 * MIB); /* + 100 MiB */
    assert_int_equal(a.runs, 0);
    assert_int_equal(a.oom_killed, 1);
    assert_true(a.memory_is_least && a.oom_decides && a.oom_limit_known);
    assert_int_equal(a.seconds, 0); /* it says nothing about time */
    assert_int_equal(a.cpus, 0);
    assert_true(advise(&large, 1).memory_bytes == 1200 * MIB); /* × 1.2 */

    /* Runs that finished with more since then decide. */
    struct study_run runs[] = {small, run_finished(), run_finished(), run_finished()};
    assert_true(advise(runs, 4).memory_bytes == 300 * MIB);
    for (size_t i = 1; i < 4; i++)
        run_set_peak(&runs[i], 400, QUALITY_EXACT);
    a = advise(runs, 4);
    assert_true(a.memory_bytes == 480 * MIB);
    assert_false(a.oom_decides || a.memory_is_least);
}

static void oom_kill_without_a_limit_goes_by_the_peak(void **state)
{
    struct study_run r = run_oom_killed(0);
    r.memory_machine = 64000 * MIB;
    struct study_advice a = advise(&r, 1);
    assert_true(a.memory_bytes == 200 * MIB);
    assert_false(a.oom_limit_known);
    run_set_peak(&r, 0, QUALITY_UNKNOWN);
    assert_true(advise(&r, 1).memory_bytes == 0);
}

static void failure_at_the_limit_is_an_oom_kill(void **state)
{
    struct study_run r = run_finished();
    r.end.status = 137; /* of a child of the command */
    assert_int_equal(advise(&r, 1).failed, 1);
    r.memory_limit = 200 * MIB;
    r.memory_limit_hit = true;
    assert_int_equal(advise(&r, 1).oom_killed, 1);
    r.end.status = 0; /* the job coped, or another process was killed */
    assert_int_equal(advise(&r, 1).runs, 1);
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

static void cores_are_rounded_to_whole_ones(void **state)
{
    const struct {
        double p90;
        unsigned cpus;
    } cases[] = {{0.01, 1}, {0.9, 1},   {1.0, 1}, {1.09, 1},  {1.2, 2}, {2.03, 2},
                 {2.5, 3},  {8.125, 8}, {8.3, 9}, {64.9, 64}, {66, 65}, {1e300, 980000}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct study_run r = run_finished();
        r.cores_allowed = 0;
        r.figures[FIGURE_CORES_P90].value = cases[i].p90;
        assert_int_equal(advise(&r, 1).cpus, cases[i].cpus);
    }
}

static void largest_of_the_runs_counts(void **state)
{
    struct study_run runs[] = {run_finished(), run_finished(), run_finished()};
    runs[0].figures[FIGURE_CORES_P90].value = 3;
    runs[1].figures[FIGURE_CORES_P90] = (struct study_value){0};
    struct study_advice a = advise(runs, 3);
    assert_int_equal(a.cpus, 3);
    assert_int_equal(a.cores.count, 2);
    assert_false(a.more_would_help);
}

static void more_cores_would_help(void **state)
{
    struct study_run r = run_finished();
    r.figures[FIGURE_CORES_P90].value = 3.8;
    assert_false(advise(&r, 1).more_would_help); /* it did not wait */
    r.figures[FIGURE_CPU_WAIT] = (struct study_value){29, QUALITY_SAMPLED};
    assert_false(advise(&r, 1).more_would_help); /* of 300 s */
    r.figures[FIGURE_CPU_WAIT].value = 30;
    struct study_advice a = advise(&r, 1);
    assert_true(a.more_would_help && a.wait_share == 0.1 && a.cores_allowed == 4);
    assert_true(a.starved_share == 0);
    r.figures[FIGURE_CORES_P90].value = 3.79; /* less than 95 % of four */
    assert_false(advise(&r, 1).more_would_help);
    assert_true(advise(&r, 1).starved_share == 0); /* a tenth is too little for that */
    r.figures[FIGURE_CPU_WAIT].value = 150;
    assert_true(advise(&r, 1).starved_share == 0.5);
    struct study_run both[] = {r, run_finished()}; /* one that had more did not wait */
    both[1].figures[FIGURE_CORES_P90].value = 3.8;
    assert_true(advise(both, 2).starved_share == 0);
    r.figures[FIGURE_CPU_WAIT] = (struct study_value){0};
    r.cores_allowed = 0.5;
    r.figures[FIGURE_CORES_P90].value = 0.5;
    r.throttled_seconds = 600;
    a = advise(&r, 1);
    assert_true(a.more_would_help && a.throttled_share == 2);
    assert_int_equal(a.cpus, 1);
}

/* ---- Time ------------------------------------------------------------------------------------ */

static void time_is_rounded_to_quarters_of_an_hour(void **state)
{
    const struct {
        double longest;
        uint64_t asked;
    } cases[] = {{0.1, 900}, {600, 900}, {601, 1800}, {1200, 1800}, {86400, 129600}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct study_run runs[] = {run_finished(), run_finished()};
        run_set_seconds(&runs[0], cases[i].longest);
        run_set_seconds(&runs[1], 0.01);
        assert_int_equal(advise(runs, 2).seconds, cases[i].asked);
    }
}

static void timeout_is_a_lower_bound_of_the_time(void **state)
{
    struct study_run runs[] = {run_finished(), run_timed_out(1200), run_finished()};
    struct study_advice a = advise(runs, 3);
    assert_int_equal(a.seconds, 1800);
    assert_true(a.seconds_is_least);
    assert_int_equal(a.runs, 2);
    assert_int_equal(a.timed_out, 1);
    run_set_seconds(&runs[1], 300); /* shorter than those that finished */
    a = advise(runs, 3);
    assert_int_equal(a.seconds, 900);
    assert_false(a.seconds_is_least);
    /* Its memory may have grown further. */
    run_set_peak(&runs[1], 300, QUALITY_SAMPLED);
    a = advise(runs, 3);
    assert_true(a.memory_is_least && a.memory_bytes == 450 * MIB);
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static void busy_gpus_count(void **state)
{
    struct study_gpu gpus[] = {{.busy_share = 0.5, .known_seconds = 100},
                               {.busy_share = 0.05, .known_seconds = 100},
                               {.busy_share = 0.051, .known_seconds = 100}};
    struct study_run runs[] = {run_finished(), run_finished()};
    assert_false(advise(runs, 2).has_gpus);
    runs[0].gpus = gpus;
    runs[0].gpu_count = 3;
    struct study_advice a = advise(runs, 2);
    assert_true(a.has_gpus && a.knows_gpus);
    assert_int_equal(a.gpus, 2);
    assert_int_equal(a.gpus_seen, 3);
    gpus[0] = gpus[1] = gpus[2] = (struct study_gpu){0}; /* the driver reports nothing */
    a = advise(runs, 2);
    assert_true(a.has_gpus && !a.knows_gpus && a.gpus == 0);
}

/* ---- Which runs count ------------------------------------------------------------------------ */

static void only_the_last_twenty_finished_count(void **state)
{
    struct study_run runs[MOST];
    for (size_t i = 0; i < MOST; i++)
        runs[i] = run_finished();
    run_set_peak(&runs[9], 900, QUALITY_EXACT);
    run_set_peak(&runs[10], 200, QUALITY_EXACT);
    runs[0].end.status = 1;
    struct study_advice a = advise(runs, MOST);
    assert_int_equal(a.runs, 20);
    assert_int_equal(a.older, 9);
    assert_int_equal(a.failed, 0);
    assert_true(a.peaks.most == 200 * MIB);
    /* One that failed is not one of the twenty. */
    runs[29].end.status = 1;
    a = advise(runs, MOST);
    assert_int_equal(a.failed, 1);
    assert_true(a.peaks.most == 900 * MIB);
}

static void unfinished_runs_are_counted_apart(void **state)
{
    struct study_run runs[] = {run_finished(), run_finished(), run_finished(), run_finished()};
    runs[0].end = (struct toll_end){.unknown = true};
    runs[0].cut_short = true;
    runs[1].end = (struct toll_end){.ended = true, .signaled = true, .status = 11};
    runs[2].end = (struct toll_end){0};
    runs[3].end = (struct toll_end){.ended = true, .unknown = true};
    struct study_advice a = advise(runs, 4);
    assert_int_equal(a.cut_short, 1);
    assert_int_equal(a.failed, 1);
    assert_int_equal(a.left_running, 1);
    assert_int_equal(a.runs, 1);
    assert_int_equal(a.status_unknown, 1);
    runs[0].end.unknown = false; /* its record still grows */
    a = advise(runs, 4);
    assert_int_equal(a.cut_short, 0);
    assert_int_equal(a.left_running, 2);
    a = advise(runs, 3);
    assert_int_equal(a.runs, 0);
    assert_true(a.memory_bytes == 0 && a.seconds == 0 && a.cpus == 0);
    a = advise(runs, 0);
    assert_int_equal(a.runs, 0);
    assert_null(a.newest);
}

static void different_commands_are_counted(void **state)
{
    char a[] = "a", b[] = "b";
    char *train[] = {job, a, NULL}, *other[] = {job, b, NULL};
    struct study_run runs[] = {run_finished(), run_finished(), run_finished(), run_finished()};
    runs[0].command = runs[2].command = train;
    runs[1].command = other;
    runs[3].end.status = 1;
    assert_int_equal(advise(runs, 4).commands, 2);
}

static void forged_figures_do_no_harm(void **state)
{
    struct study_run r = run_finished();
    r.figures[FIGURE_MEMORY_PEAK].value = 1e300;
    r.figures[FIGURE_CORES_P90].value = 1e300;
    r.figures[FIGURE_CPU].value = 1e-300;
    r.figures[FIGURE_CPU_WAIT] = (struct study_value){1e300, QUALITY_EXACT};
    r.figures[FIGURE_WALL].value = 1.8e10;
    r.throttled_seconds = 1e300;
    struct study_advice a = advise(&r, 1);
    assert_true(a.memory_bytes <= 1e19 && a.wait_share <= 1e6 && a.throttled_share <= 1e6);
    assert_true(a.seconds < UINT64_C(1) << 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(margin_depends_on_the_number_of_runs),
        cmocka_unit_test(rise_counts_only_where_the_peak_is_sampled),
        cmocka_unit_test(lower_bound_stays_one),
        cmocka_unit_test(unknown_memory_is_left_out),
        cmocka_unit_test(memory_is_rounded_up),
        cmocka_unit_test(oom_kill_asks_for_more_than_the_limit),
        cmocka_unit_test(oom_kill_without_a_limit_goes_by_the_peak),
        cmocka_unit_test(failure_at_the_limit_is_an_oom_kill),
        cmocka_unit_test(cores_are_rounded_to_whole_ones),
        cmocka_unit_test(largest_of_the_runs_counts),
        cmocka_unit_test(more_cores_would_help),
        cmocka_unit_test(time_is_rounded_to_quarters_of_an_hour),
        cmocka_unit_test(timeout_is_a_lower_bound_of_the_time),
        cmocka_unit_test(busy_gpus_count),
        cmocka_unit_test(only_the_last_twenty_finished_count),
        cmocka_unit_test(unfinished_runs_are_counted_apart),
        cmocka_unit_test(different_commands_are_counted),
        cmocka_unit_test(forged_figures_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
