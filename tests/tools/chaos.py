"""Disturbs runs of `linkmatrix run`, each at a random moment, and checks what they leave.

    python tests/tools/chaos.py [--rounds 200] [--seed 1] [--mode acceptance] [--only 'full disk' [--only …]]

The kinds of disturbance in `chaos_events.EVENTS` take turns. `chaos_rules` has the rules that each run must keep. The
tool prints the number of rounds per kind, and each violation with the seed and round that repeat it. Exit code 1: there
was a violation. The tool needs root, because it creates namespaces.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import chaos_rules
from chaos_events import EVENTS, Event, undo
from chaos_place import SHORT, Place

ROOM = 640  # MiB of the disk: a run wants 256, and keeps some
OWN = "LINKMATRIX_CHAOS"  # environment variable: the process is in the tool's namespaces
BUILD = 1_800  # seconds for the first run, which builds the programs
SPARE = 150  # seconds in addition to three undisturbed runs, longer than a run's own time limits


def main() -> int:
    asked = options()
    if OWN not in os.environ:
        os.environ[OWN] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--net", "--", sys.executable, *sys.argv])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that nothing is left
    events = events_of(asked)
    done: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    with own_place(asked.mode) as place:
        well = undisturbed(place)
        print(f"undisturbed: {len(well)} test cases in {place.seconds:.0f} s", file=sys.stderr, flush=True)
        until = time.monotonic() + asked.minutes * 60
        for number in range(asked.first, asked.first + asked.rounds):
            if time.monotonic() > until:
                break
            place.dice = random.Random(f"{asked.seed} {number}")
            kind = next_kind(events, number)
            what, found = one_round(place, events[kind], well)
            done[kind] += 1
            wrong[kind] += bool(found)
            for one in found:
                print(f"VIOLATION seed {asked.seed}, round {number}, {kind} ({what}): {one}", flush=True)
            print(f"{number}: {kind} ({what}): {'violated' if found else 'well'}", file=sys.stderr, flush=True)
    for kind in sorted(done):
        print(f"{kind:22s}{done[kind]:6d} rounds{wrong[kind]:6d} with violations")
    print(f"{'all':22s}{sum(done.values()):6d} rounds{sum(wrong.values()):6d} with violations")
    return int(any(wrong.values()))


def options(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, metavar="ROUND", help="the number of the first round")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="no round begins later; default: without a limit")
    parser.add_argument("--mode", choices=sorted(SHORT), default="quick", help="of `linkmatrix run`; default: quick")
    parser.add_argument("--only", action="append", choices=sorted(EVENTS), help="nothing else happens; may be repeated")
    return parser.parse_args(words)


def events_of(asked: argparse.Namespace) -> dict[str, Event]:
    return {kind: event for kind, event in EVENTS.items() if asked.only is None or kind in asked.only}


def next_kind(events: Mapping[str, Event], number: int) -> str:
    """The kind of disturbance in round `number`. All kinds take turns, so that a few rounds include each kind."""
    return sorted(events)[number % len(events)]


def undisturbed(place: Place) -> dict[str, chaos_rules.Cells]:
    """The results of an undisturbed run. The first run builds the programs and measures the references."""
    place.measure_once(BUILD)
    place.write_references()
    began = time.monotonic()
    code = place.ended(run := place.start("first", "--manifest", "what nothing happens to"))
    place.seconds = time.monotonic() - began
    place.bound = 3 * place.seconds + SPARE
    if code != chaos_rules.PASSED:
        sys.exit(f"chaos: an undisturbed run ended with {code}: {run.printed()[-2000:]}")
    return place.reported()


def one_round(place: Place, event: Event, well: dict[str, chaos_rules.Cells]) -> tuple[str, list[str]]:
    """(the disturbance in words, the violations of rules after it)."""
    run = place.start()
    time.sleep(place.dice.uniform(0, place.seconds))
    before = place.measured(run)
    what = event(place, run)
    found = list(chaos_rules.of_the_run(place, run, place.ended(run), well))
    undo(place)
    found += chaos_rules.of_what_was_measured(place, run, before, what)
    found += chaos_rules.of_the_store(place)
    found += chaos_rules.of_the_next(place, well)
    place.prune()
    return what, found


@contextmanager
def own_place(mode: str) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    folder.chmod(0o755)
    place = Place(folder, random.Random(), mode)
    place.disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}m", "chaos", place.disk], check=True)
    try:
        place.prepare()
        yield place
    finally:
        place.finish()
        subprocess.run(["umount", "--lazy", place.disk], check=False)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
