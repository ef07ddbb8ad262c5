/* SPDX-License-Identifier: MIT */
#include "base/util.h"

#include "unit.h"

#include <fcntl.h>

static void test_arithmetic(void **state)
{
    assert_int_equal(min_u64(1, 2), 1);
    assert_int_equal(max_u64(1, 2), 2);
    assert_int_equal(left_u64(5, 3), 2);
    assert_int_equal(left_u64(3, 5), 0);
    assert_int_equal(left_u64(3, 3), 0);
    assert_true(sum_u64(3, 5) == 8);
    assert_true(sum_u64(UINT64_MAX - 1, 1) == UINT64_MAX);
    assert_true(sum_u64(UINT64_MAX - 1, 7) == UINT64_MAX);
    assert_true(BIT(63) == UINT64_C(0x8000000000000000));
}

static void test_descriptor_is_closed(void **state)
{
    int seen;
    {
        CLEANUP_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        seen = fd;
        assert_true(fcntl(seen, F_GETFD) >= 0);
    }
    assert_int_equal(fcntl(seen, F_GETFD), -1);
}

static void test_descriptor_is_handed_over(void **state)
{
    int taken;
    {
        CLEANUP_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        taken = take_fd(&fd);
        assert_int_equal(fd, -1);
    }
    assert_true(fcntl(taken, F_GETFD) >= 0);
    close(taken);
}

/* The leak checker of the sanitizer build is the judge. */
static void test_memory_is_freed(void **state)
{
    CLEANUP_FREE char *p = malloc(16);
    assert_non_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_descriptor_is_closed),
        cmocka_unit_test(test_descriptor_is_handed_over),
        cmocka_unit_test(test_memory_is_freed),
    };
    return RUN("util", tests);
}
