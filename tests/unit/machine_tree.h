/* SPDX-License-Identifier: MIT
 * A machine, recorded in a directory or the one we run on, and a collector that reads it. */
#pragma once

#include "figures.h"
#include "source/collector.h"
#include "tree.h"

struct machine {
    struct tree tree;
    struct sysroot root;
    struct selection selection;
    struct instance system;
    struct collect_context context;
    const struct collector *collector; /* NULL when none is open */
    void *state;                       /* … and its own */
    struct instance_list list;
    unsigned notes;
    char note[512]; /* the last one */
    pid_t helper;   /* the last one */
    unsigned helpers;
};

static inline void machine_note(void *arg, const char *sentence)
{
    struct machine *m = arg;
    m->notes++;
    snprintf(m->note, sizeof m->note, "%s", sentence);
}

static inline void machine_own_child(void *arg, pid_t pid)
{
    struct machine *m = arg;
    m->helpers++;
    m->helper = pid;
}

static inline void machine_make_at(struct machine *m, const char *path)
{
    assert_int_equal(sysroot_open(&m->root, path, NULL), 0);
    assert_int_equal(selection_parse(&m->selection, NULL, NULL), 0);
    instance_init(&m->system, ENTITY_SYSTEM);
    m->context = (struct collect_context){
        .root = &m->root,
        .selection = &m->selection,
        .system = &m->system,
        .note = machine_note,
        .note_arg = m,
        .own_child = machine_own_child,
    };
}

/* As good as empty; proc and sys have to be there before they are opened. */
static inline void machine_make(struct machine *m)
{
    *m = (struct machine){0};
    tree_make(&m->tree);
    tree_write(&m->tree, "proc/version", "Linux\n");
    tree_write(&m->tree, "sys/kernel/notes", "\n");
    machine_make_at(m, m->tree.path);
}

/* This machine. */
static inline void machine_make_live(struct machine *m)
{
    *m = (struct machine){0};
    machine_make_at(m, NULL);
}

/* A collector that was opened already. */
static inline void machine_use(struct machine *m, const struct collector *c, void *state)
{
    m->collector = c;
    m->state = state;
}

static inline void machine_open(struct machine *m, const struct collector *c)
{
    void *state;
    assert_int_equal(c->open(&state, &m->context), 0);
    machine_use(m, c, state);
}

static inline void machine_collect(struct machine *m)
{
    m->list.count = 0;
    m->collector->collect(m->state, &m->context, &m->list);
}

/* The collector alone. */
static inline void machine_close(struct machine *m)
{
    if (!m->collector)
        return;
    m->collector->close(m->state);
    m->collector->close(NULL);
    m->collector = NULL;
}

static inline void machine_remove(struct machine *m)
{
    machine_close(m);
    instance_list_done(&m->list);
    sysroot_close(&m->root);
    if (*m->tree.path)
        tree_remove(&m->tree);
}

/* Of those read at the last tick, the thing of that name, or NULL. */
static inline struct instance *machine_find(const struct machine *m, const char *name)
{
    struct instance *found = NULL;
    for (size_t i = 0; i < m->list.count; i++) {
        if (strcmp(entity_name(&m->list.items[i]->entity), name) != 0)
            continue;
        assert_null(found); /* nothing is listed twice */
        found = m->list.items[i];
    }
    return found;
}

static inline const char *label_of(const struct instance *m, const char *key)
{
    for (unsigned i = 0; i < ENTITY_LABELS; i++)
        if (m->entity.labels[i].key && strcmp(m->entity.labels[i].key, key) == 0)
            return m->entity.labels[i].value;
    return NULL;
}
