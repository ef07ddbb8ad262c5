/* SPDX-License-Identifier: MIT
 * Also of block_log and block_rows, which it is made of. */
#include "layout/gpu_tracker/row_file.h"

#include "base/io/sqlite.h"
#include "layout/gpu_tracker/blocks.h"

#include "scratch.h"

#include <errno.h>

#define HEADING "process_id,code_block_name,position,timestamp\n"

static struct toll_error e;

static void test_csv(void **state)
{
    const char *a = scratch_write(
        "a.csv", "code_block_name,extra,timestamp,position,process_id\r\n"
                 "\"x, y\",?,1746129778.99568,START,7\r\n\"x, y\",?,1746129781.7855892,STOP,7\r\n");
    const char *b = scratch_write("b.csv", HEADING "8,z,0,1745449627.6054814\n");
    const char *all = scratch_path("all.csv");
    assert_int_equal(combine_blocks(all, (const char *const[]){a, b, NULL}, &e), 0);
    assert_file_is(all, HEADING "7,\"x, y\",0,1746129778.99568\n7,\"x, y\",1,1746129781.7855892\n"
                                "8,z,0,1745449627.6054814\n");
}

static void test_sqlite(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    struct block_log *log;
    struct block_stamp s = {.pid = 7, .name = "it's", .time = 1746129778.99568};
    const char *a = scratch_path("a.sqlite"), *all = scratch_path("all.sqlite");
    assert_int_equal(block_log_open(&log, a, ROWS_SQLITE, &e), 0);
    assert_int_equal(block_log_put(log, &s, &e), 0);
    s.is_stop = true;
    assert_int_equal(block_log_put(log, &s, &e), 0);
    assert_int_equal(block_log_commit(log, &e), 0);
    block_log_close(log);
    assert_int_equal(block_log_open(&log, a, ROWS_SQLITE, &e), -EEXIST);
    assert_int_equal(combine_blocks(all, (const char *const[]){a, a, NULL}, &e), 0);

    struct block_rows *rows;
    assert_int_equal(block_rows_open(&rows, all, &e), 0);
    for (unsigned i = 1; i <= 4; i++) {
        assert_int_equal(block_rows_next(rows, &s, &e), 1);
        assert_true(s.pid == 7 && s.number == i && s.time == 1746129778.99568);
        assert_string_equal(s.name, "it's");
        assert_int_equal(s.is_stop, i % 2 == 0);
    }
    assert_int_equal(block_rows_next(rows, &s, &e), 0);
    block_rows_close(rows);
}

static size_t files_there(void)
{
    DIR *dir = opendir(scratch);
    size_t count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static void test_bad_leaves_nothing(void **state)
{
    const char *a = scratch_write("a.csv", HEADING "1,a,0,1\n");
    const char *b = scratch_write("b.csv", HEADING "1,a,5,1\n");
    const char *all = scratch_path("all.csv");
    assert_int_equal(combine_blocks(all, (const char *const[]){a, b, NULL}, &e), -EBADMSG);
    assert_int_equal(combine_blocks(all, (const char *const[]){a, "/no/such.csv", NULL}, &e),
                     -ENOENT);
    assert_int_equal(combine_blocks(all, (const char *const[]){a, "c.sqlite", NULL}, &e), -EINVAL);
    assert_non_null(strstr(e.message, "File c.sqlite does not end with the same extension as "));
    assert_non_null(strstr(e.message, "Must end in \".csv\"."));
    assert_int_equal(combine_blocks(a, (const char *const[]){b, NULL}, &e), -EEXIST);
    assert_non_null(strstr(e.message, "File already exists."));
    assert_int_equal(combine_blocks("all.txt", (const char *const[]){a, NULL}, &e), -EINVAL);
    assert_int_equal(combine_blocks("/no/such/all.csv", (const char *const[]){a, NULL}, &e),
                     -ENOENT);
    assert_int_equal(files_there(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_csv, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_sqlite, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_bad_leaves_nothing, scratch_make, scratch_remove),
    };
    return RUN("combine", tests);
}
