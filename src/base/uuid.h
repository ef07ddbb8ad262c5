/* SPDX-License-Identifier: MIT
 * Identifiers of version 7 (RFC 9562): 48 bits of time in milliseconds, then 74 random bits. They
 * sort by the time they were made at, and no two are the same although nothing is asked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UUID_BYTES = 37, UUID_RANDOM_BYTES = 10 }; /* with the 0 at the end */

/* random: NULL, or what to take in the place of random bits, so that the result is repeatable. */
void uuid_make(char ret[UUID_BYTES], uint64_t real_ns, const uint8_t random[UUID_RANDOM_BYTES]);

/* Whether it is an identifier of any version: 8-4-4-4-12 hexadecimal digits, lower case. */
bool uuid_is(const char *text, size_t length);
