/* SPDX-License-Identifier: MIT */
#include "record/sqlite/sqlite.h"
#include "sample.h"
#include "sink/sink.h"
#include "sqlite_place.h"

/* ---- sqlite sink ---------------------------------------------------------------------------- */

/* … and sqlite_summary.c: a small run from its beginning to its end. */

static struct sink *begun(struct sample *s)
{
    struct sink *sink = sample_sink(s, "x.sqlite");
    assert_int_equal(sink_begin(sink, &s->run), 0);
    return sink;
}

static void end(struct sample *s, struct sink *sink, bool is_whole)
{
    struct output_summary came = {0};
    assert_int_equal(sink_summary(sink, &s->summary), 0);
    sink_end(sink);
    sink_wait(sink, &came);
    assert_true(came.is_whole == is_whole);
    sink_close(sink, false);
}

static void test_sqlite_sink_a_run(void **state)
{
    struct sample s;
    char path[512];
    sample_make(&s, "cpu_seconds,memory_rss_bytes");
    tree_path(&s.tree, path, "x.sqlite");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 2500000000, QUALITY_EXACT);
    struct sink *sink = begun(&s);
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 2500000001);
    for (s.frame.tick = 0; s.frame.tick < 3; s.frame.tick++)
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_int_equal(sink_note(sink, 5, "a sentence"), 0);
    end(&s, sink, true);
    sqlite_place_expect_in(path, "SELECT count(*) FROM samples", "3");
    sqlite_place_expect_in(path, "SELECT count(*) FROM entities", "4");
    sqlite_place_expect_in(path, "SELECT max(cpu_ns) FROM target_samples", "2500000001");
    sqlite_place_expect_in(path, "SELECT count(memory_rss_bytes) FROM target_samples", "0");
    sqlite_place_expect_in(path, "SELECT sentence FROM notes", "a sentence");
    sqlite_place_expect_in(path,
                           "SELECT total || quality || means FROM figures WHERE metric = "
                           "'cpu_seconds' AND part = 'combined'",
                           "2.5exacttest");
    sqlite_place_expect_in(path, "SELECT status || code || wall_ns FROM runs", "exited32000000000");
    sqlite_place_expect_in(path,
                           "SELECT summary ->> '$.target.combined.cpu_seconds.total' FROM "
                           "runs",
                           "2.5");
    sample_remove(&s);
}

static void test_sqlite_sink_a_file_that_goes_away(void **state)
{
    struct sample s;
    char path[512];
    sample_make(&s, NULL);
    struct sink *sink = begun(&s);
    assert_int_equal(unlink(tree_path(&s.tree, path, "x.sqlite")), 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    end(&s, sink, false);
    assert_int_not_equal(access(path, F_OK), 0);
    sample_remove(&s);
}

/* Made for a command that did not start. */
static void test_sqlite_sink_nothing_stays(void **state)
{
    struct sample s;
    char path[512];
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "x.sqlite");
    tree_path(&s.tree, path, "x.sqlite");
    assert_int_equal(access(path, F_OK), 0);
    assert_true(sink_writes_to(sink, path));
    sink_close(sink, true);
    assert_int_not_equal(access(path, F_OK), 0);
    sample_remove(&s);
}

/* ---- sqlite file ---------------------------------------------------------------------------- */

static struct tree tree;

static char sqlite_file_path[512];

static int setup(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    tree_make(&tree);
    tree_path(&tree, sqlite_file_path, "a.sqlite");
    return 0;
}

static int teardown(void **state)
{
    tree_remove(&tree);
    return 0;
}

static bool is_there(const char *suffix)
{
    char name[600];
    snprintf(name, sizeof name, "%s%s", sqlite_file_path, suffix);
    return access(name, F_OK) == 0;
}

static void add_run(struct buf *b, const char *name)
{
    sqlite_row_log_row(b, STATEMENT_RUN);
    sqlite_row_log_text(b, name);
    sqlite_row_log_text(b, "host");
    sqlite_row_log_null(b);
    sqlite_row_log_i64(b, 1);
    sqlite_row_log_text(b, "{}");
}

static void add_note(struct buf *b, int64_t seq)
{
    sqlite_row_log_row(b, STATEMENT_NOTE);
    sqlite_row_log_i64(b, seq);
    sqlite_row_log_i64(b, 0);
    sqlite_row_log_text(b, "a sentence");
}

static int write_text(struct sqlite_file *f, struct buf *b, struct toll_error *e)
{
    struct chunk p = {.data = b->data, .length = b->length};
    struct batch batch = {.chunks = &p, .count = 1};
    int r = sqlite_file_write(f, &batch, e);
    buf_done(b);
    return r;
}

static struct sqlite_file *opened(void)
{
    struct toll_error e = {0};
    struct sqlite_file *f;
    bool is_new;
    assert_int_equal(sqlite_file_prepare(sqlite_file_path, &is_new, &e), 0);
    assert_int_equal(sqlite_file_open(&f, sqlite_file_path, false, &e), 0);
    return f;
}

static void test_sqlite_file_runs_are_added(void **state)
{
    struct toll_error e = {0};
    for (unsigned i = 0; i < 2; i++) {
        struct sqlite_file *f = opened();
        struct buf b = {0};
        add_run(&b, i ? "second" : "first");
        assert_int_equal(write_text(f, &b, &e), 0);
        assert_true(is_there("-wal"));
        add_note(&b, 0);
        add_note(&b, 1);
        assert_int_equal(write_text(f, &b, &e), 0);
        sqlite_file_close(f);
        assert_false(is_there("-wal"));
        assert_false(is_there("-shm"));
    }
    sqlite_place_expect_in(sqlite_file_path, "SELECT group_concat(name) FROM runs", "first,second");
    sqlite_place_expect_in(sqlite_file_path, "SELECT group_concat(run || ':' || seq) FROM notes",
                           "1:0,1:1,2:0,2:1");
    sqlite_file_close(NULL);
}

/* Of a batch that fails nothing is there, and the next one is taken. */
static void test_sqlite_file_all_or_nothing(void **state)
{
    struct toll_error e = {0};
    struct sqlite_file *f = opened();
    struct buf b = {0};
    add_run(&b, "a");
    assert_int_equal(write_text(f, &b, &e), 0);
    add_note(&b, 0);
    add_note(&b, 0);
    assert_true(write_text(f, &b, &e) < 0);
    assert_null(strstr(e.message, sqlite_file_path));
    add_note(&b, 7);
    assert_int_equal(write_text(f, &b, &e), 0);
    sqlite_row_log_row(&b, STATEMENTS);
    assert_int_equal(write_text(f, &b, &e), -EINVAL);
    sqlite_file_close(f);
    sqlite_place_expect_in(sqlite_file_path, "SELECT group_concat(seq) FROM notes", "7");
}

static void test_sqlite_file_removed(void **state)
{
    struct toll_error e = {0};
    struct sqlite_file *f = opened();
    struct buf b = {0};
    unlink(sqlite_file_path);
    add_run(&b, "a");
    assert_int_equal(write_text(f, &b, &e), -ESTALE);
    sqlite_file_close(f);
    f = NULL;
    assert_int_equal(sqlite_file_open(&f, sqlite_file_path, false, &e), -ESTALE);
    assert_null(f);
    tree_write(&tree, "a.sqlite-wal", ""); /* whatever lies about */
}

static void test_sqlite_file_discard(void **state)
{
    struct toll_error e = {0};
    bool is_new = false;
    assert_int_equal(sqlite_file_prepare(sqlite_file_path, &is_new, &e), 0);
    assert_true(is_new);
    sqlite_file_discard(sqlite_file_path);
    assert_false(is_there(""));
    struct sqlite_file *f = opened();
    struct buf b = {0};
    add_run(&b, "a");
    assert_int_equal(write_text(f, &b, &e), 0);
    sqlite_file_close(f);
    sqlite_file_discard(sqlite_file_path);
    assert_true(is_there(""));
    assert_int_equal(sqlite_file_prepare(sqlite_file_path, &is_new, &e), 0);
    assert_false(is_new);
}

/* A copy of the library of its own reads and writes the same file. */
static void test_sqlite_file_apart(void **state)
{
    struct toll_error e = {0};
    struct sqlite_file *f;
    struct buf b = {0};
    bool is_new;
    assert_int_equal(sqlite_file_prepare(sqlite_file_path, &is_new, &e), 0);
    struct sqlite *reader = sqlite_place_open(sqlite_file_path, SQLITE_MODE_READ);
    assert_int_equal(sqlite_file_open(&f, sqlite_file_path, true, &e), 0);
    add_run(&b, "a");
    assert_int_equal(write_text(f, &b, &e), 0);
    sqlite_place_expect(reader, "SELECT name FROM runs", "a");
    sqlite_file_close(f);
    sqlite_close(reader);
}

static void expect_refused(const char *word)
{
    struct toll_error e = {0};
    bool is_new = false;
    assert_true(sqlite_file_prepare(sqlite_file_path, &is_new, &e) < 0);
    assert_non_null(strstr(e.message, word));
    assert_non_null(strstr(e.message, "a.sqlite"));
}

static void test_sqlite_file_not_ours(void **state)
{
    struct toll_error e = {0};
    tree_write(&tree, "a.sqlite", "no database");
    expect_refused("not a SQLite file");
    unlink(sqlite_file_path);
    struct sqlite *db = sqlite_place_open(sqlite_file_path, SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_run(db, "CREATE TABLE theirs (a)", &e), 0);
    sqlite_close(db);
    expect_refused("another program");
    unlink(sqlite_file_path);
    sqlite_file_close(opened());
    db = sqlite_place_open(sqlite_file_path, SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_run(db, "PRAGMA user_version = 2", &e), 0);
    sqlite_close(db);
    expect_refused("newer toll");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sqlite_sink_a_run, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_sink_a_file_that_goes_away, sqlite_place_is_built_in),
        cmocka_unit_test_setup(test_sqlite_sink_nothing_stays, sqlite_place_is_built_in),
        cmocka_unit_test_setup_teardown(test_sqlite_file_runs_are_added, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_file_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_file_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_file_discard, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_file_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sqlite_file_not_ours, setup, teardown),
    };
    return RUN("sink/sqlite", tests);
}
