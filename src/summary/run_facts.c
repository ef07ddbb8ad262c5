/* SPDX-License-Identifier: MIT */
#include "summary/run_facts.h"

#include "base/secrets.h"
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

/* ---- What is kept of words from outside ------------------------------------------------------ */

static char *kept_text(const struct run *r, const char *text)
{
    if (r->shows_secrets)
        return strdup(text);
    struct buf b = {0};
    secrets_mask_text(&b, text, strlen(text));
    char *kept = buf_failed(&b) ? NULL : strdup(b.data ? b.data : "");
    buf_done(&b);
    return kept;
}

static char **kept_command(const struct run *r, const char *const argv[])
{
    const char *const program[] = {argv[0], NULL};
    if (r->no_args)
        argv = program;
    return r->shows_secrets ? copy_strings(argv) : secrets_mask_command(argv);
}

static char **kept_labels(const struct run *r, const char *const labels[])
{
    char **kept = copy_strings(labels);
    for (char **l = kept; l && *l && !r->shows_secrets; l++) {
        char *masked = secrets_mask_pair(*l);
        if (!masked) {
            free_strings(kept);
            return NULL;
        }
        free(*l);
        *l = masked;
    }
    return kept;
}

int run_set_name(struct run *r, const char *name)
{
    char *kept = kept_text(r, name);
    if (!kept)
        return -ENOMEM;
    free(r->name);
    r->name = kept;
    return 0;
}

int run_set_command(struct run *r, char *const argv[])
{
    free_strings(r->command);
    r->command = kept_command(r, (const char *const *)argv);
    if (!r->command)
        return -ENOMEM;
    return r->name ? 0 : run_set_name(r, name_of(argv[0]));
}

int run_mask_secrets(struct run *r)
{
    char **words;
    if (r->command) {
        if (!(words = kept_command(r, (const char *const *)r->command)))
            return -ENOMEM;
        free_strings(r->command);
        r->command = words;
    }
    if (r->labels) {
        if (!(words = kept_labels(r, (const char *const *)r->labels)))
            return -ENOMEM;
        free_strings(r->labels);
        r->labels = words;
    }
    return r->name ? run_set_name(r, r->name) : 0;
}

bool run_is_named(const struct run *r)
{
    return r->name && *r->name &&
           !(r->command && r->command[0] && strcmp(r->name, name_of(r->command[0])) == 0);
}

/* Of a key that was given twice, as in a configuration file and on the command line, the last value
 * holds. */
int run_set_labels(struct run *r, const char *const labels[])
{
    free_strings(r->labels);
    r->labels = kept_labels(r, labels);
    size_t count = 0;
    for (char **label = r->labels; label && *label; label++) {
        size_t key = strcspn(*label, "=");
        bool comes_again = false;
        for (char **other = label + 1; *other && !comes_again; other++)
            comes_again = strcspn(*other, "=") == key && strncmp(*label, *other, key) == 0;
        if (comes_again)
            free(*label);
        else
            r->labels[count++] = *label;
    }
    if (r->labels)
        r->labels[count] = NULL;
    return r->labels ? 0 : -ENOMEM;
}

int run_add_target(struct run *r, const char *name, const char *what)
{
    struct run_target *longer = realloc(r->targets, (r->target_count + 1) * sizeof *longer);
    if (!longer)
        return -ENOMEM;
    r->targets = longer;
    struct run_target *t = &longer[r->target_count++];
    *t = (struct run_target){.name = strdup(name), .what = kept_text(r, what)};
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
