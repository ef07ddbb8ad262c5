/* SPDX-License-Identifier: MIT */
#include "source/net/sockets.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan messages = fuzz_text(data, size);
    for (;;) {
        const char *before = messages.at;
        struct inet_diag_answer a;
        fuzz_fill(&a, sizeof a);
        int r = parse_inet_diag(&messages, &a);
        CHECK(messages.at >= before && messages.at <= messages.end);
        if (r <= 0) {
            CHECK(r == -EBADMSG || (r == 0 && scan_done(&messages)));
            CHECK(messages.at == before && fuzz_is_filled(&a, sizeof a));
            return 0;
        }
        CHECK(messages.at > before);
        CHECK(a.kind == INET_DIAG_ANSWER_SOCKET || (!a.inode && !a.cookie && !a.has_bytes));
        CHECK(a.kind == INET_DIAG_ANSWER_ERROR || !a.error);
        CHECK(a.has_bytes || (!a.received_bytes && !a.sent_bytes));
    }
}
