"""The rules that a disturbed run must keep. Each function yields a sentence per violation."""

import signal
from collections.abc import Iterator

from chaos_place import Place, Run, kill, wait_until

PASSED = 0
#: SIGTERM kills `linkmatrix run` before ReFrame starts and after ReFrame ends.
KILLING = (signal.SIGKILL, signal.SIGXCPU, signal.SIGTERM)
#: The exit codes of `linkmatrix run`, and the codes of a killed process from the shell or the kernel.
CODES = {PASSED, 1, 3, 4, *(number for one in KILLING for number in (128 + one, -one))}
GRACE = 60  # seconds for a killed run to end its processes
Cells = dict[tuple[str, int], int]


def of_the_run(place: Place, run: Run, code: int | None, well: dict[str, Cells]) -> Iterator[str]:
    """Violations by the run itself, while the disturbance lasts. well: the passed tests of an undisturbed run."""
    output = run.printed()
    if code is None:
        yield f"it did not end in {place.bound:.0f} s: {output[-300:]}"
    elif code not in CODES:
        yield f"it ended with {code}: {output[-300:]}"
    if "Traceback" in output:
        yield f"a traceback: {output[output.index('Traceback') :][:6000]}"
    if code in (1, 3, 4) and not output.strip():
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
    """Violations by a PASS: each test case must have passed, and its record must have all cells."""
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
    """Violations by lost data: cells in records before the disturbance must be in records afterwards.

    happened: the disturbance, which may have removed a file.
    """
    found = place.measured(run)
    for key, count in before.items():
        if found.get(key, 0) < count and not happened.endswith(".json"):
            yield f"{key[0]} had {count} cells, and {found.get(key, 0)} are left"


def of_the_store(place: Place) -> Iterator[str]:
    """Violations by stored results that cannot be opened after the disturbance."""
    if not list((place.prefix / "reports").glob("run-report-*.json")):
        return
    for command in ("show", "history"):
        done = place.ask(command)
        if done.returncode not in (0, 1, 2, 3, 4) or "Traceback" in done.stdout + done.stderr:
            yield f"{command} ended with {done.returncode}: {(done.stderr or done.stdout)[-400:]}"


def of_the_next(place: Place, well: dict[str, Cells]) -> Iterator[str]:
    """Violations by the next run, which must pass."""
    run = place.start("next")
    code = place.ended(run)
    if code != PASSED:
        yield f"the next run ended with {code}: {run.printed()[-500:]}"
    else:
        yield from of_a_pass(place, well)
