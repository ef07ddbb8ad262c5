/* SPDX-License-Identifier: MIT
 * toll phases: what code blocks used, from files that were written before. Nothing is measured. */
#include "cli/cli.h"

#include "base/err.h"
#include "base/io/output_file.h"
#include "base/text/buf.h"
#include "base/text/pickle.h"
#include "base/util.h"

#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ==== Phase jobs ============================================================================== */

enum { READER_WAIT_MS = 5000, STDOUT_WAIT_MS = 60000 };

/* As a whole, or what is no regular file (/dev/stderr) as it is. */
static int write_file(const char *data, size_t length, const char *path, struct toll_error *e)
{
    struct replacement file;
    struct stream out;
    int r = replacement_open(&file, path, REPLACEMENT_IN_PLACE, e);
    if (r < 0)
        return r;
    stream_open(&out, file.fd);
    r = stream_write_patiently(&out, data, length, READER_WAIT_MS);
    stream_close(&out);
    if (r == 0)
        r = replacement_commit(&file);
    replacement_close(&file);
    return r < 0 ? err_set(e, r, "cannot write to '%s': %s", path, strerror(-r)) : 0;
}

static bool is_pickle(const char *format)
{
    return format && strcmp(format, "pickle") == 0;
}

const char *phase_format(const char *format)
{
    return is_pickle(format) ? "json" : format;
}

/* A person may sit before a page of 'less' that is full; a signal handler ends the wait. */
static int print_text(const char *data, size_t length, bool newline, struct toll_error *e)
{
    struct stream out;
    fflush(stdout);
    stream_open(&out, STDOUT_FILENO);
    int r = stream_write_patiently(&out, data, length, STDOUT_WAIT_MS);
    if (r == 0 && newline)
        r = stream_write_patiently(&out, "\n", 1, STDOUT_WAIT_MS);
    stream_close(&out);
    return r < 0 ? err_set(e, r, "cannot write to stdout: %s",
                           r == -EAGAIN ? "destination too slow" : strerror(-r))
                 : 0;
}

int phase_deliver(const char *text, const char *format, const char *output, struct toll_error *e)
{
    struct buf pickle = {0};
    const char *data = text;
    size_t length = strlen(text);
    if (is_pickle(format)) {
        if (pickle_from_json(&pickle, text, length) < 0) {
            buf_done(&pickle);
            return err_set(e, -ENOMEM, "no memory for the results");
        }
        data = pickle.data;
        length = pickle.length;
    }
    int r = output ? write_file(data, length, output, e)
                   : print_text(data, length, !is_pickle(format), e);
    buf_done(&pickle);
    return r;
}

static int phase_jobs_is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int combine_directory(const char *destination, const char *directory, struct toll_error *e)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, phase_jobs_is_shown, alphasort);
    if (count < 0)
        return err_set(e, -errno, "%s: %s", directory, strerror(errno));
    char **paths = calloc((size_t)count + 1, sizeof *paths);
    int r = paths ? 0 : -ENOMEM;
    for (int i = 0; i < count; i++) {
        struct buf path = {0};
        buf_printf(&path, "%s/%s", directory, entries[i]->d_name);
        free(entries[i]);
        if (buf_failed(&path))
            r = -ENOMEM;
        if (paths)
            paths[i] = path.data;
        else
            buf_done(&path);
    }
    free(entries);
    if (r < 0)
        err_set(e, r, "no memory for the names of files");
    else if (!count)
        r = err_set(e, -ENOENT, "%s: there are no files in it", directory);
    else
        r = toll_phases_combine(destination, (const char *const *)paths, e);
    for (int i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
    return r;
}

int phase_combine(const char *destination, const char *const *paths, struct toll_error *e)
{
    struct stat there;
    if (paths[0] && !paths[1] && stat(paths[0], &there) == 0 && S_ISDIR(there.st_mode))
        return combine_directory(destination, paths[0], e);
    return toll_phases_combine(destination, paths, e);
}

/* ==== Phases command ========================================================================== */

static const char accepted[] = "'toll phases analyze POINTS [BLOCKS]', 'combine -o FILE BLOCKS…' "
                               "or 'compare NAME=FILE…'";

struct request {
    const char *output, *format, *statistic;
    char **words; /* after the subcommand's own word, NULL-terminated */
    int count;
    bool help;
};

/* 0, or 125 and a sentence. */
static int phases_command_read_options(struct request *r, int argc, char **argv)
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

static void phases_command_say(void *arg, const char *sentence)
{
    complain("%s", sentence);
}

static int phases_command_analyze(const struct request *r, char **ret, struct toll_error *e)
{
    return toll_phases_analyze(r->words[1], r->words[2], phase_format(r->format), ret, e);
}

static int phases_command_compare(const struct request *r, char **ret, struct toll_error *e)
{
    struct toll_comparison c = {
        .size = sizeof c,
        .sessions = (const char *const *)r->words + 1,
        .statistic = r->statistic,
        .format = phase_format(r->format),
        .note = phases_command_say,
    };
    return toll_phases_compare(&c, ret, e);
}

static int phases_command_tell(const struct request *r,
                               int (*make)(const struct request *r, char **ret,
                                           struct toll_error *e))
{
    struct toll_error e = {0};
    CLEANUP_FREE char *text = NULL;
    if (make(r, &text, &e) < 0 || phase_deliver(text, r->format, r->output, &e) < 0)
        return complain("%s", e.message);
    return 0;
}

static int phases_command_combine(const struct request *r)
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
    int status = phases_command_read_options(&r, argc, argv);
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
    return is_combination ? phases_command_combine(&r)
                          : phases_command_tell(&r, is_analysis ? phases_command_analyze
                                                                : phases_command_compare);
}
