/* SPDX-License-Identifier: MIT */
#include "base/util.h"
#include "machine_tree.h"
#include "source/machine/machine.h"
#include "tree.h"
#include "unit.h"

/* ---- disks ---------------------------------------------------------------------------------- */

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

static void test_disks_what_is_listed_and_added_up(void **state)
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

static void test_disks_discards(void **state)
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

static void test_disks_a_loop_device_comes_into_use(void **state)
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

static void test_disks_a_disk_leaves_and_comes_back(void **state)
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
static void test_disks_a_line_is_missing_once(void **state)
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

static void test_disks_a_disk_is_plugged_in(void **state)
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

static void test_disks_a_container_sees_the_upper_device_only(void **state)
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

static void test_disks_no_disk_is_no_figure(void **state)
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

static void test_disks_live(void **state)
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

/* ---- diskstats ------------------------------------------------------------------------------ */

static const char vda[] = " 254       0 vda 241180 43510 19290002 323281 325734 533479 37954896 "
                          "221104 3 202924 639245 709421 262 29569984 94792 1213 67\n";

static int parse_line(const char *text, struct diskstats *ret)
{
    struct scan s = scan_string(text);
    memset(ret, UNTOUCHED, sizeof *ret);
    int r = parse_diskstats_line(&s, ret);
    assert_true(r > 0 || is_untouched(ret, sizeof *ret));
    return r;
}

static void test_diskstats_good(void **state)
{
    struct diskstats d;
    assert_int_equal(parse_line(vda, &d), 1);
    assert_int_equal(d.major, 254);
    assert_int_equal(d.minor, 0);
    assert_string_equal(d.name, "vda");
    assert_int_equal(d.fields, DISKSTATS_FIELDS);
    assert_int_equal(d.values[DISKSTATS_READS], 241180);
    assert_int_equal(d.values[DISKSTATS_READ_SECTORS], 19290002);
    assert_int_equal(d.values[DISKSTATS_WRITTEN_SECTORS], 37954896);
    assert_int_equal(d.values[DISKSTATS_IN_FLIGHT], 3);
    assert_int_equal(d.values[DISKSTATS_ACTIVE_MS], 202924);
    assert_int_equal(d.values[DISKSTATS_QUEUE_MS], 639245);
    assert_int_equal(d.values[DISKSTATS_DISCARDED_SECTORS], 29569984);
    assert_int_equal(d.values[DISKSTATS_FLUSH_MS], 67);
}

static void test_diskstats_cut_short(void **state)
{
    for (size_t length = 0; length < strlen(vda); length++) {
        char *copy = exact_copy(vda, length);
        struct scan s = scan_text(copy, length);
        struct diskstats d;
        assert_int_equal(parse_diskstats_line(&s, &d), length ? -EBADMSG : 0);
        free(copy);
    }
}

static void test_diskstats_kernels(void **state)
{
    struct diskstats d;
    assert_int_equal(parse_line("8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n", &d), 1);
    assert_int_equal(d.fields, DISKSTATS_DISCARDS);
    assert_int_equal(parse_line("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n", &d), 1);
    assert_int_equal(d.fields, DISKSTATS_FLUSHES);
    assert_int_equal(parse_line("8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x\n", &d), 1);
    assert_int_equal(d.fields, DISKSTATS_FIELDS);
}

static void test_diskstats_a_bad_line_hides_no_other(void **state)
{
    struct diskstats d;
    struct scan s = scan_string("nonsense\n8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n");
    assert_int_equal(parse_diskstats_line(&s, &d), -EBADMSG);
    assert_int_equal(parse_diskstats_line(&s, &d), 1);
    assert_int_equal(parse_diskstats_line(&s, &d), 0);
}

static void test_diskstats_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "8 0\n",
        "8 0 sda\n",
        "8 0 sda1 1 2 3 4\n",
        "8 0 sda 1 2 3 4 5 6 7 8 9 10 x\n",
        "8 0 sda 1 2 3 4 5 6 7 8 9 10 11 x\n",
        "8 0 .. 1 2 3 4 5 6 7 8 9 10 11\n",
        "8 0 \033[2J 1 2 3 4 5 6 7 8 9 10 11\n",
        "8 0 sda 1 2 3 4 5 6 7 8 9 10 18446744073709551616\n",
        "8 0 a-name-that-is-longer-than-any-of-them 1 2 3 4 5 6 7 8 9 10 11\n",
    };
    struct diskstats d;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse_line(texts[i], &d), -EBADMSG);
}

/* ---- disk facts ----------------------------------------------------------------------------- */

static void make_link(const struct tree *t, const char *name, const char *target)
{
    char path[512];
    assert_int_equal(symlink(target, tree_path(t, path, name)), 0);
}

static void open_tree(struct tree *t, struct sysroot *root)
{
    tree_make(t);
    tree_write(t, "proc/version", "Linux\n");
    tree_write(t, "sys/block/sda/size", "2048\n");
    tree_write(t, "sys/block/sda/device/vendor", "ATA\n");
    tree_write(t, "sys/block/sda/queue/logical_block_size", "4096\n");
    tree_write(t, "sys/block/sda/sda1/size", "1024\n");
    tree_write(t, "sys/block/dm-0/slaves/sda", "");
    tree_write(t, "sys/block/dm-1/size", "8\n");
    tree_write(t, "sys/block/md127/slaves/sda", "");
    tree_write(t, "sys/block/loop0/size", "0\n");
    tree_write(t, "sys/block/zram0/size", "0\n");
    tree_write(t, "sys/block/nbd0/device", "");
    tree_write(t, "sys/block/zd0/size", "8\n");
    tree_write(t, "sys/block/nvme0n1/device", "");
    tree_write(t, "sys/block/nvme0n1/hidden", "0\n");
    tree_write(t, "sys/block/nvme0c0n1/device", "");
    tree_write(t, "sys/block/nvme0c0n1/hidden", "1\n");
    tree_write(t, "sys/block/cciss!c0d0/device", "");
    tree_write(t, "sys/devices/virtual/block/drbd0/size", "8\n");
    make_link(t, "sys/block/drbd0", "../devices/virtual/block/drbd0");
    tree_write(t, "sys/devices/platform/card/block/odd0/size", "8\n");
    make_link(t, "sys/block/odd0", "../devices/platform/card/block/odd0");
    assert_int_equal(sysroot_open(root, t->path, NULL), 0);
}

static void test_disk_facts_classes(void **state)
{
    static const struct {
        const char *name;
        enum disk_class class;
        bool has_slaves;
    } rows[] = {
        {"sda", DISK_REAL, false},          {"sda1", DISK_IGNORED, false},
        {"dm-0", DISK_STACKED, true},       {"dm-1", DISK_STACKED, false},
        {"md127", DISK_STACKED, true},      {"loop0", DISK_VIRTUAL, false},
        {"zram0", DISK_VIRTUAL, false},     {"nbd0", DISK_VIRTUAL, false},
        {"zd0", DISK_VIRTUAL, false},       {"nvme0n1", DISK_REAL, false},
        {"nvme0c0n1", DISK_IGNORED, false}, {"cciss/c0d0", DISK_REAL, false},
        {"drbd0", DISK_VIRTUAL, false},     {"odd0", DISK_REAL, false},
        {"gone", DISK_IGNORED, false},
    };
    struct tree t;
    struct sysroot root;
    open_tree(&t, &root);
    unsigned fds = tree_open_fds();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct disk_facts facts = disk_facts_read(&root, rows[i].name);
        if (facts.class != rows[i].class || facts.has_slaves != rows[i].has_slaves)
            fail_msg("%s is %s", rows[i].name, disk_class_name(facts.class));
    }
    assert_int_equal(tree_open_fds(), fds);
    assert_true(disk_facts_exist(&root, "cciss/c0d0"));
    assert_false(disk_facts_exist(&root, "sda1"));
    sysroot_close(&root);
    tree_remove(&t);
}

/* In sectors of 512 bytes, also where the blocks of the disk are larger. */
static void test_disk_facts_size(void **state)
{
    struct tree t;
    struct sysroot root;
    uint64_t bytes = 0;
    open_tree(&t, &root);
    assert_int_equal(disk_facts_read_size(&root, "sda", &bytes), 0);
    assert_int_equal(bytes, 2048 * 512);
    assert_int_equal(disk_facts_read_size(&root, "gone", &bytes), -ENOENT);
    tree_write(&t, "sys/block/sda/size", "many\n");
    assert_int_equal(disk_facts_read_size(&root, "sda", &bytes), -EBADMSG);
    tree_write(&t, "sys/block/sda/size", "18446744073709551615\n");
    assert_int_equal(disk_facts_read_size(&root, "sda", &bytes), -EBADMSG);
    assert_int_equal(bytes, 2048 * 512);
    sysroot_close(&root);
    tree_remove(&t);
}

static void test_disk_facts_without_sys(void **state)
{
    struct tree t;
    struct sysroot root;
    uint64_t bytes;
    tree_make(&t);
    tree_write(&t, "proc/version", "Linux\n");
    assert_int_equal(sysroot_open(&root, t.path, NULL), 0);
    root.sys = -1;
    assert_int_equal(disk_facts_read(&root, "sda").class, DISK_IGNORED);
    assert_int_equal(disk_facts_read_size(&root, "sda", &bytes), -ENOENT);
    assert_false(disk_facts_exist(&root, "sda"));
    sysroot_close(&root);
    tree_remove(&t);
}

/* ---- disk history --------------------------------------------------------------------------- */

static struct diskstats reading(uint64_t reads, uint64_t active_ms)
{
    struct diskstats d = {.major = 8, .fields = DISKSTATS_FIELDS};
    d.values[DISKSTATS_READS] = reads;
    d.values[DISKSTATS_READ_SECTORS] = 8 * reads;
    d.values[DISKSTATS_ACTIVE_MS] = active_ms;
    return d;
}

static void add(struct disk_history *h, struct diskstats d, bool was_removed)
{
    disk_history_add(h, &d, was_removed);
}

static void test_disk_history_grows(void **state)
{
    struct disk_history h = {0};
    add(&h, reading(100, 50), false);
    assert_int_equal(h.total[DISKSTATS_READS], 100);
    add(&h, reading(130, 60), false);
    assert_int_equal(h.total[DISKSTATS_READS], 130);
    assert_int_equal(h.total[DISKSTATS_READ_SECTORS], 8 * 130);
    assert_int_equal(h.total[DISKSTATS_ACTIVE_MS], 60);
    add(&h, reading(130, 58), false); /* CPUs are added up without a lock */
    add(&h, reading(130, 61), false);
    assert_int_equal(h.total[DISKSTATS_ACTIVE_MS], 61);
}

static void test_disk_history_starts_again(void **state)
{
    struct disk_history h = {0};
    add(&h, reading(100, 50), false);
    add(&h, reading(5, 2), false); /* removed and back between two readings */
    assert_int_equal(h.total[DISKSTATS_READS], 105);
    assert_int_equal(h.total[DISKSTATS_ACTIVE_MS], 52);
    add(&h, reading(200, 80), true); /* more than before, and yet from zero */
    assert_int_equal(h.total[DISKSTATS_READS], 305);
    assert_int_equal(h.total[DISKSTATS_ACTIVE_MS], 132);
    struct diskstats other = reading(300, 90);
    other.major = 9;
    add(&h, other, false);
    assert_int_equal(h.total[DISKSTATS_READS], 605);
}

/* After 49 days of milliseconds. */
static void test_disk_history_time_wraps(void **state)
{
    struct disk_history h = {0};
    add(&h, reading(100, UINT32_MAX - 9), false);
    add(&h, reading(101, 20), false);
    assert_true(h.total[DISKSTATS_ACTIVE_MS] == UINT64_C(0xFFFFFFFF) + 1 + 20);
    assert_int_equal(h.total[DISKSTATS_READS], 101);
}

static void test_disk_history_a_small_step_back_is_no_growth(void **state)
{
    struct disk_history h = {0};
    add(&h, reading(100, 5000), false);
    add(&h, reading(100, 4999), false);
    assert_int_equal(h.total[DISKSTATS_ACTIVE_MS], 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_disks_what_is_listed_and_added_up),
        cmocka_unit_test(test_disks_discards),
        cmocka_unit_test(test_disks_a_loop_device_comes_into_use),
        cmocka_unit_test(test_disks_a_disk_leaves_and_comes_back),
        cmocka_unit_test(test_disks_a_line_is_missing_once),
        cmocka_unit_test(test_disks_a_disk_is_plugged_in),
        cmocka_unit_test(test_disks_a_container_sees_the_upper_device_only),
        cmocka_unit_test(test_disks_no_disk_is_no_figure),
        cmocka_unit_test(test_disks_live),
        cmocka_unit_test(test_diskstats_good),
        cmocka_unit_test(test_diskstats_cut_short),
        cmocka_unit_test(test_diskstats_kernels),
        cmocka_unit_test(test_diskstats_a_bad_line_hides_no_other),
        cmocka_unit_test(test_diskstats_garbage),
        cmocka_unit_test(test_disk_facts_classes),
        cmocka_unit_test(test_disk_facts_size),
        cmocka_unit_test(test_disk_facts_without_sys),
        cmocka_unit_test(test_disk_history_grows),
        cmocka_unit_test(test_disk_history_starts_again),
        cmocka_unit_test(test_disk_history_time_wraps),
        cmocka_unit_test(test_disk_history_a_small_step_back_is_no_growth),
    };
    return RUN("source/machine/disks", tests);
}
