/* SPDX-License-Identifier: MIT */
#include "sample.h"

static void test_rows(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds,target_cpu_cores,main_memory_rss_bytes,self_ticks");
    struct sink *sink = sample_sink(&s, "x.csv");
    assert_int_equal(sink_begin(sink, &s.run), 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0); /* nothing is known yet */
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1234567891);
    row_put_double(&s.parts[PART_COMBINED], process_cpu_cores, 0);
    row_put_u64(&s.parts[PART_MAIN], process_memory_rss_bytes, 4096);
    row_put_u64(&s.self, self_ticks_count, 2);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_int_equal(sink_summary(sink, &s.summary), 0); /* not in a table */
    sample_expect(&s, sink, "x.csv",
                  "time,elapsed_seconds,interval_seconds,target_cpu_seconds,target_cpu_cores,"
                  "main_memory_rss_bytes,self_ticks\n"
                  "2024-11-07T17:20:00.123Z,1.5,0.01,,,,\n"
                  "2024-11-07T17:20:00.123Z,1.5,0.01,1.234567891,0,4096,2\n");
    sample_remove(&s);
}

static unsigned commas(const char *line)
{
    unsigned count = 0;
    for (; *line && *line != '\n'; line++)
        count += *line == ',';
    return count;
}

/* Every row has the columns of the head, with and without parts, whatever is known. */
static void test_columns(void **state)
{
    static const char *const metrics[] = {NULL, "cpu_*", "descendants_*", "self_*", "main_io_*"};
    for (unsigned i = 0; i < ARRAY_LEN(metrics) * 2; i++) {
        struct sample s;
        sample_make(&s, metrics[i / 2]);
        s.run.no_children = i % 2;
        for (unsigned part = PART_MAIN; part < PARTS && i % 2; part++)
            s.frame.target[part].row = NULL; /* as the engine does it */
        struct sink *sink = sample_sink(&s, "x.csv");
        sink_begin(sink, &s.run);
        sink_frame(sink, &s.frame);
        sink_close(sink, false);
        char *text = tree_read(&s.tree, "x.csv");
        const char *row = strchr(text, '\n') + 1;
        assert_int_equal(commas(text), commas(row));
        assert_int_equal(strstr(text, ",main_") != NULL,
                         i % 2 == 0 && (i / 2 == 0 || i / 2 == 1 || i / 2 == 4));
        free(text);
        sample_remove(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_columns),
    };
    return RUN("csv", tests);
}
