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
from .collectives import Collective, groups, results_on_curves
from .devices import device_table
from .machine import marked_devices, merged_marks
from .page_matrix import shown_collective, shown_matrix
from .words import MAX_FINDINGS, marks

if TYPE_CHECKING:
    from ..judge.evaluate import MatrixVerdict
    from ..record.names import Result
    from ..runs.judging import Judged
    from .page_matrix import Picture

WITHOUT_COMPONENT = ("gone", "cell")  # topics of findings that flag no component
MAX_LISTED, MAX_CASES = 100, 6  # findings, and test cases of a finding
CURVES = "curves"  # anchor
PASSED = words.WORDS[Verdict.PASS]
MAX_OPEN, MAX_STEPS = (
    2,
    3,
)  # findings and steps that are not folded, so that the answer fits the first screen of a phone
MAX_CONTENTS = 6  # test cases in the list of contents
MAX_MATRICES = 64  # drawn matrices of a run on several nodes, the worst first
BACKENDS = {
    "cuda": "cuda: copies of GPUs",
    "host": "host: copies of pinned threads of the processor",
    "ipc": "ipc: copies between GPUs, with one process per GPU",
    "mpi": "mpi: messages between MPI ranks",
    "imported": "imported: another program measured",
}


class Section(NamedTuple):
    """A matrix or a collective on the page.

    anchor: the target of links to the section. For a matrix that is only a point of a curve, the anchor is CURVES.
    """

    anchor: str
    one: Judged
    shown: Collective | tuple[Result, MatrixVerdict]
    verdict: Verdict


def render(analysis: Analysis, picture: Picture, curves: Sequence[tuple[str, bytes]] = ()) -> str:
    """Renders the page of a run.

    picture: a function that draws a map of a matrix that is too large for a table.
    curves: (caption, PNG) of test cases with several sizes. For such a test case, the page shows only the matrix of the
    last size.
    """
    judged = analysis.judged
    assert analysis.run is not None
    entries, earlier, scales = analysis.node_entries, EarlierValues(analysis.run), matrix_text.scales(judged)
    sections = sections_of(judged)
    drawn = worst_sections(sections, several_nodes=bool(entries))
    matrices = [
        shown_matrix(analysis, anchor, one, *shown, picture, scales.get(matrix_text.scale_key(shown[0])), earlier)
        | {"name": section_title(one, shown[0], bool(entries))}
        for anchor, one, shown, _ in drawn
        if not isinstance(shown, Collective)
    ]
    drawings = machine_drawing.drawings(analysis)
    rows = overview(judged, sections, with_nodes=not entries)
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
        max_endpoints=matrix_text.MAX_ENDPOINTS,
        commands=[line for line in analysis.repeat_all() if line not in analysis.commands],
        legend=[{**marks(one), "means": MEANINGS[one], "step": words.next_step(one)} for one in words.ORDER],
        origin=f"Made by linkmatrix from {analysis.run.path.name}.",
    )


def answer(analysis: Analysis) -> dict[str, Any]:
    """The values for the top of the page: findings with evidence, next steps, and commands that measure again."""
    found = analysis.findings
    slow = [one for one in found if one.topic in SLOW]
    title = "What was found"
    if any(one.verdict is Verdict.FAIL for one in slow):
        title = "What is at fault"
    elif any(one.topic not in WITHOUT_COMPONENT for one in slow):  # without references, nothing is FAIL
        title = "What is suspect"
    return {
        "found": [
            {**marks(one.verdict), "text": one.text, "evidence": one.evidence if at < MAX_WITH_EVIDENCE else ()}
            for at, one in enumerate(found[:MAX_FINDINGS])
        ],
        "found_title": title,
        "more_found": max(0, len(found) - MAX_FINDINGS),
        "assessment": " ".join(analysis.assessment),
        "open_findings": MAX_OPEN,
        "steps": analysis.all_steps,
        "open_steps": MAX_STEPS,
        "again": analysis.commands,
        "tally": words.verdict_tally(analysis.judged) + ".",
    }


def contents(
    analysis: Analysis, drawn: Sequence[Section], drawings: Sequence[dict[str, Any]], has_nodes: bool, has_curves: bool
) -> Iterator[tuple[str, str]]:
    """Yields (anchor, text) for the list of contents: sections, and the worst test cases."""
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
    for one in bad[:MAX_CONTENTS]:
        yield one.anchor, one.shown.name if isinstance(one.shown, Collective) else str(one.shown[0]["testcase"])
    yield "provenance", "Machine and software"
    yield "reading", "How to read this page"


def problems(analysis: Analysis) -> list[dict[str, Any]]:
    """The rows of "Findings and notes": findings with their test cases, and notes of the run."""
    shown = []
    for one in analysis.findings[:MAX_LISTED]:
        cases = [f"test cases: {', '.join(units.first(one.testcases, MAX_CASES))}"] if len(one.testcases) > 1 else []
        shown.append({**marks(one.verdict), "name": one.component, "reasons": [one.text, *cases]})
    more = [f"{rest} more findings"] if (rest := len(analysis.findings) - MAX_LISTED) > 0 else []
    if analysis.run is not None and (notes := [*more, *analysis.run.notes]):
        shown.append({**marks(Verdict.INCOMPLETE), "name": analysis.run.path.name, "reasons": notes})
    return shown


def section_title(judged: Judged, result: Result, several_nodes: bool) -> str:
    """The title of a matrix: "n17: device_local_copy, 1 MiB". A single node and a single size are left out."""
    node = words.node_of(judged) if several_nodes else ""
    several = sum(other["testcase"] == result["testcase"] for other, _ in judged.matrices) > 1
    size = f", {units.size(result['size_bytes'])}" if several else ""
    return (f"{node}: " if node else "") + result["testcase"] + size


def sections_of(judged: list[Judged]) -> list[Section]:
    """The sections of a run: its matrices and collectives, in order."""
    found: list[Section] = []
    counts = Counter[str]()
    for one in judged:
        on_curves = [] if one.test.record is None else results_on_curves(one.test.record)
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
    """The sections to draw, the worst first. For a run on several nodes: up to MAX_MATRICES."""
    order = sorted((one for one in sections if one.anchor != CURVES), key=lambda one: -one.verdict)
    return order[:MAX_MATRICES] if several_nodes else order


def drawn_matrices(analysis: Analysis) -> list[tuple[Judged, Result, MatrixVerdict]]:
    """(test, result, verdicts) of the matrices that the page draws, the worst first."""
    drawn = worst_sections(sections_of(analysis.judged), several_nodes=bool(analysis.node_entries))
    return [(one, *shown) for _, one, shown, _ in drawn if not isinstance(shown, Collective)]


def fleet_table(entries: list[nodes.Entry], drawn: int) -> dict[str, Any]:
    """The values for the page's table of nodes, with a row per node and a column per test case.

    drawn: the number of matrices that the page draws.
    """
    names, rows = nodes.by_node(entries)
    return {
        "names": names,
        "rows": [(node, [shown_entry(entry) for entry in cells]) for node, cells in rows],
        "drawn": drawn,
    }


def shown_entry(entry: nodes.Entry | None) -> dict[str, str]:
    """A cell of the table of nodes. entry: None if the node did not run the test case."""
    if entry is None:
        return {"text": "not run", "title": "", **marks(Verdict.INCOMPLETE)}
    text = entry.text if entry.value is not None or entry.verdict is Verdict.PASS else "nothing measured"
    pair = f"{entry.pair[0]}->{entry.pair[1]}" if entry.pair else ""
    return {"text": text, "title": entry.reason or pair, **marks(entry.verdict)}


def overview(judged: list[Judged], sections: Sequence[Section], with_nodes: bool = True) -> list[dict[str, Any]]:
    """The rows of the overview, the worst first: a row per link class of a matrix, and a row per test without a matrix.

    with_nodes: whether to include tests of a single node. A page with a table of nodes excludes these tests.
    """
    rows: list[dict[str, Any]] = []
    for anchor, one, shown, verdict in sections:
        if not with_nodes and words.node_of(one):
            continue
        if isinstance(shown, Collective):
            rows += collective_rows(anchor, shown)
        else:
            rows += overview_rows(anchor, verdict, *shown)
    for one in judged:
        if (with_nodes or not words.node_of(one)) and one.verdict_beyond_cells is not None:
            reason = "; ".join(one.reasons) or "as expected"
            rows.append({**marks(one.verdict), "name": one.test.name, "anchor": "", "quantity": reason})
    severity = {word: verdict for verdict, word in words.WORDS.items()}
    return sorted(rows, key=lambda row: (-severity[row["word"]], not row.get("lacks", True)))


def collective_rows(anchor: str, collective: Collective) -> list[dict[str, Any]]:
    """The rows of a collective: one per group of columns. A row has no median, because a row covers several sizes."""
    result = collective.sizes[0][0]
    states = dict.fromkeys(matrix_text.data_state(result).removeprefix("data ") for result, _ in collective.sizes)
    verified = " or ".join(states)
    common = {
        **marks(collective.verdict),
        "name": collective.name,
        "anchor": anchor,
        "unit": words.UNITS[collective.unit],
    }
    common |= {"quantity": f"{result['quantity']}, {collective.size_range()}", "median": "–", "verified": verified}
    common["lacks"] = any(lacks_more(matrix) for _, matrix in collective.sizes)
    return [
        {**common, "link_class": name, "low": ends[0] if ends else "–", "high": ends[-1] if ends else "–"}
        for name, ends in collective.extremes().items()
    ]


def lacks_more(matrix: MatrixVerdict) -> bool:
    """Whether cells are INCOMPLETE for a reason other than a missing reference."""
    return words.incomplete_cells(matrix) > 0


def overview_rows(anchor: str, verdict: Verdict, result: Result, matrix: MatrixVerdict) -> list[dict[str, Any]]:
    """The rows of a matrix: one per link class. An unmeasured matrix has one row."""
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
    """The values for the page's template about each machine and back end of a run."""
    found, suspects = [], merged_marks(analysis, analysis.judged)
    for one, *_ in analysis.machines:
        record = one.test.record or {}
        found.append({"facts": facts(one, record), **device_table(record, marked_devices(record, suspects))})
    return found


def facts(judged: Judged, record: dict[str, Any]) -> list[tuple[str, str]]:
    """[(name, value)] of the facts of a record."""
    host = record["host"]
    holders = (*record["results"], *([record["soak"]] if "soak" in record else []))
    of_rank = " for rank 0" if record["backend"] in ("mpi", "ipc") else ""  # rank 0 may be bound to some of the cores
    cores, numa = units.counted(host["cores"], "core"), units.counted(host["numa"], "NUMA node")
    known = [
        ("measured", words.measured(record)),
        ("back end", BACKENDS.get(record["backend"], record["backend"])),
        ("host", f"{host['name']}: {host['cpu']}, {cores}{of_rank}, {numa}"),
        ("partition", judged.test.partition),
        ("program", f"{record['program']} {record['version']}"),
        *sorted(record["software"].items()),
        ("started", words.started(record)),
        ("references", judged.reference or "none named by the partition"),
        ("errors counted", "; ".join(error_sentences(record))),
        (
            "typical values",
            "; ".join(
                f"{source}: {', '.join(values)}" for source, values in matrix_text.typical_lines([judged]).items()
            ),
        ),
        ("signs of congestion", "; ".join(congestion_signs(record))),
        (
            "other processes",
            "; ".join(dict.fromkeys(judged for holder in holders for judged in disturbance_sentences(holder))),
        ),
        ("ignored processes", words.ignored_line([record]).partition(": ")[2]),
        ("notes", "; ".join(record["notes"])),
    ]
    return [fact for fact in known if fact[1]]
