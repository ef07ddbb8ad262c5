/* SPDX-License-Identifier: MIT */
#include "sink/exposition.h"

#include "sample.h"

#include <math.h>

static void test_both_flavours(void **state)
{
    struct sample s;
    struct points p;
    struct buf chunk = {0}, text = {0};
    char name[] = "a \"b\\";
    sample_make(&s, "target_cpu_seconds,main_threads");
    char *before = s.run.name;
    s.run.name = name;
    points_init(&p);
    struct exposition x = {.points = &p};
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1234567891);
    row_put_u64(&s.parts[PART_MAIN], process_threads_count, 3);
    points_add(&p, &s.run, &s.selection, &s.frame, &chunk);
    assert_int_equal(exposition_take(&x, chunk.data, chunk.length), 0);
    exposition_write(&x, &text, EXPOSITION_OPENMETRICS);
    assert_string_equal(
        text.data,
        "# TYPE toll_target_cpu_seconds counter\n"
        "# UNIT toll_target_cpu_seconds seconds\n"
        "# HELP toll_target_cpu_seconds CPU time in user and system mode together\n"
        "toll_target_cpu_seconds_total{instance=\"box\",run=\"a \\\"b\\\\\",scope=\"combined\"} "
        "1.234567891\n"
        "# TYPE toll_target_threads gauge\n"
        "# HELP toll_target_threads Threads\n"
        "toll_target_threads{instance=\"box\",run=\"a \\\"b\\\\\",scope=\"main\"} 3\n"
        "# EOF\n");
    buf_clear(&text);
    exposition_write(&x, &text, EXPOSITION_TEXT);
    assert_non_null(strstr(text.data, "# TYPE toll_target_cpu_seconds_total counter\n"));
    assert_null(strstr(text.data, "# UNIT"));
    assert_null(strstr(text.data, "# EOF"));
    buf_done(&chunk);
    buf_done(&text);
    exposition_done(&x);
    points_done(&p);
    s.run.name = before;
    sample_remove(&s);
}

/* What was so at a moment is so no longer; what was counted, and the highest, stays. */
static void test_the_end(void **state)
{
    struct sample s;
    struct points p;
    struct buf chunk = {0}, text = {0};
    sample_make(&s, "target_cpu_seconds,target_threads,target_memory_peak_bytes");
    points_init(&p);
    struct exposition x = {.points = &p};
    exposition_begin(&x, &s.run);
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    row_put_u64(&s.parts[PART_COMBINED], process_threads_count, 3);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_peak_bytes, 4096);
    points_add(&p, &s.run, &s.selection, &s.frame, &chunk);
    assert_int_equal(exposition_take(&x, chunk.data, chunk.length), 0);
    exposition_write(&x, &text, EXPOSITION_TEXT);
    assert_non_null(strstr(text.data, "toll_target_threads{"));
    assert_null(strstr(text.data, "toll_run_"));
    static const struct {
        struct toll_end end;
        const char *status;
    } all[] = {
        {{.ended = true, .status = 3}, "toll_run_exit_code{instance=\"box\",run=\"make\"} 3\n"},
        {{.ended = true, .signaled = true, .status = 9},
         "toll_run_exit_signal{instance=\"box\",run=\"make\"} 9\n"},
        {{.ended = true, .unknown = true}, NULL},
        {{.ended = false}, NULL}, /* somebody was attached, and left */
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        s.summary.whole.end = all[i].end;
        buf_clear(&chunk);
        buf_clear(&text);
        exposition_add_end(&chunk, &s.summary);
        exposition_take_end(&x, chunk.data, chunk.length);
        exposition_write(&x, &text, EXPOSITION_OPENMETRICS);
        assert_non_null(strstr(text.data, "toll_target_cpu_seconds_total{"));
        assert_non_null(strstr(text.data, "toll_target_memory_peak_bytes{"));
        assert_null(strstr(text.data, "toll_target_threads"));
        assert_non_null(strstr(text.data, "# UNIT toll_run_end_time_seconds seconds\n"));
        assert_non_null(
            strstr(text.data,
                   "\ntoll_run_end_time_seconds{instance=\"box\",run=\"make\"} 1731000002.123\n"));
        if (all[i].status)
            assert_non_null(strstr(text.data, all[i].status));
        else
            assert_null(strstr(text.data, "toll_run_exit"));
    }
    buf_done(&chunk);
    buf_done(&text);
    exposition_done(&x);
    points_done(&p);
    sample_remove(&s);
}

static void test_numbers(void **state)
{
    static const struct {
        double value;
        const char *text;
    } all[] = {
        {0.1, "0.1"}, {1e20, "1e+20"}, {NAN, "NaN"}, {INFINITY, "+Inf"}, {-INFINITY, "-Inf"}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct buf b = {0};
        exposition_number(&b, all[i].value);
        assert_string_equal(b.data, all[i].text);
        buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_flavours),
        cmocka_unit_test(test_the_end),
        cmocka_unit_test(test_numbers),
    };
    return RUN("exposition", tests);
}
