"""Files of a test, also where the whole prefix is a copy: its folders are searched for beside the report too."""

from collections.abc import Iterable, Iterator
from pathlib import Path


def file_in(folders: Iterable[str], report: Path, names: tuple[str, ...]) -> Path | None:
    """The first of `files_in`; None without any."""
    return next(files_in(folders, report, names), None)


def files_in(folders: Iterable[str], report: Path, names: tuple[str, ...]) -> Iterator[Path]:
    """The files of these names in the folders, and in the same folders of a copied prefix."""
    prefix = report.resolve().parent.parent
    for folder in map(Path, folders):
        copies = (prefix.joinpath(*folder.parts[start:]) for start in range(1, len(folder.parts)))
        for place in dict.fromkeys((folder, *copies)):
            yield from (place / name for name in names if (place / name).is_file())
