/* SPDX-License-Identifier: MIT */
#include "cli/phase_jobs.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/pickle.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A new file beside the place of the other, or NULL in *ret_beside: then it is written as it is. So
 * is what is no file (/dev/stderr), and what stands where nothing can be made beside it. */
static int open_beside(const char *path, char **ret_beside)
{
    struct stat there;
    struct buf beside = {0};
    bool is_there = stat(path, &there) == 0;
    if (!is_there || S_ISREG(there.st_mode)) {
        buf_printf(&beside, "%s.%d.tmp", path, (int)getpid());
        if (buf_failed(&beside))
            return -ENOMEM;
        int fd = open(beside.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), error = errno;
        if (fd >= 0) {
            *ret_beside = beside.data;
            return fd;
        }
        buf_done(&beside);
        if (!is_there)
            return -error;
    }
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Beside the file, and then in its place; of a link, in that of what it leads to. */
static int write_file(const char *data, size_t length, const char *path, struct toll_error *e)
{
    CLEANUP_FREE char *beside = NULL;
    CLEANUP_FREE char *there = realpath(path, NULL);
    const char *place = there ? there : path;
    CLEANUP_CLOSE int fd = open_beside(place, &beside);
    int r = fd < 0 ? fd : file_write_all(fd, data, length, NULL);
    if (r == 0 && beside && rename(beside, place) < 0)
        r = -errno;
    if (r < 0 && beside)
        unlink(beside);
    return r < 0 ? err_set(e, r, "%s: %s", path, strerror(-r)) : 0;
}

static bool is_pickle(const char *format)
{
    return format && strcmp(format, "pickle") == 0;
}

const char *phase_format(const char *format)
{
    return is_pickle(format) ? "json" : format;
}

static int print_text(const char *data, size_t length, bool newline, struct toll_error *e)
{
    if (fwrite(data, 1, length, stdout) == length && (!newline || putchar('\n') != EOF) &&
        fflush(stdout) == 0)
        return 0;
    return err_set(e, -EIO, "cannot write to stdout");
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
