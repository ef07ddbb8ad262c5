/* SPDX-License-Identifier: MIT */
#include "summary/run_facts.h"

#include "base/util.h"

#include <string.h>

static void free_strings(char **strings)
{
    for (char **s = strings; s && *s; s++)
        free(*s);
    free(strings);
}

static char **copy_strings(const char *const strings[])
{
    size_t count = 0;
    while (strings[count])
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(strings[i]);
        if (!copy[i]) {
            free_strings(copy);
            return NULL;
        }
    }
    return copy;
}

/* The last word of a path. */
static const char *name_of(const char *command)
{
    const char *slash = strrchr(command, '/');
    return slash && slash[1] ? slash + 1 : command;
}

int run_set_command(struct run *r, char *const argv[])
{
    free_strings(r->command);
    r->command = copy_strings((const char *const *)argv);
    if (!r->command)
        return -ENOMEM;
    if (!r->name)
        r->name = strdup(name_of(argv[0]));
    return r->name ? 0 : -ENOMEM;
}

bool run_is_named(const struct run *r)
{
    return r->name && *r->name &&
           !(r->command && r->command[0] && strcmp(r->name, name_of(r->command[0])) == 0);
}

int run_set_labels(struct run *r, const char *const labels[])
{
    r->labels = copy_strings(labels);
    return r->labels ? 0 : -ENOMEM;
}

int run_add_target(struct run *r, const char *name, const char *what)
{
    struct run_target *longer = realloc(r->targets, (r->target_count + 1) * sizeof *longer);
    if (!longer)
        return -ENOMEM;
    r->targets = longer;
    struct run_target *t = &longer[r->target_count++];
    *t = (struct run_target){.name = strdup(name), .what = strdup(what)};
    return t->name && t->what ? 0 : -ENOMEM;
}

void run_done(struct run *r)
{
    for (size_t i = 0; i < r->target_count; i++) {
        free(r->targets[i].name);
        free(r->targets[i].what);
    }
    free(r->targets);
    free(r->name);
    free(r->version);
    free(r->metrics);
    free_strings(r->command);
    free_strings(r->labels);
    *r = (struct run){0};
}
