/* SPDX-License-Identifier: MIT
 * toll mark: send a mark to the toll run around it. Nothing is measured here, so that it ends at
 * once. */
#include "base/text/scan.h"
#include "cli/options.h"

#include <string.h>

static const char accepted[] = "expected 'phase begin NAME [KEY=VALUE…]', 'phase end NAME', 'event "
                               "NAME [KEY=VALUE…]' or 'gauge NAME VALUE'";

/* The words after the options; 0, or 125 and a sentence. */
static int mark_command_read_words(size_t count, const char **words, struct toll_mark *m)
{
    const char *what = count ? words[0] : "";
    bool phase = strcmp(what, "phase") == 0, gauge = strcmp(what, "gauge") == 0;
    bool event = strcmp(what, "event") == 0;
    if (!phase && !gauge && !event)
        return complain(count ? "mark: unknown kind '%s' (%s)" : "mark: missing arguments%s (%s)",
                        what, accepted);
    if (phase && count >= 2 && strcmp(words[1], "begin") != 0 && strcmp(words[1], "end") != 0)
        return complain("mark: unknown word '%s' after 'phase' (expected begin or end)", words[1]);
    size_t name = phase ? 2 : 1;
    size_t wanted = gauge ? 3 : name + 1;
    if (count < wanted)
        return complain("mark: missing argument (%s)", accepted);
    bool may_have_more = event || (phase && strcmp(words[1], "begin") == 0);
    if (count > wanted && !may_have_more)
        return complain("mark: unexpected argument '%s' (%s)", words[wanted], accepted);
    m->kind = gauge                            ? TOLL_MARK_GAUGE
              : event                          ? TOLL_MARK_EVENT
              : strcmp(words[1], "begin") == 0 ? TOLL_MARK_PHASE_BEGIN
                                               : TOLL_MARK_PHASE_END;
    m->name = words[name];
    struct scan value = scan_string(gauge ? words[2] : "");
    if (gauge && !(scan_number(&value, &m->value) && scan_done(&value)))
        return complain("mark: invalid value '%s' (expected a number such as 3, -0.5 or 1e6)",
                        words[2]);
    for (size_t i = wanted; i < count; i++)
        if (words[i][0] == '=' || words[i][0] == '@' || !strchr(words[i], '='))
            return complain("mark: invalid attribute '%s' (expected KEY=VALUE)", words[i]);
    m->attributes = may_have_more ? words + wanted : NULL;
    return 0;
}

static int mark_command_send(const struct toll_mark *m, bool verbose)
{
    int r = toll_mark(NULL, m);
    if (r == -EINVAL)
        return complain(
            "mark: cannot send '%s' (expected a name of 1 to 128 bytes of UTF-8 without "
            "control characters, and 4000 bytes at most with all attributes)",
            m->name);
    if (verbose && r == 1)
        complain("mark: not sent: not running under 'toll run'");
    if (verbose && r < 0)
        complain("mark: not sent: %s", strerror(-r));
    return 0; /* whatever became of it, the job goes on */
}

static int mark_command(struct settings *s)
{
    struct toll_mark m = {.size = sizeof m, .pid = getppid()};
    size_t count = 0;
    while (s->words && s->words[count])
        count++;
    int status = mark_command_read_words(count, s->words, &m);
    return status ? status : mark_command_send(&m, s->verbose);
}

int mark_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, SIZE_MAX, mark_command);
}
