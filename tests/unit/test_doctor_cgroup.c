/* SPDX-License-Identifier: MIT */
#include "doctor_tree.h"

#define SCOPE    "systemd-run --user --scope -p Delegate=yes toll run …"
#define MOUNT_V2 "mount -t cgroup2 none /sys/fs/cgroup"
#define UNIFIED  "31 1 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"
#define HIERARCHY(name)                                                                            \
    "32 1 0:29 / /sys/fs/cgroup/" name " rw,relatime - cgroup cgroup rw," name "\n"
#define JOB "sys/fs/cgroup/a/job/"

static void make_v2(struct patient *p, const char *status)
{
    patient_make(p, "6.1.0\n", status);
    tree_write(&p->tree, "proc/self/mountinfo", UNIFIED);
    tree_write(&p->tree, "proc/self/cgroup", "0::/a/job\n");
    tree_write(&p->tree, JOB "cgroup.procs", "");
    tree_write(&p->tree, JOB "cpu.stat", "usage_usec 10\nuser_usec 6\nsystem_usec 4\n");
}

static void test_v2(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_USER);
    assert_not_ok(&p, doctor_cgroup, TOLL_CHECK_PARTLY,
                  "echo \"+memory +pids\" >/sys/fs/cgroup/a/cgroup.subtree_control");
    tree_write(&p.tree, "run/systemd/system/x", "");
    assert_not_ok(&p, doctor_cgroup, TOLL_CHECK_PARTLY, SCOPE);
    tree_write(&p.tree, JOB "memory.current", "4096\n");
    tree_write(&p.tree, JOB "pids.current", "3\n");
    assert_ok(&p, doctor_cgroup, "/a/job");
    assert_string_equal(p.finding.means.data, "version 2");
    patient_remove(&p);
}

static void test_root(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_USER);
    tree_write(&p.tree, "proc/self/cgroup", "0::/\n");
    tree_write(&p.tree, "sys/fs/cgroup/cgroup.procs", "");
    assert_not_ok(&p, doctor_cgroup, TOLL_CHECK_MISSING,
                  "mkdir /sys/fs/cgroup/job && echo $$ >/sys/fs/cgroup/job/cgroup.procs");
    patient_remove(&p);
}

/* In a container that sees its own cgroup as the first: the parent is out of sight. */
static void test_container(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_ROOT);
    tree_write(&p.tree, "proc/self/cgroup", "0::/\n");
    tree_write(&p.tree, "sys/fs/cgroup/cgroup.procs", "");
    tree_write(&p.tree, "sys/fs/cgroup/cgroup.events", "populated 1\n");
    tree_write(&p.tree, "sys/fs/cgroup/cpu.stat", "usage_usec 10\nuser_usec 6\nsystem_usec 4\n");
    tree_write(&p.tree, "sys/fs/cgroup/memory.current", "4096\n");
    assert_not_ok(&p, doctor_cgroup, TOLL_CHECK_PARTLY,
                  "\"+pids\" in cgroup.subtree_control of the parent, on the host");
    tree_write(&p.tree, "proc/self/cgroup", "0::/../../host\n");
    assert_not_ok(&p, doctor_cgroup, TOLL_CHECK_MISSING,
                  "a cgroup namespace (docker run --cgroupns=private)");
    patient_remove(&p);
}

static void test_v1(void **state)
{
    struct patient p;
    patient_make(&p, "4.4.0\n", STATUS_OF_USER);
    tree_write(&p.tree, "proc/self/mountinfo",
               HIERARCHY("memory") HIERARCHY("cpuacct") HIERARCHY("pids"));
    tree_write(&p.tree, "proc/self/cgroup", "3:memory:/job\n2:cpuacct:/\n1:pids:/\n");
    static const char *const files[] = {"memory/release_agent",  "memory/job/cgroup.procs",
                                        "cpuacct/release_agent", "cpuacct/cgroup.procs",
                                        "pids/release_agent",    "pids/cgroup.procs"};
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[128];
        snprintf(path, sizeof path, "sys/fs/cgroup/%s", files[i]);
        tree_write(&p.tree, path, "");
    }
    tree_write(&p.tree, "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4096\n");
    tree_write(&p.tree, "sys/fs/cgroup/cpuacct/cpuacct.usage", "4096\n");
    assert_not_ok(&p, doctor_cgroup, TOLL_CHECK_PARTLY,
                  "mkdir /sys/fs/cgroup/{cpuacct,pids}/job && echo $$ | tee "
                  "/sys/fs/cgroup/{cpuacct,pids}/job/cgroup.procs");
    assert_string_equal(p.finding.detail.data, "no figures of CPU, tasks");
    assert_string_equal(p.finding.means.data, "version 1");
    patient_remove(&p);
}

static void test_none(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, doctor_cgroup, TOLL_CHECK_MISSING, MOUNT_V2);
    assert_not_ok(&p, doctor_own_cgroup, TOLL_CHECK_MISSING, MOUNT_V2);
    assert_not_ok(&p, doctor_oom, TOLL_CHECK_MISSING, "a cgroup with the memory controller");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "4.9.0\n");
    assert_not_ok(&p, doctor_oom, TOLL_CHECK_MISSING, "Linux 4.13 or later");
    patient_remove(&p);
}

static void test_own_cgroup(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_ROOT);
    assert_ok(&p, doctor_own_cgroup, "");
    tree_write(&p.tree, "proc/self/status", STATUS_OF_USER);
    assert_not_ok(&p, doctor_own_cgroup, TOLL_CHECK_MISSING,
                  "cd /sys/fs/cgroup/a/job && chown 1000 . cgroup.procs cgroup.subtree_control");
    tree_write(&p.tree, "run/systemd/system/x", "");
    assert_not_ok(&p, doctor_own_cgroup, TOLL_CHECK_MISSING, SCOPE);
    patient_remove(&p);
}

static void test_limits(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_USER);
    assert_not_ok(&p, doctor_limits, TOLL_CHECK_PARTLY, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/stat", "cpu 1 1 1\ncpu0 1 1 1\ncpu1 1 1 1\nintr 1\n");
    tree_write(&p.tree, "proc/meminfo", "MemTotal:       2097152 kB\nMemFree: 1 kB\n");
    assert_ok(&p, doctor_limits, "2 CPUs, 2.00 GiB");
    tree_write(&p.tree, JOB "cpu.max", "50000 100000\n");
    tree_write(&p.tree, JOB "memory.max", "1073741824\n");
    assert_ok(&p, doctor_limits, "0.5 CPUs (cpu quota), 1.00 GiB (memory limit)");
    patient_remove(&p);
}

static void test_oom(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_USER);
    tree_write(&p.tree, JOB "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
    assert_ok(&p, doctor_oom, "");
    assert_string_equal(p.finding.means.data, "counter of the cgroup");
    patient_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v2),     cmocka_unit_test(test_root),
        cmocka_unit_test(test_v1),     cmocka_unit_test(test_container),
        cmocka_unit_test(test_none),   cmocka_unit_test(test_own_cgroup),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_oom),
    };
    return RUN("doctor_cgroup", tests);
}
