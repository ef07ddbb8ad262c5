/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include "base/clock.h"
#include "unit.h"

static void test_the_time_is_over(void **state)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    wait_init(&condition);
    assert_true(wait_until(-1) == UINT64_MAX);
    uint64_t until = wait_until(5);
    pthread_mutex_lock(&lock);
    while (wait_for(&condition, &lock, until))
        ;
    assert_true(clock_mono(NULL) >= until);
    assert_false(wait_for(&condition, &lock, wait_until(0)));
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&condition);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_time_is_over),
    };
    return RUN("wait", tests);
}
