/* SPDX-License-Identifier: MIT */
#include "source/machine/mounts.h"

#include "fake_statvfs.h"
#include "machine_tree.h"

#define ROOT "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"

static void collect(struct machine *m, struct mounts *state)
{
    machine_use(m, &collector_mounts, state);
    machine_collect(m);
}

static void test_recorded(void **state)
{
    struct machine m;
    void *mounts;
    machine_make(&m);
    assert_int_equal(collector_mounts.open(&mounts, &m.context), -ENOENT);
    tree_write(&m.tree, "proc/self/mountinfo",
               ROOT "30 27 8:1 / /my\\040disk rw - vfat /dev/sda1 rw\n"
                    "31 27 0:9 / /net rw - nfs server:/x rw\n"
                    "32 27 0:10 / /none rw - tmpfs none rw\n"
                    "33 27 0:11 / /unsaid rw - tmpfs none rw\n");
    tree_write(&m.tree, "statvfs",
               "/ 4096 1000 400 300 50 20\n/my\\040disk 1024 10 5 5 0 0\n"
               "/net 1048576 8 8 8 1 1\n/none 4096 0 0 0 0 0\n");
    unsigned fds = tree_open_fds();
    assert_int_equal(collector_mounts.open(&mounts, &m.context), 0);
    collect(&m, mounts);
    assert_int_equal(tree_open_fds(), fds);
    assert_int_equal(m.list.count, 4);
    assert_int_equal(m.helpers, 0);

    const struct row *root = &machine_find(&m, "/")->read;
    assert_value(root, mount_size_bytes, 4096000);
    assert_value(root, mount_used_bytes, 600 * 4096);
    assert_value(root, mount_available_bytes, 300 * 4096);
    assert_number(root, mount_used_ratio, 600.0 / 900);
    assert_value(root, mount_files_count, 50);
    assert_value(root, mount_files_free_count, 20);

    const struct row *disk = &machine_find(&m, "/my disk")->read;
    assert_value(disk, mount_size_bytes, 10240);
    assert_unknown(disk, mount_files_count); /* it has no table of files */
    assert_value(&machine_find(&m, "/net")->read, mount_used_bytes, 0);
    assert_null(machine_find(&m, "/none")); /* no blocks */
    assert_true(machine_find(&m, "/unsaid")->read.present == 0);

    tree_write(&m.tree, "statvfs", "/ 4096 1000 100 0 50 20\n");
    collect(&m, mounts);
    assert_number(root, mount_used_ratio, 1.0);
    assert_true(disk->present == 0);
    tree_unlink(&m.tree, "statvfs");
    collect(&m, mounts);
    assert_true(root->present == 0);
    machine_remove(&m);
}

static void test_strange_figures(void **state)
{
    struct machine m;
    void *mounts;
    machine_make(&m);
    tree_write(&m.tree, "proc/self/mountinfo", ROOT);
    tree_write(&m.tree, "statvfs", "/ 4096 10 20 18446744073709551615 5 6\n");
    assert_int_equal(collector_mounts.open(&mounts, &m.context), 0);
    collect(&m, mounts);
    const struct row *root = &machine_find(&m, "/")->read;
    assert_value(root, mount_size_bytes, 40960);
    assert_unknown(root, mount_used_bytes);
    assert_value(root, mount_available_bytes, 0); /* below nothing */
    assert_unknown(root, mount_used_ratio);
    assert_unknown(root, mount_files_free_count);
    tree_write(&m.tree, "statvfs", "/ 18446744073709551615 10 2 2 5 5\n");
    collect(&m, mounts);
    assert_unknown(root, mount_size_bytes);
    assert_unknown(root, mount_used_bytes);
    tree_write(&m.tree, "statvfs", "/ 0 10 2 2 5 5\n");
    collect(&m, mounts);
    assert_unknown(root, mount_used_ratio);
    machine_remove(&m);
}

/* A tree that is taken for live, with a statvfs of our own. */
static struct mounts *open_live(struct machine *m, const char *mountinfo)
{
    struct mounts *mounts;
    machine_make(m);
    tree_write(&m->tree, "proc/self/mountinfo", mountinfo);
    m->root.live = true;
    assert_int_equal(mounts_open(&mounts, &m->context, fake_statvfs), 0);
    return mounts;
}

static void collect_until(struct machine *m, struct mounts *mounts, const char *name, bool is_known)
{
    for (unsigned i = 0; i < 10000; i++) {
        collect(m, mounts);
        if ((machine_find(m, name)->read.present != 0) == is_known)
            return;
        usleep(1000);
    }
    fail();
}

static void test_local(void **state)
{
    struct machine m;
    struct mounts *mounts = open_live(&m, ROOT "30 27 8:1 / /denied rw - ext4 /dev/sda1 rw\n"
                                               "31 27 8:2 / /empty rw - ext4 /dev/sda2 rw\n");
    collect(&m, mounts);
    assert_int_equal(m.list.count, 2);
    assert_value(&machine_find(&m, "/")->read, mount_size_bytes, 4096000);
    assert_true(machine_find(&m, "/denied")->read.present == 0);
    assert_int_equal(m.helpers, 0);
    machine_remove(&m);
}

static void test_network(void **state)
{
    struct machine m;
    struct mounts *mounts = open_live(&m, ROOT "30 27 0:9 / /net rw - nfs4 server:/x rw\n");
    collect(&m, mounts);
    assert_true(machine_find(&m, "/")->read.present != 0);
    assert_non_null(machine_find(&m, "/net"));
    collect_until(&m, mounts, "/net", true);
    assert_value(&machine_find(&m, "/net")->read, mount_available_bytes, 300 * 4096);
    assert_int_equal(m.helpers, 1);
    assert_int_equal(m.notes, 0);
    machine_close(&m);
    reap_helper(m.helper);
    machine_remove(&m);
}

/* collect and close return although the filesystem never answers: otherwise this would not end. */
static void test_network_that_hangs(void **state)
{
    struct machine m;
    struct mounts *mounts = open_live(&m, ROOT "30 27 0:9 / /hang rw - nfs4 server:/x rw\n");
    mounts->asker.deadline_ns = 50 * NS_PER_MS;
    for (unsigned i = 0; i < 10000 && !m.notes; i++) {
        collect(&m, mounts);
        assert_true(machine_find(&m, "/")->read.present != 0);
        assert_true(machine_find(&m, "/hang")->read.present == 0);
        usleep(1000);
    }
    assert_string_equal(m.note,
                        "the filesystem at '/hang' does not answer; its figures are unknown");
    assert_int_equal(m.helpers, 1);
    machine_close(&m);
    reap_helper(m.helper);
    machine_remove(&m);
}

static void test_this_machine(void **state)
{
    struct sysroot root;
    struct machine m;
    void *mounts;
    machine_make(&m);
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    m.context.root = &root;
    assert_int_equal(collector_mounts.open(&mounts, &m.context), 0);
    collect(&m, mounts);
    unsigned fds = tree_open_fds();
    collect(&m, mounts);
    assert_int_equal(tree_open_fds(), fds);
    struct statvfs st;
    const struct instance *top = machine_find(&m, "/");
    if (top && top->read.present && statvfs("/", &st) == 0) {
        assert_value(&top->read, mount_size_bytes, st.f_blocks * st.f_frsize);
        assert_true(row_u64(&top->read, mount_used_bytes) <= st.f_blocks * st.f_frsize);
    }
    machine_close(&m);
    if (m.helpers)
        reap_helper(m.helper);
    sysroot_close(&root);
    machine_remove(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_strange_figures),
        cmocka_unit_test(test_local),
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_network_that_hangs),
        cmocka_unit_test(test_this_machine),
    };
    return RUN("mounts", tests);
}
