"""Lists the words that output uses, from the tables and templates of the sources.

python tests/tools/output_words.py   each word, and where the sources define it

`tests/unit/test_glossary.py` fails for a word that docs/glossary.md lacks.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from linkmatrix.commands import export
from linkmatrix.judge import findings

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "src"
PACKAGE = REPOSITORY / "reports" / "linkmatrix"
PRINTING = ("show", "commands", "locate", "judge", "runs", "adopt")  # subpackages whose sentences users read
#: A specialisation of Words: an enumeration with its words in options, tables and records.
ENUMERATION = re.compile(r"^struct Words<([\w:]+)> \{.*?^\};", re.MULTILINE | re.DOTALL)
ENUMERATOR = re.compile(r'std::pair\{[\w:]+, +"([^"]+)"\}')
SUFFIX = re.compile(r'\{LeftOut::\w+, +"_(\w+)"')
#: The title of a table of a program: a further quantity of a test case, or its quantity.
PART = re.compile(r'part\("\w+", "([^"]+)"')
QUANTITY = re.compile(r"quantity(?:_of\(const TestCase& t\) \{.*?^\}| = [^;]*;)", re.MULTILINE | re.DOTALL)
TEXT = re.compile(r'"([^"]+)"')
COLLECTIVE_HEADS = re.compile(r'heads\(("time".*?)\)|formatted\([^;]*?("size".*?)\)', re.DOTALL)
#: A word with which a program begins a line.
PROGRAM_LABEL = re.compile(r'out << "([a-z][a-z ]+): ?"')
LABEL = re.compile(r"\s*([A-Za-z]+(?: [a-z]+)?): ?")
HTML_HEAD = re.compile(r"<th scope=\"col\"[^>]*>([^<{]+)<")
HTML_HEADS = re.compile(r"\{\{ table\(\[(.*?)\]")


def sources(pattern: str) -> Iterator[tuple[str, str]]:
    """(name, text) of the sources of the programs."""
    for path in sorted(PROGRAMS.rglob(pattern)):
        yield path.relative_to(REPOSITORY).as_posix(), path.read_text(encoding="utf-8")


def modules(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    """(name, syntax tree) of the modules of subpackages."""
    for path in (path for package in packages for path in sorted((PACKAGE / package).rglob("*.py"))):
        yield path.relative_to(REPOSITORY).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def texts(node: ast.AST) -> list[str]:
    """All text constants in a syntax tree."""
    return [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def enumerations() -> Iterator[tuple[str, str]]:
    """(word, origin) of the enumerations of the programs and of the schemas of record and verdict."""
    for name, text in sources("*.hpp"):
        for one in ENUMERATION.finditer(text):
            yield from ((word, f"{name}: {one[1]}") for word in ENUMERATOR.findall(one[0]))
    for path in sorted(PACKAGE.rglob("*.schema.json")):
        yield from ((word, path.name) for word in enumerated(json.loads(path.read_text(encoding="utf-8"))))


def enumerated(schema: object) -> Iterator[str]:
    """The words that a JSON schema allows."""
    if isinstance(schema, dict):
        yield from (word for word in schema.get("enum", []) if word is not None)
    for one in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from enumerated(one)


def testcase_words() -> Iterator[tuple[str, str]]:
    """(word, origin) of the words in the names of test cases."""
    for one in json.loads((REPOSITORY / "checks" / "testcases.json").read_text(encoding="utf-8")):
        yield from ((word, one["name"]) for word in one["name"].split("_"))
    for name, text in sources("testcases.cpp"):
        yield from ((word, name) for suffix in SUFFIX.findall(text) for word in suffix.split("_"))


def table_titles() -> Iterator[tuple[str, str]]:
    """(title, origin) of the tables of the programs: each begins with a quantity."""
    for name, text in sources("*.cpp"):
        yield from ((title, name) for title in PART.findall(text))
        yield from ((title, name) for one in QUANTITY.finditer(text) for title in TEXT.findall(one[0]))


def column_heads() -> Iterator[tuple[str, str]]:
    """(head, origin) of the columns of tables in programs, commands and pages."""
    for name, text in sources("collective_table.cpp"):
        yield from ((head, name) for one in COLLECTIVE_HEADS.findall(text) for head in TEXT.findall("".join(one)))
    for name, tree in modules("show", "commands"):
        for one in ast.walk(tree):
            if isinstance(one, (ast.Assign, ast.AnnAssign)) and one.value:
                targets = one.targets if isinstance(one, ast.Assign) else [one.target]
                names = [target.id.lower() for target in targets if isinstance(target, ast.Name)]
                yield from ((head, name) for target in names for head in heads_in(target, one.value))
    for path in sorted((PACKAGE / "show" / "templates").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        yield from ((head, path.name) for head in HTML_HEAD.findall(text))
        yield from ((head, path.name) for row in HTML_HEADS.findall(text) for head in TEXT.findall(row))
    yield from ((head, "export --format csv") for head in export.COLUMNS)


def heads_in(name: str, value: ast.expr) -> list[str]:
    """The heads in a variable: …heads is a tuple of heads or a dictionary of heads, …columns a tuple of (head, …)."""
    if name.endswith("heads"):
        return texts(ast.Tuple(value.values)) if isinstance(value, ast.Dict) else texts_directly_in(value)
    rows = getattr(value, "elts", []) if name.endswith("columns") else []
    return [text for row in rows for text in texts_directly_in(row)[:1]]


def texts_directly_in(node: ast.expr) -> list[str]:
    """The text constants of a tuple or list."""
    found = (one.value for one in getattr(node, "elts", []) if isinstance(one, ast.Constant))
    return [one for one in found if isinstance(one, str)]


def labels() -> Iterator[tuple[str, str]]:
    """(label, origin) of the lines of output that begin with a label of one or two words: "again: linkmatrix …"."""
    for name, text in sources("*.cpp"):
        yield from ((label, name) for label in PROGRAM_LABEL.findall(text))
    for name, tree in modules(*PRINTING):
        for one in ast.walk(tree):
            first = one.values[0] if isinstance(one, ast.JoinedStr) and one.values else None
            if isinstance(first, ast.Constant) and (match := LABEL.fullmatch(first.value)):
                yield match[1], f"{name}:{one.lineno}"


def finding_types() -> Iterator[tuple[str, str]]:
    """(type, origin) of the findings without references."""
    yield from ((name, "judge/findings.py: NEXT") for name in findings.NEXT)


#: Kind of words → how they are collected.
KINDS = {
    "enumerations": enumerations,
    "test cases": testcase_words,
    "titles": table_titles,
    "columns": column_heads,
    "labels": labels,
    "findings": finding_types,
}


def collected(kind: str) -> dict[str, str]:
    """{word: origin} of a kind of words."""
    return dict(KINDS[kind]())


def main() -> None:
    """Prints all words with their origin."""
    for kind in KINDS:
        for word, origin in sorted(collected(kind).items()):
            print(f"{kind}: {word} ({origin})")


if __name__ == "__main__":
    main()
