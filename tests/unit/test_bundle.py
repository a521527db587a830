"""A bundle is read as it was made, or refused. Its verdict is the one that its records give, on any machine."""

import gzip
import io
import json
import struct
import tarfile

import pytest
from sites import Site

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.runs import verdict_file
from linkmatrix.runs.bundle import ABOUT, SUMS, archived, load, packed, sums
from tests.tools.json_places import places, value_at

from .test_hostile_text import OF_RECORDS, OF_REPORTS, STEERS, Tags, ended, put

GOOD = {ABOUT: b"{}", "records/1-0-0/record.json": b"{}"}
OTHER = "records/1-0-1/record.json"
RECORD, VERDICT = "records/1-0-0/record.json", "records/1-0-0/verdict.json"


def entry(name, **changes):
    one = tarfile.TarInfo(name)
    for key, value in changes.items():
        setattr(one, key, value)
    return one


def with_entries(*entries, format=tarfile.USTAR_FORMAT):
    """A bundle with further entries at its end, as (entry, content)."""
    target = io.BytesIO(packed(GOOD))
    with tarfile.open(fileobj=target, mode="a", format=format) as archive:
        for one, content in entries:
            one.size = len(content)
            archive.addfile(one, io.BytesIO(content))
    return target.getvalue()


def sparse(size):
    """A bundle with a GNU sparse file that claims a size."""
    header = bytearray(entry("records/1-0-0/x.npy", type=tarfile.GNUTYPE_SPARSE).tobuf(tarfile.GNU_FORMAT))
    header[483:495] = b"%011o\0" % size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return packed(GOOD)[:-10240] + bytes(header) + bytes(10240)


MOST = 8**11 - 1  # bytes that a header can claim
TRICKS = {
    "symbolic link": with_entries((entry(OTHER, type=tarfile.SYMTYPE, linkname="/etc/passwd"), b"")),
    "hard link": with_entries((entry(OTHER, type=tarfile.LNKTYPE, linkname=ABOUT), b"")),
    "device": with_entries((entry(OTHER, type=tarfile.CHRTYPE, devmajor=1, devminor=5), b"")),
    "pipe": with_entries((entry(OTHER, type=tarfile.FIFOTYPE), b"")),
    "folder": with_entries((entry("records", type=tarfile.DIRTYPE), b"")),
    "contiguous file": with_entries((entry(OTHER, type=tarfile.CONTTYPE), b"{}")),
    "absolute name": with_entries((entry("/tmp/x.json"), b"{}")),
    "name that leads out": with_entries((entry("records/../../x.json"), b"{}")),
    "name with dots": with_entries((entry("config/references/../x.yaml"), b"{}")),
    "backslashes": with_entries((entry("records\\1-0-0\\record.json"), b"{}")),
    "second of a name": with_entries((entry(ABOUT), b"[]")),
    "same without case": with_entries(*((entry(f"config/references/{name}.yaml"), b"") for name in "aA")),
    "unknown name": with_entries((entry("more.json"), b"{}")),
    "not in the list": with_entries((entry(OTHER), b"{}")),
    "other owner": with_entries((entry(OTHER, uid=1), b"{}")),
    "extended header": with_entries((entry(OTHER, pax_headers={"path": ABOUT}), b"{}"), format=tarfile.PAX_FORMAT),
    "sparse bomb": sparse(MOST),
    "lie about its size": entry(SUMS, size=MOST, mode=0o644).tobuf(tarfile.USTAR_FORMAT) + packed(GOOD)[512:],
    "behind the end": packed(GOOD) + b"more",
    "zeros behind the end": packed(GOOD) + bytes(512),
    "compressed": gzip.compress(packed(GOOD), mtime=0),
    "nothing": b"",
    "no tar": struct.pack(">4096I", *range(4096)),
    "without its list": archived(GOOD),
    "without a member": archived({SUMS: sums(GOOD), ABOUT: b"{}"}),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_of_tar_is_refused(trick, tmp_path):
    path = tmp_path / "lot.tar"
    path.write_bytes(TRICKS[trick])
    with pytest.raises(BadInput, match="lot.tar"):
        load(path)
    assert cli.main(["show", str(path)]) == 2


@pytest.fixture
def site(tmp_path, monkeypatch, write_record, reference_folder):
    return Site(tmp_path, monkeypatch, write_record, reference_folder)


@pytest.fixture
def lot(site, tmp_path, monkeypatch):
    """Makes a bundle of a run, and leaves for a folder that has nothing else."""

    def make(**changes):
        site.measure(1, **changes)
        path = tmp_path / "lot.tar"
        assert cli.main(["export", "--format", "bundle", "--out", str(path)]) == 0
        site.leave()
        return path

    return make


def test_a_bundle_is_the_same_wherever_it_is_made_and_replaces_no_file(site, tmp_path):
    site.measure(1)
    words = ["export", "--format", "bundle", "--out"]
    assert [cli.main([*words, str(tmp_path / name)]) for name in ("a.tar", "b.tar")] == [0, 0]
    assert cli.main([*words, str(tmp_path / "a.tar")]) == 4
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    members, _ = load(tmp_path / "a.tar")
    assert {"reports/1.json", RECORD, VERDICT, "config/references/p2p.yaml", ABOUT} == members.keys()
    assert json.loads(members[ABOUT])["versions"].keys() >= {"linkmatrix", "reframe-hpc"}


@pytest.mark.parametrize(("cell", "code"), [(396.0, 0), (300.0, 1), ("timeout", 3)])
@pytest.mark.parametrize("command", ["show", "diagnose", "report"])
def test_a_bundle_is_judged_anywhere(lot, capsys, command, cell, code):
    path = str(lot(off={(0, 1): cell}))
    assert cli.main([command, path]) == code
    assert cli.main([command, path, "--reference", "hgx"]) == code  # of the bundle: there is no other here
    assert cli.main([command, path, "--reference", "other"]) == 2
    assert "other attempt" not in capsys.readouterr().out


def test_a_test_case_that_the_table_lacks_is_judged_as_before(lot, site, capsys):
    file = site.references / "p2p.yaml"
    file.write_text(file.read_text().replace("device_to_device", "another"))
    assert cli.main(["show", str(lot())]) == 0
    assert "its record gives" not in capsys.readouterr().out


def test_a_record_without_a_report_is_a_bundle_too(site, tmp_path, write_record):
    record, path = write_record(path=tmp_path / "alone" / "one.json"), tmp_path / "lot.tar"
    assert cli.main(["export", "--format", "bundle", "--out", str(path), str(record)]) == 0
    site.leave()
    assert cli.main(["show", str(path), "--reference", "hgx"]) == 0


def test_every_flipped_byte_is_refused(lot):
    path = lot()
    whole = path.read_bytes()
    for place in sorted({*range(0, 520), *range(0, len(whole), len(whole) // 150), len(whole) - 1}):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(BadInput, match="lot.tar"):
            load(path)
    for cut in (0, 1, 511, 512, len(whole) // 2, len(whole) - 512):
        path.write_bytes(whole[:cut])
        with pytest.raises(BadInput, match="lot.tar"):
            load(path)


def forged(path, lost="", **changes):
    """Changes members of the bundle, given by their content, and makes every hash fit. lost: a member to remove."""
    members, _ = load(path)
    for name, change in changes.items():
        place = {"record": RECORD, "verdict": VERDICT, "report": "reports/1.json", "about": ABOUT}[name]
        content = json.loads(members[place])
        change(content)
        members[place] = json.dumps(content).encode()
    verdict, report = json.loads(members[VERDICT]), json.loads(members["reports/1.json"])
    verdict["record_sha256"] = verdict_file.sha256(members[RECORD])
    members[VERDICT] = json.dumps(verdict).encode()
    if "report" not in changes:
        report["runs"][0]["testcases"][0]["verdict_sha256"] = verdict_file.sha256(members[VERDICT])
        members["reports/1.json"] = json.dumps(report).encode()
    members.pop(lost, None)
    path.write_bytes(packed(members))


def slower(content):
    content["results"][0]["values"][0][1] = content["results"][0]["low"][0][1] = 100.0


FAILED = {"off": {(0, 1): 300.0}}
EDITED = "PASS, its record gives FAIL"


@pytest.mark.parametrize(
    ("measured", "changes", "code", "fact"),
    [
        ({}, {"record": slower}, 1, EDITED),
        (FAILED, {"verdict": lambda content: content.update(verdict="PASS")}, 1, EDITED),
        ({}, {"about": lambda content: content.update(schema="linkmatrix.bundle/9")}, 2, "lot.tar"),
        ({}, {"about": lambda content: content.pop("frozen")}, 2, "lot.tar"),
        ({}, {"about": lambda content: content.update(run=7)}, 2, "lot.tar"),
        ({}, {"report": lambda content: content.update(runs=[7])}, 2, "lot.tar"),
        ({}, {"report": lambda content: content["runs"][0].update(testcases=["x"])}, 2, "lot.tar"),
        ({}, {"report": lambda content: content["runs"][0]["testcases"][0].update(result=None)}, 2, "lot.tar"),
        ({}, {"report": lambda content: content["session_info"].update(time_start_unix=1e300)}, 2, "lot.tar"),
        ({}, {"lost": RECORD}, 3, "INCOMPLETE"),
        ({}, {"lost": VERDICT}, 3, "INCOMPLETE"),
    ],
)
def test_a_bundle_with_fitting_hashes_has_the_verdict_of_its_records_or_is_refused(
    lot, capsys, measured, changes, code, fact
):
    path = lot(**measured)
    forged(path, **changes)
    capsys.readouterr()
    assert cli.main(["show", str(path)]) == code
    out, refused = capsys.readouterr()
    assert fact in " ".join((out + refused).split())
    assert refused.count("\n") == (code == 2) and "linkmatrix-" not in refused


def is_plain(*arguments):
    """A command ends without a traceback and without what steers a terminal."""
    code, out, errors = ended(*arguments)
    assert code in (0, 1, 2, 3, 4) and "Traceback" not in out + errors, errors
    assert [found.group() for found in STEERS.finditer(out + errors)] == [], out + errors


@pytest.mark.thorough
def test_no_text_of_a_bundle_steers_a_terminal_or_is_markup_of_its_page(lot, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "9999")  # a paragraph that is wrapped may begin a line with any word
    path, shapes = lot(), set()
    whole = path.read_bytes()
    kinds = {RECORD: "record", VERDICT: "verdict", "reports/1.json": "report", ABOUT: "about"}
    for name, kind in kinds.items():
        content = json.loads(load(path)[0][name])
        for place in [place for place in places(content) if isinstance(value_at(content, place), str)]:
            shape = (name, tuple("" if isinstance(step, int) else step for step in place))
            if shape in shapes:  # an entry of a list is like the others
                continue
            shapes.add(shape)
            for number, text in enumerate((OF_RECORDS, OF_REPORTS)):
                forged(path, **{kind: lambda content, place=place, text=text: put(content, place, text)})
                folder = tmp_path / f"{len(shapes)}-{number}"
                is_plain("report", path, "--certificate", "--out", folder)
                is_plain("show", path)
                for page in folder.glob("*.html"):
                    tags = Tags()
                    tags.feed(page.read_text())
                    assert tags.wrong == []
                path.write_bytes(whole)
    assert len(shapes) > 40
