"""Outputs inside what launchers, terminals, mails and Markdown add are read as the plain outputs are."""

import re
import textwrap

import pytest
from foreign_texts import FOREIGN, SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

from linkmatrix.commands.import_ import converted_records
from linkmatrix.errors import BadInput
from linkmatrix.foreign.scan import read_text
from linkmatrix.foreign.unwrap import decoded

TEXTS = {
    "nvbandwidth": SMALL,
    "osu": FOREIGN["osu_bw.txt"],
    "nccl": FOREIGN["nccl_tests_v2.13_layout.txt"],
    "topo": FOREIGN["topo_nics.txt"],
}


def prefixed(prefix):
    """A function that puts a prefix in front of each line."""
    return lambda text: "".join(f"{prefix}{line}" for line in text.splitlines(keepends=True))


WRAPPERS = {
    "mpirun 4": prefixed("[1,0]<stdout>:"),
    "mpirun 5": prefixed("[prterun-n1-1234@1,0]<stdout>: "),
    "mpirun with times": prefixed("Thu Nov 26 10:00:00 2026[1,0]<stdout>:"),
    "srun --label": prefixed("0: "),
    "srun --label, 16 tasks": prefixed(" 0: "),
    "mpiexec -prepend-rank": prefixed("[0] "),
    "kubectl --prefix": prefixed("[pod/nccl-test-launcher-x7k2p/launcher] "),
    "kubectl --timestamps": prefixed("2026-11-26T10:00:00.123456789Z "),
    "ray": prefixed("(RayTrainWorker pid=4211, ip=10.0.0.7) "),
    "docker compose": prefixed("worker-1  | "),
    "pdsh": prefixed("n17: "),
    "syslog": prefixed("Nov 26 10:00:00 n17 job[412]: "),
    "indentation": lambda text: textwrap.indent(text, "    "),
    "tab": lambda text: textwrap.indent(text, "\t"),
    "quote": prefixed("> "),
    "quote of a quote": prefixed("> > "),
    "fence": lambda text: f"It printed:\n\n```text\n{text}```\nWhat is wrong?\n",
    "fence in a list": lambda text: "1. It printed:\n   ```\n" + textwrap.indent(text, "   ") + "   ```\n",
    "colours": lambda text: re.sub(r"(\d+\.\d+)", "\x1b[1;32m\\1\x1b[0m", text),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CRLF of a terminal": lambda text: text.replace("\n", "\r\r\n"),
    "srun in kubectl": prefixed("[pod/launcher-x/main] 3: "),
    "quoted indentation": lambda text: prefixed("> ")(textwrap.indent(text, "    ")),
    "HTML": lambda text: f"<pre><code class='x'>{text}</code></pre>\n",
    "a cell of a spreadsheet": lambda text: f'"bandwidth"\t"{text}"\n',
    "mpirun after a time": prefixed("2026-11-26 10:00:00 [1,0]<stdout>:"),
}


def tables_of(text):
    """What is read of a text, without the places where it was."""
    return [
        (
            [(t.testcase, t.size_bytes, dict(t.cells), t.verified) for t in run.tables],
            run.topology and run.topology.link_class,
        )
        for run in read_text(text)
    ]


@pytest.mark.parametrize("text", sorted(TEXTS))
@pytest.mark.parametrize("wrapper", sorted(WRAPPERS))
def test_wrapped_text_is_read_as_the_plain_text(text, wrapper):
    wrapped = WRAPPERS[wrapper](TEXTS[text])
    assert tables_of(wrapped) == tables_of(TEXTS[text])
    assert [run.faults for run in read_text(wrapped)] == [run.faults for run in read_text(TEXTS[text])]


@given(text=st.sampled_from(sorted(TEXTS)), several=st.lists(st.sampled_from(sorted(WRAPPERS)), max_size=3))
@settings(max_examples=40, deadline=None)
def test_wrappers_around_wrappers_never_change_a_cell(text, several):
    wrapped = TEXTS[text]
    for one in several:
        wrapped = WRAPPERS[one](wrapped)
    known = {
        (t.testcase, t.size_bytes, pair): v
        for run in read_text(TEXTS[text])
        for t in run.tables
        for pair, v in t.cells.items()
    }
    try:
        runs = read_text(wrapped)
    except BadInput as error:
        assert "\n" not in str(error)
        return
    for table in (table for run in runs for table in run.tables):
        for pair, value in table.cells.items():
            assert known[table.testcase, table.size_bytes, pair] == value


def test_the_report_of_nccl_tests_through_tag_output_is_read_with_its_lines():
    (run,) = read_text(FOREIGN["nccl_tests_v2.18_tag_output.txt"])
    assert len(run.tables) == 8 and run.faults == []
    assert run.tables[-1].cells == {("all", "out-of-place"): 2.30, ("all", "in-place"): 2.31}
    assert run.ranks == {0: ("lab", 0), 1: ("lab", 0)}
    lines = FOREIGN["nccl_tests_v2.18_tag_output.txt"].splitlines()
    assert [lines[table.line - 1].split()[1] for table in run.tables[:2]] == ["1048576", "2097152"]


def interleaved(*texts):
    """Lines of several processes in turn, each with the label of its task."""
    labelled = [prefixed(f"{task}: ")(text).splitlines(keepends=True) for task, text in enumerate(texts)]
    longest = max(map(len, labelled))
    return "".join(lines[at] for at in range(longest) for lines in labelled if at < len(lines))


def test_lines_of_several_processes_are_read_process_by_process():
    other = SMALL.replace("176.", "96.").replace("1056.66", "576.66")
    first, second = read_text(interleaved(SMALL, other))
    assert first.tables[0].cells["gpu0", "gpu1"] == 176.01 and second.tables[0].cells["gpu0", "gpu1"] == 96.01
    assert (first.first, second.first) == (3, 4)


def test_a_fault_of_wrapped_text_names_the_line_of_the_file():
    text = interleaved(SMALL.replace("176.10       N/A", "176.10"), "a\nb\nc\nd\n")
    (run,) = read_text(text)
    (line,) = [number for number, one in enumerate(text.splitlines(), 1) if one.startswith("0: 1    176.10")]
    assert f"line {line}:" in run.faults[0]


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_a_text_of_windows_is_read(coding, tmp_path):
    file = tmp_path / "out.log"
    file.write_bytes(SMALL.replace("\n", "\r\n").encode(coding))
    (record,) = converted_records(file, None, None)
    assert record["result"] == "PASS" and record["results"][0]["values"][0][1] == 176.01


MARKDOWN = """**memcpy** of today

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)

|   | 0 | 1 |
|---|--:|--:|
| **0** | N/A | 176.01 |
| **1** | `176.10` | N/A |

SUM device_to_device_memcpy_write_ce 352.11
"""


@pytest.mark.parametrize(
    "text",
    [
        MARKDOWN,
        MARKDOWN.replace("|---|--:|--:|", "| :---: | --- | --- |"),
        prefixed("> ")(MARKDOWN),
        MARKDOWN.replace("Running device_to_device_memcpy_write_ce.\n", "")
        .replace(
            "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
            "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)",
        )
        .replace("|   | 0", "| D\\D | 0"),
    ],
)
def test_a_matrix_as_a_markdown_table_is_read(text):
    (run,) = read_text(text)
    assert run.tables[0].cells["gpu0", "gpu1"] == 176.01 and run.tables[0].cells["gpu1", "gpu0"] == 176.10
    assert run.faults == []


@pytest.mark.parametrize("prefix", ["[n1 stdout] ~ ", "LOG/0 ", "10:00:01.5 INFO job - ", "   17\t"])
def test_an_unknown_prefix_that_most_lines_have_is_removed(prefix):
    assert tables_of(prefixed(prefix)(SMALL)) == tables_of(SMALL)


@pytest.mark.parametrize("before", ["It printed: ", "0>>job ", "~ "])
def test_what_is_in_the_way_is_named_and_nobody_is_asked_for_the_whole_output(before):
    with pytest.raises(BadInput) as error:
        read_text("\n".join(["prose"] * 20) + f"\n{before}{SMALL}")
    said = f"line 21 has '{before}' in front of 'Running device_to_device"
    assert said in str(error.value) and "whole output" not in str(error.value)


@pytest.mark.parametrize(
    "line", ["Device: 0, NVIDIA H100, pciBusID: 19", "n1: the log", "0: x", "(a pid=1) b", "| a | b |", "> nvbandwidth"]
)
def test_prose_that_resembles_a_prefix_changes_nothing(line):
    assert tables_of(f"{line}\n{SMALL}{line}\n") == tables_of(SMALL)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        (decoded(b"\x89PNG\n" + bytes(range(256)) * 9), "the file is binary"),
        ("# OSU MPI Bandwidth Test v7.5\n# Size   Bandwidth (MB/s)\n1  0,89\n2  1,80\n4  3,65\n", "a decimal comma"),
    ],
)
def test_a_text_that_cannot_be_a_log_is_refused_with_its_reason(text, why):
    with pytest.raises(BadInput, match=why) as refused:
        read_text(text)
    assert "whole output" not in str(refused.value)
