# SPDX-License-Identifier: MIT
"""The page of a comparison in a browser. The truth is the same comparison as JSON."""

import json
import os
import subprocess

import pytest

import hostlib

pytestmark = hostlib.needs("chromium")

TOLL = os.environ["TOLL"]
HOSTILE = "</script><img src=x onerror=window.canary=1>\"'&.jsonl"
# Long enough for some samples, and so a curve, on a busy machine, too.
JOB = "import time; x = b'x' * (int('{}') << 20); sum(range(400_000)); time.sleep(0.2)"


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Three runs each, of which the second have more memory: the page and the comparison."""
    place = tmp_path_factory.mktemp("compared")
    for size, name in (("20", "old.jsonl"), ("40", HOSTILE.replace("/", "_"))):
        subprocess.run([TOLL, "run", "-q", "-n", "3", "-i", "5ms", "-o", name, "--",
                        "python3", "-c", JOB.format(size)], check=True, cwd=place)
    words = [TOLL, "compare", "old.jsonl", HOSTILE.replace("/", "_")]
    subprocess.run([*words, "-o", "page.html", "--fail-if", "memory_peak > +1%"], check=False, cwd=place,
                   stderr=subprocess.DEVNULL)
    found = subprocess.run([*words, "--json"], check=True, cwd=place, stdout=subprocess.PIPE)
    return place / "page.html", json.loads(found.stdout)["comparisons"][0]


@pytest.fixture
def page(browser, compared):
    with browser.page() as made:
        yield made.open(compared[0])
        assert made.errors() == []
        assert made.requests() == []
        assert made.run("typeof window.canary") == "undefined"
        assert made.run("document.querySelectorAll('img, script').length") == 0


def test_the_answer_and_its_figures(page, compared):
    assert page.run("document.querySelector('h1').textContent") == compared[1]["sentence"]
    assert page.run("document.querySelectorAll('h1').length") == 1
    shown = page.run("[...document.querySelectorAll('tr.shown')].map(e => e.cells.length)")
    assert len(shown) == sum(f["result"] == "different" for f in compared[1]["figures"])
    assert set(shown) == {7}
    assert "memory_peak was " in page.run("document.querySelector('li.problem').textContent")
    assert page.run("document.querySelectorAll('.cards div').length") == 3


def test_the_picture_of_a_change_is_where_its_interval_is(page, compared):
    """To the right of 0 where the second group has more, and its ends in proportion."""
    figure = next(f for f in compared[1]["figures"] if f["figure"] == "memory_peak_bytes")
    low, high = (figure["interval"][end] / figure["baseline"]["mean"] for end in ("low", "high"))
    x1, x2, at, zero = page.run("""(() => {
        const row = [...document.querySelectorAll('.compare tr')].find(
            e => e.cells[0].textContent == 'Peak memory');
        const x = (name, key) => parseFloat(row.querySelector('svg ' + name).getAttribute(key));
        return [x('.span', 'x1'), x('.span', 'x2'), x('.dot', 'cx'), x('.zero', 'x1')];
    })()""")
    assert zero == 50 < x1 <= at <= x2 <= 98
    middle = figure["change_ratio"]
    assert (x2 - zero) / (at - zero) == pytest.approx(high / middle, rel=0.05)
    assert (x1 - zero) / (at - zero) == pytest.approx(low / middle, rel=0.05)


def test_curves_of_both_groups(page):
    curves = page.run("""[...document.querySelectorAll('figure')].map(f => [0, 1].map(
        i => f.querySelectorAll('polyline.curve.c' + i).length))""")
    assert len(curves) == 2
    assert all(old >= 3 and new >= 3 for old, new in curves)
    assert page.run("[...document.querySelectorAll('svg.chart')].every(e => e.ariaLabel)")


def test_contrast_in_both_schemes(page):
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        found = page.contrasts()
        assert len(found) > 60
        assert [each for each in found if each[0] < each[1]] == []


def test_fits_a_phone(page):
    for width in (768, 390, 320):
        page.resize(width, 800)
        page.drawn()
        assert page.run("document.documentElement.scrollWidth") <= width
    # Cells have no heading above them then, but in front of them.
    heading = page.run("getComputedStyle(document.querySelector('td[data-is=change]'), '::before').content")
    assert "change" in heading or "attr(data-is)" in heading
