/* SPDX-License-Identifier: MIT */
#include "sink/sqlite.h"

#include "record/sqlite/rows.h"
#include "record/sqlite/schema.h"
#include "sqlite_place.h"

static struct tree tree;
static char path[512];

static int setup(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    tree_make(&tree);
    tree_path(&tree, path, "a.sqlite");
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
    snprintf(name, sizeof name, "%s%s", path, suffix);
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
    assert_int_equal(sqlite_file_prepare(path, &is_new, &e), 0);
    assert_int_equal(sqlite_file_open(&f, path, false, &e), 0);
    return f;
}

static void test_runs_are_added(void **state)
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
    sqlite_place_expect_in(path, "SELECT group_concat(name) FROM runs", "first,second");
    sqlite_place_expect_in(path, "SELECT group_concat(run || ':' || seq) FROM notes",
                           "1:0,1:1,2:0,2:1");
    sqlite_file_close(NULL);
}

/* Of a batch that fails nothing is there, and the next one is taken. */
static void test_all_or_nothing(void **state)
{
    struct toll_error e = {0};
    struct sqlite_file *f = opened();
    struct buf b = {0};
    add_run(&b, "a");
    assert_int_equal(write_text(f, &b, &e), 0);
    add_note(&b, 0);
    add_note(&b, 0);
    assert_true(write_text(f, &b, &e) < 0);
    assert_null(strstr(e.message, path));
    add_note(&b, 7);
    assert_int_equal(write_text(f, &b, &e), 0);
    sqlite_row_log_row(&b, STATEMENTS);
    assert_int_equal(write_text(f, &b, &e), -EINVAL);
    sqlite_file_close(f);
    sqlite_place_expect_in(path, "SELECT group_concat(seq) FROM notes", "7");
}

static void test_removed(void **state)
{
    struct toll_error e = {0};
    struct sqlite_file *f = opened();
    struct buf b = {0};
    unlink(path);
    add_run(&b, "a");
    assert_int_equal(write_text(f, &b, &e), -ESTALE);
    sqlite_file_close(f);
    f = NULL;
    assert_int_equal(sqlite_file_open(&f, path, false, &e), -ESTALE);
    assert_null(f);
    tree_write(&tree, "a.sqlite-wal", ""); /* whatever lies about */
}

static void test_discard(void **state)
{
    struct toll_error e = {0};
    bool is_new = false;
    assert_int_equal(sqlite_file_prepare(path, &is_new, &e), 0);
    assert_true(is_new);
    sqlite_file_discard(path);
    assert_false(is_there(""));
    struct sqlite_file *f = opened();
    struct buf b = {0};
    add_run(&b, "a");
    assert_int_equal(write_text(f, &b, &e), 0);
    sqlite_file_close(f);
    sqlite_file_discard(path);
    assert_true(is_there(""));
    assert_int_equal(sqlite_file_prepare(path, &is_new, &e), 0);
    assert_false(is_new);
}

/* A copy of the library of its own reads and writes the same file. */
static void test_apart(void **state)
{
    struct toll_error e = {0};
    struct sqlite_file *f;
    struct buf b = {0};
    bool is_new;
    assert_int_equal(sqlite_file_prepare(path, &is_new, &e), 0);
    struct sqlite *reader = sqlite_place_open(path, SQLITE_MODE_READ);
    assert_int_equal(sqlite_file_open(&f, path, true, &e), 0);
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
    assert_true(sqlite_file_prepare(path, &is_new, &e) < 0);
    assert_non_null(strstr(e.message, word));
    assert_non_null(strstr(e.message, "a.sqlite"));
}

static void test_not_ours(void **state)
{
    struct toll_error e = {0};
    tree_write(&tree, "a.sqlite", "no database");
    expect_refused("no SQLite file");
    unlink(path);
    struct sqlite *db = sqlite_place_open(path, SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_run(db, "CREATE TABLE theirs (a)", &e), 0);
    sqlite_close(db);
    expect_refused("did not make");
    unlink(path);
    sqlite_file_close(opened());
    db = sqlite_place_open(path, SQLITE_MODE_WRITE);
    assert_int_equal(sqlite_run(db, "PRAGMA user_version = 2", &e), 0);
    sqlite_close(db);
    expect_refused("newer toll");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_are_added, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_or_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_discard, setup, teardown),
        cmocka_unit_test_setup_teardown(test_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_ours, setup, teardown),
    };
    return RUN("sqlite_file", tests);
}
