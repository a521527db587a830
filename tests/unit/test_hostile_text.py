"""Whatever text a stranger puts into a record or report: it stays text, on its line, in every command's output."""

import contextlib
import copy
import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest
from prometheus_client.parser import text_string_to_metric_families

from linkmatrix import cli
from linkmatrix.errors import BadInput
from linkmatrix.record import reading
from linkmatrix.references.tables import References
from tests.tools.json_places import places, value_at
from tests.tools.plain_record import TESTCASE, one_record

#: What steers a terminal without an escape character, turns the direction of writing, ends a line and looks like a
#: verdict, and is markup; then what a record may not hold, and a report may.
OF_RECORDS = (
    "\x9b31m\u202e\u2066\u2028\u061c\u200b\u206a\ufeff\U000e0041"
    '<script>alert(1)</script>"\'><img src=x onerror=a>"} 1\nFORGED PASS\n\t'
)
OF_REPORTS = OF_RECORDS + "\x1b]0;owned\x07\x1b[2J\r\0\ud800"
FORMULA = "=cmd|' /C calc'!A0"
STEERS = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\U000e0000-\U000e007f]"
    r"|^FORGED",
    re.M,
)
OTHERS = {
    "seconds": 1.0,
    "shared": True,
    "uses": [{"label": "gpu1", "of": "nvlink_out", "counted": 1e12, "own": 1.0}],
    "nodes": [],
    "processes": [{"where": "gpu1", "pid": 7, "name": "hog", "user": "bob", "bytes": 1e9, "seconds": 1.0}],
    "untold": ["what could not be read"],
}


def put(content, place, text):
    """Puts a text at a place; returns what was there."""
    holder, last = value_at(content, place[:-1]), place[-1]
    before, holder[last] = holder[last], text
    return before


def full(text, off=None):
    """A record with `text` wherever the schema takes it, and the places where it does."""
    record = one_record(off=off)
    record |= {"notes": ["a note"], "phases": [{"name": "measure", "seconds": 1.0}], "others": copy.deepcopy(OTHERS)}
    record["lost"] = [{"label": "gpu9", "why": "it fell off the bus"}] if off else []
    record["error"] = "an error" if off else None
    record["results"][0] |= {"notes": ["a note"], "throttled": ["gpu0: power"], "others": copy.deepcopy(OTHERS)}
    for device in record["devices"]:
        device |= {"uuid": "GPU-1", "pci": "0000:18:00.0"}
    reading.check(copy.deepcopy(record))
    taken = []
    for place in [place for place in places(record) if isinstance(value_at(record, place), str)]:
        before = put(record, place, text)
        try:
            reading.check(copy.deepcopy(record))
            taken.append(place)
        except BadInput:
            put(record, place, before)
    return record, taken


@pytest.fixture(scope="module")
def spoilt():
    """{text: (a bad run's record, a good run's)}."""
    found = {}
    for text in (OF_RECORDS, FORMULA):
        bad, taken = full(text, {(0, 1): "error", (1, 0): 300.0})
        good, _ = full(text)
        assert len(taken) > 40
        found[text] = bad, good
    return found


@pytest.fixture
def stored(tmp_path, spoilt, monkeypatch, reference_folder):
    """A folder of results: writes `bad.json`, and six good runs."""

    def write(text):
        monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path))
        monkeypatch.setenv("COLUMNS", "9999")  # a paragraph that is wrapped may begin a line with any word
        monkeypatch.chdir(tmp_path)
        bad, good = spoilt[text]
        (tmp_path / "bad.json").write_text(json.dumps(bad))
        for number in range(6):
            folder = tmp_path / "runs" / str(number)
            folder.mkdir(parents=True)
            (folder / "record.json").write_text(json.dumps({**good, "started": f"2026-11-1{number}T01:50:22Z"}))
        return tmp_path

    return write


def ended(*arguments):
    """(exit code, standard output, standard error) of a command, as bytes would be."""
    out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = cli.main([*map(str, arguments), "--debug"])
    out.flush(), errors.flush()
    return code, out.buffer.getvalue().decode(), errors.buffer.getvalue().decode()


REFERENCES = ["--reference", "hgx", "--references", "references"]
COMMANDS = [
    ["show", "bad.json"],
    ["show", "bad.json", *REFERENCES],
    ["diagnose", "bad.json", *REFERENCES],
    ["export", "--format", "prometheus", "bad.json"],
    ["export", "--format", "slurm-exclude", "bad.json", *REFERENCES],
    ["export", "--format", "hostfile", "--nodes", "flagged", "bad.json", *REFERENCES],
    ["adopt", "--table", "new", "--file", "new.yaml", "--write", "runs"],
    ["history", "runs"],
    ["history", "--fleet", "runs"],
    ["compare", "bad.json", "--against", "h800"],
    ["compare", "bad.json", "--against", "runs/0/record.json"],
    ["next"],
    ["import", "bad.json", "--out", "imported"],
]


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_text_of_a_record_steers_a_terminal_or_begins_a_line(command, stored):
    stored(OF_RECORDS)
    code, out, errors = ended(*command)
    assert code in range(4) and "Traceback" not in errors
    assert [found.group() for found in STEERS.finditer(out + errors)] == []


class Tags(HTMLParser):
    """What of a page could load or run something."""

    def __init__(self):
        super().__init__()
        self.wrong = []

    def handle_starttag(self, tag, attrs):
        loads = any(name in ("src", "href") and not (value or "").startswith(("data:", "#")) for name, value in attrs)
        if tag in ("script", "iframe", "object") or loads or any(name.startswith("on") for name, _ in attrs):
            self.wrong.append((tag, attrs))


def test_no_text_of_a_record_is_markup_of_its_page(stored):
    folder = stored(OF_RECORDS)
    ended("report", "bad.json", "--out", "page", *REFERENCES)
    (page,) = (folder / "page").glob("**/*.html")
    tags = Tags()
    tags.feed(page.read_text())
    assert tags.wrong == []
    assert [found for found in STEERS.findall(page.read_text().replace("\t", "")) if found != "FORGED"] == []


@pytest.mark.parametrize("text", [OF_RECORDS, FORMULA], ids=["steers", "formula"])
def test_no_text_of_a_record_is_a_formula_or_steers_a_spreadsheet(stored, text):
    stored(text)
    _, out, _ = ended("export", "--format", "csv", "bad.json")
    for row in csv.DictReader(io.StringIO(out)):
        texts = [value for name, value in row.items() if name not in ("value", "low", "high", "lower", "upper")]
        assert [one for one in texts if one[:1] in tuple("=+-@\t\r") and one] == []
        assert STEERS.search("".join(texts)) is None


def test_a_label_of_prometheus_has_no_control_characters(stored, tmp_path):
    folder = stored(OF_RECORDS)
    report = report_of(folder, OF_REPORTS)
    _, out, _ = ended("export", "--format", "prometheus", report, "bad.json")
    labels = [sample.labels for family in text_string_to_metric_families(out) for sample in family.samples]
    assert labels and STEERS.search("".join(value for one in labels for value in one.values())) is None


def test_a_driver_of_many_lines_adds_no_reference(stored, make_record, tmp_path):
    forged = "580\n    forged_case:\n      gpu0->gpu1: [1.0, -0.5, 0.5, GB/s]\n    #"
    folder = stored(OF_RECORDS)
    for number in range(6):
        record = make_record()
        record["software"]["driver"] = forged
        record["started"] = f"2026-11-1{number}T01:50:22Z"
        (folder / "runs" / str(number) / "record.json").write_text(json.dumps(record))
    code, _, errors = ended("adopt", "--table", "hgx", "--file", "new.yaml", "--write", "runs")
    assert code == 0, errors
    assert References.load(folder / "new.yaml").table("hgx", TESTCASE)
    assert not References.load(folder / "new.yaml").table("hgx", "forged_case")


@pytest.mark.parametrize("word", ["two words", "<b>", "=1+1", "a\nb", "\x9b31m", "../x", "x" * 65])
@pytest.mark.parametrize("of", ["results", "topology"])
def test_a_link_class_is_a_word(word, of, make_record):
    record = make_record()
    (record["results"][0] if of == "results" else record["topology"])["link_class"][0][1] = word
    with pytest.raises(BadInput, match=r"(?s)link_class: .* is not a link class"):
        reading.check(record)


def test_half_a_character_of_a_record_is_a_question_mark(make_record, tmp_path):
    record = make_record()
    record["notes"] = ["whole: \U0001f600"]
    (tmp_path / "record.json").write_text(json.dumps(record))
    assert reading.load(tmp_path / "record.json")["notes"] == record["notes"]
    record["notes"] = ["half: \ud83d"]
    (tmp_path / "record.json").write_text(json.dumps(record))
    assert reading.load(tmp_path / "record.json")["notes"] == ["half: ?"]


def report_of(folder, text, result="fail"):
    """A report of ReFrame with `text` in every place that is not read as something else, as run-report-1.json."""
    names = (
        "name",
        "display_name",
        "system",
        "partition",
        "environ",
        "fail_reason",
        "fail_phase",
        "node",
        "unmeasured",
    )
    case = dict.fromkeys([*names, "hashcode", "outputdir", "stagedir", "reference_name", "descr", "scheduler"], text)
    case |= {"result": result, "testcase": text, "fixture": False, "keep_files": ["record.json"], "nodelist": [text]}
    session = {"cmdline": text, "uuid": text, "time_start_unix": 1795000000.0, "hostname": text}
    (folder / "reports").mkdir(exist_ok=True)
    path = folder / "reports" / "run-report-1.json"
    path.write_text(json.dumps({"session_info": session, "runs": [{"testcases": [case]}, {"testcases": [case]}]}))
    return path


@pytest.mark.parametrize("result", ["fail", "pass", "skip"])
@pytest.mark.parametrize(
    "command",
    [["show"], ["diagnose"], ["export", "--format", "csv"], ["export", "--format", "prometheus"]]
    + [["export", "--format", "sge", "--nodes", "flagged"], ["adopt", "--table", "hgx", "--file", "new.yaml"]]
    + [["history"], ["compare", "--against", "h800"], ["next", "--html", "coverage.html"]],
    ids=" ".join,
)
def test_no_text_of_a_report_steers_a_terminal_or_begins_a_line(command, result, tmp_path, monkeypatch):
    monkeypatch.setenv("LINKMATRIX_PREFIX", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "9999")
    monkeypatch.chdir(tmp_path)
    report_of(tmp_path, OF_REPORTS, result)
    code, out, errors = ended(*command)
    assert code in range(5) and "Traceback" not in errors
    assert [found.group() for found in STEERS.finditer(out + errors)] == []
