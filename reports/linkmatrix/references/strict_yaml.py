"""YAML that is what a person reads: no key twice, no number in another notation, no tags and no deep nesting."""

import re
from functools import cache
from typing import Any

import yaml

DEEPEST = 50  # of brackets and indents; references have five
DECIMAL = re.compile(r"(?P<whole>[-+]?(0|[1-9]\d*))|[-+]?(0|[1-9]\d*)?(\.\d*)(e[-+]\d+)?|[-+]?\.inf|\.nan", re.I)


class StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a key that comes twice: the later would silently hide the first."""


def strict_mapping(loader: StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    """A mapping whose keys differ, and are texts: `no`, `0777` and `2026-11-21` are other things to YAML."""
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for (key, _), found in zip(node.value, keys, strict=True):
        if not isinstance(found, str) or key.tag != TEXT:
            problem = f"the key {key.value} is no text to YAML: write '{key.value}'"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        raise yaml.MarkedYAMLError(problem=f"the key '{repeated}' comes twice", problem_mark=node.start_mark)
    return loader.construct_mapping(node, deep=True)


def strict_number(_: StrictLoader, node: yaml.ScalarNode) -> float:
    """A number that is the one that a person reads: to YAML 1.1, 0777 is 511 and 3:20:10 is 12010."""
    number = decimal(node.value)
    if number is None:
        problem = f"'{node.value}' is another number to YAML than to a person: write it in decimal digits"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    return number


@cache
def decimal(text: str) -> float | None:
    """The number that a text is, an int where it has no point; None for what is not written in decimal digits."""
    match = DECIMAL.fullmatch(text)
    if match is None:
        return None
    return int(text) if match["whole"] else float(re.sub(r"\.(?=[in])", "", text.lower()))


TEXT = yaml.resolver.BaseResolver.DEFAULT_SCALAR_TAG
StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, strict_mapping)
for kind in ("int", "float"):
    StrictLoader.add_constructor(f"tag:yaml.org,2002:{kind}", strict_number)


def refuse_what_none_needs(text: str) -> None:
    """Raises YAMLError for what is nested deeper than any references, for libyaml's builder overruns the stack there,
    and for tags, for PyYAML lets Python's own errors through where a text is not what its tag says.
    """
    depth = 0
    for event in yaml.parse(text, Loader=StrictLoader):
        if getattr(event, "tag", None) is not None:
            problem = f"it has the tag {event.tag}: leave it out"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"it is nested deeper than {DEEPEST}", problem_mark=event.start_mark)
