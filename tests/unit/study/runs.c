/* SPDX-License-Identifier: MIT
 * Runs as studies read them: of records of lines and of SQLite, of directories, and of files that
 * are damaged. */
#include "scratch.h"
#include "sqlite_record.h"
#include "study/study.h"

#include <sys/stat.h>

/* Strings of the lines are in ' for the sake of C. */
static const char *write_record(const char *name, const char *lines)
{
    char *text = strdup(lines);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    const char *path = scratch_write(name, text);
    free(text);
    return path;
}

#define A_RUN(id, name, start)                                                                     \
    "{'type':'run','schema':'toll.record/1','id':'01a1ed27-6fe0-7f3e-ac1a-30f2193ce9" id           \
    "','name':'" name "','command':['" name "'],'labels':{'team':'blue'},'cpus':4,'start':"        \
    "'2026-11-18T0" start ":00:00.000Z'}\n"

#define SAMPLE(tick, rss, gpu)                                                                     \
    "{'type':'sample','tick':" tick ",'elapsed_seconds':" tick                                     \
    ",'interval_seconds':1,'target':{'combined':{'memory_rss_bytes':" rss                          \
    "}},'gpus':[{'name':'nvidia0','utilization_ratio':" gpu ",'memory_used_bytes':500}]}\n"

#define SUMMARY                                                                                    \
    "{'type':'summary','schema':'toll.summary/1','wall_seconds':3,'end':{'status':'exited','code'" \
    ":0},'target':{'combined':{'cpu_seconds':{'total':1.5,'quality':'exact','from':'wait4'},"      \
    "'cpu_cores':{'mean':0.5,'min':0.1,'max':2,'p50':0.5,'p90':1.5,'p99':2,'quality':'sampled',"   \
    "'from':'samples'},'memory_rss_bytes':{'mean':200,'min':100,'max':5000000,'quality':"          \
    "'sampled','from':'samples'},'io_read_bytes':{'total':0,'quality':'lower bound','from':"       \
    "'samples'}}},'limits':{'cpus':{'value':1.5,'unlimited':false,'by':'cpu quota'},"              \
    "'memory_bytes':{'value':9000,'unlimited':false,'by':'memory limit','reached':'OOM "           \
    "killer'}}}\n"

static void add(struct study_runs *runs, const char *path, const struct study_filter *filter)
{
    struct toll_error e = {0};
    int r = study_add(runs, path, filter, NULL, NULL, NULL, &e);
    assert_string_equal(e.message, "");
    assert_int_equal(r, 0);
}

static void assert_value(const struct study_run *r, enum study_figure f, double value,
                         enum quality quality)
{
    if (r->figures[f].value != value)
        fail_msg("%s: %g, not %g", study_figures[f].key, r->figures[f].value, value);
    assert_int_equal(r->figures[f].quality, quality);
}

static void figures_limits_and_samples_of_a_record(void **state)
{
    struct study_runs runs = {0};
    add(&runs,
        write_record("a.jsonl",
                     A_RUN("aa", "train", "5") SAMPLE("0", "100", "0.5") SAMPLE("1", "400", "0.04")
                         SAMPLE("2", "350", "0.9") SAMPLE("3", "500", "0.05") SUMMARY),
        NULL);
    assert_int_equal(runs.count, 1);
    assert_int_equal(runs.seen, 1);
    assert_int_equal(runs.records, 1);
    const struct study_run *r = &runs.items[0];
    assert_string_equal(r->name, "train");
    assert_string_equal(r->labels[0], "team=blue");
    assert_int_equal(r->samples, 4);
    assert_false(r->cut_short);
    assert_true(r->has_target && r->end.ended);
    assert_value(r, FIGURE_WALL, 3, QUALITY_EXACT);
    assert_value(r, FIGURE_CPU, 1.5, QUALITY_EXACT); /* a total without a rate */
    double p90 = r->figures[FIGURE_CORES_P90].value; /* known to 1 part in 64 */
    assert_true(p90 > 1.5 - 1.5 / 64 && p90 < 1.5 + 1.5 / 64);
    assert_value(r, FIGURE_CORES_MEAN, 0.5, QUALITY_SAMPLED);
    assert_value(r, FIGURE_MEMORY_PEAK, 5000000, QUALITY_SAMPLED);
    assert_value(r, FIGURE_IO_READ, 0, QUALITY_UNKNOWN); /* at least nothing */
    assert_value(r, FIGURE_STORAGE_READ, 0, QUALITY_UNKNOWN);
    assert_true(r->cores_allowed == 1.5 && r->cpus == 4);
    assert_true(r->memory_limit == 9000 && r->memory_limit_hit);
    assert_true(r->memory_rise == 300);
    assert_int_equal(r->gpu_count, 1);
    assert_string_equal(r->gpus[0].name, "nvidia0");
    assert_true(r->gpus[0].memory_peak_bytes == 500);
    assert_true(r->gpus[0].known_seconds == 4 && r->gpus[0].busy_share == 0.5);
    study_runs_done(&runs);
}

static void a_record_without_an_end(void **state)
{
    struct study_runs runs = {0};
    const char *path = write_record("a.jsonl", A_RUN("aa", "train", "5") SAMPLE("0", "100", "0.5")
                                                   SAMPLE("1", "200", "0.5") "{'type':'samp");
    add(&runs, path, NULL);
    assert_int_equal(runs.count, 1);
    assert_true(runs.items[0].cut_short);
    assert_value(&runs.items[0], FIGURE_WALL, 1, QUALITY_LOWER_BOUND);
    study_runs_done(&runs);
    add(&runs, write_record("b.jsonl", A_RUN("bb", "train", "5")), NULL);
    assert_value(&runs.items[0], FIGURE_WALL, 0, QUALITY_UNKNOWN);
    study_runs_done(&runs);
    add(&runs, path, &(struct study_filter){.only_finished = true});
    assert_int_equal(runs.count, 0);
    assert_int_equal(runs.seen, 1);
    study_runs_done(&runs);
}

static void a_sqlite_file(void **state)
{
    struct study_runs runs = {0};
    struct sample s;
    add(&runs, sqlite_record_make(&s, true), NULL);
    assert_int_equal(runs.count, 1);
    assert_string_equal(runs.items[0].name, "job");
    assert_int_equal(runs.items[0].end.status, 3);
    assert_int_equal(runs.items[0].samples, 1);
    assert_value(&runs.items[0], FIGURE_WALL, 2, QUALITY_EXACT);
    study_runs_done(&runs);
    sample_remove(&s);
}

/* ---- Several records ------------------------------------------------------------------------- */

static void note_sentence(void *arg, const char *sentence)
{
    char *last = arg;
    strncpy(last, sentence, 511);
}

static void a_directory_and_its_copies(void **state)
{
    struct study_runs runs = {0};
    char said[512] = "";
    write_record("b.jsonl", A_RUN("bb", "late", "7") SUMMARY A_RUN("aa", "early", "5") SUMMARY);
    write_record("c.jsonl", A_RUN("aa", "early", "5") SUMMARY A_RUN("cc", "middle", "6") SUMMARY);
    write_record("data.jsonl", "{'text':'of another program'}\n");
    write_record("notes.txt", "nothing");
    write_record(".hidden.jsonl", A_RUN("dd", "hidden", "5") SUMMARY);
    assert_int_equal(mkfifo(scratch_path("pipe.jsonl"), 0600), 0);
    struct toll_error e = {0};
    assert_int_equal(study_add(&runs, scratch, NULL, NULL, note_sentence, said, &e), 0);
    assert_non_null(strstr(said, "data.jsonl"));
    assert_int_equal(runs.count, 3);
    assert_int_equal(runs.seen, 4);
    study_sort(&runs);
    assert_string_equal(runs.items[0].name, "early");
    assert_non_null(strstr(runs.items[0].path, "/b.jsonl")); /* the first copy */
    assert_string_equal(runs.items[1].name, "middle");
    assert_string_equal(runs.items[2].name, "late");
    add(&runs, scratch_path("c.jsonl"), NULL); /* nothing new */
    assert_int_equal(runs.count, 3);
    study_runs_done(&runs);
}

/* Before it or after it, the whole copy is the one that counts. */
static void a_whole_copy_replaces_one_that_was_cut_short(void **state)
{
    struct study_runs runs = {0};
    write_record("a.jsonl", A_RUN("aa", "train", "5") SAMPLE("0", "100", "0.5"));
    write_record("b.jsonl", A_RUN("bb", "other", "6") SUMMARY);
    write_record("c.jsonl", A_RUN("aa", "train", "5") SUMMARY);
    write_record("d.jsonl", A_RUN("aa", "train", "5") SAMPLE("0", "100", "0.5"));
    add(&runs, scratch, NULL);
    assert_int_equal(runs.count, 2);
    assert_int_equal(runs.seen, 4);
    study_sort(&runs);
    assert_string_equal(runs.items[0].name, "train");
    assert_non_null(strstr(runs.items[0].path, "/c.jsonl"));
    assert_false(runs.items[0].cut_short);
    assert_string_equal(runs.items[1].name, "other");
    study_runs_done(&runs);
}

static void filters(void **state)
{
    const char *blue[] = {"team=blue", "team", NULL}, *red[] = {"team=red", NULL};
    const struct {
        struct study_filter filter;
        size_t count;
    } cases[] = {
        {{0}, 2},
        {{.name = "tr*"}, 1},
        {{.name = "x"}, 0},
        {{.labels = blue}, 2},
        {{.labels = red}, 0},
        {{.id = "93ce9bb"}, 1},
        {{.number = 2}, 1},
        {{.since_ns = UINT64_C(1794985200) * NS_PER_SECOND}, 1}, /* 07:00 */
    };
    const char *path = write_record("a.jsonl", A_RUN("aa", "train", "5")
                                                   SUMMARY A_RUN("bb", "test", "7") SUMMARY);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct study_runs runs = {0};
        add(&runs, path, &cases[i].filter);
        if (runs.count != cases[i].count)
            fail_msg("case %zu: %zu runs", i, runs.count);
        study_runs_done(&runs);
    }
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static void refused(const char *path, int code)
{
    struct study_runs runs = {0};
    struct toll_error e = {0};
    assert_int_equal(study_add(&runs, path, NULL, NULL, NULL, NULL, &e), code);
    assert_true(e.message[0]);
    study_runs_done(&runs);
}

static void what_is_no_record_is_refused(void **state)
{
    refused(scratch_path("missing.jsonl"), -ENOENT);
    refused(scratch_path("missing/"), -ENOENT);
    refused(write_record("a.jsonl", "{'text':'of another program'}\n"), -EBADMSG);
    refused(write_record("a.jsonl", A_RUN("aa", "x", "5") "[1]\n" A_RUN("bb", "x", "5")), -EBADMSG);
    refused(write_record("a.jsonl",
                         A_RUN("aa", "x", "5") "{'type':'summary','schema':"
                                               "'toll.summary/1','wall_seconds':'long'}\n"),
            -EBADMSG);
}

/* Runs before the damage are kept. */
static void a_damaged_end_leaves_what_was_before(void **state)
{
    struct study_runs runs = {0};
    struct toll_error e = {0};
    const char *path = write_record("a.jsonl", A_RUN("aa", "train", "5") SUMMARY "{'type':3}\n");
    assert_int_equal(study_add(&runs, path, NULL, NULL, NULL, NULL, &e), -EBADMSG);
    assert_int_equal(runs.count, 1);
    study_runs_done(&runs);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)
    const struct CMUnitTest tests[] = {
        TEST(figures_limits_and_samples_of_a_record),
        TEST(a_record_without_an_end),
        TEST(a_directory_and_its_copies),
        TEST(a_whole_copy_replaces_one_that_was_cut_short),
        TEST(filters),
        TEST(what_is_no_record_is_refused),
        TEST(a_damaged_end_leaves_what_was_before),
        cmocka_unit_test(a_sqlite_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
