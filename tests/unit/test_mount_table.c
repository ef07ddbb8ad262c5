/* SPDX-License-Identifier: MIT */
#include "source/machine/mounts.h"

#include "machine_tree.h"

#include <sys/mount.h>

struct fixture {
    struct machine machine;
    struct mount_table table;
};

static void set_up(struct fixture *f)
{
    machine_make(&f->machine);
    mount_table_init(&f->table);
}

static void tear_down(struct fixture *f)
{
    mount_table_done(&f->table);
    machine_remove(&f->machine);
}

static void read_list(struct fixture *f, const char *text)
{
    tree_write(&f->machine.tree, "proc/self/mountinfo", text);
    assert_int_equal(mount_table_refresh(&f->table, &f->machine.root), 0);
    assert_int_equal(f->table.fd, -1); /* the next tick may have another tree */
}

static struct mount *find(struct fixture *f, const char *point)
{
    for (struct mount *m = f->table.first; m; m = m->next)
        if (m->is_there && strcmp(m->instance.entity.path, point) == 0)
            return m;
    return NULL;
}

static unsigned count(const struct fixture *f)
{
    unsigned n = 0;
    for (const struct mount *m = f->table.first; m; m = m->next)
        n += m->is_there;
    return n;
}

#define ROOT "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"

static void test_pseudo_filesystems_are_left_out(void **state)
{
    struct fixture f;
    set_up(&f);
    read_list(&f, ROOT "22 27 0:21 / /proc rw - proc proc rw\n"
                       "23 27 0:22 / /sys rw - sysfs sysfs rw\n"
                       "24 27 0:6 / /dev rw - devtmpfs devtmpfs rw\n"
                       "25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw\n"
                       "26 27 7:1 / /snap/core/1 ro - squashfs /dev/loop1 ro\n");
    assert_int_equal(count(&f), 2);
    const struct mount *root = find(&f, "/");
    assert_string_equal(label_of(&root->instance, "class"), "local");
    assert_string_equal(label_of(&root->instance, "type"), "ext4");
    assert_string_equal(label_of(&root->instance, "source"), "/dev/vda");
    assert_string_equal(label_of(&find(&f, "/dev/shm")->instance, "class"), "memory");
    assert_false(root->instance.is_new || root->may_hang);
    tear_down(&f);
}

static void test_escapes(void **state)
{
    struct fixture f;
    set_up(&f);
    read_list(&f, "30 27 8:1 / /mnt/my\\040disk rw - ext4 /dev/disk\\040one rw\n");
    assert_string_equal(label_of(&find(&f, "/mnt/my disk")->instance, "source"), "/dev/disk one");
    tear_down(&f);
}

static void test_a_filesystem_is_shown_once(void **state)
{
    struct fixture f;
    set_up(&f);
    read_list(&f, "40 27 8:1 /sub /b rw - ext4 /dev/sda1 rw\n" /* a bind mount of a part */
              ROOT "41 27 8:1 / /srv/data rw - ext4 /dev/sda1 rw\n"
                  "42 27 8:1 / /data rw - ext4 /dev/sda1 rw\n" /* shorter */
                  "43 27 8:1 / /long/way/to rw - ext4 /dev/sda1 rw\n"
                  "44 27 0:50 /@ /vol rw - btrfs /dev/sdb rw,subvol=/@\n"
                  "45 27 0:51 /@home /home rw - btrfs /dev/sdb rw,subvol=/@home\n");
    assert_int_equal(count(&f), 3);
    assert_non_null(find(&f, "/"));
    assert_non_null(find(&f, "/data"));
    assert_non_null(find(&f, "/vol"));
    tear_down(&f);
}

static void test_overlays_are_shown_once(void **state)
{
    struct fixture f;
    set_up(&f);
    read_list(&f, ROOT "50 27 0:60 / /var/lib/docker/overlay2/a/merged rw - overlay overlay rw\n"
                       "51 27 0:61 / /var/lib/docker/overlay2/bb/merged rw - overlay overlay rw\n");
    assert_int_equal(count(&f), 2);
    assert_string_equal(label_of(&find(&f, "/var/lib/docker/overlay2/a/merged")->instance, "class"),
                        "overlay");
    tear_down(&f);
}

static void test_hidden_mounts(void **state)
{
    struct fixture f;
    set_up(&f);
    read_list(&f, "1 1 0:2 / / rw - rootfs rootfs rw\n" ROOT
                  "25 27 0:23 / /dev/shm rw - tmpfs below rw\n"
                  "30 25 0:27 / /dev/shm rw - tmpfs above rw\n" /* put over the other */
                  "31 27 8:1 / /a/b rw - ext4 /dev/sda1 rw\n"
                  "32 27 8:2 / /a rw - ext4 /dev/sda2 rw\n" /* put over the way to /a/b */
                  "33 32 8:3 / /a/c rw - ext4 /dev/sda3 rw\n"
                  "34 27 8:4 / /ab rw - ext4 /dev/sda4 rw\n");
    assert_int_equal(count(&f), 5);
    assert_string_equal(find(&f, "/dev/shm")->source, "above");
    assert_null(find(&f, "/a/b"));
    assert_non_null(find(&f, "/a"));
    assert_non_null(find(&f, "/a/c"));
    assert_non_null(find(&f, "/ab"));
    tear_down(&f);
}

static void test_the_way_to_it_may_hang(void **state)
{
    struct fixture f;
    set_up(&f);
    read_list(&f, ROOT "60 27 0:70 / /net rw - nfs4 server:/x rw\n"
                       "61 60 8:1 / /net/scratch rw - ext4 /dev/sda1 rw\n"
                       "62 27 8:2 / /network rw - ext4 /dev/sda2 rw\n");
    assert_string_equal(label_of(&find(&f, "/net")->instance, "class"), "network");
    assert_true(find(&f, "/net")->may_hang);
    assert_string_equal(label_of(&find(&f, "/net/scratch")->instance, "class"), "local");
    assert_true(find(&f, "/net/scratch")->may_hang);
    assert_false(find(&f, "/network")->may_hang);
    tear_down(&f);
}

static void test_changes(void **state)
{
    struct fixture f;
    set_up(&f);
    read_list(&f, ROOT "41 27 8:1 / /srv/data rw - ext4 /dev/sda1 rw\n");
    const struct mount *root = find(&f, "/"), *data = find(&f, "/srv/data");
    /* A shorter place to show it appears: it stays where it was. */
    read_list(&f, ROOT "42 27 8:1 / /d rw - ext4 /dev/sda1 rw\n"
                       "41 27 8:1 / /srv/data rw - ext4 /dev/sda1 rw\n"
                       "43 27 8:2 / /new rw - ext4 /dev/sda2 rw\n");
    assert_int_equal(count(&f), 3);
    assert_ptr_equal(find(&f, "/"), root);
    assert_ptr_equal(find(&f, "/srv/data"), data);
    assert_false(data->instance.is_new);
    assert_true(find(&f, "/new")->instance.is_new);
    /* It goes, and comes back. */
    read_list(&f, ROOT);
    assert_int_equal(count(&f), 1);
    assert_false(data->is_there);
    read_list(&f, ROOT "44 27 8:1 / /srv/data rw - ext4 /dev/sda1 rw\n");
    assert_ptr_equal(find(&f, "/srv/data"), data);
    /* Another filesystem in the same place is another thing. */
    read_list(&f, ROOT "44 27 8:9 / /srv/data rw - ext4 /dev/sda9 rw\n");
    assert_ptr_not_equal(find(&f, "/srv/data"), data);
    tear_down(&f);
}

static void test_nonsense(void **state)
{
    struct fixture f;
    set_up(&f);
    assert_int_equal(mount_table_refresh(&f.table, &f.machine.root), -ENOENT);
    read_list(&f, "nonsense\n\n5 6 0:1 / /a rw - ext4 a rw\n6 5 0:2 / /a rw - ext4 b rw\n"
                  "0 0 0:3 / /z rw - ext4 c rw\n7 99999999999 0:4 / /y rw - ext4 d rw\n");
    assert_non_null(find(&f, "/z"));
    assert_non_null(find(&f, "/y"));
    read_list(&f, "");
    assert_int_equal(count(&f), 0);
    tear_down(&f);
}

/* More than the kernel gives in one piece. */
static void test_a_long_list(void **state)
{
    struct fixture f;
    set_up(&f);
    enum { MOUNTS = 2000 };
    char *text = malloc(MOUNTS * 80);
    size_t length = 0;
    for (unsigned i = 0; i < MOUNTS; i++)
        length += (size_t)sprintf(text + length, "%u 27 0:%u / /run/user/%u rw - tmpfs tmpfs rw\n",
                                  100 + i, 100 + i, i);
    read_list(&f, text);
    free(text);
    assert_int_equal(count(&f), MOUNTS);
    tear_down(&f);
}

static void test_live(void **state)
{
    struct sysroot root;
    struct fixture f;
    mount_table_init(&f.table);
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    assert_int_equal(mount_table_refresh(&f.table, &root), 0);
    assert_true(f.table.fd >= 0);
    assert_true(count(&f) > 0);
    size_t length = f.table.text.length;
    /* Nothing was mounted: the text is not even read. */
    buf_clear(&f.table.text);
    assert_int_equal(mount_table_refresh(&f.table, &root), 0);
    unsigned before = count(&f);
    if (f.table.text.length) {
        assert_int_equal(f.table.text.length, length); /* somebody else mounted something */
    } else {
        struct tree tree;
        tree_make(&tree);
        if (mount("none", tree.path, "tmpfs", 0, "size=64k") == 0) { /* root only */
            assert_int_equal(mount_table_refresh(&f.table, &root), 0);
            assert_true(f.table.text.length > length);
            assert_int_equal(count(&f), before + 1);
            assert_true(find(&f, tree.path)->instance.is_new);
            assert_int_equal(umount(tree.path), 0);
            assert_int_equal(mount_table_refresh(&f.table, &root), 0);
            assert_null(find(&f, tree.path));
        }
        tree_remove(&tree);
    }
    mount_table_done(&f.table);
    sysroot_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pseudo_filesystems_are_left_out),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_a_filesystem_is_shown_once),
        cmocka_unit_test(test_overlays_are_shown_once),
        cmocka_unit_test(test_hidden_mounts),
        cmocka_unit_test(test_the_way_to_it_may_hang),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_a_long_list),
        cmocka_unit_test(test_live),
    };
    return RUN("mount_table", tests);
}
