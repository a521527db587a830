"""The test cases that a mode of `linkmatrix run` measures on a partition: config/manifests/*.json, one file each.

A run is an acceptance only if it measured the whole manifest. Otherwise a test case that an update removed (one-sided
MPI, a GPU) would be missing without a failure of any test. The first complete acceptance that passes creates the
manifest. Later only `run --manifest REASON` changes it, and the file keeps the reason. A test case that a check skips
(one GPU, no peer access) is excused only if it was skipped when the manifest was created.
"""

import getpass
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..files import MOST_BYTES, changing, read_whole, refuse_repeats, write_whole
from ..record.units import listed

#: {test case with its environment: how many cells it measured}
Cases = Mapping[str, int]


@dataclass(frozen=True)
class Manifest:
    """The test cases of a mode on a partition.

    skipped: {test case: why it may be skipped}. frozen: time, person and reason of each change. left_out: {test case:
    its hash} of the test cases that `linkmatrix run` does not measure.
    """

    file: Path
    partition: str
    cases: Cases
    skipped: Mapping[str, str] = field(default_factory=dict)
    frozen: tuple[Mapping[str, str], ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


def key(name: str, environ: str) -> str:
    """The name of a test case of a partition, without the node that `--distribute` chose."""
    return f"{re.sub(r' %[.$]?nid=[^ ]+', '', name)} +{environ}"


def cells(record: Mapping[str, Any] | None) -> int:
    """The number of cells of the matrices of a record."""
    return sum(len(result["rows"]) * len(result["columns"]) for result in (record or {"results": []})["results"])


def load(repository: Path, mode: str) -> dict[str, Manifest]:
    """{partition: its manifest for the mode}. Raises BadInput naming the file, or two files of one partition."""
    found: dict[str, Manifest] = {}
    for file in sorted((repository / "config" / "manifests").glob("[!.]*.json")):
        try:
            said = json.loads(read_whole(file, MOST_BYTES), object_pairs_hook=refuse_repeats)
            partition, one = str(said["partition"]), said["modes"].get(mode)
            if one is None:
                continue
            cases = {str(name): int(count) for name, count in one["cases"].items()}
            skipped = {str(name): str(reason) for name, reason in one["skipped"].items()}
            left_out = {str(name): str(code) for name, code in one.get("left_out", {}).items()}
            frozen = tuple(one["frozen"])
        except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            why = f"{type(error).__name__} {error}"[:200]
            raise BadInput(f"{file} is not a manifest of linkmatrix: {why}: restore it from version control") from None
        if partition in found:
            raise BadInput(
                f"{file} and {found[partition].file} are both the manifest of {mode} of {partition}: remove the copy"
            )
        found[partition] = Manifest(file, partition, cases, skipped, frozen, left_out)
    return found


def file_for(folder: Path, partition: str) -> Path:
    """The file of a new manifest. Another partition, whose name differs in special characters, keeps its own file."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", partition)
    files = (folder / f"{name}{number}.json" for number in ("", *(f"-{at}" for at in range(2, 1000))))
    return next(file for file in files if not file.exists() or json.loads(file.read_bytes())["partition"] == partition)


def required_manifests(manifests: Mapping[str, Manifest], ran: set[str], system: str | None) -> list[Manifest]:
    """The manifests that a run must fulfil: that of the partition that was asked for, or those of all its systems."""
    systems = {partition.partition(":")[0] for partition in ran} | ({system} if system else set())
    if system and ":" in system:
        return [one for one in manifests.values() if one.partition == system]
    return [one for one in manifests.values() if one.partition.partition(":")[0] in systems]


def shortfall(mode: str, manifest: Manifest, measured: Cases) -> list[str]:
    """The test cases and cells of a manifest that were not measured, in sentences."""
    missing = [name for name in manifest.cases if name not in measured]
    where = f"{mode} of {manifest.partition} ({manifest.file})"
    found = []
    if missing:
        count = len(manifest.cases)
        found.append(
            f"{count - len(missing)} of {count} test cases of {where} were measured, not {listed(missing)}:"
            " measure all, or write a new manifest: --manifest REASON"
        )
    found += [
        f"{name}: {measured[name]} of {count} cells of {where}"
        for name, count in manifest.cases.items()
        if name in measured and measured[name] < count
    ]
    return found


def freeze(
    repository: Path,
    mode: str,
    partition: str,
    cases: Cases,
    skipped: Mapping[str, str],
    reason: str,
    left_out: Mapping[str, str] | None = None,
) -> Manifest:
    """Writes the manifest of a mode on a partition. Raises BadInput, OSError, lock.Held.

    left_out: as `Manifest.left_out`; None for those of the manifest before.
    """
    known, folder = load(repository, mode).get(partition), repository / "config" / "manifests"
    folder.mkdir(parents=True, exist_ok=True)
    file = known.file if known else file_for(folder, partition)
    with changing(file):
        before = load(repository, mode).get(partition)
        said = json.loads(file.read_bytes()) if file.exists() else {"partition": partition, "modes": {}}
        entry = {"when": f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}", "by": person(), "reason": reason}
        frozen = [*(before.frozen if before else ()), entry]
        less = dict(before.left_out if before and left_out is None else left_out or {})
        one = {"frozen": frozen, "cases": dict(sorted(cases.items())), "skipped": dict(skipped)}
        said["modes"][mode] = one | ({"left_out": less} if less else {})
        write_whole(file, (json.dumps(said, indent=1, ensure_ascii=False) + "\n").encode())
    return load(repository, mode)[partition]


def person() -> str:
    """The name of the user. A container may have no name for the user's number."""
    try:
        return re.sub(r"[^\w.@-]", "?", getpass.getuser())
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
