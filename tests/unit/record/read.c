/* SPDX-License-Identifier: MIT */
#include "record/keys.h"
#include "record/reader.h"
#include "record/reading.h"
#include "record_lines.h"
#include "tree.h"
#include "unit.h"

#include <limits.h>
#include <sys/file.h>
#include <sys/utsname.h>

/* ---- record reader -------------------------------------------------------------------------- */

static void test_record_reader_several_runs(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "\n{'type':'sample','tick':0}\n" RUN_LINE
                              "{'type':'summary','schema':'toll.summary/1'}\n");
    assert_int_equal(record_next(&r, RECORD_RUN)->number, 1);
    assert_int_equal(record_next(&r, RECORD_FRAME)->number, 1);
    assert_non_null(record_next(&r, RECORD_SUMMARY)->cut_short);
    assert_int_equal(record_next(&r, RECORD_RUN)->number, 2);
    assert_null(record_next(&r, RECORD_SUMMARY)->cut_short);
    assert_int_equal(record_reader_next(r.reader, &r.item, NULL), 0);
    assert_int_equal(record_reader_next(r.reader, &r.item, NULL), 0); /* and stays there */
    record_end(&r);
}

static void test_record_reader_half_a_line(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','tick':0}\n{'type':'sample','ti");
    record_next(&r, RECORD_RUN);
    record_next(&r, RECORD_FRAME);
    assert_non_null(strstr(record_next(&r, RECORD_SUMMARY)->cut_short, "last whole line"));
    record_end(&r);
}

static void test_record_reader_narrow(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE);
    assert_int_equal(record_reader_narrow(r.reader, "cpu_*"), 0);
    assert_string_equal(record_next(&r, RECORD_RUN)->run->metrics, "cpu_*");
    record_end(&r);
}

static void expect_refusal(const char *text, int code, const char *sentence)
{
    struct record r;
    struct toll_error e = {0};
    record_begin(&r, text);
    int n;
    while ((n = record_reader_next(r.reader, &r.item, &e)) > 0)
        ;
    assert_int_equal(n, code);
    assert_non_null(strstr(e.message, sentence));
    record_end(&r);
}

static void test_record_reader_no_records(void **state)
{
    expect_refusal("", -EBADMSG, "no record in it");
    expect_refusal("hello\n", -EBADMSG, "not a record");
    expect_refusal("{'type':'sample','tick':1}\n", -EBADMSG, "not a record");
    expect_refusal("{'type':'run','schema':'toll.record/9'}\n", -EBADMSG, "toll.record/9");
    expect_refusal(RUN_LINE "[1]\n" RUN_LINE, -EBADMSG, "line 2");
    record_reader_free(NULL);
}

static void test_record_reader_no_file(void **state)
{
    struct record_reader *r = NULL;
    struct toll_error e = {0};
    assert_int_equal(record_reader_open(&r, "/nonexistent/x.jsonl", &e), -ENOENT);
    assert_null(r);
    assert_non_null(strstr(e.message, "/nonexistent/x.jsonl"));
}

/* ---- read run ------------------------------------------------------------------------------- */

static void test_read_run_facts(void **state)
{
    struct record r;
    record_begin(&r, "{'type':'run','schema':'toll.record/1','toll':'0.1.0','name':'a job',"
                     "'command':['make','-j2'],'labels':{'team':'blue'},'host':'box',"
                     "'kernel':'6.1','cpus':4,'pid':1000,'start':'2024-11-07T17:20:00.000Z',"
                     "'interval_seconds':0.5,'children':false,'unix_seconds':1731000000.25,"
                     "'toll_pid':999,'id':'01930790-5c00-7abc-8000-00000000000f',"
                     "'job_id':'77','array_index':'5','rank':'3',"
                     "'local_rank':'1','world_size':'4','launcher':'Slurm','launch':'77.0'}\n");
    const struct run *run = record_next(&r, RECORD_RUN)->run;
    assert_string_equal(run->name, "a job");
    assert_string_equal(run->version, "0.1.0");
    assert_string_equal(run->command[0], "make");
    assert_string_equal(run->command[1], "-j2");
    assert_null(run->command[2]);
    assert_string_equal(run->labels[0], "team=blue");
    assert_string_equal(run->host, "box");
    assert_string_equal(run->kernel, "6.1");
    assert_int_equal(run->cpus, 4);
    assert_int_equal(run->pid, 1000);
    assert_int_equal(run->own_pid, 999);
    assert_string_equal(run->id, "01930790-5c00-7abc-8000-00000000000f");
    assert_string_equal(run->job.id, "77");
    assert_string_equal(run->job.array_index, "5");
    assert_string_equal(run->parallel.rank, "3");
    assert_string_equal(run->parallel.local_rank, "1");
    assert_string_equal(run->parallel.world_size, "4");
    assert_string_equal(run->parallel.launcher, "Slurm");
    assert_string_equal(run->parallel.launch, "77.0");
    assert_int_equal(run->interval_ns, 500000000);
    assert_true(run->no_children);
    assert_int_equal(run->start_real_ns, UINT64_C(1731000000250000000)); /* in full */
    record_end(&r);
}

/* A record of a version that masked nothing, or that was asked not to. */
static void test_read_run_secrets(void **state)
{
    static const char line[] = "{'type':'run','schema':'toll.record/1','command':['x','--token',"
                               "'abc'],'labels':{'secret':'s'}}\n";
    for (int shows = 0; shows < 2; shows++) {
        struct record r;
        record_begin(&r, line);
        record_reader_show(r.reader, shows, true);
        const struct run *run = record_next(&r, RECORD_RUN)->run;
        assert_string_equal(run->command[2], shows ? "abc" : "***");
        assert_string_equal(run->labels[0], shows ? "secret=s" : "secret=***");
        record_end(&r);
    }
    struct record r;
    record_begin(&r, line);
    record_reader_show(r.reader, true, false);
    assert_null(record_next(&r, RECORD_RUN)->run->command[1]);
    record_end(&r);
}

static void test_read_run_what_is_null(void **state)
{
    struct record r;
    record_begin(&r, "{'schema':'toll.record/1','type':'run','interval_seconds':null,'pid':null,"
                     "'id':'01930790-5c00-7abc-8000-00000000000f0'}\n");
    const struct run *run = record_next(&r, RECORD_RUN)->run;
    assert_string_equal(run->id, ""); /* it is no identifier */
    assert_int_equal(run->interval_ns, 0);
    assert_int_equal(run->pid, 0);
    assert_null(run->command);
    record_end(&r);
}

static void test_read_run_what_is_wrong(void **state)
{
    record_refuses("{'type':'run','schema':'toll.record/1','cpus':-1}");
    record_refuses("{'type':'run','schema':'toll.record/1','start':'yesterday'}");
    record_refuses("{'type':'run','schema':'toll.record/1','command':'make'}");
    record_refuses("{'type':'run','schema':'toll.record/1','pid':99999999999}");
}

/* ---- read sample ---------------------------------------------------------------------------- */

static void test_read_sample_figures(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'sample','tick':7,'time':'2024-11-07T17:20:00.100Z',"
                 "'unix_seconds':1731000000.1234,'elapsed_seconds':0.125,'interval_seconds':0.1,"
                 "'between':true,'gpu_count':2,'target':{'combined':{'cpu_seconds':1.5,"
                 "'memory_rss_bytes':4096,'memory_pss_bytes':null}},'self':{'ticks':8},"
                 "'disks':[{'name':'sda','class':'ssd','read_bytes':5}]}\n");
    assert_int_equal(record_next(&r, RECORD_RUN)->run->gpu_count, 0);
    const struct frame *f = record_next(&r, RECORD_FRAME)->frame;
    assert_int_equal(r.item.run->gpu_count, 2);
    assert_int_equal(f->tick, 7);
    assert_int_equal(f->real_ns, UINT64_C(1731000000123400000));
    assert_int_equal(f->elapsed_ns, 125000000);
    assert_int_equal(f->interval_ns, 100000000);
    assert_true(f->between);
    assert_false(f->last);
    const struct row *row = f->target[PART_COMBINED].row;
    assert_int_equal(row->values[process_cpu_seconds - row->first].u, 1500000000);
    assert_int_equal(row->values[process_memory_rss_bytes - row->first].u, 4096);
    assert_false(row->present & BIT(process_memory_pss_bytes - row->first)); /* unknown, not 0 */
    assert_null(f->target[PART_MAIN].row);
    assert_int_equal(f->machine_count, 1);
    assert_string_equal(entity_name(&f->machine[0]->entity), "sda");
    const struct selection *s = record_reader_selection(r.reader);
    assert_true(s->parts[PART_COMBINED] & BIT(process_memory_pss_bytes - process_wall_seconds));
    assert_false(s->parts[PART_COMBINED] & BIT(process_faults_minor_count - process_wall_seconds));
    record_end(&r);
}

static void test_read_sample_what_is_wrong(void **state)
{
    record_refuses("{'type':'sample','tick':-1}");
    record_refuses("{'type':'sample','elapsed_seconds':-1}");
    record_refuses("{'type':'sample','target':[]}");
    record_refuses("{'type':'sample','target':{'combined':{'cpu_seconds':'1'}}}");
    record_refuses("{'type':'sample','time':'2024-13-07T17:20:00.100Z'}");
}

/* … is no reason to refuse the rest. */
static void test_read_sample_what_is_not_known(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','tick':1,'dreams':[1,{'a':2}]}\n");
    record_next(&r, RECORD_RUN);
    assert_int_equal(record_next(&r, RECORD_FRAME)->frame->tick, 1);
    assert_string_equal(record_reader_unknown(r.reader), "dreams");
    record_end(&r);
}

/* ---- read process --------------------------------------------------------------------------- */

static void test_read_process_one_that_left(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'process','elapsed_seconds':1,'left':'reaped by toll','end':{'status':"
                 "'signaled','code':null,'signal':9,'core_dumped':true,'oom_killed':false,"
                 "'timed_out':false},'pid':1003,'parent':1001,'start_ticks':50020,'name':'child',"
                 "'cpu_seconds':0.2,'open_files':null}\n");
    record_next(&r, RECORD_RUN);
    const struct process_end *e = record_next(&r, RECORD_PROCESS_END)->process_end;
    assert_int_equal(e->how, LEFT_REAPED);
    assert_true(e->has_status && e->end.ended && e->end.signaled && e->end.core_dumped);
    assert_int_equal(e->end.status, 9);
    assert_int_equal(e->elapsed_ns, NS_PER_SECOND);
    assert_int_equal(e->process->entity.pid, 1003);
    assert_int_equal(e->process->entity.parent, 1001);
    assert_int_equal(e->process->entity.start_ticks, 50020);
    assert_string_equal(e->process->entity.name, "child");
    const struct row *row = &e->process->own;
    assert_int_equal(row->values[process_cpu_seconds - row->first].u, 200000000);
    record_end(&r);
}

static void test_read_process_one_whose_end_nobody_knows(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'process','left':'reaped inside','end':null,'pid':7}\n");
    record_next(&r, RECORD_RUN);
    const struct process_end *e = record_next(&r, RECORD_PROCESS_END)->process_end;
    assert_int_equal(e->how, LEFT_INSIDE);
    assert_false(e->has_status);
    record_end(&r);
}

static void test_read_process_in_a_sample(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','processes':[{'pid':5,'name':'a','threads':2},"
                              "{'pid':6,'name':'b','threads':1}]}\n");
    record_next(&r, RECORD_RUN);
    const struct frame *f = record_next(&r, RECORD_FRAME)->frame;
    assert_int_equal(f->process_count, 2);
    assert_int_equal(f->processes[0].entity->pid, 5);
    assert_string_equal(f->processes[1].entity->name, "b");
    record_end(&r);
}

static void test_read_process_what_is_wrong(void **state)
{
    record_refuses("{'type':'process','left':'eaten','pid':7}");
    record_refuses("{'type':'process','left':'reaped inside','end':{'status':'bored'}}");
    record_refuses("{'type':'process','pid':'7'}");
}

/* ---- read series ---------------------------------------------------------------------------- */

#define READ_SERIES_SUMMARY(figures)                                                               \
    RUN_LINE "{'type':'summary','schema':'toll.summary/"                                           \
             "1','wall_seconds':2,'target':{'combined':{" figures "}}}\n"

static void test_read_series_a_counter_and_a_gauge(void **state)
{
    struct record r;
    record_begin(
        &r, READ_SERIES_SUMMARY("'cpu_seconds':{'total':1.5,'rate_mean':0.75,'rate_max':1,"
                                "'rate_max_at_seconds':0.5,'quality':'exact','from':'wait4'},"
                                "'memory_rss_bytes':{'mean':10,'min':5,'max':20,'max_at_seconds':1,"
                                "'last':7,'p50':9,'p90':19,'p99':20,'quality':'sampled',"
                                "'from':'samples'},'threads':{'quality':'unknown','from':''}"));
    record_next(&r, RECORD_RUN);
    const struct target_summary *t = &record_next(&r, RECORD_SUMMARY)->summary->whole;
    const struct series *cpu = &t->series[PART_COMBINED][process_cpu_seconds];
    const struct series *rss = &t->series[PART_COMBINED][process_memory_rss_bytes];
    assert_int_equal(cpu->last.u, 1500000000);
    assert_true(series_mean(rss, metric_of(process_memory_rss_bytes)) == 10);
    assert_true(rss->max == 20 && rss->min == 5);
    assert_int_equal(rss->max_at_ns, NS_PER_SECOND);
    assert_int_equal(t->provenance[PART_COMBINED][process_cpu_seconds].quality, QUALITY_EXACT);
    assert_string_equal(t->provenance[PART_COMBINED][process_cpu_seconds].source, "wait4");
    assert_int_equal(t->provenance[PART_COMBINED][process_threads_count].quality, QUALITY_UNKNOWN);
    record_end(&r);
}

static void test_read_series_what_is_wrong(void **state)
{
    record_refuses("{'type':'summary','schema':'toll.summary/1','target':{'combined':"
                   "{'cpu_seconds':{'total':'1'}}}}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','target':{'combined':"
                   "{'cpu_seconds':{'quality':'fine'}}}}");
}

/* ---- read summary --------------------------------------------------------------------------- */

static void test_read_summary_the_whole(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'summary','schema':'toll.summary/1','wall_seconds':2.5,'end':{'status':"
                 "'exited','code':3,'signal':null,'core_dumped':false,'oom_killed':false,"
                 "'timed_out':true},'still_running_count':1,'still_running':[{'pid':9,'name':'x',"
                 "'cpu_seconds':1,'memory_rss_bytes':2}],'notes':['one','two']}\n");
    record_next(&r, RECORD_RUN);
    const struct summary *s = record_next(&r, RECORD_SUMMARY)->summary;
    assert_null(r.item.cut_short);
    assert_int_equal(s->elapsed_ns, 2500000000);
    assert_true(s->whole.end.ended && s->whole.end.timed_out && !s->whole.end.signaled);
    assert_int_equal(s->whole.end.status, 3);
    assert_int_equal(s->note_count, 2);
    assert_string_equal(s->notes[1], "two");
    assert_int_equal(record_reader_next(r.reader, &r.item, NULL), 0);
    record_end(&r);
}

/* A run without one has that of its samples. */
static void test_read_summary_none(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','tick':0,'elapsed_seconds':0.5,'target':"
                              "{'combined':{'wall_seconds':0.5,'cpu_seconds':0.25}}}\n");
    record_next(&r, RECORD_RUN);
    record_next(&r, RECORD_FRAME);
    const struct summary *s = record_next(&r, RECORD_SUMMARY)->summary;
    assert_non_null(strstr(r.item.cut_short, "ends before the run did"));
    assert_true(!s->whole.end.ended && s->whole.end.unknown);
    assert_int_equal(s->elapsed_ns, 500000000);
    assert_int_equal(s->whole.series[PART_COMBINED][process_cpu_seconds].last.u, 250000000);
    assert_int_equal(s->whole.provenance[PART_COMBINED][process_cpu_seconds].quality,
                     QUALITY_LOWER_BOUND);
    record_end(&r);
}

/* A peak that was not read is null; an older record has 0. */
static void test_read_summary_programs(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'summary','schema':'toll.summary/1','processes_seen':4,'programs':["
                 "{'name':'cc1','processes':2,'cpu_time_seconds':1,'peak_rss_bytes':4096,"
                 "'complete':true},{'name':'sh','processes':1,'cpu_time_seconds':0.5,"
                 "'peak_rss_bytes':null,'complete':true},{'name':'as','processes':1,"
                 "'cpu_time_seconds':0.25,'peak_rss_bytes':0,'complete':false}]}\n");
    record_next(&r, RECORD_RUN);
    const struct summary *s = record_next(&r, RECORD_SUMMARY)->summary;
    assert_int_equal(s->largest->program_count, 3);
    assert_int_equal(s->largest->programs[0].peak_bytes, 4096);
    struct buf b = {0};
    struct json_out j;
    const struct selection selection = {0};
    json_begin(&j, &b, 0);
    json_object(&j);
    record_json_summary(&j, s, &selection);
    json_object_end(&j);
    assert_non_null(strstr(b.data, "\"peak_rss_bytes\":4096,\"complete\":true"));
    assert_non_null(strstr(b.data, "{\"name\":\"sh\",\"processes\":1,\"cpu_time_seconds\":0.5,"
                                   "\"peak_rss_bytes\":null,\"complete\":true}"));
    assert_non_null(strstr(b.data, "\"peak_rss_bytes\":null,\"complete\":false"));
    buf_done(&b);
    record_end(&r);
}

static void test_read_summary_what_is_wrong(void **state)
{
    record_refuses("{'type':'summary','schema':'toll.summary/1','wall_seconds':'long'}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','notes':'none'}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','end':{'status':'fine'}}");
}

/* ---- read marks ----------------------------------------------------------------------------- */

static void test_read_marks_a_phase(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'phase','elapsed_seconds':0.98,'name':'step','pid':1001,'attributes':"
                 "{'n':'1'},'begin_seconds':0.19,'end_seconds':0.98,'seconds':0.79,'ended':true,"
                 "'of':'process','looks':3,'figures':{'cpu_seconds':{'total':0.4,'quality':"
                 "'sampled'},'memory_rss_bytes':{'mean':10,'max':20,'quality':'sampled'}}}\n");
    record_next(&r, RECORD_RUN);
    const struct run_mark *m = record_next(&r, RECORD_MARK)->mark;
    assert_string_equal(m->name, "step");
    assert_int_equal(m->pid, 1001);
    assert_int_equal(m->elapsed_ns, 980000000);
    assert_non_null(m->phase);
    assert_int_equal(m->phase->end_ns - m->phase->begin_ns, 790000000);
    assert_false(m->phase->not_ended);
    assert_false(phase_is_of_target(m->phase));
    const struct phase_figures *f = phase_figures(m->phase);
    assert_int_equal(f->looks, 3);
    record_end(&r);
}

static void test_read_marks_events_gauges_and_notes(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'event','elapsed_seconds':1,'name':'saved','pid':5,'attributes':{}}\n"
                 "{'type':'gauge','elapsed_seconds':2,'name':'loss','pid':5,'value':-0.25}\n"
                 "{'type':'event','elapsed_seconds':3,'name':'note','text':'a sentence'}\n");
    record_next(&r, RECORD_RUN);
    assert_int_equal(record_next(&r, RECORD_MARK)->mark->kind, MARK_EVENT);
    const struct run_mark *m = record_next(&r, RECORD_MARK)->mark;
    assert_int_equal(m->kind, MARK_GAUGE);
    assert_true(m->value == -0.25);
    assert_string_equal(record_next(&r, RECORD_NOTE)->sentence, "a sentence");
    assert_int_equal(r.item.elapsed_ns, 3 * NS_PER_SECOND);
    const struct mark_totals *t = &record_next(&r, RECORD_SUMMARY)->summary->marks;
    assert_int_equal(t->gauge_count, 1); /* also where no summary tells of them */
    record_end(&r);
}

static void test_read_marks_what_is_wrong(void **state)
{
    record_refuses("{'type':'gauge','name':'loss','pid':5,'value':'much'}");
    record_refuses("{'type':'phase','name':'x','pid':5,'of':'nobody'}");
    record_refuses("{'type':'event','name':5}");
}

/* ---- read outputs --------------------------------------------------------------------------- */

#define READ_OUTPUTS_SUMMARY(outputs)                                                              \
    RUN_LINE "{'type':'summary','schema':'toll.summary/1','outputs':[" outputs "]}\n"

static void test_read_outputs_all_of_it(void **state)
{
    struct record r;
    record_begin(&r, READ_OUTPUTS_SUMMARY(
                         "{'name':':9464','format':'openmetrics','way':'scraped','samples':9,"
                         "'delivered':5,'kept':1,'dropped':3,'retries':2,'bytes':70,"
                         "'scrapes':4,'complete':false,'failure':'away'},"
                         "{'name':'x.sqlite','format':'sqlite','way':'file','bytes':null,"
                         "'complete':true,'failure':null}"));
    record_next(&r, RECORD_RUN);
    const struct summary *s = record_next(&r, RECORD_SUMMARY)->summary;
    assert_int_equal(s->output_count, 2);
    const struct output_summary *o = s->outputs;
    assert_string_equal(o[0].name, ":9464");
    assert_string_equal(o[0].format, "openmetrics");
    assert_int_equal(o[0].way, OUTPUT_SCRAPED);
    assert_int_equal(o[0].samples, 9);
    assert_int_equal(o[0].delivered, 5);
    assert_int_equal(o[0].kept, 1);
    assert_int_equal(o[0].dropped, 3);
    assert_int_equal(o[0].retries, 2);
    assert_int_equal(o[0].scrapes, 4);
    assert_true(o[0].has_bytes && o[0].bytes == 70);
    assert_false(o[0].is_whole);
    assert_string_equal(o[0].why, "away");
    assert_int_equal(o[1].way, OUTPUT_FILE);
    assert_false(o[1].has_bytes);
    assert_true(o[1].is_whole);
    assert_string_equal(o[1].why, "");
    record_end(&r);
}

/* Records from before there was a way have only what was sent. */
static void test_read_outputs_an_older_one(void **state)
{
    struct record r;
    record_begin(&r,
                 READ_OUTPUTS_SUMMARY("{'name':'x','format':'otlp','samples':1,'complete':true}"));
    record_next(&r, RECORD_RUN);
    assert_int_equal(record_next(&r, RECORD_SUMMARY)->summary->outputs[0].way, OUTPUT_SENT);
    record_end(&r);
}

static void test_read_outputs_what_is_wrong(void **state)
{
    record_refuses("{'type':'summary','schema':'toll.summary/1','outputs':[{'way':'thrown'}]}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','outputs':[{'samples':-1}]}");
    record_refuses("{'type':'summary','schema':'toll.summary/1','outputs':[3]}");
}

/* ---- read row ------------------------------------------------------------------------------- */

static void test_read_row_in_any_order(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE "{'type':'sample','target':{'combined':{'threads':3,'cpu_cores':0.5,"
                              "'cpu_seconds':2}}}\n");
    record_next(&r, RECORD_RUN);
    const struct row *row = record_next(&r, RECORD_FRAME)->frame->target[PART_COMBINED].row;
    assert_int_equal(row->values[process_threads_count - row->first].u, 3);
    assert_true(row->values[process_cpu_cores - row->first].d == 0.5);
    assert_int_equal(row->values[process_cpu_seconds - row->first].u, 2 * NS_PER_SECOND);
    record_end(&r);
}

/* Keys come in the order of the table, as a rule: the search goes on from where it was. */
static void test_read_row_finding(void **state)
{
    unsigned next = 0;
    struct scan cpu = scan_string("cpu_seconds"), wall = scan_string("wall_seconds");
    struct scan none = scan_string("cpu_dreams");
    int at = read_row_find(ENTITY_TARGET, &cpu, &next);
    assert_int_equal(at, process_cpu_seconds - metric_first(ENTITY_TARGET));
    assert_int_equal(next, at + 1);
    assert_int_equal(read_row_find(ENTITY_TARGET, &wall, &next), 0); /* from the beginning again */
    assert_int_equal(read_row_find(ENTITY_TARGET, &none, &next), -1);
}

static void test_read_row_values(void **state)
{
    static const struct {
        const char *text;
        enum metric_id id;
        bool is_good, is_known;
        uint64_t u;
    } cases[] = {
        {"1.000000001", process_cpu_seconds, true, true, 1000000001},
        {"null", process_cpu_seconds, true, false, 0},
        {"18446744073709551615", process_memory_rss_bytes, true, true, UINT64_MAX},
        {"18446744073709551616", process_memory_rss_bytes, false, false, 0},
        {"-1", process_memory_rss_bytes, false, false, 0},
        {"1e99", process_memory_rss_bytes, false, false, 0},
        {"'1'", process_memory_rss_bytes, false, false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_in j = {0};
        union value v = {0};
        bool is_known = false;
        json_in_begin(&j, cases[i].text, strlen(cases[i].text));
        assert_int_equal(read_row_value(&j, metric_of(cases[i].id), &v, &is_known),
                         cases[i].is_good);
        if (cases[i].is_good) {
            assert_int_equal(is_known, cases[i].is_known);
            assert_int_equal(v.u, cases[i].u);
        }
        json_in_done(&j);
    }
}

/* A process could not be read: what is known of a figure is no figure. */
static void test_read_row_lower_bounds(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'sample','elapsed_seconds':1,'target':{'combined':{'cpu_seconds':2,"
                 "'memory_pss_bytes':null,'lower_bound':{'memory_pss_bytes':4096,'dreams':1}}},"
                 "'processes':[{'pid':7,'io_read_bytes':null,'lower_bound':{'io_read_bytes':9}}]}\n"
                 "{'type':'process','pid':7,'io_read_bytes':null,"
                 "'lower_bound':{'io_read_bytes':10}}\n");
    record_next(&r, RECORD_RUN);
    const struct frame *f = record_next(&r, RECORD_FRAME)->frame;
    const struct row *row = f->target[PART_COMBINED].row;
    assert_true(row->present == BIT(process_cpu_seconds));
    assert_true(row->at_least == BIT(process_memory_pss_bytes));
    assert_int_equal(row_value(row, process_memory_pss_bytes).u, 4096);
    row = f->processes[0].row;
    assert_true(row->present == 0 && row->at_least == BIT(process_io_read_bytes));
    assert_string_equal(record_reader_unknown(r.reader), "dreams");
    const struct process *left = record_next(&r, RECORD_PROCESS_END)->process_end->process;
    assert_true(left->own.at_least == BIT(process_io_read_bytes));
    const struct summary *s = record_next(&r, RECORD_SUMMARY)->summary;
    assert_int_equal(s->whole.provenance[PART_COMBINED][process_memory_pss_bytes].quality,
                     QUALITY_LOWER_BOUND);
    assert_true(s->whole.partial[PART_COMBINED] == BIT(process_memory_pss_bytes));
    record_end(&r);
}

static void test_read_row_lower_bounds_that_are_none(void **state)
{
    record_refuses("{'type':'sample','target':{'combined':{'lower_bound':[]}}}");
    record_refuses("{'type':'sample','target':{'combined':{'lower_bound':{'cpu_seconds':'1'}}}}");
    record_refuses("{'type':'sample','target':{'combined':{'lower_bound':{'cpu_seconds':-1}}}}");
    /* Known, and a lower bound as well; in either order. */
    record_refuses("{'type':'sample','target':{'combined':{'cpu_seconds':1,"
                   "'lower_bound':{'cpu_seconds':1}}}}");
    record_refuses("{'type':'sample','target':{'combined':{'lower_bound':{'cpu_seconds':1},"
                   "'cpu_seconds':1}}}");
    record_refuses(
        "{'type':'sample','target':{'combined':{}},'processes':[{'pid':1,'cpu_seconds':1,"
        "'lower_bound':{'cpu_seconds':1}}]}");
    record_refuses("{'type':'process','pid':1,'cpu_seconds':1,'lower_bound':{'cpu_seconds':1}}");
}

/* ---- read things ---------------------------------------------------------------------------- */

static struct scan word(const char *text)
{
    return scan_string(text);
}

static void test_read_things_kinds(void **state)
{
    struct scan disks = word("disks"), none = word("dreams");
    assert_int_equal(read_instances_kind(&disks), ENTITY_DISK);
    assert_int_equal(read_instances_kind(&none), -1);
}

/* One thing is one in all samples; another label makes another. */
static void test_read_things_the_same_again(void **state)
{
    struct record r;
    record_begin(&r, RUN_LINE
                 "{'type':'sample','tick':0,'disks':[{'name':'sda','class':'ssd','read_bytes':1},"
                 "{'name':'sdb','class':'ssd','read_bytes':2}]}\n"
                 "{'type':'sample','tick':1,'disks':[{'name':'sdb','class':'ssd','read_bytes':3},"
                 "{'name':'sda','class':'disk','read_bytes':4}]}\n");
    record_next(&r, RECORD_RUN);
    const struct frame *f = record_next(&r, RECORD_FRAME)->frame;
    assert_int_equal(f->machine_count, 2);
    const struct instance *a = f->machine[0], *b = f->machine[1];
    f = record_next(&r, RECORD_FRAME)->frame;
    assert_int_equal(f->machine_count, 2);
    assert_ptr_equal(f->machine[0], b);
    assert_ptr_not_equal(f->machine[1], a);
    assert_string_equal(entity_name(&f->machine[1]->entity), "sda");
    record_end(&r);
}

/* ---- reading -------------------------------------------------------------------------------- */

static struct json_in *json(const char *text)
{
    static struct json_in j;
    json_in_done(&j);
    j = (struct json_in){0};
    json_in_begin(&j, text, strlen(text));
    return &j;
}

static void test_reading_values(void **state)
{
    uint64_t u = 5;
    double d = 5;
    assert_true(read_u64(json("7"), &u) && u == 7);
    assert_true(read_u64(json("null"), &u) && u == 7); /* it stays */
    assert_false(read_u64(json("-7"), &u));
    assert_true(read_double(json("-2.5e3"), &d) && d == -2500);
    assert_true(read_utc(json("\"1970-01-01T00:00:01.500Z\""), &u) && u == 1500000000);
    assert_false(read_utc(json("\"1970-01-01\""), &u));
    json("");
}

/* The types of keys, with what each of them refuses. */
static void test_reading_keys(void **state)
{
    static const struct {
        enum record_object object;
        const char *text;
        bool is_good;
    } cases[] = {
        {RECORD_OBJECT_moment, "{\"elapsed_seconds\":1.5}", true},
        {RECORD_OBJECT_moment, "{\"elapsed_seconds\":null}", true},
        {RECORD_OBJECT_moment, "{\"elapsed_seconds\":-1}", false},
        {RECORD_OBJECT_moment, "{\"elapsed_seconds\":\"1\"}", false},
        {RECORD_OBJECT_mark, "{\"pid\":123,\"name\":\"a\"}", true},
        {RECORD_OBJECT_mark, "{\"pid\":2147483648}", false},
        {RECORD_OBJECT_mark, "{\"name\":null}", false},
        {RECORD_OBJECT_gauge, "{\"value\":-2.5e3}", true},
        {RECORD_OBJECT_gauge, "{\"value\":1e999}", false},
        {RECORD_OBJECT_phase, "{\"of\":\"target\",\"ended\":false,\"looks\":3}", true},
        {RECORD_OBJECT_phase, "{\"of\":\"all\"}", false},
        {RECORD_OBJECT_phase, "{\"of\":3}", false},
        {RECORD_OBJECT_phase, "{\"ended\":null}", false},
        {RECORD_OBJECT_phase, "{\"looks\":1.5e99}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reading r = {0};
        struct record_mark m = {0};
        json_in_begin(&r.json, cases[i].text, strlen(cases[i].text));
        if (record_read_object(&r, cases[i].object, &m) != cases[i].is_good)
            fail_msg("%s", cases[i].text);
        json_in_done(&r.json);
        arena_done(&r.kept);
    }
}

/* A key has a struct of its own, is in the table once, and those of SQLite have room there. */
static void test_reading_table(void **state)
{
    for (unsigned object = 0; object < RECORD_OBJECTS; object++) {
        unsigned count;
        const struct record_key *k = record_keys(object, &count);
        assert_true(count > 0);
        for (unsigned i = 0; i < count; i++) {
            assert_int_equal(k[i].object, object);
            assert_true((k[i].type >= RECORD_SPECIAL) == (k[i].special != NULL));
            assert_true((k[i].type == RECORD_WORD) == (k[i].words != NULL));
            assert_true(i < 16 || !*k[i].column);
            for (unsigned other = 0; other < i; other++)
                assert_string_not_equal(k[i].key, k[other].key);
        }
    }
}

static void test_reading_what_is_skipped(void **state)
{
    struct reading r = {0};
    struct scan first = scan_string("first"), second = scan_string("second");
    json_in_begin(&r.json, "[[1,2],{}]", 10);
    json_in_array(&r.json);
    assert_true(json_in_item(&r.json));
    reading_skip(&r, &first);
    assert_true(json_in_item(&r.json));
    reading_skip(&r, &second);
    assert_string_equal(r.unknown, "first");
    assert_string_equal(reading_keep(&r, scan_text("abc", 2)), "ab");
    json_in_done(&r.json);
    arena_done(&r.kept);
}

/* ---- being written -------------------------------------------------------------------------- */

static void test_being_written_lines(void **state)
{
    struct tree t;
    char path[512];
    int ends[2];
    tree_make(&t);
    tree_write(&t, "run.jsonl", "{}\n");
    tree_path(&t, path, "run.jsonl");
    int fd = open(path, O_RDONLY | O_CLOEXEC), writer = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(being_written_lines(fd), WRITER_GONE);
    assert_int_equal(flock(writer, LOCK_EX), 0);
    assert_int_equal(being_written_lines(fd), WRITER_THERE);
    close(writer);
    assert_int_equal(being_written_lines(fd), WRITER_GONE);
    close(fd);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(being_written_lines(ends[0]), WRITER_GONE);
    close(ends[0]);
    close(ends[1]);
    tree_remove(&t);
}

static void test_being_written_tables(void **state)
{
    struct tree t;
    struct run run = {.own_pid = getpid()};
    struct utsname u;
    char path[512];
    tree_make(&t);
    tree_write(&t, "runs.db", "");
    tree_path(&t, path, "runs.db");
    assert_int_equal(uname(&u), 0);
    snprintf(run.host, sizeof run.host, "%s", u.nodename);
    assert_int_equal(being_written_tables(path, &run), WRITER_GONE); /* it has it not open */
    int fd = open(path, O_PATH | O_CLOEXEC);
    assert_int_equal(being_written_tables(path, &run), WRITER_THERE);
    run.own_pid = INT_MAX; /* there is no such process */
    assert_int_equal(being_written_tables(path, &run), WRITER_GONE);
    run.own_pid = 0;
    assert_int_equal(being_written_tables(path, &run), WRITER_UNKNOWN);
    run.own_pid = getpid();
    snprintf(run.host, sizeof run.host, "another machine");
    assert_int_equal(being_written_tables(path, &run), WRITER_UNKNOWN);
    close(fd);
    tree_remove(&t);
}

/* ---- no summary ----------------------------------------------------------------------------- */

static const char *make(enum writer writer, bool is_sqlite, struct toll_end *ret)
{
    struct reading r = {.has_frame = true, .frame = {.elapsed_ns = 5}};
    assert_int_equal(summary_init(&r.summary, &r.run), 0);
    const char *sentence = no_summary_make(&r, writer, is_sqlite);
    assert_int_equal(r.summary.elapsed_ns, 5);
    assert_int_equal(r.summary.note_count, 1);
    assert_string_equal(r.summary.notes[0], sentence);
    *ret = r.summary.whole.end;
    summary_done(&r.summary);
    return sentence;
}

static void test_no_summary_sentences(void **state)
{
    struct toll_end end;
    assert_non_null(strstr(make(WRITER_THERE, false, &end), "still being measured"));
    assert_true(!end.ended && !end.unknown);
    assert_non_null(strstr(make(WRITER_THERE, true, &end), "still being measured"));
    assert_true(!end.ended && !end.unknown);
    assert_non_null(strstr(make(WRITER_GONE, false, &end), "before the run did"));
    assert_true(!end.ended && end.unknown);
    assert_non_null(strstr(make(WRITER_GONE, true, &end), "has ended"));
    assert_true(!end.ended && end.unknown);
    assert_non_null(strstr(make(WRITER_UNKNOWN, true, &end), "may still be going on"));
    assert_true(!end.ended && end.unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record_reader_several_runs),
        cmocka_unit_test(test_record_reader_half_a_line),
        cmocka_unit_test(test_record_reader_narrow),
        cmocka_unit_test(test_record_reader_no_records),
        cmocka_unit_test(test_record_reader_no_file),
        cmocka_unit_test(test_read_run_facts),
        cmocka_unit_test(test_read_run_secrets),
        cmocka_unit_test(test_read_run_what_is_null),
        cmocka_unit_test(test_read_run_what_is_wrong),
        cmocka_unit_test(test_read_sample_figures),
        cmocka_unit_test(test_read_sample_what_is_wrong),
        cmocka_unit_test(test_read_sample_what_is_not_known),
        cmocka_unit_test(test_read_process_one_that_left),
        cmocka_unit_test(test_read_process_one_whose_end_nobody_knows),
        cmocka_unit_test(test_read_process_in_a_sample),
        cmocka_unit_test(test_read_process_what_is_wrong),
        cmocka_unit_test(test_read_series_a_counter_and_a_gauge),
        cmocka_unit_test(test_read_series_what_is_wrong),
        cmocka_unit_test(test_read_summary_the_whole),
        cmocka_unit_test(test_read_summary_none),
        cmocka_unit_test(test_read_summary_programs),
        cmocka_unit_test(test_read_summary_what_is_wrong),
        cmocka_unit_test(test_read_marks_a_phase),
        cmocka_unit_test(test_read_marks_events_gauges_and_notes),
        cmocka_unit_test(test_read_marks_what_is_wrong),
        cmocka_unit_test(test_read_outputs_all_of_it),
        cmocka_unit_test(test_read_outputs_an_older_one),
        cmocka_unit_test(test_read_outputs_what_is_wrong),
        cmocka_unit_test(test_read_row_in_any_order),
        cmocka_unit_test(test_read_row_finding),
        cmocka_unit_test(test_read_row_values),
        cmocka_unit_test(test_read_row_lower_bounds),
        cmocka_unit_test(test_read_row_lower_bounds_that_are_none),
        cmocka_unit_test(test_read_things_kinds),
        cmocka_unit_test(test_read_things_the_same_again),
        cmocka_unit_test(test_reading_values),
        cmocka_unit_test(test_reading_keys),
        cmocka_unit_test(test_reading_table),
        cmocka_unit_test(test_reading_what_is_skipped),
        cmocka_unit_test(test_being_written_lines),
        cmocka_unit_test(test_being_written_tables),
        cmocka_unit_test(test_no_summary_sentences),
    };
    return RUN("record/read", tests);
}
