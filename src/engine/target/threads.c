/* SPDX-License-Identifier: MIT */
#include "engine/target/threads.h"

#include "base/memory.h"
#include "engine/target/walk.h"
#include "source/pid_files.h"

#include <stdio.h>
#include <string.h>

/* The processes that are read, the threads that are kept of them, and all rows of a run. */
enum { PROCESSES_READ = 4, THREADS_KEPT = 4096, ROWS_AT_MOST = 256 };

/* A look each second; more often while the job is young. All together take at most a two-hundredth
 * of a CPU. */
#define LOOK_NS        NS_PER_SECOND
#define LOOK_YOUNG_NS  (20 * NS_PER_MS)
#define LOOK_SHARE     200
#define LOOK_AGE_SHARE 10

/* A thread has the name of its maker at first: by now it has its own. */
#define NAMED_AFTER_NS NS_PER_MS

/* Memory of its own, which stays where it is. */
struct thread_row {
    struct instance instance;
    char pid[16], tid[16];
    char process[ENTITY_NAME_BYTES];
};

struct thread {
    pid_t pid, tid;
    uint64_t start_ticks;
    char name[ENTITY_NAME_BYTES];
    uint64_t base_cpu_ns, base_wait_ns; /* before it was tracked */
    uint64_t cpu_ns, wait_ns;           /* as read, base included */
    uint64_t look;                      /* in which it was read last */
    unsigned looks;                     /* in which it has been read, two at most */
    bool is_there;                      /* it has not been found to be gone */
    bool is_final;                      /* it was read after its end */
    bool has_news;                      /* since its row was added to a frame */
    struct thread_row *row;             /* owned; NULL: it has none */
};

void threads_begin(struct threads *s, struct tracked *t)
{
    s->wanted = t->options->threads;
    if (s->wanted)
        t->threads = s;
}

void threads_done(struct threads *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->items[i].row);
    free(s->items);
    map_done(&s->by_id);
    *s = (struct threads){0};
}

static uint64_t thread_used_ns(const struct thread *th)
{
    return left_u64(th->cpu_ns, th->base_cpu_ns);
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct thread_reading {
    struct threads *threads;
    struct tracked *tracked;
    struct member *member;
    bool counts_all; /* all that a thread has used is the target's */
};

static ssize_t thread_read(const struct thread_reading *r, pid_t tid, const char *file)
{
    char name[PROCESS_PATH_BYTES];
    snprintf(name, sizeof name, "task/%d/%s", (int)tid, file);
    return process_read_once(&r->tracked->reader, r->member->process.entity.pid, name);
}

static bool thread_read_stat(const struct thread_reading *r, pid_t tid, struct pid_stat *st)
{
    ssize_t n = thread_read(r, tid, "stat");
    return n > 0 && parse_pid_stat(scan_text(r->tracked->reader.text, (size_t)n), st) == 0;
}

static bool thread_read_times(const struct thread_reading *r, pid_t tid, struct schedstat *ret)
{
    ssize_t n = r->threads->no_waits ? -ENOENT : thread_read(r, tid, "schedstat");
    if (n > 0)
        return parse_schedstat(scan_text(r->tracked->reader.text, (size_t)n), ret) == 0;
    struct pid_stat st;
    if (n != -ENOENT || !thread_read_stat(r, tid, &st))
        return false;
    r->threads->no_waits = true;
    *ret = (struct schedstat){.run_ns = (st.user_ticks + st.system_ticks) *
                                        r->tracked->reader.ns_per_tick};
    return true;
}

static struct thread *threads_add(struct threads *s, pid_t pid, pid_t tid)
{
    if (s->count >= THREADS_KEPT + ROWS_AT_MOST || !ARRAY_GROW(s->items, s->count) ||
        map_put(&s->by_id, (uint32_t)tid, (uint32_t)s->count) < 0)
        return NULL;
    struct thread *th = &s->items[s->count++];
    *th = (struct thread){.pid = pid, .tid = tid, .is_there = true, .has_news = true};
    return th;
}

/* A thread that has run is looked at in full: its id may be another's by now, and it may have got a
 * name. */
static void thread_look_at(void *arg, pid_t tid)
{
    const struct thread_reading *r = arg;
    struct threads *s = r->threads;
    const struct own_thread *own = &r->tracked->reader.own;
    pid_t pid = r->member->process.entity.pid;
    struct schedstat now;
    struct pid_stat st;
    uint32_t at;
    bool is_own = own->pid == pid && tid == own->thread;
    for (size_t i = 0; i < own->other_count && own->pid == pid; i++)
        is_own |= tid == own->others[i].thread;
    if (is_own || !thread_read_times(r, tid, &now))
        return;
    struct thread *th = map_get(&s->by_id, (uint32_t)tid, &at) ? &s->items[at] : NULL;
    if (th && th->pid == pid && now.run_ns == th->cpu_ns && now.wait_ns == th->wait_ns) {
        th->look = s->look;
        th->looks = 2;
        return;
    }
    if (!thread_read_stat(r, tid, &st))
        return;
    if (!th || th->pid != pid || th->start_ticks != st.start_ticks) {
        if (th)
            th->is_there = false;
        th = threads_add(s, pid, tid);
        if (!th)
            return;
        th->start_ticks = st.start_ticks;
        if (!r->counts_all && st.start_ticks < r->tracked->discovery.start_ticks) {
            th->base_cpu_ns = now.run_ns;
            th->base_wait_ns = now.wait_ns;
        }
    }
    size_t length = min_u64(st.name_length, sizeof th->name - 1);
    memcpy(th->name, st.name, length);
    th->name[length] = '\0';
    th->cpu_ns = max_u64(now.run_ns, th->cpu_ns);
    th->wait_ns = max_u64(now.wait_ns, th->wait_ns);
    th->look = s->look;
    th->looks += th->looks < 2;
    th->has_news = true;
}

/* The process as a whole: what its threads do not account for is found by it. */
static void threads_note_process(struct threads *s, const struct member *m, bool counts_all,
                                 uint64_t attached_ticks)
{
    const struct entity *e = &m->process.entity;
    uint64_t used_ns = row_u64(&m->process.own, process_cpu_seconds);
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].pid == e->pid && s->processes[i].start_ticks == e->start_ticks) {
            s->processes[i].cpu_ns = left_u64(used_ns, s->processes[i].base_ns);
            return;
        }
    s->has_more_processes |= s->process_count == THREADED_AT_MOST;
    if (s->process_count == THREADED_AT_MOST)
        return;
    uint64_t base_ns = counts_all || e->start_ticks >= attached_ticks ? 0 : used_ns;
    s->processes[s->process_count++] = (struct threaded){e->pid, e->start_ticks, base_ns,
                                                         left_u64(used_ns, base_ns)};
}

static bool thread_counts_all(const struct tracked *t)
{
    return is_launched(t) || t->options->since_start;
}

static void threads_read_process(struct threads *s, struct tracked *t, struct member *m)
{
    struct thread_reading r = {s, t, m, thread_counts_all(t)};
    process_each_thread(&t->reader, m->process.entity.pid, thread_look_at, &r);
    threads_note_process(s, m, r.counts_all, t->discovery.start_ticks);
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].pid == m->process.entity.pid && s->items[i].look != s->look)
            s->items[i].is_there = false;
}

/* Those with most CPU time among those that have threads, and the command itself. */
static size_t threads_pick(const struct tracked *t, struct member *top[PROCESSES_READ])
{
    size_t count = 0;
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        if (!m->was_seen || m->gone || m->process.has_ended || m->process.of_kernel ||
            !member_targets(t, m) || !(m->main_of || source_of(m)->had_threads))
            continue;
        uint64_t used_ns = row_u64(&m->process.own, process_cpu_seconds);
        size_t at = count < PROCESSES_READ ? count++ : PROCESSES_READ;
        for (; at && row_u64(&top[at - 1]->process.own, process_cpu_seconds) < used_ns; at--)
            if (at < PROCESSES_READ)
                top[at] = top[at - 1];
        if (at < PROCESSES_READ)
            top[at] = m;
    }
    return count;
}

/* Those that have ended and have no row are counted and forgotten; processes that are gone have
 * taken their threads along. */
static void threads_sweep(struct threads *s, const struct tracked *t)
{
    size_t kept = 0;
    map_clear(&s->by_id);
    for (size_t i = 0; i < s->count; i++) {
        struct thread *th = &s->items[i];
        if (th->is_there && !members_find(&t->members, th->pid))
            th->is_there = false;
        if (!th->is_there && !th->row) {
            s->unlisted_count++;
            s->unlisted_ns += thread_used_ns(th);
            continue;
        }
        if (th->is_there)
            map_put(&s->by_id, (uint32_t)th->tid, (uint32_t)kept);
        s->items[kept++] = *th;
    }
    s->count = kept;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void thread_add_row(struct thread *th, const struct tracked *t)
{
    struct thread_row *row = th->row = calloc(1, sizeof *row);
    const struct member *m = members_find(&t->members, th->pid);
    if (!row)
        return;
    instance_init(&row->instance, ENTITY_THREAD);
    row->instance.is_new = true;
    snprintf(row->pid, sizeof row->pid, "%d", (int)th->pid);
    snprintf(row->tid, sizeof row->tid, "%d", (int)th->tid);
    snprintf(row->process, sizeof row->process, "%s", m ? m->process.entity.name : "");
    struct entity *e = &row->instance.entity;
    snprintf(e->name, sizeof e->name, "%.*s %s", (int)(sizeof e->name - sizeof row->tid - 2),
             th->name, row->tid);
    e->labels[0] = (struct label){"tid", row->tid};
    e->labels[1] = (struct label){"pid", row->pid};
    e->labels[2] = (struct label){"process", row->process};
}

/* The busiest of those that are there get a row, and keep it. */
static void threads_choose(struct threads *s, const struct tracked *t, bool last)
{
    size_t rows = 0;
    for (size_t i = 0; i < s->count; i++)
        rows += s->items[i].row != NULL;
    for (unsigned n = 0; n < s->wanted && rows < ROWS_AT_MOST; n++) {
        struct thread *most = NULL;
        unsigned busier = 0;
        for (size_t i = 0; i < s->count; i++) {
            struct thread *th = &s->items[i];
            bool is_named = last || th->looks > 1 || thread_used_ns(th) >= NAMED_AFTER_NS;
            if (th->is_there && !th->row && is_named &&
                (!most || thread_used_ns(th) > thread_used_ns(most)))
                most = th;
        }
        for (size_t i = 0; most && i < s->count; i++)
            busier += s->items[i].is_there && s->items[i].row &&
                      thread_used_ns(&s->items[i]) >= thread_used_ns(most);
        if (!most || busier >= s->wanted)
            return;
        thread_add_row(most, t);
        rows++;
    }
}

static void threads_put(struct threads *s, bool last, struct instance_list *list)
{
    for (size_t i = 0; i < s->count; i++) {
        struct thread *th = &s->items[i];
        if (!th->row || !(th->has_news || (last && th->is_there)))
            continue;
        struct row *row = &th->row->instance.read;
        row_init(row, ENTITY_THREAD);
        row_put_u64(row, thread_cpu_seconds, thread_used_ns(th));
        if (!s->no_waits)
            row_put_u64(row, thread_cpu_wait_seconds, left_u64(th->wait_ns, th->base_wait_ns));
        th->has_news = false;
        instance_list_add(list, &th->row->instance);
    }
}

void threads_tick(struct threads *s, struct tracked *t, const struct frame *f,
                  struct instance_list *list)
{
    if (!s->wanted || !t->whole || t->root.pids < 0)
        return;
    if (f->mono_ns >= s->next_ns || f->last) {
        struct member *top[PROCESSES_READ];
        uint64_t before_ns = clock_thread_cpu();
        size_t count = threads_pick(t, top);
        s->look++;
        s->looked_at_ns = f->mono_ns;
        for (size_t i = 0; i < count; i++)
            threads_read_process(s, t, top[i]);
        threads_choose(s, t, f->last);
        threads_sweep(s, t);
        uint64_t cost_ns = t->scripted ? 0 : left_u64(clock_thread_cpu(), before_ns);
        uint64_t young_ns = max_u64(f->elapsed_ns / LOOK_AGE_SHARE, LOOK_YOUNG_NS);
        s->next_ns = f->mono_ns + max_u64(min_u64(LOOK_NS, young_ns), LOOK_SHARE * cost_ns);
        t->discovery.apart_ns += cost_ns;
    }
    threads_put(s, f->last, list);
}

void threads_last_look(struct threads *s, struct tracked *t, struct member *m)
{
    struct thread_reading r = {s, t, m, true};
    struct schedstat now;
    uint32_t at;
    pid_t pid = m->process.entity.pid;
    bool is_known = map_get(&s->by_id, (uint32_t)pid, &at) && s->items[at].pid == pid &&
                    s->items[at].start_ticks == m->process.entity.start_ticks;
    if (!is_known || !m->process.has_ended || !thread_read_times(&r, pid, &now))
        return;
    struct thread *th = &s->items[at];
    th->cpu_ns = max_u64(now.run_ns, th->cpu_ns);
    th->wait_ns = max_u64(now.wait_ns, th->wait_ns);
    th->has_news = th->is_final = true;
    threads_note_process(s, m, thread_counts_all(t), t->discovery.start_ticks);
}

/* ---- What the rows are worth ----------------------------------------------------------------- */

/* A thread that ended between two looks has used more than it was seen with. What one that runs has
 * used is known up to the last tick of its CPU. */
void threads_judge(const struct threads *s, struct summary *summary)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct thread *th = &s->items[i];
        bool is_of_now = th->is_there && th->look == s->look;
        for (size_t n = 0; th->row && n < summary->instance_count; n++)
            for (unsigned k = 0;
                 summary->instances[n].instance == &th->row->instance && k < THREAD_METRICS; k++)
                summary->instances[n].series[k].coverage = th->is_final ? COVERED
                                                           : is_of_now  ? COVERED_ROUGHLY
                                                                        : COVERED_PARTLY;
    }
}

void threads_finish(const struct threads *s, struct tracked *t)
{
    uint64_t unlisted = s->unlisted_count, unlisted_ns = s->unlisted_ns, all_ns = 0, seen_ns;
    for (size_t i = 0; i < s->count; i++) {
        all_ns += thread_used_ns(&s->items[i]);
        unlisted += !s->items[i].row;
        unlisted_ns += s->items[i].row ? 0 : thread_used_ns(&s->items[i]);
    }
    seen_ns = all_ns + s->unlisted_ns;
    if (unlisted)
        tracked_note(t, "--threads: %llu more threads used at least %.2f s of CPU time",
                     (unsigned long long)unlisted, (double)unlisted_ns / NS_PER_SECOND);
    uint64_t whole_ns = 0;
    for (size_t i = 0; i < s->process_count; i++)
        whole_ns += s->processes[i].cpu_ns;
    /* A tick of the kernel for each thread that runs is in neither. */
    if (!s->has_more_processes && whole_ns > seen_ns + max_u64(whole_ns / 20, 50 * NS_PER_MS))
        tracked_note(
            t,
            "--threads: %.2f of %.2f s of CPU time are not listed: threads used them after "
            "their last sample, or were too short-lived to be sampled",
            (double)(whole_ns - seen_ns) / NS_PER_SECOND, (double)whole_ns / NS_PER_SECOND);
}
