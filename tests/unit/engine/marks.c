/* SPDX-License-Identifier: MIT */
#include "engine/marks/marks.h"
#include "base/util.h"
#include "engine/tracker.h"
#include "metric/frame.h"
#include "scratch.h"
#include "toll.h"
#include "tree.h"
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* ---- marks ---------------------------------------------------------------------------------- */

static struct mark_text marks_received(const struct mark_socket *s)
{
    static char text[MARK_TEXT_BYTES];
    struct mark_text m;
    pid_t sender;
    ssize_t n = mark_socket_receive(s, text, sizeof text, &sender);
    assert_true(n > 0);
    assert_int_equal(parse_mark_text(scan_text(text, (size_t)n), &m), 0);
    return m;
}

static void test_marks_what_is_refused(void **state)
{
    char name[130], value[5000] = "k=";
    memset(name, 'x', sizeof name);
    name[129] = '\0';
    memset(value + 2, 'v', sizeof value - 3);
    unsetenv(MARK_SOCKET_VARIABLE);
    assert_int_equal(toll_mark_phase_begin(NULL, NULL), -EINVAL);
    assert_int_equal(toll_mark_phase_begin(NULL, ""), -EINVAL);
    assert_int_equal(toll_mark_phase_end(NULL, name), -EINVAL);
    assert_int_equal(toll_mark_event(NULL, "a\nb", NULL), -EINVAL);
    assert_int_equal(toll_mark_event(NULL, "\xFF", NULL), -EINVAL);
    assert_int_equal(toll_mark_gauge(NULL, "x", NAN), -EINVAL);
    assert_int_equal(toll_mark_gauge(NULL, "x", INFINITY), -EINVAL);
    assert_int_equal(toll_mark_event(NULL, "x", (const char *[]){"novalue", NULL}), -EINVAL);
    assert_int_equal(toll_mark_event(NULL, "x", (const char *[]){value, NULL}), -EINVAL);
    assert_int_equal(toll_mark(NULL, NULL), -EINVAL);
    assert_int_equal(toll_mark(NULL, &(struct toll_mark){.name = "x"}), -EINVAL);
    struct toll_mark m = {.size = sizeof m, .name = "x", .kind = 99};
    assert_int_equal(toll_mark(NULL, &m), -EINVAL);
    m = (struct toll_mark){.size = sizeof m, .name = "x", .pid = -1};
    assert_int_equal(toll_mark(NULL, &m), -EINVAL);
    m = (struct toll_mark){.size = sizeof m,
                           .name = "x",
                           .kind = TOLL_MARK_PHASE_END,
                           .attributes = (const char *[]){"k=v", NULL}};
    assert_int_equal(toll_mark(NULL, &m), -EINVAL);
    assert_int_equal(toll_mark_phase_begin(NULL, "fine"), 1);
}

static void test_marks_what_is_sent(void **state)
{
    struct mark_socket s;
    assert_int_equal(mark_socket_open(&s), 0);
    setenv(MARK_SOCKET_VARIABLE, s.address.sun_path, 1);
    uint64_t before = clock_mono(NULL);
    assert_int_equal(toll_mark_phase_begin(NULL, "a b"), 0);
    struct mark_text m = marks_received(&s);
    assert_true(m.kind == MARK_PHASE_BEGIN && strcmp(m.name, "a b") == 0 && m.pid == 0);
    assert_true(m.time_ns >= before && m.time_ns <= clock_mono(NULL));
    assert_int_equal(toll_mark_phase_end(NULL, "a b"), 0);
    assert_int_equal(marks_received(&s).kind, MARK_PHASE_END);
    assert_int_equal(toll_mark_gauge(NULL, "g", -0.125), 0);
    assert_true(marks_received(&s).value == -0.125);
    assert_int_equal(toll_mark_event(NULL, "e", (const char *[]){"k=v w", NULL}), 0);
    m = marks_received(&s);
    char text[64];
    const char *value;
    assert_true(mark_text_attribute(&m.attributes, text, sizeof text, &value));
    assert_string_equal(value, "v w");
    struct toll_mark other = {
        .size = sizeof other, .kind = TOLL_MARK_EVENT, .name = "e", .pid = 4711};
    assert_int_equal(toll_mark(NULL, &other), 0);
    assert_int_equal(marks_received(&s).pid, 4711);
    other.size = offsetof(struct toll_mark, attributes); /* of an older program */
    other.attributes = (const char *[]){"no attribute", NULL};
    assert_int_equal(toll_mark(NULL, &other), 0);
    assert_int_equal(marks_received(&s).pid, 4711);
    mark_socket_close(&s);
}

static void test_marks_to_a_tracker(void **state)
{
    struct toll_tracker *t;
    struct toll_options o = {.size = sizeof o, .system = true};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_mark_gauge(t, "early", 1), 0); /* waits for the start */
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    assert_int_equal(toll_mark_phase_begin(t, "p"), 0);
    assert_true(toll_tracker_step(t) > 0);
    assert_int_equal(t->summary.marks.taken, 2);
    assert_int_equal(t->marks.phases.count, 1);
    assert_int_equal(toll_mark_phase_end(t, "p"), 0);
    t->owner_pid = 1; /* as in a fork */
    assert_int_equal(toll_mark_gauge(t, "g", 1), -ESRCH);
    t->owner_pid = getpid();
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_int_equal(t->summary.marks.phases[0].count, 1);
    assert_int_equal(toll_mark_gauge(t, "late", 1), 1);
    toll_tracker_free(t);
}

/* ---- mark client ---------------------------------------------------------------------------- */

static int send_event(void)
{
    struct buf b = {0};
    mark_text_begin(&b, MARK_EVENT, "e");
    int r = mark_client_send(&b);
    buf_done(&b);
    return r;
}

static void test_mark_client_nobody_listens(void **state)
{
    static const char *const paths[] = {"", "/no/such/socket", "/etc/passwd", "/etc", "relative"};
    char long_path[300];
    unsetenv(MARK_SOCKET_VARIABLE);
    assert_false(mark_client_has_listener());
    errno = 77;
    assert_int_equal(send_event(), 1);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        setenv(MARK_SOCKET_VARIABLE, paths[i], 1);
        assert_int_equal(mark_client_has_listener(), *paths[i] != '\0');
        assert_int_equal(send_event(), 1);
    }
    memset(long_path, 'x', sizeof long_path);
    long_path[sizeof long_path - 1] = '\0';
    setenv(MARK_SOCKET_VARIABLE, long_path, 1);
    assert_int_equal(send_event(), 1);
    assert_int_equal(errno, 77); /* the program's own */
}

/* The kernel holds some; then they are lost, which the next one tells. */
static void test_mark_client_a_listener_that_does_not_keep_up(void **state)
{
    struct mark_socket s;
    struct mark_text m;
    char text[MARK_TEXT_BYTES];
    pid_t sender;
    unsigned sent = 0, lost = 0, received = 0;
    assert_int_equal(mark_socket_open(&s), 0);
    setenv(MARK_SOCKET_VARIABLE, s.address.sun_path, 1);
    unsigned before = tree_open_fds();
    while (lost < 3 && sent < 100000) {
        int r = send_event();
        assert_true(r == 0 || r == -EAGAIN);
        sent += r == 0;
        lost += r < 0;
    }
    assert_int_equal(lost, 3);
    assert_int_equal(tree_open_fds(), before);
    ssize_t n;
    while ((n = mark_socket_receive(&s, text, sizeof text, &sender)) > 0)
        received++;
    assert_int_equal(received, sent);
    assert_int_equal(send_event(), 0);
    n = mark_socket_receive(&s, text, sizeof text, &sender);
    assert_true(n > 0);
    assert_int_equal(parse_mark_text(scan_text(text, (size_t)n), &m), 0);
    assert_int_equal(m.lost, 3);
    assert_int_equal(send_event(), 0); /* told once */
    n = mark_socket_receive(&s, text, sizeof text, &sender);
    assert_int_equal(parse_mark_text(scan_text(text, (size_t)n), &m), 0);
    assert_int_equal(m.lost, 0);
    mark_socket_close(&s);
    assert_int_equal(send_event(), 1);
}

/* ---- mark intake ---------------------------------------------------------------------------- */

/* A tracker of the machine: it takes marks, and its figures do not matter. */
static struct toll_tracker *track(void)
{
    struct toll_tracker *t;
    struct toll_options o = {.size = sizeof o, .system = true, .metrics = "system_cpu_seconds"};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    return t;
}

static void say(struct toll_tracker *t, const char *text)
{
    assert_int_equal(mark_queue_put(&t->marks.queue, strdup(text)), 0);
}

static void test_marks_counts(void **state)
{
    struct toll_tracker *t = track();
    say(t, "event a");
    say(t, "nonsense");
    say(t, "gauge g 2 @lost=7");
    say(t, "event a @lost=1000000001"); /* not believed */
    say(t, "phase end never");
    step_marks(t);
    const struct mark_totals *m = &t->summary.marks;
    assert_true(m->taken == 4 && m->ignored == 1 && m->lost == 7 && m->events == 2);
    assert_int_equal(m->unmatched, 1);
    assert_int_equal(m->gauge_count, 1);
    assert_int_equal(t->marks.waiting_count, 0);
    toll_tracker_free(t);
}

/* A time that lies outside the run is not believed. */
static void test_marks_times(void **state)
{
    struct toll_tracker *t = track();
    char text[64];
    uint64_t now_ns = clock_mono(NULL);
    snprintf(text, sizeof text, "phase begin told @time=%llu",
             (unsigned long long)t->tracked.start_ns);
    say(t, text);
    say(t, "phase begin before @time=1");
    say(t, "phase begin after @time=18446744073709551615");
    step_marks(t);
    struct phase **open = t->marks.phases.open;
    assert_int_equal(t->marks.phases.count, 3);
    assert_int_equal(open[0]->begin_ns, t->tracked.start_ns);
    for (int i = 1; i < 3; i++)
        assert_true(open[i]->begin_ns >= now_ns && open[i]->begin_ns <= clock_mono(NULL));
    toll_tracker_free(t);
}

/* A look at once for a boundary of a phase, none for other marks. */
static void test_marks_looks(void **state)
{
    struct toll_tracker *t = track();
    say(t, "event a");
    say(t, "gauge g 1");
    step_marks(t);
    assert_int_equal(t->frame.tick, 0);
    say(t, "phase begin p");
    step_marks(t);
    assert_int_equal(t->frame.tick, 1);
    t->marks.looks_cost_ns = UINT64_MAX / 2; /* all is used up */
    say(t, "phase end p");
    step_marks(t);
    assert_int_equal(t->frame.tick, 1);
    assert_true(t->marks.looks_rest);
    assert_int_equal(t->summary.marks.phase_count, 1); /* counted all the same */
    toll_tracker_free(t);
}

/* A flood does not keep a step from its end. */
static void test_marks_at_most_so_many(void **state)
{
    struct toll_tracker *t = track();
    for (int i = 0; i < 1000; i++)
        say(t, "event a");
    step_marks(t);
    assert_true(t->summary.marks.taken > 0 && t->summary.marks.taken < 1000);
    marks_close(&t->marks);
    marks_finish(&t->marks);
    assert_int_equal(t->summary.marks.taken, 1000);
    toll_tracker_free(t);
}

static void test_marks_no_socket(void **state)
{
    struct toll_tracker *t = track();
    t->options.no_marks = true;
    marks_listen(&t->marks, &t->wakeup);
    assert_int_equal(t->marks.socket.fd, -1);
    assert_int_equal(t->marks.failure, 0);
    t->marks.failure = -ENOSPC;
    step_marks(t); /* told once, and the run goes on */
    step_marks(t);
    outputs_send_events(&t->outputs, &t->tracked.events);
    assert_int_equal(t->summary.note_count, 1);
    assert_non_null(strstr(t->summary.notes[0], "cannot create the socket"));
    toll_tracker_free(t);
}

/* ---- mark queue ----------------------------------------------------------------------------- */

static void test_mark_queue_order(void **state)
{
    struct mark_queue q;
    uint64_t lost = 0;
    mark_queue_init(&q);
    assert_null(mark_queue_take(&q, &lost));
    assert_int_equal(mark_queue_put(&q, strdup("a")), 0);
    assert_int_equal(mark_queue_put(&q, strdup("b")), 0);
    char *first = mark_queue_take(&q, &lost);
    assert_string_equal(first, "a");
    free(first);
    assert_int_equal(lost, 0);
    mark_queue_close(&q);
    assert_int_equal(mark_queue_put(&q, strdup("c")), 1);
    mark_queue_done(&q); /* with b in it */
}

static void test_mark_queue_full(void **state)
{
    struct mark_queue q;
    uint64_t lost = 5;
    mark_queue_init(&q);
    for (int i = 0; i < MARK_QUEUE_AT_MOST + 3; i++)
        assert_int_equal(mark_queue_put(&q, strdup("x")), i < MARK_QUEUE_AT_MOST ? 0 : -EAGAIN);
    for (int i = 0; i < 10; i++)
        free(mark_queue_take(&q, &lost));
    assert_int_equal(lost, 8);
    for (int i = 0; i < 10; i++) /* around the end of the ring */
        assert_int_equal(mark_queue_put(&q, strdup("y")), 0);
    mark_queue_done(&q);
}

enum { THREADS = 4, EACH = 5000 };

static void *put_many(void *queue)
{
    long full = 0;
    for (long i = 0; i < EACH; i++) {
        char *text = NULL;
        if (asprintf(&text, "%ld", i) < 0)
            return NULL;
        full += mark_queue_put(queue, text) == -EAGAIN;
    }
    return (void *)full;
}

static void test_mark_queue_threads(void **state)
{
    struct mark_queue q;
    pthread_t ids[THREADS];
    uint64_t lost = 0, taken = 0, refused = 0;
    mark_queue_init(&q);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, put_many, &q), 0);
    for (int i = 0; i < THREADS * EACH; i++) {
        char *text = mark_queue_take(&q, &lost);
        taken += text != NULL;
        free(text);
    }
    for (int i = 0; i < THREADS; i++) {
        void *full;
        pthread_join(ids[i], &full);
        refused += (uint64_t)(uintptr_t)full;
    }
    for (char *text; (text = mark_queue_take(&q, &lost)); taken++)
        free(text);
    assert_int_equal(taken + lost, THREADS * EACH);
    assert_int_equal(lost, refused);
    mark_queue_done(&q);
}

/* ---- mark socket ---------------------------------------------------------------------------- */

static void send_text(const struct mark_socket *s, const void *text, size_t length)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_true(sendto(fd, text, length, 0, (const struct sockaddr *)&s->address,
                       sizeof s->address) == (ssize_t)length);
    close(fd);
}

static void in_tree(const struct tree *t)
{
    setenv("XDG_RUNTIME_DIR", t->path, 1);
}

static void test_mark_socket_receives(void **state)
{
    struct tree t;
    struct mark_socket s;
    struct stat st;
    char text[64];
    pid_t sender = 0;
    tree_make(&t);
    in_tree(&t);
    unsigned before = tree_open_fds();
    assert_int_equal(mark_socket_open(&s), 0);
    assert_int_equal(stat(s.directory, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_true(fcntl(s.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(mark_socket_receive(&s, text, sizeof text, &sender), -EAGAIN);
    send_text(&s, "hello", 5);
    assert_int_equal(mark_socket_receive(&s, text, sizeof text, &sender), 5);
    assert_memory_equal(text, "hello", 5);
    assert_int_equal(sender, getpid());
    char large[100] = {0};
    send_text(&s, large, sizeof large);
    assert_int_equal(mark_socket_receive(&s, text, sizeof text, &sender), -EMSGSIZE);
    send_text(&s, "", 0);
    assert_int_equal(mark_socket_receive(&s, text, sizeof text, &sender), 0);
    mark_socket_close(&s);
    mark_socket_close(&s);
    assert_int_equal(tree_open_fds(), before);
    tree_remove(&t);
}

/* Descriptors that come along are closed, not kept. */
static void test_mark_socket_takes_no_descriptors(void **state)
{
    struct tree t;
    struct mark_socket s;
    tree_make(&t);
    in_tree(&t);
    assert_int_equal(mark_socket_open(&s), 0);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {0};
    struct iovec text = {.iov_base = (char[]){"x"}, .iov_len = 1};
    struct msghdr m = {.msg_name = &s.address,
                       .msg_namelen = sizeof s.address,
                       .msg_iov = &text,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    assert_int_equal(sendmsg(fd, &m, 0), 1);
    unsigned before = tree_open_fds();
    char to[8];
    pid_t sender;
    assert_int_equal(mark_socket_receive(&s, to, sizeof to, &sender), 1);
    assert_int_equal(tree_open_fds(), before);
    close(fd);
    mark_socket_close(&s);
    tree_remove(&t);
}

/* A toll that was killed leaves its socket, which nobody listens on. */
static void test_mark_socket_removes_what_was_left(void **state)
{
    struct tree t;
    struct mark_socket left, live, own;
    struct stat st;
    tree_make(&t);
    in_tree(&t);
    assert_int_equal(mark_socket_open(&left), 0);
    assert_int_equal(mark_socket_open(&live), 0);
    assert_int_equal(mark_socket_open(&own), 0);
    close(left.fd);
    mark_socket_close(&own);
    assert_int_equal(stat(left.directory, &st), -1);
    assert_int_equal(stat(live.address.sun_path, &st), 0);
    mark_socket_close(&live);
    tree_remove(&t);
}

static void test_mark_socket_a_fork_removes_nothing(void **state)
{
    struct tree t;
    struct mark_socket s;
    struct stat st;
    int status;
    tree_make(&t);
    in_tree(&t);
    assert_int_equal(mark_socket_open(&s), 0);
    char path[sizeof s.address.sun_path];
    memcpy(path, s.address.sun_path, sizeof path);
    pid_t child = fork();
    if (!child) {
        mark_socket_close(&s);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(stat(path, &st), 0);
    mark_socket_close(&s);
    assert_int_equal(stat(path, &st), -1);
    tree_remove(&t);
}

static void test_mark_socket_environment(void **state)
{
    struct mark_socket s = {.address.sun_path = "/x/y"};
    struct environment e = {0};
    assert_int_equal(mark_socket_export(&s, &e), 0);
    assert_int_equal(e.count, 1);
    assert_string_equal(e.more[0], "TOLL_SOCKET=/x/y");
    environment_done(&e);
}

/* ---- phase files ---------------------------------------------------------------------------- */

/* Analyses and comparisons, from files to text and JSON; of all of subtrack that is not tested on
 * its own. The figures are worked out by hand. */

static const char points[] = "unit,capacity,cores\r\nmega,2.5,4\r\n"
                             "ram_of_main,n_threads,timestamp\r\n"
                             "1.0,2,100.0\r\n3.0,2,101.0\r\n5.0,4,102.0\r\n7.5,4,110.0\r\n";

static const char blocks[] = "process_id,code_block_name,position,timestamp\r\n"
                             "1,f,0,99.5\r\n1,f,1,101.0\r\n1,f,0,103.0\r\n1,f,1,104.5\r\n"
                             "1,g.py:9,0,101.5\r\n1,g.py:9,1,102.5\r\n1,g.py:9,0,120.0\r\n";

static const char phase_files_text[] = "Overall:\n"
                                       "\t             min  max  mean        std\n"
                                       "\tram_of_main  1.0  7.5 4.125 2.40767004\n"
                                       "\tn_threads    2.0  4.0   3.0        1.0\n"
                                       "Static Data:\n"
                                       "\t  unit capacity cores\n"
                                       "\t  mega      2.5     4\n"
                                       "Code Block Results:\n"
                                       "\tName:                f\n"
                                       "\tNum Timepoints:      2\n"
                                       "\tNum Calls:           2\n"
                                       "\tNum Non Empty Calls: 1\n"
                                       "\tCompute Time:\n"
                                       "\t\t  min  max  mean  std  total\n"
                                       "\t\t  1.5  1.5   1.5  0.0    3.0\n"
                                       "\tResource Usage:\n"
                                       "\t\t             min  max  mean  std\n"
                                       "\t\tram_of_main  1.0  3.0   2.0  1.0\n"
                                       "\t\tn_threads    2.0  2.0   2.0  0.0\n"
                                       "\n"
                                       "\tName:                g.py:9\n"
                                       "\tNum Timepoints:      1\n"
                                       "\tNum Calls:           1\n"
                                       "\tNum Non Empty Calls: 1\n"
                                       "\tCompute Time:\n"
                                       "\t\t  min  max  mean  std  total\n"
                                       "\t\t  1.0  1.0   1.0  0.0    1.0\n"
                                       "\tResource Usage:\n"
                                       "\t\t             min  max  mean  std\n"
                                       "\t\tram_of_main  5.0  5.0   5.0  0.0\n"
                                       "\t\tn_threads    4.0  4.0   4.0  0.0\n"
                                       "\n";

static struct toll_error phase_files_e;

static char *analyzed(const char *p, const char *b, const char *format)
{
    char *got = NULL;
    assert_int_equal(toll_phases_analyze(p, b, format, &got, &phase_files_e), 0);
    return got;
}

static void test_phase_files_text(void **state)
{
    const char *p = scratch_write("p.csv", points), *b = scratch_write("b.csv", blocks);
    char *got = analyzed(p, b, NULL);
    assert_string_equal(got, phase_files_text);
    free(got);
}

/* Without the static data in front, which older files do not have. */
static void test_phase_files_session_alone(void **state)
{
    const char *p = scratch_write("p.csv", strstr(points, "ram_of_main"));
    char *got = analyzed(p, NULL, "text");
    assert_string_equal(got, "Overall:\n"
                             "\t             min  max  mean        std\n"
                             "\tram_of_main  1.0  7.5 4.125 2.40767004\n"
                             "\tn_threads    2.0  4.0   3.0        1.0\n"
                             "Static Data:\n\t\n\t\n"
                             "Code Block Results:\n");
    free(got);
}

static void test_phase_files_nothing_seen(void **state)
{
    const char *p = scratch_write("p.csv", "a,timestamp\n");
    const char *b = scratch_write("b.csv", blocks);
    char *got = analyzed(p, b, "json");
    assert_non_null(strstr(got, "\"min\": null"));
    assert_non_null(strstr(got, "\"num_non_empty_calls\": 0"));
    free(got);
}

static int compare(const char *first, const char *second, const char *statistic, char **ret)
{
    struct toll_comparison c = {
        .size = sizeof c,
        .sessions = (const char *const[]){first, second, NULL},
        .statistic = statistic,
    };
    return toll_phases_compare(&c, ret, &phase_files_e);
}

static const char *session(char *into, size_t size, const char *name, const char *rows)
{
    char file[32];
    const char *p = scratch_write("p.csv", points), *b = scratch_write("b.csv", rows);
    char *json = analyzed(p, b, "json");
    snprintf(file, sizeof file, "%s.json", name);
    snprintf(into, size, "%s=%s", name, scratch_write(file, json));
    free(json);
    return into;
}

static void test_phase_files_comparison(void **state)
{
    char a[160], b[160], c[160], *got = NULL;
    session(a, sizeof a, "A", blocks);
    session(b, sizeof b, "B",
            "process_id,code_block_name,position,timestamp\n"
            "1,g.py:12,0,100.5\n1,g.py:12,1,102.75\n1,f,0,99.5\n1,f,1,100.5\n");
    assert_int_equal(compare(a, b, NULL, &got), 0);
    assert_string_equal(got, "Overall Resource Usage:\n"
                             "\tRam Of Main:\n\t\t     A     B\n\t\t 4.125 4.125\n"
                             "\tN Threads:\n\t\t   A   B\n\t\t 3.0 3.0\n"
                             "Code Block Resource Usage:\n"
                             "\tRam Of Main:\n"
                             "\t\tf:\n\t\t\t   B   A\n\t\t\t 1.0 2.0\n"
                             "\t\tg.py:12 -> g.py:9:\n\t\t\t   B   A\n\t\t\t 4.0 5.0\n"
                             "\tN Threads:\n"
                             "\t\tf:\n\t\t\t   A   B\n\t\t\t 2.0 2.0\n"
                             "\t\tg.py:12 -> g.py:9:\n\t\t\t   B   A\n\t\t\t 3.0 4.0\n"
                             "Code Block Compute Time:\n"
                             "\tf:\n\t\t   B   A\n\t\t 1.0 1.5\n"
                             "\tg.py:12 -> g.py:9:\n\t\t   A    B\n\t\t 1.0 2.25\n");
    free(got);
    got = NULL;
    assert_int_equal(compare(a, b, "median", &got), -EINVAL);
    assert_string_equal(phase_files_e.message,
                        "Invalid summary statistic 'median'. Valid values are min max mean std.");
    session(c, sizeof c, "C", "process_id,code_block_name,position,timestamp\n");
    assert_int_equal(compare(a, c, NULL, &got), -EINVAL);
    assert_string_equal(phase_files_e.message,
                        "All sub-tracking results must have the same number of code blocks. The "
                        "first has 2 code blocks but tracking session \"C\" has 0 code blocks.");
    session(c, sizeof c, "C",
            "process_id,code_block_name,position,timestamp\n1,f,0,1\n1,h:9,0,1\n");
    assert_int_equal(compare(a, c, NULL, &got), -EINVAL);
    assert_string_equal(phase_files_e.message,
                        "Code block name \"g.py:9\" of tracking session \"A\" does not match code "
                        "block name \"h:9\" of tracking session \"C\"");
    assert_int_equal(compare(a, a, NULL, &got), -EINVAL);
    assert_int_equal(compare(a, "B", NULL, &got), -EINVAL);
    assert_null(got);
}

static void test_phase_files_bad(void **state)
{
    char *got = NULL, no_json[160];
    const char *p = scratch_write("p.csv", points), *b = scratch_write("b.csv", blocks);
    assert_int_equal(toll_phases_analyze(p, b, "xml", &got, &phase_files_e), -EINVAL);
    assert_string_equal(phase_files_e.message,
                        "\"xml\" is not a valid format. Valid values are \"json\" or \"text\".");
    assert_int_equal(toll_phases_analyze(NULL, b, NULL, &got, &phase_files_e), -EINVAL);
    assert_int_equal(toll_phases_analyze(b, b, NULL, &got, &phase_files_e), -EBADMSG);
    assert_int_equal(toll_phases_analyze(p, p, NULL, &got, &phase_files_e), -ENOENT);
    assert_int_equal(toll_phases_combine("x.csv", NULL, &phase_files_e), -EINVAL);
    snprintf(no_json, sizeof no_json, "A=%s", scratch_write("a.json", "{\"overall\": {\"a\": 1}}"));
    assert_int_equal(compare(no_json, no_json, NULL, &got), -EBADMSG);
    assert_null(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_what_is_refused),
        cmocka_unit_test(test_marks_what_is_sent),
        cmocka_unit_test(test_marks_to_a_tracker),
        cmocka_unit_test(test_mark_client_nobody_listens),
        cmocka_unit_test(test_mark_client_a_listener_that_does_not_keep_up),
        cmocka_unit_test(test_marks_counts),
        cmocka_unit_test(test_marks_times),
        cmocka_unit_test(test_marks_looks),
        cmocka_unit_test(test_marks_at_most_so_many),
        cmocka_unit_test(test_marks_no_socket),
        cmocka_unit_test(test_mark_queue_order),
        cmocka_unit_test(test_mark_queue_full),
        cmocka_unit_test(test_mark_queue_threads),
        cmocka_unit_test(test_mark_socket_receives),
        cmocka_unit_test(test_mark_socket_takes_no_descriptors),
        cmocka_unit_test(test_mark_socket_removes_what_was_left),
        cmocka_unit_test(test_mark_socket_a_fork_removes_nothing),
        cmocka_unit_test(test_mark_socket_environment),
        cmocka_unit_test_setup_teardown(test_phase_files_text, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_phase_files_session_alone, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_phase_files_nothing_seen, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_phase_files_comparison, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_phase_files_bad, scratch_make, scratch_remove),
    };
    return RUN("engine/marks", tests);
}
