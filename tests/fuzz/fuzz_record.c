/* SPDX-License-Identifier: MIT
 * A record of anything: what is read of it can be handed to every sink. What they make of it is of
 * their format, and what the sink of records writes is read again as the same. */
#include "base/text/json.h"
#include "base/text/scan.h"
#include "mutate.h"
#include "record/reader.h"
#include "sink/sink.h"

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

/* Kinds that open a place of their own only encode here: nothing is sent, nor written. Opening one
 * takes its time: that is for some of the inputs. */
static const char *const places[] = {
    "prometheus:http://127.0.0.1:9/write,spool=none",
    "otlp:http://127.0.0.1:9,spool=none",
    "pushgateway:http://127.0.0.1:9",
    "mlflow:http://127.0.0.1:9,spool=none",
    "openmetrics:/dev/null",
};
static const struct {
    const char *format, *layout;
} formats[] = {
    {"csv", NULL},   {"jsonl", NULL},        {"json", NULL},          {"text", NULL},
    {"lines", NULL}, {"csv", "gpu-tracker"}, {"json", "gpu-tracker"}, {"csv", "resource-tracker"},
    {"html", NULL},  {"markdown", NULL},     {"svg", NULL},
};

enum { SINKS = ARRAY_LEN(formats) + ARRAY_LEN(places), OTHERS_EVERY = 8 };

struct outputs {
    struct sink *sinks[SINKS];
    size_t columns; /* of the table in CSV */
    struct buf record;
    bool with_others;
};

static bool is_json(const struct buf *text)
{
    struct json_in j = {0};
    json_in_begin(&j, text->data, text->length);
    json_in_skip(&j);
    bool good = json_in_end(&j);
    json_in_done(&j);
    return good;
}

static void check_row(struct outputs *o, struct buf *text, bool is_heading)
{
    struct csv_record row = {0};
    CHECK(text->length && text->data[text->length - 1] == '\n');
    int r = parse_csv_record(scan_text(text->data, text->length - 1), &row);
    CHECK(r == 0 || r == -E2BIG);
    if (is_heading)
        o->columns = r == 0 ? row.count : 0;
    else if (o->columns)
        CHECK(r == 0 && row.count == o->columns);
    csv_record_done(&row);
}

/* A report is whole, and has neither control characters nor numbers that are none. */
static void check_report(const struct sink *s)
{
    static const char *const ends[][2] = {
        {"<!DOCTYPE html>", "</html>\n"}, {"### ", "\n"}, {"<svg ", "</svg>\n"}};
    unsigned form = s->kind == &sink_html ? 0 : s->kind == &sink_markdown ? 1 : 2;
    const char *begin = ends[form][0], *end = ends[form][1];
    const struct buf *b = &s->text;
    size_t open = 0, closed = 0;
    CHECK(b->length >= strlen(begin) + strlen(end));
    CHECK(memcmp(b->data, begin, strlen(begin)) == 0);
    CHECK(memcmp(b->data + b->length - strlen(end), end, strlen(end)) == 0);
    for (size_t i = 0; i < b->length; i++) {
        CHECK((unsigned char)b->data[i] >= ' ' || b->data[i] == '\n' || b->data[i] == '\t');
        open += b->data[i] == '<';
        closed += b->data[i] == '>';
    }
    CHECK(form != 2 || open == closed);
    CHECK(form != 1 || open == 0); /* Markdown has no markup of HTML */
    CHECK(form != 2 ||
          (!memmem(b->data, b->length, "=\"nan", 5) && !memmem(b->data, b->length, "=\"inf", 5)));
}

/* What one item became; it is dropped then. */
static void check_chunk(struct outputs *o, struct sink *s, bool is_heading)
{
    CHECK(!buf_failed(&s->text));
    if (s->text.length && s->kind == &sink_csv)
        check_row(o, &s->text, is_heading);
    if (s->text.length &&
        (s->kind == &sink_html || s->kind == &sink_markdown || s->kind == &sink_svg))
        check_report(s);
    if (s->text.length && s->kind == &sink_json)
        CHECK(is_json(&s->text));
    if (s->text.length && s->kind == &sink_jsonl) {
        CHECK(is_json(&s->text));
        buf_add(&o->record, s->text.data, s->text.length);
    }
    buf_clear(&s->text);
}

static void open_sinks(struct outputs *o, const struct record_item *item,
                       const struct selection *selection)
{
    for (size_t i = 0; i < SINKS; i++) {
        bool is_place = i >= ARRAY_LEN(formats);
        struct toll_output to = {.size = sizeof to, .fd = STDERR_FILENO};
        sink_close(o->sinks[i], false);
        o->sinks[i] = NULL;
        if (is_place && !o->with_others)
            continue;
        if (is_place) {
            to.destination = places[i - ARRAY_LEN(formats)];
        } else {
            to.format = formats[i].format;
            to.layout = formats[i].layout;
        }
        struct toll_error e = {0};
        if (sink_open(&o->sinks[i], &to, selection, &e) < 0) {
            o->sinks[i] = NULL;
            CHECK(is_place); /* without libcurl */
            continue;
        }
        bool has_target = item->run->command || item->run->target_count || item->run->pid;
        if (sink_check_subject(o->sinks[i], has_target, NULL) < 0) {
            sink_close(o->sinks[i], false);
            o->sinks[i] = NULL;
        }
    }
}

/* As sink.c does, but that what was made is looked at instead of being written. */
static void hand(struct outputs *o, struct sink *s, const struct record_item *item)
{
    const struct sink_kind *k = s->kind;
    s->run = item->run;
    if (item->kind == RECORD_RUN && k->begin)
        k->begin(s, item->run);
    if (item->kind == RECORD_FRAME && k->frame) {
        if (k->heading && !s->has_heading) {
            k->heading(s, item->frame);
            s->has_heading = true;
            check_chunk(o, s, true);
        }
        k->frame(s, item->frame);
    }
    if (item->kind == RECORD_PROCESS_END && k->process_end)
        k->process_end(s, item->process_end);
    if (item->kind == RECORD_MARK && k->mark)
        k->mark(s, item->mark);
    if (item->kind == RECORD_NOTE && k->note)
        k->note(s, item->elapsed_ns, item->sentence);
    if (item->kind == RECORD_SUMMARY && k->summary)
        k->summary(s, item->summary);
    check_chunk(o, s, false);
}

static int read_record(int in, struct outputs *o)
{
    struct record_reader *r;
    struct record_item item;
    int n;
    CHECK(record_reader_new(&r, in, "fuzz", NULL) == 0);
    while ((n = record_reader_next(r, &item, NULL)) > 0) {
        if (item.kind == RECORD_RUN)
            open_sinks(o, &item, record_reader_selection(r));
        for (size_t i = 0; i < SINKS; i++) {
            if (!o->sinks[i])
                continue;
            o->sinks[i]->selection = *record_reader_selection(r);
            hand(o, o->sinks[i], &item);
        }
    }
    for (size_t i = 0; i < SINKS; i++) {
        sink_close(o->sinks[i], false);
        o->sinks[i] = NULL;
    }
    record_reader_free(r);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++)
        sum += data[i];
    struct outputs once = {.with_others = sum % OTHERS_EVERY == 0}, again = {0};
    int in = file_with(data, size);
    int n = read_record(in, &once);
    CHECK(n == 0 || n == -EBADMSG);
    close(in);
    if (n == 0) {
        in = file_with(once.record.data ? once.record.data : "", once.record.length);
        CHECK(read_record(in, &again) == 0);
        close(in);
    }
    buf_done(&once.record);
    buf_done(&again.record);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return mutate_json_lines(data, size, max, seed);
}
