/* SPDX-License-Identifier: MIT
 * The files of gpu-tracker's code blocks, as CSV: the input is a sub-tracking file, a line "---",
 * and a tracking file; or, when it begins with a brace, an analysis in JSON; or, after a line
 * "SQL", changes of both files as SQLite. All that is made of them ends in a text or in a sentence.
 */
#include "base/text/json.h"
#include "mutate.h"
#include "scratch_file.h"
#include "toll_compat.h"

#ifdef HAS_SQLITE
#include "sqlite_change.h"
#endif

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

#ifdef HAS_SQLITE
static void analyze_sqlite(const uint8_t *data, size_t size)
{
    static const char blocks[] =
        "CREATE TABLE data (process_id INTEGER, code_block_name VARCHAR, position INTEGER, "
        "timestamp FLOAT); INSERT INTO data VALUES (812, 'load', 0, 1746129778.5), "
        "(812, 'load', 1, 1746129781.5), (812, 'a,b', 0, 1746129782), (812, 'a,b', 1, 1746129783)";
    static const char points[] = "ram_unit,time_unit,system_core_count\nmegabytes,hours,12\n"
                                 "main_ram,main_n_threads,timestamp\n"
                                 "1,3,1746129779\n5,7,1746129780.5\n9,7,1746129782.5\n";
    const char *text_file = scratch_path("points.csv"), *combined = scratch_path("both.sqlite");
    const char *files[] = {scratch_path("blocks.sqlite"), scratch_path("points.sqlite"), NULL};
    struct toll_error e = {0};
    char *text = NULL;
    sqlite3 *db;
    unlink(files[0]);
    unlink(files[1]);
    unlink(combined);
    scratch_write(text_file, points, strlen(points));
    CHECK(toll_phases_store(text_file, files[1], &e) == 0);
    CHECK(sqlite3_open(files[0], &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, blocks, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    sqlite_change(files[0], data, size);
    sqlite_change(files[1], data, size);
    int r = toll_phases_analyze(files[1], files[0], "json", &text, &e);
    CHECK(size || r == 0);
    check_result(r, text, &e);
    files[1] = files[0];
    r = toll_phases_combine(combined, files, &e);
    CHECK(r == 0 || *e.message);
}
#endif

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
#ifdef HAS_SQLITE
    if (size >= 4 && memcmp(data, "SQL\n", 4) == 0) {
        analyze_sqlite(data + 4, size - 4);
        return 0;
    }
#endif
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
#ifdef HAS_SQLITE
    static const char *const tables[] = {"data", "static_data", "sqlite_master", NULL};
    static const char *const columns[] = {
        "process_id", "code_block_name", "position",       "timestamp",         "main_ram",
        "ram_unit",   "time_unit",       "main_n_threads", "system_core_count", NULL,
    };
    if (size >= 4 && memcmp(data, "SQL\n", 4) == 0)
        return 4 + sqlite_mutate(data + 4, size - 4, max - 4, seed, tables, columns);
#endif
    return size && *data == '{' ? mutate_json_lines(data, size, max, seed)
                                : mutate_cells(data, size, max, seed, ",");
}
