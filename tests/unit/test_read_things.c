/* SPDX-License-Identifier: MIT */
#include "record/read_figures.h"
#include "record_lines.h"

static struct scan word(const char *text)
{
    return scan_string(text);
}

static void test_kinds(void **state)
{
    struct scan disks = word("disks"), none = word("dreams");
    assert_int_equal(read_instances_kind(&disks), ENTITY_DISK);
    assert_int_equal(read_instances_kind(&none), -1);
}

/* One thing is one in all samples; another label makes another. */
static void test_the_same_again(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'sample','tick':0,'disks':[{'name':'sda','class':'ssd','read_bytes':1},"
                 "{'name':'sdb','class':'ssd','read_bytes':2}]}\n"
                 "{'type':'sample','tick':1,'disks':[{'name':'sdb','class':'ssd','read_bytes':3},"
                 "{'name':'sda','class':'disk','read_bytes':4}]}\n");
    record_next(&r, RECORD_RUN);
    const struct frame *f = record_next(&r, RECORD_FRAME)->frame;
    assert_int_equal(f->machine_count, 2);
    const struct instance *a = f->machine[0], *b = f->machine[1];
    f = record_next(&r, RECORD_FRAME)->frame;
    assert_int_equal(f->machine_count, 2);
    assert_ptr_equal(f->machine[0], b);
    assert_ptr_not_equal(f->machine[1], a);
    assert_string_equal(entity_name(&f->machine[1]->entity), "sda");
    record_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_the_same_again),
    };
    return RUN("read_things", tests);
}
