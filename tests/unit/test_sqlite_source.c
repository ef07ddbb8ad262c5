/* SPDX-License-Identifier: MIT */
#include "record/sqlite/source.h"

#include "sqlite_record.h"

static void expect_line(struct sqlite_source *x, const struct run *run, const char *begin,
                        const char *has)
{
    const char *line;
    size_t length;
    struct toll_error e = {0};
    int r = sqlite_source_next(x, run, &line, &length, &e);
    assert_string_equal(e.message, "");
    assert_int_equal(r, 1);
    assert_int_equal(sqlite_source_run(x), 1);
    assert_memory_equal(line, begin, strlen(begin));
    assert_non_null(memmem(line, length, has, strlen(has)));
}

static void test_lines_in_their_order(void **state)
{
    struct sample s;
    struct sqlite_source *x = NULL;
    const char *line;
    size_t length;
    assert_int_equal(sqlite_source_open(&x, sqlite_record_make(&s, true), NULL), 1);
    expect_line(x, NULL, "{\"type\":\"run\",\"schema\":\"toll.record/1\",", "\"name\":\"job\"");
    expect_line(x, &s.run, "{\"type\":\"sample\",\"tick\":0,", "\"last\":true,\"between\":true");
    expect_line(x, &s.run, "{\"type\":\"process\",", "\"pid\":101");
    expect_line(x, &s.run, "{\"type\":\"event\",", "\"text\":\"a \\\"note\\\"\"");
    expect_line(x, &s.run, "{\"type\":\"summary\",\"schema\":\"toll.summary/1\",", "\"code\":3");
    assert_int_equal(sqlite_source_next(x, &s.run, &line, &length, NULL), 0);
    assert_int_equal(sqlite_source_next(x, &s.run, &line, &length, NULL), 0);
    sqlite_source_close(x);
    sqlite_source_close(NULL);
    sample_remove(&s);
}

/* … has no last sample either. */
static void test_without_an_end(void **state)
{
    struct sample s;
    struct sqlite_source *x = NULL;
    const char *line;
    size_t length;
    assert_int_equal(sqlite_source_open(&x, sqlite_record_make(&s, false), NULL), 1);
    expect_line(x, NULL, "{\"type\":\"run\"", "job");
    expect_line(x, &s.run, "{\"type\":\"sample\"", "\"interval_seconds\":0.01,\"between\":true");
    expect_line(x, &s.run, "{\"type\":\"process\"", "cc");
    expect_line(x, &s.run, "{\"type\":\"event\"", "note");
    assert_int_equal(sqlite_source_next(x, &s.run, &line, &length, NULL), 0);
    sqlite_source_close(x);
    sample_remove(&s);
}

static void test_other_files(void **state)
{
    struct sample s;
    struct sqlite_source *x = NULL;
    struct toll_error e = {0};
    char path[512];
    const char *ours = sqlite_record_make(&s, true);
    tree_write(&s.tree, "text",
               "no SQLite file, but long enough to be taken for one if somebody "
               "looked at nothing else than its length, as some may do\n");
    assert_int_equal(sqlite_source_open(&x, tree_path(&s.tree, path, "text"), &e), 0);
    struct sqlite *db = sqlite_place_open(ours, SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_run(db, "PRAGMA user_version = 9", &e), 0);
    sqlite_close(db);
    assert_int_equal(sqlite_source_open(&x, ours, &e), -EINVAL);
    assert_non_null(strstr(e.message, "newer toll"));
    assert_null(x);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lines_in_their_order, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_without_an_end, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_other_files, sqlite_place_is_built_in),
    };
    return RUN("sqlite_source", tests);
}
