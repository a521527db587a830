"""The report of a run as one HTML file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..judge.disturbances import disturbance_sentences
from ..judge.run_findings import error_sentences
from ..judge.verdicts import MEANINGS, Verdict
from ..locate.next_steps import SLOW
from ..record import units
from ..record.names import congestion_signs
from ..runs.series import EarlierValues
from . import html, machine_drawing, matrix_text, nodes, words
from .analysis import MAX_WITH_EVIDENCE, Analysis
from .collectives import Collective, groups, on_a_curve
from .devices import device_table
from .machine import marked_devices, merged_marks
from .page_matrix import shown_collective, shown_matrix
from .words import MAX_FINDINGS, marks

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.names import Result
    from ..runs.judging import Judged
    from .page_matrix import Picture

LACKING = ("gone", "cell")  # topics of cells without a value, and of cells that no component explains
MOST_LISTED, MOST_CASES = 100, 6  # findings, and test cases of a finding
CURVES = "curves"  # anchor
PASSED = words.WORDS[Verdict.PASS]
MOST_OPEN, MOST_STEPS = 2, 3  # findings and steps that are not folded: the answer fits the first screen of a phone
MOST_CONTENTS = 6  # test cases in the list of contents
MOST_MATRICES = 64  # that are drawn, of several nodes the worst; the records have all
BACKENDS = {
    "cuda": "cuda: copies of GPUs",
    "host": "host: copies of pinned threads of the processor",
    "ipc": "ipc: copies between GPUs, with one process per GPU",
    "mpi": "mpi: messages between MPI ranks",
    "imported": "imported: another program measured",
}


class Section(NamedTuple):
    """A matrix or a collective with its anchor on the page, CURVES if only a curve shows it."""

    anchor: str
    one: Judged
    shown: Collective | tuple[Result, MatrixVerdict]
    verdict: Verdict


def render(analysis: Analysis, picture: Picture, curves: Sequence[tuple[str, bytes]] = ()) -> str:
    """The page of a run.

    picture: makes the PNG of a map of a matrix that is too large for a table
    curves: (caption, PNG) of test cases that were measured in several sizes or shapes; of those, only the last matrix
    of each is shown
    """
    judged = analysis.judged
    assert analysis.run is not None
    entries, earlier, scales = analysis.node_entries, EarlierValues(analysis.run), matrix_text.shared(judged)
    sections = sections_of(judged)
    drawn = worst_sections(sections, several_nodes=bool(entries))
    matrices = [
        shown_matrix(analysis, anchor, one, *shown, picture, scales.get(matrix_text.key_of(shown[0])), earlier)
        | {"name": name_of(one, shown[0], bool(entries))}
        for anchor, one, shown, _ in drawn
        if not isinstance(shown, Collective)
    ]
    drawings = machine_drawing.drawings(analysis)
    rows = overview(judged, sections, of_nodes=not entries)
    passed = [row for row in rows if row["word"] == PASSED]
    return html.rendered(
        "page.html",
        title=words.title(judged),
        simulated=words.simulated_line(analysis.records),
        ignored=words.ignored_line(analysis.records),
        **marks(analysis.verdict),
        **answer(analysis),
        overview=[row for row in rows if row["word"] != PASSED],
        passed=passed,
        passed_title=f"{units.counted(len({row['name'] for row in passed}), 'test case')} PASS",
        contents=list(contents(analysis, drawn, drawings, bool(entries), bool(curves))),
        fleet=fleet_table(entries, len(matrices)) if entries else None,
        problems=problems(analysis),
        machines=machines(analysis),
        drawings=drawings,
        curves=[(caption, html.picture(png)) for caption, png in curves],
        collectives=[shown_collective(one.anchor, one.shown) for one in drawn if isinstance(one.shown, Collective)],
        matrices=matrices,
        most_endpoints=matrix_text.MOST_ENDPOINTS,
        commands=[line for line in analysis.repeat_all() if line not in analysis.commands],
        legend=[{**marks(one), "means": MEANINGS[one], "step": words.next_step(one)} for one in words.ORDER],
        origin=f"Made by linkmatrix from {analysis.run.path.name}.",
    )


def answer(analysis: Analysis) -> dict[str, Any]:
    """The top of the page: the findings with their evidence, the next steps, and the commands to run again."""
    found = analysis.findings
    of_components = [one for one in found if one.topic in SLOW]
    title = "What was found"
    if any(one.verdict is Verdict.FAIL for one in of_components):
        title = "What is at fault"
    elif any(one.topic not in LACKING for one in of_components):  # without references nothing is at fault yet
        title = "What is suspect"
    return {
        "found": [
            {**marks(one.verdict), "text": one.text, "evidence": one.evidence if at < MAX_WITH_EVIDENCE else ()}
            for at, one in enumerate(found[:MAX_FINDINGS])
        ],
        "found_title": title,
        "more_found": max(0, len(found) - MAX_FINDINGS),
        "assessment": " ".join(analysis.assessment),
        "open_findings": MOST_OPEN,
        "steps": analysis.all_steps,
        "open_steps": MOST_STEPS,
        "again": analysis.commands,
        "tally": words.verdict_tally(analysis.judged) + ".",
    }


def contents(
    analysis: Analysis, drawn: Sequence[Section], drawings: Sequence[dict[str, Any]], has_nodes: bool, has_curves: bool
) -> Iterator[tuple[str, str]]:
    """(anchor, text) of the list of contents: the sections in the order of the page, and the worst test cases."""
    connected = ("topology", "How it is connected")
    if drawings and drawings[0]["marked"]:
        yield connected
    yield ("nodes", "Nodes") if has_nodes else ("cases", "Test cases")
    if analysis.findings or (analysis.run is not None and analysis.run.notes):
        yield "problems", "Findings and notes"
    if drawings and not drawings[0]["marked"]:
        yield connected
    if has_curves:
        yield CURVES, "Curves"
    bad = [one for one in drawn if one.verdict >= Verdict.DISTURBED]
    yield from ((one.anchor, testcase_of(one)) for one in bad[:MOST_CONTENTS])
    yield "provenance", "Machine and software"
    yield "reading", "How to read this page"


def testcase_of(section: Section) -> str:
    """The test case of a section."""
    shown = section.shown
    return shown.name if isinstance(shown, Collective) else str(shown[0]["testcase"])


def problems(analysis: Analysis) -> list[dict[str, Any]]:
    """Each finding with the test cases that show it, the most urgent first, and the notes of the run."""
    shown = []
    for one in analysis.findings[:MOST_LISTED]:
        cases = [f"test cases: {', '.join(units.first(one.testcases, MOST_CASES))}"] if len(one.testcases) > 1 else []
        shown.append({**marks(one.verdict), "name": one.component, "reasons": [one.text, *cases]})
    more = [f"{rest} more findings"] if (rest := len(analysis.findings) - MOST_LISTED) > 0 else []
    if analysis.run is not None and (notes := [*more, *analysis.run.notes]):
        shown.append({**marks(Verdict.INCOMPLETE), "name": analysis.run.path.name, "reasons": notes})
    return shown


def name_of(one: Judged, result: Result, several_nodes: bool) -> str:
    """ "n17: device_local_copy, 1 MiB" of a matrix; the node of several nodes, and the size of several sizes."""
    node = words.node_of(one) if several_nodes else ""
    several = sum(other["testcase"] == result["testcase"] for other, _ in one.matrices) > 1
    size = f", {units.size(result['size_bytes'])}" if several else ""
    return (f"{node}: " if node else "") + result["testcase"] + size


def sections_of(judged: list[Judged]) -> list[Section]:
    """Each matrix and collective of the run, in its order."""
    found: list[Section] = []
    counts = Counter[str]()
    for one in judged:
        on_curves = [] if one.test.record is None else on_a_curve(one.test.record)
        for shown in groups(one):
            if isinstance(shown, Collective):
                kind, verdict = "c", shown.verdict
            else:
                kind, verdict = "m", one.matrix_verdict(shown[1])
            is_curve = kind == "m" and any(shown[0] is result for result in on_curves)
            found.append(Section(CURVES if is_curve else f"{kind}{counts[kind]}", one, shown, verdict))
            counts[kind] += not is_curve
    return found


def worst_sections(sections: Sequence[Section], several_nodes: bool) -> list[Section]:
    """The sections that are drawn, the worst first: of several nodes MOST_MATRICES at most; without curves."""
    order = sorted((one for one in sections if one.anchor != CURVES), key=lambda one: -one.verdict)
    return order[:MOST_MATRICES] if several_nodes else order


def drawn_matrices(analysis: Analysis) -> list[tuple[Judged, Result, MatrixVerdict]]:
    """The matrices that the page draws, the worst first."""
    drawn = worst_sections(sections_of(analysis.judged), several_nodes=bool(analysis.node_entries))
    return [(one, *shown) for _, one, shown, _ in drawn if not isinstance(shown, Collective)]


def fleet_table(entries: list[nodes.Entry], drawn: int) -> dict[str, Any]:
    """Nodes × test cases, the worst node first."""
    names, rows = nodes.by_node(entries)
    return {
        "names": names,
        "rows": [(node, [shown_entry(entry) for entry in cells]) for node, cells in rows],
        "drawn": drawn,
    }


def shown_entry(entry: nodes.Entry | None) -> dict[str, str]:
    """A node's test case in the table."""
    if entry is None:
        return {"text": "not run", "title": "", **marks(Verdict.INCOMPLETE)}
    text = entry.text if entry.value is not None or entry.verdict is Verdict.PASS else "nothing measured"
    pair = f"{entry.pair[0]}->{entry.pair[1]}" if entry.pair else ""
    return {"text": text, "title": entry.reason or pair, **marks(entry.verdict)}


def overview(judged: list[Judged], sections: Sequence[Section], of_nodes: bool = True) -> list[dict[str, Any]]:
    """One row for each link class of each matrix, and one for each test without a matrix, the worst first.

    of_nodes: with tests of one node; without them if there is a table of nodes
    """
    rows: list[dict[str, Any]] = []
    for anchor, one, shown, verdict in sections:
        if not of_nodes and words.node_of(one):
            continue
        if isinstance(shown, Collective):
            rows += collective_rows(anchor, shown)
        else:
            rows += overview_rows(anchor, verdict, *shown)
    for one in judged:
        if (of_nodes or not words.node_of(one)) and one.verdict_beyond_cells is not None:
            reason = "; ".join(one.reasons) or "as expected"
            rows.append({**marks(one.verdict), "name": one.test.name, "anchor": "", "quantity": reason})
    severity = {word: verdict for verdict, word in words.WORDS.items()}
    return sorted(rows, key=lambda row: (-severity[row["word"]], not row.get("lacks", True)))


def collective_rows(place: str, one: Collective) -> list[dict[str, Any]]:
    """The rows of a collective, one per way, without a median, because the sizes differ."""
    result = one.sizes[0][0]
    states = dict.fromkeys(matrix_text.data_state(of_size).removeprefix("data ") for of_size, _ in one.sizes)
    verified = " or ".join(states)
    common = {**marks(one.verdict), "name": one.name, "anchor": place, "unit": words.UNITS[one.unit]}
    common |= {"quantity": f"{result['quantity']}, {one.sizes_said()}", "median": "–", "verified": verified}
    common["lacks"] = any(lacks_more(matrix) for _, matrix in one.sizes)
    return [
        {**common, "link_class": way, "low": ends[0] if ends else "–", "high": ends[-1] if ends else "–"}
        for way, ends in one.ends().items()
    ]


def lacks_more(matrix: MatrixVerdict) -> bool:
    """Whether cells are INCOMPLETE for another reason than a missing reference."""
    return words.incomplete_cells(matrix) > 0


def overview_rows(anchor: str, verdict: Verdict, result: Result, matrix: MatrixVerdict) -> list[dict[str, Any]]:
    """The rows of one matrix; one that was not measured has a row too."""
    common = {**marks(verdict), "name": result["testcase"], "anchor": anchor, "quantity": result["quantity"]}
    if result.get("blocks"):
        common["name"] += f", {units.counted(result['blocks'], 'block')}"
    common["quantity"] += f", {units.size(result['size_bytes'])}"
    common |= {"unit": words.UNITS[result["unit"]], "verified": matrix_text.data_state(result).removeprefix("data ")}
    common["lacks"] = lacks_more(matrix)
    rows = []
    for name, summary in matrix.matrix.classes.items():
        low, median, high = matrix_text.extremes(summary, result["unit"])
        rows.append({**common, "link_class": name, "low": low, "median": median, "high": high})
    return rows or [{**common, "link_class": "–", "low": "–", "median": "–", "high": "–"}]


def machines(analysis: Analysis) -> list[dict[str, Any]]:
    """The facts of each machine and back end of the run, once."""
    found, suspects = [], merged_marks(analysis, analysis.judged)
    for one, *_ in analysis.machines:
        record = one.test.record or {}
        found.append({"facts": facts(one, record), **device_table(record, marked_devices(record, suspects))})
    return found


def facts(one: Judged, record: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts of one record, as (name, value)."""
    host = record["host"]
    of_rank = " for rank 0" if record["backend"] in ("mpi", "ipc") else ""  # it may be bound to fewer than there are
    cores, numa = units.counted(host["cores"], "core"), units.counted(host["numa"], "NUMA node")
    known = [
        ("measured", words.measured(record)),
        ("back end", BACKENDS.get(record["backend"], record["backend"])),
        ("host", f"{host['name']}: {host['cpu']}, {cores}{of_rank}, {numa}"),
        ("partition", one.test.partition),
        ("program", f"{record['program']} {record['version']}"),
        *sorted(record["software"].items()),
        ("started", words.started(record)),
        ("references", one.reference or "none named by the partition"),
        ("errors counted", "; ".join(error_sentences(record))),
        (
            "typical values",
            "; ".join(f"{source}: {', '.join(values)}" for source, values in matrix_text.typical_lines([one]).items()),
        ),
        ("signs of congestion", "; ".join(congestion_signs(record))),
        ("other processes", "; ".join(dict.fromkeys(others_of(record)))),
        ("ignored processes", words.ignored_line([record]).partition(": ")[2]),
        ("notes", "; ".join(record["notes"])),
    ]
    return [fact for fact in known if fact[1]]


def others_of(record: dict[str, Any]) -> Iterator[str]:
    """A sentence for each disturbance of the record's results and of its soak."""
    for holder in (*record["results"], *([record["soak"]] if "soak" in record else [])):
        yield from disturbance_sentences(holder)
