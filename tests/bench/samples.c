/* SPDX-License-Identifier: MIT
 * Writes the same samples in three ways and tells what each took: as rows of a SQLite file, as
 * lines of a record, and with a bare loop of inserts into one plain table, which is the floor.
 *
 *   samples COUNT DIRECTORY
 *   → sqlite WALL_NS CPU_NS   jsonl …   floor …, a line each
 *
 *   samples COUNT -
 *   → the lines of the record
 */
#include "base/clock.h"
#include "base/io/sqlite.h"
#include "record/sqlite/sqlite.h"
#include "sink/sink.h"

#include <stdio.h>
#include <time.h>

static const char metrics[] = "wall_seconds,cpu_seconds,cpu_cores,memory_rss_bytes,"
                              "storage_read_bytes,storage_written_bytes,threads,processes";
static const enum metric_id written[] = {
    process_wall_seconds,          process_cpu_seconds,   process_memory_rss_bytes,
    process_storage_read_bytes,    process_threads_count, process_processes_count,
    process_storage_written_bytes,
};

enum { BATCH = 1000 };

static struct {
    struct run run;
    struct selection selection;
    struct entity entity;
    struct row parts[PARTS], self;
    struct frame frame;
} job;

static void fail(const char *what, const struct toll_error *e)
{
    fprintf(stderr, "samples: %s: %s\n", what, e->message);
    exit(1);
}

static void make_job(void)
{
    struct toll_error e = {0};
    char *command[] = {strdupa("job"), NULL};
    if (selection_parse(&job.selection, metrics, &e) < 0 || run_set_command(&job.run, command) < 0)
        fail("setting up", &e);
    job.run.name = strdup("job");
    job.run.start_real_ns = UINT64_C(1731000000123456789);
    for (unsigned part = 0; part < PARTS; part++) {
        row_init(&job.parts[part], ENTITY_PROCESS);
        job.frame.target[part] = (struct frame_row){&job.entity, &job.parts[part]};
    }
    row_init(&job.self, ENTITY_SELF);
    job.frame.self = (struct frame_row){&job.entity, &job.self};
}

/* A job that computes and grows, ten times a second. */
static void make_sample(uint64_t i)
{
    job.frame.tick = i;
    job.frame.interval_ns = 100000000 + i * 7919 % 1000;
    job.frame.elapsed_ns = i * 100000000 + i % 1000;
    job.frame.real_ns = job.run.start_real_ns + job.frame.elapsed_ns;
    for (unsigned part = 0; part < PARTS; part++) {
        struct row *r = &job.parts[part];
        for (size_t m = 0; m < ARRAY_LEN(written); m++)
            row_put_u64(r, written[m], i * (m * m * 4099 + 1) + i * 31 % 997 + part);
        row_put_double(r, process_cpu_cores, (double)(i % 4000) / 1000 + 0.123456);
        row_put_u64(r, process_threads_count, 1 + i % 7);
        row_put_u64(r, process_processes_count, 1 + i % 3);
    }
    for (unsigned m = 0; m < SELF_METRICS; m++)
        if (!metric_is_double(metric_of(self_first + m)))
            row_put_u64(&job.self, self_first + m, i * 65537);
}

static void tell(const char *what, uint64_t wall, uint64_t cpu)
{
    printf("%s %llu %llu\n", what, (unsigned long long)(clock_mono(NULL) - wall),
           (unsigned long long)(clock_own_cpu() - cpu));
}

static void write_sqlite(uint64_t count, const char *directory)
{
    struct toll_error e = {0};
    struct sqlite_file *f;
    struct sqlite_rows rows = {0};
    struct buf text = {0};
    bool is_new;
    char path[512];
    snprintf(path, sizeof path, "%s/x.sqlite", directory);
    if (sqlite_file_prepare(path, &is_new, &e) < 0)
        fail("making a file", &e);
    uint64_t wall = clock_mono(NULL), cpu = clock_own_cpu();
    if (sqlite_file_open(&f, path, false, &e) < 0)
        fail("opening a file", &e);
    sqlite_rows_run(&text, &job.run, &job.selection);
    for (uint64_t i = 0; i < count; i++) {
        make_sample(i);
        sqlite_rows_frame(&text, &rows, &job.frame, &job.run, &job.selection);
        if (i % BATCH && i + 1 < count)
            continue;
        struct chunk p[] = {{.data = text.data, .length = text.length},
                            {.data = rows.entities.met.data, .length = rows.entities.met.length}};
        if (sqlite_file_write(f, &(struct batch){.chunks = p, .count = 2}, &e) < 0)
            fail("writing", &e);
        buf_clear(&text);
        buf_clear(&rows.entities.met);
    }
    sqlite_file_close(f);
    tell("sqlite", wall, cpu);
    buf_done(&text);
    sqlite_entities_done(&rows.entities);
}

static void write_jsonl(uint64_t count, const char *directory)
{
    struct toll_error e = {0};
    struct sink *sink;
    char path[512];
    snprintf(path, sizeof path, "%s/x.jsonl", directory);
    struct toll_output out = {.size = sizeof out, .destination = path};
    uint64_t wall = clock_mono(NULL), cpu = clock_own_cpu();
    if (sink_open(&sink, &out, &job.selection, &e) < 0)
        fail("opening a record", &e);
    sink_begin(sink, &job.run);
    for (uint64_t i = 0; i < count; i++) {
        make_sample(i);
        if (sink_frame(sink, &job.frame) < 0)
            fail("writing a record", &e);
    }
    sink_close(sink, false);
    tell("jsonl", wall, cpu);
}

/* The record on stdout, as fast as it is read: a sink would drop what a pipe has no room for. */
static void print_jsonl(uint64_t count)
{
    struct toll_error e = {0};
    struct sink *sink;
    struct toll_output out = {.size = sizeof out, .fd = STDERR_FILENO, .format = "jsonl"};
    if (sink_open(&sink, &out, &job.selection, &e) < 0)
        fail("opening a record", &e);
    sink->run = &job.run;
    sink->kind->begin(sink, &job.run);
    for (uint64_t i = 0; i < count; i++) {
        make_sample(i);
        sink->kind->frame(sink, &job.frame);
        if (buf_failed(&sink->text) ||
            fwrite(sink->text.data, 1, sink->text.length, stdout) != sink->text.length)
            fail("writing a record", &e);
        buf_clear(&sink->text);
    }
    sink_close(sink, false);
}

/* The values of one part of a target for every row, as many rows as the file above has. */
static void write_floor(uint64_t count, const char *directory)
{
    struct toll_error e = {0};
    struct sqlite *db;
    struct sqlite_statement *st;
    char path[512];
    snprintf(path, sizeof path, "%s/floor.sqlite", directory);
    uint64_t wall = clock_mono(NULL), cpu = clock_own_cpu();
    if (sqlite_open(&db, path, SQLITE_MODE_WRITE, 0, &e) < 0 ||
        sqlite_run(db,
                   "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE t (a, "
                   "b, c, d, e, f, g, h); BEGIN",
                   &e) < 0 ||
        sqlite_prepare(&st, db, "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", &e) < 0)
        fail("the floor", &e);
    for (uint64_t i = 0; i < count; i++) {
        make_sample(i);
        for (unsigned part = 0; part <= PARTS + 1; part++) { /* parts, toll, the sample itself */
            for (size_t m = 0; m < ARRAY_LEN(written); m++)
                sqlite_bind_i64(st, (int)m + 1,
                                (int64_t)row_u64(&job.parts[part % PARTS], written[m]));
            sqlite_bind_double(st, 8, row_value(&job.parts[0], process_cpu_cores).d);
            if (sqlite_step(st, &e) < 0)
                fail("the floor", &e);
        }
        if (i % BATCH == 0 && sqlite_run(db, "COMMIT; BEGIN", &e) < 0)
            fail("the floor", &e);
    }
    sqlite_run(db, "COMMIT", &e);
    sqlite_end(st);
    sqlite_close(db);
    tell("floor", wall, cpu);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    uint64_t count = strtoull(argv[1], NULL, 10);
    make_job();
    if (strcmp(argv[2], "-") == 0) {
        print_jsonl(count);
        return 0;
    }
    write_sqlite(count, argv[2]);
    write_jsonl(count, argv[2]);
    write_floor(count, argv[2]);
}
