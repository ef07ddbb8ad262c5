# SPDX-License-Identifier: MIT
"""A report that can be looked at."""

from __future__ import annotations

import webbrowser
from tempfile import NamedTemporaryFile


class Report(str):
    """A report in HTML."""

    def save(self, filepath: str) -> "Report":
        """Into a file."""
        with open(filepath, "w", encoding="utf-8") as file:
            file.write(self)
        return self

    def browse(self) -> "Report":
        """In the browser."""
        with NamedTemporaryFile("w", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self)
        webbrowser.open(f"file://{file.name}")
        return self
