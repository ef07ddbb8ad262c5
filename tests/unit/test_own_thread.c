/* SPDX-License-Identifier: MIT */
#include "source/proc/own.h"

#include "base/clock.h"
#include "tree.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>

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
static void test_cpu(void **state)
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
static void test_io(void **state)
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

static void test_children(void **state)
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

static void test_nobody_measures_himself(void **state)
{
    struct own_thread own = {0};
    bool was_open = fcntl(0, F_GETFD) >= 0;
    own_thread_done(&own); /* descriptor 0 is not its own */
    assert_int_equal(fcntl(0, F_GETFD) >= 0, was_open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_io),
        cmocka_unit_test(test_children),
        cmocka_unit_test(test_nobody_measures_himself),
    };
    return RUN("own_thread", tests);
}
