/* SPDX-License-Identifier: MIT */
#include "source/machine/disks.h"

#include "base/util.h"
#include "tree.h"

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

static void test_classes(void **state)
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
static void test_size(void **state)
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

static void test_without_sys(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_without_sys),
    };
    return RUN("disk_facts", tests);
}
