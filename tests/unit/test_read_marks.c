/* SPDX-License-Identifier: MIT */
#include "record_lines.h"

static void test_a_phase(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'phase','elapsed_seconds':0.98,'name':'step','pid':1001,'attributes':"
                 "{'n':'1'},'begin_seconds':0.19,'end_seconds':0.98,'seconds':0.79,'ended':true,"
                 "'of':'process','looks':3,'figures':{'cpu_seconds':{'total':0.4,'quality':"
                 "'sampled'},'memory_rss_bytes':{'mean':10,'max':20,'quality':'sampled'}}}\n");
    record_next(&r, RECORD_RUN);
    const struct told_mark *m = record_next(&r, RECORD_MARK)->mark;
    assert_string_equal(m->name, "step");
    assert_int_equal(m->pid, 1001);
    assert_int_equal(m->elapsed_ns, 980000000);
    assert_non_null(m->phase);
    assert_int_equal(m->phase->end_ns - m->phase->begin_ns, 790000000);
    assert_false(m->phase->not_ended);
    assert_false(phase_is_of_target(m->phase));
    const struct phase_figures *f = phase_figures(m->phase);
    assert_int_equal(f->looks, 3);
    record_end(&r);
}

static void test_events_gauges_and_notes(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'event','elapsed_seconds':1,'name':'saved','pid':5,'attributes':{}}\n"
                 "{'type':'gauge','elapsed_seconds':2,'name':'loss','pid':5,'value':-0.25}\n"
                 "{'type':'event','elapsed_seconds':3,'name':'note','text':'a sentence'}\n");
    record_next(&r, RECORD_RUN);
    assert_int_equal(record_next(&r, RECORD_MARK)->mark->kind, MARK_EVENT);
    const struct told_mark *m = record_next(&r, RECORD_MARK)->mark;
    assert_int_equal(m->kind, MARK_GAUGE);
    assert_true(m->value == -0.25);
    assert_string_equal(record_next(&r, RECORD_NOTE)->sentence, "a sentence");
    assert_int_equal(r.item.elapsed_ns, 3 * NS_PER_SECOND);
    const struct mark_totals *t = &record_next(&r, RECORD_SUMMARY)->summary->marks;
    assert_int_equal(t->gauge_count, 1); /* also where no summary tells of them */
    record_end(&r);
}

static void test_what_is_wrong(void **state)
{
    record_refuses("{'type':'gauge','name':'loss','pid':5,'value':'much'}");
    record_refuses("{'type':'phase','name':'x','pid':5,'of':'nobody'}");
    record_refuses("{'type':'event','name':5}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_phase),
        cmocka_unit_test(test_events_gauges_and_notes),
        cmocka_unit_test(test_what_is_wrong),
    };
    return RUN("read_marks", tests);
}
