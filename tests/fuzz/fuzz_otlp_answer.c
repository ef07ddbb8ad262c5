/* SPDX-License-Identifier: MIT */
#include "sink/otlp/otlp.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan text = fuzz_text(data, size);
    struct otlp_answer a;
    otlp_answer_read(text.at, (size_t)(text.end - text.at), &a);
    CHECK(!a.message.at ||
          (a.message.at >= text.at && a.message.end <= text.end && a.message.at <= a.message.end));
    return 0;
}
