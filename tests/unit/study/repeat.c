/* SPDX-License-Identifier: MIT
 * The result of made-up runs, in each of its forms. */
#include "study/study.h"

#include "unit.h"

#include <string.h>

/* A run of so many milliseconds; CPU time in ms with its quality. */
static void add(struct toll_repeats *r, char **command, const char *parameter, uint64_t wall_ms,
                uint64_t cpu_ms, enum quality quality, int status)
{
    struct run run = {.command = command, .name = command[0]};
    struct summary *s = calloc(1, sizeof *s);
    const char *const parameters[] = {parameter, NULL};
    assert_non_null(s);
    assert_int_equal(summary_init(s, &run), 0);
    s->elapsed_ns = wall_ms * NS_PER_MS;
    s->has_target = true;
    s->whole.end = (struct toll_end){.ended = true, .status = status};
    struct series *cpu = &s->whole.series[PART_COMBINED][process_cpu_seconds];
    cpu->count = quality != QUALITY_UNKNOWN;
    cpu->last.u = cpu_ms * NS_PER_MS;
    s->whole.provenance[PART_COMBINED][process_cpu_seconds].quality = quality;
    assert_int_equal(repeats_add(r, s, parameters), 0);
    summary_done(s);
    free(s);
}

static char *text(const struct toll_repeats *r, const char *format, unsigned flags)
{
    struct toll_output like = {.size = sizeof like, .format = format, .flags = flags};
    struct toll_error e;
    char *ret = NULL;
    assert_int_equal(toll_repeats_text(r, &like, &ret, &e), 0);
    return ret;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static char *sleeps[] = {(char[]){"sleep"}, (char[]){"0.1"}, NULL};
static char *hostile[] = {(char[]){"a b"}, (char[]){"\033[31m"}, (char[]){"|<b>"}, NULL};

static struct toll_repeats *repeats(void)
{
    struct toll_repeats *r = NULL;
    assert_int_equal(toll_repeats_new(&r, NULL), 0);
    return r;
}

static void test_one_command(void **state)
{
    static const uint64_t times[] = {100, 102, 101, 99, 100, 98, 170};
    struct toll_repeats *r = repeats();
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        add(r, sleeps, NULL, times[i], 10, i == 2 ? QUALITY_LOWER_BOUND : QUALITY_EXACT, 0);
    char *t = text(r, "text", 0);
    assert_has(
        t, "toll: sleep 0.1                                                           7 runs\n");
    assert_has(t, "  Time       110 ms ± 26.5 ms          98.0 ms to 170 ms\n");
    assert_has(t, "  CPU        ≥ 10.0 ms\n"); /* one is a lower bound, so is the mean */
    assert_has(t, "  Memory     unknown\n");
    assert_has(t, "  Outliers: time of run 7 (170 ms).\n");
    assert_null(strstr(t, "Energy"));
    free(t);
    t = text(r, "text", TOLL_OUTPUT_ASCII);
    for (const char *c = t; *c; c++)
        assert_true((unsigned char)*c < 0x80);
    free(t);
    toll_repeats_free(r);
}

static void test_known_in_some(void **state)
{
    struct toll_repeats *r = repeats();
    add(r, sleeps, NULL, 10, 4, QUALITY_EXACT, 0);
    add(r, sleeps, NULL, 10, 0, QUALITY_UNKNOWN, 3);
    char *t = text(r, "text", 0);
    assert_has(t, "2 runs, 1 failed\n");
    assert_has(t, "  CPU        4.00 ms                                             in 1 of 2\n");
    free(t);
    t = text(r, "json", 0);
    assert_has(t, "\"stddev\": null");
    assert_has(t, "            0.004,\n            null\n");
    assert_has(t, "\"memory_peak_bytes\": null");
    assert_has(t, "\"exit_statuses\": [\n        0,\n        3\n      ]");
    free(t);
    t = text(r, "hyperfine", 0);
    assert_has(t, "\"mean\": 0.01,\n      \"stddev\": 0.0,");
    assert_has(t, "\"user\": null");
    assert_null(strstr(t, "memory_usage_byte"));
    free(t);
    toll_repeats_free(r);
}

static void test_several_commands(void **state)
{
    struct toll_repeats *r = repeats();
    add(r, sleeps, "n=1", 300, 10, QUALITY_EXACT, 0);
    add(r, sleeps, "n=2", 100, 20, QUALITY_EXACT, 0);
    add(r, sleeps, "n=1", 320, 10, QUALITY_EXACT, 0);
    char *t = text(r, "text", 0);
    assert_has(t, "toll: 2 commands, the fastest first\n");
    const char *fast = strstr(t, "  n=2  100 ms"), *slow = strstr(t, "  n=1  310 ms ± 14.1 ms");
    assert_true(fast && slow && fast < slow);
    assert_has(slow, "3.10 ± 0.14");
    free(t);
    t = text(r, "markdown", 0);
    assert_has(
        t, "| n=1 | 310 ms ± 14.1 ms | 300 ms to 320 ms | 3.10 ± 0.14 | 10.0 ms | unknown | 2 |");
    free(t);
    t = text(r, "hyperfine", 0); /* in the order in which they were run */
    assert_has(strstr(t, "\"n\": \"1\""), "\"n\": \"2\"");
    free(t);
    toll_repeats_free(r);
}

static void test_names_from_outside(void **state)
{
    struct toll_repeats *r = repeats();
    add(r, hostile, NULL, 10, 4, QUALITY_EXACT, 0);
    char *t = text(r, "text", 0);
    assert_null(strchr(t, '\033'));
    free(t);
    t = text(r, "markdown", 0);
    assert_null(strstr(t, " |<b>"));
    assert_has(t, "\\|\\<b\\>");
    free(t);
    toll_repeats_free(r);
}

static void test_nothing(void **state)
{
    static const char *const formats[] = {"text", "json", "markdown", "hyperfine"};
    struct toll_repeats *r = repeats();
    struct toll_output like = {.size = sizeof like, .format = "csv"};
    struct toll_error e;
    char *t = NULL;
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        free(text(r, formats[i], 0));
    assert_int_equal(toll_repeats_text(r, &like, &t, &e), -EINVAL);
    assert_string_equal(e.message, "format 'csv' cannot show repeated runs (expected text, "
                                   "markdown, json or hyperfine)");
    toll_repeats_free(r);
    toll_repeats_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_command),      cmocka_unit_test(test_known_in_some),
        cmocka_unit_test(test_several_commands), cmocka_unit_test(test_names_from_outside),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
