/* SPDX-License-Identifier: MIT */
#include "engine/environment.h"

#include "base/util.h"

#include <string.h>

int environment_add(struct environment *e, const char *variable)
{
    char *copy = strdup(variable);
    char **longer = copy ? reallocarray(e->more, e->count + 1, sizeof *longer) : NULL;
    if (!longer) {
        free(copy);
        return -ENOMEM;
    }
    e->more = longer;
    e->more[e->count++] = copy;
    return 0;
}

static bool is_replaced(const struct environment *e, const char *variable)
{
    for (size_t i = 0; i < e->count; i++) {
        size_t name = strcspn(e->more[i], "=") + 1;
        if (strncmp(variable, e->more[i], name) == 0)
            return true;
    }
    return false;
}

char **environment_make(const struct environment *e)
{
    size_t count = 0, kept = 0;
    while (environ && environ[count])
        count++;
    char **all = calloc(count + e->count + 1, sizeof *all);
    if (!all)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!is_replaced(e, environ[i]))
            all[kept++] = environ[i];
    for (size_t i = 0; i < e->count; i++)
        all[kept++] = e->more[i];
    return all;
}

void environment_done(struct environment *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->more[i]);
    free(e->more);
    *e = (struct environment){0};
}
