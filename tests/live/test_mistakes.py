# SPDX-License-Identifier: MIT
"""Mistakes at attach, system and run: one sentence that names what was wrong, 125, and nothing is
started or left behind."""
import os
import re

import pytest

NOBODY = "4194304"  # one more than the highest pid there can be
SELF = str(os.getpid())  # runs for as long as the test does

# An option, a command or a file.
CONTEXT = re.compile(r"toll: [^' ]+: [a-z'(]")

# What is called, and words of the sentence it is answered with.
MISTAKES = [
    # whom to attach to
    ("attach", ["nothing to attach to", "PID", "--match"]),
    (f"attach {NOBODY}", ["attach: no process", NOBODY]),
    (f"attach {SELF} {NOBODY}", ["no process", NOBODY]),
    (f"attach --group {NOBODY}", ["--group: no process in group", NOBODY]),
    (f"attach --session {NOBODY}", ["--session: no process in session", NOBODY]),
    ("attach --cgroup /no/such/cgroup", ["--cgroup: no cgroup", "/no/such/cgroup", "/proc/PID/cgroup"]),
    ("attach --cgroup no-such-cgroup", ["no cgroup", "no-such-cgroup"]),
    ("attach --user no-such-user", ["--user: unknown user", "no-such-user", "name or a number"]),
    ("attach --user 2147480001", ["--user: no process of user", "2147480001"]),
    ("attach --user 99999999999", ["unknown user", "99999999999"]),
    ("attach --match (", ["--match: invalid regular expression '('"]),
    ("attach --match [a", ["'[a'", "regular expression"]),
    ("attach --match=", ["--match", "a regular expression"]),
    ("attach --cgroup=", ["--cgroup", "a path"]),
    ("attach --user=", ["--user", "a UID"]),
    ("attach --group=", ["--group", "NAME=1234"]),
    ("attach --match", ["--match: value missing", "REGEX"]),
    ("attach 0", ["'0'", "1234"]),
    ("attach -5", ["unknown option '-5'", "toll help attach"]),
    ("attach -- -5", ["'-5'", "1234"]),
    ("attach --group -5", ["'-5'", "1234"]),
    ("attach 12x", ["'12x'", "1234"]),
    ("attach -p 12x", ["--pid: invalid PID '12x'", "1234"]),
    ("attach python3", ["attach: invalid PID 'python3'", "--match"]),
    ("attach -p 1,,2", ["--pid: invalid PID ''", "1234"]),
    ("attach --pid=", ["--pid", "a PID"]),
    (f"attach {SELF} -p {SELF}", [f"'process-{SELF}'", "given twice"]),
    ("attach self", ["'self'", "1234"]),
    ("attach web=", ["'web='", "NAME=1234"]),
    ("attach =12", ["'=12'", "NAME=1234"]),
    ("attach 99999999999", ["'99999999999'", "1234"]),
    ("attach 18446744073709551617", ["'18446744073709551617'"]),
    (f"attach {SELF} {SELF}", [f"'process-{SELF}'", "given twice"]),
    (f"attach web={SELF} web=1", ["'web'", "given twice"]),
    ("attach --user root --user root", ["'user-root'", "given twice"]),
    ("attach " + " ".join(f"t{i}={SELF}" for i in range(64)), ["at most 63", "--match"]),
    ("attach --match no-process-has-this-command-line", ["--match: no running process"]),
    # fields of the library, shown as options
    ("run -m nonsense touch ran", ["--metrics: unknown metric 'nonsense'", "toll metrics"]),
    ("run --gpus x! touch ran", ["--gpus: invalid GPUs 'x!'", "visible"]),
    ("run --carbon dirty touch ran", ["--carbon: invalid value 'dirty'", "CO2e per kWh"]),
    ("run --carbon /etc/passwd touch ran", ["--carbon: '/etc/passwd', line 1", "UTC time"]),
    ("run --price cheap touch ran", ["--price: invalid value 'cheap'", "0.30EUR"]),
    ("run --price-hour cheap touch ran", ["--price-hour: invalid value 'cheap'", "0.30EUR"]),
    ("run --price 1EUR --price-hour 2USD touch ran", ["--price-hour: currency 'USD'", "'EUR'"]),
    ("run --own-cgroup never --memory-max 1G touch ran", ["--own-cgroup: limits need", "auto"]),
    ("run --layout resource-tracker,columns=v9 -o x.csv touch ran", ["layout: invalid columns 'v9'"]),
    ("run --fail-if nonsense>1 touch ran", ["--fail-if: condition", "unknown figure 'nonsense'"]),
    ("run --fail-if cpu>+5% touch ran", ["--fail-if: condition", "no baseline given"]),
    # files that are not there
    ("export no-such-record -o x.csv", ["export: cannot read 'no-such-record'", "No such file"]),
    ("export /etc/passwd -m nonsense -o x.csv", ["--metrics: unknown metric 'nonsense'"]),
    ("resend no-such-file", ["resend: cannot open 'no-such-file'", "No such file"]),
    ("resend /dev/null", ["resend: '/dev/null' is not a spool file"]),
    ("replay no-such-run", ["replay: cannot open recorded run 'no-such-run'"]),
    ("compare a b", ["compare: cannot read 'a': no such record", "RECORD:RUN"]),
    # options that are not for it
    (f"attach --timeout 1s {SELF}", ["--timeout", "not an option of toll attach"]),
    (f"attach {SELF} --grace 1s", ["--grace", "not an option of toll attach"]),
    ("system --no-children", ["--no-children", "not an option of toll system"]),
    ("system --match x", ["--match", "not an option of toll system"]),
    ("system --network", ["--network", "not an option of toll system"]),
    ("system -g 5", ["-g", "not an option of toll system"]),
    ("run --for 1s touch ran", ["--for", "not an option of toll run"]),
    ("run --since-start touch ran", ["--since-start", "not an option of toll run"]),
    ("run --csv touch ran", ["--csv", "stdout belongs to the command", "-o run.csv"]),
    ("run -p 1 touch ran", ["-p", "not an option of toll run", "toll attach -p PID"]),
    ("run --user root touch ran", ["--user", "not an option of toll run"]),
    # options that would do nothing
    ("run --grace 1s touch ran", ["--grace", "without --timeout"]),
    ("run -f csv touch ran", ["--format", "-o FILE", "--json"]),
    ("run -f csv -o x.json touch ran", ["--format", "another format"]),
    ("run -v --json touch ran", ["--verbose", "without a text summary"]),
    ("run -q --json touch ran", ["--json", "--quiet"]),
    ("run --processes all -o x.csv touch ran", ["--processes", ".jsonl"]),
    ("run -q --label a=b touch ran", ["--label", "-o FILE"]),
    ("system --json --csv", ["--csv", "conflicts with --json"]),
    ("system --json -f csv", ["--json", "conflicts with --format"]),
    ("system --json -o -", ["stdout", "twice"]),
    ("metrics --json --markdown", ["--markdown", "conflicts with --json"]),
    ("export -v x.jsonl", ["--verbose", "without a text summary"]),
    # words
    ("system 5", ["'5'", "options only"]),
    ("system -q -- x", ["'x'", "options only"]),
    # values
    (f"attach --for 0 {SELF}", ["--for", "'0'", "90s"]),
    (f"attach --for -1s {SELF}", ["--for", "'-1s'", "90s"]),
    ("system --for soon", ["--for", "'soon'", "90s"]),
    ("system --for 1e9d", ["--for", "'1e9d'", "90s"]),
    ("system --for=", ["--for", "''", "90s"]),
    ("run --timeout 0 touch ran", ["--timeout", "'0'", "90s"]),
    ("run --timeout -3 touch ran", ["--timeout", "'-3'", "90s"]),
    ("run --timeout never touch ran", ["--timeout", "'never'", "90s"]),
    ("run --timeout 1s --grace 0 touch ran", ["--grace", "'0'", "90s"]),
    ("system -i 0", ["-i", "'0'", "1ms"]),
    ("system --budget 5", ["--budget", "not an option of toll system"]),
    (f"attach --no-children=perhaps {SELF}", ["--no-children", "yes or no"]),
    ("run -f nonsense touch ran", ["-f", "'nonsense'", "jsonl"]),
    (f"attach -f nonsense {SELF}", ["-f", "'nonsense'", "jsonl"]),
    ("system --format=", ["--format", "jsonl"]),
    ("system -m no_such_metric", ["no_such_metric"]),
    # outputs
    ("run -o - touch ran", ["-o", "'-'", "stdout belongs to the command"]),
    ("run -o x.csv -o x.csv touch ran", ["x.csv", "twice"]),
    ("system -o - -o -", ["'-'", "twice"]),
    ("system -o x.csv -o x.unknown", ["x.unknown", ".csv", ".jsonl"]),
    (f"attach -o x.csv -o no/such/x.csv {SELF}", ["no/such/x.csv", "No such file"]),
    (f"attach -o x.csv {NOBODY}", ["no process"]),
    ("attach -o x.jsonl -o x.json -o x.txt --match (", ["regular expression"]),
    ("system -o x.csv --summary-to 77", ["77", "not open"]),
    ("system --config no-such-file", ["no-such-file: cannot read the configuration", "No such file"]),
]


@pytest.mark.parametrize("line, words", MISTAKES, ids=lambda v: v[:40] if isinstance(v, str) else "")
def test_mistake(here, line, words):
    status, out, err = here.call([here.toll, *line.split(" ")])
    text = err.decode()
    assert (status, out) == (125, b""), text
    assert CONTEXT.match(text) and text.count("\n") == 1, text
    for word in words:
        assert word in text
    assert os.listdir(here.directory) == []


def test_toll_itself_is_no_target(here):
    status, out, err = here.shell("exec $TOLL attach $$")
    assert (status, out) == (125, b"")
    assert b"toll itself" in err and err.count(b"\n") == 1


def test_a_file_of_before_is_not_lost_to_a_mistake(here):
    here.path("x.csv").write_text("of before\n")
    assert here.call([here.toll, "attach", "-o", "x.csv", NOBODY])[0] == 125
    assert here.path("x.csv").read_text() == "of before\n"


def test_options_stand_anywhere(here):
    """Before, between and behind the targets; -- ends them."""
    for line in (f"-q --for 10ms -o x.json me={SELF} other=1", f"me={SELF} -q --for 10ms other=1 -ox.json",
                 f"me={SELF} -qo x.json --for=10ms -- other=1"):
        status, out, err = here.call([here.toll, "attach", *line.split(" ")])
        assert (status, out, err) == (0, b"", b""), line
        text = here.path("x.json").read_text()
        assert '"me"' in text and '"other"' in text


# ---- Where the lines go ---------------------------------------------------------------------------


def test_a_reader_that_has_seen_enough(here):
    """head goes after two lines: toll ends by itself, and says nothing."""
    status, out, err = here.shell(f"$TOLL attach -i 10ms {SELF} | head -n 2")
    assert (status, err) == (0, b"")
    lines = out.decode().splitlines()
    assert len(lines) == 2 and lines[1].split()[0] == "time"


def test_a_reader_that_was_never_there(here):
    status, _, err = here.shell(f"{{ $TOLL system -i 10ms; echo $? >status; }} | true")
    assert (status, err) == (0, b"")
    assert here.path("status").read_text() == "0\n"


def test_a_summary_that_was_asked_for_comes_all_the_same(here):
    here.shell("$TOLL system -i 10ms --summary-to s.json | head -n 1")
    assert here.path("s.json").read_text().startswith("{")


def test_no_room_for_the_lines(here):
    """One sentence at once; the exit status tells it too."""
    status, _, err = here.shell("$TOLL system -i 10ms --for 200ms --summary-to s.txt >/dev/full")
    text = err.decode()
    assert status == 125
    assert text.startswith("toll: cannot write to 'stdout': No space left on device"), text
    assert "cannot write" in here.path("s.txt").read_text()


def test_closed_stdout(here):
    """The lines are lost, as on a full disk; the summary comes."""
    status, _, err = here.shell("exec $TOLL system -i 10ms --for 50ms >&-")
    assert status == 125
    assert err.startswith(b"toll: cannot write to 'stdout': Bad file descriptor"), err
    assert re.search(rb"^toll: \S+ +measured for ", err, re.M), err


def test_lines_of_a_format(here):
    status, out, _ = here.shell(f"$TOLL attach -q -i 10ms --for 100ms -o - -f csv {SELF}")
    assert status == 0
    assert out.startswith(b"time,")
    status, out, _ = here.shell("$TOLL system -q -i 10ms --for 100ms -f jsonl")
    assert status == 0 and out.startswith(b'{"type":"run"')
