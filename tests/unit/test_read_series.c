/* SPDX-License-Identifier: MIT */
#include "record_lines.h"

#define SUMMARY(figures)                                                                           \
    RUN_LINE "{'type':'summary','schema':'toll.summary/"                                           \
             "1','wall_seconds':2,'target':{'combined':{" figures "}}}\n"

static void test_a_counter_and_a_gauge(void **state)
{
    struct record r;
    record_begin(&r, SUMMARY("'cpu_seconds':{'total':1.5,'rate_mean':0.75,'rate_max':1,"
                             "'rate_max_at_seconds':0.5,'quality':'exact','from':'wait4'},"
                             "'memory_rss_bytes':{'mean':10,'min':5,'max':20,'max_at_seconds':1,"
                             "'last':7,'p50':9,'p90':19,'p99':20,'quality':'sampled',"
                             "'from':'samples'},'threads':{'quality':'unknown','from':''}"));
    record_next(&r, RECORD_RUN);
    const struct target_summary *t = &record_next(&r, RECORD_SUMMARY)->summary->whole;
    const struct series *cpu = &t->series[PART_COMBINED][process_cpu_seconds];
    const struct series *rss = &t->series[PART_COMBINED][process_memory_rss_bytes];
    assert_int_equal(cpu->last.u, 1500000000);
    assert_true(series_mean(rss, metric_of(process_memory_rss_bytes)) == 10);
    assert_true(rss->max == 20 && rss->min == 5);
    assert_int_equal(rss->max_at_ns, NS_PER_SECOND);
    assert_int_equal(t->provenance[PART_COMBINED][process_cpu_seconds].quality, QUALITY_EXACT);
    assert_string_equal(t->provenance[PART_COMBINED][process_cpu_seconds].source, "wait4");
    assert_int_equal(t->provenance[PART_COMBINED][process_threads_count].quality, QUALITY_UNKNOWN);
    record_end(&r);
}

static void test_what_is_wrong(void **state)
{
    record_refuses("{'type':'summary','schema':'toll.summary/1','target':{'combined':"
                   "{'cpu_seconds':{'total':'1'}}}}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','target':{'combined':"
                   "{'cpu_seconds':{'quality':'fine'}}}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_counter_and_a_gauge),
        cmocka_unit_test(test_what_is_wrong),
    };
    return RUN("read_series", tests);
}
