"""Damaged records, and the sentences that refuse them."""

import copy
import json

import pytest

from linkmatrix.errors import BadInput
from linkmatrix.record import reading


def refusal(tmp_path, content):
    """What is said of a record with this content: one line that names the file."""
    path = tmp_path / "record.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(BadInput) as caught:
        reading.load(path)
    said = str(caught.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    return said


def changed(content, *steps, to):
    """A copy with the value at the end of `steps` replaced; `to` may be a function of the old one."""
    content = copy.deepcopy(content)
    place = content
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = to(place[steps[-1]]) if callable(to) else to
    return content
