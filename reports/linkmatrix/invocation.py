"""Completes the names of programs in printed commands, so that the user can copy and run the commands."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

NAME = "linkmatrix"
#: Environment variable with the printed words for `linkmatrix`, set for a process that another command started.
VARIABLE = "LINKMATRIX_COMMAND"
#: The folder with the programs of a platform wheel.
PREBUILT = Path(__file__).resolve().parent / "_suite" / "prebuilt" / "bin"
#: The names in `cli.COMMANDS`.
COMMANDS = (
    *("adopt", "baseline", "compare", "detect", "diagnose", "export", "history", "import"),
    *("init", "measure", "next", "note", "report", "run", "schedule", "show"),
)
#: Slurm's configuration. On the nodes of some clusters, slurmd stores it in the second or third file.
SLURM_FILES = ("/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf", "/var/spool/slurmd/conf-cache/slurm.conf")
#: A program name in a text, followed by a command of linkmatrix or by an option.
COMMAND = re.compile(
    rf"(?<![\w./,=-])(?:{NAME}(?= (?:{'|'.join(COMMANDS)})\b)"
    r"|(?:reframe|mpirun|p2p_matrix|collective_perf|nbody_scaling)(?= --?\w))"
)


def environment_folders() -> list[str]:
    """The folders with programs in this Python's virtual environment; [] without a virtual environment.

    The folders are `bin` and `cuda/bin`. `make setup` installs a CUDA compiler from wheels into `cuda`.
    """
    if sys.prefix == sys.base_prefix:
        return []
    return [str(folder) for folder in (Path(sys.prefix, "bin"), Path(sys.prefix, "cuda", "bin")) if folder.is_dir()]


def linkmatrix_command() -> str:
    """The words that call linkmatrix in the user's shell.

    The result is "linkmatrix" if linkmatrix is on PATH. Otherwise the result is the path of the program, such as
    ".venv/bin/linkmatrix".
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
    """The word that calls a program in the user's shell.

    The result is the path of the program if it is installed outside PATH. Otherwise the result is its name.
    """
    if shutil.which(name):
        return name
    found = [path for path in (Path(folder, name) for folder in environment_folders()) if os.access(path, os.X_OK)]
    found = found or built_programs(name)[-1:]
    return relative(found[0]) if found else name


def built_programs(name: str) -> list[Path]:
    """The paths of a program in the build folders, the newest last.

    If no build folder contains the program, the result is its path in a platform wheel.
    """
    build = Path(os.environ.get("LINKMATRIX_BUILD") or ".build")
    built = sorted(build.glob(f"*/{name}"), key=lambda path: path.stat().st_mtime)
    return built or list(PREBUILT.glob(name))


def relative(path: Path) -> str:
    """A path as a word for a shell. If the path is inside the working folder, the word is a relative path."""
    absolute, folder = Path(os.path.abspath(path)), Path.cwd()
    return shlex.quote(str(absolute.relative_to(folder) if absolute.is_relative_to(folder) else absolute))


def runnable(text: str) -> str:
    """The text, with the words of `program_command` in place of program names in its commands. Complete paths stay."""

    def replaced(match: re.Match[str]) -> str:
        if match[0] != NAME:
            return program_command(match[0])
        command = linkmatrix_command()
        # in a completed text, which may have been wrapped, the path is in front of the name
        is_done = command != NAME and " ".join(text[: match.end()].split()).endswith(command)
        return NAME if is_done else command

    return COMMAND.sub(replaced, text)


def has_slurm() -> bool:
    """Whether this machine belongs to a Slurm cluster: srun and a configuration of Slurm exist."""
    srun = shutil.which("srun")
    if srun is None or os.environ.get("SLURM_CONF"):
        return srun is not None
    installed = Path(os.path.realpath(srun)).parents[1] / "etc" / "slurm.conf"
    return any(file.exists() for file in (*map(Path, SLURM_FILES), installed))


def launcher(ranks: Mapping[str, int], scheduler: str = "") -> list[str]:
    """The words that start a program with MPI: srun on a Slurm cluster, otherwise mpirun.

    ranks: {node: number of ranks}.
    scheduler: the scheduler of the partition; "" if unknown. "local" always means mpirun.
    """
    if scheduler != "local" and has_slurm():
        return ["srun", f"--nodelist={','.join(ranks)}", f"--ntasks-per-node={max(ranks.values())}"]
    if len(ranks) == 1:
        return ["mpirun", "-n", *map(str, ranks.values())]
    return ["mpirun", "--host", ",".join(f"{node}:{count}" for node, count in ranks.items())]
