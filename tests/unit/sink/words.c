/* SPDX-License-Identifier: MIT */
#include "sink/words.h"
#include "unit.h"

#include <stdio.h>

/* ---- text words ----------------------------------------------------------------------------- */

/* A sink that writes nowhere: what is added stays in its text. */
static void expect(struct sink *s, const char *text)
{
    buf_putc(&s->text, '\0');
    assert_string_equal(s->text.data, text);
    buf_clear(&s->text);
}

static void test_text_words_colours_only_where_wanted(void **state)
{
    struct sink s = {0};
    text_style(&s, BOLD);
    expect(&s, "");
    s.flags = TOLL_OUTPUT_COLOR;
    text_style(&s, BOLD);
    expect(&s, BOLD);
    buf_done(&s.text);
}

static void test_text_words_paragraphs(void **state)
{
    struct sink s = {0};
    text_paragraph(&s, "note: ", "short");
    expect(&s, "note: short\n");
    text_paragraph(&s, "", "");
    expect(&s, "\n");
    /* The eightieth letter still fits, the next word hangs below the first. */
    char seventy[71] = "";
    memset(seventy, 'x', 70);
    char words[128], broken[128];
    snprintf(words, sizeof words, "%s abcd e", seventy);
    snprintf(broken, sizeof broken, "1234 %s abcd\n     e\n", seventy);
    text_paragraph(&s, "1234 ", words);
    expect(&s, broken);
    /* No line is broken between a number and its unit. */
    snprintf(words, sizeof words, "%s 12\x1fMiB", seventy);
    snprintf(broken, sizeof broken, "1234 %s\n     12 MiB\n", seventy);
    text_paragraph(&s, "1234 ", words);
    expect(&s, broken);
    /* A word longer than the line stays whole, on the first line. */
    char huge[120] = "";
    memset(huge, 'y', sizeof huge - 1);
    snprintf(broken, sizeof broken, "x %s\n", huge);
    text_paragraph(&s, "x ", huge);
    expect(&s, broken);
    buf_done(&s.text);
}

static void test_text_words_names_from_outside(void **state)
{
    static const struct {
        const char *name, *shown;
    } cases[] = {
        {"make", "make"},
        {"", ""},
        {"two words", "two words"},
        {"\033[31mred\007\n\t\177", "?[31mred?  ?"},
        {"gr\xC3\xBC\xC3\x9F", "gr\xC3\xBC\xC3\x9F"}, /* letters stay */
        {"\xC2\x9B"
         "31m",
         "?31m"}, /* a control sequence in one letter */
    };
    struct sink s = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        text_foreign(&s, cases[i].name);
        expect(&s, cases[i].shown);
    }
    buf_done(&s.text);
}

static void test_text_words_commands(void **state)
{
    struct sink s = {0};
    char *const plain[] = {strdupa("make"), strdupa("-j2"), NULL};
    text_command(&s, plain);
    expect(&s, "make -j2");
    char *const odd[] = {strdupa("sh"), strdupa("-c"), strdupa("echo 'x' $HOME"), strdupa(""),
                         NULL};
    text_command(&s, odd);
    expect(&s, "sh -c 'echo '\\''x'\\'' $HOME' ''");
    text_command(&s, NULL);
    expect(&s, "");
    /* Cut, but not in the middle of a letter. */
    char word[512] = "";
    for (unsigned i = 0; i < 400; i += 2)
        memcpy(word + 1 + i, "\xC3\xBC", 2);
    word[0] = 'x';
    char *const huge[] = {word, NULL};
    text_command(&s, huge);
    buf_putc(&s.text, '\0');
    assert_int_equal(strlen(s.text.data), 299 + strlen("…"));
    assert_string_equal(s.text.data + 297, "\xC3\xBC…");
    buf_done(&s.text);
}

/* ---- human ---------------------------------------------------------------------------------- */

struct expectation {
    double number;
    const char *text;
};

#define CHECK(function, ...)                                                                       \
    do {                                                                                           \
        static const struct expectation list[] = {__VA_ARGS__};                                    \
        struct buf b = {0};                                                                        \
        for (size_t i = 0; i < ARRAY_LEN(list); i++) {                                             \
            buf_clear(&b);                                                                         \
            function(&b, list[i].number);                                                          \
            assert_string_equal(b.data, list[i].text);                                             \
        }                                                                                          \
        buf_done(&b);                                                                              \
    } while (0)

#define KIB 1024.0
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static void test_human_bytes(void **state)
{
    CHECK(buf_bytes, {0, "0 B"}, {1, "1 B"}, {999, "999 B"}, {1023, "1023 B"}, {1023.6, "1.00 KiB"},
          {1024, "1.00 KiB"}, {1536, "1.50 KiB"}, {10240, "10.0 KiB"}, {9.994 * KIB, "9.99 KiB"},
          {9.996 * KIB, "10.0 KiB"}, {99.94 * KIB, "99.9 KiB"}, {99.96 * KIB, "100 KiB"},
          {999.4 * KIB, "999 KiB"}, {1023 * KIB, "1023 KiB"}, {1023.6 * KIB, "1.00 MiB"},
          {1.21 * GIB, "1.21 GiB"}, {1023.6 * MIB, "1.00 GiB"}, {1024 * GIB, "1.00 TiB"},
          {1024 * 1024 * GIB, "1.00 PiB"}, {18446744073709551615.0, "16384 PiB"});
}

static void test_human_seconds(void **state)
{
    CHECK(human_seconds, {0, "0 s"}, {1e-9, "0.00 µs"}, {1e-6, "1.00 µs"}, {12.34e-6, "12.3 µs"},
          {999.4e-6, "999 µs"}, {0.0009996, "1.00 ms"}, {0.001, "1.00 ms"}, {0.0123, "12.3 ms"},
          {0.9994, "999 ms"}, {0.9996, "1.00 s"}, {1, "1.00 s"}, {9.996, "10.0 s"},
          {59.94, "59.9 s"}, {59.96, "1m 00s"}, {99.96, "1m 40s"}, {599.6, "10m 00s"},
          {3599.4, "59m 59s"}, {3599.6, "1h 00m"}, {3600, "1h 00m"}, {11100, "3h 05m"},
          {7199, "2h 00m"}, {86399, "24h 00m"}, {86400, "1d 00h"}, {172800, "2d 00h"});
}

static void test_human_counts(void **state)
{
    CHECK(human_count, {0, "0"}, {1, "1"}, {0.5, "1"}, {999, "999"}, {1000, "1,000"},
          {999999, "999,999"}, {1234567, "1,234,567"}, {1e15, "1,000,000,000,000,000"},
          {18446744073709549568.0, "18,446,744,073,709,549,568"});
}

static const char *number(struct buf *b, enum metric_id id, double value)
{
    buf_clear(b);
    human_number(b, metric_of(id), value);
    return b->data;
}

static const char *rate(struct buf *b, enum metric_id id, double value)
{
    buf_clear(b);
    buf_puts(b, "");
    human_rate(b, metric_of(id), value);
    return b->data;
}

static void test_human_by_unit(void **state)
{
    struct buf b = {0};
    assert_string_equal(number(&b, process_cpu_seconds, 1.5), "1.50 s");
    assert_string_equal(number(&b, process_memory_rss_bytes, 2048), "2.00 KiB");
    assert_string_equal(number(&b, process_cpu_cores, 1.987), "1.99");
    assert_string_equal(number(&b, process_cpu_cores, 0), "0.00");
    assert_string_equal(number(&b, process_faults_minor_count, 12345), "12,345");
    assert_string_equal(number(&b, process_threads_count, 12), "12");
    assert_string_equal(number(&b, process_threads_count, 12.34), "12.3"); /* a mean */
    assert_string_equal(number(&b, process_threads_count, 1234.5), "1,235");
    buf_done(&b);
}

/* In a column: percentages without digits that the kernel and drivers do not know. */
static void test_human_short(void **state)
{
    static const struct {
        enum metric_id id;
        double number;
        const char *text;
    } cases[] = {
        {gpu_utilization_ratio, 0, "0%"},         {gpu_utilization_ratio, 0.004, "0.4%"},
        {gpu_utilization_ratio, 0.63, "63%"},     {gpu_utilization_ratio, 1, "100%"},
        {process_cpu_cores, 0.5, "0.50"},         {process_processes_count, 12, "12"},
        {process_memory_rss_bytes, 2048, "2.0k"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = {0};
        human_short(&b, metric_of(cases[i].id), cases[i].number);
        buf_putc(&b, '\0');
        assert_string_equal(b.data, cases[i].text);
        buf_done(&b);
    }
}

static void test_human_rates(void **state)
{
    struct buf b = {0};
    assert_string_equal(rate(&b, process_cpu_seconds, 1.5), ""); /* that is cores */
    assert_string_equal(rate(&b, process_io_read_bytes, 2048), "2.00 KiB/s");
    assert_string_equal(rate(&b, process_faults_minor_count, 0.5), "0.50/s");
    assert_string_equal(rate(&b, process_faults_minor_count, 12345), "12,345/s");
    buf_done(&b);
}

/* Larger never reads as smaller: of any two numbers in one unit the order is kept. */
static void test_human_no_number_is_out_of_place(void **state)
{
    struct buf b = {0};
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        double seconds = (double)random_magnitude(&seed, 60) / 1e9;
        double bytes = (double)random_magnitude(&seed, 59);
        buf_clear(&b);
        human_seconds(&b, seconds);
        assert_null(strstr(b.data, "min 60 s"));
        assert_null(strstr(b.data, "h 60m"));
        assert_null(strstr(b.data, "1000 ms"));
        assert_null(strstr(b.data, "1000 µs"));
        assert_null(strstr(b.data, "null"));
        buf_clear(&b);
        buf_bytes(&b, bytes);
        assert_null(strstr(b.data, "1024 "));
        assert_true(strlen(b.data) <= 9);
    }
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_words_colours_only_where_wanted),
        cmocka_unit_test(test_text_words_paragraphs),
        cmocka_unit_test(test_text_words_names_from_outside),
        cmocka_unit_test(test_text_words_commands),
        cmocka_unit_test(test_human_bytes),
        cmocka_unit_test(test_human_seconds),
        cmocka_unit_test(test_human_counts),
        cmocka_unit_test(test_human_by_unit),
        cmocka_unit_test(test_human_rates),
        cmocka_unit_test(test_human_short),
        cmocka_unit_test(test_human_no_number_is_out_of_place),
    };
    return RUN("sink/words", tests);
}
