/* SPDX-License-Identifier: MIT */
#include "source/gpu/smi_command.h"

#include "base/util.h"
#include "unit.h"

static struct smi_cells csv(const char *line)
{
    struct smi_cells c;
    smi_cells_of_csv(scan_string(line), &c);
    return c;
}

static struct smi_cells words(const char *line)
{
    struct smi_cells c;
    smi_cells_of_words(scan_string(line), &c);
    return c;
}

static void test_csv(void **state)
{
    struct smi_cells heading = csv("index, uuid, utilization.gpu [%], memory.used [MiB]\r");
    assert_int_equal(heading.count, 4);
    assert_int_equal(smi_column(&heading, "index"), 0);
    assert_int_equal(smi_column(&heading, "utilization.gpu"), 2);
    assert_int_equal(smi_column(&heading, "memory"), -1);
    assert_int_equal(smi_column(&heading, "vram_used|memory.used"), 3);
    struct smi_cells row = csv("0, GPU-5a1c, 37, 1024.25");
    double number;
    uint64_t whole;
    char word[16];
    assert_true(smi_number(&row, 2, &number));
    assert_float_equal(number, 37, 1e-9);
    assert_true(smi_number(&row, 3, &number));
    assert_float_equal(number, 1024.25, 1e-9);
    assert_true(smi_whole(&row, 0, &whole));
    assert_int_equal(whole, 0);
    assert_false(smi_whole(&row, 3, &whole));
    assert_true(smi_word(&row, 1, word, sizeof word));
    assert_string_equal(word, "GPU-5a1c");
    assert_int_equal(csv("").count, 0);
    assert_int_equal(csv(",,").count, 3);
}

static void test_values_that_are_none(void **state)
{
    struct smi_cells row = csv("-, [N/A], N/A, [Not Supported], [Unknown Error], , ERR!, 5 W, -7");
    for (int i = 0; i < (int)row.count; i++) {
        double number = 99;
        uint64_t whole = 99;
        assert_false(smi_number(&row, i, &number));
        assert_false(smi_whole(&row, i, &whole));
        assert_true(number == 99 && whole == 99);
    }
    char word[8] = "before";
    for (int i = 0; i < 6; i++)
        assert_false(smi_word(&row, i, word, sizeof word));
    assert_false(smi_word(&row, -1, word, sizeof word));
    assert_false(smi_word(&row, 99, word, sizeof word));
    row = csv("longer than eight, a\tb\x01");
    assert_false(smi_word(&row, 0, word, sizeof word));
    assert_false(smi_word(&row, 1, word, sizeof word));
    assert_string_equal(word, "before");
}

static void test_words(void **state)
{
    struct smi_cells heading = words(
        "# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command ");
    assert_int_equal(heading.count, 10);
    assert_int_equal(smi_column(&heading, "gpu"), 0);
    assert_int_equal(smi_column(&heading, "sm"), 3);
    assert_int_equal(smi_column(&heading, "fb"), -1);
    struct smi_cells row = words(
        "    0       81231     C     45      -      -   -  -  -  python x");
    uint64_t whole;
    assert_true(smi_whole(&row, 1, &whole));
    assert_int_equal(whole, 81231);
    assert_true(smi_whole(&row, 3, &whole));
    assert_int_equal(whole, 45);
    assert_false(smi_whole(&row, 4, &whole));
    assert_int_equal(words("   ").count, 0);
    assert_int_equal(words("#").count, 0);
}

static void test_too_many(void **state)
{
    char line[4 * SMI_COLUMNS + 1] = "";
    for (int i = 0; i < 2 * SMI_COLUMNS; i++)
        memcpy(line + 2 * i, "1,", 3);
    assert_int_equal(csv(line).count, SMI_COLUMNS);
    for (char *c = line; *c; c++)
        *c = *c == ',' ? ' ' : *c;
    assert_int_equal(words(line).count, SMI_COLUMNS);
}

static void test_pci(void **state)
{
    static const char *const texts[][2] = {
        {"00000000:3B:00.0", "0000:3b:00.0"},
        {"0000:3B:00.0", "0000:3b:00.0"},
        {"00010000:3B:00.0", "00010000:3b:00.0"},
        {"", ""},
        {"0000", "0000"},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char pci[32];
        memcpy(pci, texts[i][0], strlen(texts[i][0]) + 1);
        smi_fold_pci(pci);
        assert_string_equal(pci, texts[i][1]);
    }
}

static void test_drop_field(void **state)
{
    char fields[] = "index,uuid,memory.reserved,power.draw";
    assert_false(smi_drop_field(fields, scan_string("")));
    assert_false(smi_drop_field(fields, scan_string("0, GPU-1")));
    assert_false(smi_drop_field(fields, scan_string("Field \"memory\" is not a valid field")));
    assert_false(smi_drop_field(fields, scan_string("Field \"memory.res")));
    assert_false(smi_drop_field(fields, scan_string("Field \"\" is")));
    assert_true(smi_drop_field(fields, scan_string("Field \"memory.reserved\" is not a valid "
                                                   "field to query.\n\n")));
    assert_string_equal(fields, "index,uuid,power.draw");
    assert_true(smi_drop_field(fields, scan_string("Field \"power.draw\"")));
    assert_string_equal(fields, "index,uuid");
    assert_true(smi_drop_field(fields, scan_string("Field \"index\"")));
    assert_string_equal(fields, "uuid");
    assert_true(smi_drop_field(fields, scan_string("Field \"uuid\"")));
    assert_string_equal(fields, "");
    assert_false(smi_drop_field(fields, scan_string("Field \"uuid\"")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),   cmocka_unit_test(test_values_that_are_none),
        cmocka_unit_test(test_words), cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_pci),   cmocka_unit_test(test_drop_field),
    };
    return RUN("smi_table", tests);
}
