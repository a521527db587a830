"""The environment variables of this shell that a run needs: the folders of programs, and variables of the site.

A timer has few variables: cron sets PATH=/usr/bin:/bin, and systemd sets no HOME. A shell that calls
`.venv/bin/linkmatrix` without activation lacks the folders of the virtual environment.
"""

import os
import pwd
import shutil
from pathlib import Path

from ..invocation import environment_folders

#: Programs that a run or its jobs call: ReFrame, build tools, and the commands of schedulers and of modules.
PROGRAMS = (
    *("reframe", "cmake", "ninja", "g++", "ccache", "mpicxx", "mpirun", "nvcc", "nvidia-smi", "spack"),
    *("sbatch", "srun", "qsub", "qstat", "modulecmd", "lmod"),
)
#: Variables with which schedulers, modules, MPI and this package find their files. Logins and modules set them.
VARIABLES = (
    *("LD_LIBRARY_PATH", "PYTHONPATH", "SPACK_ROOT"),
    *("SLURM_CONF", "PBS_CONF_FILE", "PBS_EXEC", "SGE_ROOT", "SGE_CELL", "SGE_QMASTER_PORT", "SGE_EXECD_PORT"),
    *("MODULEPATH", "MODULESHOME", "MODULES_CMD", "LMOD_CMD", "LMOD_DIR", "LMOD_PKG"),
    *("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "SLURM_MPI_TYPE", "LINKMATRIX_BUILD"),
)
ALWAYS = ("/usr/bin", "/bin")


def search_path() -> str:
    """The value of $PATH in the activated virtual environment: the folders of the environment come first."""
    known = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([*(folder for folder in environment_folders() if folder not in known), *known])


def program(name: str) -> str | None:
    """The absolute path of a program on $PATH or in this virtual environment; None if the program does not exist."""
    found = shutil.which(name)
    paths = (os.path.join(folder, name) for folder in environment_folders())
    found = found or next((path for path in paths if os.access(path, os.X_OK)), None)
    return os.path.abspath(found) if found else None


def needed_variables() -> dict[str, str]:
    """Returns {variable: value} of the variables of this shell that a run needs.

    The value of PATH contains only the folders of PROGRAMS and ALWAYS.
    """
    folders = {os.path.dirname(path) for path in map(program, PROGRAMS) if path}
    order = [folder for folder in search_path().split(os.pathsep) if folder in folders and folder not in ALWAYS]
    path = os.pathsep.join(dict.fromkeys([*order, *ALWAYS]))
    return {"PATH": path, **{name: os.environ[name] for name in VARIABLES if os.environ.get(name)}}


def set_home(otherwise: Path) -> None:
    """Sets $HOME of this process if $HOME is missing. Open MPI needs $HOME, but a timer does not set $HOME.

    otherwise: the folder for a user who is not in the user database, as in a container.
    """
    if not os.environ.get("HOME"):
        try:
            os.environ["HOME"] = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            os.environ["HOME"] = str(otherwise.absolute())
