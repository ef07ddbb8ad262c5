/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "base/util.h"
#include "unit.h"

static const char good[] = "rchar: 323934931\n"
                           "wchar: 323929600\n"
                           "syscr: 632687\n"
                           "syscw: 632675\n"
                           "read_bytes: 4096\n"
                           "write_bytes: 323932160\n"
                           "cancelled_write_bytes: 12\n";

PARSER_HARNESS(parse_pid_io, struct pid_io, SAME_BYTES)

static void test_good(void **state)
{
    struct pid_io io;
    assert_int_equal(parse(good, &io), 0);
    assert_int_equal(io.read_bytes, 323934931);
    assert_int_equal(io.written_bytes, 323929600);
    assert_int_equal(io.read_calls, 632687);
    assert_int_equal(io.write_calls, 632675);
    assert_int_equal(io.storage_read_bytes, 4096);
    assert_int_equal(io.storage_written_bytes, 323932160);
    assert_int_equal(io.storage_cancelled_bytes, 12);
}

static void test_cut_short(void **state)
{
    check_cuts(good, -ESRCH);
    struct pid_io io;
    assert_int_equal(parse_n(good, strlen(good) - 1, &io), -EBADMSG); /* …: 1 or …: 12? */
}

static void test_missing_line(void **state)
{
    struct pid_io io;
    for (const char *line = good; *line; line = strchr(line, '\n') + 1) {
        char text[sizeof good] = "";
        memcpy(text, good, (size_t)(line - good));
        memcpy(text + (line - good), strchr(line, '\n') + 1, strlen(strchr(line, '\n') + 1));
        assert_int_equal(parse(text, &io), -EBADMSG);
    }
}

static void test_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "\n\n\n\n\n\n\n",
        "garbage\n",
        "rchar: \nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n"
        "cancelled_write_bytes: 1\n",
        "rchar: -1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n"
        "cancelled_write_bytes: 1\n",
        "rchar: 1x\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n"
        "cancelled_write_bytes: 1\n",
        "rchar 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 1\nwrite_bytes: 1\n"
        "cancelled_write_bytes: 1\n",
    };
    struct pid_io io;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(parse(texts[i], &io), -EBADMSG);
    assert_int_equal(parse_n("rchar: 1\0\n", 10, &io), -EBADMSG);
}

static void test_huge(void **state)
{
    struct pid_io io;
    assert_int_equal(parse("rchar: 18446744073709551615\nwchar: 1\nsyscr: 1\nsyscw: 1\n"
                           "read_bytes: 1\nwrite_bytes: 1\ncancelled_write_bytes: 1\n",
                           &io),
                     0);
    assert_true(io.read_bytes == UINT64_MAX);
    assert_int_equal(parse("rchar: 18446744073709551616\nwchar: 1\nsyscr: 1\nsyscw: 1\n"
                           "read_bytes: 1\nwrite_bytes: 1\ncancelled_write_bytes: 1\n",
                           &io),
                     -EBADMSG);
}

/* Linux 4.x writes the same seven lines; a later kernel may add some anywhere. */
static void test_new_kernel(void **state)
{
    struct pid_io io;
    assert_int_equal(parse("rchar: 1\nrchar_direct: 90\nwchar: 2\nsyscr: 3\nsyscw: 4\n"
                           "read_bytes: 5\nread_bytes_max: 91\nwrite_bytes: 6\n"
                           "cancelled_write_bytes: 7\ndiscarded_bytes: 92\n",
                           &io),
                     0);
    assert_int_equal(io.read_bytes, 1);
    assert_int_equal(io.storage_read_bytes, 5);
    assert_int_equal(io.storage_cancelled_bytes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),         cmocka_unit_test(test_cut_short),
        cmocka_unit_test(test_missing_line), cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_huge),         cmocka_unit_test(test_new_kernel),
    };
    return RUN("pid_io", tests);
}
