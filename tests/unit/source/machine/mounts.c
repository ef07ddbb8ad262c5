/* SPDX-License-Identifier: MIT */
#include "base/util.h"
#include "fake_statvfs.h"
#include "machine_tree.h"
#include "source/machine/space.h"
#include "tree.h"
#include "unit.h"

#include <sys/mount.h>
#include <sys/socket.h>

/* ---- mounts --------------------------------------------------------------------------------- */

#define ROOT "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"

static void collect(struct machine *m, struct mounts *state)
{
    machine_use(m, &collector_mounts, state);
    machine_collect(m);
}

static void test_mounts_recorded(void **state)
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

static void test_mounts_strange_figures(void **state)
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

static void test_mounts_local(void **state)
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

static void test_mounts_network(void **state)
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
static void test_mounts_network_that_hangs(void **state)
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
    assert_string_equal(m.note, "filesystem '/hang' does not respond; its figures are unknown");
    assert_int_equal(m.helpers, 1);
    machine_close(&m);
    reap_helper(m.helper);
    machine_remove(&m);
}

static void test_mounts_this_machine(void **state)
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

/* ---- mount table ---------------------------------------------------------------------------- */

struct mount_table_fixture {
    struct machine machine;
    struct mount_table table;
};

static void mount_table_set_up(struct mount_table_fixture *f)
{
    machine_make(&f->machine);
    mount_table_init(&f->table);
}

static void mount_table_tear_down(struct mount_table_fixture *f)
{
    mount_table_done(&f->table);
    machine_remove(&f->machine);
}

static void read_list(struct mount_table_fixture *f, const char *text)
{
    tree_write(&f->machine.tree, "proc/self/mountinfo", text);
    assert_int_equal(mount_table_refresh(&f->table, &f->machine.root), 0);
    assert_int_equal(f->table.fd, -1); /* the next tick may have another tree */
}

static struct mount *find(struct mount_table_fixture *f, const char *point)
{
    for (struct mount *m = f->table.first; m; m = m->next)
        if (m->is_there && strcmp(m->instance.entity.path, point) == 0)
            return m;
    return NULL;
}

static unsigned mount_table_count(const struct mount_table_fixture *f)
{
    unsigned n = 0;
    for (const struct mount *m = f->table.first; m; m = m->next)
        n += m->is_there;
    return n;
}

static void test_mount_table_pseudo_filesystems_are_left_out(void **state)
{
    struct mount_table_fixture f;
    mount_table_set_up(&f);
    read_list(&f, ROOT "22 27 0:21 / /proc rw - proc proc rw\n"
                       "23 27 0:22 / /sys rw - sysfs sysfs rw\n"
                       "24 27 0:6 / /dev rw - devtmpfs devtmpfs rw\n"
                       "25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw\n"
                       "26 27 7:1 / /snap/core/1 ro - squashfs /dev/loop1 ro\n");
    assert_int_equal(mount_table_count(&f), 2);
    const struct mount *root = find(&f, "/");
    assert_string_equal(label_of(&root->instance, "class"), "local");
    assert_string_equal(label_of(&root->instance, "type"), "ext4");
    assert_string_equal(label_of(&root->instance, "source"), "/dev/vda");
    assert_string_equal(label_of(&find(&f, "/dev/shm")->instance, "class"), "memory");
    assert_false(root->instance.is_new || root->may_hang);
    mount_table_tear_down(&f);
}

static void test_mount_table_escapes(void **state)
{
    struct mount_table_fixture f;
    mount_table_set_up(&f);
    read_list(&f, "30 27 8:1 / /mnt/my\\040disk rw - ext4 /dev/disk\\040one rw\n");
    assert_string_equal(label_of(&find(&f, "/mnt/my disk")->instance, "source"), "/dev/disk one");
    mount_table_tear_down(&f);
}

static void test_mount_table_a_filesystem_is_shown_once(void **state)
{
    struct mount_table_fixture f;
    mount_table_set_up(&f);
    read_list(&f, "40 27 8:1 /sub /b rw - ext4 /dev/sda1 rw\n" /* a bind mount of a part */
              ROOT "41 27 8:1 / /srv/data rw - ext4 /dev/sda1 rw\n"
                  "42 27 8:1 / /data rw - ext4 /dev/sda1 rw\n" /* shorter */
                  "43 27 8:1 / /long/way/to rw - ext4 /dev/sda1 rw\n"
                  "44 27 0:50 /@ /vol rw - btrfs /dev/sdb rw,subvol=/@\n"
                  "45 27 0:51 /@home /home rw - btrfs /dev/sdb rw,subvol=/@home\n");
    assert_int_equal(mount_table_count(&f), 3);
    assert_non_null(find(&f, "/"));
    assert_non_null(find(&f, "/data"));
    assert_non_null(find(&f, "/vol"));
    mount_table_tear_down(&f);
}

static void test_mount_table_overlays_are_shown_once(void **state)
{
    struct mount_table_fixture f;
    mount_table_set_up(&f);
    read_list(&f, ROOT "50 27 0:60 / /var/lib/docker/overlay2/a/merged rw - overlay overlay rw\n"
                       "51 27 0:61 / /var/lib/docker/overlay2/bb/merged rw - overlay overlay rw\n");
    assert_int_equal(mount_table_count(&f), 2);
    assert_string_equal(label_of(&find(&f, "/var/lib/docker/overlay2/a/merged")->instance, "class"),
                        "overlay");
    mount_table_tear_down(&f);
}

static void test_mount_table_hidden_mounts(void **state)
{
    struct mount_table_fixture f;
    mount_table_set_up(&f);
    read_list(&f, "1 1 0:2 / / rw - rootfs rootfs rw\n" ROOT
                  "25 27 0:23 / /dev/shm rw - tmpfs below rw\n"
                  "30 25 0:27 / /dev/shm rw - tmpfs above rw\n" /* put over the other */
                  "31 27 8:1 / /a/b rw - ext4 /dev/sda1 rw\n"
                  "32 27 8:2 / /a rw - ext4 /dev/sda2 rw\n" /* put over the way to /a/b */
                  "33 32 8:3 / /a/c rw - ext4 /dev/sda3 rw\n"
                  "34 27 8:4 / /ab rw - ext4 /dev/sda4 rw\n");
    assert_int_equal(mount_table_count(&f), 5);
    assert_string_equal(find(&f, "/dev/shm")->source, "above");
    assert_null(find(&f, "/a/b"));
    assert_non_null(find(&f, "/a"));
    assert_non_null(find(&f, "/a/c"));
    assert_non_null(find(&f, "/ab"));
    mount_table_tear_down(&f);
}

static void test_mount_table_the_way_to_it_may_hang(void **state)
{
    struct mount_table_fixture f;
    mount_table_set_up(&f);
    read_list(&f, ROOT "60 27 0:70 / /net rw - nfs4 server:/x rw\n"
                       "61 60 8:1 / /net/scratch rw - ext4 /dev/sda1 rw\n"
                       "62 27 8:2 / /network rw - ext4 /dev/sda2 rw\n");
    assert_string_equal(label_of(&find(&f, "/net")->instance, "class"), "network");
    assert_true(find(&f, "/net")->may_hang);
    assert_string_equal(label_of(&find(&f, "/net/scratch")->instance, "class"), "local");
    assert_true(find(&f, "/net/scratch")->may_hang);
    assert_false(find(&f, "/network")->may_hang);
    mount_table_tear_down(&f);
}

static void test_mount_table_changes(void **state)
{
    struct mount_table_fixture f;
    mount_table_set_up(&f);
    read_list(&f, ROOT "41 27 8:1 / /srv/data rw - ext4 /dev/sda1 rw\n");
    const struct mount *root = find(&f, "/"), *data = find(&f, "/srv/data");
    /* A shorter place to show it appears: it stays where it was. */
    read_list(&f, ROOT "42 27 8:1 / /d rw - ext4 /dev/sda1 rw\n"
                       "41 27 8:1 / /srv/data rw - ext4 /dev/sda1 rw\n"
                       "43 27 8:2 / /new rw - ext4 /dev/sda2 rw\n");
    assert_int_equal(mount_table_count(&f), 3);
    assert_ptr_equal(find(&f, "/"), root);
    assert_ptr_equal(find(&f, "/srv/data"), data);
    assert_false(data->instance.is_new);
    assert_true(find(&f, "/new")->instance.is_new);
    /* It goes, and comes back. */
    read_list(&f, ROOT);
    assert_int_equal(mount_table_count(&f), 1);
    assert_false(data->is_there);
    read_list(&f, ROOT "44 27 8:1 / /srv/data rw - ext4 /dev/sda1 rw\n");
    assert_ptr_equal(find(&f, "/srv/data"), data);
    /* Another filesystem in the same place is another thing. */
    read_list(&f, ROOT "44 27 8:9 / /srv/data rw - ext4 /dev/sda9 rw\n");
    assert_ptr_not_equal(find(&f, "/srv/data"), data);
    mount_table_tear_down(&f);
}

static void test_mount_table_nonsense(void **state)
{
    struct mount_table_fixture f;
    mount_table_set_up(&f);
    assert_int_equal(mount_table_refresh(&f.table, &f.machine.root), -ENOENT);
    read_list(&f, "nonsense\n\n5 6 0:1 / /a rw - ext4 a rw\n6 5 0:2 / /a rw - ext4 b rw\n"
                  "0 0 0:3 / /z rw - ext4 c rw\n7 99999999999 0:4 / /y rw - ext4 d rw\n");
    assert_non_null(find(&f, "/z"));
    assert_non_null(find(&f, "/y"));
    read_list(&f, "");
    assert_int_equal(mount_table_count(&f), 0);
    mount_table_tear_down(&f);
}

/* More than the kernel gives in one piece. */
static void test_mount_table_a_long_list(void **state)
{
    struct mount_table_fixture f;
    mount_table_set_up(&f);
    enum { MOUNTS = 2000 };
    char *text = malloc(MOUNTS * 80);
    size_t length = 0;
    for (unsigned i = 0; i < MOUNTS; i++)
        length += (size_t)sprintf(text + length, "%u 27 0:%u / /run/user/%u rw - tmpfs tmpfs rw\n",
                                  100 + i, 100 + i, i);
    read_list(&f, text);
    free(text);
    assert_int_equal(mount_table_count(&f), MOUNTS);
    mount_table_tear_down(&f);
}

static void test_mount_table_live(void **state)
{
    struct sysroot root;
    struct mount_table_fixture f;
    mount_table_init(&f.table);
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    assert_int_equal(mount_table_refresh(&f.table, &root), 0);
    assert_true(f.table.fd >= 0);
    assert_true(mount_table_count(&f) > 0);
    size_t length = f.table.text.length;
    /* Nothing was mounted: the text is not even read. */
    buf_clear(&f.table.text);
    assert_int_equal(mount_table_refresh(&f.table, &root), 0);
    unsigned before = mount_table_count(&f);
    if (f.table.text.length) {
        assert_int_equal(f.table.text.length, length); /* somebody else mounted something */
    } else {
        struct tree tree;
        tree_make(&tree);
        if (mount("none", tree.path, "tmpfs", 0, "size=64k") == 0) { /* root only */
            assert_int_equal(mount_table_refresh(&f.table, &root), 0);
            assert_true(f.table.text.length > length);
            assert_int_equal(mount_table_count(&f), before + 1);
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

/* ---- mount types ---------------------------------------------------------------------------- */

static void test_mount_types_classes(void **state)
{
    static const struct {
        const char *type, *class;
        bool may_hang;
    } cases[] = {
        {"ext4", "local", false},
        {"btrfs", "local", false},
        {"xfs", "local", false},
        {"virtiofs", "local", false},
        {"newfs2030", "local", false},
        {"tmpfs", "memory", false},
        {"overlay", "overlay", false},
        {"fuse.fuse-overlayfs", "overlay", true},
        {"nfs", "network", true},
        {"nfs4", "network", true},
        {"cifs", "network", true},
        {"9p", "network", true},
        {"fuse", "network", true},
        {"fuse.sshfs", "network", true},
        {"fuse.mergerfs", "network", true},
        {"fuseblk", "local", true},
        {"proc", "pseudo", false},
        {"cgroup2", "pseudo", false},
        {"devtmpfs", "pseudo", false},
        {"squashfs", "pseudo", false},
        {"fusectl", "pseudo", false},
        {"nfsd", "pseudo", false},
        {"", "local", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scan type = scan_string(cases[i].type);
        assert_string_equal(mount_class_name(mount_class_of(type)), cases[i].class);
        assert_int_equal(mount_may_hang(type), cases[i].may_hang);
    }
}

/* ---- space asker ---------------------------------------------------------------------------- */

struct space_asker_fixture {
    struct space_asker asker;
    pid_t pids[SPACE_HELPERS + 1];
    unsigned count;
};

static void remember(void *arg, pid_t pid)
{
    struct space_asker_fixture *f = arg;
    assert_true(f->count < SPACE_HELPERS);
    f->pids[f->count++] = pid;
}

static void space_asker_set_up(struct space_asker_fixture *f)
{
    *f = (struct space_asker_fixture){0};
    space_asker_init(&f->asker, fake_statvfs);
    assert_true(f->asker.deadline_ns == 2 * NS_PER_SECOND);
    f->asker.own_child = remember;
    f->asker.arg = f;
}

static void space_asker_tear_down(struct space_asker_fixture *f)
{
    space_asker_done(&f->asker);
    for (unsigned i = 0; i < f->count; i++)
        reap_helper(f->pids[i]);
}

/* Takes answers, in the same nanosecond, until the question has one. */
static void await(struct space_asker_fixture *f, const struct space_question *q, uint64_t now_ns)
{
    for (unsigned i = 0; i < 10000 && q->helper; i++) {
        space_asker_take(&f->asker, now_ns);
        usleep(1000);
    }
    assert_null(q->helper);
}

static void test_space_asker_nothing_to_ask(void **state)
{
    struct space_asker_fixture f;
    space_asker_set_up(&f);
    space_asker_round(&f.asker, 1);
    assert_int_equal(f.count, 0);
    space_asker_tear_down(&f);
}

static void test_space_asker_answers(void **state)
{
    struct space_asker_fixture f;
    space_asker_set_up(&f);
    struct space_question good = {.path = "/good"}, denied = {.path = "/denied"};
    space_asker_open(&f.asker, &good, true);
    space_asker_open(&f.asker, &denied, true);
    space_asker_open(&f.asker, &good, true); /* twice is once */
    space_asker_round(&f.asker, 1);
    assert_false(good.has_answer);
    await(&f, &good, 2);
    await(&f, &denied, 2);
    assert_true(good.has_answer && good.error == 0 && good.space.blocks == 1000);
    assert_true(denied.has_answer && denied.error == -EACCES);
    /* The last answer holds while the next is on its way. */
    space_asker_round(&f.asker, 1000);
    assert_true(good.has_answer);
    await(&f, &good, 1001);
    /* No longer asked. */
    space_asker_open(&f.asker, &good, false);
    uint64_t serial = good.serial;
    space_asker_round(&f.asker, 2000);
    assert_true(good.serial == serial);
    assert_int_equal(f.count, 1);
    space_asker_tear_down(&f);
}

static void test_space_asker_one_hangs(void **state)
{
    struct space_asker_fixture f;
    space_asker_set_up(&f);
    struct space_question good = {.path = "/good"}, hangs = {.path = "/hangs"};
    space_asker_open(&f.asker, &good, true);
    space_asker_open(&f.asker, &hangs, true); /* asked first */
    space_asker_round(&f.asker, NS_PER_SECOND);
    assert_true(hangs.serial < good.serial);
    space_asker_round(&f.asker, 3 * NS_PER_SECOND);
    assert_false(hangs.is_late || good.is_late); /* not yet */
    space_asker_round(&f.asker, 3 * NS_PER_SECOND + 1);
    assert_true(hangs.is_late && !hangs.has_answer);
    assert_false(good.is_late);
    assert_int_equal(f.count, 2); /* another helper has got the good one */
    await(&f, &good, 3 * NS_PER_SECOND + 2);
    assert_true(good.has_answer);
    for (uint64_t s = 6; s < 30; s += 3) {
        space_asker_round(&f.asker, s * NS_PER_SECOND);
        await(&f, &good, s * NS_PER_SECOND + 1);
        assert_true(hangs.is_late && good.has_answer);
    }
    assert_int_equal(f.count, 2); /* the late one is not asked again */
    space_asker_tear_down(&f);
}

static void test_space_asker_many_hang(void **state)
{
    struct space_asker_fixture f;
    space_asker_set_up(&f);
    struct space_question hangs[6] = {{.path = "/hang0"}, {.path = "/hang1"}, {.path = "/hang2"},
                                      {.path = "/hang3"}, {.path = "/hang4"}, {.path = "/hang5"}};
    for (size_t i = 0; i < ARRAY_LEN(hangs); i++)
        space_asker_open(&f.asker, &hangs[i], true);
    for (uint64_t s = 1; s < 60; s++)
        space_asker_round(&f.asker, s * NS_PER_SECOND);
    unsigned late = 0;
    for (size_t i = 0; i < ARRAY_LEN(hangs); i++) {
        late += hangs[i].is_late;
        assert_false(hangs[i].has_answer);
    }
    assert_int_equal(f.count, SPACE_HELPERS);
    assert_int_equal(late, SPACE_HELPERS);
    space_asker_tear_down(&f);
}

/* Started anew, but not for ever. */
static void test_space_asker_helpers_die(void **state)
{
    struct space_asker_fixture f;
    space_asker_set_up(&f);
    struct space_question good = {.path = "/good"}, deadly = {.path = "/deadly"};
    space_asker_open(&f.asker, &good, true);
    space_asker_round(&f.asker, 1);
    await(&f, &good, 2);
    assert_true(good.has_answer);
    space_asker_open(&f.asker, &deadly, true);
    for (unsigned i = 0; i < SPACE_HELPERS; i++) {
        assert_int_equal(f.count, i + (i == 0));
        space_asker_round(&f.asker, 10 + i);
        await(&f, &deadly, 10 + i);
        assert_false(deadly.has_answer);
    }
    space_asker_round(&f.asker, 100);
    space_asker_round(&f.asker, 101);
    assert_int_equal(f.count, SPACE_HELPERS);
    assert_false(good.has_answer || deadly.has_answer || deadly.is_late);
    space_asker_tear_down(&f);
}

static void test_space_asker_one_that_was_killed(void **state)
{
    struct space_asker_fixture f;
    space_asker_set_up(&f);
    struct space_question q = {.path = "/hang"};
    space_asker_open(&f.asker, &q, true);
    space_asker_round(&f.asker, 1);
    kill(f.pids[0], SIGKILL);
    await(&f, &q, 2);
    /* The pid may be anybody's from here on; the end must not kill it. */
    q.path = "/good";
    space_asker_round(&f.asker, 3);
    await(&f, &q, 4);
    assert_true(q.has_answer);
    assert_int_equal(f.count, 2);
    space_asker_tear_down(&f);
}

/* ---- space helper --------------------------------------------------------------------------- */

static void request(int fd, uint64_t serial, const char *path)
{
    struct space_request r = {.serial = serial};
    snprintf(r.path, sizeof r.path, "%s", path);
    size_t size = offsetof(struct space_request, path) + strlen(path) + 1;
    assert_int_equal(send(fd, &r, size, 0), size);
}

static struct space_answer answer(int fd)
{
    struct space_answer a;
    assert_int_equal(recv(fd, &a, sizeof a, 0), sizeof a);
    return a;
}

static void test_space_helper_answers(void **state)
{
    int fd;
    pid_t pid = space_helper_start(fake_statvfs, &fd);
    assert_true(pid > 0);
    request(fd, 7, "/x");
    request(fd, 8, "/denied");
    struct space_answer a = answer(fd);
    assert_int_equal(a.serial, 7);
    assert_int_equal(a.error, 0);
    assert_int_equal(a.space.block_bytes, 4096);
    assert_int_equal(a.space.blocks, 1000);
    assert_int_equal(a.space.files_free, 20);
    a = answer(fd);
    assert_int_equal(a.serial, 8);
    assert_int_equal(a.error, -EACCES);
    /* A program that waits for all its children does not wait for this one. */
    assert_int_equal(wait(NULL), -1);
    assert_int_equal(errno, ECHILD);
    close(fd);
    reap_helper(pid); /* it ends by itself */
}

static void test_space_helper_what_it_is(void **state)
{
    int fd, pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    pid_t pid = space_helper_start(fake_statvfs, &fd);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < NSIG; signal++)
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
    request(fd, 1, "/x"); /* it is ready when it has answered */
    answer(fd);
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    int comm = open(path, O_RDONLY);
    ssize_t n = read(comm, text, sizeof text);
    close(comm);
    assert_int_equal(n, strlen("toll-statvfs\n"));
    assert_memory_equal(text, "toll-statvfs\n", (size_t)n);
    /* It keeps no pipe open. */
    char nothing;
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], &nothing, 1), 0);
    close(pipe_ends[0]);
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    for (const struct dirent *d; (d = readdir(dir));)
        count += d->d_name[0] != '.';
    closedir(dir);
    assert_int_equal(count, 4); /* its socket, and /dev/null as 0, 1 and 2 */
    /* Ctrl-C is for the job. */
    kill(pid, SIGINT);
    kill(pid, SIGTERM);
    request(fd, 2, "/x");
    assert_int_equal(answer(fd).serial, 2);
    close(fd);
    reap_helper(pid);
}

static void test_space_helper_it_ends_with_its_parent(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        int fd;
        pid_t pid = space_helper_start(fake_statvfs, &fd);
        request(fd, 1, "/x");
        answer(fd);
        request(fd, 2, "/hang");
        if (write(ends[1], &pid, sizeof pid) != (ssize_t)sizeof pid)
            _exit(1);
        _exit(0);
    }
    pid_t pid;
    close(ends[1]);
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    close(ends[0]);
    reap_helper(parent);
    bool is_gone = false;
    for (unsigned i = 0; i < 5000 && !is_gone; i++) {
        char path[64], text[512] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        int fd = open(path, O_RDONLY);
        is_gone = fd < 0 || read(fd, text, sizeof text - 1) <= 0 || strstr(text, ") Z ");
        if (fd >= 0)
            close(fd);
        usleep(1000);
    }
    assert_true(is_gone);
}

/* ---- statvfs record ------------------------------------------------------------------------- */

static const char statvfs_record_text[] = "/ 4096 5127680 2437116 2170616 1310720 1094213\n"
                                          "garbage\n"
                                          "/mnt/with\\040blank 1048576 953344 120 0 0 0\n"
                                          "/cut 4096 100 50 50 10";

static void test_statvfs_record_find(void **state)
{
    struct space s;
    assert_int_equal(statvfs_record_find(scan_string(statvfs_record_text), "/", &s), 0);
    assert_int_equal(s.block_bytes, 4096);
    assert_int_equal(s.blocks, 5127680);
    assert_int_equal(s.blocks_free, 2437116);
    assert_int_equal(s.blocks_available, 2170616);
    assert_int_equal(s.files, 1310720);
    assert_int_equal(s.files_free, 1094213);
    assert_int_equal(statvfs_record_find(scan_string(statvfs_record_text), "/mnt/with blank", &s),
                     0);
    assert_int_equal(s.blocks, 953344);
}

static void test_statvfs_record_not_there(void **state)
{
    struct space s;
    memset(&s, UNTOUCHED, sizeof s);
    assert_int_equal(statvfs_record_find(scan_string(statvfs_record_text), "/cut", &s), -ENODATA);
    assert_int_equal(statvfs_record_find(scan_string(statvfs_record_text), "/mnt", &s), -ENODATA);
    assert_int_equal(statvfs_record_find(scan_string(""), "/", &s), -ENODATA);
    assert_true(is_untouched(&s, sizeof s));
}

static void test_statvfs_record_garbage(void **state)
{
    static const char *const lines[] = {
        "",
        "/",
        "mnt 1 2 3 4 5 6",
        " / 1 2 3 4 5 6",
        "/ 1 2 3 4 5",
        "/ 1 2 3 4 5 6 7",
        "/ 1 2 3 4 5 -6",
        "/ 1 2 three 4 5 6",
        "/ 18446744073709551616 2 3 4 5 6",
    };
    struct statvfs_record r;
    memset(&r, UNTOUCHED, sizeof r);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        size_t length = strlen(lines[i]);
        char *copy = exact_copy(lines[i], length);
        assert_int_equal(parse_statvfs_record(scan_text(copy, length), &r), -EBADMSG);
        free(copy);
    }
    assert_true(is_untouched(&r, sizeof r));
}

static void test_statvfs_record_huge(void **state)
{
    struct statvfs_record r;
    assert_int_equal(parse_statvfs_record(scan_string("/x 18446744073709551615 2 3 4 5 6"), &r), 0);
    assert_true(r.space.block_bytes == UINT64_MAX);
    assert_int_equal(r.space.files_free, 6);
    assert_int_equal(r.point.end - r.point.at, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mounts_recorded),
        cmocka_unit_test(test_mounts_strange_figures),
        cmocka_unit_test(test_mounts_local),
        cmocka_unit_test(test_mounts_network),
        cmocka_unit_test(test_mounts_network_that_hangs),
        cmocka_unit_test(test_mounts_this_machine),
        cmocka_unit_test(test_mount_table_pseudo_filesystems_are_left_out),
        cmocka_unit_test(test_mount_table_escapes),
        cmocka_unit_test(test_mount_table_a_filesystem_is_shown_once),
        cmocka_unit_test(test_mount_table_overlays_are_shown_once),
        cmocka_unit_test(test_mount_table_hidden_mounts),
        cmocka_unit_test(test_mount_table_the_way_to_it_may_hang),
        cmocka_unit_test(test_mount_table_changes),
        cmocka_unit_test(test_mount_table_nonsense),
        cmocka_unit_test(test_mount_table_a_long_list),
        cmocka_unit_test(test_mount_table_live),
        cmocka_unit_test(test_mount_types_classes),
        cmocka_unit_test(test_space_asker_nothing_to_ask),
        cmocka_unit_test(test_space_asker_answers),
        cmocka_unit_test(test_space_asker_one_hangs),
        cmocka_unit_test(test_space_asker_many_hang),
        cmocka_unit_test(test_space_asker_helpers_die),
        cmocka_unit_test(test_space_asker_one_that_was_killed),
        cmocka_unit_test(test_space_helper_answers),
        cmocka_unit_test(test_space_helper_what_it_is),
        cmocka_unit_test(test_space_helper_it_ends_with_its_parent),
        cmocka_unit_test(test_statvfs_record_find),
        cmocka_unit_test(test_statvfs_record_not_there),
        cmocka_unit_test(test_statvfs_record_garbage),
        cmocka_unit_test(test_statvfs_record_huge),
    };
    return RUN("source/machine/mounts", tests);
}
