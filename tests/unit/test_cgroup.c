/* SPDX-License-Identifier: MIT */
#include "source/cgroup/cgroup.h"

#include "cgroup_tree.h"

#include <unistd.h>

struct met {
    pid_t pids[16];
    unsigned count;
};

static void meet(void *arg, pid_t pid)
{
    struct met *m = arg;
    assert_true(m->count < ARRAY_LEN(m->pids));
    m->pids[m->count++] = pid;
}

static void test_v2(void **state)
{
    struct cgroup_tree t;
    struct cgroup *c;
    struct instance_list list = {0};
    uint64_t kills;
    cgroup_tree_v2(&t);
    assert_int_equal(cgroup_open_of(&c, &t.root, 1), 0);
    assert_string_equal(cgroup_name(c), "/a/job");
    assert_false(cgroup_is_root(c) || cgroup_is_gone(c));
    unsigned fds = tree_open_fds();
    cgroup_collect(c, &list);
    assert_int_equal(tree_open_fds(), fds); /* a recorded tree is not held open */
    assert_int_equal(list.count, 3);
    assert_string_equal(entity_name(&list.items[0]->entity), "/a/job");
    const struct row *row = &list.items[0]->read;
    assert_value(row, cgroup_cpu_seconds, 3000000);
    assert_value(row, cgroup_cpu_system_seconds, 1000000);
    assert_true(row_value(row, cgroup_cpu_limit_cores).d == 0.5);
    assert_unknown(row, cgroup_cpu_throttled_seconds); /* the quota is the ancestor's */
    assert_value(row, cgroup_memory_bytes, 5000);
    assert_value(row, cgroup_memory_peak_bytes, 9000);
    assert_value(row, cgroup_memory_limit_bytes, 1000000000);
    assert_value(row, cgroup_memory_kernel_bytes, 300);
    assert_value(row, cgroup_memory_swap_bytes, 7);
    assert_value(row, cgroup_memory_limit_events_count, 1); /* of those below it, one more */
    assert_value(row, cgroup_oom_events_count, 3);
    assert_value(row, cgroup_oom_kills_count, 4);
    assert_value(row, cgroup_tasks_count, 2);
    assert_value(row, cgroup_tasks_limit_count, 50);
    assert_value(row, cgroup_tasks_limit_events_count, 6);
    assert_value(row, cgroup_cpu_pressure_some_seconds, 8000);
    assert_unknown(row, cgroup_cpu_pressure_full_seconds);
    assert_unknown(row, cgroup_memory_pressure_some_seconds);
    assert_value(row, cgroup_io_pressure_full_seconds, 5000);
    assert_value(row, cgroup_storage_read_bytes, 10); /* the volume stands on the disk */
    assert_value(row, cgroup_storage_writes_count, 2);
    assert_true(cgroup_oom_kills(c, &kills) && kills == 4);
    instance_list_done(&list);
    cgroup_close(c);
    cgroup_tree_close(&t);
}

static void test_v1_beside_an_empty_v2(void **state)
{
    struct cgroup_tree t;
    struct cgroup *c;
    struct instance_list list = {0};
    cgroup_tree_v1(&t);
    assert_int_equal(cgroup_open_of(&c, &t.root, 1), 0);
    assert_string_equal(cgroup_name(c), "/job");
    cgroup_collect(c, &list);
    assert_int_equal(list.count, 1);
    const struct row *row = &list.items[0]->read;
    assert_unknown(row, cgroup_cpu_seconds); /* at its root it would be the machine's */
    assert_true(row_value(row, cgroup_cpu_limit_cores).d == 1.5);
    assert_value(row, cgroup_cpu_throttled_seconds, 77);
    assert_value(row, cgroup_memory_bytes, 5000);
    assert_value(row, cgroup_memory_peak_bytes, 9000);
    assert_value(row, cgroup_memory_limit_bytes, 70000);
    assert_value(row, cgroup_memory_limit_events_count, 3);
    assert_value(row, cgroup_memory_anon_bytes, 30);
    assert_value(row, cgroup_memory_file_bytes, 20);
    assert_value(row, cgroup_memory_shmem_bytes, 5);
    assert_value(row, cgroup_memory_swap_bytes, 6);
    assert_value(row, cgroup_memory_kernel_bytes, 40);
    assert_value(row, cgroup_oom_kills_count, 3); /* with the one below */
    assert_unknown(row, cgroup_oom_events_count);
    assert_value(row, cgroup_tasks_limit_events_count, 0);
    assert_unknown(row, cgroup_tasks_limit_count);
    assert_unknown(row, cgroup_storage_read_bytes); /* all zero: nobody counts */
    tree_unlink(&t.tree, "sys/fs/cgroup/memory/job/in/memory.oom_control");
    list.count = 0;
    cgroup_collect(c, &list);
    assert_value(row, cgroup_oom_kills_count, 3); /* what was counted stays */
    instance_list_done(&list);
    cgroup_close(c);
    cgroup_tree_close(&t);
}

static void test_v1_without_oom_kill(void **state)
{
    struct cgroup_tree t;
    struct cgroup *c;
    struct instance_list list = {0};
    uint64_t kills;
    cgroup_tree_open(&t, V1_MOUNTS, "4:memory:/job\n");
    cgroup_write(&t, "memory/job", "cgroup.procs", "", "memory.oom_control",
                 "oom_kill_disable 0\nunder_oom 0\n", "memory.usage_in_bytes", "garbage\n", NULL);
    assert_int_equal(cgroup_open_of(&c, &t.root, 1), 0);
    assert_false(cgroup_oom_kills(c, &kills));
    cgroup_collect(c, &list);
    assert_int_equal(list.count, 0); /* nothing could be read */
    instance_list_done(&list);
    cgroup_close(c);
    cgroup_tree_close(&t);
}

static void test_paths_that_differ(void **state)
{
    struct cgroup_tree t;
    struct cgroup *c;
    struct instance_list list = {0};
    cgroup_tree_open(&t, V1_MOUNTS, "4:memory:/job\n2:cpuacct:/other\n");
    cgroup_write(&t, "memory/job", "cgroup.procs", "", "memory.usage_in_bytes", "1\n", NULL);
    cgroup_write(&t, "cpuacct/other", "cgroup.procs", "", "cpuacct.usage", "5\n", "cpuacct.stat",
                 "user 2\nsystem 1\n", NULL);
    assert_int_equal(cgroup_open_of(&c, &t.root, 1), 0);
    cgroup_collect(c, &list);
    assert_int_equal(list.count, 1);
    assert_value(&list.items[0]->read, cgroup_cpu_seconds, 5);
    assert_value(&list.items[0]->read, cgroup_cpu_user_seconds, 20000000);
    assert_string_equal(list.items[0]->entity.labels[0].key, "cpu_cgroup");
    assert_string_equal(list.items[0]->entity.labels[0].value, "/other");
    instance_list_done(&list);
    cgroup_close(c);
    cgroup_tree_close(&t);
}

static const char *label_of(const struct entity *e, const char *key)
{
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        if (strcmp(e->labels[i].key, key) == 0)
            return e->labels[i].value;
    return NULL;
}

/* Version 1 may have a process elsewhere in every hierarchy: each figure is said to be of the
 * cgroup it was read in, also of the quota and of disks. */
static void test_each_figure_has_its_own_path(void **state)
{
    struct cgroup_tree t;
    struct cgroup *c;
    struct instance_list list = {0};
    cgroup_tree_open(&t, V1_MOUNTS, "4:memory:/job\n2:cpuacct:/a\n3:cpu:/b\n5:blkio:/c\n");
    cgroup_write(&t, "memory/job", "cgroup.procs", "", "memory.usage_in_bytes", "1\n", NULL);
    cgroup_write(&t, "cpuacct/a", "cgroup.procs", "", "cpuacct.usage", "5\n", NULL);
    cgroup_write(&t, "cpu/b", "cgroup.procs", "", "cpu.stat",
                 "nr_periods 3\nnr_throttled 2\nthrottled_time 7\n", NULL);
    cgroup_write(&t, "blkio/c", "cgroup.procs", "", "blkio.throttle.io_service_bytes",
                 "8:0 Read 4096\n8:0 Write 0\n8:0 Total 4096\nTotal 4096\n", NULL);
    assert_int_equal(cgroup_open_of(&c, &t.root, 1), 0);
    cgroup_collect(c, &list);
    const struct entity *e = &list.items[0]->entity;
    assert_string_equal(entity_name(e), "/job");
    assert_null(label_of(e, "memory_cgroup"));
    assert_string_equal(label_of(e, "cpu_cgroup"), "/a");
    assert_string_equal(label_of(e, "quota_cgroup"), "/b");
    assert_string_equal(label_of(e, "storage_cgroup"), "/c");
    assert_true(list.count >= 2);
    assert_int_equal(list.items[1]->entity.kind, ENTITY_CGROUP_DISK);
    assert_string_equal(label_of(&list.items[1]->entity, "cgroup"), "/c");
    instance_list_done(&list);
    cgroup_close(c);
    cgroup_tree_close(&t);
}

static void test_processes(void **state)
{
    struct cgroup_tree t;
    struct cgroup *c;
    struct met met = {0};
    cgroup_tree_v2(&t);
    assert_int_equal(cgroup_open_of(&c, &t.root, 1), 0);
    assert_int_equal(cgroup_each_pid(c, meet, &met), 0);
    assert_int_equal(met.count, 3); /* 0 is of another namespace, 11 stands there twice */
    assert_int_equal(met.pids[0] + met.pids[1] + met.pids[2], 11 + 12 + 13);
    cgroup_close(c);
    cgroup_tree_close(&t);
}

static void test_same_and_root(void **state)
{
    struct cgroup_tree t;
    struct cgroup *a, *b, *top;
    struct instance_list list = {0};
    cgroup_tree_v2(&t);
    assert_int_equal(cgroup_open_of(&a, &t.root, 1), 0);
    assert_int_equal(cgroup_open_path(&b, &t.root, "/sys/fs/cgroup/a/job/", NULL), 0);
    assert_int_equal(cgroup_open_path(&top, &t.root, "/", NULL), 0);
    assert_true(cgroup_same(a, b) && !cgroup_same(a, top));
    assert_true(cgroup_is_root(top) && !cgroup_is_root(b));
    cgroup_collect(top, &list);
    assert_int_equal(list.count, 0);
    instance_list_done(&list);
    cgroup_close(a);
    cgroup_close(b);
    cgroup_close(top);
    cgroup_close(NULL);
    cgroup_tree_close(&t);
}

/* A cgroup of our own on this machine, where we may make one. */
static void test_live(void **state)
{
    struct sysroot root;
    struct cgroup *c;
    struct met met = {0};
    char directory[96];
    snprintf(directory, sizeof directory, "/sys/fs/cgroup/memory/toll-test-%d", (int)getpid());
    if (mkdir(directory, 0755) < 0)
        skip();
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    int r = cgroup_open_path(&c, &root, directory, NULL);
    if (r < 0) {
        rmdir(directory); /* a plain directory after all */
        sysroot_close(&root);
        skip();
    }
    struct instance_list list = {0};
    bool gone_before = cgroup_is_gone(c);
    cgroup_collect(c, &list);
    size_t count = list.count;
    unsigned fds = tree_open_fds();
    list.count = 0;
    cgroup_collect(c, &list);
    unsigned fds_after = tree_open_fds();
    int each = cgroup_each_pid(c, meet, &met);
    cgroup_close_files(c);
    unsigned fds_closed = tree_open_fds();
    list.count = 0;
    cgroup_collect(c, &list);
    bool gone_after_closing = cgroup_is_gone(c);
    unsigned fds_again = tree_open_fds();
    uint64_t kills;
    bool has_kills = cgroup_oom_kills_seen(c, &kills);
    assert_int_equal(rmdir(directory), 0);
    bool gone = cgroup_is_gone(c);
    assert_int_equal(mkdir(directory, 0755), 0);
    bool gone_when_made_again = cgroup_is_gone(c);
    assert_int_equal(rmdir(directory), 0);
    assert_true(!gone_before && gone && gone_when_made_again);
    assert_int_equal(count, 1);
    assert_int_equal(fds_after, fds);
    assert_true(fds_closed < fds && fds_again == fds);
    assert_false(gone_after_closing);
    assert_int_equal(cgroup_oom_kills(c, &kills), has_kills); /* what was read last */
    assert_true(each == 0 && met.count == 0);
    assert_value(&list.items[0]->read, cgroup_memory_anon_bytes, 0);
    instance_list_done(&list);
    cgroup_close(c);
    sysroot_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v2),
        cmocka_unit_test(test_v1_beside_an_empty_v2),
        cmocka_unit_test(test_v1_without_oom_kill),
        cmocka_unit_test(test_paths_that_differ),
        cmocka_unit_test(test_each_figure_has_its_own_path),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_same_and_root),
        cmocka_unit_test(test_live),
    };
    return RUN("cgroup", tests);
}
