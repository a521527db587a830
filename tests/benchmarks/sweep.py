#!/usr/bin/env python3
"""sweep [NODES [AT_ONCE]]: what a sweep of many nodes costs ReFrame, and how often it asks the scheduler.

ReFrame, checks and judge are real; Slurm's commands are played by a script that counts them. The first job runs the
program, each other one gets what that left, with its own node's name. One node in a hundred is drained, and waits for
nobody. By default 500 nodes, 50 jobs at once.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

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


def measured(command: list[str], environment: dict[str, str]) -> str:
    """Runs a command; what it needed itself, without the programs that it started, in words."""
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
    wall = time.monotonic() - began
    return f"{wall:.0f} s, {seconds:.1f} s of its own processor time, {memory >> 10} MiB, ended with {child.returncode}"


def main() -> None:
    given = [int(word) for word in sys.argv[1:]]
    nodes, at_once = [*given, *(500, 50)[len(given) :]]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prefix = folder / "results"
        environment = {**os.environ, **played(folder / "slurm", nodes), "LINKMATRIX_PREFIX": str(prefix)}
        environment |= {"LINKMATRIX_NODES": "all", "PYTHONPATH": str(REPOSITORY / "reports")}
        settings = str(configuration(folder / "config", at_once) / "settings.py")
        reframe = [str(Path(sys.executable).parent / "reframe"), "-C", settings, "-c", str(REPOSITORY / "checks"), "-R"]
        reframe += ["--system=slurm-example:cpu", "--mode=sweep"]
        print(f"list {nodes} nodes: {measured([*reframe, '-l'], environment)}")
        (folder / "slurm" / "asked").write_text("")
        run = ["-r", "-S", "node_sweep.extra_opts=--samples,7,--size,1MiB"]
        print(f"run, {at_once} jobs at once: {measured([*reframe, *run], environment)}")
        (report,) = (prefix / "reports").glob("run-report-*.json")
        cases = json.loads(report.read_text())["runs"][-1]["testcases"]
        asked = Counter((folder / "slurm" / "asked").read_text().split())
        build = next(case["time_total"] for case in cases if case["name"].startswith("build_"))
        print(f"of that the build: {build:.0f} s of wall time; report: {report.stat().st_size / 1e6:.1f} MB")
        print(f"tests: {dict(Counter(case['result'] for case in cases if not case['fixture']))}")
        print(f"commands of the scheduler: {dict(asked)}; srun and scontrol show hostnames ask no daemon")
        page = [sys.executable, "-m", "linkmatrix", "report", str(report), "--out", str(folder / "page")]
        print(f"page: {measured(page, environment)}")


if __name__ == "__main__":
    main()
