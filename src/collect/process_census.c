/* SPDX-License-Identifier: MIT */
#include "collect/process_census.h"

#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { CALLS_BETWEEN_CHECKS = 64, TRIES = 4 };

struct entries {
    int proc;
    uint64_t processes;
    uint64_t directories; /* of other things, when with_directories */
    bool with_directories;
    bool first_seen; /* process 1 */
};

static void count_entry(void *arg, const char *name)
{
    struct entries *e = arg;
    struct scan s = scan_string(name);
    uint64_t pid;
    struct stat st;
    if (scan_u64(&s, &pid) && scan_done(&s)) {
        e->processes++;
        e->first_seen |= pid == 1;
    } else if (e->with_directories && fstatat(e->proc, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        e->directories += S_ISDIR(st.st_mode);
}

/* 0 when they cannot be told. */
static uint64_t count_links(int proc)
{
    struct stat st;
    return fstat(proc, &st) < 0 ? 0 : st.st_nlink;
}

/* Processes come and go meanwhile, so it is tried a few times whether the links are those of the
 * entries that were counted and the two that every directory has. */
static void check_links(struct process_census *p, int proc)
{
    p->by_links = false;
    p->next_check_in = CALLS_BETWEEN_CHECKS;
    for (unsigned i = 0; i < TRIES && !p->by_links; i++) {
        struct entries e = {.proc = proc, .with_directories = true};
        if (file_each_entry(proc, count_entry, &e) < 0)
            return;
        p->other_links = e.directories + 2;
        p->by_links = count_links(proc) == e.processes + p->other_links;
    }
}

int process_census_take(struct process_census *p, const struct sysroot *root, uint64_t *ret)
{
    if (!root->live)
        p->by_links = false;
    else if (p->next_check_in == 0)
        check_links(p, root->proc);
    else
        p->next_check_in--;

    uint64_t links = p->by_links ? count_links(root->proc) : 0;
    if (p->by_links && links > p->other_links) {
        *ret = links - p->other_links;
        return 0;
    }
    struct entries e = {.proc = root->proc};
    int r = file_each_entry(root->proc, count_entry, &e);
    if (r < 0)
        return r;
    if (e.processes == 0) /* a tree without them: the one that asks is not there either */
        return -ENODATA;
    if (root->live && !e.first_seen) /* it is always there: we are shown only our own (hidepid) */
        return -ENODATA;
    *ret = e.processes;
    return 0;
}
