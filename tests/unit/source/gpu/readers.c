/* SPDX-License-Identifier: MIT */
#include "source/gpu/readers.h"
#include "base/clock.h"
#include "source/gpu/vendor.h"
#include "tree.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

/* ---- gpu readers ---------------------------------------------------------------------------- */

/* Three vendors that do as the test says. */

enum { LONG_MS = 20000, A = 0, B, C, VENDORS }; /* for what comes soon unless the machine is busy */

static struct told {
    atomic_bool is_likely, hangs_open, hangs_read; /* until somebody says otherwise */
    atomic_bool is_hanging; /* its thread has come that far: it may be long in doing so */
    atomic_int open_result, devices, rounds, is_closed;
} told[VENDORS];

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void hang(struct told *v, const atomic_bool *as_long_as)
{
    while (*as_long_as) {
        v->is_hanging = true;
        sleep_ms(1);
    }
    v->is_hanging = false;
}

static int told_open(struct told *v, void **ret_state, struct gpu_trouble *trouble)
{
    hang(v, &v->hangs_open);
    *ret_state = v;
    if (v->open_result)
        snprintf(trouble->sentence, sizeof trouble->sentence, "%s",
                 v->open_result == -ENODEV ? "no such device" : "it does not open");
    return v->open_result;
}

static void told_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                      struct gpu_trouble *trouble)
{
    struct told *v = state;
    hang(v, &v->hangs_read);
    v->rounds++;
    for (int i = 0; i < v->devices; i++) {
        struct gpu_device *d = gpu_frame_add_device(f);
        d->facts.index = (unsigned)i;
        row_put_u64(&d->row, gpu_memory_used_bytes, (uint64_t)v->rounds);
    }
    for (size_t i = 0; i < pid_count; i++) /* each uses the last device */
        gpu_frame_process(f, (unsigned)f->device_count - 1, pids[i])->memory_bytes = 10;
}

static void told_close(void *state)
{
    ((struct told *)state)->is_closed++;
}

#define VENDOR(word, which)                                                                        \
    static bool word##_likely(const struct sysroot *root)                                          \
    {                                                                                              \
        return (which)->is_likely;                                                                 \
    }                                                                                              \
    static int word##_open(void **ret_state, const struct gpu_context *c,                          \
                           struct gpu_trouble *trouble)                                            \
    {                                                                                              \
        assert_true(c->root->sys >= 0 && c->root->root >= 0);                                      \
        return told_open(which, ret_state, trouble);                                               \
    }

#define CALLS(word)                                                                                \
    .is_likely = word##_likely, .open = word##_open, .read = told_read, .close = told_close

VENDOR(a, &told[A])

VENDOR(b, &told[B])

VENDOR(c, &told[C])

static const struct gpu_vendor vendor_a = {.name = "a", .means = "A", CALLS(a)};

static const struct gpu_vendor vendor_b = {.name = "b", .means = "B", CALLS(b)};

static const struct gpu_vendor vendor_c = {.name = "c", .means = "C", CALLS(c)};

static const struct gpu_vendor *const vendors[] = {&vendor_a, &vendor_b, &vendor_c, NULL};

static void tell_vendor(struct told *v)
{
    v->is_likely = true;
    v->hangs_open = v->hangs_read = v->is_hanging = false;
    v->open_result = v->rounds = v->is_closed = 0;
    v->devices = 2;
}

static void tell_all(void)
{
    for (unsigned i = 0; i < VENDORS; i++)
        tell_vendor(&told[i]);
}

static int try_start(struct gpu_readers **ret, bool all)
{
    struct sysroot root;
    assert_int_equal(sysroot_open_proc(&root, NULL), 0); /* as before a command is started */
    int r = gpu_readers_start(ret, &root, vendors, all);
    sysroot_close(&root); /* they have their own */
    return r;
}

static struct gpu_readers *start(void)
{
    struct gpu_readers *r;
    assert_int_equal(try_start(&r, false), 0);
    return r;
}

/* Asks, and waits until the rounds of that vendor are over. */
static void ask_until(struct gpu_readers *r, struct told *v, int rounds)
{
    gpu_readers_ask(r, NULL, 0, 0);
    for (unsigned i = 0; i < LONG_MS && v->rounds < rounds; i++)
        sleep_ms(1);
    assert_true(v->rounds >= rounds);
}

static void wait_until_it_hangs(const struct told *v)
{
    for (unsigned i = 0; i < LONG_MS && !v->is_hanging; i++)
        sleep_ms(1);
    assert_true(v->is_hanging);
}

/* The thread may be about to hand it over. */
static void take(struct gpu_readers *r, struct gpu_frame *f)
{
    bool is_new = false;
    for (unsigned i = 0; i < LONG_MS && !is_new; i++) {
        is_new = gpu_readers_take(r, f);
        if (!is_new)
            sleep_ms(1);
    }
    assert_true(is_new);
}

static uint64_t value(const struct gpu_frame *f, unsigned device)
{
    return row_u64(&f->devices[device].row, gpu_memory_used_bytes);
}

static void expect_device(const struct gpu_frame *f, unsigned place, const char *means,
                          unsigned index)
{
    assert_true(place < f->device_count);
    assert_string_equal(f->devices[place].facts.means, means);
    assert_int_equal(f->devices[place].facts.index, index);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_gpu_readers_one_frame_of_all(void **state)
{
    struct gpu_frame f = {0};
    const pid_t pids[] = {3, 4};
    pid_t threads[GPU_READERS_MAX];
    tell_all();
    struct gpu_readers *r = start();
    assert_int_equal(gpu_readers_threads(r, threads), VENDORS);
    assert_true(threads[A] > 0 && threads[B] > 0 && threads[A] != threads[B]);
    for (uint64_t round = 1; round <= 3; round++) {
        gpu_readers_ask(r, pids, 2, 0);
        assert_true(gpu_readers_wait(r, LONG_MS, true));
        assert_false(gpu_readers_are_asked(r));
        assert_true(gpu_readers_take(r, &f));
        assert_false(gpu_readers_take(r, &f));
        assert_int_equal(f.device_count, 6);
        assert_int_equal(f.process_count, 6);
        for (unsigned i = 0; i < f.device_count; i++) {
            expect_device(&f, i, i < 2 ? "A" : i < 4 ? "B" : "C", i % 2);
            assert_int_equal(value(&f, i), round);
            assert_int_equal(gpu_frame_count(&f, i), i % 2 ? 2 : 0);
        }
    }
    assert_int_equal(gpu_readers_open_count(r), 3);
    assert_true(gpu_readers_are_complete(r));
    assert_false(gpu_readers_have_child(r, getpid()));
    gpu_readers_free(r, LONG_MS);
    assert_true(told[A].is_closed && told[B].is_closed && told[C].is_closed);
    gpu_frame_done(&f);
    gpu_readers_free(NULL, 0);
}

/* It costs the figures of its own devices, which stay where they are. */
static void test_gpu_readers_one_hangs(void **state)
{
    struct gpu_frame f = {0};
    bool is_beginning = true;
    tell_all();
    struct gpu_readers *r = start();
    gpu_readers_ask(r, NULL, 0, 0);
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    assert_true(gpu_readers_take(r, &f));
    uint64_t read_ns = f.devices[0].read_ns;
    told[A].hangs_read = true;
    for (int round = 2; round <= 4; round++) {
        ask_until(r, &told[C], round);
        ask_until(r, &told[B], round);
        take(r, &f);
    }
    wait_until_it_hangs(&told[A]);
    gpu_readers_wait(r, 0, true);
    gpu_readers_take(r, &f);
    assert_int_equal(f.device_count, 6);
    assert_true(value(&f, 0) == 1 && f.devices[0].read_ns == read_ns);
    assert_true(value(&f, 3) >= 3 && value(&f, 5) >= 3 && f.devices[5].read_ns > read_ns);
    assert_true(gpu_readers_are_complete(r));
    assert_false(gpu_readers_wait(r, 1, false));
    assert_ptr_equal(gpu_readers_late(r, 0, &is_beginning), &vendor_a);
    assert_false(is_beginning);
    while (gpu_readers_late(r, 0, &is_beginning)) /* each once, and this one was told */
        ;
    told[A].hangs_read = false;
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    take(r, &f);
    assert_true(value(&f, 0) >= 2);
    gpu_readers_free(r, LONG_MS);
    gpu_frame_done(&f);
}

/* Its devices come behind those that were there before. */
static void test_gpu_readers_one_begins_late(void **state)
{
    struct gpu_frame f = {0};
    bool is_beginning = false;
    tell_all();
    told[A].hangs_open = true;
    struct gpu_readers *r = start();
    ask_until(r, &told[B], 1);
    ask_until(r, &told[C], 1);
    wait_until_it_hangs(&told[A]);
    assert_true(gpu_readers_wait(r, LONG_MS, false)); /* for those that have begun */
    assert_false(gpu_readers_wait(r, 1, true));
    take(r, &f);
    assert_int_equal(f.device_count, 4);
    assert_int_equal(gpu_readers_open_count(r), -EAGAIN);
    assert_false(gpu_readers_are_complete(r));
    assert_ptr_equal(gpu_readers_late(r, NS_PER_MS, &is_beginning), &vendor_a);
    assert_true(is_beginning);
    told[A].hangs_open = false;
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    take(r, &f);
    assert_int_equal(f.device_count, 6);
    expect_device(&f, 0, "B", 0);
    expect_device(&f, 3, "C", 1);
    expect_device(&f, 5, "A", 1);
    assert_true(gpu_readers_are_complete(r));
    gpu_readers_ask(r, (pid_t[]){7}, 1, 0); /* and processes with them */
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    take(r, &f);
    assert_int_equal(gpu_frame_count(&f, 5), 1);
    assert_int_equal(gpu_frame_count(&f, 4), 0);
    gpu_readers_free(r, LONG_MS);
    gpu_frame_done(&f);
}

/* Nobody waits for one that has not begun, and it frees what it owns when it comes back. */
static void test_gpu_readers_left_behind(void **state)
{
    tell_all();
    told[C].hangs_open = true;
    struct gpu_readers *r = start();
    ask_until(r, &told[A], 1); /* it has begun */
    wait_until_it_hangs(&told[C]);
    assert_true(gpu_readers_wait(r, LONG_MS, false));
    gpu_readers_free(r, LONG_MS);
    assert_true(told[A].is_closed && !told[C].is_closed);
    told[C].hangs_open = false;
    for (unsigned i = 0; i < LONG_MS && !told[C].is_closed; i++)
        sleep_ms(1);
    assert_int_equal(told[C].is_closed, 1);
    sleep_ms(50); /* the sanitizers may see it end */
}

/* A frame with other devices than at first takes nobody's place. */
static void test_gpu_readers_places_are_kept(void **state)
{
    struct gpu_frame f = {0};
    tell_all();
    struct gpu_readers *r = start();
    for (int devices = 2; devices < 5; devices++) {
        told[A].devices = devices == 3 ? 1 : devices; /* 2, 1, 4 */
        gpu_readers_ask(r, (pid_t[]){7}, 1, 0);
        assert_true(gpu_readers_wait(r, LONG_MS, true));
        assert_true(gpu_readers_take(r, &f));
        assert_int_equal(f.device_count, 6);
        expect_device(&f, 0, "A", 0);
        expect_device(&f, 2, "B", 0);
    }
    assert_int_equal(f.process_count, 2); /* of B and C: A's is on a device without a place */
    gpu_readers_free(r, LONG_MS);
    gpu_frame_done(&f);
}

static void test_gpu_readers_only_the_likely(void **state)
{
    struct gpu_readers *r;
    pid_t threads[GPU_READERS_MAX];
    tell_all();
    told[A].is_likely = told[B].is_likely = told[C].is_likely = false;
    assert_int_equal(try_start(&r, false), -ENODEV);
    told[C].is_likely = true;
    assert_int_equal(try_start(&r, false), 0);
    assert_int_equal(gpu_readers_threads(r, threads), 1);
    ask_until(r, &told[C], 1);
    gpu_readers_free(r, LONG_MS);
    assert_int_equal(told[B].rounds, 0);
    assert_int_equal(try_start(&r, true), 0);
    assert_int_equal(gpu_readers_threads(r, threads), VENDORS);
    gpu_readers_free(r, LONG_MS);
}

static void test_gpu_readers_what_they_say(void **state)
{
    struct gpu_trouble said;
    struct gpu_frame f = {0};
    tell_all();
    told[A].open_result = told[C].open_result = -ENODEV;
    told[B].open_result = -EIO;
    struct gpu_readers *r = start();
    gpu_readers_ask(r, NULL, 0, 0);
    assert_true(gpu_readers_wait(r, -1, true)); /* none will come */
    assert_int_equal(gpu_readers_open_count(r), 0);
    assert_true(gpu_readers_are_complete(r));
    assert_false(gpu_readers_take(r, &f));
    assert_true(gpu_readers_say(r, &said));
    assert_string_equal(said.sentence, "it does not open");
    assert_false(gpu_readers_say(r, &said));
    gpu_readers_excuse(r, &said);
    assert_string_equal(said.sentence, "no such device");
    gpu_readers_free(r, LONG_MS);
}

/* ---- gpu pids ------------------------------------------------------------------------------- */

struct gpu_pids_place {
    struct tree tree;
    struct sysroot root;
    struct gpu_pids pids;
};

static void add_link(struct gpu_pids_place *p, const char *name, const char *target)
{
    char path[512];
    tree_path(&p->tree, path, name);
    tree_make_parents(path);
    assert_int_equal(symlink(target, path), 0);
}

static void place_make(struct gpu_pids_place *p, const char *namespace)
{
    tree_make(&p->tree);
    tree_write(&p->tree, "proc/version", "Linux\n");
    if (namespace)
        add_link(p, "proc/self/ns/pid", namespace);
    assert_int_equal(sysroot_open(&p->root, p->tree.path, NULL), 0);
    gpu_pids_init(&p->pids, &p->root);
}

static void place_remove(struct gpu_pids_place *p)
{
    gpu_pids_done(&p->pids);
    sysroot_close(&p->root);
    tree_remove(&p->tree);
}

static void test_gpu_pids_on_the_machine_itself(void **state)
{
    struct gpu_pids_place p;
    place_make(&p, "pid:[4026531836]");
    assert_false(p.pids.is_nested);
    assert_int_equal(gpu_pids_map(&p.pids, 4242), 4242); /* whether or not it is there */
    assert_int_equal(gpu_pids_map(&p.pids, 0), GPU_UNKNOWN_PID);
    assert_int_equal(gpu_pids_map(&p.pids, UINT32_MAX), GPU_UNKNOWN_PID);
    place_remove(&p);
    place_make(&p, NULL);
    assert_false(p.pids.is_nested);
    place_remove(&p);
}

static void test_gpu_pids_by_namespaces(void **state)
{
    struct gpu_pids_place p;
    const pid_t interest[] = {17, 20, 99};
    place_make(&p, "pid:[4026532201]");
    assert_true(p.pids.is_nested);
    tree_write(&p.tree, "proc/17/status", "Name:\ttrain\nNSpid:\t17\t4242\n");
    tree_write(&p.tree, "proc/20/status", "Name:\tsh\nNSpid:\t20\n");
    gpu_pids_begin(&p.pids, interest, 3, 10 * NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 4242), 17);
    assert_int_equal(gpu_pids_map(&p.pids, 20), GPU_UNKNOWN_PID); /* the machine has its own 20 */
    assert_int_equal(gpu_pids_map(&p.pids, 4243), GPU_UNKNOWN_PID);
    place_remove(&p);
}

/* Who comes is looked at: what was not to be found before may be theirs. */
static void test_gpu_pids_new_process(void **state)
{
    struct gpu_pids_place p;
    const pid_t interest[] = {17, 20};
    place_make(&p, "pid:[4026532201]");
    tree_write(&p.tree, "proc/20/status", "NSpid:\t20\t4242\n");
    gpu_pids_begin(&p.pids, interest, 1, 10 * NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 4242), GPU_UNKNOWN_PID);
    gpu_pids_begin(&p.pids, interest, 2, 10 * NS_PER_SECOND + NS_PER_MS);
    assert_int_equal(gpu_pids_map(&p.pids, 4242), 20);
    place_remove(&p);
}

static void test_gpu_pids_two_of_the_same_pid(void **state)
{
    struct gpu_pids_place p;
    const pid_t interest[] = {17, 18};
    place_make(&p, "pid:[4026532201]");
    tree_write(&p.tree, "proc/17/status", "NSpid:\t17\t5\n");
    tree_write(&p.tree, "proc/18/status", "NSpid:\t18\t5\n");
    gpu_pids_begin(&p.pids, interest, 2, NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 5), GPU_UNKNOWN_PID);
    place_remove(&p);
}

static void test_gpu_pids_by_open_device(void **state)
{
    struct gpu_pids_place p;
    place_make(&p, "pid:[4026532201]");
    add_link(&p, "proc/30/fd/0", "/dev/null");
    add_link(&p, "proc/30/fd/4", "/dev/nvidia0");
    add_link(&p, "proc/31/fd/4", "/dev/nv");
    gpu_pids_begin(&p.pids, NULL, 0, NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 30), 30);
    assert_int_equal(gpu_pids_map(&p.pids, 31), GPU_UNKNOWN_PID);
    assert_int_equal(gpu_pids_map(&p.pids, 32), GPU_UNKNOWN_PID);
    /* What was found out is asked again after a second. */
    add_link(&p, "proc/31/fd/5", "/dev/nvidiactl");
    gpu_pids_begin(&p.pids, NULL, 0, NS_PER_SECOND + NS_PER_MS);
    assert_int_equal(gpu_pids_map(&p.pids, 31), GPU_UNKNOWN_PID);
    gpu_pids_begin(&p.pids, NULL, 0, 2 * NS_PER_SECOND);
    assert_int_equal(gpu_pids_map(&p.pids, 31), 31);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_readers_one_frame_of_all),
        cmocka_unit_test(test_gpu_readers_one_hangs),
        cmocka_unit_test(test_gpu_readers_one_begins_late),
        cmocka_unit_test(test_gpu_readers_left_behind),
        cmocka_unit_test(test_gpu_readers_places_are_kept),
        cmocka_unit_test(test_gpu_readers_only_the_likely),
        cmocka_unit_test(test_gpu_readers_what_they_say),
        cmocka_unit_test(test_gpu_pids_on_the_machine_itself),
        cmocka_unit_test(test_gpu_pids_by_namespaces),
        cmocka_unit_test(test_gpu_pids_new_process),
        cmocka_unit_test(test_gpu_pids_two_of_the_same_pid),
        cmocka_unit_test(test_gpu_pids_by_open_device),
    };
    return RUN("source/gpu/readers", tests);
}
