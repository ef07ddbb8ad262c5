/* SPDX-License-Identifier: MIT */
#include "source/proc/own.h"

#include "base/clock.h"
#include "tree.h"

#include <fcntl.h>
#include <sys/wait.h>

static void test_figures(void **state)
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

static void test_what_is_asked_for(void **state)
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
static void test_closed_behind_our_back(void **state)
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

static void test_a_fork_has_none(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_what_is_asked_for),
        cmocka_unit_test(test_closed_behind_our_back),
        cmocka_unit_test(test_a_fork_has_none),
    };
    return RUN("own_figures", tests);
}
