/* SPDX-License-Identifier: MIT */
#include "source/cgroup/cgroup.h"
#include "base/util.h"
#include "cgroup_tree.h"
#include "unit.h"

#include <unistd.h>

/* ---- cgroup --------------------------------------------------------------------------------- */

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

static void test_cgroup_v2(void **state)
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

static void test_cgroup_v1_beside_an_empty_v2(void **state)
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

static void test_cgroup_v1_without_oom_kill(void **state)
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

static void test_cgroup_paths_that_differ(void **state)
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
static void test_cgroup_each_figure_has_its_own_path(void **state)
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

static void test_cgroup_processes(void **state)
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

static void test_cgroup_same_and_root(void **state)
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
static void test_cgroup_live(void **state)
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

/* ---- cgroup file ---------------------------------------------------------------------------- */

static void cgroup_file_check(bool live)
{
    struct cgroup_tree t;
    struct cgroup_file f = CGROUP_FILE_CLOSED, missing = CGROUP_FILE_CLOSED;
    char text[16];
    cgroup_tree_open(&t, "", "");
    t.root.live = live;
    cgroup_write(&t, "job", "value", "1\n", NULL);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            cgroup_file_read(&f, &t.root, "sys/fs/cgroup/job", "value", text, sizeof text), 2);
        assert_int_equal(f.fd >= 0, live);
        assert_int_equal(
            cgroup_file_read(&missing, &t.root, "sys/fs/cgroup/job", "none", text, sizeof text),
            -ENOENT);
        assert_int_equal(missing.refused, live ? -ENOENT : 0);
    }
    cgroup_file_close(&f);
    assert_int_equal(f.fd, -1);
    cgroup_tree_close(&t);
}

static void test_cgroup_file_kept_on_the_running_machine(void **state)
{
    cgroup_file_check(true);
}

static void test_cgroup_file_not_kept_in_a_recorded_tree(void **state)
{
    cgroup_file_check(false);
}

/* ---- cgroup value --------------------------------------------------------------------------- */

static bool same(const struct cgroup_value *a, const struct cgroup_value *b)
{
    return a->unlimited == b->unlimited && a->value == b->value;
}

PARSER_HARNESS(cgroup_value, parse_cgroup_value, struct cgroup_value, same)

static void cgroup_value_check(const char *text, bool unlimited, uint64_t value)
{
    struct cgroup_value v;
    assert_int_equal(cgroup_value_parse(text, &v), 0);
    assert_int_equal(v.unlimited, unlimited);
    assert_int_equal(v.value, value);
    cgroup_value_check_cuts(text, -EBADMSG);
}

static void test_cgroup_value_good(void **state)
{
    cgroup_value_check("1073741824\n", false, 1073741824);
    cgroup_value_check("0\n", false, 0);
    cgroup_value_check("max\n", true, 0);
    cgroup_value_check("-1\n", true, 0);
    cgroup_value_check("9223372036854771712\n", true, 0);  /* pages of 4 KiB */
    cgroup_value_check("9223372036854710272\n", true, 0);  /* pages of 64 KiB */
    cgroup_value_check("18446744073709551615\n", true, 0); /* before Linux 4.0 */
    cgroup_value_check("4611686018427387904\n", false, UINT64_C(1) << 62);
}

static void test_cgroup_value_garbage(void **state)
{
    static const char *const texts[] = {"\n",    "maximum\n", "-2\n",   "-12\n",
                                        " 1\n",  "1 2\n",     "1\n2\n", "99999999999999999999\n",
                                        "0x10\n"};
    struct cgroup_value v;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(cgroup_value_parse(texts[i], &v), -EBADMSG);
}

static void test_cgroup_value_cpu_max(void **state)
{
    struct cgroup_cpu_max m;
    assert_int_equal(parse_cgroup_cpu_max(scan_string("max 100000\n"), &m), 0);
    assert_true(m.unlimited && m.quota_us == 0 && m.period_us == 100000);
    assert_int_equal(parse_cgroup_cpu_max(scan_string("50000 100000\n"), &m), 0);
    assert_true(!m.unlimited && m.quota_us == 50000 && m.period_us == 100000);
    static const char *const texts[] = {"",        "max",     "max\n",      "50000\n", "50000 0\n",
                                        "1 max\n", "1 2 3\n", "50000 1000", "x 1\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        memset(&m, UNTOUCHED, sizeof m);
        assert_int_equal(parse_cgroup_cpu_max(scan_string(texts[i]), &m), -EBADMSG);
        assert_true(is_untouched(&m, sizeof m));
    }
}

/* ---- cgroup figures ------------------------------------------------------------------------- */

static void read_row(struct cgroup_tree *t, struct row *row)
{
    struct cgroup_places p;
    struct cgroup_figures f;
    assert_int_equal(cgroup_places_of_pid(&p, &t->root, 1), 0);
    cgroup_figures_init(&f, &t->root);
    row_init(row, ENTITY_CGROUP);
    cgroup_figures_read(&f, &t->root, &p, false, row);
    cgroup_figures_close_files(&f);
    cgroup_places_done(&p);
}

static void test_cgroup_figures_kernel_memory_of_old_kernels(void **state)
{
    struct cgroup_tree t;
    struct row row;
    cgroup_tree_open(&t, V2_MOUNT, "0::/job\n");
    cgroup_write(&t, "job", "cgroup.procs", "", "cgroup.events", "", "memory.stat",
                 "anon 1\nkernel_stack 2\npagetables 3\npercpu 4\nslab 5\n", NULL);
    read_row(&t, &row);
    assert_value(&row, cgroup_memory_kernel_bytes, 14);
    cgroup_write(&t, "job", "memory.stat", "anon 1\nkernel_stack 2\nslab 5\n", NULL);
    read_row(&t, &row);
    assert_unknown(&row, cgroup_memory_kernel_bytes); /* a sum that leaves something out */
    assert_value(&row, cgroup_memory_anon_bytes, 1);
    cgroup_tree_close(&t);
}

/* Version 2 has cpu.stat without any controller. */
static void test_cgroup_figures_no_controllers(void **state)
{
    struct cgroup_tree t;
    struct row row;
    cgroup_tree_open(&t, V2_MOUNT, "0::/job\n");
    cgroup_write(&t, "job", "cgroup.procs", "", "cgroup.events", "", "cpu.stat",
                 "usage_usec 7\nuser_usec 5\nsystem_usec 2\n", NULL);
    read_row(&t, &row);
    assert_value(&row, cgroup_cpu_seconds, 7000);
    assert_unknown(&row, cgroup_cpu_periods_count);
    assert_unknown(&row, cgroup_memory_bytes);
    assert_unknown(&row, cgroup_tasks_count);
    cgroup_tree_close(&t);
}

static void test_cgroup_figures_garbage(void **state)
{
    struct cgroup_tree t;
    struct row row;
    cgroup_tree_open(&t, V2_MOUNT, "0::/job\n");
    cgroup_write(&t, "job", "cgroup.procs", "", "cgroup.events", "", "cpu.stat",
                 "usage_usec x\nuser_usec 5\n", "memory.current", "max\n", "memory.peak", "",
                 "memory.stat", "anon -5\n", "cpu.pressure", "some\n", "pids.events",
                 "max 99999999999999999999\n", NULL);
    read_row(&t, &row);
    assert_true(row.present == 0);
    cgroup_write(&t, "job", "cpu.stat", "usage_usec 18446744073709551615\n", NULL);
    read_row(&t, &row);
    assert_true(row.present == 0); /* more nanoseconds than fit */
    cgroup_tree_close(&t);
}

static void test_cgroup_figures_v1_split_of_cpu_time(void **state)
{
    struct cgroup_tree t;
    struct row row;
    cgroup_tree_open(&t, V1_MOUNTS, "2:cpuacct:/job\n");
    cgroup_write(&t, "cpuacct/job", "cgroup.procs", "", "cpuacct.usage", "90\n",
                 "cpuacct.usage_user", "60\n", "cpuacct.stat", "user 2\nsystem 1\n", NULL);
    read_row(&t, &row);
    assert_value(&row, cgroup_cpu_seconds, 90);
    /* usage_user is counted in ticks, too, and not made to fit the sum. */
    assert_value(&row, cgroup_cpu_user_seconds, 20000000);
    assert_value(&row, cgroup_cpu_system_seconds, 10000000);
    cgroup_tree_close(&t);
}

/* ---- cgroup limits -------------------------------------------------------------------------- */

static struct cgroup_limit limits[CGROUP_LIMIT_KINDS];

/* Reads into `limits`; the paths in it live until the tree's places are done. */
static void read_limits(struct cgroup_tree *t, struct cgroup_places *p, struct cgroup_limits *l)
{
    assert_int_equal(cgroup_places_of_pid(p, &t->root, 1), 0);
    assert_int_equal(cgroup_limits_init(l, p), 0);
    cgroup_limits_read(l, &t->root, limits);
}

static void cgroup_limits_end(struct cgroup_tree *t, struct cgroup_places *p,
                              struct cgroup_limits *l)
{
    cgroup_limits_done(l);
    cgroup_places_done(p);
    cgroup_tree_close(t);
}

static void test_cgroup_limits_the_tightest_counts(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    struct cgroup_limits l;
    cgroup_tree_v2(&t);
    read_limits(&t, &p, &l);
    assert_true(limits[CGROUP_LIMIT_MEMORY].known);
    assert_int_equal(limits[CGROUP_LIMIT_MEMORY].value, 1000000000);
    assert_string_equal(limits[CGROUP_LIMIT_MEMORY].path, "/a");
    assert_true(limits[CGROUP_LIMIT_CORES].cores == 0.5);
    assert_string_equal(limits[CGROUP_LIMIT_CORES].path, "/a");
    assert_int_equal(limits[CGROUP_LIMIT_TASKS].value, 50);
    assert_true(limits[CGROUP_LIMIT_SWAP].known && limits[CGROUP_LIMIT_SWAP].value == 0);
    assert_string_equal(limits[CGROUP_LIMIT_SWAP].path, "/a/job");
    cgroup_limits_end(&t, &p, &l);
}

static void test_cgroup_limits_no_limits(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    struct cgroup_limits l;
    cgroup_tree_open(&t, V2_MOUNT, "0::/job\n");
    cgroup_write(&t, ".", "cgroup.procs", "900\n", "cpu.stat", "usage_usec 99\n", NULL);
    cgroup_write(&t, "job", "cgroup.procs", "", "cgroup.events", "", "memory.max", "max\n",
                 "cpu.max", "max 100000\n", "pids.max", "max\n", "memory.swap.max", "garbage",
                 NULL);
    read_limits(&t, &p, &l);
    for (unsigned i = 0; i < CGROUP_LIMIT_KINDS; i++) {
        assert_false(limits[i].known);
        assert_int_equal(limits[i].unlimited, i != CGROUP_LIMIT_SWAP); /* could not be read */
    }
    cgroup_limits_end(&t, &p, &l);
}

/* The limit of a container is set at what it sees as the top, or above. */
static void test_cgroup_limits_v1_container(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    struct cgroup_limits l;
    cgroup_tree_open(&t, "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup c rw,memory\n",
                     "4:memory:/docker/abc/in\n");
    cgroup_write(&t, "memory", "cgroup.procs", "", "memory.limit_in_bytes", "500\n", NULL);
    cgroup_write(&t, "memory/in", "cgroup.procs", "", "memory.limit_in_bytes",
                 "9223372036854771712\n", "memory.stat", "hierarchical_memory_limit 500\n", NULL);
    read_limits(&t, &p, &l);
    assert_int_equal(limits[CGROUP_LIMIT_MEMORY].value, 500);
    assert_string_equal(limits[CGROUP_LIMIT_MEMORY].path, "/docker/abc");
    cgroup_write(&t, "memory/in", "memory.stat", "hierarchical_memory_limit 400\n", NULL);
    cgroup_limits_read(&l, &t.root, limits);
    assert_int_equal(limits[CGROUP_LIMIT_MEMORY].value, 400);
    assert_null(limits[CGROUP_LIMIT_MEMORY].path);
    assert_false(limits[CGROUP_LIMIT_MEMORY].unlimited);
    /* Only the file that speaks for ancestors which are not seen can say that there is none. */
    cgroup_write(&t, "memory", "memory.limit_in_bytes", "9223372036854771712\n", NULL);
    cgroup_write(&t, "memory/in", "memory.stat", "hierarchical_memory_limit 9223372036854771712\n",
                 NULL);
    cgroup_limits_read(&l, &t.root, limits);
    assert_true(!limits[CGROUP_LIMIT_MEMORY].known && limits[CGROUP_LIMIT_MEMORY].unlimited);
    cgroup_write(&t, "memory/in", "memory.stat", "total_rss 0\n", NULL);
    cgroup_limits_read(&l, &t.root, limits);
    assert_true(!limits[CGROUP_LIMIT_MEMORY].known && !limits[CGROUP_LIMIT_MEMORY].unlimited);
    cgroup_limits_end(&t, &p, &l);
}

/* ---- cgroup disks --------------------------------------------------------------------------- */

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

static void cgroup_disks_end(struct disks_test *d)
{
    instance_list_done(&d->list);
    cgroup_disks_done(&d->disks);
    cgroup_places_done(&d->places);
    cgroup_tree_close(&d->t);
}

static void test_cgroup_disks_v2(void **state)
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
    cgroup_disks_end(&d);
}

static void test_cgroup_disks_v2_without_any_io(void **state)
{
    struct disks_test d;
    cgroup_tree_v2(&d.t);
    cgroup_write(&d.t, "a/job", "io.stat", "", NULL);
    begin(&d);
    collect(&d);
    assert_int_equal(d.list.count, 0);
    assert_value(&d.row, cgroup_storage_read_bytes, 0); /* the kernel counts, and there was none */
    cgroup_disks_end(&d);
}

static void test_cgroup_disks_v1(void **state)
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
    cgroup_disks_end(&d);
}

/* ---- cgroup io ------------------------------------------------------------------------------ */

static void test_cgroup_io_version_2(void **state)
{
    struct scan s = scan_string(
        "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n"
        "8:0 \n"
        "\n"
        "7:1 7:0 254:0 rbytes=4096 wbytes=1 rios=2 wios=3 cost.usage=11\n"
        "9:9 rbytes=1");
    struct cgroup_io io;
    assert_int_equal(parse_cgroup_io(&s, &io), 1);
    assert_true(io.has_values && io.major == 8 && io.minor == 16);
    assert_int_equal(io.read_bytes, 1459200);
    assert_int_equal(io.written_bytes, 314773504);
    assert_int_equal(io.reads, 192);
    assert_int_equal(io.writes, 353);
    assert_int_equal(parse_cgroup_io(&s, &io), 1);
    assert_true(!io.has_values && io.major == 8 && io.minor == 0);
    assert_int_equal(parse_cgroup_io(&s, &io), 1);
    assert_true(io.has_values && io.major == 254 && io.minor == 0 && io.writes == 3);
    assert_int_equal(parse_cgroup_io(&s, &io), 0); /* the last line was cut */
}

static void test_cgroup_io_version_2_garbage(void **state)
{
    static const char *const texts[] = {
        "x\n",
        "8\n",
        "8:\n",
        "8: 0\n",
        "8:0x\n",
        "8:0 rbytes=1\n",
        "8:0 rbytes=x wbytes=1 rios=1 wios=1\n",
        "8:0 rbytes= wbytes=1 rios=1 wios=1\n",
        "8:0 rbytes=1x wbytes=1 rios=1 wios=1\n",
        "8:0 rbytes=99999999999999999999 wbytes=1 rios=1 wios=1\n",
        "99999999999:0 rbytes=1 wbytes=1 rios=1 wios=1\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct scan s = scan_string(texts[i]);
        struct cgroup_io io;
        memset(&io, UNTOUCHED, sizeof io);
        assert_int_equal(parse_cgroup_io(&s, &io), -EBADMSG);
        assert_true(is_untouched(&io, sizeof io));
    }
}

static void test_cgroup_io_version_1(void **state)
{
    struct scan s = scan_string("8:0 Read 1459200\n8:0 Write 77\n8:0 Sync 0\n8:0 Async 5\n"
                                "8:0 Discard 0\n8:0 Total 1459277\n8:16 Read 1\nTotal 1459278\n"
                                "8:16 Write 1");
    struct cgroup_blkio b;
    assert_int_equal(parse_cgroup_blkio(&s, &b), 1);
    assert_true(b.major == 8 && b.minor == 0 && !b.is_write && b.value == 1459200);
    assert_int_equal(parse_cgroup_blkio(&s, &b), 1);
    assert_true(b.is_write && b.value == 77);
    assert_int_equal(parse_cgroup_blkio(&s, &b), 1);
    assert_true(b.minor == 16 && b.value == 1);
    assert_int_equal(parse_cgroup_blkio(&s, &b), 0);
}

static void test_cgroup_io_version_1_garbage(void **state)
{
    static const char *const texts[] = {"Read 5\n", "8:0 Read \n", "8:0 Read x\n",
                                        "8:0 Write 99999999999999999999\n", "8:0 Read 1 2\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct scan s = scan_string(texts[i]);
        struct cgroup_blkio b;
        assert_int_equal(parse_cgroup_blkio(&s, &b), -EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cgroup_v2),
        cmocka_unit_test(test_cgroup_v1_beside_an_empty_v2),
        cmocka_unit_test(test_cgroup_v1_without_oom_kill),
        cmocka_unit_test(test_cgroup_paths_that_differ),
        cmocka_unit_test(test_cgroup_each_figure_has_its_own_path),
        cmocka_unit_test(test_cgroup_processes),
        cmocka_unit_test(test_cgroup_same_and_root),
        cmocka_unit_test(test_cgroup_live),
        cmocka_unit_test(test_cgroup_file_kept_on_the_running_machine),
        cmocka_unit_test(test_cgroup_file_not_kept_in_a_recorded_tree),
        cmocka_unit_test(test_cgroup_value_good),
        cmocka_unit_test(test_cgroup_value_garbage),
        cmocka_unit_test(test_cgroup_value_cpu_max),
        cmocka_unit_test(test_cgroup_figures_kernel_memory_of_old_kernels),
        cmocka_unit_test(test_cgroup_figures_no_controllers),
        cmocka_unit_test(test_cgroup_figures_garbage),
        cmocka_unit_test(test_cgroup_figures_v1_split_of_cpu_time),
        cmocka_unit_test(test_cgroup_limits_the_tightest_counts),
        cmocka_unit_test(test_cgroup_limits_no_limits),
        cmocka_unit_test(test_cgroup_limits_v1_container),
        cmocka_unit_test(test_cgroup_disks_v2),
        cmocka_unit_test(test_cgroup_disks_v2_without_any_io),
        cmocka_unit_test(test_cgroup_disks_v1),
        cmocka_unit_test(test_cgroup_io_version_2),
        cmocka_unit_test(test_cgroup_io_version_2_garbage),
        cmocka_unit_test(test_cgroup_io_version_1),
        cmocka_unit_test(test_cgroup_io_version_1_garbage),
    };
    return RUN("source/cgroup/cgroup", tests);
}
