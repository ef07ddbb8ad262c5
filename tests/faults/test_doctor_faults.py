# SPDX-License-Identifier: MIT
"""toll doctor while calls fail: it says what it can, or one sentence; it never crashes, and never
calls a check ok that it could not make."""

import json
import os
import subprocess

import fixturelib
import pytest

TOLL = os.environ["TOLL"]
FAULTS = os.path.join(os.environ["TOLL_BUILD"], "tests", "fakes", "faults.so")
MACHINE = fixturelib.machines() / "desktop"

TIMEOUT = 120  # no run takes this long; a hang would
EVERY_CALL_UP_TO = 24

ENVIRONMENT = {
    **os.environ,
    "LD_PRELOAD": FAULTS,
    # No abort: toll holds a thread that aborts, and the sanitizer ends with a status of its own.
    "ASAN_OPTIONS": "abort_on_error=0:verify_asan_link_order=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
}


@pytest.fixture(autouse=True)
def library():
    if not os.path.exists(FAULTS):
        pytest.skip("faults.so was not built")


def doctor(tmp_path, fault, *words):
    fired = tmp_path / "fired"
    fired.unlink(missing_ok=True)
    done = subprocess.run(
        [TOLL, "doctor", *words],
        env=ENVIRONMENT | {"TOLL_FAULT": fault, "TOLL_FAULT_FIRED": str(fired)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return done, fired.exists()


def is_the_sanitizers(done):
    """A thread that begins without memory is more than the address sanitizer itself can bear."""
    return "TOLL_SANITIZED" in os.environ and "CHECK failed" in done.stderr and (
        "AsanThread::Init" in done.stderr)


def states(text):
    return {check["name"]: check["state"] for check in json.loads(text)["checks"]}


@pytest.mark.parametrize("kind", ["malloc", "calloc", "realloc", "open", "read", "pread", "write"])
@pytest.mark.parametrize("suffix", ["", "+"])
def test_recorded_machine(tmp_path, kind, suffix):
    """Of a machine that never changes: less may be found, more never."""
    words = ["--root", str(MACHINE), "--json"]
    done, _ = doctor(tmp_path, "fork:1", *words)
    best = states(done.stdout)
    n, fires = 1, True
    while fires:
        done, fires = doctor(tmp_path, f"{kind}:{n}{suffix}", *words)
        assert done.returncode in (0, 125), f"{kind}:{n}{suffix} {done.stderr}"
        if done.returncode == 125:
            assert done.stderr.startswith("toll: ") and done.stderr.count("\n") == 1, done.stderr
        else:
            found = states(done.stdout)
            assert list(found) == list(best)
            worse = {name for name, state in found.items() if state != best[name]}
            assert all(found[name] != "ok" or best[name] == "ok" for name in worse), (n, worse)
            assert fires or not worse
        n += 1 if n < EVERY_CALL_UP_TO else n // 10


@pytest.mark.parametrize("kind", ["malloc", "calloc", "realloc", "open", "read", "pread"])
def test_this_machine(tmp_path, kind):
    n, fires = 1, True
    while fires:
        done, fires = doctor(tmp_path, f"{kind}:{n}+")
        if not is_the_sanitizers(done):
            assert done.returncode in (0, 125), f"{kind}:{n} {done.stderr}"
            assert done.returncode == 0 or done.stderr.count("\n") == 1
        n += 1 if n < EVERY_CALL_UP_TO else n // 10
