/* SPDX-License-Identifier: MIT
 * A SQLite file that toll made and that was changed by anybody (sqlite_change.h has the form of the
 * input). Reading it ends, with a sentence or with items that sinks can be handed. */
#include "record/reader.h"
#include "sink/sink.h"
#include "sqlite_change.h"

/* ---- The file -------------------------------------------------------------------------------- */

static const char record[] =
    "{\"type\":\"run\",\"schema\":\"toll.record/1\",\"name\":\"job\",\"command\":[\"job\"],"
    "\"labels\":{\"a\":\"b\"},\"host\":\"box\",\"kernel\":\"4.13\",\"cpus\":4,\"pid\":1000,"
    "\"start\":\"2024-11-07T17:20:00.000Z\",\"attached_to\":[{\"name\":\"x\",\"what\":\"x\"},"
    "{\"name\":\"y\",\"what\":\"y\"}]}\n"
    "{\"type\":\"sample\",\"tick\":0,\"time\":\"2024-11-07T17:20:00.100Z\",\"elapsed_seconds\":0.1,"
    "\"interval_seconds\":0.1,\"target\":{\"combined\":{\"cpu_seconds\":0,\"threads\":1}},"
    "\"targets\":[{\"name\":\"x\",\"combined\":{\"cpu_seconds\":0,\"threads\":1}},"
    "{\"name\":\"y\",\"combined\":{\"cpu_seconds\":0,\"threads\":1}}],"
    "\"system\":{\"cpu_cores\":0.5},\"disks\":[{\"name\":\"vda\",\"class\":\"disk\","
    "\"read_bytes\":5}],\"self\":{\"ticks\":1},"
    "\"processes\":[{\"pid\":1000,\"parent\":999,\"start_ticks\":5,\"name\":\"job\","
    "\"targets\":[\"x\"],\"cpu_seconds\":0}]}\n"
    "{\"type\":\"event\",\"elapsed_seconds\":0.1,\"name\":\"e\",\"pid\":1000,"
    "\"attributes\":{\"k\":\"v\"}}\n"
    "{\"type\":\"gauge\",\"elapsed_seconds\":0.1,\"name\":\"loss\",\"pid\":1000,\"value\":2.5}\n"
    "{\"type\":\"phase\",\"elapsed_seconds\":0.15,\"name\":\"p\",\"pid\":1000,\"attributes\":{},"
    "\"begin_seconds\":0.1,\"end_seconds\":0.15,\"ended\":true,\"of\":\"target\",\"looks\":2,"
    "\"figures\":{\"cpu_seconds\":{\"total\":1,\"quality\":\"exact\"}}}\n"
    "{\"type\":\"event\",\"elapsed_seconds\":0.16,\"name\":\"note\",\"text\":\"a note\"}\n"
    "{\"type\":\"process\",\"elapsed_seconds\":0.2,\"left\":\"reaped by toll\",\"end\":{\"status\":"
    "\"exited\",\"code\":0,\"signal\":null,\"core_dumped\":false,\"oom_killed\":false,"
    "\"timed_out\":false},\"pid\":1000,\"parent\":999,\"start_ticks\":5,\"name\":\"job\","
    "\"targets\":[\"x\"],\"cpu_seconds\":0.1}\n"
    "{\"type\":\"sample\",\"tick\":1,\"time\":\"2024-11-07T17:20:00.200Z\",\"elapsed_seconds\":0.2,"
    "\"interval_seconds\":0.1,\"last\":true,\"target\":{\"combined\":{\"cpu_seconds\":0.1,"
    "\"threads\":1}},\"targets\":[{\"name\":\"x\",\"combined\":{\"cpu_seconds\":0.1,\"threads\":1}}"
    ",{\"name\":\"y\",\"combined\":{\"cpu_seconds\":0,\"threads\":1}}],"
    "\"system\":{\"cpu_cores\":0.5},\"disks\":[{\"name\":\"vda\",\"class\":\"disk\","
    "\"read_bytes\":7}],\"self\":{\"ticks\":2}}\n"
    "{\"type\":\"summary\",\"wall_seconds\":0.2,\"end\":{\"status\":\"exited\",\"code\":0},"
    "\"target\":{\"combined\":{\"cpu_seconds\":{\"total\":0.1,\"quality\":\"exact\",\"from\":"
    "\"wait4\"}}},\"targets\":[{\"name\":\"x\"},{\"name\":\"y\"}],\"self\":{\"ticks\":{\"total\":2}"
    "}"
    "}\n";

/* The bytes of the file, made once. */
static const char *original(size_t *ret_size)
{
    static char *bytes;
    static size_t size;
    if (!bytes) {
        char jsonl[128], sqlite[128];
        snprintf(jsonl, sizeof jsonl, "%s", scratch_path("record.jsonl"));
        snprintf(sqlite, sizeof sqlite, "%s", scratch_path("made.sqlite"));
        scratch_write(jsonl, record, strlen(record));
        const struct toll_output output = {.size = sizeof output, .destination = sqlite};
        const struct toll_output *const outputs[] = {&output, NULL};
        struct toll_export x = {.size = sizeof x, .record = jsonl, .outputs = outputs};
        struct toll_error e = {0};
        int r = toll_record_export(&x, &e);
        if (r < 0)
            fprintf(stderr, "%s\n", e.message);
        CHECK(r == 0);
        sqlite3 *db;
        CHECK(sqlite3_open(sqlite, &db) == SQLITE_OK);
        /* Without views and strict types, which would make most changes fail. */
        sqlite3_exec(db,
                     "PRAGMA journal_mode = DELETE; PRAGMA writable_schema = ON;"
                     "DELETE FROM sqlite_master WHERE type = 'view';"
                     "UPDATE sqlite_master SET sql = replace(replace(sql, ', STRICT', ''),"
                     " 'STRICT', '') WHERE type = 'table';",
                     NULL, NULL, NULL);
        sqlite3_close(db);
        int fd = open(sqlite, O_RDONLY | O_CLOEXEC);
        size = (size_t)lseek(fd, 0, SEEK_END);
        bytes = malloc(size);
        CHECK(bytes && size > 0 && pread(fd, bytes, size, 0) == (ssize_t)size);
        close(fd);
    }
    *ret_size = size;
    return bytes;
}

/* ---- Reading it ------------------------------------------------------------------------------ */

static void hand(struct sink *s, const struct record_item *item)
{
    switch (item->kind) {
    case RECORD_RUN: sink_begin(s, item->run); break;
    case RECORD_FRAME: sink_frame(s, item->frame); break;
    case RECORD_PROCESS_END: sink_process_end(s, item->process_end); break;
    case RECORD_MARK: sink_mark(s, item->mark); break;
    case RECORD_NOTE: sink_note(s, item->elapsed_ns, item->sentence); break;
    case RECORD_SUMMARY: sink_summary(s, item->summary); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"csv", "jsonl", "json", "text", "lines"};
    size_t length;
    const char *bytes = original(&length);
    const char *path = scratch_path("fuzz.sqlite");
    scratch_write(path, bytes, length);
    sqlite_change(path, data, size);

    struct record_reader *r;
    struct record_item item;
    struct toll_error e = {0};
    struct sink *sinks[ARRAY_LEN(formats)] = {0};
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int n = record_reader_open(&r, path, &e);
    if (n == 0) {
        while ((n = record_reader_next(r, &item, &e)) > 0)
            for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
                struct toll_output to = {.size = sizeof to, .fd = nowhere, .format = formats[i]};
                if (item.kind == RECORD_RUN) {
                    sink_close(sinks[i], false);
                    CHECK(sink_open(&sinks[i], &to, record_reader_selection(r), NULL) == 0);
                }
                sinks[i]->selection = *record_reader_selection(r);
                hand(sinks[i], &item);
            }
        record_reader_free(r);
    }
    CHECK(n == 0 || *e.message);
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        sink_close(sinks[i], false);
    close(nowhere);
    return 0;
}

/* ---- Changes --------------------------------------------------------------------------------- */

static const char *const tables[] = {
    "runs",           "entities",     "samples",      "processes",       "phases",
    "events",         "gauges",       "notes",        "summary",         "target_samples",
    "system_samples", "disk_samples", "self_samples", "process_samples", NULL,
};
static const char *const columns[] = {
    "run",      "seq",      "tick",      "entity",   "time_ns",    "elapsed_ns", "interval_ns",
    "facts",    "name",     "part",      "labels",   "attributes", "figures",    "value",
    "summary",  "cpu_ns",   "pid",       "targets",  "threads",    "cpu_cores",  "metric",
    "sentence", "how",      "status",    "begin_ns", "end_ns",     "ended",      "whose",
    "looks",    "for_mark", "gpu_count", "ticks",    NULL,
};
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return sqlite_mutate(data, size, max, seed, tables, columns);
}
