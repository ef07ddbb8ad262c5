/* SPDX-License-Identifier: MIT
 * What sinks that send over HTTP have in common: their options, and what an answer means. */
#pragma once

#include "base/http.h"
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
    {                                                                                              \
        {"insecure", "no|yes", "no", "trust any certificate"}, OPTION_WORD, false                  \
    }

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
