/* SPDX-License-Identifier: MIT */
#include "sink/text_outputs.h"

#include "sample.h"

static void expect(struct output_summary o, const char *text)
{
    struct sink s = {0};
    struct summary summary = {.outputs = &o, .output_count = 1};
    text_outputs(&s, &summary);
    assert_string_equal(s.text.data, text);
    buf_done(&s.text);
}

static void test_lines(void **state)
{
    expect((struct output_summary){.name = "x http://h", .delivered = 5, .is_whole = true},
           "sent to x http://h: 5 samples\n");
    expect(
        (struct output_summary){
            .name = "x", .delivered = 1, .retries = 2, .is_whole = true, .why = "it was away"},
        "sent to x: 1 sample, 2 attempts repeated\n");
    expect((struct output_summary){.name = "x", .dropped = 3, .retries = 1, .why = "it was away"},
           "sent to x: 0 samples, 3 lost, 1 attempt repeated: it was away\n");
    expect((struct output_summary){.name = "x", .kept = 3, .is_whole = true, .why = "in run.spool"},
           "sent to x: 0 samples, 3 put aside: in run.spool\n");
    expect(
        (struct output_summary){
            .name = "x", .delivered = 3, .has_kept = true, .is_whole = true, .why = "in run.spool"},
        "sent to x: 3 samples, the end put aside: in run.spool\n");
    expect((struct output_summary){.name = "x", .delivered = 3, .why = "no"},
           "sent to x: 3 samples, not everything arrived: no\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
    };
    return RUN("text_outputs", tests);
}
