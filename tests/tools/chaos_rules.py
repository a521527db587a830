"""What must not be after a run that something happened to, as sentences; none where all is well."""

import signal
from collections.abc import Iterator

from chaos_place import Place, Run, kill, wait_until

PASSED = 0
#: What `linkmatrix run` may end with; and how a shell or the kernel says that it was killed.
CODES = {PASSED, 1, 3, 4, *(number for one in (signal.SIGKILL, signal.SIGXCPU) for number in (128 + one, -one))}
GRACE = 60  # seconds for what was killed to end what it started
Cells = dict[tuple[str, int], int]


def of_the_run(place: Place, run: Run, code: int | None, well: dict[str, Cells]) -> Iterator[str]:
    """Of the run itself, while what happened still lasts. well: what an undisturbed run reports as passed."""
    said = run.said()
    if code is None:
        yield f"it did not end in {place.bound:.0f} s: {said[-300:]}"
    elif code not in CODES:
        yield f"it ended with {code}: {said[-300:]}"
    if "Traceback" in said:
        yield f"a traceback: {said[said.index('Traceback') :][:6000]}"
    if code in (1, 3, 4) and not said.strip():
        yield "it ended without a word"
    if not wait_until(lambda: not place.processes(), GRACE):
        left = place.processes()
        yield f"{len(left)} processes were left"
        for one in left:
            kill(one, signal.SIGKILL)
    if code == PASSED:
        yield from of_a_pass(place, well)
    yield from place.notes
    place.notes.clear()


def of_a_pass(place: Place, well: dict[str, Cells]) -> Iterator[str]:
    """A PASS is true where the report has all test cases as passed, and their records all cells."""
    try:
        found = place.reported()
    except (OSError, ValueError, KeyError) as error:
        yield f"a PASS without a report: {error}"
        return
    if missing := sorted(set(well) - set(found)):
        yield f"a PASS without {', '.join(missing)}"
    for name in sorted(set(well) & set(found)):
        if well[name] != found[name]:
            yield f"a PASS of {name} with the cells {found[name]}, which should be {well[name]}"


def of_what_was_measured(place: Place, run: Run, before: Cells, happened: str) -> Iterator[str]:
    """What was in records before it happened is in records afterwards. happened: a removed file may be one of them."""
    found = place.measured(run)
    for key, count in before.items():
        if found.get(key, 0) < count and not happened.endswith(".json"):
            yield f"{key[0]} had {count} cells, and {found.get(key, 0)} are left"


def of_the_store(place: Place) -> Iterator[str]:
    """What is stored can be opened, when all is well again."""
    if not list((place.prefix / "reports").glob("run-report-*.json")):
        return
    for command in ("show", "history"):
        done = place.ask(command)
        if done.returncode not in (0, 1, 2, 3) or "Traceback" in done.stdout + done.stderr:
            yield f"{command} ended with {done.returncode}: {(done.stderr or done.stdout)[-400:]}"


def of_the_next(place: Place, well: dict[str, Cells]) -> Iterator[str]:
    """The next run passes as if nothing had been."""
    run = place.start("next")
    code = place.ended(run)
    if code != PASSED:
        yield f"the next run ended with {code}: {run.said()[-500:]}"
    else:
        yield from of_a_pass(place, well)
