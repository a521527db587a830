"""The archive of a bundle: a tar file without compression that has the same bytes wherever it is made.

The members are sorted by name; times, owners and modes are fixed. `SHA256SUMS` lists all other members, as `sha256sum
-c` reads it. `load` packs what it read again and compares the bytes. An archive with a link, a device, two members of
one name, an absolute name or bytes behind its end is therefore refused. Nothing is unpacked before.
"""

import hashlib
import io
import re
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import BadInput
from ..files import read_whole

SUMS, ABOUT = "SHA256SUMS", "bundle.json"
SEGMENT = r"[A-Za-z0-9_][A-Za-z0-9_.@+:-]{0,60}"
NAMES = re.compile(
    rf"{SUMS}|{ABOUT}|reports/[1-9]\d{{0,3}}\.json"
    rf"|records/\d{{1,4}}-\d{{1,3}}-\d{{1,5}}/(record\.json|record\.npz|verdict\.json|{SEGMENT}\.npy)"
    rf"|config/(references/{SEGMENT}\.yaml|manifests/{SEGMENT}\.json)"
)
MOST_BYTES = 2 * 1024 * 1024 * 1024
MAGIC, MAGIC_AT = b"ustar\0", 257  # in the header of the first member
REMEDY = "copy the bundle again from where it was made"


def is_archive(path: Path) -> bool:
    """Whether a file begins as an archive of `packed` does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(tarfile.BLOCKSIZE).startswith(MAGIC, MAGIC_AT)


def packed(members: Mapping[str, bytes]) -> bytes:
    """The archive of these files, with their SHA256SUMS. Raises BadInput for a name or a size that no bundle has."""
    check_names(members, "the bundle")
    content = archived({**members, SUMS: sums(members)})
    if len(content) > MOST_BYTES:
        raise BadInput(f"the bundle would be larger than {MOST_BYTES} bytes: export fewer nodes")
    return content


def sums(members: Mapping[str, bytes]) -> bytes:
    """The content of SHA256SUMS."""
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(members.items())]
    return "".join(lines).encode()


def archived(members: Mapping[str, bytes]) -> bytes:
    """The members as tar, in the order of their names."""
    target = io.BytesIO()
    with tarfile.TarFile(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(members.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return target.getvalue()


def check_names(names: Iterable[str], where: str) -> None:
    """Raises BadInput for a name that no bundle has, and for two that a file system may take for one."""
    names = list(names)
    wrong = [name for name in names if not NAMES.fullmatch(name)]
    if wrong or len({name.casefold() for name in names}) != len(names):
        raise BadInput(f"{where} contains {', '.join(wrong)[:80] or 'two files of one name'}: {REMEDY}")


def load(path: Path) -> tuple[dict[str, bytes], str]:
    """({name: content} without SHA256SUMS, SHA-256 of the file). Raises BadInput for a bundle that was changed."""
    content = read_whole(path, MOST_BYTES)
    members = unpacked(content, path)
    if archived(members) != content:
        raise BadInput(f"{path} was not packed by linkmatrix: {REMEDY}")
    listed = members.pop(SUMS, b"")
    changed = sorted({*listed.splitlines()} ^ {*sums(members).splitlines()})
    if changed or ABOUT not in members:
        name = changed[0].decode(errors="replace").partition("  ")[2] if changed else ABOUT
        raise BadInput(f"{path}: {name[:80]} is missing, or its SHA-256 is not that of {SUMS}: {REMEDY}")
    return members, hashlib.sha256(content).hexdigest()


def unpacked(content: bytes, path: Path) -> dict[str, bytes]:
    """The regular files of an archive, in memory. Raises BadInput for any other member."""
    members: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for entry in archive:
                if entry.type != tarfile.REGTYPE or entry.pax_headers or entry.size > len(content):
                    raise BadInput(f"{path} contains '{entry.name[:80]}', which is not a regular file: {REMEDY}")
                if entry.name in members:
                    raise BadInput(f"{path} contains '{entry.name[:80]}' twice: {REMEDY}")
                file = archive.extractfile(entry)
                members[entry.name] = file.read() if file else b""
    except (tarfile.TarError, ValueError, OSError, EOFError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{path} is not a bundle: {str(error)[:100]}: {REMEDY}") from None
    check_names(members, str(path))
    return members
