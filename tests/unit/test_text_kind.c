/* SPDX-License-Identifier: MIT */
#include "sample.h"
#include "sink/text/table.h"

static void expect(struct sample *s, unsigned flags, enum entity_kind kind, const char *text)
{
    struct sink sink = {.flags = flags, .selection = s->selection};
    if (kind == ENTITY_TARGET)
        text_targets(&sink, &s->summary);
    else
        text_kind(&sink, &s->summary, kind);
    buf_putc(&sink.text, '\0');
    assert_string_equal(sink.text.data, text);
    buf_done(&sink.text);
}

enum { DISKS = 3 };

/* Disks of which the first has read something, the second nothing, and the third is not known. */
struct disks {
    struct instance instances[DISKS];
    struct series *series[DISKS];
};

static void add_disks(struct sample *s, struct disks *d)
{
    static const char *const names[DISKS] = {"sda", "sdb", "a-disk-with-a-long-\033-name"};
    s->summary.instances = calloc(DISKS, sizeof *s->summary.instances);
    assert_non_null(s->summary.instances);
    s->summary.instance_count = DISKS;
    for (unsigned i = 0; i < DISKS; i++) {
        instance_init(&d->instances[i], ENTITY_DISK);
        snprintf(d->instances[i].entity.name, ENTITY_NAME_BYTES, "%s", names[i]);
        d->series[i] = calloc(metric_count(ENTITY_DISK), sizeof *d->series[i]);
        assert_non_null(d->series[i]);
        s->summary.instances[i] = (struct instance_summary){&d->instances[i], d->series[i]};
        if (i == 2)
            continue;
        unsigned at = disk_read_bytes - metric_first(ENTITY_DISK);
        series_put(&d->series[i][at], metric_of(disk_read_bytes),
                   (union value){.u = i == 0 ? 3 << 20 : 0}, 2 * NS_PER_SECOND);
    }
}

static void test_instances(void **state)
{
    struct sample s;
    struct disks d;
    sample_make(&s, NULL);
    expect(&s, 0, ENTITY_DISK, ""); /* there is none */
    add_disks(&s, &d);
    expect(&s, 0, ENTITY_DISK,
           "disks                         read\n"
           "sda                       3.00 MiB\n\n");
    expect(&s, TOLL_OUTPUT_VERBOSE, ENTITY_DISK,
           "disks                         read\n"
           "sda                       3.00 MiB\n"
           "sdb                            0 B\n"
           "a-disk-with-a-long-?-name\n"
           "                                 ?\n\n");
    expect(&s, 0, ENTITY_CORE, "");
    sample_remove(&s);
}

static void test_targets(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_wait_seconds,storage_read_bytes");
    assert_int_equal(run_add_target(&s.run, "web", "process 1"), 0);
    assert_int_equal(run_add_target(&s.run, "db", "process 2"), 0);
    assert_int_equal(summary_add_targets(&s.summary, 2), 0);
    expect(&s, 0, ENTITY_TARGET, ""); /* nothing is known of any */
    struct target_summary *web = &s.summary.targets[0];
    series_put(&web->series[PART_COMBINED][process_storage_read_bytes - process_first],
               metric_of(process_storage_read_bytes), (union value){.u = 1 << 20},
               2 * NS_PER_SECOND);
    web->provenance[PART_COMBINED][process_storage_read_bytes - process_first] =
        (struct provenance){QUALITY_SAMPLED, "test"};
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 1 << 20, QUALITY_SAMPLED);
    expect(&s, 0, ENTITY_TARGET,
           "targets                       read\n"
           "web                       1.00 MiB\n"
           "db                               ?\n"
           "together                  1.00 MiB\n\n");
    web->provenance[PART_COMBINED][process_storage_read_bytes - process_first].quality =
        QUALITY_LOWER_BOUND;
    expect(&s, 0, ENTITY_TARGET,
           "targets                       read\n"
           "web                      ≥1.00 MiB\n"
           "db                               ?\n"
           "together                  1.00 MiB\n\n");
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instances),
        cmocka_unit_test(test_targets),
    };
    return RUN("text_kind", tests);
}
