/* SPDX-License-Identifier: MIT
 * toll sub-tracking: what code blocks used, from files that were written before. Nothing is
 * measured. */
#include "cli/options.h"

#include "base/err.h"
#include "base/io/output_file.h"
#include "base/text/buf.h"
#include "base/text/encoding.h"
#include "base/util.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ==== Files of code blocks ==================================================================== */

enum { READER_WAIT_MS = 5000, STDOUT_WAIT_MS = 60000 };

/* As a whole, or what is no regular file (/dev/stderr) as it is. */
int write_file(const char *data, size_t length, const char *path, struct toll_error *e)
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
            return err_set(e, -ENOMEM, "cannot write the results: out of memory");
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
        err_set(e, r, "cannot list the files: out of memory");
    else if (!count)
        r = err_set(e, -ENOENT, "%s: no files in this directory", directory);
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

/* ==== The command ============================================================================= */

static const char accepted[] =
    "expected 'analyze POINTS [BLOCKS]', 'combine -o FILE BLOCKS…' or 'compare NAME=FILE…'";

static void sub_tracking_note(void *arg, const char *sentence)
{
    complain("%s", sentence);
}

static int sub_tracking_compare(const struct settings *s, char **ret, struct toll_error *e)
{
    struct toll_comparison c = {
        .size = sizeof c,
        .sessions = s->words + 1,
        .statistic = s->statistic,
        .format = phase_format(s->results_format),
        .note = sub_tracking_note,
    };
    return toll_phases_compare(&c, ret, e);
}

static int sub_tracking_run(struct settings *s)
{
    CLEANUP_FREE char *text = NULL;
    struct toll_error e = {0};
    size_t count = 0;
    int r;
    while (s->words && s->words[count])
        count++;
    const char *what = count ? s->words[0] : "";
    bool is_analysis = strcmp(what, "analyze") == 0, is_comparison = strcmp(what, "compare") == 0;
    bool is_combination = strcmp(what, "combine") == 0;
    if (!is_analysis && !is_comparison && !is_combination)
        return complain(*what ? "sub-tracking: unknown command '%s' (%s)"
                              : "sub-tracking: missing arguments%s (%s)",
                        what, accepted);
    if (count < 2)
        return complain("sub-tracking: missing argument (%s)", accepted);
    if (is_analysis && count > 3)
        return complain("sub-tracking: unexpected argument '%s' (%s)", s->words[3], accepted);
    if (s->statistic && !is_comparison)
        return complain("sub-tracking %s: --stat is an option of compare only", what);
    if (is_combination && !s->results_file)
        return complain("sub-tracking combine: missing -o FILE");
    if (is_combination && s->results_format)
        return complain("sub-tracking combine: --format is an option of analyze and compare only");
    if (is_combination)
        r = phase_combine(s->results_file, s->words + 1, &e);
    else if (is_analysis)
        r = toll_phases_analyze(s->words[1], s->words[2], phase_format(s->results_format), &text,
                                &e);
    else
        r = sub_tracking_compare(s, &text, &e);
    if (r == 0 && !is_combination)
        r = phase_deliver(text, s->results_format, s->results_file, &e);
    return r < 0 ? complain_error("sub-tracking", &e) : 0;
}

int sub_tracking_main(int argc, char **argv)
{
    return subcommand_main(argc, argv, 0, SIZE_MAX, sub_tracking_run);
}
