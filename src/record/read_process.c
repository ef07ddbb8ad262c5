/* SPDX-License-Identifier: MIT
 * Single processes: rows of a sample, and those that have left. */
#include "record/reading.h"

#include "sink/record_words.h"

static uint64_t bit_of(const struct reading *r, const struct scan *name)
{
    for (size_t i = 0; i < r->run.target_count; i++)
        if (json_in_is(name, r->run.targets[i].name))
            return BIT(i);
    return 0;
}

static void read_memberships(struct reading *r, struct entity *e)
{
    struct json_in *j = &r->json;
    struct scan name;
    json_in_array(j);
    while (json_in_item(j) && json_in_string(j, &name))
        e->targets |= bit_of(r, &name);
}

/* What rows and lines have in common. */
static void read_member(struct reading *r, const struct scan *key, struct entity *e,
                        struct row *row, unsigned *next)
{
    struct json_in *j = &r->json;
    if (json_in_is(key, "pid"))
        read_pid(j, &e->pid);
    else if (json_in_is(key, "parent"))
        read_pid(j, &e->parent);
    else if (json_in_is(key, "start_ticks"))
        read_u64(j, &e->start_ticks);
    else if (json_in_is(key, "name"))
        read_name(j, e->name, sizeof e->name);
    else if (json_in_is(key, "targets"))
        read_memberships(r, e);
    else
        read_row_member(r, ENTITY_PROCESS, key, row, &r->selection.of[ENTITY_PROCESS], next);
}

bool read_process_row(struct reading *r, struct process_row *ret)
{
    struct json_in *j = &r->json;
    struct scan key;
    unsigned next = 0;
    ret->entity = (struct entity){.kind = ENTITY_PROCESS};
    row_init(&ret->row, ENTITY_PROCESS);
    json_in_object(j);
    while (json_in_key(j, &key))
        read_member(r, &key, &ret->entity, &ret->row, &next);
    return !j->failed && read_row_is_sound(r, &ret->row);
}

bool read_process(struct reading *r)
{
    struct json_in *j = &r->json;
    struct process *p = &r->process;
    struct process_end *e = &r->process_end;
    struct scan key;
    unsigned next = 0;
    int how;
    *p = (struct process){.entity = {.kind = ENTITY_PROCESS}};
    row_init(&p->own, ENTITY_PROCESS);
    *e = (struct process_end){.process = p};
    json_in_object(j);
    while (json_in_key(j, &key)) {
        if (json_in_is(&key, "type")) {
            json_in_skip(j);
        } else if (json_in_is(&key, "elapsed_seconds")) {
            read_seconds(j, &e->elapsed_ns);
        } else if (json_in_is(&key, "left")) {
            how = read_word(j, record_words_left, DEPARTURES);
            e->how = how < 0 ? LEFT_LOST : (enum departure)how;
        } else if (json_in_is(&key, "end")) {
            e->has_status = !json_in_null(j) && read_end(r, &e->end);
        } else {
            read_member(r, &key, &p->entity, &p->own, &next);
        }
    }
    return json_in_end(j) && read_row_is_sound(r, &p->own);
}
