/* SPDX-License-Identifier: MIT */
#include "engine/mark_intake.h"

#include "account/subtree.h"
#include "base/file.h"
#include "base/secrets.h"
#include "engine/outputs.h"
#include "engine/tick.h"
#include "engine/wakeup.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* How many marks one step takes, so that a flood does not keep samples from being taken. */
enum { AT_A_STEP = 256, AT_THE_END = 8192 };

/* Nobody has lost more than that: what tells more is not believed. */
#define LOST_AT_MOST UINT64_C(1000000000)

/* Looks for marks: so much CPU time at once, and this share of a core in the long run. When all is
 * used up there is a pause until several are possible again, so that some phases are seen whole. */
#define LOOKS_AT_ONCE_NS (20 * NS_PER_MS)
enum { LOOKS_SHARE_OF_CORE = 20, LOOKS_IN_A_ROW = 8 };

struct mark_waiting {
    struct mark_text mark;
    char *text; /* owned: its attributes are in it */
    uint64_t at_ns;
};

void mark_intake_init(struct toll_tracker *t)
{
    mark_queue_init(&t->marks.queue);
    t->marks.socket.fd = -1;
}

static void forget_waiting(struct marks *m)
{
    for (size_t i = 0; i < m->waiting_count; i++)
        free(m->waiting[i].text);
    m->waiting_count = 0;
}

void mark_intake_done(struct toll_tracker *t)
{
    forget_waiting(&t->marks);
    free(t->marks.waiting);
    t->marks.waiting = NULL;
    phases_done(&t->marks.phases);
    mark_socket_close(&t->marks.socket);
    mark_queue_done(&t->marks.queue);
}

void mark_intake_listen(struct toll_tracker *t)
{
    if (t->options.no_marks)
        return;
    enum { ENOUGH_FILES = 32 };
    int r = file_limit_is_below(ENOUGH_FILES) ? -EMFILE : mark_socket_open(&t->marks.socket);
    if (r == 0 && (r = wakeup_watch(t, t->marks.socket.fd)) < 0)
        mark_socket_close(&t->marks.socket);
    t->marks.failure = r;
}

/* ---- What is done with a mark ---------------------------------------------------------------- */

static void tell(struct toll_tracker *t, enum mark_kind kind, const struct mark_text *m,
                 const struct phase *phase, uint64_t at_ns)
{
    struct told_mark told = {
        .kind = kind,
        .name = phase ? phase->name : m->name,
        .pid = phase ? phase->pid : m->pid,
        .elapsed_ns = left_u64(at_ns, t->start_ns),
        .start_ns = t->start_ns,
        .value = phase ? 0 : m->value,
        .attributes = phase && phase->attributes ? scan_string(phase->attributes)
                      : phase                    ? scan_string("")
                                                 : m->attributes,
        .phase = phase,
    };
    outputs_mark(t, &told);
}

static void close_phase(struct toll_tracker *t, struct phase *p)
{
    struct phase_over over = {
        .name = p->name,
        .pid = p->pid,
        .begin_ns = p->begin_ns,
        .end_ns = p->end_ns,
        .not_ended = p->not_ended,
        .of_target = phase_is_of_target(p),
        .figures = phase_figures(p),
        .widened = phase_is_widened(p),
    };
    if (!mark_totals_phase(&t->summary.marks, &over))
        outputs_note(t,
                     "there are more than %d names of phases: further ones are only in the record",
                     MARK_NAMES_AT_MOST);
    tell(t, MARK_PHASE_END, NULL, p, p->end_ns);
    phase_free(p);
}

static void look_at_phase(struct toll_tracker *t, struct phase *p);

static void begin_phase(struct toll_tracker *t, const struct mark_text *m, uint64_t at_ns)
{
    struct phase *p;
    int r = phases_begin(&t->marks.phases, m->name, m->pid, at_ns, &p);
    if (r == -ENOSPC)
        outputs_note(t, "there are more than %d phases at once: further ones are left out",
                     PHASES_AT_MOST);
    if (r < 0)
        t->summary.marks.left_out++;
    if (r != 0)
        return;
    p->told_for = m->sender && m->sender != m->pid;
    if (m->attributes.at < m->attributes.end)
        p->attributes = strndup(m->attributes.at, (size_t)(m->attributes.end - m->attributes.at));
    if (t->frame.tick && t->frame.mono_ns >= at_ns)
        look_at_phase(t, p);
}

/* Asked at the moment. One that was no member when the phase was first looked at, and of a recorded
 * run any, is known by its pid only. */
static bool has_left(const void *context, const struct phase *p)
{
    const struct toll_tracker *t = context;
    const struct member *m = members_find(&t->members, p->pid);
    if (p->start_ticks && (!m || m->process.entity.start_ticks != p->start_ticks))
        return true;
    if (m && m->was_seen)
        return m->process.has_ended || (!t->replay && kill(p->pid, 0) < 0 && errno == ESRCH);
    return t->replay || p->pid <= 0 || (kill(p->pid, 0) < 0 && errno == ESRCH);
}

static void end_phase(struct toll_tracker *t, const struct mark_text *m, uint64_t at_ns)
{
    struct phase *p;
    const struct phase_owner owner = {has_left, t};
    /* Shells become the command that is their last word: a `toll mark` that is the shell itself
     * says the end for its parent. */
    bool is_shell = phases_was_told_for(&t->marks.phases, m->name, m->sender);
    int r = phases_end(&t->marks.phases, m->name, is_shell ? m->sender : m->pid, at_ns, &owner, &p);
    if (r == -ENOENT) {
        t->summary.marks.unmatched++;
        outputs_note(t, "the end of a phase was told that had not begun: '%s'", m->name);
    }
    if (r == 0)
        close_phase(t, p);
}

void mark_intake_apply(struct toll_tracker *t, const struct mark_text *m, uint64_t at_ns)
{
    struct mark_totals *totals = &t->summary.marks;
    totals->taken++;
    switch (m->kind) {
    case MARK_PHASE_BEGIN: begin_phase(t, m, at_ns); break;
    case MARK_PHASE_END: end_phase(t, m, at_ns); break;
    case MARK_EVENT:
        totals->events++;
        tell(t, MARK_EVENT, m, NULL, at_ns);
        break;
    case MARK_GAUGE:
        if (!mark_totals_gauge(totals, m->name, m->value, left_u64(at_ns, t->start_ns)))
            outputs_note(t,
                         "there are more than %d names of gauges: further ones are only in the "
                         "record",
                         MARK_NAMES_AT_MOST);
        tell(t, MARK_GAUGE, m, NULL, at_ns);
        break;
    case MARK_KINDS: break;
    }
}

static void apply_all(struct toll_tracker *t)
{
    struct marks *m = &t->marks;
    for (size_t i = 0; i < m->waiting_count; i++)
        mark_intake_apply(t, &m->waiting[i].mark, m->waiting[i].at_ns);
    forget_waiting(m);
}

/* ---- Figures of phases ----------------------------------------------------------------------- */

/* The target that the process is or was the main one of, or all of them. */
static const struct row *whole_of(const struct toll_tracker *t, const struct phase *p)
{
    for (size_t i = 0; p->target_bit && i < t->target_count; i++)
        if (p->target_bit == t->targets[i].bit)
            return &t->targets[i].parts[PART_COMBINED];
    return &t->whole->parts[PART_COMBINED];
}

/* Phases of one process follow each other: it is summed up once. */
static bool look_at_process(struct toll_tracker *t, struct phase *p)
{
    struct marks *marks = &t->marks;
    if (marks->summed_pid != p->pid || marks->summed_tick != t->frame.tick) {
        if (!subtree_sum(&t->members, p->pid, row_seen(&t->whole->parts[PART_COMBINED]),
                         &marks->summed))
            return false;
        marks->summed_pid = p->pid;
        marks->summed_tick = t->frame.tick;
    }
    phase_figures_look(&p->of_process, &marks->summed, t->frame.mono_ns, marks->refreshed_ns);
    return true;
}

static void look_at_phase(struct toll_tracker *t, struct phase *p)
{
    if (!t->whole)
        return; /* only the machine is measured */
    const struct member *m = members_find(&t->members, p->pid);
    if (m && (!m->was_seen || !m->targets))
        m = NULL;
    if (p->scope == SCOPE_UNKNOWN) {
        p->scope = m && !m->main_of ? SCOPE_PROCESS : SCOPE_TARGET;
        p->start_ticks = m ? m->process.entity.start_ticks : 0;
        p->by_main = m && m->main_of;
        p->target_bit = m ? m->main_of & -m->main_of : 0; /* the first one of several */
    }
    phase_figures_look(&p->of_target, whole_of(t, p), t->frame.mono_ns, t->marks.refreshed_ns);
    if (p->scope != SCOPE_PROCESS || p->process_left)
        return;
    bool is_same = m && m->process.entity.start_ticks == p->start_ticks;
    p->process_left = !is_same || !look_at_process(t, p);
}

/* The moment for which the files that are read about once a second hold of every member: one that
 * has not run since they were read cannot have changed them. */
static uint64_t refreshed_ns(const struct toll_tracker *t)
{
    uint64_t oldest = t->frame.mono_ns;
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *m = t->members.order[i];
        if (m->was_seen && !m->gone && source_of(m)->has_run)
            oldest = min_u64(oldest, m->process.refreshed_ns);
    }
    return oldest;
}

void mark_intake_look(struct toll_tracker *t)
{
    t->marks.summed_pid = 0;
    bool is_asked = t->marks.phases.count || t->marks.waiting_count;
    t->marks.refreshed_ns = is_asked ? refreshed_ns(t) : 0;
    for (size_t i = 0; i < t->marks.phases.count; i++)
        look_at_phase(t, t->marks.phases.open[i]);
}

/* ---- What has come --------------------------------------------------------------------------- */

static void ignore(struct toll_tracker *t)
{
    t->summary.marks.ignored++;
}

/* Names and attributes come from outside as command lines do. Where something is masked the
 * attributes get a text of their own. 0 or -ENOMEM. */
static int mask_mark(struct mark_waiting *w)
{
    struct buf name = {0}, text = {0};
    struct scan left = w->mark.attributes;
    char pair[MARK_TEXT_BYTES];
    const char *value;
    bool has_masked = false;
    secrets_mask_text(&name, w->mark.name, strlen(w->mark.name));
    while (!text.failed && mark_text_attribute(&left, pair, sizeof pair, &value)) {
        if (value > pair && value[-1] == '\0')
            pair[value - pair - 1] = '=';
        char *masked = secrets_mask_pair(pair);
        has_masked |= masked && strcmp(masked, pair) != 0;
        text.failed |= !masked;
        mark_text_add(&text, masked ? masked : "");
        free(masked);
    }
    int r = buf_failed(&name) || buf_failed(&text) ? -ENOMEM : 0;
    if (r == 0)
        snprintf(w->mark.name, sizeof w->mark.name, "%s", name.data ? name.data : "");
    if (r == 0 && has_masked) {
        free(w->text);
        w->text = text.data;
        w->mark.attributes = scan_text(text.data, text.length);
        text = (struct buf){0};
    }
    buf_done(&name);
    buf_done(&text);
    return r;
}

/* Takes the text. The time that was told holds when it lies in the run. */
static void add_waiting(struct toll_tracker *t, char *text, size_t length, pid_t sender)
{
    struct marks *m = &t->marks;
    struct mark_waiting w = {.text = text, .at_ns = clock_mono(NULL)};
    if (!text) { /* no memory */
        t->summary.marks.lost++;
        return;
    }
    if (m->waiting_count == m->waiting_capacity) {
        size_t capacity = m->waiting_capacity ? 2 * m->waiting_capacity : 16;
        struct mark_waiting *longer = realloc(m->waiting, capacity * sizeof *longer);
        if (!longer) {
            t->summary.marks.lost++;
            free(text);
            return;
        }
        m->waiting = longer;
        m->waiting_capacity = capacity;
    }
    if (parse_mark_text(scan_text(text, length), &w.mark) < 0) {
        ignore(t);
        free(text);
        return;
    }
    if (!t->options.show_secrets && mask_mark(&w) < 0) {
        t->summary.marks.lost++;
        free(text);
        return;
    }
    if (w.mark.lost <= LOST_AT_MOST)
        t->summary.marks.lost += w.mark.lost;
    w.mark.sender = sender;
    if (!w.mark.pid)
        w.mark.pid = sender;
    if (w.mark.time_ns >= t->start_ns && w.mark.time_ns <= w.at_ns)
        w.at_ns = w.mark.time_ns;
    m->waiting[m->waiting_count++] = w;
}

static bool receive(struct toll_tracker *t)
{
    char text[MARK_TEXT_BYTES];
    pid_t sender;
    if (t->marks.socket.fd < 0)
        return false;
    ssize_t n = mark_socket_receive(&t->marks.socket, text, sizeof text, &sender);
    if (n == -EPERM || n == -EMSGSIZE) {
        ignore(t);
        return true;
    }
    if (n < 0)
        return n == -EINTR;
    char *copy = malloc((size_t)n + 1);
    if (copy)
        memcpy(copy, text, (size_t)n);
    add_waiting(t, copy, (size_t)n, sender);
    return true;
}

static void collect(struct toll_tracker *t, size_t at_most)
{
    char *text;
    for (size_t i = 0; i < at_most && receive(t); i++)
        ;
    for (size_t i = 0;
         i < at_most && (text = mark_queue_take(&t->marks.queue, &t->summary.marks.lost)); i++)
        add_waiting(t, text, strlen(text), t->owner_pid);
}

/* ---- Looks ----------------------------------------------------------------------------------- */

static bool wants_look(const struct toll_tracker *t)
{
    const struct marks *m = &t->marks;
    for (size_t i = 0; i < m->waiting_count; i++)
        if (m->waiting[i].mark.kind <= MARK_PHASE_END && m->waiting[i].at_ns > t->frame.mono_ns)
            return true;
    return false;
}

static bool may_look(struct toll_tracker *t)
{
    struct marks *m = &t->marks;
    uint64_t age_ns = left_u64(clock_mono(NULL), t->start_ns);
    uint64_t allowed_ns = LOOKS_AT_ONCE_NS + age_ns / LOOKS_SHARE_OF_CORE;
    if (m->looks_cost_ns >= allowed_ns)
        m->looks_rest = true;
    else if (m->looks_cost_ns + LOOKS_IN_A_ROW * m->look_cost_ns < allowed_ns)
        m->looks_rest = false;
    return !m->looks_rest;
}

static void look(struct toll_tracker *t)
{
    struct marks *m = &t->marks;
    uint64_t before_ns = clock_thread_cpu();
    t->frame.between = true;
    tick(t, false);
    t->frame.between = false;
    m->look_cost_ns = left_u64(clock_thread_cpu(), before_ns);
    m->looks_cost_ns += m->look_cost_ns;
    t->cpu_ns = row_u64(&t->self_row, self_cpu_seconds); /* the schedule counts its own */
}

void mark_intake_step(struct toll_tracker *t)
{
    if (t->marks.failure < 0) {
        outputs_note(t, "there is no socket for the marks of the command: %s",
                     strerror(-t->marks.failure));
        t->marks.failure = 0;
    }
    collect(t, AT_A_STEP);
    if (!t->marks.waiting_count)
        return;
    if (wants_look(t) && may_look(t))
        look(t);
    apply_all(t);
}

void mark_intake_last(struct toll_tracker *t)
{
    if (!t->replay)
        collect(t, AT_THE_END);
    mark_queue_close(&t->marks.queue);
    mark_socket_close(&t->marks.socket);
}

void mark_intake_end(struct toll_tracker *t)
{
    struct phase *p;
    apply_all(t);
    while ((p = phases_cut(&t->marks.phases, t->frame.mono_ns)))
        close_phase(t, p);
}
