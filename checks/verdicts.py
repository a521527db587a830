"""Judges a test during the run of ReFrame, stores the verdict, and creates the message for ReFrame."""

import shutil
import uuid
from pathlib import Path

from linkmatrix.judge.rules import NO_VERIFICATION
from linkmatrix.judge.test_verdict import judge_test
from linkmatrix.judge.verdicts import WORDS, Verdict, joined
from linkmatrix.runs import verdict_file

RECORD = "record.json"
SESSION = str(uuid.uuid4())  # identifies this process
MOST_CELLS = 4  # cells per result in a message


def judge_and_store(test, check, record, references):
    """Judges a test, and writes the file with the verdict into the test's output folder. Raises OSError.

    Returns (verdict, (path of the file, SHA-256 of the file)).
    check: `CheckFacts`.
    record: the validated record; None without a record.
    """
    found = judge_test(record, check, references, getattr(test, "reference_name", ""))
    folder = Path(test.outputdir)
    digest = None if record is None else copy_record(Path(test.stagedir), folder)
    subject = verdict_file.JudgedTest(test.display_name, SESSION, record, digest)
    content = verdict_file.verdict_content(subject, found, check, references)
    return found, (str(folder / verdict_file.FILE), verdict_file.write(folder, content))


def copy_record(stage, folder):
    """Copies the record, and the files with cells, from the stage into a folder. Returns the SHA-256 of the record."""
    content = (stage / RECORD).read_bytes()
    for file in [stage / RECORD, *stage.glob("record.*.npy")]:
        if not (folder / file.name).exists() or not file.samefile(folder / file.name):
            shutil.copyfile(file, folder / file.name)
    return verdict_file.sha256(content)


def is_reference_failure(found, record, figures):
    """Whether ReFrame will fail the test in its performance stage, because of cells outside their tolerances.

    True if these cells are the only cause of the FAIL, and the performance variables `figures` contain all of them.
    figures: {name: `Figure`}.
    """
    other_reasons = [*found.reasons, *found.facts]
    if record is None or record["result"] != "PASS" or any(one.verdict is Verdict.FAIL for one in other_reasons):
        return False
    cells = sum(matrix.counts[Verdict.FAIL] for matrix in found.evaluation.matrices)
    return 0 < cells == sum(figure.cells for figure in figures.values() if figure.outside)


def message(found, record):
    """The text of ReFrame's error: the verdict, then the reasons, the worst first.

    Among reasons with the same verdict, reasons of cells come first for FAIL, and last for other verdicts.
    """
    of_test = [(one.verdict, one.sentence) for one in (*found.facts, *found.reasons)]
    results = record["results"] if record is not None and found.evaluation is not None else ()
    of_cells = []
    names = [result["testcase"] for result in results]
    for result, matrix in zip(results, found.evaluation.matrices if results else (), strict=True):
        name = result["testcase"] + (f" of {result['size_bytes']} bytes" if names.count(result["testcase"]) > 1 else "")
        cells, count = matrix.worst_cells(MOST_CELLS)
        if record["lost"]:  # another reason names the lost endpoints, which explain the cells without a value
            cells = [(pair, cell) for pair, cell in cells if cell.value is not None]
            count = len(cells)
        of_cells += [(cell.verdict, f"{name}: {cell.reason}") for _, cell in cells]
        if matrix.unjudged and matrix.unverified not in ("", NO_VERIFICATION):
            of_cells.append((Verdict.INCOMPLETE, f"{name}: {matrix.unverified}"))
        elif matrix.unjudged and matrix.expected.name:
            lacking = f"{matrix.unjudged} cells have no reference in the table {matrix.expected.name}"
            of_cells.append((Verdict.INCOMPLETE, f"{name}: {lacking}"))
        if count > len(cells):
            of_cells.append((cells[-1][1].verdict, f"{name}: {count - len(cells)} more cells"))
    reasons = [*of_cells, *of_test] if found.verdict is Verdict.FAIL else [*of_test, *of_cells]
    sentences = [sentence for verdict, sentence in sorted(reasons, key=lambda one: -one[0]) if verdict > Verdict.WARN]
    return f"{WORDS[found.verdict]}: {joined(list(dict.fromkeys(sentences)))}"
