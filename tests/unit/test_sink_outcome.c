/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"

#include "sample.h"

static void test_a_file(void **state)
{
    struct sample s;
    struct output_summary o;
    sample_make(&s, "target_cpu_seconds");
    struct sink *sink = sample_sink(&s, "run.csv");
    assert_int_equal(sink_begin(sink, &s.run), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_true(sink_outcome(sink, &o));
    assert_string_equal(o.name, sink->name);
    assert_string_equal(o.format, "csv");
    assert_int_equal(o.way, OUTPUT_FILE);
    assert_int_equal(o.samples, 3);
    assert_int_equal(o.delivered, 3);
    assert_true(o.is_whole && o.has_bytes);
    struct stat st;
    assert_int_equal(fstat(sink->fd, &st), 0);
    assert_int_equal(o.bytes, st.st_size);
    sink_close(sink, false);
    sample_remove(&s);
}

/* Nothing is to be told of a file that gets its summary when all is told. */
static void test_a_summary_alone(void **state)
{
    struct sample s;
    struct output_summary o;
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "run.json");
    assert_false(sink_outcome(sink, &o));
    sink_close(sink, true);
    sample_remove(&s);
}

static void test_a_full_disk(void **state)
{
    struct sample s;
    struct output_summary o;
    struct sink *sink = NULL;
    sample_make(&s, NULL);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct toll_output out = {.size = sizeof out, .fd = full, .format = "csv"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, NULL), 0);
    sink_begin(sink, &s.run);
    assert_int_equal(sink_frame(sink, &s.frame), -ENOSPC);
    assert_true(sink_outcome(sink, &o));
    assert_int_equal(o.way, OUTPUT_STREAM);
    assert_int_equal(o.samples, 1);
    assert_int_equal(o.delivered, 0);
    assert_int_equal(o.dropped, 1);
    assert_int_equal(o.bytes, 0);
    assert_false(o.is_whole);
    assert_string_equal(o.why, "No space left on device");
    sink_close(sink, false);
    close(full);
    sample_remove(&s);
}

/* What nobody came for was there all the same. */
static void test_an_endpoint(void **state)
{
    struct sample s;
    struct output_summary o;
    struct sink *sink = NULL;
    sample_make(&s, NULL);
    struct toll_output out = {.size = sizeof out, .destination = "openmetrics::0"};
    assert_int_equal(sink_open(&sink, &out, &s.selection, NULL), 0);
    assert_int_equal(sink_begin(sink, &s.run), 0);
    sink_frame(sink, &s.frame);
    assert_true(sink_outcome(sink, &o));
    assert_int_equal(o.way, OUTPUT_SCRAPED);
    assert_int_equal(o.samples, 1);
    assert_int_equal(o.delivered, 0);
    assert_int_equal(o.dropped, 0);
    assert_int_equal(o.scrapes, 0);
    assert_true(o.is_whole);
    sink_close(sink, false);
    sample_remove(&s);
}

/* With a sender: what it has counted, when it is done. */
static void test_a_sender(void **state)
{
    struct sample s;
    struct output_summary o;
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "run.om");
    assert_int_equal(sink_begin(sink, &s.run), 0);
    sink_frame(sink, &s.frame);
    sink_summary(sink, &s.summary);
    sink_end(sink);
    assert_int_equal(sink_wait(sink, &o), 0);
    assert_int_equal(o.way, OUTPUT_FILE);
    assert_int_equal(o.samples, 1);
    assert_int_equal(o.delivered, 1);
    assert_true(o.has_bytes && o.bytes > 0 && o.is_whole);
    sink_close(sink, false);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file),      cmocka_unit_test(test_a_summary_alone),
        cmocka_unit_test(test_a_full_disk), cmocka_unit_test(test_an_endpoint),
        cmocka_unit_test(test_a_sender),
    };
    return RUN("sink_outcome", tests);
}
