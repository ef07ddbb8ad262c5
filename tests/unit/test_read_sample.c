/* SPDX-License-Identifier: MIT */
#include "record_lines.h"

static void test_figures(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'sample','tick':7,'time':'2024-11-07T17:20:00.100Z',"
                 "'unix_seconds':1731000000.1234,'elapsed_seconds':0.125,'interval_seconds':0.1,"
                 "'between':true,'gpu_count':2,'target':{'combined':{'cpu_seconds':1.5,"
                 "'memory_rss_bytes':4096,'memory_pss_bytes':null}},'self':{'ticks':8},"
                 "'disks':[{'name':'sda','class':'ssd','read_bytes':5}]}\n");
    assert_int_equal(record_next(&r, RECORD_RUN)->run->gpu_count, 0);
    const struct frame *f = record_next(&r, RECORD_FRAME)->frame;
    assert_int_equal(r.item.run->gpu_count, 2);
    assert_int_equal(f->tick, 7);
    assert_int_equal(f->real_ns, UINT64_C(1731000000123400000));
    assert_int_equal(f->elapsed_ns, 125000000);
    assert_int_equal(f->interval_ns, 100000000);
    assert_true(f->between);
    assert_false(f->last);
    const struct row *row = f->target[PART_COMBINED].row;
    assert_int_equal(row->values[process_cpu_seconds - row->first].u, 1500000000);
    assert_int_equal(row->values[process_memory_rss_bytes - row->first].u, 4096);
    assert_false(row->present & BIT(process_memory_pss_bytes - row->first)); /* unknown, not 0 */
    assert_null(f->target[PART_MAIN].row);
    assert_int_equal(f->machine_count, 1);
    assert_string_equal(entity_name(&f->machine[0]->entity), "sda");
    const struct selection *s = record_reader_selection(r.reader);
    assert_true(s->parts[PART_COMBINED] & BIT(process_memory_pss_bytes - process_wall_seconds));
    assert_false(s->parts[PART_COMBINED] & BIT(process_faults_minor_count - process_wall_seconds));
    record_end(&r);
}

static void test_what_is_wrong(void **state)
{
    record_refuses("{'type':'sample','tick':-1}");
    record_refuses("{'type':'sample','elapsed_seconds':-1}");
    record_refuses("{'type':'sample','target':[]}");
    record_refuses("{'type':'sample','target':{'combined':{'cpu_seconds':'1'}}}");
    record_refuses("{'type':'sample','time':'2024-13-07T17:20:00.100Z'}");
}

/* … is no reason to refuse the rest. */
static void test_what_is_not_known(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','tick':1,'dreams':[1,{'a':2}]}\n");
    record_next(&r, RECORD_RUN);
    assert_int_equal(record_next(&r, RECORD_FRAME)->frame->tick, 1);
    assert_string_equal(record_reader_unknown(r.reader), "dreams");
    record_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_what_is_wrong),
        cmocka_unit_test(test_what_is_not_known),
    };
    return RUN("read_sample", tests);
}
