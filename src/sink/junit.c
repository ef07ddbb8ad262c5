/* SPDX-License-Identifier: MIT
 * The run as a test case of JUnit, with its figures as properties; readers of test results
 * (Jenkins, GitLab, pytest's own tools) show them.
 *
 *   <testsuites>
 *     <testsuite name="toll" tests="1" failures="0" errors="0" time="1.608" timestamp="…">
 *       <testcase classname="toll" name="make" time="1.608">
 *         <properties>
 *           <property name="target_cpu_seconds" value="1.126"/>
 *           <property name="lower_bounds" value="target_memory_peak_bytes"/>
 *         </properties>
 *         <failure message="exit status 3"/>
 *
 * Counters are totals, gauges their maximum. A figure that is not known has no property. */
#include "base/text/encoding.h"
#include "sink/words.h"

#include <math.h>

static void junit_attribute(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, " %s=\"", name);
    html_put(b, value);
    buf_putc(b, '"');
}

static void junit_property(struct buf *b, const char *name, const struct buf *value)
{
    buf_puts(b, "        <property");
    junit_attribute(b, "name", name);
    junit_attribute(b, "value", value->data ? value->data : "");
    buf_puts(b, "/>\n");
    b->failed |= value->failed;
}

static void junit_properties(struct sink *s, const struct summary *summary)
{
    const struct target_summary *t = &summary->whole;
    struct buf lower_bounds = {0};
    buf_puts(&s->text, "      <properties>\n");
    for (unsigned id = 0; id < PROCESS_METRICS; id++) {
        const struct metric *m = metric_of(id);
        const struct series *series = &t->series[PART_COMBINED][id];
        enum quality quality = t->provenance[PART_COMBINED][id].quality;
        bool is_known = summary->has_target && quality != QUALITY_UNKNOWN && series->count &&
                        !(t->partial[PART_COMBINED] >> id & 1);
        if (!is_known || !(s->selection.parts[PART_COMBINED] >> id & 1))
            continue;
        struct buf name = {0}, value = {0};
        column_lead(&name, ENTITY_TARGET, PART_COMBINED, NULL);
        buf_puts(&name, m->facts.name);
        buf_number(&value,
                   m->kind == METRIC_COUNTER ? metric_number(m, series->last) : series->max);
        junit_property(&s->text, name.data ? name.data : "", &value);
        if (quality == QUALITY_LOWER_BOUND)
            buf_printf(&lower_bounds, "%s%s", lower_bounds.length ? " " : "",
                       name.data ? name.data : "");
        s->text.failed |= buf_failed(&name);
        buf_done(&name);
        buf_done(&value);
    }
    if (lower_bounds.length)
        junit_property(&s->text, "lower_bounds", &lower_bounds);
    buf_done(&lower_bounds);
    buf_puts(&s->text, "      </properties>\n");
}

static void junit_summary(struct sink *s, const struct summary *summary)
{
    const struct toll_end *end = &summary->whole.end;
    bool has_failed = end->ended && !end->unknown && (end->signaled || end->status);
    const char *name = summary->run->name ? summary->run->name : "toll";
    struct buf *b = &s->text;
    struct buf time = {0}, when = {0}, how = {0};
    buf_double_fixed(&time, (double)summary->elapsed_ns / 1e9, 3);
    buf_utc(&when, summary->run->start_real_ns);
    human_end(&how, summary);
    buf_puts(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    junit_attribute(b, "name", "toll");
    buf_printf(b, " tests=\"1\" failures=\"%d\" errors=\"0\"", has_failed);
    junit_attribute(b, "time", time.data ? time.data : "");
    junit_attribute(b, "timestamp", when.data ? when.data : "");
    junit_attribute(b, "hostname", summary->run->host);
    buf_puts(b, ">\n    <testcase");
    junit_attribute(b, "classname", "toll");
    junit_attribute(b, "name", name);
    junit_attribute(b, "time", time.data ? time.data : "");
    buf_puts(b, ">\n");
    junit_properties(s, summary);
    if (has_failed) {
        buf_puts(b, "      <failure");
        junit_attribute(b, "message", how.data ? how.data : "");
        buf_puts(b, "/>\n");
    }
    buf_puts(b, "    </testcase>\n  </testsuite>\n</testsuites>\n");
    b->failed |= buf_failed(&time) || buf_failed(&when) || buf_failed(&how);
    buf_done(&time);
    buf_done(&when);
    buf_done(&how);
}

const struct sink_kind sink_junit = {
    .format = {"junit", "", "the run as a test case of JUnit, with figures as properties", "FILE"},
    .holds_one_run = true,
    .summary = junit_summary,
};
