/* SPDX-License-Identifier: MIT */
#include "engine/replay.h"

#include "base/err.h"
#include "base/file.h"
#include "engine/attach.h"
#include "engine/outputs.h"
#include "engine/replay_line.h"
#include "engine/targets.h"

#include <fcntl.h>
#include <string.h>

enum { SCRIPT_BYTES = 1 << 20 };

int replay_step(struct toll_tracker *t)
{
    struct replay *replay = t->replay;
    struct scan line;
    while (scan_line(&replay->rest, &line)) {
        replay->line++;
        int r = replay_line_take(t, line);
        if (r < 0)
            outputs_note(t, "line %u of the script cannot be used (%s): %.*s", replay->line,
                         r == -EBADMSG ? "not as expected" : strerror(-r),
                         (int)min_u64((uint64_t)(line.end - line.at), REPLAY_NAME_BYTES), line.at);
        if (r != 0)
            return r;
    }
    if (!t->whole || t->whole->ledger.started)
        return 0;
    outputs_note(t, "no process of the recorded run could be read");
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
            return t->launched.pid > 0 || t->target_count || t->run.system ? 0 : -EBADMSG;
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
        return err_set(e, -ENOMEM, "no memory for a replay");
    t->replay = r;
    r->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->directory < 0)
        return err_set(e, -errno, "cannot open the recorded run '%s': %s", directory,
                       strerror(errno));
    r->text = malloc(SCRIPT_BYTES);
    ssize_t n = r->text ? file_read_at(r->directory, "script", r->text, SCRIPT_BYTES) : -ENOMEM;
    if (n < 0)
        return err_set(e, (int)n, "cannot read '%s/script': %s", directory, strerror((int)-n));
    if (n == SCRIPT_BYTES)
        return err_set(e, -EFBIG, "'%s/script' is too long", directory);
    r->rest = scan_text(r->text, (size_t)n);
    r->clock.mono_ns = NS_PER_SECOND;
    t->scripted = &r->clock;
    t->start_ns = r->clock.mono_ns;
    if (read_head(t) < 0)
        return err_set(e, -EBADMSG, "'%s/script' must name the main process and have a tick",
                       directory);
    if (t->launched.pid > 0 && targets_set_launched(t) < 0)
        return err_set(e, -ENOMEM, "no memory for a replay");
    if (t->launched.pid > 0)
        targets_add_roots(t);
    else if (t->target_count && t->root.proc < 0)
        return err_set(e, -EBADMSG, "'%s/script' has targets and does not say 'attach'", directory);
    return t->launched.pid > 0 || !t->target_count ? 0 : attach(t, e);
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
