/* SPDX-License-Identifier: MIT */
#include "proc_tree.h"
#include "source/proc/reader.h"

/* ---- process family ------------------------------------------------------------------------- */

enum { MOST = 20000 };

struct met {
    pid_t pids[MOST];
    size_t count;
};

static void meet(void *arg, pid_t pid)
{
    struct met *m = arg;
    assert_true(m->count < MOST);
    m->pids[m->count++] = pid;
}

static void test_process_family_children(void **state)
{
    struct proc_reader p;
    struct process_source s;
    struct met met = {0};
    proc_open(&p);
    process_source_init(&s);
    assert_false(process_lists_children(&p.reader, 7));
    assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), -ENOENT);
    proc_children(&p.tree, 7, 7, "");
    assert_true(process_lists_children(&p.reader, 7));
    assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
    assert_int_equal(met.count, 0);
    proc_children(&p.tree, 7, 7, "12 345 6789 ");
    for (int i = 0; i < 3; i++) {
        met.count = 0;
        assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
        assert_int_equal(met.count, 3);
        assert_int_equal(met.pids[0], 12);
        assert_int_equal(met.pids[2], 6789);
        assert_int_equal(p.reader.cache.used, 1); /* kept, once */
    }
    process_source_done(&s, &p.reader);
    proc_close(&p);
}

/* Each thread lists what it made itself. */
static void test_process_family_children_of_threads(void **state)
{
    struct proc_reader p;
    struct process_source s;
    struct met met = {0};
    proc_open(&p);
    process_source_init(&s);
    s.threads = 3;
    proc_children(&p.tree, 7, 7, "12 ");
    proc_children(&p.tree, 7, 8, "13 14 ");
    proc_children(&p.tree, 7, 9, "");
    assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
    assert_int_equal(met.count, 3);
    assert_int_equal(met.pids[0] + met.pids[1] + met.pids[2], 39);
    assert_int_equal(p.reader.cache.used, 0);
    process_source_done(&s, &p.reader);
    proc_close(&p);
}

/* Longer than the buffer: a number that a piece cuts is still one number. Every width, so that
 * every place of the cut comes up. */
static void test_process_family_many_children(void **state)
{
    static struct met met;
    static char text[MOST * 8];
    struct proc_reader p;
    struct process_source s;
    proc_open(&p);
    for (int first = 1; first <= 1000000; first *= 10) {
        size_t length = 0;
        int count = first == 1 ? 15000 : 5003;
        for (int i = 0; i < count; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, "%d ", first + i);
        proc_children(&p.tree, 7, 7, text);
        process_source_init(&s);
        met.count = 0;
        assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
        assert_int_equal(met.count, count);
        for (int i = 0; i < count; i++)
            assert_int_equal(met.pids[i], first + i);
        process_source_done(&s, &p.reader);
    }
    proc_close(&p);
}

/* Also when the text ends with a digit, exactly at the end of the buffer or near it. */
static void test_process_family_last_child_without_blank(void **state)
{
    static struct met met;
    static char text[PROCESS_TEXT_BYTES * 2 + 32];
    struct proc_reader p;
    struct process_source s;
    proc_open(&p);
    for (size_t length = PROCESS_TEXT_BYTES - 8; length < PROCESS_TEXT_BYTES + 8; length++) {
        for (size_t i = 0; i < length; i++)
            text[i] = i % 2 ? ' ' : '5';
        memcpy(text + length - 5, " 1234", 5);
        text[length] = '\0';
        proc_children(&p.tree, 7, 7, text);
        process_source_init(&s);
        met.count = 0;
        assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
        assert_int_equal(met.count, (length - 5 + 1) / 2 + 1);
        assert_int_equal(met.pids[0], 5);
        assert_int_equal(met.pids[met.count - 1], 1234);
        process_source_done(&s, &p.reader);
    }
    proc_close(&p);
}

static void test_process_family_garbage(void **state)
{
    static struct met met;
    static char text[PROCESS_TEXT_BYTES * 3];
    struct proc_reader p;
    struct process_source s;
    proc_open(&p);
    process_source_init(&s);
    proc_children(&p.tree, 7, 7, "12 x 13 ");
    met.count = 0;
    process_children(&p.reader, &s, 7, meet, &met);
    assert_int_equal(met.count, 1);
    process_source_done(&s, &p.reader);
    memset(text, 'x', sizeof text - 1);
    proc_children(&p.tree, 7, 7, text);
    assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), -EBADMSG);
    assert_int_equal(met.count, 1);
    process_source_done(&s, &p.reader);
    proc_close(&p);
}

static void test_process_family_parent(void **state)
{
    struct proc_reader p;
    proc_open(&p);
    proc_stat(&p.tree, &(struct proc_facts){.pid = 7, .parent = 3});
    assert_int_equal(process_parent(&p.reader, 7), 3);
    assert_int_equal(process_parent(&p.reader, 8), -ENOENT);
    proc_write(&p.tree, 8, "stat", "8 (x");
    assert_int_equal(process_parent(&p.reader, 8), -EBADMSG);
    proc_close(&p);
}

static void test_process_family_leaving(void **state)
{
    struct proc_reader p;
    proc_open(&p);
    proc_stat(&p.tree, &(struct proc_facts){.pid = 7, .parent = 3});
    assert_false(process_is_leaving(&p.reader, 7));
    assert_true(process_is_leaving(&p.reader, 8));
    proc_write(&p.tree, 8, "stat", "8 (x");
    assert_true(process_is_leaving(&p.reader, 8));
    proc_write(&p.tree, 8, "stat",
               "8 (x) R 1 8 8 0 -1 4194308 1 0 0 0 0 0 0 0 20 0 1 0 77 0 0 0 0\n");
    assert_true(process_is_leaving(&p.reader, 8));
    proc_close(&p);
}

static void test_process_family_scan(void **state)
{
    struct proc_reader p;
    struct met met = {0};
    proc_open(&p);
    for (int pid = 1; pid <= 300; pid++)
        proc_write(&p.tree, pid, "comm", "");
    tree_write(&p.tree, "proc/sys/kernel/x", "");
    tree_write(&p.tree, "proc/12x/comm", "");
    for (int i = 0; i < 2; i++) {
        met.count = 0;
        int sum = 0;
        assert_int_equal(process_scan(&p.reader, meet, &met), 0);
        assert_int_equal(met.count, 300);
        for (size_t k = 0; k < met.count; k++)
            sum += met.pids[k];
        assert_int_equal(sum, 301 * 150);
    }
    proc_close(&p);
}

/* ---- process refresh ------------------------------------------------------------------------ */

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

static void test_process_refresh_status(void **state)
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

static void test_process_refresh_ignored_sigchld(void **state)
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
static void test_process_refresh_ignored_sigchld_of_an_init_that_ends(void **state)
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
static void test_process_refresh_old_kernel(void **state)
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
static void test_process_refresh_no_memory(void **state)
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

static void test_process_refresh_waits_of_the_only_thread(void **state)
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

static void test_process_refresh_waits_of_all_threads(void **state)
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
static void test_process_refresh_waits_with_a_thread_that_ends(void **state)
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

static void test_process_refresh_open_files(void **state)
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

static void test_process_refresh_open_files_live(void **state)
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

static void test_process_refresh_rollup(void **state)
{
    struct fixture f;
    begin(&f);
    proc_write(&f.p.tree, 7, "smaps_rollup", rollup);
    assert_int_equal(READ(&f, rollup), 0);
    assert_value(&f.process.own, process_memory_pss_bytes, 60 * 1024);
    assert_value(&f.process.own, process_memory_uss_bytes, 40 * 1024);
    end(&f);
}

/* PSS is of the moment of RSS: memory that grew between the two files is in both, and what shrank
 * since is in neither. */
static void test_process_rollup_and_rss(void **state)
{
    struct fixture f;
    begin(&f);
    f.p.reader.page_bytes = 4096;
    struct proc_facts facts = {.pid = 7, .rss_pages = 10, .virtual_bytes = 1 << 20};
    proc_stat(&f.p.tree, &facts);
    proc_write(&f.p.tree, 7, "smaps_rollup", rollup);
    assert_int_equal(process_read_stat(&f.p.reader, &f.source, &f.process, DEPTH_CHANGE), 0);
    assert_value(&f.process.own, process_memory_rss_bytes, 40 * 1024);
    assert_int_equal(READ(&f, rollup), 0);
    assert_value(&f.process.own, process_memory_pss_bytes, 60 * 1024);
    assert_value(&f.process.own, process_memory_rss_bytes, 100 * 1024);
    facts.rss_pages = 5;
    proc_stat(&f.p.tree, &facts);
    assert_int_equal(process_read_stat(&f.p.reader, &f.source, &f.process, DEPTH_CHANGE), 0);
    assert_value(&f.process.own, process_memory_rss_bytes, 20 * 1024);
    assert_value(&f.process.own, process_memory_pss_bytes, 20 * 1024);
    assert_value(&f.process.own, process_memory_uss_bytes, 20 * 1024);
    end(&f);
}

/* A process that has ended meanwhile has no memory; only when the process is there and the file is
 * not, the kernel does not have it. */
static void test_process_refresh_no_rollup(void **state)
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

/* ---- process work --------------------------------------------------------------------------- */

static int read_stat(struct fixture *f)
{
    return process_read_stat(&f->p.reader, &f->source, &f->process, DEPTH_CHANGE);
}

static int read_io(struct fixture *f, enum process_depth depth)
{
    return process_read_io(&f->p.reader, &f->source, &f->process, depth);
}

static void test_process_work_stat(void **state)
{
    struct fixture f;
    begin(&f);
    struct proc_facts facts = {
        .pid = 7,
        .parent = 3,
        .name = "a) (b",
        .state = 'R',
        .user = 12,
        .system = 3,
        .children_user = 40,
        .children_system = 2,
        .threads = 5,
        .start = 1000,
        .virtual_bytes = 1 << 20,
        .rss_pages = 100,
        .minor = 11,
        .children_minor = 22,
        .major = 1,
        .children_major = 2,
    };
    proc_stat(&f.p.tree, &facts);
    assert_int_equal(read_stat(&f), 0);
    const struct process *p = &f.process;
    assert_string_equal(p->entity.name, "a) (b");
    assert_int_equal(p->entity.parent, 3);
    assert_int_equal(p->entity.start_ticks, 1000);
    assert_int_equal(p->state, 'R');
    assert_int_equal(f.source.threads, 5);
    assert_value(&p->own, process_cpu_user_seconds, 120000000);
    assert_value(&p->own, process_cpu_system_seconds, 30000000);
    assert_value(&p->own, process_cpu_seconds, 150000000);
    assert_int_equal(inherited_u64(&p->inherited, process_cpu_seconds), 420000000);
    assert_value(&p->own, process_faults_minor_count, 11);
    assert_int_equal(inherited_u64(&p->inherited, process_faults_minor_count), 22);
    assert_value(&p->own, process_faults_major_count, 1);
    assert_int_equal(inherited_u64(&p->inherited, process_faults_major_count), 2);
    assert_value(&p->own, process_memory_rss_bytes, 409600);
    assert_value(&p->own, process_memory_virtual_bytes, 1 << 20);
    assert_value(&p->own, process_threads_count, 5);
    assert_unknown(&p->own, process_memory_pss_bytes);
    assert_false(inherited_has(&p->inherited, process_memory_rss_bytes));
    end(&f);
}

static void test_process_work_stat_of_a_reused_pid(void **state)
{
    struct fixture f;
    begin(&f);
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .parent = 3, .start = 1000, .user = 9});
    assert_int_equal(read_stat(&f), 0);
    struct process before = f.process;
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .parent = 4, .start = 1001, .user = 1});
    assert_int_equal(read_stat(&f), -ESRCH);
    assert_memory_equal(&before, &f.process, sizeof before); /* nothing of the stranger */
    end(&f);
}

static void test_process_work_stat_gone_and_garbled(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(read_stat(&f), -ESRCH); /* no file is no process */
    proc_write(&f.p.tree, 7, "stat", "7 (job) S 3 garbage");
    assert_int_equal(read_stat(&f), -EBADMSG);
    assert_int_equal(f.process.state, 0);
    assert_true(f.process.own.present == 0);
    end(&f);
}

static void test_process_work_longest_name(void **state)
{
    struct fixture f;
    begin(&f);
    char name[100];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .name = name});
    assert_int_equal(read_stat(&f), 0);
    assert_int_equal(strlen(f.process.entity.name), ENTITY_NAME_BYTES - 1);
    end(&f);
}

/* What was known becomes nothing; what was not known stays unknown. */
static void test_process_work_zombie_has_no_memory(void **state)
{
    struct fixture f;
    begin(&f);
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .rss_pages = 9, .threads = 4});
    assert_int_equal(read_stat(&f), 0);
    assert_false(f.process.has_ended);
    row_put_u64(&f.process.own, process_memory_pss_bytes, 5000);
    row_put_u64(&f.process.own, process_open_files_count, 3);
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .state = 'Z', .user = 5});
    assert_int_equal(read_stat(&f), 0);
    assert_true(f.process.has_ended);
    assert_value(&f.process.own, process_memory_pss_bytes, 0);
    assert_value(&f.process.own, process_open_files_count, 0);
    assert_value(&f.process.own, process_memory_rss_bytes, 0);
    assert_value(&f.process.own, process_threads_count, 0);
    assert_value(&f.process.own, process_cpu_user_seconds, 50000000);
    assert_unknown(&f.process.own, process_memory_uss_bytes);
    assert_unknown(&f.process.own, process_memory_swap_bytes);
    end(&f);
}

/* Past the point where memory is given back, but not a zombie yet. */
static void test_process_work_ending_without_memory(void **state)
{
    struct fixture f;
    begin(&f);
    proc_write(&f.p.tree, 7, "stat",
               "7 (job) R 1 7 7 0 -1 0 5 0 0 0 3 1 0 0 20 0 1 0 100 0 0 18446744073709551615 0\n");
    assert_int_equal(read_stat(&f), 0);
    assert_true(f.process.has_ended);
    assert_value(&f.process.own, process_cpu_user_seconds, 30000000);
    assert_unknown(&f.process.own, process_memory_rss_bytes); /* never seen with any */
    assert_unknown(&f.process.own, process_memory_virtual_bytes);
    end(&f);
}

/* Others of its threads go on: it has not ended. */
static void test_process_work_main_thread_has_ended(void **state)
{
    struct fixture f;
    begin(&f);
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .rss_pages = 9, .threads = 4});
    assert_int_equal(read_stat(&f), 0);
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .state = 'Z', .threads = 3});
    assert_int_equal(read_stat(&f), 0);
    assert_false(f.process.has_ended);
    assert_value(&f.process.own, process_memory_rss_bytes, 9 * 4096);
    assert_value(&f.process.own, process_threads_count, 3);
    /* One that has ended shows nothing either; the next has the memory of all. */
    proc_write(&f.p.tree, 7, "task/8/statm", "0 0 0 0 0 0 0\n");
    proc_write(&f.p.tree, 7, "task/9/statm", "500 50 3 1 0 9 0\n");
    assert_int_equal(read_stat(&f), 0);
    assert_int_equal(f.source.living_thread, 9);
    assert_value(&f.process.own, process_memory_rss_bytes, 50 * 4096);
    assert_value(&f.process.own, process_memory_virtual_bytes, 500 * 4096);
    assert_int_equal(READ(&f, rollup), -ENOENT);
    assert_false(f.p.reader.no_rollup); /* that of the thread is not there */
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .rss_pages = 4, .threads = 1});
    assert_int_equal(read_stat(&f), 0); /* a thread took over the process */
    assert_int_equal(f.source.living_thread, 0);
    assert_value(&f.process.own, process_memory_rss_bytes, 4 * 4096);
    end(&f);
}

static void test_process_work_io_with_what_was_reaped(void **state)
{
    struct fixture f;
    begin(&f);
    proc_io(&f.p.tree, 7, "io", 1000, 500);
    assert_int_equal(read_io(&f, DEPTH_CHANGE), 0);
    assert_value(&f.process.own, process_io_read_bytes, 1000);
    assert_value(&f.process.own, process_io_written_bytes, 500);
    assert_value(&f.process.own, process_io_read_calls_count, 100);
    assert_value(&f.process.own, process_io_write_calls_count, 50);
    assert_value(&f.process.own, process_storage_read_bytes, 500);
    assert_value(&f.process.own, process_storage_written_bytes, 250);
    assert_value(&f.process.own, process_storage_cancelled_bytes, 0);
    assert_false(inherited_has(&f.process.inherited, process_io_read_bytes));
    end(&f);
}

/* It has reaped nobody, so nobody's I/O is in its file but its own. */
static void test_process_work_io_without_children(void **state)
{
    struct fixture f;
    begin(&f);
    f.process.splits_io = true;
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .parent = 3, .start = 1000});
    assert_int_equal(read_stat(&f), 0);
    proc_io(&f.p.tree, 7, "io", 1000, 500);
    assert_int_equal(read_io(&f, DEPTH_CHANGE), 0);
    assert_value(&f.process.own, process_io_read_bytes, 1000);
    assert_int_equal(inherited_u64(&f.process.inherited, process_io_read_bytes), 0);
    end(&f);
}

/* The first child was reaped between the two files: what it did is not taken for the process's. */
static void test_process_work_io_of_a_child_just_reaped(void **state)
{
    struct fixture f;
    begin(&f);
    f.process.splits_io = true;
    proc_stat(&f.p.tree, &(struct proc_facts){.pid = 7, .parent = 3, .start = 1000});
    assert_int_equal(read_stat(&f), 0);
    proc_stat(&f.p.tree,
              &(struct proc_facts){.pid = 7, .parent = 3, .start = 1000, .children_minor = 80});
    proc_io(&f.p.tree, 7, "io", 1000, 500);
    proc_io(&f.p.tree, 7, "task/7/io", 300, 500);
    assert_int_equal(read_io(&f, DEPTH_CHANGE), 0);
    assert_value(&f.process.own, process_io_read_bytes, 300);
    assert_int_equal(inherited_u64(&f.process.inherited, process_io_read_bytes), 700);
    end(&f);
}

static void test_process_work_io_split(void **state)
{
    struct fixture f;
    begin(&f);
    f.process.splits_io = true;
    inherited_put(&f.process.inherited, process_faults_minor_count, 1);
    proc_io(&f.p.tree, 7, "io", 1000, 500);
    proc_io(&f.p.tree, 7, "task/7/io", 300, 500);
    assert_int_equal(read_io(&f, DEPTH_CHANGE), 0);
    assert_value(&f.process.own, process_io_read_bytes, 300);
    assert_int_equal(inherited_u64(&f.process.inherited, process_io_read_bytes), 700);
    assert_value(&f.process.own, process_io_written_bytes, 500);
    assert_int_equal(inherited_u64(&f.process.inherited, process_io_written_bytes), 0);

    /* Threads are summed up, many of them only at a refresh. */
    f.source.threads = 17;
    proc_io(&f.p.tree, 7, "io", 2000, 500);
    proc_io(&f.p.tree, 7, "task/8/io", 900, 0);
    assert_int_equal(read_io(&f, DEPTH_CHANGE), 0);
    assert_value(&f.process.own, process_io_read_bytes, 300);
    assert_int_equal(inherited_u64(&f.process.inherited, process_io_read_bytes), 1700);
    assert_int_equal(read_io(&f, DEPTH_REFRESH), 0);
    assert_value(&f.process.own, process_io_read_bytes, 1200);
    assert_int_equal(inherited_u64(&f.process.inherited, process_io_read_bytes), 800);

    /* A thread has ended: its share is not forgotten. */
    tree_unlink(&f.p.tree, "proc/7/task/8/io");
    assert_int_equal(read_io(&f, DEPTH_REFRESH), -ENODATA); /* and it is no longer told apart */
    assert_value(&f.process.own, process_io_read_bytes, 1200);
    end(&f);
}

/* The threads' files are read after the whole: they may be ahead of it. The parts still make the
 * whole. */
static void test_process_work_io_split_is_conserved(void **state)
{
    struct fixture f;
    begin(&f);
    f.process.splits_io = true;
    inherited_put(&f.process.inherited, process_faults_minor_count, 1);
    uint64_t seed = 1, whole = 0;
    for (int i = 0; i < 200; i++) {
        whole += random_below(&seed, 1000);
        proc_io(&f.p.tree, 7, "io", whole, whole);
        proc_io(&f.p.tree, 7, "task/7/io", random_below(&seed, whole + 500), whole + 10);
        assert_int_equal(read_io(&f, DEPTH_CHANGE), 0);
        assert_int_equal(row_u64(&f.process.own, process_io_read_bytes) +
                             inherited_u64(&f.process.inherited, process_io_read_bytes),
                         whole);
        assert_value(&f.process.own, process_io_written_bytes, whole);
    }
    end(&f);
}

static void test_process_work_io_that_cannot_be_read_stays(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(read_io(&f, DEPTH_CHANGE), -ENOENT);
    assert_unknown(&f.process.own, process_io_read_bytes);
    proc_io(&f.p.tree, 7, "io", 1000, 500);
    assert_int_equal(read_io(&f, DEPTH_CHANGE), 0);
    proc_write(&f.p.tree, 7, "io", "rchar: 5\n");
    assert_int_equal(read_io(&f, DEPTH_CHANGE), -EBADMSG);
    assert_value(&f.process.own, process_io_read_bytes, 1000);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_family_children),
        cmocka_unit_test(test_process_family_children_of_threads),
        cmocka_unit_test(test_process_family_many_children),
        cmocka_unit_test(test_process_family_last_child_without_blank),
        cmocka_unit_test(test_process_family_garbage),
        cmocka_unit_test(test_process_family_parent),
        cmocka_unit_test(test_process_family_leaving),
        cmocka_unit_test(test_process_family_scan),
        cmocka_unit_test(test_process_refresh_status),
        cmocka_unit_test(test_process_refresh_ignored_sigchld),
        cmocka_unit_test(test_process_refresh_ignored_sigchld_of_an_init_that_ends),
        cmocka_unit_test(test_process_refresh_old_kernel),
        cmocka_unit_test(test_process_refresh_no_memory),
        cmocka_unit_test(test_process_refresh_waits_of_the_only_thread),
        cmocka_unit_test(test_process_refresh_waits_of_all_threads),
        cmocka_unit_test(test_process_refresh_waits_with_a_thread_that_ends),
        cmocka_unit_test(test_process_refresh_open_files),
        cmocka_unit_test(test_process_refresh_open_files_live),
        cmocka_unit_test(test_process_refresh_rollup),
        cmocka_unit_test(test_process_rollup_and_rss),
        cmocka_unit_test(test_process_refresh_no_rollup),
        cmocka_unit_test(test_process_work_stat),
        cmocka_unit_test(test_process_work_stat_of_a_reused_pid),
        cmocka_unit_test(test_process_work_stat_gone_and_garbled),
        cmocka_unit_test(test_process_work_longest_name),
        cmocka_unit_test(test_process_work_zombie_has_no_memory),
        cmocka_unit_test(test_process_work_ending_without_memory),
        cmocka_unit_test(test_process_work_main_thread_has_ended),
        cmocka_unit_test(test_process_work_io_with_what_was_reaped),
        cmocka_unit_test(test_process_work_io_without_children),
        cmocka_unit_test(test_process_work_io_of_a_child_just_reaped),
        cmocka_unit_test(test_process_work_io_split),
        cmocka_unit_test(test_process_work_io_split_is_conserved),
        cmocka_unit_test(test_process_work_io_that_cannot_be_read_stays),
    };
    return RUN("source/proc/process", tests);
}
