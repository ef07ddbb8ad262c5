/* SPDX-License-Identifier: MIT
 * The files of gpu-tracker's code blocks, as CSV: the input is a sub-tracking file, a line "---",
 * and a tracking file; or, when it begins with a brace, an analysis in JSON. All that is made of
 * them ends in a text or in a sentence. */
#include "base/text/json.h"
#include "mutate.h"
#include "scratch_file.h"
#include "toll_compat.h"

static void check_result(int r, char *text, const struct toll_error *e)
{
    CHECK(r <= 0 && (r == 0) == (text != NULL));
    CHECK(r == 0 || *e->message);
    free(text);
}

static void compare(const char *path, const char *format)
{
    char first[160], second[160];
    snprintf(first, sizeof first, "one=%s", path);
    snprintf(second, sizeof second, "two=%s", path);
    const char *const sessions[] = {first, second, NULL};
    struct toll_comparison c = {.size = sizeof c, .sessions = sessions, .format = format};
    struct toll_error e = {0};
    char *text = NULL;
    int r = toll_phases_compare(&c, &text, &e);
    check_result(r, text, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct toll_error e = {0};
    char *text = NULL;
    int r;
    if (size && *data == '{') {
        const char *analysis = scratch_path("analysis.json");
        scratch_write(analysis, data, size);
        compare(analysis, "text");
        compare(analysis, "json");
        return 0;
    }
    const uint8_t *middle = size ? memmem(data, size, "---\n", 4) : NULL;
    size_t first = middle ? (size_t)(middle - data) : size;
    const char *blocks = scratch_path("blocks.csv"), *points = scratch_path("points.csv");
    const char *other = scratch_path("other.csv"), *stored = scratch_path("points.sqlite");
    scratch_write(blocks, data, first);
    scratch_write(points, middle ? middle + 4 : data, middle ? size - first - 4 : 0);
    r = toll_phases_analyze(points, blocks, "text", &text, &e);
    check_result(r, text, &e);
    text = NULL;
    int as_json = toll_phases_analyze(points, blocks, "json", &text, &e);
    CHECK((as_json == 0) == (r == 0));
    if (as_json == 0) { /* what is written is read */
        const char *analysis = scratch_path("analysis.json");
        struct json_in j = {0};
        json_in_begin(&j, text, strlen(text));
        json_in_skip(&j);
        CHECK(json_in_end(&j) || strstr(text, "NaN") || strstr(text, "Infinity"));
        json_in_done(&j);
        scratch_write(analysis, text, strlen(text));
        compare(analysis, "json");
        blocks = scratch_path("blocks.csv");
    }
    check_result(as_json, text, &e);
    const char *const files[] = {blocks, blocks, NULL};
    unlink(other);
    r = toll_phases_combine(other, files, &e);
    CHECK(r == 0 || *e.message);
    if (first % 16 == 0) {
        r = toll_phases_store(points, stored, &e);
        CHECK(r == 0 || *e.message);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return size && *data == '{' ? mutate_json_lines(data, size, max, seed)
                                : mutate_cells(data, size, max, seed, ",");
}
