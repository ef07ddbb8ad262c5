/* SPDX-License-Identifier: MIT
 * --live: the status of the run on the terminal, which the job may write to as well.
 *
 * toll does not see what the job writes, so the screen belongs to the job. A row that is reserved
 * with a scroll region breaks programs that use the whole screen, and a line at the cursor ends up
 * among the job's own text. Two places are left:
 *
 * - the title of the terminal, which is written between two outputs of the job: never while it
 *   writes, since it may have written half an escape sequence or half a letter. A watch on the
 *   device (inotify) shows when something was written to it, by any process;
 * - a line at the cursor, when stdout and stderr are files: then nothing else is written to the
 *   terminal. Once the watch shows that something was, the title is used.
 *
 * A process of its own does this. It gets the lines of the output "status" and draws the latest, so
 * that a terminal that is slow or stopped never delays toll. When its socket is closed, because
 * toll has finished or was killed, it leaves the terminal as it was. It is in a process group of
 * its own, where no signal for the job reaches it. */
#include "base/clock.h"
#include "base/process.h"
#include "base/util.h"
#include "cli/session.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define APART_NS (500 * NS_PER_MS)   /* between two of them */
#define FIRST_NS (1 * NS_PER_SECOND) /* nothing is shown before */

enum {
    QUIET_MS = 100, /* without output of others, before the title is written */
    CHECK_MS = 500, /* whether toll is still in the foreground */
    END_MS = 500,   /* how long toll waits at its end for the terminal */
    RETRY_MS = 20,
    RETRIES = 100, /* of a terminal that is stopped */
    TEXT_BYTES = 512,
};

/* ==== Process that draws ====================================================================== */

struct screen {
    int lines;     /* a status for each message */
    int control;   /* at its end the terminal is left; closed when that is done. -1: closed */
    int terminal;  /* does not block */
    int watch;     /* of what is written to the terminal, -1: none */
    pid_t group;   /* of toll */
    bool has_line; /* the cursor is where toll has left it */
    bool has_title;
    bool is_shown;
    bool is_pending; /* the text has not been drawn yet */
    char text[TEXT_BYTES];
    uint64_t start_ns;
    uint64_t drawn_ns; /* when the text was last drawn */
    uint64_t noise_ns; /* when something else was last found to be written */
};

static bool screen_write(const struct screen *s, const char *text, size_t length)
{
    size_t at = 0;
    for (unsigned i = 0; at < length && i < RETRIES; i++) {
        ssize_t n = write(s->terminal, text + at, length - at);
        if (n < 0 && (errno != EAGAIN || at == 0))
            return false; /* stopped with ^S, another process is writing, or gone */
        at += n > 0 ? (size_t)n : 0;
        if (at < length) /* what was begun is completed */
            poll(&(struct pollfd){.fd = s->terminal, .events = POLLOUT}, 1, RETRY_MS);
    }
    return at == length;
}

/* Whether something was written since the last call. */
static bool screen_hears(const struct screen *s)
{
    char events[4096];
    bool has_any = false;
    while (s->watch >= 0 && read(s->watch, events, sizeof events) > 0)
        has_any = true;
    return has_any;
}

static bool screen_is_foreground(const struct screen *s)
{
    return tcgetpgrp(s->terminal) == s->group;
}

/* As many of the figures, which two blanks separate, as fit. */
static size_t screen_fit(const struct screen *s, size_t columns)
{
    size_t length = strlen(s->text);
    while (length && utf8_columns(s->text, length) > columns) {
        length--;
        while (length && !(s->text[length] == ' ' && s->text[length + 1] == ' '))
            length--;
    }
    return length;
}

static void screen_draw_line(struct screen *s)
{
    char line[TEXT_BYTES + 16];
    struct winsize size = {0};
    ioctl(s->terminal, TIOCGWINSZ, &size);
    size_t length = screen_fit(s, size.ws_col ? size.ws_col - 1U : 79);
    int n = snprintf(line, sizeof line, "\r%.*s\033[K", (int)length, s->text);
    s->is_shown |= screen_write(s, line, (size_t)n);
    screen_hears(s); /* our own */
}

static void screen_draw_title(struct screen *s)
{
    char line[TEXT_BYTES + 32];
    int n = snprintf(line, sizeof line, "%s\033]2;%s\033\\", s->is_shown ? "" : "\033[22;2t",
                     s->text);
    if (!screen_write(s, line, (size_t)n))
        return;
    s->is_shown = true;
    s->has_title = screen_hears(s); /* a watch that does not hear us does not hear the job */
}

/* Removes what is shown. */
static void screen_clear(struct screen *s)
{
    const char *undo = s->has_line ? "\r\033[K" : "\033[23;2t";
    bool has_line = s->has_line && !screen_hears(s) && screen_is_foreground(s);
    if (!s->is_shown || (s->has_line && !has_line)) {
        s->is_shown = false; /* a line that others have written to, such as a shell, stays */
        return;
    }
    for (unsigned i = 0; s->is_shown && i < RETRIES; i++) {
        bool is_quiet = s->has_line || !screen_hears(s) || i > QUIET_MS / RETRY_MS * 3;
        if (is_quiet && (screen_write(s, undo, strlen(undo)) || errno != EAGAIN))
            s->is_shown = false;
        else
            usleep(RETRY_MS * 1000);
    }
    screen_hears(s);
}

/* Draws the text if this is the moment to do so. */
static void screen_update(struct screen *s)
{
    uint64_t now = clock_mono(NULL);
    if (screen_hears(s)) {
        s->noise_ns = now;
        s->is_shown &= !s->has_line;
        s->has_line = false;
    }
    if (!screen_is_foreground(s)) {
        screen_clear(s);
        s->is_pending = false;
    }
    s->is_pending &= now - s->start_ns >= FIRST_NS;
    if (!s->is_pending || now - s->drawn_ns < APART_NS)
        return;
    if (s->has_line)
        screen_draw_line(s);
    else if (now - s->noise_ns < QUIET_MS * NS_PER_MS)
        return;
    else if (s->has_title && s->watch >= 0)
        screen_draw_title(s);
    if (s->is_shown && !s->has_line && !s->has_title)
        screen_clear(s);
    s->is_pending = false;
    s->drawn_ns = now;
}

/* The last line of the message. */
static void screen_take_text(struct screen *s, char *message, size_t length)
{
    while (length && message[length - 1] == '\n')
        length--;
    message[length] = '\0';
    const char *line = strrchr(message, '\n');
    snprintf(s->text, sizeof s->text, "%s", line ? line + 1 : message);
    text_make_printable(s->text);
    s->is_pending = true;
}

/* Only what is needed stays open: a file or pipe of the job must not stay open because of this
 * process. */
static void screen_close_others(struct screen *s)
{
    int *const kept[] = {&s->lines, &s->control, &s->terminal, &s->watch};
    int first = STDERR_FILENO + 1;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (*kept[i] >= 0)
            *kept[i] = fcntl(*kept[i], F_DUPFD_CLOEXEC, first + (int)ARRAY_LEN(kept));
    int most = first + (int)ARRAY_LEN(kept);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        most = *kept[i] > most ? *kept[i] : most;
    for (int fd = 0; fd <= most; fd++)
        if (fd != s->lines && fd != s->control && fd != s->terminal && fd != s->watch)
            close(fd);
#ifdef SYS_close_range
    syscall(SYS_close_range, most + 1, ~0U, 0);
#endif
}

static int screen_run(void *arg)
{
    struct screen *s = arg;
    prctl(PR_SET_NAME, "toll-live");
    setpgid(0, 0);
    screen_close_others(s);
    for (;;) {
        struct pollfd fds[] = {
            {.fd = s->lines, .events = POLLIN},
            {.fd = s->control, .events = POLLIN},
        };
        bool is_waiting = s->is_pending && s->control >= 0;
        poll(fds, 2, is_waiting ? QUIET_MS : s->is_shown ? CHECK_MS : -1);
        if (fds[0].revents) {
            char message[4096];
            ssize_t n = recv(s->lines, message, sizeof message - 1, MSG_DONTWAIT);
            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                break;
            if (n > 0)
                screen_take_text(s, message, (size_t)n);
        }
        if (fds[1].revents) {
            screen_clear(s);
            close(s->control);
            s->control = -1; /* the last samples are still read */
        }
        if (s->control >= 0)
            screen_update(s);
    }
    screen_clear(s);
    return 0;
}

/* ==== The side of toll ======================================================================== */

/* Other terminals may print what they do not know, such as the console of Linux. */
static bool terminal_has_title(const char *term)
{
    static const char *const known[] = {"xterm",   "tmux",  "screen", "rxvt",    "alacritty",
                                        "foot",    "kitty", "vte",    "gnome",   "konsole",
                                        "wezterm", "putty", "st-",    "ghostty", "contour"};
    for (size_t i = 0; term && i < ARRAY_LEN(known); i++)
        if (strncmp(term, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

/* What is written there cannot come back to the terminal. */
static bool is_file_or_null(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 &&
           (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)));
}

/* The controlling terminal under a name that the job's descriptors have too: a watch of /dev/tty
 * sees only what was written through that name. */
static bool terminal_find_path(int terminal, char *ret, size_t capacity)
{
    unsigned device = 0;
    struct stat st;
    if (ioctl(terminal, TIOCGDEV, &device) < 0)
        return false;
    unsigned number = (device & 0xff) | (device >> 12 & 0xfff00); /* as the kernel packs it */
    unsigned kind = device >> 8 & 0xfff;
    for (int fd = STDERR_FILENO; fd >= -1; fd--) {
        if (fd >= 0)
            snprintf(ret, capacity, "/proc/self/fd/%d", fd);
        else
            snprintf(ret, capacity, "/dev/pts/%u", number);
        if (stat(ret, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(kind, number))
            return true;
    }
    return false;
}

static int terminal_open(const char *path)
{
    return open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

int live_open(struct live *l, bool has_terminal, const char **ret_why)
{
    char path[32];
    const char *term = getenv("TERM");
    int lines[2] = {-1, -1}, control[2] = {-1, -1};
    struct screen s = {.lines = -1, .control = -1, .watch = -1, .group = getpgrp()};
    *l = (struct live){.lines = -1, .control = -1};
    s.terminal = terminal_open("/dev/tty");
    if (s.terminal < 0) {
        *ret_why = "no controlling terminal";
        return -ENOTTY;
    }
    s.watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (terminal_find_path(s.terminal, path, sizeof path) &&
        inotify_add_watch(s.watch, path, IN_MODIFY) >= 0) {
        inotify_add_watch(s.watch, "/dev/tty", IN_MODIFY);
        int named = terminal_open(path);
        if (named >= 0) {
            close(s.terminal);
            s.terminal = named;
        }
    } else {
        if (s.watch >= 0)
            close(s.watch);
        s.watch = -1;
    }
    s.has_title = s.watch >= 0 && terminal_has_title(term);
    has_terminal |= is_file_or_null(STDOUT_FILENO) && is_file_or_null(STDERR_FILENO);
    s.has_line = has_terminal && term && *term && strcmp(term, "dumb") != 0;
    s.start_ns = s.noise_ns = clock_mono(NULL);
    int r = 0;
    *ret_why = "the title of this terminal cannot be set (see TERM)";
    if (!s.has_title && !s.has_line)
        r = -ENOTTY;
    else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lines) < 0 ||
             socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
        *ret_why = strerror(errno), r = -errno;
    if (r == 0) {
        s.lines = lines[1];
        s.control = control[1];
        l->helper = quiet_fork_whole(screen_run, &s);
        if (l->helper < 0)
            *ret_why = strerror(-l->helper), r = l->helper;
    }
    if (r < 0)
        l->helper = 0;
    if (r == 0) {
        l->lines = take_fd(&lines[0]);
        l->control = take_fd(&control[0]);
    }
    int *const all[] = {&lines[0], &lines[1], &control[0], &control[1], &s.terminal, &s.watch};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (*all[i] >= 0)
            close(*all[i]);
    return r;
}

void live_end(struct live *l)
{
    if (!l->helper || l->control < 0)
        return;
    char nothing;
    shutdown(l->control, SHUT_WR);
    if (poll(&(struct pollfd){.fd = l->control, .events = POLLIN}, 1, END_MS) > 0 &&
        read(l->control, &nothing, 1) > 0)
        return;
    close(l->control);
    l->control = -1;
}

void live_close(struct live *l)
{
    enum { GRACE_MS = 2000 };
    if (!l->helper)
        return;
    live_end(l);
    close(l->lines);
    quiet_fork_end(l->helper, GRACE_MS);
    l->helper = 0;
}
