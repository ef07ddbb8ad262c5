/* SPDX-License-Identifier: MIT */
#include "record_lines.h"

static void test_the_whole(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'summary','schema':'toll.summary/1','wall_seconds':2.5,'end':{'status':"
                 "'exited','code':3,'signal':null,'core_dumped':false,'oom_killed':false,"
                 "'timed_out':true},'still_running_count':1,'still_running':[{'pid':9,'name':'x',"
                 "'cpu_seconds':1,'memory_rss_bytes':2}],'notes':['one','two']}\n");
    record_next(&r, RECORD_RUN);
    const struct summary *s = record_next(&r, RECORD_SUMMARY)->summary;
    assert_null(r.item.cut_short);
    assert_int_equal(s->elapsed_ns, 2500000000);
    assert_true(s->whole.end.ended && s->whole.end.timed_out && !s->whole.end.signaled);
    assert_int_equal(s->whole.end.status, 3);
    assert_int_equal(s->note_count, 2);
    assert_string_equal(s->notes[1], "two");
    assert_int_equal(record_reader_next(r.reader, &r.item, NULL), 0);
    record_end(&r);
}

/* A run without one has that of its samples. */
static void test_none(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','tick':0,'elapsed_seconds':0.5,'target':"
                              "{'combined':{'wall_seconds':0.5,'cpu_seconds':0.25}}}\n");
    record_next(&r, RECORD_RUN);
    record_next(&r, RECORD_FRAME);
    const struct summary *s = record_next(&r, RECORD_SUMMARY)->summary;
    assert_non_null(strstr(r.item.cut_short, "ends before the run did"));
    assert_true(!s->whole.end.ended && s->whole.end.unknown);
    assert_int_equal(s->elapsed_ns, 500000000);
    assert_int_equal(s->whole.series[PART_COMBINED][process_cpu_seconds].last.u, 250000000);
    assert_int_equal(s->whole.provenance[PART_COMBINED][process_cpu_seconds].quality,
                     QUALITY_LOWER_BOUND);
    record_end(&r);
}

static void test_what_is_wrong(void **state)
{
    record_refuses("{'type':'summary','schema':'toll.summary/1','wall_seconds':'long'}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','notes':'none'}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','end':{'status':'fine'}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_whole),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_what_is_wrong),
    };
    return RUN("read_summary", tests);
}
