/* SPDX-License-Identifier: MIT
 * GPUs of a tracker from its settings to its end, with the fake of NVIDIA's library. */
#include "engine/target/gpus.h"
#include "engine/target/reap.h"

#include "fake_nvml.h"

#include <fcntl.h>
#include <time.h>

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static struct toll_tracker *make(const char *gpus, const char *metrics)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o, .gpus = gpus, .metrics = metrics, .system = true};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    return t;
}

static bool has_selected(const struct toll_tracker *t)
{
    return t->selection.of[ENTITY_GPU] || (selection_wanted(&t->selection) & PROCESS_GPU_BITS);
}

static void test_choice_and_selection(void **state)
{
    struct toll_tracker *t = make("none", NULL);
    assert_false(has_selected(t));
    toll_tracker_free(t);
    t = make("all", "system_memory_*"); /* nobody wants figures of GPUs */
    assert_int_equal(t->gpus.choice.kind, GPUS_NONE);
    toll_tracker_free(t);
    t = make(NULL, "gpu_power_watts"); /* somebody wants them, in other words */
    assert_true(t->gpus.choice.is_asked && has_selected(t));
    toll_tracker_free(t);
    struct toll_error e = {0};
    struct toll_options o = {.size = sizeof o, .gpus = "some"};
    assert_int_equal(toll_tracker_new(&t, &o, &e), -EINVAL);
    assert_non_null(strstr(e.message, "'some'"));
}

static void expect_refusal(const char *gpus, const char *words)
{
    struct toll_tracker *t = make(gpus, NULL);
    struct toll_error e = {0};
    assert_true(toll_tracker_attach(t, &e) < 0);
    assert_non_null(strstr(e.message, words));
    toll_tracker_free(t);
}

static void test_named_ones_have_to_be_there(void **state)
{
    struct fake_nvml f;
    fake_nvml_make(&f, "nvml", "gpus 2\n");
    expect_refusal("GPU-none", "there are: nvidia0 (GPU-fake-0), nvidia1 (GPU-fake-1)");
    fake_nvml_say(&f, "gpus 0\n");
    expect_refusal("0", "there is no GPU here");
    fake_nvml_say(&f, "gpus 1\nerror.init 18\n");
    expect_refusal("0", "the driver was upgraded");
    fake_nvml_remove(&f);
}

static const struct instance *read_gpu(struct toll_tracker *t)
{
    for (size_t i = 0; i < t->frame.machine_count; i++)
        if (t->frame.machine[i]->entity.kind == ENTITY_GPU)
            return t->frame.machine[i];
    return NULL;
}

/* Steps until a new frame has a GPU in it; a step that comes too soon takes none. */
static const struct instance *step_to_gpu(struct toll_tracker *t)
{
    for (unsigned i = 0; i < 2000; i++) {
        t->gpus.is_new = false;
        assert_true(toll_tracker_step(t) > 0);
        if (t->gpus.is_new && read_gpu(t))
            return read_gpu(t);
        sleep_ms(5);
    }
    return NULL;
}

static void test_figures_and_freshness(void **state)
{
    struct fake_nvml f;
    pid_t threads[GPU_READERS_MAX];
    fake_nvml_make(&f, "nvml", "gpus 1\nutilization 0\nenergy 5000\npower 1500\n");
    struct toll_tracker *t = make("all", NULL);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    assert_int_equal(gpus_threads(t, threads), 3); /* all were asked for: one for each vendor */
    assert_false(gpus_own_child(t, getpid()));
    const struct instance *gpu = step_to_gpu(t);
    assert_non_null(gpu);
    assert_string_equal(gpu->entity.name, "nvidia0");
    assert_true(row_value(&gpu->row, gpu_power_watts).d == 1.5);
    assert_int_equal(row_u64(&gpu->row, gpu_energy_joules), 0); /* from the first reading on */
    assert_true(t->gpus.is_fresh);
    fake_nvml_say(&f, "gpus 1\nutilization 0\nenergy 5250\npower 1500\n");
    for (unsigned i = 0; i < 200 && row_u64(&gpu->row, gpu_energy_joules) == 0; i++)
        assert_non_null(step_to_gpu(t));
    assert_int_equal(row_u64(&gpu->row, gpu_energy_joules), 250000);
    assert_true(row_u64(&gpu->row, gpu_watched_seconds) > 0);
    assert_int_equal(row_u64(&gpu->row, gpu_idle_seconds), row_u64(&gpu->row, gpu_watched_seconds));
    assert_true(own_threads_cpu_ns(t) > 0);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    toll_tracker_free(t);
    fake_nvml_remove(&f);
}

/* A driver that does not answer: what it said before does not hold for ever, and is not waited for.
 */
static void test_hangs(void **state)
{
    struct fake_nvml f;
    fake_nvml_make(&f, "nvml", "gpus 1\nutilization 50\n");
    struct toll_tracker *t = make("all", NULL);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    assert_non_null(step_to_gpu(t));
    fake_nvml_say(&f, "gpus 1\nutilization 50\nslow.utilization 4000\n");
    for (unsigned i = 0; i < 1000 && t->gpus.is_fresh; i++) {
        assert_true(toll_tracker_step(t) > 0);
        sleep_ms(5);
    }
    assert_false(t->gpus.is_fresh);
    assert_null(read_gpu(t));
    fake_nvml_say(&f, "gpus 1\nutilization 60\n"); /* it comes back */
    const struct instance *gpu = step_to_gpu(t);
    assert_non_null(gpu);
    assert_true(t->gpus.is_fresh);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    toll_tracker_free(t);
    fake_nvml_remove(&f);
}

/* The command does not inherit what the library has opened. */
static void test_files_of_the_library(void **state)
{
    struct fake_nvml f;
    struct open_files before = {0};
    fake_nvml_make(&f, "nvml", "gpus 1\nleak 1\n");
    open_files_note(&before);
    struct toll_tracker *t = make("0", NULL);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    gpus_hide_files(t);
    for (int fd = 0; fd < 256; fd++) {
        bool is_old = false;
        for (size_t i = 0; i < before.count; i++)
            is_old |= before.fds[i] == fd;
        int flags = fcntl(fd, F_GETFD);
        if (flags >= 0 && !is_old)
            assert_true(flags & FD_CLOEXEC);
    }
    toll_tracker_free(t);
    open_files_done(&before);
    fake_nvml_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice_and_selection),
        cmocka_unit_test(test_named_ones_have_to_be_there),
        cmocka_unit_test(test_figures_and_freshness),
        cmocka_unit_test(test_hangs),
        cmocka_unit_test(test_files_of_the_library),
    };
    return RUN("gpus", tests);
}
