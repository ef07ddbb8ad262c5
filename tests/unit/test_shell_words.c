/* SPDX-License-Identifier: MIT */
#include "base/text/scan.h"

#include "unit.h"

#include <errno.h>

static void check(const char *text, const char *const *words)
{
    char **got = NULL;
    const char *why;
    assert_int_equal(shell_words(text, &got, &why), 0);
    size_t i = 0;
    for (; words[i]; i++) {
        assert_non_null(got[i]);
        assert_string_equal(got[i], words[i]);
    }
    assert_null(got[i]);
    free(got);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_words(void **state)
{
    check("ls -l  -a\t.\n", WORDS("ls", "-l", "-a", "."));
    check("", (const char *const[]){NULL});
    check(" \t\n", (const char *const[]){NULL});
    check("a", WORDS("a"));
    check("bash -c 'sleep 1; echo \"x y\" $HOME'",
          WORDS("bash", "-c", "sleep 1; echo \"x y\" $HOME"));
    check("echo \"a b\"c'd e' ''", WORDS("echo", "a bcd e", ""));
    check("a\\ b \"\\$x \\q \\\\ \\\"\" 'x\\'", WORDS("a b", "$x \\q \\ \"", "x\\"));
    check("one\\\ntwo three", WORDS("onetwo", "three"));
    check("a | b > c && d # e *", WORDS("a", "|", "b", ">", "c", "&&", "d", "#", "e", "*"));
    check("é 'ü'", WORDS("é", "ü"));
}

static void test_bad(void **state)
{
    char **got = NULL;
    const char *why = NULL;
    assert_int_equal(shell_words("echo 'open", &got, &why), -EINVAL);
    assert_string_equal(why, "No closing quotation");
    assert_int_equal(shell_words("echo \"open\\\"", &got, &why), -EINVAL);
    assert_string_equal(why, "No closing quotation");
    assert_int_equal(shell_words("echo \\", &got, &why), -EINVAL);
    assert_string_equal(why, "No escaped character");
    assert_null(got);
}

/* Every word that is one byte long: as many as there can be. */
static void test_many(void **state)
{
    char text[2001];
    char **got;
    const char *why;
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = i % 2 ? ' ' : 'x';
    text[sizeof text - 1] = '\0';
    assert_int_equal(shell_words(text, &got, &why), 0);
    for (size_t i = 0; i < 1000; i++)
        assert_string_equal(got[i], "x");
    assert_null(got[1000]);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_many),
    };
    return RUN("shell_words", tests);
}
