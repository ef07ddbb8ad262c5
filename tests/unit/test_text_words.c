/* SPDX-License-Identifier: MIT */
#include "sink/words.h"

#include "unit.h"

#include <stdio.h>

/* A sink that writes nowhere: what is added stays in its text. */
static void expect(struct sink *s, const char *text)
{
    buf_putc(&s->text, '\0');
    assert_string_equal(s->text.data, text);
    buf_clear(&s->text);
}

static void test_colours_only_where_wanted(void **state)
{
    struct sink s = {0};
    text_style(&s, BOLD);
    expect(&s, "");
    s.flags = TOLL_OUTPUT_COLOR;
    text_style(&s, BOLD);
    expect(&s, BOLD);
    buf_done(&s.text);
}

static void test_paragraphs(void **state)
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

static void test_names_from_outside(void **state)
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

static void test_commands(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours_only_where_wanted),
        cmocka_unit_test(test_paragraphs),
        cmocka_unit_test(test_names_from_outside),
        cmocka_unit_test(test_commands),
    };
    return RUN("text_words", tests);
}
