/* SPDX-License-Identifier: MIT */
#include "metric/metric.h"
#include "metric/frame.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

/* ---- metric --------------------------------------------------------------------------------- */

static const struct toll_metric *facts(unsigned id)
{
    return &metric_of((enum metric_id)id)->facts;
}

/* What OpenMetrics allows, and less: no capitals. */
static void test_metric_names_are_valid(void **state)
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

static void test_metric_names_are_unique(void **state)
{
    for (unsigned a = 0; a < METRIC_COUNT; a++)
        for (unsigned b = 0; b < a; b++)
            assert_false(strcmp(facts(a)->entity, facts(b)->entity) == 0 &&
                         strcmp(facts(a)->name, facts(b)->name) == 0);
}

static void test_metric_unit_is_in_the_name(void **state)
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

static void test_metric_texts(void **state)
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
static void test_metric_fold_suits_the_kind(void **state)
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
static void test_metric_runs(void **state)
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
static void test_metric_rate_rows(void **state)
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

static void test_metric_write(void **state)
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

static void test_metric_number(void **state)
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

static void test_metric_matches(void **state)
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

static void test_metric_matches_other_prefix(void **state)
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

static void test_metric_check_globs(void **state)
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
static void test_metric_every_name_is_found(void **state)
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct toll_metric *f = facts(id);
        assert_true(metric_matches(f->name, f->entity, metric_of((enum metric_id)id)));
        assert_int_equal(metric_check_globs(f->name, NULL), 0);
    }
}

/* ---- entity --------------------------------------------------------------------------------- */

static void test_entity_names(void **state)
{
    assert_string_equal(part_name(PART_COMBINED), "combined");
    assert_string_equal(part_name(PART_MAIN), "main");
    assert_string_equal(part_name(PART_DESCENDANTS), "descendants");
    assert_string_equal(part_prefix(PART_COMBINED), "target");
    assert_string_equal(part_prefix(PART_MAIN), "main");
    assert_string_equal(part_prefix(PART_DESCENDANTS), "descendants");
}

/* Names become keys and columns: they must differ. */
static void test_entity_unique(void **state)
{
    for (enum part a = 0; a < PARTS; a++) {
        for (enum part b = 0; b < a; b++) {
            assert_string_not_equal(part_name(a), part_name(b));
            assert_string_not_equal(part_prefix(a), part_prefix(b));
        }
    }
}

/* ---- quality -------------------------------------------------------------------------------- */

/* These words stand in files: they do not change. */
static void test_quality_words(void **state)
{
    assert_string_equal(quality_word(QUALITY_UNKNOWN), "unknown");
    assert_string_equal(quality_word(QUALITY_LOWER_BOUND), "lower bound");
    assert_string_equal(quality_word(QUALITY_SAMPLED), "sampled");
    assert_string_equal(quality_word(QUALITY_EXACT_IF_REAPED), "exact if reaped");
    assert_string_equal(quality_word(QUALITY_EXACT), "exact");
}

static void test_quality_order(void **state)
{
    assert_true(QUALITY_UNKNOWN == 0); /* what is not set is unknown */
    assert_true(QUALITY_UNKNOWN < QUALITY_LOWER_BOUND);
    assert_true(QUALITY_LOWER_BOUND < QUALITY_SAMPLED);
    assert_true(QUALITY_SAMPLED < QUALITY_EXACT_IF_REAPED);
    assert_true(QUALITY_EXACT_IF_REAPED < QUALITY_EXACT);
    assert_int_equal(QUALITY_EXACT + 1, QUALITIES);
}

/* ---- column --------------------------------------------------------------------------------- */

static void expect_lead(enum entity_kind kind, enum part part, const char *name, const char *lead)
{
    struct buf b = {0};
    column_lead(&b, kind, part, name);
    assert_string_equal(b.data, lead);
    buf_puts(&b, metric_of(metric_first(kind))->facts.name);
    assert_int_equal(column_metric(kind, part, name, b.data), metric_first(kind));
    buf_done(&b);
}

static void test_column_names_and_back(void **state)
{
    expect_lead(ENTITY_TARGET, PART_COMBINED, NULL, "target_");
    expect_lead(ENTITY_TARGET, PART_MAIN, NULL, "main_");
    expect_lead(ENTITY_TARGET, PART_DESCENDANTS, NULL, "descendants_");
    expect_lead(ENTITY_TARGET, PART_COMBINED, "web", "target.web.");
    expect_lead(ENTITY_TARGET, PART_MAIN, "web", "target.web.main_");
    expect_lead(ENTITY_SYSTEM, 0, NULL, "system_");
    expect_lead(ENTITY_SELF, 0, NULL, "self_");
    expect_lead(ENTITY_DISK, 0, "vda", "disk.vda.");
    expect_lead(ENTITY_MOUNT, 0, "/", "mount./.");
}

static void test_column_what_is_no_column(void **state)
{
    assert_int_equal(column_metric(ENTITY_TARGET, 0, NULL, "target_cpu_seconds"),
                     process_cpu_seconds);
    assert_int_equal(column_metric(ENTITY_TARGET, 0, NULL, "target_nothing"), -ENOENT);
    assert_int_equal(column_metric(ENTITY_TARGET, 0, NULL, "main_cpu_seconds"), -ENOENT);
    assert_int_equal(column_metric(ENTITY_TARGET, 0, "web", "target.we.cpu_seconds"), -ENOENT);
    assert_int_equal(column_metric(ENTITY_TARGET, 0, NULL, ""), -ENOENT);
    assert_int_equal(column_metric(ENTITY_SELF, 0, NULL, "self_"), -ENOENT);
}

/* ---- selection ------------------------------------------------------------------------------ */

static struct selection selection_test_parse(const char *globs)
{
    struct selection s = {0};
    struct toll_error e = {0};
    assert_int_equal(selection_parse(&s, globs, &e), 0);
    return s;
}

static void test_selection_everything(void **state)
{
    struct selection s = selection_test_parse(NULL);
    for (unsigned part = 0; part < PARTS; part++)
        assert_true(s.parts[part] == BIT(PROCESS_METRICS) - 1);
    assert_true(s.of[ENTITY_PROCESS] == BIT(PROCESS_METRICS) - 1);
    assert_true(s.of[ENTITY_SELF] == BIT(SELF_METRICS) - 1);
    assert_true(selection_wanted(&s) == BIT(PROCESS_METRICS) - 1);
    assert_false(s.by_name);
    struct selection star = selection_test_parse("*");
    assert_true(star.by_name);
    star.by_name = false;
    assert_memory_equal(&star, &s, sizeof s);
}

static void test_selection_basic_is_ten_of_the_job(void **state)
{
    struct selection s = selection_test_parse("basic");
    for (unsigned part = 0; part < PARTS; part++)
        assert_int_equal(__builtin_popcountll(s.parts[part]), 10);
    assert_int_equal(s.of[ENTITY_PROCESS], s.parts[PART_COMBINED]);
    assert_true(s.parts[PART_MAIN] & BIT(process_cpu_seconds));
    assert_int_equal(s.of[ENTITY_CORE], 0); /* a machine may have hundreds */
    struct selection more = selection_test_parse("basic,threads");
    assert_int_equal(more.parts[PART_COMBINED],
                     s.parts[PART_COMBINED] | BIT(process_threads_count));
}

static void test_selection_name_without_prefix_is_of_everybody(void **state)
{
    struct selection s = selection_test_parse("memory_rss_bytes");
    for (unsigned part = 0; part < PARTS; part++)
        assert_true(s.parts[part] == BIT(process_memory_rss_bytes));
    assert_true(s.of[ENTITY_PROCESS] == BIT(process_memory_rss_bytes));
    assert_true(s.of[ENTITY_SELF] == BIT(self_memory_rss_bytes - self_first));
}

static void test_selection_prefix_selects_one_part(void **state)
{
    struct selection s = selection_test_parse("main_cpu_seconds,self_ticks");
    assert_true(s.parts[PART_MAIN] == BIT(process_cpu_seconds));
    assert_true(s.parts[PART_COMBINED] == 0 && s.parts[PART_DESCENDANTS] == 0);
    assert_true(s.of[ENTITY_PROCESS] == 0);
    assert_true(s.of[ENTITY_SELF] == BIT(self_ticks_count - self_first));
    assert_true(selection_wanted(&s) == BIT(process_cpu_seconds));
}

/* What toll reads of itself needs no file of a process. */
static void test_selection_self_alone_wants_nothing(void **state)
{
    struct selection s = selection_test_parse("self_*");
    assert_true(s.of[ENTITY_SELF] == BIT(SELF_METRICS) - 1);
    assert_true(selection_wanted(&s) == 0);
}

static void test_selection_unknown_name(void **state)
{
    struct selection s;
    memset(&s, UNTOUCHED, sizeof s);
    struct toll_error e = {0};
    assert_int_equal(selection_parse(&s, "cpu_seconds,no_such_thing", &e), -EINVAL);
    assert_non_null(strstr(e.message, "no_such_thing"));
    assert_int_equal(selection_parse(&s, "", &e), -EINVAL);
    assert_int_equal(selection_parse(&s, " , ,", NULL), -EINVAL);
    assert_true(is_untouched(&s, sizeof s));
}

/* ---- frame ---------------------------------------------------------------------------------- */

static void check_every_metric(enum entity_kind kind)
{
    struct row r;
    row_init(&r, kind);
    enum metric_id first = metric_first(kind);
    unsigned count = metric_count(kind);
    assert_in_range(count, 1, sizeof r.values / sizeof r.values[0]);
    for (unsigned i = 0; i < count; i++)
        assert_false(row_has(&r, first + i));

    for (unsigned i = 0; i < count; i++) {
        row_put_u64(&r, first + i, 1000 + i);
        for (unsigned k = 0; k < count; k++)
            assert_int_equal(row_has(&r, first + k), k <= i);
    }
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(row_u64(&r, first + i), 1000 + i);

    for (unsigned i = 0; i < count; i++) {
        row_unknown(&r, first + i);
        assert_false(row_has(&r, first + i));
        assert_int_equal(row_u64(&r, first + i), 0);
    }
    assert_int_equal(r.present, 0);
}

static void test_frame_rows(void **state)
{
    check_every_metric(ENTITY_PROCESS);
    check_every_metric(ENTITY_TARGET);
    check_every_metric(ENTITY_SELF);
}

static void test_frame_double(void **state)
{
    struct row r;
    row_init(&r, ENTITY_TARGET);
    row_put_double(&r, process_cpu_cores, 1.5);
    assert_true(row_has(&r, process_cpu_cores));
    assert_true(row_value(&r, process_cpu_cores).d == 1.5);
}

static void test_frame_put_again(void **state)
{
    struct row r;
    row_init(&r, ENTITY_SELF);
    row_put_u64(&r, self_ticks_count, 1);
    row_put_u64(&r, self_ticks_count, 2);
    assert_int_equal(row_u64(&r, self_ticks_count), 2);
    row_init(&r, ENTITY_SELF);
    assert_false(row_has(&r, self_ticks_count));
}

static void test_frame(void **state)
{
    struct frame f = {0};
    for (int tick = 0; tick < 3; tick++) {
        frame_begin(&f);
        assert_null(f.processes);
        assert_int_equal(f.process_count, 0);
        assert_false(f.last);
        f.processes = arena_take(&f.arena, 1000 * sizeof *f.processes);
        assert_non_null(f.processes);
        assert_null(f.processes[999].row);
        f.processes[999].row = (const struct row *)&f;
        f.process_count = 1000;
        f.last = true;
    }
    frame_done(&f);
}

/* ---- inherited ------------------------------------------------------------------------------ */

static void test_inherited_each_conserved_metric_has_a_place_of_its_own(void **state)
{
    struct inherited i = {0};
    uint64_t conserved = metric_fold_mask(FOLD_CONSERVED);
    assert_int_equal(__builtin_popcountll(conserved), INHERITED_METRICS);
    FOR_EACH_BIT(id, conserved)
    {
        assert_false(inherited_has(&i, id));
        inherited_put(&i, id, 1000 + id);
    }
    FOR_EACH_BIT(id, conserved)
    assert_int_equal(inherited_u64(&i, id), 1000 + id);
    assert_true(i.present == conserved);
}

static void test_inherited_unknown_is_nothing(void **state)
{
    struct inherited i = {0};
    inherited_put(&i, process_cpu_seconds, 7);
    assert_int_equal(inherited_u64(&i, process_faults_minor_count), 0);
    assert_int_equal(inherited_u64(&i, process_memory_rss_bytes), 0);
    assert_false(inherited_has(&i, process_memory_rss_bytes));
    inherited_put(&i, process_cpu_seconds, 8);
    assert_int_equal(inherited_u64(&i, process_cpu_seconds), 8);
}

/* ---- mark text ------------------------------------------------------------------------------ */

static int mark_text_parse(const char *text, struct mark_text *ret)
{
    size_t length = strlen(text);
    char *copy = exact_copy(text, length);
    memset(ret, UNTOUCHED, sizeof *ret);
    int r = parse_mark_text(scan_text(copy, length), ret);
    assert_true(r == 0 || is_untouched(ret, sizeof *ret));
    free(copy);
    return r;
}

static void test_mark_text_good(void **state)
{
    struct mark_text m;
    assert_int_equal(mark_text_parse("phase begin load", &m), 0);
    assert_int_equal(m.kind, MARK_PHASE_BEGIN);
    assert_string_equal(m.name, "load");
    assert_true(m.pid == 0 && m.time_ns == 0 && m.lost == 0);
    assert_int_equal(mark_text_parse("phase end load\n", &m), 0);
    assert_int_equal(m.kind, MARK_PHASE_END);
    assert_int_equal(mark_text_parse("gauge loss -2.5e-1 @pid=77 @time=123456789012 @lost=4", &m),
                     0);
    assert_int_equal(m.kind, MARK_GAUGE);
    assert_true(m.value == -0.25 && m.pid == 77 && m.time_ns == 123456789012 && m.lost == 4);
    assert_int_equal(mark_text_parse("event a%20name%25 @later=what", &m), 0);
    assert_string_equal(m.name, "a name%");
    assert_int_equal(mark_text_parse("event @x", &m), 0); /* a name stands at its place */
}

static void test_mark_text_garbage(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "event",
        "event ",
        "Event a",
        " event a",
        "event a ",
        "event a  k=v",
        "event a\n\n",
        "event a\tb",
        "event a b",
        "event a =v",
        "event a%2",
        "event a%zz",
        "event a% 1",
        "event a%00",
        "event a%0A",
        "event \xFF",
        "event a k=\x01",
        "phase begin",
        "phase start a",
        "phase end a k=v",
        "gauge a",
        "gauge a b",
        "gauge a 1 2",
        "gauge a nan",
        "gauge a inf",
        "gauge a 1e400",
        "gauge a 1x",
        "event a @pid=",
        "event a @pid=0",
        "event a @pid=-1",
        "event a @pid=2147483648",
        "event a @time=1x",
        "event a @time=99999999999999999999",
        "event a @lost=18446744073709551615",
    };
    struct mark_text m;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(mark_text_parse(texts[i], &m), -EBADMSG);
}

static void test_mark_text_names(void **state)
{
    char text[512], name[200];
    struct mark_text m;
    memset(name, 'x', sizeof name);
    name[MARK_NAME_BYTES] = '\0';
    assert_true(mark_text_is_name(name));
    snprintf(text, sizeof text, "event %s", name);
    assert_int_equal(mark_text_parse(text, &m), 0);
    name[MARK_NAME_BYTES] = 'x';
    name[MARK_NAME_BYTES + 1] = '\0';
    assert_false(mark_text_is_name(name));
    snprintf(text, sizeof text, "event %s", name);
    assert_int_equal(mark_text_parse(text, &m), -EBADMSG);
    assert_false(mark_text_is_name(""));
    assert_false(mark_text_is_name(NULL));
    assert_false(mark_text_is_name("a\nb"));
    assert_true(mark_text_is_name("größe 100 %"));
}

static void test_mark_text_attributes(void **state)
{
    struct mark_text m;
    char text[64];
    const char *value;
    const char *mark = "event a @pid=1 who=a%20b%25 x= @time=5 y=1=2";
    assert_int_equal(parse_mark_text(scan_string(mark), &m), 0);
    static const char *const expected[][2] = {{"who", "a b%"}, {"x", ""}, {"y", "1=2"}};
    for (size_t i = 0; i < 3; i++) {
        assert_true(mark_text_attribute(&m.attributes, text, sizeof text, &value));
        assert_string_equal(text, expected[i][0]);
        assert_string_equal(value, expected[i][1]);
    }
    assert_false(mark_text_attribute(&m.attributes, text, sizeof text, &value));
    struct scan rest = scan_string("long=value");
    assert_true(mark_text_attribute(&rest, text, 7, &value));
    assert_string_equal(value, "v"); /* cut */
    rest = scan_string("a=1 ab=2 %61=3 b=4");
    static const char *const last[][2] = {{"ab", "2"}, {"a", "3"}, {"b", "4"}};
    for (size_t i = 0; i < 3; i++) {
        assert_true(mark_text_attribute(&rest, text, sizeof text, &value));
        assert_string_equal(text, last[i][0]);
        assert_string_equal(value, last[i][1]);
    }
    assert_true(mark_text_is_attribute("k=v") && mark_text_is_attribute("k="));
    assert_false(mark_text_is_attribute("=v") || mark_text_is_attribute("k"));
    assert_false(mark_text_is_attribute("@k=v"));
}

/* What is written is read as it was. */
static void test_mark_text_there_and_back(void **state)
{
    static const double values[] = {0,
                                    -1,
                                    0.1,
                                    1e-300,
                                    5e-324,
                                    1.7976931348623157e308,
                                    1e22,
                                    123456789.123456789,
                                    2.2250738585072014e-308};
    struct mark_text m;
    char text[64];
    const char *value;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct buf b = {0};
        mark_text_begin(&b, MARK_GAUGE, "a %\xC3\xBC");
        mark_text_add_value(&b, values[i]);
        mark_text_add_number(&b, "time", UINT64_MAX);
        assert_int_equal(parse_mark_text(scan_text(b.data, b.length), &m), 0);
        assert_string_equal(m.name, "a %ü");
        assert_true(m.value == values[i] && m.time_ns == UINT64_MAX);
        buf_done(&b);
    }
    struct buf b = {0};
    mark_text_begin(&b, MARK_PHASE_BEGIN, "x");
    mark_text_add(&b, "key=a\nb %");
    assert_int_equal(parse_mark_text(scan_text(b.data, b.length), &m), 0);
    assert_true(mark_text_attribute(&m.attributes, text, sizeof text, &value));
    assert_string_equal(value, "a\nb %");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metric_names_are_valid),
        cmocka_unit_test(test_metric_names_are_unique),
        cmocka_unit_test(test_metric_unit_is_in_the_name),
        cmocka_unit_test(test_metric_texts),
        cmocka_unit_test(test_metric_fold_suits_the_kind),
        cmocka_unit_test(test_metric_runs),
        cmocka_unit_test(test_metric_rate_rows),
        cmocka_unit_test(test_metric_write),
        cmocka_unit_test(test_metric_number),
        cmocka_unit_test(test_metric_matches),
        cmocka_unit_test(test_metric_matches_other_prefix),
        cmocka_unit_test(test_metric_check_globs),
        cmocka_unit_test(test_metric_every_name_is_found),
        cmocka_unit_test(test_entity_names),
        cmocka_unit_test(test_entity_unique),
        cmocka_unit_test(test_quality_words),
        cmocka_unit_test(test_quality_order),
        cmocka_unit_test(test_column_names_and_back),
        cmocka_unit_test(test_column_what_is_no_column),
        cmocka_unit_test(test_selection_everything),
        cmocka_unit_test(test_selection_basic_is_ten_of_the_job),
        cmocka_unit_test(test_selection_name_without_prefix_is_of_everybody),
        cmocka_unit_test(test_selection_prefix_selects_one_part),
        cmocka_unit_test(test_selection_self_alone_wants_nothing),
        cmocka_unit_test(test_selection_unknown_name),
        cmocka_unit_test(test_frame_rows),
        cmocka_unit_test(test_frame_double),
        cmocka_unit_test(test_frame_put_again),
        cmocka_unit_test(test_frame),
        cmocka_unit_test(test_inherited_each_conserved_metric_has_a_place_of_its_own),
        cmocka_unit_test(test_inherited_unknown_is_nothing),
        cmocka_unit_test(test_mark_text_good),
        cmocka_unit_test(test_mark_text_garbage),
        cmocka_unit_test(test_mark_text_names),
        cmocka_unit_test(test_mark_text_attributes),
        cmocka_unit_test(test_mark_text_there_and_back),
    };
    return RUN("metric/metric", tests);
}
