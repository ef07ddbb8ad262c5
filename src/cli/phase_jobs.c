/* SPDX-License-Identifier: MIT */
#include "cli/phase_jobs.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/output_file.h"
#include "base/pickle.h"
#include "base/stream.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int combine_directory(const char *destination, const char *directory, struct toll_error *e)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_shown, alphasort);
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
