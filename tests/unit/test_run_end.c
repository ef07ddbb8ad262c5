/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"

#include "unit.h"

static void test_facts(void **state)
{
    static const struct {
        struct toll_end end;
        bool has_target;
        size_t targets;
        const char *name; /* of the second one */
    } cases[] = {
        {{.ended = true, .status = 3}, true, 0, "exit_code"},
        {{.ended = true, .signaled = true, .status = 9}, true, 0, "exit_signal"},
        {{.ended = true, .unknown = true}, true, 0, NULL},
        {{.ended = true, .status = 3}, true, 2, NULL}, /* of several there is no one status */
        {{.ended = false}, true, 0, NULL},
        {{.ended = true}, false, 0, NULL},
    };
    struct run run = {.start_real_ns = UINT64_C(1731000000123456789)};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct summary s = {.run = &run,
                            .elapsed_ns = 2000000000,
                            .has_target = cases[i].has_target,
                            .target_count = cases[i].targets};
        struct run_fact facts[RUN_FACTS_AT_MOST];
        struct run_end end;
        s.whole.end = cases[i].end;
        run_end_take(&end, &s);
        assert_int_equal(run_end_facts(&end, facts), cases[i].name ? 2 : 1);
        assert_string_equal(facts[0].name, "end_time_seconds");
        assert_true(run_fact_value(&facts[0]) == 1731000002.123);
        if (!cases[i].name)
            continue;
        assert_string_equal(facts[1].name, cases[i].name);
        assert_true(run_fact_value(&facts[1]) == cases[i].end.status);
    }
}

static void test_a_run_that_goes_on(void **state)
{
    struct run_fact facts[RUN_FACTS_AT_MOST];
    struct run_end end = {0};
    assert_int_equal(run_end_facts(&end, facts), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_a_run_that_goes_on),
    };
    return RUN("run_end", tests);
}
