/* SPDX-License-Identifier: MIT */
#include "engine/step.h"

#include "base/err.h"
#include "base/io/file.h"
#include "engine/marks/marks.h"
#include "engine/outputs.h"
#include "engine/target/reap.h"
#include "engine/target/targets.h"
#include "engine/target/walk.h"
#include "engine/tracker.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

enum { REPLAY_NAME_BYTES = 128 };

struct replay {
    int directory;
    char *text; /* owned */
    struct scan rest;
    unsigned line; /* its number, from 1 */
    struct clock clock;
    struct rusage usage;
    struct pid_io io;
    bool has_io;
};

/* ==== Replay line ============================================================================= */

/* What a line of the script of a recorded run does. */

/* The script is DIRECTORY/script, a word and its values on each line:
 *
 *   start 1731000000.000      real time of the launch, seconds
 *   host old-box              kernel 4.9.0    cpus 64
 *   command make -j2          words, split at blanks
 *   tracker 999               pid that orphans come to
 *   main 1000                 pid of the command
 *   target group 77           in its place: process, group, session, user, match or cgroup, several
 *   attach t000               … and how the machine looked when they were attached to
 *   system                    the machine is measured too, or alone
 *   tick 0.010 t000           at 0.010 s the machine looked like DIRECTORY/t000/proc: a sample
 *   look 0.020 t001           the same without a sample: how it looked when a process was reaped,
 *                             or at the very end, where the last sample is taken anyway
 *   reaped 1000 exit 0        (or: signal 9) the tracker reaped this process …
 *   usage 0.5 0.1 900 2 30 4 20480     … which brought all reaped so far to: user and system
 *                             seconds, minor and major faults, voluntary and involuntary switches,
 *                             largest RSS in KiB
 *   mark 0.015 1001 phase begin load   the process said so then, in the words of mark_text.h
 *   io 4096 8192 10 20 0 4096 0        … and to: read and written bytes, read and write calls,
 *                             storage read, written, cancelled bytes */

#define MOST_SECONDS 1e10

static bool replay_line_take_word(struct scan *line, char *ret, size_t capacity)
{
    scan_blanks(line);
    size_t length = 0;
    while (line->at < line->end && *line->at != ' ' && length + 1 < capacity)
        ret[length++] = *line->at++;
    ret[length] = '\0';
    return length > 0;
}

static bool take_seconds(struct scan *line, uint64_t *ret_ns)
{
    double seconds;
    if (!scan_decimal(line, &seconds) || seconds > MOST_SECONDS)
        return false;
    *ret_ns = (uint64_t)(seconds * 1e9 + 0.5);
    return true;
}

static int replay_read_command(struct toll_tracker *t, struct scan *line)
{
    char words[16][REPLAY_NAME_BYTES];
    char *argv[17] = {0};
    for (size_t n = 0; n < 16 && replay_line_take_word(line, words[n], REPLAY_NAME_BYTES); n++)
        argv[n] = words[n];
    return argv[0] ? run_set_command(&t->run, argv) : -EBADMSG;
}

static void replay_ask_children(void *arg, pid_t pid)
{
    struct toll_tracker *t = arg;
    if (t->tracked.reader.no_children)
        t->tracked.reader.no_children = !process_lists_children(&t->tracked.reader, pid);
}

/* Whether that kernel lists children: somebody's list is there. */
static void learn_children(struct toll_tracker *t)
{
    t->tracked.reader.no_children = true;
    if (t->tracked.launched.pid <= 0) {
        process_scan(&t->tracked.reader, replay_ask_children, t);
        return;
    }
    replay_ask_children(t, t->tracked.launched.pid);
    replay_ask_children(t, t->tracked.discovery.tracker_pid);
}

static int replay_attach(struct toll_tracker *t, struct scan *line)
{
    char name[REPLAY_NAME_BYTES];
    struct sysroot root;
    if (!replay_line_take_word(line, name, sizeof name))
        return -EBADMSG;
    int r = sysroot_open_at(&root, t->replay->directory, name, false);
    if (r < 0)
        return r;
    sysroot_close(&t->tracked.root);
    t->tracked.root = root;
    learn_children(t);
    return 0;
}

static int replay_read_target(struct toll_tracker *t, struct scan *line)
{
    char kind[REPLAY_NAME_BYTES], text[REPLAY_NAME_BYTES];
    static const char *const kinds[] = {"process", "group", "session", "cgroup", "match", "user"};
    if (!replay_line_take_word(line, kind, sizeof kind) ||
        !replay_line_take_word(line, text, sizeof text))
        return -EBADMSG;
    struct scan number = scan_string(text);
    uint64_t id = 0;
    scan_u64(&number, &id);
    for (unsigned i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(kind, kinds[i]) == 0)
            return targets_add(
                &t->tracked, &(struct toll_target){.kind = i, .id = (pid_t)id, .text = text}, NULL);
    return -EBADMSG;
}

static int take_look(struct toll_tracker *t, struct scan *line)
{
    uint64_t elapsed;
    if (!take_seconds(line, &elapsed))
        return -EBADMSG;
    if (t->tracked.start_ns + elapsed < t->replay->clock.mono_ns)
        return -EBADMSG; /* time runs forward */
    int r = replay_attach(t, line);
    if (r < 0)
        return r;
    t->replay->clock.mono_ns = t->tracked.start_ns + elapsed;
    t->replay->clock.real_ns = t->run.start_real_ns + elapsed;
    return 0;
}

static int take_reaped(struct toll_tracker *t, struct scan *line)
{
    if (!t->tracked.whole)
        return -EBADMSG; /* nobody was measured who could have been reaped */
    char how[REPLAY_NAME_BYTES];
    uint64_t pid, status;
    if (!scan_u64(line, &pid) || !replay_line_take_word(line, how, sizeof how) ||
        !scan_u64(line, &status) || pid > INT_MAX || status > INT_MAX)
        return -EBADMSG;
    struct toll_end end = {
        .ended = true, .signaled = strcmp(how, "signal") == 0, .status = (int)status};
    struct member *m = walk_last_look(&t->tracked, (pid_t)pid, t->replay->clock.mono_ns);
    if ((pid_t)pid == t->tracked.launched.pid) {
        t->tracked.reaper.main_reaped = true;
        t->tracked.reaper.end = end;
        t->tracked.reaper.main_end_ns = t->replay->clock.mono_ns;
    }
    if (m)
        departure_reaped(&t->tracked, m, &end, t->replay->clock.mono_ns);
    members_sweep(&t->tracked.members);
    return 0;
}

static int take_usage(struct toll_tracker *t, struct scan *line)
{
    if (!t->tracked.whole)
        return -EBADMSG; /* nobody was measured who could have been reaped */
    struct rusage *u = &t->replay->usage;
    uint64_t user, system, counts[5];
    if (!take_seconds(line, &user) || !take_seconds(line, &system))
        return -EBADMSG;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (!scan_u64(line, &counts[i]))
            return -EBADMSG;
    u->ru_utime = (struct timeval){(time_t)(user / NS_PER_SECOND),
                                   (suseconds_t)(user % NS_PER_SECOND / NS_PER_US)};
    u->ru_stime = (struct timeval){(time_t)(system / NS_PER_SECOND),
                                   (suseconds_t)(system % NS_PER_SECOND / NS_PER_US)};
    u->ru_minflt = (long)counts[0];
    u->ru_majflt = (long)counts[1];
    u->ru_nvcsw = (long)counts[2];
    u->ru_nivcsw = (long)counts[3];
    reap_book(&t->tracked, u, t->replay->has_io ? &t->replay->io : NULL);
    ledger_raise_reaped_peak(&t->tracked.whole->ledger, counts[4] * 1024);
    return 0;
}

static int take_io(struct toll_tracker *t, struct scan *line)
{
    if (!t->tracked.whole)
        return -EBADMSG; /* nobody was measured who could have been reaped */
    struct pid_io *io = &t->replay->io;
    uint64_t *fields[] = {&io->read_bytes,
                          &io->written_bytes,
                          &io->read_calls,
                          &io->write_calls,
                          &io->storage_read_bytes,
                          &io->storage_written_bytes,
                          &io->storage_cancelled_bytes};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!scan_u64(line, fields[i]))
            return -EBADMSG;
    t->replay->has_io = true;
    reap_book(&t->tracked, &t->replay->usage, io);
    return 0;
}

/* What was said may be older than the last look, but not newer. */
static int take_mark(struct toll_tracker *t, struct scan *line)
{
    struct mark_text m;
    uint64_t elapsed, pid;
    if (!take_seconds(line, &elapsed) || !scan_u64(line, &pid) || pid > INT_MAX ||
        t->tracked.start_ns + elapsed > t->replay->clock.mono_ns)
        return -EBADMSG;
    scan_blanks(line);
    if (parse_mark_text(*line, &m) < 0) {
        t->summary.marks.ignored++;
        return 0;
    }
    if (!m.pid)
        m.pid = (pid_t)pid;
    t->summary.marks.lost += m.lost;
    marks_apply_one(&t->marks, &m, t->tracked.start_ns + elapsed);
    return 0;
}

/* A fact of the run, which stands before its first sample. 0, or -errno: -EBADMSG when it is not as
 * expected. */
static int replay_line_fact(struct toll_tracker *t, const char *word, struct scan *line)
{
    struct run *run = &t->run;
    uint64_t number;
    if (strcmp(word, "start") == 0)
        return take_seconds(line, &run->start_real_ns) ? 0 : -EBADMSG;
    if (strcmp(word, "host") == 0)
        return replay_line_take_word(line, run->host, sizeof run->host) ? 0 : -EBADMSG;
    if (strcmp(word, "kernel") == 0)
        return replay_line_take_word(line, run->kernel, sizeof run->kernel) ? 0 : -EBADMSG;
    if (strcmp(word, "command") == 0)
        return replay_read_command(t, line);
    if (strcmp(word, "target") == 0)
        return replay_read_target(t, line);
    if (strcmp(word, "attach") == 0)
        return replay_attach(t, line);
    if (strcmp(word, "system") == 0) {
        run->system = true;
        return 0;
    }
    if (!scan_u64(line, &number) || number > INT_MAX)
        return -EBADMSG;
    if (strcmp(word, "cpus") == 0)
        run->cpus = (unsigned)number;
    else if (strcmp(word, "tracker") == 0)
        t->tracked.discovery.tracker_pid = run->own_pid = (pid_t)number;
    else if (strcmp(word, "main") == 0)
        t->tracked.launched.pid = run->pid = (pid_t)number;
    else
        return -EBADMSG;
    return 0;
}

/* The word the line begins with, cut off; empty when the line says nothing. */
static void replay_line_word(struct scan *line, char ret[REPLAY_NAME_BYTES])
{
    if (!replay_line_take_word(line, ret, REPLAY_NAME_BYTES) || ret[0] == '#')
        ret[0] = '\0';
}

/* Any line. 1 when it was a sample, 0, or -errno. */
static int replay_line_take(struct toll_tracker *t, struct scan line)
{
    char word[REPLAY_NAME_BYTES];
    replay_line_word(&line, word);
    if (!*word)
        return 0;
    if (strcmp(word, "tick") == 0) {
        int r = take_look(t, &line);
        return r < 0 ? r : 1;
    }
    if (strcmp(word, "look") == 0)
        return take_look(t, &line);
    if (strcmp(word, "reaped") == 0)
        return take_reaped(t, &line);
    if (strcmp(word, "mark") == 0)
        return take_mark(t, &line);
    if (strcmp(word, "usage") == 0)
        return take_usage(t, &line);
    if (strcmp(word, "io") == 0)
        return take_io(t, &line);
    return replay_line_fact(t, word, &line);
}

/* ==== Replay ================================================================================== */

enum { SCRIPT_BYTES = 1 << 20 };

int replay_step(struct toll_tracker *t)
{
    struct replay *replay = t->replay;
    struct scan line;
    while (scan_line(&replay->rest, &line)) {
        replay->line++;
        int r = replay_line_take(t, line);
        if (r < 0)
            tracked_note(&t->tracked, "script: line %u: %s: '%.*s'", replay->line,
                         r == -EBADMSG ? "unexpected text" : strerror(-r),
                         (int)min_u64((uint64_t)(line.end - line.at), REPLAY_NAME_BYTES), line.at);
        if (r != 0)
            return r;
    }
    if (!t->tracked.whole || t->tracked.whole->ledger.started)
        return 0;
    tracked_note(&t->tracked, "cannot read any process of the recorded run");
    return -EBADMSG;
}

/* The facts stand before the first sample, which is taken with them. */
static int read_head(struct toll_tracker *t)
{
    struct scan line, ahead = t->replay->rest;
    while (scan_line(&ahead, &line)) {
        char word[REPLAY_NAME_BYTES];
        replay_line_word(&line, word);
        if (strcmp(word, "tick") == 0)
            return t->tracked.launched.pid > 0 || t->tracked.target_count || t->run.system
                       ? 0
                       : -EBADMSG;
        int r = *word ? replay_line_fact(t, word, &line) : 0;
        if (r < 0)
            return r;
        t->replay->rest = ahead;
        t->replay->line++;
    }
    return -EBADMSG;
}

int replay_open(struct toll_tracker *t, const char *directory, struct toll_error *e)
{
    struct replay *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, -ENOMEM, "cannot replay: out of memory");
    t->replay = r;
    t->tracked.is_recorded = true;
    r->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->directory < 0)
        return err_set(e, -errno, "cannot open recorded run '%s': %s", directory, strerror(errno));
    r->text = malloc(SCRIPT_BYTES);
    ssize_t n = r->text ? file_read_at(r->directory, "script", r->text, SCRIPT_BYTES) : -ENOMEM;
    if (n < 0)
        return err_set(e, (int)n, "cannot read '%s/script': %s", directory, strerror((int)-n));
    if (n == SCRIPT_BYTES)
        return err_set(e, -EFBIG, "'%s/script' is too large", directory);
    r->rest = scan_text(r->text, (size_t)n);
    r->clock.mono_ns = NS_PER_SECOND;
    t->tracked.scripted = &r->clock;
    t->tracked.start_ns = r->clock.mono_ns;
    if (read_head(t) < 0)
        return err_set(e, -EBADMSG, "invalid '%s/script' (expected a main process and a tick)",
                       directory);
    if (t->tracked.launched.pid > 0 && targets_set_launched(&t->tracked, &t->summary) < 0)
        return err_set(e, -ENOMEM, "cannot replay: out of memory");
    if (t->tracked.launched.pid > 0)
        targets_add_roots(&t->tracked);
    else if (t->tracked.target_count && t->tracked.root.proc < 0)
        return err_set(e, -EBADMSG, "invalid '%s/script': targets without 'attach'", directory);
    return t->tracked.launched.pid > 0 || !t->tracked.target_count ? 0 : attach(t, e);
}

void replay_close(struct toll_tracker *t)
{
    if (!t->replay)
        return;
    if (t->replay->directory >= 0)
        close(t->replay->directory);
    free(t->replay->text);
    free(t->replay);
    t->replay = NULL;
}
