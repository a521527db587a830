"""The JSON of perftest (`--out_json`, since 4.5): one size of one test.

The file has no unit. The message rate has one, 1e6 messages per second, so that rate and size tell the unit of the
bandwidth: Gb/s of --report_gbits or MiB/s.
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
SLACK = 0.02  # of a bandwidth and the rate of its messages


def read_json(content: Mapping[str, Any]) -> Reading:
    """The run in the content of a JSON. Raises BadInput for a test without a matrix of its own, and for damage."""
    told, numbers = content["test_info"], content["results"]
    test = TEST.fullmatch(str(told.get("test")))
    if test is None:
        raise BadInput(f"{str(told.get('test'))[:60]} is a test of perftest that is not read")
    size = numbers.get("MsgSize")
    if type(size) is not int or not 0 < size < 1 << 53:
        raise BadInput("the results of perftest have no MsgSize: --output leaves it out")
    latency = test["kind"] == "Latency"
    name = f"ib_{WORDS[test['verb']]}_{'lat' if latency else 'bw'}" + ("_both_ways" if test["both"] else "")
    value, peak = (latency_of(numbers), 0.0) if latency else bandwidth_of(numbers, size)
    device = next((told[key] for key in ("cuda_device", "musa_device") if key in told), None)
    on_gpu = device is not None or "ON" in (told.get("Use_ROCm_memory"), told.get("Use_MUSA_memory"))
    nic = told.get("Device")
    nic = nic if isinstance(nic, str) and NIC.fullmatch(nic) else "nic"
    reading = Reading("")
    average = latency and "t_typical" not in numbers
    table = table_of(name, nic, size, value, peak, 1, "device" if on_gpu else "host", latency, average)
    reading.add(PROGRAM, table)
    return reading


def latency_of(numbers: Mapping[str, Any]) -> float:
    """The typical latency in us; of a test for a time (-D) the average. Raises BadInput."""
    value = numbers.get("t_typical", numbers.get("t_avg"))
    ends = [numbers.get(name) for name in ("t_min", "t_max")] if "t_typical" in numbers else [value, value]
    if not is_number(value) or not all(map(is_number, ends)) or not ends[0] <= value <= ends[1]:
        raise BadInput("the results of perftest have no latency, or one that its own ends contradict")
    return float(value)


def bandwidth_of(numbers: Mapping[str, Any], size: int) -> tuple[float, float]:
    """(average, peak) in GB/s, in the unit that the message rate has. Raises BadInput."""
    average, peak, rate = (numbers.get(name) for name in ("BW_average", "BW_peak", "MsgRate"))
    if not all(map(is_number, (average, peak, rate))):
        raise BadInput("the results of perftest have no bandwidth and message rate")
    moved = rate * size / 1e3  # GB/s
    units = {unit: scale for unit, scale in TO_GB.items() if abs(average * scale - moved) <= SLACK * moved}
    if not units or (peak and average > peak * (1 + SLACK)):
        raise BadInput("the bandwidth, the peak and the message rate of perftest contradict each other")
    scale = next(iter(units.values()))
    return average * scale, peak * scale
