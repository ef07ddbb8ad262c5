/* SPDX-License-Identifier: MIT */
#include "record_lines.h"

static void test_one_that_left(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'process','elapsed_seconds':1,'left':'reaped by toll','end':{'status':"
                 "'signaled','code':null,'signal':9,'core_dumped':true,'oom_killed':false,"
                 "'timed_out':false},'pid':1003,'parent':1001,'start_ticks':50020,'name':'child',"
                 "'cpu_seconds':0.2,'open_files':null}\n");
    record_next(&r, RECORD_RUN);
    const struct process_end *e = record_next(&r, RECORD_PROCESS_END)->process_end;
    assert_int_equal(e->how, LEFT_REAPED);
    assert_true(e->has_status && e->end.ended && e->end.signaled && e->end.core_dumped);
    assert_int_equal(e->end.status, 9);
    assert_int_equal(e->elapsed_ns, NS_PER_SECOND);
    assert_int_equal(e->process->entity.pid, 1003);
    assert_int_equal(e->process->entity.parent, 1001);
    assert_int_equal(e->process->entity.start_ticks, 50020);
    assert_string_equal(e->process->entity.name, "child");
    const struct row *row = &e->process->own;
    assert_int_equal(row->values[process_cpu_seconds - row->first].u, 200000000);
    record_end(&r);
}

static void test_one_whose_end_nobody_knows(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'process','left':'reaped inside','end':null,'pid':7}\n");
    record_next(&r, RECORD_RUN);
    const struct process_end *e = record_next(&r, RECORD_PROCESS_END)->process_end;
    assert_int_equal(e->how, LEFT_INSIDE);
    assert_false(e->has_status);
    record_end(&r);
}

static void test_in_a_sample(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','processes':[{'pid':5,'name':'a','threads':2},"
                              "{'pid':6,'name':'b','threads':1}]}\n");
    record_next(&r, RECORD_RUN);
    const struct frame *f = record_next(&r, RECORD_FRAME)->frame;
    assert_int_equal(f->process_count, 2);
    assert_int_equal(f->processes[0].entity->pid, 5);
    assert_string_equal(f->processes[1].entity->name, "b");
    record_end(&r);
}

static void test_what_is_wrong(void **state)
{
    record_refuses("{'type':'process','left':'eaten','pid':7}");
    record_refuses("{'type':'process','left':'reaped inside','end':{'status':'bored'}}");
    record_refuses("{'type':'process','pid':'7'}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_left),
        cmocka_unit_test(test_one_whose_end_nobody_knows),
        cmocka_unit_test(test_in_a_sample),
        cmocka_unit_test(test_what_is_wrong),
    };
    return RUN("read_process", tests);
}
