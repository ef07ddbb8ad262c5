/* SPDX-License-Identifier: MIT */
#include "doctor_tree.h"
#include "fake_nvml.h"

#include <signal.h>
#include <sys/wait.h>

/* ---- doctor --------------------------------------------------------------------------------- */

static void test_doctor_every_check_is_whole(void **state)
{
    struct toll_diagnosis *d;
    struct toll_error e = {0};
    size_t count = 0;
    assert_int_equal(toll_diagnosis_new(&d, NULL, &e), 0);
    for (const struct toll_check *c; (c = toll_diagnosis_at(d, count)); count++) {
        assert_non_null(c->name);
        assert_true(*c->name && strspn(c->name, "abcdefghijklmnopqrstuvwxyz-") == strlen(c->name));
        assert_true(*c->title);
        assert_true(*c->means);
        if (c->state == TOLL_CHECK_OK)
            assert_string_equal(c->remedy, "");
        if (c->state == TOLL_CHECK_PARTLY || c->state == TOLL_CHECK_MISSING) {
            assert_true(*c->detail);
            assert_true(*c->remedy);
        }
        if (c->state == TOLL_CHECK_MISSING || c->state == TOLL_CHECK_UNKNOWN)
            assert_string_equal(c->quality, "");
        assert_string_equal(toll_check_at(count)->name, c->name);
        assert_int_equal(toll_check_at(count)->essential, c->essential);
        assert_string_equal(toll_check_at(count)->remedy, "");
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(toll_diagnosis_at(d, i)->name, c->name);
    }
    assert_true(count > 15);
    assert_null(toll_check_at(count));
    assert_null(toll_diagnosis_at(d, SIZE_MAX));
    toll_diagnosis_free(d);
    toll_diagnosis_free(NULL);
}

/* It leaves nothing behind: no descriptor, no child. */
static void test_doctor_leaves_nothing(void **state)
{
    struct toll_diagnosis *d;
    unsigned fds = tree_open_fds();
    assert_int_equal(toll_diagnosis_new(&d, NULL, NULL), 0);
    toll_diagnosis_free(d);
    assert_int_equal(tree_open_fds(), fds);
}

static void test_doctor_empty_machine(void **state)
{
    struct patient p;
    struct toll_diagnosis *d;
    patient_make(&p, "", "");
    assert_int_equal(toll_diagnosis_new(&d, p.tree.path, NULL), 0);
    for (size_t i = 0; toll_diagnosis_at(d, i); i++) {
        const struct toll_check *c = toll_diagnosis_at(d, i);
        if (strcmp(c->name, "cpu") == 0 || strcmp(c->name, "limits") == 0)
            assert_int_equal(c->state, TOLL_CHECK_MISSING);
        if (strcmp(c->name, "outputs") == 0)
            assert_int_equal(c->state, TOLL_CHECK_OK);
    }
    toll_diagnosis_free(d);
    patient_remove(&p);
}

static void test_doctor_no_machine(void **state)
{
    struct toll_diagnosis *d = NULL;
    struct toll_error e = {0};
    assert_int_equal(toll_diagnosis_new(&d, "/nonexistent", &e), -ENOENT);
    assert_non_null(strstr(e.message, "/nonexistent/proc"));
    assert_null(d);
}

static void test_doctor_findings(void **state)
{
    struct finding f = {0};
    finding_ok(&f, "exact", "file %d", 1);
    finding_detail(&f, "found %s", "much");
    finding_partly(&f, "half");
    finding_remedy(&f, "do it");
    assert_int_equal(f.state, TOLL_CHECK_PARTLY);
    assert_string_equal(f.quality, "exact");
    assert_string_equal(f.means.data, "file 1");
    assert_string_equal(f.detail.data, "half");
    assert_string_equal(f.remedy.data, "do it");
    finding_missing(&f, "none");
    assert_int_equal(f.state, TOLL_CHECK_MISSING);
    assert_string_equal(f.quality, "");
    finding_unknown(&f, "who knows");
    assert_int_equal(f.state, TOLL_CHECK_UNKNOWN);
    buf_done(&f.means);
    buf_done(&f.detail);
    buf_done(&f.remedy);
}

/* ---- doctor facts --------------------------------------------------------------------------- */

static void read_facts(struct patient *p)
{
    probe_facts_done(&p->facts);
    assert_int_equal(probe_facts_read(&p->facts, p->tree.path, NULL), 0);
}

static void test_doctor_facts_recorded(void **state)
{
    struct patient p;
    patient_make(&p, "4.9.337-rt\n", STATUS_OF_USER);
    read_facts(&p);
    assert_string_equal(p.facts.release, "4.9.337-rt");
    assert_true(probe_is_since(&p.facts, 4, 9));
    assert_true(probe_is_since(&p.facts, 3, 20));
    assert_false(probe_is_since(&p.facts, 4, 14));
    assert_false(probe_is_since(&p.facts, 5, 0));
    assert_int_equal(p.facts.user, 1000);
    assert_false(probe_has_capability(&p.facts, CAP_NUMBER_SYS_PTRACE));
    assert_false(p.facts.ignores_sigchld);
    assert_false(p.facts.is_virtual || p.facts.has_systemd || p.facts.started_child);

    tree_write(&p.tree, "proc/self/status", STATUS_OF_ROOT "SigIgn:\t0000000000010000\n");
    tree_write(&p.tree, "proc/cpuinfo", "vendor_id : AuthenticAMD\nflags : fpu hypervisor lm\n");
    tree_write(&p.tree, "run/systemd/system/x", "");
    read_facts(&p);
    assert_int_equal(p.facts.user, 0);
    assert_true(probe_has_capability(&p.facts, CAP_NUMBER_SYS_PTRACE));
    assert_true(p.facts.ignores_sigchld);
    assert_true(p.facts.is_virtual && p.facts.is_amd && p.facts.has_systemd);
    patient_remove(&p);
}

static void test_doctor_facts_nonsense(void **state)
{
    struct patient p;
    patient_make(&p, "\033[31m6.x\n", "CapEff:\tzz\nUid:\t\n");
    read_facts(&p);
    assert_string_equal(p.facts.release, "?[31m6.x");
    assert_int_equal(p.facts.version, 0);
    assert_int_equal(p.facts.capabilities, 0);
    patient_remove(&p);
}

static unsigned told;

static void on_child(int signal)
{
    told += signal == SIGCHLD;
}

/* The child it learns from is told to nobody, and nothing is left of it to wait for. */
static void test_doctor_facts_live(void **state)
{
    struct probe_facts f;
    signal(SIGCHLD, on_child);
    assert_int_equal(probe_facts_read(&f, NULL, NULL), 0);
    assert_int_equal(f.user, geteuid());
    assert_true(f.version > 3000);
    assert_int_equal(told, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(errno, ECHILD);
    if (f.started_child)
        assert_true(f.waited_child);
    if (f.started_child && probe_is_since(&f, 6, 15))
        assert_true(f.has_exit_status);
    if (!probe_is_since(&f, 6, 13))
        assert_false(f.has_exit_status);
    probe_facts_done(&f);
    signal(SIGCHLD, SIG_DFL);
}

/* ---- doctor process ------------------------------------------------------------------------- */

#define STAT                                                                                       \
    "7 (toll) R 1 7 7 0 -1 4194304 100 0 0 0 5 3 0 0 20 0 1 0 100 8192000 500 "                    \
    "18446744073709551615 "                                                                        \
    "1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"

#define IO                                                                                         \
    "rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 0\nwrite_bytes: 0\n"                      \
    "cancelled_write_bytes: 0\n"

#define ROLLUP                                                                                     \
    "00400000-7ffe [rollup]\nRss: 900 kB\nPss: 200 kB\nPrivate_Clean: 4 kB\nPrivate_Dirty: 8 kB\n"

static void test_doctor_process_figures(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, probe_cpu, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    assert_not_ok(&p, probe_memory, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/self/stat", STAT);
    assert_ok(&p, probe_cpu, "");
    assert_string_equal(p.finding.quality, "exact");
    assert_ok(&p, probe_memory, "");
    assert_string_equal(p.finding.quality, "sampled");

    assert_not_ok(&p, probe_io, TOLL_CHECK_MISSING, "a kernel with CONFIG_TASK_IO_ACCOUNTING=y");
    tree_write(&p.tree, "proc/self/io", IO);
    assert_ok(&p, probe_io, "");
    patient_remove(&p);
}

static void test_doctor_process_pss(void **state)
{
    struct patient p;
    patient_make(&p, "4.9.0\n", STATUS_OF_USER);
    assert_not_ok(&p, probe_pss, TOLL_CHECK_MISSING, "Linux 4.14 or later");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "5.10.0\n");
    assert_not_ok(&p, probe_pss, TOLL_CHECK_MISSING, "a kernel with CONFIG_PROC_PAGE_MONITOR=y");
    tree_write(&p.tree, "proc/self/smaps_rollup", "Rss: 1 kB\n");
    assert_not_ok(&p, probe_pss, TOLL_CHECK_MISSING, "a kernel with CONFIG_PROC_PAGE_MONITOR=y");
    tree_write(&p.tree, "proc/self/smaps_rollup", ROLLUP);
    assert_ok(&p, probe_pss, "");
    patient_remove(&p);
}

/* A file full of zeros says that nobody counts. */
static void test_doctor_process_waits(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, probe_waits, TOLL_CHECK_MISSING, "a kernel with CONFIG_SCHEDSTATS=y");
    tree_write(&p.tree, "proc/self/schedstat", "0 0 0\n");
    assert_not_ok(&p, probe_waits, TOLL_CHECK_MISSING, "a kernel with CONFIG_SCHEDSTATS=y");
    tree_write(&p.tree, "proc/self/schedstat", "1000 0 2\n");
    assert_ok(&p, probe_waits, "");
    patient_remove(&p);
}

static void test_doctor_process_children(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, probe_children, TOLL_CHECK_PARTLY, "a kernel with CONFIG_PROC_CHILDREN=y");
    tree_write(&p.tree, "proc/thread-self/children", "");
    assert_ok(&p, probe_children, "");
    patient_remove(&p);
}

static void test_doctor_process_unwaited(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_ok(&p, probe_unwaited, "");
    tree_write(&p.tree, "proc/self/status", "SigIgn:\t0000000000010000\n");
    assert_not_ok(&p, probe_unwaited, TOLL_CHECK_PARTLY, "env --default-signal=CHLD toll run …");
    assert_string_equal(p.finding.quality, "lower bound");
    patient_remove(&p);
}

static void test_doctor_process_watch_exits(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, probe_watch_exits, TOLL_CHECK_MISSING, "a kernel with CONFIG_PERF_EVENTS=y");
    tree_write(&p.tree, "proc/sys/kernel/perf_event_paranoid", "2\n");
    assert_ok(&p, probe_watch_exits, "");
    assert_string_equal(p.finding.quality, "exact");
    tree_write(&p.tree, "proc/sys/kernel/perf_event_paranoid", "-1\n");
    assert_ok(&p, probe_watch_exits, "");
    tree_write(&p.tree, "proc/sys/kernel/perf_event_paranoid", "4\n");
    assert_not_ok(&p, probe_watch_exits, TOLL_CHECK_MISSING, "sysctl kernel.perf_event_paranoid=2");
    assert_string_equal(p.finding.detail.data, "perf_event_paranoid is 4");
    tree_write(&p.tree, "proc/self/status", STATUS_OF_ROOT);
    assert_ok(&p, probe_watch_exits, "");
    patient_remove(&p);
}

static void test_doctor_process_ends(void **state)
{
    struct patient p;
    patient_make(&p, "5.2.0\n", STATUS_OF_USER);
    assert_not_ok(&p, probe_ends, TOLL_CHECK_PARTLY,
                  "Linux 5.3 or later; 6.15 for the exit status");
    assert_string_equal(p.finding.quality, "sampled");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "5.3.0\n");
    assert_not_ok(&p, probe_ends, TOLL_CHECK_PARTLY, "Linux 6.15 or later");
    assert_string_equal(p.finding.quality, "exact");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "6.15.0\n");
    assert_ok(&p, probe_ends, "with exit status");
    patient_remove(&p);
}

#define LIMITS(hard)                                                                               \
    "Limit                     Soft Limit           Hard Limit           Units\n"                  \
    "Max open files            256                  " hard "               files\n"

static void test_doctor_process_open_files(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    patient_probe(&p, probe_open_files);
    assert_int_equal(p.finding.state, TOLL_CHECK_UNKNOWN);
    tree_write(&p.tree, "proc/self/limits", LIMITS("524288"));
    assert_ok(&p, probe_open_files, "524288");
    tree_write(&p.tree, "proc/self/limits", LIMITS("unlimited"));
    assert_ok(&p, probe_open_files, "unlimited");
    tree_write(&p.tree, "proc/self/limits", LIMITS("1000"));
    assert_not_ok(&p, probe_open_files, TOLL_CHECK_PARTLY, "ulimit -Hn 65536");
    tree_write(&p.tree, "proc/self/limits", "Max open files\n");
    patient_probe(&p, probe_open_files);
    assert_int_equal(p.finding.state, TOLL_CHECK_UNKNOWN);
    patient_remove(&p);
}

/* ---- doctor machine ------------------------------------------------------------------------- */

#define SYSFS "mount -t sysfs sysfs /sys"
#define DEV_HEADINGS                                                                               \
    "Inter-|   Receive                                                |  Transmit\n"               \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "     \
    "drop "                                                                                        \
    "fifo colls carrier compressed\n"

static void doctor_machine_make(struct patient *p)
{
    patient_make(p, "6.1.0\n", STATUS_OF_USER);
    tree_write(&p->tree, "sys/class/x", "");
}

static void test_doctor_machine_system(void **state)
{
    struct patient p;
    doctor_machine_make(&p);
    assert_not_ok(&p, probe_system, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/loadavg", "0.50 0.40 0.30 1/100 1234\n");
    tree_write(&p.tree, "proc/meminfo",
               "MemTotal: 2048 kB\nMemFree: 1024 kB\nMemAvailable: 1500 kB\nBuffers: 1 kB\n"
               "Cached: 2 kB\n");
    assert_not_ok(&p, probe_system, TOLL_CHECK_PARTLY, "mount -t proc proc /proc");
    assert_string_equal(p.finding.detail.data, "cannot be read in /proc: stat");
    tree_write(&p.tree, "proc/stat",
               "cpu  10 0 5 100 0 0 0 0 0 0\ncpu0 10 0 5 100 0 0 0 0 0 0\nintr 5 0\nctxt 7\n"
               "btime 1700000000\nprocesses 9\nprocs_running 1\nprocs_blocked 0\n");
    assert_ok(&p, probe_system, "");
    patient_remove(&p);
}

static void test_doctor_machine_pressure(void **state)
{
    struct patient p;
    doctor_machine_make(&p);
    tree_write(&p.tree, "proc/loadavg", "0.50 0.40 0.30 1/100 1234\n");
    assert_not_ok(&p, probe_pressure, TOLL_CHECK_MISSING,
                  "boot with psi=1 (a kernel with CONFIG_PSI=y)");
    tree_write(&p.tree, "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\n");
    assert_ok(&p, probe_pressure, "");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "4.19.0\n");
    tree_unlink(&p.tree, "proc/pressure/cpu");
    assert_not_ok(&p, probe_pressure, TOLL_CHECK_MISSING, "Linux 4.20 or later with CONFIG_PSI=y");
    patient_remove(&p);
}

static void test_doctor_machine_disks(void **state)
{
    struct patient p;
    doctor_machine_make(&p);
    assert_not_ok(&p, probe_disks, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/diskstats",
               "254 0 vda 1 0 8 1 1 0 8 1 0 1 1\n"
               "254 1 vda1 1 0 8 1 1 0 8 1 0 1 1\n");
    tree_write(&p.tree, "sys/block/vda/device/x", "");
    tree_write(&p.tree, "sys/block/vda/size", "100\n");
    assert_ok(&p, probe_disks, "1 real, 0 stacked, 0 virtual");
    patient_remove(&p);
}

/* A tree without a sys at all, as in some sandboxes. */
static void test_doctor_machine_without_sys(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    tree_write(&p.tree, "proc/diskstats", "254 0 vda 1 0 8 1 1 0 8 1 0 1 1\n");
    tree_write(&p.tree, "proc/self/net/dev",
               DEV_HEADINGS "  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
    tree_write(&p.tree, "proc/net/dev", DEV_HEADINGS "  eth0: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
    assert_not_ok(&p, probe_disks, TOLL_CHECK_PARTLY, SYSFS);
    assert_not_ok(&p, probe_interfaces, TOLL_CHECK_PARTLY, SYSFS);
    assert_not_ok(&p, probe_sensors, TOLL_CHECK_MISSING, SYSFS);
    assert_not_ok(&p, probe_energy, TOLL_CHECK_MISSING, SYSFS);
    patient_remove(&p);
}

static void test_doctor_machine_filesystems(void **state)
{
    struct patient p;
    doctor_machine_make(&p);
    assert_not_ok(&p, probe_filesystems, TOLL_CHECK_MISSING, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/self/mountinfo",
               "20 1 254:0 / / rw - ext4 /dev/vda rw\n"
               "21 20 0:30 / /home rw - nfs4 server:/home rw\n");
    assert_ok(&p, probe_filesystems, "1 local, 1 network");
    patient_remove(&p);
}

static void test_doctor_machine_sensors(void **state)
{
    struct patient p;
    doctor_machine_make(&p);
    assert_not_ok(&p, probe_sensors, TOLL_CHECK_MISSING, "modprobe coretemp");
    tree_write(&p.tree, "proc/cpuinfo", "vendor_id : AuthenticAMD\nflags : fpu\n");
    assert_not_ok(&p, probe_sensors, TOLL_CHECK_MISSING, "modprobe k10temp");
    tree_write(&p.tree, "proc/cpuinfo", "flags : fpu hypervisor\n");
    assert_not_ok(&p, probe_sensors, TOLL_CHECK_MISSING, "run toll on the host");
    tree_write(&p.tree, "sys/class/hwmon/hwmon0/name", "coretemp\n");
    tree_write(&p.tree, "sys/class/hwmon/hwmon0/temp1_input", "46000\n");
    assert_ok(&p, probe_sensors, "1 sensor");
    tree_write(&p.tree, "sys/class/hwmon/hwmon0/temp1_input", "\n");
    patient_probe(&p, probe_sensors);
    assert_int_equal(p.finding.state, TOLL_CHECK_MISSING);
    patient_remove(&p);
}

static void test_doctor_machine_energy(void **state)
{
    struct patient p;
    doctor_machine_make(&p);
    assert_not_ok(&p, probe_energy, TOLL_CHECK_MISSING, "modprobe intel_rapl_msr");
    tree_write(&p.tree, "proc/cpuinfo", "flags : fpu hypervisor\n");
    assert_not_ok(&p, probe_energy, TOLL_CHECK_MISSING, "run toll on the host");
    tree_write(&p.tree, "sys/class/powercap/intel-rapl:0/name", "package-0\n");
    tree_write(&p.tree, "sys/class/powercap/intel-rapl:0/energy_uj", "");
    assert_not_ok(&p, probe_energy, TOLL_CHECK_MISSING,
                  "chmod a+r /sys/class/powercap/*/energy_uj");
    assert_true(p.finding.needs_root);
    tree_write(&p.tree, "sys/class/powercap/intel-rapl:0/energy_uj", "100\n");
    assert_ok(&p, probe_energy, "1 counter");
    patient_remove(&p);
}

static void test_doctor_machine_network(void **state)
{
    struct patient p;
    doctor_machine_make(&p);
    patient_probe(&p, probe_network);
    assert_int_equal(p.finding.state, TOLL_CHECK_UNKNOWN);
    patient_remove(&p);
}

/* ---- doctor cgroup -------------------------------------------------------------------------- */

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

static void test_doctor_cgroup_v2(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_USER);
    assert_not_ok(&p, probe_cgroup, TOLL_CHECK_PARTLY,
                  "echo \"+memory +pids\" >/sys/fs/cgroup/a/cgroup.subtree_control");
    tree_write(&p.tree, "run/systemd/system/x", "");
    assert_not_ok(&p, probe_cgroup, TOLL_CHECK_PARTLY, SCOPE);
    tree_write(&p.tree, JOB "memory.current", "4096\n");
    tree_write(&p.tree, JOB "pids.current", "3\n");
    assert_ok(&p, probe_cgroup, "/a/job");
    assert_string_equal(p.finding.means.data, "version 2");
    patient_remove(&p);
}

static void test_doctor_cgroup_root(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_USER);
    tree_write(&p.tree, "proc/self/cgroup", "0::/\n");
    tree_write(&p.tree, "sys/fs/cgroup/cgroup.procs", "");
    assert_not_ok(&p, probe_cgroup, TOLL_CHECK_MISSING,
                  "mkdir /sys/fs/cgroup/job && echo $$ >/sys/fs/cgroup/job/cgroup.procs");
    patient_remove(&p);
}

/* In a container that sees its own cgroup as the first: the parent is out of sight. */
static void test_doctor_cgroup_container(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_ROOT);
    tree_write(&p.tree, "proc/self/cgroup", "0::/\n");
    tree_write(&p.tree, "sys/fs/cgroup/cgroup.procs", "");
    tree_write(&p.tree, "sys/fs/cgroup/cgroup.events", "populated 1\n");
    tree_write(&p.tree, "sys/fs/cgroup/cpu.stat", "usage_usec 10\nuser_usec 6\nsystem_usec 4\n");
    tree_write(&p.tree, "sys/fs/cgroup/memory.current", "4096\n");
    assert_not_ok(&p, probe_cgroup, TOLL_CHECK_PARTLY,
                  "\"+pids\" in cgroup.subtree_control of the parent, on the host");
    tree_write(&p.tree, "proc/self/cgroup", "0::/../../host\n");
    assert_not_ok(&p, probe_cgroup, TOLL_CHECK_MISSING,
                  "a cgroup namespace (docker run --cgroupns=private)");
    patient_remove(&p);
}

static void test_doctor_cgroup_v1(void **state)
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
    assert_not_ok(&p, probe_cgroup, TOLL_CHECK_PARTLY,
                  "mkdir /sys/fs/cgroup/{cpuacct,pids}/job && echo $$ | tee "
                  "/sys/fs/cgroup/{cpuacct,pids}/job/cgroup.procs");
    assert_string_equal(p.finding.detail.data, "no counters for CPU, tasks");
    assert_string_equal(p.finding.means.data, "version 1");
    patient_remove(&p);
}

static void test_doctor_cgroup_none(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    assert_not_ok(&p, probe_cgroup, TOLL_CHECK_MISSING, MOUNT_V2);
    assert_not_ok(&p, probe_own_cgroup, TOLL_CHECK_MISSING, MOUNT_V2);
    assert_not_ok(&p, probe_oom, TOLL_CHECK_MISSING, "a cgroup with the memory controller");
    tree_write(&p.tree, "proc/sys/kernel/osrelease", "4.9.0\n");
    assert_not_ok(&p, probe_oom, TOLL_CHECK_MISSING, "Linux 4.13 or later");
    patient_remove(&p);
}

static void test_doctor_cgroup_own_cgroup(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_ROOT);
    assert_ok(&p, probe_own_cgroup, "");
    tree_write(&p.tree, "proc/self/status", STATUS_OF_USER);
    assert_not_ok(&p, probe_own_cgroup, TOLL_CHECK_MISSING,
                  "cd /sys/fs/cgroup/a/job && chown 1000 . cgroup.procs cgroup.subtree_control");
    tree_write(&p.tree, "run/systemd/system/x", "");
    assert_not_ok(&p, probe_own_cgroup, TOLL_CHECK_MISSING, SCOPE);
    patient_remove(&p);
}

static void test_doctor_cgroup_limits(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_USER);
    assert_not_ok(&p, probe_limits, TOLL_CHECK_PARTLY, "mount -t proc proc /proc");
    tree_write(&p.tree, "proc/stat", "cpu 1 1 1\ncpu0 1 1 1\ncpu1 1 1 1\nintr 1\n");
    tree_write(&p.tree, "proc/meminfo", "MemTotal:       2097152 kB\nMemFree: 1 kB\n");
    assert_ok(&p, probe_limits, "2 CPUs, 2.00 GiB");
    tree_write(&p.tree, JOB "cpu.max", "50000 100000\n");
    tree_write(&p.tree, JOB "memory.max", "1073741824\n");
    assert_ok(&p, probe_limits, "0.5 CPUs (cpu quota), 1.00 GiB (memory limit)");
    patient_remove(&p);
}

static void test_doctor_cgroup_oom(void **state)
{
    struct patient p;
    make_v2(&p, STATUS_OF_USER);
    tree_write(&p.tree, JOB "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
    assert_ok(&p, probe_oom, "");
    assert_string_equal(p.finding.means.data, "cgroup counter");
    patient_remove(&p);
}

/* ---- doctor gpus ---------------------------------------------------------------------------- */

static void test_doctor_gpus_recorded(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    patient_probe(&p, probe_gpus);
    assert_int_equal(p.finding.state, TOLL_CHECK_MISSING);
    assert_non_null(strstr(patient_text(&p.finding.remedy), "load the GPU driver"));
    tree_write(&p.tree, "proc/driver/nvidia/version", "NVRM version: …\n");
    patient_probe(&p, probe_gpus);
    assert_int_equal(p.finding.state, TOLL_CHECK_UNKNOWN);
    patient_remove(&p);
}

/* This machine, with the fake library. */
static void probe(struct probe_facts *d, struct finding *f)
{
    *f = (struct finding){.state = TOLL_CHECK_UNKNOWN, .quality = ""};
    assert_int_equal(sysroot_open(&d->root, NULL, NULL), 0);
    probe_gpus(d, f);
    sysroot_close(&d->root);
}

static void forget(struct finding *f)
{
    buf_done(&f->means);
    buf_done(&f->detail);
    buf_done(&f->remedy);
}

static void test_doctor_gpus_asked(void **state)
{
    struct fake_nvml fake;
    struct probe_facts d = {0};
    struct finding f;
    fake_nvml_make(&fake, "nvml",
                   "gpus 2\nutilization 5\ndriver 550.54.14\nmemory_total 5\n1.power 7\n");
    probe(&d, &f);
    assert_int_equal(f.state, TOLL_CHECK_OK);
    assert_string_equal(f.detail.data,
                        "nvidia0 Fake GPU 0, nvidia1 Fake GPU 1 (NVML, driver 550.54.14); without "
                        "power (nvidia0), energy counter");
    forget(&f);
    fake_nvml_say(&fake, "gpus 2\n1.error.handle 15\ndriver 550.54.14\n");
    probe(&d, &f); /* what is there is told beside what is not */
    assert_int_equal(f.state, TOLL_CHECK_PARTLY);
    assert_non_null(strstr(f.detail.data, "nvidia0 Fake GPU 0 (NVML"));
    assert_non_null(strstr(f.detail.data, "GPU 1 does not respond (error 15"));
    forget(&f);
    fake_nvml_say(&fake, "gpus 2\nerror.init 18\n");
    probe(&d, &f);
    assert_int_equal(f.state, TOLL_CHECK_MISSING);
    assert_non_null(strstr(f.detail.data, "reboot"));
    assert_null(strstr(f.remedy.data, "load the GPU driver")); /* it is loaded */
    forget(&f);
    fake_nvml_say(&fake, "gpus 1\nerror.compute 3\nerror.sample 3\n");
    probe(&d, &f);
    assert_int_equal(f.state, TOLL_CHECK_PARTLY);
    assert_non_null(strstr(f.detail.data, "usage per process"));
    forget(&f);
    fake_nvml_remove(&fake);
}

/* ---- doctor others -------------------------------------------------------------------------- */

#define SUDO               "sudo toll attach …"
#define REMOUNT            "mount -o remount,hidepid=0 /proc"
#define MOUNTINFO(options) "22 1 0:21 / /proc rw,relatime - proc proc " options "\n"

static void doctor_others_make(struct patient *p, const char *status, const char *mountinfo)
{
    patient_make(p, "6.1.0\n", status);
    tree_write(&p->tree, "proc/self/mountinfo", mountinfo);
}

static void test_doctor_others_readable(void **state)
{
    struct patient p;
    doctor_others_make(&p, STATUS_OF_ROOT, MOUNTINFO("rw"));
    tree_write(&p.tree, "proc/1/status", STATUS_OF_USER);
    tree_write(&p.tree, "proc/1/io", "rchar: 1\n");
    assert_ok(&p, probe_others, "");
    patient_remove(&p);
}

/* The first may have ended in between: the next one is asked. */
static void test_doctor_others_some_readable(void **state)
{
    struct patient p;
    doctor_others_make(&p, STATUS_OF_ROOT, MOUNTINFO("rw"));
    tree_write(&p.tree, "proc/1/status", STATUS_OF_USER);
    tree_write(&p.tree, "proc/2/status", STATUS_OF_USER);
    tree_write(&p.tree, "proc/2/io", "rchar: 1\n");
    assert_ok(&p, probe_others, "");
    patient_remove(&p);
}

static void test_doctor_others_seen_only(void **state)
{
    struct patient p;
    doctor_others_make(&p, STATUS_OF_USER, MOUNTINFO("rw,hidepid=off"));
    tree_write(&p.tree, "proc/1/status", STATUS_OF_ROOT);
    assert_not_ok(&p, probe_others, TOLL_CHECK_PARTLY, SUDO);
    patient_remove(&p);
}

/* Root without the capability, as in a container. */
static void test_doctor_others_weak_root(void **state)
{
    struct patient p;
    doctor_others_make(&p, "Uid:\t0\t0\t0\t0\nSigIgn:\t0\nCapEff:\t00000000a80425fb\n",
                       MOUNTINFO("rw"));
    tree_write(&p.tree, "proc/1/status", STATUS_OF_USER);
    assert_not_ok(&p, probe_others, TOLL_CHECK_PARTLY, "docker run --cap-add=SYS_PTRACE");
    patient_remove(&p);
}

static void test_doctor_others_alone(void **state)
{
    struct patient p;
    doctor_others_make(&p, STATUS_OF_ROOT, MOUNTINFO("rw,hidepid=2"));
    assert_ok(&p, probe_others, "no other user has processes now");
    tree_write(&p.tree, "proc/self/mountinfo", MOUNTINFO("rw"));
    tree_write(&p.tree, "proc/self/status", STATUS_OF_USER);
    assert_not_ok(&p, probe_others, TOLL_CHECK_PARTLY, SUDO);
    patient_remove(&p);
}

static void test_doctor_others_hidden(void **state)
{
    struct patient p;
    doctor_others_make(&p, STATUS_OF_USER, MOUNTINFO("rw,hidepid=2"));
    assert_not_ok(&p, probe_others, TOLL_CHECK_MISSING, REMOUNT);
    assert_non_null(strstr(p.finding.detail.data, "hidepid=2"));
    tree_write(&p.tree, "proc/self/mountinfo", MOUNTINFO("rw,gid=104,hidepid=invisible"));
    assert_not_ok(&p, probe_others, TOLL_CHECK_MISSING, "a user of group 104 (gid= of /proc)");
    tree_write(&p.tree, "proc/self/mountinfo", MOUNTINFO("rw,hidepid=ridiculously-long-word"));
    assert_not_ok(&p, probe_others, TOLL_CHECK_MISSING, REMOUNT);
    /* What is mounted last lies on top, and another place does not matter. */
    tree_write(&p.tree, "proc/self/mountinfo",
               MOUNTINFO("rw,hidepid=2")
                   MOUNTINFO("rw") "23 1 0:22 / /proc2 rw - proc proc rw,hidepid=2\n");
    assert_not_ok(&p, probe_others, TOLL_CHECK_PARTLY, SUDO);
    patient_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doctor_every_check_is_whole),
        cmocka_unit_test(test_doctor_leaves_nothing),
        cmocka_unit_test(test_doctor_empty_machine),
        cmocka_unit_test(test_doctor_no_machine),
        cmocka_unit_test(test_doctor_findings),
        cmocka_unit_test(test_doctor_facts_recorded),
        cmocka_unit_test(test_doctor_facts_nonsense),
        cmocka_unit_test(test_doctor_facts_live),
        cmocka_unit_test(test_doctor_process_figures),
        cmocka_unit_test(test_doctor_process_pss),
        cmocka_unit_test(test_doctor_process_waits),
        cmocka_unit_test(test_doctor_process_children),
        cmocka_unit_test(test_doctor_process_unwaited),
        cmocka_unit_test(test_doctor_process_ends),
        cmocka_unit_test(test_doctor_process_open_files),
        cmocka_unit_test(test_doctor_process_watch_exits),
        cmocka_unit_test(test_doctor_machine_system),
        cmocka_unit_test(test_doctor_machine_pressure),
        cmocka_unit_test(test_doctor_machine_disks),
        cmocka_unit_test(test_doctor_machine_without_sys),
        cmocka_unit_test(test_doctor_machine_filesystems),
        cmocka_unit_test(test_doctor_machine_sensors),
        cmocka_unit_test(test_doctor_machine_energy),
        cmocka_unit_test(test_doctor_machine_network),
        cmocka_unit_test(test_doctor_cgroup_v2),
        cmocka_unit_test(test_doctor_cgroup_root),
        cmocka_unit_test(test_doctor_cgroup_v1),
        cmocka_unit_test(test_doctor_cgroup_container),
        cmocka_unit_test(test_doctor_cgroup_none),
        cmocka_unit_test(test_doctor_cgroup_own_cgroup),
        cmocka_unit_test(test_doctor_cgroup_limits),
        cmocka_unit_test(test_doctor_cgroup_oom),
        cmocka_unit_test(test_doctor_gpus_recorded),
        cmocka_unit_test(test_doctor_gpus_asked),
        cmocka_unit_test(test_doctor_others_readable),
        cmocka_unit_test(test_doctor_others_some_readable),
        cmocka_unit_test(test_doctor_others_seen_only),
        cmocka_unit_test(test_doctor_others_alone),
        cmocka_unit_test(test_doctor_others_hidden),
        cmocka_unit_test(test_doctor_others_weak_root),
    };
    return RUN("doctor/doctor", tests);
}
