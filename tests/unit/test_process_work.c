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

static int read_stat(struct fixture *f)
{
    return process_read_stat(&f->p.reader, &f->source, &f->process, DEPTH_CHANGE);
}

static int read_io(struct fixture *f, enum process_depth depth)
{
    return process_read_io(&f->p.reader, &f->source, &f->process, depth);
}

static void test_stat(void **state)
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

static void test_stat_of_a_reused_pid(void **state)
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

static void test_stat_gone_and_garbled(void **state)
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

static void test_longest_name(void **state)
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
static void test_zombie_has_no_memory(void **state)
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
static void test_ending_without_memory(void **state)
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
static void test_main_thread_has_ended(void **state)
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
    end(&f);
}

static void test_io_with_what_was_reaped(void **state)
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
static void test_io_without_children(void **state)
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
static void test_io_of_a_child_just_reaped(void **state)
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

static void test_io_split(void **state)
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
static void test_io_split_is_conserved(void **state)
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

static void test_io_that_cannot_be_read_stays(void **state)
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
        cmocka_unit_test(test_stat),
        cmocka_unit_test(test_stat_of_a_reused_pid),
        cmocka_unit_test(test_stat_gone_and_garbled),
        cmocka_unit_test(test_longest_name),
        cmocka_unit_test(test_zombie_has_no_memory),
        cmocka_unit_test(test_ending_without_memory),
        cmocka_unit_test(test_main_thread_has_ended),
        cmocka_unit_test(test_io_with_what_was_reaped),
        cmocka_unit_test(test_io_without_children),
        cmocka_unit_test(test_io_of_a_child_just_reaped),
        cmocka_unit_test(test_io_split),
        cmocka_unit_test(test_io_split_is_conserved),
        cmocka_unit_test(test_io_that_cannot_be_read_stays),
    };
    return RUN("process_work", tests);
}
