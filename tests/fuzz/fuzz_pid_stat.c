/* SPDX-License-Identifier: MIT */
#include "source/pid_files.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan text = fuzz_text(data, size);
    struct pid_stat st;
    fuzz_fill(&st, sizeof st);
    int r = parse_pid_stat(text, &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    CHECK(st.pid >= 0 && st.parent >= -1);
    CHECK(st.name > text.at && st.name[-1] == '(');
    CHECK(st.name_length < (size_t)(text.end - st.name) && st.name[st.name_length] == ')');
    const char *rest = st.name + st.name_length + 1;
    CHECK(!memchr(rest, ')', (size_t)(text.end - rest)));
    return 0;
}
