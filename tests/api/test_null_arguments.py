# SPDX-License-Identifier: MIT
"""Every function of toll.h and toll_compat.h is called with NULL in the place of each pointer, and by a tracker in
every state: none of it ends the program. The calls are made of the header, so that no function can
be forgotten."""

import os
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["TOLL_BUILD"]

pytestmark = pytest.mark.skipif(
    "TOLL_SANITIZED" in os.environ, reason="the program is built without sanitizers")

# Where toll.h says what NULL means, apart from `e`, which is NULL wherever the caller likes.
MEANS_SOMETHING = {
    ("toll_tracker_new", "options"),
    ("toll_compared_text", "output"),
    ("toll_tracker_launch", "launch"),
    ("toll_tracker_add_target", "target"),
    ("toll_tracker_finish", "ret_end"),
    ("toll_run_command", "options"),
    ("toll_measure_self", "options"),
    ("toll_send", "destination"),
    ("toll_send", "ret"),
    ("toll_mark_event", "attributes"),
    ("toll_frames_draw", "frames"),
    ("toll_frames_draw", "how"),
    ("toll_snapshot", "target"),
    ("toll_snapshot", "options"),
    ("toll_probe_new", "target"),
    ("toll_probe_new", "options"),
    ("toll_phases_analyze", "blocks"),
    ("toll_tracker_count_gpus", "gpus"),
    ("toll_tracker_keep_backup", "layout"),
    ("toll_phases_analyze", "format"),
    ("toll_diagnosis_new", "root"),
    ("toll_record_runs", "arg"),
    ("toll_recommend", "asked"),
    ("toll_report", "asked"),
    ("toll_report", "output"),
    ("toll_repeats_add", "parameters"),
    ("toll_repeats_text", "output"),
    ("toll_row_at", "ret_value"),
    ("toll_row_column", "buf"),
    ("toll_number_text", "buf"),
}
# Marks without a tracker go to a toll run around the program: 1, nobody listens.
MEANS_SOMETHING |= {(f"toll_mark{kind}", "t")
                    for kind in ("", "_phase_begin", "_phase_end", "_gauge", "_event")}

# A valid argument for each type of the header; where the name matters, for type and name.
VALID = {
    "struct toll_tracker **": "&made_tracker",
    "struct toll_tracker *": "tracker",
    "const struct toll_tracker *": "tracker",
    "const struct toll_options *": "&options",
    "const struct toll_output *": "&output",
    "const struct toll_target *": "&target",
    "const struct toll_mark *": "&mark",
    "const struct toll_export *": "&export",
    "const struct toll_comparison *": "&comparison",
    "const struct toll_recommend *": "&recommend",
    "const struct toll_report *": "&report",
    "const struct toll_compare *": "&compare",
    "struct toll_compared **": "&made_compared",
    "struct toll_compared *": "compared",
    "const struct toll_compared *": "compared",
    "struct toll_gate **": "&made_gate",
    "struct toll_gate *": "gate",
    "const struct toll_gate *": "gate",
    "const struct toll_format *": "toll_format_at(0)",
    "struct toll_launch *": "&launch",
    "struct toll_end *": "&end",
    "struct toll_sent *": "&sent",
    "struct toll_figure *": "&figure",
    "struct toll_summary *": "&summary",
    "struct toll_phase *": "&phase",
    "struct toll_gauge *": "&gauge",
    "struct toll_energy *": "&energy",
    "enum toll_quality": "TOLL_QUALITY_EXACT",
    "struct toll_error *": "&e",
    "struct toll_frame **": "&made_frame",
    "struct toll_frame *": "frame",
    "const struct toll_frame *": "frame",
    "const struct toll_frame *const *": "frames",
    "struct toll_chart *": "&chart",
    "const struct toll_drawing *": "&drawing",
    "const struct toll_row *": "toll_frame_row(frame, 0)",
    "struct toll_probe **": "&made_probe",
    "struct toll_probe *": "probe",
    "struct toll_translator **": "&made_translator",
    "struct toll_translator *": "translator",
    "const struct toll_translator *": "translator",
    "struct toll_repeats **": "&made_repeats",
    "struct toll_repeats *": "repeats",
    "const struct toll_repeats *": "repeats",
    "struct toll_diagnosis **": "&made_diagnosis",
    "struct toll_diagnosis *": "diagnosis",
    "const struct toll_diagnosis *": "diagnosis",
    "char **": "&text",
    "char *": "line",
    "const char *const *": "words",
    "char *const []": "command",
    "const char *": '"name"',
    "const char * layout": '"resource-tracker"',
    "const char * fact": '"pid"',
    "const char * format": '"json"',
    "double *": "&number",
    "void *": "&number",
    "void **": "&made_bytes",
    "const void *": "line",
    "size_t *": "&made_size",
    "const char * unit": '"seconds"',
    "void (*)(void *arg, const struct toll_run *run)": "on_run",
    "unsigned": "0",
    "int": "0",
    "size_t": "0",
    "size_t size": "sizeof line",
    "double": "1",
    "pid_t": "getpid()",
}

# What a tracker was made to do before the call.
STATES = ["new", "attached", "background", "finished"]

PROGRAM = r"""
#include <toll_compat.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct toll_tracker *tracker, *made_tracker;
static struct toll_frame *frame, *made_frame;
static const struct toll_frame *frames[1];
static struct toll_chart chart = {.size = sizeof chart};
static struct toll_drawing drawing = {.size = sizeof drawing};
static struct toll_probe *probe, *made_probe;
static struct toll_translator *translator, *made_translator;
static struct toll_repeats *repeats, *made_repeats;
static struct toll_diagnosis *diagnosis, *made_diagnosis;
static struct toll_options options = {.size = sizeof options};
static struct toll_output output = {.size = sizeof output, .destination = "out.csv"};
static struct toll_target target = {.size = sizeof target};
static struct toll_mark mark = {.size = sizeof mark, .name = "name"};
static struct toll_export export = {.size = sizeof export, .record = "none.jsonl"};
static struct toll_comparison comparison = {.size = sizeof comparison};
static struct toll_recommend recommend = {.size = sizeof recommend};
static struct toll_report report = {.size = sizeof report};
static struct toll_compare compare = {.size = sizeof compare};
static struct toll_compared *compared, *made_compared;
static struct toll_gate *gate, *made_gate;
static struct toll_launch launch = {.size = sizeof launch};
static struct toll_end end = {.size = sizeof end};
static struct toll_sent sent = {.size = sizeof sent};
static struct toll_figure figure = {.size = sizeof figure};
static struct toll_summary summary = {.size = sizeof summary};
static struct toll_phase phase = {.size = sizeof phase};
static struct toll_gauge gauge = {.size = sizeof gauge};
static struct toll_energy energy = {.size = sizeof energy};
static struct toll_error e;
static char *text, line[64];
static const char *const words[] = {"key=value", NULL};
static char *const command[] = {"true", NULL};
static double number;
static void *made_bytes;
static size_t made_size;

__attribute__((unused)) static void on_run(void *arg, const struct toll_run *run)
{
    (void)arg, (void)run;
}

/* What a call came to: it failed as it should, or it worked. */
enum { FAILED, WORKED, WRONG_CODE, NOT_PREPARED = 77 };

/* A pointer that must not be NULL, and a state that does not allow the call, are -EINVAL. */
static int of_int(int r) { return r == -EINVAL ? FAILED : r < 0 ? WRONG_CODE : WORKED; }
static int of_size(size_t n) { return n ? WORKED : FAILED; }
static int of_double(double d) { return isnan(d) ? FAILED : WORKED; }
static int of_pointer(const void *p) { return p ? WORKED : FAILED; }

static int prepare(const char *state)
{
    options.system = true;
    if (toll_tracker_new(&tracker, &options, &e) < 0 ||
        toll_snapshot(&frame, NULL, NULL, &e) < 0 || toll_probe_new(&probe, NULL, NULL, &e) < 0 ||
        toll_translator_new(&translator, "resource-tracker", &e) < 0 ||
        toll_repeats_new(&repeats, &e) < 0)
        return -1;
    int r = 0;
    if (strcmp(state, "attached") == 0)
        r = toll_tracker_attach(tracker, &e);
    else if (strcmp(state, "new") != 0)
        r = toll_tracker_start(tracker, &e);
    if (r == 0 && strcmp(state, "finished") == 0)
        r = toll_tracker_finish(tracker, NULL);
    return r;
}

static int call(unsigned number_of_call)
{
    switch (number_of_call) {
    CALLS
    }
    return NOT_PREPARED;
}

static const struct {
    const char *function, *null, *state;
} cases[] = {
    CASES
};

int main(void)
{
    if (toll_diagnosis_new(&diagnosis, NULL, &e) < 0)
        return 1;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            _exit(prepare(cases[i].state) < 0 ? NOT_PREPARED : call(i));
        }
        int status;
        if (waitpid(child, &status, 0) != child)
            return 2;
        const char *came_to = WIFSIGNALED(status)             ? "crashed"
                              : WEXITSTATUS(status) == FAILED ? "failed"
                              : WEXITSTATUS(status) == WORKED ? "worked"
                              : WEXITSTATUS(status) == WRONG_CODE ? "wrong code"
                                                              : "not prepared";
        printf("%s;%s;%s;%s\n", cases[i].function, cases[i].null, cases[i].state, came_to);
    }
    return 0;
}
"""


def declarations():
    """Of both headers: (result, name, [(type, name), …])."""
    text = "".join((TOP / "include" / name).read_text(encoding="utf-8")
                   for name in ("toll.h", "toll_compat.h"))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)  # a macro is one line
    text = re.sub(r"^\s*#.*$", " ", text, flags=re.M)
    text = re.sub(r'extern "C" \{', " ", text)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", " ", text)
    found = []
    for statement in text.split(";"):
        match = re.search(r"^\s*([\w\s*]+?)\s*(\*?)(toll_\w+)\s*\((.*)\)\s*$", statement, flags=re.S)
        if match:
            found.append((" ".join(f"{match[1]} {match[2]}".split()), match[3],
                          [parameter(p) for p in split_parameters(match[4])]))
    return found


def split_parameters(text):
    text = " ".join(text.split())
    return [] if text == "void" else re.split(r", (?![^(]*\))", text)


def parameter(text):
    function = re.match(r"(.*\(\*)(\w+)(\)\(.*\))$", text)
    if function:
        return function[1] + function[3], function[2]
    kind, name, array = re.match(r"(.*?)(\w+)(\[\])?$", text).groups()
    return kind.strip() + (" []" if array else ""), name


def is_pointer(kind):
    return "*" in kind or "[]" in kind


def argument(kind, name):
    given = VALID.get(f"{kind} {name}", VALID.get(kind))
    assert given, f"what is a valid {kind} {name}? Say so in VALID"
    return given


def calls():
    """(function, parameter that is NULL, state, what is called)."""
    for result, name, parameters in declarations():
        shape = {"int": "of_int", "size_t": "of_size", "double": "of_double",
                 "bool": "of_size", "pid_t": "of_size"}.get(result, "of_pointer")
        takes_tracker = any(n == "t" for _, n in parameters)
        for i, (kind, null) in enumerate(parameters):
            if not is_pointer(kind):
                continue
            arguments = ", ".join("NULL" if k == i else argument(*p)
                                  for k, p in enumerate(parameters))
            code = f"{name}({arguments})"
            code = f"{code}; return FAILED;" if result == "void" else f"return {shape}({code});"
            for state in STATES if takes_tracker else STATES[:1]:
                yield name, null, state, code


def compiled(tmp_path):
    lines = list(calls())
    source = PROGRAM.replace("CALLS", "\n    ".join(
        f"case {i}: {code}" for i, (_, _, _, code) in enumerate(lines)))
    source = source.replace("CASES", "\n    ".join(
        f'{{"{name}", "{null}", "{state}"}},' for name, null, state, _ in lines))
    (tmp_path / "null.c").write_text(source)
    subprocess.run(["cc", "-Wall", "-Wextra", f"-I{TOP}/include", "-o", tmp_path / "null",
                    tmp_path / "null.c", f"-L{BUILD}", "-ltoll", "-lm", f"-Wl,-rpath,{BUILD}"],
                   check=True)
    return tmp_path / "null"


def test_null_in_each_place(tmp_path):
    done = subprocess.run([compiled(tmp_path)], cwd=tmp_path, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = [line.split(";") for line in done.stdout.splitlines()]
    assert [row for row in rows if row[3] in ("crashed", "not prepared")] == []
    # Where NULL has no meaning, the call fails.
    assert [row for row in rows if row[3] in ("worked", "wrong code") and row[1] != "e" and
            (row[0], row[1]) not in MEANS_SOMETHING] == []


def test_every_function_is_called():
    """… that takes a pointer; the list of the library is the witness."""
    exported = set(re.findall(r"^\s+(toll_\w+);", (TOP / "src/libtoll.map").read_text(), flags=re.M))
    parsed = declarations()
    assert {name for _, name, _ in parsed} == exported
    with_pointers = {name for _, name, parameters in parsed
                     if any(is_pointer(kind) for kind, _ in parameters)}
    assert {name for name, _, _, _ in calls()} == with_pointers
    assert exported - with_pointers == {"toll_version", "toll_version_number",
                                        "toll_quality_word", "toll_metric_at", "toll_format_at",
                                        "toll_layout_at", "toll_check_at"}
    assert {(name, null) for name, null, _, _ in calls()} >= MEANS_SOMETHING
