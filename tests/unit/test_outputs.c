/* SPDX-License-Identifier: MIT */
#include "engine/outputs.h"

#include "sample.h"

struct fixture {
    struct tree tree;
    struct toll_tracker *t;
    struct row rows[PARTS];
    struct entity entity;
    char told[4096];
    unsigned told_count;
};

static void listen(void *arg, const char *sentence)
{
    struct fixture *f = arg;
    f->told_count++;
    strncat(f->told, sentence, sizeof f->told - strlen(f->told) - 2);
    strcat(f->told, "\n");
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){0};
    tree_make(&f->tree);
    struct toll_options o = {.size = sizeof o, .note = listen, .note_arg = f};
    assert_int_equal(toll_tracker_new(&f->t, &o, NULL), 0);
}

static void add(struct fixture *f, const char *name)
{
    char path[512];
    struct toll_output out = {.size = sizeof out, .destination = tree_path(&f->tree, path, name)};
    assert_int_equal(toll_tracker_add_output(f->t, &out, NULL), 0);
}

static void add_full(struct fixture *f, const char *format)
{
    static int full = -1;
    if (full < 0)
        full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct toll_output out = {.size = sizeof out, .fd = full, .format = format};
    assert_int_equal(toll_tracker_add_output(f->t, &out, NULL), 0);
}

static void end(struct fixture *f)
{
    toll_tracker_free(f->t);
    tree_remove(&f->tree);
}

static void test_a_note_is_told_once(void **state)
{
    struct fixture f;
    begin(&f);
    add(&f, "x.jsonl");
    for (int i = 0; i < 3; i++)
        outputs_note(f.t, "something about %d", 5);
    assert_int_equal(f.told_count, 1);
    assert_int_equal(f.t->summary.note_count, 1);
    char *text = tree_read(&f.tree, "x.jsonl");
    assert_non_null(strstr(text, "something about 5"));
    free(text);
    end(&f);
}

/* A process may call itself anything. */
static void test_a_note_cannot_drive_the_terminal(void **state)
{
    struct fixture f;
    begin(&f);
    outputs_note(f.t, "process 5 (%s)", "\033[2Jx\ny\a");
    assert_string_equal(f.told, "process 5 (?[2Jx y?)\n");
    outputs_note(f.t, "%02000d", 1); /* cut, not overrun */
    assert_int_equal(f.told_count, 2);
    end(&f);
}

static void add_frame(struct fixture *f)
{
    for (unsigned part = 0; part < PARTS; part++) {
        row_init(&f->rows[part], ENTITY_PROCESS);
        f->t->frame.target[part] = (struct frame_row){&f->entity, &f->rows[part]};
    }
    for (unsigned id = 0; id < PARTS * PROCESS_METRICS; id++)
        f->t->summary.whole.provenance[id % PARTS][id / PARTS].source = "";
    row_init(&f->t->self_row, ENTITY_SELF);
    f->t->frame.self = (struct frame_row){&f->t->self_entity, &f->t->self_row};
}

/* One that fails is told of once, and disturbs no other. */
static void test_a_failing_output(void **state)
{
    struct fixture f;
    begin(&f);
    add_full(&f, "csv");
    add(&f, "x.csv");
    add_frame(&f);
    outputs_begin(f.t);
    for (int i = 0; i < 10; i++)
        outputs_frame(f.t);
    assert_int_equal(f.told_count, 1);
    assert_non_null(strstr(f.told, "No space left on device"));
    assert_int_equal(f.t->sinks[0]->dropped, 10);
    assert_int_equal(f.t->sinks[1]->chunks, 11);
    assert_int_equal(f.t->sinks[1]->dropped, 0);
    assert_int_equal(outputs_summary(f.t), -ENOSPC);
    assert_non_null(strstr(f.told, "10 of 10"));
    end(&f);
}

static void keep_ending(void *arg, bool has_failed, const char *sentence)
{
    struct toll_error *e = arg;
    assert_true(has_failed);
    e->code++;
    snprintf(e->message, sizeof e->message, "%s", sentence);
}

/* Who asks for it is told the end apart from all other notes. */
static void test_an_ending(void **state)
{
    struct fixture f;
    struct toll_error told = {0};
    begin(&f);
    f.t->options.ending = keep_ending;
    f.t->options.ending_arg = &told;
    add_full(&f, "csv");
    add_frame(&f);
    outputs_begin(f.t);
    outputs_frame(f.t);
    assert_int_equal(outputs_summary(f.t), -ENOSPC);
    assert_int_equal(told.code, 1);
    assert_non_null(strstr(told.message, "1 of 1 pieces"));
    assert_int_equal(f.told_count, 1);
    end(&f);
}

/* An output whose first failure is a note is told of all the same. */
static void test_a_note_that_cannot_be_written(void **state)
{
    struct fixture f;
    begin(&f);
    add_full(&f, "jsonl");
    add_frame(&f);
    outputs_note(f.t, "a note");
    outputs_frame(f.t);
    assert_int_equal(outputs_summary(f.t), -ENOSPC);
    assert_non_null(strstr(f.told, "could not be written"));
    end(&f);
}

static void test_closing(void **state)
{
    struct fixture f;
    begin(&f);
    add(&f, "x.csv");
    add(&f, "y.json");
    outputs_close(f.t, true);
    assert_false(tree_has(&f.tree, "x.csv"));
    assert_false(tree_has(&f.tree, "y.json"));
    assert_int_equal(f.t->sink_count, 0);
    outputs_close(f.t, true);
    outputs_frame(f.t);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_note_is_told_once),
        cmocka_unit_test(test_a_note_cannot_drive_the_terminal),
        cmocka_unit_test(test_a_failing_output),
        cmocka_unit_test(test_an_ending),
        cmocka_unit_test(test_a_note_that_cannot_be_written),
        cmocka_unit_test(test_closing),
    };
    return RUN("outputs", tests);
}
