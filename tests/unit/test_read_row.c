/* SPDX-License-Identifier: MIT */
#include "record/read_figures.h"
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

/* A process could not be read: what is known of a figure is no figure. */
static void test_lower_bounds(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'sample','elapsed_seconds':1,'target':{'combined':{'cpu_seconds':2,"
                 "'memory_pss_bytes':null,'lower_bound':{'memory_pss_bytes':4096,'dreams':1}}},"
                 "'processes':[{'pid':7,'io_read_bytes':null,'lower_bound':{'io_read_bytes':9}}]}\n"
                 "{'type':'process','pid':7,'io_read_bytes':null,"
                 "'lower_bound':{'io_read_bytes':10}}\n");
    record_next(&r, RECORD_RUN);
    const struct frame *f = record_next(&r, RECORD_FRAME)->frame;
    const struct row *row = f->target[PART_COMBINED].row;
    assert_true(row->present == BIT(process_cpu_seconds));
    assert_true(row->at_least == BIT(process_memory_pss_bytes));
    assert_int_equal(row_value(row, process_memory_pss_bytes).u, 4096);
    row = f->processes[0].row;
    assert_true(row->present == 0 && row->at_least == BIT(process_io_read_bytes));
    assert_string_equal(record_reader_unknown(r.reader), "dreams");
    const struct process *left = record_next(&r, RECORD_PROCESS_END)->process_end->process;
    assert_true(left->own.at_least == BIT(process_io_read_bytes));
    const struct summary *s = record_next(&r, RECORD_SUMMARY)->summary;
    assert_int_equal(s->whole.provenance[PART_COMBINED][process_memory_pss_bytes].quality,
                     QUALITY_LOWER_BOUND);
    assert_true(s->whole.partial[PART_COMBINED] == BIT(process_memory_pss_bytes));
    record_end(&r);
}

static void test_lower_bounds_that_are_none(void **state)
{
    record_refuses("{'type':'sample','target':{'combined':{'lower_bound':[]}}}");
    record_refuses("{'type':'sample','target':{'combined':{'lower_bound':{'cpu_seconds':'1'}}}}");
    record_refuses("{'type':'sample','target':{'combined':{'lower_bound':{'cpu_seconds':-1}}}}");
    /* Known, and a lower bound as well; in either order. */
    record_refuses("{'type':'sample','target':{'combined':{'cpu_seconds':1,"
                   "'lower_bound':{'cpu_seconds':1}}}}");
    record_refuses("{'type':'sample','target':{'combined':{'lower_bound':{'cpu_seconds':1},"
                   "'cpu_seconds':1}}}");
    record_refuses(
        "{'type':'sample','target':{'combined':{}},'processes':[{'pid':1,'cpu_seconds':1,"
        "'lower_bound':{'cpu_seconds':1}}]}");
    record_refuses("{'type':'process','pid':1,'cpu_seconds':1,'lower_bound':{'cpu_seconds':1}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_any_order),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_lower_bounds),
        cmocka_unit_test(test_lower_bounds_that_are_none),
    };
    return RUN("read_row", tests);
}
