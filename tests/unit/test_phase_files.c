/* SPDX-License-Identifier: MIT
 * Analyses and comparisons, from files to text and JSON; of all of subtrack that is not tested on
 * its own. The figures are worked out by hand. */
#include "toll.h"

#include "scratch.h"

#include <errno.h>

static const char points[] = "unit,capacity,cores\r\nmega,2.5,4\r\n"
                             "ram_of_main,n_threads,timestamp\r\n"
                             "1.0,2,100.0\r\n3.0,2,101.0\r\n5.0,4,102.0\r\n7.5,4,110.0\r\n";
static const char blocks[] = "process_id,code_block_name,position,timestamp\r\n"
                             "1,f,0,99.5\r\n1,f,1,101.0\r\n1,f,0,103.0\r\n1,f,1,104.5\r\n"
                             "1,g.py:9,0,101.5\r\n1,g.py:9,1,102.5\r\n1,g.py:9,0,120.0\r\n";

static const char text[] = "Overall:\n"
                           "\t             min  max  mean        std\n"
                           "\tram_of_main  1.0  7.5 4.125 2.40767004\n"
                           "\tn_threads    2.0  4.0   3.0        1.0\n"
                           "Static Data:\n"
                           "\t  unit capacity cores\n"
                           "\t  mega      2.5     4\n"
                           "Code Block Results:\n"
                           "\tName:                f\n"
                           "\tNum Timepoints:      2\n"
                           "\tNum Calls:           2\n"
                           "\tNum Non Empty Calls: 1\n"
                           "\tCompute Time:\n"
                           "\t\t  min  max  mean  std  total\n"
                           "\t\t  1.5  1.5   1.5  0.0    3.0\n"
                           "\tResource Usage:\n"
                           "\t\t             min  max  mean  std\n"
                           "\t\tram_of_main  1.0  3.0   2.0  1.0\n"
                           "\t\tn_threads    2.0  2.0   2.0  0.0\n"
                           "\n"
                           "\tName:                g.py:9\n"
                           "\tNum Timepoints:      1\n"
                           "\tNum Calls:           1\n"
                           "\tNum Non Empty Calls: 1\n"
                           "\tCompute Time:\n"
                           "\t\t  min  max  mean  std  total\n"
                           "\t\t  1.0  1.0   1.0  0.0    1.0\n"
                           "\tResource Usage:\n"
                           "\t\t             min  max  mean  std\n"
                           "\t\tram_of_main  5.0  5.0   5.0  0.0\n"
                           "\t\tn_threads    4.0  4.0   4.0  0.0\n"
                           "\n";

static struct toll_error e;

static char *analyzed(const char *p, const char *b, const char *format)
{
    char *got = NULL;
    assert_int_equal(toll_phases_analyze(p, b, format, &got, &e), 0);
    return got;
}

static void test_text(void **state)
{
    const char *p = scratch_write("p.csv", points), *b = scratch_write("b.csv", blocks);
    char *got = analyzed(p, b, NULL);
    assert_string_equal(got, text);
    free(got);
}

/* Without the static data in front, which older files do not have. */
static void test_session_alone(void **state)
{
    const char *p = scratch_write("p.csv", strstr(points, "ram_of_main"));
    char *got = analyzed(p, NULL, "text");
    assert_string_equal(got, "Overall:\n"
                             "\t             min  max  mean        std\n"
                             "\tram_of_main  1.0  7.5 4.125 2.40767004\n"
                             "\tn_threads    2.0  4.0   3.0        1.0\n"
                             "Static Data:\n\t\n\t\n"
                             "Code Block Results:\n");
    free(got);
}

static void test_nothing_seen(void **state)
{
    const char *p = scratch_write("p.csv", "a,timestamp\n");
    const char *b = scratch_write("b.csv", blocks);
    char *got = analyzed(p, b, "json");
    assert_non_null(strstr(got, "\"min\": null"));
    assert_non_null(strstr(got, "\"num_non_empty_calls\": 0"));
    free(got);
}

static int compare(const char *first, const char *second, const char *statistic, char **ret)
{
    struct toll_comparison c = {
        .size = sizeof c,
        .sessions = (const char *const[]){first, second, NULL},
        .statistic = statistic,
    };
    return toll_phases_compare(&c, ret, &e);
}

static const char *session(char *into, size_t size, const char *name, const char *rows)
{
    char file[32];
    const char *p = scratch_write("p.csv", points), *b = scratch_write("b.csv", rows);
    char *json = analyzed(p, b, "json");
    snprintf(file, sizeof file, "%s.json", name);
    snprintf(into, size, "%s=%s", name, scratch_write(file, json));
    free(json);
    return into;
}

static void test_comparison(void **state)
{
    char a[160], b[160], c[160], *got = NULL;
    session(a, sizeof a, "A", blocks);
    session(b, sizeof b, "B",
            "process_id,code_block_name,position,timestamp\n"
            "1,g.py:12,0,100.5\n1,g.py:12,1,102.75\n1,f,0,99.5\n1,f,1,100.5\n");
    assert_int_equal(compare(a, b, NULL, &got), 0);
    assert_string_equal(got, "Overall Resource Usage:\n"
                             "\tRam Of Main:\n\t\t     A     B\n\t\t 4.125 4.125\n"
                             "\tN Threads:\n\t\t   A   B\n\t\t 3.0 3.0\n"
                             "Code Block Resource Usage:\n"
                             "\tRam Of Main:\n"
                             "\t\tf:\n\t\t\t   B   A\n\t\t\t 1.0 2.0\n"
                             "\t\tg.py:12 -> g.py:9:\n\t\t\t   B   A\n\t\t\t 4.0 5.0\n"
                             "\tN Threads:\n"
                             "\t\tf:\n\t\t\t   A   B\n\t\t\t 2.0 2.0\n"
                             "\t\tg.py:12 -> g.py:9:\n\t\t\t   B   A\n\t\t\t 3.0 4.0\n"
                             "Code Block Compute Time:\n"
                             "\tf:\n\t\t   B   A\n\t\t 1.0 1.5\n"
                             "\tg.py:12 -> g.py:9:\n\t\t   A    B\n\t\t 1.0 2.25\n");
    free(got);
    got = NULL;
    assert_int_equal(compare(a, b, "median", &got), -EINVAL);
    assert_string_equal(e.message,
                        "Invalid summary statistic 'median'. Valid values are min max mean std.");
    session(c, sizeof c, "C", "process_id,code_block_name,position,timestamp\n");
    assert_int_equal(compare(a, c, NULL, &got), -EINVAL);
    assert_string_equal(e.message,
                        "All sub-tracking results must have the same number of code blocks. The "
                        "first has 2 code blocks but tracking session \"C\" has 0 code blocks.");
    session(c, sizeof c, "C",
            "process_id,code_block_name,position,timestamp\n1,f,0,1\n1,h:9,0,1\n");
    assert_int_equal(compare(a, c, NULL, &got), -EINVAL);
    assert_string_equal(e.message,
                        "Code block name \"g.py:9\" of tracking session \"A\" does not match code "
                        "block name \"h:9\" of tracking session \"C\"");
    assert_int_equal(compare(a, a, NULL, &got), -EINVAL);
    assert_int_equal(compare(a, "B", NULL, &got), -EINVAL);
    assert_null(got);
}

static void test_bad(void **state)
{
    char *got = NULL, no_json[160];
    const char *p = scratch_write("p.csv", points), *b = scratch_write("b.csv", blocks);
    assert_int_equal(toll_phases_analyze(p, b, "xml", &got, &e), -EINVAL);
    assert_string_equal(e.message,
                        "\"xml\" is not a valid format. Valid values are \"json\" or \"text\".");
    assert_int_equal(toll_phases_analyze(NULL, b, NULL, &got, &e), -EINVAL);
    assert_int_equal(toll_phases_analyze(b, b, NULL, &got, &e), -EBADMSG);
    assert_int_equal(toll_phases_analyze(p, p, NULL, &got, &e), -ENOENT);
    assert_int_equal(toll_phases_combine("x.csv", NULL, &e), -EINVAL);
    snprintf(no_json, sizeof no_json, "A=%s", scratch_write("a.json", "{\"overall\": {\"a\": 1}}"));
    assert_int_equal(compare(no_json, no_json, NULL, &got), -EBADMSG);
    assert_null(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_session_alone, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_nothing_seen, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_comparison, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_bad, scratch_make, scratch_remove),
    };
    return RUN("phase_files", tests);
}
