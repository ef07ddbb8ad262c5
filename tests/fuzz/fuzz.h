/* SPDX-License-Identifier: MIT
 * What the fuzz targets share. Each states what must hold for any input whatever. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Before a corpus is replayed, by a program with several targets. */
void replay_choose(const char *corpus);

/* The head of a target in a file with several of them: libFuzzer has a program for each, made with
 * entry.c; corpora are replayed by one for all, made with replay_several.c. */
#define FUZZ_TARGET(name)                                                                          \
    int fuzz_##name(const uint8_t *data, size_t size);                                             \
    int fuzz_##name(const uint8_t *data, size_t size)

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline struct scan fuzz_text(const uint8_t *data, size_t size)
{
    return scan_text((const char *)data, size);
}

/* The input up to its first zero, terminated, in a block of its own. The caller frees. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    CHECK(text);
    return text;
}

/* An output is filled before the call, so that a failure that wrote to it shows. */
static inline void fuzz_fill(void *output, size_t size)
{
    memset(output, 0xA5, size);
}

static inline bool fuzz_is_filled(const void *output, size_t size)
{
    const unsigned char *bytes = output;
    while (size && bytes[size - 1] == 0xA5)
        size--;
    return size == 0;
}

/* Of a parser that failed: one of the two codes it may give, and nothing written. */
#define CHECK_FAILURE(r, when_empty, size, output)                                                 \
    do {                                                                                           \
        CHECK((r) == ((size) ? -EBADMSG : (when_empty)));                                          \
        CHECK(fuzz_is_filled(output, sizeof *(output)));                                           \
    } while (0)
