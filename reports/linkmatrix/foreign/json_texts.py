"""Reads the JSON files of other programs, each known by a name at the top of it."""

import json
import math
import re
from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from . import dcgm, nccl_json, nvbandwidth_json, perftest_json
from .table import Reading

#: Names at the top of a JSON → its program, and a reader of the content.
FORMATS: list[tuple[frozenset[str], str, Callable[[dict[str, Any]], Reading]]] = [
    *((frozenset({name}), name, nvbandwidth_json.read_json) for name in nvbandwidth_json.PROGRAMS),
    (frozenset({"nccl_version", "results"}), "nccl-tests", nccl_json.read_json),
    (frozenset({"test_info", "results"}), "perftest", perftest_json.read_json),
    *((frozenset({head}), "dcgmi diag", dcgm.read_json) for head in dcgm.HEADS),
]
LINE = re.compile(r"^[ \t]*\{", re.MULTILINE)  # a line on which a JSON may begin
DECODER = json.JSONDecoder()


def is_json(text: str) -> bool:
    """Whether a text is a JSON, or was to be one: a line of a program may begin with a bracket too."""
    begin = text.lstrip()[:1]
    return begin == "{" or (begin == "[" and parsed(text) is not None)


def embedded(text: str) -> str:
    """The JSON of a known program among lines of a terminal, such as the command before it; "" without one."""
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
    """The content of a JSON; None for another text. Numbers that JSON does not have become their names."""
    try:
        return json.loads(text, parse_constant=lambda name: name, parse_float=finite)
    except (ValueError, RecursionError):
        return None


def finite(text: str) -> float | str:
    """A number, or the text of one that a float cannot hold."""
    value = float(text)
    return value if math.isfinite(value) else text


def read_json(text: str) -> Reading:
    """The runs in a JSON. Raises BadInput for one of an unknown program, and for one that is cut or damaged."""
    content = parsed(text)
    if content is None:
        raise BadInput("it begins as a JSON and is no whole one: give the program's whole output")
    found = [reader for names, _, reader in FORMATS if isinstance(content, dict) and names <= content.keys()]
    if not found:
        known = ", ".join(dict.fromkeys(program for _, program, _ in FORMATS))
        raise BadInput(f"it is not the JSON of a known program: the JSON of {known} is read")
    try:
        return found[0](content)
    except BadInput:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
        raise BadInput(f"the JSON is damaged: {' '.join(repr(error).split())[:120]}") from None
