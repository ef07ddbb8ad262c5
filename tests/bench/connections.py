# SPDX-License-Identifier: MIT
"""connections.py N: a process with N connected TCP sockets on the loopback interface.

Prints its pid when they are there, and waits for a signal that ends it."""
import os
import signal
import socket
import sys

n = int(sys.argv[1])
listener = socket.create_server(("127.0.0.1", 0), backlog=n)
kept = []
for _ in range(n // 2):
    kept.append(socket.create_connection(listener.getsockname()))
    kept.append(listener.accept()[0])
listener.close()
print(os.getpid(), flush=True)
signal.pause()
