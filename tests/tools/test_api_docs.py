# SPDX-License-Identifier: MIT
"""tools/api-docs: from the comments of a header to a reference."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
TOOL = TOP / "tools/api-docs"


def load(path):
    loader = importlib.machinery.SourceFileLoader(path.name.replace("-", "_"), str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


api_docs = load(TOOL)

HEADER = """/* SPDX-License-Identifier: MIT
 *
 * What it is for:
 *
 *     one();
 *
 *     two(); // as well
 *
 * In words, with toll_one. */
#ifndef TOLL_H
#define TOLL_H
#ifdef __cplusplus
extern "C" {
#endif

#define TOLL_VERSION "1"

/* ---- first things: all of them ---- */

struct toll_later; /* defined below */

/* Nothing else, see toll_two and struct toll_later. From any
 * thread. */
int toll_one(void (*call)(void *arg),
             int x);

/* From any thread; but -EINVAL when toll_one was not called. */
void toll_two(void);
void toll_three(void);

/* ---- Second ---- */

/* Some text. */
struct toll_later {
    size_t size;

    /* A comment { of its own } */
    int toll_field(void);
};

enum {
    TOLL_RED,
};

struct toll_hidden;

#ifdef __cplusplus
}
#endif
#endif
"""


@pytest.fixture(scope="module")
def text():
    return api_docs.reference(HEADER)


def test_sections_and_names(text):
    assert re.findall(r"^## (.+)", text, re.MULTILINE) == [
        "Overview", "Version and errors", "First things: all of them", "Second"]
    assert re.findall(r"^### (.+)", text, re.MULTILINE) == [
        "TOLL_VERSION", "toll_one", "toll_two, toll_three", "toll_later", "TOLL_RED", "toll_hidden"]
    assert "| [First things: all of them](#first-things-all-of-them) | [`toll_one`](#toll_one)" in text


def test_overview_has_its_code(text):
    assert "What it is for:\n\n```c\none();\n\ntwo(); // as well\n```\n\nIn words" in text
    assert "SPDX" not in text


def test_names_are_links_but_not_to_themselves(text):
    assert "see [`toll_two`](#toll_two) and [`struct toll_later`](#toll_later).\n" in text
    assert "but `-EINVAL` when [`toll_one`](#toll_one) was not called" in text


def test_threads_are_told_on_a_line_of_their_own(text):
    assert text.count("\n**Threads:** from any thread.\n") == 2
    assert "From any thread; but" in text and "From any thread." not in text


def test_structs_stay_whole(text):
    assert ("```c\nstruct toll_later {\n    size_t size;\n\n    /* A comment { of its own } */\n"
            "    int toll_field(void);\n};\n```\n\nSome text.\n") in text


def test_every_name_of_the_header_is_there():
    header = (TOP / "include/toll.h").read_text(encoding="utf-8")
    shown = set(re.findall(r"\[`(\w+)`\]", api_docs.reference(header).split("## Overview")[0]))
    stable = (TOP / "src/libtoll.map").read_text("utf-8").split("TOLL_COMPAT_0")[0]
    promised = set(re.findall(r"\b(toll_\w+);", stable))
    types = set(re.findall(r"^(?:struct|enum) (toll_\w+)", header, flags=re.MULTILINE))
    macros = {"TOLL_VERSION", "TOLL_VERSION_NUMBER", "TOLL_INIT", "TOLL_METRICS_BASIC"}
    assert shown == promised | types | macros


def test_check_tells_when_it_is_old(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(api_docs, "REFERENCE", tmp_path / "api.md")
    monkeypatch.setattr(api_docs.sys, "argv", ["api-docs", "--check"])
    assert api_docs.main() == 1 and "run tools/api-docs" in capsys.readouterr().out
    monkeypatch.setattr(api_docs.sys, "argv", ["api-docs"])
    assert api_docs.main() == 0
    monkeypatch.setattr(api_docs.sys, "argv", ["api-docs", "--check"])
    assert api_docs.main() == 0


def test_usage():
    done = subprocess.run([TOOL, "--odd"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage: api-docs [--check]" in done.stdout
