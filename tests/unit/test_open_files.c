/* SPDX-License-Identifier: MIT */
#include "base/io/file.h"

#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

static bool is_inherited(int fd)
{
    return !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void test_new_ones_are_hidden(void **state)
{
    struct open_files before = {0};
    int old = open("/dev/null", O_RDONLY), old_hidden = open("/dev/null", O_RDONLY | O_CLOEXEC);
    open_files_note(&before);
    int new = open("/dev/null", O_RDONLY);
    open_files_hide_new(&before);
    assert_true(is_inherited(old));
    assert_false(is_inherited(old_hidden));
    assert_false(is_inherited(new));
    assert_true(is_inherited(STDERR_FILENO));
    open_files_note(&before); /* anew */
    int another = open("/dev/null", O_RDONLY);
    open_files_hide_new(&before);
    assert_false(is_inherited(another));
    close(old), close(old_hidden), close(new), close(another);
    open_files_done(&before);
    open_files_done(&before);
}

static void test_without_a_list_nothing_is(void **state)
{
    struct open_files none = {0};
    int fd = open("/dev/null", O_RDONLY);
    open_files_hide_new(&none);
    assert_true(is_inherited(fd));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_ones_are_hidden),
        cmocka_unit_test(test_without_a_list_nothing_is),
    };
    return RUN("open_files", tests);
}
