/* SPDX-License-Identifier: MIT */
#include "metric/metric.h"

#include "unit.h"

#include <math.h>

static const struct toll_metric *facts(unsigned id)
{
    return &metric_of((enum metric_id)id)->facts;
}

/* What OpenMetrics allows, and less: no capitals. */
static void test_names_are_valid(void **state)
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const char *name = facts(id)->name;
        assert_true(*name >= 'a' && *name <= 'z');
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789"), strlen(name));
        assert_null(strstr(name, "__"));
        assert_false(ends_with(name, "_"));
        /* OpenMetrics adds these itself. */
        assert_false(ends_with(name, "_total") || ends_with(name, "_created") ||
                     ends_with(name, "_info") || ends_with(name, "_bucket"));
    }
}

static void test_names_are_unique(void **state)
{
    for (unsigned a = 0; a < METRIC_COUNT; a++)
        for (unsigned b = 0; b < a; b++)
            assert_false(strcmp(facts(a)->entity, facts(b)->entity) == 0 &&
                         strcmp(facts(a)->name, facts(b)->name) == 0);
}

static void test_unit_is_in_the_name(void **state)
{
    static const char *const words[] = {
        [UNIT_seconds] = "seconds", [UNIT_bytes] = "bytes", [UNIT_cores] = "cores",
        [UNIT_ratio] = "ratio",     [UNIT_count] = "",      [UNIT_number] = "",
        [UNIT_joules] = "joules",   [UNIT_watts] = "watts", [UNIT_celsius] = "celsius",
        [UNIT_hertz] = "hertz"};
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const char *unit = words[metric_of((enum metric_id)id)->unit];
        assert_string_equal(facts(id)->unit, unit);
        assert_true(ends_with(facts(id)->name, unit));
        assert_false(ends_with(facts(id)->name, "_count"));
    }
}

static void test_texts(void **state)
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct toll_metric *f = facts(id);
        assert_true(*f->title && *f->help && *f->source);
        assert_non_null(f->otel);
        assert_null(strchr(f->help, '\n'));
        assert_false(ends_with(f->help, "."));
        assert_true(strcmp(f->kind, "counter") == 0 || strcmp(f->kind, "gauge") == 0);
        assert_int_equal(strcmp(f->kind, "counter") == 0,
                         metric_of((enum metric_id)id)->kind == METRIC_COUNTER);
        assert_true(*f->fold && *f->cost);
    }
}

/* Only what grows can be conserved or kept, only what does not can be summed. */
static void test_fold_suits_the_kind(void **state)
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct metric *m = metric_of((enum metric_id)id);
        if (m->fold == FOLD_CONSERVED || m->fold == FOLD_KEPT)
            assert_int_equal(m->kind, METRIC_COUNTER);
        if (m->fold == FOLD_SUM || m->fold == FOLD_MAX)
            assert_int_equal(m->kind, METRIC_GAUGE);
        if (metric_is_double(m) && id != process_gpu_utilization_ratio) /* row_add knows it */
            assert_true(m->fold == FOLD_NONE || m->fold == FOLD_RATE);
    }
}

/* The runs of ids cover the table, each row in the run of its entity. */
static void test_runs(void **state)
{
    unsigned id = 0;
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++) {
        assert_int_equal(metric_first(kind), id);
        assert_true(metric_count(kind) > 0);
        assert_true(metric_count(kind) <= SYSTEM_METRICS);
        for (unsigned i = 0; i < metric_count(kind); i++, id++)
            assert_string_equal(facts(id)->entity, entity_kind_name(kind));
    }
    assert_int_equal(id, METRIC_COUNT);
    assert_int_equal(metric_first(ENTITY_TARGET), metric_first(ENTITY_PROCESS));
    assert_int_equal(metric_count(ENTITY_TARGET), metric_count(ENTITY_PROCESS));
    assert_string_equal(entity_kind_name(ENTITY_TARGET), "target");
    assert_string_equal(entity_kind_plural(ENTITY_DISK), "disks");
}

/* A rate stands below the counter it is the rate of. */
static void test_rate_rows(void **state)
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        if (metric_of(id)->fold != FOLD_RATE)
            continue;
        assert_int_equal(metric_of(id)->kind, METRIC_GAUGE);
        assert_true(metric_is_double(metric_of(id)));
        assert_int_equal(metric_of(id - 1)->kind, METRIC_COUNTER);
        assert_string_equal(facts(id)->entity, facts(id - 1)->entity);
    }
}

static void expect_written(enum metric_id id, union value v, const char *text)
{
    struct buf b = {0};
    metric_write(&b, metric_of(id), v);
    assert_string_equal(b.data, text);
    buf_done(&b);
}

static void test_write(void **state)
{
    expect_written(process_cpu_seconds, (union value){.u = 1234567891}, "1.234567891");
    expect_written(process_cpu_seconds, (union value){.u = 0}, "0");
    expect_written(process_cpu_seconds, (union value){.u = UINT64_MAX}, "18446744073.709551615");
    expect_written(process_memory_rss_bytes, (union value){.u = UINT64_MAX},
                   "18446744073709551615");
    expect_written(process_threads_count, (union value){.u = 12}, "12");
    expect_written(process_cpu_cores, (union value){.d = 1.5}, "1.5");
    expect_written(process_cpu_cores, (union value){.d = 0.1234567}, "0.123457");
    expect_written(process_cpu_cores, (union value){.d = NAN}, "null");
}

static void test_number(void **state)
{
    assert_true(
        metric_number(metric_of(process_cpu_seconds), (union value){.u = 1500 * NS_PER_MS}) == 1.5);
    assert_true(metric_number(metric_of(process_memory_rss_bytes), (union value){.u = 4096}) ==
                4096);
    assert_true(metric_number(metric_of(process_cpu_cores), (union value){.d = 0.25}) == 0.25);
}

static bool matches(const char *globs, enum metric_id id)
{
    return metric_matches(globs, "process", metric_of(id));
}

static void test_matches(void **state)
{
    assert_true(matches(NULL, process_cpu_seconds));
    assert_true(matches("*", process_cpu_seconds));
    assert_true(matches("cpu_seconds", process_cpu_seconds));
    assert_true(matches("process_cpu_seconds", process_cpu_seconds));
    assert_true(matches("cpu_*", process_cpu_user_seconds));
    assert_true(matches("*_bytes", process_memory_rss_bytes));
    assert_true(matches("memory_?ss_bytes", process_memory_rss_bytes));
    assert_true(matches("memory_[pr]ss_*", process_memory_pss_bytes));
    assert_true(matches("x,y,cpu_seconds", process_cpu_seconds));
    assert_true(matches(" x , cpu_seconds ,", process_cpu_seconds));
    assert_true(matches("threads", process_threads_count));

    assert_false(matches("", process_cpu_seconds));
    assert_false(matches(",", process_cpu_seconds));
    assert_false(matches("cpu", process_cpu_seconds));
    assert_false(matches("cpu_second", process_cpu_seconds));
    assert_false(matches("CPU_SECONDS", process_cpu_seconds));
    assert_false(matches("main_cpu_seconds", process_cpu_seconds));
    assert_false(matches("[", process_cpu_seconds));
}

static void test_matches_other_prefix(void **state)
{
    const struct metric *m = metric_of(process_cpu_seconds);
    assert_true(metric_matches("main_*", "main", m));
    assert_true(metric_matches("main_cpu_seconds,x", "main", m));
    assert_true(metric_matches("cpu_seconds", "descendants", m));
    assert_false(metric_matches("main_*", "descendants", m));
    char prefix[200];
    memset(prefix, 'p', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = '\0';
    assert_false(metric_matches("*", prefix, m));
}

static void test_check_globs(void **state)
{
    static const char *const good[] = {NULL,
                                       "*",
                                       "cpu_seconds",
                                       "process_cpu_seconds",
                                       "target_cpu_seconds",
                                       "main_*",
                                       "descendants_memory_*",
                                       "self_*",
                                       "ticks",
                                       "cpu_*,memory_*",
                                       " cpu_* , memory_* "};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(metric_check_globs(good[i], NULL), 0);

    struct toll_error e = {0};
    assert_int_equal(metric_check_globs("cpu_*,nosuch,memory_*", &e), -EINVAL);
    assert_int_equal(e.code, -EINVAL);
    assert_non_null(strstr(e.message, "'nosuch'"));
    assert_int_equal(metric_check_globs("", &e), -EINVAL);
    assert_int_equal(metric_check_globs(" , ", &e), -EINVAL);
    assert_int_equal(metric_check_globs("main_ticks", &e), -EINVAL);
}

/* Every name that check_globs takes is one that some metric answers to. */
static void test_every_name_is_found(void **state)
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct toll_metric *f = facts(id);
        assert_true(metric_matches(f->name, f->entity, metric_of((enum metric_id)id)));
        assert_int_equal(metric_check_globs(f->name, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_valid),
        cmocka_unit_test(test_names_are_unique),
        cmocka_unit_test(test_unit_is_in_the_name),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_fold_suits_the_kind),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_rate_rows),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_matches_other_prefix),
        cmocka_unit_test(test_check_globs),
        cmocka_unit_test(test_every_name_is_found),
    };
    return RUN("metric", tests);
}
