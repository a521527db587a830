"""Reads the JSON of nccl-tests (`-J FILE`, since 2.17): versions, ranks, and the sizes of one test."""

import re
from collections.abc import Mapping
from typing import Any

from . import nccl
from .nccl_sizes import Placement, Size
from .table import Reading

HOST = re.compile(r"[A-Za-z0-9][\w.-]*")
TIMES = ("time", "cpu_time")
#: {`experiment_name` in lower case: program without "_perf"}, for names that differ from their program.
PROGRAMS = {"allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter"}
MOST_SIZES = 10_000


def read_json(content: Mapping[str, Any]) -> Reading:
    """Read the run in the content of a JSON file. A damaged entry is skipped and reported as a problem."""
    reading = Reading("")
    facts = reading.facts(nccl.PROGRAM)
    facts.software |= versions(content)
    for one in ranks(content):
        facts.devices[one["rank"]] = one["device_info"]
        facts.ranks[one["rank"]] = one["hostname"], one["device"]
    reading.command = command_of(content)
    entries = content["results"] if isinstance(content["results"], list) else []
    name = name_of(reading.command, entries)
    sizes = (size_of(entry, place) for place, entry in enumerate(entries[:MOST_SIZES], start=1))
    whole = (one for one in sizes if not isinstance(one, str) or reading.add_problem(one))
    nccl.add_sizes(reading, facts, "results", name, whole, 1)
    for sentence in differences(entries):
        reading.add_problem(sentence)
    wrong = content.get("out_of_bounds")
    count = wrong.get("count") if isinstance(wrong, dict) else 0
    if reading.runs and count not in (0, None):
        nccl.add_wrong(reading.runs[-1], f"out_of_bounds: {count!r:.20}")
    return reading


def versions(content: Mapping[str, Any]) -> dict[str, str]:
    """The versions of nccl-tests and of NCCL.

    In newer files, the entry `version` is the version of the file format, not of nccl-tests.
    """
    found = {}
    if isinstance(content.get("version"), str):
        found["nccl-tests"] = content["version"]
    code = content["nccl_version"]
    code = code.get("library") if isinstance(code, dict) else code
    if isinstance(code, int) and not isinstance(code, bool) and 0 < code < 10**9:
        found["NCCL"] = nccl.nccl_version(code)
    return found


def ranks(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of the list of ranks; [] if an entry is damaged."""
    config = content.get("config")
    listed = content.get("devices") or (config.get("devices") if isinstance(config, dict) else None)
    listed = listed if isinstance(listed, list) else []
    types = {"rank": int, "hostname": str, "device": int, "device_info": str}
    whole = all(
        isinstance(one, dict)
        and all(type(one.get(name)) is kind for name, kind in types.items())
        and HOST.fullmatch(one["hostname"])
        and 0 <= one["rank"] < 1 << 24
        and 0 <= one["device"] < 1 << 16
        for one in listed
    )
    return listed if whole else []


def command_of(content: Mapping[str, Any]) -> str | None:
    """The command line; None if the file contains no command line.

    If the file contains the environment variable NCCL_ALGO, the result begins with this variable.
    """
    arguments, environment = content.get("args"), content.get("env")
    if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments) or not arguments:
        return None
    known = environment if isinstance(environment, list) else []
    algorithm = [one for one in known if isinstance(one, str) and nccl.ALGORITHM.fullmatch(one)]
    return " ".join([*algorithm[:1], *arguments])


def name_of(command: str | None, entries: list[Any]) -> str:
    """The name of the test, from the command line. Without a command line, the name comes from the results."""
    if found := nccl.COMMAND.search(command or ""):
        return found[1]
    named = {entry.get("experiment_name") for entry in entries if isinstance(entry, dict)}
    words = {word.lower() for word in named if isinstance(word, str) and re.fullmatch(r"[A-Za-z]{1,40}", word)}
    if len(words) != 1 or len(named) != 1:
        return "nccl_unknown_test"
    (word,) = words
    return f"{PROGRAMS.get(word, word)}_perf"


def differences(entries: list[Any]) -> list[str]:
    """A sentence for each size and placement whose result data differs between repeats.

    Only newer versions of nccl-tests compare the results of repeats.
    """
    found = []
    for place, entry in enumerate(entries[:MOST_SIZES], start=1):
        for placement in nccl.PLACEMENTS:
            values = entry.get(placement.replace("-", "_")) if isinstance(entry, dict) else None
            bitwise = values.get("bitwise") if isinstance(values, dict) else None
            count = bitwise.get("different_elements") if isinstance(bitwise, dict) else 0
            if count != 0:
                found.append(f"result {place}: the {placement} results of repeats differ in {count!r:.20} elements")
    return found


def size_of(entry: Any, place: int) -> Size | str:
    """The numbers in entry number `place` of `results`. For a damaged entry: a sentence about the damage."""
    where = f"result {place}"
    if not isinstance(entry, dict) or type(entry.get("size")) is not int or not 0 <= entry["size"] < 1 << 63:
        return f"{where}: the result has no size and is ignored"
    placements, cpu = {}, False
    for placement in nccl.PLACEMENTS:
        found = entry.get(placement.replace("-", "_"))
        if found is None:
            continue
        time = next((name for name in TIMES if isinstance(found, dict) and name in found), "")
        numbers = [found.get(name) for name in (time, "alg_bw", "bus_bw", "nwrong")] if time else []
        if (
            not numbers
            or not all(is_number(one) for one in numbers[:3])
            or not (numbers[3] is None or is_number(numbers[3]))
        ):
            return f"{where}: {placement} lacks its time, a bandwidth or its wrong elements: the result is ignored"
        cpu = cpu or time == "cpu_time"
        wrong = "N/A" if numbers[3] is None else f"{numbers[3]:g}"
        placements[placement] = Placement(float(numbers[0]), float(numbers[1]), float(numbers[2]), wrong)
    return Size(entry["size"], placements, where, place, cpu)


def is_number(value: Any) -> bool:
    """Whether a value is a number from 0 to 1e15. Times, rates and counts are such numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e15
