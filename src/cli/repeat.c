/* SPDX-License-Identifier: MIT
 * toll run --runs N: a command that is run several times, and with several parameters.
 *
 * Each run is a session of its own, with a tracker and outputs that are made for it: nothing of a
 * run is left for the next, but the file of a record, to which it is added. Signals are held from
 * the first run to the last. */
#include "base/io/output_file.h"
#include "base/memory.h"
#include "base/process.h"
#include "cli/session.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { COMBINATIONS_AT_MOST = 10000, READER_WAIT_MS = 60000 };

/* A name in braces, and what takes its place. */
struct repeat_parameter {
    char *name;    /* owned */
    char **values; /* owned, NULL-terminated */
    size_t count;
    size_t chosen; /* for the runs of now */
};

/* A file that gets the result of all runs. */
struct repeat_result {
    struct toll_output like;
    const char *path;        /* borrowed from the settings; NULL: like.fd */
    struct replacement file; /* opened before the first run: a bad path is reported then */
};

struct repeat {
    struct session *session;
    struct signals signals;
    struct rlimit files; /* open files, as the command has to find them */
    struct repeat_parameter *parameters;
    size_t parameter_count, combinations;
    const char **outputs; /* owned: those that each run writes, as they were given */
    bool *is_record;      /* owned, of each: later runs are added to the file of the first */
    size_t output_count;
    struct repeat_result *results; /* owned */
    size_t result_count;
    struct toll_repeats *runs;
    uint64_t number;   /* of the run, over all combinations */
    uint64_t recorded; /* runs that wrote their outputs */
    int status;        /* of the first run that failed, or 0 */
    bool interrupted;  /* by Ctrl-C, which ended a run */
    bool is_over;      /* no run follows */
    uint64_t counted;  /* runs of this combination that are in the result */
    uint64_t added;    /* the same of all combinations */
    char **judged;     /* owned: what --fail-if has found, for the end */
    int gate_status;   /* 1: a condition holds */
};

/* ==== Parameters ============================================================================== */

static int repeat_take_parameters(struct repeat *r, struct toll_error *e)
{
    const char **given = r->session->settings.repeat.parameters;
    size_t count = 0;
    while (given && given[count])
        count++;
    r->combinations = 1;
    r->parameters = calloc(count + 1, sizeof *r->parameters);
    if (!r->parameters)
        return err_set(e, -ENOMEM, "--parameter: out of memory");
    for (; r->parameter_count < count; r->parameter_count++) {
        struct repeat_parameter *p = &r->parameters[r->parameter_count];
        const char *text = given[r->parameter_count];
        size_t length = strcspn(text, "=");
        p->name = strndup(text, length);
        for (const char *from = text + length + 1; from;) {
            size_t one = strcspn(from, ",");
            char *value = strndup(from, one);
            if (!p->name || !value || !list_append(&p->values, value)) {
                free(value);
                r->parameter_count++; /* what there is of it is freed at the end */
                return err_set(e, -ENOMEM, "--parameter: out of memory");
            }
            p->count++;
            from = from[one] ? from + one + 1 : NULL;
        }
        r->combinations *= p->count;
        if (r->combinations > COMBINATIONS_AT_MOST) {
            r->parameter_count++;
            return err_set(e, -EINVAL, "--parameter: too many combinations (expected up to %d)",
                           COMBINATIONS_AT_MOST);
        }
    }
    return 0;
}

/* The last parameter changes first. */
static void repeat_choose(struct repeat *r, size_t combination)
{
    for (size_t i = r->parameter_count; i-- > 0;) {
        struct repeat_parameter *p = &r->parameters[i];
        p->chosen = combination % p->count;
        combination /= p->count;
    }
}

/* Where a text has {name}, or NULL. */
static const char *find_place(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = text; (at = strchr(at, '{')); at++)
        if (strncmp(at + 1, name, length) == 0 && at[length + 1] == '}')
            return at;
    return NULL;
}

/* What takes the place of the text that begins with {, or NULL; *ret_length: of the name in
 * braces. numbers: also {run} and {repeat}. */
static const char *place_value(const struct repeat *r, const char *at, const char *const numbers[2],
                               size_t *ret_length)
{
    static const char *const names[2] = {"run", "repeat"};
    for (size_t i = 0; numbers && i < 2; i++) {
        *ret_length = strlen(names[i]) + 2;
        if (find_place(at, names[i]) == at)
            return numbers[i];
    }
    for (size_t i = 0; i < r->parameter_count; i++) {
        const struct repeat_parameter *p = &r->parameters[i];
        *ret_length = strlen(p->name) + 2;
        if (find_place(at, p->name) == at)
            return p->values[p->chosen];
    }
    return NULL;
}

/* The text with parameters in their places; the caller frees it. NULL without memory. */
static char *repeat_fill_in(const struct repeat *r, const char *text, const char *const numbers[2])
{
    struct buf b = {0};
    while (*text) {
        size_t length;
        const char *value = *text == '{' ? place_value(r, text, numbers, &length) : NULL;
        if (value) {
            buf_puts(&b, value);
            text += length;
        } else {
            buf_putc(&b, *text++);
        }
    }
    return buf_take(&b);
}

static void free_words(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

/* "threads=4" of each parameter, NULL-terminated; the caller frees it. */
static char **repeat_chosen(const struct repeat *r)
{
    char **words = calloc(r->parameter_count + 1, sizeof *words);
    for (size_t i = 0; words && i < r->parameter_count; i++) {
        const struct repeat_parameter *p = &r->parameters[i];
        if (asprintf(&words[i], "%s=%s", p->name, p->values[p->chosen]) < 0) {
            words[i] = NULL;
            free_words(words);
            return NULL;
        }
    }
    return words;
}

/* A parameter that changes nothing is a mistyped one. */
static int repeat_check_parameters(const struct repeat *r, char **command, struct toll_error *e)
{
    const char *prepare = r->session->settings.repeat.prepare;
    for (size_t i = 0; i < r->parameter_count; i++) {
        const char *name = r->parameters[i].name;
        bool is_used = prepare && find_place(prepare, name);
        for (char **word = command; *word && !is_used; word++)
            is_used = find_place(*word, name);
        if (!is_used)
            return err_set(e, -EINVAL,
                           "--parameter: no {%s} in the command (expected where the values of %s "
                           "go)",
                           name, name);
    }
    return 0;
}

/* ==== Outputs ================================================================================= */

/* Whether no two runs have the same name for it. */
static bool output_is_of_run(const struct repeat *r, const char *output)
{
    if (find_place(output, "run"))
        return true;
    if (r->session->settings.repeat.runs > 1 && !find_place(output, "repeat"))
        return false;
    bool has_any = find_place(output, "repeat");
    for (size_t i = 0; i < r->parameter_count; i++) {
        bool has_place = find_place(output, r->parameters[i].name);
        if (!has_place && r->parameters[i].count > 1)
            return false;
        has_any |= has_place;
    }
    return has_any;
}

static int repeat_add_result(struct repeat *r, struct toll_output like, const char *path,
                             struct toll_error *e)
{
    if (!ARRAY_GROW(r->results, r->result_count))
        return err_set(e, -ENOMEM, "cannot keep the outputs: out of memory");
    struct repeat_result *result = &r->results[r->result_count];
    *result = (struct repeat_result){.like = like, .path = path, .file = REPLACEMENT_CLOSED};
    int ret = path ? replacement_open(&result->file, path, REPLACEMENT_IN_PLACE, e) : 0;
    if (ret == 0)
        r->result_count++;
    return ret;
}

/* An output is of each run, or of all of them together. */
static int repeat_sort_output(struct repeat *r, const char *output, struct toll_error *e)
{
    struct settings *set = &r->session->settings;
    CLEANUP_FREE char *layout = output_layout(output);
    const char *path, *format = output_format(set, output, &path);
    bool has_layout = layout || (format && layout_has(set, format));
    bool is_of_run = output_is_of_run(r, output);
    if (strcmp(path, "-") == 0)
        return err_set(e, -EINVAL, "stdout belongs to the command (expected a file name)");
    if (!is_of_run && format && !has_layout &&
        option_choose("json text markdown hyperfine", format) >= 0) {
        struct toll_output like = {.size = sizeof like, .format = format};
        like.flags = output_flags(set);
        return repeat_add_result(r, like, path, e);
    }
    bool is_record = format && !has_layout && option_choose("jsonl", format) >= 0;
    bool is_for_many = is_record || !format ||
                       option_choose("sqlite mlflow otlp prometheus pushgateway", format) >= 0;
    if (!is_of_run && (!is_for_many || has_layout))
        return err_set(
            e, -EINVAL,
            "cannot write several runs to '%s' (expected {run} in its name for one file per run, "
            ".jsonl or .sqlite for all runs, or .json, .txt, .md for the result)",
            output);
    if (!list_append(&r->outputs, output) || !ARRAY_GROW(r->is_record, r->output_count))
        return err_set(e, -ENOMEM, "cannot keep the outputs: out of memory");
    r->is_record[r->output_count++] = is_record && !is_of_run;
    return 0;
}

static int repeat_sort_outputs(struct repeat *r, struct toll_error *e)
{
    const struct session *s = r->session;
    for (const char **output = s->settings.outputs; output && *output; output++) {
        int ret = repeat_sort_output(r, *output, e);
        if (ret == -EINVAL && !option_is_on_command_line(&s->settings, "output"))
            complain("%s; output skipped", e->message); /* a default that is for single runs */
        else if (ret < 0)
            return err_wrap(e, ret, "--output");
    }
    struct toll_output summary;
    int ret = session_summary_output(s, &summary, e);
    return ret > 0 ? repeat_add_result(r, summary, summary.destination, e) : ret;
}

/* Writes the results that there are. */
static void repeat_write_results(struct repeat *r)
{
    for (size_t i = 0; i < r->result_count; i++) {
        struct repeat_result *result = &r->results[i];
        struct toll_error e = {0};
        CLEANUP_FREE char *text = NULL;
        int ret = toll_repeats_text(r->runs, &result->like, &text, &e);
        if (ret == 0) {
            struct stream out;
            bool is_file = result->file.fd >= 0;
            stream_open(&out, is_file ? result->file.fd : result->like.fd);
            ret = stream_write_patiently(&out, text, strlen(text), READER_WAIT_MS);
            stream_close(&out);
            if (ret == 0 && is_file)
                ret = replacement_commit(&result->file);
            if (ret < 0)
                err_set(&e, ret, "cannot write the result%s%s%s: %s", is_file ? " to '" : "",
                        is_file ? result->path : "", is_file ? "'" : "",
                        ret == -EAGAIN ? "destination too slow" : strerror(-ret));
        }
        if (ret < 0)
            complain_error(NULL, &e);
    }
}

/* ==== One run ================================================================================= */

/* Between two runs: whether a signal wants no more of them. */
static bool repeat_is_ended(struct repeat *r)
{
    signals_forward_to(&r->signals, 0);
    r->is_over |= r->signals.ended_by != 0;
    return r->is_over;
}

static _Noreturn void become_shell(const struct repeat *r, const char *command)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDIN_FILENO); /* what the job reads is the job's */
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (r->signals.ignore_sigchld)
        signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &r->signals.mask, NULL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(EXIT_NOT_FOUND);
}

/* "SIGINT"; a number where there is no name. */
static const char *repeat_signal_text(int number, char *ret, size_t size)
{
    const char *name = signal_name(number);
    if (name)
        snprintf(ret, size, "SIG%s", name);
    else
        snprintf(ret, size, "signal %d", number);
    return ret;
}

/* --prepare: 0, or -1 after a sentence. */
static int repeat_prepare(struct repeat *r)
{
    const char *given = r->session->settings.repeat.prepare;
    if (!given)
        return 0;
    CLEANUP_FREE char *command = repeat_fill_in(r, given, NULL);
    pid_t pid = command ? fork() : -1;
    if (pid == 0)
        become_shell(r, command);
    if (pid < 0) {
        complain("--prepare: cannot start a shell: %s", strerror(command ? errno : ENOMEM));
        return -1;
    }
    char signal[16];
    int status = 0;
    pid_t found;
    while ((found = waitpid(pid, &status, WNOHANG)) == 0 || (found < 0 && errno == EINTR)) {
        struct pollfd fd = {.fd = r->signals.fd, .events = POLLIN};
        poll(&fd, 1, 1000);
        signals_forward_to(&r->signals, pid);
    }
    if (r->signals.ended_by) {
        r->is_over = true;
        return -1; /* the signal has ended it */
    }
    if (found == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (found == pid && WIFSIGNALED(status))
        complain("--prepare: '%s' was killed by %s (expected exit 0)", command,
                 repeat_signal_text(WTERMSIG(status), signal, sizeof signal));
    else
        complain("--prepare: '%s' failed: exit %d (expected exit 0)", command, WEXITSTATUS(status));
    return -1;
}

/* "run 3 of 10", with the parameters if there are any. */
static void put_run_name(const struct repeat *r, struct buf *b, uint64_t repeat, bool is_warmup)
{
    uint64_t of = is_warmup ? r->session->settings.repeat.warmup : r->session->settings.repeat.runs;
    for (size_t i = 0; i < r->parameter_count; i++)
        buf_printf(b, "%s=%s, ", r->parameters[i].name,
                   r->parameters[i].values[r->parameters[i].chosen]);
    buf_printf(b, "%s %llu of %llu", is_warmup ? "warm-up run" : "run", (unsigned long long)repeat,
               (unsigned long long)of);
}

/* A line for each run, for a person who waits. */
static void repeat_print_progress(const struct repeat *r, uint64_t repeat)
{
    struct toll_summary sum = TOLL_INIT(toll_summary);
    struct toll_output terminal = {.fd = STDERR_FILENO};
    char time[64], memory[64];
    struct buf b = {0};
    if (r->session->settings.quiet || !isatty(STDERR_FILENO) ||
        toll_tracker_summary(r->session->tracker, &sum) < 0)
        return;
    terminal_describe(&terminal, COLOR_NEVER);
    put_run_name(r, &b, repeat, false);
    toll_number_text(sum.wall_seconds, "seconds", time, sizeof time);
    buf_printf(&b, ": %s", time);
    if (!isnan(sum.memory_peak_bytes)) {
        bool is_least = sum.memory_quality == TOLL_QUALITY_LOWER_BOUND;
        const char *sign = terminal.flags & TOLL_OUTPUT_ASCII ? ">= " : "≥ ";
        toll_number_text(sum.memory_peak_bytes, "bytes", memory, sizeof memory);
        buf_printf(&b, ", %s%s", is_least ? sign : "", memory);
    }
    if (!buf_failed(&b))
        complain("%s", b.data);
    buf_done(&b);
}

static void repeat_print_failure(const struct repeat *r, const struct outcome *outcome,
                                 uint64_t repeat, bool is_warmup)
{
    bool is_ignored = r->session->settings.repeat.ignore_failure && !r->signals.ended_by;
    struct buf b = {0};
    char signal[16];
    if (r->session->settings.quiet || (is_ignored && !isatty(STDERR_FILENO)))
        return; /* the result has their number */
    put_run_name(r, &b, repeat, is_warmup);
    if (outcome->end.signaled)
        buf_printf(&b, " was killed by %s",
                   repeat_signal_text(outcome->end.status, signal, sizeof signal));
    else if (outcome->end.unknown)
        buf_puts(&b, " failed: exit status unknown");
    else
        buf_printf(&b, " failed: exit %d", outcome->end.status);
    if (!is_ignored && !r->signals.ended_by)
        buf_puts(&b, "; stopped (--ignore-failure continues)");
    if (!buf_failed(&b))
        complain("%s", b.data);
    buf_done(&b);
}

/* The outputs and labels of this run take the place of those of the settings. False without
 * memory. */
static bool repeat_set_up(const struct repeat *r, uint64_t repeat, char ***ret_outputs,
                          char ***ret_labels)
{
    const struct settings *set = &r->session->settings;
    char run[24], nth[24], label[40];
    snprintf(run, sizeof run, "%llu", (unsigned long long)r->number);
    snprintf(nth, sizeof nth, "%llu", (unsigned long long)repeat);
    snprintf(label, sizeof label, "repeat=%s", nth);
    char **outputs = calloc(r->output_count + 1, sizeof *outputs), **labels = NULL;
    bool is_done = outputs != NULL;
    for (size_t i = 0; is_done && i < r->output_count; i++) {
        outputs[i] = repeat_fill_in(r, r->outputs[i], (const char *const[2]){run, nth});
        is_done = outputs[i] != NULL;
    }
    CLEANUP_FREE char **chosen = repeat_chosen(r);
    is_done = is_done && chosen;
    for (const char **given = set->labels; is_done && given && *given; given++) {
        char *copy = strdup(*given);
        is_done = copy && list_append(&labels, copy);
    }
    char *copy = strdup(label);
    is_done = is_done && copy && list_append(&labels, copy);
    for (char **word = chosen; word && *word; word++)
        is_done = is_done && list_append(&labels, *word);
    *ret_outputs = outputs;
    *ret_labels = labels;
    return is_done;
}

/* A run from its preparation to its end. False: no other follows. */
static bool repeat_run(struct repeat *r, char **command, uint64_t repeat, bool is_warmup)
{
    struct session *s = r->session;
    struct settings *set = &s->settings;
    struct settings kept = *set;
    struct outcome outcome = {0};
    struct toll_error e = {0};
    char **outputs = NULL, **labels = NULL;
    CLEANUP_FREE bool *appends = calloc(r->output_count + 1, sizeof *appends);
    if (repeat_is_ended(r))
        return false;
    if (repeat_prepare(r) < 0) {
        r->status = r->status ? r->status : r->is_over ? 0 : EXIT_TOLL;
        return false;
    }
    r->number += !is_warmup;
    int ret = repeat_set_up(r, repeat, &outputs, &labels) && appends
                  ? 0
                  : err_set(&e, -ENOMEM, "cannot start a run: out of memory");
    for (size_t i = 0; appends && i < r->output_count; i++)
        appends[i] = r->is_record[i] && r->recorded;
    set->outputs = is_warmup ? NULL : (void *)outputs;
    set->tracker.labels = (const char *const *)labels;
    set->summary = SUMMARY_NONE; /* that of all runs comes at the end */
    set->quiet |= is_warmup;
    s->appends = appends;
    if (ret == 0)
        ret = session_start(s, &e);
    if (ret == 0)
        run_command_held(s, &r->signals, command, &outcome);
    set->quiet = kept.quiet;
    if (ret < 0 || (!outcome.has_run && outcome.error.message[0]))
        complain_error(NULL, ret < 0 ? &e : &outcome.error);
    bool has_failed = !outcome.has_run || outcome.status != 0;
    bool is_continued = outcome.has_run && !r->signals.ended_by &&
                        (!has_failed || set->repeat.ignore_failure);
    r->recorded += !is_warmup && outcome.is_measured;
    if (has_failed && !r->status)
        r->status = ret < 0 ? EXIT_TOLL : outcome.status;
    if (outcome.is_measured && !is_warmup && (!has_failed || is_continued)) {
        char **chosen = repeat_chosen(r);
        if (!chosen)
            err_set(&e, -ENOMEM, "cannot keep the run: out of memory");
        if (!chosen || toll_repeats_add(r->runs, s->tracker, (const char *const *)chosen, &e) < 0)
            complain_error(NULL, &e);
        else
            r->added++;
        free_words(chosen);
        if (s->gate)
            toll_gate_add(s->gate, s->tracker);
        r->counted++;
        repeat_print_progress(r, repeat);
    }
    if (has_failed && outcome.has_run)
        repeat_print_failure(r, &outcome, repeat, is_warmup);
    r->interrupted |= outcome.interrupted;
    session_stop(s);
    s->appends = NULL;
    set->outputs = kept.outputs;
    set->tracker.labels = kept.tracker.labels;
    set->summary = kept.summary;
    free_words(outputs);
    free_words(labels);
    /* What this run has changed for the next one. */
    signals_hold_again(&r->signals);
    setrlimit(RLIMIT_NOFILE, &r->files);
    return is_continued && !repeat_is_ended(r);
}

/* All runs with the parameters that are chosen. False: it ends here. */
static bool repeat_run_all(struct repeat *r, char **words)
{
    const struct settings *set = &r->session->settings;
    size_t count = 0;
    while (words[count])
        count++;
    char **command = calloc(count + 1, sizeof *command);
    bool goes_on = command != NULL;
    for (size_t i = 0; goes_on && i < count; i++) {
        command[i] = repeat_fill_in(r, words[i], NULL);
        goes_on = command[i] != NULL;
    }
    if (!goes_on)
        r->status = complain("cannot start a run: out of memory");
    for (uint64_t i = 1; goes_on && i <= set->repeat.warmup; i++)
        goes_on = repeat_run(r, command, i, true);
    for (uint64_t i = 1; goes_on && i <= set->repeat.runs; i++)
        goes_on = repeat_run(r, command, i, false);
    free_words(command);
    if (r->counted) { /* each combination by its own mean */
        struct buf name = {0};
        for (size_t i = 0; i < r->parameter_count; i++)
            buf_printf(&name, "%s%s=%s", i ? ", " : "", r->parameters[i].name,
                       r->parameters[i].values[r->parameters[i].chosen]);
        CLEANUP_FREE char *group = buf_take(&name);
        r->gate_status = session_judge_group(r->session, group ? group : "", r->gate_status,
                                             &r->judged);
    }
    r->counted = 0;
    return goes_on;
}

static void repeat_done(struct repeat *r)
{
    for (size_t i = 0; i < r->parameter_count; i++) {
        free(r->parameters[i].name);
        free_words(r->parameters[i].values);
    }
    free(r->parameters);
    for (size_t i = 0; i < r->result_count; i++)
        replacement_close(&r->results[i].file);
    free(r->results);
    free(r->outputs);
    free(r->is_record);
    free_words(r->judged);
    toll_repeats_free(r->runs);
}

int repeat_command(struct session *s, char **command, bool *ret_interrupted)
{
    struct repeat r = {
        .session = s,
        .signals = {.fd = -1, .come_to_group = s->settings.signals_come_to_group},
    };
    struct toll_error e = {0};
    if (!s->settings.repeat.runs)
        s->settings.repeat.runs = 1;
    int ret = repeat_take_parameters(&r, &e);
    if (ret == 0)
        ret = repeat_check_parameters(&r, command, &e);
    if (ret == 0)
        ret = toll_repeats_new(&r.runs, &e);
    if (ret == 0)
        ret = repeat_sort_outputs(&r, &e);
    if (ret == 0 && getrlimit(RLIMIT_NOFILE, &r.files) < 0)
        ret = err_set(&e, -errno, "cannot read the limit of open files: %s", strerror(errno));
    if (ret == 0 && (ret = signals_open(&r.signals)) < 0)
        err_set(&e, ret, "cannot watch for signals: %s", strerror(-ret));
    if (ret < 0) {
        repeat_done(&r);
        return complain_error(NULL, &e);
    }
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < r.combinations; i++) {
        repeat_choose(&r, i);
        goes_on = repeat_run_all(&r, command);
    }
    if (r.added) /* otherwise the result of an earlier command stays */
        repeat_write_results(&r);
    for (char **sentence = r.judged; sentence && *sentence; sentence++)
        complain("%s", *sentence);
    bool is_signal = r.signals.ended_by && !r.status;
    int status = is_signal ? EXIT_SIGNAL + r.signals.ended_by : r.status ? r.status : r.gate_status;
    *ret_interrupted = r.interrupted || (is_signal && r.signals.interrupted);
    close(r.signals.fd);
    repeat_done(&r);
    return status;
}
