/* SPDX-License-Identifier: MIT */
#include "source/cgroup/disks.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan s = fuzz_text(data, size);
    struct cgroup_io io;
    const char *before = s.at;
    int r;
    while ((r = parse_cgroup_io(&s, &io)) != 0) {
        CHECK(r == 1 || r == -EBADMSG);
        CHECK(s.at > before);
        before = s.at;
        CHECK(r < 0 || io.has_values || !(io.read_bytes | io.written_bytes | io.reads | io.writes));
    }
    s = fuzz_text(data, size);
    struct cgroup_blkio b;
    before = s.at;
    while ((r = parse_cgroup_blkio(&s, &b)) != 0) {
        CHECK(r == 1 || r == -EBADMSG);
        CHECK(s.at > before);
        before = s.at;
    }
    return 0;
}
