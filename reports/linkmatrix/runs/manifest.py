"""Manifests: the test cases that a mode of `linkmatrix run` must measure on a partition (config/manifests/*.json).

* Without a manifest, a missing test case would go unnoticed. For example, an update of MPI may remove one-sided
  messages.
* The first run of a mode that is complete and passes writes the manifest. Later, only `run --manifest REASON` changes
  the manifest. The file lists the reason of each change.
* A test case may be skipped (one GPU, no peer access) only if the test case was also skipped when the manifest was
  written.
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

#: {test case with its environment: number of its cells}
Cases = Mapping[str, int]


@dataclass(frozen=True)
class Manifest:
    """The test cases of a mode on a partition.

    * skipped: {test case that may be skipped: reason}
    * changes: "when", "by" and "reason" of each change
    * left_out: {test case that `linkmatrix run` leaves out: hash of the test case}
    """

    file: Path
    partition: str
    cases: Cases
    skipped: Mapping[str, str] = field(default_factory=dict)
    changes: tuple[Mapping[str, str], ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


def key(name: str, environ: str) -> str:
    """The key of a test case in a manifest: its name and its environment. The node of `--distribute` is removed."""
    return f"{re.sub(r' %[.$]?nid=[^ ]+', '', name)} +{environ}"


def cells(record: Mapping[str, Any] | None) -> int:
    """The total number of cells in all matrices of a record."""
    return sum(len(result["rows"]) * len(result["columns"]) for result in (record or {"results": []})["results"])


def load(repository: Path, mode: str) -> dict[str, Manifest]:
    """Returns {partition: its manifest} for a mode. Raises BadInput for an invalid file.

    Two files for the same partition also raise BadInput.
    """
    found: dict[str, Manifest] = {}
    for file in sorted((repository / "config" / "manifests").glob("[!.]*.json")):
        try:
            content = json.loads(read_whole(file, MOST_BYTES), object_pairs_hook=refuse_repeats)
            partition, one = str(content["partition"]), content["modes"].get(mode)
            if one is None:
                continue
            cases = {str(name): int(count) for name, count in one["cases"].items()}
            skipped = {str(name): str(reason) for name, reason in one["skipped"].items()}
            left_out = {str(name): str(code) for name, code in one.get("left_out", {}).items()}
            changes = tuple(one["frozen"])
        except (ArithmeticError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            why = f"{type(error).__name__} {error}"[:200]
            raise BadInput(f"{file} is not a manifest of linkmatrix: {why}: restore it from version control") from None
        if partition in found:
            raise BadInput(
                f"{file} and {found[partition].file} are both the manifest of {mode} of {partition}: remove the copy"
            )
        found[partition] = Manifest(file, partition, cases, skipped, changes, left_out)
    return found


def file_for(folder: Path, partition: str) -> Path:
    """The path of a new manifest.

    Two partitions never share a file, even if their names differ only in special characters.
    """
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", partition)
    files = (folder / f"{name}{number}.json" for number in ("", *(f"-{at}" for at in range(2, 1000))))
    return next(file for file in files if not file.exists() or json.loads(file.read_bytes())["partition"] == partition)


def required_manifests(manifests: Mapping[str, Manifest], ran: set[str], system: str | None) -> list[Manifest]:
    """The manifests with which a run is compared.

    If `system` is SYSTEM:PARTITION, only the manifest of this partition counts. Otherwise, the manifests of all
    partitions of the systems count.

    * ran: the partitions of the run
    * system: the value of --system; None without this option
    """
    systems = {partition.partition(":")[0] for partition in ran} | ({system} if system else set())
    if system and ":" in system:
        return [one for one in manifests.values() if one.partition == system]
    return [one for one in manifests.values() if one.partition.partition(":")[0] in systems]


def shortfall(mode: str, manifest: Manifest, measured: Cases) -> list[str]:
    """One sentence per difference: test cases and cells of the manifest that the run did not measure."""
    missing = [name for name in manifest.cases if name not in measured]
    where = f"{mode} of {manifest.partition} ({manifest.file})"
    found = []
    if missing:
        count = len(manifest.cases)
        found.append(
            f"{count - len(missing)} of {count} test cases of {where} were measured, without {listed(missing)}:"
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

    left_out: see `Manifest`; None to keep the previous value.
    """
    known, folder = load(repository, mode).get(partition), repository / "config" / "manifests"
    folder.mkdir(parents=True, exist_ok=True)
    file = known.file if known else file_for(folder, partition)
    with changing(file):
        before = load(repository, mode).get(partition)
        content = json.loads(file.read_bytes()) if file.exists() else {"partition": partition, "modes": {}}
        entry = {"when": f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}", "by": person(), "reason": reason}
        changes = [*(before.changes if before else ()), entry]
        less = dict(before.left_out if before and left_out is None else left_out or {})
        one = {"frozen": changes, "cases": dict(sorted(cases.items())), "skipped": dict(skipped)}
        content["modes"][mode] = one | ({"left_out": less} if less else {})
        write_whole(file, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    return load(repository, mode)[partition]


def person() -> str:
    """The name of the user. Without a name, as in a container: "uid 1000"."""
    try:
        return re.sub(r"[^\w.@-]", "?", getpass.getuser())
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
