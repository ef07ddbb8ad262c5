# SPDX-License-Identifier: MIT
import os
import shutil
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import hostlib  # noqa: E402
import livelib  # noqa: E402


@pytest.fixture(scope="session")
def programs():
    """toll and the helpers where every user can run them."""
    directory = hostlib.shared_directory("toll-live-")
    helpers = hostlib.share(livelib.compiled_helpers(), directory, "helpers")
    yield hostlib.share(os.environ["TOLL"], directory, "toll"), helpers
    shutil.rmtree(directory, ignore_errors=True)


def make_place(user, programs):
    if user == "root" and not livelib.IS_ROOT:
        pytest.skip("the tests are not run by root")
    directory = hostlib.shared_directory("toll-live-")
    return livelib.Place(user, programs[0], programs[1], directory)


def users():
    """With sanitizers as one of them: they find the same in both."""
    if os.environ.get("TOLL_SANITIZED"):
        return ["root" if livelib.IS_ROOT else "nobody"]
    return ["root", "nobody"]


@pytest.fixture(autouse=True)
def state_directory(monkeypatch):
    """Where toll keeps what it could not send: not in the home of whoever runs the tests."""
    directory = hostlib.shared_directory("toll-state-")
    directory.chmod(0o777)
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
    yield directory / "state"
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(params=users())
def place(request, programs):
    """As root, then as an ordinary user."""
    p = make_place(request.param, programs)
    yield p
    shutil.rmtree(p.directory, ignore_errors=True)


@pytest.fixture(scope="module", params=users())
def lasting_place(request, programs):
    """The same, for what all tests of a file look at."""
    p = make_place(request.param, programs)
    yield p
    shutil.rmtree(p.directory, ignore_errors=True)


@pytest.fixture
def here(programs):
    """As whoever runs the tests, for what does not depend on privileges."""
    p = make_place("root" if livelib.IS_ROOT else "nobody", programs)
    yield p
    shutil.rmtree(p.directory, ignore_errors=True)


@pytest.fixture
def nobody(programs):
    """An ordinary user."""
    p = make_place("nobody", programs)
    yield p
    shutil.rmtree(p.directory, ignore_errors=True)
