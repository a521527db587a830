"""Detects this machine, and describes it as a system file and a devices.json for ReFrame.

The expected configuration contains only detected facts. GPUs with different link classes get no expected link class.
"""

import json
import os
import re
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import jinja2

from ..errors import BadInput
from ..files import write_whole
from . import adapters, mig, modules, nccl, open_mpi, prebuilt, spack
from .cluster import GPU_OPTIONS, NO_REQUEUE

TIMEOUT_S = 60  # nvidia-smi needs some ten seconds on a node of 8 GPUs without persistence mode
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")  # a name that ReFrame accepts for a system, partition or environment
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # nvidia-smi underlines the head line, even in a pipe
QUERY = ["nvidia-smi", "--query-gpu=index,name,uuid,pci.bus_id,compute_cap", "--format=csv,noheader"]
# (command, ReFrame's scheduler, its launcher). The first row whose command is on PATH is used.
SCHEDULERS = [("sbatch", "slurm", "srun"), ("qconf", "sge", "mpirun"), ("qsub", "pbs", "mpirun")]
FEWEST_RANKS = 2  # of a matrix between ranks. With GPUs, each GPU has one rank.
TEMPLATES = Path(__file__).with_name("templates")
ROOT = Path("/")  # of the kernel's files


@dataclass(frozen=True)
class Gpu:
    """A GPU, from a line of nvidia-smi. capability: the compute capability, such as "9.0"."""

    index: int
    name: str
    uuid: str
    pci: str
    capability: str

    @property
    def arch(self) -> str:
        """The architecture in ReFrame's format, such as "sm_90"."""
        return "sm_" + self.capability.replace(".", "")


@dataclass(frozen=True)
class Machine:
    """A detected machine.

    numa: the number of NUMA nodes.
    link_class: the link class of all pairs of GPUs; None if the classes differ, or if there are fewer than two GPUs.
    scheduler, launcher: ReFrame's names of scheduler and launcher.
    mpi: whether programs with MPI can be built and run.
    nccl: the installation prefix of NCCL; "" without NCCL or without GPUs.
    ports: the ports of RDMA adapters.
    in_mig_mode: the number of GPUs in MIG mode. `gpus` does not contain these GPUs.
    """

    host: str
    cores: int
    numa: int
    gpus: tuple[Gpu, ...]
    link_class: str | None
    scheduler: str
    launcher: str
    mpi: bool
    nccl: str = ""
    ports: tuple[adapters.Port, ...] = ()
    in_mig_mode: int = 0


def machine() -> Machine:
    """Detects this machine. Raises OSError if nvidia-smi is installed but fails, because the GPUs are then unknown."""
    found = gpus_in(answer(QUERY)) if shutil.which("nvidia-smi") else ()
    sliced = mig.sliced_gpus(answer) if found else set()
    gpus = tuple(gpu for at, gpu in enumerate(found) if at not in sliced)
    classes = link_classes_in(answer(["nvidia-smi", "topo", "-m"])) if len(gpus) > 1 else {}
    pairs = set(combinations([at for at in range(len(found)) if at not in sliced], 2))
    common = {classes[pair] for pair in pairs} if pairs <= set(classes) else set()
    builds = prebuilt.can_build("g++", bool(gpus))
    mpi = bool(builds and shutil.which("mpirun") and shutil.which("mpicxx"))
    scheduler, launcher = next(
        ((scheduler, launcher) for command, scheduler, launcher in SCHEDULERS if shutil.which(command)),
        ("local", local_launcher(mpi)),
    )
    return Machine(
        host=socket.gethostname(),
        cores=len(os.sched_getaffinity(0)),
        numa=len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1,
        gpus=gpus,
        link_class=common.pop() if len(common) == 1 else None,
        scheduler=scheduler,
        launcher=launcher,
        mpi=mpi,
        nccl=nccl.find_prefix(shutil.which("nvcc")) if gpus and builds else "",
        ports=tuple(adapters.ports(ROOT)),
        in_mig_mode=len(sliced),
    )


def local_launcher(mpi: bool) -> str:
    """ReFrame's launcher for a machine without a scheduler."""
    return "mpirun" if mpi else "local"


def without_scheduler(machine: Machine) -> Machine:
    """A copy of the description of the machine, without its scheduler."""
    return replace(machine, scheduler="local", launcher=local_launcher(machine.mpi))


def answer(command: list[str], seconds: float | None = None) -> str:
    """The standard output of a command.

    Raises OSError if the command fails or does not end in time. The error message is one sentence.
    The command runs in English, without standard input. Terminal escapes are removed from its output.
    seconds: the time limit; None for TIMEOUT_S.
    """
    name, seconds = " ".join(command[:2]), seconds or TIMEOUT_S
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            env={**os.environ, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"'{name}' did not answer in {seconds:g} s: check that its service runs") from None
    if done.returncode != 0:
        reason = (done.stderr.strip() or done.stdout.strip()).partition("\n")[0]
        raise OSError(f"'{name}' failed with exit code {done.returncode}: {reason or 'no output'}")
    return ESCAPES.sub("", done.stdout)


def gpus_in(text: str) -> tuple[Gpu, ...]:
    """The GPUs in the output of the command QUERY of nvidia-smi. Raises OSError for a line in another format."""
    gpus = []
    for line in text.splitlines():
        index, _, rest = line.partition(",")
        fields = [field.strip() for field in rest.rsplit(",", 3)]
        if not index.strip().isdigit() or len(fields) != 4 or not re.fullmatch(r"\d+\.\d+", fields[3]):
            raise OSError(f"nvidia-smi answered '{line.strip()}', not index, name, UUID, PCI address and compute_cap")
        gpus.append(Gpu(int(index), *fields))
    return tuple(gpus)


def link_classes_in(text: str) -> dict[tuple[int, int], str]:
    """Returns {(row, column): link class} of the pairs of GPUs with row < column.

    Pairs with a different class in the reverse direction are left out.
    text: the output of `nvidia-smi topo -m`. Its columns after the GPUs (NICs, affinities) are ignored.
    """
    rows = {}
    for line in text.splitlines():
        label, *cells = (cell.strip() for cell in line.split("\t"))
        if re.fullmatch(r"GPU\d+", label):
            rows[int(label[3:])] = cells
    return {
        (row, column): rows[row][column]
        for row, column in combinations(sorted(rows), 2)
        if column < len(rows[row]) and row < len(rows[column]) and rows[row][column] == rows[column][row] != ""
    }


def devices_json(machine: Machine) -> str:
    """The text of ReFrame's file devices.json: one entry per GPU model."""
    kinds = Counter((gpu.arch, gpu.name) for gpu in machine.gpus)
    entries = [
        json.dumps({"type": "gpu", "arch": arch, "model": model, "num_devices": count}, ensure_ascii=False)
        for (arch, model), count in kinds.items()
    ]
    return "[\n  " + ",\n  ".join(entries) + "\n]\n" if entries else "[]\n"


def as_code(value: str | list[str] | dict[str, Any]) -> str:
    """The value as Python code, with double quotes."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def comment(text: str) -> str:
    """The text without characters that would end a docstring in the system file."""
    return re.sub(r'[\\"\x00-\x1f\x7f]', " ", text)


def template(name: str, **filters: Callable[[str], str]) -> jinja2.Template:
    """The Jinja template `name` of a system file. filters: further filters of the template. HTML is not escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"quoted": as_code, "comment": comment, **filters}
    return environment.get_template(name)


def system_file(machine: Machine, system: str, partition: str) -> str:
    """The text of the file config/systems/SYSTEM.py of a machine."""
    models = Counter(gpu.name for gpu in machine.gpus)
    cuda = ["cuda"] if machine.gpus else []
    mpi = ["mpi"] if machine.mpi or machine.scheduler != "local" else []
    library = ["nccl"] if machine.nccl else []
    expected = adapters.expected_adapters(list(machine.ports))
    with_ranks = (machine.scheduler, machine.launcher) == ("local", "mpirun")
    few_cores = with_ranks and machine.cores < max(FEWEST_RANKS, len(machine.gpus))
    return template("system.jinja").render(
        found=machine,
        system=system,
        partition=partition,
        # without a scheduler, all programs run in this shell
        modules=modules.Modules() if machine.scheduler == "local" else modules.loaded(),
        what=" and ".join(f"{count} {model}" for model, count in models.items()) or "no GPU",
        hostname=re.escape(machine.host),
        gpu_option=GPU_OPTIONS.get(machine.scheduler),
        once=NO_REQUEUE.get(machine.scheduler),
        features=[*(["gpu"] if machine.gpus else []), *cuda, *mpi, *library, *(["rdma"] if expected else [])],
        environment=cuda + mpi + library,
        **compilers(machine.scheduler),
        variables=open_mpi.variables(few_cores) if with_ranks else [],
        few_cores=few_cores,
        extras=environment_extras(machine),
        adapters=[as_code(group) for group in expected],
        remarks=[*mig.remarks(machine.in_mig_mode), *adapters.remarks(list(machine.ports))],
    )


def compilers(scheduler: str) -> dict[str, str]:
    """The C and C++ compilers. On a machine without a scheduler, the variables CC and CXX name the compilers."""
    names = {"cc": "gcc", "cxx": "g++"}
    return {
        name: os.environ.get(name.upper(), usual) if scheduler == "local" else usual for name, usual in names.items()
    }


def environment_extras(machine: Machine) -> str:
    """The extras of the environment as Python code: GPU architectures and the prefix of NCCL.

    Returns "" if both are missing.
    """
    archs = {"cuda_arch": ",".join(architectures(machine))} if machine.gpus else {}
    place = {"nccl_root": machine.nccl} if nccl.is_from_environment(machine.nccl) else {}
    return as_code(archs | place) if archs | place else ""


def checked_name(name: str, what: str) -> str:
    """Returns `name`. Raises BadInput if ReFrame or the file system does not accept the name.

    what: the option that sets the name, for the message.
    """
    if not NAME.fullmatch(name) or name == "generic":
        raise BadInput(
            f"{what} '{name}' cannot be used: use letters, digits, '-' and '_', a letter first, and not 'generic'"
        )
    return name


def system_name(machine: Machine, name: str | None) -> str:
    """The name of the system: `name`, or without `name` a name made of the host name. Raises BadInput."""
    return checked_name(name or host_system_name(machine.host, "machine"), "--system")


def host_system_name(host: str, otherwise: str) -> str:
    """A system name made of the host name, such as "n1" for n1.example.

    ReFrame does not accept some host names, such as "4f3a" in a container. `otherwise` then precedes the host name.
    """
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", host.partition(".")[0]).strip("-_")
    return name if NAME.fullmatch(name) else f"{otherwise}-{name}".rstrip("-")


def spack_files(machine: Machine, systems: Path, system: str | None, partition: str | None) -> dict[Path, str]:
    """Returns {path: text} of the file packages.yaml. Raises BadInput.

    partition: the partition to which the file applies; None for all partitions of the system.
    """
    folder = systems / system_name(machine, system)
    folder = folder / checked_name(partition, "--partition") if partition else folder
    return {folder / "packages.yaml": spack.packages_file(machine.host, architectures(machine))}


def architectures(machine: Machine) -> list[str]:
    """The architectures of the GPUs in the compilers' format, such as ["90"]."""
    return sorted({gpu.arch.removeprefix("sm_") for gpu in machine.gpus})


def files(machine: Machine, config: Path, system: str | None, partition: str | None) -> dict[Path, str]:
    """Returns {path: text} of the system file and of devices.json.

    system, partition: the names; None for names made of the machine's facts.
    """
    system = system_name(machine, system)
    partition = checked_name(partition or ("gpu" if machine.gpus else "cpu"), "--partition")
    return {
        config / "systems" / f"{system.replace('-', '_')}.py": system_file(machine, system, partition),
        config / "topology" / f"{system}-{partition}" / "devices.json": devices_json(machine),
    }


def write(texts: dict[Path, str], force: bool, tell: Callable[[str], None]) -> None:
    """Writes all files. Raises OSError.

    If a file exists and `force` is false, raises BadInput and writes no file.
    """
    existing = [path for path in texts if path.exists() or path.is_symlink()]
    if existing and not force:
        raise BadInput(f"{existing[0]} already exists and was not changed: --force overwrites it")
    for path, text in texts.items():
        write_whole(path, text.encode())
        tell(f"written: {path}")
