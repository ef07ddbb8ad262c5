/* SPDX-License-Identifier: MIT */
#include "source/proc/visit.h"

#include "base/clock.h"
#include "proc_tree.h"

#include <signal.h>
#include <sys/wait.h>

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
static void test_being_reaped(void **state)
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

static void test_depths(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(process_probe(&f.p.reader, &f.source, &f.process), 1);
    assert_int_equal(visit(&f, DEPTH_CHANGE), 0);
    assert_true(f.process.own.present == given_by(COST_CHEAP));
    assert_true(f.process.fresh == given_by(COST_CHEAP));
    assert_int_equal(visit(&f, DEPTH_REFRESH), 0);
    assert_true(f.process.own.present == given_by(COST_REFRESH));
    assert_int_equal(process_visit_slow(&f.p.reader, &f.source, &f.process), 0);
    assert_true(f.process.own.present == given_by(COST_SLOW));
    assert_true(f.process.denied == 0);
    end(&f);
}

static void test_nobody_pays_for_what_nobody_wants(void **state)
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
static void test_zombie(void **state)
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

static void test_gone(void **state)
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
static void test_denied(void **state)
{
    if (geteuid() == 0) {
        pid_t child = fork();
        if (child == 0) {
            if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
                _exit(2);
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
        assert_int_equal(WEXITSTATUS(status), 0);
    } else {
        skip();
    }
}

/* Live: the clock says whether anything happened. */
static void test_probe(void **state)
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
        cmocka_unit_test(test_being_reaped),
        cmocka_unit_test(test_depths),
        cmocka_unit_test(test_nobody_pays_for_what_nobody_wants),
        cmocka_unit_test(test_zombie),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_denied),
        cmocka_unit_test(test_probe),
    };
    return RUN("process_visit", tests);
}
