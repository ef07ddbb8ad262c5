/* SPDX-License-Identifier: MIT */
#include "layout/gpu_tracker/gpu_tracker.h"
#include "base/io/sqlite.h"
#include "engine/step.h"
#include "engine/tracker.h"
#include "proc_tree.h"
#include "scratch.h"
#include "unit.h"

#include <errno.h>
#include <math.h>

/* ---- spread --------------------------------------------------------------------------------- */

static void test_spread_by_hand(void **state)
{
    static const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct spread s = {0};
    assert_true(isnan(spread_get(&s, STATISTIC_MIN)) && isnan(spread_get(&s, STATISTIC_STD)));
    spread_add(&s, NAN);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        spread_add(&s, values[i]);
    assert_true(s.count == 8);
    assert_true(spread_get(&s, STATISTIC_MIN) == 2);
    assert_true(spread_get(&s, STATISTIC_MAX) == 9);
    assert_true(spread_get(&s, STATISTIC_MEAN) == 5);
    assert_true(spread_get(&s, STATISTIC_STD) == 2);
}

static void test_spread_large_and_alike(void **state)
{
    struct spread s = {0}, same = {0};
    for (int i = 0; i < 1000; i++) {
        spread_add(&s, 1e15 + (i % 2));
        spread_add(&same, 0.216);
    }
    assert_true(fabs(spread_get(&s, STATISTIC_STD) - 0.5) < 1e-9);
    assert_true(spread_get(&same, STATISTIC_STD) == 0);
    assert_true(spread_get(&same, STATISTIC_MEAN) == 0.216);
}

static void test_spread_negative(void **state)
{
    struct spread s = {0};
    spread_add(&s, -3);
    spread_add(&s, -1);
    assert_true(spread_get(&s, STATISTIC_MIN) == -3 && spread_get(&s, STATISTIC_MAX) == -1);
}

static void test_spread_names(void **state)
{
    for (int i = 0; i < STATISTICS; i++)
        assert_int_equal(statistic_by_name(statistic_names[i]), i);
    assert_int_equal(statistic_by_name("median"), -EINVAL);
}

/* ---- block calls ---------------------------------------------------------------------------- */

#define HEADING "process_id,code_block_name,position,timestamp\n"

static struct blocks blocks;

static struct toll_error block_calls_e;

static int read_blocks(const char *rows)
{
    char text[4096];
    snprintf(text, sizeof text, HEADING "%s", rows);
    return blocks_read(&blocks, scratch_write("b.csv", text), &block_calls_e);
}

static void assert_call(const struct block *b, size_t i, double start, double stop)
{
    assert_true(i < b->call_count);
    assert_true(b->calls[i].start == start && b->calls[i].stop == stop);
}

static void test_block_calls_pairs(void **state)
{
    assert_int_equal(read_blocks("2,b,0,10\n2,b,1,11\n1,a,0,1\n2,b,0,20\n2,b,1,22\n1,a,1,4\n"), 0);
    assert_int_equal(blocks.count, 2);
    assert_string_equal(blocks.list[0].name, "a");
    assert_call(&blocks.list[0], 0, 1, 4);
    assert_int_equal(blocks.list[1].call_count, 2);
    assert_call(&blocks.list[1], 1, 20, 22);
    blocks_done(&blocks);
}

static void test_block_calls_words_and_order(void **state)
{
    assert_int_equal(read_blocks("1,a,STOP,4\n1,a,START,1\n1,a,start,4\n1,a,stop,5\n"), 0);
    assert_int_equal(blocks.list[0].call_count, 2);
    assert_call(&blocks.list[0], 0, 1, 4);
    assert_call(&blocks.list[0], 1, 4, 5);
    blocks_done(&blocks);
}

static void test_block_calls_nested(void **state)
{
    assert_int_equal(read_blocks("1,a,0,1\n1,a,0,2\n1,a,1,3\n1,a,1,9\n"), 0);
    assert_call(&blocks.list[0], 0, 2, 3);
    assert_call(&blocks.list[0], 1, 1, 9);
    assert_int_equal(blocks.list[0].span_count, 1);
    blocks_done(&blocks);
}

static void test_block_calls_unended(void **state)
{
    assert_int_equal(read_blocks("1,a,0,1\n1,a,1,2\n1,a,0,3\n2,a,0,1\n3,b,0,1\n"), 0);
    assert_int_equal(blocks.list[0].call_count, 1);
    assert_int_equal(blocks.list[1].call_count, 0);
    assert_true(isnan(block_since(&blocks.list[1], 1)));
    blocks_done(&blocks);
}

static void test_block_calls_covers(void **state)
{
    assert_int_equal(read_blocks("1,a,0,1\n1,a,1,4\n2,a,0,3\n2,a,1,6\n3,a,0,8\n3,a,1,9\n"), 0);
    const struct block *b = &blocks.list[0];
    assert_int_equal(b->span_count, 2);
    static const double in[] = {1, 2, 4, 5, 6, 8, 9}, out[] = {0.5, 6.1, 7.9, 9.1};
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        assert_false(isnan(block_since(b, in[i])));
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        assert_true(isnan(block_since(b, out[i])));
    blocks_done(&blocks);
}

static void test_block_calls_bad(void **state)
{
    static const struct {
        const char *rows, *says;
    } bad[] = {
        {"1,a,1,1.5\n", "Row 1 stops \"a\" of process ID 1, which had not started"},
        {"1,a,0,1\n1,a,1,2\n1,a,1,3\n1,a,1,4\n", "Row 3 stops"},
        {"1,a,0,1\n1,a,1,2\n1,a,1,3.5\n2,a,0,3\n2,a,1,4\n",
         "Sub-tracking file is invalid. Detected timestamp pair (3.5, 3.0) with differing process "
         "IDs: 1 and 2."},
        {"1,a,0,9\n1,a,0,8.25\n1,a,1,7\n",
         "Sub-tracking file is invalid. Detected timestamp pair (7.0, 8.25) of process ID 1 with a "
         "start time greater than the stop time."},
        {"1,a,2,1\n", "invalid position '2' (expected 0, START, 1 or STOP)"},
        {"x,a,0,1\n", "invalid number 'x' in column 'process_id'"},
        {"1,a,0,\n", "row 1: invalid process_id or timestamp"},
        {"1.5,a,0,1\n", "row 1: invalid process_id or timestamp"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(read_blocks(bad[i].rows), -EBADMSG);
        assert_non_null(strstr(block_calls_e.message, bad[i].says));
        assert_null(blocks.list);
    }
    assert_int_equal(
        blocks_read(&blocks, scratch_write("b.csv", "process_id,position\n"), &block_calls_e),
        -ENOENT);
    assert_non_null(strstr(block_calls_e.message, "'code_block_name'"));
    assert_int_equal(read_blocks(""), 0);
    assert_int_equal(blocks.count, 0);
    blocks_done(&blocks);
}

/* ---- row file ------------------------------------------------------------------------------- */

static struct row_file *opened(const char *path)
{
    struct row_file *f;
    struct toll_error e = {0};
    assert_int_equal(row_file_open(&f, path, &e), 0);
    return f;
}

static void check_two_tables(const char *path)
{
    struct toll_error e = {0};
    struct row_file *f = opened(path);
    double value;
    assert_int_equal(row_file_table(f, "static_data", &e), 0);
    assert_int_equal(row_file_columns(f), 2);
    assert_int_equal(row_file_next(f, &e), 1);
    assert_string_equal(row_file_text(f, 0), "giga");
    assert_int_equal(row_file_number(f, 1, &value, &e), 0);
    assert_true(value == 12);
    assert_int_equal(row_file_number(f, 0, &value, &e), -EBADMSG);
    assert_non_null(strstr(e.message, "giga"));
    assert_int_equal(row_file_table(f, "data", &e), 0);
    assert_int_equal(row_file_column(f, "b", &e), 1);
    assert_int_equal(row_file_column(f, "z", &e), -ENOENT);
    assert_int_equal(row_file_next(f, &e), 1);
    assert_int_equal(row_file_number(f, 0, &value, &e), 0);
    assert_true(value == 0.5);
    assert_int_equal(row_file_number(f, 2, &value, &e), 0);
    assert_true(isnan(value));
    assert_string_equal(row_file_text(f, 1), "x, \"y\"");
    assert_int_equal(row_file_next(f, &e), 1);
    assert_string_equal(row_file_name(f, 2), "c");
    assert_int_equal(row_file_next(f, &e), 0);
    row_file_close(f);
}

static void test_row_file_csv(void **state)
{
    const char *path = scratch_write("a.csv", "unit,cores\r\ngiga,12\r\na,b,c\r\n"
                                              "0.5,\"x, \"\"y\"\"\",\r\n\r\n2,z,3");
    struct row_file *f = opened(path);
    assert_int_equal(row_file_format(f), ROWS_CSV);
    row_file_close(f);
    check_two_tables(path);
}

static void test_row_file_sqlite(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    struct sqlite *db;
    struct toll_error e = {0};
    const char *path = scratch_path("a.sqlite");
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_WRITE, 0, &e), 0);
    assert_int_equal(sqlite_run(db,
                                "CREATE TABLE static_data (unit VARCHAR, cores INTEGER);"
                                "INSERT INTO static_data VALUES ('giga', 12);"
                                "CREATE TABLE data (a FLOAT, b VARCHAR, c FLOAT);"
                                "INSERT INTO data VALUES (0.5, 'x, \"y\"', NULL), (2, 'z', 3)",
                                &e),
                     0);
    sqlite_close(db);
    check_two_tables(path);
    struct row_file *f = opened(path);
    assert_int_equal(row_file_format(f), ROWS_SQLITE);
    assert_int_equal(row_file_table(f, "nothing", &e), -ENODATA);
    assert_non_null(strstr(e.message, "'nothing'"));
    row_file_close(f);
}

static void test_row_file_quoted_newline(void **state)
{
    struct toll_error e = {0};
    struct row_file *f = opened(scratch_write("a.csv", "a,b\n\"one\n\ntwo\",2\n\"open\n"));
    assert_int_equal(row_file_table(f, "data", &e), 0);
    assert_int_equal(row_file_next(f, &e), 1);
    assert_string_equal(row_file_text(f, 0), "one\n\ntwo");
    assert_int_equal(row_file_next(f, &e), -EBADMSG);
    row_file_close(f);
}

static void test_row_file_bad(void **state)
{
    struct toll_error e = {0};
    struct row_file *f = NULL;
    assert_int_equal(row_file_open(&f, "a.txt", &e), -EINVAL);
    assert_non_null(strstr(e.message, "Valid file extensions are \".csv\" and \".sqlite\"."));
    assert_int_equal(row_file_open(&f, ".csv", &e), -EINVAL);
    assert_int_equal(row_file_open(&f, "/tmp/no/such.csv", &e), -ENOENT);
    assert_null(f);
    f = opened(scratch_write("a.csv", ""));
    assert_int_equal(row_file_table(f, "data", &e), -ENODATA);
    row_file_close(f);
    f = opened(scratch_write("a.csv", "a,b\n1\n"));
    assert_int_equal(row_file_table(f, "data", &e), 0);
    assert_int_equal(row_file_next(f, &e), -EBADMSG);
    assert_non_null(strstr(e.message, "line 2: 1 columns (expected 2"));
    row_file_close(f);
    row_file_close(NULL);
}

/* ---- point store ---------------------------------------------------------------------------- */

static struct toll_error point_store_e;

static int64_t number_from(const char *path, const char *sql)
{
    struct sqlite *db;
    struct sqlite_statement *st;
    assert_int_equal(sqlite_open(&db, path, SQLITE_MODE_READ, 0, &point_store_e), 0);
    assert_int_equal(sqlite_prepare(&st, db, sql, &point_store_e), 0);
    assert_int_equal(sqlite_step(st, &point_store_e), 1);
    int64_t value = sqlite_column_i64(st, 0);
    sqlite_end(st);
    sqlite_close(db);
    return value;
}

static void test_point_store_tables(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    const char *to = scratch_path("p.sqlite");
    const char *from = scratch_write("p.csv", "unit,cores\r\nmega,4\r\n"
                                              "ram,n,x,timestamp\r\n0.5,2,,1746129778.99568\r\n"
                                              "1.5,3,7,1746129779.5\r\n");
    assert_int_equal(points_to_sqlite(from, to, &point_store_e), 0);
    assert_int_equal(points_to_sqlite(from, to, &point_store_e),
                     0); /* over the one that is there */
    assert_true(number_from(to,
                            "SELECT count(*) FROM data WHERE timestamp = 1746129778.99568 AND "
                            "x IS NULL AND typeof(ram) = 'real' AND typeof(n) = 'integer'") == 1);
    assert_true(number_from(to, "SELECT count(*) FROM data") == 2);
    assert_true(number_from(to, "SELECT cores FROM static_data WHERE unit = 'mega'") == 4);
    assert_true(number_from(to, "SELECT count(*) FROM sqlite_master WHERE sql LIKE "
                                "'%\"ram\" FLOAT, \"n\" INTEGER, \"x\" FLOAT, %'") == 1);
}

static void test_point_store_bad_leaves_what_was_there(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    const char *to = scratch_write("p.sqlite", "precious");
    const char *from = scratch_write("p.csv", "unit,cores\nmega,4\nram,timestamp\n1\n");
    assert_int_equal(points_to_sqlite(from, to, &point_store_e), -EBADMSG);
    assert_int_equal(points_to_sqlite("/no/such.csv", to, &point_store_e), -ENOENT);
    assert_int_equal(points_to_sqlite(from, "/no/such.sqlite", &point_store_e), -ENOENT);
    assert_file_is(to, "precious");
}

/* ---- combine -------------------------------------------------------------------------------- */

/* Also of block_log and block_rows, which it is made of. */

static struct toll_error combine_e;

static void test_combine_csv(void **state)
{
    const char *a = scratch_write(
        "a.csv", "code_block_name,extra,timestamp,position,process_id\r\n"
                 "\"x, y\",?,1746129778.99568,START,7\r\n\"x, y\",?,1746129781.7855892,STOP,7\r\n");
    const char *b = scratch_write("b.csv", HEADING "8,z,0,1745449627.6054814\n");
    const char *all = scratch_path("all.csv");
    assert_int_equal(combine_blocks(all, (const char *const[]){a, b, NULL}, &combine_e), 0);
    assert_file_is(all, HEADING "7,\"x, y\",0,1746129778.99568\n7,\"x, y\",1,1746129781.7855892\n"
                                "8,z,0,1745449627.6054814\n");
}

static void test_combine_sqlite(void **state)
{
    if (!sqlite_is_built_in())
        skip();
    struct block_log *log;
    struct block_stamp s = {.pid = 7, .name = "it's", .time = 1746129778.99568};
    const char *a = scratch_path("a.sqlite"), *all = scratch_path("all.sqlite");
    assert_int_equal(block_log_open(&log, a, ROWS_SQLITE, &combine_e), 0);
    assert_int_equal(block_log_put(log, &s, &combine_e), 0);
    s.is_stop = true;
    assert_int_equal(block_log_put(log, &s, &combine_e), 0);
    assert_int_equal(block_log_commit(log, &combine_e), 0);
    block_log_close(log);
    assert_int_equal(block_log_open(&log, a, ROWS_SQLITE, &combine_e), -EEXIST);
    assert_int_equal(combine_blocks(all, (const char *const[]){a, a, NULL}, &combine_e), 0);

    struct block_rows *rows;
    assert_int_equal(block_rows_open(&rows, all, &combine_e), 0);
    for (unsigned i = 1; i <= 4; i++) {
        assert_int_equal(block_rows_next(rows, &s, &combine_e), 1);
        assert_true(s.pid == 7 && s.number == i && s.time == 1746129778.99568);
        assert_string_equal(s.name, "it's");
        assert_int_equal(s.is_stop, i % 2 == 0);
    }
    assert_int_equal(block_rows_next(rows, &s, &combine_e), 0);
    block_rows_close(rows);
}

static size_t files_there(void)
{
    DIR *dir = opendir(scratch);
    size_t count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static void test_combine_bad_leaves_nothing(void **state)
{
    const char *a = scratch_write("a.csv", HEADING "1,a,0,1\n");
    const char *b = scratch_write("b.csv", HEADING "1,a,5,1\n");
    const char *all = scratch_path("all.csv");
    assert_int_equal(combine_blocks(all, (const char *const[]){a, b, NULL}, &combine_e), -EBADMSG);
    assert_int_equal(
        combine_blocks(all, (const char *const[]){a, "/no/such.csv", NULL}, &combine_e), -ENOENT);
    assert_int_equal(combine_blocks(all, (const char *const[]){a, "c.sqlite", NULL}, &combine_e),
                     -EINVAL);
    assert_non_null(
        strstr(combine_e.message, "File c.sqlite does not end with the same extension as "));
    assert_non_null(strstr(combine_e.message, "Must end in \".csv\"."));
    assert_int_equal(combine_blocks(a, (const char *const[]){b, NULL}, &combine_e), -EEXIST);
    assert_non_null(strstr(combine_e.message, "File already exists."));
    assert_int_equal(combine_blocks("all.txt", (const char *const[]){a, NULL}, &combine_e),
                     -EINVAL);
    assert_int_equal(combine_blocks("/no/such/all.csv", (const char *const[]){a, NULL}, &combine_e),
                     -ENOENT);
    assert_int_equal(files_there(), 2);
}

/* ---- replay --------------------------------------------------------------------------------- */

static struct toll_tracker *make(void)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o, .processes = TOLL_PROCESSES_ALL};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    return t;
}

/* The files of one sample. */
static void put_process(const struct tree *tree, const char *sample, const struct proc_facts *f,
                        const char *children)
{
    struct tree below;
    snprintf(below.path, sizeof below.path, "%.40s/%.10s", tree->path, sample);
    proc_stat(&below, f);
    proc_io(&below, f->pid, "io", 100 * f->user, 10 * f->user);
    proc_children(&below, f->pid, f->pid, children);
}

#define HEAD                                                                                       \
    "start 1731000000\nhost box\nkernel 4.9\ncpus 8\ncommand make -j2\ntracker 9\nmain 10\n"

/* A child is born, works, and is reaped by its parent; then the parent ends. */
static void test_replay_a_life(void **state)
{
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "script",
               HEAD "# a comment\n\ntick 0.010 t0\ntick 0.020 t1\ntick 0.500 t2\n"
                    "reaped 10 exit 3\nusage 0.5 0.25 900 2 30 4 20480\n"
                    "io 4096 8192 10 20 0 4096 0\ntick 1.000 t3\n");
    put_process(&tree, "t0",
                &(struct proc_facts){.pid = 10, .parent = 9, .user = 1, .rss_pages = 10}, "");
    put_process(&tree, "t1",
                &(struct proc_facts){.pid = 10, .parent = 9, .user = 2, .rss_pages = 10}, "11 ");
    put_process(&tree, "t1",
                &(struct proc_facts){.pid = 11, .parent = 10, .user = 30, .rss_pages = 5}, "");
    put_process(&tree, "t2",
                &(struct proc_facts){
                    .pid = 10, .parent = 9, .user = 3, .children_user = 40, .rss_pages = 10},
                "");
    tree_write(&tree, "t3/proc/version", "");
    struct toll_tracker *t = make();
    struct toll_error e = {0};
    assert_int_equal(toll_tracker_replay(t, tree.path, &e), 0);
    assert_string_equal(t->run.host, "box");
    assert_int_equal(t->run.cpus, 8);
    assert_string_equal(t->run.name, "make");
    const struct row *all = &t->tracked.whole->parts[PART_COMBINED];

    assert_int_equal(toll_tracker_step(t), 1);
    assert_value(all, process_cpu_seconds, 10 * NS_PER_MS);
    assert_value(all, process_processes_count, 1);
    assert_int_equal(t->frame.elapsed_ns, 10 * NS_PER_MS);

    assert_int_equal(toll_tracker_step(t), 1);
    assert_value(all, process_cpu_seconds, 320 * NS_PER_MS);
    assert_value(all, process_processes_count, 2);
    assert_value(all, process_memory_rss_bytes, 15 * 4096);
    assert_value(&t->tracked.whole->parts[PART_MAIN], process_cpu_seconds, 20 * NS_PER_MS);
    assert_value(&t->tracked.whole->parts[PART_DESCENDANTS], process_cpu_seconds, 300 * NS_PER_MS);
    assert_int_equal(t->frame.interval_ns, 10 * NS_PER_MS);

    assert_int_equal(toll_tracker_step(t), 1);
    assert_value(all, process_cpu_seconds, 430 * NS_PER_MS);
    assert_value(all, process_processes_started_count, 2);

    assert_int_equal(toll_tracker_step(t), 1);
    assert_value(all, process_cpu_seconds, 750 * NS_PER_MS); /* as wait4 said */
    assert_value(all, process_io_written_bytes, 8192);
    assert_unknown(all, process_memory_rss_bytes);
    assert_int_equal(toll_tracker_step(t), 0);
    struct toll_end end = {.size = sizeof end};
    assert_int_equal(toll_tracker_finish(t, &end), 0);
    assert_true(end.ended);
    assert_int_equal(end.status, 3);
    assert_false(t->tracked.whole->ledger.losing);
    toll_tracker_free(t);
    tree_remove(&tree);
}

static int open_script(const struct tree *tree, const char *script, struct toll_error *e)
{
    tree_write(tree, "script", script);
    struct toll_tracker *t = make();
    int r = toll_tracker_replay(t, tree->path, e);
    for (int steps = 0; r >= 0 && steps < 20; steps++) {
        r = toll_tracker_step(t);
        if (r == 0)
            break;
    }
    if (t->started)
        toll_tracker_finish(t, NULL);
    toll_tracker_free(t);
    return r;
}

static void test_replay_bad_scripts(void **state)
{
    static const char *const bad[] = {
        "",
        "\n\n",
        HEAD,                     /* no sample */
        "tick 0.01 t0\n",         /* no main process */
        "main 0\ntick 0.01 t0\n", /* which is not one */
        "main x\ntick 0.01 t0\n",
        "main 4294967296\ntick 0.01 t0\n",
        "start\n" HEAD "tick 0.01 t0\n",
        "nonsense 5\n" HEAD "tick 0.01 t0\n",
        "reaped 10 exit 0\n" HEAD "tick 0.01 t0\n", /* before anything was seen */
        "usage 1 1 1 1 1 1 1\n" HEAD "tick 0.01 t0\n",
        HEAD "tick 0.01\n",
        HEAD "tick t0\n",
        HEAD "tick 0.01 no-such-sample\n",
        HEAD "tick 0.02 t0\ntick 0.01 t0\n", /* time runs forward */
        HEAD "tick 0.01 t0\nreaped\n",
        HEAD "tick 0.01 t0\nreaped 10\n",
        HEAD "tick 0.01 t0\nreaped 10 exit\n",
        HEAD "tick 0.01 t0\nreaped 99999999999 exit 0\n",
        HEAD "tick 0.01 t0\nusage 1 2 3\n",
        HEAD "tick 0.01 t0\nusage 1e99 2 3 4 5 6 7\n",
        HEAD "tick 0.01 t0\nio 1 2 3\n",
        HEAD "tick 0.01 t0\nnonsense\n",
    };
    struct tree tree;
    tree_make(&tree);
    put_process(&tree, "t0", &(struct proc_facts){.pid = 10, .parent = 9}, "");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct toll_error e = {0};
        if (open_script(&tree, bad[i], &e) >= 0)
            fail_msg("accepted: %s", bad[i]);
    }
    tree_unlink(&tree, "script");
    struct toll_tracker *t = make();
    struct toll_error e = {0};
    assert_int_equal(toll_tracker_replay(t, tree.path, &e), -ENOENT);
    assert_non_null(strstr(e.message, "script"));
    toll_tracker_free(t);
    tree_remove(&tree);
}

/* Strange, but nothing to break over. */
static void test_replay_odd_scripts(void **state)
{
    static const char *const odd[] = {
        HEAD "tick 0 t0\n",
        HEAD "tick 0.01 t0\nreaped 10 signal 9\nreaped 10 exit 0\ntick 0.02 t0\n", /* twice */
        HEAD "tick 0.01 t0\nreaped 77 exit 0\ntick 0.02 t0\n",                     /* nobody */
        HEAD "tick 0.01 t0\nreaped 0 exit 0\ntick 0.02 t0\n",
        HEAD "tick 0.01 t0\nusage 0 0 0 0 0 0 0\nio 0 0 0 0 0 0 0\ntick 0.01 t0\n",
        HEAD "tick 0.01 empty\ntick 0.02 empty\n", /* it was gone before it was seen */
        HEAD "tick 0.01 t0",                       /* no newline at the end */
    };
    struct tree tree;
    tree_make(&tree);
    put_process(&tree, "t0", &(struct proc_facts){.pid = 10, .parent = 9}, "0 10 11 10 ");
    tree_write(&tree, "empty/proc/version", "");
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        struct toll_error e = {0};
        (void)open_script(&tree, odd[i], &e);
    }
    tree_remove(&tree);
}

#define LIMITS(cpu)                                                                                \
    "Limit                     Soft Limit           Hard Limit           Units     \n"             \
    "Max cpu time              " cpu "                   " cpu "                   seconds   \n"

/* The number of a command that was reaped goes to somebody else, in another cgroup and with other
 * limits: these are not the command's. */
static void test_replay_limits_of_a_stranger(void **state)
{
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "script",
               HEAD "tick 0.010 t0\nreaped 10 exit 0\nusage 0.5 0.25 9 2 3 4 2048\n"
                    "tick 2.000 t1\n");
    const struct proc_facts ours = {.pid = 10, .parent = 9}, theirs = {.pid = 10, .parent = 1};
    put_process(&tree, "t0", &ours, "");
    tree_write(&tree, "t0/proc/10/cgroup", "0::/ours\n");
    tree_write(&tree, "t0/proc/10/limits", LIMITS("50"));
    put_process(&tree, "t1", &theirs, "");
    tree_write(&tree, "t1/proc/10/cgroup", "0::/theirs\n");
    tree_write(&tree, "t1/proc/10/limits", LIMITS("60"));
    struct toll_tracker *t = make();
    assert_int_equal(toll_tracker_replay(t, tree.path, NULL), 0);
    while (toll_tracker_step(t) > 0)
        ;
    toll_tracker_finish(t, NULL);
    assert_int_equal(t->summary.whole.limits.of[LIMIT_CPU_SECONDS].value, 50);
    toll_tracker_free(t);
    tree_remove(&tree);
}

/* The command is killed while the counter of its cgroup grows. */
static bool is_called_oom(const char *left_in_cgroup)
{
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "script",
               HEAD "tick 0.010 t0\nreaped 10 signal 9\nusage 0.5 0.25 9 2 3 4 2048\n"
                    "tick 2.000 t1\n");
    const struct proc_facts toll = {.pid = 9, .parent = 8}, shell = {.pid = 8, .parent = 1};
    const struct proc_facts main = {.pid = 10, .parent = 9}, other = {.pid = 77, .parent = 1};
    static const char *const samples[] = {"t0", "t1"};
    for (unsigned i = 0; i < 2; i++) {
        char path[64];
        put_process(&tree, samples[i], &toll, i ? "" : "10 ");
        put_process(&tree, samples[i], &shell, "9 ");
        put_process(&tree, samples[i], i ? &other : &main, "");
        for (unsigned pid = 0; pid < 2; pid++) {
            snprintf(path, sizeof path, "%s/proc/%s/mountinfo", samples[i], pid ? "10" : "self");
            tree_write(&tree, path,
                       "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
        }
        snprintf(path, sizeof path, "%s/proc/self/cgroup", samples[i]);
        tree_write(&tree, path, "0::/pod\n");
        snprintf(path, sizeof path, "%s/sys/fs/cgroup/pod/memory.events", samples[i]);
        tree_write(&tree, path, i ? "oom 1\noom_kill 1\n" : "oom 0\noom_kill 0\n");
        snprintf(path, sizeof path, "%s/sys/fs/cgroup/pod/cgroup.procs", samples[i]);
        tree_write(&tree, path, i ? left_in_cgroup : "8\n9\n10\n");
        snprintf(path, sizeof path, "%s/sys/fs/cgroup/cgroup.controllers", samples[i]);
        tree_write(&tree, path, "memory\n");
    }
    tree_write(&tree, "t0/proc/10/cgroup", "0::/pod\n");
    struct toll_tracker *t = make();
    assert_int_equal(toll_tracker_replay(t, tree.path, NULL), 0);
    while (toll_tracker_step(t) > 0)
        ;
    toll_tracker_finish(t, NULL);
    assert_true(t->summary.whole.end.signaled);
    bool oom = t->summary.whole.end.oom_killed;
    toll_tracker_free(t);
    tree_remove(&tree);
    return oom;
}

/* A recorded machine has no kernel log, like a container. */
static void test_replay_who_ran_out_of_memory(void **state)
{
    assert_true(is_called_oom("8\n9\n"));
    assert_false(is_called_oom("8\n9\n77\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread_by_hand),
        cmocka_unit_test(test_spread_large_and_alike),
        cmocka_unit_test(test_spread_negative),
        cmocka_unit_test(test_spread_names),
        cmocka_unit_test_setup_teardown(test_block_calls_pairs, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_block_calls_words_and_order, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_block_calls_nested, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_block_calls_unended, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_block_calls_covers, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_block_calls_bad, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_row_file_csv, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_row_file_sqlite, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_row_file_quoted_newline, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_row_file_bad, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_point_store_tables, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_point_store_bad_leaves_what_was_there, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_combine_csv, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_combine_sqlite, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_combine_bad_leaves_nothing, scratch_make,
                                        scratch_remove),
        cmocka_unit_test(test_replay_a_life),
        cmocka_unit_test(test_replay_who_ran_out_of_memory),
        cmocka_unit_test(test_replay_limits_of_a_stranger),
        cmocka_unit_test(test_replay_bad_scripts),
        cmocka_unit_test(test_replay_odd_scripts),
    };
    return RUN("layout/gpu_tracker", tests);
}
