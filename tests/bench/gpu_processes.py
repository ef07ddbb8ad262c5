# SPDX-License-Identifier: MIT
"""gpu_processes.py N GPUS: N sleeping processes that the fake library lists, shared out over GPUS.

Prints its pid when they are there, and waits for a signal that ends it with them."""
import os
import signal
import subprocess
import sys

n, gpus = int(sys.argv[1]), int(sys.argv[2])
sleepers = [subprocess.Popen(["sleep", "1000"]) for _ in range(n)]


def end(*_):
    for sleeper in sleepers:
        sleeper.kill()
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
with open(os.environ["FAKE_NVML"], "a", encoding="ascii") as facts:
    for i, sleeper in enumerate(sleepers):
        facts.write(f"{i % gpus}.compute {sleeper.pid} 1000000\n"
                    f"{i % gpus}.sample {sleeper.pid} 5 1000\n")
    facts.write("once 1\n")  # from here on the fake need not look again
print(os.getpid(), flush=True)
signal.pause()
