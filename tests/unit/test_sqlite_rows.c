/* SPDX-License-Identifier: MIT
 * What a whole file has against a record is compared by tests/golden/test_sqlite.py. */
#include "record/sqlite/rows.h"

#include "record/sqlite/schema.h"
#include "sample.h"

/* How many rows of a statement are on the tape, and how many values the last one has. */
static unsigned count(const struct buf *b, unsigned statement, unsigned *ret_values)
{
    struct scan row_log = scan_text(b->data, b->length);
    struct row_log_item item;
    unsigned rows = 0, values = 0;
    bool is_it = false;
    for (enum row_log_is is; (is = sqlite_row_log_next(&row_log, &item)) != TAPE_END;) {
        if (is == TAPE_ROW) {
            is_it = item.statement == statement;
            values = is_it ? 0 : values;
            rows += is_it;
        } else if (is_it) {
            values++;
        }
    }
    *ret_values = values;
    return rows;
}

/* As many values as the statement has question marks, beside the run. */
static void expect(const struct buf *b, unsigned statement, unsigned rows)
{
    unsigned values, marks = 0;
    struct buf sql = {0};
    sqlite_schema_statement(&sql, statement);
    for (size_t i = 0; i < sql.length; i++)
        marks += sql.data[i] == '?';
    buf_done(&sql);
    assert_int_equal(count(b, statement, &values), rows);
    if (rows)
        assert_int_equal(values, marks - 1);
}

static void test_a_frame(void **state)
{
    struct sample s;
    struct buf b = {0};
    struct sqlite_rows rows = {0};
    sample_make(&s, "cpu_seconds");
    struct frame_row processes[] = {{&s.process.entity, &s.process.own}};
    s.frame.processes = processes;
    s.frame.process_count = 1;
    sqlite_rows_frame(&b, &rows, &s.frame, &s.run, &s.selection);
    expect(&b, STATEMENT_SAMPLE, 1);
    expect(&b, STATEMENT_ROW + ENTITY_TARGET, PARTS);
    expect(&b, STATEMENT_ROW + ENTITY_SELF, 1);
    expect(&b, STATEMENT_ROW + ENTITY_PROCESS, 1);
    expect(&rows.entities.met, STATEMENT_ENTITY, PARTS + 2);
    buf_done(&b);
    sqlite_entities_done(&rows.entities);
    sample_remove(&s);
}

static void test_everything_else(void **state)
{
    struct sample s;
    struct buf b = {0};
    struct sqlite_rows rows = {0};
    struct phase phase = {.name = strdupa("load")};
    struct told_mark m = {.kind = MARK_EVENT, .name = "saved", .attributes = scan_string("a=b")};
    struct process_end end = {.has_status = true, .end = {.ended = true, .status = 3}};
    sample_make(&s, NULL);
    end.process = &s.process;
    sqlite_rows_run(&b, &s.run, &s.selection);
    sqlite_rows_process_end(&b, &rows, &end, &s.run, &s.selection);
    end.has_status = false;
    sqlite_rows_process_end(&b, &rows, &end, &s.run, &s.selection);
    sqlite_rows_mark(&b, &rows, &m, &s.selection);
    m.kind = MARK_GAUGE;
    sqlite_rows_mark(&b, &rows, &m, &s.selection);
    m = (struct told_mark){.kind = MARK_PHASE_END, .name = "load", .phase = &phase};
    sqlite_rows_mark(&b, &rows, &m, &s.selection);
    sqlite_rows_note(&b, &rows, 1, "a sentence");
    expect(&b, STATEMENT_RUN, 1);
    expect(&b, STATEMENT_PROCESS, 2);
    expect(&b, STATEMENT_EVENT, 1);
    expect(&b, STATEMENT_GAUGE, 1);
    expect(&b, STATEMENT_PHASE, 1);
    expect(&b, STATEMENT_NOTE, 1);
    assert_int_equal(rows.seq, 6);
    buf_done(&b);
    sqlite_entities_done(&rows.entities);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_frame),
        cmocka_unit_test(test_everything_else),
    };
    return RUN("sqlite_rows", tests);
}
