/* SPDX-License-Identifier: MIT */
#include "engine/frame_copy.h"
#include "layout/layout.h"
#include "sample.h"

#include <math.h>

static size_t column(const struct toll_translator *tr, const char *name)
{
    const char *this;
    for (size_t i = 0; (this = toll_translator_column(tr, i)); i++)
        if (strcmp(this, name) == 0)
            return i;
    fail_msg("there is no column %s", name);
    return 0;
}

static struct toll_frame *take(const struct sample *s)
{
    struct frame_copy *frame = frame_copy_new(&s->frame, &s->selection);
    assert_non_null(frame);
    return &frame->head;
}

static void test_rows(void **state)
{
    struct sample s;
    struct toll_translator *tr;
    struct toll_error e = {0};
    sample_make(&s, NULL);
    s.entity.kind = ENTITY_TARGET;
    static struct entity self = {.kind = ENTITY_SELF};
    s.frame.self.entity = &self;
    s.frame.target[PART_MAIN].row = s.frame.target[PART_DESCENDANTS].row = NULL;
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_user_seconds, 1500 * NS_PER_MS);
    row_put_u64(&s.parts[PART_COMBINED], process_storage_read_bytes, 10);
    assert_int_equal(toll_translator_new(&tr, "resource-tracker,columns=v2", &e), 0);
    assert_null(toll_translator_column(tr, 0));
    assert_int_equal(toll_translator_tell(tr, "pid", 4711), 0);
    assert_int_equal(toll_translator_tell(tr, "weight", 1), -EINVAL);
    struct toll_frame *frame = take(&s);
    assert_int_equal(toll_translator_frame(tr, frame), 1);
    toll_frame_free(frame);
    assert_string_equal(toll_translator_column(tr, 1), "pid");
    assert_float_equal(toll_translator_value(tr, 0, 1), 4711, 0);
    assert_float_equal(toll_translator_value(tr, 0, column(tr, "utime")), 1.5, 0);
    assert_string_equal(toll_translator_text(tr, 0, column(tr, "utime")), "1.5");
    assert_null(toll_translator_text(tr, 0, column(tr, "memory_mib")));
    assert_true(isnan(toll_translator_value(tr, 0, column(tr, "memory_mib"))));
    assert_true(isnan(toll_translator_value(tr, 1, 0)));
    row_put_u64(&s.parts[PART_COMBINED], process_storage_read_bytes, 25);
    s.frame.elapsed_ns += NS_PER_SECOND;
    frame = take(&s);
    assert_int_equal(toll_translator_frame(tr, frame), 1);
    toll_frame_free(frame);
    assert_float_equal(toll_translator_value(tr, 0, column(tr, "disk_read_bytes")), 15, 0);
    toll_translator_free(tr);
    sample_remove(&s);
}

/* Looks one by one: they are of no run, and count from the birth of the process. */
static void test_looks(void **state)
{
    struct sample s;
    struct toll_translator *tr;
    sample_make(&s, NULL);
    s.entity.kind = ENTITY_TARGET;
    static struct entity self = {.kind = ENTITY_SELF};
    s.frame.self.entity = &self;
    s.frame.target[PART_MAIN].row = s.frame.target[PART_DESCENDANTS].row = NULL;
    assert_int_equal(toll_translator_new(&tr, "resource-tracker,columns=v2", NULL), 0);
    assert_int_equal(toll_translator_tell(tr, "since", 1), 0);
    for (unsigned i = 0; i < 2; i++) {
        row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, (3 + i) * NS_PER_SECOND);
        assert_int_equal(toll_translator_tell(tr, "elapsed", 100 + 4 * i), 0);
        struct toll_frame *frame = take(&s);
        assert_int_equal(toll_translator_frame(tr, frame), 1);
        toll_frame_free(frame);
        double cores = toll_translator_value(tr, 0, column(tr, "cpu_usage"));
        assert_true(i ? cores == 0.25 : isnan(cores));
    }
    toll_translator_free(tr);
    sample_remove(&s);
}

/* A row of several samples begins with the first of them. */
static void test_long_rows(void **state)
{
    struct sample s;
    struct toll_translator *tr;
    sample_make(&s, NULL);
    s.entity.kind = ENTITY_TARGET;
    static struct entity self = {.kind = ENTITY_SELF};
    s.frame.self.entity = &self;
    s.frame.target[PART_MAIN].row = s.frame.target[PART_DESCENDANTS].row = NULL;
    assert_int_equal(toll_translator_new(&tr, "process-metrics,samples=2,prefix=", NULL), 0);
    assert_int_equal(toll_translator_tell(tr, "since", 1), 0);
    for (unsigned i = 0; i < 2; i++) {
        row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, (7 + i) * NS_PER_SECOND);
        row_put_u64(&s.parts[PART_COMBINED], process_threads_count, 3);
        s.frame.elapsed_ns += 2 * NS_PER_SECOND;
        s.frame.interval_ns = (i + 1) * 333333333;
        struct toll_frame *frame = take(&s);
        assert_int_equal(toll_translator_frame(tr, frame), (int)i);
        toll_frame_free(frame);
    }
    assert_float_equal(toll_translator_value(tr, 0, column(tr, "cpu_usage_percentage")), 50, 0);
    assert_true(toll_translator_value(tr, 0, column(tr, "num_threads")) == 3);
    toll_translator_free(tr);
    sample_remove(&s);
}

static void test_mistakes(void **state)
{
    struct toll_translator *tr;
    struct toll_error e = {0};
    assert_int_equal(toll_translator_new(&tr, "parrot", &e), -EINVAL);
    assert_non_null(strstr(e.message, "'parrot' is not a dialect"));
    assert_int_equal(toll_translator_new(&tr, NULL, &e), -EINVAL);
    toll_translator_free(NULL);
}

/* What programs are told is what the tables say. */
static void test_tables(void **state)
{
    for (size_t i = 0; layouts[i]; i++) {
        const struct layout *d = layouts[i];
        size_t n = 0;
        assert_ptr_equal(toll_layout_at(i), &d->facts);
        for (size_t k = 0; k < d->option_count; k++)
            assert_string_equal(toll_layout_option_at(d->facts.name, k)->name, d->options[k].name);
        assert_null(toll_layout_option_at(d->facts.name, d->option_count));
        for (size_t k = 0; k < d->table_count; k++)
            for (size_t c = 0; c < d->tables[k].count; c++)
                assert_string_equal(toll_layout_column_at(d->facts.name, n++)->name,
                                    d->tables[k].columns[c].name);
        assert_null(toll_layout_column_at(d->facts.name, n));
    }
    assert_string_equal(toll_layout_option_at("resource-tracker", 0)->accepted,
                        "v1 0.4 v2 combined-0.4 combined host-proc");
    assert_null(toll_layout_column_at("parrot", 0));
    assert_null(toll_layout_option_at(NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),      cmocka_unit_test(test_looks),
        cmocka_unit_test(test_long_rows), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
