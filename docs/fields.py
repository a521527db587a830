"""Generates tables of the fields of a record from its schema, one table per object."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from described import table

SCHEMA = Path(__file__).resolve().parents[1] / "reports/linkmatrix/record/record.schema.json"
PLAIN = {"string": "text", "integer": "whole number", "boolean": "true or false"}
OPTION = re.compile(r"(`[^`]*`)|(--[a-z-]+)")  # code, which stays unchanged; an option, else printed with a dash
HEAD = ("field", "type", "unit", "required", "meaning")

Schema = Mapping[str, Any]


class Part(NamedTuple):
    """An object of the record: its path, such as `adapters[].gpus[]` ("" for the record), and its schema."""

    path: str
    schema: Schema

    def below(self, name: str) -> str:
        return f"{self.path}.{name}".lstrip(".")


class Form:
    """The schema, with functions that follow its references."""

    def __init__(self) -> None:
        self.whole = json.loads(SCHEMA.read_text(encoding="utf-8"))
        self.parts = list(self.parts_of(Part("", self.whole)))
        #: fields of a part → its first place, which has the table
        self.places: dict[int, str] = {}
        for part in self.parts:
            self.places.setdefault(id(part.schema["properties"]), part.path)

    def followed(self, schema: Schema) -> Schema:
        """The target of a reference. Keys next to the reference have priority."""
        if "$ref" not in schema:
            return schema
        found = self.whole["$defs"][schema["$ref"].rpartition("/")[2]]
        return {**found, **{key: value for key, value in schema.items() if key != "$ref"}}

    def inside(self, schema: Schema) -> tuple[str, Schema]:
        """(path from a field to the object in it or in its items, schema of the object); {} without an object."""
        schema, steps = self.followed(schema), ""
        while schema.get("type") == "array":
            schema, steps = self.followed(schema["items"]), steps + "[]"
        if isinstance(schema.get("additionalProperties"), Mapping):
            schema, steps = self.followed(schema["additionalProperties"]), steps + ".NAME"
        return (steps, schema) if "properties" in schema else ("", {})

    def parts_of(self, part: Part) -> Iterator[Part]:
        """An object and all objects in it, in the order of their fields."""
        yield part
        for name, field in part.schema["properties"].items():
            steps, schema = self.inside(field)
            if schema:
                yield from self.parts_of(Part(part.below(name) + steps, schema))

    def kind(self, schema: Schema) -> str:
        """The type of a value in words, or its allowed words."""
        schema = self.followed(schema)
        if "title" in schema:
            return schema["title"]
        if "enum" in schema:
            return ", ".join("null" if word is None else f"`{word}`" for word in schema["enum"])
        if "const" in schema:
            return f"`{schema['const']}`"
        if "anyOf" in schema:
            return " or ".join(self.kind(one) for one in schema["anyOf"])
        if schema["type"] == "array":
            return f"list of: {self.kind(schema['items'])}"
        words = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        return " or ".join(PLAIN.get(word, word) for word in words)

    def row(self, part: Part, name: str) -> tuple[str, ...]:
        """The row of a field in the table of its object."""
        field = self.followed(part.schema["properties"][name])
        steps, schema = self.inside(field)
        of = "a list of " if "[]" in steps else "names with " if steps else ""
        said = f"{of}{linked(self.places[id(schema['properties'])])}" if schema else self.kind(field)
        always = "yes" if name in part.schema["required"] else ""
        means = OPTION.sub(lambda found: found[1] or f"`{found[2]}`", field.get("description", ""))
        return f"`{name}`", said, field.get("unit", ""), always, means


def anchor(path: str) -> str:
    return "record-" + (re.sub(r"\W+", "-", path).strip("-") or "run")


def linked(path: str) -> str:
    return f"[`{path}`](#{anchor(path)})"


def record() -> str:
    """The tables of the record and of each object in it, as Markdown."""
    form = Form()
    texts = []
    for part in form.parts:
        fields = id(part.schema["properties"])
        if form.places[fields] != part.path:
            continue
        also = [f"`{one.path}`" for one in form.parts[1:] if id(one.schema["properties"]) == fields][1:]
        rows = [form.row(part, name) for name in part.schema["properties"]]
        title = f"`{part.path}`" if part.path else "The run"
        texts += [f"({anchor(part.path)})=", f"## {title}", ""]
        texts += [f"The same fields are at {' and '.join(also)}.", ""] if also else []
        texts += [table(HEAD, rows), ""]
    return "\n".join(texts)
