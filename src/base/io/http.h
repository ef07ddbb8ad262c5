/* SPDX-License-Identifier: MIT
 * HTTP requests by libcurl, which is loaded at first use: neither the build nor a machine needs it.
 * A struct http is used by one thread at a time, and keeps its connection between requests.
 *
 * The usual proxy variables are honoured. Redirections are not followed. Names are looked up in the
 * calling thread. No signals are handled or sent, and no sentence contains a password. A response
 * of more than a megabyte is cut, and its connection closed. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"
#include "toll.h"

/* ==== URL ===================================================================================== */

/* URLs of http and https: their parts, and how they may be shown. */

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

/* ==== Request ================================================================================= */

/* Strings are copied. Zero is the default of every field. */
struct http_settings {
    const char *user, *password; /* Basic, instead of those in the URL */
    const char *token;           /* Bearer, when there is no user */
    const char *ca_file;         /* certificates to trust; NULL: those of the machine */
    bool any_certificate;        /* do not verify the server */
    const char *cert_file;       /* certificate of the client, PEM; NULL: none */
    const char *key_file;        /* key of the client, PEM; NULL: in cert_file */
    const char *headers;         /* "Name: value" lines, for every request */
    uint64_t timeout_ns;         /* of a whole request; 0: 10 s */
};

struct http;

struct http_request {
    const char *method; /* NULL: POST with a body, GET without */
    const char *url;
    const char *const *headers; /* "Name: value", NULL-terminated; or NULL */
    const char *body;
    size_t length;
    uint64_t timeout_ns;        /* 0: that of the settings */
    bool (*is_over)(void *arg); /* called ten times a second; true ends the request. Or NULL */
    void *is_over_arg;
};

enum { HTTP_BODY_BYTES = 64 * 1024 };

struct http_response {
    int status;       /* 200, … */
    const char *body; /* its first HTTP_BODY_BYTES, borrowed until the next request */
    size_t length;
    uint64_t retry_after_ns; /* Retry-After of the server, 0: none */
    char why[200];           /* a sentence when there is no response */
};

/* -EOPNOTSUPP and a sentence when libcurl is missing. */
int http_open(struct http **ret, const struct http_settings *settings, struct toll_error *e);
void http_close(struct http *h); /* accepts NULL */

/* 0: there is a response, of any status. Otherwise ret->why has the reason: -ETIMEDOUT, -ECANCELED
 * (is_over), -ECONNREFUSED, -EHOSTUNREACH (unknown host), -EPROTO (invalid HTTP or TLS), -EIO,
 * -EINVAL (not a URL), -ENOMEM. */
int http_send(struct http *h, const struct http_request *request, struct http_response *ret);

/* Whether a status deserves another attempt: 408, 429 and 5xx except 501. */
bool http_is_worth_a_retry(int status);

/* "it answered 400: first line of the body", printable, cut to fit. */
void http_describe(const struct http_response *response, char *ret, size_t capacity);

/* Masks passwords, tokens and values of headers in a sentence that quotes the server, which may
 * quote what it was sent: those of the settings, and of the URL of a destination. */
void http_mask_credentials(const struct http *h, const char *url, char *sentence);
