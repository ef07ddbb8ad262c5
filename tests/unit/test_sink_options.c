/* SPDX-License-Identifier: MIT */
#include "sink/sink.h"

#include "unit.h"

static const struct sink_option table[] = {
    {{"every", "TIME", "5s", ""}, OPTION_DURATION, false},
    {{"queue", "SIZE", "16MiB", ""}, OPTION_QUEUE, false},
    {{"room", "SIZE", "0", ""}, OPTION_SIZE, false},
    {{"share", "NUMBER", "", ""}, OPTION_NUMBER, false},
    {{"name", "TEXT", "", ""}, OPTION_TEXT, false},
    {{"header", "TEXT", "", ""}, OPTION_TEXT, true},
    {{"mode", "no|yes", "no", ""}, OPTION_WORD, false},
    {.facts = {0}},
};

static void test_values(void **state)
{
    struct sink_settings s;
    char *place = NULL;
    struct toll_error e = {0};
    assert_int_equal(sink_options_read(&s, &place, "x", table,
                                       "http://a/b,,c,every=250ms,queue=64K,share=-1.5e3,name=a,,b"
                                       ",header=A: 1,header=B: 2,,3,mode=yes",
                                       &e),
                     0);
    assert_string_equal(place, "http://a/b,c");
    assert_int_equal(sink_options_u64(&s, "every"), 250000000);
    assert_int_equal(sink_options_u64(&s, "queue"), 65536);
    assert_true(sink_options_double(&s, "share") == -1500);
    assert_string_equal(sink_options_text(&s, "name"), "a,b");
    assert_string_equal(sink_options_text(&s, "header"), "A: 1\nB: 2,3");
    assert_int_equal(sink_options_u64(&s, "mode"), 1);
    assert_true(sink_options_has(&s, "mode"));
    assert_int_equal(sink_options_u64(&s, "nothing"), 0);
    assert_null(sink_options_text(&s, "nothing"));
    sink_options_done(&s);
    free(place);
}

static void test_defaults(void **state)
{
    struct sink_settings s;
    char *place = NULL;
    assert_int_equal(sink_options_read(&s, &place, "x", table, "", NULL), 0);
    assert_string_equal(place, "");
    assert_int_equal(sink_options_u64(&s, "every"), 5 * NS_PER_SECOND);
    assert_int_equal(sink_options_u64(&s, "queue"), 16 << 20);
    assert_null(sink_options_text(&s, "name"));
    assert_false(sink_options_has(&s, "every"));
    sink_options_done(&s);
    free(place);
    assert_int_equal(sink_options_take(&s, "x", table, ",every=1s", NULL), 0);
    assert_int_equal(sink_options_u64(&s, "every"), NS_PER_SECOND);
    sink_options_done(&s);
}

static void test_mistakes(void **state)
{
    static const char *const bad[][2] = {
        {"p,evry=1s", "no option 'evry'; there are every, queue"},
        {"p,every", "no option 'every'"}, /* without a value */
        {"p,secret=hunter2", "no option 'secret'"},
        {"p:half,hunter2@h", "behind a comma of x is no option, name=value; there are every"},
        {"p:half,hunter2@h=x", "is no option"},
        {"p,every=soon", "the option every of x takes a time such as 500ms"},
        {"p,queue=much", "a size from 4K on, such as"},
        {"p,room=much", "a size such as 4096"},
        {"p,queue=0", "a size from 4K on"},
        {"p,queue=4095", "a size from 4K on"},
        {"p,share=1x", "a number, not '1x'"},
        {"p,name=", "not empty"},
        {"p,mode=maybe", "takes no|yes, not 'maybe'"},
        {"p,every=1s,every=2s", "every of x is given twice"},
        {"p,", NULL}, /* says nothing more */
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sink_settings s;
        char *place = NULL;
        struct toll_error e = {0};
        int r = sink_options_read(&s, &place, "x", table, bad[i][0], &e);
        assert_int_equal(r, bad[i][1] ? -EINVAL : 0);
        if (bad[i][1]) {
            assert_non_null(strstr(e.message, bad[i][1]));
            assert_null(strstr(e.message, "hunter2"));
            assert_null(place);
            continue;
        }
        sink_options_done(&s);
        free(place);
    }
}

static void test_without_options_commas_are_commas(void **state)
{
    struct sink_settings s;
    char *place = NULL;
    assert_int_equal(sink_options_read(&s, &place, "csv", NULL, "a,b,,c=1.csv", NULL), 0);
    assert_string_equal(place, "a,b,,c=1.csv");
    sink_options_done(&s);
    free(place);
    assert_true(sink_options_begin_at(table, "every=1"));
    assert_false(sink_options_begin_at(table, "every"));
    assert_false(sink_options_begin_at(table, "ever=1"));
    assert_false(sink_options_begin_at(NULL, "every=1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_without_options_commas_are_commas),
    };
    return RUN("sink_options", tests);
}
