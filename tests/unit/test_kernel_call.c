/* SPDX-License-Identifier: MIT */
#include "base/syscalls.h"

#include "unit.h"

#include <fcntl.h>

/* They do what the C library's do, and tell errors without errno. */
static void test_the_same_as_the_library(void **state)
{
    CLEANUP_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat ours = {0}, theirs = {0};
    assert_int_equal(kernel_fstat(fd, &ours), 0);
    assert_int_equal(fstat(fd, &theirs), 0);
    assert_int_equal(ours.st_ino, theirs.st_ino);
    assert_int_equal(ours.st_dev, theirs.st_dev);
    assert_int_equal(ours.st_nlink, theirs.st_nlink);
    assert_int_equal(ours.st_size, theirs.st_size);
    char text[4] = "";
    assert_int_equal(kernel_pread(fd, text, 3, 1), 3);
    assert_string_equal(text, "ELF");
    struct rusage before, between, after;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_int_equal(kernel_getrusage(RUSAGE_SELF, &between), 0);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_in_range(between.ru_minflt, before.ru_minflt, after.ru_minflt);
    assert_in_range(between.ru_maxrss, before.ru_maxrss, after.ru_maxrss);
}

static void test_errors(void **state)
{
    struct stat st;
    char byte;
    assert_int_equal(kernel_fstat(-1, &st), -EBADF);
    assert_int_equal(kernel_pread(-1, &byte, 1, 0), -EBADF);
    struct rusage used;
    assert_int_equal(kernel_getrusage(12345, &used), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_as_the_library),
        cmocka_unit_test(test_errors),
    };
    return RUN("kernel_call", tests);
}
