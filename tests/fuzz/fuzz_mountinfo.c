/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "fuzz.h"

static void check_inside(struct scan s, const uint8_t *data, size_t size)
{
    const char *first = (const char *)data;
    CHECK(first <= s.at && s.at <= s.end && s.end <= first + size);
    char decoded[64];
    ssize_t n = mountinfo_decode(s, decoded, sizeof decoded);
    CHECK(n == -ENAMETOOLONG || n == -EBADMSG ||
          (n <= s.end - s.at && strlen(decoded) == (size_t)n));
    comma_list_has(s, "rw");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mountinfo m;
    struct scan text = fuzz_text(data, size);
    fuzz_fill(&m, sizeof m);
    int r = parse_mountinfo(text, &m);
    if (r < 0)
        CHECK(r == -EBADMSG && fuzz_is_filled(&m, sizeof m));
    while (mountinfo_next(&text, &m)) {
        const struct scan fields[] = {m.root, m.point,  m.options,      m.optional,
                                      m.type, m.source, m.super_options};
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
            check_inside(fields[i], data, size);
        CHECK(m.point.at < m.point.end && m.type.at < m.type.end);
    }
    return 0;
}
