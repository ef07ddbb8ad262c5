/* SPDX-License-Identifier: MIT
 * URLs of http and https: their parts, and how they may be shown. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"

/* Windows on the text. */
struct url {
    struct scan scheme;
    struct scan user;  /* user[:password], as it is written; empty when there is none */
    struct scan host;  /* without the brackets of IPv6 */
    struct scan port;  /* empty: that of the scheme */
    struct scan path;  /* with its first slash, or empty; without ? and # */
    struct scan query; /* after ?, or empty */
    bool is_secure;    /* https */
};

/* False without http:// or https:// or a host, for an invalid port, and for characters that a URL
 * cannot have. */
bool url_split(const char *text, struct url *ret);

/* 80, 443, or the one it has. */
unsigned url_port(const struct url *u);

/* Adds text as a part of a URL: everything but ASCII letters, digits, -._~ and the characters in
 * `kept` is written %XX. */
void url_encode(struct buf *b, const char *text, size_t length, const char *kept);

/* Adds text in which %XX is a byte. False at an invalid %, with what precedes it added. */
bool url_decode(struct buf *b, const char *text, size_t length);

/* Adds a URL without user, password and query, so that it can be shown and recorded. */
void url_show(struct buf *b, const char *text);
