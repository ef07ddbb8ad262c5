# SPDX-License-Identifier: MIT
"""A file without a name that the sampler writes CSV to and that can be read meanwhile."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List

from ._table import rows_of_csv


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
        return rows_of_csv(data[: data.rfind(b"\n") + 1].decode())

    def close(self) -> None:
        """It is gone."""
        self._file.close()
