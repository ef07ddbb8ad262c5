/* SPDX-License-Identifier: MIT */
#include "sample.h"

/* Nothing but the summary is written, and it is a whole document. */
static void test_only_the_summary(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds");
    struct sink *sink = sample_sink(&s, "x.json");
    struct process_end end = {.process = &s.process};
    assert_int_equal(sink_begin(sink, &s.run), 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_int_equal(sink_process_end(sink, &end), 0);
    assert_int_equal(sink_note(sink, 0, "note"), 0);
    assert_int_equal(sink->chunks, 0);
    assert_int_equal(sink_summary(sink, &s.summary), 0);
    assert_int_equal(sink->chunks, 1);
    sink_close(sink, false);
    char *text = tree_read(&s.tree, "x.json");
    static const char head[] = "{\n  \"schema\": \"toll.summary/1\",\n  \"toll\": \"" TOLL_VERSION
                               "\",\n  \"name\": \"make\",\n";
    assert_memory_equal(text, head, strlen(head));
    size_t length = strlen(text);
    assert_string_equal(text + length - 3, "\n}\n");
    free(text);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_summary),
    };
    return RUN("json", tests);
}
