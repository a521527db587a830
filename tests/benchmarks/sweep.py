#!/usr/bin/env python3
"""sweep [NODES…] [--at-once N] [--without report]: what a session of a test for each of many simulated nodes costs.

ReFrame, checks and judge are real; Slurm's commands are played by a script that counts them, and so are the nodes: the
first job runs the program, each other one gets what that left, with its own node's name. One node in a hundred is
drained, and waits for nobody. By default 50, 150, 500 and 1,000 nodes, 50 jobs at once. Of each command its wall-clock
time, its processor time without that of the programs that it started, and its memory at most.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
DRAINED = 100  # one of so many
PLAYED = """#!/bin/sh
name=$(basename "$0")
echo "$name" >>"$PLAYED/asked"
case $name in
sinfo) cat "$PLAYED/nodes" ;;
srun)
  while [ "${1#-}" != "$1" ]; do shift; done
  exec "$@"
  ;;
scontrol) echo "$3" ;;
squeue) ;;
sacct)
  for word; do case $word in [0-9]*,* | [0-9]*) ids=$word ;; esac; done
  for id in $(echo "$ids" | tr , ' '); do
    [ -e "$PLAYED/jobs/$id" ] && echo "$id|COMPLETED|0:0|$(date +%s)|$(cat "$PLAYED/jobs/$id")"
  done
  true
  ;;
sbatch)
  script=$1
  for word; do script=$word; done
  node=$(sed -n 's/^#SBATCH --nodelist=//p' "$script")
  if [ ! -e "$PLAYED/first" ]; then
    sh "$script" >rfm_job.out 2>rfm_job.err
    cp -r process1 "$PLAYED/first"
    sed -i "s/\\"$(hostname -s)\\"/\\"NODE\\"/g; s/%node=[a-z0-9]*/%node=NODE/g" "$PLAYED/first/record.json"
  else
    cp -r "$PLAYED/first" process1
    : >rfm_job.out; : >rfm_job.err
  fi
  sed "s/NODE/$node/g" "$PLAYED/first/record.json" >process1/record.json
  id=$(($(ls "$PLAYED/jobs" | wc -l) + 1))
  echo "$node" >"$PLAYED/jobs/$id"
  echo "Submitted batch job $id"
  ;;
esac
"""


class Cost(NamedTuple):
    """Wall-clock seconds, seconds of processors, MiB, exit code."""

    wall: float
    seconds: float
    memory: int
    code: int


def played(folder: Path, nodes: int) -> dict[str, str]:
    """The environment in which the commands of Slurm are the script above."""
    (folder / "bin").mkdir(parents=True)
    (folder / "jobs").mkdir()
    program = folder / "bin" / "played"
    program.write_text(PLAYED)
    program.chmod(0o755)
    for name in ("sinfo", "sbatch", "sacct", "squeue", "scontrol", "scancel", "srun"):
        (folder / "bin" / name).symlink_to(program)
    states = [f"cpu*|n{node:04d}|" + ("idle|none" if node % DRAINED else "drained|fan") for node in range(1, nodes + 1)]
    (folder / "nodes").write_text("\n".join(states) + "\n")
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PLAYED": str(folder)}


def configuration(folder: Path, at_once: int) -> Path:
    """The shipped one, with so many jobs at once on the example's partition."""
    shutil.copytree(REPOSITORY / "config", folder)
    file = folder / "systems" / "slurm_example.py"
    file.write_text(file.read_text().replace('"max_jobs": 4', f'"max_jobs": {at_once}'))
    return folder


def measured(command: list[str], environment: dict[str, str]) -> Cost:
    """Runs a command; what it needed itself, without the programs that it started."""
    began, ticks, memory = time.monotonic(), 0, 0
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    while child.poll() is None:
        try:
            words = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
            ticks = int(words[11]) + int(words[12])
            status = Path(f"/proc/{child.pid}/status").read_text()
            memory = max([memory, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))])
        except (OSError, IndexError):
            pass
        time.sleep(0.05)
    seconds = ticks / os.sysconf("SC_CLK_TCK")
    return Cost(time.monotonic() - began, seconds, memory >> 10, child.returncode)


def costs(nodes: int, asked_for: argparse.Namespace, folder: Path) -> Iterator[tuple[str, Cost]]:
    """What each command on a session of so many nodes costs; prints what came of the session."""
    prefix = folder / "results"
    environment = {**os.environ, **played(folder / "slurm", nodes), "LINKMATRIX_PREFIX": str(prefix)}
    environment |= {"LINKMATRIX_NODES": "all", "PYTHONPATH": str(REPOSITORY / "reports")}
    settings = str(configuration(folder / "config", asked_for.at_once) / "settings.py")
    reframe = [str(Path(sys.executable).parent / "reframe"), "-C", settings, "-c", str(REPOSITORY / "checks"), "-R"]
    reframe += ["--system=slurm-example:cpu", "--mode=sweep"]
    yield "list", measured([*reframe, "-l"], environment)
    (folder / "slurm" / "asked").write_text("")
    yield "run", measured([*reframe, "-r", "-S", "node_sweep.extra_opts=--samples,7,--size,1MiB"], environment)
    (report,) = (prefix / "reports").glob("run-report-*.json")
    cases = json.loads(report.read_text())["runs"][-1]["testcases"]
    asked = Counter((folder / "slurm" / "asked").read_text().split())
    build = next(case["time_total"] for case in cases if case["name"].startswith("build_"))
    print(f"of that the build: {build:.0f} s of wall time; report: {report.stat().st_size / 1e6:.1f} MB")
    print(f"tests: {dict(Counter(case['result'] for case in cases if not case['fixture']))}")
    print(f"commands of the scheduler: {dict(asked)}; srun and scontrol show hostnames ask no daemon", flush=True)
    for verb, *options in (["show"], ["diagnose"], ["history"], ["report", "--out", str(folder / "page")]):
        if verb not in asked_for.without:
            yield verb, measured([sys.executable, "-m", "linkmatrix", verb, str(report), *options], environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", nargs="*", type=int, default=[50, 150, 500, 1_000])
    parser.add_argument("--at-once", type=int, default=50, metavar="N", help="jobs at once; default: 50")
    parser.add_argument("--without", action="append", default=[], metavar="COMMAND", help="that is not measured")
    asked = parser.parse_args()
    last: dict[str, tuple[int, float]] = {}
    for nodes in sorted(asked.nodes):
        with tempfile.TemporaryDirectory() as place:
            for name, cost in costs(nodes, asked, Path(place)):
                said = f"{nodes:5d} simulated nodes, {name:9s}{cost.wall:6.0f} s, {cost.seconds:6.1f} s of processors, "
                said += f"{cost.memory:4d} MiB, exit {cost.code}"
                if name in last:
                    before, seconds = last[name]
                    said += f", {cost.seconds / seconds:.2f} times the time for {nodes / before:.2f} times the nodes"
                last[name] = nodes, cost.seconds
                print(said, flush=True)


if __name__ == "__main__":
    main()
