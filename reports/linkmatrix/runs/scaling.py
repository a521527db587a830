"""The efficiency of simulations by number of devices, beside what is published of another system.

A published series is a mean over all numbers of bodies above one; so is what stands beside it here.
"""

import statistics
from collections.abc import Iterable, Iterator, Mapping

from ..record.names import Result, bodies_of, devices_of, is_simulation
from ..record.units import counted
from ..references.published import Published, Series
from .stored import Run


def beside_series(run: Run, published: Published, wanted: set[str]) -> tuple[list[str], list[str]]:
    """(the lines of the comparison, sentences on what is not comparable), of each series of a published system.

    wanted: the test cases, of which none are all.
    """
    lines: list[str] = []
    left_out: list[str] = []
    results = [result for test in run.tests if test.record for result in test.record["results"]]
    for series in published.series:
        own = [one for one in results if is_simulation(one) and one["testcase"] == series.testcase]
        if not own or (wanted and series.testcase not in wanted):
            continue
        above = series.bodies_above
        large = [one for one in own if (bodies_of(one) or 0) > above]
        if not large:
            most = max(bodies_of(one) or 0 for one in own)
            said = f"{most} bodies at most here, more than {above} there"
            left_out.append(f"{series.testcase} efficiency: {said}: not comparable")
            continue
        lines += list(beside(series, mean_efficiencies(large), [bodies_of(one) or 0 for one in large]))
    return lines, left_out


def mean_efficiencies(results: Iterable[Result]) -> dict[int, float]:
    """{devices: the mean efficiency in percent of those numbers of bodies of which it was measured}."""
    found: dict[int, list[float]] = {}
    for result in results:
        part = result["parts"].get("efficiency")
        for at, column in enumerate(result["columns"]):
            value = part["values"][0][at] if part else None
            if value is not None and result["status"][0][at] == "ok":
                found.setdefault(devices_of(column), []).append(value)
    return {devices: statistics.fmean(values) for devices, values in sorted(found.items())}


def beside(series: Series, here: Mapping[int, float], bodies: list[int]) -> Iterator[str]:
    """The lines of one series."""
    numbers = ", ".join(map(str, sorted(bodies)))
    there = {devices: 100 * value for devices, value in series.devices.items()}
    above = f"more than {series.bodies_above} there"
    yield f"{series.testcase} efficiency, mean over {numbers} bodies here, {above}"
    for devices in sorted(here.keys() & there.keys()):
        ratio = here[devices] / there[devices]
        yield f"  {counted(devices, 'device')}: {here[devices]:.1f} against {there[devices]:.1f} %, × {ratio:.3g}"
    for side, only in (("here", here.keys() - there.keys()), ("there", there.keys() - here.keys())):
        if only:
            values = here if side == "here" else there
            said = ", ".join(f"{counted(devices, 'device')} {values[devices]:.1f} %" for devices in sorted(only))
            yield f"  only {side}: {said}"
