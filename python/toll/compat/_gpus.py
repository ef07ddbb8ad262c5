# SPDX-License-Identifier: MIT
"""Which GPUs a tracker reads: all, whatever this process would see of them."""

from __future__ import annotations

import logging
from typing import Collection, List, Optional, Union

from .._snapshot import snapshot

BRANDS = ("nvidia", "amd")
_LOG = logging.getLogger(__name__)


def _names(gpus: str) -> List[str]:
    return [row.name for row in snapshot(system=True, gpus=gpus).rows if row.entity == "gpu"]


def choose_gpus(
    uuids: Optional[Collection[str]], brand: Optional[str]
) -> Union[str, List[str], None]:
    """As track() takes them; ValueError, before anything runs, when there is no such brand, or no
    GPU with one of these UUIDs, which lists those that there are."""
    if brand not in (None, *BRANDS):
        raise ValueError(f'"{brand}" is not a valid GPU brand. Valid values are "nvidia" and "amd".')
    if uuids is not None:
        if not uuids:
            raise ValueError("gpu_uuids is an empty set; it takes at least one UUID, or None for all")
        chosen = sorted(uuids)
        _names(",".join(chosen))
        return chosen
    there = _names("all")
    if brand is None:
        return "all" if there else None  # nobody has asked for GPUs: not a word when there are none
    found = [name for name in there if name.startswith(brand)]
    if not found:
        _LOG.warning("there is no GPU of %s here", brand)
    return found or "none"
