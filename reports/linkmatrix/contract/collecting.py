"""From runs under a contract to a bundle, and from a bundle to its verdict again.

The prefix keeps which runs were begun under a contract, `contracts/<digest>.json`, written before each begins.
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import BadInput
from ..files import changing, read_whole, write_whole
from ..judge.verdicts import Verdict
from ..runs import folders, verdict_file
from ..runs.copies import files_in
from ..runs.testcases import DIGEST, record_place
from . import bundle, sessions
from .ruling import Ruling, rule
from .sessions import Begun
from .terms import Terms, canonical, read

MOST_BYTES = 512 * 1024 * 1024  # of a report or record
MOST_CONFIGURATION = 1024 * 1024  # of a file
CONFIGURATION = (".py", ".yaml", ".yml", ".json")
LONGEST = 99  # characters of a name
PACKAGES = ("reframe-hpc", "numpy", "PyYAML")


def kept(prefix: Path, terms: Terms) -> Path:
    """The file of the runs under a contract."""
    return prefix / "contracts" / f"{terms.digest[:32]}.json"


def begun_under(prefix: Path, terms: Terms) -> list[Begun]:
    """The runs that were begun under a contract. Raises BadInput."""
    file = kept(prefix, terms)
    return sessions.of_json(read_whole(file, MOST_BYTES), terms, str(file)) if file.exists() else []


def begin(prefix: Path, terms: Terms) -> None:
    """Writes down that a run begins, behind all that left a report. Raises BadInput, OSError, lock.Held."""
    file = kept(prefix, terms)
    file.parent.mkdir(parents=True, exist_ok=True)
    with changing(file):
        runs = with_reports(prefix, terms, begun_under(prefix, terms))
        write_whole(file, sessions.to_json(terms, [*runs, Begun(sessions.text_of(datetime.now(timezone.utc)))]))


def ended(prefix: Path, terms: Terms, report: Path) -> None:
    """Writes down which report the last run left, unless another run has, that began since. Raises BadInput, OSError,
    lock.Held."""
    file = kept(prefix, terms)
    with changing(file):
        *before, last = begun_under(prefix, terms)
        if report.name not in (one.report for one in (*before, last)):
            last = replace(last, report=report.name, sha256=digest_of(report))
        # a run that was killed may have left its own since this one began
        write_whole(file, sessions.to_json(terms, with_reports(prefix, terms, [*before, last])))


def gathered(prefix: Path, terms: Terms) -> bool:
    """Was anything begun under a contract? Writes down the reports that were left since, too. Raises BadInput, OSError,
    lock.Held."""
    file = kept(prefix, terms)
    file.parent.mkdir(parents=True, exist_ok=True)
    with changing(file):
        runs = with_reports(prefix, terms, begun_under(prefix, terms))
        if runs:
            write_whole(file, sessions.to_json(terms, runs))
    return bool(runs)


def withdrawn(prefix: Path, terms: Terms) -> None:
    """Takes back the last entry, of a run that ReFrame refused. Raises BadInput, OSError, lock.Held."""
    file = kept(prefix, terms)
    with changing(file):
        runs = begun_under(prefix, terms)
        if runs and runs[-1].report is None:
            write_whole(file, sessions.to_json(terms, runs[:-1]))


def with_reports(prefix: Path, terms: Terms, runs: list[Begun]) -> list[Begun]:
    """The runs with the reports under the contract that none of them has: of one that was killed before it said so, or
    whose entry was lost. Raises BadInput.
    """
    found, known = list(runs), {prefix / "reports" / one.report for one in runs if one.report}
    for report in under(prefix, terms, known):
        began = sessions.began(report)
        of = next((at for at, one in reversed(list(enumerate(found))) if one.began <= began), None)
        if of is not None and found[of].report is None:
            found[of] = replace(found[of], report=report.name, sha256=digest_of(report))
        else:
            at = 0 if of is None else of + 1
            found.insert(at, Begun(began, report.name, digest_of(report)))
    return found


def digest_of(path: Path) -> str:
    """SHA-256 of a file. Raises BadInput."""
    return hashlib.sha256(read_whole(path, MOST_BYTES)).hexdigest()


def under(prefix: Path, terms: Terms, known: set[Path]) -> list[Path]:
    """The reports that are new and were measured under a contract."""
    new = (path for path in folders.reports(prefix) if path not in known)
    return [path for path in new if sessions.is_under(read_whole(path, MOST_BYTES), terms)]


def made(prefix: Path, repository: Path, terms: Terms) -> tuple[bytes, Ruling]:
    """(the bundle of all runs under a contract, its verdict). Raises BadInput."""
    runs = begun_under(prefix, terms)
    members = {
        bundle.CONTRACT: terms.content,
        bundle.RUNS: sessions.to_json(terms, runs),
        bundle.VERSIONS: canonical(versions()),
        **configuration(repository),
    }
    for number, one in enumerate(runs, 1):
        report = prefix / "reports" / one.report if one.report else None
        if report is None or not report.is_file():
            continue
        if digest_of(report) != one.sha256:
            raise BadInput(f"{report} was changed after it was measured: the bundle cannot be made of it")
        members[f"reports/{number}.json"] = read_whole(report, MOST_BYTES)
        members |= records(report, number)
    ruling = ruled(members, terms)
    return bundle.packed({**members, bundle.VERDICT: ruling.content}), ruling


def records(report: Path, number: int) -> dict[str, bytes]:
    """The verdicts and records of a report with their files of cells, by their names in the bundle. Raises BadInput."""
    found: dict[str, bytes] = {}
    for attempt, place, case in sessions.cases_of(json.loads(read_whole(report, MOST_BYTES)), report):
        folder = sessions.member_of(number, attempt, place)
        verdict = verdict_place(case, report)
        if verdict is not None:
            found[f"{folder}/{verdict_file.FILE}"] = read_whole(verdict, MOST_BYTES)
        record = verdict.with_name("record.json") if verdict else record_place(case, report)
        if record is None or not record.is_file():
            continue
        found[f"{folder}/{record.name}"] = read_whole(record, MOST_BYTES)
        for file in beside(found[f"{folder}/{record.name}"]):
            if fits(f"{folder}/{file}") and (record.parent / file).is_file():
                found[f"{folder}/{file}"] = read_whole(record.parent / file, MOST_BYTES)
    return found


def verdict_place(case: Mapping[str, Any], report: Path) -> Path | None:
    """The verdict that the check of a test case stored; None for a report of an earlier version."""
    if not case.get(DIGEST):
        return None
    folder = Path(str(case.get("verdict_file") or "")).parent
    files = list(files_in((str(folder),), report, (verdict_file.FILE,)))
    return next((one for one in files if digest_of(one) == case[DIGEST]), next(iter(files), None))


def fits(name: str) -> bool:
    """Whether a bundle can contain a file of this name. A file that is left out makes its test case INCOMPLETE."""
    return len(name) <= LONGEST and bundle.NAMES.fullmatch(name) is not None


def beside(record: bytes) -> list[str]:
    """The names of the files of cells that a record has; none of one that cannot be read, which is judged as it is."""
    try:
        results = json.loads(record)["results"]
        names = [one["cells"]["file"] for one in results if "cells" in one]
        return [name for name in names if isinstance(name, str) and Path(name).name == name and name.endswith(".npy")]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []


def configuration(repository: Path) -> dict[str, bytes]:
    """The files of config, by their names in the bundle; what is no text of ours is left out."""
    root = repository / "config"
    found = {}
    for path in sorted(folders.below(root)) if root.is_dir() else ():
        name = f"configuration/{path.relative_to(root).as_posix()}"
        ours = path.suffix in CONFIGURATION and fits(name)
        if ours and path.is_file() and path.stat().st_size <= MOST_CONFIGURATION:
            found[name] = path.read_bytes()
    return found


def versions() -> dict[str, str]:
    """What judged."""
    found = {"linkmatrix": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def ruled(members: Mapping[str, bytes], terms: Terms) -> Ruling:
    """The verdict that the members of a bundle give. Raises BadInput."""
    with sessions.opened(members, terms) as (found, root):
        ruling = rule(terms, found).without(root)
        gone = [
            f"the report of run {number} is not in the bundle"
            for number, one in enumerate(found, 1)
            if one.begun.report is not None and f"reports/{number}.json" not in members
        ]
    changed = [
        f"the report of run {number} is not the one that it left"
        for number, one in enumerate(found, 1)
        if f"reports/{number}.json" in members
        and hashlib.sha256(members[f"reports/{number}.json"]).hexdigest() != one.begun.sha256
    ]
    ruling.add(Verdict.INCOMPLETE, [*gone, *changed])
    return ruling


def verified(path: Path) -> tuple[Terms, Ruling, str]:
    """(contract, verdict, SHA-256) of a bundle, judged anew. Raises BadInput for one that is not as it was made."""
    members, digest = bundle.load(path)
    terms = read(members[bundle.CONTRACT], f"{path}: {bundle.CONTRACT}")
    runs = sessions.of_json(members[bundle.RUNS], terms, f"{path}: {bundle.RUNS}")
    numbers = {f"reports/{number}.json" for number in range(1, len(runs) + 1)}
    stray = [name for name in members if name.startswith("reports/") and name not in numbers]
    if stray:
        raise BadInput(f"{path}: {stray[0]} is of no run that was begun: {bundle.REMEDY}")
    ruling = ruled(members, terms)
    if ruling.content != members[bundle.VERDICT]:
        raise BadInput(f"{path}: {differs(members[bundle.VERDICT], ruling)}: {bundle.REMEDY}")
    return terms, ruling, digest


def differs(said: bytes, ruling: Ruling) -> str:
    """How the verdict in a bundle is not the one that its records give."""
    own = json.loads(ruling.content)
    try:
        other = json.loads(said)
        if other["linkmatrix"] != __version__:
            return f"it was judged by linkmatrix {str(other['linkmatrix'])[:20]}, and this is {__version__}"
        names = [name for name in own if other.get(name) != own[name]]
        word = str(other["verdict"])[:20]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        names, word = ["verdict"], "nothing that can be read"
    what = f"its {names[0]} are not" if names else "its verdict is not"
    return f"it says {word}, and its records give {own['verdict']}: {what} what they give"
