/* SPDX-License-Identifier: MIT
 * A shared library that may or may not be there, and of which any function may be missing: loaded
 * while the program runs, its functions found by a table. */
#pragma once

#include <stddef.h>

enum { DYNLIB_NAMES = 3 };

/* One function: where its pointer goes in the caller's struct, and its names, best first. */
struct dynlib_symbol {
    size_t at;
    const char *names[DYNLIB_NAMES + 1]; /* NULL behind the last */
};

/* NULL when it cannot be loaded; why is then a sentence of the loader, cut to size. It stays for as
 * long as the program runs. */
void *dynlib_open(const char *name, char *why, size_t size);

/* A copy of it, and of all it needs, that shares nothing with what the program has loaded. */
void *dynlib_open_apart(const char *name, char *why, size_t size);

void dynlib_close(void *library);

/* Writes the pointers of all that are there, and NULL for those that are not. How many there are.
 */
size_t dynlib_find(void *library, const struct dynlib_symbol *symbols, size_t count,
                   void *functions);
