/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/client.h"

#include "base/text/scan.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan text = fuzz_text(data, size);
    char found[32];
    fuzz_fill(found, sizeof found);
    if (mlflow_answer_text(text.at, (size_t)(text.end - text.at), "run_id", found, sizeof found))
        CHECK(memchr(found, 0, sizeof found) && *found);
    mlflow_answer_is(text.at, (size_t)(text.end - text.at), "X");
    return 0;
}
