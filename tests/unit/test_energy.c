/* SPDX-License-Identifier: MIT */
#include "summary/summary.h"

#include "unit.h"

#include <stdio.h>

struct room {
    struct run run;
    struct summary summary;
    struct instance instances[4];
    struct instance *list[4];
    struct frame frame;
};

static struct instance *add(struct room *r, enum entity_kind kind, const char *name)
{
    struct instance *m = &r->instances[r->frame.machine_count];
    instance_init(m, kind);
    snprintf(m->entity.name, sizeof m->entity.name, "%s", name);
    m->number = (unsigned)r->frame.machine_count + 1;
    r->list[r->frame.machine_count++] = m;
    return m;
}

static void put(struct room *r, struct instance *m, enum metric_id id, uint64_t microjoules)
{
    row_put_u64(&m->row, id, microjoules);
    r->frame.elapsed_ns = NS_PER_SECOND;
}

static void room_make(struct room *r)
{
    memset(r, 0, sizeof *r);
    r->frame.machine = r->list;
    assert_int_equal(summary_init(&r->summary, &r->run), 0);
}

static struct energy sum_up(struct room *r)
{
    r->frame.elapsed_ns = NS_PER_SECOND;
    summary_frame(&r->summary, &r->frame);
    struct energy e = energy_of(&r->summary);
    summary_done(&r->summary);
    return e;
}

static void test_both(void **state)
{
    struct room r;
    room_make(&r);
    put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    put(&r, add(&r, ENTITY_GPU, "nvidia1"), gpu_energy_joules, 500000);
    put(&r, add(&r, ENTITY_RAPL, "package-0"), rapl_energy_joules, 4000000);
    put(&r, add(&r, ENTITY_RAPL, "package-0 core"), rapl_energy_joules, 1000000); /* inside */
    struct energy e = sum_up(&r);
    assert_true(e.has_gpus && e.knows_gpus && e.knows_processors);
    assert_true(e.gpus_joules == 3 && e.processors_joules == 4);
}

static void test_one_without_a_counter(void **state)
{
    struct room r;
    room_make(&r);
    put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    row_put_u64(&add(&r, ENTITY_GPU, "amd0")->row, gpu_memory_used_bytes, 5);
    struct energy e = sum_up(&r);
    assert_true(e.has_gpus && !e.knows_gpus && !e.knows_processors);
}

/* A driver that has not begun: its GPUs may have used some. */
static void test_one_is_awaited(void **state)
{
    struct room r;
    room_make(&r);
    r.run.gpus_awaited = true;
    put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    struct energy e = sum_up(&r);
    assert_true(e.has_gpus && !e.knows_gpus);
}

static void test_instances_are_of_their_board(void **state)
{
    struct room r;
    room_make(&r);
    put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    struct instance *instance = add(&r, ENTITY_GPU, "nvidia0:0");
    instance->entity.labels[0] = (struct label){"instance", "0"};
    row_put_u64(&instance->row, gpu_memory_used_bytes, 5);
    struct energy e = sum_up(&r);
    assert_true(e.knows_gpus && e.gpus_joules == 2.5);
}

/* The GPU of a laptop beside one of its own: what it uses is the package's. */
static void test_inside_of_a_processor(void **state)
{
    struct room r;
    room_make(&r);
    put(&r, add(&r, ENTITY_GPU, "nvidia0"), gpu_energy_joules, 2500000);
    struct instance *inside = add(&r, ENTITY_GPU, "intel0");
    inside->entity.labels[0] = (struct label){"vendor", "intel"};
    inside->entity.labels[1] = (struct label){"pci", "0000:00:02.0"};
    row_put_u64(&inside->row, gpu_clock_sm_hertz, 5);
    struct energy e = sum_up(&r);
    assert_true(e.knows_gpus && e.gpus_joules == 2.5);
}

static void test_nothing(void **state)
{
    struct room r;
    room_make(&r);
    struct energy e = sum_up(&r);
    assert_false(e.has_gpus || e.knows_gpus || e.knows_processors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both),
        cmocka_unit_test(test_one_without_a_counter),
        cmocka_unit_test(test_one_is_awaited),
        cmocka_unit_test(test_instances_are_of_their_board),
        cmocka_unit_test(test_inside_of_a_processor),
        cmocka_unit_test(test_nothing),
    };
    return RUN("energy", tests);
}
