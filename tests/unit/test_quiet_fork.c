/* SPDX-License-Identifier: MIT */
#include "base/quiet_fork.h"

#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_nobody_waits_for_it(void **state)
{
    pid_t pid = quiet_fork();
    if (pid == 0)
        _exit(3);
    assert_true(pid > 0);
    assert_int_equal(waitpid(-1, NULL, 0), -1); /* it is none of these children */
    assert_int_equal(errno, ECHILD);
    int status;
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void test_end(void **state)
{
    pid_t pid = quiet_fork();
    if (pid == 0)
        for (;;)
            pause();
    quiet_fork_end(pid);
    assert_int_equal(waitpid(pid, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(kill(pid, 0), -1);
}

/* Nobody waits for the end of a pipe that it holds. */
static void test_close_all_but(void **state)
{
    int kept[2], other[2];
    char c;
    assert_int_equal(pipe(kept), 0);
    assert_int_equal(pipe(other), 0);
    pid_t pid = quiet_fork();
    if (pid == 0) {
        quiet_fork_close_all_but(kept[1]);
        if (write(kept[1], "x", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    close(other[1]);
    assert_int_equal(read(kept[0], &c, 1), 1);  /* it has this one … */
    assert_int_equal(read(other[0], &c, 1), 0); /* … and not that */
    quiet_fork_end(pid);
    close(kept[0]);
    close(kept[1]);
    close(other[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_waits_for_it),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_close_all_but),
    };
    return RUN("quiet_fork", tests);
}
