/* SPDX-License-Identifier: MIT */
#include "summary/summary.h"
#include "summary/series.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

/* ---- summary -------------------------------------------------------------------------------- */

static struct summary *summary_fresh(const struct run *run)
{
    struct summary *s = malloc(sizeof *s);
    assert_non_null(s);
    assert_int_equal(summary_init(s, run), 0);
    return s;
}

static void drop(struct summary *s)
{
    summary_done(s);
    summary_done(s);
    free(s);
}

static void test_summary_frames(void **state)
{
    struct run run = {0};
    struct summary *s = summary_fresh(&run);
    struct entity entity = {0};
    struct row combined, self;
    row_init(&combined, ENTITY_PROCESS);
    row_init(&self, ENTITY_SELF);
    struct frame f = {.target[PART_COMBINED] = {&entity, &combined}, .self = {&entity, &self}};
    for (unsigned i = 1; i <= 10; i++) {
        f.elapsed_ns = i * NS_PER_SECOND;
        row_put_u64(&combined, process_cpu_seconds, i * NS_PER_SECOND / 2);
        row_put_u64(&combined, process_memory_rss_bytes, i * 100);
        row_put_u64(&self, self_ticks_count, i);
        summary_frame(s, &f);
    }
    summary_end(s, f.elapsed_ns);
    const struct series *cpu = &s->whole.series[PART_COMBINED][process_cpu_seconds];
    assert_int_equal(cpu->last.u, 5 * NS_PER_SECOND);
    assert_true(series_mean(cpu, metric_of(process_cpu_seconds)) == 0.5);
    assert_true(s->whole.series[PART_COMBINED][process_memory_rss_bytes].max == 1000);
    assert_int_equal(s->self[self_ticks_count - self_first].last.u, 10);
    assert_int_equal(s->elapsed_ns, 10 * NS_PER_SECOND);
    /* Nothing is made of what was not there. */
    assert_int_equal(s->whole.series[PART_MAIN][process_cpu_seconds].count, 0);
    assert_int_equal(s->whole.series[PART_COMBINED][process_io_read_bytes].observed_ns, 0);
    double value;
    assert_true(series_quantile(cpu, metric_of(process_cpu_seconds), 0.5, &value));
    drop(s);
}

/* The parts are shown beside the whole as they were at its peak, not at theirs; and a figure that
 * the last sample lacks has no last value. */
static void test_summary_parts_at_peak(void **state)
{
    struct run run = {0};
    struct summary *s = summary_fresh(&run);
    struct entity entity = {0};
    struct row rows[PARTS], self;
    row_init(&self, ENTITY_SELF);
    struct frame f = {.self = {&entity, &self}};
    for (unsigned part = 0; part < PARTS; part++) {
        row_init(&rows[part], ENTITY_PROCESS);
        f.target[part] = (struct frame_row){&entity, &rows[part]};
    }
    static const uint64_t main_rss[] = {50, 40, 10}, children_rss[] = {10, 30, 35};
    for (unsigned i = 0; i < 3; i++) {
        f.elapsed_ns = (i + 1) * NS_PER_SECOND;
        row_put_u64(&rows[PART_MAIN], process_memory_rss_bytes, main_rss[i]);
        row_put_u64(&rows[PART_DESCENDANTS], process_memory_rss_bytes, children_rss[i]);
        row_put_u64(&rows[PART_COMBINED], process_memory_rss_bytes, main_rss[i] + children_rss[i]);
        if (i < 2)
            row_put_u64(&rows[PART_COMBINED], process_memory_pss_bytes, 20);
        else
            row_unknown(&rows[PART_COMBINED], process_memory_pss_bytes);
        summary_frame(s, &f);
    }
    summary_end(s, f.elapsed_ns);
    enum metric_id rss = process_memory_rss_bytes;
    assert_true(s->whole.series[PART_COMBINED][rss].max == 70);
    assert_true(s->whole.series[PART_MAIN][rss].at_peak == 40);
    assert_true(s->whole.series[PART_DESCENDANTS][rss].at_peak == 30);
    assert_int_equal(s->whole.series[PART_MAIN][rss].at_peak_ns, 2 * NS_PER_SECOND);
    assert_true(s->whole.series[PART_COMBINED][process_memory_pss_bytes].last_is_old);
    assert_false(s->whole.series[PART_COMBINED][rss].last_is_old);
    drop(s);
}

/* A value that is unknown for a while stands, when it is known again, for that while. */
static void test_summary_gaps(void **state)
{
    struct run run = {0};
    struct summary *s = summary_fresh(&run);
    struct entity entity = {0};
    struct row combined;
    row_init(&combined, ENTITY_PROCESS);
    struct frame f = {.target[PART_COMBINED] = {&entity, &combined}};
    for (unsigned i = 1; i <= 10; i++) {
        f.elapsed_ns = i * NS_PER_SECOND;
        if (i % 5 == 0)
            row_put_u64(&combined, process_memory_pss_bytes, i);
        else
            row_unknown(&combined, process_memory_pss_bytes);
        summary_frame(s, &f);
    }
    const struct series *pss = &s->whole.series[PART_COMBINED][process_memory_pss_bytes];
    assert_int_equal(pss->count, 2);
    assert_true(series_mean(pss, metric_of(process_memory_pss_bytes)) == 7.5);
    drop(s);
}

/* A brief sample has a gauge as it was read last, maybe since the last sample that has all. Its
 * counters wait for the next of these. */
static void test_summary_brief_samples(void **state)
{
    struct run run = {0};
    struct summary *s = summary_fresh(&run);
    struct entity entity = {0};
    struct row combined;
    row_init(&combined, ENTITY_PROCESS);
    struct frame f = {.target[PART_COMBINED] = {&entity, &combined}};
    for (unsigned i = 1; i <= 4; i++) {
        f.elapsed_ns = i * NS_PER_SECOND;
        f.is_brief = i % 2;
        row_put_u64(&combined, process_threads_count, i == 3 ? 100 : 1);
        row_put_u64(&combined, process_faults_minor_count, i * 10);
        summary_frame(s, &f);
    }
    const struct series *series = s->whole.series[PART_COMBINED];
    assert_true(series[process_threads_count].max == 100);
    assert_int_equal(series[process_threads_count].count, 4);
    assert_int_equal(series[process_faults_minor_count].last.u, 40);
    assert_int_equal(series[process_faults_minor_count].count, 2);
    drop(s);
}

static void test_summary_notes(void **state)
{
    struct run run = {0};
    struct summary *s = summary_fresh(&run);
    char sentence[] = "one";
    assert_true(summary_note(s, sentence));
    sentence[0] = 'X'; /* it was copied */
    assert_string_equal(s->notes[0], "one");
    assert_false(summary_note(s, "one"));
    assert_int_equal(s->note_count, 1);
    for (unsigned i = 1; i < 100; i++) {
        char other[32];
        snprintf(other, sizeof other, "note %u", i);
        assert_int_equal(summary_note(s, other), i < SUMMARY_NOTES);
    }
    assert_true(s->note_count >= SUMMARY_NOTES);
    assert_string_equal(s->notes[SUMMARY_NOTES - 1], "note 15");
    assert_false(summary_note(s, "note 15"));
    drop(s);
}

static void test_summary_unknown_until_judged(void **state)
{
    struct run run = {0};
    struct summary *s = summary_fresh(&run);
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            assert_int_equal(s->whole.provenance[part][id].quality, QUALITY_UNKNOWN);
    drop(s);
}

/* ---- run facts ------------------------------------------------------------------------------ */

static void test_run_facts_command_names_the_run(void **state)
{
    static const struct {
        const char *word, *name;
    } cases[] = {{"make", "make"}, {"/usr/bin/make", "make"},
                 {"./a/b", "b"},   {"dir/", "dir/"},
                 {"/", "/"},       {"a b", "a b"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run r = {0};
        char *word = strdup(cases[i].word);
        char *argv[] = {word, word, NULL};
        assert_int_equal(run_set_command(&r, argv), 0);
        free(word); /* it was copied */
        assert_string_equal(r.name, cases[i].name);
        assert_string_equal(r.command[1], cases[i].word);
        assert_null(r.command[2]);
        run_done(&r);
    }
}

static void test_run_facts_a_name_that_was_given_stays(void **state)
{
    struct run r = {.name = strdup("mine")};
    assert_int_equal(run_set_command(&r, (char *[]){strdupa("make"), NULL}), 0);
    assert_string_equal(r.name, "mine");
    assert_int_equal(run_set_command(&r, (char *[]){strdupa("other"), NULL}), 0);
    assert_string_equal(r.command[0], "other");
    run_done(&r);
    run_done(&r);
}

static void test_run_facts_labels(void **state)
{
    struct run r = {0};
    assert_int_equal(run_set_labels(&r, (const char *const[]){"a=1", "b=", NULL}), 0);
    assert_string_equal(r.labels[0], "a=1");
    assert_string_equal(r.labels[1], "b=");
    assert_null(r.labels[2]);
    run_done(&r);
    assert_int_equal(
        run_set_labels(&r, (const char *const[]){"a=1", "ab=2", "a=3", "b=4", "a=", NULL}), 0);
    assert_string_equal(r.labels[0], "ab=2");
    assert_string_equal(r.labels[1], "b=4");
    assert_string_equal(r.labels[2], "a=");
    assert_null(r.labels[3]);
    assert_int_equal(run_set_labels(&r, (const char *const[]){NULL}), 0);
    assert_null(r.labels[0]);
    run_done(&r);
}

static struct run secret_run(bool shows, bool no_args)
{
    struct run r = {.shows_secrets = shows, .no_args = no_args};
    char *argv[] = {strdupa("/bin/x"), strdupa("--password"), strdupa("pw"), NULL};
    assert_int_equal(run_set_command(&r, argv), 0);
    assert_int_equal(run_set_labels(&r, (const char *const[]){"a=1", "api_key=k", NULL}), 0);
    assert_int_equal(run_add_target(&r, "t", "processes that match 'token=t'"), 0);
    assert_string_equal(r.name, "x");
    return r;
}

static void test_run_facts_secrets(void **state)
{
    struct run r = secret_run(false, false);
    for (int again = 0; again < 2; again++) { /* what is masked stays as it is */
        assert_string_equal(r.command[1], "--password");
        assert_string_equal(r.command[2], "***");
        assert_string_equal(r.labels[0], "a=1");
        assert_string_equal(r.labels[1], "api_key=***");
        assert_string_equal(r.targets[0].what, "processes that match 'token=***'");
        assert_int_equal(run_mask_secrets(&r), 0);
    }
    run_done(&r);

    r = secret_run(true, false);
    assert_int_equal(run_mask_secrets(&r), 0);
    assert_string_equal(r.command[2], "pw");
    assert_string_equal(r.labels[1], "api_key=k");
    r.shows_secrets = false; /* as of a record */
    assert_int_equal(run_mask_secrets(&r), 0);
    assert_string_equal(r.command[2], "***");
    assert_string_equal(r.labels[1], "api_key=***");
    run_done(&r);

    r = secret_run(true, true);
    assert_string_equal(r.command[0], "/bin/x");
    assert_null(r.command[1]);
    run_done(&r);
}

/* ---- energy --------------------------------------------------------------------------------- */

struct room {
    struct run run;
    struct summary summary;
    struct instance instances[4];
    struct instance *list[4];
    struct frame frame;
};

static struct instance *add(struct room *r, enum entity_kind kind, const char *name)
{
    struct instance *m = &r->instances[r->frame.machine_count];
    instance_init(m, kind);
    snprintf(m->entity.name, sizeof m->entity.name, "%s", name);
    m->number = (unsigned)r->frame.machine_count + 1;
    r->list[r->frame.machine_count++] = m;
    return m;
}

static void energy_put(struct room *r, struct instance *m, enum metric_id id, uint64_t microjoules)
{
    row_put_u64(&m->row, id, microjoules);
    r->frame.elapsed_ns = NS_PER_SECOND;
}

static void room_make(struct room *r)
{
    memset(r, 0, sizeof *r);
    r->frame.machine = r->list;
    assert_int_equal(summary_init(&r->summary, &r->run), 0);
}

static struct energy sum_up(struct room *r)
{
    r->frame.elapsed_ns = NS_PER_SECOND;
    summary_frame(&r->summary, &r->frame);
    struct energy e = energy_of(&r->summary);
    summary_done(&r->summary);
    return e;
}

static void test_energy_both(void **state)
{
    struct room r;
    room_make(&r);
    energy_put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    energy_put(&r, add(&r, ENTITY_GPU, "nvidia1"), gpu_energy_joules, 500000);
    energy_put(&r, add(&r, ENTITY_RAPL, "package-0"), rapl_energy_joules, 4000000);
    energy_put(&r, add(&r, ENTITY_RAPL, "package-0 core"), rapl_energy_joules,
               1000000); /* inside */
    struct energy e = sum_up(&r);
    assert_true(e.has_gpus && e.knows_gpus && e.knows_processors);
    assert_true(e.gpus_joules == 3 && e.processors_joules == 4);
}

static void test_energy_one_without_a_counter(void **state)
{
    struct room r;
    room_make(&r);
    energy_put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    row_put_u64(&add(&r, ENTITY_GPU, "amd0")->row, gpu_memory_used_bytes, 5);
    struct energy e = sum_up(&r);
    assert_true(e.has_gpus && !e.knows_gpus && !e.knows_processors);
}

/* A driver that has not begun: its GPUs may have used some. */
static void test_energy_one_is_awaited(void **state)
{
    struct room r;
    room_make(&r);
    r.run.gpus_awaited = true;
    energy_put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    struct energy e = sum_up(&r);
    assert_true(e.has_gpus && !e.knows_gpus);
}

static void test_energy_instances_are_of_their_board(void **state)
{
    struct room r;
    room_make(&r);
    energy_put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    struct instance *instance = add(&r, ENTITY_GPU, "nvidia0:0");
    instance->entity.labels[0] = (struct label){"instance", "0"};
    row_put_u64(&instance->row, gpu_memory_used_bytes, 5);
    struct energy e = sum_up(&r);
    assert_true(e.knows_gpus && e.gpus_joules == 2.5);
}

/* The GPU of a laptop beside one of its own: what it uses is the package's. */
static void test_energy_inside_of_a_processor(void **state)
{
    struct room r;
    room_make(&r);
    energy_put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    struct instance *inside = add(&r, ENTITY_GPU, "intel0");
    inside->entity.labels[0] = (struct label){"vendor", "intel"};
    inside->entity.labels[1] = (struct label){"pci", "0000:00:02.0"};
    row_put_u64(&inside->row, gpu_clock_sm_hertz, 5);
    struct energy e = sum_up(&r);
    assert_true(e.knows_gpus && e.gpus_joules == 2.5);
}

static void test_energy_nothing(void **state)
{
    struct room r;
    room_make(&r);
    struct energy e = sum_up(&r);
    assert_false(e.has_gpus || e.knows_gpus || e.knows_processors);
}

/* ---- series --------------------------------------------------------------------------------- */

#define MS NS_PER_MS

static const struct metric *series_cpu, *rss, *cores, *bytes;

static int find_metrics(void **state)
{
    series_cpu = metric_of(process_cpu_seconds);
    rss = metric_of(process_memory_rss_bytes);
    cores = metric_of(process_cpu_cores);
    bytes = metric_of(process_io_read_bytes);
    return 0;
}

static void series_test_put(struct series *s, const struct metric *m, uint64_t value,
                            uint64_t at_ns)
{
    series_put(s, m, (union value){.u = value}, at_ns);
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

/* 100 for a tenth of the time, 10 for the rest. */
static void test_series_mean_is_weighted_by_time(void **state)
{
    struct series s = {0};
    series_test_put(&s, rss, 100, 100 * MS);
    series_test_put(&s, rss, 10, 1000 * MS);
    assert_true(close_to(series_mean(&s, rss), 19));
    assert_true(s.max == 100 && s.min == 10);
    assert_int_equal(s.max_at_ns, 100 * MS);
    assert_int_equal(s.count, 2);
}

static void test_series_mean_against_a_plain_sum(void **state)
{
    uint64_t seed = 1;
    for (int round = 0; round < 50; round++) {
        struct series s = {0};
        uint64_t at = 0;
        double area = 0, most = 0;
        for (int i = 0; i < 200; i++) {
            uint64_t interval = 1 + random_magnitude(&seed, 35);
            uint64_t value = random_magnitude(&seed, 50);
            at += interval;
            area += (double)value * (double)interval;
            most = (double)value > most ? (double)value : most;
            series_test_put(&s, rss, value, at);
        }
        assert_true(close_to(series_mean(&s, rss), area / (double)at));
        assert_true(s.max == most);
    }
}

static void test_series_total_is_mean_times_time(void **state)
{
    uint64_t seed = 2;
    for (int round = 0; round < 50; round++) {
        struct series s = {0};
        uint64_t at = 0, total = 0;
        for (int i = 0; i < 300; i++) {
            at += 1 + random_magnitude(&seed, 32);
            total += random_magnitude(&seed, 40);
            series_test_put(&s, bytes, total, at);
        }
        series_end(&s, bytes, at);
        assert_int_equal(s.last.u, total);
        assert_true(close_to(series_mean(&s, bytes) * (double)at / 1e9, (double)total));
        assert_true(s.max >= series_mean(&s, bytes) || s.count == 0);
    }
}

/* All at once within a millisecond: over a tenth of a second it is little. */
static void test_series_a_burst_is_no_spike(void **state)
{
    struct series s = {0};
    for (unsigned i = 1; i <= 1000; i++)
        series_test_put(&s, series_cpu, i >= 500 ? 10 * MS : 0, i * MS);
    series_end(&s, series_cpu, 1000 * MS);
    assert_true(close_to(s.max, 0.1)); /* 10 ms in 100 ms, not in 1 ms */
    assert_int_equal(s.count, 10);
    assert_true(s.min == 0);
    assert_true(close_to(series_mean(&s, series_cpu), 0.01));
}

/* The kernel hands ten milliseconds on at a time; the cores of a steady load stay steady. */
static void test_series_ticks_do_not_show(void **state)
{
    struct series s = {0};
    uint64_t before = 0;
    for (uint64_t at = MS; at <= 2000 * MS; at += MS) {
        uint64_t now = at / (10 * MS) * (10 * MS);
        series_put(&s, cores, (union value){.d = (double)(now - before) / (double)MS}, at);
        before = now;
    }
    series_end(&s, cores, 2000 * MS);
    assert_true(s.max < 1.11 && s.min > 0.89);
    assert_true(close_to(series_mean(&s, cores), 1));
}

static void test_series_intervals_longer_than_the_window(void **state)
{
    struct series s = {0};
    series_test_put(&s, bytes, 1000, 1000 * MS);
    series_test_put(&s, bytes, 6000, 2000 * MS);
    assert_true(s.max == 5000 && s.min == 1000 && s.count == 2);
    assert_int_equal(s.max_at_ns, 2000 * MS);
}

/* All there is counts, however short; of a longer run a short rest counts with the window before.
 */
static void test_series_the_rest_of_a_window(void **state)
{
    struct series shortest = {0}, little = {0}, half = {0};
    series_test_put(&shortest, bytes, 10, 2 * MS);
    series_end(&shortest, bytes, 2 * MS);
    assert_int_equal(shortest.count, 1);
    assert_true(close_to(shortest.max, 5000));

    series_test_put(&little, bytes, 100, 100 * MS);
    series_test_put(&little, bytes, 200, 110 * MS);
    series_end(&little, bytes, 110 * MS);
    assert_true(close_to(little.max, 200 / 0.11));
    assert_true(close_to(little.min, 1000));

    series_test_put(&half, bytes, 100, 100 * MS);
    series_test_put(&half, bytes, 200, 150 * MS);
    series_end(&half, bytes, 150 * MS);
    assert_int_equal(half.count, 2);
    assert_true(close_to(half.max, 2000));
}

static void test_series_no_time(void **state)
{
    struct series s = {0};
    series_test_put(&s, rss, 5, 0);
    assert_true(series_mean(&s, rss) == 5);
    struct series c = {0};
    series_test_put(&c, bytes, 5, 0);
    series_end(&c, bytes, 0);
    assert_int_equal(c.count, 0);
    assert_true(isfinite(series_mean(&c, bytes)));
    struct series none = {0};
    series_end(&none, bytes, 1000 * MS);
    assert_int_equal(none.count, 0);
}

/* Two values at one time: the second counts for the future, nothing is counted twice. */
static void test_series_twice_at_once(void **state)
{
    struct series s = {0};
    series_test_put(&s, bytes, 10, 100 * MS);
    series_test_put(&s, bytes, 30, 100 * MS);
    series_test_put(&s, bytes, 30, 200 * MS);
    series_end(&s, bytes, 200 * MS);
    assert_true(close_to(series_mean(&s, bytes) * 0.2, 30));
}

static void test_series_quantiles(void **state)
{
    struct octave_store store;
    assert_int_equal(octave_store_init(&store, 1), 0);
    struct histogram h = {.store = &store};
    struct series s = {.histogram = &h};
    double value = 7;
    assert_false(series_quantile(&s, rss, 0.5, &value));
    assert_true(value == 7);
    series_test_put(&s, rss, 1000, 900 * MS); /* nine tenths of the time */
    series_test_put(&s, rss, 500000, 1000 * MS);
    assert_true(series_quantile(&s, rss, 0.5, &value) && fabs(value - 1000) <= 1000 / 64.0);
    assert_true(series_quantile(&s, rss, 0.89, &value) && fabs(value - 1000) <= 1000 / 64.0);
    assert_true(series_quantile(&s, rss, 0.95, &value) && fabs(value - 500000) <= 500000 / 64.0);
    struct series without = {0};
    series_test_put(&without, rss, 5, MS);
    assert_false(series_quantile(&without, rss, 0.5, &value));
    octave_store_done(&store);
}

static void test_series_quantiles_in_the_unit(void **state)
{
    struct octave_store store;
    assert_int_equal(octave_store_init(&store, 1), 0);
    struct histogram h = {.store = &store};
    struct series s = {.histogram = &h};
    double value;
    for (unsigned i = 1; i <= 100; i++)
        series_put(&s, cores, (union value){.d = 1.5}, i * 100 * MS);
    assert_true(series_quantile(&s, cores, 0.5, &value));
    assert_true(fabs(value - 1.5) <= 1.5 / 64);
    octave_store_done(&store);
}

/* At the end the parts of a target add up: one may stand lower than it did a moment before. */
static void test_series_a_counter_that_falls(void **state)
{
    struct series s = {0};
    series_test_put(&s, series_cpu, 20 * MS, 60 * MS);
    series_test_put(&s, series_cpu, 19 * MS, 80 * MS);
    series_end(&s, series_cpu, 80 * MS);
    assert_true(close_to(series_mean(&s, series_cpu), 0.019 / 0.08));
    assert_true(close_to(s.max, 0.019 / 0.08) && s.min == s.max);

    s = (struct series){0};
    series_test_put(&s, series_cpu, 20 * MS, 200 * MS);
    series_test_put(&s, series_cpu, 19 * MS, 400 * MS);
    series_end(&s, series_cpu, 400 * MS);
    assert_true(close_to(s.max, 0.1) && s.min == 0);
}

static void test_series_at_least(void **state)
{
    struct series s = {0};
    series_test_put(&s, rss, 100, 1000 * MS);
    series_at_least(&s, 50);
    assert_true(s.max == 100 && s.max_at_ns == 1000 * MS);
    series_at_least(&s, 400);
    assert_true(s.max == 400 && s.min == 100 && s.max_at_ns == SERIES_TIME_UNKNOWN);
    assert_true(series_mean(&s, rss) == 100); /* for how long is not known */
    struct series none = {0};
    series_at_least(&none, 7);
    assert_true(none.count == 1 && none.max == 7 && none.min == 7);
}

/* A wait of 0.9 s that comes to light in one sample of 10 ms was not all in it. */
static void test_series_what_is_read_once_a_second(void **state)
{
    const struct metric *wait = metric_of(process_cpu_wait_seconds);
    struct series s = {0};
    uint64_t seen = 0;
    for (uint64_t at = 10; at <= 10000; at += 10) {
        if (at % 1000 == 500)
            seen = at * 9 / 10;
        series_test_put(&s, wait, seen * MS, at * MS);
    }
    series_end(&s, wait, 10000 * MS);
    assert_true(s.max <= 1);
    assert_true(s.max >= 0.89);
}

/* ---- histogram ------------------------------------------------------------------------------ */

enum { MANY = 4000 };

/* Each has a store of its own. */
static struct histogram *histogram_fresh(void)
{
    struct histogram *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->store = malloc(sizeof *h->store);
    assert_non_null(h->store);
    assert_int_equal(octave_store_init(h->store, 1), 0);
    return h;
}

static void empty(struct histogram *h)
{
    struct octave_store *store = h->store;
    octave_store_done(store);
    assert_int_equal(octave_store_init(store, 1), 0);
    *h = (struct histogram){.store = store};
}

static void done(struct histogram *h)
{
    octave_store_done(h->store);
    free(h->store);
    free(h);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool within(uint64_t value, uint64_t truth)
{
    uint64_t off = value > truth ? value - truth : truth - value;
    return off <= truth / 64;
}

static void test_histogram_empty(void **state)
{
    struct histogram *h = histogram_fresh();
    uint64_t value = 7;
    assert_false(histogram_quantile(h, 0.5, &value));
    histogram_add(h, 5, 0); /* for no time */
    assert_false(histogram_quantile(h, 0.5, &value));
    assert_int_equal(value, 7);
    done(h);
}

/* Every value alone: also the largest, and both sides of every power of two. */
static void test_histogram_one_value(void **state)
{
    struct histogram *h = histogram_fresh();
    uint64_t seed = 1;
    for (unsigned i = 0; i < 64 * 8; i++) {
        uint64_t value = i < 64 * 3 ? (UINT64_C(1) << i % 64) - i / 64 + (i / 64 == 2) * 2
                                    : random_magnitude(&seed, 64);
        uint64_t told = 0;
        empty(h);
        histogram_add(h, value, 1);
        for (double share = 0; share <= 1; share += 0.25) {
            assert_true(histogram_quantile(h, share, &told));
            assert_true(within(told, value));
            if (value < 64)
                assert_true(told == value);
        }
    }
    done(h);
}

static void check_quantiles(const uint64_t *values, size_t count, const struct histogram *h)
{
    static uint64_t sorted[MANY];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, by_value);
    for (unsigned percent = 0; percent <= 100; percent++) {
        uint64_t told;
        double share = percent / 100.0;
        assert_true(histogram_quantile(h, share, &told));
        size_t rank = (size_t)(share * (double)count);
        uint64_t truth = sorted[rank ? rank - 1 : 0];
        assert_true(within(told, truth));
    }
}

static void test_histogram_error_bound(void **state)
{
    static uint64_t values[MANY];
    struct histogram *h = histogram_fresh();
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed;
        size_t count = 1 + random_below(&random, MANY);
        unsigned bits = 1 + (unsigned)random_below(&random, 64);
        empty(h);
        for (size_t i = 0; i < count; i++) {
            values[i] = seed % 2 ? random_magnitude(&random, bits)
                                 : next_random(&random) >> (64 - bits);
            histogram_add(h, values[i], 1);
        }
        check_quantiles(values, count, h);
    }
    done(h);
}

static void assert_same(const struct histogram *a, const struct histogram *b)
{
    for (unsigned percent = 0; percent <= 100; percent++) {
        uint64_t of_a, of_b;
        assert_true(histogram_quantile(a, percent / 100.0, &of_a));
        assert_true(histogram_quantile(b, percent / 100.0, &of_b));
        assert_true(of_a == of_b);
    }
}

/* A weight is so many values at once. */
static void test_histogram_weights(void **state)
{
    struct histogram *a = histogram_fresh(), *b = histogram_fresh();
    uint64_t seed = 3;
    for (int i = 0; i < 500; i++) {
        uint64_t value = random_magnitude(&seed, 50), weight = random_below(&seed, 20);
        histogram_add(a, value, weight);
        for (uint64_t n = 0; n < weight; n++)
            histogram_add(b, value, 1);
    }
    assert_same(a, b);
    done(a);
    done(b);
}

static void test_histogram_weights_decide(void **state)
{
    struct histogram *h = histogram_fresh();
    uint64_t told;
    histogram_add(h, 10, 99);
    histogram_add(h, 1000000, 1);
    assert_true(histogram_quantile(h, 0.99, &told) && told == 10);
    assert_true(histogram_quantile(h, 1, &told) && within(told, 1000000));
    done(h);
}

/* Weight that is held back counts like any other, whatever came in between. */
static void test_histogram_the_order_does_not_matter(void **state)
{
    static const uint64_t runs[] = {3, 3, 3, 70, 70, 3, 70, 3},
                          sorted[] = {3, 3, 3, 3, 3, 70, 70, 70};
    struct histogram *a = histogram_fresh(), *b = histogram_fresh();
    for (unsigned i = 0; i < ARRAY_LEN(runs); i++) {
        histogram_add(a, runs[i], 10);
        histogram_add(b, sorted[i], 10);
    }
    assert_same(a, b);
    done(a);
    done(b);
}

/* Octaves are taken in the order of need; two histograms with values everywhere fill the store. */
static void test_histogram_a_store_is_enough_for_all(void **state)
{
    struct octave_store store;
    assert_int_equal(octave_store_init(&store, 2), 0);
    struct histogram a = {.store = &store}, b = {.store = &store};
    uint64_t told;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            histogram_add(&a, UINT64_C(1) << bit, 1);
            histogram_add(&b, UINT64_MAX >> bit, 1);
        }
        assert_true(store.count <= 2 * HISTOGRAM_OCTAVES);
    }
    assert_true(store.count == 2 * HISTOGRAM_OCTAVES);
    assert_true(histogram_quantile(&a, 0, &told) && told == 1);
    assert_true(histogram_quantile(&b, 1, &told) && within(told, UINT64_MAX));
    octave_store_done(&store);
}

static void test_histogram_an_octave_without_values_takes_no_room(void **state)
{
    struct histogram *h = histogram_fresh();
    for (unsigned i = 0; i < 100; i++)
        histogram_add(h, 1000000, 1);
    assert_int_equal(h->store->count, 0); /* held back */
    histogram_add(h, 5, 1);
    assert_int_equal(h->store->count, 1);
    done(h);
}

/* Years of nanoseconds are more than a double can count one by one. */
static void test_histogram_long_runs(void **state)
{
    struct histogram *h = histogram_fresh();
    uint64_t told;
    for (uint64_t odd = 1; odd < 50; odd += 2) {
        empty(h);
        histogram_add(h, 20, UINT64_MAX / 2 - odd);
        assert_true(histogram_quantile(h, 1, &told) && told == 20);
        histogram_add(h, 21, (UINT64_C(1) << 53) + odd);
        assert_true(histogram_quantile(h, 1, &told) && told == 21);
        assert_true(histogram_quantile(h, 0.5, &told) && told == 20);
    }
    done(h);
}

static int set_up(void **state)
{
    find_metrics(state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary_frames),
        cmocka_unit_test(test_summary_parts_at_peak),
        cmocka_unit_test(test_summary_gaps),
        cmocka_unit_test(test_summary_brief_samples),
        cmocka_unit_test(test_summary_notes),
        cmocka_unit_test(test_summary_unknown_until_judged),
        cmocka_unit_test(test_run_facts_secrets),
        cmocka_unit_test(test_run_facts_command_names_the_run),
        cmocka_unit_test(test_run_facts_a_name_that_was_given_stays),
        cmocka_unit_test(test_run_facts_labels),
        cmocka_unit_test(test_energy_both),
        cmocka_unit_test(test_energy_one_without_a_counter),
        cmocka_unit_test(test_energy_one_is_awaited),
        cmocka_unit_test(test_energy_instances_are_of_their_board),
        cmocka_unit_test(test_energy_inside_of_a_processor),
        cmocka_unit_test(test_energy_nothing),
        cmocka_unit_test(test_series_mean_is_weighted_by_time),
        cmocka_unit_test(test_series_mean_against_a_plain_sum),
        cmocka_unit_test(test_series_total_is_mean_times_time),
        cmocka_unit_test(test_series_a_burst_is_no_spike),
        cmocka_unit_test(test_series_ticks_do_not_show),
        cmocka_unit_test(test_series_intervals_longer_than_the_window),
        cmocka_unit_test(test_series_the_rest_of_a_window),
        cmocka_unit_test(test_series_no_time),
        cmocka_unit_test(test_series_twice_at_once),
        cmocka_unit_test(test_series_quantiles),
        cmocka_unit_test(test_series_quantiles_in_the_unit),
        cmocka_unit_test(test_series_a_counter_that_falls),
        cmocka_unit_test(test_series_at_least),
        cmocka_unit_test(test_series_what_is_read_once_a_second),
        cmocka_unit_test(test_histogram_empty),
        cmocka_unit_test(test_histogram_one_value),
        cmocka_unit_test(test_histogram_error_bound),
        cmocka_unit_test(test_histogram_weights),
        cmocka_unit_test(test_histogram_weights_decide),
        cmocka_unit_test(test_histogram_the_order_does_not_matter),
        cmocka_unit_test(test_histogram_a_store_is_enough_for_all),
        cmocka_unit_test(test_histogram_an_octave_without_values_takes_no_room),
        cmocka_unit_test(test_histogram_long_runs),
    };
    return cmocka_run_group_tests_name("summary/summary", tests, set_up, NULL);
}
