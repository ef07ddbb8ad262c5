/* SPDX-License-Identifier: MIT */
#include "proc_tree.h"

struct fixture {
    struct proc_reader p;
    struct process process;
    struct process_source source;
};

static void begin(struct fixture *f)
{
    proc_open(&f->p);
    proc_begin(&f->process, &f->source, 7);
}

static void end(struct fixture *f)
{
    process_source_done(&f->source, &f->p.reader);
    proc_close(&f->p);
}

#define READ(f, file)                                                                              \
    process_read_##file(&(f)->p.reader, &(f)->source, &(f)->process, DEPTH_REFRESH)

static void put_status(struct fixture *f, const char *memory, const char *ignored)
{
    char text[1024];
    snprintf(text, sizeof text,
             "Name:\tjob\n%sSigIgn:\t%s\nvoluntary_ctxt_switches:\t15\n"
             "nonvoluntary_ctxt_switches:\t4\n",
             memory, ignored);
    proc_write(&f->p.tree, 7, "status", text);
}

static void test_status(void **state)
{
    struct fixture f;
    begin(&f);
    put_status(
        &f,
        "VmHWM:\t 200 kB\nVmRSS:\t 100 kB\nRssFile:\t 30 kB\nRssShmem:\t 5 kB\nVmSwap:\t 7 kB\n",
        "0000000000000000");
    assert_int_equal(READ(&f, status), 0);
    assert_value(&f.process.own, process_memory_peak_bytes, 200 * 1024);
    assert_value(&f.process.own, process_memory_rss_bytes, 100 * 1024);
    assert_value(&f.process.own, process_memory_shared_bytes, 35 * 1024);
    assert_value(&f.process.own, process_memory_swap_bytes, 7 * 1024);
    assert_value(&f.process.own, process_switches_voluntary_count, 15);
    assert_value(&f.process.own, process_switches_involuntary_count, 4);
    assert_false(f.process.ignores_sigchld);
    end(&f);
}

static void test_ignored_sigchld(void **state)
{
    struct fixture f;
    begin(&f);
    put_status(&f, "", "0000000000010000");
    assert_int_equal(READ(&f, status), 0);
    assert_true(f.process.ignores_sigchld);
    put_status(&f, "", "fffffffffffeffff");
    assert_int_equal(READ(&f, status), 0);
    assert_false(f.process.ignores_sigchld);
    end(&f);
}

/* The kernel makes the init of a pid namespace ignore it while it ends, so that what is left in the
 * namespace is reaped: that says nothing of the children it had waited for. */
static void test_ignored_sigchld_of_an_init_that_ends(void **state)
{
    struct fixture f;
    begin(&f);
    put_status(&f, "NSpid:\t7\t1\n", "0000000000010000");
    assert_int_equal(READ(&f, status), 0);
    assert_true(f.process.is_namespace_init);
    assert_false(f.process.ignores_sigchld);
    end(&f);

    begin(&f);
    put_status(&f, "NSpid:\t7\t1\nVmHWM:\t 200 kB\nVmRSS:\t 100 kB\n", "0000000000010000");
    assert_int_equal(READ(&f, status), 0);
    assert_true(f.process.ignores_sigchld);
    put_status(&f, "NSpid:\t7\t1\n", "0000000000010000");
    assert_int_equal(READ(&f, status), 0);
    assert_true(f.process.ignores_sigchld);
    end(&f);
}

/* An old kernel does not tell the shared part: unknown, not 0. */
static void test_old_kernel(void **state)
{
    struct fixture f;
    begin(&f);
    put_status(&f, "VmHWM:\t 200 kB\nVmRSS:\t 100 kB\n", "0");
    assert_int_equal(READ(&f, status), 0);
    assert_value(&f.process.own, process_memory_peak_bytes, 200 * 1024);
    assert_unknown(&f.process.own, process_memory_shared_bytes);
    assert_unknown(&f.process.own, process_memory_swap_bytes);
    end(&f);
}

/* Ending, or a zombie: the lines are missing because there is no memory any more. */
static void test_no_memory(void **state)
{
    struct fixture f;
    begin(&f);
    row_put_u64(&f.process.own, process_memory_peak_bytes, 12345);
    put_status(&f, "", "0");
    assert_int_equal(READ(&f, status), 0);
    assert_true(f.process.has_ended);
    assert_unknown(&f.process.own, process_memory_shared_bytes);
    assert_unknown(&f.process.own, process_memory_swap_bytes);
    assert_value(&f.process.own, process_memory_peak_bytes, 12345);
    assert_unknown(&f.process.own, process_memory_rss_bytes);

    /* Its stat was read while it had some. */
    row_put_u64(&f.process.own, process_memory_rss_bytes, 4096);
    assert_int_equal(READ(&f, status), 0);
    assert_value(&f.process.own, process_memory_rss_bytes, 0);
    end(&f);
}

static void test_waits_of_the_only_thread(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(READ(&f, waits), -ENOENT);
    assert_unknown(&f.process.own, process_cpu_wait_seconds);
    proc_write(&f.p.tree, 7, "task/7/schedstat", "100 2000 3\n");
    proc_write(&f.p.tree, 7, "task/8/schedstat", "100 5000 3\n");
    assert_int_equal(READ(&f, waits), 0);
    assert_value(&f.process.own, process_cpu_wait_seconds, 2000);
    end(&f);
}

static void test_waits_of_all_threads(void **state)
{
    struct fixture f;
    begin(&f);
    f.source.threads = 2;
    proc_write(&f.p.tree, 7, "task/7/schedstat", "100 2000 3\n");
    proc_write(&f.p.tree, 7, "task/8/schedstat", "100 5000 3\n");
    assert_int_equal(READ(&f, waits), 0);
    assert_value(&f.process.own, process_cpu_wait_seconds, 7000);
    tree_unlink(&f.p.tree, "proc/7/task/8/schedstat");
    proc_write(&f.p.tree, 7, "task/7/schedstat", "100 2500 3\n");
    (void)READ(&f, waits);
    assert_value(&f.process.own, process_cpu_wait_seconds, 7000); /* never less than was seen */
    end(&f);
}

/* A thread that ends while the others are read does not make their times unknown. */
static void test_waits_with_a_thread_that_ends(void **state)
{
    struct fixture f;
    begin(&f);
    f.source.threads = 3;
    proc_write(&f.p.tree, 7, "task/7/schedstat", "100 2000 3\n");
    proc_write(&f.p.tree, 7, "task/8/comm", "\n");
    proc_write(&f.p.tree, 7, "task/9/schedstat", "100 5000 3\n");
    proc_write(&f.p.tree, 7, "task/10/comm", "\n");
    proc_write(&f.p.tree, 7, "task/6/comm", "\n");
    assert_int_equal(READ(&f, waits), 0);
    assert_value(&f.process.own, process_cpu_wait_seconds, 7000);
    end(&f);
}

static void test_open_files(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(READ(&f, open_files), -ENOENT);
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "fd/%d", i);
        proc_write(&f.p.tree, 7, name, "");
    }
    assert_int_equal(READ(&f, open_files), 0);
    assert_value(&f.process.own, process_open_files_count, 12);
    end(&f);
}

static void test_open_files_live(void **state)
{
    struct sysroot root;
    struct process_reader r;
    struct process p;
    struct process_source s;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    assert_int_equal(process_reader_init(&r, &root, 0), 0);
    proc_begin(&p, &s, getpid());
    assert_int_equal(process_read_open_files(&r, &s, &p, DEPTH_REFRESH), 0);
    uint64_t before = row_u64(&p.own, process_open_files_count);
    int more = dup(0);
    assert_int_equal(process_read_open_files(&r, &s, &p, DEPTH_REFRESH), 0);
    assert_value(&p.own, process_open_files_count, before + 1);
    close(more);
    process_reader_done(&r);
    sysroot_close(&root);
}

static const char rollup[] = "00400000-7ff 0 [rollup]\nRss:  100 kB\nPss:  60 kB\n"
                             "Private_Clean: 10 kB\nPrivate_Dirty: 30 kB\n";

static void test_rollup(void **state)
{
    struct fixture f;
    begin(&f);
    proc_write(&f.p.tree, 7, "smaps_rollup", rollup);
    assert_int_equal(READ(&f, rollup), 0);
    assert_value(&f.process.own, process_memory_pss_bytes, 60 * 1024);
    assert_value(&f.process.own, process_memory_uss_bytes, 40 * 1024);
    end(&f);
}

/* A process that has ended meanwhile has no memory; only when the process is there and the file is
 * not, the kernel does not have it. */
static void test_no_rollup(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(READ(&f, rollup), 0);
    assert_value(&f.process.own, process_memory_pss_bytes, 0);
    assert_false(f.p.reader.no_rollup);
    f.source.threads = 2; /* only its main thread has ended */
    f.process.own.present = 0;
    assert_int_equal(READ(&f, rollup), -ENOENT);
    assert_unknown(&f.process.own, process_memory_pss_bytes);
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7});
    assert_int_equal(READ(&f, rollup), -ENOENT);
    assert_true(f.p.reader.no_rollup);
    proc_write(&f.p.tree, 7, "smaps_rollup", rollup);
    assert_int_equal(READ(&f, rollup), -ENOENT); /* not asked again */
    assert_unknown(&f.process.own, process_memory_pss_bytes);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_ignored_sigchld),
        cmocka_unit_test(test_ignored_sigchld_of_an_init_that_ends),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_waits_of_the_only_thread),
        cmocka_unit_test(test_waits_of_all_threads),
        cmocka_unit_test(test_waits_with_a_thread_that_ends),
        cmocka_unit_test(test_open_files),
        cmocka_unit_test(test_open_files_live),
        cmocka_unit_test(test_rollup),
        cmocka_unit_test(test_no_rollup),
    };
    return RUN("process_refresh", tests);
}
