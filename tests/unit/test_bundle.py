"""A bundle is read as it was made, or refused. Its verdict is the one that its records give, on any machine."""

import gzip
import io
import json
import struct
import tarfile

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.runs import verdict_file
from linkmatrix.runs.bundle import ABOUT, SUMS, load, pack
from tests.tools.json_places import places, value_at

from .test_hostile_text import OF_RECORDS, OF_REPORTS, STEERS, Tags, ended, put

GOOD = {ABOUT: b"{}", "records/1-0-0/record.json": b"{}"}
WHOLE = pack(GOOD)
OTHER = "records/1-0-1/record.json"
RECORD, VERDICT, REPORT = "records/1-0-0/record.json", "records/1-0-0/verdict.json", "reports/1.json"
KINDS = {"record": RECORD, "verdict": VERDICT, "report": REPORT, "about": ABOUT}


def entry(name, **changes):
    one = tarfile.TarInfo(name)
    for key, value in changes.items():
        setattr(one, key, value)
    return one


def with_entries(*entries, base=WHOLE, format=tarfile.USTAR_FORMAT):
    """A bundle with further entries at its end, as (entry, content). base: the bundle, b"" for a new archive."""
    target = io.BytesIO(base)
    with tarfile.open(fileobj=target, mode="a" if base else "w", format=format) as archive:
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
    return WHOLE[:-10240] + bytes(header) + bytes(10240)


MOST = 8**11 - 1  # bytes that a header can claim
LIST = WHOLE[512:1024].rstrip(b"\0")  # SHA256SUMS is the first member
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
    "lie about its size": entry(SUMS, size=MOST, mode=0o644).tobuf(tarfile.USTAR_FORMAT) + WHOLE[512:],
    "behind the end": WHOLE + b"more",
    "zeros behind the end": WHOLE + bytes(512),
    "compressed": gzip.compress(WHOLE, mtime=0),
    "nothing": b"",
    "no tar": struct.pack(">4096I", *range(4096)),
    "without its list": with_entries(*((entry(name), content) for name, content in GOOD.items()), base=b""),
    "without a member": with_entries((entry(SUMS), LIST), (entry(ABOUT), b"{}"), base=b""),
    "other list": with_entries(*((entry(name), text) for name, text in {SUMS: LIST[1:], **GOOD}.items()), base=b""),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_of_tar_is_refused(trick, tmp_path, linkmatrix):
    path = tmp_path / "lot.tar"
    path.write_bytes(TRICKS[trick])
    with pytest.raises(BadInput, match="lot.tar"):
        load(path)
    assert linkmatrix("show", path)[0] == 2


@pytest.fixture
def lot(site, tmp_path, linkmatrix):
    """Makes a bundle of a run, and leaves for a folder that has nothing else."""

    def make(**changes):
        site.measure(1, **changes)
        path = tmp_path / "lot.tar"
        assert linkmatrix("export", "--format", "bundle", "--out", path)[0] == 0
        site.leave()
        return path

    return make


def test_a_bundle_is_the_same_wherever_it_is_made_and_replaces_no_file(site, tmp_path, linkmatrix):
    site.measure(1)
    made = [linkmatrix("export", "--format", "bundle", "--out", tmp_path / f"{name}.tar")[0] for name in "aba"]
    assert made[:2] == [0, 0] and made[2] == 4
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    members, _ = load(tmp_path / "a.tar")
    assert {REPORT, RECORD, VERDICT, "config/references/p2p.yaml", ABOUT} == members.keys()
    assert json.loads(members[ABOUT])["versions"].keys() >= {"linkmatrix", "reframe-hpc"}


@pytest.mark.parametrize(("cell", "code"), [(396.0, 0), (300.0, 1), ("timeout", 3)])
@pytest.mark.parametrize("command", ["show", "diagnose", "report"])
def test_a_bundle_is_judged_anywhere(lot, linkmatrix, command, cell, code):
    path = lot(off={(0, 1): cell})
    for reference, expected in ([], code), (["--reference", "hgx"], code), (["--reference", "other"], 2):
        found, out, _ = linkmatrix(command, path, *reference)  # hgx is in the bundle: there is no other here
        assert found == expected and "other attempt" not in out


def test_a_test_case_that_the_table_lacks_is_judged_as_before(lot, site, linkmatrix):
    file = site.references / "p2p.yaml"
    file.write_text(file.read_text().replace("device_to_device", "another"))
    code, out, _ = linkmatrix("show", lot())
    assert code == 0 and "its record gives" not in out


def test_a_record_without_a_report_is_a_bundle_too(site, tmp_path, write_record, linkmatrix):
    record, path = write_record(path=tmp_path / "alone" / "one.json"), tmp_path / "lot.tar"
    assert linkmatrix("export", "--format", "bundle", "--out", path, record)[0] == 0
    site.leave()
    assert linkmatrix("show", path, "--reference", "hgx")[0] == 0


def test_every_flipped_byte_is_refused(lot):
    path = lot()
    whole = path.read_bytes()
    places = sorted({*range(0, 520), *range(0, len(whole), len(whole) // 150), len(whole) - 1})
    flipped = (whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in places)
    for content in (*flipped, *(whole[:cut] for cut in (0, 1, 511, 512, len(whole) // 2, len(whole) - 512))):
        path.write_bytes(content)
        with pytest.raises(BadInput, match="lot.tar"):
            load(path)


def forged(path, lost="", **changes):
    """Changes members of the bundle, given by their content, and makes every hash fit. lost: a member to remove."""
    members, _ = load(path)
    for name, change in changes.items():
        place = KINDS[name]
        content = json.loads(members[place])
        change(content)
        members[place] = json.dumps(content).encode()
    verdict, report = json.loads(members[VERDICT]), json.loads(members[REPORT])
    verdict["record_sha256"] = verdict_file.sha256(members[RECORD])
    members[VERDICT] = json.dumps(verdict).encode()
    if "report" not in changes:
        report["runs"][0]["testcases"][0]["verdict_sha256"] = verdict_file.sha256(members[VERDICT])
        members[REPORT] = json.dumps(report).encode()
    members.pop(lost, None)
    path.write_bytes(pack(members))


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
    lot, linkmatrix, measured, changes, code, fact
):
    path = lot(**measured)
    forged(path, **changes)
    found, out, refused = linkmatrix("show", path)
    assert found == code and fact in " ".join((out + refused).split())
    assert refused.count("\n") == (code == 2) and "linkmatrix-" not in refused


@pytest.mark.parametrize("hidden", ["nothing", "the test case in the report"])
def test_a_failed_test_does_not_pass_in_a_bundle_that_says_the_test_measures_nothing(lot, linkmatrix, hidden):
    path = lot(**FAILED)
    members, _ = load(path)
    verdict, report = json.loads(members[VERDICT]), json.loads(members[REPORT])
    case = report["runs"][0]["testcases"][0]
    verdict |= {"verdict": "PASS", "reasons": [], "facts": [], "testcases": [], "findings": [], "record_sha256": None}
    verdict["check"] |= {"measures": False, "reasons": []}
    if hidden != "nothing":
        case |= {"testcase": None, "display_name": "intranode_p2p %testcase=device_to_device_memcpy_write_ce"}
        verdict["test"] = case["display_name"]
    members[VERDICT] = json.dumps(verdict).encode()
    case |= {"result": "pass", "verdict_sha256": verdict_file.sha256(members[VERDICT])}
    members[REPORT] = json.dumps(report).encode()
    del members[RECORD]
    path.write_bytes(pack(members))
    code, out, _ = linkmatrix("show", path)
    assert code == 3 and "INCOMPLETE" in out and "1 PASS" not in out


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
    for kind, name in KINDS.items():
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
