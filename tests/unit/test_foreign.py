"""Outputs of other programs: every matrix is read, every reader is on the page, and records are written."""

import json
import re
from collections import Counter

import pytest
from foreign_programs import PROGRAMS
from foreign_texts import DATA, DOCUMENTS, FOREIGN, SMALL, records

from linkmatrix.foreign import json_texts, scan
from linkmatrix.foreign.scan import read_text
from linkmatrix.foreign.unwrap import unwrapped
from linkmatrix.record import reading
from linkmatrix.references import published
from linkmatrix.show import words

#: What only the columns of a matrix look like, in each of the documents: counted without any reader.
COLUMNS = {
    "000": r"^\s*(PPU0 +PPU1|(HOST0:)?DEV0\s+(HOST1:DEV0|DEV1)) ",
    "001": r"^\s*(D\\D|GPU|CPU) +0 ",
    "002": r"^\s*(D\\D +0|GPU0\tGPU1) *",
    "003": r"^ +0 +1 +2 ",
    "004": r"^\s*((D\\D|GPU|CPU) +0|GPU0 +GPU1|D\\D +0) ",
}


@pytest.mark.parametrize("number", sorted(COLUMNS))
def test_no_matrix_of_a_document_is_lost(number):
    text = DOCUMENTS[number]
    runs = read_text(text)
    tables = [table for run in runs for table in run.tables]
    # a size of a sweep is a table too: those of one cell, and of collectives, are not matrices
    matrices = sum(run.matrices for run in runs if run.program not in ("osu", "nccl_tests", "perftest"))
    assert matrices == len(re.findall(COLUMNS[number], text, re.MULTILINE)) > 0
    sizes = len([table for table in tables if table.testcase.startswith(("osu", "all_reduce", "ib_"))])
    assert sizes == {"002": 5 + 5 + 6 + 4 + 4}.get(number, 0)
    assert {number: [fault for run in runs for fault in run.faults]} == {
        # the document itself lacks that row
        number: ["utilisation: missing rows: gpu2"] if number == "000" else []
    }


def test_every_number_of_the_matrices_of_a_document_is_in_its_record():
    for number in ("003", "004"):
        text = DOCUMENTS[number]
        printed = Counter(
            float(word)
            for line in text.splitlines()
            if re.match(r"^\s*\d+( +(\d+\.\d\d|N/A))+ *$", line)
            for word in line.split()[1:]
            if word != "N/A"
        )
        held = Counter()
        for one in records(text):
            for matrix in one["results"]:
                twice = matrix.get("local_copy") and matrix["unit"] == "GB/s"
                for grid in [matrix["values"], *(part["values"] for part in matrix["parts"].values())]:
                    for r, row in enumerate(grid):
                        for c, value in enumerate(row):
                            if value is not None:
                                held[round(value * (2 if twice and r == c else 1), 6)] += 1
        assert held == printed


TEXT = FOREIGN["rccl_tests_mi300x.txt"]


def test_a_run_of_rccl_tests_says_its_versions_ranks_and_devices():
    (run,) = read_text(TEXT)
    assert run.program == "rccl_tests" and run.faults == []
    assert run.software == {
        "rccl-tests": "develop:448c4c7",
        "RCCL": "2.22.3-develop:f5b15f2",
        "HIP": "6.3.42131-fa1d09cbd",
        "ROCm": "6.3.0.0-39-ce2be3b",
    }
    assert run.devices == dict.fromkeys(range(8), "AMD Instinct MI300X")
    assert run.ranks == {rank: ("host", rank) for rank in range(8)}


def test_its_sizes_are_bus_bandwidths_out_of_place_and_in_place():
    (run,) = read_text(TEXT)
    # those of 8 to 32 bytes are printed as 0.00
    assert [table.size_bytes for table in run.tables] == [1 << power for power in range(6, 35)]
    (last,) = (table for table in run.tables if table.size_bytes == 16 << 30)
    assert (last.testcase, last.engine, last.unit) == ("all_reduce_perf", "nccl", "GB/s")
    assert last.cells == {("all", "out-of-place"): 318.98, ("all", "in-place"): 318.73}
    assert last.parts["time"].cells[("all", "out-of-place")] == 94254


def test_its_record_knows_nodes_and_ranks():
    (record,) = records(TEXT)
    assert (record["imported"]["program"], record["imported"]["nodes"], record["imported"]["ranks"]) == (
        "rccl_tests",
        1,
        8,
    )
    assert record["result"] == "PASS" and [one["label"] for one in record["devices"]][:2] == ["gpu0", "gpu1"]


def test_a_version_that_is_not_known_and_another_run_of_nccl_tests_after_it():
    nccl = TEXT.replace("rccl-tests: Version develop:448c4c7\n", "")
    nccl = "".join(line for line in nccl.splitlines(keepends=True) if " version : " not in line)
    nccl = nccl.replace("HIP version  :", "#").replace("ROCm version :", "#")
    first, second = read_text(TEXT.replace("develop:448c4c7", "") + nccl)
    assert (first.program, second.program) == ("rccl_tests", "nccl_tests")
    assert "rccl-tests" not in first.software and second.software == {}


def test_a_run_that_was_cut_says_which_size_is_not_believed():
    (run,) = read_text(TEXT[: TEXT.index("266.52") + 3] + "\n")
    assert [table.size_bytes for table in run.tables][-1] == 32 << 20
    assert len(run.faults) == 1 and "is an incomplete row: the row is ignored" in run.faults[0]


def text_of(program):
    return (DATA / program.data).read_text(encoding="utf-8")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: f"{one.title} {one.versions} {one.options}".strip())
def test_every_row_of_the_page_is_read(program):
    found = {record["imported"]["program"] for record in records(text_of(program))}
    assert program.name in found


def test_messages_name_every_program_of_the_page():
    titles = {re.match(r"[\w-]+", program.title)[0] for program in PROGRAMS}
    assert set(re.split(", | or ", scan.PROGRAMS)) == titles


def test_the_output_of_a_row_is_what_the_page_says():
    for program in PROGRAMS:
        assert (program.output == "JSON") == program.data.endswith(".json")


def test_every_reader_of_the_sources_has_a_row():
    """Each module with readers reads a line of the outputs, and each JSON has a row."""
    texts = [text_of(program) for program in PROGRAMS]
    lines = [line for text in texts for line in unwrapped(text, scan.is_head).lines]
    modules = {reader.__module__ for _, reader in scan.FORMATS}
    read = {reader.__module__ for head, reader in scan.FORMATS if any(map(head.match, lines))}
    assert len(modules) > 10 and modules - read == set()
    read = {title for _, title, _ in json_texts.FORMATS}
    assert read <= {re.sub(r":.*", "", program.title) for program in PROGRAMS if program.output == "JSON"}


@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.output == "JSON"], ids=lambda one: one.name)
def test_a_json_on_one_line_is_the_same(program):
    text = text_of(program)
    assert len(read_text(json.dumps(json.loads(text)))) == len(read_text(text))


def test_records_are_written_and_shown_and_never_overwritten(linkmatrix, tmp_path):
    code, out, _ = linkmatrix(
        "import", published.FOLDER / "003_h800.txt", "--out", tmp_path / "h800", "--size", "64MiB"
    )
    assert code == 0 and out.count("record.json") == 3 and "30 test cases" in out
    first = reading.load(tmp_path / "h800" / "01" / "record.json")
    assert first["results"][0]["size_bytes"] == 64 * 2**20
    assert first["imported"]["program"] == "nvbandwidth" and first["software"]["driver"] == "525.105.17"
    assert words.measured(first) == "8 × NVIDIA H800"
    assert linkmatrix("show", tmp_path / "h800" / "01" / "record.json")[0] == 0  # NOT JUDGED
    code, _, errors = linkmatrix("import", published.FOLDER / "003_h800.txt", "--out", tmp_path / "h800")
    assert code == 2 and "never changed" in errors


@pytest.mark.parametrize("names", [("n01/nvb.txt", "n02/nvb.txt"), ("nvb.txt", "nvb.json")])
def test_files_whose_records_would_overwrite_each_other_are_refused(linkmatrix, tmp_path, names):
    """Two nodes' outputs of the same name left the records of the last one, with exit code 0."""
    files = [tmp_path / name for name in names]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes((published.FOLDER / "003_h800.txt").read_bytes())
    code, _, errors = linkmatrix("import", *files, "--out", tmp_path / "all")
    assert code == 2 and str(files[0]) in errors and str(files[1]) in errors and "--out" in errors
    assert not (tmp_path / "all").exists()


def test_a_file_without_a_name_is_refused_in_a_sentence(linkmatrix):
    code, _, errors = linkmatrix("import", published.FOLDER / "003_h800.txt", "")
    assert code == 2 and "it is a folder" in errors and "Traceback" not in errors


def test_an_import_with_something_missing_is_exit_code_3(linkmatrix, tmp_path):
    code, out, _ = linkmatrix("import", published.FOLDER / "000_ppu.txt", "--out", tmp_path)
    assert code == 3 and "missing rows: gpu2" in out


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("hello", [], "contains no table"),
        (SMALL, ["--size", "0"], "not a size"),
        (SMALL, ["--measured", "yesterday"], "not a time"),
        ('{"a": 1}', [], "JSON of nvbandwidth"),
    ],
)
def test_bad_input_is_one_sentence(linkmatrix, tmp_path, content, options, said):
    file = tmp_path / "text.txt"
    file.write_text(content)
    code, out, errors = linkmatrix("import", file, *options)
    assert (code, out, errors.count("\n")) == (2, "", 1) and said in errors
