"""Whatever tar can hold beside plain files of ours is no bundle: links, names that lead out, two of one name, bombs."""

import gzip
import io
import struct
import tarfile

import pytest

from linkmatrix.contract import bundle
from linkmatrix.errors import BadInput

GOOD = {name: b"{}" for name in bundle.FIXED - {bundle.MANIFEST}} | {"records/1-0-0/record.json": b"{}"}


def entry(name, **changes):
    one = tarfile.TarInfo(name)
    for key, value in changes.items():
        setattr(one, key, value)
    return one


OTHER = "records/1-0-1/record.json"


def with_entries(*entries, format=tarfile.USTAR_FORMAT):
    """A bundle with further entries at its end, as (entry, content)."""
    target = io.BytesIO(bundle.packed(GOOD))
    with tarfile.open(fileobj=target, mode="a", format=format) as archive:
        for one, content in entries:
            one.size = len(content)
            archive.addfile(one, io.BytesIO(content))
    return target.getvalue()


def sparse():
    """An old GNU sparse file that says it is 8 GiB large."""
    header = bytearray(entry("records/1-0-0/x.npy").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"S"
    header[483:495] = b"77777777777\0"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    good = bundle.packed(GOOD)
    return good[:-10240] + bytes(header) + bytes(10240)


def a_lie_about_its_size():
    good = bytearray(bundle.packed(GOOD))
    good[124:136] = b"77777777777\0"
    good[148:156] = b" " * 8
    good[148:156] = b"%06o\0 " % sum(good[:512])
    return bytes(good)


TRICKS = {
    "symbolic link": with_entries((entry(OTHER, type=tarfile.SYMTYPE, linkname="/etc/passwd"), b"")),
    "hard link": with_entries((entry(OTHER, type=tarfile.LNKTYPE, linkname="contract.json"), b"")),
    "device": with_entries((entry(OTHER, type=tarfile.CHRTYPE, devmajor=1, devminor=5), b"")),
    "pipe": with_entries((entry(OTHER, type=tarfile.FIFOTYPE), b"")),
    "folder": with_entries((entry("records", type=tarfile.DIRTYPE), b"")),
    "contiguous file": with_entries((entry(OTHER, type=tarfile.CONTTYPE), b"{}")),
    "absolute name": with_entries((entry("/tmp/x.json"), b"{}")),
    "name that leads out": with_entries((entry("records/../../x.json"), b"{}")),
    "name with dots": with_entries((entry("configuration/../x.json"), b"{}")),
    "backslashes": with_entries((entry("records\\1-0-0\\record.json"), b"{}")),
    "second of a name": with_entries((entry("verdict.json"), b"[]")),
    "same without case": with_entries((entry("configuration/a.py"), b""), (entry("configuration/A.py"), b"")),
    "unknown name": with_entries((entry("more.json"), b"{}")),
    "not in the manifest": with_entries((entry(OTHER), b"{}")),
    "other owner": with_entries((entry(OTHER, uid=1), b"{}")),
    "extended header": with_entries(
        (entry(OTHER, pax_headers={"path": "verdict.json"}), b"{}"), format=tarfile.PAX_FORMAT
    ),
    "sparse bomb": sparse(),
    "lie about its size": a_lie_about_its_size(),
    "behind the end": bundle.packed(GOOD) + b"more",
    "zeros behind the end": bundle.packed(GOOD) + bytes(512),
    "compressed": gzip.compress(bundle.packed(GOOD), mtime=0),
    "nothing": b"",
    "no tar": struct.pack(">4096I", *range(4096)),
}  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_of_tar_is_refused(trick, tmp_path):
    path = tmp_path / "lot.tar"
    path.write_bytes(TRICKS[trick])
    with pytest.raises(BadInput, match="lot.tar"):
        bundle.load(path)


def test_a_bundle_is_read_as_it_was_packed(tmp_path):
    path = tmp_path / "lot.tar"
    path.write_bytes(bundle.packed(GOOD))
    members, _ = bundle.load(path)
    assert {name: members[name] for name in GOOD} == GOOD
    assert bundle.packed(dict(reversed(GOOD.items()))) == path.read_bytes()


@pytest.mark.parametrize("lost", sorted([*GOOD, bundle.MANIFEST]))
def test_a_member_that_is_gone_is_missed(lost, tmp_path):
    path = tmp_path / "lot.tar"
    members = bundle.unpacked(bundle.packed(GOOD), path)
    del members[lost]
    path.write_bytes(bundle.archived(members))
    with pytest.raises(BadInput, match="lot.tar"):
        bundle.load(path)
