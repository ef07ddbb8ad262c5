/* SPDX-License-Identifier: MIT */
#include "engine/target/gpus.h"
#include "engine/target/gpu_instances.h"
#include "engine/target/reap.h"
#include "engine/tracker.h"
#include "fake_nvml.h"
#include "unit.h"

#include <fcntl.h>
#include <time.h>

/* ---- gpus ----------------------------------------------------------------------------------- */

/* GPUs of a tracker from its settings to its end, with the fake of NVIDIA's library. */

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

static void test_gpus_choice_and_selection(void **state)
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

static void test_gpus_named_ones_have_to_be_there(void **state)
{
    struct fake_nvml f;
    fake_nvml_make(&f, "nvml", "gpus 2\n");
    expect_refusal("GPU-none", "available: nvidia0 (GPU-fake-0), nvidia1 (GPU-fake-1)");
    fake_nvml_say(&f, "gpus 0\n");
    expect_refusal("0", "no GPU found");
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

static void test_gpus_figures_and_freshness(void **state)
{
    struct fake_nvml f;
    pid_t threads[GPU_READERS_MAX];
    fake_nvml_make(&f, "nvml", "gpus 1\nutilization 0\nenergy 5000\npower 1500\n");
    struct toll_tracker *t = make("all", NULL);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    assert_int_equal(gpus_threads(&t->gpus, threads),
                     3); /* all were asked for: one for each vendor */
    assert_false(gpus_own_child(&t->gpus, getpid()));
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
static void test_gpus_hangs(void **state)
{
    struct fake_nvml f;
    fake_nvml_make(&f, "nvml", "gpus 1\nutilization 50\n");
    struct toll_tracker *t = make("all", NULL);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    assert_non_null(step_to_gpu(t));
    /* Longer than figures hold, also if the machine is so busy that a look has taken two seconds.
     */
    fake_nvml_say(&f, "gpus 1\nutilization 50\nslow.utilization 6000\n");
    for (unsigned i = 0; i < 2000 && t->gpus.is_fresh; i++) {
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
static void test_gpus_files_of_the_library(void **state)
{
    struct fake_nvml f;
    struct open_files before = {0};
    fake_nvml_make(&f, "nvml", "gpus 1\nleak 1\n");
    open_files_note(&before);
    struct toll_tracker *t = make("0", NULL);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    gpus_hide_files(&t->gpus);
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

/* ---- gpu members ---------------------------------------------------------------------------- */

/* What members and targets have of GPUs, from frames that are written here. */

enum { MAIN = 10, CHILD = 11, OTHER = 12 };

struct gpu_members_room {
    struct toll_tracker *t;
    struct target target;
    uint64_t now_ns;
    char reader; /* there is one: nobody asks it here */
};

static void add_member(struct gpu_members_room *r, pid_t pid)
{
    struct member *m = members_add(&r->t->tracked.members, pid);
    assert_non_null(m);
    row_init(&m->process.own, ENTITY_PROCESS);
    m->process.entity.pid = pid;
    m->targets = m->been = 1;
    m->main_of = pid == MAIN;
    m->was_seen = true;
}

static void gpu_members_room_make(struct gpu_members_room *r, const char *choice)
{
    *r = (struct gpu_members_room){.target.bit = 1, .now_ns = NS_PER_SECOND};
    r->t = calloc(1, sizeof *r->t);
    assert_non_null(r->t);
    r->t->gpus.readers = (struct gpu_readers *)&r->reader;
    r->t->gpus.is_fresh = true;
    r->t->tracked.options = &r->t->options;
    r->t->options.since_start = true; /* all of it counts */
    members_init(&r->t->tracked.members, 0);
    add_member(r, MAIN);
    add_member(r, CHILD);
    assert_int_equal(gpu_choice_parse(&r->t->gpus.choice, choice, NULL), 0);
    for (unsigned part = 0; part < PARTS; part++) {
        row_init(&r->target.parts[part], ENTITY_PROCESS);
        row_put_u64(&r->target.parts[part], process_processes_count, 1);
    }
}

static void gpu_members_room_remove(struct gpu_members_room *r)
{
    struct gpus *g = &r->t->gpus;
    gpu_frame_done(&g->frame);
    gpu_instances_done(&g->instances);
    gpu_uses_done(&g->uses);
    gpu_choice_done(&g->choice);
    members_done(&r->t->tracked.members);
    free(r->t);
}

/* A new frame begins, with a device for each of these. */
static void look_begin(struct gpu_members_room *r, const unsigned *tells, size_t count)
{
    struct gpus *g = &r->t->gpus;
    gpu_frame_clear(&g->frame);
    r->now_ns += NS_PER_SECOND;
    for (size_t i = 0; i < count; i++) {
        struct gpu_device *d = gpu_frame_add_device(&g->frame);
        d->facts.vendor = "nvidia";
        d->facts.index = (unsigned)i;
        d->lists = tells[i];
        d->read_ns = r->now_ns;
    }
    gpu_instances_meet(&g->instances, &g->frame, &g->choice, &g->choice);
}

static struct gpu_process *put(struct gpu_members_room *r, unsigned device, pid_t pid)
{
    return gpu_frame_process(&r->t->gpus.frame, device, pid);
}

static void put_memory(struct gpu_members_room *r, unsigned device, pid_t pid, uint64_t bytes)
{
    struct gpu_process *p = put(r, device, pid);
    p->has_memory = true;
    p->memory_bytes = bytes;
}

static void look_end(struct gpu_members_room *r)
{
    r->t->tracked.members_changed = true;
    gpus_members(&r->t->gpus, &r->t->tracked);
    gpus_put(&r->t->gpus, &r->t->tracked, &r->t->frame, &r->target);
}

static const struct row *own(const struct gpu_members_room *r, pid_t pid)
{
    return &members_find(&r->t->tracked.members, pid)->process.own;
}

static uint64_t gpus_of(const struct gpu_members_room *r, enum part part)
{
    assert_true(row_has(&r->target.parts[part], process_gpus_count));
    return row_u64(&r->target.parts[part], process_gpus_count);
}

#define BOTH (GPU_LISTS_MEMORY | GPU_LISTS_SHARE)
#define ALL  (BOTH | GPU_LISTS_BUSY)

static void test_gpu_members_added_up_over_devices(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){BOTH, BOTH, BOTH}, 3);
    put_memory(&r, 0, MAIN, 100);
    put_memory(&r, 1, MAIN, 20);
    put_memory(&r, 1, CHILD, 3);
    put_memory(&r, 2, OTHER, 5000); /* none of ours */
    put(&r, 0, MAIN)->has_share = put(&r, 1, MAIN)->has_share = true;
    put(&r, 1, CHILD)->has_share = true;
    put(&r, 0, MAIN)->share = 0.5;
    put(&r, 1, MAIN)->share = 0.25;
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_memory_bytes), 120);
    assert_int_equal(row_u64(own(&r, CHILD), process_gpu_memory_bytes), 3);
    assert_true(row_value(own(&r, MAIN), process_gpu_utilization_ratio).d == 0.75);
    assert_true(row_has(own(&r, CHILD), process_gpu_utilization_ratio));
    assert_int_equal(gpus_of(&r, PART_COMBINED), 2); /* shared ones count once */
    assert_int_equal(gpus_of(&r, PART_MAIN), 2);
    assert_int_equal(gpus_of(&r, PART_DESCENDANTS), 1);
    assert_false(row_has(own(&r, MAIN), process_gpu_seconds)); /* nobody counts it */
    gpu_members_room_remove(&r);
}

static void test_gpu_members_who_is_not_listed_has_nothing(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){ALL}, 1);
    look_end(&r);
    assert_true(row_has(own(&r, CHILD), process_gpu_memory_bytes));
    assert_int_equal(row_u64(own(&r, CHILD), process_gpu_memory_bytes), 0);
    assert_true(row_has(own(&r, CHILD), process_gpu_seconds));
    assert_int_equal(gpus_of(&r, PART_COMBINED), 0);
    gpu_members_room_remove(&r);
}

/* A sum that leaves a device out is no sum. */
static void test_gpu_members_a_device_that_does_not_tell(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){BOTH, GPU_LISTS_SHARE}, 2);
    put_memory(&r, 0, MAIN, 100);
    look_end(&r);
    assert_false(row_has(own(&r, MAIN), process_gpu_memory_bytes));
    assert_false(row_has(own(&r, CHILD), process_gpu_memory_bytes));
    assert_true(row_has(own(&r, CHILD), process_gpu_utilization_ratio));
    look_begin(&r, (unsigned[]){BOTH, 0}, 2); /* lost: not even who was on it */
    row_unknown(&r.target.parts[PART_COMBINED], process_gpus_count);
    look_end(&r);
    assert_false(row_has(own(&r, CHILD), process_gpu_utilization_ratio));
    assert_false(row_has(&r.target.parts[PART_COMBINED], process_gpus_count));
    /* One that was not chosen may say what it likes; one that is divided is its instances. */
    look_begin(&r, (unsigned[]){BOTH, 0}, 2);
    r.t->gpus.frame.devices[1].is_divided = true;
    put_memory(&r, 0, MAIN, 7);
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_memory_bytes), 7);
    gpu_members_room_remove(&r);
    gpu_members_room_make(&r, "0");
    look_begin(&r, (unsigned[]){BOTH, 0}, 2);
    put_memory(&r, 0, MAIN, 7);
    put_memory(&r, 1, MAIN, 1000);
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_memory_bytes), 7);
    assert_int_equal(gpus_of(&r, PART_COMBINED), 1);
    gpu_members_room_remove(&r);
}

static void test_gpu_members_unknown_memory_of_one(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){BOTH, BOTH}, 2);
    put_memory(&r, 0, MAIN, 100);
    put(&r, 1, MAIN);
    look_end(&r);
    assert_false(row_has(own(&r, MAIN), process_gpu_memory_bytes));
    assert_true(row_has(own(&r, CHILD), process_gpu_memory_bytes));
    assert_int_equal(gpus_of(&r, PART_MAIN), 2);
    gpu_members_room_remove(&r);
}

static void test_gpu_members_whose_it_is_cannot_be_told(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){ALL}, 1);
    put_memory(&r, 0, MAIN, 100);
    put(&r, 0, GPU_UNKNOWN_PID);
    look_end(&r);
    assert_false(row_has(own(&r, MAIN), process_gpu_memory_bytes));
    assert_false(row_has(own(&r, CHILD), process_gpu_utilization_ratio));
    gpu_members_room_remove(&r);
}

static void put_busy(struct gpu_members_room *r, unsigned device, pid_t pid, uint64_t busy_ns)
{
    struct gpu_process *p = put(r, device, pid);
    p->has_busy = true;
    p->busy_ns = busy_ns;
}

static void test_gpu_members_engine_time(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){GPU_LISTS_BUSY, GPU_LISTS_BUSY}, 2);
    put_busy(&r, 0, MAIN, 300);
    put_busy(&r, 1, MAIN, 40);
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 340);
    assert_false(row_has(own(&r, MAIN), process_gpu_utilization_ratio)); /* it takes two looks */
    look_begin(&r, (unsigned[]){GPU_LISTS_BUSY, GPU_LISTS_BUSY}, 2);
    put_busy(&r, 0, MAIN, 300 + NS_PER_SECOND / 2);
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 340 + NS_PER_SECOND / 2);
    assert_true(row_value(own(&r, MAIN), process_gpu_utilization_ratio).d == 0.5);
    assert_int_equal(gpus_of(&r, PART_MAIN), 1);
    gpu_members_room_remove(&r);
}

/* One vendor of two does not answer: sums are unknown, the other's engine time counts on. */
static void test_gpu_members_engine_time_of_those_that_answer(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){ALL, BOTH}, 2);
    put_busy(&r, 0, MAIN, 300);
    look_end(&r);
    r.t->gpus.is_fresh = false;
    look_begin(&r, (unsigned[]){ALL, BOTH}, 2);
    put_busy(&r, 0, MAIN, 900);
    r.t->gpus.frame.devices[1].read_ns -= NS_PER_SECOND;
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 900);
    assert_false(row_has(own(&r, MAIN), process_gpu_memory_bytes));
    assert_false(row_has(own(&r, MAIN), process_gpu_utilization_ratio));
    gpu_members_room_remove(&r);
}

static void test_gpu_members_time_that_is_not_counted(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){ALL, BOTH}, 2);
    put_busy(&r, 0, MAIN, 300);
    put_busy(&r, 0, CHILD, 20);
    put_memory(&r, 1, CHILD, 5); /* a GPU whose driver does not count */
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 300);
    assert_false(row_has(own(&r, CHILD), process_gpu_seconds));
    look_begin(&r, (unsigned[]){ALL, BOTH}, 2);
    put_busy(&r, 0, CHILD, 20);
    put_busy(&r, 0, MAIN, 300);
    put(&r, 0, MAIN)->is_uncounted = true;
    put(&r, 0, MAIN)->has_busy = false; /* it computes by queues that nobody counts */
    look_end(&r);
    assert_false(row_has(own(&r, CHILD), process_gpu_seconds)); /* it used it for a time */
    assert_false(row_has(own(&r, MAIN), process_gpu_seconds));
    assert_true(members_find(&r.t->tracked.members, MAIN)->process.denied &
                BIT(process_gpu_seconds));
    gpu_members_room_remove(&r);
}

/* xe needs two looks to tell how long a cycle is. */
static void test_gpu_members_time_that_is_not_known_yet(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){ALL}, 1);
    put(&r, 0, MAIN);
    look_end(&r);
    assert_false(row_has(own(&r, MAIN), process_gpu_seconds));
    assert_true(row_has(own(&r, CHILD), process_gpu_seconds));
    look_begin(&r, (unsigned[]){ALL}, 1);
    put_busy(&r, 0, MAIN, 70);
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 70);
    look_begin(&r, (unsigned[]){ALL}, 1);
    put(&r, 0, MAIN); /* not this time: it is held */
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 70);
    gpu_members_room_remove(&r);
}

/* What was known a while ago is no answer for now; a counter stays. */
static void test_gpu_members_old_frame(void **state)
{
    struct gpu_members_room r;
    gpu_members_room_make(&r, "all");
    look_begin(&r, (unsigned[]){ALL}, 1);
    put_memory(&r, 0, MAIN, 100);
    put_busy(&r, 0, MAIN, 50);
    look_end(&r);
    r.t->gpus.is_fresh = false;
    look_end(&r);
    assert_false(row_has(own(&r, MAIN), process_gpu_memory_bytes));
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 50);
    gpu_members_room_remove(&r);
}

/* ---- gpu things ----------------------------------------------------------------------------- */

struct gpu_things_room {
    struct gpu_frame frame;
    struct gpu_instances instances;
    struct gpu_choice choice;
    struct instance_list list;
    uint64_t now_ns;
};

static void gpu_things_room_make(struct gpu_things_room *r, unsigned devices, const char *choice)
{
    *r = (struct gpu_things_room){0};
    for (unsigned i = 0; i < devices; i++) {
        struct gpu_device *d = gpu_frame_add_device(&r->frame);
        d->facts.vendor = "nvidia";
        d->facts.index = i;
        memcpy(d->facts.uuid, "GPU-1", 6);
    }
    assert_int_equal(gpu_choice_parse(&r->choice, choice, NULL), 0);
    gpu_instances_meet(&r->instances, &r->frame, &r->choice, &r->choice);
}

/* What all devices tell, so much later. */
static void room_put(struct gpu_things_room *r, uint64_t span_ns)
{
    r->list.count = 0;
    r->now_ns += span_ns;
    for (size_t i = 0; i < r->frame.device_count; i++)
        r->frame.devices[i].read_ns = r->now_ns;
    gpu_instances_put(&r->instances, &r->frame, 0, NS_PER_SECOND, &r->list);
}

static void gpu_things_room_remove(struct gpu_things_room *r)
{
    gpu_frame_done(&r->frame);
    gpu_instances_done(&r->instances);
    gpu_choice_done(&r->choice);
    instance_list_done(&r->list);
}

static const char *label_of(const struct instance *m, const char *key)
{
    for (unsigned i = 0; i < ENTITY_LABELS && m->entity.labels[i].key; i++)
        if (strcmp(m->entity.labels[i].key, key) == 0)
            return m->entity.labels[i].value;
    return NULL;
}

static void test_gpu_things_those_chosen_are_listed(void **state)
{
    struct gpu_things_room r;
    gpu_things_room_make(&r, 3, "0,2");
    row_put_double(&r.frame.devices[2].row, gpu_power_watts, 5);
    room_put(&r, 1);
    assert_int_equal(r.list.count, 2);
    assert_string_equal(r.list.items[1]->entity.name, "nvidia2");
    assert_string_equal(label_of(r.list.items[1], "index"), "2");
    assert_string_equal(label_of(r.list.items[1], "uuid"), "GPU-1");
    assert_null(label_of(r.list.items[1], "instance")); /* what is empty is no label */
    assert_true(row_has(&r.list.items[1]->read, gpu_power_watts));
    struct instance *before = r.list.items[1];
    room_put(&r, 1);
    assert_ptr_equal(r.list.items[1], before);
    r.frame.devices[2].is_lost = true;
    room_put(&r, 1);
    assert_int_equal(r.list.count, 1);
    assert_true(gpu_instances_chosen(&r.instances, 2));
    assert_false(gpu_instances_chosen(&r.instances, 1));
    assert_false(gpu_instances_chosen(&r.instances, 9));
    gpu_things_room_remove(&r);
}

static void test_gpu_things_idle(void **state)
{
    struct gpu_things_room r;
    gpu_things_room_make(&r, 1, "all");
    room_put(&r, NS_PER_SECOND);
    assert_false(row_has(&r.list.items[0]->read, gpu_idle_seconds)); /* nobody knows */
    static const double utilizations[] = {0, 0.5, 0, 1};
    static const uint64_t idle_s[] = {1, 1, 2, 2};
    for (size_t i = 0; i < ARRAY_LEN(utilizations); i++) {
        row_put_double(&r.frame.devices[0].row, gpu_utilization_ratio, utilizations[i]);
        room_put(&r, NS_PER_SECOND);
        assert_int_equal(row_u64(&r.list.items[0]->read, gpu_idle_seconds),
                         idle_s[i] * NS_PER_SECOND);
    }
    gpu_things_room_remove(&r);
}

/* Loading a driver again, or a step back, takes nothing from what was used. */
static void test_gpu_things_energy_never_falls(void **state)
{
    struct gpu_things_room r;
    static const uint64_t said[] = {5000, 7000, 6990, 7010, 300, 1300, 200, 250};
    static const uint64_t known[] = {5000, 7000, 7000, 7010, 7010, 8010, 8010, 8060};
    gpu_things_room_make(&r, 1, "all");
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        row_put_u64(&r.frame.devices[0].row, gpu_energy_joules, said[i]);
        room_put(&r, 1);
        assert_int_equal(row_u64(&r.list.items[0]->read, gpu_energy_joules), known[i]);
        r.frame.devices[0].row.present = 0; /* for a moment it is not told */
        room_put(&r, 1);
        assert_false(row_has(&r.list.items[0]->read, gpu_energy_joules));
    }
    gpu_things_room_remove(&r);
}

/* One vendor answers, the other does not: each stands for itself. */
static void test_gpu_things_each_at_its_own_time(void **state)
{
    struct gpu_things_room r;
    gpu_things_room_make(&r, 2, "all");
    for (unsigned i = 0; i < 2; i++)
        row_put_double(&r.frame.devices[i].row, gpu_utilization_ratio, 0);
    r.frame.devices[0].read_ns = r.frame.devices[1].read_ns = 1000;
    gpu_instances_put(&r.instances, &r.frame, 600, NS_PER_SECOND, &r.list);
    assert_int_equal(row_u64(&r.list.items[1]->read, gpu_idle_seconds), 400); /* of the run */
    r.list.count = 0;
    r.frame.devices[0].read_ns = 4000;
    gpu_instances_put(&r.instances, &r.frame, 600, NS_PER_SECOND, &r.list);
    assert_int_equal(r.list.count, 1);
    assert_string_equal(r.list.items[0]->entity.name, "nvidia0");
    assert_int_equal(row_u64(&r.list.items[0]->read, gpu_idle_seconds), 3400);
    assert_true(gpu_instances_are_fresh(&r.instances, &r.frame, 4000, 3000));
    assert_false(
        gpu_instances_are_fresh(&r.instances, &r.frame, 4001, 3000)); /* of all that are chosen */
    r.frame.devices[1].rest_ns = 5;
    assert_true(
        gpu_instances_are_fresh(&r.instances, &r.frame, 4001, 3000)); /* it cannot be newer */
    r.instances.items[1]->is_chosen = false;
    assert_true(gpu_instances_are_fresh(&r.instances, &r.frame, 7000, 3000));
    /* What is read seldom stands for longer. */
    r.list.count = 0;
    r.frame.devices[0].read_ns += 100 * NS_PER_SECOND;
    r.frame.devices[0].rest_ns = 10 * NS_PER_SECOND;
    gpu_instances_put(&r.instances, &r.frame, 600, NS_PER_SECOND, &r.list);
    assert_int_equal(row_u64(&r.list.items[0]->read, gpu_idle_seconds), 10 * NS_PER_SECOND + 3400);
    gpu_things_room_remove(&r);
}

static void test_gpu_things_scope(void **state)
{
    struct gpu_things_room r;
    gpu_things_room_make(&r, 2, "1");
    gpu_frame_process(&r.frame, 0, GPU_UNKNOWN_PID);
    room_put(&r, 1);
    assert_false(gpu_instances_are_unclear(&r.instances, &r.frame)); /* that one was not chosen */
    gpu_frame_process(&r.frame, 1, GPU_UNKNOWN_PID);
    assert_true(gpu_instances_are_unclear(&r.instances, &r.frame));
    for (unsigned i = 0; i < 20; i++)
        room_put(&r, 1);
    assert_string_equal(label_of(r.list.items[0], "scope"), "device");
    gpu_things_room_remove(&r);
}

static const struct gpu_use *look(struct gpu_uses *u, pid_t pid, uint64_t busy_ns, bool from_birth,
                                  uint64_t now_ns)
{
    struct gpu_process p = {.pid = pid, .has_busy = true, .busy_ns = busy_ns};
    struct gpu_device device = {.read_ns = now_ns};
    struct gpu_frame f = {.devices = &device, .device_count = 1};
    gpu_uses_begin(u);
    assert_non_null(gpu_uses_look(u, &p, from_birth, now_ns));
    gpu_uses_end(u, &f);
    return &u->items[0];
}

static void test_gpu_things_engine_time(void **state)
{
    struct gpu_uses u = {0};
    const struct gpu_use *use = look(&u, 5, 400, true, 1000);
    assert_int_equal(use->total_ns, 400);
    assert_true(use->share < 0); /* it takes two looks */
    use = look(&u, 5, 900, true, 2000);
    assert_int_equal(use->total_ns, 900);
    assert_true(use->share == 0.5);
    use = look(&u, 5, 800, true, 3000); /* a counter that steps back has not gained */
    assert_int_equal(use->total_ns, 900);
    assert_true(use->share == 0);
    use = look(&u, 5, 5000, true, 4000);
    assert_true(use->share == 1);
    /* It closes the device, and opens it again. */
    struct gpu_device device = {.read_ns = 5000};
    struct gpu_frame nobody = {.devices = &device, .device_count = 1};
    gpu_uses_begin(&u);
    gpu_uses_end(&u, &nobody);
    use = look(&u, 5, 100, true, 6000);
    assert_int_equal(use->total_ns, 5100);
    assert_true(use->share == 0.1); /* since that last look */
    gpu_uses_done(&u);
}

/* A counter that cannot be told for a moment does not count anew. */
static void test_gpu_things_unknown_for_a_moment(void **state)
{
    struct gpu_uses u = {0};
    struct gpu_device device = {.read_ns = 2000};
    struct gpu_frame f = {.devices = &device, .device_count = 1};
    look(&u, 5, 400, true, 1000);
    gpu_uses_begin(&u);
    gpu_uses_keep(&u, &(struct gpu_process){.pid = 5});
    gpu_uses_keep(&u, &(struct gpu_process){.pid = 6}); /* one that was never known */
    gpu_uses_end(&u, &f);
    assert_int_equal(u.count, 1);
    assert_int_equal(look(&u, 5, 500, true, 3000)->total_ns, 500);
    gpu_uses_done(&u);
}

/* Another vendor's devices were read anew, or a process has come: this one has nothing new. */
static void test_gpu_things_the_same_reading_twice(void **state)
{
    struct gpu_uses u = {0};
    look(&u, 5, 400, true, 1000);
    look(&u, 5, 900, true, 2000);
    const struct gpu_use *use = look(&u, 5, 900, true, 2000);
    assert_true(use->share == 0.5);
    assert_int_equal(use->total_ns, 900);
    gpu_uses_done(&u);
}

static void test_gpu_things_what_was_before_does_not_count(void **state)
{
    struct gpu_uses u = {0};
    assert_int_equal(look(&u, 5, 400, false, 1000)->total_ns, 0);
    assert_int_equal(look(&u, 5, 450, false, 2000)->total_ns, 50);
    gpu_uses_done(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpus_choice_and_selection),
        cmocka_unit_test(test_gpus_named_ones_have_to_be_there),
        cmocka_unit_test(test_gpus_figures_and_freshness),
        cmocka_unit_test(test_gpus_hangs),
        cmocka_unit_test(test_gpus_files_of_the_library),
        cmocka_unit_test(test_gpu_members_added_up_over_devices),
        cmocka_unit_test(test_gpu_members_who_is_not_listed_has_nothing),
        cmocka_unit_test(test_gpu_members_a_device_that_does_not_tell),
        cmocka_unit_test(test_gpu_members_unknown_memory_of_one),
        cmocka_unit_test(test_gpu_members_whose_it_is_cannot_be_told),
        cmocka_unit_test(test_gpu_members_engine_time),
        cmocka_unit_test(test_gpu_members_engine_time_of_those_that_answer),
        cmocka_unit_test(test_gpu_members_time_that_is_not_counted),
        cmocka_unit_test(test_gpu_members_time_that_is_not_known_yet),
        cmocka_unit_test(test_gpu_members_old_frame),
        cmocka_unit_test(test_gpu_things_those_chosen_are_listed),
        cmocka_unit_test(test_gpu_things_idle),
        cmocka_unit_test(test_gpu_things_energy_never_falls),
        cmocka_unit_test(test_gpu_things_each_at_its_own_time),
        cmocka_unit_test(test_gpu_things_scope),
        cmocka_unit_test(test_gpu_things_engine_time),
        cmocka_unit_test(test_gpu_things_unknown_for_a_moment),
        cmocka_unit_test(test_gpu_things_the_same_reading_twice),
        cmocka_unit_test(test_gpu_things_what_was_before_does_not_count),
    };
    return RUN("engine/target/gpus", tests);
}
