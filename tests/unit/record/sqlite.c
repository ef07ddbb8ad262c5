/* SPDX-License-Identifier: MIT */
#include "base/io/sqlite.h"
#include "record/reader.h"
#include "record/sqlite/sqlite.h"
#include "sample.h"
#include "sqlite_place.h"
#include "sqlite_record.h"
#include "unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

/* ---- sqlite --------------------------------------------------------------------------------- */

static char directory[] = "/tmp/toll-sqlite.XXXXXX";

static char sqlite_path[64];

static int setup(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(sqlite_path, sizeof sqlite_path, "%s/a.sqlite", directory);
    return 0;
}

static int teardown(void **state)
{
    unlink(sqlite_path);
    rmdir(directory);
    return 0;
}

static struct sqlite *opened(enum sqlite_mode mode)
{
    struct sqlite *db;
    struct toll_error e = {0};
    assert_int_equal(sqlite_open(&db, sqlite_path, mode, 0, &e), 0);
    return db;
}

static void test_sqlite_values(void **state)
{
    struct sqlite *db = opened(SQLITE_MODE_WRITE);
    struct sqlite_statement *st;
    struct toll_error e = {0};
    assert_int_equal(sqlite_run(db, "CREATE TABLE t (a INTEGER, b REAL, c TEXT, d)", &e), 0);
    assert_int_equal(sqlite_prepare(&st, db, "INSERT INTO t VALUES (?,?,?,?)", &e), 0);
    for (int i = 0; i < 2; i++) {
        sqlite_bind_i64(st, 1, INT64_MIN + i);
        sqlite_bind_double(st, 2, i ? NAN : 0.1);
        sqlite_bind_text(st, 3, "it's; \0 one", 11);
        sqlite_bind_null(st, 4);
        assert_int_equal(sqlite_step(st, &e), 0);
    }
    sqlite_bind_i64(st, 5, 1); /* there are four */
    assert_int_equal(sqlite_step(st, &e), -EINVAL);
    sqlite_end(st);
    sqlite_close(db);

    db = opened(SQLITE_MODE_READ);
    assert_int_equal(sqlite_prepare(&st, db, "SELECT a, b, c, d FROM t ORDER BY rowid", &e), 0);
    for (int i = 0; i < 2; i++) {
        size_t length;
        assert_int_equal(sqlite_step(st, &e), 1);
        assert_int_equal(sqlite_columns(st), 4);
        assert_string_equal(sqlite_column_name(st, 2), "c");
        assert_true(sqlite_column_i64(st, 0) == INT64_MIN + i);
        assert_int_equal(sqlite_column_type(st, 0), SQLITE_IS_INTEGER);
        assert_int_equal(sqlite_column_type(st, 1), i ? SQLITE_IS_NULL : SQLITE_IS_FLOAT);
        assert_true(i ? isnan(sqlite_column_double(st, 1)) : sqlite_column_double(st, 1) == 0.1);
        assert_memory_equal(sqlite_column_text(st, 2, &length), "it's; \0 one", 11);
        assert_int_equal(length, 11);
        assert_int_equal(sqlite_column_type(st, 2), SQLITE_IS_TEXT);
        assert_string_equal(sqlite_column_text(st, 3, &length), "");
        assert_int_equal(length, 0);
    }
    assert_int_equal(sqlite_step(st, &e), 0);
    sqlite_end(st);
    sqlite_end(NULL);
    sqlite_close(db);
    sqlite_close(NULL);
}

static void test_sqlite_bad_statement(void **state)
{
    struct sqlite *db = opened(SQLITE_MODE_WRITE);
    struct sqlite_statement *st = NULL;
    struct toll_error e = {0};
    assert_int_equal(sqlite_prepare(&st, db, "SELECT a FROM nowhere", &e), -EINVAL);
    assert_null(st);
    assert_non_null(strstr(e.message, sqlite_path));
    assert_non_null(strstr(e.message, "nowhere"));
    assert_int_equal(sqlite_run(db, "CREATE", &e), -EINVAL);
    sqlite_close(db);
}

static void test_sqlite_bad_file(void **state)
{
    struct sqlite *db = NULL;
    struct toll_error e = {0};
    assert_int_equal(sqlite_open(&db, sqlite_path, SQLITE_MODE_READ, 0, &e), -ENOENT);
    assert_int_equal(sqlite_open(&db, sqlite_path, SQLITE_MODE_APPEND, 0, &e), -ENOENT);
    assert_int_equal(sqlite_open(&db, sqlite_path, SQLITE_MODE_APPEND_APART, 0, &e), -ENOENT);
    assert_int_not_equal(access(sqlite_path, F_OK), 0);
    assert_non_null(strstr(e.message, sqlite_path));
    assert_non_null(strstr(e.message, "No such file"));
    assert_int_equal(sqlite_open(&db, "/tmp/no/such/a.sqlite", SQLITE_MODE_WRITE, 0, &e), -ENOENT);

    int fd = open(sqlite_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "this is no database, but text\n", 30), 30);
    close(fd);
    assert_int_equal(sqlite_open(&db, sqlite_path, SQLITE_MODE_READ, 0, &e), -EBADMSG);
    assert_int_equal(sqlite_open(&db, sqlite_path, SQLITE_MODE_WRITE, 0, &e), -EBADMSG);
    assert_null(db);
}

static void test_sqlite_busy(void **state)
{
    struct sqlite *one = opened(SQLITE_MODE_WRITE), *other = opened(SQLITE_MODE_WRITE);
    struct toll_error e = {0};
    assert_int_equal(sqlite_run(one, "BEGIN IMMEDIATE; CREATE TABLE t (a)", &e), 0);
    assert_int_equal(sqlite_run(other, "CREATE TABLE u (a)", &e), -EBUSY);
    assert_int_equal(sqlite_run(one, "COMMIT", &e), 0);
    assert_int_equal(sqlite_run(other, "CREATE TABLE u (a)", &e), 0);
    sqlite_close(one);
    sqlite_close(other);
}

/* As it lies there, whoever holds it; nothing is made. */
static void test_sqlite_peek(void **state)
{
    struct sqlite *db = NULL;
    struct sqlite_statement *st;
    struct toll_error e = {0};
    assert_int_equal(sqlite_open(&db, sqlite_path, SQLITE_MODE_PEEK, 0, &e), -ENOENT);
    struct sqlite *other = opened(SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_run(other,
                                "CREATE TABLE t (a); PRAGMA locking_mode = EXCLUSIVE; BEGIN "
                                "EXCLUSIVE",
                                &e),
                     0);
    db = opened(SQLITE_MODE_PEEK);
    assert_int_equal(sqlite_prepare(&st, db, "SELECT count(*) FROM t", &e), 0);
    assert_int_equal(sqlite_step(st, &e), 1);
    sqlite_end(st);
    assert_int_equal(sqlite_run(db, "CREATE TABLE u (a)", &e), -EROFS);
    sqlite_close(db);
    assert_int_equal(sqlite_run(other, "ROLLBACK", &e), 0);
    sqlite_close(other);
}

static void test_sqlite_apart(void **state)
{
    struct toll_error e = {0};
    struct sqlite *other = opened(SQLITE_MODE_WRITE), *db = opened(SQLITE_MODE_APPEND_APART);
    assert_int_equal(sqlite_run(db, "CREATE TABLE t (a)", &e), 0);
    assert_int_equal(sqlite_run(other, "INSERT INTO t VALUES (1)", &e), 0);
    sqlite_close(other);
    sqlite_close(db);
}

static void test_sqlite_quote(void **state)
{
    struct buf b = {0};
    sqlite_quote(&b, "a\"b c");
    assert_string_equal(b.data, "\"a\"\"b c\"");
    buf_done(&b);
}

/* ---- sqlite schema -------------------------------------------------------------------------- */

static void test_sqlite_schema_columns(void **state)
{
    struct buf b = {0};
    sqlite_schema_column(&b, metric_of(process_cpu_user_seconds));
    buf_putc(&b, ' ');
    sqlite_schema_column(&b, metric_of(process_memory_rss_bytes));
    buf_putc(&b, ' ');
    sqlite_schema_column(&b, metric_of(rapl_energy_joules));
    assert_string_equal(b.data, "cpu_user_ns memory_rss_bytes energy_microjoules");
    buf_done(&b);
    assert_true(sqlite_schema_metrics(ENTITY_TARGET) >> process_processes_count & 1);
    assert_false(sqlite_schema_metrics(ENTITY_PROCESS) >> process_processes_count & 1);
}

static void test_sqlite_schema_statement(void **state)
{
    struct buf b = {0};
    sqlite_schema_statement(&b, STATEMENT_NOTE);
    assert_string_equal(b.data,
                        "INSERT INTO notes (run, seq, elapsed_ns, sentence) VALUES (?1, ?2, ?3, "
                        "?4)");
    buf_done(&b);
}

/* Every statement is one that SQLite accepts, for the tables that were made. */
static void test_sqlite_schema_make(void **state)
{
    struct toll_error e = {0};
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    bool is_complete = true;
    assert_int_equal(sqlite_schema_check(db, &is_complete, &e), 0);
    assert_false(is_complete);
    assert_int_equal(sqlite_schema_make(db, &e), 0);
    assert_int_equal(sqlite_schema_check(db, &is_complete, &e), 0);
    assert_true(is_complete);
    sqlite_place_expect(db, "PRAGMA application_id", "1953459308");
    sqlite_place_expect(db, "PRAGMA user_version", "1");
    for (unsigned i = 0; i < STATEMENTS; i++) {
        struct buf sql = {0};
        struct sqlite_statement *st;
        sqlite_schema_statement(&sql, i);
        assert_int_equal(sqlite_prepare(&st, db, sql.data, &e), 0);
        sqlite_end(st);
        buf_done(&sql);
    }
    assert_int_equal(sqlite_schema_make(db, &e), 0); /* nothing is made twice */
    sqlite_close(db);
}

static void test_sqlite_schema_what_is_missing(void **state)
{
    struct toll_error e = {0};
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    bool is_complete = true;
    assert_int_equal(sqlite_run(db,
                                "CREATE TABLE core_samples (run INTEGER, tick INTEGER, entity "
                                "INTEGER, later INTEGER)",
                                &e),
                     0);
    assert_int_equal(sqlite_schema_make(db, &e), 0);
    assert_int_equal(sqlite_schema_check(db, &is_complete, &e), 0);
    assert_true(is_complete);
    sqlite_place_expect(db, "SELECT count(busy_ratio) + count(later) FROM core_samples", "0");
    sqlite_close(db);

    db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_run(db, "CREATE TABLE events (run INTEGER, seq INTEGER)", &e), 0);
    assert_int_equal(sqlite_schema_make(db, &e), -EBADMSG);
    assert_non_null(strstr(e.message, "events"));
    sqlite_close(db);
}

/* ---- sqlite tables -------------------------------------------------------------------------- */

/* Each has a name, and the columns that tell its rows apart can never be unknown. */
static void test_sqlite_tables_tables(void **state)
{
    struct toll_error e = {0};
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_schema_make(db, &e), 0);
    for (unsigned number = STATEMENT_ENTITY; number < STATEMENTS; number++) {
        const struct sqlite_table *t = sqlite_table(number);
        struct buf name = {0}, sql = {0};
        char keys[64], *rest = NULL;
        sqlite_table_name(&name, number);
        snprintf(keys, sizeof keys, "%s", t->keys);
        for (char *key = strtok_r(keys, ", ", &rest); key; key = strtok_r(NULL, ", ", &rest)) {
            buf_clear(&sql);
            buf_printf(&sql, "SELECT \"notnull\" FROM pragma_table_info('%s') WHERE name = '%s'",
                       name.data, key);
            sqlite_place_expect(db, sql.data, "1");
            assert_true(sqlite_table_has_own(number, key));
        }
        buf_done(&name);
        buf_done(&sql);
    }
    sqlite_close(db);
}

static void test_sqlite_tables_rows_of_targets_may_end(void **state)
{
    assert_true(sqlite_table_has_own(STATEMENT_ROW + ENTITY_TARGET, "ended"));
    assert_false(sqlite_table_has_own(STATEMENT_ROW + ENTITY_DISK, "ended"));
}

/* ---- sqlite views --------------------------------------------------------------------------- */

/* Base units and names, from whole numbers and numbers. */
static void test_sqlite_views_timeline(void **state)
{
    struct toll_error e = {0};
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_schema_make(db, &e), 0);
    assert_int_equal(
        sqlite_run(
            db,
            "INSERT INTO runs (run, name, host, start_ns, facts) VALUES (1, 'a', 'b', "
            "1731000000123999999, '{\"command\":[\"x\"]}');"
            "INSERT INTO entities (run, entity, kind, part, name) VALUES (1, 1, 'target', "
            "'combined', ''), (1, 9, 'disk', '', 'vda');"
            "INSERT INTO samples VALUES (1, 0, 0, 1731000000123999999, 1500000000, 1, NULL, 2);"
            "INSERT INTO target_samples (run, tick, entity, cpu_ns) VALUES (1, 0, 1, 5);"
            "INSERT INTO disk_samples (run, tick, entity, read_bytes) VALUES (1, 0, 9, 7)",
            &e),
        0);
    sqlite_place_expect(db, "SELECT time FROM timeline", "2024-11-07T17:20:00.123Z");
    sqlite_place_expect(db, "SELECT elapsed_seconds FROM timeline", "1.5");
    sqlite_place_expect(db, "SELECT target_cpu_seconds = 5e-9 FROM timeline", "1");
    sqlite_place_expect(db, "SELECT main_cpu_seconds IS NULL FROM timeline", "1");
    sqlite_place_expect(db, "SELECT name || read_bytes FROM disk_timeline", "vda7");
    sqlite_place_expect(db, "SELECT part FROM target_timeline", "combined");
    sqlite_place_expect(db, "SELECT start || samples || command FROM run_list",
                        "2024-11-07T17:20:00.123Z1[\"x\"]");
    sqlite_close(db);
}

/* ---- sqlite rows ---------------------------------------------------------------------------- */

/* What a whole file has against a record is compared by tests/golden/test_sqlite.py. */

/* How many rows of a statement are on the tape, and how many values the last one has. */
static unsigned count(const struct buf *b, unsigned statement, unsigned *ret_values)
{
    struct scan row_log = scan_text(b->data, b->length);
    struct row_log_item item;
    unsigned rows = 0, values = 0;
    bool is_it = false;
    for (enum row_log_is is; (is = sqlite_row_log_next(&row_log, &item)) != ROW_LOG_END;) {
        if (is == ROW_LOG_ROW) {
            is_it = item.statement == statement;
            values = is_it ? 0 : values;
            rows += is_it;
        } else if (is_it) {
            values++;
        }
    }
    *ret_values = values;
    return rows;
}

/* As many values as the statement has question marks, beside the run. */
static void expect(const struct buf *b, unsigned statement, unsigned rows)
{
    unsigned values, marks = 0;
    struct buf sql = {0};
    sqlite_schema_statement(&sql, statement);
    for (size_t i = 0; i < sql.length; i++)
        marks += sql.data[i] == '?';
    buf_done(&sql);
    assert_int_equal(count(b, statement, &values), rows);
    if (rows)
        assert_int_equal(values, marks - 1);
}

static void test_sqlite_rows_a_frame(void **state)
{
    struct sample s;
    struct buf b = {0};
    struct sqlite_rows rows = {0};
    sample_make(&s, "cpu_seconds");
    struct frame_row processes[] = {{&s.process.entity, &s.process.own}};
    s.frame.processes = processes;
    s.frame.process_count = 1;
    sqlite_rows_frame(&b, &rows, &s.frame, &s.run, &s.selection);
    expect(&b, STATEMENT_SAMPLE, 1);
    expect(&b, STATEMENT_ROW + ENTITY_TARGET, PARTS);
    expect(&b, STATEMENT_ROW + ENTITY_SELF, 1);
    expect(&b, STATEMENT_ROW + ENTITY_PROCESS, 1);
    expect(&rows.entities.met, STATEMENT_ENTITY, PARTS + 2);
    buf_done(&b);
    sqlite_entities_done(&rows.entities);
    sample_remove(&s);
}

static void test_sqlite_rows_everything_else(void **state)
{
    struct sample s;
    struct buf b = {0};
    struct sqlite_rows rows = {0};
    struct phase phase = {.name = strdupa("load")};
    struct run_mark m = {.kind = MARK_EVENT, .name = "saved", .attributes = scan_string("a=b")};
    struct process_end end = {.has_status = true, .end = {.ended = true, .status = 3}};
    sample_make(&s, NULL);
    end.process = &s.process;
    sqlite_rows_run(&b, &s.run, &s.selection);
    sqlite_rows_process_end(&b, &rows, &end, &s.run, &s.selection);
    end.has_status = false;
    sqlite_rows_process_end(&b, &rows, &end, &s.run, &s.selection);
    sqlite_rows_mark(&b, &rows, &m, &s.selection);
    m.kind = MARK_GAUGE;
    sqlite_rows_mark(&b, &rows, &m, &s.selection);
    m = (struct run_mark){.kind = MARK_PHASE_END, .name = "load", .phase = &phase};
    sqlite_rows_mark(&b, &rows, &m, &s.selection);
    sqlite_rows_note(&b, &rows, 1, "a sentence");
    expect(&b, STATEMENT_RUN, 1);
    expect(&b, STATEMENT_PROCESS, 2);
    expect(&b, STATEMENT_EVENT, 1);
    expect(&b, STATEMENT_GAUGE, 1);
    expect(&b, STATEMENT_PHASE, 1);
    expect(&b, STATEMENT_NOTE, 1);
    assert_int_equal(rows.seq, 6);
    buf_done(&b);
    sqlite_entities_done(&rows.entities);
    sample_remove(&s);
}

/* ---- sqlite entities ------------------------------------------------------------------------ */

/* How many were described since it was last asked. */
static unsigned described(struct sqlite_entities *x)
{
    struct scan row_log = scan_text(x->met.data, x->met.length);
    struct row_log_item item;
    unsigned rows = 0;
    for (enum row_log_is is; (is = sqlite_row_log_next(&row_log, &item)) != ROW_LOG_END;)
        rows += is == ROW_LOG_ROW && item.statement == STATEMENT_ENTITY;
    buf_clear(&x->met);
    return rows;
}

static void test_sqlite_entities_each_is_described_once(void **state)
{
    struct sqlite_entities x = {0};
    struct run_target target = {.name = strdupa("web")};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(sqlite_entities_part(&x, NULL, 0, PART_MAIN), SQLITE_ENTITY_MAIN);
        assert_int_equal(sqlite_entities_self(&x), SQLITE_ENTITY_SELF);
        assert_int_equal(sqlite_entities_part(&x, &target, 3, PART_COMBINED), SQLITE_ENTITY_OTHERS);
        assert_int_equal(described(&x), i ? 0 : 3);
    }
    sqlite_entities_done(&x);
}

static void test_sqlite_entities_instances(void **state)
{
    struct sqlite_entities x = {0};
    struct instance disk = {.number = 40}, core = {.number = 2}, machine = {.number = 1};
    instance_init(&disk, ENTITY_DISK);
    instance_init(&core, ENTITY_CORE);
    instance_init(&machine, ENTITY_SYSTEM);
    disk.number = 40, core.number = 2, machine.number = 1;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(sqlite_entities_instance(&x, &disk), SQLITE_ENTITY_OTHERS);
        assert_int_equal(sqlite_entities_instance(&x, &core), SQLITE_ENTITY_OTHERS + 1);
        assert_int_equal(sqlite_entities_instance(&x, &machine), SQLITE_ENTITY_SYSTEM);
        assert_int_equal(described(&x), i ? 0 : 3);
    }
    sqlite_entities_done(&x);
}

static void test_sqlite_entities_processes(void **state)
{
    struct sqlite_entities x = {0};
    struct entity a = {.kind = ENTITY_PROCESS, .pid = 10, .start_ticks = 1, .name = "sh"};
    struct entity b = {.kind = ENTITY_PROCESS, .pid = 11, .start_ticks = 1, .name = "sh"};
    unsigned first = sqlite_entities_process(&x, NULL, &a);
    unsigned second = sqlite_entities_process(&x, NULL, &b);
    assert_int_not_equal(first, second);
    assert_int_equal(sqlite_entities_process(&x, NULL, &a), first);
    strcpy(a.name, "cc"); /* an exec */
    unsigned renamed = sqlite_entities_process(&x, NULL, &a);
    assert_int_not_equal(renamed, first);
    sqlite_entities_left(&x, &a); /* the other one moves to its place */
    assert_int_equal(sqlite_entities_process(&x, NULL, &b), second);
    assert_int_not_equal(sqlite_entities_process(&x, NULL, &a), renamed);
    sqlite_entities_left(&x, &b);
    sqlite_entities_left(&x, &b);
    sqlite_entities_left(&x, &a);
    assert_int_equal(x.known_count, 0);
    assert_int_equal(described(&x), 4);
    sqlite_entities_done(&x);
}

/* ---- sqlite tape ---------------------------------------------------------------------------- */

static void write_all(struct buf *b)
{
    struct json_out j;
    sqlite_row_log_row(b, 7);
    sqlite_row_log_i64(b, INT64_MIN);
    sqlite_row_log_u64(b, INT64_MAX);
    sqlite_row_log_u64(b, (uint64_t)INT64_MAX + 1);
    sqlite_row_log_double(b, 0.1);
    sqlite_row_log_double(b, NAN);
    sqlite_row_log_text(b, "a\xFFz");
    sqlite_row_log_text(b, "");
    sqlite_row_log_text(b, NULL);
    size_t began = sqlite_row_log_json(b, &j);
    json_object(&j);
    json_put_u64(&j, "b", 2);
    json_object_end(&j);
    sqlite_row_log_json_end(b, began);
    sqlite_row_log_row(b, 0);
}

static void expect_text(const struct row_log_item *item, const char *text)
{
    assert_int_equal(item->text.end - item->text.at, strlen(text));
    assert_memory_equal(item->text.at, text, strlen(text));
}

static void test_sqlite_tape_what_goes_in_comes_out(void **state)
{
    struct buf b = {0};
    struct row_log_item item = {0};
    write_all(&b);
    struct scan row_log = scan_text(b.data, b.length);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_ROW);
    assert_int_equal(item.statement, 7);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_I64);
    assert_true(item.i == INT64_MIN);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_I64);
    assert_true(item.i == INT64_MAX);
    assert_int_equal(sqlite_row_log_next(&row_log, &item),
                     ROW_LOG_NULL); /* SQLite has no such number */
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_DOUBLE);
    assert_true(item.d == 0.1);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_NULL);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_TEXT);
    expect_text(&item, "a\xC3\xBFz");
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_TEXT);
    expect_text(&item, "");
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_NULL);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_TEXT);
    expect_text(&item, "{\"b\":2}");
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_ROW);
    assert_int_equal(item.statement, 0);
    assert_int_equal(sqlite_row_log_next(&row_log, &item), ROW_LOG_END);
    buf_done(&b);
}

static void test_sqlite_tape_cut_short(void **state)
{
    struct buf b = {0};
    write_all(&b);
    for (size_t length = 0; length < b.length; length++) {
        char *copy = exact_copy(b.data, length);
        struct scan row_log = scan_text(copy, length);
        struct row_log_item item;
        unsigned items = 0;
        while (sqlite_row_log_next(&row_log, &item) != ROW_LOG_END)
            items++;
        assert_true(items < 12);
        free(copy);
    }
    struct scan garbage = scan_string("\x63\x63\x63");
    struct row_log_item item;
    assert_int_equal(sqlite_row_log_next(&garbage, &item), ROW_LOG_END);
    buf_done(&b);
}

/* ---- sqlite figures ------------------------------------------------------------------------- */

static void test_sqlite_figures_columns(void **state)
{
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    struct sqlite_statement *st;
    struct sqlite_figures f;
    struct row row;
    const char *sql = "SELECT 1 AS cpu_ns, 9 AS run, 2 AS cpu_ns, NULL AS memory_rss_bytes, "
                      "0.5 AS cpu_cores, 3 AS threads, 7 AS dreams";
    assert_int_equal(sqlite_prepare(&st, db, sql, NULL), 0);
    sqlite_figures_find(&f, st, ENTITY_TARGET, 1, STATEMENT_ROW + ENTITY_TARGET);
    assert_int_equal(f.of[1], COLUMN_IS_NO_METRIC);
    assert_int_equal(f.of[6], COLUMN_IS_UNKNOWN);
    assert_int_equal(sqlite_step(st, NULL), 1);
    assert_true(sqlite_figures_read(&f, st, &row));
    assert_int_equal(row.values[process_threads_count - row.first].u, 3);
    assert_true(row.values[process_cpu_cores - row.first].d == 0.5);
    assert_false(row.present & BIT(process_memory_rss_bytes - row.first));
    assert_string_equal(sqlite_figures_unknown(&f, st), "dreams");
    sqlite_end(st);
    sqlite_close(db);
}

static void test_sqlite_figures_below_zero(void **state)
{
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    struct sqlite_statement *st;
    struct sqlite_figures f;
    struct row row;
    assert_int_equal(sqlite_prepare(&st, db, "SELECT -1 AS threads, NULL AS dreams", NULL), 0);
    sqlite_figures_find(&f, st, ENTITY_TARGET, 0, STATEMENT_ROW + ENTITY_TARGET);
    assert_int_equal(sqlite_step(st, NULL), 1);
    assert_false(sqlite_figures_read(&f, st, &row));
    assert_null(sqlite_figures_unknown(&f, st)); /* without a value it means nothing */
    sqlite_end(st);
    sqlite_close(db);
}

/* What SQLite would make 0 of, or less than it is, is refused: unknown is NULL. */
static void test_sqlite_figures_other_types(void **state)
{
    static const char *const bad[] = {
        "'abc' AS threads", "'3' AS threads",   "1.5 AS threads",   "x'01' AS threads",
        "1e30 AS threads",  "'1' AS cpu_cores", "x'' AS cpu_cores", "9e999 AS cpu_cores",
    };
    struct sqlite *db = sqlite_place_open(":memory:", SQLITE_MODE_WRITE);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sqlite_statement *st;
        struct sqlite_figures f;
        struct row row;
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT %s", bad[i]);
        assert_int_equal(sqlite_prepare(&st, db, sql, NULL), 0);
        sqlite_figures_find(&f, st, ENTITY_TARGET, 0, STATEMENT_ROW + ENTITY_TARGET);
        assert_int_equal(sqlite_step(st, NULL), 1);
        if (sqlite_figures_read(&f, st, &row))
            fail_msg("taken: %s", bad[i]);
        sqlite_end(st);
    }
    sqlite_close(db);
}

/* ---- sqlite source -------------------------------------------------------------------------- */

static struct record_reader *open_record(const char *path)
{
    struct record_reader *r = NULL;
    struct toll_error e = {0};
    assert_int_equal(record_reader_open(&r, path, &e), 0);
    return r;
}

static const struct record_item *next_item(struct record_reader *r, enum record_item_kind kind)
{
    static struct record_item item;
    struct toll_error e = {0};
    int n = record_reader_next(r, &item, &e);
    assert_string_equal(e.message, "");
    assert_int_equal(n, 1);
    assert_int_equal(item.kind, kind);
    assert_int_equal(item.number, 1);
    return &item;
}

/* What was written comes back as the same structs, in its order. */
static void test_sqlite_source_items_in_their_order(void **state)
{
    struct sample s;
    struct record_item item;
    struct record_reader *r = open_record(sqlite_record_make(&s, true));
    assert_string_equal(next_item(r, RECORD_RUN)->run->name, "job");
    const struct record_item *i = next_item(r, RECORD_FRAME);
    const struct frame *f = i->frame;
    assert_int_equal(f->tick, s.frame.tick);
    assert_int_equal(f->real_ns, s.frame.real_ns);
    assert_int_equal(f->elapsed_ns, s.frame.elapsed_ns);
    assert_int_equal(f->interval_ns, s.frame.interval_ns);
    assert_true(f->last && f->between);
    assert_int_equal(i->run->gpu_count, 2);
    const struct row *row = f->target[PART_COMBINED].row;
    assert_true(row->present == BIT(process_cpu_seconds));
    assert_int_equal(row_value(row, process_cpu_seconds).u, 1500000000);
    assert_true(f->target[PART_MAIN].row && !f->target[PART_MAIN].row->present);
    const struct process_end *left = next_item(r, RECORD_PROCESS_END)->process_end;
    assert_int_equal(left->how, LEFT_INSIDE);
    assert_int_equal(left->elapsed_ns, 5);
    assert_false(left->has_status);
    assert_int_equal(left->process->entity.pid, 101);
    assert_int_equal(left->process->entity.parent, 100);
    assert_int_equal(left->process->entity.start_ticks, 5);
    assert_string_equal(left->process->entity.name, "cc");
    assert_int_equal(row_value(&left->process->own, process_cpu_seconds).u, 250000000);
    i = next_item(r, RECORD_NOTE);
    assert_string_equal(i->sentence, "a \"note\"");
    assert_int_equal(i->elapsed_ns, 6);
    assert_int_equal(next_item(r, RECORD_SUMMARY)->summary->whole.end.status, 3);
    assert_int_equal(record_reader_next(r, &item, NULL), 0);
    assert_int_equal(record_reader_next(r, &item, NULL), 0);
    record_reader_free(r);
    sample_remove(&s);
}

/* It has no last sample either. */
static void test_sqlite_source_without_an_end(void **state)
{
    struct sample s;
    struct record_item item;
    struct record_reader *r = open_record(sqlite_record_make(&s, false));
    next_item(r, RECORD_RUN);
    assert_false(next_item(r, RECORD_FRAME)->frame->last);
    next_item(r, RECORD_PROCESS_END);
    next_item(r, RECORD_NOTE);
    assert_non_null(next_item(r, RECORD_SUMMARY)->cut_short);
    assert_int_equal(record_reader_next(r, &item, NULL), 0);
    record_reader_free(r);
    sample_remove(&s);
}

/* What is known of a figure that lacks a process. */
static void test_sqlite_source_lower_bounds(void **state)
{
    struct sample s;
    char path[512];
    struct output_summary o;
    sample_make(&s, "target_cpu_seconds,process_cpu_seconds,target_memory_rss_bytes");
    struct sink *sink = sample_sink(&s, "run.db");
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_rss_bytes, 4096);
    row_bound(&s.parts[PART_COMBINED], BIT(process_cpu_seconds));
    row_put_u64(&s.process.own, process_cpu_seconds, 250000000);
    row_bound(&s.process.own, BIT(process_cpu_seconds));
    struct frame_row rows[] = {{&s.process.entity, &s.process.own}};
    s.frame.processes = rows;
    s.frame.process_count = 1;
    assert_int_equal(sink_begin(sink, &s.run), 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    sink_end(sink);
    assert_int_equal(sink_wait(sink, &o), 0);
    sink_close(sink, false);
    struct record_reader *r = open_record(tree_path(&s.tree, path, "run.db"));
    next_item(r, RECORD_RUN);
    const struct frame *f = next_item(r, RECORD_FRAME)->frame;
    const struct row *row = f->target[PART_COMBINED].row;
    assert_true(row->present == BIT(process_memory_rss_bytes));
    assert_true(row->at_least == BIT(process_cpu_seconds));
    assert_int_equal(row->values[process_cpu_seconds].u, 1500000000);
    row = f->processes[0].row;
    assert_true(!row->present && row->at_least == BIT(process_cpu_seconds));
    assert_int_equal(row->values[process_cpu_seconds].u, 250000000);
    record_reader_free(r);
    sample_remove(&s);
}

static void test_sqlite_source_other_files(void **state)
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
        cmocka_unit_test_setup_teardown(test_sqlite_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_bad_statement, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_bad_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_busy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_peek, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_apart, setup, teardown),
        cmocka_unit_test(test_sqlite_quote),
        cmocka_unit_test(test_sqlite_schema_columns),
        cmocka_unit_test(test_sqlite_schema_statement),
        cmocka_unit_test_setup(test_sqlite_schema_make, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_schema_what_is_missing, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_tables_tables, sqlite_place_is_built_in),
        cmocka_unit_test(test_sqlite_tables_rows_of_targets_may_end),
        cmocka_unit_test_setup(test_sqlite_views_timeline, sqlite_place_is_built_in),
        cmocka_unit_test(test_sqlite_rows_a_frame),
        cmocka_unit_test(test_sqlite_rows_everything_else),
        cmocka_unit_test(test_sqlite_entities_each_is_described_once),
        cmocka_unit_test(test_sqlite_entities_instances),
        cmocka_unit_test(test_sqlite_entities_processes),
        cmocka_unit_test(test_sqlite_tape_what_goes_in_comes_out),
        cmocka_unit_test(test_sqlite_tape_cut_short),
        cmocka_unit_test_setup(test_sqlite_figures_columns, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_figures_below_zero, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_figures_other_types, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_source_items_in_their_order, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_source_lower_bounds, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_source_without_an_end, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_source_other_files, sqlite_place_is_built_in),
    };
    return RUN("record/sqlite", tests);
}
