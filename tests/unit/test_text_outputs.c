/* SPDX-License-Identifier: MIT */
#include "sink/text/text.h"

#include "sample.h"

static void expect(struct output_summary o, const char *text)
{
    struct sink s = {0};
    struct summary summary = {.outputs = &o, .output_count = 1};
    o.way = o.way ? o.way : OUTPUT_SENT;
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

static void test_an_endpoint(void **state)
{
    struct output_summary o = {.name = ":9464", .way = OUTPUT_SCRAPED, .is_whole = true};
    expect(o, "scraped at :9464: never\n");
    o.scrapes = 1;
    expect(o, "scraped at :9464: 1 time\n");
    o.scrapes = 12;
    expect(o, "scraped at :9464: 12 times\n");
}

/* Those that are as they should be share a line; what a terminal shows has none. */
static void test_files(void **state)
{
    struct output_summary o[] = {
        {.name = "a.csv", .delivered = 3, .bytes = 2048, .has_bytes = true, .is_whole = true},
        {.name = "stdout", .way = OUTPUT_STREAM, .delivered = 3, .is_whole = true},
        {.name = "b.csv", .delivered = 1, .dropped = 2, .why = "No space left on device"},
        {.name = "c.sqlite", .delivered = 3, .is_whole = true},
        {.name = "stderr", .way = OUTPUT_STREAM, .dropped = 3, .why = "Broken pipe"},
    };
    struct sink s = {0};
    struct summary summary = {.outputs = o, .output_count = ARRAY_LEN(o)};
    text_outputs(&s, &summary);
    assert_string_equal(s.text.data, "written to a.csv: 3 samples, 2.00 KiB; c.sqlite: 3 samples\n"
                                     "written to b.csv: 1 sample, 2 lost: No space left on device\n"
                                     "written to stderr: 0 samples, 3 lost: Broken pipe\n");
    buf_done(&s.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_endpoint),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_lines),
    };
    return RUN("text_outputs", tests);
}
