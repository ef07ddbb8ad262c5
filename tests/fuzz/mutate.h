/* SPDX-License-Identifier: MIT
 * Structural mutation: an input stays lines of JSON, a table or a configuration file, and its
 * members are deleted, doubled, moved, renamed, nested or given other values. libFuzzer calls it
 * through LLVMFuzzerCustomMutator; the programs that replay a corpus do some rounds of it as well,
 * so that it is part of every test run, with any compiler. */
#pragma once

#include "fuzz.h"

/* Each changes data, which has room for max bytes, and returns its new size. The same seed makes
 * the same change. */
size_t mutate_json_lines(uint8_t *data, size_t size, size_t max, unsigned seed);

/* Lines of cells, with one of these bytes between them. */
size_t mutate_cells(uint8_t *data, size_t size, size_t max, unsigned seed, const char *separators);

/* Lines that are put together from whole ones: those of the input and those of a list, which ends
 * with NULL. */
size_t mutate_lines(uint8_t *data, size_t size, size_t max, unsigned seed,
                    const char *const *known);

/* What libFuzzer looks for; a target that has a structure defines it. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
