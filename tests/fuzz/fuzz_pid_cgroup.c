/* SPDX-License-Identifier: MIT */
#include "source/cgroup/place.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan s = fuzz_text(data, size);
    struct pid_cgroup p;
    int r;
    const char *before = s.at;
    while ((r = parse_pid_cgroup(&s, &p)) != 0) {
        CHECK(r == 1 || r == -EBADMSG);
        CHECK(s.at > before);
        before = s.at;
        CHECK(r < 0 || *p.path.at == '/');
        CHECK(r < 0 || (p.controllers.at <= p.controllers.end && p.path.at < p.path.end));
    }
    return 0;
}
