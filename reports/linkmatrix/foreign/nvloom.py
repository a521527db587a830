"""Reads the text of nvloom_cli 1.0 to 1.3, which runs one process per GPU of a multi-node NVLink domain.

cli/testcases.cpp defines the source axis: `output.set(x, y)` fills column x of row y. Between GPUs and between racks,
copies go from x to y. In gpu_to_rack, copies go from the GPU of the row to the rack of the column. The program prints
N/A instead of 0, for the cell of a GPU and itself, and for a pair that was not measured.

Copies between pairs are measured as in nvbandwidth: one pair at a time, behind a kernel that waits. Their test cases
have the names of nvbandwidth. Buffers have 512 MiB by default. A bidirectional value is the sum of both directions.
"""

import re
from typing import NamedTuple

from . import launch
from .grid import Grid, floats, numbers, read_grid, transposed
from .table import Reading, Run, Table

PROGRAM = "nvloom"
VERSION = re.compile(r"^nvloom_cli (\d[\w.-]{0,40})\s*$")
SOFTWARE = re.compile(r"^(?P<what>NVCC|CUDA|Driver) version: (?P<version>[\w.+-]{1,60})\s*$")
BUFFER = re.compile(r"^Buffer size: (?P<mib>\d{1,7}) MiB\s*$")
PROCESS = re.compile(rf"{launch.PROCESS}(?P<model>\S.{{0,127}}?) {launch.BUS} *; rackGuid: (?P<rack>\S{{0,64}})\s*$")
RUNNING = re.compile(r"^Running ([a-z][a-z0-9_]{2,100}?)(?:_iter_\d+)?\s*$")
SUMMARY = re.compile(r"^(?P<what>Min|Avg|Max|Total) (?P<name>[a-z0-9_]+) (?P<number>\d+\.\d\d|N/A)(?: GB/s| ns)?\s*$")
LABEL = re.compile(r"[A-Za-z0-9][\w.@+-]{0,63}(?:->\d+)?")
NUMBER = r"\d+\.\d\d"
SIZE, TWICE, RACK = "bytes", "process twice", "rack of"  # in Run.settings
GPUS, RACKS, BISECT, ALL = "gpus", "racks", "bisect", "all"  # what an axis consists of
COPY = r"(?P<memory>device_to_device|device_to_egm|egm_to_egm)"
HOW = r"(?P<direction>write|read)_(?P<engine>ce|sm)"
LATENCY = "load latency, all GPUs concurrently"
SAMPLED, BOTH = "median bandwidth of sampled GPUs", "sum of both directions"
MULTICAST = r"multicast_(?:one_to_all_mc|one_to_all_mc_red|all_to_one_mc_ld_reduce)"


class Layout(NamedTuple):
    """A group of test cases whose tables have the same layout.

    names: the regular expression of the names of the test cases.
    rows, columns: the types of the printed axes: GPUS, RACKS, BISECT or ALL.
    column_is_source: whether data moves from the column to the row.
    """

    names: re.Pattern[str]
    quantity: str
    rows: str
    columns: str
    column_is_source: bool = False


LAYOUTS = (
    Layout(re.compile(rf"{COPY}_unidir_{HOW}"), "bandwidth", GPUS, GPUS, True),
    Layout(re.compile(rf"{COPY}_bidir_{HOW}"), BOTH, GPUS, GPUS, True),
    Layout(re.compile(rf"bisect_{COPY}_{HOW}"), "bandwidth, all GPUs concurrently", BISECT, ALL),
    Layout(re.compile(rf"gpu_to_rack_{COPY}_unidir_{HOW}"), SAMPLED, GPUS, RACKS),
    Layout(re.compile(rf"gpu_to_rack_{COPY}_bidir_{HOW}"), f"{SAMPLED}, {BOTH}", GPUS, RACKS),
    Layout(re.compile(rf"rack_to_rack_unidir_{COPY}_{HOW}"), "total bandwidth", RACKS, RACKS, True),
    Layout(re.compile(rf"rack_to_rack_bidir_{COPY}_{HOW}"), f"total bandwidth, {BOTH}", RACKS, RACKS, True),
    Layout(re.compile(rf"all_(?:to|from)_one_{COPY}_{HOW}"), "total bandwidth", GPUS, ALL),
    Layout(re.compile(MULTICAST), "bandwidth", GPUS, ALL),
    Layout(re.compile(r"latency_(?P<memory>device|egm)"), LATENCY, GPUS, GPUS, True),
)


def version(reading: Reading, match: re.Match[str]) -> None:
    """Read `nvloom_cli 1.3.0`, the start of a run."""
    reading.end_run()
    reading.facts(PROGRAM).software[PROGRAM] = match[1]


def header_line(reading: Reading, match: re.Match[str]) -> None:
    """Read a line above the tables: a version, the buffer size or a process. Lines above `nvloom_cli` are ignored."""
    reading.at += 1
    if reading.current.program != PROGRAM:
        return
    facts, words = reading.facts(PROGRAM), match.groupdict()
    if "version" in words:
        facts.software[{"Driver": "driver"}.get(words["what"], words["what"])] = words["version"]
    elif "mib" in words:
        facts.settings[SIZE] = str(int(words["mib"]) << 20)
    elif int(words["rank"]) in facts.ranks:
        facts.settings[TWICE] = words["rank"]
    else:  # `Process 0 (n01): device 0: NVIDIA GB200 (00000008:01:00); rackGuid: 1820423175103`
        rank = int(words["rank"])
        facts.ranks[rank] = (words["host"], int(words["device"]))
        facts.devices[rank] = words["model"]
        facts.settings[f"{RACK} {rank}"] = words["rack"]


def test_case(reading: Reading, match: re.Match[str]) -> None:
    """Read `Running NAME`, and below this line the columns, rows and summary. A table with a fault is ignored."""
    name, line = match[1], reading.at + 1
    reading.at += 1
    if reading.line().startswith("testcase WAIVED"):
        return
    run = reading.current if reading.current.program == PROGRAM else Run(PROGRAM)
    found = next(((layout, fit) for layout in LAYOUTS if (fit := layout.names.fullmatch(name))), None)
    if found is None:
        if run is not reading.current:
            return  # another program's line
        reading.add_problem(f"line {line}: {name} of nvloom is an unknown test case: the table is ignored")
        return
    layout, words = found[0], found[1].groupdict()
    printed = {axis: labels(run, axis) for axis in (layout.rows, layout.columns)}
    problem = missing_facts(run, layout, reading.line(), printed)
    grid = Grid([])
    if not problem:
        reading.at += 1
        rows = list(printed[layout.rows])
        grid = read_grid(reading, list(printed[layout.columns]), row_label, NUMBER, rows, split=line_words)
        problem = (grid.faults or [contradiction(reading, name, grid)])[0]
    if problem:
        reading.add_problem(f"line {line}: {name} of nvloom is ignored: {problem}")
        return
    reading.add(PROGRAM, table_of(name, layout, words, printed, grid, line, int(run.settings[SIZE])))
    added = reading.runs[-1]  # --repeat starts another run with the same processes
    added.ranks, added.devices, added.software, added.settings = run.ranks, run.devices, run.software, run.settings


def row_label(word: str, _: int) -> str | None:
    """The first word of a line if the word is the label of a row; None otherwise.

    A label is a number, a rack, or two numbers.
    """
    return word if LABEL.fullmatch(word) else None


def line_words(text: str) -> list[str]:
    """The words of a line. The vertical bars between racks are removed."""
    return [word for word in text.split() if word != "|"]


def labels(run: Run, axis: str) -> dict[str, str]:
    """Returns {printed label: label in a record} for one axis. {} if the list of processes is incomplete.

    axis: the type of the axis, as in `Layout`.
    """
    named = launch.rank_labels(run.ranks)
    count = launch.ranks_extent(run.ranks).ranks or 0
    if not named or not count or TWICE in run.settings:
        return {}
    if axis == RACKS:
        known = [run.settings[f"{RACK} {rank}"] for rank in range(count)]
        return {rack: f"rack{rack}" for rack in sorted(known)} if all(map(LABEL.fullmatch, known)) else {}
    if axis == BISECT:
        return {f"{rank}->{(rank + count // 2) % count}": label for rank, label in enumerate(named)}
    return {"0": ALL} if axis == ALL else {str(rank): label for rank, label in enumerate(named)}


def missing_facts(run: Run, layout: Layout, head: str, printed: dict[str, dict[str, str]]) -> str:
    """A clause about missing or unsupported lines above a table; "" if everything is present.

    head: the line of column names.
    printed: {type of an axis: the labels from `labels`}.
    """
    if SIZE not in run.settings:
        return "the line 'Buffer size: … MiB' above it is missing"
    if not all(printed.values()):
        return "the list of processes above it, 'Process 0 (host): device 0: …', is incomplete"
    if line_words(head) != list(printed[layout.columns]):
        return f"its columns are not the {layout.columns} of the listed processes (--richOutput is not supported)"
    return ""


def contradiction(reading: Reading, name: str, grid: Grid) -> str:
    """A clause about a summary line that contradicts its table; "" if all summary lines agree.

    An example of a summary line is `Min NAME 352.10 GB/s`.
    """
    found = floats(grid.words().values())
    wanted = {"Min": min, "Max": max, "Total": sum}
    while (match := SUMMARY.match(reading.line())) or (not reading.line().strip() and reading.at < len(reading.lines)):
        reading.at += 1
        if match is None or reading.at == len(reading.lines) or match["what"] == "Avg":
            continue
        # each number is rounded to two decimals
        slack = 0.005 * (len(found) + 2) if match["what"] == "Total" else 0.001
        printed_value = 0.0 if match["number"] == "N/A" else float(match["number"])
        if match["name"] != name or abs(printed_value - (wanted[match["what"]](found) if found else 0.0)) > slack:
            return f"line {reading.at}, '{reading.lines[reading.at - 1].strip()[:120]}', contradicts the cells above it"
    return ""


def table_of(
    name: str,
    layout: Layout,
    words: dict[str, str],
    printed: dict[str, dict[str, str]],
    grid: Grid,
    line: int,
    size: int,
) -> Table:
    """The table of a test case. words: the parts of the test case's name, such as direction and engine."""
    axes = [tuple(printed[axis].values()) for axis in (layout.rows, layout.columns)]
    named = {
        (printed[layout.rows][row], printed[layout.columns][column]): word
        for (row, column), word in grid.words().items()
    }
    latency = layout.quantity == LATENCY
    cells = numbers(named, 0.001 if latency else 1.0, no_path="not-run")
    is_transposed = layout.column_is_source or layout.columns == ALL
    memory = words.get("memory", "device")
    alike = re.fullmatch(r"device_to_device_(uni|bi)dir_((?:write|read)_(?:ce|sm))", name)
    both = "bidirectional_" if alike and alike[1] == "bi" else ""
    return Table(
        testcase=f"device_to_device_{both}memcpy_{alike[2]}" if alike else f"nvloom_{name}",
        quantity=layout.quantity,
        metric="latency" if latency else "bidirectional" if "_bidir_" in name else "bandwidth",
        size_bytes=None if latency else size,
        rows=axes[is_transposed],
        columns=axes[not is_transposed],
        cells=transposed(cells) if is_transposed else cells,
        line=line,
        direction=words.get("direction") or ("read" if latency or name.endswith("ld_reduce") else "write"),
        engine=words.get("engine", "sm"),
        memory="host" if "egm" in memory else "device",
        peer_access=None if "egm" in memory else "on",
        notes=("nvloom prints the mean of its iterations, 16 by default",),
    )
