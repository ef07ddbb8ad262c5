/* SPDX-License-Identifier: MIT */
#include "sample.h"

/* What the sink writes of the sample; the caller frees. */
static char *text_of(struct sample *s, unsigned flags)
{
    char path[512];
    struct sink *sink;
    struct toll_output out = {
        .size = sizeof out, .destination = tree_path(&s->tree, path, "x.txt"), .flags = flags};
    assert_int_equal(sink_open(&sink, &out, &s->selection, NULL), 0);
    assert_int_equal(sink_begin(sink, &s->run), 0);
    assert_int_equal(sink_frame(sink, &s->frame), 0);
    assert_int_equal(sink_summary(sink, &s->summary), 0);
    sink_close(sink, false);
    return tree_read(&s->tree, "x.txt");
}

static void set_command(struct sample *s, char *const argv[])
{
    free(s->run.name); /* that of the command before */
    s->run.name = NULL;
    assert_int_equal(run_set_command(&s->run, argv), 0);
}

static void test_the_head(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    char *text = text_of(&s, 0);
    static const char head[] = "toll: make -j2\nexit 3 after 2.00 s\n";
    assert_memory_equal(text, head, strlen(head));
    free(text);
    s.summary.whole.end = (struct toll_end){.ended = true, .signaled = true, .status = 9};
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "killed by SIGKILL after"));
    free(text);
    s.summary.whole.end = (struct toll_end){
        .ended = true, .signaled = true, .status = 64, .core_dumped = true};
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "core dumped"));
    free(text);
    s.summary.whole.end = (struct toll_end){0};
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "still running after"));
    free(text);
    sample_remove(&s);
}

static void test_the_command_as_one_could_type_it(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    set_command(&s, (char *[]){strdupa("sh"), strdupa("-c"), strdupa("echo 'it'"), strdupa(""),
                               strdupa("\033[31m"),
                               strdupa("a\xC2\x9B"
                                       "b"),
                               strdupa("ünï"), NULL});
    char *text = text_of(&s, 0);
    static const char head[] = "toll: sh -c 'echo '\\''it'\\''' '' '?[31m' a?b ünï\n";
    assert_memory_equal(text, head, strlen(head));
    free(text);
    sample_remove(&s);
}

static void check_utf8(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        unsigned more = *c < 0x80 ? 0 : *c >= 0xF0 ? 3 : *c >= 0xE0 ? 2 : *c >= 0xC2 ? 1 : 99;
        assert_true(more < 4);
        for (c++; more; more--, c++)
            assert_true((*c & 0xC0) == 0x80);
    }
}

/* However long, it is cut between two letters. */
static void test_a_long_command(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    for (unsigned lead = 0; lead < 8; lead++) {
        char word[2000] = "";
        memset(word, 'x', lead);
        word[lead] = '\0';
        for (int i = 0; i < 200; i++)
            strcat(word, i % 2 ? "€" : "ü");
        set_command(&s, (char *[]){word, word, NULL});
        char *text = text_of(&s, 0);
        *strchr(text, '\n') = '\0';
        assert_true(strlen(text) < 320);
        assert_non_null(strstr(text, "…"));
        check_utf8(text);
        free(text);
    }
    sample_remove(&s);
}

static void test_unknown_is_no_number(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,storage_read_bytes,memory_rss_bytes");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 1500000000, QUALITY_EXACT_IF_REAPED);
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 0, QUALITY_EXACT);
    char *text = text_of(&s, 0);
    assert_non_null(strstr(text, "1.50 s"));
    assert_non_null(strstr(text, "\nzero: storage read\n"));
    assert_non_null(strstr(text, "\nunknown: resident memory"));
    free(text);
    text = text_of(&s, TOLL_OUTPUT_VERBOSE);
    assert_null(strstr(text, "\nzero:"));
    const char *rss = strstr(text, "\nresident memory");
    assert_non_null(rss);
    *strchr(rss + 1, '\n') = '\0';
    assert_non_null(strstr(rss, "?"));
    assert_non_null(strstr(rss, "unknown"));
    assert_null(strchr(rss, '0'));
    free(text);
    sample_remove(&s);
}

static void test_how_figures_were_obtained(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,io_read_bytes");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 1500000000, QUALITY_LOWER_BOUND);
    sample_total(&s, PART_COMBINED, process_io_read_bytes, 100, QUALITY_SAMPLED);
    char *text = text_of(&s, 0);
    assert_non_null(strstr(text, " at least\n"));
    assert_non_null(strstr(text, " sampled\n"));
    free(text);
    sample_remove(&s);
}

static void test_no_escapes_unless_asked(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 1500000000, QUALITY_SAMPLED);
    char *plain = text_of(&s, TOLL_OUTPUT_VERBOSE);
    char *colored = text_of(&s, TOLL_OUTPUT_VERBOSE | TOLL_OUTPUT_COLOR);
    assert_null(strchr(plain, '\033'));
    assert_non_null(strchr(colored, '\033'));
    /* Without its sequences it is the same text. */
    char *to = colored;
    for (const char *c = colored; *c; c++) {
        if (*c == '\033')
            c = strchr(c, 'm');
        else
            *to++ = *c;
    }
    *to = '\0';
    assert_string_equal(colored, plain);
    free(plain);
    free(colored);
    sample_remove(&s);
}

static void test_survivors(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    for (int i = 0; i < SUMMARY_STILL_RUNNING; i++)
        s.summary.survivors[i] = (struct survivor){.pid = 500 + i, .name = "evil\033]0;x\a"};
    s.summary.survivors[9].has_rss = true;
    s.summary.survivor_count = SUMMARY_STILL_RUNNING + 7;
    char *text = text_of(&s, 0);
    assert_non_null(strstr(text, "  509 evil?]0;x?: 0 s CPU, 0 B\n"));
    assert_non_null(strstr(text, "  508 evil?]0;x?: 0 s CPU, memory unknown\n"));
    assert_non_null(strstr(text, "and 7 more"));
    assert_null(strchr(text, '\033'));
    free(text);
    sample_remove(&s);
}

/* Whatever the figures, a line fits a terminal, and none ends in blanks. */
static void test_lines(void **state)
{
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        struct sample s;
        sample_make(&s, NULL);
        for (unsigned part = 0; part < PARTS; part++)
            for (unsigned id = 0; id < PROCESS_METRICS; id++)
                if (!metric_is_double(metric_of(id)))
                    sample_total(&s, part, id, random_magnitude(&seed, 24),
                                 (enum quality)random_below(&seed, QUALITIES));
        summary_note(&s.summary, "a sentence that is long enough to be broken into several lines, "
                                 "because no terminal is as wide as that");
        char *text = text_of(&s, random_below(&seed, 2) ? TOLL_OUTPUT_VERBOSE : 0);
        check_utf8(text);
        for (char *line = text, *end; *line; line = end + 1) {
            end = strchr(line, '\n');
            assert_non_null(end);
            unsigned columns = 0;
            for (const char *c = line; c < end; c++)
                columns += (*c & 0xC0) != 0x80;
            assert_true(columns <= 84);
            assert_true(end == line || end[-1] != ' ');
        }
        free(text);
        sample_remove(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_head),
        cmocka_unit_test(test_the_command_as_one_could_type_it),
        cmocka_unit_test(test_a_long_command),
        cmocka_unit_test(test_unknown_is_no_number),
        cmocka_unit_test(test_how_figures_were_obtained),
        cmocka_unit_test(test_no_escapes_unless_asked),
        cmocka_unit_test(test_survivors),
        cmocka_unit_test(test_lines),
    };
    return RUN("text", tests);
}
