"""After a run: prints the flags of components, and removes old sessions."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from .. import lock
from ..errors import BadInput, clean, say
from ..files import read_json
from ..record import units
from ..runs import folders


def flag_lines(prefix: Path, clean_runs: int, repository: Path) -> Iterator[str]:
    """Sentences about flagged components, and about nodes that cannot be judged, from all stored runs."""
    try:
        from ..runs import index, notes
    except ModuleNotFoundError as error:
        yield f"note: flags of earlier runs are unknown: the Python package {error.name} is missing"
        return
    folder = repository / "config" / "references"
    try:
        with index.open_index(prefix, folder if folder.is_dir() else None, again=True) as found:
            yield from (f"note: {clean(note)}" for note in found.notes)
            yield from (clean(one.sentence(clean_runs)) for one in found.suspects(clean_runs, notes.load(prefix)))
            yield from (clean(f"{node} {why}") for node, why in found.disturbance_streaks().items())
    except (OSError, lock.Held, BadInput) as error:  # no locks, or damaged notes; the verdict does not need the flags
        yield f"note: flags of earlier runs are unknown: {clean(str(error))}"


def reports_with_flags(prefix: Path, clean_runs: int, repository: Path) -> set[str] | None:
    """The file names of the reports that are the evidence of present flags.

    If the flags are unknown, prints a note and returns None.
    """
    folder = repository / "config" / "references"
    try:
        from ..runs import index, notes

        with index.open_index(prefix, folder if folder.is_dir() else None) as found:
            return found.deciding_reports(found.suspects(clean_runs, notes.load(prefix)))
    except (ModuleNotFoundError, BadInput, OSError, lock.Held) as error:
        say(f"note: the flags are unknown, so no report was removed: {error}")
        return None


def remove_old_sessions(prefix: Path, keep: int | None, days: int | None, clean_runs: int, repository: Path) -> None:
    """Removes old sessions with their reports, JUnit files, pages, records and stages.

    keep: the number of newest sessions to keep; None for no limit.
    days: maximum age of a session; None for no limit.
    The newest report and the reports that are evidence of a flag always stay.
    """
    reports = sorted(folders.reports(prefix), key=folders.end_time)[::-1]
    old = set(reports[keep:]) if keep is not None else set()
    if days is not None:
        outlived, doubtful = folders.expired_files(reports[1:], days)
        old |= set(outlived)
        if left := set(doubtful) - old:
            count = f"{units.counted(len(left), 'report')} before half a year without reports"
            say(f"kept, because the clock may have jumped: {count}; to remove these reports: --keep N")
    flags = reports_with_flags(prefix, clean_runs, repository) if old else set()
    kept = {path for path in old if flags is None or path.name in flags}
    if kept and flags is not None:
        say(f"kept, because a flag depends on them: {units.counted(len(kept), 'old report')}")
    old -= kept
    for path in old:
        for folder in [path.with_suffix(""), *session_folders(prefix, path)]:
            shutil.rmtree(folder, ignore_errors=True)
        path.unlink(missing_ok=True)
    if days is not None:
        for path in folders.expired_files((prefix / "reports").glob("junit-*.xml"), days)[0]:
            path.unlink(missing_ok=True)
    if old:
        say(f"removed {units.counted(len(old), 'old report')}")


def session_folders(prefix: Path, report: Path) -> list[Path]:
    """The folders of records and stages that a report names. Only folders directly below the prefix are included."""
    try:
        session = read_json(report)["session_info"]
        found = [(parent, Path(session[f"prefix_{parent}"])) for parent in ("output", "stage")]
    except (BadInput, KeyError, TypeError):
        return []
    prefix = prefix.resolve()
    return [folder for parent, folder in found if folder.resolve().parent == prefix / parent]


def remove_programs(prefix: Path, report: Path, more: Sequence[str]) -> None:
    """Removes the built programs from the stage of a session, because a verdict needs only records.

    With `--keep-stage-files`, the programs stay for `--restore-session`.
    more: the user's options for ReFrame.
    """
    if any(word.startswith("--keep-s") for word in more):
        return
    for folder in session_folders(prefix, report):
        for programs in folder.glob("*/*/*/build_linkmatrix*/prefix/bin"):
            shutil.rmtree(programs, ignore_errors=True)
