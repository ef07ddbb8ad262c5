/* SPDX-License-Identifier: MIT
 * Requests over HTTP by libcurl, which is loaded when somebody asks for it: neither the build nor a
 * machine has to have it. One struct http is used by one thread at a time, and keeps its connection
 * from one request to the next.
 *
 * The usual variables of proxies are honoured. Redirections are not followed. Names are looked up
 * in the calling thread. Nothing here handles or sends signals, and no sentence has a password.
 *
 * An answer that does not end is cut after a megabyte, and its connection closed. */
#pragma once

#include "base/text/buf.h"
#include "toll.h"

/* Strings are copied. Zero is the default of every field. */
struct http_settings {
    const char *user, *password; /* Basic, instead of those in the URL */
    const char *token;           /* Bearer, when there is no user */
    const char *ca_file;         /* certificates to trust; NULL: those of the machine */
    bool any_certificate;        /* trust whoever answers */
    const char *cert_file;       /* certificate of the client, PEM; NULL: none */
    const char *key_file;        /* … and its key, PEM; NULL: in the same file */
    const char *headers;         /* "Name: value" lines, for every request */
    uint64_t timeout_ns;         /* of a whole request; 0: 10 s */
};

struct http;

struct http_request {
    const char *method; /* NULL: POST with a body, GET without */
    const char *url;
    const char *const *headers; /* "Name: value", NULL behind the last; or NULL */
    const char *body;
    size_t length;
    uint64_t timeout_ns;        /* 0: that of the settings */
    bool (*is_over)(void *arg); /* asked some ten times a second: give up at once; or NULL */
    void *is_over_arg;
};

enum { HTTP_BODY_BYTES = 64 * 1024 };

struct http_response {
    int status;       /* 200, … */
    const char *body; /* its first HTTP_BODY_BYTES, borrowed until the next request */
    size_t length;
    uint64_t retry_after_ns; /* what the server asked for, 0: nothing */
    char why[200];           /* when there is no response: a sentence */
};

/* Checks that libcurl is there. -EOPNOTSUPP and a sentence when it is not. */
int http_open(struct http **ret, const struct http_settings *settings, struct toll_error *e);
void http_close(struct http *h); /* accepts NULL */

/* 0: there is a response, whatever it says. -ETIMEDOUT, -ECANCELED (is_over), -ECONNREFUSED,
 * -EHOSTUNREACH (the name means nothing), -EPROTO (no HTTP or TLS that we understand), -EIO,
 * -EINVAL (that is no URL), -ENOMEM: there is none, ret->why tells more. */
int http_send(struct http *h, const struct http_request *request, struct http_response *ret);

/* Whether such a status is worth another attempt: 408, 429 and 5xx but 501. */
bool http_is_worth_a_retry(int status);

/* "answered 400: the first line of what it said", printable, and cut to fit. */
void http_describe(const struct http_response *response, char *ret, size_t capacity);
