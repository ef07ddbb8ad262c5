/* SPDX-License-Identifier: MIT
 * What sinks that send over HTTP have in common: their options, and what an answer means. */
#pragma once

#include "base/io/http.h"
#include "base/text/scan.h"
#include "sink/sink.h"

#define SINK_HTTP_OPTIONS                                                                          \
    {{"timeout", "TIME", "10s", "how long one request may take"}, OPTION_DURATION, false},         \
        {{"user", "TEXT", "", "name for basic authentication; or in the URL, user:password@host"}, \
         OPTION_TEXT,                                                                              \
         false},                                                                                   \
        {{"password_file", "FILE", "", "file with the password, on its first line"},               \
         OPTION_TEXT,                                                                              \
         false},                                                                                   \
        {{"token_file", "FILE", "", "file with a bearer token, on its first line"},                \
         OPTION_TEXT,                                                                              \
         false},                                                                                   \
        {{"header", "TEXT", "", "one more header, 'Name: value'; may be repeated"},                \
         OPTION_TEXT,                                                                              \
         true},                                                                                    \
        {{"ca", "FILE", "", "certificates to trust instead of those of the machine"},              \
         OPTION_TEXT,                                                                              \
         false},                                                                                   \
        {{"cert", "FILE", "", "certificate of the client, PEM, for a server that asks for one"},   \
         OPTION_TEXT,                                                                              \
         false},                                                                                   \
        {{"key", "FILE", "",                                                                       \
          "key of that certificate, PEM, without a passphrase; otherwise in "                      \
          "the same file"},                                                                        \
         OPTION_TEXT,                                                                              \
         false},                                                                                   \
    {                                                                                              \
        {"insecure", "no|yes", "no", "trust any certificate"}, OPTION_WORD, false                  \
    }

/* A request in parts that a server takes. One that is too large is halved until it is taken,
 * and later ones are as small. A figure that is too large alone is lost. A server that
 * says so of one after the other is not asked about each: the rest of the request is lost. */
struct http_parts {
    /* Adds a request with so many figures of the whole one, from the first on. */
    void (*cut)(struct buf *b, struct scan request, uint64_t first, uint64_t count);
    /* Sends one; attempt->lacking: figures of it that were rejected. */
    enum delivery (*send)(void *arg, struct scan message, uint64_t figures, bool *ret_is_too_large,
                          struct attempt *a);
    void *arg;
    uint64_t most_figures;  /* that a request may have; 0: any number */
    uint64_t refused_alone; /* figures that were too large alone, since something was taken */
    bool has_taken;         /* the server has taken something, ever */
    struct buf part;
};

/* Whether an answer says that: 413, or 400 with words of VictoriaMetrics or of an older Mimir. */
bool http_parts_is_too_large(const struct http_response *answer);

/* *done: how many of the figures an earlier attempt has sent; it is moved on. What was lost is
 * added to attempt->lacking, also when the rest has to be tried again. REFUSED: no figure was
 * taken. */
enum delivery http_parts_send(struct http_parts *p, struct scan request, uint64_t figures,
                              uint64_t *done, struct attempt *a);

/* Checks the URL in sink->place and the options, and names the sink "KIND URL", without secrets. */
int http_sink_open(struct sink *s, struct http **ret, struct toll_error *e);

/* The same with what holds where the options and the URL say nothing; may be NULL. Its headers, if
 * there are any, have those of the options in them. */
int http_sink_open_with(struct sink *s, const struct http_settings *otherwise, struct http **ret,
                        struct toll_error *e);

/* Sends one request, and tells what its answer means for a batch: what is worth a retry is tried
 * again. *ret_answer has what was said; it may be NULL. */
enum delivery http_sink_send(struct sink *s, struct http *h, struct http_request *request,
                             struct http_response *ret_answer, struct attempt *a);
