/* SPDX-License-Identifier: MIT
 * toll phases: what code blocks used, from files that were written before. Nothing is measured. */
#include "base/util.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "cli/phase_jobs.h"

#include <getopt.h>
#include <string.h>

static const char accepted[] = "'toll phases analyze POINTS [BLOCKS]', 'combine -o FILE BLOCKS…' "
                               "or 'compare NAME=FILE…'";

struct request {
    const char *output, *format, *statistic;
    char **words; /* behind the subcommand's own word, NULL behind the last */
    int count;
    bool help;
};

/* 0, or 125 and a sentence. */
static int read_options(struct request *r, int argc, char **argv)
{
    static const struct option known[] = {
        {"output", required_argument, NULL, 'o'},
        {"format", required_argument, NULL, 'f'},
        {"stat", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, ":o:f:h", known, NULL)) != -1;) {
        switch (c) {
        case 'o': r->output = optarg; break;
        case 'f': r->format = optarg; break;
        case 's': r->statistic = optarg; break;
        case 'h': r->help = true; break;
        case ':': return complain("%s takes a value", argv[optind - 1]);
        default:
            return complain("toll phases has no option %s; there are --output, --format, --stat "
                            "and --help",
                            argv[optind - 1]);
        }
    }
    r->words = argv + optind;
    r->count = argc - optind;
    return 0;
}

static void say(void *arg, const char *sentence)
{
    complain("%s", sentence);
}

static int analyze(const struct request *r, char **ret, struct toll_error *e)
{
    return toll_phases_analyze(r->words[1], r->words[2], phase_format(r->format), ret, e);
}

static int compare(const struct request *r, char **ret, struct toll_error *e)
{
    struct toll_comparison c = {
        .size = sizeof c,
        .sessions = (const char *const *)r->words + 1,
        .statistic = r->statistic,
        .format = phase_format(r->format),
        .note = say,
    };
    return toll_phases_compare(&c, ret, e);
}

static int tell(const struct request *r,
                int (*make)(const struct request *r, char **ret, struct toll_error *e))
{
    struct toll_error e = {0};
    CLEANUP_FREE char *text = NULL;
    if (make(r, &text, &e) < 0 || phase_deliver(text, r->format, r->output, &e) < 0)
        return complain("%s", e.message);
    return 0;
}

static int combine(const struct request *r)
{
    struct toll_error e = {0};
    if (!r->output)
        return complain("toll phases combine needs to know where to write: -o FILE");
    if (phase_combine(r->output, (const char *const *)r->words + 1, &e) < 0)
        return complain("%s", e.message);
    return 0;
}

int phases_main(int argc, char **argv)
{
    struct request r = {0};
    int status = read_options(&r, argc, argv);
    if (status)
        return status;
    if (r.help)
        return help_subcommand("phases");
    const char *what = r.count ? r.words[0] : "";
    bool is_analysis = strcmp(what, "analyze") == 0, is_comparison = strcmp(what, "compare") == 0;
    bool is_combination = strcmp(what, "combine") == 0;
    if (!is_analysis && !is_comparison && !is_combination)
        return complain(*what ? "'%s' is nothing that toll phases does; there are %s"
                              : "%sthere are %s",
                        what, accepted);
    if (r.count < 2)
        return complain("a word is missing; there are %s", accepted);
    if (is_analysis && r.count > 3)
        return complain("'%s' is too much; there are %s", r.words[3], accepted);
    if (r.statistic && !is_comparison)
        return complain("--stat is for 'toll phases compare'");
    return is_combination ? combine(&r) : tell(&r, is_analysis ? analyze : compare);
}
