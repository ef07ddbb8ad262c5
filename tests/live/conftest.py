# SPDX-License-Identifier: MIT
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import livelib  # noqa: E402


@pytest.fixture(scope="session")
def programs():
    """toll and the helpers where every user can run them."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="toll-live-"))
    directory.chmod(0o755)
    helpers = directory / "helpers"
    helpers.mkdir(mode=0o755)
    livelib.compile_helpers(helpers)
    yield livelib.install_toll(directory), helpers
    shutil.rmtree(directory, ignore_errors=True)


def make_place(user, programs):
    if user == "root" and not livelib.IS_ROOT:
        pytest.skip("the tests are not run by root")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="toll-live-"))
    directory.chmod(0o755)
    return livelib.Place(user, programs[0], programs[1], directory)


def users():
    """With sanitizers as one of them: they find the same in both."""
    if os.environ.get("TOLL_SANITIZED"):
        return ["root" if livelib.IS_ROOT else "nobody"]
    return ["root", "nobody"]


@pytest.fixture(params=users())
def place(request, programs):
    """As root, then as an ordinary user."""
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
