"""The Slurm cluster of the tests as a place for chaos.py, and what happens to nodes, network and controller there."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import ClassVar

import chaos_events
from chaos_events import CUT, SHAPES, Event, carries, ip, straight
from chaos_place import REPOSITORY, Place, Run, kill, wait_until

CLUSTER = REPOSITORY / "tests" / "integration" / "slurm" / "cluster"
NODES = 3
AWAY = (0, 15)  # seconds that the controller is away


class LabPlace(Place):
    """Runs are started on this machine, the login node, and measure on the nodes."""

    system_file = "slurm_example.py"
    options = ("--system=slurm-example:cpu",)
    extras: ClassVar[dict[str, object]] = {"shared_cores": True}  # its nodes are all of one machine

    @property
    def base(self) -> Path:
        return self.folder / "cluster"

    def prepare(self) -> None:
        self.environment = {"SLURM_CONF": str(self.base / "etc" / "slurm.conf")}
        with (self.folder / "cluster.log").open("w") as log:  # its daemons keep a pipe open
            # the database has a user of its own, who may not write where this one does
            environ = {name: value for name, value in os.environ.items() if name != "TMPDIR"}
            words, nothing = [CLUSTER, "up", self.base, str(NODES)], subprocess.DEVNULL
            done = subprocess.run(words, env=environ, stdin=nothing, stdout=log, stderr=log, timeout=180, check=False)
        if done.returncode:
            logs = [self.folder / "cluster.log", *sorted((self.base / "log").glob("*"))]
            raise SystemExit("chaos: no cluster\n" + "\n".join(f"{log}: {log.read_text()[-400:]}" for log in logs))
        super().prepare()

    def finish(self) -> None:
        super().finish()
        done = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([CLUSTER, "down", self.base], timeout=180, check=False, **done)

    def slurm(self, *words: str) -> str:
        done = subprocess.run(words, env=self.variables(), capture_output=True, text=True, timeout=60, check=False)
        return done.stdout.strip()

    def controller(self, number: int) -> None:
        kill(int((self.base / "run" / "slurmctld.pid").read_text()), number)

    def controller_starts(self) -> None:
        """Its port is free a little after the one before has ended. It has the right clock, and is none of a run's."""
        runs = ("LD_PRELOAD", "LINKMATRIX_PREFIX")
        environment = {name: value for name, value in self.variables().items() if name not in runs}

        def started() -> bool:
            return not subprocess.run(["slurmctld"], env=environment, stdin=subprocess.DEVNULL, check=False).returncode

        wait_until(started, 20)

    def straighten(self) -> None:
        """Links carry all at once; jobs that outlived their run are a note, and cancelled; all nodes are idle."""
        for node in range(1, NODES + 1):
            ip("link", "set", f"lmxv{node}", "up")
            straight(f"lmxv{node}")
        if not wait_until(lambda: not self.slurm("squeue", "-h", "-o", "%i"), self.bound):
            self.notes.append(f"jobs were left: {self.slurm('squeue', '-h', '-o', '%j %T %r')}")
            self.slurm("scancel", "--state=PENDING", "--me")
            self.slurm("scancel", "--state=RUNNING", "--me")

        def idle() -> bool:
            return len(self.slurm("sinfo", "-h", "-N", "-p", "cpu", "-t", "idle", "-o", "%N").split()) == NODES

        if not wait_until(idle, 60):
            self.slurm("scontrol", "update", "NodeName=ALL", "State=RESUME")
            wait_until(idle, 60)


def one_node(place: Place) -> str:
    return f"lmxv{place.dice.randint(1, NODES)}"


def cut_link(place: Place, run: Run) -> str:
    node, seconds = one_node(place), place.dice.uniform(*CUT)
    ip("link", "set", node, "down")
    time.sleep(seconds)
    ip("link", "set", node, "up")
    return f"{node} for {seconds:.0f} s"


def shaped_link(place: Place, run: Run) -> str:
    node, shape = one_node(place), place.dice.choice(SHAPES)
    carries(node, shape)
    return f"{node}: {shape}"


def restarted_controller(place: Place, run: Run) -> str:
    assert isinstance(place, LabPlace)
    number, seconds = place.dice.choice((signal.SIGTERM, signal.SIGKILL)), place.dice.uniform(*AWAY)
    place.controller(number)
    time.sleep(seconds)
    place.controller_starts()
    return f"{number.name}, away for {seconds:.0f} s"


LAB: dict[str, Event] = {
    **chaos_events.HERE,
    "cut link": cut_link,
    "shaped link": shaped_link,
    "restarted slurmctld": restarted_controller,
}
