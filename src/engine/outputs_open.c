/* SPDX-License-Identifier: MIT */
#include "engine/outputs_open.h"

#include "base/err.h"
#include "base/file.h"

#include <string.h>
#include <sys/stat.h>

static int add_one(void *tracker, const struct toll_output *o, struct toll_error *e)
{
    struct toll_tracker *t = tracker;
    struct sink *s;
    for (size_t i = 0; o->destination && i < t->sink_count; i++)
        if (sink_writes_to(t->sinks[i], o->destination))
            return err_set(e, -EINVAL, "'%s' is given twice", o->destination);
    struct sink **sinks = realloc(t->sinks, (t->sink_count + 1) * sizeof *sinks);
    if (!sinks)
        return err_set(e, -ENOMEM, "no memory for an output");
    t->sinks = sinks;
    int r = sink_open(&s, o, &t->selection, e);
    if (r < 0)
        return r;
    t->sinks[t->sink_count++] = s;
    t->run.system |= sink_needs_system(s);
    t->slow.is_in_rows |= sink_needs_rollup(s);
    return 0;
}

bool outputs_is_directory(const struct toll_output *o)
{
    return o->dialect && o->destination && file_is_directory(o->destination);
}

int outputs_each_file(const struct toll_output *o,
                      int (*add)(void *arg, const struct toll_output *one, struct toll_error *e),
                      void *arg, struct toll_error *e)
{
    struct dialect_choice choice;
    int r = dialect_choice_parse(&choice, o->dialect, e);
    if (r < 0)
        return r;
    const struct dialect *d = choice.dialect;
    if (!d->tables[0].file)
        r = err_set(e, -EINVAL,
                    "'%s' is a directory, and the dialect %s has no files of several names; it "
                    "takes a file",
                    o->destination, d->facts.name);
    else if (mkdir(o->destination, 0777) < 0 && errno != EEXIST)
        r = err_set(e, -errno, "cannot make the directory '%s': %s", o->destination,
                    strerror(errno));
    for (size_t i = 0; r == 0 && i < d->table_count; i++) {
        struct buf path = {0};
        struct toll_output one = *o;
        buf_printf(&path, "%s%s%s", o->destination, ends_with(o->destination, "/") ? "" : "/",
                   d->tables[i].file);
        one.destination = path.data;
        one.format = d->tables[i].format;
        r = buf_failed(&path) ? err_set(e, -ENOMEM, "no memory for an output") : add(arg, &one, e);
        buf_done(&path);
    }
    dialect_choice_done(&choice);
    return r;
}

int outputs_add(struct toll_tracker *t, const struct toll_output *o, struct toll_error *e)
{
    return outputs_is_directory(o) ? outputs_each_file(o, add_one, t, e) : add_one(t, o, e);
}
