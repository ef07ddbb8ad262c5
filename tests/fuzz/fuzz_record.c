/* SPDX-License-Identifier: MIT
 * A record of anything: what is read of it can be handed to every sink, and what the sink of
 * records writes of it can be read again. */
#include "record/record_reader.h"

#include "fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>

static int file_with(const void *data, size_t size)
{
    int fd = memfd_create("record", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(write(fd, data, size) == (ssize_t)size);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

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

enum { SINKS_AT_MOST = 16 };

/* Reads a record into sinks; out is what that of records writes to. */
static int read_record(int in, int out, int others)
{
    struct record_reader *r;
    struct record_item item;
    struct sink *sinks[SINKS_AT_MOST] = {0};
    int n;
    CHECK(record_reader_new(&r, in, "fuzz", NULL) == 0);
    while ((n = record_reader_next(r, &item, NULL)) > 0)
        for (size_t i = 0; sink_kinds[i] && i < SINKS_AT_MOST; i++) {
            const char *format = sink_kinds[i]->format.name;
            if (sink_kinds[i]->open)
                continue; /* not to a descriptor */
            bool is_record = strcmp(format, "jsonl") == 0;
            struct toll_output to = {
                .size = sizeof to, .fd = is_record ? out : others, .format = format};
            if (item.kind == RECORD_RUN) {
                sink_close(sinks[i], false);
                sinks[i] = NULL;
                CHECK(sink_open(&sinks[i], &to, record_reader_selection(r), NULL) == 0);
            }
            sinks[i]->selection = *record_reader_selection(r);
            hand(sinks[i], &item);
        }
    for (size_t i = 0; i < SINKS_AT_MOST; i++)
        sink_close(sinks[i], false);
    record_reader_free(r);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int in = file_with(data, size), out = file_with("", 0), again = file_with("", 0);
    int others = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int n = read_record(in, out, others);
    CHECK(n == 0 || n == -EBADMSG);
    if (n == 0) {
        CHECK(lseek(out, 0, SEEK_SET) == 0);
        CHECK(read_record(out, again, others) == 0);
    }
    close(in);
    close(out);
    close(again);
    close(others);
    return 0;
}
