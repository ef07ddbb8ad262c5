/* SPDX-License-Identifier: MIT */
#include "metric/mark.h"

#include "base/text/buf.h"
#include "fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mark_text m, again;
    fuzz_fill(&m, sizeof m);
    int r = parse_mark_text(fuzz_text(data, size), &m);
    if (r < 0) {
        CHECK(r == -EBADMSG && fuzz_is_filled(&m, sizeof m));
        return 0;
    }
    CHECK(m.kind < MARK_KINDS && m.pid >= 0 && isfinite(m.value));
    CHECK(mark_text_is_name(m.name));
    char text[64];
    const char *value;
    struct scan rest = m.attributes;
    while (mark_text_attribute(&rest, text, sizeof text, &value))
        CHECK(value >= text && value < text + sizeof text && memchr(value, 0, 64));
    struct buf b = {0}; /* what is written of it is read as the same */
    mark_text_begin(&b, m.kind, m.name);
    if (m.kind == MARK_GAUGE)
        mark_text_add_value(&b, m.value);
    CHECK(!buf_failed(&b));
    CHECK(parse_mark_text(scan_text(b.data, b.length), &again) == 0);
    CHECK(again.kind == m.kind && fabs(again.value - m.value) <= fabs(m.value) * 1e-15 + 1e-300 &&
          strcmp(again.name, m.name) == 0);
    buf_done(&b);
    return 0;
}
