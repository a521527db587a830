"""`linkmatrix import`: records are written, shown and never overwritten, and bad input is one sentence."""

import pytest
from foreign_texts import SMALL

from linkmatrix.record import reading
from linkmatrix.references import published
from linkmatrix.show import words


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
