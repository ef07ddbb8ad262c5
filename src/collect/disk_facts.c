/* SPDX-License-Identifier: MIT */
#include "collect/disk_facts.h"

#include "base/file.h"
#include "base/util.h"
#include "parse/diskstats.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

enum { PATH_BYTES = DISKSTATS_NAME_BYTES + 32 };

const char *disk_class_name(enum disk_class class)
{
    static const char *const names[] = {"", "disk", "stacked", "virtual"};
    return names[class];
}

/* A slash in a name (cciss/c0d0) is written as ! in /sys. */
static void block_path(char ret[PATH_BYTES], const char *name, const char *file)
{
    int start = snprintf(ret, PATH_BYTES, "block/");
    snprintf(ret + start, PATH_BYTES - (size_t)start, "%s%s", name, file);
    for (size_t i = 0; i < strlen(name); i++)
        if (name[i] == '/')
            ret[(size_t)start + i] = '!';
}

/* The prefix and a number: md127, not mdraid. */
static bool is_named(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        struct scan s = scan_string(name);
        uint64_t number;
        if (scan_word(&s, *prefixes) && scan_u64(&s, &number))
            return true;
    }
    return false;
}

static void count_entry(void *arg, const char *name)
{
    (void)name;
    ++*(unsigned *)arg;
}

static bool has_entries(int at, const char *path)
{
    unsigned count = 0;
    CLEANUP_CLOSE int dir = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && file_each_entry(dir, count_entry, &count) == 0 && count > 0;
}

/* The head of an NVMe device with several paths stands for all of them. */
static bool is_hidden(int dir)
{
    char text[4];
    return file_read_at(dir, "hidden", text, sizeof text) > 0 && text[0] == '1';
}

/* A device below the machine's hardware has a link to it, and is not among the virtual ones. In a
 * recorded tree the entry may be a plain directory, which says nothing of where it stands. */
static bool has_hardware(const struct sysroot *root, const char *path, int dir)
{
    struct stat st;
    char target[256];
    if (fstatat(dir, "device", &st, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    ssize_t length = readlinkat(root->sys, path, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    return !strstr(target, "/virtual/");
}

struct disk_facts disk_facts_read(const struct sysroot *root, const char *name)
{
    static const char *const stacked[] = {"dm-", "md", "md_d", "bcache", NULL};
    static const char *const no_hardware[] = {"loop", "zram", "ram", "nbd", NULL};
    char path[PATH_BYTES];
    block_path(path, name, "");
    CLEANUP_CLOSE int dir = root->sys < 0
                                ? -1
                                : openat(root->sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || is_hidden(dir))
        return (struct disk_facts){.class = DISK_IGNORED};
    bool has_slaves = has_entries(dir, "slaves");
    if (has_slaves || is_named(name, stacked))
        return (struct disk_facts){.class = DISK_STACKED, .has_slaves = has_slaves};
    if (is_named(name, no_hardware) || !has_hardware(root, path, dir))
        return (struct disk_facts){.class = DISK_VIRTUAL};
    return (struct disk_facts){.class = DISK_REAL};
}

bool disk_facts_exist(const struct sysroot *root, const char *name)
{
    char path[PATH_BYTES];
    struct stat st;
    block_path(path, name, "");
    return root->sys >= 0 && fstatat(root->sys, path, &st, 0) == 0;
}

int disk_facts_read_size(const struct sysroot *root, const char *name, uint64_t *ret_bytes)
{
    char path[PATH_BYTES], text[32];
    uint64_t sectors;
    block_path(path, name, "/size");
    ssize_t n = root->sys < 0 ? -ENOENT : file_read_at(root->sys, path, text, sizeof text);
    if (n < 0)
        return (int)n;
    struct scan s = scan_text(text, (size_t)n);
    if (!scan_u64(&s, &sectors) || !scan_word(&s, "\n") ||
        sectors > UINT64_MAX / DISKSTATS_SECTOR_BYTES)
        return -EBADMSG;
    *ret_bytes = sectors * DISKSTATS_SECTOR_BYTES;
    return 0;
}
