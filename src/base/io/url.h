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
    struct scan query; /* behind ?, or empty */
    bool is_secure;    /* https */
};

/* False when it is none: no http:// or https://, no host, a port that is none, or letters that
 * cannot stand in a URL. */
bool url_split(const char *text, struct url *ret);

/* 80, 443, or the one it has. */
unsigned url_port(const struct url *u);

/* Adds text as a part of a URL: what is neither a letter of ASCII, a digit, one of -._~ nor one of
 * kept is written %XX. */
void url_encode(struct buf *b, const char *text, size_t length, const char *kept);

/* Adds text in which %XX is a byte. False, with what was added so far, when a % stands for none. */
bool url_decode(struct buf *b, const char *text, size_t length);

/* As it may be said and recorded: neither user nor password, nor what stands behind ?. */
void url_show(struct buf *b, const char *text);
