/* SPDX-License-Identifier: MIT */
#include "sink/labels.h"

#include "base/utf8.h"
#include "metric/entity.h"

#include <ctype.h>
#include <string.h>

static char letter_of(char c)
{
    return isalnum((unsigned char)c) && (unsigned char)c < 0x80 ? c : '_';
}

/* Names with two _ at the front are for the servers themselves: one refuses them, another falls
 * over. What is no letter becomes one of them too. */
static char *make_name(const char *text, const char *before)
{
    struct buf b = {0};
    bool is_reserved = *text && letter_of(text[0]) == '_' && letter_of(text[1]) == '_' && text[1];
    if (isdigit((unsigned char)*text) || !*text)
        buf_putc(&b, '_');
    buf_puts(&b, is_reserved && !*before ? "label" : before);
    for (; *text; text++)
        buf_putc(&b, letter_of(*text));
    if (!buf_failed(&b))
        return b.data;
    buf_done(&b);
    return NULL;
}

static char *make_value(const char *text)
{
    struct buf b = {0};
    size_t left = strlen(text), length;
    for (; left; text += length, left -= length) {
        const unsigned char *c = (const unsigned char *)text;
        length = *c < 0x80 ? 1 : utf8_length(c, left);
        if (length) {
            buf_add(&b, text, length);
            continue;
        }
        length = 1; /* taken for Latin-1 */
        buf_putc(&b, (char)(0xC0 | *c >> 6));
        buf_putc(&b, (char)(0x80 | (*c & 0x3F)));
    }
    if (!buf_failed(&b) && b.data)
        return b.data;
    buf_done(&b);
    return NULL;
}

static size_t place_of(const struct labels *l, const char *name, bool *ret_taken)
{
    size_t i = 0;
    while (i < l->count && strcmp(l->items[i].name, name) < 0)
        i++;
    *ret_taken = i < l->count && strcmp(l->items[i].name, name) == 0;
    return i;
}

static void add(struct labels *l, const char *before, const char *name, const char *value)
{
    bool is_taken = false;
    if (!*value)
        return;
    char *own = make_name(name, before);
    size_t at = own ? place_of(l, own, &is_taken) : 0;
    if (is_taken && !*before) {
        free(own);
        own = make_name(name, "label_");
        at = own ? place_of(l, own, &is_taken) : 0;
    }
    char *copy = make_value(value);
    if (!own || !copy || is_taken || l->count == LABELS_AT_MOST) {
        l->failed |= !is_taken;
        free(own);
        free(copy);
        return;
    }
    memmove(&l->items[at + 1], &l->items[at], (l->count - at) * sizeof l->items[0]);
    l->items[at].name = own;
    l->items[at].value = copy;
    l->count++;
}

void labels_add(struct labels *l, const char *name, const char *value)
{
    add(l, "", name, value);
}

/* The batch system's job is job_id: "job" is what Prometheus calls where it scraped a series. */
void labels_add_run(struct labels *l, const struct run *run, bool with_id)
{
    labels_add(l, "run", run->name ? run->name : "");
    labels_add(l, "instance", run->host);
    labels_add(l, "id", with_id ? run->id : "");
    labels_add(l, "job_id", run->job.id);
    labels_add(l, "array_index", run->job.array_index);
    labels_add(l, "rank", run->rank);
}

/* ---- Of the user ----------------------------------------------------------------------------- */

/* Whatever a series is of, these mean the same everywhere. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"run", "instance", "rank", "scope", "target"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    for (unsigned kind = 0; kind < ENTITY_TARGET; kind++)
        if (kind != ENTITY_PROCESS && kind != ENTITY_SYSTEM && kind != ENTITY_SELF &&
            strcmp(name, entity_kind_name(kind)) == 0)
            return true;
    return false;
}

bool labels_is_of_things(const char *name)
{
    static const char *const keys[] = {"class", "namespace", "type",  "source", "device", "zone",
                                       "index", "vendor",    "model", "uuid",   "pci",    "driver"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (strcmp(name, keys[i]) == 0)
            return true;
    return ends_with(name, "_cgroup");
}

void labels_add_users(struct labels *l, const struct run *run)
{
    size_t most = l->count + LABELS_OF_USER_AT_MOST;
    for (char **label = run->labels; label && *label && l->count < most; label++) {
        const char *equals = strchr(*label, '=');
        char *name = equals ? strndup(*label, (size_t)(equals - *label)) : NULL;
        if (name && !labels_has(l, name, equals + 1)) /* --label job_id=… says what is known */
            add(l, is_own(name) ? "label_" : "", name, equals + 1);
        free(name);
    }
}

bool labels_has(const struct labels *l, const char *name, const char *value)
{
    bool is_taken;
    size_t at = place_of(l, name, &is_taken);
    return is_taken && strcmp(l->items[at].value, value) == 0;
}

void labels_done(struct labels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].name);
        free(l->items[i].value);
    }
    *l = (struct labels){0};
}
