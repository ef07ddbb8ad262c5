/* SPDX-License-Identifier: MIT */
#include "sink/spool.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/io/file.h"
#include "base/io/http.h"
#include "base/io/output_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

/* ==== Spool file ============================================================================== */

/* ==== Operations ============================================================================== */

static const char *const spool_op_words[SPOOL_OPS] = {
    [SPOOL_HEAD] = "toll-spool",   [SPOOL_TO] = "to",
    [SPOOL_CREATE] = "create",     [SPOOL_EXPERIMENT] = "experiment",
    [SPOOL_RUN] = "run",           [SPOOL_BATCH] = "batch",
    [SPOOL_ARTIFACT] = "artifact", [SPOOL_UPDATE] = "update",
    [SPOOL_SAMPLES] = "samples",   [SPOOL_SENT] = "sent",
    [SPOOL_REQUEST] = "request",   [SPOOL_SKIP] = "skip",
    [SPOOL_PARAMS] = "params",
};

void spool_op_add(struct buf *b, enum spool_op_kind kind, const char *name, const char *body,
                  size_t length)
{
    buf_printf(b, "%s %s %llu\n", spool_op_words[kind], *name ? name : "-",
               (unsigned long long)length);
    buf_add(b, body, length);
    buf_putc(b, '\n');
}

/* An operation with a number as its name, and no body. */
static void spool_op_add_number(struct buf *b, enum spool_op_kind kind, uint64_t number)
{
    char name[24];
    snprintf(name, sizeof name, "%llu", (unsigned long long)number);
    spool_op_add(b, kind, name, "", 0);
}

/* The next word of a line and the blank after it. */
static bool spool_op_cut_word(struct scan *line, struct scan *ret)
{
    const char *blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
    if (!blank || blank == line->at)
        return false;
    *ret = scan_text(line->at, (size_t)(blank - line->at));
    line->at = blank + 1;
    return true;
}

static bool spool_op_is_word(const struct scan *s, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(s->end - s->at) == length && memcmp(s->at, word, length) == 0;
}

int spool_op_next(struct scan *text, struct spool_op *ret)
{
    struct scan at = *text, line, word;
    uint64_t length;
    if (scan_done(text))
        return 0;
    const char *newline = memchr(at.at, '\n', (size_t)(at.end - at.at));
    if (!newline || !scan_line(&at, &line) || !spool_op_cut_word(&line, &word) ||
        !spool_op_cut_word(&line, &ret->name) || !scan_u64(&line, &length) || !scan_done(&line))
        return -EBADMSG;
    unsigned kind = 0;
    while (kind < SPOOL_OPS && !spool_op_is_word(&word, spool_op_words[kind]))
        kind++;
    size_t left = (size_t)(at.end - at.at);
    if (kind == SPOOL_OPS || left < 1 || length > left - 1 || at.at[length] != '\n')
        return -EBADMSG;
    ret->kind = kind;
    if (spool_op_is_word(&ret->name, "-"))
        ret->name.at = ret->name.end;
    ret->body = scan_text(at.at, length);
    text->at = at.at + length + 1;
    return 1;
}

/* ==== The file ================================================================================ */

enum { FIRST_BYTES = 1 << 20, LARGEST_BYTES = 256 << 20, NUMBERS = 1000 };

/* A file that a user named must be possible before anything runs: a mistyped directory is not made.
 */
static int spool_file_check(const char *kind, const char *file, struct toll_error *e)
{
    struct stat st;
    const char *slash = strrchr(file, '/');
    char *directory = !slash          ? strdup(".")
                      : slash == file ? strdup("/")
                                      : strndup(file, (size_t)(slash - file));
    if (!directory)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    int r = 0;
    if ((slash && !slash[1]) || (stat(file, &st) == 0 && S_ISDIR(st.st_mode)))
        r = err_set(e, -EINVAL, "%s: invalid spool '%s' (expected a file, not a directory)", kind,
                    file);
    else if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0)
        r = err_set(e, -EINVAL, "%s: cannot create a spool file in '%s': %s", kind, directory,
                    strerror(errno));
    free(directory);
    return r;
}

int spool_file_init(struct spool_file *f, const char *kind, const char *file, const char *id,
                    struct toll_error *e)
{
    struct buf b = {0};
    *f = (struct spool_file){.fd = -1, .is_ours = !file};
    if (file && strcmp(file, "none") == 0)
        return 0;
    if (file) {
        int r = spool_file_check(kind, file, e);
        if (r < 0)
            return r;
        buf_puts(&b, file);
    } else {
        const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
        if (state && *state == '/')
            buf_printf(&b, "%s/toll", state);
        else if (home && *home == '/')
            buf_printf(&b, "%s/.local/state/toll", home);
        else
            buf_printf(&b, "/tmp/toll-%u", (unsigned)geteuid());
        buf_printf(&b, "/%s-%s.spool", kind, id);
    }
    if (buf_failed(&b)) {
        buf_done(&b);
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    }
    f->path = b.data;
    return 0;
}

/* Makes the missing directories of a path, for their owner alone. The last one must be ours where
 * other users can make directories, as in /tmp. */
static int spool_make_directories(const char *path)
{
    struct stat st, above;
    CLEANUP_FREE char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    for (char *c = copy; (c = strchr(c + 1, '/'));) {
        *c = '\0';
        mkdir(copy, 0700);
        *c = '/';
    }
    *strrchr(copy, '/') = '\0';
    if (lstat(copy, &st) < 0)
        return -errno;
    bool is_private = S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
                      !(st.st_mode & (S_IWGRP | S_IWOTH));
    bool is_tmp = strncmp(copy, "/tmp/", 5) == 0;
    *(strrchr(copy, '/') + 1) = '\0';
    bool is_shared = is_tmp || stat(copy, &above) < 0 || (above.st_mode & S_IWOTH);
    return is_shared && !is_private ? -EPERM : 0;
}

bool spool_file_has_unsent(const struct spool_file *f)
{
    return f->fd >= 0 && f->sent < f->length;
}

/* -EEXIST also for a link, and for a file that another toll found and locked first. */
static int spool_make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return fd;
    unlink(path);
    close(fd);
    return -EEXIST;
}

/* Makes the file and writes its head. When the name is taken, a number is added to it. */
static int spool_file_make(struct spool_file *f)
{
    int r = f->is_ours ? spool_make_directories(f->path) : 0;
    int fd = r < 0 ? r : spool_make_file(f->path);
    for (unsigned i = 1; fd == -EEXIST && i <= NUMBERS; i++) {
        struct buf b = {0};
        buf_printf(&b, "%s.%u", f->path, i);
        fd = buf_failed(&b) ? -ENOMEM : spool_make_file(b.data);
        if (fd < 0) {
            buf_done(&b);
            continue;
        }
        free(f->path);
        f->path = b.data;
    }
    if (fd < 0)
        return fd;
    r = file_write_quietly(fd, f->head.data, f->head.length, NULL);
    if (r < 0) {
        unlink(f->path);
        close(fd);
        return r;
    }
    f->fd = fd;
    f->length = f->sent = f->head.length;
    return 0;
}

int spool_file_add(struct spool_file *f, const char *data, size_t length, bool is_last)
{
    if (!f->path)
        return -ENOENT;
    uint64_t before = f->fd < 0 ? f->head.length : f->length;
    if (f->most_bytes && !is_last && before + length > f->most_bytes)
        return -EFBIG;
    int r = f->fd < 0 ? spool_file_make(f) : 0;
    if (r < 0)
        return r;
    r = file_write_quietly(f->fd, data, length, NULL);
    if (r < 0) {
        if (ftruncate(f->fd, (off_t)f->length) == 0)
            lseek(f->fd, (off_t)f->length, SEEK_SET);
        return r;
    }
    f->length += length;
    return 0;
}

int spool_file_open(struct spool_file *f, const char *path)
{
    struct stat st;
    *f = (struct spool_file){.fd = output_file_open_existing(path, NULL)};
    if (f->fd < 0)
        return f->fd;
    int r = flock(f->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK ? -EBUSY
            : fstat(f->fd, &st) < 0                                     ? -errno
                                                                        : 0;
    if (r == 0 && !(f->path = strdup(path)))
        r = -ENOMEM;
    if (r < 0)
        close_p(&f->fd);
    else
        f->length = (uint64_t)st.st_size;
    return r;
}

/* Replaces the content of *ret by a part of the file. */
static int spool_file_read(const struct spool_file *f, uint64_t at, size_t wanted, struct buf *ret)
{
    size_t room;
    buf_clear(ret);
    char *to = buf_room(ret, wanted, &room);
    if (!to)
        return -ENOMEM;
    while (ret->length < wanted) {
        ssize_t n = pread(f->fd, to + ret->length, wanted - ret->length, (off_t)(at + ret->length));
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG;
        ret->length += (size_t)n;
    }
    return 0;
}

int spool_file_each(const struct spool_file *f, uint64_t *at,
                    int (*visit)(void *arg, const struct spool_op *op), void *arg)
{
    struct buf part = {0};
    size_t most = FIRST_BYTES;
    int r = 0;
    while (r == 0 && *at < f->length) {
        uint64_t began = *at;
        size_t wanted = min_u64(f->length - began, most);
        r = spool_file_read(f, began, wanted, &part);
        struct scan text = scan_text(part.data, r == 0 ? wanted : 0);
        struct spool_op op;
        while (r == 0 && spool_op_next(&text, &op) > 0 && (r = visit(arg, &op)) == 0)
            *at = began + (uint64_t)(text.at - part.data);
        if (r != 0 || *at > began)
            continue;
        if (wanted < most || most >= LARGEST_BYTES)
            r = -EBADMSG;
        most *= 2; /* the operation may be larger than what was read */
    }
    buf_done(&part);
    return r;
}

void spool_file_remove(struct spool_file *f)
{
    if (f->fd < 0)
        return;
    unlink(f->path);
    close(f->fd);
    f->fd = -1;
    f->length = f->sent = 0;
}

void spool_file_done(struct spool_file *f)
{
    if (f->fd >= 0 && !spool_file_has_unsent(f))
        spool_file_remove(f);
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    free(f->path);
    f->path = NULL;
    buf_done(&f->head);
}

#define FIRST_WAIT_NS   (NS_PER_SECOND)
#define LONGEST_WAIT_NS (30 * NS_PER_SECOND)

/* Attempts before a batch is kept in the file, which take about two seconds. */
enum { SPOOL_BATCH_ATTEMPTS = 4 };

/* Attempts of toll resend. */
enum { SPOOL_SEND_ATTEMPTS = 3 };

int spool_new(struct spool **ret, struct sink *sink, struct toll_error *e)
{
    struct spool *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    s->sink = sink;
    uuid_make(s->id, clock_real(NULL), NULL);
    int r = spool_file_init(&s->file, sink->kind->format.name,
                            sink_options_text(&sink->settings, "spool"), s->id, e);
    if (r < 0) {
        free(s);
        return r;
    }
    s->file.most_bytes = sink_options_u64(&sink->settings, "spool_size");
    *ret = s;
    return 0;
}

void spool_free(struct spool *s)
{
    if (!s)
        return;
    spool_file_done(&s->file);
    buf_done(&s->ops);
    free(s);
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* Whether an operation carries samples: when it is refused, so are they. */
static bool spool_op_has_samples(const struct spool_op *op)
{
    struct scan name = op->name;
    uint64_t figures;
    return op->kind == SPOOL_BATCH || (op->kind == SPOOL_REQUEST && scan_u64(&name, &figures));
}

/* Continues where an earlier attempt stopped, at *done. An operation that is refused for good is
 * passed over. */
static enum delivery spool_send_op(struct spool *s, const struct spool_op *op, uint64_t *done,
                                   bool *ret_refused, struct attempt *a)
{
    struct scan name = op->name;
    if (op->kind == SPOOL_SKIP)
        scan_u64(&name, done);
    if (op->kind == SPOOL_SKIP || op->kind == SPOOL_SAMPLES || op->kind == SPOOL_SENT)
        return DELIVERY_DONE;
    enum delivery d = s->sink->kind->send(s->sink, op, done, a);
    if (d == DELIVERY_DONE || d == DELIVERY_REFUSED)
        *done = 0;
    if (d != DELIVERY_REFUSED)
        return d;
    if (spool_op_has_samples(op))
        *ret_refused = true;
    else
        a->is_partly = true;
    return DELIVERY_DONE;
}

static enum delivery spool_send_batch(struct spool *s, struct attempt *a)
{
    struct scan text = scan_text(s->ops.data + s->at, s->ops.length - s->at);
    struct spool_op op;
    int r;
    while ((r = spool_op_next(&text, &op)) > 0) {
        enum delivery d = spool_send_op(s, &op, &s->done, &s->is_refused, a);
        s->lacking += a->lacking;
        a->lacking = 0;
        if (d != DELIVERY_DONE)
            return d;
        s->at = (size_t)(text.at - s->ops.data);
    }
    if (r < 0) {
        snprintf(a->why, sizeof a->why, "internal error: invalid request to send");
        return DELIVERY_REFUSED;
    }
    a->lacking = s->lacking;
    a->is_partly |= s->lacking > 0;
    return s->is_refused ? DELIVERY_REFUSED : DELIVERY_DONE;
}

/* Writes to the file how far it was sent, so that another attempt, by this process or a later one,
 * continues there. */
static void spool_mark_sent(struct spool *s)
{
    char at[24], done[24];
    struct buf op = {0};
    if (!s->is_mark_due || s->is_elsewhere)
        return;
    s->is_mark_due = false;
    snprintf(at, sizeof at, "%llu", (unsigned long long)s->file.sent);
    snprintf(done, sizeof done, "%llu", (unsigned long long)s->file_done);
    spool_op_add(&op, SPOOL_SENT, at, done, s->file_done ? strlen(done) : 0);
    if (!buf_failed(&op))
        spool_file_add(&s->file, op.data, op.length, true);
    buf_done(&op);
}

struct spool_sending {
    struct spool *spool;
    struct attempt *attempt;
    enum delivery delivery;
};

static int spool_send_op_of_file(void *arg, const struct spool_op *op)
{
    struct spool_sending *sending = arg;
    struct spool *s = sending->spool;
    struct attempt *a = sending->attempt;
    uint64_t samples, before = s->file_done;
    struct scan name = op->name;
    spool_mark_sent(s); /* up to this operation */
    sending->delivery = spool_send_op(s, op, &s->file_done, &s->file_is_refused, a);
    s->file_lacking += a->lacking;
    a->lacking = 0; /* it is about the batch */
    if (sending->delivery != DELIVERY_DONE) {
        s->is_mark_due |= s->file_done != before;
        return 1;
    }
    s->is_mark_due |= spool_op_has_samples(op);
    if (op->kind == SPOOL_SAMPLES && scan_u64(&name, &samples)) {
        uint64_t rejected = s->file_is_refused ? samples : min_u64(s->file_lacking, samples);
        a->rejected += rejected;
        a->returned += samples - rejected;
        s->file_is_refused = false;
        s->file_lacking = 0;
    }
    return 0;
}

enum delivery spool_send_file(struct spool *s, struct attempt *a)
{
    struct spool_sending sending = {.spool = s, .attempt = a, .delivery = DELIVERY_DONE};
    int r = spool_file_each(&s->file, &s->file.sent, spool_send_op_of_file, &sending);
    if (r != 0)
        spool_mark_sent(s);
    if (s->sink->kind->after_spool)
        s->sink->kind->after_spool(s->sink);
    if (r < 0) {
        snprintf(a->why, sizeof a->why, "cannot read '%s': %s", s->file.path,
                 r == -EBADMSG ? "truncated" : strerror(-r));
        return DELIVERY_REFUSED;
    }
    if (sending.delivery == DELIVERY_DONE) {
        spool_file_remove(&s->file);
        s->is_mark_due = false;
        s->file_done = 0;
    }
    return sending.delivery;
}

/* ---- Keeping --------------------------------------------------------------------------------- */

/* Commas are doubled, as in any destination. */
static void spool_add_doubled(struct buf *b, const char *text)
{
    for (; *text; text++)
        buf_puts(b, *text == ',' ? ",," : (char[]){*text, '\0'});
}

/* "KIND:URL", without secrets. */
static void spool_add_url(struct buf *b, const struct sink *sink)
{
    struct buf url = {0};
    url_show(&url, sink->place);
    buf_printf(b, "%s:", sink->kind->format.name);
    spool_add_doubled(b, buf_failed(&url) ? "" : url.data);
    buf_done(&url);
}

/* The first operations of the file: what it is, and its destination without secrets. A secret that
 * is not in a file or a variable has to be given to toll resend again. */
static void spool_make_head(struct spool *s)
{
    static const char *const options[] = {"timeout", "user", "password_file", "token_file",
                                          "ca",      "cert", "key",           "insecure"};
    const struct sink *sink = s->sink;
    struct buf *head = &s->file.head, to = {0};
    buf_clear(head);
    spool_op_add(head, SPOOL_HEAD, sink->kind->format.name, s->id, strlen(s->id));
    spool_add_url(&to, sink);
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (sink_options_has(&sink->settings, options[i])) {
            buf_printf(&to, ",%s=", options[i]);
            spool_add_doubled(&to, sink_options_text(&sink->settings, options[i]));
        }
    spool_op_add(head, SPOOL_TO, "", to.data, to.length);
    head->failed |= buf_failed(&to);
    buf_done(&to);
    if (sink->kind->add_spool_head)
        sink->kind->add_spool_head(s->sink, head);
}

static const char *spool_failure_words(int r)
{
    return r == -EFBIG   ? "spool_size reached"
           : r == -EPERM ? "others can write to its directory"
                         : strerror(-r);
}

/* Writes the rest of the batch to the file: all of it or nothing. Samples of which something was
 * refused are counted as refused now, and not again when the rest of them arrives. Returns
 * otherwise when it cannot be written. */
static enum delivery spool_keep(struct spool *s, const struct batch *b, struct attempt *a,
                                enum delivery otherwise)
{
    char why[sizeof a->why];
    struct buf skipping = {0}; /* when part of an operation is done */
    memcpy(why, a->why, sizeof why);
    if (!s->file.path)
        return otherwise;
    if (s->file.fd < 0)
        spool_make_head(s);
    s->is_refused |= s->lacking > 0;
    size_t end = s->is_refused ? max_u64(s->count_at, s->at) : s->ops.length;
    const char *rest = s->ops.data + s->at;
    size_t length = end - s->at;
    if (s->done) {
        spool_op_add_number(&skipping, SPOOL_SKIP, s->done);
        buf_add(&skipping, rest, length);
        rest = skipping.data;
        length = skipping.length;
    }
    int r = buf_failed(&skipping) || buf_failed(&s->file.head)
                ? -ENOMEM
                : spool_file_add(&s->file, rest, length, batch_has_end(b));
    buf_done(&skipping);
    if (r < 0) {
        s->failure = r;
        snprintf(a->why, sizeof a->why, "%.80s; cannot keep it in '%.90s': %s", why, s->file.path,
                 spool_failure_words(r));
        return otherwise;
    }
    if (s->sink->kind->after_spool)
        s->sink->kind->after_spool(s->sink);
    /* An earlier batch that did not fit is lost for another reason than this one was not sent. */
    r = s->failure;
    snprintf(a->why, sizeof a->why, "%skept in '%s' for 'toll resend'%s%s%s%s%.100s",
             s->is_refused ? "partly refused, the rest " : "", s->file.path, r ? ", in part (" : "",
             r ? spool_failure_words(r) : "", r ? ")" : "", *why ? ": " : "", why);
    return s->is_refused ? DELIVERY_REFUSED : DELIVERY_KEPT;
}

static bool spool_encode(struct spool *s, const struct batch *b)
{
    buf_clear(&s->ops);
    s->at = 0;
    s->done = 0;
    s->lacking = 0;
    s->is_refused = false;
    bool is_encoded = s->sink->kind->encode(s->sink, b, &s->ops);
    s->count_at = s->ops.length;
    if (b->samples)
        spool_op_add_number(&s->ops, SPOOL_SAMPLES, b->samples);
    if (is_encoded && !buf_failed(&s->ops))
        return true;
    buf_done(&s->ops);
    return false;
}

enum delivery spool_deliver(struct spool *s, const struct batch *b, struct attempt *a)
{
    bool is_end = batch_has_end(b);
    if (!b->attempt && !spool_encode(s, b))
        return sender_lacks_memory(a);
    bool is_spooling = spool_file_has_unsent(&s->file);
    if (is_spooling && !is_end && clock_mono(NULL) < s->next_ns) {
        memcpy(a->why, s->why, sizeof a->why);
        return spool_keep(s, b, a, DELIVERY_AGAIN);
    }
    enum delivery d = is_spooling ? spool_send_file(s, a) : DELIVERY_DONE;
    if (d == DELIVERY_DONE)
        d = spool_send_batch(s, a);
    memcpy(s->why, a->why, sizeof s->why);
    if (d == DELIVERY_AGAIN && (is_end || (!is_spooling && b->attempt + 1 < SPOOL_BATCH_ATTEMPTS)))
        return d;
    if (d == DELIVERY_AGAIN || d == DELIVERY_KEPT) {
        s->wait_ns = s->wait_ns ? min_u64(s->wait_ns * 2, LONGEST_WAIT_NS) : FIRST_WAIT_NS;
        s->next_ns = clock_mono(NULL) +
                     (a->wait_ns ? min_u64(a->wait_ns, 4 * LONGEST_WAIT_NS) : s->wait_ns);
        return spool_keep(s, b, a, d == DELIVERY_KEPT ? DELIVERY_REFUSED : d);
    }
    s->wait_ns = 0;
    return d;
}

enum delivery spool_leave(struct spool *s, const struct batch *b, struct attempt *a)
{
    if (!b->attempt && !spool_encode(s, b))
        return DELIVERY_REFUSED;
    snprintf(a->why, sizeof a->why, "%s", *s->why ? s->why : "no time left");
    return spool_keep(s, b, a, DELIVERY_REFUSED);
}

/* ==== toll resend ============================================================================ */

/* What a file says about itself, whatever kind of sink wrote it. */
struct spool_content {
    bool is_spool;
    uint64_t sent; /* bytes that an earlier attempt has sent */
    uint64_t done; /* figures of the operation after them that were sent */
    uint64_t points;
    char *kind, *to; /* owned; NULL: unknown */
};

static uint64_t spool_op_count_points(const struct spool_op *op)
{
    static const char key[] = "\"timestamp\":"; /* in a JSON string, quotes have a backslash */
    uint64_t count = 0;
    struct scan name = op->name;
    if (op->kind == SPOOL_REQUEST)
        scan_u64(&name, &count);
    const char *at = op->kind == SPOOL_BATCH ? op->body.at : op->body.end;
    while ((at = memmem(at, (size_t)(op->body.end - at), key, sizeof key - 1))) {
        count++;
        at += sizeof key - 1;
    }
    return count;
}

struct spool_counting {
    uint64_t at, end; /* bytes of the file */
    uint64_t points;
};

static int spool_count_points(void *arg, const struct spool_op *op)
{
    struct spool_counting *c = arg;
    if (c->at >= c->end)
        return 1;
    c->points += spool_op_count_points(op);
    return 0;
}

static int spool_read_op(void *arg, const struct spool_op *op)
{
    struct spool_content *c = arg;
    struct scan name = op->name, body = op->body;
    if (!c->is_spool && op->kind != SPOOL_HEAD)
        return -EINVAL;
    c->is_spool = true;
    if (op->kind == SPOOL_HEAD || op->kind == SPOOL_TO) {
        char **to = op->kind == SPOOL_HEAD ? &c->kind : &c->to;
        struct scan text = op->kind == SPOOL_HEAD ? name : body;
        free(*to);
        *to = text.at < text.end ? strndup(text.at, (size_t)(text.end - text.at)) : NULL;
    }
    if (op->kind == SPOOL_SENT) {
        c->done = 0;
        scan_u64(&name, &c->sent);
        scan_u64(&body, &c->done);
    }
    c->points += spool_op_count_points(op);
    return 0;
}

/* A toll that was killed may leave half an operation at the end, which is cut off. */
static int spool_read_content(struct spool_file *file, struct spool_content *c,
                              struct toll_error *e)
{
    uint64_t end = 0;
    int r = spool_file_each(file, &end, spool_read_op, c);
    if (!c->is_spool || !c->kind)
        return err_set(e, -EINVAL, "'%s' is not a spool file of toll", file->path);
    if (r == -EBADMSG) {
        r = ftruncate(file->fd, (off_t)end) < 0 ? -errno : 0;
        file->length = end;
    }
    if (c->sent > end)
        c->sent = c->done = 0;
    return r < 0 ? err_set(e, r, "cannot read '%s': %s", file->path, strerror(-r)) : 0;
}

/* Opens the destination of the file, or the one that is given now. */
static int spool_open_sink(struct sink **ret, const struct spool_content *c,
                           const char *destination, struct toll_error *e)
{
    struct selection everything;
    struct toll_output o = {.size = sizeof o, .destination = destination ? destination : c->to};
    size_t length = strlen(c->kind);
    if (!o.destination)
        return err_set(e, -EINVAL, "no destination in the spool file (expected %.40s:URL)",
                       c->kind);
    if (strncmp(o.destination, c->kind, length) != 0 || o.destination[length] != ':')
        return err_set(e, -EINVAL, "the spool file is for %.40s (expected '%.40s:URL', not '%s')",
                       c->kind, c->kind, o.destination);
    /* The file must not make toll write to another file. */
    const struct sink_kind *const *kind = sink_kinds;
    while (*kind && (strcmp((*kind)->format.name, c->kind) != 0 || !(*kind)->encode))
        kind++;
    if (!*kind)
        return err_set(e, -EINVAL, "the spool file is for %.40s, which cannot be resent", c->kind);
    int r = selection_parse(&everything, NULL, e);
    return r < 0 ? r : sink_open(ret, &o, &everything, e);
}

/* Whether a destination that is given now is the server that the file was for, perhaps with another
 * password. */
static bool spool_is_same_server(const struct sink *s, const struct spool_content *c)
{
    struct buf there = {0};
    spool_add_url(&there, s);
    bool is_same = !buf_failed(&there) && c->to && strncmp(c->to, there.data, there.length) == 0 &&
                   (!c->to[there.length] || c->to[there.length] == ',') &&
                   !sink_options_has(&s->settings, "experiment") &&
                   !sink_options_has(&s->settings, "run_id");
    buf_done(&there);
    return is_same;
}

/* Gives the file to the spool of the sink, and sends it. */
static int spool_send_to(struct sink *sink, struct spool_file *file, const struct spool_content *c,
                         bool is_named, struct toll_sent *ret, struct toll_error *e)
{
    struct spool *s = sink->spool;
    struct attempt a = {0};
    bool is_elsewhere = is_named && !spool_is_same_server(sink, c);
    int r = sink->kind->take_spool ? sink->kind->take_spool(sink, file, is_elsewhere, e) : 0;
    if (r < 0)
        return r;
    if (!is_elsewhere && c->sent) {
        struct spool_counting before = {.end = c->sent};
        spool_file_each(file, &before.at, spool_count_points, &before);
        ret->points_before = before.points + c->done;
        file->sent = c->sent;
        s->file_done = c->done;
    }
    ret->points = left_u64(c->points, ret->points_before);
    s->is_elsewhere = is_elsewhere;
    spool_file_done(&s->file);
    s->file = *file;
    *file = (struct spool_file){.fd = -1};
    char *path = strdup(s->file.path);
    uint64_t length = s->file.length; /* it grows when it is marked how far it was sent */
    enum delivery d = DELIVERY_AGAIN;
    for (unsigned i = 0; i < SPOOL_SEND_ATTEMPTS && d == DELIVERY_AGAIN; i++) {
        if (i)
            usleep(250000U << i);
        d = spool_send_file(s, &a);
    }
    ret->samples = a.returned;
    ret->refused = a.rejected;
    if (sink->kind->name_run)
        sink->kind->name_run(sink, ret->run, sizeof ret->run);
    if (d != DELIVERY_DONE)
        r = err_set(e, -EIO, "%s: %s; '%s' is kept%s", sink->name, a.why, path ? path : "",
                    s->file.length > length ? " with the rest, to send again" : " unchanged");
    else if (a.is_partly || a.rejected)
        r = err_set(e, -EREMOTEIO, "%s: partly refused: %s", sink->name, a.why);
    free(path);
    return r;
}

int spool_send(const char *path, const char *destination, struct toll_sent *ret,
               struct toll_error *e)
{
    struct spool_file file;
    struct spool_content content = {0};
    struct sink *sink = NULL;
    int r = spool_file_open(&file, path);
    if (r < 0)
        return r == -EBUSY ? err_set(e, r, "cannot open '%s': in use by another toll process", path)
               : r == -EBADMSG ? err_set(e, -EINVAL, "'%s' is not a spool file of toll", path)
                               : err_set(e, r, "cannot open '%s': %s", path, strerror(-r));
    r = spool_read_content(&file, &content, e);
    if (r == 0)
        r = spool_open_sink(&sink, &content, destination, e);
    if (r == 0 && sink)
        r = spool_send_to(sink, &file, &content, destination != NULL, ret, e);
    sink_close(sink, false);
    free(content.kind);
    free(content.to);
    if (file.fd >= 0) /* the file stays */
        close(file.fd);
    free(file.path);
    return r;
}
