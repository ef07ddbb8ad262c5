/* SPDX-License-Identifier: MIT */
#include "sink/prometheus/remote_write.h"

#include "unit.h"

#include <stdio.h>

static void add_series(struct buf *b, const char *name, unsigned samples)
{
    struct labels labels = {0};
    labels_add(&labels, "run", "train");
    labels_add(&labels, "A", "before the name");
    size_t began = write_request_begin_series(b, name, &labels);
    for (unsigned i = 0; i < samples; i++)
        write_request_add_sample(b, i, 1000 + i);
    write_request_end_series(b, began);
    labels_done(&labels);
}

static struct scan text_of(const struct buf *b)
{
    return scan_text(b->data ? b->data : "", b->length);
}

static void test_the_bytes(void **state)
{
    static const char expected[] = "\x0a\x32"
                                   "\x0a\x14\x0a\x01"
                                   "A\x12\x0f"
                                   "before the name"
                                   "\x0a\x0d\x0a\x08__name__\x12\x01x"
                                   "\x0a\x0b\x0a\x03run\x12\x04run1";
    struct labels labels = {0};
    struct buf b = {0};
    labels_add(&labels, "run", "run1");
    labels_add(&labels, "A", "before the name");
    size_t began = write_request_begin_series(&b, "x", &labels);
    write_request_end_series(&b, began);
    assert_int_equal(b.length, sizeof expected - 1);
    assert_memory_equal(b.data, expected, b.length);
    buf_clear(&b);
    write_request_add_metadata(&b, "x_total", true, "what", "s");
    assert_int_equal(b.length, 22);
    assert_memory_equal(b.data, "\x1a\x14\x08\x01\x12\x07x_total\x22\x04what\x2a\x01s", 22);
    labels_done(&labels);
    buf_done(&b);
}

/* All parts of any size together have each figure once, in their order; a part that ends where a
 * series does is made of the same bytes. */
static void test_parts(void **state)
{
    struct buf whole = {0}, first = {0}, part = {0};
    add_series(&whole, "a", 3);
    add_series(&first, "a", 3);
    add_series(&whole, "b", 1);
    add_series(&whole, "c", 4);
    write_request_add_metadata(&whole, "d", false, "what", "");
    write_request_add_metadata(&whole, "e", true, "what", "bytes");
    assert_int_equal(write_request_count(text_of(&whole)), 10);
    write_request_cut(&part, text_of(&whole), 0, 10);
    assert_int_equal(part.length, whole.length);
    assert_memory_equal(part.data, whole.data, whole.length);
    buf_clear(&part);
    write_request_cut(&part, text_of(&whole), 0, 3);
    assert_int_equal(part.length, first.length);
    assert_memory_equal(part.data, first.data, first.length);
    for (unsigned size = 1; size <= 10; size++)
        for (unsigned at = 0; at < 10; at += size) {
            struct buf again = {0};
            unsigned expected = at + size > 10 ? 10 - at : size;
            buf_clear(&part);
            write_request_cut(&part, text_of(&whole), at, size);
            assert_int_equal(write_request_count(text_of(&part)), expected);
            /* A part of a part is that part of the whole. */
            buf_clear(&first);
            write_request_cut(&first, text_of(&part), expected - 1, 1);
            write_request_cut(&again, text_of(&whole), at + expected - 1, 1);
            assert_int_equal(first.length, again.length);
            assert_memory_equal(first.data, again.data, again.length);
            buf_done(&again);
        }
    buf_clear(&part);
    write_request_cut(&part, scan_text("\x0a\x7f", 2), 0, 10); /* cut short */
    assert_int_equal(part.length, 0);
    buf_done(&whole);
    buf_done(&first);
    buf_done(&part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_bytes),
        cmocka_unit_test(test_parts),
    };
    return RUN("write_request", tests);
}
