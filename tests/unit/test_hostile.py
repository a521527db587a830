"""Whatever stands in a record, a report, a table or a command line: an exit code in 0..4, never a traceback."""

import contextlib
import copy
import io
import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkmatrix import cli
from tests.tools.json_places import places, value_at
from tests.tools.plain_record import TESTCASE, one_record

REFERENCES = f"""intranode_p2p:
  $index: [reference_name, testcase]
  hgx:
    {TESTCASE}:
      gpu0->gpu1: [396.0, -0.02, 0.02, GB/s]
      cell[NV18]: [396.0, -0.02, 0.02, GB/s]
"""
CASE = {
    "name": "intranode_p2p",
    "display_name": "intranode_p2p %testcase=a",
    "result": "pass",
    "system": "hgx",
    "partition": "gpu",
    "fixture": False,
    "hashcode": "ab12cd34",
    "testcase": TESTCASE,
    "reference_name": "hgx",
    "keep_files": ["record.json"],
}
#: Each command that reads records, with what it needs; {} is the folder of the example.
COMMANDS = [
    ["show"],
    ["show", "--reference", "hgx", "--references", "{}/p2p.yaml"],
    ["diagnose"],
    ["diagnose", "--reference", "hgx", "--references", "{}/p2p.yaml"],
    ["export", "--format", "csv"],
    ["export", "--format", "prometheus"],
    ["export", "--format", "slurm-exclude", "--reference", "hgx", "--references", "{}/p2p.yaml"],
    ["export", "--format", "parquet", "--out", "{}/cells.parquet"],
    ["adopt", "--table", "hgx", "--file", "{}/new.yaml"],
    ["history"],
    ["history", "--fleet"],
    ["compare", "--against", "h800"],
    ["compare", "--against", "{}/good.json"],
]
SCALARS = st.sampled_from(
    [None, True, False, 0, 1, -1, 7, 0.5, -0.0, 1e9, 1e308, 10**30, 512.0, "", "x", "ok", "timeout", "corrupt", "GB/s"]
    + ["us", "%", "msg/s", "../..", "\x1b[31m", "\ud800", "a" * 5000, "gpu0", "node:1", "n@1", "PASS", "latency", "X"]
    + ["-rf", "10.0.0.5", "bisection", "not-run", "9999-99-99T00:00:00Z", "0001-01-01T00:00:00Z", [], {}, [[]], [None]]
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
EXAMPLES = settings(
    max_examples=int(os.environ.get("LINKMATRIX_EXAMPLES", "10")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def spoilt(draw, content):
    """`content` with some of its values changed, removed or repeated."""
    for _ in range(draw(st.integers(1, 3))):
        found = [place for place in places(content) if place]
        if not found:  # all of it was removed already
            break
        # all levels alike: most values are cells, and most of what can go wrong is not
        level = draw(st.sampled_from(sorted({len(place) for place in found})))
        place = draw(st.sampled_from([place for place in found if len(place) == level]))
        holder, last = value_at(content, place[:-1]), place[-1]
        how = draw(st.sampled_from(["other", "other", "lost", "twice", "neighbour"]))
        if how == "lost":
            del holder[last]
        elif how == "twice" and isinstance(holder, list):
            holder.insert(last, copy.deepcopy(holder[last]))
        elif how == "neighbour":
            holder[last] = copy.deepcopy(holder[draw(st.sampled_from(list(places_of(holder))))])
        else:
            holder[last] = copy.deepcopy(draw(JSON))
    return content


def places_of(holder):
    """The keys of an object or the indices of a list."""
    return holder if isinstance(holder, dict) else range(len(holder))


@st.composite
def records(draw):
    """A record that is nearly one."""
    off = draw(
        st.dictionaries(
            st.tuples(st.integers(0, 2), st.integers(0, 2)).filter(lambda pair: pair[0] != pair[1]),
            st.sampled_from(["timeout", "error", "not-run", "corrupt", "no-peer-access", 1e-9, 300.0, 1e9]),
            max_size=6,
        )
    )
    return spoilt(draw, one_record(count=draw(st.integers(1, 3)), off=off))


@st.composite
def reports(draw):
    """A report of ReFrame that is nearly one."""
    cases = [dict(copy.deepcopy(CASE), outputdir="{}/kept", stagedir="{}/kept") for _ in range(draw(st.integers(1, 2)))]
    content = {"session_info": {"cmdline": "reframe -r", "uuid": "a"}, "runs": [{"testcases": cases}]}
    return spoilt(draw, content) if draw(st.booleans()) else content


def ended(arguments):
    """(exit code, all that was printed) of the command line."""
    out, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = cli.main([*arguments, "--debug"])
        except SystemExit as usage:
            code = usage.code
    out.flush(), errors.flush()
    return code, out.buffer.getvalue(), errors.buffer.getvalue().decode()


def holds(arguments, folder):
    """The contract, for one command line: `--debug` shows what would have been a traceback."""
    code, out, errors = ended([argument.format(folder) for argument in arguments])
    assert "Traceback" not in errors, errors
    assert code in range(5)
    assert b"\x1b" not in out
    assert code != 2 or errors.count("\n") >= 1


@contextlib.contextmanager
def folder_of(content):
    """A folder of results with a record that is good, one that may not be, and references."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder = Path(name)
        patch.setenv("LINKMATRIX_PREFIX", name)
        patch.chdir(folder)
        (folder / "good.json").write_text(json.dumps(one_record()))
        (folder / "p2p.yaml").write_text(REFERENCES)
        (folder / "record.json").write_text(json.dumps(content).replace("{}/kept", f"{name}/kept"))
        yield folder


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@given(content=records())
@EXAMPLES
def test_no_record_whatever_ends_a_command_in_a_traceback(command, content):
    with folder_of(content) as folder:
        holds([*command, str(folder / "record.json")], folder)


@given(content=records())
@settings(EXAMPLES, max_examples=5)
def test_no_record_whatever_ends_the_page_in_a_traceback(content):
    with folder_of(content) as folder:
        holds(["report", str(folder / "record.json"), "--out", "{}/page"], folder)


@pytest.mark.thorough
@pytest.mark.parametrize("command", COMMANDS[:7], ids=" ".join)
@given(report=reports(), content=records())
@EXAMPLES
def test_no_report_whatever_ends_a_command_in_a_traceback(command, report, content):
    with folder_of(report) as folder:
        (folder / "kept").mkdir()
        (folder / "kept" / "record.json").write_text(json.dumps(content))
        (folder / "record.json").rename(folder / "run-report-1.json")
        holds([*command, str(folder / "run-report-1.json")], folder)


@pytest.mark.parametrize("command", ["show", "diagnose", "adopt", "import"])
@given(
    raw=st.binary(max_size=60)
    | st.text(max_size=60).map(str.encode)
    | JSON.map(lambda value: json.dumps(value).encode())
)
@EXAMPLES
def test_no_file_whatever_ends_a_command_in_a_traceback(command, raw):
    with folder_of({}) as folder:
        for name in ("x.json", "x.txt"):
            (folder / name).write_bytes(raw)
            out = ["--out", str(folder / f"out-{name}")] if command == "import" else []
            holds([command, str(folder / name), *out], folder)


@given(
    raw=st.text(max_size=40)
    | JSON.map(json.dumps)
    | st.builds(
        REFERENCES.replace,
        st.sampled_from(["396.0", "-0.02", "GB/s", "hgx", "intranode_p2p", "[", "$index", "gpu0->gpu1"]),
        st.text(max_size=6),
    )
)
@EXAMPLES
def test_no_table_of_references_whatever_ends_a_command_in_a_traceback(raw):
    with folder_of(one_record()) as folder:
        (folder / "p2p.yaml").write_bytes(raw.encode("utf-8", "surrogatepass"))
        for command in ("show", "diagnose"):
            holds([command, str(folder / "record.json"), "--references", "{}/p2p.yaml"], folder)
        holds(["adopt", str(folder / "record.json"), "--file", "{}/p2p.yaml", "--table", "hgx"], folder)


WORDS = st.sampled_from(
    ["--out", "--least", "--format", "csv", "--testcase", "--reference", "--since", "2026-13-01", "--cell", "a->b"]
    + ["->", "--floor", "2,5", "nan,1", "--runs", "6", "-1", "--system", "a:b", "--size", "1MiB", "--at", "25:00"]
    + ["--cron", "--against", "h800", "--node", "--", "--debug", "", "\ud800", "--clean-runs", "0", "--row", "gpu0"]
    + ["--mode", "\0"]
)


STARTS_PROGRAMS = {"run", "measure", "baseline", "detect", "report"}  # for minutes, with most words


@pytest.mark.parametrize("word", ["\ud800", "a\0b"])
@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_an_argument_that_no_command_line_carries_is_refused(command, word, tmp_path):
    code, out, errors = ended([command, word])
    assert code == 2 and not out and ascii(word)[1:-1] in errors


@pytest.mark.thorough
@pytest.mark.parametrize("command", sorted(set(cli.COMMANDS) - STARTS_PROGRAMS))
@given(words=st.lists(WORDS, max_size=4))
@EXAMPLES
def test_no_command_line_whatever_ends_in_a_traceback(command, words):
    with folder_of(one_record()) as folder:
        holds([command, str(folder / "record.json"), *words], folder)
        holds([command, *words], folder)


@pytest.mark.parametrize(
    "words",
    [("show", "--against=--"), ("adopt", "--table=--"), ("adopt", "--runs=--"), ("history", "--slot=--")],
    ids=" ".join,
)
def test_two_dashes_are_no_value_of_an_option(words):
    code, out, errors = ended([*words])
    option = words[1].removesuffix("=--")
    assert code == 2 and not out
    assert errors == f"linkmatrix: {words[1]}: '--' is not a value: name the value of {option}\n"


@pytest.mark.parametrize(
    "words", [("show",), ("history",), ("adopt",), ("detect", "--dry-run"), ("init", "site")], ids=" ".join
)
def test_a_working_directory_that_was_removed_is_named(words, tmp_path, monkeypatch):
    monkeypatch.delenv("LINKMATRIX_PREFIX", raising=False)
    removed = tmp_path / "removed"
    removed.mkdir()
    monkeypatch.chdir(removed)
    removed.rmdir()
    sentence = "linkmatrix: the working directory was removed: change to an existing directory\n"
    assert ended([*words]) == (2, b"", sentence)
