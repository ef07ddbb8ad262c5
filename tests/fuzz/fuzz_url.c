/* SPDX-License-Identifier: MIT */
#include "base/io/url.h"

#include "fuzz.h"

static bool is_within(struct scan part, const char *text)
{
    return part.at >= text && part.at <= part.end && part.end <= text + strlen(text);
}

/* The parts stand in the text, in their order. What is shown is a URL again, the same when it is
 * shown once more, and has neither a user nor a query. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    struct url u, again;
    struct buf shown = {0}, twice = {0};
    fuzz_fill(&u, sizeof u);
    url_show(&shown, text);
    if (!url_split(text, &u)) {
        CHECK(fuzz_is_filled(&u, sizeof u));
        CHECK(strcmp(shown.data, "?") == 0);
        buf_done(&shown);
        return 0;
    }
    const struct scan parts[] = {u.scheme, u.user, u.host, u.port, u.path, u.query};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        CHECK(is_within(parts[i], text));
        CHECK(!i || parts[i].at >= parts[i - 1].end);
    }
    CHECK(u.host.at < u.host.end);
    CHECK(url_port(&u) > 0 && url_port(&u) < 65536);
    CHECK(url_split(shown.data, &again));
    CHECK(again.user.at == again.user.end && again.query.at == again.query.end);
    CHECK(url_port(&again) == url_port(&u) && again.is_secure == u.is_secure);
    CHECK(again.host.end - again.host.at == u.host.end - u.host.at);
    url_show(&twice, shown.data);
    CHECK(strcmp(shown.data, twice.data) == 0);
    buf_done(&shown);
    buf_done(&twice);
    return 0;
}
