/* SPDX-License-Identifier: MIT
 * toll mark: say something to the toll run that this runs under. Nothing is measured here, so that
 * it is over at once. */
#include "base/text/scan.h"
#include "cli/cli.h"

#include <string.h>

static const char accepted[] = "'toll mark phase begin NAME', 'phase end NAME', 'event NAME "
                               "[KEY=VALUE…]' or 'gauge NAME VALUE'";

/* The words after the options; 0, or 125 and a sentence. */
static int mark_command_read_words(int count, char **words, struct toll_mark *m)
{
    const char *what = count ? words[0] : "";
    bool phase = strcmp(what, "phase") == 0, gauge = strcmp(what, "gauge") == 0;
    bool event = strcmp(what, "event") == 0;
    if (!phase && !gauge && !event)
        return complain(count ? "'%s' is not a kind of mark; there are %s" : "%sthere are %s", what,
                        accepted);
    if (phase && count >= 2 && strcmp(words[1], "begin") != 0 && strcmp(words[1], "end") != 0)
        return complain("'%s' is not what a phase can do; it can begin and end: %s", words[1],
                        accepted);
    int name = phase ? 2 : 1;
    int wanted = gauge ? 3 : name + 1;
    if (count < wanted)
        return complain("a word is missing; there are %s", accepted);
    bool may_have_more = event || (phase && strcmp(words[1], "begin") == 0);
    if (count > wanted && !may_have_more)
        return complain("'%s' is too much; there are %s", words[wanted], accepted);
    m->kind = gauge                            ? TOLL_MARK_GAUGE
              : event                          ? TOLL_MARK_EVENT
              : strcmp(words[1], "begin") == 0 ? TOLL_MARK_PHASE_BEGIN
                                               : TOLL_MARK_PHASE_END;
    m->name = words[name];
    struct scan value = scan_string(gauge ? words[2] : "");
    if (gauge && !(scan_number(&value, &m->value) && scan_done(&value)))
        return complain("'%s' is not a value; a number such as 3, -0.5 or 1e6 is", words[2]);
    for (int i = wanted; i < count; i++)
        if (words[i][0] == '=' || words[i][0] == '@' || !strchr(words[i], '='))
            return complain("'%s' is not of the form KEY=VALUE", words[i]);
    m->attributes = may_have_more ? (const char *const *)(words + wanted) : NULL;
    return 0;
}

static int mark_command_send(const struct toll_mark *m, bool verbose)
{
    int r = toll_mark(NULL, m);
    if (r == -EINVAL)
        return complain("the mark '%s' cannot be sent: a name is 1 to 128 bytes of UTF-8 without "
                        "control characters, all words together are up to 4000 bytes",
                        m->name);
    if (verbose && r == 1)
        complain("nobody listens: this does not run under 'toll run'");
    if (verbose && r < 0)
        complain("the mark was lost: %s", strerror(-r));
    return 0; /* whatever became of it, the job goes on */
}

int mark_main(int argc, char **argv)
{
    bool verbose = false;
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        const char *option = argv[first];
        if (strcmp(option, "--") == 0) {
            first++;
            break;
        }
        if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0)
            return help_subcommand("mark");
        if (strcmp(option, "-v") != 0 && strcmp(option, "--verbose") != 0)
            return complain("toll mark has no option %s; there are --verbose and --help", option);
        verbose = true;
    }
    struct toll_mark m = {.size = sizeof m, .pid = getppid()};
    int status = mark_command_read_words(argc - first, argv + first, &m);
    return status ? status : mark_command_send(&m, verbose);
}
