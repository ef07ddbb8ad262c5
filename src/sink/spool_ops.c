/* SPDX-License-Identifier: MIT */
#include "sink/spool_ops.h"

#include <string.h>

static const char *const words[SPOOL_OPS] = {
    [SPOOL_HEAD] = "toll-spool",   [SPOOL_TO] = "to",
    [SPOOL_CREATE] = "create",     [SPOOL_EXPERIMENT] = "experiment",
    [SPOOL_RUN] = "run",           [SPOOL_BATCH] = "batch",
    [SPOOL_ARTIFACT] = "artifact", [SPOOL_UPDATE] = "update",
    [SPOOL_SAMPLES] = "samples",   [SPOOL_SENT] = "sent",
    [SPOOL_REQUEST] = "request",   [SPOOL_SKIP] = "skip",
    [SPOOL_PARAMS] = "params",
};

void spool_ops_add(struct buf *b, enum spool_op_kind kind, const char *name, const char *body,
                   size_t length)
{
    buf_printf(b, "%s %s %llu\n", words[kind], *name ? name : "-", (unsigned long long)length);
    buf_add(b, body, length);
    buf_putc(b, '\n');
}

/* The next word of a line and the blank behind it. */
static bool cut_word(struct scan *line, struct scan *ret)
{
    const char *blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
    if (!blank || blank == line->at)
        return false;
    *ret = scan_text(line->at, (size_t)(blank - line->at));
    line->at = blank + 1;
    return true;
}

static bool is_word(const struct scan *s, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(s->end - s->at) == length && memcmp(s->at, word, length) == 0;
}

int spool_ops_next(struct scan *text, struct spool_op *ret)
{
    struct scan at = *text, line, word;
    uint64_t length;
    if (scan_done(text))
        return 0;
    const char *newline = memchr(at.at, '\n', (size_t)(at.end - at.at));
    if (!newline || !scan_line(&at, &line) || !cut_word(&line, &word) ||
        !cut_word(&line, &ret->name) || !scan_u64(&line, &length) || !scan_done(&line))
        return -EBADMSG;
    unsigned kind = 0;
    while (kind < SPOOL_OPS && !is_word(&word, words[kind]))
        kind++;
    size_t left = (size_t)(at.end - at.at);
    if (kind == SPOOL_OPS || left < 1 || length > left - 1 || at.at[length] != '\n')
        return -EBADMSG;
    ret->kind = kind;
    if (is_word(&ret->name, "-"))
        ret->name.at = ret->name.end;
    ret->body = scan_text(at.at, length);
    text->at = at.at + length + 1;
    return 1;
}
