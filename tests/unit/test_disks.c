/* SPDX-License-Identifier: MIT */
#include "machine_tree.h"

/* What a device has done: reads of 100 sectors, ten times the writes, of 100 sectors too. */
#define LINE(number, name, reads)                                                                  \
    number " " name " " reads " 0 " reads "00 7 " reads "0 0 " reads "000 9 3 11 13\n"
#define ZERO(number, name) number " " name " 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

static void write_stats(struct machine *m, const char *text)
{
    tree_write(&m->tree, "proc/diskstats", text);
    machine_collect(m);
}

/* A 4Kn disk with a partition, an encrypted device and an array on it, and an NVMe device of two
 * paths. */
static void write_devices(const struct tree *t)
{
    tree_write(t, "sys/block/sda/size", "4000\n");
    tree_write(t, "sys/block/sda/device/vendor", "ATA\n");
    tree_write(t, "sys/block/sda/queue/logical_block_size", "4096\n");
    tree_write(t, "sys/block/dm-0/slaves/sda", "");
    tree_write(t, "sys/block/md0/slaves/sda", "");
    tree_write(t, "sys/block/nvme0n1/device", "");
    tree_write(t, "sys/block/nvme0c0n1/hidden", "1\n");
    tree_write(t, "sys/block/nvme0c1n1/hidden", "1\n");
    tree_write(t, "sys/block/loop0/size", "8\n");
    tree_write(t, "sys/block/loop1/size", "0\n");
    tree_write(t, "sys/block/zram0/size", "8\n");
}

static void assert_class(const struct machine *m, const char *name, const char *class)
{
    const struct instance *d = machine_find(m, name);
    assert_non_null(d);
    assert_int_equal(d->entity.kind, ENTITY_DISK);
    assert_string_equal(d->entity.labels[0].key, "class");
    assert_string_equal(d->entity.labels[0].value, class);
}

static void test_what_is_listed_and_added_up(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_disks);
    write_devices(&m.tree);
    write_stats(&m,
                LINE("7 0", "loop0", "2") ZERO("7 1", "loop1") LINE("8 0", "sda", "100")
                    LINE("8 1", "sda1", "90") LINE("253 0", "dm-0", "80") LINE("9 0", "md0", "70")
                        LINE("252 0", "zram0", "60") LINE("259 1", "nvme0c0n1", "5")
                            LINE("259 2", "nvme0c1n1", "5") LINE("259 0", "nvme0n1", "10"));
    assert_int_equal(m.list.count, 6);
    assert_class(&m, "sda", "disk");
    assert_class(&m, "nvme0n1", "disk");
    assert_class(&m, "dm-0", "stacked");
    assert_class(&m, "md0", "stacked");
    assert_class(&m, "zram0", "virtual");
    assert_class(&m, "loop0", "virtual");
    const struct row *sda = &machine_find(&m, "sda")->read;
    assert_value(sda, disk_reads_count, 100);
    assert_value(sda, disk_read_bytes, 10000 * 512);
    assert_value(sda, disk_writes_count, 1000);
    assert_value(sda, disk_written_bytes, 100000 * 512);
    assert_value(sda, disk_read_time_seconds, 7 * NS_PER_MS);
    assert_value(sda, disk_write_time_seconds, 9 * NS_PER_MS);
    assert_value(sda, disk_in_flight_count, 3);
    assert_value(sda, disk_active_seconds, 11 * NS_PER_MS);
    assert_value(sda, disk_queue_time_seconds, 13 * NS_PER_MS);
    assert_value(sda, disk_size_bytes, 4000 * 512);
    assert_unknown(sda, disk_discarded_bytes); /* an old kernel */
    assert_unknown(&machine_find(&m, "dm-0")->read, disk_size_bytes);
    assert_value(&m.system.read, system_disk_reads_count, 110);
    assert_value(&m.system.read, system_disk_read_bytes, 11000 * 512);
    assert_value(&m.system.read, system_disk_writes_count, 1100);
    assert_value(&m.system.read, system_disk_written_bytes, 110000 * 512);
    machine_remove(&m);
}

static void test_discards(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_disks);
    write_devices(&m.tree);
    write_stats(&m, "8 0 sda 1 2 3 4 5 6 7 8 4294967295 10 11 12 13 14 15 16 17\n");
    assert_value(&machine_find(&m, "sda")->read, disk_discarded_bytes, 14 * 512);
    assert_unknown(&machine_find(&m, "sda")->read, disk_in_flight_count); /* below zero */
    machine_remove(&m);
}

static void test_a_loop_device_comes_into_use(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_disks);
    write_devices(&m.tree);
    write_stats(&m, ZERO("7 0", "loop0") LINE("8 0", "sda", "100"));
    assert_null(machine_find(&m, "loop0"));
    assert_false(machine_find(&m, "sda")->is_new);
    write_stats(&m, LINE("7 0", "loop0", "4") LINE("8 0", "sda", "100"));
    assert_true(machine_find(&m, "loop0")->is_new);
    assert_value(&machine_find(&m, "loop0")->read, disk_size_bytes, 8 * 512);
    machine_remove(&m);
}

static void move_away(const struct tree *t, const char *from, const char *to)
{
    char a[512], b[512];
    assert_int_equal(rename(tree_path(t, a, from), tree_path(t, b, to)), 0);
}

static void test_a_disk_leaves_and_comes_back(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_disks);
    write_devices(&m.tree);
    write_stats(&m, LINE("8 0", "sda", "100") LINE("259 0", "nvme0n1", "10"));
    const struct instance *nvme = machine_find(&m, "nvme0n1");
    move_away(&m.tree, "sys/block/nvme0n1", "sys/unplugged");
    write_stats(&m, LINE("8 0", "sda", "101"));
    assert_null(machine_find(&m, "nvme0n1"));
    assert_value(&m.system.read, system_disk_reads_count, 111); /* what was read was read */
    move_away(&m.tree, "sys/unplugged", "sys/block/nvme0n1");
    write_stats(&m, LINE("259 0", "nvme0n1", "20") LINE("8 0", "sda", "101"));
    assert_ptr_equal(machine_find(&m, "nvme0n1"), nvme);
    assert_value(&nvme->read, disk_reads_count, 30);
    assert_value(&m.system.read, system_disk_reads_count, 131);
    machine_remove(&m);
}

/* It is still in /sys: the file had not all of it. */
static void test_a_line_is_missing_once(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_disks);
    write_devices(&m.tree);
    write_stats(&m, LINE("8 0", "sda", "100") LINE("259 0", "nvme0n1", "10"));
    write_stats(&m, LINE("8 0", "sda", "100") "259 0 nvme0n1 nonsense\n");
    assert_null(machine_find(&m, "nvme0n1"));
    write_stats(&m, LINE("8 0", "sda", "100") LINE("259 0", "nvme0n1", "12"));
    assert_value(&m.system.read, system_disk_reads_count, 112);
    machine_remove(&m);
}

static void test_a_disk_is_plugged_in(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_disks);
    write_devices(&m.tree);
    write_stats(&m, LINE("8 0", "sda", "100"));
    tree_write(&m.tree, "sys/block/sdb/device", "");
    write_stats(&m, LINE("8 0", "sda", "100") LINE("8 16", "sdb", "1") LINE("8 17", "sdb1", "1"));
    assert_int_equal(m.list.count, 2);
    assert_true(machine_find(&m, "sdb")->is_new);
    assert_value(&m.system.read, system_disk_reads_count, 101);
    machine_remove(&m);
}

static void test_a_container_sees_the_upper_device_only(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_disks);
    tree_write(&m.tree, "sys/block/dm-0/size", "8\n");
    tree_write(&m.tree, "sys/block/dm-1/slaves/dm-0", "");
    tree_write(&m.tree, "sys/block/sda/device", "");
    write_stats(&m, LINE("253 0", "dm-0", "5") LINE("253 1", "dm-1", "4"));
    assert_value(&m.system.read, system_disk_reads_count, 5);
    /* What the sum is made of stays, so that it does not fall. */
    write_stats(&m, LINE("253 0", "dm-0", "6") LINE("253 1", "dm-1", "4") LINE("8 0", "sda", "1"));
    assert_value(&m.system.read, system_disk_reads_count, 6);
    machine_remove(&m);
}

static void test_no_disk_is_no_figure(void **state)
{
    struct machine m;
    machine_make(&m);
    machine_open(&m, &collector_disks);
    machine_collect(&m);
    assert_true(m.system.read.present == 0);
    write_devices(&m.tree);
    write_stats(&m, LINE("7 0", "loop0", "4") "nonsense\n");
    assert_int_equal(m.list.count, 1);
    assert_true(m.system.read.present == 0);
    write_stats(&m, LINE("8 0", "sda", "4") LINE("8 0", "sda", "4"));
    assert_int_equal(m.list.count, 1);
    assert_value(&m.system.read, system_disk_reads_count, 4);
    tree_unlink(&m.tree, "proc/diskstats");
    machine_collect(&m);
    assert_true(m.system.read.present == 0);
    machine_remove(&m);
}

static void test_live(void **state)
{
    struct machine m;
    unsigned fds = tree_open_fds();
    machine_make_live(&m);
    machine_open(&m, &collector_disks);
    machine_collect(&m);
    uint64_t before = row_u64(&m.system.read, system_disk_read_bytes);
    size_t count = m.list.count;
    for (unsigned i = 0; i < 20; i++)
        machine_collect(&m);
    assert_int_equal(m.list.count, count);
    assert_true(row_u64(&m.system.read, system_disk_read_bytes) >= before);
    assert_true(tree_open_fds() <= fds + 4); /* those of the root, and one of its own */
    machine_remove(&m);
    assert_int_equal(tree_open_fds(), fds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_listed_and_added_up),
        cmocka_unit_test(test_discards),
        cmocka_unit_test(test_a_loop_device_comes_into_use),
        cmocka_unit_test(test_a_disk_leaves_and_comes_back),
        cmocka_unit_test(test_a_line_is_missing_once),
        cmocka_unit_test(test_a_disk_is_plugged_in),
        cmocka_unit_test(test_a_container_sees_the_upper_device_only),
        cmocka_unit_test(test_no_disk_is_no_figure),
        cmocka_unit_test(test_live),
    };
    return RUN("disks", tests);
}
