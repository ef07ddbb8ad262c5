/* SPDX-License-Identifier: MIT */
#include "metric/metric.h"

#include "unit.h"

static struct selection parse(const char *globs)
{
    struct selection s = {0};
    struct toll_error e = {0};
    assert_int_equal(selection_parse(&s, globs, &e), 0);
    return s;
}

static void test_everything(void **state)
{
    struct selection s = parse(NULL);
    for (unsigned part = 0; part < PARTS; part++)
        assert_true(s.parts[part] == BIT(PROCESS_METRICS) - 1);
    assert_true(s.of[ENTITY_PROCESS] == BIT(PROCESS_METRICS) - 1);
    assert_true(s.of[ENTITY_SELF] == BIT(SELF_METRICS) - 1);
    assert_true(selection_wanted(&s) == BIT(PROCESS_METRICS) - 1);
    assert_false(s.by_name);
    struct selection star = parse("*");
    assert_true(star.by_name);
    star.by_name = false;
    assert_memory_equal(&star, &s, sizeof s);
}

static void test_name_without_prefix_is_of_everybody(void **state)
{
    struct selection s = parse("memory_rss_bytes");
    for (unsigned part = 0; part < PARTS; part++)
        assert_true(s.parts[part] == BIT(process_memory_rss_bytes));
    assert_true(s.of[ENTITY_PROCESS] == BIT(process_memory_rss_bytes));
    assert_true(s.of[ENTITY_SELF] == BIT(self_memory_rss_bytes - self_first));
}

static void test_prefix_selects_one_part(void **state)
{
    struct selection s = parse("main_cpu_seconds,self_ticks");
    assert_true(s.parts[PART_MAIN] == BIT(process_cpu_seconds));
    assert_true(s.parts[PART_COMBINED] == 0 && s.parts[PART_DESCENDANTS] == 0);
    assert_true(s.of[ENTITY_PROCESS] == 0);
    assert_true(s.of[ENTITY_SELF] == BIT(self_ticks_count - self_first));
    assert_true(selection_wanted(&s) == BIT(process_cpu_seconds));
}

/* What toll reads of itself needs no file of a process. */
static void test_self_alone_wants_nothing(void **state)
{
    struct selection s = parse("self_*");
    assert_true(s.of[ENTITY_SELF] == BIT(SELF_METRICS) - 1);
    assert_true(selection_wanted(&s) == 0);
}

static void test_unknown_name(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_name_without_prefix_is_of_everybody),
        cmocka_unit_test(test_prefix_selects_one_part),
        cmocka_unit_test(test_self_alone_wants_nothing),
        cmocka_unit_test(test_unknown_name),
    };
    return RUN("selection", tests);
}
