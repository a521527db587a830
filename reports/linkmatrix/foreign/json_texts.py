"""Reads the JSON files of other programs. The names of the top-level entries identify the program of a file."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from . import dcgm, nccl_json, nvbandwidth_json, perftest_json
from .table import Reading

#: (names at the top of a JSON file, its program, the reader of its content).
FORMATS: list[tuple[frozenset[str], str, Callable[[dict[str, Any]], Reading]]] = [
    *((frozenset({name}), name, nvbandwidth_json.read_json) for name in nvbandwidth_json.PROGRAMS),
    (frozenset({"nccl_version", "results"}), "nccl-tests", nccl_json.read_json),
    (frozenset({"test_info", "results"}), "perftest", perftest_json.read_json),
    *((frozenset({head}), "dcgmi diag", dcgm.read_json) for head in dcgm.HEADS),
]
LINE = re.compile(r"^[ \t]*\{", re.MULTILINE)  # a line that may start a JSON text
DECODER = json.JSONDecoder()


def is_json(text: str) -> bool:
    """Whether a text is JSON.

    A text that starts with "{" counts as JSON, even if it is damaged. A text that starts with "[" must be valid JSON.
    """
    begin = text.lstrip()[:1]
    return begin == "{" or (begin == "[" and parsed(text) is not None)


def embedded(text: str) -> str:
    """The first JSON object of a known program in a text that also contains other lines; "" if there is none."""
    end = 0
    while line := LINE.search(text, end):
        begin = line.end() - 1
        try:
            content, end = DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return ""
        if any(names <= content.keys() for names, _, _ in FORMATS):
            return text[begin:end]
    return ""


def parsed(text: str) -> Any:
    """The content of a JSON text; None if the text is not JSON. NaN and Infinity become strings."""
    try:
        return json.loads(text, parse_constant=lambda name: name, parse_float=float_or_text)
    except (ValueError, RecursionError):
        return None


def float_or_text(text: str) -> float | str:
    """The number in a text. A number that is too large for a float is returned as text."""
    value = float(text)
    return value if math.isfinite(value) else text


def read_json(text: str) -> Reading:
    """Read the runs of a JSON text. Raises BadInput if the program is unknown or the JSON is damaged."""
    content = parsed(text)
    if content is None:
        raise BadInput("the JSON is incomplete: give the program's whole output")
    found = [reader for names, _, reader in FORMATS if isinstance(content, dict) and names <= content.keys()]
    if not found:
        known = ", ".join(dict.fromkeys(program for _, program, _ in FORMATS))
        raise BadInput(f"it is JSON of an unknown program: linkmatrix reads JSON of {known}")
    try:
        return found[0](content)
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
        raise BadInput(f"the JSON is damaged: {' '.join(repr(error).split())[:120]}") from None
