# SPDX-License-Identifier: MIT
"""A cluster of Slurm with one node, this machine: munged, MariaDB, slurmdbd, slurmctld and slurmd on
the loopback device, without systemd, with all of their files in one directory."""
import contextlib
import os
import secrets
import socket
import subprocess

import hostlib
import pytest
from livelib import Process, until

# Of all of them, munged refuses a socket below a directory that others may write to.
PROGRAMS = ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd", "srun")

DATABASE = """AuthType=auth/munge
AuthInfo=socket={d}/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={mysql}
StorageUser=slurm
StoragePass=unused
StorageLoc=slurm_acct
PidFile={d}/slurmdbd.pid
"""
# A node of four CPUs, however many there are.
CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={d}/munge.sock
SlurmctldPort={ctld}
SlurmdPort={slurmd}
StateSaveLocation={d}/state
SlurmdSpoolDir={d}/spool
SlurmctldPidFile={d}/slurmctld.pid
SlurmdPidFile={d}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStoragePass={d}/munge.sock
ReturnToService=2
KillWait=30
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    def __init__(self, directory):
        self.directory = directory
        self.env = {**os.environ, "SLURM_CONF": str(directory / "slurm.conf")}

    def call(self, *command, check=True):
        done = subprocess.run(command, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, *command):
        """Of sacct or sstat."""
        heading, *rows = (line.split("|") for line in self.call(*command, "--parsable2").splitlines())
        return [dict(zip(heading, row)) for row in rows]


def set_up_database(directory):
    """The tables of MariaDB itself, as its installation makes them."""
    (directory / "db/mysql").mkdir(parents=True)
    tables = ["CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n"]
    for name in ("mysql_system_tables", "mysql_performance_tables", "mysql_system_tables_data"):
        with open(f"/usr/share/mysql/{name}.sql", encoding="utf-8") as file:
            tables.append(file.read())
    subprocess.run(["mariadbd", "--no-defaults", "--user=root", "--bootstrap", f"--datadir={directory}/db",
                    "--lc-messages-dir=/usr/share/mysql"], input="".join(tables), text=True,
                   capture_output=True, check=True, timeout=120)


@contextlib.contextmanager
def cluster():
    """A Cluster that accepts jobs, until the block ends."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    hostlib.skip_without(*PROGRAMS)
    with hostlib.shared_place("toll-slurm-") as directory, contextlib.ExitStack() as stack:
        one = Cluster(directory)
        ctld, slurmd, dbd, mysql = free_ports(4)
        names = {"d": directory, "host": socket.gethostname().split(".")[0], "ctld": ctld, "slurmd": slurmd,
                 "dbd": dbd, "mysql": mysql}
        for name in ("state", "spool"):
            (directory / name).mkdir()
        for name, text in (("slurm.conf", CONFIGURATION), ("slurmdbd.conf", DATABASE)):
            (directory / name).write_text(text.format(**names))
            (directory / name).chmod(0o600 if name == "slurmdbd.conf" else 0o644)
        key = directory / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        set_up_database(directory)

        def start(*command):
            log = stack.enter_context(open(directory / f"{command[0]}.log", "wb"))
            process = stack.enter_context(Process(command, env=one.env, stdin=subprocess.DEVNULL, stdout=log,
                                                  stderr=log, cwd=directory))
            stack.callback(process.terminate)
            return process

        def wait(process, condition, what):
            until(lambda: process.poll() is not None or condition(), what)
            text = (directory / f"{process.args[0]}.log").read_text(errors="replace")
            assert process.poll() is None, f"{what}: {text[-2000:]}"

        def listens(port):
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0

        munged = start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={directory}/munge.sock",
                       f"--pid-file={directory}/munged.pid", f"--seed-file={directory}/seed",
                       f"--log-file={directory}/munge.log")
        wait(munged, (directory / "munge.sock").exists, "munged")
        mariadb = start("mariadbd", "--no-defaults", "--user=root", f"--datadir={directory}/db",
                        f"--socket={directory}/db.sock", "--bind-address=127.0.0.1", f"--port={mysql}",
                        "--skip-grant-tables", f"--pid-file={directory}/db.pid")
        wait(mariadb, lambda: listens(mysql), "MariaDB")
        wait(start("slurmdbd", "-D"), lambda: listens(dbd), "slurmdbd")
        wait(start("slurmctld", "-D"), lambda: listens(ctld), "slurmctld")
        node = start("slurmd", "-D")
        wait(node, lambda: "idle" in one.call("sinfo", "-h", "-o", "%T", check=False), "a node that is idle")
        until(lambda: "test" in one.call("sacctmgr", "-n", "list", "cluster", "format=cluster", check=False),
              "the cluster in the accounting")
        yield one
