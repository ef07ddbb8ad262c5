/* SPDX-License-Identifier: MIT */
#include "layout/translation.h"
#include "unit.h"

static void test_figures(void **state)
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

static void test_instances_facts_options(void **state)
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

static void test_what_is_none(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_instances_facts_options),
        cmocka_unit_test(test_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
