/* SPDX-License-Identifier: MIT */
#include "sink/sender.h"

#include "unit.h"

#include <errno.h>
#include <string.h>

static int put(struct chunk_queue *q, enum chunk_of of, const char *text, uint64_t *dropped)
{
    struct chunk p = {of, of == CHUNK_FRAME, text, strlen(text)};
    return chunk_queue_put(q, &p, false, dropped);
}

static size_t size_of(size_t length)
{
    return chunk_queue_size(&(struct chunk){.length = length});
}

/* The batch in one word. */
static void assert_batch(const struct batch *b, const char *expected)
{
    char text[256] = "";
    for (size_t i = 0; i < b->count; i++)
        strncat(text, b->chunks[i].data, b->chunks[i].length);
    assert_string_equal(text, expected);
}

static void test_order_and_size_of_a_batch(void **state)
{
    uint64_t dropped = 0;
    struct chunk_queue q;
    assert_int_equal(chunk_queue_init(&q, 100000), 0);
    assert_true(chunk_queue_is_empty(&q));
    assert_int_equal(put(&q, CHUNK_BEGIN, "begin", &dropped), 0);
    uint64_t since = chunk_queue_since(&q);
    assert_int_equal(put(&q, CHUNK_FRAME, "one", &dropped), 0);
    assert_int_equal(put(&q, CHUNK_FRAME, "two", &dropped), 0);
    assert_true(chunk_queue_since(&q) == since);
    assert_int_equal(q.waiting_bytes, size_of(5) + 2 * size_of(3));

    struct batch b = chunk_queue_take(&q, 8);
    assert_batch(&b, "beginone");
    assert_int_equal(b.samples, 1);
    chunk_queue_return(&q);
    b = chunk_queue_take(&q, 1); /* one, however long */
    assert_batch(&b, "two");
    chunk_queue_return(&q);
    assert_true(chunk_queue_is_empty(&q));
    assert_int_equal(q.waiting_bytes, 0);
    b = chunk_queue_take(&q, 100);
    assert_int_equal(b.count, 0);
    assert_int_equal(dropped, 0);
    chunk_queue_done(&q);
}

static void test_the_oldest_samples_go(void **state)
{
    uint64_t dropped = 0;
    struct chunk_queue q;
    assert_int_equal(chunk_queue_init(&q, 3 * size_of(1)), 0);
    assert_int_equal(put(&q, CHUNK_BEGIN, "b", &dropped), 0);
    const char *frames[] = {"1", "2", "3", "4"};
    for (size_t i = 0; i < ARRAY_LEN(frames); i++)
        assert_int_equal(put(&q, CHUNK_FRAME, frames[i], &dropped), 0);
    assert_int_equal(dropped, 2);
    struct batch b = chunk_queue_take(&q, 100);
    assert_batch(&b, "b34");
    chunk_queue_return(&q);
    chunk_queue_done(&q);
}

/* What is no sample has as much room again, a sample has not. */
static void test_what_is_no_sample(void **state)
{
    uint64_t dropped = 0;
    struct chunk_queue q;
    assert_int_equal(chunk_queue_init(&q, 2 * size_of(1)), 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(put(&q, CHUNK_NOTE, "n", &dropped), 0);
    assert_int_equal(put(&q, CHUNK_NOTE, "n", &dropped), -ENOBUFS);
    assert_int_equal(put(&q, CHUNK_FRAME, "f", &dropped), -ENOBUFS);
    assert_int_equal(dropped, 0); /* of those that were in */
    struct batch b = chunk_queue_take(&q, 100);
    assert_batch(&b, "nnnn");
    chunk_queue_done(&q);
}

static void test_forced_into_an_empty_queue(void **state)
{
    uint64_t dropped = 0;
    struct chunk_queue q;
    struct chunk large = {CHUNK_FRAME, 1, "0123456789", 10};
    assert_int_equal(chunk_queue_init(&q, 5), 0);
    assert_int_equal(chunk_queue_put(&q, &large, false, &dropped), -ENOBUFS);
    assert_int_equal(chunk_queue_put(&q, &large, true, &dropped), 0);
    assert_int_equal(chunk_queue_put(&q, &large, true, &dropped), -ENOBUFS);
    assert_int_equal(dropped, 1); /* the first one made room in vain */
    chunk_queue_done(&q);
}

/* Nodes are used again; batches are handed back and taken many times. */
static void test_many_rounds(void **state)
{
    uint64_t dropped = 0;
    struct chunk_queue q;
    assert_int_equal(chunk_queue_init(&q, 1 << 20), 0);
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned i = 0; i < 100; i++)
            assert_int_equal(put(&q, CHUNK_FRAME, i % 2 ? "a" : "longer", &dropped), 0);
        struct batch b = chunk_queue_take(&q, 1 << 20);
        assert_int_equal(b.count, 100);
        assert_int_equal(b.samples, 100);
        chunk_queue_return(&q);
        assert_true(q.spare_count <= 100);
    }
    chunk_queue_done(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_size_of_a_batch),
        cmocka_unit_test(test_the_oldest_samples_go),
        cmocka_unit_test(test_what_is_no_sample),
        cmocka_unit_test(test_forced_into_an_empty_queue),
        cmocka_unit_test(test_many_rounds),
    };
    return RUN("piece_queue", tests);
}
