/* SPDX-License-Identifier: MIT */
#include "base/text/pickle.h"

#include "fuzz.h"

/* What is taken for a pickle is JSON, and that makes a pickle again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf json = {0}, pickle = {0};
    if (pickle_to_json(&json, (const char *)data, size, NULL) == 0)
        CHECK(pickle_from_json(&pickle, json.data, json.length) == 0);
    buf_done(&json);
    buf_done(&pickle);
    return 0;
}
