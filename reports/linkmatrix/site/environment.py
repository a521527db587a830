"""What of this shell a run needs that another one may lack: the programs' folders, and variables of the site.

A timer starts with next to nothing: cron with PATH=/usr/bin:/bin, systemd without HOME too. Nor has a shell that calls
`.venv/bin/linkmatrix` what activation would give it.
"""

import os
import pwd
import shutil
from pathlib import Path

from ..invocation import own_folders

#: Programs that a run calls, itself or in its jobs' scripts: those of ReFrame, to build, of schedulers and of modules.
PROGRAMS = (
    *("reframe", "cmake", "ninja", "g++", "ccache", "mpicxx", "mpirun", "nvcc", "nvidia-smi", "spack"),
    *("sbatch", "srun", "qsub", "qstat", "modulecmd", "lmod"),
)
#: Variables by which schedulers, modules, MPI and this package find their own, as logins and modules set them.
VARIABLES = (
    *("LD_LIBRARY_PATH", "PYTHONPATH", "SPACK_ROOT"),
    *("SLURM_CONF", "PBS_CONF_FILE", "PBS_EXEC", "SGE_ROOT", "SGE_CELL", "SGE_QMASTER_PORT", "SGE_EXECD_PORT"),
    *("MODULEPATH", "MODULESHOME", "MODULES_CMD", "LMOD_CMD", "LMOD_DIR", "LMOD_PKG"),
    *("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "SLURM_MPI_TYPE", "LINKMATRIX_BUILD"),
)
ALWAYS = ("/usr/bin", "/bin")


def search_path() -> str:
    """$PATH, and before it the virtual environment's folders where it lacks them: as if that were activated."""
    known = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([*(folder for folder in own_folders() if folder not in known), *known])


def program(name: str) -> str | None:
    """The absolute path of a program of $PATH or of this virtual environment; None where there is none."""
    found = shutil.which(name)
    beside = (os.path.join(folder, name) for folder in own_folders())
    found = found or next((path for path in beside if os.access(path, os.X_OK)), None)
    return os.path.abspath(found) if found else None


def carried() -> dict[str, str]:
    """{variable: value} of all that a run needs of this shell; PATH has the folders of its programs and no others."""
    folders = {os.path.dirname(path) for path in map(program, PROGRAMS) if path}
    order = [folder for folder in search_path().split(os.pathsep) if folder in folders and folder not in ALWAYS]
    path = os.pathsep.join(dict.fromkeys([*order, *ALWAYS]))
    return {"PATH": path, **{name: os.environ[name] for name in VARIABLES if os.environ.get(name)}}


def need_home(otherwise: Path) -> None:
    """Sets $HOME of this process where there is none, without which Open MPI neither compiles nor starts anything.

    A timer has none, nor has a container's user whom no file of users knows: for that one, the folder `otherwise`.
    """
    if not os.environ.get("HOME"):
        try:
            os.environ["HOME"] = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            os.environ["HOME"] = str(otherwise.absolute())
