/* SPDX-License-Identifier: MIT */
#include "engine/tracker.h"

#include "unit.h"

#include <stdio.h>

static void test_order(void **state)
{
    struct mark_queue q;
    uint64_t lost = 0;
    mark_queue_init(&q);
    assert_null(mark_queue_take(&q, &lost));
    assert_int_equal(mark_queue_put(&q, strdup("a")), 0);
    assert_int_equal(mark_queue_put(&q, strdup("b")), 0);
    char *first = mark_queue_take(&q, &lost);
    assert_string_equal(first, "a");
    free(first);
    assert_int_equal(lost, 0);
    mark_queue_close(&q);
    assert_int_equal(mark_queue_put(&q, strdup("c")), 1);
    mark_queue_done(&q); /* with b in it */
}

static void test_full(void **state)
{
    struct mark_queue q;
    uint64_t lost = 5;
    mark_queue_init(&q);
    for (int i = 0; i < MARK_QUEUE_AT_MOST + 3; i++)
        assert_int_equal(mark_queue_put(&q, strdup("x")), i < MARK_QUEUE_AT_MOST ? 0 : -EAGAIN);
    for (int i = 0; i < 10; i++)
        free(mark_queue_take(&q, &lost));
    assert_int_equal(lost, 8);
    for (int i = 0; i < 10; i++) /* around the end of the ring */
        assert_int_equal(mark_queue_put(&q, strdup("y")), 0);
    mark_queue_done(&q);
}

enum { THREADS = 4, EACH = 5000 };

static void *put_many(void *queue)
{
    long full = 0;
    for (long i = 0; i < EACH; i++) {
        char *text = NULL;
        if (asprintf(&text, "%ld", i) < 0)
            return NULL;
        full += mark_queue_put(queue, text) == -EAGAIN;
    }
    return (void *)full;
}

static void test_threads(void **state)
{
    struct mark_queue q;
    pthread_t ids[THREADS];
    uint64_t lost = 0, taken = 0, refused = 0;
    mark_queue_init(&q);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, put_many, &q), 0);
    for (int i = 0; i < THREADS * EACH; i++) {
        char *text = mark_queue_take(&q, &lost);
        taken += text != NULL;
        free(text);
    }
    for (int i = 0; i < THREADS; i++) {
        void *full;
        pthread_join(ids[i], &full);
        refused += (uint64_t)(uintptr_t)full;
    }
    for (char *text; (text = mark_queue_take(&q, &lost)); taken++)
        free(text);
    assert_int_equal(taken + lost, THREADS * EACH);
    assert_int_equal(lost, refused);
    mark_queue_done(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_threads),
    };
    return RUN("mark_queue", tests);
}
