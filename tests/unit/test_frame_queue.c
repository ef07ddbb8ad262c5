/* SPDX-License-Identifier: MIT */
#include "engine/background.h"

#include "unit.h"

static struct frame_copy *numbered(uint64_t number)
{
    static const struct selection nothing;
    struct frame f = {.tick = number};
    struct frame_copy *t = frame_copy_new(&f, &nothing);
    assert_non_null(t);
    return t;
}

static void expect_next(struct frame_queue *q, uint64_t number, uint64_t dropped)
{
    struct frame_copy *t = frame_queue_next(q, 0);
    assert_non_null(t);
    assert_int_equal(t->head.number, number);
    assert_int_equal(t->head.dropped, dropped);
    frame_copy_release(t);
}

static void test_the_oldest_are_dropped(void **state)
{
    struct frame_queue q;
    assert_int_equal(frame_queue_init(&q, 3), 0);
    assert_null(frame_queue_latest(&q));
    assert_null(frame_queue_next(&q, 0));
    for (uint64_t i = 0; i < 5; i++)
        frame_queue_put(&q, numbered(i));
    struct frame_copy *latest = frame_queue_latest(&q);
    assert_int_equal(latest->head.number, 4);
    frame_copy_release(latest);
    expect_next(&q, 2, 0); /* when it came, nothing had been lost */
    expect_next(&q, 3, 1);
    frame_queue_put(&q, numbered(5));
    expect_next(&q, 4, 2);
    frame_queue_end(&q);
    expect_next(&q, 5, 2); /* what is there is still told */
    assert_null(frame_queue_next(&q, -1));
    frame_queue_put(&q, numbered(6)); /* left for the end to free */
    frame_queue_done(&q);
}

static void test_none_are_kept(void **state)
{
    struct frame_queue q;
    assert_int_equal(frame_queue_init(&q, 0), 0);
    frame_queue_put(&q, numbered(1));
    frame_queue_put(&q, numbered(2));
    struct frame_copy *latest = frame_queue_latest(&q);
    assert_int_equal(latest->head.number, 2);
    assert_int_equal(latest->head.dropped, 0);
    frame_copy_release(latest);
    assert_null(frame_queue_next(&q, 0));
    frame_queue_done(&q);
}

static void *put_some(void *arg)
{
    for (uint64_t i = 0; i < 1000; i++)
        frame_queue_put(arg, numbered(i));
    frame_queue_end(arg);
    return NULL;
}

/* Whatever was not read was told as dropped. */
static void test_a_reader_of_its_own(void **state)
{
    struct frame_queue q;
    assert_int_equal(frame_queue_init(&q, 8), 0);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, put_some, &q), 0);
    uint64_t seen = 0;
    for (struct frame_copy *t; (t = frame_queue_next(&q, -1)); seen++)
        frame_copy_release(t);
    pthread_join(writer, NULL);
    assert_int_equal(seen + q.dropped, 1000);
    frame_queue_done(&q);
}

static void expect_note(struct frame_queue *q, const char *sentence, bool is_ending, bool failed)
{
    struct queued_note n;
    assert_true(frame_queue_take_note(q, &n));
    assert_string_equal(n.sentence, sentence);
    assert_int_equal(n.is_ending, is_ending);
    assert_int_equal(n.has_failed, failed);
    free(n.sentence);
}

static void test_notes_and_endings(void **state)
{
    struct frame_queue q;
    struct queued_note none;
    assert_int_equal(frame_queue_init(&q, 0), 0);
    frame_queue_put_note(&q, "one");
    frame_queue_put_ending(&q, true, "two");
    frame_queue_put_ending(&q, false, "three");
    assert_true(frame_queue_wait(&q, false));
    expect_note(&q, "one", false, false);
    expect_note(&q, "two", true, true);
    expect_note(&q, "three", true, false);
    assert_false(frame_queue_take_note(&q, &none));
    for (unsigned i = 0; i < NOTES_THAT_WAIT + 2; i++)
        frame_queue_put_note(&q, "left for the end to free");
    assert_int_equal(q.note_count, NOTES_THAT_WAIT);
    frame_queue_done(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_oldest_are_dropped),
        cmocka_unit_test(test_none_are_kept),
        cmocka_unit_test(test_a_reader_of_its_own),
        cmocka_unit_test(test_notes_and_endings),
    };
    return RUN("frame_queue", tests);
}
