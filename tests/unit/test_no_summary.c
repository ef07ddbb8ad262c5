/* SPDX-License-Identifier: MIT */
#include "record/reader.h"

#include "unit.h"

static const char *make(enum writer writer, bool is_sqlite, struct toll_end *ret)
{
    struct reading r = {.has_frame = true, .frame = {.elapsed_ns = 5}};
    assert_int_equal(summary_init(&r.summary, &r.run), 0);
    const char *sentence = no_summary_make(&r, writer, is_sqlite);
    assert_int_equal(r.summary.elapsed_ns, 5);
    assert_int_equal(r.summary.note_count, 1);
    assert_string_equal(r.summary.notes[0], sentence);
    *ret = r.summary.whole.end;
    summary_done(&r.summary);
    return sentence;
}

static void test_sentences(void **state)
{
    struct toll_end end;
    assert_non_null(strstr(make(WRITER_THERE, false, &end), "still goes on"));
    assert_true(!end.ended && !end.unknown);
    assert_non_null(strstr(make(WRITER_THERE, true, &end), "still goes on"));
    assert_true(!end.ended && !end.unknown);
    assert_non_null(strstr(make(WRITER_GONE, false, &end), "before the run did"));
    assert_true(!end.ended && end.unknown);
    assert_non_null(strstr(make(WRITER_GONE, true, &end), "is gone"));
    assert_true(!end.ended && end.unknown);
    assert_non_null(strstr(make(WRITER_UNKNOWN, true, &end), "goes on, or was cut short"));
    assert_true(!end.ended && end.unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
    };
    return RUN("no_summary", tests);
}
