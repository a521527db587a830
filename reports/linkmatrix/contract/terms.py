"""The terms of a contract: limits, parts and test cases, frozen in a file before anything is measured under them.

Limits are in the form of config/references, out of a quote or another document, and apart from adopted references: what
a machine did is no measure of what was sold. The file says all that a verdict needs, so that nothing around it counts;
it is known by the SHA-256 of its bytes, which each run under it carries in ReFrame's command line.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from .. import __version__
from ..errors import UNPRINTABLE, BadInput
from ..files import read_whole
from ..record.units import parse_size
from ..references.strict_yaml import StrictLoader, refuse_tags_and_deep_nesting
from ..references.tables import References
from ..runs.bound import short
from ..runs.manifest import person
from ..runs.modes import MODES
from .limits import ALL, EACH, Case, is_count, refuse_other_variants, refuse_unknown_checks, refuse_without_limits

SCHEMA = "linkmatrix.contract/1"
MOST_BYTES = 64 * 1024 * 1024
MOST_TEXT = 1000  # characters
WORD = "linkmatrix_contract="  # before the digest, in ReFrame's command line
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
SQUARE = re.compile(r"device_to_device_.*|rank_to_rank_.*|node_to_node_.*")  # a cell for each ordered pair
DRAFT = {"title", "source", "limits", "table", "parts", "testcases"}
MAY = {"buyer", "seller", "document", "system", "mode", "retries"}
DOCUMENT = {"name", "sha256"}


@dataclass(frozen=True)
class Expected:
    """A part that was sold: its node, and its slot and serial number or UUID, "" for any."""

    node: str
    slot: str = ""
    serial: str = ""


@dataclass(frozen=True)
class Terms:
    """A frozen contract. document: {"name", "sha256"} of what the limits are from, {} for none; frozen: UTC."""

    title: str
    buyer: str
    seller: str
    source: str
    document: Mapping[str, str]
    system: str
    mode: str
    retries: int
    table: str
    limits: str
    parts: tuple[Expected, ...]
    cases: tuple[Case, ...]
    frozen: str
    by: str
    version: str

    @cached_property
    def nodes(self) -> list[str]:
        """Its nodes, sorted."""
        return sorted(self.parts_of)

    @cached_property
    def parts_of(self) -> dict[str, list[Expected]]:
        """{node: its parts}."""
        found: dict[str, list[Expected]] = {}
        for part in self.parts:
            found.setdefault(part.node, []).append(part)
        return found

    @cached_property
    def testcases(self) -> set[str]:
        """The names of its test cases."""
        return {case.testcase for case in self.cases}

    @cached_property
    def content(self) -> bytes:
        """The file, byte for byte."""
        return canonical({"schema": SCHEMA, **asdict(self)})

    @cached_property
    def digest(self) -> str:
        """What it is known by."""
        return hashlib.sha256(self.content).hexdigest()

    def references(self) -> References:
        """Its limits; each holds for its own check alone. Raises BadInput."""
        return References.read(self.limits, Path("limits of the contract")).for_measuring_check()


def canonical(content: Mapping[str, Any]) -> bytes:
    """JSON that is the same wherever it is written."""
    return (json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()


def frozen(draft: Path, now: datetime | None = None) -> Terms:
    """The terms that a draft says, from now on. Raises BadInput naming the file and the place."""
    said = draft_of(draft)
    limits = read_whole(draft.parent / text_of(said, "limits", draft), MOST_BYTES)
    document = {}
    if said.get("document") is not None:
        file = draft.parent / text_of(said, "document", draft)
        document = {"name": file.name, "sha256": hashlib.sha256(read_whole(file, MOST_BYTES)).hexdigest()}
    try:
        limits_text = limits.decode("utf-8")
    except ValueError:
        raise BadInput(f"{draft.parent / said['limits']} is no text in UTF-8") from None
    parts = parts_of(said["parts"], draft)
    mode = text_of({"mode": "acceptance", **said}, "mode", draft)
    if mode not in MODES:
        raise BadInput(f"{draft}: mode: '{mode}' is none of {', '.join(sorted(MODES))}")
    retries = said.get("retries", 0)
    if not isinstance(retries, int) or isinstance(retries, bool) or not 0 <= retries <= 10:
        raise BadInput(f"{draft}: retries: {retries!r} is no number from 0 to 10")
    terms = Terms(
        title=text_of(said, "title", draft),
        buyer=text_of({"buyer": "", **said}, "buyer", draft, empty=True),
        seller=text_of({"seller": "", **said}, "seller", draft, empty=True),
        source=text_of(said, "source", draft),
        document=document,
        system=text_of({"system": "", **said}, "system", draft, empty=True),
        mode=mode,
        retries=retries,
        table=text_of(said, "table", draft),
        limits=limits_text,
        parts=parts,
        cases=cases_of(said["testcases"], parts, draft),
        frozen=f"{now or datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        by=person(),
        version=__version__,
    )
    file = f"{draft.parent / said['limits']}"
    refuse_without_limits(terms.cases, terms.table, terms.limits, file)
    refuse_unknown_checks(terms.limits, file)
    refuse_other_variants(terms.cases, terms.limits, file, len(terms.nodes))
    return terms


def draft_of(draft: Path) -> dict[str, Any]:
    """What stands in a draft. Raises BadInput."""
    try:
        text = read_whole(draft, MOST_BYTES).decode("utf-8")
        refuse_tags_and_deep_nesting(text)
        said = yaml.load(text, Loader=StrictLoader)
    except BadInput:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput(f"{draft} is not valid YAML: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(said, dict):
        raise BadInput(f"{draft} is no draft of a contract: linkmatrix contract freeze --example prints one")
    missing, unknown = sorted(DRAFT - said.keys()), sorted(said.keys() - DRAFT - MAY)
    if missing or unknown:
        what = f"lacks {missing[0]}" if missing else f"has {unknown[0]}, which is no word of a contract"
        raise BadInput(f"{draft} {what}: linkmatrix contract freeze --example prints a draft")
    return said


def text_of(said: Mapping[str, Any], name: str, draft: Path, empty: bool = False) -> str:
    """A text of a draft; a number is one. Raises BadInput."""
    value = said[name]
    text = str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    if text is None or not is_line(text, empty):
        raise BadInput(f"{draft}: {name}: {str(value)[:60]!r} is no text of one line")
    return text


def is_line(text: str, empty: bool = True) -> bool:
    """Is a text one line that no terminal, page or command takes for more?"""
    return not UNPRINTABLE.search(text) and bool(text or empty) and text == text.strip() and len(text) <= MOST_TEXT


def parts_of(said: Any, draft: Path) -> tuple[Expected, ...]:
    """The parts of a draft. Raises BadInput."""
    found = []
    for at, one in enumerate(said if isinstance(said, list) else []):
        if not isinstance(one, dict) or not one.keys() <= {"node", "slot", "serial"} or "node" not in one:
            raise BadInput(f"{draft}: parts.{at}: write it as {{node: n12, slot: '0', serial: '1650324'}}")
        texts = {name: text_of(one, name, draft, empty=name != "node") for name in one}
        if not NAME.fullmatch(texts["node"]):
            raise BadInput(f"{draft}: parts.{at}: '{texts['node']}' is no name of a node")
        found.append(Expected(**texts))
    if not found:
        raise BadInput(f"{draft}: parts: none is listed: a contract says what was sold")
    if one_name := shared_name(found):
        raise BadInput(f"{draft}: parts: {one_name} are one node to a scheduler: name each without its domain")
    refuse_twice(((part.serial,) for part in found if part.serial), "serial number", draft)
    refuse_twice(((part.node, part.slot) for part in found if part.slot), "slot", draft)
    return tuple(found)


def shared_name(parts: Iterable[Expected]) -> str:
    """Nodes that differ in their domain or case alone, which records do not tell apart; "" for none."""
    found: dict[str, str] = {}
    for node in dict.fromkeys(part.node for part in parts):
        first = found.setdefault(short(node).casefold(), node)
        if first != node:
            return f"{first} and {node}"
    return ""


def refuse_twice(each: Iterable[tuple[str, ...]], what: str, draft: Path) -> None:
    """Raises BadInput for what comes twice."""
    twice = [one for one, count in Counter(each).items() if count > 1]
    if twice:
        raise BadInput(f"{draft}: parts: the {what} {'/'.join(twice[0])} comes twice")


def cases_of(said: Any, parts: tuple[Expected, ...], draft: Path) -> tuple[Case, ...]:
    """The test cases of a draft, each with its cells. Raises BadInput."""
    if not isinstance(said, dict) or not said:
        raise BadInput(f"{draft}: testcases: none is listed: linkmatrix contract freeze --example shows some")
    counts = Counter(part.node for part in parts)
    found = []
    for name, one in said.items():
        one = one or {}
        where = f"{draft}: testcases.{str(name)[:60]}"
        if not isinstance(name, str) or not is_line(name, empty=False):
            raise BadInput(f"{where}: it is no name of a test case: linkmatrix show prints those that there are")
        if not isinstance(one, dict) or not one.keys() <= {"cells", "nodes", "size", "classes"}:
            raise BadInput(f"{where}: write {{cells: 12, size: 512MiB}}, with nodes: all where one record has all")
        nodes, cells = one.get("nodes", EACH), one.get("cells")
        if nodes not in (EACH, ALL):
            raise BadInput(f"{where}: nodes: '{nodes}' is neither {EACH} nor {ALL}")
        if cells is None and SQUARE.fullmatch(name) and (nodes == ALL or len(set(counts.values())) == 1):
            per_node = next(iter(counts.values()))
            ends = len(counts) if name.startswith("node") else len(parts) if nodes == ALL else per_node
            cells = ends * (ends - 1)
        if not is_count(cells):
            raise BadInput(f"{where}: how many cells a record of it has is not known: say it, such as {{cells: 12}}")
        found.append(Case(name, cells, size_of(one.get("size"), where), nodes, classes_of(one.get("classes"), where)))
    return tuple(found)


def size_of(said: Any, where: str) -> int:
    """The bytes that a test case is sold with; 0 of an empty message. Raises BadInput."""
    if said is None or isinstance(said, bool) or not isinstance(said, (int, str)):
        raise BadInput(f"{where}: say the size that it is measured with, as show prints it, such as {{size: 512MiB}}")
    return 0 if str(said) == "0" else parse_size(str(said), f"{where}: size")


def classes_of(said: Any, where: str) -> dict[str, int]:
    """How many cells are of each link class. Raises BadInput."""
    counts = {} if said is None else said
    if not isinstance(counts, dict) or not all(is_count(one) for one in counts.values()):
        raise BadInput(f"{where}: classes: write how many cells are of each link class, such as {{NV18: 12}}")
    return counts


def load(path: Path) -> Terms:
    """The contract at `path`. Raises BadInput."""
    return read(read_whole(path, MOST_BYTES), str(path))


def read(content: bytes, name: str) -> Terms:
    """The contract that a file has. Raises BadInput for one that is not as it was written."""
    remedy = "freeze it again, or take it from where it was kept"
    try:
        said = json.loads(content)
        if said.pop("schema") != SCHEMA:
            raise ValueError("it is of another schema")
        parts = tuple(Expected(**one) for one in said.pop("parts"))
        cases = tuple(Case(**one) for one in said.pop("cases"))
        terms = Terms(parts=parts, cases=cases, **said)
        if terms.content != content:
            raise ValueError("it is not as it was frozen")
        checked(terms)
    except BadInput:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise BadInput(f"{name} is no contract of linkmatrix: {str(error)[:160]}: {remedy}") from None
    return terms


def checked(terms: Terms) -> None:
    """Raises ValueError or TypeError for terms of wrong types, and BadInput where a test case has no limit."""
    texts = (terms.title, terms.buyer, terms.seller, terms.source, terms.system, terms.mode, terms.table)
    texts += (terms.by, terms.version, terms.frozen, *(text for part in terms.parts for text in vars(part).values()))
    texts += (*terms.document.values(), *terms.document, *(case.testcase for case in terms.cases))
    if not all(isinstance(text, str) for text in (terms.limits, *texts)):
        raise TypeError("a text is none")
    if odd := [text for text in texts if not is_line(text)]:
        raise ValueError(f"{odd[0][:60]!r} is no text of one line")
    if odd := [node for node in terms.nodes if not NAME.fullmatch(node)]:
        raise ValueError(f"'{odd[0][:60]}' is no name of a node")
    if not terms.title or not TIME.fullmatch(terms.frozen) or terms.document.keys() not in (set(), DOCUMENT):
        raise ValueError("it has no title, no time at which it was frozen, or a document of another form")
    if not terms.parts or not terms.cases or terms.mode not in MODES or shared_name(terms.parts):
        raise ValueError("it has no parts, no test cases or no mode, or nodes that are one")
    if len({case.testcase for case in terms.cases}) != len(terms.cases):
        raise ValueError("it has a test case twice")
    for case in terms.cases:
        if not is_count(case.cells) or case.nodes not in (EACH, ALL):
            raise ValueError(f"the cells of {case.testcase} are {case.cells!r}")
        if type(case.size) is not int or case.size < 0 or not all(is_count(one) for one in case.classes.values()):
            raise ValueError(f"the size or classes of {case.testcase} are none")
    if type(terms.retries) is not int or not 0 <= terms.retries <= 10:
        raise ValueError(f"the retries are {terms.retries!r}")
    datetime.strptime(terms.frozen, "%Y-%m-%dT%H:%M:%SZ")
    refuse_without_limits(terms.cases, terms.table, terms.limits, "its limits")
