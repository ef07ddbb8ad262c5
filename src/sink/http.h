/* SPDX-License-Identifier: MIT
 * Sinks that send over HTTP: their options, and what an answer means for a batch. */
#pragma once

#include "base/io/http.h"
#include "base/text/scan.h"
#include "sink/sink.h"

#define SINK_HTTP_OPTIONS                                                                          \
    SINK_OPTION("timeout", "TIME", "10s", "time limit of one request", OPTION_DURATION),           \
        SINK_OPTION("user", "TEXT", "",                                                            \
                    "user for basic authentication; or in the URL, user:password@host",            \
                    OPTION_TEXT),                                                                  \
        SINK_OPTION("password_file", "FILE", "", "file with the password, on its first line",      \
                    OPTION_TEXT),                                                                  \
        SINK_OPTION("token_file", "FILE", "", "file with a bearer token, on its first line",       \
                    OPTION_TEXT),                                                                  \
        {{"header", "TEXT", "", "additional header, 'Name: value'; may be repeated"},              \
         OPTION_TEXT,                                                                              \
         true},                                                                                    \
        SINK_OPTION("ca", "FILE", "", "CA certificates to trust instead of the system's",          \
                    OPTION_TEXT),                                                                  \
        SINK_OPTION("cert", "FILE", "",                                                            \
                    "client certificate (PEM), for a server that requires one", OPTION_TEXT),      \
        SINK_OPTION(                                                                               \
            "key", "FILE", "",                                                                     \
            "key of the client certificate (PEM, no passphrase); otherwise in the same file",      \
            OPTION_TEXT),                                                                          \
        SINK_OPTION("insecure", "no|yes", "no", "trust any certificate", OPTION_WORD)

/* A request is sent in parts that the server accepts. One that is too large is halved until it is
 * accepted, and later ones are as small. A figure that is too large alone is lost. When a server
 * refuses one figure after the other, the rest of the request is lost without asking. */
struct http_parts {
    /* Adds a request with that many figures of the whole one, from the first on. */
    void (*cut)(struct buf *b, struct scan request, uint64_t first, uint64_t count);
    /* Sends one; *ret_answer is that of http_sink_send. attempt->lacking: its figures that were
     * rejected. */
    enum delivery (*send)(struct sink *s, struct scan message, uint64_t figures,
                          struct http_response *ret_answer, struct attempt *a);
    struct sink *sink;      /* borrowed */
    uint64_t most_figures;  /* in a request; 0: any number */
    uint64_t refused_alone; /* figures that were too large alone, since one was accepted */
    bool has_sent;          /* the server has accepted something, ever */
    struct buf part;
};

/* *done: figures that an earlier attempt has sent; it is increased. Figures that were lost are
 * added to attempt->lacking, also when the rest has to be tried again. DELIVERY_REFUSED: no figure
 * was accepted. */
enum delivery http_parts_send(struct http_parts *p, struct scan request, uint64_t figures,
                              uint64_t *done, struct attempt *a);

/* Checks the URL in sink->place and the options, and names the sink "KIND URL", without secrets.
 * otherwise: settings for what the options and the URL leave open, or NULL; its headers, if any,
 * include those of the options. */
int http_sink_open(struct sink *s, const struct http_settings *otherwise, struct http **ret,
                   struct toll_error *e);

/* Sends one request, and translates the answer: DELIVERY_AGAIN when a retry may help; in a sink
 * with a spool, DELIVERY_KEPT when no request will be accepted before the credentials or the URL
 * are changed. *ret_answer may be NULL. */
enum delivery http_sink_send(struct sink *s, struct http *h, struct http_request *request,
                             struct http_response *ret_answer, struct attempt *a);
