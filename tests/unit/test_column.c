/* SPDX-License-Identifier: MIT */
#include "metric/metric.h"

#include "unit.h"

static void expect_lead(enum entity_kind kind, enum part part, const char *name, const char *lead)
{
    struct buf b = {0};
    column_lead(&b, kind, part, name);
    assert_string_equal(b.data, lead);
    buf_puts(&b, metric_of(metric_first(kind))->facts.name);
    assert_int_equal(column_metric(kind, part, name, b.data), metric_first(kind));
    buf_done(&b);
}

static void test_names_and_back(void **state)
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

static void test_what_is_no_column(void **state)
{
    assert_int_equal(column_metric(ENTITY_TARGET, 0, NULL, "target_cpu_seconds"),
                     process_cpu_seconds);
    assert_int_equal(column_metric(ENTITY_TARGET, 0, NULL, "target_nothing"), -ENOENT);
    assert_int_equal(column_metric(ENTITY_TARGET, 0, NULL, "main_cpu_seconds"), -ENOENT);
    assert_int_equal(column_metric(ENTITY_TARGET, 0, "web", "target.we.cpu_seconds"), -ENOENT);
    assert_int_equal(column_metric(ENTITY_TARGET, 0, NULL, ""), -ENOENT);
    assert_int_equal(column_metric(ENTITY_SELF, 0, NULL, "self_"), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_back),
        cmocka_unit_test(test_what_is_no_column),
    };
    return RUN("column", tests);
}
