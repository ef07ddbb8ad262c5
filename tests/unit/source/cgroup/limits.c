/* SPDX-License-Identifier: MIT */
#include "source/cgroup/limits.h"
#include "base/clock.h"
#include "base/util.h"
#include "cgroup_tree.h"
#include "source/cgroup/place.h"
#include "tree.h"
#include "unit.h"

#include <stdio.h>

/* ---- limits read ---------------------------------------------------------------------------- */

static void test_limits_read_of_a_cgroup(void **state)
{
    struct cgroup_tree t;
    struct cgroup *c;
    struct limits l;
    cgroup_tree_v2(&t);
    tree_write(&t.tree, "sys/devices/system/cpu/online", "0-3\n");
    tree_write(&t.tree, "proc/meminfo", "MemTotal:       24682416 kB\n");
    tree_write(&t.tree, "proc/sys/kernel/threads-max", "1000\n");
    tree_write(&t.tree, "proc/1/limits",
               "Max open files            1024                 4096                 files     \n"
               "Max address space         unlimited            unlimited            bytes     \n");
    assert_int_equal(cgroup_open_of(&c, &t.root, 1), 0);
    limits_read(&l, &t.root, 1, c);
    assert_true(l.of[LIMIT_CPUS].known && l.of[LIMIT_CPUS].cores == 0.5);
    assert_string_equal(l.of[LIMIT_CPUS].by, "cpu quota");
    assert_string_equal(l.of[LIMIT_CPUS].cgroup, "/a");
    assert_int_equal(l.of[LIMIT_MEMORY_BYTES].value, 1000000000);
    assert_string_equal(l.of[LIMIT_MEMORY_BYTES].cgroup, "/a");
    assert_true(l.of[LIMIT_SWAP_BYTES].known && l.of[LIMIT_SWAP_BYTES].value == 0);
    assert_int_equal(l.of[LIMIT_TASKS].value, 50);
    assert_int_equal(l.of[LIMIT_OPEN_FILES].value, 1024);
    assert_true(l.of[LIMIT_ADDRESS_BYTES].known && l.of[LIMIT_ADDRESS_BYTES].unlimited);
    assert_false(l.of[LIMIT_CPU_SECONDS].known);
    limits_done(&l);

    cgroup_write(&t, "a", "cpu.max", "max 100000\n", NULL);
    limits_read(&l, &t.root, 1, c);
    assert_true(l.of[LIMIT_CPUS].cores == 2);
    assert_string_equal(l.of[LIMIT_CPUS].by, "cpuset");
    limits_done(&l);
    cgroup_close(c);
    cgroup_tree_close(&t);
}

static void test_limits_read_affinity(void **state)
{
    struct cgroup_tree t;
    struct limits l;
    cgroup_tree_open(&t, "", "");
    tree_write(&t.tree, "proc/stat", "cpu  1 2 3\ncpu0 1\ncpu1 1\ncpu5 1\nintr 5\n");
    tree_write(&t.tree, "proc/1/status", "Name:\tx\nCpus_allowed_list:\t0-127\n");
    limits_read(&l, &t.root, 1, NULL);
    assert_true(l.of[LIMIT_CPUS].cores == 3);
    assert_string_equal(l.of[LIMIT_CPUS].by, "machine");
    limits_done(&l);
    tree_write(&t.tree, "proc/1/status", "Name:\tx\nCpus_allowed_list:\t1-2\n");
    limits_read(&l, &t.root, 1, NULL);
    assert_true(l.of[LIMIT_CPUS].cores == 1);
    assert_string_equal(l.of[LIMIT_CPUS].by, "affinity");
    limits_done(&l);
    cgroup_tree_close(&t);
}

static void test_limits_read_nothing_to_read(void **state)
{
    struct cgroup_tree t;
    struct limits l;
    cgroup_tree_open(&t, "", "");
    limits_read(&l, &t.root, 7, NULL);
    for (unsigned i = 0; i < LIMITS; i++)
        assert_false(l.of[i].known);
    limits_done(&l);
    cgroup_tree_close(&t);
}

static void test_limits_read_live(void **state)
{
    struct sysroot root;
    struct limits l;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    limits_read(&l, &root, 0, NULL);
    assert_true(l.of[LIMIT_CPUS].known && l.of[LIMIT_CPUS].cores >= 1);
    assert_true(l.of[LIMIT_CPUS].cores <= (double)sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(l.of[LIMIT_MEMORY_BYTES].known && l.of[LIMIT_OPEN_FILES].known);
    limits_done(&l);
    sysroot_close(&root);
}

/* ---- pid limits ----------------------------------------------------------------------------- */

/* A text that is cut may know less, never something else. */
static bool same(const struct pid_limits *whole, const struct pid_limits *cut)
{
    for (unsigned i = 0; i < PID_LIMITS; i++)
        if (cut->known >> i & 1 && cut->soft[i] != whole->soft[i])
            return false;
    return true;
}

PARSER_HARNESS(pid_limits, parse_pid_limits, struct pid_limits, same)

static const char good[] =
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max cpu time              60                   unlimited            seconds   \n"
    "Max file size             unlimited            unlimited            bytes     \n"
    "Max data size             unlimited            unlimited            bytes     \n"
    "Max core file size        0                    unlimited            bytes     \n"
    "Max processes             96343                96343                processes \n"
    "Max open files            20000                20000                files     \n"
    "Max locked memory         8388608              8388608              bytes     \n"
    "Max address space         unlimited            unlimited            bytes     \n"
    "Max nice priority         0                    0                    \n";

static void test_pid_limits_good(void **state)
{
    struct pid_limits l;
    assert_int_equal(pid_limits_parse(good, &l), 0);
    assert_int_equal(l.known, (1 << PID_LIMITS) - 1);
    assert_int_equal(l.soft[PID_LIMIT_CPU_SECONDS], 60);
    assert_true(l.soft[PID_LIMIT_FILE_BYTES] == PID_LIMIT_NONE);
    assert_int_equal(l.soft[PID_LIMIT_CORE_BYTES], 0);
    assert_int_equal(l.soft[PID_LIMIT_PROCESSES], 96343);
    assert_int_equal(l.soft[PID_LIMIT_OPEN_FILES], 20000);
    assert_int_equal(l.soft[PID_LIMIT_LOCKED_BYTES], 8388608);
    assert_true(l.soft[PID_LIMIT_ADDRESS_BYTES] == PID_LIMIT_NONE);
    pid_limits_check_cuts(good, -ESRCH);
}

static void test_pid_limits_some_missing(void **state)
{
    struct pid_limits l;
    assert_int_equal(pid_limits_parse("Max open files 5 6 files\n", &l), 0);
    assert_int_equal(l.known, 1 << PID_LIMIT_OPEN_FILES);
    assert_int_equal(l.soft[PID_LIMIT_OPEN_FILES], 5);
}

static void test_pid_limits_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "nonsense\n",
        "Max open files\n",
        "Max open files 5\n",
        "Max open files x y files\n",
        "Max open files -1 5 files\n",
        "Max open files 99999999999999999999 5 files\n",
        "Max open files unlimitedx 5 files\n",
    };
    struct pid_limits l;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(pid_limits_parse(texts[i], &l), -EBADMSG);
}

/* ---- cgroup oom ----------------------------------------------------------------------------- */

static void test_cgroup_oom_version_2_counts_all_below(void **state)
{
    struct cgroup_tree t;
    struct cgroup_oom o;
    struct cgroup_place place = {.directory = (char[]){"sys/fs/cgroup/a/job"}, .v2 = true};
    cgroup_tree_v2(&t);
    cgroup_oom_init(&o);
    assert_false(o.known);
    cgroup_oom_read(&o, &t.root, NULL);
    assert_false(o.known);
    cgroup_oom_read(&o, &t.root, &place);
    assert_true(o.known && o.kills == 4);
    cgroup_oom_done(&o);
    cgroup_tree_close(&t);
}

static void test_cgroup_oom_version_1_is_walked(void **state)
{
    struct cgroup_tree t;
    struct cgroup_oom o;
    struct cgroup_place place = {.directory = (char[]){"sys/fs/cgroup/memory/job"}};
    cgroup_tree_open(&t, "", "");
    cgroup_write(&t, "memory/job", "memory.oom_control", "under_oom 0\noom_kill 2\n", NULL);
    cgroup_write(&t, "memory/job/a", "memory.oom_control", "under_oom 0\noom_kill 3\n", NULL);
    cgroup_write(&t, "memory/job/a/b", "memory.oom_control", "garbage", NULL);
    cgroup_oom_init(&o);
    cgroup_oom_read(&o, &t.root, &place);
    assert_true(o.known && o.kills == 5);
    cgroup_oom_done(&o);
    cgroup_tree_close(&t);
}

static void test_cgroup_oom_what_is_gone_still_counts(void **state)
{
    struct cgroup_tree t;
    struct cgroup_oom o;
    struct cgroup_place place = {.directory = (char[]){"sys/fs/cgroup/memory/job"}};
    cgroup_tree_open(&t, "", "");
    cgroup_write(&t, "memory/job", "memory.oom_control", "oom_kill 7\n", NULL);
    cgroup_oom_init(&o);
    cgroup_oom_read(&o, &t.root, &place);
    cgroup_write(&t, "memory/job", "memory.oom_control", "oom_kill 1\n", NULL);
    cgroup_oom_read(&o, &t.root, &place);
    assert_true(o.kills == 7);
    place.directory = (char[]){"sys/fs/cgroup/memory/gone"};
    cgroup_oom_done(&o);
    cgroup_oom_read(&o, &t.root, &place);
    assert_true(o.known && o.kills == 7);
    cgroup_oom_note(&o, 9);
    assert_true(o.kills == 9);
    cgroup_tree_close(&t);
}

/* ---- kernel log ----------------------------------------------------------------------------- */

static void test_kernel_log_recorded(void **state)
{
    struct tree tree;
    struct sysroot root;
    tree_make(&tree);
    tree_write(&tree, "proc/version", "Linux\n");
    tree_write(&tree, "dev/kmsg", "3,0,5,-;Out of memory: Killed process 5 (x)\n");
    assert_int_equal(sysroot_open(&root, tree.path, NULL), 0);
    assert_int_equal(kernel_log_killed(&root, 5, 0), KERNEL_LOG_UNKNOWN);
    sysroot_close(&root);
    tree_remove(&tree);
}

/* We are alive, so nobody killed us; where the log may not be read, that is not known. */
static void test_kernel_log_live(void **state)
{
    struct sysroot root;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    unsigned fds = tree_open_fds();
    assert_true(kernel_log_killed(&root, getpid(), clock_mono(NULL)) != KERNEL_LOG_YES);
    assert_int_equal(tree_open_fds(), fds);
    sysroot_close(&root);
}

/* ---- kmsg ----------------------------------------------------------------------------------- */

static void test_kmsg_good(void **state)
{
    struct kmsg k;
    assert_int_equal(parse_kmsg(scan_string("3,4531,3674722581,-;Out of memory: Killed process "
                                            "29095 (toll) total-vm:24kB\n SUBSYSTEM=x\n"),
                                &k),
                     0);
    assert_int_equal(k.sequence, 4531);
    assert_int_equal(k.time_us, 3674722581);
    assert_true(kmsg_is_kill_of(k.message, 29095));
    assert_false(kmsg_is_kill_of(k.message, 2909));
    assert_false(kmsg_is_kill_of(k.message, 29096));
    assert_int_equal(parse_kmsg(scan_string("6,1,2,-,caller=T1;plain; text\n"), &k), 0);
    assert_true(*k.message.at == 'p');
    assert_false(kmsg_is_kill_of(k.message, 1));
}

static void test_kmsg_wordings(void **state)
{
    assert_true(kmsg_is_kill_of(
        scan_string("Memory cgroup out of memory: Killed process 47 (job) total-vm:1kB"), 47));
    assert_true(kmsg_is_kill_of(scan_string("Killed process 47 (job) total-vm:1kB"), 47));
    assert_true(kmsg_is_kill_of(scan_string("Killed process 47, UID 1000, (job) total"), 47));
    assert_false(kmsg_is_kill_of(
        scan_string("Memory cgroup out of memory: Kill process 47 (job) score 9"), 47));
    assert_false(kmsg_is_kill_of(scan_string("Killed process 47"), 47));
    assert_false(kmsg_is_kill_of(scan_string("Killed process x (job)"), 47));
    assert_false(kmsg_is_kill_of(scan_string(""), 47));
}

static void test_kmsg_garbage(void **state)
{
    static const char *const texts[] = {
        "",          "\n",          "x,1,2,-;m\n",
        "3,1\n",     "3,1,2\n",     "3,1,2;m\n",
        "3,1,2,-\n", "3,x,2,-;m\n", "3,99999999999999999999,2,-;m\n"};
    struct kmsg k;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        memset(&k, UNTOUCHED, sizeof k);
        assert_int_equal(parse_kmsg(scan_string(texts[i]), &k), -EBADMSG);
        assert_true(is_untouched(&k, sizeof k));
    }
}

/* ---- pid cgroup ----------------------------------------------------------------------------- */

static bool is(struct scan s, const char *text)
{
    return (size_t)(s.end - s.at) == strlen(text) && memcmp(s.at, text, strlen(text)) == 0;
}

static void test_pid_cgroup_good(void **state)
{
    struct scan s = scan_string("12:memory:/system.slice/cron.service\n"
                                "4:cpu,cpuacct:/\n"
                                "1:name=systemd:/a:b c\n"
                                "0::/x (deleted)\n");
    struct pid_cgroup p;
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_int_equal(p.hierarchy, 12);
    assert_true(is(p.controllers, "memory") && is(p.path, "/system.slice/cron.service"));
    assert_false(p.deleted);
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_true(is(p.controllers, "cpu,cpuacct") && is(p.path, "/"));
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_true(is(p.controllers, "name=systemd") && is(p.path, "/a:b c"));
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_int_equal(p.hierarchy, 0);
    assert_true(is(p.controllers, "") && is(p.path, "/x") && p.deleted);
    assert_int_equal(parse_pid_cgroup(&s, &p), 0);
}

static void test_pid_cgroup_cut_short(void **state)
{
    struct pid_cgroup p;
    struct scan s = scan_string("0::/job\n4:memory:/jo");
    assert_int_equal(parse_pid_cgroup(&s, &p), 1);
    assert_int_equal(parse_pid_cgroup(&s, &p), 0);
    s = scan_string("");
    assert_int_equal(parse_pid_cgroup(&s, &p), 0);
}

static void test_pid_cgroup_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",     "0\n",     "0:/x\n",        "0::\n", "0::x\n",
        "x::/\n", "-1::/\n", "1x:memory:/\n", ":::\n", "99999999999999999999::/\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char text[128];
        snprintf(text, sizeof text, "%s0::/\n", texts[i]);
        struct scan s = scan_string(text);
        struct pid_cgroup p;
        memset(&p, UNTOUCHED, sizeof p);
        assert_int_equal(parse_pid_cgroup(&s, &p), -EBADMSG);
        assert_true(is_untouched(&p, sizeof p));
        assert_int_equal(parse_pid_cgroup(&s, &p), 1); /* one can go on */
    }
}

/* ---- cgroup mounts -------------------------------------------------------------------------- */

static void test_cgroup_mounts_read(void **state)
{
    struct cgroup_tree t;
    struct cgroup_mounts m;
    cgroup_tree_open(&t, "garbage\n" V2_MOUNT "9 8 0:9 /a\\040b /x rw - cgroup c rw,cpu\n", "");
    assert_int_equal(cgroup_mounts_read(&m, &t.root), 0);
    assert_int_equal(m.count, 2);
    assert_true(m.list[0].v2 && !m.list[1].v2);
    assert_string_equal(m.list[1].root, "/a b");
    assert_string_equal(m.list[1].options, "rw,cpu");
    cgroup_mounts_done(&m);
    tree_unlink(&t.tree, "proc/self/mountinfo");
    assert_int_equal(cgroup_mounts_read(&m, &t.root), -ENOENT);
    cgroup_tree_close(&t);
}

/* Other filesystems, lines that are cut, and paths that are none. */
static void test_cgroup_mounts_passed_over(void **state)
{
    struct cgroup_tree t;
    struct cgroup_mounts m;
    cgroup_tree_open(&t,
                     "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
                     "25 18 0:23 / /dev/shm rw - cgroupish none rw\n"
                     "31 23 0:28 / /x rw - cgroup\n"
                     "31 23 0:28 / /x rw - cgroup cgroup\n"
                     "31 23 0:28 x /x rw - cgroup cgroup rw\n"
                     "31 23 0:28 / x rw - cgroup cgroup rw\n"
                     "31 23 0:28 /\\000 /x rw - cgroup cgroup rw\n"
                     "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 master:1 - cgroup cgroup "
                     "rw,cpu,cpuacct\n"
                     "31 23 0:28 / /x rw - cgroup cgroup rw,cp",
                     "");
    assert_int_equal(cgroup_mounts_read(&m, &t.root), 0);
    assert_int_equal(m.count, 1);
    assert_string_equal(m.list[0].point, "/sys/fs/cgroup/cpu,cpuacct");
    assert_string_equal(m.list[0].options, "rw,cpu,cpuacct");
    cgroup_mounts_done(&m);
    cgroup_tree_close(&t);
}

static void test_cgroup_mounts_below(void **state)
{
    assert_string_equal(cgroup_path_below("/a/x", "/a"), "/x");
    assert_string_equal(cgroup_path_below("/a", "/a"), "");
    assert_string_equal(cgroup_path_below("/a", "/"), "/a");
    assert_string_equal(cgroup_path_below("/", "/"), "");
    assert_null(cgroup_path_below("/ab", "/a"));
    assert_null(cgroup_path_below("/", "/a"));
}

/* ---- cgroup place --------------------------------------------------------------------------- */

static void test_cgroup_place_container(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_open(&t, "24 18 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
                     "0::/docker/abc\n");
    cgroup_write(&t, ".", "cgroup.procs", "1\n", "cgroup.events", "populated 1\n", NULL);
    cgroup_write(&t, "in", "cgroup.procs", "2\n", "cgroup.events", "populated 1\n", NULL);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 1), 0);
    const struct cgroup_place *main = cgroup_place_main(&p);
    assert_string_equal(main->path, "/docker/abc");
    assert_string_equal(main->directory, "sys/fs/cgroup");
    assert_false(main->is_root || main->sees_root);
    assert_ptr_equal(cgroup_place_for(&p, CGROUP_MEMORY), &p.at[CGROUP_UNIFIED]);
    cgroup_places_done(&p);
    /* As the kernel has it, as it is seen in the container, and as a directory. */
    static const char *const names[] = {"/docker/abc/in", "/in", "in/", "/sys/fs/cgroup/in"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(cgroup_places_of_path(&p, &t.root, names[i], NULL), 0);
        assert_string_equal(cgroup_place_main(&p)->directory, "sys/fs/cgroup/in");
        assert_string_equal(cgroup_place_main(&p)->path, "/docker/abc/in");
        cgroup_places_done(&p);
    }
    cgroup_tree_close(&t);
}

/* In a namespace of its own a container is at "/", and not at the root of the machine. */
static void test_cgroup_place_namespace(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_open(&t, V2_MOUNT, "0::/\n");
    cgroup_write(&t, ".", "cgroup.procs", "1\n", "cgroup.events", "populated 1\n", NULL);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 1), 0);
    assert_false(cgroup_place_main(&p)->is_root);
    cgroup_places_done(&p);
    cgroup_tree_close(&t);
}

static void check_none(const char *mounts, const char *cgroup)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_open(&t, mounts, cgroup);
    cgroup_write(&t, ".", "cgroup.procs", "1\n", NULL);
    cgroup_write(&t, "x", "no_cgroup", "", NULL);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 1), -ENOENT);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 2), -ENOENT);
    cgroup_tree_close(&t);
}

static void test_cgroup_place_not_to_be_had(void **state)
{
    check_none(V2_MOUNT, "0::/../x\n");
    check_none(V2_MOUNT, "0::/gone (deleted)\n");
    check_none(V2_MOUNT, "0::/missing\n");
    check_none(V2_MOUNT, "0::/x\n");
    check_none(V2_MOUNT, "4:memory:/\n");
    check_none(V2_MOUNT, "garbage\n");
    check_none(V2_MOUNT, "");
    check_none("", "0::/\n");
    check_none("garbage\n", "0::/\n");
    check_none("24 18 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 c rw\n", "0::/docker/abcd\n");
}

static void test_cgroup_place_v1(void **state)
{
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_v1(&t);
    assert_int_equal(cgroup_places_of_pid(&p, &t.root, 1), 0);
    assert_string_equal(p.at[CGROUP_MEMORY].directory, "sys/fs/cgroup/memory/job");
    assert_true(p.at[CGROUP_CPUACCT].is_root && p.at[CGROUP_UNIFIED].is_root);
    assert_null(cgroup_place_for(&p, CGROUP_CPUACCT));
    assert_string_equal(cgroup_place_deepest(&p)->directory, "sys/fs/cgroup/memory/job");
    cgroup_places_done(&p);
    /* Named by one directory, it is found in all hierarchies. */
    assert_int_equal(cgroup_places_of_path(&p, &t.root, "/sys/fs/cgroup/cpu/job", NULL), 0);
    assert_string_equal(p.at[CGROUP_MEMORY].directory, "sys/fs/cgroup/memory/job");
    assert_string_equal(p.at[CGROUP_PIDS].directory, "sys/fs/cgroup/pids/job");
    assert_null(p.at[CGROUP_CPUACCT].directory);
    cgroup_places_done(&p);
    cgroup_tree_close(&t);
}

static void test_cgroup_place_sentences(void **state)
{
    static const struct {
        const char *path;
        int code;
        const char *words;
    } cases[] = {
        {"/nope", -ENOENT, "cgroup: no cgroup '/nope'"},
        {"/proc/self", -EINVAL, "cgroup: '/proc/self' is not a cgroup"},
        {"", -EINVAL, "cgroup: invalid path ''"},
        {"/a/../b", -EINVAL, "has no '..'"},
    };
    struct cgroup_tree t;
    struct cgroup_places p;
    cgroup_tree_v2(&t);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct toll_error e = {0};
        assert_int_equal(cgroup_places_of_path(&p, &t.root, cases[i].path, &e), cases[i].code);
        assert_non_null(strstr(e.message, cases[i].words));
    }
    tree_write(&t.tree, "proc/self/mountinfo", "");
    struct toll_error e = {0};
    assert_int_equal(cgroup_places_of_path(&p, &t.root, "/a", &e), -ENOENT);
    assert_non_null(strstr(e.message, "no cgroup hierarchy is mounted"));
    cgroup_tree_close(&t);
}

/* ---- cgroup walk ---------------------------------------------------------------------------- */

static void count(void *arg, int dir)
{
    *(unsigned *)arg += faccessat(dir, "cgroup.procs", F_OK, 0) == 0;
}

static void test_cgroup_walk_all_below(void **state)
{
    struct cgroup_tree t;
    unsigned met = 0;
    cgroup_tree_v2(&t);
    unsigned fds = tree_open_fds();
    assert_int_equal(cgroup_walk(&t.root, "sys/fs/cgroup", count, &met), 0);
    assert_int_equal(met, 4);
    assert_int_equal(tree_open_fds(), fds);
    met = 0;
    assert_int_equal(cgroup_walk(&t.root, "sys/fs/cgroup/a/job/below", count, &met), 0);
    assert_int_equal(met, 1);
    assert_int_equal(cgroup_walk(&t.root, "sys/fs/cgroup/none", count, &met), -ENOENT);
    cgroup_tree_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_read_of_a_cgroup),
        cmocka_unit_test(test_limits_read_affinity),
        cmocka_unit_test(test_limits_read_nothing_to_read),
        cmocka_unit_test(test_limits_read_live),
        cmocka_unit_test(test_pid_limits_good),
        cmocka_unit_test(test_pid_limits_some_missing),
        cmocka_unit_test(test_pid_limits_garbage),
        cmocka_unit_test(test_cgroup_oom_version_2_counts_all_below),
        cmocka_unit_test(test_cgroup_oom_version_1_is_walked),
        cmocka_unit_test(test_cgroup_oom_what_is_gone_still_counts),
        cmocka_unit_test(test_kernel_log_recorded),
        cmocka_unit_test(test_kernel_log_live),
        cmocka_unit_test(test_kmsg_good),
        cmocka_unit_test(test_kmsg_wordings),
        cmocka_unit_test(test_kmsg_garbage),
        cmocka_unit_test(test_pid_cgroup_good),
        cmocka_unit_test(test_pid_cgroup_cut_short),
        cmocka_unit_test(test_pid_cgroup_garbage),
        cmocka_unit_test(test_cgroup_mounts_read),
        cmocka_unit_test(test_cgroup_mounts_passed_over),
        cmocka_unit_test(test_cgroup_mounts_below),
        cmocka_unit_test(test_cgroup_place_container),
        cmocka_unit_test(test_cgroup_place_namespace),
        cmocka_unit_test(test_cgroup_place_not_to_be_had),
        cmocka_unit_test(test_cgroup_place_v1),
        cmocka_unit_test(test_cgroup_place_sentences),
        cmocka_unit_test(test_cgroup_walk_all_below),
    };
    return RUN("source/cgroup/limits", tests);
}
