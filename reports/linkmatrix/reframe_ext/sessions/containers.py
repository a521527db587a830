"""Containers: reads a partition's `extras["container"]`, and creates the commands that run a program in an image.

| platform | command |
|---|---|
| Apptainer, Singularity | `srun apptainer exec … IMAGE program`, by ReFrame's container platforms |
| pyxis, a plugin of Slurm | `srun --container-image=IMAGE … program` |
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reframe.core.containers import ContainerPlatform

from ...errors import BadInput

KEY = "container"  # in a partition's extras
REFRAME_PLATFORMS = ("Apptainer", "Singularity")
PYXIS = "pyxis"
KEYS = ("platform", "image", "mounts", "options")
#: An absolute folder, or two folders: outside and inside of the container.
MOUNT = re.compile(r"(/[^\s:,\"'$`\\]*)(?::(/[^\s:,\"'$`\\]*))?")
#: An absolute path, or a URI such as docker://debian:12 or oci-archive:/x.tar.
IMAGE = re.compile(r"(?:/|[a-z][a-z+-]*:).*")
#: Options of Apptainer and Singularity that hide the variables of Slurm, MPI and CUDA from the program.
HIDING = ("--cleanenv", "-e", "--containall", "-C")
EXAMPLE = "{'platform': 'Apptainer', 'image': '/shared/linkmatrix.sif'}"


@dataclass(frozen=True)
class Container:
    """The container in which a partition runs programs.

    platform: "Apptainer", "Singularity" or "pyxis".
    image: a file or a URI.
    mounts: (folder outside, folder inside) of each mount.
    options: options of `apptainer exec`, `singularity exec` or srun.
    """

    platform: str
    image: str
    mounts: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()

    def all_mounts(self, stage: Path, programs: Path) -> list[tuple[str, str]]:
        """The mounts of a job: the stage of the job, the stage of the build, and the partition's mounts.

        Each stage has the same path outside and inside the container.
        """
        return [*((str(folder), str(folder)) for folder in (stage, programs)), *self.mounts]

    def command(self, program: str, stage: Path, programs: Path, with_gpus: bool) -> str:
        """The command that runs `program` in the container. For pyxis, returns `program`: srun starts the container.

        stage: the stage of the job, which becomes the working folder.
        programs: the stage of the build.
        """
        if self.platform == PYXIS:
            return program
        platform = ContainerPlatform.create(self.platform)
        platform.image = shlex.quote(self.image)
        platform.command = program
        platform.mount_points = self.all_mounts(stage, programs)
        platform.mount_stagedir = None  # ReFrame would mount the stage at another path
        platform.workdir = shlex.quote(str(stage))
        platform.with_cuda = with_gpus
        platform.options = [shlex.quote(option) for option in self.options]
        return str(platform.launch_command(str(stage)))

    def launcher_options(self, stage: Path, programs: Path) -> list[str]:
        """The options of srun that start the container with pyxis; [] for other platforms."""
        if self.platform != PYXIS:
            return []
        mounts = ",".join(":".join(one) for one in self.all_mounts(stage, programs))
        words = [f"--container-image={self.image}", f"--container-mounts={mounts}", f"--container-workdir={stage}"]
        return [shlex.quote(word) for word in (*words, *self.options)]


def from_extras(extras: Mapping[str, Any], launcher: str) -> Container | None:
    """The container that the extras of a partition specify; None if no container is specified. Raises BadInput.

    launcher: ReFrame's name of the partition's launcher, such as "srun".
    """
    given = extras.get(KEY)
    if given is None:
        return None
    where = f"extras['{KEY}'] of the partition"
    if not isinstance(given, Mapping):
        raise BadInput(f"{where} is not a dictionary: write {EXAMPLE}")
    if unknown := [str(key) for key in given if key not in KEYS]:
        raise BadInput(f"{where} has the unknown key '{unknown[0]}': use {', '.join(KEYS)}")
    platform, image = given.get("platform"), given.get("image")
    if platform not in (*REFRAME_PLATFORMS, PYXIS):
        raise BadInput(f"{where}: the platform is {platform!r}: use Apptainer, Singularity or pyxis")
    if not isinstance(image, str) or not image or not image.isprintable():
        raise BadInput(f"{where} has no image: name a file or URI, as in {EXAMPLE}")
    if "$" in image or image.startswith("~") or (platform != PYXIS and not IMAGE.fullmatch(image)):
        raise BadInput(f"{where}: the image '{image}' is not an absolute path or URI: jobs replace no '~' or variable")
    if platform == PYXIS and launcher not in ("srun", "srunalloc"):
        raise BadInput(f"{where}: pyxis needs the launcher srun, and the partition has {launcher}: use Apptainer")
    mounts = string_list(given, "mounts", where)
    found = [MOUNT.fullmatch(mount) for mount in mounts]
    wrong = [mount for mount, match in zip(mounts, found, strict=True) if not match]
    if wrong:
        remedy = "use '/FOLDER' or '/FOLDER:/FOLDER_INSIDE', without blanks or special characters"
        raise BadInput(f"{where}: the mount '{wrong[0]}' is invalid: {remedy}")
    pairs = tuple((match[1], match[2] or match[1]) for match in found if match)
    options = tuple(string_list(given, "options", where))
    if hiding := [option for option in options if platform != PYXIS and option in HIDING]:
        raise BadInput(f"{where}: the option '{hiding[0]}' hides the variables of MPI and Slurm from ranks: omit it")
    return Container(platform, image, pairs, options)


def string_list(given: Mapping[str, Any], key: str, where: str) -> Sequence[str]:
    """The list of strings in `given[key]`; [] if the key is missing. Raises BadInput for any other value.

    where: the beginning of the error message.
    """
    words = given.get(key, [])
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) and word.isprintable() for word in words):
        raise BadInput(f"{where}: '{key}' is not a list of strings: write for example '{key}': ['/scratch']")
    return words
