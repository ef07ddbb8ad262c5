/* SPDX-License-Identifier: MIT */
#include "source/proc/reader.h"

#include "proc_tree.h"

#include <sys/resource.h>

static void test_units_of_a_recorded_machine(void **state)
{
    struct proc_reader p;
    proc_open(&p);
    assert_int_equal(p.reader.ns_per_tick, 10000000);
    assert_int_equal(p.reader.page_bytes, 4096);
    assert_false(p.reader.has_clock); /* its pids are not ours */
    assert_false(p.reader.fd_dir_has_size);
    proc_close(&p);
}

static void test_live_units(void **state)
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

static void test_read_once_leaves_nothing_open(void **state)
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

static void test_kept_descriptor_sees_changes(void **state)
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

static void test_nothing_is_kept_of_what_cannot_be_read(void **state)
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
static void test_out_of_descriptors(void **state)
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

static void test_threads(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_of_a_recorded_machine),
        cmocka_unit_test(test_live_units),
        cmocka_unit_test(test_read_once_leaves_nothing_open),
        cmocka_unit_test(test_kept_descriptor_sees_changes),
        cmocka_unit_test(test_nothing_is_kept_of_what_cannot_be_read),
        cmocka_unit_test(test_out_of_descriptors),
        cmocka_unit_test(test_threads),
    };
    return RUN("process_reader", tests);
}
