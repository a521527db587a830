"""A strict YAML loader. It refuses repeated keys, keys that are no text, unusual numbers, tags and deep nesting."""

import re
from functools import cache
from typing import Any

import yaml

MAX_DEPTH = 50  # of mappings and lists; references have five levels
DECIMAL = re.compile(r"(?P<whole>[-+]?(0|[1-9]\d*))|[-+]?(0|[1-9]\d*)?(\.\d*)(e[-+]\d+)?|[-+]?\.inf|\.nan", re.I)


class StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A YAML loader that refuses repeated keys and unusual numbers."""


def strict_mapping(loader: StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    """The mapping of a node. Refuses repeated keys, and keys that YAML does not read as text, such as `no`."""
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    for (key, _), found in zip(node.value, keys, strict=True):
        if not isinstance(found, str) or key.tag != TEXT:
            problem = f"YAML does not read the key {key.value} as text: write '{key.value}'"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        raise yaml.MarkedYAMLError(problem=f"the key '{repeated}' is repeated", problem_mark=node.start_mark)
    return loader.construct_mapping(node, deep=True)


def strict_number(_: StrictLoader, node: yaml.ScalarNode) -> float:
    """The number of a node in decimal digits. Refuses 0777 and 3:20:10, which YAML 1.1 reads as 511 and 12010."""
    number = decimal(node.value)
    if number is None:
        problem = f"YAML reads '{node.value}' as another number: write the number in decimal digits"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    return number


@cache
def decimal(text: str) -> float | None:
    """The number of a text in decimal digits, an int without a point; None for any other text."""
    match = DECIMAL.fullmatch(text)
    if match is None:
        return None
    return int(text) if match["whole"] else float(re.sub(r"\.(?=[in])", "", text.lower()))


TEXT = yaml.resolver.BaseResolver.DEFAULT_SCALAR_TAG
StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, strict_mapping)
for kind in ("int", "float"):
    StrictLoader.add_constructor(f"tag:yaml.org,2002:{kind}", strict_number)


def refuse_tags_and_deep_nesting(text: str) -> None:
    """Raises YAMLError for deep nesting and for tags.

    libyaml overflows the stack for deep nesting. PyYAML raises other errors for a text that its tag does not match.
    """
    depth = 0
    for event in yaml.parse(text, Loader=StrictLoader):
        if getattr(event, "tag", None) is not None:
            problem = f"the tag {event.tag} is refused: remove the tag"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f"the nesting is deeper than {MAX_DEPTH}", problem_mark=event.start_mark)
