"""Files that are made to hurt who reads them: as large, as deep, as often or as far around as a file can be.

Each is read as it is, or refused in one sentence with exit code 2; none costs the time or memory that it asks for.
"""

import json
import re
import resource
import sys
from pathlib import Path

import pytest

from linkmatrix import cli
from linkmatrix.record import reading

DATA = Path(__file__).resolve().parents[1] / "data"
HEAD = "intranode_p2p:\n  $index: [reference_name, testcase]\n"
CELL = "[1.0, -0.1, 0.1, GB/s]"
#: Anchors that stand for nine times the one before, twelve deep: in lists, in mappings, by merging, in itself.
LAUGHS = {
    "lists": [f"a0: &a0 {CELL}", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))],
    "mappings": [
        f"a0: &a0 {{k: {CELL}}}",
        *(f"a{n}: &a{n} {{{', '.join(f'k{k}: *a{n - 1}' for k in range(9))}}}" for n in range(1, 12)),
    ],
    "merged": [
        f"a0: &a0 {{k: {CELL}}}",
        *(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)),
    ],
    "itself": ["a0: &a0 {k: *a0}"],
}
READERS = (["show"], ["diagnose"], ["import"], ["report"], ["history"], ["adopt", "--table", "hgx"])
LARGE = 2**30
SIZES = (2**63 - 1, 2**63, 2**64, 10**30, -1, -(2**63))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder of the example, in which results are too."""
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path / "results"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(capsys):
    """The sentence of a command line that is bad input, which has exit code 2."""

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        errors = capsys.readouterr().err
        assert code == 2 and errors.count("\n") == 1 and errors.startswith("linkmatrix: "), errors
        return errors

    return run


@pytest.fixture
def little_memory():
    """What a reader may take beyond what this process has: less than the large files have."""
    taken = int(re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[1]) * 1024
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + LARGE * 3 // 4, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("laugh", LAUGHS.values(), ids=LAUGHS)
def test_anchors_that_stand_for_billions_are_refused(folder, write_record, refused, little_memory, laugh):
    (folder / "laugh.yaml").write_text(HEAD + "".join(f"  {line}\n" for line in laugh))
    refused("show", write_record(), "--references", folder / "laugh.yaml")
    refused("adopt", write_record(), "--table", "hgx", "--file", folder / "laugh.yaml")


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_a_line_of_a_gigabyte_is_refused_before_it_is_in_memory(folder, refused, little_memory, command):
    with (folder / "large.json").open("wb") as file:
        file.truncate(LARGE)  # of zeros, which take no room on the disk
    refused(*command, folder / "large.json")


@pytest.mark.parametrize("deep", ["[", '{"a":', '[{"a":'], ids=["lists", "objects", "both"])
@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_json_that_is_nested_a_million_deep_is_refused(folder, refused, command, deep):
    (folder / "deep.json").write_text(deep * 1_000_000)
    refused(*command, folder / "deep.json")


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_zero_bytes_are_refused(folder, refused, make_record, command):
    (folder / "zeros.json").write_bytes(b"\0" * 100)
    refused(*command, folder / "zeros.json")
    (folder / "within.json").write_bytes(json.dumps(make_record()).encode().replace(b"node001", b"node\0001"))
    refused(*command, folder / "within.json")


def test_lines_may_end_as_they_do_on_windows(folder, make_record, capsys):
    record = json.dumps(make_record(), indent=1)
    references = f"{HEAD}  hgx:\n    device_to_device_memcpy_write_ce:\n      cell[NV18]: [396.0, -0.02, 0.02, GB/s]\n"
    said = []
    for end in ("\n", "\r\n"):
        (folder / "record.json").write_bytes(record.replace("\n", end).encode())
        (folder / "p2p.yaml").write_bytes(references.replace("\n", end).encode())
        words = ["show", "record.json", "--reference", "hgx", "--references", "p2p.yaml"]
        said.append((cli.main(words), capsys.readouterr()))
    assert said[0][0] == 0 and said[0] == said[1]


@pytest.mark.parametrize("name", ["nccl_tests_v2.13_layout.txt", "nvbandwidth_v0.8_layout.txt"])
def test_a_text_of_another_program_may_have_lines_that_end_as_on_windows(folder, name):
    text = (DATA / "foreign" / name).read_text()
    found = []
    for end in ("\n", "\r\n"):
        (folder / "printed.txt").write_bytes(text.replace("\n", end).encode())
        out = folder / f"of-{len(end)}"
        assert cli.main(["import", "printed.txt", "--out", str(out)]) == 0
        found.append([reading.load(path)["results"] for path in sorted(out.rglob("record.json"))])
    assert found[0] and found[0] == found[1]


def test_a_key_that_comes_twice_in_a_report_is_refused(folder, refused):
    (folder / "run-report-1.json").write_text('{"session_info": {}, "runs": [{"testcases": []}], "runs": []}')
    assert "it has the key 'runs' twice" in refused("show", folder / "run-report-1.json")


@pytest.mark.parametrize("size", SIZES)
def test_a_size_that_no_computer_counts_is_refused(folder, refused, make_record, size):
    content = make_record()
    content["results"][0]["size_bytes"] = size
    (folder / "record.json").write_text(json.dumps(content))
    assert "size_bytes" in refused("show", "record.json") or "the number " in refused("show", "record.json")


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_links_in_a_circle_are_refused(folder, refused, command):
    (folder / "one.json").symlink_to("two.json")
    (folder / "two.json").symlink_to("one.json")
    assert "symbolic links" in refused(*command, folder / "one.json")


def test_a_folder_that_leads_back_into_itself_is_read_once(folder, write_record, linkmatrix):
    kept = folder / "kept"
    write_record(path=kept / "record.json")
    (kept / "again").symlink_to(kept)
    rows = linkmatrix.out("export", "--format", "csv", kept).splitlines()
    assert len(rows) == len(set(rows))


def test_digits_without_end_are_no_number(folder, refused, make_record):
    text = json.dumps(make_record()).replace('"seconds": 1.5', '"seconds": ' + "9" * (sys.get_int_max_str_digits() + 1))
    (folder / "record.json").write_text(text)
    refused("show", "record.json")


@pytest.mark.parametrize("name", ["...txt", "..txt", ".txt", "osu"])
@pytest.mark.parametrize("more", [[], ["--out", "out"]], ids=["in the folder of the file", "--out"])
def test_no_name_of_an_imported_file_moves_its_records_out_of_its_folder(name, more, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content = "# OSU MPI Latency Test v5.7\n# Size          Latency (us)\n0                       0.88\n"
    (tmp_path / "texts").mkdir()
    for file in (name, "other.txt"):
        (tmp_path / "texts" / file).write_text(content)
    assert cli.main(["import", f"texts/{name}", "texts/other.txt", *more]) == 0, capsys.readouterr().err
    folder = tmp_path / (more[1] if more else "texts")
    found = sorted(str(path.relative_to(folder)) for path in tmp_path.rglob("record.json"))
    own = name if more and name in (".txt", "osu") else f"{name}.records"
    assert found == sorted([f"{own}/01/record.json", "other/01/record.json"])
