/* SPDX-License-Identifier: MIT */
#include "source/proc/own.h"
#include "base/clock.h"
#include "tree.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

/* ---- own thread ----------------------------------------------------------------------------- */

static void burn(uint64_t ns)
{
    uint64_t until = clock_thread_cpu() + ns;
    while (clock_thread_cpu() < until)
        ;
}

static struct row whole_program(void)
{
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, clock_own_cpu());
    row_put_u64(&row, process_threads_count, 2);
    return row;
}

static void *sampler(void *arg)
{
    struct own_thread own;
    own_thread_begin(&own, 1);
    burn(20 * NS_PER_MS);
    uint64_t used = clock_thread_cpu();
    struct row row = whole_program();
    uint64_t whole = row_u64(&row, process_cpu_seconds);
    own_thread_leave_out(&own, &row);
    uint64_t left = row_u64(&row, process_cpu_seconds);
    /* The kernel's usage is cut to microseconds, twice. */
    *(bool *)arg = left + used <= whole + 2 * NS_PER_US &&
                   row_u64(&row, process_threads_count) == 1 &&
                   !row_has(&row, process_cpu_user_seconds);
    own_thread_done(&own);
    return NULL;
}

/* What this thread used is gone from the program's figures; what is unknown stays so. */
static void test_own_thread_cpu(void **state)
{
    bool is_right = false;
    pthread_t thread;
    unsigned fds = tree_open_fds();
    assert_int_equal(pthread_create(&thread, NULL, sampler, &is_right), 0);
    pthread_join(thread, NULL);
    assert_true(is_right);
    assert_int_equal(tree_open_fds(), fds);
}

/* The program is this thread alone: nothing is left, whatever it reads. */
static void test_own_thread_io(void **state)
{
    struct own_thread own;
    own_thread_begin(&own, 1);
    if (own.io < 0)
        return;
    char text[512];
    int io = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
    ssize_t n = pread(io, text, sizeof text - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
    struct row row;
    row_init(&row, ENTITY_PROCESS);
    unsigned long long bytes = 0, calls = 0;
    assert_int_equal(sscanf(text, "rchar: %llu wchar: %*u syscr: %llu", &bytes, &calls), 2);
    row_put_u64(&row, process_io_read_bytes, bytes + 100);
    row_put_u64(&row, process_io_read_calls_count, calls);
    own_thread_leave_out_io(&own, &row, (uint64_t)n);
    assert_int_equal(row_u64(&row, process_io_read_bytes), 100);
    assert_int_equal(row_u64(&row, process_io_read_calls_count), 0);
    close(io);
    own_thread_done(&own);
}

static void test_own_thread_children(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        burn(5 * NS_PER_MS);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct inherited inherited = {0};
    own_thread_children(&inherited);
    assert_true(inherited_u64(&inherited, process_cpu_seconds) >= 5 * NS_PER_MS);
}

static void test_own_thread_nobody_measures_himself(void **state)
{
    struct own_thread own = {0};
    bool was_open = fcntl(0, F_GETFD) >= 0;
    own_thread_done(&own); /* descriptor 0 is not its own */
    assert_int_equal(fcntl(0, F_GETFD) >= 0, was_open);
}

/* ---- own figures ---------------------------------------------------------------------------- */

static void test_own_figures_figures(void **state)
{
    struct own_figures own;
    struct row row;
    unsigned fds = tree_open_fds();
    own_figures_open(&own);
    uint64_t before = clock_own_cpu();
    assert_int_equal(own_figures_read(&own, ~UINT64_C(0), &row), 0);
    /* The kernel's usage is in microseconds. */
    assert_true(row_u64(&row, process_cpu_seconds) + NS_PER_US >= before);
    assert_true(row_u64(&row, process_cpu_seconds) <= clock_own_cpu() + NS_PER_US);
    assert_true(row_u64(&row, process_memory_rss_bytes) > 0);
    assert_int_equal(row_u64(&row, process_threads_count), 1);
    if (own.counts_files) {
        uint64_t open_files = row_u64(&row, process_open_files_count);
        /* Without those that are kept to look; the list had itself, "." and "..". */
        assert_int_equal(open_files, fds - 3);
        int one_more = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_int_equal(own_figures_read(&own, ~UINT64_C(0), &row), 0);
        assert_int_equal(row_u64(&row, process_open_files_count), open_files + 1);
        close(one_more);
    }
    own_figures_close(&own);
    assert_int_equal(tree_open_fds(), fds);
}

static void test_own_figures_what_is_asked_for(void **state)
{
    struct own_figures own;
    struct row row;
    own_figures_open(&own);
    assert_int_equal(own_figures_read(&own, BIT(process_memory_rss_bytes), &row), 0);
    assert_true(row_has(&row, process_memory_rss_bytes));
    assert_false(row_has(&row, process_cpu_seconds));
    assert_false(row_has(&row, process_io_read_bytes));
    assert_true(own_figures_give(BIT(process_memory_rss_bytes) | BIT(process_cpu_seconds)));
    assert_false(own_figures_give(BIT(process_memory_pss_bytes)));
    own_figures_close(&own);
}

/* The program may close what is open, and open something else under the number. */
static void test_own_figures_closed_behind_our_back(void **state)
{
    struct own_figures own;
    struct row row;
    unsigned fds = tree_open_fds();
    own_figures_open(&own);
    int taken[] = {own.statm.fd, own.io.fd, own.tasks.fd, own.files.fd};
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        close(taken[i]);
    int other = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (taken[i] != other)
            assert_int_equal(dup2(other, taken[i]), taken[i]);
    assert_int_equal(own_figures_read(&own, ~UINT64_C(0), &row), 0);
    assert_true(row_u64(&row, process_memory_rss_bytes) > 0);
    assert_true(row_u64(&row, process_io_read_calls_count) > 0);
    assert_int_equal(row_u64(&row, process_threads_count), 1);
    own_figures_close(&own);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        assert_int_equal(close(taken[i]), 0);
    assert_int_equal(tree_open_fds(), fds);
}

static void test_own_figures_a_fork_has_none(void **state)
{
    struct own_figures own;
    struct row row;
    own_figures_open(&own);
    pid_t child = fork();
    if (child == 0)
        _exit(own_figures_read(&own, ~UINT64_C(0), &row) == -ESRCH ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    own_figures_close(&own);
}

/* ---- self ----------------------------------------------------------------------------------- */

static void test_self_live(void **state)
{
    struct sysroot root;
    struct row row;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    row_init(&row, ENTITY_SELF);
    self_collect(&root, clock_own_cpu(), &row, false);
    assert_true(row_has(&row, self_cpu_seconds));
    assert_false(row_has(&row, self_memory_rss_bytes)); /* not asked for */
    uint64_t before = row_u64(&row, self_cpu_seconds);
    unsigned fds = tree_open_fds();
    self_collect(&root, clock_own_cpu(), &row, true);
    assert_int_equal(tree_open_fds(), fds);
    assert_true(row_u64(&row, self_cpu_seconds) >= before);
    assert_true(row_u64(&row, self_cpu_seconds) <= clock_own_cpu());
    uint64_t rss = row_u64(&row, self_memory_rss_bytes);
    assert_true(rss > 100000 && rss % (uint64_t)sysconf(_SC_PAGESIZE) == 0);
    sysroot_close(&root);
}

static void test_self_a_replay_costs_nothing(void **state)
{
    struct tree tree;
    struct sysroot root;
    struct row row;
    tree_make(&tree);
    tree_write(&tree, "proc/self/statm", "1 2 3 4 5 6 7\n");
    assert_int_equal(sysroot_open(&root, tree.path, NULL), 0);
    row_init(&row, ENTITY_SELF);
    self_collect(&root, 0, &row, true);
    assert_true(row.present == 0);
    sysroot_close(&root);
    tree_remove(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_thread_cpu),
        cmocka_unit_test(test_own_thread_io),
        cmocka_unit_test(test_own_thread_children),
        cmocka_unit_test(test_own_thread_nobody_measures_himself),
        cmocka_unit_test(test_own_figures_figures),
        cmocka_unit_test(test_own_figures_what_is_asked_for),
        cmocka_unit_test(test_own_figures_closed_behind_our_back),
        cmocka_unit_test(test_own_figures_a_fork_has_none),
        cmocka_unit_test(test_self_live),
        cmocka_unit_test(test_self_a_replay_costs_nothing),
    };
    return RUN("source/proc/own", tests);
}
