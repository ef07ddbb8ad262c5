# SPDX-License-Identifier: MIT
"""A file without a name that the sampler writes CSV to and that can be read meanwhile."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from typing import Any, Dict, List


class RowsFile:
    """Nothing of it is left behind, whatever happens to the program."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()

    @property
    def path(self) -> str:
        """For an output; the process that made it may open it."""
        return f"/proc/self/fd/{self._file.fileno()}"

    def rows(self) -> List[Dict[str, Any]]:
        """Those that are there whole; what is not known is None."""
        size = os.fstat(self._file.fileno()).st_size
        data = os.pread(self._file.fileno(), size, 0)
        text = data[: data.rfind(b"\n") + 1].decode()
        reader = csv.DictReader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONNUMERIC)
        return [{name: None if cell == "" else cell for name, cell in row.items()} for row in reader]

    def close(self) -> None:
        """It is gone."""
        self._file.close()
