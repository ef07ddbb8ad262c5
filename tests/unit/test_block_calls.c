/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/blocks.h"

#include "scratch.h"

#include <errno.h>
#include <math.h>

#define HEADING "process_id,code_block_name,position,timestamp\n"

static struct blocks blocks;
static struct toll_error e;

static int read_blocks(const char *rows)
{
    char text[4096];
    snprintf(text, sizeof text, HEADING "%s", rows);
    return blocks_read(&blocks, scratch_write("b.csv", text), &e);
}

static void assert_call(const struct block *b, size_t i, double start, double stop)
{
    assert_true(i < b->call_count);
    assert_true(b->calls[i].start == start && b->calls[i].stop == stop);
}

static void test_pairs(void **state)
{
    assert_int_equal(read_blocks("2,b,0,10\n2,b,1,11\n1,a,0,1\n2,b,0,20\n2,b,1,22\n1,a,1,4\n"), 0);
    assert_int_equal(blocks.count, 2);
    assert_string_equal(blocks.list[0].name, "a");
    assert_call(&blocks.list[0], 0, 1, 4);
    assert_int_equal(blocks.list[1].call_count, 2);
    assert_call(&blocks.list[1], 1, 20, 22);
    blocks_done(&blocks);
}

static void test_words_and_order(void **state)
{
    assert_int_equal(read_blocks("1,a,STOP,4\n1,a,START,1\n1,a,start,4\n1,a,stop,5\n"), 0);
    assert_int_equal(blocks.list[0].call_count, 2);
    assert_call(&blocks.list[0], 0, 1, 4);
    assert_call(&blocks.list[0], 1, 4, 5);
    blocks_done(&blocks);
}

static void test_nested(void **state)
{
    assert_int_equal(read_blocks("1,a,0,1\n1,a,0,2\n1,a,1,3\n1,a,1,9\n"), 0);
    assert_call(&blocks.list[0], 0, 2, 3);
    assert_call(&blocks.list[0], 1, 1, 9);
    assert_int_equal(blocks.list[0].span_count, 1);
    blocks_done(&blocks);
}

static void test_unended(void **state)
{
    assert_int_equal(read_blocks("1,a,0,1\n1,a,1,2\n1,a,0,3\n2,a,0,1\n3,b,0,1\n"), 0);
    assert_int_equal(blocks.list[0].call_count, 1);
    assert_int_equal(blocks.list[1].call_count, 0);
    assert_true(isnan(block_since(&blocks.list[1], 1)));
    blocks_done(&blocks);
}

static void test_covers(void **state)
{
    assert_int_equal(read_blocks("1,a,0,1\n1,a,1,4\n2,a,0,3\n2,a,1,6\n3,a,0,8\n3,a,1,9\n"), 0);
    const struct block *b = &blocks.list[0];
    assert_int_equal(b->span_count, 2);
    static const double in[] = {1, 2, 4, 5, 6, 8, 9}, out[] = {0.5, 6.1, 7.9, 9.1};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        assert_false(isnan(block_since(b, in[i])));
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_true(isnan(block_since(b, out[i])));
    blocks_done(&blocks);
}

static void test_bad(void **state)
{
    static const struct {
        const char *rows, *says;
    } bad[] = {
        {"1,a,1,1.5\n", "Row 1 stops \"a\" of process ID 1, which had not started"},
        {"1,a,0,1\n1,a,1,2\n1,a,1,3\n1,a,1,4\n", "Row 3 stops"},
        {"1,a,0,1\n1,a,1,2\n1,a,1,3.5\n2,a,0,3\n2,a,1,4\n",
         "Sub-tracking file is invalid. Detected timestamp pair (3.5, 3.0) with differing process "
         "IDs: 1 and 2."},
        {"1,a,0,9\n1,a,0,8.25\n1,a,1,7\n",
         "Sub-tracking file is invalid. Detected timestamp pair (7.0, 8.25) of process ID 1 with a "
         "start time greater than the stop time."},
        {"1,a,2,1\n", "the position '2' is neither 0 (START) nor 1 (STOP)"},
        {"x,a,0,1\n", "'x' in the column \"process_id\" is no number"},
        {"1,a,0,\n", "row 1 has no process_id or no timestamp"},
        {"1.5,a,0,1\n", "row 1 has no process_id or no timestamp"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(read_blocks(bad[i].rows), -EBADMSG);
        assert_non_null(strstr(e.message, bad[i].says));
        assert_null(blocks.list);
    }
    assert_int_equal(blocks_read(&blocks, scratch_write("b.csv", "process_id,position\n"), &e),
                     -ENOENT);
    assert_non_null(strstr(e.message, "\"code_block_name\""));
    assert_int_equal(read_blocks(""), 0);
    assert_int_equal(blocks.count, 0);
    blocks_done(&blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pairs, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_words_and_order, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_nested, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_unended, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_covers, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_bad, scratch_make, scratch_remove),
    };
    return RUN("block_calls", tests);
}
