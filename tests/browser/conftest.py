# SPDX-License-Identifier: MIT
"""One browser for the tests of a file."""

import pytest

import chromium


@pytest.fixture(scope="module")
def browser():
    started = chromium.Browser()
    yield started
    started.close()
