/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include "base/util.h"
#include "unit.h"

static void test_suggestion_distance(void **state)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } pairs[] = {
        {"", "", 0},
        {"", "run", 3},
        {"run", "run", 0},
        {"Run", "rUN", 0},
        {"rnu", "run", 1}, /* a swap is one mistake */
        {"rn", "run", 1},
        {"runn", "run", 1},
        {"ran", "run", 1},
        {"dotcor", "doctor", 1},
        {"ca", "abc", 3}, /* what was swapped is not changed again */
        {"kitten", "sitting", 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        assert_int_equal(suggestion_distance(pairs[i].a, pairs[i].b), pairs[i].distance);
        assert_int_equal(suggestion_distance(pairs[i].b, pairs[i].a), pairs[i].distance);
    }
    char longest[SUGGESTION_BYTES], too_long[SUGGESTION_BYTES + 1];
    memset(longest, 'x', sizeof longest);
    longest[SUGGESTION_BYTES - 1] = '\0';
    memset(too_long, 'x', sizeof too_long);
    too_long[SUGGESTION_BYTES] = '\0';
    assert_int_equal(suggestion_distance(longest, longest), 0);
    assert_int_equal(suggestion_distance(longest, ""), SUGGESTION_BYTES - 1);
    assert_int_equal(suggestion_distance(too_long, too_long), SIZE_MAX);
    assert_int_equal(suggestion_distance("", too_long), SIZE_MAX);
}

static const char *suggestion_for(const char *typed)
{
    static const char *const known[] = {"run",        "attach", "system", "summary",
                                        "summary-to", "cpu",    "gpus"};
    static struct suggestion s;
    suggestion_begin(&s, typed);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        suggestion_offer(&s, known[i]);
    return suggestion_text(&s);
}

static void test_suggestion_text(void **state)
{
    assert_string_equal(suggestion_for("atach"), " (did you mean 'attach'?)");
    assert_string_equal(suggestion_for("RUN"), " (did you mean 'run'?)");
    assert_string_equal(suggestion_for("sysetm"), " (did you mean 'system'?)");
    assert_string_equal(suggestion_for("sumary_to"), " (did you mean 'summary-to'?)");
    assert_string_equal(suggestion_for("sum"), " (did you mean 'summary'?)"); /* an abbreviation */
    assert_string_equal(suggestion_for("gpu"), " (did you mean 'gpus'?)");
    assert_string_equal(suggestion_for(""), "");
    assert_string_equal(suggestion_for("r"), "");
    assert_string_equal(suggestion_for("make"), "");
    assert_string_equal(suggestion_for("entirely"), "");
}

/* Whatever is typed or offered, nothing is written past its end. */
static void test_suggestion_long_words(void **state)
{
    char word[4 * SUGGESTION_BYTES];
    struct suggestion s;
    memset(word, 'x', sizeof word);
    for (size_t length = 0; length < sizeof word; length++) {
        word[length] = '\0';
        suggestion_begin(&s, word);
        suggestion_offer(&s, word);
        bool fits = length < SUGGESTION_BYTES;
        assert_int_equal(*suggestion_text(&s) != '\0', fits && length > 0);
        assert_true(strlen(suggestion_text(&s)) < sizeof s.text);
        word[length] = 'x';
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suggestion_distance),
        cmocka_unit_test(test_suggestion_text),
        cmocka_unit_test(test_suggestion_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
