# SPDX-License-Identifier: MIT
"""Which GPUs a tracker reads: all, whatever this process would see of them."""

from __future__ import annotations

import logging
import re
from typing import Collection, List, Optional, Tuple, Union

from .._snapshot import snapshot

BRANDS = ("nvidia", "amd")
_LOG = logging.getLogger(__name__)


def _names(gpus: str) -> List[str]:
    return [row.name for row in snapshot(system=True, gpus=gpus).rows if row.entity == "gpu"]


def choose_gpus(
    uuids: Optional[Collection[str]], brand: Optional[str], is_quiet: bool = False
) -> Tuple[Union[str, List[str], None], List[str]]:
    """Those to read, as track() takes them, and those whose utilisation counts, none for all.

    ValueError, before anything runs, when there is no such brand, or no GPU with one of these UUIDs,
    which lists those that there are. Where there is no GPU at all, no UUID is wrong."""
    if brand not in (None, *BRANDS):
        raise ValueError(
            f'"{brand}" is not a valid GPU brand. Supported values are "nvidia" and "amd".'
        )
    there = _names("all")
    chosen = sorted(set(uuids)) if uuids is not None and there else []
    if uuids is not None and not there and not is_quiet:
        _LOG.warning("gpu_uuids: no effect, no GPU was found; GPU values remain 0.0")
    if uuids is not None and there:
        _check_uuids(chosen)
    if brand is None:
        # Where GPUs are not asked for and there are none, that is no news.
        return "all" if there else None, chosen
    found = [name for name in there if name.startswith(brand)]
    if not found and not is_quiet:
        _LOG.warning("gpu_brand: no GPU of %s was found", brand)
    return found or "none", chosen


def _check_uuids(chosen: List[str]) -> None:
    if not chosen:
        raise ValueError(
            "gpu_uuids is not None but the set is empty. Please provide a set of at least one GPU UUID."
        )
    try:
        _names(",".join(chosen))
    except ValueError as error:
        found = re.search(r"no GPU '([^']*)'; available: (.*)", str(error))
        if not found:
            raise
        uuids = ", ".join(sorted(re.findall(r"\(([^)]*)\)", found[2])))
        raise ValueError(f"GPU UUID of {found[1]} is not valid. Available UUIDs are: {uuids}") from None
