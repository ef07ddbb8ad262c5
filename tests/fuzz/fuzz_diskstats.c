/* SPDX-License-Identifier: MIT */
#include "source/machine/disks.h"

#include "fuzz.h"

/* Every call takes a line off; a device has a name that is no path upwards. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan text = fuzz_text(data, size);
    struct diskstats d;
    const char *before = text.at;
    int r;
    fuzz_fill(&d, sizeof d);
    while ((r = parse_diskstats_line(&text, &d)) != 0) {
        CHECK(text.at > before && text.at <= text.end);
        before = text.at;
        if (r < 0) {
            CHECK(r == -EBADMSG && fuzz_is_filled(&d, sizeof d));
            continue;
        }
        size_t length = strnlen(d.name, sizeof d.name);
        CHECK(length > 0 && length < sizeof d.name && d.name[0] != '.');
        CHECK(d.fields > DISKSTATS_QUEUE_MS && d.fields <= DISKSTATS_FIELDS);
        fuzz_fill(&d, sizeof d);
    }
    CHECK(scan_done(&text));
    return 0;
}
