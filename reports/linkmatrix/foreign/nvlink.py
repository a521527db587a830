"""Reads `nvidia-smi nvlink -s` and `-e`: the state of each GPU's NVLinks, and their error counters.

    GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-...)
         Link 0: 26.562 GB/s
         Link 1: <inactive>
         Link 0: Replay Errors: 0

For a GPU without active links, a sentence follows the name, on the same line or on the next line.
"""

import re
from collections import Counter

from ..record.units import first
from .table import Reading
from .topo import PROGRAM, label

GPU = re.compile(r"^\s*(?P<gpu>[GP]PU \d{1,5}): (?P<model>.+?)(?: \(UUID: [\w-]+\)(?P<rest>.*))?\s*$")
SPEED = re.compile(r"^\s*Link (\d+): (?:(?P<speed>\d+(?:\.\d+)?) GB/s|(?P<off><inactive>|N/A))\s*$")
COUNTER = re.compile(r"^\s*Link (\d+): (?P<name>[A-Za-z][\w /()-]*?):? (?P<count>\d{1,20})\s*$")
LINK = re.compile(r"^\s*Link \d+: ")  # any other line of a link, such as a bit error rate
INACTIVE = re.compile(r"all links are inactive", re.IGNORECASE)


def gpu(reading: Reading, match: re.Match[str]) -> None:
    """Read the line of a GPU, and the lines of its links below."""
    line, name = reading.at + 1, label(match["gpu"].replace(" ", ""))
    reading.at += 1
    speeds: list[str] = []
    counters: Counter[str] = Counter()
    errors = False
    while reading.at < len(reading.lines):
        text = reading.line()
        if speed := SPEED.match(text):
            speeds.append(speed["speed"] or "")
        elif counter := COUNTER.match(text):
            if "error" in counter["name"].lower():
                errors = True
                counters[f"link {counter[1]} {counter['name']}"] += int(counter["count"])
        elif INACTIVE.search(text) and not GPU.match(text):
            speeds = speeds or [""]
        elif text.strip() and not LINK.match(text):
            break
        reading.at += 1
    if INACTIVE.search(match["rest"] or ""):
        speeds = [""]
    state = state_of(speeds) | ({"nvlink_errors": counter_text(counters)} if errors else {})
    if not state:
        return
    run = reading.run(PROGRAM, line)
    if state.keys() & run.states.get(name, {}).keys():
        reading.end_run()  # the same facts of another node or another time
        run = reading.run(PROGRAM, line)
    run.states.setdefault(name, {}).update(state)
    run.models[name] = match["model"]
    run.last = reading.at


def state_of(speeds: list[str]) -> dict[str, str]:
    """The number of links and of active links, and the speed of the slowest active link."""
    if not speeds:
        return {}
    active = [speed for speed in speeds if speed and float(speed) > 0]
    found = {"nvlinks": str(len(speeds)), "nvlinks_active": str(len(active))}
    return found | ({"nvlink_speed_least": min(active, key=float)} if active else {})


def counter_text(counters: Counter[str]) -> str:
    """The error counters above 0 as text, the highest first; "none" if all counters are 0."""
    nonzero = [f"{name} {count}" for name, count in counters.most_common() if count]
    return ", ".join(first(nonzero)) or "none"
