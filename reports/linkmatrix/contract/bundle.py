"""A bundle: all that a verdict under a contract was made of, in one file that is the same wherever it is made.

A tar archive without compression: members sorted by name, times, owners and modes fixed, and `manifest.json` with the
SHA-256 of each. What is read is packed anew and must be the same file, byte for byte: so there is no link, no device,
no second member of a name, no absolute name and nothing behind the end that any reader of tar could see otherwise.
"""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

from ..errors import BadInput
from ..files import read_whole, regular
from .terms import canonical

SCHEMA = "linkmatrix.bundle/1"
MANIFEST, CONTRACT, VERDICT, RUNS, VERSIONS = (
    "manifest.json",
    "contract.json",
    "verdict.json",
    "runs.json",
    "versions.json",
)
FIXED = {MANIFEST, CONTRACT, VERDICT, RUNS, VERSIONS}
SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9_.@+:-]{0,200}"
NAMES = re.compile(
    rf"reports/[1-9]\d{{0,3}}\.json|records/\d{{1,4}}-\d{{1,3}}-\d{{1,5}}/(record\.json|verdict\.json|{SEGMENT}\.npy)|configuration(/{SEGMENT}){{1,8}}"
)
MOST_BYTES = 2 * 1024 * 1024 * 1024
MOST_MEMBERS = 100_000
MAGIC, MAGIC_AT = b"ustar\0", 257  # of the first member's head
REMEDY = "take the bundle from where it was made"


def packed(members: Mapping[str, bytes]) -> bytes:
    """The bundle of these files, with their manifest. Raises BadInput for a name that none may have."""
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(members.items())}
    whole = {**members, MANIFEST: canonical({"schema": SCHEMA, "members": hashes})}
    check_names(list(whole), "a bundle")
    return archived(whole)


def archived(members: Mapping[str, bytes]) -> bytes:
    """The members as tar, in the order of their names."""
    target = io.BytesIO()
    with tarfile.TarFile(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(members.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return target.getvalue()


def check_names(names: list[str], where: str) -> None:
    """Raises BadInput for names that no bundle has, or that are one on some file systems."""
    wrong = [name for name in names if name not in FIXED and not NAMES.fullmatch(name)]
    if wrong:
        raise BadInput(f"{where} holds '{wrong[0][:80]}', which no bundle has: {REMEDY}")
    if len({name.casefold() for name in names}) != len(names):
        raise BadInput(f"{where} holds two files that are one where case does not count: {REMEDY}")


def load(path: Path) -> tuple[dict[str, bytes], str]:
    """({member: its content}, SHA-256 of the file) of a bundle. Raises BadInput for what is not one, or was changed."""
    check_beginning(path)
    content = read_whole(path, MOST_BYTES)
    members = unpacked(content, path)
    if archived(members) != content:
        raise BadInput(f"{path} is packed otherwise than linkmatrix packs: {REMEDY}")
    check_manifest(members, path)
    return members, hashlib.sha256(content).hexdigest()


def check_beginning(path: Path) -> None:
    """Raises BadInput for a file that does not begin as an archive: a large one need not be in memory to be seen."""
    regular(path)
    with path.open("rb") as file:
        if not file.read(tarfile.BLOCKSIZE).startswith(MAGIC, MAGIC_AT):
            raise BadInput(f"{path} is no bundle: it does not begin as an archive of tar: {REMEDY}")


def unpacked(content: bytes, path: Path) -> dict[str, bytes]:
    """The regular files of an archive, in memory. Raises BadInput."""
    members: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for entry in archive:
                if entry.type != tarfile.REGTYPE or entry.pax_headers or entry.size > len(content):
                    raise BadInput(f"{path} holds '{entry.name[:80]}', which is no plain file: {REMEDY}")
                if entry.name in members or len(members) >= MOST_MEMBERS:
                    raise BadInput(f"{path} holds '{entry.name[:80]}' twice, or too many files: {REMEDY}")
                file = archive.extractfile(entry)
                members[entry.name] = file.read() if file else b""
    except (tarfile.TarError, ValueError, OSError, EOFError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{path} is no bundle: {str(error)[:100]}: {REMEDY}") from None
    check_names(list(members), str(path))
    return members


def check_manifest(members: Mapping[str, bytes], path: Path) -> None:
    """Raises BadInput where a member is missing, is more than the manifest has, or was changed."""
    missing = FIXED - members.keys()
    if missing:
        raise BadInput(f"{path} lacks {sorted(missing)[0]}: {REMEDY}")
    try:
        said = json.loads(members[MANIFEST])
        hashes = said["members"]
        if said["schema"] != SCHEMA or canonical(said) != members[MANIFEST] or not isinstance(hashes, dict):
            raise ValueError("it is not as it was written")
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise BadInput(f"{path}: {MANIFEST} cannot be used: {str(error)[:100]}: {REMEDY}") from None
    others = {name for name in members if name != MANIFEST}
    if others != hashes.keys():
        odd = sorted(others ^ hashes.keys())[0]
        raise BadInput(f"{path}: {odd[:80]} is in the manifest or in the bundle, and not in both: {REMEDY}")
    for name in sorted(others):
        if hashlib.sha256(members[name]).hexdigest() != hashes[name]:
            raise BadInput(f"{path}: {name} was changed: its SHA-256 is not that of the manifest: {REMEDY}")
