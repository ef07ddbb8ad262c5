/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"usage_usec", "anon", "oom_kill"};
    uint64_t values[ARRAY_LEN(keys)];
    fuzz_fill(values, sizeof values);
    int r = parse_cgroup_flat(fuzz_text(data, size), keys, ARRAY_LEN(keys), values);
    CHECK(r == -EBADMSG || (r >= 0 && r < 8));
    for (unsigned k = 0; k < ARRAY_LEN(keys); k++) {
        if (r > 0 && r >> k & 1)
            CHECK(memmem(data, size, keys[k], strlen(keys[k])));
        else
            CHECK(fuzz_is_filled(&values[k], sizeof values[k]));
    }
    return 0;
}
