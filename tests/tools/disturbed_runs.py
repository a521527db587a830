"""Measures the verdicts of linkmatrix with and without another process on the machine.

    python tests/tools/disturbed_runs.py .build/all/p2p_matrix other_process --out results

The tool adopts references from six undisturbed runs. It then measures without another process, and with one in each of
several modes. Correct results have no FAIL and no flag, and name the pid of each disturbing process. A step that fails
is reported, and the next one starts. OUT gets summary.json, references.yaml, log.txt and records.tar.xz. Machines
without GPUs run the modes that use the processor, on the host back end.
"""

import argparse
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from collections import Counter
from pathlib import Path

from disturbed_lab import QUICK, RANK_TESTCASE, REPOSITORY, TABLE, Lab, Load

REFERENCES = 6  # runs
MOST_FILE = 4 << 20  # bytes of a file that is kept
KEPT = (".json", ".yaml", ".log", ".txt", "")
MOST_TEXT = 120  # characters behind the columns of the table
GPU1 = ("--gpu", "1")

LOADS = (
    Load("spin", ("spin", *GPU1)),
    Load("local-copies", ("local-copies", *GPU1)),
    Load("peer-read", ("peer-read", "--gpu", "0", "--peer", "1")),
    Load("memory", ("memory", *GPU1)),
    Load("peer-copies", ("peer-copies", "--gpu", "0", "--peer", "1")),
    Load("host-to-device", ("host-to-device", *GPU1)),
    Load("device-to-pageable", ("device-to-pageable", *GPU1)),
    Load("bursts", ("bursts", *GPU1)),
    Load("context", ("context", *GPU1)),
    Load("changing-context", ("changing-context", *GPU1)),
    Load("small-kernels", ("small-kernels", *GPU1)),
    Load("all-cores", ("all-cores",), gpus=0),
    Load("one-core", ("one-core", "--core", "0"), gpus=0),
    Load("host-copies", ("host-copies",), gpus=0),
    Load("spin-late", ("spin", *GPU1, "--after", "1.2"), late=True),
    Load("spin-short", ("spin", *GPU1, "--seconds", "1.2")),
    Load("spin-namespace", ("spin", *GPU1), namespace=True),
    Load("memory-short", ("memory", *GPU1, "--seconds", "1.2")),
    Load("all-cores-late", ("all-cores", "--after", "1.0"), gpus=0, late=True),
    Load("all-cores-namespace", ("all-cores",), gpus=0, namespace=True),
)
COLUMNS = "{:28} {:12} {:>5} {:>5} {:>5} {:>6} {:>6}  {}"


def row(run: dict | None, name: str) -> str:
    """A row of the printed table."""
    if run is None:
        return COLUMNS.format(name, "not run", "", "", "", "", "", "no time left")
    cells, show = run.get("cells", {}), run.get("show", {})
    named = run.get("named", "?") if run["pid"] else "-"
    found = [*run.get("flagged", ())[:2], *run.get("disturbed", ())[:4]]
    if not found and run.get("verdict") != "PASS":
        found = [*run.get("marked", ())[:1], *run.get("reasons", ())[:1], run.get("error", "")]
    summary = "; ".join(filter(None, found))[:MOST_TEXT]
    counts = cells.get("FAIL", 0), len(run.get("flagged", ()))
    return COLUMNS.format(
        name, run.get("verdict", "?"), *counts, named, show.get("code", ""), f"{run['seconds']:.1f}", summary
    )


HEADING = COLUMNS.format("run", "verdict", "FAIL", "flags", "named", "exit", "s", "flagged; disturbances in the record")


def table(lab: Lab, runs: dict[str, dict | None]) -> dict[str, dict | None]:
    """Judge measurements, and print a row for each."""
    there = [run for run in runs.values() if run]
    for run in there:
        lab.judge(run)
    lab.show_all(there)
    print(HEADING)
    for name, run in runs.items():
        print(row(run, name), flush=True)
    return runs


def adopted(lab: Lab, options: argparse.Namespace) -> dict[str, object]:
    """Adopt references from undisturbed runs into the site of the later steps."""
    made = lab.linkmatrix("init", lab.site)
    if made.code:
        raise RuntimeError(f"linkmatrix init failed: {made.output[-500:]}")
    generic = lab.site / "config" / "systems" / "generic.py"
    text = (REPOSITORY / "config" / "systems" / "generic.py").read_text()
    generic.write_text(f'{text}\nsystem["partitions"][0]["extras"]["reference"] = "{TABLE}"\n')
    runs = [lab.measure("reference") for _ in range(REFERENCES)]
    folders = [lab.folder / "runs" / str(run["name"]) for run in runs if run]
    words = ["adopt", *folders, "--table", TABLE, "--file", lab.references / "p2p.yaml", "--write"]
    done = lab.linkmatrix(*words, limit=90)
    if done.code:
        print(f"adopt refused: {done.output[-1500:]}")
        for testcase in (*QUICK, RANK_TESTCASE):  # one that is too noisy keeps no other from its references
            lab.linkmatrix(*words, "--testcase", testcase, "--with-outliers", "--as-is", "a test of other processes")
    tell_program(lab)
    return {"init": made.code, "adopt": done.code, "output": done.output[-3000:], "runs": runs}


def tell_program(lab: Lab) -> None:
    """Write the file for the program's option --references, as a check does."""
    os.environ["RFM_REFERENCE_PREFIX"] = str(lab.references)
    from linkmatrix.references.tables import References, program_references

    cases = [case for case in References.load(lab.references).testcases(TABLE) if not case.startswith("rank_")]
    lines = [line for case in cases for line in program_references("intranode_p2p", TABLE, case)]
    if lines:
        (lab.folder / "references.tsv").write_text("".join(f"{line}\n" for line in lines))


def undisturbed(lab: Lab, options: argparse.Namespace) -> dict[str, object]:
    """Measure without another process: the verdicts of healthy runs."""
    runs = [run for run in (lab.measure("undisturbed") for _ in range(options.undisturbed)) if run]
    table(lab, {str(run["name"]): run for run in runs})
    verdicts = Counter(str(run.get("verdict")) for run in runs)
    print(f"undisturbed: {dict(verdicts)} of {len(runs)} runs", flush=True)
    return {"verdicts": dict(verdicts), "runs": runs}


def disturbed(lab: Lab, options: argparse.Namespace) -> dict[str, object]:
    """Measure with one other process in each mode."""
    loads = [load for load in LOADS if load.gpus <= lab.gpus]
    runs = table(lab, {load.name: lab.measure(load.name, load) for load in loads})
    there = [run for run in runs.values() if run]
    failed = sum(run.get("cells", {}).get("FAIL", 0) for run in there)
    flags = sum(len(run.get("flagged", ())) for run in there)
    named = sum(run.get("named") == "pid" for run in there)
    print(f"disturbed: {failed} FAIL cells, {flags} flags, {named} of {len(there)} processes named by pid", flush=True)
    return runs


STEPS = {
    "references": adopted,
    "disturbed": disturbed,
    "undisturbed": undisturbed,
}


def keep(lab: Lab, summary: dict[str, object], out: Path) -> None:
    """Write the results into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "summary.json").write_text(json.dumps(summary, indent=1, default=str) + "\n")
    for path, name in ((lab.references / "p2p.yaml", "references.yaml"), (lab.folder / "log.txt", "log.txt")):
        if path.exists():
            shutil.copyfile(path, out / name)


def keep_records(lab: Lab, out: Path) -> None:
    """Pack records, reports and outputs of all runs."""
    with tarfile.open(out / "records.tar.xz", "w:xz", preset=3) as archive:
        for path in sorted((lab.folder / "runs").rglob("*")):
            if path.is_file() and not path.is_symlink() and path.suffix in KEPT:
                archive.add(path, path.relative_to(lab.folder), filter=small)


def small(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """The member of an archive; None for a program or a large file."""
    return None if member.size > MOST_FILE or member.mode & 0o100 else member


def gpu_count(lab: Lab) -> int:
    """The number of GPUs that the driver reports."""
    listed = lab.run(["nvidia-smi", "-L"], 60)
    return sum(line.startswith("GPU ") for line in listed.output.splitlines()) if listed.code == 0 else 0


def options_of(words: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="p2p_matrix, with MPI, and CUDA where there are GPUs")
    parser.add_argument("other", type=Path, help="other_process, built from tests/tools/other_process.cu")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    work = Path(tempfile.gettempdir()) / "linkmatrix-disturbed"
    parser.add_argument("--work", type=Path, default=work, help=f"folder outside this clone, emptied first ({work})")
    parser.add_argument("--undisturbed", type=int, default=30, metavar="N", help="undisturbed runs (default: 30)")
    parser.add_argument("--steps", default=",".join(STEPS), help="which, with commas (default: all)")
    parser.add_argument("--seconds", type=float, default=1e6, help="after which no further run starts")
    options = parser.parse_args(words)
    if unknown := set(options.steps.split(",")) - STEPS.keys():
        parser.error(f"--steps has no {', '.join(sorted(unknown))}: use {', '.join(STEPS)}")
    return options


def main(words: list[str]) -> int:
    """Run the steps. Returns exit code 1 if a step failed."""
    options = options_of(words)
    started = time.monotonic()
    work = options.work.resolve()
    steps = options.steps.split(",")
    if "references" in steps:
        shutil.rmtree(work, ignore_errors=True)
    (work / "runs").mkdir(parents=True, exist_ok=True)
    modules = os.pathsep.join(filter(None, [str(REPOSITORY / "reports"), os.environ.get("PYTHONPATH")]))
    environment = {"PYTHONPATH": modules, "NO_COLOR": "1"}
    if os.geteuid() == 0:
        environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    lab = Lab(options.program.resolve(), options.other.resolve(), work, 0, started + options.seconds, environment)
    lab.gpus = gpu_count(lab)
    summary: dict[str, object] = {"gpus": lab.gpus, "command": words, "cores": os.cpu_count(), "steps": {}}
    failed = False
    for name in steps:
        begun = time.monotonic()
        print(f"\n== {name}: {begun - started:.0f} s after the start", flush=True)
        try:
            result = STEPS[name](lab, options)
        except Exception as error:  # the next step runs all the same
            failed, result = True, {"error": f"{type(error).__name__}: {error}"}
            print(result["error"], flush=True)
        summary["steps"][name] = {"seconds": round(time.monotonic() - begun, 1), "result": result}
        keep(lab, summary, options.out)
    keep_records(lab, options.out)
    print(f"\n{time.monotonic() - started:.0f} s: {options.out}/summary.json", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "reports")]
    sys.exit(main(sys.argv[1:]))
