"""What is wrong or missing in a run, as the page lists it: the worst first, and what is alike once."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..judge.evaluate import MatrixVerdict
from ..judge.facts import Fact
from ..judge.verdicts import Verdict
from ..record import units
from ..record.reading import Result
from ..runs.judging import Judged
from ..runs.stored import Run
from . import sweep, words
from .maps import marks

MOST_CELLS = 3  # of a matrix, of those listed with all that is wrong: its own table has them
MOST_NAMED = 6  # test cases of which one sentence is said
WORST = {words.WORDS[verdict]: at for at, verdict in enumerate(reversed(words.ORDER))}


def problems(judged: list[Judged], run: Run) -> list[dict[str, Any]]:
    """What failed or is missing, the worst first; cells that lack nothing but a reference are not listed."""
    found, several = [], sweep.several_nodes(judged)
    for one in judged:
        if lines := lines_of(one):
            found.append(
                (one.verdict, {**marks(one.verdict), "name": named(one, one.test.name, several), "reasons": lines})
            )
    found.sort(key=lambda problem: -words.ORDER.index(problem[0]))
    notes = [{**marks(Verdict.INCOMPLETE), "name": run.path.name, "reasons": run.notes}] if run.notes else []
    return [problem for _, problem in found] + notes + of_samples(judged)


def lines_of(one: Judged) -> list[str]:
    """What is wrong in a test, the worst first, but for what is said of samples: that has a place of its own."""
    said: dict[str, list[Result]] = {line: [] for line in one.reasons}
    for fact in words.facts_of(one):
        said.setdefault(line_of(fact), [])
    for result, matrix in one.matrices:
        facts = [line_of(fact) for fact in words.facts_of(one, result) if fact.topic != "samples"]
        for line in [*facts, *few_cells(matrix)]:
            said.setdefault(line, []).append(result)
    order = sorted(said, key=lambda line: WORST.get(line.partition(": ")[0], -1))
    alone = len(one.matrices) == 1
    return [line if alone or not said[line] else f"{all_sizes(one, said[line])}: {line}" for line in order]


def line_of(fact: Fact) -> str:
    return f"{words.WORDS[fact.verdict]}: {fact.sentence}"


def of_samples(judged: list[Judged]) -> list[dict[str, Any]]:
    """That medians are not as sure as was asked for: once for all test cases, with the worst of them first."""
    alike: dict[tuple[Verdict, str], list[tuple[int, int, str, str]]] = {}
    for one, result, fact in facts_of_samples(judged):
        some, every = fact.cells
        rest = fact.sentence.removeprefix(f"{some} of {units.counted(every, 'cell')} ")  # alike for all
        alike.setdefault((fact.verdict, rest), []).append((some, every, of_size(one, result), result["testcase"]))
    shown = []
    for (verdict, rest), cases in sorted(alike.items(), key=lambda item: -item[0][0]):
        cases.sort(key=lambda case: -case[0] / case[1])
        some, every = (sum(case[at] for case in cases) for at in (0, 1))
        each = [f"{name} ({of} of {count})" for of, count, name, _ in cases]
        line = f"{some} of {units.counted(every, 'cell')} {rest}"
        testcases = {case[3] for case in cases}
        name = units.counted(len(testcases), "test case")
        if len(testcases) == 1:
            name = cases[0][2] if len(cases) == 1 else f"{cases[0][3]}, {len(cases)} sizes"
        most = [] if len(cases) == 1 else [f"the most: {', '.join(units.first(each, MOST_NAMED))}"]
        shown.append({**marks(verdict), "name": name, "reasons": [line, *most]})
    return shown


def facts_of_samples(judged: list[Judged]) -> Iterator[tuple[Judged, Result, Fact]]:
    """What is said of the samples of each matrix."""
    for one in judged:
        for result, _ in one.matrices:
            yield from ((one, result, fact) for fact in words.facts_of(one, result) if fact.topic == "samples")


def few_cells(matrix: MatrixVerdict) -> list[str]:
    """The worst cells of a matrix, and how many more its own table has."""
    listed, count = words.marked_cells(matrix, MOST_CELLS)[:MOST_CELLS], matrix.marked(1)[1]
    if count > len(listed) > 0:
        listed[-1] += f"; and {units.counted(count - len(listed), 'more cell')}, further down"
    return listed


def of_size(one: Judged, result: Result) -> str:
    """The test case of a matrix, with its size where the test measured several."""
    several = sum(other["testcase"] == result["testcase"] for other, _ in one.matrices) > 1
    return f"{result['testcase']}, {words.size(result['size_bytes'])}" if several else str(result["testcase"])


def all_sizes(one: Judged, results: Sequence[Result]) -> str:
    """The test cases of some matrices; of several sizes, how many."""
    by_case: dict[str, list[Result]] = {}
    for result in results:
        by_case.setdefault(result["testcase"], []).append(result)
    told = [
        of_size(one, found[0]) if len(found) == 1 else f"{name}, {len(found)} sizes" for name, found in by_case.items()
    ]
    return "; ".join(told)


def named(one: Judged, name: str, several: bool) -> str:
    """ "n17: NAME" of a test, or of one of its matrices, where there are several nodes."""
    node = sweep.node_of(one) if several else ""
    return f"{node}: {name}" if node else name
