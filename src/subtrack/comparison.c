/* SPDX-License-Identifier: MIT */
#include "subtrack/comparison.h"

#include "base/err.h"

#include <stdio.h>
#include <string.h>

/* The digits behind the last colon, or NULL. */
static const char *line_of(const char *name)
{
    const char *colon = strrchr(name, ':');
    if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
        return NULL;
    return colon + 1;
}

/* Lines in the order of their numbers, everything else in that of its bytes. */
static int by_name(const void *a, const void *b)
{
    const struct block_results *x = a, *y = b;
    const char *line_x = line_of(x->name), *line_y = line_of(y->name);
    size_t file_x = line_x ? (size_t)(line_x - x->name) : 0;
    size_t file_y = line_y ? (size_t)(line_y - y->name) : 0;
    if (!line_x || file_x != file_y || memcmp(x->name, y->name, file_x) != 0)
        return strcmp(x->name, y->name);
    line_x += strspn(line_x, "0");
    line_y += strspn(line_y, "0");
    size_t digits_x = strlen(line_x), digits_y = strlen(line_y);
    return digits_x != digits_y ? (digits_x < digits_y ? -1 : 1) : strcmp(line_x, line_y);
}

static bool differ_by_line(const char *a, const char *b)
{
    const char *line_a = line_of(a), *line_b = line_of(b);
    return line_a && line_b && line_a - a == line_b - b && memcmp(a, b, (size_t)(line_a - a)) == 0;
}

static int match_figures(const struct comparison *c, size_t other, struct toll_error *e)
{
    const struct analysis *first = &c->sessions[0], *a = &c->sessions[other];
    for (size_t i = 0; i < first->figure_count || i < a->figure_count; i++)
        if (i >= first->figure_count || i >= a->figure_count ||
            strcmp(first->figures[i], a->figures[i]) != 0)
            return err_set(e, -EINVAL,
                           "The measurements of tracking session \"%s\" are not those of tracking "
                           "session \"%s\".",
                           c->names[other], c->names[0]);
    return 0;
}

static int match_blocks(const struct comparison *c, size_t other,
                        void (*note)(void *arg, const char *sentence), void *arg,
                        struct toll_error *e)
{
    const struct analysis *first = &c->sessions[0], *a = &c->sessions[other];
    if (first->block_count != a->block_count)
        return err_set(e, -EINVAL,
                       "All sub-tracking results must have the same number of code blocks. First "
                       "has %zu code blocks but tracking session \"%s\" has %zu code blocks.",
                       first->block_count, c->names[other], a->block_count);
    for (size_t i = 0; i < a->block_count; i++) {
        const char *mine = first->blocks[i].name, *its = a->blocks[i].name;
        if (strcmp(mine, its) == 0)
            continue;
        if (!differ_by_line(mine, its))
            return err_set(e, -EINVAL,
                           "Code block name \"%s\" of tracking session \"%s\" does not match code "
                           "block name \"%s\" of tracking session \"%s\"",
                           mine, c->names[0], its, c->names[other]);
        char sentence[1024];
        snprintf(
            sentence, sizeof sentence,
            "Code block \"%s\" of tracking session \"%s\" is compared with \"%s\" of tracking "
            "session \"%s\": they differ by the line number alone. Give them names if they are "
            "not the same.",
            mine, c->names[0], its, c->names[other]);
        if (note)
            note(arg, sentence);
    }
    return 0;
}

int comparison_match(struct comparison *c, void (*note)(void *arg, const char *sentence), void *arg,
                     struct toll_error *e)
{
    int r = 0;
    for (size_t i = 0; i < c->count; i++)
        qsort(c->sessions[i].blocks, c->sessions[i].block_count, sizeof *c->sessions[i].blocks,
              by_name);
    for (size_t i = 1; i < c->count && r == 0; i++) {
        r = match_figures(c, i, e);
        if (r == 0)
            r = match_blocks(c, i, note, arg, e);
    }
    return r;
}
