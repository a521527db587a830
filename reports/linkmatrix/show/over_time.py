"""Values, components and slots over time, as text.

A series is shown as a sparkline, its changes of level, and the recorded changes between runs.

The history of a component or slot contains its stays, flags and notes, and the result of a swap. A stay is the time
during which a component was in a slot.
"""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..record import units
from ..record.units import figure
from ..runs import notes as noted
from ..runs.attribution import Key, Pair, swap_sentence
from ..runs.components import Component, Slot, is_component, matches_slot, slot_name
from ..runs.notes import Note
from ..runs.series import Change, change_points
from ..runs.suspicion import ComponentState, Ledger, RunFlags, read_runs, swap_result
from . import words

if TYPE_CHECKING:
    import pandas

BARS = "▁▂▃▄▅▆▇█"
MAX_POINTS = 60  # of a sparkline
MAX_CHANGES = 8  # printed changes of software, firmware or host, if the host changes
MIN_RUNS = 6  # for changes of level


class Point(NamedTuple):
    """A value of a series. Each field is the column of `runs.series.frame` with the same name."""

    started: str
    value: float
    host: str
    facts: Mapping[str, str]
    disturbances: str = ""


def points_of(series: "pandas.DataFrame") -> list[Point]:
    """The values of a series, in order of time."""
    return [Point(*row) for row in series[list(Point._fields)].itertuples(index=False, name=None)]


def changed(points: Sequence[Point]) -> list[tuple[int, str]]:
    """[(index of a point, recorded changes since the previous point)]. Example: (3, "driver 580.1 -> 590.2")."""
    found = [(at, text) for at in range(1, len(points)) if (text := recorded_changes(points[at - 1], points[at]))]
    hosts = sum(points[at - 1].host != points[at].host for at in range(1, len(points)))
    return found if len(found) <= MAX_CHANGES or not hosts else []


def changes(points: Sequence[Point]) -> list[Change]:
    """The changes of level in a series. After a change, the values stay higher or lower."""
    return changes_of(tuple(point.value for point in points))


@cache
def changes_of(values: tuple[float, ...]) -> list[Change]:
    """Finds the changes of level in a series. The result is cached, because the search takes 0.1 s."""
    return change_points(values)


def worst_change(points: Sequence[Point], unit: str) -> float:
    """The largest change to a worse level, as a positive fraction; 0 without such a change."""
    found = (change.after / change.before - 1 for change in changes(points))
    return max([0.0, *(one if unit == "us" else -one for one in found)])


def lines(points: Sequence[Point], unit: str) -> Iterator[str]:
    """Yields lines about a series: sparkline, range, changes of level with their causes, and other recorded changes."""
    values = [point.value for point in points]
    decimals, shown = words.DECIMALS[unit], words.UNITS[unit]
    if len(points) == 1:
        yield f"1 run, {points[0].started[:10]}: newest {figure(values[0], decimals)} {shown}"
        return
    days = f"{points[0].started[:10]} to {points[-1].started[:10]}"
    yield f"{units.counted(len(points), 'run')}, {days}: {sparkline(values)}"
    low, middle, high = min(values), statistics.median(values), max(values)
    summary = f"min {figure(low, decimals)}  median {figure(middle, decimals)}  max {figure(high, decimals)} {shown}"
    yield f"{summary}, newest {figure(values[-1], decimals)}"
    found = changes(points)
    for change in found:
        before, after = points[change.at - 1], points[change.at]
        percent = 100 * (change.after / change.before - 1)
        worse = (percent > 0) == (unit == "us")
        causes = [one for one in (recorded_changes(before, after), process_changes(before, after)) if one]
        text = ", ".join(causes) or "no recorded change explains it"
        yield (
            f"{'!' if worse else '+'} {figure(change.before, decimals)} -> {figure(change.after, decimals)} {shown}"
            f" ({percent:+.1f} %) between {before.started[:16]} and {after.started[:16]}: {text}"
        )
    for at, text in changed(points):
        if at not in {change.at for change in found}:
            yield f"  between {points[at - 1].started[:16]} and {points[at].started[:16]}: {text}"


def recorded_changes(before: Point, after: Point) -> str:
    """The recorded changes between two points: "driver 580.1 -> 590.2"; "" without a change."""
    old, new = before.facts, after.facts
    text = [
        f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    text += [f"host {before.host} -> {after.host}"] if before.host != after.host else []
    return ", ".join(text)


def process_changes(before: Point, after: Point) -> str:
    """A clause about other processes that appeared or ended between two points; "" without a change."""
    if bool(before.disturbances) == bool(after.disturbances):
        return ""
    return f"from then on {after.disturbances}" if after.disturbances else f"until then {before.disturbances}"


def sparkline(values: list[float]) -> str:
    """The last MAX_POINTS values as bars. If all values are equal, the bars have medium height."""
    last = values[-MAX_POINTS:]
    low, high = min(last), max(last)
    if high - low <= 1e-9 * abs(high):
        return BARS[3] * len(last)
    return "".join(BARS[min(int((value - low) / (high - low) * len(BARS)), len(BARS) - 1)] for value in last)


NO_SERIAL = "its records have no serial number, so linkmatrix tracks the UUID and misses a swap that keeps the UUID"
UNNAMED = "records do not identify the component, so a swap is not detected"


def part_history(run_flags: Iterable[RunFlags], text: str, clean_runs: int, notes: Sequence[Note] = ()) -> list[str]:
    """Lines about a component; [] if no run contains the component. text: its serial number or UUID."""
    every = list(run_flags)
    ledger = read_runs(every, clean_runs, notes)
    wanted = [one for run in every for one in run.seen.values() if is_component(one, text)]
    keys = [key for key, one in ledger.kept.items() if isinstance(key, Component) and is_component(one.last, text)]
    names = {text, *(one.serial for one in wanted), *(one.uuid for one in wanted)}
    return [
        line for key in keys for line in part_lines(ledger, key, noted.notes_about(notes, names, []), by_place=False)
    ]


def slot_history(run_flags: Iterable[RunFlags], wanted: Slot, clean_runs: int, notes: Sequence[Note] = ()) -> list[str]:
    """Lines about the slots that match `wanted`; [] if no run contains a matching slot."""
    ledger = read_runs(run_flags, clean_runs, notes)
    places = [key for key in ledger.kept if not isinstance(key, Component) and matches_slot(key, wanted)]
    return [
        line
        for key in sorted(places)
        for line in part_lines(ledger, key, noted.notes_about(notes, [], [key]), by_place=True)
    ]


def part_lines(ledger: Ledger, key: Key, notes: Sequence[Note], by_place: bool) -> Iterator[str]:
    """Yields lines about a component or slot: heading, stays, notes and moves in order of time, flag, result of a swap.

    by_place: whether `key` is a slot.
    """
    one = ledger.kept[key]
    yield part_headline(ledger, key, one)
    pairs = sorted(ledger.evidence.pairs[key], key=lambda pair: ledger.evidence.stays[pair].first)
    events = [(ledger.evidence.stays[pair].first, stay_line(ledger, pair, by_place)) for pair in pairs]
    events += [(note.when, note.sentence()) for note in notes]
    events += move_sentences(ledger, pairs, by_place)
    yield from (f"  {line}" for _, line in sorted(events, key=lambda item: item[0]))
    if one.oldest and one.newest:
        (scope, clean), when = one.scopes[0], one.oldest.since[:16].replace("T", " ")
        runs = units.counted(clean, "clean run")
        yield f"  flagged since {when}: {one.newest.reason}; {runs} of {scope} after the newest flag"
    result = swap_result(ledger, one)
    if result:
        yield f"  {swap_sentence(result, one.last.kind)}"


def part_headline(ledger: Ledger, key: Key, state: ComponentState) -> str:
    """The heading of a component or slot: name, number of runs, and whether a swap can be detected."""
    runs = f"{units.counted(state.seen, 'run')}, flagged in {state.flagged}"
    if not isinstance(key, Component):
        unnamed = "" if state.pair[0].word or state.last.label == state.last.node else f"; {UNNAMED}"
        return f"{slot_name(key)}: {runs}{unnamed}"
    remarks = {"serial": "", "UUID": f"; {NO_SERIAL}" if state.last.kind == "GPU" else ""}
    uuid = f" (UUID {state.last.uuid})" if key.word == "serial" and state.last.uuid else ""
    return f"{state.last.kind} {key}{uuid}: {runs}{remarks.get(key.word, '')}"


def stay_line(ledger: Ledger, pair: Pair, by_place: bool) -> str:
    """A stay as text: "2026-11-01 to 2026-11-05 in n12/slot 3: 5 runs, flagged in 2, clean in 3"."""
    stay = ledger.evidence.stays[pair]
    part, place = pair
    what = f"{ledger.kept[part].last.kind} {part}" if by_place else f"in {slot_name(place)}"
    counts = f"{units.counted(stay.runs, 'run')}, flagged in {stay.flagged}, clean in {stay.clean}"
    return f"{stay.first[:10]} to {stay.last[:10]} {what}: {counts}"


def move_sentences(ledger: Ledger, pairs: Sequence[Pair], by_place: bool) -> list[tuple[str, str]]:
    """[(time, sentence)] about the moves from one stay to the next stay."""
    found = []
    for before, after in zip(pairs, pairs[1:], strict=False):
        old, new = ledger.evidence.stays[before], ledger.evidence.stays[after]
        between = f"between {old.last[:16]} and {new.first[:16]}".replace("T", " ")
        if old.last >= new.first:
            between = f"by {new.first[:16]}".replace("T", " ")
        if by_place:
            text = f"exchanged {between}: {before[0]} for {after[0]}"
        else:
            text = f"moved {between} from {slot_name(before[1])} to {slot_name(after[1])}"
        found.append((new.first, f"{new.first[:10]} {text}"))
    return found
