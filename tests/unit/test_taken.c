/* SPDX-License-Identifier: MIT */
#include "engine/frame_copy.h"

#include "unit.h"

#include <math.h>
#include <string.h>

/* A frame with a target in three parts, one of several, a disk, a process and toll itself. */
struct made {
    struct frame frame;
    struct row rows[PARTS], one, process, self;
    struct entity entities[PARTS], one_entity, process_entity, self_entity;
    struct frame_target targets[1];
    struct frame_row processes[1];
    struct instance disk;
    struct instance *machine[1];
};

static void make(struct made *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned part = 0; part < PARTS; part++) {
        m->entities[part] = (struct entity){.kind = ENTITY_TARGET, .part = part};
        row_init(&m->rows[part], ENTITY_PROCESS);
        row_put_u64(&m->rows[part], process_cpu_seconds, (part + 1) * NS_PER_SECOND / 2);
        m->frame.target[part] = (struct frame_row){&m->entities[part], &m->rows[part]};
    }
    m->one_entity = (struct entity){.kind = ENTITY_TARGET};
    row_init(&m->one, ENTITY_PROCESS);
    row_put_double(&m->one, process_cpu_cores, 1.25);
    m->targets[0].name = "web";
    m->targets[0].parts[PART_COMBINED] = (struct frame_row){&m->one_entity, &m->one};
    m->process_entity = (struct entity){
        .kind = ENTITY_PROCESS, .pid = 42, .parent = 7, .name = "make"};
    row_init(&m->process, ENTITY_PROCESS);
    row_put_u64(&m->process, process_memory_rss_bytes, 4096);
    m->processes[0] = (struct frame_row){&m->process_entity, &m->process};
    m->self_entity = (struct entity){.kind = ENTITY_SELF};
    row_init(&m->self, ENTITY_SELF);
    m->frame.self = (struct frame_row){&m->self_entity, &m->self};
    instance_init(&m->disk, ENTITY_DISK);
    strcpy(m->disk.entity.name, "vda");
    row_put_u64(&m->disk.row, disk_read_bytes, 512);
    m->machine[0] = &m->disk;
    m->frame.targets = m->targets;
    m->frame.target_count = 1;
    m->frame.machine = m->machine;
    m->frame.machine_count = 1;
    m->frame.processes = m->processes;
    m->frame.process_count = 1;
    m->frame.tick = 3;
    m->frame.elapsed_ns = 30;
}

static struct frame_copy *copy(struct made *m, const char *metrics)
{
    struct selection selection;
    assert_int_equal(selection_parse(&selection, metrics, NULL), 0);
    make(m);
    struct frame_copy *t = frame_copy_new(&m->frame, &selection);
    assert_non_null(t);
    memset(m, 0xAA, sizeof *m); /* the copy stands alone */
    return t;
}

static void test_rows(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, NULL)->head;
    assert_int_equal(f->number, 3);
    assert_int_equal(f->elapsed_ns, 30);
    assert_int_equal(f->row_count, 7);
    const struct toll_row *r = toll_frame_row(f, 0);
    assert_string_equal(r->entity, "target");
    assert_string_equal(r->part, "combined");
    assert_string_equal(r->name, "");
    assert_true(toll_row_get(r, "cpu_seconds") == 0.5);
    assert_true(isnan(toll_row_get(r, "cpu_user_seconds")));
    assert_true(isnan(toll_row_get(r, "no_such_thing")));
    assert_string_equal(toll_frame_row(f, 3)->name, "web");
    assert_string_equal(toll_frame_row(f, 4)->entity, "disk");
    r = toll_frame_row(f, 5);
    assert_string_equal(r->entity, "process");
    assert_string_equal(r->name, "make");
    assert_int_equal(r->pid, 42);
    assert_int_equal(r->parent, 7);
    assert_string_equal(toll_frame_row(f, 6)->entity, "self");
    assert_null(toll_frame_row(f, 7));
    toll_frame_free(f);
    toll_frame_free(NULL);
}

static void test_columns(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, NULL)->head;
    assert_true(toll_frame_get(f, "target_cpu_seconds") == 0.5);
    assert_true(toll_frame_get(f, "main_cpu_seconds") == 1);
    assert_true(toll_frame_get(f, "descendants_cpu_seconds") == 1.5);
    assert_true(toll_frame_get(f, "target.web.cpu_cores") == 1.25);
    assert_true(toll_frame_get(f, "disk.vda.read_bytes") == 512);
    assert_true(isnan(toll_frame_get(f, "disk.vdb.read_bytes")));
    assert_true(isnan(toll_frame_get(f, "self_cpu_seconds")));
    assert_true(isnan(toll_frame_get(f, "")));
    toll_frame_free(f);
}

static void test_names_of_columns(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, NULL)->head;
    char name[64];
    assert_int_equal(toll_row_column(toll_frame_row(f, 1), "cpu_seconds", name, sizeof name), 16);
    assert_string_equal(name, "main_cpu_seconds");
    assert_int_equal(toll_row_column(toll_frame_row(f, 3), "", name, sizeof name), 11);
    assert_string_equal(name, "target.web.");
    toll_row_column(toll_frame_row(f, 4), "read_bytes", name, sizeof name);
    assert_string_equal(name, "disk.vda.read_bytes");
    assert_int_equal(toll_row_column(toll_frame_row(f, 4), "read_bytes", name, 5), 19);
    assert_string_equal(name, "disk");
    assert_int_equal(toll_row_column(toll_frame_row(f, 4), "read_bytes", NULL, 0), 19);
    assert_int_equal(toll_row_column(toll_frame_row(f, 5), "cpu_seconds", name, sizeof name), 0);
    assert_string_equal(name, "");
    toll_row_column(toll_frame_row(f, 6), "cpu_seconds", name, sizeof name);
    assert_string_equal(name, "self_cpu_seconds");
    toll_frame_free(f);
}

static void test_the_whole_alone(void **state)
{
    struct made m;
    struct selection selection;
    make(&m);
    assert_int_equal(selection_parse(&selection, NULL, NULL), 0);
    struct toll_frame *f = &frame_copy_new_whole(&m.frame, &selection)->head;
    assert_int_equal(f->row_count, 1);
    assert_true(toll_frame_get(f, "target_cpu_seconds") == 0.5);
    assert_true(isnan(toll_frame_get(f, "main_cpu_seconds")));
    toll_frame_free(f);
    assert_int_equal(selection_parse(&selection, "disk_*", NULL), 0);
    f = &frame_copy_new_whole(&m.frame, &selection)->head;
    assert_int_equal(f->row_count, 0);
    assert_null(toll_frame_row(f, 0));
    toll_frame_free(f);
}

static void test_the_metrics_of_a_row(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, NULL)->head;
    size_t known = 0, n = 0;
    double value;
    const struct toll_metric *metric;
    for (; (metric = toll_row_at(toll_frame_row(f, 0), n, &value)); n++) {
        assert_string_equal(metric->entity, "process");
        known += !isnan(value);
    }
    assert_int_equal(n, PROCESS_METRICS);
    assert_int_equal(known, 1);
    assert_non_null(toll_row_at(toll_frame_row(f, 6), 0, NULL));
    toll_frame_free(f);
}

/* What was not asked for is not known, and things of which nothing was asked are not there. */
static void test_what_was_selected(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, "main_cpu_seconds")->head;
    assert_int_equal(f->row_count, 1);
    assert_true(toll_frame_get(f, "main_cpu_seconds") == 1);
    assert_true(isnan(toll_frame_get(f, "target_cpu_seconds")));
    toll_frame_free(f);
}

static void test_holders(void **state)
{
    struct made m;
    struct frame_copy *t = copy(&m, NULL);
    assert_ptr_equal(frame_copy_hold(t), t);
    frame_copy_release(t);
    assert_true(toll_frame_get(&t->head, "target_cpu_seconds") == 0.5);
    frame_copy_release(t);
    frame_copy_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_names_of_columns),
        cmocka_unit_test(test_the_whole_alone),
        cmocka_unit_test(test_the_metrics_of_a_row),
        cmocka_unit_test(test_what_was_selected),
        cmocka_unit_test(test_holders),
    };
    return RUN("taken", tests);
}
