/* SPDX-License-Identifier: MIT */
#include "record_lines.h"

#define SUMMARY(outputs)                                                                           \
    RUN_LINE "{'type':'summary','schema':'toll.summary/1','outputs':[" outputs "]}\n"

static void test_all_of_it(void **state)
{
    struct record r;
    record_begin(&r, SUMMARY("{'name':':9464','format':'openmetrics','way':'scraped','samples':9,"
                             "'delivered':5,'kept':1,'dropped':3,'retries':2,'bytes':70,"
                             "'scrapes':4,'complete':false,'failure':'away'},"
                             "{'name':'x.sqlite','format':'sqlite','way':'file','bytes':null,"
                             "'complete':true,'failure':null}"));
    record_next(&r, RECORD_RUN);
    const struct summary *s = record_next(&r, RECORD_SUMMARY)->summary;
    assert_int_equal(s->output_count, 2);
    const struct output_summary *o = s->outputs;
    assert_string_equal(o[0].name, ":9464");
    assert_string_equal(o[0].format, "openmetrics");
    assert_int_equal(o[0].way, OUTPUT_SCRAPED);
    assert_int_equal(o[0].samples, 9);
    assert_int_equal(o[0].delivered, 5);
    assert_int_equal(o[0].kept, 1);
    assert_int_equal(o[0].dropped, 3);
    assert_int_equal(o[0].retries, 2);
    assert_int_equal(o[0].scrapes, 4);
    assert_true(o[0].has_bytes && o[0].bytes == 70);
    assert_false(o[0].is_whole);
    assert_string_equal(o[0].why, "away");
    assert_int_equal(o[1].way, OUTPUT_FILE);
    assert_false(o[1].has_bytes);
    assert_true(o[1].is_whole);
    assert_string_equal(o[1].why, "");
    record_end(&r);
}

/* Records from before there was a way have only what was sent. */
static void test_an_older_one(void **state)
{
    struct record r;
    record_begin(&r, SUMMARY("{'name':'x','format':'otlp','samples':1,'complete':true}"));
    record_next(&r, RECORD_RUN);
    assert_int_equal(record_next(&r, RECORD_SUMMARY)->summary->outputs[0].way, OUTPUT_SENT);
    record_end(&r);
}

static void test_what_is_wrong(void **state)
{
    record_refuses("{'type':'summary','schema':'toll.summary/1','outputs':[{'way':'thrown'}]}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','outputs':[{'samples':-1}]}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','outputs':[3]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_it),
        cmocka_unit_test(test_an_older_one),
        cmocka_unit_test(test_what_is_wrong),
    };
    return RUN("read_outputs", tests);
}
