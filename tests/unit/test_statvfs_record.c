/* SPDX-License-Identifier: MIT */
#include "source/machine/space.h"

#include "unit.h"

static const char text[] = "/ 4096 5127680 2437116 2170616 1310720 1094213\n"
                           "garbage\n"
                           "/mnt/with\\040blank 1048576 953344 120 0 0 0\n"
                           "/cut 4096 100 50 50 10";

static void test_find(void **state)
{
    struct space s;
    assert_int_equal(statvfs_record_find(scan_string(text), "/", &s), 0);
    assert_int_equal(s.block_bytes, 4096);
    assert_int_equal(s.blocks, 5127680);
    assert_int_equal(s.blocks_free, 2437116);
    assert_int_equal(s.blocks_available, 2170616);
    assert_int_equal(s.files, 1310720);
    assert_int_equal(s.files_free, 1094213);
    assert_int_equal(statvfs_record_find(scan_string(text), "/mnt/with blank", &s), 0);
    assert_int_equal(s.blocks, 953344);
}

static void test_not_there(void **state)
{
    struct space s;
    memset(&s, UNTOUCHED, sizeof s);
    assert_int_equal(statvfs_record_find(scan_string(text), "/cut", &s), -ENODATA);
    assert_int_equal(statvfs_record_find(scan_string(text), "/mnt", &s), -ENODATA);
    assert_int_equal(statvfs_record_find(scan_string(""), "/", &s), -ENODATA);
    assert_true(is_untouched(&s, sizeof s));
}

static void test_garbage(void **state)
{
    static const char *const lines[] = {
        "",
        "/",
        "mnt 1 2 3 4 5 6",
        " / 1 2 3 4 5 6",
        "/ 1 2 3 4 5",
        "/ 1 2 3 4 5 6 7",
        "/ 1 2 3 4 5 -6",
        "/ 1 2 three 4 5 6",
        "/ 18446744073709551616 2 3 4 5 6",
    };
    struct statvfs_record r;
    memset(&r, UNTOUCHED, sizeof r);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        size_t length = strlen(lines[i]);
        char *copy = exact_copy(lines[i], length);
        assert_int_equal(parse_statvfs_record(scan_text(copy, length), &r), -EBADMSG);
        free(copy);
    }
    assert_true(is_untouched(&r, sizeof r));
}

static void test_huge(void **state)
{
    struct statvfs_record r;
    assert_int_equal(parse_statvfs_record(scan_string("/x 18446744073709551615 2 3 4 5 6"), &r), 0);
    assert_true(r.space.block_bytes == UINT64_MAX);
    assert_int_equal(r.space.files_free, 6);
    assert_int_equal(r.point.end - r.point.at, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_huge),
    };
    return RUN("statvfs_record", tests);
}
