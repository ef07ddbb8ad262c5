/* SPDX-License-Identifier: MIT
 * Makes a fuzz target of the function ENTRY, one of those in a file with several of them. */
#include "mutate.h"

int ENTRY(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return ENTRY(data, size);
}

#ifdef IS_JSON
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return mutate_json_lines(data, size, max, seed);
}
#endif
