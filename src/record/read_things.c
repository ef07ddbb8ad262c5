/* SPDX-License-Identifier: MIT
 * The things of the machine: each is known by its kind, its name and its labels. */
#include "record/reading.h"

int read_things_kind(const struct scan *key)
{
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        if (kind != ENTITY_PROCESS && kind != ENTITY_SELF &&
            json_in_is(key, entity_kind_plural(kind)))
            return (int)kind;
    return -1;
}

/* Words are kept at once only while they are new: see find. Until then they live in the frame's
 * arena. */
static const char *hold(struct reading *r, struct scan text)
{
    size_t length = (size_t)(text.end - text.at);
    char *copy = arena_take(&r->frame.arena, length + 1);
    r->no_memory |= !copy;
    if (copy && length)
        memcpy(copy, text.at, length);
    return copy ? copy : "";
}

bool read_things_word(struct reading *r, const struct scan *key, struct entity *e)
{
    struct scan text;
    unsigned next = 0;
    if (read_row_find(e->kind, key, &next) >= 0)
        return reading_wrong(r, "a text in the place of a figure");
    if (!json_in_string(&r->json, &text))
        return false;
    if (json_in_is(key, "name")) {
        e->path = hold(r, text);
        return true;
    }
    for (unsigned i = 0; i < ENTITY_LABELS; i++)
        if (!e->labels[i].key) {
            e->labels[i] = (struct label){hold(r, *key), hold(r, text)};
            return true;
        }
    return true; /* more than anything has */
}

static bool is_same(const struct entity *a, const struct entity *b)
{
    if (a->kind != b->kind || strcmp(entity_name(a), entity_name(b)) != 0)
        return false;
    for (unsigned i = 0; i < ENTITY_LABELS; i++) {
        const struct label *x = &a->labels[i], *y = &b->labels[i];
        if (!x->key || !y->key)
            return x->key == y->key;
        if (strcmp(x->key, y->key) != 0 || strcmp(x->value, y->value) != 0)
            return false;
    }
    return true;
}

static struct measured *add(struct reading *r, const struct entity *e)
{
    struct things *t = &r->things;
    void *longer = realloc(t->items, (t->count + 1) * sizeof *t->items);
    struct measured *m = arena_take(&r->kept, sizeof *m);
    t->items = longer ? longer : t->items;
    if (!longer || !m) {
        r->no_memory = true;
        return NULL;
    }
    measured_init(m, e->kind);
    m->entity.path = reading_keep(r, scan_string(entity_name(e)));
    for (unsigned i = 0; i < ENTITY_LABELS && e->labels[i].key; i++)
        m->entity.labels[i] = (struct label){
            reading_keep(r, scan_string(e->labels[i].key)),
            reading_keep(r, scan_string(e->labels[i].value)),
        };
    t->items[t->count].thing = m;
    t->items[t->count++].line = t->line;
    m->number = (unsigned)t->count;
    return m;
}

void read_things_begin(struct reading *r)
{
    r->things.expected = 0;
    r->things.line++;
}

struct measured *read_things_find(struct reading *r, const struct entity *e)
{
    struct things *t = &r->things;
    for (size_t tries = 0, i = t->expected; tries < t->count; tries++, i++) {
        i = i < t->count ? i : 0;
        if (!is_same(&t->items[i].thing->entity, e))
            continue;
        if (t->items[i].line == t->line) {
            reading_wrong(r, "a thing of the machine twice");
            return NULL;
        }
        t->expected = i + 1;
        t->items[i].line = t->line;
        return t->items[i].thing;
    }
    t->expected = t->count + 1;
    return add(r, e);
}
