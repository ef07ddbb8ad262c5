/* SPDX-License-Identifier: MIT */
#include "source/proc/reader.h"
#include "base/clock.h"
#include "proc_tree.h"
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- process reader ------------------------------------------------------------------------- */

static void test_process_reader_units_of_a_recorded_machine(void **state)
{
    struct proc_reader p;
    proc_open(&p);
    assert_int_equal(p.reader.ns_per_tick, 10000000);
    assert_int_equal(p.reader.page_bytes, 4096);
    assert_false(p.reader.has_clock); /* its pids are not ours */
    assert_false(p.reader.fd_dir_has_size);
    proc_close(&p);
}

static void test_process_reader_live_units(void **state)
{
    struct sysroot root;
    struct process_reader r;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    assert_int_equal(process_reader_init(&r, &root, 0), 0);
    assert_int_equal(r.ns_per_tick, 1000000000 / sysconf(_SC_CLK_TCK));
    assert_int_equal(r.page_bytes, sysconf(_SC_PAGESIZE));
    assert_true(r.has_clock);
    assert_true(process_read_once(&r, getpid(), "stat") > 20);
    assert_int_equal(process_read_once(&r, getpid(), "no such file"), -ENOENT);
    process_reader_done(&r);
    process_reader_done(&r);
    sysroot_close(&root);
}

static void test_process_reader_read_once_leaves_nothing_open(void **state)
{
    struct proc_reader p;
    proc_open(&p);
    proc_write(&p.tree, 7, "stat", "hello");
    unsigned before = tree_open_fds();
    assert_int_equal(process_read_once(&p.reader, 7, "stat"), 5);
    assert_memory_equal(p.reader.text, "hello", 5);
    assert_int_equal(process_read_once(&p.reader, 8, "stat"), -ENOENT);
    assert_int_equal(tree_open_fds(), before);
    proc_close(&p);
}

static void test_process_reader_kept_descriptor_sees_changes(void **state)
{
    struct proc_reader p;
    struct process_source s;
    proc_open(&p);
    process_source_init(&s);
    proc_write(&p.tree, 7, "stat", "one");
    assert_int_equal(process_read_kept(&p.reader, &s, 7, KEPT_STAT, "stat", true), 3);
    assert_int_equal(p.reader.cache.used, 1);
    proc_write(&p.tree, 7, "stat", "three");
    assert_int_equal(process_read_kept(&p.reader, &s, 7, KEPT_STAT, "stat", true), 5);
    assert_memory_equal(p.reader.text, "three", 5);
    tree_unlink(&p.tree, "proc/7/stat"); /* bound to the file, not to its name */
    assert_int_equal(process_read_kept(&p.reader, &s, 7, KEPT_STAT, "stat", true), 5);
    process_source_done(&s, &p.reader);
    process_source_done(&s, &p.reader);
    assert_int_equal(process_read_kept(&p.reader, &s, 7, KEPT_STAT, "stat", true), -ENOENT);
    proc_close(&p);
}

static void test_process_reader_nothing_is_kept_of_what_cannot_be_read(void **state)
{
    struct proc_reader p;
    struct process_source s;
    proc_open(&p);
    process_source_init(&s);
    proc_write(&p.tree, 7, "stat", "");
    assert_int_equal(process_read_kept(&p.reader, &s, 7, KEPT_STAT, "stat", true), 0);
    proc_write(&p.tree, 7, "io/is/a/directory", "");
    assert_int_equal(process_read_kept(&p.reader, &s, 7, KEPT_IO, "io", true), -EISDIR);
    assert_int_equal(p.reader.cache.used, 0);
    process_source_done(&s, &p.reader);
    proc_close(&p);
}

/* Others in the process opened more than was left to them: the cache gives way. */
static void test_process_reader_out_of_descriptors(void **state)
{
    struct proc_reader p;
    struct process_source s[10];
    proc_open(&p);
    for (int i = 0; i < 10; i++) {
        process_source_init(&s[i]);
        proc_write(&p.tree, i + 1, "stat", "x");
        assert_int_equal(process_read_kept(&p.reader, &s[i], i + 1, KEPT_STAT, "stat", true), 1);
    }
    proc_write(&p.tree, 1, "io", "y");
    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    tight = (struct rlimit){(rlim_t)next, old.rlim_max};
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    ssize_t n = process_read_kept(&p.reader, &s[9], 10, KEPT_STAT, "stat", true);
    ssize_t other = process_read_once(&p.reader, 1, "io");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(n, 1);
    assert_int_equal(other, 1);
    assert_int_equal(p.reader.cache.limit, 5);
    assert_int_equal(p.reader.cache.used, 5);
    for (int i = 0; i < 10; i++)
        process_source_done(&s[i], &p.reader);
    proc_close(&p);
}

struct seen {
    unsigned count;
    pid_t sum;
};

static void see(void *arg, pid_t thread)
{
    struct seen *s = arg;
    s->count++;
    s->sum += thread;
}

static void test_process_reader_threads(void **state)
{
    struct proc_reader p;
    struct seen seen = {0};
    proc_open(&p);
    assert_int_equal(process_each_thread(&p.reader, 7, see, &seen), -ENOENT);
    for (int thread = 100; thread < 400; thread++) {
        char name[32];
        snprintf(name, sizeof name, "task/%d/io", thread);
        proc_write(&p.tree, 7, name, "");
    }
    proc_write(&p.tree, 7, "task/not_a_thread", "");
    assert_int_equal(process_each_thread(&p.reader, 7, see, &seen), 0);
    assert_int_equal(seen.count, 300);
    assert_int_equal(seen.sum, (100 + 399) * 150);
    proc_close(&p);
}

/* ---- process files -------------------------------------------------------------------------- */

static void test_process_files_stat_is_first(void **state)
{
    assert_string_equal(process_files[0].name, "stat");
    assert_int_equal(process_files[0].cost, COST_OFTEN);
}

/* Every figure of a process that some fold uses comes from exactly one file, at the cost the table
 * of metrics says; those of GPUs and of sockets from none. CPU time and memory have a cheaper
 * source beside stat. Memory with each page once is RSS of one process, and expensive of several
 * alone. */
static void test_process_files_each_metric_has_one_file(void **state)
{
    uint64_t given = 0;
    for (const struct process_file *f = process_files; f->name; f++) {
        assert_non_null(f->read);
        assert_true((given & f->gives) == 0);
        given |= f->gives;
        FOR_EACH_BIT(id, f->gives)
        assert_int_equal(metric_of(id)->cost, id == process_memory_distinct_bytes ? COST_SLOW
                                              : PROCESS_BRIEF_BITS >> id & 1      ? COST_CHEAP
                                                                                  : f->cost);
    }
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        assert_int_equal(given >> id & 1,
                         metric_of(id)->fold < FOLD_WHOLE &&
                             !((PROCESS_GPU_BITS | PROCESS_SOCKET_BITS) >> id & 1));
}

/* ---- process visit -------------------------------------------------------------------------- */

struct fixture {
    struct proc_reader p;
    struct process process;
    struct process_source source;
};

static void begin(struct fixture *f)
{
    proc_open(&f->p);
    proc_begin(&f->process, &f->source, 7);
    proc_stat(&f->p.tree, &(struct proc_facts){.pid = 7, .parent = 1, .user = 3, .rss_pages = 2});
    proc_io(&f->p.tree, 7, "io", 10, 20);
    proc_write(&f->p.tree, 7, "status",
               "VmHWM:\t 8 kB\nVmRSS:\t 8 kB\nRssFile:\t 4 kB\nRssShmem:\t 0 kB\nVmSwap:\t 0 kB\n"
               "SigIgn:\t0\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t2\n");
    proc_write(&f->p.tree, 7, "task/7/schedstat", "1 2 3\n");
    proc_write(&f->p.tree, 7, "fd/0", "");
    proc_write(&f->p.tree, 7, "smaps_rollup",
               "Rss: 8 kB\nPss: 4 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 1 kB\n");
}

static void end(struct fixture *f)
{
    process_source_done(&f->source, &f->p.reader);
    proc_close(&f->p);
}

static int visit(struct fixture *f, enum process_depth depth)
{
    return process_visit(&f->p.reader, &f->source, &f->process, depth);
}

static uint64_t given_by(enum metric_cost dearest)
{
    uint64_t bits = 0;
    for (const struct process_file *f = process_files; f->name; f++)
        bits |= f->cost <= dearest ? f->gives : 0;
    return bits;
}

/* What the kernel shows of a process that it is letting go is not what it was: its parent has it.
 */
static void test_process_visit_being_reaped(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(visit(&f, DEPTH_REFRESH), 0);
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .parent = 1, .user = 4, .state = 'X'});
    assert_int_equal(visit(&f, DEPTH_REFRESH), -ESRCH);
    assert_true(f.process.is_being_reaped);
    proc_write(&f.p.tree, 7, "stat",
               "7 (job) Z 0 -1 -1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 0 0 0 0 0 18446744073709551615 "
               "0 0 0 0 0 0\n");
    assert_int_equal(visit(&f, DEPTH_REFRESH), -ESRCH);
    assert_false(f.process.is_being_reaped);
    assert_int_equal(f.process.entity.parent, 1);
    end(&f);
}

static void test_process_visit_depths(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(process_probe(&f.p.reader, &f.source, &f.process), 1);
    assert_int_equal(visit(&f, DEPTH_CHANGE), 0);
    assert_true(f.process.own.present == given_by(COST_OFTEN));
    assert_true(f.process.fresh == given_by(COST_OFTEN));
    assert_int_equal(visit(&f, DEPTH_REFRESH), 0);
    assert_true(f.process.own.present == given_by(COST_REFRESH));
    assert_int_equal(process_visit_slow(&f.p.reader, &f.source, &f.process), 0);
    assert_true(f.process.own.present == given_by(COST_SLOW));
    assert_true(f.process.denied == 0);
    end(&f);
}

/* A brief visit changes memory alone. Its descriptor is of the process that stat has shown, and
 * what has no memory is looked at in stat. */
static void test_process_visit_brief(void **state)
{
    struct fixture f;
    begin(&f);
    fd_cache_init(&f.p.reader.cache, 10);
    assert_int_equal(visit(&f, DEPTH_CHANGE), 0);
    uint64_t user = row_u64(&f.process.own, process_cpu_user_seconds);
    proc_write(&f.p.tree, 7, "statm", "50 20 1 1 0 9 0\n");
    assert_int_equal(visit(&f, DEPTH_BRIEF), 0);
    assert_false(f.source.is_behind);
    assert_true(f.process.fresh == given_by(COST_OFTEN));
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .parent = 1, .user = 90});
    assert_int_equal(visit(&f, DEPTH_BRIEF), 0);
    assert_true(f.source.is_behind);
    assert_true(f.process.fresh == PROCESS_BRIEF_BITS);
    assert_value(&f.process.own, process_memory_rss_bytes, 20 * 4096);
    assert_value(&f.process.own, process_memory_virtual_bytes, 50 * 4096);
    assert_value(&f.process.own, process_cpu_user_seconds, user);
    proc_write(&f.p.tree, 7, "statm", "0 0 0 0 0 0 0\n");
    assert_int_equal(visit(&f, DEPTH_BRIEF), 0);
    assert_false(f.source.is_behind);
    assert_true(row_u64(&f.process.own, process_cpu_user_seconds) > user);
    end(&f);
}

static void test_process_visit_nobody_pays_for_what_nobody_wants(void **state)
{
    struct fixture f;
    begin(&f);
    f.p.reader.wanted = BIT(process_memory_swap_bytes);
    assert_int_equal(visit(&f, DEPTH_REFRESH), 0);
    assert_value(&f.process.own, process_memory_swap_bytes, 0);
    assert_unknown(&f.process.own, process_io_read_bytes);
    assert_unknown(&f.process.own, process_open_files_count);
    assert_int_equal(process_visit_slow(&f.p.reader, &f.source, &f.process), 0);
    assert_unknown(&f.process.own, process_memory_pss_bytes);
    end(&f);
}

/* Of a zombie, the files that are no longer there are not tried. */
static void test_process_visit_zombie(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(visit(&f, DEPTH_REFRESH), 0);
    assert_value(&f.process.own, process_open_files_count, 1);
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .parent = 1, .state = 'Z', .user = 4});
    assert_int_equal(visit(&f, DEPTH_REFRESH), 0);
    assert_value(&f.process.own, process_open_files_count, 0);
    assert_false(f.process.fresh >> process_open_files_count & 1);
    assert_true(f.process.fresh >> process_io_read_bytes & 1);
    end(&f);
}

static void test_process_visit_gone(void **state)
{
    struct fixture f;
    begin(&f);
    proc_begin(&f.process, &f.source, 8);
    assert_int_equal(visit(&f, DEPTH_REFRESH), -ESRCH);
    assert_true(f.process.own.present == 0);
    end(&f);
}

/* Hidden by permissions is remembered. A counter that was read before stays what it was; memory
 * that a process had then says nothing of what it has now. */
static void test_process_visit_denied(void **state)
{
    if (geteuid() == 0) {
        pid_t child = fork();
        if (child == 0) {
            if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
                _exit(2);
            if (access("/proc/1/stat", F_OK) < 0)
                _exit(77); /* mounted with hidepid */
            /* The files of init belong to root. */
            struct sysroot root;
            struct process_reader r;
            struct process p;
            struct process_source s;
            if (sysroot_open(&root, NULL, NULL) < 0 || process_reader_init(&r, &root, ~0ULL) < 0)
                _exit(3);
            proc_begin(&p, &s, 1);
            row_put_u64(&p.own, process_memory_pss_bytes, 1);
            row_put_u64(&p.own, process_io_written_bytes, 1);
            if (process_visit(&r, &s, &p, DEPTH_REFRESH) < 0)
                _exit(4);
            uint64_t io = BIT(process_io_read_bytes) | BIT(process_storage_written_bytes);
            if ((p.denied & io) != io || (p.own.present & io) || (p.fresh & io))
                _exit(5);
            if (!row_has(&p.own, process_memory_peak_bytes))
                _exit(6);
            process_visit_slow(&r, &s, &p);
            if (!(p.denied >> process_memory_pss_bytes & 1))
                _exit(7);
            if (row_has(&p.own, process_memory_pss_bytes) ||
                !row_has(&p.own, process_io_written_bytes))
                _exit(8);
            process_source_done(&s, &r);
            process_reader_done(&r);
            sysroot_close(&root);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WEXITSTATUS(status) == 77)
            skip();
        assert_int_equal(WEXITSTATUS(status), 0);
    } else {
        skip();
    }
}

/* Live: the clock says whether anything happened. */
static void test_process_visit_probe(void **state)
{
    struct sysroot root;
    struct process_reader r;
    struct process p;
    struct process_source s;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    assert_int_equal(process_reader_init(&r, &root, ~UINT64_C(0)), 0);
    assert_true(r.has_clock);
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    proc_begin(&p, &s, child);
    assert_int_equal(process_probe(&r, &s, &p), 1); /* never looked at */
    assert_int_equal(process_visit(&r, &s, &p, DEPTH_REFRESH), 0);
    int moved = 1;
    for (int i = 0; i < 1000 && moved; i++) { /* until it sleeps for good */
        usleep(10000);
        moved = process_probe(&r, &s, &p);
        assert_int_equal(process_visit(&r, &s, &p, DEPTH_CHANGE), 0);
    }
    assert_int_equal(moved, 0);
    assert_value(&p.own, process_cpu_seconds, s.clock_ns);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(process_probe(&r, &s, &p), -ESRCH);
    assert_int_equal(process_visit(&r, &s, &p, DEPTH_CHANGE), -ESRCH);
    process_source_done(&s, &r);
    process_reader_done(&r);
    sysroot_close(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_reader_units_of_a_recorded_machine),
        cmocka_unit_test(test_process_reader_live_units),
        cmocka_unit_test(test_process_reader_read_once_leaves_nothing_open),
        cmocka_unit_test(test_process_reader_kept_descriptor_sees_changes),
        cmocka_unit_test(test_process_reader_nothing_is_kept_of_what_cannot_be_read),
        cmocka_unit_test(test_process_reader_out_of_descriptors),
        cmocka_unit_test(test_process_reader_threads),
        cmocka_unit_test(test_process_files_stat_is_first),
        cmocka_unit_test(test_process_files_each_metric_has_one_file),
        cmocka_unit_test(test_process_visit_being_reaped),
        cmocka_unit_test(test_process_visit_depths),
        cmocka_unit_test(test_process_visit_brief),
        cmocka_unit_test(test_process_visit_nobody_pays_for_what_nobody_wants),
        cmocka_unit_test(test_process_visit_zombie),
        cmocka_unit_test(test_process_visit_gone),
        cmocka_unit_test(test_process_visit_denied),
        cmocka_unit_test(test_process_visit_probe),
    };
    return RUN("source/proc/reader", tests);
}
