/* SPDX-License-Identifier: MIT
 *
 *   # options as on the command line, without the dashes
 *   label = team=blue         for every subcommand that has it
 *   [run]                     only for that subcommand, until the next heading
 *   interval = 250ms
 */
#include "cli/options.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG_BYTES = 65536 };

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* What a line is for. */
enum section { FOR_EVERYBODY, FOR_THIS, FOR_ANOTHER };

/* [run]: what follows is for that subcommand alone. */
static int take_section(const struct settings *s, char *line, enum section *section,
                        const char *where, struct toll_error *e)
{
    size_t length = strlen(line);
    bool closed = line[length - 1] == ']';
    line[length - 1] = '\0';
    const struct subcommand *named = closed ? subcommand_by_name(line + 1) : NULL;
    if (!named || !named->options)
        return err_set(e, -EINVAL,
                       "%s: '%s%s' is not a section; there are [run], [attach] and "
                       "[system]",
                       where, line, closed ? "]" : "");
    *section = named->options & s->mode ? FOR_THIS : FOR_ANOTHER;
    return 0;
}

static int take_line(struct settings *s, char *line, enum section *section, const char *where,
                     struct toll_error *e)
{
    line = trim(line);
    if (!*line || *line == '#' || *line == ';')
        return 0;
    if (*line == '[')
        return take_section(s, line, section, where, e);
    if (*section == FOR_ANOTHER)
        return 0;
    char *equals = strchr(line, '=');
    if (!equals)
        return err_set(e, -EINVAL, "%s: '%s' is not of the form 'option = value'", where, line);
    *equals = '\0';
    const char *name = trim(line);
    const struct option *o = option_by_name(name);
    if (!o || o->command_line_only)
        return err_set(e, -EINVAL, "%s: there is no option '%s'; 'toll help %s' lists them", where,
                       name, s->subcommand);
    if (!(o->modes & s->mode) && *section == FOR_THIS)
        return err_set(e, -EINVAL,
                       "%s: '%s' is not an option of toll %s; 'toll help %s' lists them", where,
                       name, s->subcommand, s->subcommand);
    if (!(o->modes & s->mode))
        return 0; /* for another subcommand */
    return options_apply(s, o, trim(equals + 1), where, e);
}

/* A pipe will do, so it is read to its end. The length, or -errno. */
static ssize_t read_all(const char *path, char *text, size_t capacity)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t have = 0;
    while (have < capacity) {
        ssize_t n = read(fd, text + have, capacity - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

int config_read(struct settings *s, const char *path, struct toll_error *e)
{
    char **kept = calloc(2, sizeof *kept);
    char *text = malloc(CONFIG_BYTES);
    if (!kept || !text) {
        free(kept);
        free(text);
        return err_set(e, -ENOMEM, "no memory for the configuration file");
    }
    kept[0] = text; /* the settings point into it */
    s->kept = kept;
    ssize_t n = read_all(path, text, CONFIG_BYTES - 1);
    if (n < 0)
        return err_set(e, -EINVAL, "cannot read the configuration file '%s': %s", path,
                       strerror((int)-n));
    if (n == CONFIG_BYTES - 1)
        return err_set(e, -EINVAL, "the configuration file '%s' is larger than 64 KiB", path);
    text[n] = '\0';
    if (memchr(text, '\0', (size_t)n))
        return err_set(e, -EINVAL, "the configuration file '%s' is not a text", path);
    unsigned number = 1;
    enum section section = FOR_EVERYBODY;
    for (char *line = text, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char where[256];
        snprintf(where, sizeof where, "%s, line %u", path, number);
        int r = take_line(s, line, &section, where, e);
        if (r < 0)
            return r;
    }
    return 0;
}
