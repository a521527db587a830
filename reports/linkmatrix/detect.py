"""What this machine is, written down as a system file and a devices.json that ReFrame reads.

Only what was found is promised: a machine whose GPUs do not all have the same link class gets no promise about links.
"""

import json
import os
import re
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from .errors import BadInput

TIMEOUT_S = 60  # nvidia-smi needs some ten seconds on a node of 8 GPUs without persistence mode
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # nvidia-smi underlines the head line, even in a pipe
QUERY = ["nvidia-smi", "--query-gpu=index,name,uuid,pci.bus_id,compute_cap", "--format=csv,noheader"]
# the first whose command is on PATH: (command, ReFrame's scheduler, its launcher)
SCHEDULERS = [("sbatch", "slurm", "srun"), ("qsub", "pbs", "mpirun")]


@dataclass(frozen=True)
class Gpu:
    """One line of nvidia-smi: `capability` is the compute capability, "9.0"."""

    index: int
    name: str
    uuid: str
    pci: str
    capability: str

    @property
    def arch(self) -> str:
        """The architecture in ReFrame's words: "sm_90"."""
        return "sm_" + self.capability.replace(".", "")


@dataclass(frozen=True)
class Machine:
    """What was found. link_class is the one that all pairs of GPUs share, None where there is no such class."""

    host: str
    cores: int
    numa: int
    gpus: tuple[Gpu, ...]
    link_class: str | None
    scheduler: str
    launcher: str
    nvcc: bool
    mpi: bool


def machine() -> Machine:
    """Asks this machine. Raises OSError where nvidia-smi is installed but fails: what it has is then not known."""
    gpus = gpus_in(answer(QUERY)) if shutil.which("nvidia-smi") else ()
    classes = link_classes_in(answer(["nvidia-smi", "topo", "-m"])) if len(gpus) > 1 else {}
    complete = set(classes) == set(combinations(range(len(gpus)), 2))
    common = set(classes.values()) if complete else set()
    mpi = bool(shutil.which("mpirun") and shutil.which("mpicxx"))
    scheduler, launcher = next(
        ((scheduler, launcher) for command, scheduler, launcher in SCHEDULERS if shutil.which(command)),
        ("local", "mpirun" if mpi else "local"),
    )
    return Machine(
        host=socket.gethostname(),
        cores=len(os.sched_getaffinity(0)),
        numa=len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1,
        gpus=gpus,
        link_class=common.pop() if len(common) == 1 else None,
        scheduler=scheduler,
        launcher=launcher,
        nvcc=bool(shutil.which("nvcc")),
        mpi=mpi,
    )


def answer(command: list[str]) -> str:
    """Standard output of `command`, without terminal escapes. Raises OSError with one sentence if it fails or hangs."""
    said = " ".join(command[:2])
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise OSError(f"'{said}' did not answer in {TIMEOUT_S} s: is the driver all right?") from None
    if done.returncode != 0:
        reason = (done.stderr.strip() or done.stdout.strip()).partition("\n")[0]
        raise OSError(f"'{said}' failed with exit code {done.returncode}: {reason or 'it said nothing'}")
    return ESCAPES.sub("", done.stdout)


def gpus_in(text: str) -> tuple[Gpu, ...]:
    """The GPUs in nvidia-smi's answer to QUERY. Raises OSError where a line is not what was asked for."""
    gpus = []
    for line in text.splitlines():
        index, _, rest = line.partition(",")
        fields = [field.strip() for field in rest.rsplit(",", 3)]
        if not index.strip().isdigit() or len(fields) != 4 or not re.fullmatch(r"\d+\.\d+", fields[3]):
            raise OSError(f"nvidia-smi answered '{line.strip()}', not index, name, UUID, PCI address and compute_cap")
        gpus.append(Gpu(int(index), *fields))
    return tuple(gpus)


def link_classes_in(text: str) -> dict[tuple[int, int], str]:
    """{(row, column): link class} of each pair of GPUs, row < column, in the answer of `nvidia-smi topo -m`.

    The columns after the GPUs (NICs, affinities) are left out. Both directions must say the same, or the pair is
    missing from the answer.
    """
    rows = {}
    for line in text.splitlines():
        label, *cells = line.split()[:1] + [cell.strip() for cell in line.split("\t")[1:]]
        if re.fullmatch(r"GPU\d+", label or "") and not line[:1].isspace():
            rows[int(label[3:])] = cells
    return {
        (row, column): rows[row][column]
        for row, column in combinations(sorted(rows), 2)
        if column < len(rows[row]) and row < len(rows[column]) and rows[row][column] == rows[column][row] != ""
    }


def devices_json(found: Machine) -> str:
    """The GPUs in ReFrame's format of devices.json: one entry for each model."""
    kinds = Counter((gpu.arch, gpu.name) for gpu in found.gpus)
    entries = [
        json.dumps({"type": "gpu", "arch": arch, "model": model, "num_devices": count}, ensure_ascii=False)
        for (arch, model), count in kinds.items()
    ]
    return "[\n  " + ",\n  ".join(entries) + "\n]\n" if entries else "[]\n"


def listed(words: list[str]) -> str:
    """`words` as a Python list, in double quotes."""
    return json.dumps(words, ensure_ascii=False)


def extras_lines(found: Machine, system: str) -> list[str]:
    """The body of the partition's extras: promises that hold here, and those that a person has to make."""
    lines = [
        "# Name the table of ../references here once it has one for this partition; until then: NO VERDICT.",
        f'# "reference": {json.dumps(system)},',
    ]
    if found.link_class:
        lines += ["# what every pair of GPUs has", f'"link_class": {json.dumps(found.link_class)},']
    elif len(found.gpus) > 1:
        lines += ["# not all pairs of GPUs have the same link class, so none is promised"]
    if len(found.gpus) > 1:
        lines += ["# If every pair should reach the other's memory, and directly:", '# "peer_access": True, "hops": 1,']
    return lines


def system_file(found: Machine, system: str, partition: str) -> str:
    """The text of config/systems/<system>.py, in the format of the other files there."""
    gpu = bool(found.gpus)
    features = [*(["gpu", "cuda"] if gpu else []), *(["mpi"] if found.mpi or found.scheduler != "local" else [])]
    environment = [*(["cuda"] if found.nvcc or gpu else []), *(["mpi"] if "mpi" in features else [])]
    models = " and ".join(f"{count} {model}" for model, count in Counter(gpu.name for gpu in found.gpus).items())
    what = models or f"{found.cores} cores, no GPU"
    nodes = "NUMA node" if found.numa == 1 else "NUMA nodes"
    access = [] if found.scheduler == "local" else ['# what a job needs here: "access": ["-p gpu", "-A project"],']
    asks = {"slurm": "--gres=gpu:{num_gpus_per_node}", "pbs": "-l ngpus={num_gpus_per_node}"}.get(found.scheduler)
    resources = [f'"resources": [{{"name": "_rfm_gpu", "options": [{json.dumps(asks)}]}}],'] if asks and gpu else []
    archs = ",".join(sorted({gpu.arch.removeprefix("sm_") for gpu in found.gpus}))
    cuda_arch = [f'        "extras": {{"cuda_arch": {json.dumps(archs)}}},'] if gpu else []
    body = [
        f'"name": {json.dumps(partition)},',
        f'"scheduler": {json.dumps(found.scheduler)},',
        f'"launcher": {json.dumps(found.launcher)},',
        *access,
        *resources,
        "# two programs at once would measure each other",
        '"max_jobs": 1,',
        f'"environs": {listed([system])},',
        f'"features": {listed(features)},',
        '"extras": {',
        *("    " + line for line in extras_lines(found, system)),
        "},",
    ]
    about = [
        f"{comment_text(what)}; {found.cores} cores, {found.numa} {nodes}: as `linkmatrix detect` found it.",
        "",
        "Read it, complete it, then it is yours. How many GPUs there are stands in",
        f"../topology/{system}-{partition}/devices.json.",
    ]
    return "\n".join(
        [
            '"""' + about[0],
            *about[1:],
            '"""',
            "",
            "system = {",
            f'    "name": {json.dumps(system)},',
            f'    "descr": {json.dumps(what, ensure_ascii=False)},',
            "    # regular expressions: put in the names of all nodes that are like this one",
            f'    "hostnames": {listed([re.escape(found.host)])},',
            '    "partitions": [',
            "        {",
            *(" " * 12 + line for line in body),
            "        }",
            "    ],",
            "}",
            "",
            "environments = [",
            "    {",
            f'        "name": {json.dumps(system)},',
            '        "cc": "gcc",',
            '        "cxx": "g++",',
            '        "nvcc": "nvcc",',
            f'        "features": {listed(environment)},',
            *cuda_arch,
            "    }",
            "]",
            "",
        ]
    )


def comment_text(text: str) -> str:
    """`text` fit for a docstring, whatever nvidia-smi said."""
    return re.sub(r'[\\"\x00-\x1f\x7f]', " ", text)


def checked_name(name: str, what: str) -> str:
    """`name`, if ReFrame and the file system take it. Raises BadInput."""
    if not NAME.fullmatch(name) or name == "generic":
        raise BadInput(f"{what} '{name}' cannot be used: take letters, digits, '-' and '_', and not 'generic'")
    return name


def files(found: Machine, config: Path, system: str | None, partition: str | None) -> dict[Path, str]:
    """{path: text} of the files that describe the machine; names not given are made from what was found."""
    guess = re.sub(r"[^A-Za-z0-9_-]+", "-", found.host.partition(".")[0]).strip("-_") or "machine"
    system = checked_name(system or guess, "--system")
    partition = checked_name(partition or ("gpu" if found.gpus else "cpu"), "--partition")
    return {
        config / "systems" / f"{system.replace('-', '_')}.py": system_file(found, system, partition),
        config / "topology" / f"{system}-{partition}" / "devices.json": devices_json(found),
    }


def write(texts: dict[Path, str], force: bool, tell: Callable[[str], None]) -> None:
    """Writes all files, or none if one is there already and not `force`. Raises BadInput, OSError."""
    there = [path for path in texts if path.exists() or path.is_symlink()]
    if there and not force:
        raise BadInput(f"{there[0]} is there already and was left as it is: --force overwrites it")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f".{path.name}.{os.getpid()}")
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
        tell(f"written: {path}")
