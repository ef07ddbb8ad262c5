# SPDX-License-Identifier: MIT
"""A training job: loads, then trains three epochs."""
import toll

with toll.phase("load"):
    data = [float(i) for i in range(2_000_000)]
for epoch in range(3):
    with toll.phase("epoch"):
        data = [x * 1.01 for x in data]
