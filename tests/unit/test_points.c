/* SPDX-License-Identifier: MIT */
#include "sink/points.h"

#include "sample.h"

static struct points_head head_of(const struct buf *b)
{
    struct points_head h;
    memcpy(&h, b->data, sizeof h);
    assert_int_equal(b->length, sizeof h + h.count * sizeof(struct point));
    return h;
}

static struct point point_at(const struct buf *b, size_t i)
{
    struct point p;
    memcpy(&p, b->data + sizeof(struct points_head) + i * sizeof p, sizeof p);
    return p;
}

static void test_a_frame(void **state)
{
    struct sample s;
    struct points p;
    struct buf b = {0}, name = {0};
    const struct metric *m;
    sample_make(&s, NULL);
    points_init(&p);
    row_put_u64(&s.parts[PART_MAIN], process_cpu_seconds, 1500000000);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_rss_bytes, 4096);
    row_put_u64(&s.self, self_ticks_count, 7);
    points_add(&p, &s.run, &s.selection, &s.frame, &b);
    assert_int_equal(head_of(&b).time_ms, 1731000000123);
    assert_int_equal(head_of(&b).count, 3); /* what is not known is not there */
    const struct point_row *row = points_series(&p, point_at(&b, 1).series, &m);
    assert_true(point_at(&b, 1).value == 1.5);
    assert_int_equal(row->kind, ENTITY_TARGET);
    points_name(&name, row->kind, m);
    assert_string_equal(name.data, "toll_target_cpu_seconds");
    assert_string_equal(row->labels.items[row->labels.count - 1].name, "scope");
    assert_string_equal(row->labels.items[row->labels.count - 1].value, "main");
    points_series(&p, point_at(&b, 2).series, &m);
    assert_string_equal(m->facts.name, "ticks");

    /* The same moment again: time rises all the same. */
    buf_clear(&b);
    points_add(&p, &s.run, &s.selection, &s.frame, &b);
    assert_int_equal(head_of(&b).time_ms, 1731000000124);

    buf_clear(&b);
    points_add_end(&p, &b);
    assert_int_equal(head_of(&b).time_ms, 1731000000125);
    assert_int_equal(head_of(&b).count, 3);
    uint64_t bits;
    struct point end = point_at(&b, 0);
    memcpy(&bits, &end.value, sizeof bits);
    assert_true(bits == POINTS_END_BITS);
    buf_done(&b);
    buf_done(&name);
    points_done(&p);
    sample_remove(&s);
}

static void test_instances_and_targets(void **state)
{
    struct sample s;
    struct points p;
    struct buf b = {0};
    const struct metric *m;
    sample_make(&s, NULL);
    points_init(&p);
    struct instance disk, *list[] = {&disk};
    instance_init(&disk, ENTITY_DISK);
    disk.number = 40;
    snprintf(disk.entity.name, sizeof disk.entity.name, "vda");
    disk.entity.labels[0] = (struct label){"class", "ssd"};
    char scope[] = "scope=q", class[] = "class=mine", *labels[] = {scope, class, NULL};
    s.run.labels = labels; /* what toll calls its own keeps its name */
    row_put_u64(&disk.row, disk_read_bytes, 5);
    s.frame.machine = list;
    s.frame.machine_count = 1;
    struct frame_target targets[2] = {{.name = "one"}, {.name = "two"}};
    for (unsigned i = 0; i < 2; i++)
        targets[i].parts[PART_COMBINED] = (struct frame_row){&s.entity, &s.parts[PART_MAIN]};
    row_put_u64(&s.parts[PART_MAIN], process_cpu_seconds, 1);
    s.frame.targets = targets;
    s.frame.target_count = 2;
    points_add(&p, &s.run, &s.selection, &s.frame, &b);
    assert_int_equal(head_of(&b).count, 4); /* main, one, two, the disk */
    const struct point_row *row = points_series(&p, point_at(&b, 2).series, &m);
    assert_string_equal(row->labels.items[row->labels.count - 1].value, "two");
    row = points_series(&p, point_at(&b, 3).series, &m);
    assert_int_equal(row->kind, ENTITY_DISK);
    assert_string_equal(m->facts.name, "read_bytes");
    assert_string_equal(row->labels.items[0].name, "class");
    assert_string_equal(row->labels.items[0].value, "ssd");
    assert_string_equal(row->labels.items[1].name, "disk");
    assert_string_equal(row->labels.items[1].value, "vda");
    assert_string_equal(row->labels.items[3].name, "label_class");
    assert_string_equal(row->labels.items[3].value, "mine");
    assert_string_equal(row->labels.items[4].name, "label_scope");
    assert_string_equal(row->labels.items[4].value, "q");
    row = points_series(&p, point_at(&b, 0).series, &m);
    assert_string_equal(row->labels.items[0].name, "class");
    assert_string_equal(row->labels.items[0].value, "mine");
    s.run.labels = NULL;
    buf_done(&b);
    points_done(&p);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frame),
        cmocka_unit_test(test_instances_and_targets),
    };
    return RUN("points", tests);
}
