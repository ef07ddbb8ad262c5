/* SPDX-License-Identifier: MIT
 * What gpu-tracker says on stderr, as its users know it. */
#include "cli/gpu_tracker_errors.h"

#include "base/err.h"
#include "base/secrets.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* What it quotes may be anything. */
static void tell(const char *kind, const char *sentence)
{
    char shown[1024];
    snprintf(shown, sizeof shown, "%s", sentence);
    secrets_mask_sentence(shown, sizeof shown);
    text_make_printable(shown);
    fprintf(stderr, "%s%s\n", kind, shown);
}

/* As Python's logging prints it. */
int gpu_tracker_say(const char *sentence)
{
    tell("ERROR:root:", sentence);
    return EXIT_WRONG;
}

void gpu_tracker_note(const char *sentence)
{
    tell("", sentence);
}

void gpu_tracker_warn(void *arg, const char *sentence)
{
    tell("WARNING:root:", sentence);
}

/* As an exception ends that nobody caught: its kind is what people look for. */
int gpu_tracker_raise(const struct toll_error *e)
{
    tell(e->code == -EEXIST    ? "FileExistsError: "
         : e->code == -ENOENT  ? "FileNotFoundError: "
         : e->code == -EACCES  ? "PermissionError: "
         : e->code == -EINVAL  ? "ValueError: "
         : e->code == -EBADMSG ? "ValueError: "
                               : "OSError: ",
         e->message);
    return EXIT_WRONG;
}

/* Of "nvidia0 (GPU-a), nvidia1 (GPU-b)" what stands in parentheses. */
static void add_uuids(struct buf *b, const char *there)
{
    for (const char *open; (open = strchr(there, '(')); there = open) {
        size_t length = strcspn(++open, ")");
        buf_printf(b, "%s%.*s", b->length ? ", " : "", (int)length, open);
    }
    if (!b->length)
        buf_puts(b, there);
}

/* "there is no GPU 'x'; there are: …", as that tool says it. */
static int unknown_gpu(const struct toll_error *e)
{
    struct toll_error said;
    struct buf uuids = {0};
    const char *name = strchr(e->message, '\''), *end = name ? strchr(name + 1, '\'') : NULL;
    const char *there = strstr(e->message, "there are: ");
    if (!end || !there)
        return gpu_tracker_raise(e);
    add_uuids(&uuids, there + strlen("there are: "));
    err_set(&said, -EINVAL, "GPU UUID of %.*s is not valid. Available UUIDs are: %s",
            (int)(end - name - 1), name + 1, uuids.data ? uuids.data : "?");
    buf_done(&uuids);
    return gpu_tracker_raise(&said);
}

int gpu_tracker_not_started(const struct gpu_tracker *g, const char *command,
                            const struct outcome *outcome)
{
    char sentence[sizeof outcome->error.message + 64];
    if (outcome->exec_errno == ENOENT) {
        snprintf(sentence, sizeof sentence, "Command not found: \"%s\"", command);
        return gpu_tracker_say(sentence);
    }
    if (!outcome->exec_errno && g->gpu_uuids)
        return unknown_gpu(&outcome->error);
    snprintf(sentence, sizeof sentence,
             "The following error occurred when starting the command \"%s\":", command);
    gpu_tracker_say(sentence);
    struct toll_error said;
    if (outcome->exec_errno)
        err_set(&said, -outcome->exec_errno, "[Errno %d] %s: '%s'", outcome->exec_errno,
                strerror(outcome->exec_errno), command);
    printf("%s\n", outcome->exec_errno ? said.message : outcome->error.message);
    return EXIT_WRONG;
}
