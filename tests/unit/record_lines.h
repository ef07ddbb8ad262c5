/* SPDX-License-Identifier: MIT
 * A record of a few lines for the tests of those who read them. Its strings stand in ' for the sake
 * of C. */
#pragma once

#include "record/reader.h"
#include "unit.h"

#include <stdio.h>
#include <sys/mman.h>

#define RUN_LINE "{'type':'run','schema':'toll.record/1','name':'job','cpus':2}\n"

struct record {
    int fd;
    struct record_reader *reader;
    struct record_item item; /* the last one */
};

static inline void record_begin(struct record *r, const char *lines)
{
    char *text = strdup(lines);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    r->fd = memfd_create("record", MFD_CLOEXEC);
    assert_true(r->fd >= 0);
    assert_int_equal(write(r->fd, text, strlen(text)), strlen(text));
    assert_int_equal(lseek(r->fd, 0, SEEK_SET), 0);
    assert_int_equal(record_reader_new(&r->reader, r->fd, "test", NULL), 0);
    free(text);
}

/* The next item has to be of that kind. */
static inline const struct record_item *record_next(struct record *r, enum record_item_kind kind)
{
    struct toll_error e = {0};
    int n = record_reader_next(r->reader, &r->item, &e);
    assert_string_equal(e.message, "");
    assert_int_equal(n, 1);
    assert_int_equal(r->item.kind, kind);
    return &r->item;
}

static inline void record_end(struct record *r)
{
    record_reader_free(r->reader);
    close(r->fd);
}

/* A line behind that of the run is refused, by its number. */
static inline void record_refuses(const char *line)
{
    struct record r;
    struct toll_error e = {0};
    char lines[4096];
    int n;
    snprintf(lines, sizeof lines, RUN_LINE "%s\n" RUN_LINE, line);
    record_begin(&r, lines);
    while ((n = record_reader_next(r.reader, &r.item, &e)) > 0)
        ;
    assert_int_equal(n, -EBADMSG);
    assert_non_null(strstr(e.message, ": line 2: "));
    record_end(&r);
}
