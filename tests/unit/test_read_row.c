/* SPDX-License-Identifier: MIT */
#include "record/reading.h"
#include "record_lines.h"

static void test_in_any_order(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','target':{'combined':{'threads':3,'cpu_cores':0.5,"
                              "'cpu_seconds':2}}}\n");
    record_next(&r, RECORD_RUN);
    const struct row *row = record_next(&r, RECORD_FRAME)->frame->target[PART_COMBINED].row;
    assert_int_equal(row->values[process_threads_count - row->first].u, 3);
    assert_true(row->values[process_cpu_cores - row->first].d == 0.5);
    assert_int_equal(row->values[process_cpu_seconds - row->first].u, 2 * NS_PER_SECOND);
    record_end(&r);
}

/* Keys come in the order of the table, as a rule: the search goes on from where it was. */
static void test_finding(void **state)
{
    unsigned next = 0;
    struct scan cpu = scan_string("cpu_seconds"), wall = scan_string("wall_seconds");
    struct scan none = scan_string("cpu_dreams");
    int at = read_row_find(ENTITY_TARGET, &cpu, &next);
    assert_int_equal(at, process_cpu_seconds - metric_first(ENTITY_TARGET));
    assert_int_equal(next, at + 1);
    assert_int_equal(read_row_find(ENTITY_TARGET, &wall, &next), 0); /* from the beginning again */
    assert_int_equal(read_row_find(ENTITY_TARGET, &none, &next), -1);
}

static void test_values(void **state)
{
    static const struct {
        const char *text;
        enum metric_id id;
        bool is_good, is_known;
        uint64_t u;
    } cases[] = {
        {"1.000000001", process_cpu_seconds, true, true, 1000000001},
        {"null", process_cpu_seconds, true, false, 0},
        {"18446744073709551615", process_memory_rss_bytes, true, true, UINT64_MAX},
        {"18446744073709551616", process_memory_rss_bytes, false, false, 0},
        {"-1", process_memory_rss_bytes, false, false, 0},
        {"1e99", process_memory_rss_bytes, false, false, 0},
        {"'1'", process_memory_rss_bytes, false, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_in j = {0};
        union value v = {0};
        bool is_known = false;
        json_in_begin(&j, cases[i].text, strlen(cases[i].text));
        assert_int_equal(read_row_value(&j, metric_of(cases[i].id), &v, &is_known),
                         cases[i].is_good);
        if (cases[i].is_good) {
            assert_int_equal(is_known, cases[i].is_known);
            assert_int_equal(v.u, cases[i].u);
        }
        json_in_done(&j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_any_order),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_values),
    };
    return RUN("read_row", tests);
}
