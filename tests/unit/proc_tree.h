/* SPDX-License-Identifier: MIT
 * The files of processes in a tree that stands for /proc. */
#pragma once

#include "base/io/file.h"
#include "figures.h"
#include "source/proc/reader.h"
#include "tree.h"

/* What is set of a process; the rest of its files is plausible. */
struct proc_facts {
    int pid, parent;
    const char *name;
    char state;
    unsigned long long user, system, children_user, children_system; /* ticks */
    unsigned threads;
    unsigned long long start;
    unsigned long long virtual_bytes, rss_pages;
    unsigned long long minor, children_minor, major, children_major;
};

static inline void proc_write(const struct tree *t, int pid, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "proc/%d/%s", pid, name);
    tree_write(t, path, text);
}

static inline void proc_stat(const struct tree *t, const struct proc_facts *f)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "%d (%s) %c %d %d %d 0 -1 4194560 %llu %llu %llu %llu %llu %llu %llu %llu 20 0 %u 0 "
        "%llu %llu %llu 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 "
        "0\n",
        f->pid, f->name ? f->name : "job", f->state ? f->state : 'S', f->parent, f->pid, f->pid,
        f->minor, f->children_minor, f->major, f->children_major, f->user, f->system,
        f->children_user, f->children_system, f->threads ? f->threads : 1, f->start,
        f->virtual_bytes ? f->virtual_bytes : 8192, f->rss_pages);
    proc_write(t, f->pid, "stat", text);
}

static inline void proc_io(const struct tree *t, int pid, const char *file, unsigned long long read,
                           unsigned long long written)
{
    char text[512];
    snprintf(text, sizeof text,
             "rchar: %llu\nwchar: %llu\nsyscr: %llu\nsyscw: %llu\nread_bytes: %llu\n"
             "write_bytes: %llu\ncancelled_write_bytes: 0\n",
             read, written, read / 10, written / 10, read / 2, written / 2);
    proc_write(t, pid, file, text);
}

static inline void proc_children(const struct tree *t, int pid, int thread, const char *children)
{
    char name[64];
    snprintf(name, sizeof name, "task/%d/children", thread);
    proc_write(t, pid, name, children);
}

/* A reader on the tree that asks for everything. */
struct proc_reader {
    struct tree tree;
    struct sysroot root;
    struct process_reader reader;
};

static inline void proc_open(struct proc_reader *p)
{
    tree_make(&p->tree);
    tree_write(&p->tree, "proc/version", "Linux\n");
    assert_int_equal(sysroot_open(&p->root, p->tree.path, NULL), 0);
    assert_false(p->root.live);
    assert_int_equal(process_reader_init(&p->reader, &p->root, ~UINT64_C(0)), 0);
    assert_int_equal(p->reader.cache.limit, 0);
    process_reader_keep_files(&p->reader);
}

static inline void proc_close(struct proc_reader *p)
{
    assert_int_equal(p->reader.cache.used, 0);
    process_reader_done(&p->reader);
    sysroot_close(&p->root);
    tree_remove(&p->tree);
}

static inline void proc_begin(struct process *p, struct process_source *s, int pid)
{
    memset(p, 0, sizeof *p);
    p->entity.kind = ENTITY_PROCESS;
    p->entity.pid = pid;
    row_init(&p->own, ENTITY_PROCESS);
    p->inherited = (struct inherited){0};
    process_source_init(s);
    s->children_after_ns = 0;
}
