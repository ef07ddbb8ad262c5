/* SPDX-License-Identifier: MIT */
#include "base/util.h"
#include "layout/layout.h"

#include "unit.h"

#include <math.h>

static void test_options(void **state)
{
    struct layout_choice c;
    struct toll_error e = {0};
    assert_int_equal(layout_choice_parse(&c, "process-metrics,samples=5,prefix=a b=/", &e), 0);
    assert_string_equal(c.layout->facts.name, "process-metrics");
    assert_string_equal(layout_choice_value(&c, "prefix"), "a b=/");
    assert_string_equal(layout_choice_value(&c, "samples"), "5");
    assert_string_equal(layout_choice_value(&c, "max_cpu_count"), "");
    assert_string_equal(layout_choice_value(&c, "nothing"), "");
    int samples = layout_option_number(c.layout, "samples", 7);
    assert_float_equal(c.options[samples].number, 5, 0);
    int memory = layout_option_number(c.layout, "max_memory_megabytes", 20);
    assert_true(isnan(c.options[memory].number));
    layout_choice_done(&c);
    assert_int_equal(layout_choice_parse(&c, "process-metrics,max_memory_megabytes=1.5", &e), 0);
    assert_float_equal(c.options[memory].number, 1572864, 0);
    layout_choice_done(&c);
}

static void test_sentences(void **state)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        {"", "'' is not a dialect; there are resource-tracker, gpu-tracker, spdl"},
        {"parrot", "'parrot' is not a dialect; there are resource-tracker"},
        {"spdl,x=1", "the dialect spdl does not take 'x=1'; it takes columns="},
        {"spdl,", "the dialect spdl does not take ''"},
        {"resource-tracker,columns",
         "the dialect resource-tracker does not take 'columns'; it takes columns="},
        {"resource-tracker,columns=v9",
         "the option columns of the dialect is 'v9'; it takes v1, 0.4, v2, combined-0.4, combined "
         "or host-proc"},
        {"process-metrics,samples=0",
         "the option samples of the dialect is '0'; it takes a number above 0"},
        {"process-metrics,samples=2x", "it takes a number above 0"},
        {"process-metrics,max_cpu_count=", "it takes a number above 0"},
        {"process-metrics,max_cpu_count=0", "it takes a number above 0"},
        {"process-metrics,max_memory_megabytes=-1", "it takes a number from 0 on"},
        {"process-metrics,sample=2", "it takes prefix=, samples=, max_memory_megabytes="},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct layout_choice c;
        struct toll_error e = {0};
        assert_int_equal(layout_choice_parse(&c, wrong[i].text, &e), -EINVAL);
        if (!strstr(e.message, wrong[i].sentence))
            assert_string_equal(e.message, wrong[i].sentence);
    }
}

static void test_tables(void **state)
{
    struct layout_choice c;
    struct toll_error e = {0};
    assert_int_equal(layout_choice_parse(&c, "resource-tracker", &e), 0);
    assert_int_equal(layout_choice_table(&c, "csv", SUBJECT_TARGET)->count, 12);
    assert_int_equal(layout_choice_table(&c, "csv", SUBJECT_MACHINE)->count, 21);
    assert_null(layout_choice_table(&c, "jsonl", SUBJECT_ANY));
    assert_int_equal(layout_choice_check_format(&c, "csv", &e), 0);
    assert_int_equal(layout_choice_check_format(&c, "jsonl", &e), -EINVAL);
    assert_string_equal(e.message,
                        "the dialect resource-tracker has no format 'jsonl'; it has csv");
    layout_choice_done(&c);
    assert_int_equal(layout_choice_parse(&c, "resource-tracker,columns=combined", &e), 0);
    assert_ptr_equal(layout_choice_table(&c, "csv", SUBJECT_TARGET),
                     layout_choice_table(&c, "csv", SUBJECT_MACHINE));
    layout_choice_done(&c);
    assert_int_equal(layout_choice_parse(&c, "spdl", &e), 0);
    assert_null(layout_choice_table(&c, "jsonl", SUBJECT_MACHINE));
    layout_choice_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
