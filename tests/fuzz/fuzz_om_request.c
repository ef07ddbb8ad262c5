/* SPDX-License-Identifier: MIT */
#include "sink/openmetrics/server.h"

#include "fuzz.h"

/* One verdict for one text; nothing is asked for unless it is served, and whoever may ask on
 * loopback may ask anywhere. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    struct om_request q, other;
    fuzz_fill(&q, sizeof q);
    enum om_verdict local = om_request_read(text, true, &q);
    enum om_verdict anywhere = om_request_read(text, false, &other);
    CHECK(anywhere != OM_HOST);
    CHECK(local == OM_HOST || local == anywhere);
    if (local != OM_SERVE) {
        CHECK(fuzz_is_filled(&q, sizeof q));
        return 0;
    }
    CHECK(q.is_head == other.is_head && q.wants_openmetrics == other.wants_openmetrics);
    CHECK(strncmp(text, q.is_head ? "HEAD /metrics" : "GET /metrics", q.is_head ? 13 : 12) == 0);
    CHECK(!q.wants_openmetrics || strcasestr(text, "accept:"));
    om_request_is_whole(text);
    return 0;
}
