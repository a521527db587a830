"""What a mode of `linkmatrix run` measures on a partition: config/manifests/*.json, one file for each partition.

A run that passes is an acceptance only if it measured all of it, for what an update took away (one-sided MPI, a GPU) is
no failure of any test. The first acceptance that passes whole freezes it; later it changes by `run --manifest REASON`
alone, and the reason stays in the file. A test case that a check skips, for there is one GPU or no peer access, is
excused only if it was skipped then.
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
from ..files import MOST_BYTES, changing, read_whole, write_whole
from ..record.units import listed

#: {test case with its environment: how many cells it measured}
Cases = Mapping[str, int]


@dataclass(frozen=True)
class Manifest:
    """What one mode measures on one partition.

    skipped: {test case: the reason for which it may be skipped}. left_out: {test case: its hash} of the test cases that
    `linkmatrix run` does not measure. frozen: when, by whom and why, each time.
    """

    file: Path
    partition: str
    cases: Cases
    skipped: Mapping[str, str] = field(default_factory=dict)
    frozen: tuple[Mapping[str, str], ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


def key(name: str, environ: str) -> str:
    """A test case of a partition; the node that `--distribute` chose is no part of it."""
    return f"{re.sub(r' %[.$]?nid=[^ ]+', '', name)} +{environ}"


def cells(record: Mapping[str, Any] | None) -> int:
    """How many cells the matrices of a record have."""
    return sum(len(result["rows"]) * len(result["columns"]) for result in (record or {"results": []})["results"])


def load(repository: Path, mode: str) -> dict[str, Manifest]:
    """{partition: what the mode measures there}. Raises BadInput naming the file."""
    found = {}
    for file in sorted((repository / "config" / "manifests").glob("[!.]*.json")):
        try:
            said = json.loads(read_whole(file, MOST_BYTES))
            partition, one = str(said["partition"]), said["modes"].get(mode)
            if one is not None:
                cases = {str(name): int(count) for name, count in one["cases"].items()}
                skipped = {str(name): str(reason) for name, reason in one["skipped"].items()}
                left_out = {str(name): str(code) for name, code in one.get("left_out", {}).items()}
                found[partition] = Manifest(file, partition, cases, skipped, tuple(one["frozen"]), left_out)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            why = f"{type(error).__name__} {error}"[:200]
            raise BadInput(f"{file} is not a manifest of linkmatrix: {why}: take it from version control") from None
    return found


def wanted(manifests: Mapping[str, Manifest], ran: set[str], system: str | None) -> list[Manifest]:
    """Those that a run must fulfil: of the partition that it was asked for, or of all of its systems'."""
    systems = {partition.partition(":")[0] for partition in ran} | ({system} if system else set())
    if system and ":" in system:
        return [one for one in manifests.values() if one.partition == system]
    return [one for one in manifests.values() if one.partition.partition(":")[0] in systems]


def shortfall(mode: str, manifest: Manifest, measured: Cases) -> list[str]:
    """What a manifest asks for and was not measured, in sentences; nothing where all was."""
    missing = [name for name in manifest.cases if name not in measured]
    where = f"{mode} of {manifest.partition} ({manifest.file})"
    found = []
    if missing:
        count = len(manifest.cases)
        found.append(
            f"{count - len(missing)} of {count} test cases of {where} were measured, not {listed(missing)}:"
            " measure all, or say why they are no more: --manifest REASON"
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
    """Writes what a mode measures on a partition from now on. Raises BadInput, OSError, lock.Held.

    left_out: as `Manifest.left_out`; None for those of the manifest before.
    """
    file = repository / "config" / "manifests" / f"{re.sub(r'[^A-Za-z0-9_.-]', '-', partition)}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
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
    """Who froze it; a container may have no name for it."""
    try:
        return re.sub(r"[^\w.@-]", "?", getpass.getuser())
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
