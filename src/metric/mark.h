/* SPDX-License-Identifier: MIT
 * A mark as it is sent over the socket: words separated by single blanks. Blanks, percent signs and
 * control characters inside a word are written as %XX.
 *
 *   phase begin NAME [KEY=VALUE…]
 *   phase end NAME
 *   event NAME [KEY=VALUE…]
 *   gauge NAME VALUE
 *
 * Words that begin with @ are about the mark itself: @pid=123 is the process it belongs to,
 * @time=NS its time on the monotonic clock, @lost=N how many could not be sent before it. Other
 * names are for later versions. */
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
    pid_t sender;           /* set by the receiver; 0: unknown */
    uint64_t time_ns;       /* 0: unknown */
    uint64_t lost;          /* before this one */
    struct scan attributes; /* a window on the text, for mark_text_attribute */
};

/* 0, or -EBADMSG. The text may end with a newline. */
int parse_mark_text(struct scan text, struct mark_text *ret);

/* The next KEY=VALUE, decoded and terminated; *ret_value points to the value in it. Of several with
 * the same key only the last is returned. False when none is left; what does not fit is cut. */
bool mark_text_attribute(struct scan *attributes, char *ret, size_t capacity,
                         const char **ret_value);

/* 1 to 128 bytes of UTF-8 without control characters. */
bool mark_text_is_name(const char *name);

/* Whether it is KEY=VALUE with a key that is not empty. */
bool mark_text_is_attribute(const char *text);

/* Write the words of a mark, in this order. */
void mark_text_begin(struct buf *b, enum mark_kind kind, const char *name);
void mark_text_add(struct buf *b, const char *attribute);
void mark_text_add_value(struct buf *b, double value);
void mark_text_add_number(struct buf *b, const char *key, uint64_t number); /* @KEY=NUMBER */
