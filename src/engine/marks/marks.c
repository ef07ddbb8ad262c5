/* SPDX-License-Identifier: MIT */
#include "engine/marks/marks.h"

#include "account/members.h"
#include "base/err.h"
#include "base/io/file.h"
#include "base/memory.h"
#include "base/text/secrets.h"
#include "base/util.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* ==== Phase record ============================================================================ */

static void count_run(void *count, const struct toll_run *run)
{
    (void)run;
    ++*(size_t *)count;
}

/* 1: it is one, with one run. A tracking file may be of SQLite, too. */
static int check_runs(const char *path, struct toll_error *e)
{
    size_t runs = 0;
    bool can_be_nothing_else = ends_with(path, ".jsonl");
    if (!can_be_nothing_else && !ends_with(path, ".sqlite"))
        return 0;
    int r = toll_record_runs(path, count_run, &runs, can_be_nothing_else ? e : NULL);
    if (r < 0)
        return can_be_nothing_else ? r : 0;
    if (runs == 1)
        return 1;
    return err_set(
        e, -EINVAL,
        "'%s' has %zu runs (expected one; extract it with: toll export --run N %s -o FILE.jsonl)",
        path, runs, path);
}

static int phase_record_make_directory(struct phase_record *p, struct toll_error *e)
{
    const char *place = getenv("TMPDIR");
    struct buf name = {0};
    buf_printf(&name, "%s/toll-phases-XXXXXX", place && *place ? place : "/tmp");
    if (buf_failed(&name) || !mkdtemp(name.data)) {
        int r = buf_failed(&name) ? -ENOMEM : -errno;
        buf_done(&name);
        return err_set(e, r, "cannot create a temporary directory: %s", strerror(-r));
    }
    p->directory = name.data;
    buf_printf(&p->points, "%s/points.csv", p->directory);
    buf_printf(&p->blocks, "%s/run.sub-tracking.csv", p->directory);
    return buf_failed(&p->points) || buf_failed(&p->blocks)
               ? err_set(e, -ENOMEM, "cannot write the results: out of memory")
               : 0;
}

int phase_record_open(struct phase_record *ret, const char *path, struct toll_error *e)
{
    struct phase_record p = {0};
    int r = check_runs(path, e);
    if (r <= 0)
        return r;
    r = phase_record_make_directory(&p, e);
    struct toll_output points = {
        .size = sizeof points, .destination = p.points.data, .layout = "gpu-tracker"};
    struct toll_output blocks = {.size = sizeof blocks, .destination = p.blocks.data};
    const struct toll_output *const outputs[] = {&points, &blocks, NULL};
    struct toll_export asked = {.size = sizeof asked, .record = path, .outputs = outputs};
    if (r == 0)
        r = toll_record_export(&asked, e);
    if (r < 0) {
        phase_record_close(&p);
        return r;
    }
    *ret = p;
    return 1;
}

void phase_record_close(struct phase_record *p)
{
    if (p->points.data)
        unlink(p->points.data);
    if (p->blocks.data)
        unlink(p->blocks.data);
    if (p->directory)
        rmdir(p->directory);
    free(p->directory);
    buf_done(&p->points);
    buf_done(&p->blocks);
}

/* ==== Mark socket ============================================================================= */

static const char socket_name[] = "/marks";
static const char prefix[] = "toll-";
enum { NAME_LENGTH = sizeof prefix - 1 + 6 }; /* toll-XXXXXX */

/* A directory below this one, when a socket in it has a name that is short enough. */
static int mark_socket_make_directory(struct mark_socket *s, const char *parent)
{
    if (!parent || *parent != '/')
        return -ENOENT;
    int length = snprintf(s->directory, sizeof s->directory, "%s/toll-XXXXXX", parent);
    if ((size_t)length + sizeof socket_name > sizeof s->address.sun_path)
        return -ENAMETOOLONG;
    return mkdtemp(s->directory) ? 0 : -errno;
}

static int make_socket(struct mark_socket *s)
{
    const int on = 1;
    s->address.sun_family = AF_UNIX;
    snprintf(s->address.sun_path, sizeof s->address.sun_path, "%s%s", s->directory, socket_name);
    s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0 || setsockopt(s->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
        bind(s->fd, (struct sockaddr *)&s->address, sizeof s->address) < 0)
        return -errno;
    return 0;
}

/* In memory where there is such a place: on a disk, a directory and a socket that are made and
 * removed again take milliseconds, which is more than all the rest. */
int mark_socket_open(struct mark_socket *s)
{
    const char *parents[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
    int r = -ENOENT;
    *s = (struct mark_socket){.fd = -1, .owner = getpid()};
    for (size_t i = 0; i < ARRAY_LEN(parents) && r < 0; i++) {
        r = mark_socket_make_directory(s, parents[i]);
        if (r < 0) {
            s->directory[0] = '\0';
            continue;
        }
        r = make_socket(s);
        if (r < 0)
            mark_socket_close(s);
    }
    return r;
}

/* Whether it is a directory of this user with a socket that nobody listens on any more. */
static bool is_stale(const char *directory, struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(directory, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 07777) != 0700)
        return false;
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)address, sizeof *address) < 0 &&
           errno == ECONNREFUSED;
}

/* What a toll that was killed has left where this one had its socket. */
static void remove_stale(const char *own)
{
    enum { REMOVED_AT_MOST = 16, SEEN_AT_MOST = 4096 };
    char parent[sizeof((struct mark_socket *)0)->directory];
    size_t length = strlen(own) - NAME_LENGTH;
    memcpy(parent, own, length);
    parent[length] = '\0';
    /* A link for each directory in it, and two of its own; a file system that does not count them
     * says 1. */
    struct stat in_memory;
    if (stat(parent, &in_memory) == 0 && in_memory.st_nlink == 2)
        return;
    DIR *d = opendir(parent);
    const struct dirent *e;
    unsigned removed = 0;
    for (unsigned seen = 0; d && seen < SEEN_AT_MOST && (e = readdir(d)); seen++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char directory[sizeof parent];
        if (strncmp(e->d_name, prefix, sizeof prefix - 1) != 0 || strlen(e->d_name) != NAME_LENGTH)
            continue;
        memcpy(directory, parent, length);
        memcpy(directory + length, e->d_name, NAME_LENGTH + 1);
        memcpy(address.sun_path, directory, length + NAME_LENGTH);
        memcpy(address.sun_path + length + NAME_LENGTH, socket_name, sizeof socket_name);
        if (!is_stale(directory, &address))
            continue;
        unlink(address.sun_path);
        rmdir(directory);
        if (++removed == REMOVED_AT_MOST)
            break;
    }
    if (d)
        closedir(d);
}

void mark_socket_close(struct mark_socket *s)
{
    bool is_owner = *s->directory && s->owner == getpid();
    if (is_owner && *s->address.sun_path)
        unlink(s->address.sun_path);
    if (is_owner)
        rmdir(s->directory);
    if (is_owner && s->fd >= 0)
        remove_stale(s->directory);
    s->directory[0] = s->address.sun_path[0] = '\0';
    close_p(&s->fd);
}

int mark_socket_export(const struct mark_socket *s, struct environment *e)
{
    char variable[sizeof MARK_SOCKET_VARIABLE "=" + sizeof s->address.sun_path];
    snprintf(variable, sizeof variable, MARK_SOCKET_VARIABLE "=%s", s->address.sun_path);
    return environment_add(e, variable);
}

/* Room for the sender's credentials and nothing else: descriptors that somebody sends along are
 * closed by the kernel. */
union control {
    char room[CMSG_SPACE(sizeof(struct ucred))];
    struct cmsghdr aligned;
};

ssize_t mark_socket_receive(const struct mark_socket *s, char *text, size_t capacity,
                            pid_t *ret_sender)
{
    union control control;
    struct iovec to = {.iov_base = text, .iov_len = capacity};
    struct msghdr message = {
        .msg_iov = &to,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t n = recvmsg(s->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return -errno;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    struct ucred sender = {.uid = (uid_t)-1};
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
        memcpy(&sender, CMSG_DATA(c), sizeof sender);
    if (!c || sender.uid != geteuid())
        return -EPERM;
    *ret_sender = sender.pid;
    return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}

/* ==== Mark queue ============================================================================== */

void mark_queue_init(struct mark_queue *q)
{
    *q = (struct mark_queue){0};
    pthread_mutex_init(&q->lock, NULL);
}

void mark_queue_done(struct mark_queue *q)
{
    for (size_t i = 0; i < q->count; i++)
        free(q->texts[(q->first + i) % MARK_QUEUE_AT_MOST]);
    free(q->texts);
    pthread_mutex_destroy(&q->lock);
    *q = (struct mark_queue){0};
}

static int mark_queue_put_locked(struct mark_queue *q, char *text)
{
    if (q->closed)
        return 1;
    if (!q->texts && !(q->texts = calloc(MARK_QUEUE_AT_MOST, sizeof *q->texts)))
        return -ENOMEM;
    if (q->count == MARK_QUEUE_AT_MOST) {
        q->lost++;
        return -EAGAIN;
    }
    q->texts[(q->first + q->count++) % MARK_QUEUE_AT_MOST] = text;
    return 0;
}

int mark_queue_put(struct mark_queue *q, char *text)
{
    pthread_mutex_lock(&q->lock);
    int r = mark_queue_put_locked(q, text);
    pthread_mutex_unlock(&q->lock);
    if (r != 0)
        free(text);
    return r;
}

char *mark_queue_take(struct mark_queue *q, uint64_t *lost)
{
    char *text = NULL;
    pthread_mutex_lock(&q->lock);
    if (q->count) {
        text = q->texts[q->first];
        q->first = (q->first + 1) % MARK_QUEUE_AT_MOST;
        q->count--;
    }
    *lost += q->lost;
    q->lost = 0;
    pthread_mutex_unlock(&q->lock);
    return text;
}

void mark_queue_close(struct mark_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->closed = true;
    pthread_mutex_unlock(&q->lock);
}

/* ==== Marks =================================================================================== */

/* How many marks one step takes, so that a flood does not keep samples from being taken. */
enum { AT_A_STEP = 256, AT_THE_END = 8192 };

/* More than that cannot have been lost: a larger count is not believed. */
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

void marks_init(struct marks *m)
{
    mark_queue_init(&m->queue);
    m->socket.fd = -1;
}

static void forget_waiting(struct marks *m)
{
    for (size_t i = 0; i < m->waiting_count; i++)
        free(m->waiting[i].text);
    m->waiting_count = 0;
}

void marks_done(struct marks *m)
{
    forget_waiting(m);
    free(m->waiting);
    m->waiting = NULL;
    phases_done(&m->phases);
    mark_socket_close(&m->socket);
    mark_queue_done(&m->queue);
}

void marks_listen(struct marks *m, const struct wakeup *w)
{
    if (m->tracked->options->no_marks)
        return;
    enum { ENOUGH_FILES = 32 };
    int r = file_limit_is_below(ENOUGH_FILES) ? -EMFILE : mark_socket_open(&m->socket);
    if (r == 0 && (r = wakeup_watch(w, m->socket.fd)) < 0)
        mark_socket_close(&m->socket);
    m->failure = r;
}

/* ---- What is done with a mark ---------------------------------------------------------------- */

/* phase NULL: text is that of an event or a gauge. */
static void marks_send(struct marks *m, enum mark_kind kind, const struct mark_text *text,
                       const struct phase *phase, uint64_t at_ns)
{
    uint64_t start_ns = m->tracked->start_ns;
    struct run_mark mark = {
        .kind = kind,
        .name = phase ? phase->name : text->name,
        .pid = phase ? phase->pid : text->pid,
        .elapsed_ns = left_u64(at_ns, start_ns),
        .start_ns = start_ns,
        .value = phase ? 0 : text->value,
        .attributes = phase && phase->attributes ? scan_string(phase->attributes)
                      : phase                    ? scan_string("")
                                                 : text->attributes,
        .phase = phase,
    };
    outputs_send_events(m->outputs, &m->tracked->events); /* what was found before it */
    outputs_mark(m->outputs, &mark);
}

static void close_phase(struct marks *m, struct phase *p)
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
    if (!mark_totals_phase(m->totals, &over))
        tracked_note(m->tracked, "more than %d phase names; the rest are only in the record",
                     MARK_NAMES_AT_MOST);
    marks_send(m, MARK_PHASE_END, NULL, p, p->end_ns);
    phase_free(p);
}

static void look_at_phase(struct marks *m, struct phase *p);

static void begin_phase(struct marks *m, const struct mark_text *text, uint64_t at_ns)
{
    struct phase *p;
    const struct scan *attributes = &text->attributes;
    int r = phases_begin(&m->phases, text->name, text->pid, at_ns, &p);
    if (r == -ENOSPC)
        tracked_note(m->tracked, "more than %d phases open at once; the rest are ignored",
                     PHASES_AT_MOST);
    if (r < 0)
        m->totals->left_out++;
    if (r != 0)
        return;
    p->is_reported_for = text->sender && text->sender != text->pid;
    if (attributes->at < attributes->end)
        p->attributes = scan_copy(*attributes);
    if (m->frame->tick && m->frame->mono_ns >= at_ns)
        look_at_phase(m, p);
}

/* Asked at the moment. A process that was no member when the phase was first looked at, and any
 * process of a recorded run, is known by its pid only. */
static bool has_left(const void *context, const struct phase *p)
{
    const struct tracked *t = context;
    const struct member *m = members_find(&t->members, p->pid);
    if (p->start_ticks && (!m || m->process.entity.start_ticks != p->start_ticks))
        return true;
    if (m && m->was_seen)
        return m->process.has_ended || (!t->is_recorded && kill(p->pid, 0) < 0 && errno == ESRCH);
    return t->is_recorded || p->pid <= 0 || (kill(p->pid, 0) < 0 && errno == ESRCH);
}

static void end_phase(struct marks *m, const struct mark_text *text, uint64_t at_ns)
{
    struct phase *p;
    const struct phase_owner owner = {has_left, m->tracked};
    /* A shell becomes the command that is its last word: a `toll mark` that is the shell itself
     * ends the phase for its parent. */
    bool is_shell = phases_was_begun_for(&m->phases, text->name, text->sender);
    int r = phases_end(&m->phases, text->name, is_shell ? text->sender : text->pid, at_ns, &owner,
                       &p);
    if (r == -ENOENT) {
        m->totals->unmatched++;
        tracked_note(m->tracked, "phase '%s' ended without a begin", text->name);
    }
    if (r == 0)
        close_phase(m, p);
}

void marks_apply_one(struct marks *m, const struct mark_text *text, uint64_t at_ns)
{
    m->totals->taken++;
    switch (text->kind) {
    case MARK_PHASE_BEGIN: begin_phase(m, text, at_ns); break;
    case MARK_PHASE_END: end_phase(m, text, at_ns); break;
    case MARK_EVENT:
        m->totals->events++;
        marks_send(m, MARK_EVENT, text, NULL, at_ns);
        break;
    case MARK_GAUGE:
        if (!mark_totals_gauge(m->totals, text->name, text->value,
                               left_u64(at_ns, m->tracked->start_ns)))
            tracked_note(m->tracked, "more than %d gauge names; the rest are only in the record",
                         MARK_NAMES_AT_MOST);
        marks_send(m, MARK_GAUGE, text, NULL, at_ns);
        break;
    case MARK_KINDS: break;
    }
}

void marks_apply(struct marks *m)
{
    for (size_t i = 0; i < m->waiting_count; i++)
        marks_apply_one(m, &m->waiting[i].mark, m->waiting[i].at_ns);
    forget_waiting(m);
}

/* ---- Figures of phases ----------------------------------------------------------------------- */

/* Phases of one process follow each other: it is summed up once. */
static bool look_at_process(struct marks *m, struct phase *p)
{
    const struct tracked *t = m->tracked;
    if (m->summed_pid != p->pid || m->summed_tick != m->frame->tick) {
        if (!subtree_sum(&t->members, p->pid, row_seen(&t->whole->parts[PART_COMBINED]),
                         &m->summed))
            return false;
        m->summed_pid = p->pid;
        m->summed_tick = m->frame->tick;
    }
    phase_figures_look(&p->of_process, &m->summed, m->frame->mono_ns, m->refreshed_ns);
    return true;
}

static void look_at_phase(struct marks *m, struct phase *p)
{
    const struct tracked *t = m->tracked;
    if (!t->whole)
        return; /* only the machine is measured */
    const struct member *member = members_find(&t->members, p->pid);
    if (member && (!member->was_seen || !member->targets))
        member = NULL;
    if (p->scope == SCOPE_UNKNOWN) {
        p->scope = member && !member->main_of ? SCOPE_PROCESS : SCOPE_TARGET;
        p->start_ticks = member ? member->process.entity.start_ticks : 0;
        p->by_main = member && member->main_of;
        p->target_bit = member ? member->main_of & -member->main_of : 0; /* the first of several */
    }
    /* The target that the process is or was the main one of, or all of them. */
    const struct target *of = t->whole;
    for (size_t i = 0; p->target_bit && i < t->target_count; i++)
        if (p->target_bit == t->targets[i].bit)
            of = &t->targets[i];
    phase_figures_look(&p->of_target, &of->parts[PART_COMBINED], m->frame->mono_ns,
                       m->refreshed_ns);
    if (p->scope != SCOPE_PROCESS || p->process_left)
        return;
    bool is_same = member && member->process.entity.start_ticks == p->start_ticks;
    p->process_left = !is_same || !look_at_process(m, p);
}

void marks_look(struct marks *m)
{
    const struct tracked *t = m->tracked;
    m->summed_pid = 0;
    m->refreshed_ns = 0;
    if (!m->phases.count && !m->waiting_count)
        return;
    /* The moment for which the files that are read about once a second hold of every member: one
     * that has not run since they were read cannot have changed them. */
    m->refreshed_ns = m->frame->mono_ns;
    for (size_t i = 0; i < t->members.count; i++) {
        struct member *member = t->members.order[i];
        if (member->was_seen && !member->gone && source_of(member)->has_run)
            m->refreshed_ns = min_u64(m->refreshed_ns, member->process.refreshed_ns);
    }
    for (size_t i = 0; i < m->phases.count; i++)
        look_at_phase(m, m->phases.open[i]);
}

/* ---- What has come --------------------------------------------------------------------------- */

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

/* Takes the text. The time in it holds when it lies in the run. */
static void add_waiting(struct marks *m, char *text, size_t length, pid_t sender)
{
    struct mark_waiting w = {.text = text, .at_ns = clock_mono(NULL)};
    if (!text || !ARRAY_RESERVE(m->waiting, m->waiting_capacity, m->waiting_count + 1)) {
        m->totals->lost++;
        free(text);
        return;
    }
    if (parse_mark_text(scan_text(text, length), &w.mark) < 0) {
        m->totals->ignored++;
        free(text);
        return;
    }
    if (!m->tracked->options->show_secrets && mask_mark(&w) < 0) {
        m->totals->lost++;
        free(text);
        return;
    }
    if (w.mark.lost <= LOST_AT_MOST)
        m->totals->lost += w.mark.lost;
    w.mark.sender = sender;
    if (!w.mark.pid)
        w.mark.pid = sender;
    if (w.mark.time_ns >= m->tracked->start_ns && w.mark.time_ns <= w.at_ns)
        w.at_ns = w.mark.time_ns;
    m->waiting[m->waiting_count++] = w;
}

/* True when there may be more. */
static bool marks_receive(struct marks *m)
{
    char text[MARK_TEXT_BYTES];
    pid_t sender;
    if (m->socket.fd < 0)
        return false;
    ssize_t n = mark_socket_receive(&m->socket, text, sizeof text, &sender);
    if (n == -EPERM || n == -EMSGSIZE) {
        m->totals->ignored++;
        return true;
    }
    if (n < 0)
        return n == -EINTR;
    char *copy = malloc((size_t)n + 1);
    if (copy)
        memcpy(copy, text, (size_t)n);
    add_waiting(m, copy, (size_t)n, sender);
    return true;
}

static void marks_receive_all(struct marks *m, size_t at_most)
{
    char *text;
    for (size_t i = 0; i < at_most && marks_receive(m); i++)
        ;
    for (size_t i = 0; i < at_most && (text = mark_queue_take(&m->queue, &m->totals->lost)); i++)
        add_waiting(m, text, strlen(text), getpid());
}

bool marks_collect(struct marks *m)
{
    if (m->failure < 0) {
        tracked_note(m->tracked, "cannot create the socket for marks: %s", strerror(-m->failure));
        m->failure = 0;
    }
    marks_receive_all(m, AT_A_STEP);
    bool wants_sample = false;
    for (size_t i = 0; i < m->waiting_count; i++)
        wants_sample |= m->waiting[i].mark.kind <= MARK_PHASE_END &&
                        m->waiting[i].at_ns > m->frame->mono_ns;
    if (!wants_sample)
        return false;
    uint64_t age_ns = left_u64(clock_mono(NULL), m->tracked->start_ns);
    uint64_t allowed_ns = LOOKS_AT_ONCE_NS + age_ns / LOOKS_SHARE_OF_CORE;
    if (m->looks_cost_ns >= allowed_ns)
        m->looks_rest = true;
    else if (m->looks_cost_ns + LOOKS_IN_A_ROW * m->look_cost_ns < allowed_ns)
        m->looks_rest = false;
    return !m->looks_rest;
}

void marks_sampled(struct marks *m, uint64_t cost_ns)
{
    m->look_cost_ns = cost_ns;
    m->looks_cost_ns += cost_ns;
}

void marks_close(struct marks *m)
{
    if (!m->tracked->is_recorded)
        marks_receive_all(m, AT_THE_END);
    mark_queue_close(&m->queue);
    mark_socket_close(&m->socket);
}

void marks_finish(struct marks *m)
{
    struct phase *p;
    marks_apply(m);
    while ((p = phases_cut(&m->phases, m->frame->mono_ns)))
        close_phase(m, p);
}
