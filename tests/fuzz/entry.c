/* SPDX-License-Identifier: MIT
 * Makes a fuzz target of the function ENTRY, one of those in a file with several of them. */
#include "fuzz.h"

int ENTRY(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return ENTRY(data, size);
}
