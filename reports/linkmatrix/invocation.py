"""The commands that outputs print, in the words with which the shell of this process finds their programs."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

NAME = "linkmatrix"
#: Environment variable: what to print for `linkmatrix`, if the process itself was not called by a shell.
VARIABLE = "LINKMATRIX_COMMAND"
#: The programs of a platform wheel.
PREBUILT = Path(__file__).resolve().parent / "_suite" / "prebuilt" / "bin"
#: The commands of linkmatrix, as `cli.COMMANDS` has them.
COMMANDS = (
    *("adopt", "baseline", "compare", "detect", "diagnose", "export", "history", "import"),
    *("init", "measure", "next", "note", "report", "run", "schedule", "show"),
)
#: Configuration of Slurm, the second and third where a node gets it from the controller.
SLURM_FILES = ("/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf", "/var/spool/slurmd/conf-cache/slurm.conf")
#: A command in a text: its program, in front of a command of linkmatrix or of an option.
COMMAND = re.compile(
    rf"(?<![\w./,=-])(?:{NAME}(?= (?:{'|'.join(COMMANDS)})\b)"
    r"|(?:reframe|mpirun|p2p_matrix|collective_perf|nbody_scaling)(?= --?\w))"
)


def own_folders() -> list[str]:
    """The folders of programs of the virtual environment whose Python this is; [] outside of one.

    The CUDA compiler from wheels has a folder of its own, which `make setup` creates.
    """
    if sys.prefix == sys.base_prefix:
        return []
    return [str(folder) for folder in (Path(sys.prefix, "bin"), Path(sys.prefix, "cuda", "bin")) if folder.is_dir()]


def linkmatrix_command() -> str:
    """The word or words that call linkmatrix in the shell that started this process.

    "linkmatrix" if PATH has it; else the path by which it was called, such as ".venv/bin/linkmatrix".
    """
    if words := os.environ.get(VARIABLE):
        return words
    called, on_path = Path(sys.argv[0]), shutil.which(NAME)
    if called.name == "__main__.py" and not on_path:
        python = Path(sys.executable)
        return f"{python.name if shutil.which(python.name) == str(python) else relative(python)} -m {NAME}"
    if called.name != NAME or (on_path and os.path.realpath(on_path) == os.path.realpath(called)):
        return NAME
    return relative(called)


def program_command(name: str) -> str:
    """The word that calls another program: its name if PATH has it, else its path here; its name if it is not here."""
    if shutil.which(name):
        return name
    found = [path for path in (Path(folder, name) for folder in own_folders()) if os.access(path, os.X_OK)]
    found = found or built_programs(name)[-1:]
    return relative(found[0]) if found else name


def built_programs(name: str) -> list[Path]:
    """The builds of a program for this machine and others, the newest last; without one, that of a platform wheel."""
    build = Path(os.environ.get("LINKMATRIX_BUILD") or ".build")
    built = sorted(build.glob(f"*/{name}"), key=lambda path: path.stat().st_mtime)
    return built or list(PREBUILT.glob(name))


def relative(path: Path) -> str:
    """A path as a word of a shell, relative to the working folder if the path is in it."""
    whole, here = Path(os.path.abspath(path)), Path.cwd()
    return shlex.quote(str(whole.relative_to(here) if whole.is_relative_to(here) else whole))


def runnable(text: str) -> str:
    """The text, whose commands call their programs as the shell of this process finds them."""

    def replaced(found: re.Match[str]) -> str:
        if found[0] != NAME:
            return program_command(found[0])
        command = linkmatrix_command()
        # a text that passed here before has the words of the command in front of the name, and may have been wrapped
        is_done = command != NAME and " ".join(text[: found.end()].split()).endswith(command)
        return NAME if is_done else command

    return COMMAND.sub(replaced, text)


def has_slurm() -> bool:
    """Whether this machine has srun and its configuration: Slurm's commands alone may be installed anywhere."""
    srun = shutil.which("srun")
    if srun is None or os.environ.get("SLURM_CONF"):
        return srun is not None
    of_srun = Path(os.path.realpath(srun)).parents[1] / "etc" / "slurm.conf"
    return any(file.exists() for file in (*map(Path, SLURM_FILES), of_srun))


def launcher(ranks: Mapping[str, int], scheduler: str = "") -> list[str]:
    """The words that start a program on {node: number of ranks}: srun on a machine of a Slurm cluster, else mpirun.

    scheduler: of the partition, if it is known. Programs of a partition without scheduler run on this machine.
    """
    if scheduler != "local" and has_slurm():
        return ["srun", f"--nodelist={','.join(ranks)}", f"--ntasks-per-node={max(ranks.values())}"]
    if len(ranks) == 1:
        return ["mpirun", "-n", *map(str, ranks.values())]
    return ["mpirun", "--host", ",".join(f"{node}:{count}" for node, count in ranks.items())]
