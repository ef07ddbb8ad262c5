# SPDX-License-Identifier: MIT
"""Man page, completions and documents: well-formed, and in step with the command."""

import csv
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import hostlib
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["TOLL_BUILD"])
TOLL = os.environ["TOLL"]


def load(path):
    """A script without a suffix as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name.replace("-", "_"), str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


refresh = load(TOP / "tools/refresh-docs")
schemas = load(TOP / "tools/record-schema")

MAN_PAGES = [BUILD / "man" / path.stem for path in sorted((TOP / "man").glob("*.1.in"))]
DOCUMENTS = sorted(
    path
    for path in [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "examples").glob("*.md")]
    if path.is_file()
)


BLOCKS = [
    (f"{path.name}: {match['command']}", match)
    for path in refresh.documents()
    for match in refresh.BLOCK.finditer(path.read_text(encoding="utf-8"))
]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def marked(mark):
    return [pytest.param(match, id=name) for name, match in BLOCKS if match["mark"] == mark]


def fenced(language):
    return [
        pytest.param(text, id=f"{path.name}: {text[:40]}")
        for path in refresh.documents()
        for found, text in FENCED.findall(path.read_text(encoding="utf-8"))
        if found == language
    ]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


MAN_PAGE = pytest.mark.parametrize("page", MAN_PAGES, ids=lambda page: page.name)


def manual(page):
    """The text of a page without its markup."""
    text = re.sub(r"\\f[BIR]|\\&", "", page.read_text(encoding="utf-8").replace("\\-", "-"))
    return re.sub(r"(?m)^\.(?:[BI]R?|RB|RI|IR|IB) |(?<=\S)\"|\"(?=\S)", "", text)


@hostlib.needs("mandoc")
@MAN_PAGE
def test_manual_page_is_well_formed(page):
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", page],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


@hostlib.needs("man")
@MAN_PAGE
def test_manual_page_fits_a_terminal(page):
    done = subprocess.run(
        ["man", "--warnings=w", "-l", page],
        env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []


@MAN_PAGE
def test_manual_page_is_filled_in(page):
    assert not re.findall(r"@[A-Z]+@", page.read_text(encoding="utf-8"))


def test_manual_pages_refer_to_pages_that_exist():
    known = {page.stem for page in MAN_PAGES}
    for page in MAN_PAGES:
        named = re.findall(r"\b((?:toll|gpu-tracker)[a-z-]*) ?\(1\)", manual(page))
        assert named and set(named) <= known, page.name


@pytest.mark.parametrize("shell, file", [
    ("bash", "toll"), ("zsh", "_toll"), ("fish", "toll.fish"),
    ("bash", "gpu-tracker"), ("zsh", "_gpu-tracker"), ("fish", "gpu-tracker.fish")])
def test_completion_is_valid(shell, file):
    hostlib.skip_without(shell)
    path = BUILD / "completions" / file
    assert path.stat().st_size > 0
    subprocess.run([shell, "-n", path], check=True)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_links_lead_somewhere(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    missing = [
        link
        for link in links
        if not re.match(r"[a-z]+:", link) and not (path.parent / link).exists()
    ]
    assert missing == []


def without_blocks(path):
    return re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(path):
    """Headings as GitHub names them, and anchors that are written out."""
    text = without_blocks(path)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    found = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return found | set(re.findall(r'<a id="([^"]+)">', text))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_links_to_headings_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", without_blocks(path))
    missing = [
        f"{link}#{anchor}"
        for link, anchor in links
        if not re.match(r"[a-z]+:", link) and (path.parent / (link or path.name)).suffix == ".md"
        and anchor not in anchors(path.parent / (link or path.name))
    ]
    assert missing == []


def test_every_dependency_has_its_reason():
    script = (TOP / "tools/bootstrap").read_text(encoding="utf-8")
    lists = re.findall(r"^\w+_packages='([^']+)'", script, flags=re.MULTILINE)
    packages = " ".join(lists).split()
    text = (TOP / "docs/dependencies.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| `([^`]+)` \|", text, flags=re.MULTILINE)
    assert sorted(explained) == sorted(packages)


# ---- Options ------------------------------------------------------------------------------------


PAGES = {
    "run": "toll-run",
    "attach": "toll-attach",
    "system": "toll-system",
    "export": "toll-export",
    "list": "toll-list",
    "recommend": "toll-recommend",
    "report": "toll-report",
    "compare": "toll-compare",
    "doctor": "toll-doctor",
    "mark": "toll-mark",
    "metrics": "toll",
    "layouts": "toll-outputs",
    "outputs": "toll-outputs",
    "resend": "toll-outputs",
    "sub-tracking": "toll-sub-tracking",
    "time": "toll-time",
}
COMPLETED = ("run", "attach", "system", "export", "list", "recommend", "compare")


def options(*subcommands):
    """(letter or None, long name) of every option in the help of these subcommands, or of all."""
    text = "".join(output(TOLL, "help", name) for name in subcommands or PAGES)
    return re.findall(r"^ {2,6}(?:-(\w), )?--([a-z-]+)", text, flags=re.MULTILINE)


@pytest.mark.parametrize("subcommand", PAGES)
def test_manual_page_has_every_option(subcommand):
    text = manual(BUILD / f"man/{PAGES[subcommand]}.1")
    for letter, name in options(subcommand):
        if name == "help":
            continue
        assert f"--{name}" in text
        assert not letter or f"-{letter}, --{name}" in text


def test_overview_names_every_subcommand_and_page():
    text = manual(BUILD / "man/toll.1")
    groups = output(TOLL, "help", "--all").split("\n\n")[1]
    names = {line[10:].split()[0] for line in groups.splitlines()} - {"replay"}
    pages = {PAGES.get(name, "toll") for name in names}
    assert len(names) > 10
    assert {page.stem for page in MAN_PAGES} <= pages | {"gpu-tracker"}
    assert [page for page in pages - {"toll"} if f"{page} (1)" not in text] == []
    assert [name for name in names if name not in PAGES and f"toll {name}" not in text] == []


def test_completion_has_every_option():
    """By their long names, as is usual; the scripts of all shells ask the command."""
    offered = set()
    for subcommand in COMPLETED:
        answer = subprocess.check_output([TOLL, "__complete", subcommand, "--"], text=True)
        offered |= {line.split("\t")[0] for line in answer.splitlines()}
    for file in ("toll", "_toll", "toll.fish"):
        assert " __complete " in (BUILD / "completions" / file).read_text(encoding="utf-8")
    assert {f"--{name}" for _, name in options(*COMPLETED)} == offered


def test_manual_and_readme_name_real_options_only():
    assert len(options()) > 50
    known = {name for _, name in options()} | {"version", "all", "dialect"}
    known |= {"verbose", "stat", "output", "format"}  # of toll mark, toll sub-tracking
    known |= {"cflags", "libs", "toll"}  # of pkg-config, and of pytest
    known |= {"password", "token", "epochs"}  # of commands that are measured
    texts = {page.name: manual(page) for page in MAN_PAGES if page.stem != "gpu-tracker"}
    texts["README.md"] = (TOP / "README.md").read_text(encoding="utf-8")
    for name, text in texts.items():
        found = set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", text))
        assert found <= known, name


def test_configuration_file_of_the_manual_works(tmp_path):
    template = (TOP / "man/toll.1.in").read_text(encoding="utf-8")
    example = re.search(r"^# toll\.conf\n(.*?)^\.EE$", template, re.DOTALL | re.MULTILINE)[1]
    record = tmp_path / "run.jsonl"
    config = tmp_path / "toll.conf"
    config.write_text(re.sub(r"(?m)^output = .*", f"output = {record}", example))
    subprocess.run([TOLL, "run", "-q", "--config", config, "true"], check=True)
    run = json.loads(record.read_text(encoding="utf-8").splitlines()[0])
    assert (run["labels"], run["interval_seconds"]) == ({"team": "blue", "stage": "test"}, 0.25)


# ---- What documents show of the program -----------------------------------------------------------


def test_metrics_are_up_to_date():
    shown = refresh.METRICS.read_text(encoding="utf-8")
    assert shown == refresh.printed("toll metrics --markdown", BUILD), "run tools/refresh-docs"


def test_reference_is_up_to_date():
    done = subprocess.run([TOP / "tools/api-docs", "--check"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("block", marked("output") or [pytest.param(None, id="none")])
def test_output_is_as_shown(block):
    if not block:
        pytest.skip("no document shows anything that is always the same")
    assert block["text"] == refresh.printed(block["command"], BUILD), "run tools/refresh-docs"


def test_examples_are_filled_in():
    assert [name for name, block in BLOCKS if not block["text"]] == [], "run tools/refresh-docs"


def titles():
    """What a line of the table may begin with."""
    return {metric["title"] for metric in json.loads(output(TOLL, "metrics", "--json"))}


def test_summaries_shown_have_the_titles_of_today():
    known = titles()
    # Behind the table of figures stand those of targets and things of the machine, by their names.
    others = re.compile(r"^(?:targets|[a-z]+s|rapl|cgroup_disks) {10,}\S", re.MULTILINE)
    rows = re.compile(r"^(\S[^\n]*?) {2,}(?:≥ )?[\d.,?]+ ?\S* ", re.MULTILINE)
    for _, block in BLOCKS:
        if "\ntoll: " in f"\n{block['text']}" and "total, peak" in block["text"]:
            table = others.split(block["text"].partition("total, peak")[2])[0]
            shown = set(rows.findall(table))
            assert shown and shown <= known, "run tools/refresh-docs"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the command writes today, in every format, of a job that has something of everything."""
    directory = tmp_path_factory.mktemp("written")
    (directory / "full.csv").symlink_to("/dev/full")
    command = [TOLL, "run", "-q", "--processes=all", "-o", "full.csv"]
    for name in ("run.csv", "run.jsonl", "run.json"):
        command += ["-o", name]
    marks = ("phase begin p k=v", "gauge g 1", "event e k=v", "phase end p")
    said = [f"{TOLL} mark {mark}" for mark in marks]
    job = f"sleep 1 & {said[0]}; (sleep 0.05); sleep 0.2; {'; '.join(said[1:])}; exit 3"
    done = subprocess.run([*command, "--", "sh", "-c", job], cwd=directory, check=False)
    assert done.returncode == 3
    write_others(directory)
    return directory


def write_others(directory):
    """… of two targets and the machine."""
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as two:
        try:
            command = [TOLL, "attach", "-q", "--system", "--for", "200ms", "-m", "*"]
            command += ["-o", "machine.csv", "-o", "machine.jsonl", str(one.pid), str(two.pid)]
            subprocess.run(command, cwd=directory, check=True)
        finally:
            one.kill()
            two.kill()


def keys_written(directory):
    texts = [(directory / name).read_text("utf-8") for name in ("run.jsonl", "machine.jsonl")]
    return {key for text in texts for line in documents_in(text) for key in keys(line)}


def keys(value):
    """Every key at any depth; those of labels and attributes are the user's."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key not in ("labels", "attributes"):
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def documents_in(text):
    """One JSON document, or one on each line."""
    return [json.loads(text)] if text.startswith("{\n") else map(json.loads, text.splitlines())


@pytest.mark.parametrize("text", fenced("json"))
def test_json_shown_has_the_keys_of_today(text, written):
    shown = {key for document in documents_in(text) for key in keys(document)}
    assert shown and shown <= keys_written(written)


@pytest.mark.parametrize("text", fenced("csv"))
def test_csv_shown_has_the_columns_of_today(text, written):
    known = set()
    for name in ("run.csv", "machine.csv"):
        with open(written / name, encoding="utf-8", newline="") as file:
            known |= set(next(csv.reader(file)))
    rows = list(csv.reader(text.splitlines()))
    assert set(rows[0]) <= known
    assert {len(row) for row in rows} == {len(rows[0])}


@pytest.mark.parametrize("record", ["run.jsonl", "machine.jsonl"])
def test_what_is_written_follows_the_schemas(record, written):
    jsonschema = hostlib.module("jsonschema")
    for kind in ("record", "summary"):
        schema = json.loads((TOP / f"docs/schema/{kind}.schema.json").read_text(encoding="utf-8"))
        validator = jsonschema.Draft202012Validator(schema)
        for line in map(json.loads, (written / record).read_text(encoding="utf-8").splitlines()):
            if kind == "record":
                validator.validate(line)
            elif line["type"] == "summary":
                validator.validate({key: v for key, v in line.items() if key != "type"})


@pytest.mark.parametrize("name, made", schemas.made().items())
def test_schemas_are_made_from_the_table(name, made):
    assert (TOP / "docs/schema" / name).read_text(encoding="utf-8") == made, "run tools/record-schema"


def test_formats_describes_every_key(written):
    """Keys of the record and the summary that are not metrics stand in docs/formats.md."""
    metrics = {metric["name"] for metric in json.loads(output(TOLL, "metrics", "--json"))}
    found = keys_written(written) - metrics
    text = (TOP / "docs/formats.md").read_text(encoding="utf-8")
    assert [key for key in sorted(found) if f"`{key}`" not in text and f'"{key}"' not in text] == []


def runnable(language, *paths):
    text = "".join(path.read_text(encoding="utf-8") for path in paths or refresh.documents())
    block = rf"<!-- runnable -->\n```{language}\n(.*?)^```$"
    blocks = re.findall(block, text, re.DOTALL | re.MULTILINE)
    assert blocks
    return blocks


@pytest.mark.parametrize("script", runnable("sh"))
def test_what_documents_say_runs(script, tmp_path):
    subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )


@pytest.mark.skipif(not (BUILD / "python/toll").exists(), reason="needs the Debian package python3-dev")
@pytest.mark.parametrize("script", runnable("python"))
def test_python_shown_runs(script, tmp_path):
    # Optional, and where it is installed it writes about its own caches.
    (tmp_path / "matplotlib.py").write_text("raise ImportError")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(BUILD / "python")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def consoles():
    return [
        pytest.param(match, id=f"{path.name}: {match['text'].splitlines()[0]}")
        for path in refresh.documents()
        for match in refresh.CONSOLE.finditer(path.read_text(encoding="utf-8"))
    ]


def skeleton(text):
    """Commands, and of headlines the first word and how it ended: the same whatever the machine does."""
    return [line if line.startswith("$") else re.findall(r"^toll: \w+|  \S.*?(?= (?:in|after|for) )", line)
            for line in text.splitlines() if re.match(r"\$ |toll: ", line)]


@pytest.mark.skipif(not (BUILD / "python/toll").exists(), reason="needs the Debian package python3-dev")
@pytest.mark.parametrize("block", consoles())
def test_consoles_show_what_is_printed(block):
    """The commands print what the document shows, as far as that does not depend on the machine."""
    hostlib.skip_without("cc", "jq")
    now = refresh.session(block["prepare"], block["text"], BUILD)
    assert skeleton(now) == skeleton(block["text"]), f"run tools/refresh-docs; printed was:\n{now}"
    assert len(now.splitlines()) > now.count("$ "), "nothing is printed"


# ---- The first page ------------------------------------------------------------------------------


def readme():
    return (TOP / "README.md").read_text(encoding="utf-8")


def test_readme_is_short():
    lines = readme().splitlines()
    assert len(lines) < 200
    first = "\n".join(lines).split("\n\n")[1]
    assert len(re.findall(r"\.(?:\s|$)", first)) == 2, "toll is introduced by two sentences"


def test_readme_has_the_commands_that_install():
    """The two commands that tools/test-fresh tries, and the one that .ci/run calls."""
    (block,) = re.findall(r"^## Install\n.*?```sh\n(.*?)```", readme(), flags=re.DOTALL | re.MULTILINE)
    commands = [line.split("#")[0].strip() for line in block.splitlines()]
    assert commands[0] == "make demo" and "make test" in commands and len(commands) == 3
    fresh = (TOP / "tools/test-fresh").read_text(encoding="utf-8")
    assert "'make demo && make test'" in fresh
    assert re.search(r"^make test ", (TOP / ".ci/run").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_readme_compares_with_the_alternatives():
    for tool in ("GNU time", "psrecord", "duct", "prmon", "hyperfine", "resource_tracker", "gpu_tracker"):
        assert re.search(rf"^\| \[{tool}\]\(https://[^)]+\) \| [^|]{{20,}} \| [^|]{{20,}} \|$", readme(),
                         flags=re.MULTILINE), tool


def test_readme_leads_to_every_document():
    linked = set(re.findall(r"\]\((docs/[^)#]+)\)", readme()))
    reached = {TOP / link for link in linked}
    for path in list(reached):
        if path.suffix == ".md":
            links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8"))
            reached |= {(path.parent / link).resolve() for link in links if ":" not in link}
    reached |= {(TOP / link).resolve() for link in
                re.findall(r"\]\(([^)#\s]+)", (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8"))}
    assert set((TOP / "docs").glob("*.md")) <= reached


def programs():
    pattern = re.compile(r"<!-- program -->\n```c\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    found = [
        pytest.param(text, id=path.name)
        for path in refresh.documents()
        for text in pattern.findall(path.read_text(encoding="utf-8"))
    ]
    assert found
    return found


@pytest.mark.skipif("TOLL_SANITIZED" in os.environ, reason="built without sanitizers")
@pytest.mark.parametrize("program", programs())
def test_programs_compile_and_tell_the_truth(program, tmp_path):
    """What a program prints of itself is what wait4 says, but for its start, its end and what
    measuring takes."""
    (tmp_path / "program.c").write_text(program)
    subprocess.run(
        ["cc", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{TOP}/include", "program.c", "-o",
         "program", f"-L{BUILD}", "-ltoll", f"-Wl,-rpath,{BUILD}"],
        cwd=tmp_path, check=True, timeout=60)
    with open(tmp_path / "stdout", "w+", encoding="utf-8") as file:
        process = subprocess.Popen([tmp_path / "program"], stdout=file, cwd=tmp_path)
        _, process.returncode, usage = os.wait4(process.pid, 0)
        file.seek(0)
        said = re.fullmatch(r"([\d.]+) s CPU time \((\w+)\)\n", file.read())
    used = usage.ru_utime + usage.ru_stime
    assert process.returncode == 0
    assert 0.5 * used <= float(said[1]) <= used + 0.001


# ---- The repository stands alone ------------------------------------------------------------------


def repository_files():
    hostlib.skip_without("git")
    command = ["git", "-C", TOP, "ls-files", "-z", "--cached"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a checkout")
    return [TOP / name for name in done.stdout.split("\0") if name and (TOP / name).is_file()]


def test_no_file_leans_on_what_readers_do_not_have():
    # Put together, so that this file does not have them itself.
    words = ["../" + "shared", "SEE" + "DS", "FACTS" + ".md", "issue" + " #"]
    found = [
        f"{path.relative_to(TOP)}: {word}"
        for path in repository_files()
        for word in words
        if word.encode() in path.read_bytes()
    ]
    assert found == []
