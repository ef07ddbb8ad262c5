/* SPDX-License-Identifier: MIT
 * What members and targets have of GPUs, from frames that are written here. */
#include "engine/target/gpus.h"

#include "unit.h"

enum { MAIN = 10, CHILD = 11, OTHER = 12 };

struct room {
    struct toll_tracker *t;
    struct target target;
    uint64_t now_ns;
    char reader; /* there is one: nobody asks it here */
};

static void add_member(struct room *r, pid_t pid)
{
    struct member *m = members_add(&r->t->members, pid);
    assert_non_null(m);
    row_init(&m->process.own, ENTITY_PROCESS);
    m->process.entity.pid = pid;
    m->targets = m->been = 1;
    m->main_of = pid == MAIN;
    m->was_seen = true;
}

static void room_make(struct room *r, const char *choice)
{
    *r = (struct room){.target.bit = 1, .now_ns = NS_PER_SECOND};
    r->t = calloc(1, sizeof *r->t);
    assert_non_null(r->t);
    r->t->gpus.readers = (struct gpu_readers *)&r->reader;
    r->t->gpus.is_fresh = true;
    r->t->options.since_start = true; /* all of it counts */
    members_init(&r->t->members, 0);
    add_member(r, MAIN);
    add_member(r, CHILD);
    assert_int_equal(gpu_choice_parse(&r->t->gpus.choice, choice, NULL), 0);
    for (unsigned part = 0; part < PARTS; part++) {
        row_init(&r->target.parts[part], ENTITY_PROCESS);
        row_put_u64(&r->target.parts[part], process_processes_count, 1);
    }
}

static void room_remove(struct room *r)
{
    struct gpus *g = &r->t->gpus;
    gpu_frame_done(&g->frame);
    gpu_instances_done(&g->instances);
    gpu_uses_done(&g->uses);
    gpu_choice_done(&g->choice);
    members_done(&r->t->members);
    free(r->t);
}

/* A new frame begins, with a device for each of these. */
static void look_begin(struct room *r, const unsigned *tells, size_t count)
{
    struct gpus *g = &r->t->gpus;
    gpu_frame_clear(&g->frame);
    r->now_ns += NS_PER_SECOND;
    for (size_t i = 0; i < count; i++) {
        struct gpu_device *d = gpu_frame_add_device(&g->frame);
        d->facts.vendor = "nvidia";
        d->facts.index = (unsigned)i;
        d->tells = tells[i];
        d->read_ns = r->now_ns;
    }
    gpu_instances_meet(&g->instances, &g->frame, &g->choice, &g->choice);
}

static struct gpu_process *put(struct room *r, unsigned device, pid_t pid)
{
    return gpu_frame_process(&r->t->gpus.frame, device, pid);
}

static void put_memory(struct room *r, unsigned device, pid_t pid, uint64_t bytes)
{
    struct gpu_process *p = put(r, device, pid);
    p->has_memory = true;
    p->memory_bytes = bytes;
}

static void look_end(struct room *r)
{
    r->t->members_changed = true;
    gpus_members(r->t);
    gpus_put(r->t, &r->target);
}

static const struct row *own(const struct room *r, pid_t pid)
{
    return &members_find(&r->t->members, pid)->process.own;
}

static uint64_t gpus_of(const struct room *r, enum part part)
{
    assert_true(row_has(&r->target.parts[part], process_gpus_count));
    return row_u64(&r->target.parts[part], process_gpus_count);
}

#define BOTH (GPU_TELLS_MEMORY | GPU_TELLS_SHARE)
#define ALL  (BOTH | GPU_TELLS_BUSY)

static void test_added_up_over_devices(void **state)
{
    struct room r;
    room_make(&r, "all");
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
    room_remove(&r);
}

static void test_who_is_not_listed_has_nothing(void **state)
{
    struct room r;
    room_make(&r, "all");
    look_begin(&r, (unsigned[]){ALL}, 1);
    look_end(&r);
    assert_true(row_has(own(&r, CHILD), process_gpu_memory_bytes));
    assert_int_equal(row_u64(own(&r, CHILD), process_gpu_memory_bytes), 0);
    assert_true(row_has(own(&r, CHILD), process_gpu_seconds));
    assert_int_equal(gpus_of(&r, PART_COMBINED), 0);
    room_remove(&r);
}

/* A sum that leaves a device out is no sum. */
static void test_a_device_that_does_not_tell(void **state)
{
    struct room r;
    room_make(&r, "all");
    look_begin(&r, (unsigned[]){BOTH, GPU_TELLS_SHARE}, 2);
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
    room_remove(&r);
    room_make(&r, "0");
    look_begin(&r, (unsigned[]){BOTH, 0}, 2);
    put_memory(&r, 0, MAIN, 7);
    put_memory(&r, 1, MAIN, 1000);
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_memory_bytes), 7);
    assert_int_equal(gpus_of(&r, PART_COMBINED), 1);
    room_remove(&r);
}

static void test_unknown_memory_of_one(void **state)
{
    struct room r;
    room_make(&r, "all");
    look_begin(&r, (unsigned[]){BOTH, BOTH}, 2);
    put_memory(&r, 0, MAIN, 100);
    put(&r, 1, MAIN);
    look_end(&r);
    assert_false(row_has(own(&r, MAIN), process_gpu_memory_bytes));
    assert_true(row_has(own(&r, CHILD), process_gpu_memory_bytes));
    assert_int_equal(gpus_of(&r, PART_MAIN), 2);
    room_remove(&r);
}

static void test_whose_it_is_cannot_be_told(void **state)
{
    struct room r;
    room_make(&r, "all");
    look_begin(&r, (unsigned[]){ALL}, 1);
    put_memory(&r, 0, MAIN, 100);
    put(&r, 0, GPU_UNKNOWN_PID);
    look_end(&r);
    assert_false(row_has(own(&r, MAIN), process_gpu_memory_bytes));
    assert_false(row_has(own(&r, CHILD), process_gpu_utilization_ratio));
    room_remove(&r);
}

static void put_busy(struct room *r, unsigned device, pid_t pid, uint64_t busy_ns)
{
    struct gpu_process *p = put(r, device, pid);
    p->has_busy = true;
    p->busy_ns = busy_ns;
}

static void test_engine_time(void **state)
{
    struct room r;
    room_make(&r, "all");
    look_begin(&r, (unsigned[]){GPU_TELLS_BUSY, GPU_TELLS_BUSY}, 2);
    put_busy(&r, 0, MAIN, 300);
    put_busy(&r, 1, MAIN, 40);
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 340);
    assert_false(row_has(own(&r, MAIN), process_gpu_utilization_ratio)); /* it takes two looks */
    look_begin(&r, (unsigned[]){GPU_TELLS_BUSY, GPU_TELLS_BUSY}, 2);
    put_busy(&r, 0, MAIN, 300 + NS_PER_SECOND / 2);
    look_end(&r);
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 340 + NS_PER_SECOND / 2);
    assert_true(row_value(own(&r, MAIN), process_gpu_utilization_ratio).d == 0.5);
    assert_int_equal(gpus_of(&r, PART_MAIN), 1);
    room_remove(&r);
}

/* One vendor of two does not answer: sums are unknown, the other's engine time counts on. */
static void test_engine_time_of_those_that_answer(void **state)
{
    struct room r;
    room_make(&r, "all");
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
    room_remove(&r);
}

static void test_time_that_is_not_counted(void **state)
{
    struct room r;
    room_make(&r, "all");
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
    assert_true(members_find(&r.t->members, MAIN)->process.denied & BIT(process_gpu_seconds));
    room_remove(&r);
}

/* xe needs two looks to tell how long a cycle is. */
static void test_time_that_is_not_known_yet(void **state)
{
    struct room r;
    room_make(&r, "all");
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
    room_remove(&r);
}

/* What was known a while ago is no answer for now; a counter stays. */
static void test_old_frame(void **state)
{
    struct room r;
    room_make(&r, "all");
    look_begin(&r, (unsigned[]){ALL}, 1);
    put_memory(&r, 0, MAIN, 100);
    put_busy(&r, 0, MAIN, 50);
    look_end(&r);
    r.t->gpus.is_fresh = false;
    look_end(&r);
    assert_false(row_has(own(&r, MAIN), process_gpu_memory_bytes));
    assert_int_equal(row_u64(own(&r, MAIN), process_gpu_seconds), 50);
    room_remove(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_added_up_over_devices),
        cmocka_unit_test(test_who_is_not_listed_has_nothing),
        cmocka_unit_test(test_a_device_that_does_not_tell),
        cmocka_unit_test(test_unknown_memory_of_one),
        cmocka_unit_test(test_whose_it_is_cannot_be_told),
        cmocka_unit_test(test_engine_time),
        cmocka_unit_test(test_engine_time_of_those_that_answer),
        cmocka_unit_test(test_time_that_is_not_counted),
        cmocka_unit_test(test_time_that_is_not_known_yet),
        cmocka_unit_test(test_old_frame),
    };
    return RUN("gpu_members", tests);
}
