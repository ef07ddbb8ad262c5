/* SPDX-License-Identifier: MIT
 * A sink that sends to the server of a test. */
#pragma once

#include "http_server.h"
#include "sample.h"

/* "KIND:http://127.0.0.1:PORT" and what stands behind it. Without libcurl the test is skipped. */
static inline struct sink *http_place_open(struct sample *s, const struct http_server *server,
                                           const char *kind, const char *behind)
{
    char destination[512];
    struct sink *sink = NULL;
    struct toll_error e = {0};
    snprintf(destination, sizeof destination, "%s:http://127.0.0.1:%u%s", kind, server->port,
             behind);
    struct toll_output out = {.size = sizeof out, .destination = destination};
    if (sink_open(&sink, &out, &s->selection, &e) == -EOPNOTSUPP) {
        assert_non_null(strstr(e.message, "libcurl"));
        skip();
    }
    assert_string_equal(e.message, "");
    return sink;
}

/* A run of some samples from its beginning to its end. */
static inline int http_place_run(struct sample *s, struct sink *sink, unsigned samples,
                                 struct output_summary *ret)
{
    assert_int_equal(sink_begin(sink, &s->run), 0);
    row_put_u64(&s->parts[PART_COMBINED], process_cpu_seconds, 1500000000);
    for (unsigned i = 0; i < samples; i++)
        assert_int_equal(sink_frame(sink, &s->frame), 0);
    sink_summary(sink, &s->summary);
    sink_end(sink);
    return sink_wait(sink, ret);
}
