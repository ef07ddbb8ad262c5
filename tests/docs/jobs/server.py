# SPDX-License-Identifier: MIT
"""Uses a little CPU time until it is ended, at most ten minutes."""
import os
import time

with open("server.pid", "w", encoding="utf-8") as file:
    print(os.getpid(), file=file)
for _ in range(6000):
    sum(range(200_000))
    time.sleep(0.1)
