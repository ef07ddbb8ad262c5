/* SPDX-License-Identifier: MIT */
#include "source/gpu/helper.h"

#include "unit.h"

#include <signal.h>
#include <sys/wait.h>

static int sleep_on(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 100; i++)
        sleep(1);
    return 0;
}

static void test_list(void **state)
{
    struct gpu_helpers h;
    pid_t pids[GPU_HELPERS];
    gpu_helpers_init(&h);
    assert_false(gpu_helpers_has(&h, getpid()));
    for (unsigned i = 0; i < GPU_HELPERS; i++) {
        pids[i] = gpu_helpers_start(&h, sleep_on, NULL);
        assert_true(pids[i] > 0);
        assert_true(gpu_helpers_has(&h, pids[i]));
    }
    assert_int_equal(gpu_helpers_start(&h, sleep_on, NULL), -EAGAIN);
    for (unsigned i = 0; i < GPU_HELPERS; i++) {
        gpu_helpers_end(&h, pids[i]);
        assert_int_equal(kill(pids[i], 0), -1);
        assert_true(gpu_helpers_has(&h, pids[i]));
    }
    gpu_helpers_done(&h);
}

static int say_seven(void *arg)
{
    return *(int *)arg;
}

static void test_its_word_is_its_status(void **state)
{
    struct gpu_helpers h;
    int seven = 7, status;
    gpu_helpers_init(&h);
    pid_t pid = gpu_helpers_start(&h, say_seven, &seven);
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
    gpu_helpers_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_its_word_is_its_status),
    };
    return RUN("gpu_helpers", tests);
}
