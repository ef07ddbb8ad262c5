/* SPDX-License-Identifier: MIT
 * A mark as it goes over the socket: words with single blanks between, in a word a blank, a percent
 * sign and control characters as %XX.
 *
 *   phase begin NAME [KEY=VALUE…]
 *   phase end NAME
 *   event NAME [KEY=VALUE…]
 *   gauge NAME VALUE
 *
 * Words that begin with @ are about the mark itself: @pid=123 whose it is, @time=NS when it was
 * said on the monotonic clock, @lost=N how many could not be sent before it. Those with another
 * name are for later versions. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"

#include <sys/types.h>

enum { MARK_NAME_BYTES = 128, MARK_TEXT_BYTES = 4096 };

enum mark_kind { MARK_PHASE_BEGIN, MARK_PHASE_END, MARK_EVENT, MARK_GAUGE, MARK_KINDS };

struct mark_text {
    enum mark_kind kind;
    char name[MARK_NAME_BYTES + 1];
    double value;           /* of a gauge */
    pid_t pid;              /* 0: the sender's */
    pid_t sender;           /* for whoever receives it; 0: not known */
    uint64_t time_ns;       /* 0: not told */
    uint64_t lost;          /* before this one */
    struct scan attributes; /* a window on the text, for mark_text_attribute */
};

/* 0, or -EBADMSG. A newline at the end is taken along. */
int parse_mark_text(struct scan text, struct mark_text *ret);

/* The next KEY=VALUE, as it was before it was written, with a zero behind it; *ret_value is the
 * value in it. A key that comes again later is passed over: the last one holds. False when there is
 * none left; what does not fit is cut. */
bool mark_text_attribute(struct scan *attributes, char *ret, size_t capacity,
                         const char **ret_value);

/* 1 to 128 bytes of UTF-8 without control characters. */
bool mark_text_is_name(const char *name);

/* Whether it is KEY=VALUE with something before the sign. */
bool mark_text_is_attribute(const char *text);

/* The words, in the order in which they are written. */
void mark_text_begin(struct buf *b, enum mark_kind kind, const char *name);
void mark_text_add(struct buf *b, const char *attribute);
void mark_text_add_value(struct buf *b, double value);
void mark_text_add_number(struct buf *b, const char *key, uint64_t number); /* @KEY=NUMBER */
