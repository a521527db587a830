"""Reads a whole text: tries the patterns of FORMATS, in order, at every line."""

import re
from collections.abc import Callable

from ..errors import BadInput
from . import (
    json_texts,
    nccl,
    nvbandwidth,
    nvlink,
    nvloom,
    osu,
    p2p_sample,
    perftest,
    topo,
    transferbench,
    transferbench_nics,
    transferbench_rings,
    ucx,
)
from .endings import note_ending
from .table import Reading, Run
from .unwrap import Lines, prefix_problem, unwrapped

MOST_CHARACTERS = 64 * 1024 * 1024
MOST_DIGITS = re.compile(r"\d{301}")  # float() overflows on longer numbers
MOST_BYTES = 1 << 53  # the schema's maximum
MOST_HEAD, MOST_INDENT = 20_000, 200  # characters of a header line, and blanks before it


def headless_columns(reading: Reading, _: re.Match[str]) -> None:
    """Report a line of column names that has no known header line."""
    reading.add_problem(f"line {reading.at + 1}: these columns have no known head line: the table is ignored")


#: (pattern of a header line, its reader). A reader of several lines moves the reading position behind its last line.
FORMATS: list[tuple[re.Pattern[str], Callable[[Reading, re.Match[str]], None]]] = [
    (nvbandwidth.VERSION, nvbandwidth.version),
    (nvbandwidth.RUNNING, nvbandwidth.test_case),
    (nvbandwidth.DEVICE, nvbandwidth.device),
    (nvbandwidth.PROCESS, nvbandwidth.process),
    (nvbandwidth.SOFTWARE, nvbandwidth.software),
    (nvloom.VERSION, nvloom.version),
    (nvloom.SOFTWARE, nvloom.header_line),
    (nvloom.BUFFER, nvloom.header_line),
    (nvloom.PROCESS, nvloom.header_line),
    (nvloom.RUNNING, nvloom.test_case),
    (p2p_sample.CUDA_START, p2p_sample.cuda_start),
    (p2p_sample.CUDA_DEVICE, p2p_sample.cuda_device),
    (p2p_sample.CUDA_CONNECTIVITY, p2p_sample.cuda_connectivity),
    (p2p_sample.CUDA_BANDWIDTH, p2p_sample.cuda_table),
    (p2p_sample.CUDA_LATENCY, p2p_sample.cuda_table),
    (p2p_sample.PPU_CONNECTIVITY, p2p_sample.ppu_connectivity),
    (p2p_sample.PPU_MODE, p2p_sample.ppu_mode),
    (p2p_sample.PPU_TOTAL, p2p_sample.ppu_total),
    (osu.TITLE, osu.sizes),
    (nccl.RANK, nccl.rank),
    (nccl.VERSION, nccl.version),
    (nccl.STARTING, nccl.starting),
    (nccl.SIZES, nccl.sizes),
    (nccl.RCCL_VERSION, nccl.rccl_version),
    (nccl.LIBRARY_VERSION, nccl.library_version),
    (nccl.HEAD, nccl.table),
    (nccl.BOUNDS, nccl.wrong_elements),
    (nccl.ROW, nccl.row_without_head),
    (perftest.TITLE, perftest.title),
    (perftest.DEVICE, perftest.device),
    (perftest.BANDWIDTH, perftest.rows),
    (perftest.LATENCY, perftest.rows),
    (perftest.DURATION, perftest.rows),
    (ucx.HEAD, ucx.table),
    (transferbench.VERSION, transferbench.version),
    (transferbench.SECTION, transferbench.section),
    (transferbench.SETTING, transferbench.setting),
    (transferbench.BYTES, transferbench.size),
    (transferbench.SUMMARY, transferbench.all_to_all),
    (transferbench.PAIRS, transferbench.peer_to_peer),
    (transferbench_nics.HEAD, transferbench_nics.table),
    (transferbench.COLUMNS, headless_columns),
    (transferbench_rings.HEAD, transferbench_rings.rings),
    (transferbench_nics.FRAME, headless_columns),
    (topo.HEAD, topo.matrix),
    (nvlink.GPU, nvlink.gpu),
    (re.compile(r"^\s*(?:D\\D|GPU|CPU)?\s+0(?:\s+[1-9]\d*)*\s*$"), headless_columns),
    (re.compile(r"^\s*(?:HOST0:)?DEV0\s+(?:HOST1:DEV0|DEV1)\b"), headless_columns),
]

HEADS = [head.pattern for head, reader in FORMATS if reader not in (headless_columns, nccl.row_without_head)]
#: One pattern for all heads, for speed. Names of groups are removed, because they would be repeated.
ANY_HEAD = re.compile("|".join(f"(?:{re.sub(r'[(][?]P<[a-z0-9]+>', '(?:', one)})" for one in HEADS))
PROGRAMS = (
    "nvbandwidth, sailbandwidth, p2pBandwidthLatencyTest, OSU, nccl-tests, rccl-tests, perftest, ucx_perftest,"
    " TransferBench, nvloom, nvidia-smi or dcgmi"
)
WHOLE = ": give the program's whole output"
DECIMAL_COMMA, DECIMAL_POINT = re.compile(r"(?<=\s)\d+,\d+(?=\s|$)"), re.compile(r"(?<=\s)\d+\.\d+(?=\s|$)")
FEWEST_COMMAS = 3  # numbers that make a text look like a table
MOST_REPLACED = 50  # a text is binary if more than one of so many characters is undecodable

#: A command line of a program. Its options contain facts that some tables lack.
COMMAND = re.compile(
    r"^\s*(?:.*[#$>] +)?((?:[A-Z_]+=\S+ +)*"
    r"(?:(?:\S*/)?(?:mpirun|mpiexec|srun|prun|aprun|jsrun|ibrun|flux|apptainer|singularity)\b.*[ \t/]|(?:\S*/)?)"
    r"(?:[a-z]{2,40}bandwidth|nvloom_cli|p2pBandwidthLatencyTest|\w+_perf|ib_\w+|ucx_perftest(?: +[\w.]+)?"
    r"|osu_\w+(?: +[DHM]{1,2} +[DHM]{1,2})?)(?: -.*)?"
    r"|(?:[A-Z_]+=\S+ +)*(?:\S*/)?TransferBench +(?:a2a|p2p|nicp2p|nicrings)(?: +\w+)*)\s*$"
)


def read_text(text: str) -> list[Run]:
    """The runs in a text, in the order of the text.

    Raises BadInput if the text contains no run, or if the text is damaged or contradicts itself.
    """
    if len(text) > MOST_CHARACTERS:
        raise BadInput(f"the text has more than {MOST_CHARACTERS} characters: split the file, and import each file")
    if digits := MOST_DIGITS.search(text):
        line = text.count("\n", 0, digits.start()) + 1
        raise BadInput(f"line {line} has a number of more than 300 digits: the text is damaged")
    if json_texts.is_json(text):
        reading = json_texts.read_json(text)
        runs = runs_with_content(reading.runs, reading.early_problems)
        if not runs:
            raise BadInput(nothing_read(Lines(), reading.early_problems))
        return runs
    if not text.strip():
        raise BadInput("the file is empty")
    lines = unwrapped(text, is_head)
    reading = Reading("\n".join(lines.lines) + ("\n" if text[-1:] in ("\r", "\n") else ""))
    try:
        runs = runs_with_content(read_lines(reading).runs, reading.early_problems)
    except BadInput as error:
        raise BadInput(lines.original(str(error))) from None
    if not runs and (inside := json_texts.embedded("\n".join(lines.lines))):
        return read_text(inside)
    if not runs:
        raise BadInput(nothing_read(lines, [*reading.early_problems, *filter(None, [reading.waived])]))
    return list(map(lines.renumbered, runs))


def runs_with_content(runs: list[Run], unread: list[str]) -> list[Run]:
    """The runs that have content. Raises BadInput if the size of a copy is impossible.

    unread: problems after the last run. The function adds these problems to the last run.
    """
    if runs:
        runs[-1].problems += unread
    runs = [run for run in runs if run.is_result]
    for table in (table for run in runs for table in run.tables):
        if (table.size_bytes or 0) > MOST_BYTES:
            raise BadInput(
                f"line {table.line}: a copy of more than {MOST_BYTES} bytes is impossible: the text is damaged"
            )
    return runs


def nothing_read(lines: Lines, unread: list[str]) -> str:
    """A sentence that explains why a text contains no run.

    unread: the problems in the text.
    """
    why = (
        prefix_problem(lines, is_head)
        or (lines.original(unread[0]) if unread else "")
        or unreadable_reason(lines.lines)
    )
    return f"it contains no valid table of {PROGRAMS} ({why})" if why else f"it contains no table of {PROGRAMS}{WHOLE}"


def unreadable_reason(lines: list[str]) -> str:
    """The reason why no number is readable: a binary file, or decimal commas. "" if neither is true."""
    if sum(line.count("\ufffd") for line in lines) > sum(map(len, lines)) // MOST_REPLACED:
        return "the file is binary"
    commas, points = (sum(len(one.findall(line)) for line in lines) for one in (DECIMAL_COMMA, DECIMAL_POINT))
    return "its numbers have a decimal comma: replace it by a point" if commas >= max(FEWEST_COMMAS, points + 1) else ""


def is_head(line: str) -> bool:
    """Whether a line starts the output of a program, or a table of a program."""
    return bool(ANY_HEAD.match(line))


def read_lines(reading: Reading) -> Reading:
    """Read all lines with the readers in FORMATS. Returns `reading`."""
    while reading.at < len(reading.lines):
        line, at = reading.line(), reading.at
        if not line.strip() or len(line) > MOST_HEAD or not line[:MOST_INDENT].strip():
            reading.at += 1
            continue
        found = next(((match, reader) for head, reader in FORMATS if (match := head.match(line))), None)
        if found is not None:
            found[1](reading, found[0])
            reading.at = max(reading.at, at + 1)
            continue
        command = COMMAND.match(line)
        if command is not None:
            reading.command = command[1].strip()
        else:
            note_ending(reading)
        reading.at += 1
    return reading
