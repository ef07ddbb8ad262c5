/* SPDX-License-Identifier: MIT */
#include "sink/mlflow_key.h"

#include <stdio.h>
#include <string.h>

static bool is_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_./: -", c));
}

/* One part between slashes; dots alone, or two in a row, mean something in a path. */
static void add_part(struct buf *b, const char *part, size_t length)
{
    bool is_dot = length == 1 && *part == '.';
    for (size_t i = 0; i < length; i++) {
        bool is_double = part[i] == '.' &&
                         ((i + 1 < length && part[i + 1] == '.') || (i && part[i - 1] == '.'));
        buf_putc(b, is_allowed(part[i]) && !is_double && !is_dot ? part[i] : '_');
    }
}

/* Two names that differ only behind the limit stay two. */
static void cut(struct buf *b, size_t start)
{
    enum { TAIL = 9 };
    uint32_t hash = 2166136261U;
    char tail[TAIL + 1];
    if (buf_failed(b) || b->length - start <= MLFLOW_KEY_BYTES)
        return;
    for (size_t i = start; i < b->length; i++)
        hash = (hash ^ (unsigned char)b->data[i]) * 16777619U;
    snprintf(tail, sizeof tail, "-%08x", hash);
    b->length = start + MLFLOW_KEY_BYTES - TAIL;
    while (b->data[b->length - 1] == '/') /* a dash is no part by itself, but a slash ends one */
        b->length--;
    buf_puts(b, tail);
}

void mlflow_key(struct buf *b, const char *name)
{
    size_t start = b->length;
    while (*name) {
        size_t length = strcspn(name, "/");
        if (length && b->length > start)
            buf_putc(b, '/');
        add_part(b, name, length);
        name += length + (name[length] == '/');
    }
    if (b->length == start)
        buf_putc(b, '_');
    cut(b, start);
}

void mlflow_key_part(struct buf *b, const char *name)
{
    size_t start = b->length;
    add_part(b, name, strlen(name));
    for (size_t i = start; i < b->length && !buf_failed(b); i++)
        if (b->data[i] == '/')
            b->data[i] = '_';
    if (b->length == start)
        buf_putc(b, '_');
}
