/* SPDX-License-Identifier: MIT */
#include "engine/target/gpu_instances.h"

#include "unit.h"

struct room {
    struct gpu_frame frame;
    struct gpu_instances instances;
    struct gpu_choice choice;
    struct instance_list list;
    uint64_t now_ns;
};

static void room_make(struct room *r, unsigned devices, const char *choice)
{
    *r = (struct room){0};
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
static void room_put(struct room *r, uint64_t span_ns)
{
    r->list.count = 0;
    r->now_ns += span_ns;
    for (size_t i = 0; i < r->frame.device_count; i++)
        r->frame.devices[i].read_ns = r->now_ns;
    gpu_instances_put(&r->instances, &r->frame, 0, NS_PER_SECOND, &r->list);
}

static void room_remove(struct room *r)
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

static void test_those_chosen_are_listed(void **state)
{
    struct room r;
    room_make(&r, 3, "0,2");
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
    room_remove(&r);
}

static void test_idle(void **state)
{
    struct room r;
    room_make(&r, 1, "all");
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
    room_remove(&r);
}

/* Loading a driver again, or a step back, takes nothing from what was used. */
static void test_energy_never_falls(void **state)
{
    struct room r;
    static const uint64_t said[] = {5000, 7000, 6990, 7010, 300, 1300, 200, 250};
    static const uint64_t known[] = {5000, 7000, 7000, 7010, 7010, 8010, 8010, 8060};
    room_make(&r, 1, "all");
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        row_put_u64(&r.frame.devices[0].row, gpu_energy_joules, said[i]);
        room_put(&r, 1);
        assert_int_equal(row_u64(&r.list.items[0]->read, gpu_energy_joules), known[i]);
        r.frame.devices[0].row.present = 0; /* for a moment it is not told */
        room_put(&r, 1);
        assert_false(row_has(&r.list.items[0]->read, gpu_energy_joules));
    }
    room_remove(&r);
}

/* One vendor answers, the other does not: each stands for itself. */
static void test_each_at_its_own_time(void **state)
{
    struct room r;
    room_make(&r, 2, "all");
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
    room_remove(&r);
}

static void test_scope(void **state)
{
    struct room r;
    room_make(&r, 2, "1");
    gpu_frame_process(&r.frame, 0, GPU_UNKNOWN_PID);
    room_put(&r, 1);
    assert_false(gpu_instances_are_unclear(&r.instances, &r.frame)); /* that one was not chosen */
    gpu_frame_process(&r.frame, 1, GPU_UNKNOWN_PID);
    assert_true(gpu_instances_are_unclear(&r.instances, &r.frame));
    for (unsigned i = 0; i < 20; i++)
        room_put(&r, 1);
    assert_string_equal(label_of(r.list.items[0], "scope"), "device");
    room_remove(&r);
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

static void test_engine_time(void **state)
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
static void test_unknown_for_a_moment(void **state)
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
static void test_the_same_reading_twice(void **state)
{
    struct gpu_uses u = {0};
    look(&u, 5, 400, true, 1000);
    look(&u, 5, 900, true, 2000);
    const struct gpu_use *use = look(&u, 5, 900, true, 2000);
    assert_true(use->share == 0.5);
    assert_int_equal(use->total_ns, 900);
    gpu_uses_done(&u);
}

static void test_what_was_before_does_not_count(void **state)
{
    struct gpu_uses u = {0};
    assert_int_equal(look(&u, 5, 400, false, 1000)->total_ns, 0);
    assert_int_equal(look(&u, 5, 450, false, 2000)->total_ns, 50);
    gpu_uses_done(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_those_chosen_are_listed),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_energy_never_falls),
        cmocka_unit_test(test_each_at_its_own_time),
        cmocka_unit_test(test_scope),
        cmocka_unit_test(test_engine_time),
        cmocka_unit_test(test_unknown_for_a_moment),
        cmocka_unit_test(test_the_same_reading_twice),
        cmocka_unit_test(test_what_was_before_does_not_count),
    };
    return RUN("gpu_things", tests);
}
