/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "source/gpu/readers.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

/* ---- gpu reader ----------------------------------------------------------------------------- */

enum { LONG_MS = 20000 }; /* for what comes soon unless the machine is very busy */

/* ---- A vendor that does what it is told ------------------------------------------------------ */

static atomic_int burn_ms, open_ms, read_ms, open_result, rounds, closed, is_likely, last_pids;

static int handed; /* its state is the address */

static void sleep_ms(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static bool told_likely(const struct sysroot *root)
{
    return is_likely;
}

static int told_open(void **ret_state, const struct gpu_context *c, struct gpu_trouble *trouble)
{
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    assert_true(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGCHLD));
    assert_true(c->root->sys >= 0 && c->root->root >= 0);
    sleep_ms(open_ms);
    *ret_state = &handed;
    if (open_result)
        snprintf(trouble->sentence, sizeof trouble->sentence, "it does not open");
    return open_result;
}

static void told_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                      struct gpu_trouble *trouble)
{
    assert_ptr_equal(state, &handed);
    sleep_ms(read_ms);
    uint64_t until_ns = clock_thread_cpu() + (uint64_t)burn_ms * NS_PER_MS;
    while (clock_thread_cpu() < until_ns)
        ;
    last_pids = 0;
    for (size_t i = 0; i < pid_count; i++)
        last_pids += pids[i];
    struct gpu_device *d = gpu_frame_add_device(f);
    row_put_u64(&d->row, gpu_memory_used_bytes, (uint64_t)++rounds);
    snprintf(trouble->sentence, sizeof trouble->sentence, "always the same");
}

static void told_close(void *state)
{
    assert_ptr_equal(state, &handed);
    closed++;
}

static const struct gpu_vendor gpu_reader_told = {
    .name = "told",
    .means = "what it is told",
    .is_likely = told_likely,
    .open = told_open,
    .read = told_read,
    .close = told_close,
};

static int lossy_open(void **ret_state, const struct gpu_context *c, struct gpu_trouble *trouble)
{
    *ret_state = &handed;
    return 0;
}

static void lossy_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                       struct gpu_trouble *trouble)
{
    for (unsigned i = 0; i < 3; i++) {
        struct gpu_device *d = gpu_frame_add_device(f);
        d->facts.index = i;
        snprintf(d->facts.pci, sizeof d->facts.pci, "0000:0%u:00.0", i);
        snprintf(d->facts.uuid, sizeof d->facts.uuid, "%s", i == 2 ? "GPU-2" : "");
        d->is_lost = i != 1;
    }
}

static const struct gpu_vendor lossy = {
    .name = "lossy",
    .people = "Lossy",
    .means = "what it is told",
    .lost = "it ran away",
    .is_likely = told_likely,
    .open = lossy_open,
    .read = lossy_read,
    .close = told_close,
};

static const struct gpu_vendor *const gpu_reader_one[] = {&gpu_reader_told, NULL};

static const struct gpu_vendor *const losing[] = {&lossy, NULL};

static struct gpu_readers *start(const struct gpu_vendor *const *vendors)
{
    struct sysroot root;
    struct gpu_readers *r;
    open_ms = read_ms = open_result = rounds = closed = 0;
    is_likely = 1;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    assert_int_equal(gpu_readers_start(&r, &root, vendors, true), 0);
    sysroot_close(&root); /* it has its own */
    return r;
}

static bool wait_begun(struct gpu_readers *r)
{
    for (unsigned i = 0; i < LONG_MS / 2 && gpu_readers_open_count(r) == -EAGAIN; i++)
        sleep_ms(2);
    return gpu_readers_open_count(r) != -EAGAIN;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_gpu_reader_frames(void **state)
{
    struct gpu_frame f = {0};
    struct gpu_trouble said;
    const pid_t pids[] = {3, 4};
    struct gpu_readers *r = start(gpu_reader_one);
    assert_false(gpu_readers_take(r, &f));
    assert_true(wait_begun(r));
    assert_int_equal(gpu_readers_open_count(r), 1);
    for (uint64_t round = 1; round <= 3; round++) {
        gpu_readers_ask(r, pids, 2, 0);
        assert_true(gpu_readers_wait(r, LONG_MS, true));
        assert_false(gpu_readers_are_asked(r));
        assert_true(gpu_readers_take(r, &f));
        assert_false(gpu_readers_take(r, &f));
        assert_int_equal(f.device_count, 1);
        assert_int_equal(row_u64(&f.devices[0].row, gpu_memory_used_bytes), round);
        assert_true(f.devices[0].energy_ns && f.devices[0].read_ns >= f.devices[0].energy_ns);
        assert_true(f.devices[0].rest_ns >= 100 * NS_PER_MS);
        assert_string_equal(f.devices[0].facts.means, "what it is told");
        assert_int_equal(last_pids, 7);
    }
    pid_t threads[GPU_READERS_MAX];
    assert_int_equal(gpu_readers_threads(r, threads), 1);
    assert_true(threads[0] > 0 && clock_cpu_of_thread(threads[0]) > 0);
    assert_false(gpu_readers_have_child(r, getpid()));
    assert_true(gpu_readers_say(r, &said)); /* once */
    assert_string_equal(said.sentence, "always the same");
    assert_false(gpu_readers_say(r, &said));
    gpu_readers_free(r, LONG_MS);
    assert_int_equal(closed, 1);
    gpu_frame_done(&f);
}

/* Not sooner than a tenth of a second, and before it is due. */
static void test_gpu_reader_pace(void **state)
{
    struct gpu_frame f = {0};
    struct gpu_readers *r = start(gpu_reader_one);
    gpu_readers_ask(r, NULL, 0, clock_mono(NULL));
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    assert_true(gpu_readers_take(r, &f));
    uint64_t first_ns = f.devices[0].energy_ns;
    gpu_readers_ask(r, NULL, 0, clock_mono(NULL));
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    assert_true(gpu_readers_take(r, &f));
    assert_true(f.devices[0].energy_ns - first_ns >= 100 * NS_PER_MS);
    uint64_t due_ns = clock_mono(NULL) + 400 * NS_PER_MS;
    gpu_readers_ask(r, NULL, 0, due_ns);
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    assert_true(gpu_readers_take(r, &f));
    assert_true(f.devices[0].energy_ns >= due_ns - 200 * NS_PER_MS);
    gpu_readers_free(r, LONG_MS);
    gpu_frame_done(&f);
}

/* What takes much CPU time is done less often. */
static void test_gpu_reader_much_work(void **state)
{
    struct gpu_frame f = {0};
    struct gpu_readers *r = start(gpu_reader_one);
    burn_ms = 20;
    gpu_readers_ask(r, NULL, 0, clock_mono(NULL));
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    assert_true(gpu_readers_take(r, &f));
    uint64_t first_ns = f.devices[0].energy_ns, rest_ns = f.devices[0].rest_ns;
    assert_true(rest_ns >= 900 * NS_PER_MS && rest_ns <= 10 * NS_PER_SECOND);
    burn_ms = 0;
    gpu_readers_ask(r, NULL, 0, clock_mono(NULL));
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    assert_true(gpu_readers_take(r, &f));
    assert_true(f.devices[0].energy_ns - first_ns >= rest_ns);
    gpu_readers_free(r, LONG_MS);
    gpu_frame_done(&f);
}

/* Nobody waits for a driver that hangs: not who asks, not who ends. */
static void test_gpu_reader_hangs(void **state)
{
    struct gpu_frame f = {0};
    struct gpu_readers *r = start(gpu_reader_one);
    assert_true(wait_begun(r));
    read_ms = 1500;
    uint64_t began_ns = clock_mono(NULL);
    gpu_readers_ask(r, NULL, 0, 0);
    for (unsigned i = 0; i < 100; i++) {
        assert_false(gpu_readers_take(r, &f));
        assert_true(gpu_readers_are_asked(r));
    }
    assert_false(gpu_readers_wait(r, 10, true));
    gpu_readers_free(r, 10);
    assert_true(!closed || clock_mono(NULL) - began_ns > 1000 * NS_PER_MS); /* on a busy machine */
    /* What it owns lives on, and it frees it when it comes back. */
    for (unsigned i = 0; i < LONG_MS / 10 && !closed; i++)
        sleep_ms(10);
    assert_int_equal(closed, 1);
    sleep_ms(50); /* the sanitizers may see it end */
    gpu_frame_done(&f);
}

static void test_gpu_reader_slow_to_begin(void **state)
{
    struct sysroot root;
    struct gpu_readers *r;
    struct gpu_frame f = {0};
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    open_ms = 800;
    open_result = rounds = closed = read_ms = 0;
    assert_int_equal(gpu_readers_start(&r, &root, gpu_reader_one, true), 0);
    assert_int_equal(gpu_readers_open_count(r), -EAGAIN);
    gpu_readers_ask(r, NULL, 0, 0);
    assert_false(gpu_readers_take(r, &f));
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    assert_true(gpu_readers_take(r, &f));
    gpu_readers_free(r, LONG_MS);
    gpu_frame_done(&f);
    sysroot_close(&root);
}

static void test_gpu_reader_no_vendor_opens(void **state)
{
    struct sysroot root;
    struct gpu_readers *r;
    struct gpu_trouble said;
    assert_int_equal(sysroot_open(&root, NULL, NULL), 0);
    is_likely = 1;
    open_ms = 0;
    open_result = -ENODEV;
    assert_int_equal(gpu_readers_start(&r, &root, gpu_reader_one, false), 0);
    assert_true(wait_begun(r));
    assert_int_equal(gpu_readers_open_count(r), 0);
    gpu_readers_ask(r, NULL, 0, 0);
    assert_true(gpu_readers_wait(r, -1, true)); /* at once: none will come */
    assert_false(gpu_readers_say(r, &said));
    gpu_readers_excuse(r, &said);
    assert_string_equal(said.sentence, "it does not open");
    gpu_readers_free(r, LONG_MS);
    open_result = -EIO; /* that is worth a word */
    assert_int_equal(gpu_readers_start(&r, &root, gpu_reader_one, false), 0);
    assert_true(wait_begun(r));
    assert_true(gpu_readers_say(r, &said));
    assert_string_equal(said.sentence, "it does not open");
    gpu_readers_free(r, LONG_MS);
    sysroot_close(&root);
}

/* The round may have been the last one. */
static void test_gpu_reader_all_that_are_lost_are_told_at_once(void **state)
{
    struct gpu_readers *r = start(losing);
    struct gpu_trouble said;
    assert_true(wait_begun(r));
    gpu_readers_ask(r, NULL, 0, 0);
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    assert_true(gpu_readers_say(r, &said));
    assert_string_equal(said.sentence,
                        "Lossy GPU 0 (0000:00:00.0) is lost (it ran away); its figures end here");
    assert_true(gpu_readers_say(r, &said));
    assert_non_null(strstr(said.sentence, "Lossy GPU 2 (GPU-2) is lost"));
    gpu_readers_ask(r, NULL, 0, 0); /* and once */
    assert_true(gpu_readers_wait(r, LONG_MS, true));
    assert_false(gpu_readers_say(r, &said));
    gpu_readers_free(r, LONG_MS);
}

/* ---- gpu frame ------------------------------------------------------------------------------ */

static void test_gpu_frame_devices(void **state)
{
    struct gpu_frame f = {0};
    for (unsigned i = 0; i < 20; i++) {
        struct gpu_device *d = gpu_frame_add_device(&f);
        assert_non_null(d);
        assert_int_equal(d->row.present, 0);
        assert_string_equal(d->facts.vendor, "");
        assert_int_equal(d->lists, 0);
        d->facts.index = i;
        row_put_double(&d->row, gpu_utilization_ratio, 0.5);
    }
    assert_int_equal(f.device_count, 20);
    assert_int_equal(f.devices[19].facts.index, 19);
    gpu_frame_clear(&f);
    assert_int_equal(f.device_count, 0);
    assert_int_equal(gpu_frame_add_device(&f)->row.present, 0); /* nothing of before is left */
    gpu_frame_done(&f);
    assert_null(f.devices);
}

static void test_gpu_frame_processes_stand_once(void **state)
{
    struct gpu_frame f = {0};
    gpu_frame_process(&f, 0, 10)->memory_bytes = 5;
    gpu_frame_process(&f, 1, 10)->memory_bytes = 6;
    gpu_frame_process(&f, 0, 11);
    assert_int_equal(gpu_frame_process(&f, 0, 10)->memory_bytes, 5);
    assert_int_equal(gpu_frame_process(&f, 1, 10)->memory_bytes, 6);
    assert_int_equal(f.process_count, 3);
    assert_int_equal(gpu_frame_count(&f, 0), 2);
    assert_int_equal(gpu_frame_count(&f, 1), 1);
    assert_int_equal(gpu_frame_count(&f, 2), 0);
    assert_false(gpu_frame_process(&f, 0, 11)->has_memory);
    gpu_frame_done(&f);
}

/* Parts stand side by side, each in its place. */
static void test_gpu_frame_joined(void **state)
{
    struct gpu_frame f = {0}, one = {0}, two = {0};
    for (unsigned i = 0; i < 2; i++) {
        gpu_frame_add_device(&one)->facts.index = i;
        gpu_frame_add_device(&two)->facts.index = 10 + i;
    }
    gpu_frame_process(&one, 1, 5)->memory_bytes = 50;
    gpu_frame_process(&two, 1, 5)->memory_bytes = 60;
    for (unsigned round = 0; round < 2; round++) {
        f.process_count = 0;
        gpu_frame_join(&f, &one, 0, 2);
        gpu_frame_join(&f, &two, 2, 2);
        assert_int_equal(f.device_count, 4);
        assert_int_equal(f.process_count, 2);
        assert_int_equal(f.devices[3].facts.index, 11);
        assert_int_equal(f.processes[1].device, 3);
        assert_int_equal(f.processes[1].memory_bytes, 60);
    }
    f.process_count = 0;
    gpu_frame_join(&f, &two, 4, 1); /* what has no place is left out */
    assert_int_equal(f.device_count, 5);
    assert_int_equal(f.process_count, 0);
    gpu_frame_join(&f, &one, 9, 2); /* nor has what would leave a gap */
    assert_int_equal(f.device_count, 5);
    gpu_frame_done(&f);
    gpu_frame_done(&one);
    gpu_frame_done(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_reader_frames),
        cmocka_unit_test(test_gpu_reader_pace),
        cmocka_unit_test(test_gpu_reader_much_work),
        cmocka_unit_test(test_gpu_reader_hangs),
        cmocka_unit_test(test_gpu_reader_slow_to_begin),
        cmocka_unit_test(test_gpu_reader_no_vendor_opens),
        cmocka_unit_test(test_gpu_reader_all_that_are_lost_are_told_at_once),
        cmocka_unit_test(test_gpu_frame_devices),
        cmocka_unit_test(test_gpu_frame_processes_stand_once),
        cmocka_unit_test(test_gpu_frame_joined),
    };
    return RUN("source/gpu/reader", tests);
}
