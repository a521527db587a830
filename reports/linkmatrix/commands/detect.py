"""`linkmatrix detect`: writes a system file for this machine, or for the cluster of this login node."""

import argparse

from ..errors import BadInput, say
from ..files import path_of
from ..runs import folders
from ..site import machine, partitions


def add_options(command: argparse.ArgumentParser) -> None:
    """Adds the options of `detect` to its parser."""
    command.add_argument("--system", metavar="NAME", help="name of the system (default: the host name)")
    command.add_argument(
        "--partition", metavar="NAME", help="name of the partition (default: gpu or cpu; for a cluster: all partitions)"
    )
    command.add_argument(
        "--scheduler",
        choices=partitions.CHOICES,
        default="local",
        help="local: describe this machine, with devices.json; a scheduler: describe all partitions of the cluster of"
        " this login node; auto: use the first scheduler that answers (default: local)",
    )
    command.add_argument(
        "--config", type=path_of, metavar="DIR", help="output folder (default: config in the repository)"
    )
    command.add_argument("--spack", action="store_true", help="write a packages.yaml for Spack instead, into spack-env")
    command.add_argument("--force", action="store_true", help="overwrite existing files")
    command.add_argument("--dry-run", action="store_true", help="print the files without writing them")
    command.set_defaults(command=run_detect)


def run_detect(options: argparse.Namespace) -> int:
    """Prints the detected system files, then writes all files. After an error, writes no file.

    Raises BadInput, OSError.
    """
    config = options.config or folders.repository() / "config"
    if not config.is_dir():
        raise BadInput(f"{config} is not a folder: name the repository's config with --config")
    schedulers = partitions.candidates(options.scheduler)
    if options.spack:
        systems = config.parent / "spack-env" / "systems"
        texts = machine.spack_files(machine.machine(), systems, options.system, options.partition)
    elif schedulers == ["local"]:
        texts = machine.files(machine.machine(), config, options.system, options.partition)
    else:
        texts = partitions.files(schedulers, config, options.system, options.partition, say)
    for path, text in texts.items():
        print(f"# {path}\n{text}")
    if not options.dry_run:
        machine.write(texts, options.force, say)
    return 0
