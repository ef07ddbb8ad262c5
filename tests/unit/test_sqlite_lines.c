/* SPDX-License-Identifier: MIT */
#include "record/sqlite/lines.h"

#include "sqlite_record.h"

static void test_lines(void **state)
{
    static const struct {
        enum sqlite_stream stream;
        const char *begin;
    } cases[] = {
        {STREAM_PROCESSES, "{\"type\":\"process\",\"elapsed_seconds\":0.000000005,"
                           "\"left\":\"reaped inside\",\"end\":null,\"pid\":101,\"parent\":100,"
                           "\"start_ticks\":5,\"name\":\"cc\",\"cpu_seconds\":0.25}"},
        {STREAM_NOTES, "{\"type\":\"event\",\"elapsed_seconds\":0.000000006,\"name\":\"note\","
                       "\"text\":\"a \\\"note\\\"\"}"},
    };
    struct sample s;
    struct sqlite *db = sqlite_place_open(sqlite_record_make(&s, true), SQLITE_MODE_READ);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sqlite_statement *st;
        struct sqlite_figures figures = {0};
        struct buf b = {0};
        assert_int_equal(sqlite_prepare(&st, db, sqlite_lines_question(cases[i].stream), NULL), 0);
        if (cases[i].stream == STREAM_PROCESSES)
            sqlite_lines_figures(&figures, st);
        sqlite_bind_i64(st, 1, 1);
        assert_int_equal(sqlite_step(st, NULL), 1);
        assert_true(sqlite_lines_add(&b, cases[i].stream, st, &figures, &s.selection));
        assert_string_equal(b.data, cases[i].begin);
        assert_int_equal(sqlite_step(st, NULL), 0);
        buf_done(&b);
        sqlite_end(st);
    }
    sqlite_close(db);
    sample_remove(&s);
}

/* Every stream can be asked for, and has seq first. */
static void test_questions(void **state)
{
    struct sample s;
    struct sqlite *db = sqlite_place_open(sqlite_record_make(&s, true), SQLITE_MODE_READ);
    for (unsigned i = 0; i < STREAMS; i++) {
        struct sqlite_statement *st;
        assert_int_equal(sqlite_prepare(&st, db, sqlite_lines_question(i), NULL), 0);
        assert_string_equal(sqlite_column_name(st, 0), "seq");
        sqlite_end(st);
    }
    sqlite_close(db);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lines, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_questions, sqlite_place_is_built_in),
    };
    return RUN("sqlite_lines", tests);
}
