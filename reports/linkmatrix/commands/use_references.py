"""`linkmatrix adopt --use NAME`: from now on, runs of a partition are compared with the table NAME."""

import argparse
from pathlib import Path

from .. import suite
from ..errors import BadInput, say
from ..references.tables import References
from ..runs import folders
from ..site import configured, reference_name
from . import begin

BY_HAND = 3  # exit code: a person must edit the system file


def run_use(options: argparse.Namespace) -> int:
    """Writes the name of an adopted table into the system file, for --use. Raises BadInput.

    Returns 0, or BY_HAND if the user must edit the system file.
    """
    others = [name for name, value in vars(options).items() if value and name not in ("use", "system", "command")]
    if others:
        raise BadInput("--use takes no other option than --system: adopt first, then run linkmatrix adopt --use NAME")
    repository = folders.repository()
    names = References.load(repository / "config" / "references").names()
    known = sorted({name.partition("@")[0] for name in names})
    if options.use not in known:
        raise BadInput(f"--use {options.use}: this table does not exist: use one of {', '.join(known)}")
    place = configured.chosen_partition(begin.find_reframe(), repository, options.system)
    return use_table(repository, place, options.use)


def use_table(repository: Path, place: str, table: str) -> int:
    """Writes the name of a table into the system file. Returns 0, or BY_HAND if the user must edit the file.

    place: the partition that will use the table, as "system:partition".
    """
    system, _, partition = place.partition(":")
    systems = [suite.FOLDER / "config" / "systems", repository / "config" / "systems"]
    file = reference_name.system_file(system, systems)
    if by_hand := reference_name.name_table(file, partition, table):
        say(f"The system file was not changed. {by_hand}")
        return BY_HAND
    say(f"{file}: partition {partition} names the table {table}")
    return 0
