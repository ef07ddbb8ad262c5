/* SPDX-License-Identifier: MIT */
#include "sink/points.h"

#include "base/text/buf.h"
#include "unit.h"

#include <math.h>

static void add_chunk(struct buf *b, int64_t time_ms, const struct point *points, uint64_t count)
{
    struct points_head head = {time_ms, count};
    buf_add(b, (const char *)&head, sizeof head);
    buf_add(b, (const char *)points, count * sizeof *points);
}

static void test_in_order(void **state)
{
    struct point first[] = {{7, 1.5}, {3, 2}}, second[] = {{3, 4}};
    struct buf a = {0}, b = {0};
    struct point_batch p = {0};
    add_chunk(&a, 100, first, 2);
    add_chunk(&b, 200, second, 1);
    struct chunk chunks[] = {{CHUNK_FRAME, 1, a.data, a.length},
                             {CHUNK_FRAME, 1, b.data, b.length}};
    struct batch batch = {.chunks = chunks, .count = 2, .samples = 2};
    assert_int_equal(point_batch_take(&p, &batch), 0);
    assert_int_equal(p.count, 3);
    point_batch_sort(&p);
    assert_int_equal(p.items[0].series, 3);
    assert_int_equal(p.items[0].time_ms, 100);
    assert_true(p.items[0].value == 2);
    assert_int_equal(p.items[1].series, 3);
    assert_int_equal(p.items[1].time_ms, 200);
    assert_int_equal(p.items[2].series, 7);
    batch.count = 1; /* in the place of what it had */
    assert_int_equal(point_batch_take(&p, &batch), 0);
    assert_int_equal(p.count, 2);
    batch.count = 0;
    assert_int_equal(point_batch_take(&p, &batch), 0);
    assert_int_equal(p.count, 0);
    point_batch_sort(&p);
    point_batch_done(&p);
    buf_done(&a);
    buf_done(&b);
}

static void test_ends(void **state)
{
    uint64_t bits = POINTS_END_BITS;
    double end;
    memcpy(&end, &bits, sizeof end);
    assert_true(point_is_end(end));
    assert_false(point_is_end(0));
    assert_false(point_is_end((double)NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_ends),
    };
    return RUN("point_batch", tests);
}
