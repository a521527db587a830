"""Reads the JSON of perftest (`--out_json`, since 4.5): one size of one test.

The file contains no unit for the bandwidth. The unit is Gb/s with --report_gbits, and MiB/s otherwise. The message rate
(in 1e6 messages per second) times the size shows which unit applies.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..errors import BadInput
from .nccl_json import is_number
from .perftest import PROGRAM, TO_GB, WORDS, table_of
from .table import Reading

TEST = re.compile(
    r"(?P<verb>RDMA_Write|RDMA_Read|Send)(?:_imm)?_(?P<both>Bidirectional_)?(?:Post_List_)?(?P<kind>BW|Latency)_Test"
)
NIC = re.compile(r"[\w-]{1,64}")
SLACK = 0.02  # relative difference between the bandwidth and the message rate


def read_json(content: Mapping[str, Any]) -> Reading:
    """Read the run in the content of a JSON file. Raises BadInput for an unsupported test or a damaged file."""
    test_info, numbers = content["test_info"], content["results"]
    test = TEST.fullmatch(str(test_info.get("test")))
    if test is None:
        raise BadInput(f"{str(test_info.get('test'))[:60]} is an unsupported test of perftest")
    size = numbers.get("MsgSize")
    if type(size) is not int or not 0 < size < 1 << 53:
        raise BadInput("the results of perftest lack MsgSize: run perftest without --output")
    latency = test["kind"] == "Latency"
    name = f"ib_{WORDS[test['verb']]}_{'lat' if latency else 'bw'}" + ("_both_ways" if test["both"] else "")
    value, peak = (latency_of(numbers), 0.0) if latency else bandwidth_of(numbers, size)
    device = next((test_info[key] for key in ("cuda_device", "musa_device") if key in test_info), None)
    on_gpu = device is not None or "ON" in (test_info.get("Use_ROCm_memory"), test_info.get("Use_MUSA_memory"))
    nic = test_info.get("Device")
    nic = nic if isinstance(nic, str) and NIC.fullmatch(nic) else "nic"
    reading = Reading("")
    average = latency and "t_typical" not in numbers
    table = table_of(name, nic, size, value, peak, 1, "device" if on_gpu else "host", latency, average)
    reading.add(PROGRAM, table)
    return reading


def latency_of(numbers: Mapping[str, Any]) -> float:
    """The typical latency in us. A test of fixed duration (-D) has only an average latency. Raises BadInput."""
    value = numbers.get("t_typical", numbers.get("t_avg"))
    ends = [numbers.get(name) for name in ("t_min", "t_max")] if "t_typical" in numbers else [value, value]
    if not is_number(value) or not all(map(is_number, ends)) or not ends[0] <= value <= ends[1]:
        raise BadInput("the results of perftest lack a latency, or its minimum or maximum contradicts it")
    return float(value)


def bandwidth_of(numbers: Mapping[str, Any], size: int) -> tuple[float, float]:
    """Returns (average, peak) in GB/s. Raises BadInput.

    The file contains no unit. The message rate times the size shows which unit applies.
    """
    average, peak, rate = (numbers.get(name) for name in ("BW_average", "BW_peak", "MsgRate"))
    if not all(map(is_number, (average, peak, rate))):
        raise BadInput("the results of perftest lack the bandwidth or the message rate")
    moved = rate * size / 1e3  # GB/s
    units = {unit: scale for unit, scale in TO_GB.items() if abs(average * scale - moved) <= SLACK * moved}
    if not units or (peak and average > peak * (1 + SLACK)):
        raise BadInput("the bandwidth, the peak and the message rate of perftest contradict each other")
    scale = next(iter(units.values()))
    return average * scale, peak * scale
