/* SPDX-License-Identifier: MIT */
#include "record_lines.h"

static void test_facts(void **state)
{
    struct record r;
    record_begin(&r, "{'type':'run','schema':'toll.record/1','toll':'0.1.0','name':'a job',"
                     "'command':['make','-j2'],'labels':{'team':'blue'},'host':'box',"
                     "'kernel':'6.1','cpus':4,'pid':1000,'start':'2024-11-07T17:20:00.000Z',"
                     "'interval_seconds':0.5,'children':false,'unix_seconds':1731000000.25,"
                     "'toll_pid':999,'id':'01930790-5c00-7abc-8000-00000000000f',"
                     "'job_id':'77','array_index':'5','rank':'3'}\n");
    const struct run *run = record_next(&r, RECORD_RUN)->run;
    assert_string_equal(run->name, "a job");
    assert_string_equal(run->version, "0.1.0");
    assert_string_equal(run->command[0], "make");
    assert_string_equal(run->command[1], "-j2");
    assert_null(run->command[2]);
    assert_string_equal(run->labels[0], "team=blue");
    assert_string_equal(run->host, "box");
    assert_string_equal(run->kernel, "6.1");
    assert_int_equal(run->cpus, 4);
    assert_int_equal(run->pid, 1000);
    assert_int_equal(run->own_pid, 999);
    assert_string_equal(run->id, "01930790-5c00-7abc-8000-00000000000f");
    assert_string_equal(run->job.id, "77");
    assert_string_equal(run->job.array_index, "5");
    assert_string_equal(run->rank, "3");
    assert_int_equal(run->interval_ns, 500000000);
    assert_true(run->no_children);
    assert_int_equal(run->start_real_ns, UINT64_C(1731000000250000000)); /* in full */
    record_end(&r);
}

/* A record of a version that masked nothing, or that was asked not to. */
static void test_secrets(void **state)
{
    static const char line[] = "{'type':'run','schema':'toll.record/1','command':['x','--token',"
                               "'abc'],'labels':{'secret':'s'}}\n";
    for (int shows = 0; shows < 2; shows++) {
        struct record r;
        record_begin(&r, line);
        record_reader_show(r.reader, shows, true);
        const struct run *run = record_next(&r, RECORD_RUN)->run;
        assert_string_equal(run->command[2], shows ? "abc" : "***");
        assert_string_equal(run->labels[0], shows ? "secret=s" : "secret=***");
        record_end(&r);
    }
    struct record r;
    record_begin(&r, line);
    record_reader_show(r.reader, true, false);
    assert_null(record_next(&r, RECORD_RUN)->run->command[1]);
    record_end(&r);
}

static void test_what_is_null(void **state)
{
    struct record r;
    record_begin(&r, "{'schema':'toll.record/1','type':'run','interval_seconds':null,'pid':null,"
                     "'id':'01930790-5c00-7abc-8000-00000000000f0'}\n");
    const struct run *run = record_next(&r, RECORD_RUN)->run;
    assert_string_equal(run->id, ""); /* it is no identifier */
    assert_int_equal(run->interval_ns, 0);
    assert_int_equal(run->pid, 0);
    assert_null(run->command);
    record_end(&r);
}

static void test_what_is_wrong(void **state)
{
    record_refuses("{'type':'run','schema':'toll.record/1','cpus':-1}");
    record_refuses("{'type':'run','schema':'toll.record/1','start':'yesterday'}");
    record_refuses("{'type':'run','schema':'toll.record/1','command':'make'}");
    record_refuses("{'type':'run','schema':'toll.record/1','pid':99999999999}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_what_is_null),
        cmocka_unit_test(test_what_is_wrong),
    };
    return RUN("read_run", tests);
}
