/* SPDX-License-Identifier: MIT */
#include "sink/spool.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan text = fuzz_text(data, size);
    struct spool_op op;
    int r;
    while ((r = spool_ops_next(&text, &op)) > 0)
        CHECK(op.kind < SPOOL_OPS && op.name.at <= op.name.end && op.body.at <= op.body.end &&
              op.body.end < text.end && text.at <= text.end);
    CHECK(r == 0 || r == -EBADMSG);
    return 0;
}
