/* SPDX-License-Identifier: MIT */
#include "source/cgroup/disks.h"

#include "cgroup_tree.h"

struct disks_test {
    struct cgroup_tree t;
    struct cgroup_places places;
    struct cgroup_disks disks;
    struct row row;
    struct instance_list list;
};

static void begin(struct disks_test *d)
{
    assert_int_equal(cgroup_places_of_pid(&d->places, &d->t.root, 1), 0);
    cgroup_disks_init(&d->disks, "/job");
    d->list = (struct instance_list){0};
}

static void collect(struct disks_test *d)
{
    row_init(&d->row, ENTITY_CGROUP);
    d->list.count = 0;
    cgroup_disks_collect(&d->disks, &d->t.root, &d->places, &d->row, &d->list);
}

static void end(struct disks_test *d)
{
    instance_list_done(&d->list);
    cgroup_disks_done(&d->disks);
    cgroup_places_done(&d->places);
    cgroup_tree_close(&d->t);
}

static void test_v2(void **state)
{
    struct disks_test d;
    cgroup_tree_v2(&d.t);
    begin(&d);
    collect(&d);
    assert_int_equal(d.list.count, 2); /* that without values has none */
    struct instance *sda = d.list.items[0];
    assert_string_equal(sda->entity.name, "sda");
    assert_string_equal(sda->entity.labels[0].value, "/job");
    assert_string_equal(d.list.items[1]->entity.name, "253:0"); /* nobody names it */
    assert_false(sda->is_new);
    assert_value(&sda->read, cgroup_disk_written_bytes, 20);
    assert_value(&d.row, cgroup_storage_written_bytes, 20);

    cgroup_write(&d.t, "a/job", "io.stat", "8:16 rbytes=5 wbytes=6 rios=7 wios=8\n", NULL);
    collect(&d);
    assert_int_equal(d.list.count, 1);
    assert_true(d.list.items[0]->is_new && d.list.items[0] != sda);
    assert_value(&d.row, cgroup_storage_written_bytes, 26); /* the one that is gone counts */

    cgroup_write(&d.t, "a/job", "io.stat", "garbage\n", NULL);
    collect(&d);
    assert_int_equal(d.list.count, 0);
    assert_unknown(&d.row, cgroup_storage_written_bytes);
    end(&d);
}

static void test_v2_without_any_io(void **state)
{
    struct disks_test d;
    cgroup_tree_v2(&d.t);
    cgroup_write(&d.t, "a/job", "io.stat", "", NULL);
    begin(&d);
    collect(&d);
    assert_int_equal(d.list.count, 0);
    assert_value(&d.row, cgroup_storage_read_bytes, 0); /* the kernel counts, and there was none */
    end(&d);
}

static void test_v1(void **state)
{
    struct disks_test d;
    cgroup_tree_v1(&d.t);
    begin(&d);
    collect(&d);
    assert_int_equal(d.list.count, 0);
    assert_unknown(&d.row, cgroup_storage_read_bytes);
    cgroup_write(&d.t, "blkio/job", "blkio.throttle.io_service_bytes_recursive",
                 "8:0 Read 5\n8:0 Write 0\nTotal 5\n", NULL);
    collect(&d);
    assert_int_equal(d.list.count, 1);
    assert_value(&d.row, cgroup_storage_read_bytes, 5);
    assert_value(&d.row, cgroup_storage_written_bytes, 0);
    assert_unknown(&d.row, cgroup_storage_reads_count);
    end(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v2),
        cmocka_unit_test(test_v2_without_any_io),
        cmocka_unit_test(test_v1),
    };
    return RUN("cgroup_disks", tests);
}
