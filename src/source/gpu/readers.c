/* SPDX-License-Identifier: MIT */
#include "source/gpu/readers.h"

#include "base/thread.h"
#include "source/gpu/reader.h"

struct source {
    struct gpu_reader *reader; /* owned */
    struct gpu_frame newest;
    bool has_place;
    unsigned place;       /* of its devices in the common frame … */
    unsigned place_count; /* … as many as it had at first */
    bool late_told;
};

struct gpu_readers {
    struct source sources[GPU_READERS_MAX];
    size_t count;
    unsigned places; /* that were given away */
};

/* ---- Beginning and end ----------------------------------------------------------------------- */

static int start_all(struct gpu_readers *r, const struct sysroot *root,
                     const struct gpu_vendor *const *vendors, bool all)
{
    int result = -ENODEV;
    for (; *vendors && r->count < GPU_READERS_MAX; vendors = gpu_vendor_next(vendors)) {
        if (!all && !gpu_vendor_is_likely(vendors, root))
            continue;
        result = gpu_reader_start(&r->sources[r->count].reader, root, vendors, all);
        if (result < 0)
            return result;
        r->count++;
    }
    return result;
}

int gpu_readers_start(struct gpu_readers **ret, const struct sysroot *root,
                      const struct gpu_vendor *const *vendors, bool all)
{
    struct gpu_readers *r = calloc(1, sizeof *r);
    if (!r)
        return -ENOMEM;
    struct sysroot whole;
    sysroot_copy(&whole, root);
    sysroot_open_rest(&whole); /* before a command is started there is but /proc */
    int result = start_all(r, &whole, vendors, all);
    sysroot_close(&whole);
    if (result < 0) {
        gpu_readers_free(r, 0);
        return result;
    }
    *ret = r;
    return 0;
}

void gpu_readers_free(struct gpu_readers *r, int wait_ms)
{
    if (!r)
        return;
    uint64_t until_ns = wait_until(wait_ms);
    for (size_t i = 0; i < r->count; i++)
        gpu_reader_stop(r->sources[i].reader);
    for (size_t i = 0; i < r->count; i++) {
        struct source *s = &r->sources[i];
        gpu_reader_free(s->reader, gpu_reader_is_open(s->reader) == -EAGAIN ? 0 : until_ns);
        gpu_frame_done(&s->newest);
    }
    free(r);
}

/* ---- Frames ---------------------------------------------------------------------------------- */

bool gpu_readers_are_asked(struct gpu_readers *r)
{
    bool all = true;
    for (size_t i = 0; i < r->count; i++)
        all &= gpu_reader_is_asked(r->sources[i].reader);
    return all;
}

void gpu_readers_ask(struct gpu_readers *r, const pid_t *pids, size_t count, uint64_t due_ns)
{
    for (size_t i = 0; i < r->count; i++)
        if (!due_ns || !gpu_reader_is_asked(r->sources[i].reader))
            gpu_reader_ask(r->sources[i].reader, pids, count, due_ns);
}

static void give_place(struct gpu_readers *r, struct source *s)
{
    if (s->has_place)
        return;
    s->has_place = true;
    s->place = r->places;
    s->place_count = (unsigned)s->newest.device_count;
    r->places += s->place_count;
}

bool gpu_readers_take(struct gpu_readers *r, struct gpu_frame *f)
{
    bool any = false;
    for (size_t i = 0; i < r->count; i++) {
        struct source *s = &r->sources[i];
        bool is_new = gpu_reader_take(s->reader, &s->newest);
        is_new |= gpu_reader_take_energy(s->reader, &s->newest);
        if (is_new)
            give_place(r, s);
        any |= is_new;
    }
    if (!any)
        return false;
    f->process_count = 0; /* devices stay where they are */
    for (size_t i = 0; i < r->count; i++) {
        const struct source *s = &r->sources[i];
        if (s->has_place)
            gpu_frame_join(f, &s->newest, s->place, s->place_count);
    }
    return true;
}

bool gpu_readers_wait(struct gpu_readers *r, int timeout_ms, bool is_patient)
{
    uint64_t until_ns = wait_until(timeout_ms);
    bool all = true;
    for (size_t i = 0; i < r->count; i++) {
        struct gpu_reader *reader = r->sources[i].reader;
        if (is_patient || gpu_reader_is_open(reader) != -EAGAIN)
            all &= gpu_reader_wait_frame(reader, until_ns);
    }
    return all;
}

int gpu_readers_hurry(struct gpu_readers *r)
{
    enum { MOST_MS = 500 };
    uint64_t most_ns = 0;
    for (size_t i = 0; i < r->count; i++) {
        gpu_reader_hurry(r->sources[i].reader);
        most_ns = max_u64(most_ns, gpu_reader_energy_cost_ns(r->sources[i].reader));
    }
    return (int)min_u64(3 * most_ns / NS_PER_MS, MOST_MS);
}

uint64_t gpu_readers_helper_cpu_ns(const struct gpu_readers *r)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < r->count; i++)
        ns += gpu_reader_helper_cpu_ns(r->sources[i].reader);
    return ns;
}

/* ---- What else is known ---------------------------------------------------------------------- */

int gpu_readers_open_count(struct gpu_readers *r)
{
    int count = 0;
    for (size_t i = 0; i < r->count; i++) {
        int is_open = gpu_reader_is_open(r->sources[i].reader);
        if (is_open < 0)
            return is_open;
        count += is_open;
    }
    return count;
}

bool gpu_readers_are_complete(struct gpu_readers *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (!r->sources[i].has_place && gpu_reader_is_open(r->sources[i].reader) != 0)
            return false;
    return true;
}

bool gpu_readers_say(struct gpu_readers *r, struct gpu_trouble *ret)
{
    for (size_t i = 0; i < r->count; i++)
        if (gpu_reader_says(r->sources[i].reader, ret))
            return true;
    return false;
}

void gpu_readers_excuse(struct gpu_readers *r, struct gpu_trouble *ret)
{
    ret->sentence[0] = '\0';
    for (size_t i = 0; i < r->count && !*ret->sentence; i++)
        gpu_reader_excuse(r->sources[i].reader, ret);
}

const struct gpu_vendor *gpu_readers_late(struct gpu_readers *r, uint64_t longer_ns,
                                          bool *ret_is_beginning)
{
    for (size_t i = 0; i < r->count; i++) {
        struct source *s = &r->sources[i];
        const struct gpu_vendor *with;
        if (s->late_told || gpu_reader_busy_ns(s->reader, &with) <= longer_ns || !with)
            continue;
        s->late_told = true;
        *ret_is_beginning = gpu_reader_is_open(s->reader) == -EAGAIN;
        return with;
    }
    return NULL;
}

bool gpu_readers_have_child(struct gpu_readers *r, pid_t pid)
{
    for (size_t i = 0; i < r->count; i++)
        if (gpu_reader_has_child(r->sources[i].reader, pid))
            return true;
    return false;
}

size_t gpu_readers_threads(const struct gpu_readers *r, pid_t ret[GPU_READERS_MAX])
{
    for (size_t i = 0; i < r->count; i++)
        ret[i] = gpu_reader_thread(r->sources[i].reader);
    return r->count;
}
