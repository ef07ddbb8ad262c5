/* SPDX-License-Identifier: MIT */
#include "subtrack/comparison.h"

#include "base/buf.h"
#include "base/err.h"

#include <string.h>

/* The digits behind the last colon, or NULL. */
static const char *line_of(const char *name)
{
    const char *colon = strrchr(name, ':');
    if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
        return NULL;
    return colon + 1;
}

/* A name as gpu_tracker sorts it: the number of its line with zeros in front, as many digits as the
 * longest of the session has. */
struct sorted_name {
    const char *name;
    size_t lead;  /* bytes in front of the number; all of the name when there is none */
    size_t zeros; /* that follow them */
};

static struct sorted_name sorted_name(const char *name, size_t digits)
{
    const char *line = line_of(name);
    if (!line)
        return (struct sorted_name){name, strlen(name), 0};
    return (struct sorted_name){name, (size_t)(line - name), digits - strlen(line)};
}

static unsigned char sorted_byte(const struct sorted_name *s, size_t i)
{
    if (i < s->lead)
        return (unsigned char)s->name[i];
    return i < s->lead + s->zeros ? '0' : (unsigned char)s->name[i - s->zeros];
}

static int by_name(const void *a, const void *b, void *digits)
{
    struct sorted_name x = sorted_name(((const struct block_results *)a)->name, *(size_t *)digits);
    struct sorted_name y = sorted_name(((const struct block_results *)b)->name, *(size_t *)digits);
    size_t i = 0;
    while (sorted_byte(&x, i) && sorted_byte(&x, i) == sorted_byte(&y, i))
        i++;
    return sorted_byte(&x, i) - sorted_byte(&y, i);
}

static void sort_blocks(struct analysis *a)
{
    size_t digits = 0;
    for (size_t i = 0; i < a->block_count; i++) {
        const char *line = line_of(a->blocks[i].name);
        digits = line && strlen(line) > digits ? strlen(line) : digits;
    }
    qsort_r(a->blocks, a->block_count, sizeof *a->blocks, by_name, &digits);
}

static bool differ_by_line(const char *a, const char *b)
{
    const char *line_a = line_of(a), *line_b = line_of(b);
    return line_a && line_b && line_a - a == line_b - b && memcmp(a, b, (size_t)(line_a - a)) == 0;
}

static int match_figures(const struct comparison *c, size_t other, struct toll_error *e)
{
    const struct analysis *first = &c->sessions[c->first], *a = &c->sessions[other];
    for (size_t i = 0; i < first->figure_count || i < a->figure_count; i++)
        if (i >= first->figure_count || i >= a->figure_count ||
            strcmp(first->figures[i], a->figures[i]) != 0)
            return err_set(e, -EINVAL,
                           "The measurements of tracking session \"%s\" are not those of tracking "
                           "session \"%s\".",
                           c->names[other], c->names[c->first]);
    return 0;
}

static int match_blocks(const struct comparison *c, size_t other,
                        void (*note)(void *arg, const char *sentence), void *arg,
                        struct toll_error *e)
{
    const struct analysis *first = &c->sessions[c->first], *a = &c->sessions[other];
    if (first->block_count != a->block_count)
        return err_set(e, -EINVAL,
                       "All sub-tracking results must have the same number of code blocks. The "
                       "first has %zu code blocks but tracking session \"%s\" has %zu code blocks.",
                       first->block_count, c->names[other], a->block_count);
    for (size_t i = 0; i < a->block_count; i++) {
        const char *mine = first->blocks[i].name, *its = a->blocks[i].name;
        if (strcmp(mine, its) == 0)
            continue;
        if (!differ_by_line(mine, its))
            return err_set(e, -EINVAL,
                           "Code block name \"%s\" of tracking session \"%s\" does not match code "
                           "block name \"%s\" of tracking session \"%s\"",
                           mine, c->names[c->first], its, c->names[other]);
        struct buf sentence = {0};
        buf_printf(&sentence,
                   "Code block name \"%s\" of tracking session \"%s\" matched with code block name "
                   "\"%s\" of tracking session \"%s\" but they differ by line number. If these "
                   "code blocks were not meant to match, their comparison will not be valid and "
                   "their names must be disambiguated.",
                   mine, c->names[c->first], its, c->names[other]);
        if (note && !buf_failed(&sentence))
            note(arg, sentence.data);
        buf_done(&sentence);
    }
    return 0;
}

int comparison_match(struct comparison *c, void (*note)(void *arg, const char *sentence), void *arg,
                     struct toll_error *e)
{
    int r = 0;
    c->first = 0;
    for (size_t i = 0; i < c->count; i++) {
        sort_blocks(&c->sessions[i]);
        if (strcmp(c->names[i], c->names[c->first]) < 0)
            c->first = i;
    }
    for (size_t i = 0; i < c->count && r == 0; i++) {
        r = i == c->first ? 0 : match_figures(c, i, e);
        if (r == 0 && i != c->first)
            r = match_blocks(c, i, note, arg, e);
    }
    return r;
}
