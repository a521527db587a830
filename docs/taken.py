"""Completes the pages of the site with parts of the repository.

A line such as `<!-- from README.md: Between nodes -->` in a page is replaced by a file, or by the section below a
heading of a file. Links in an included part lead to the page with their target. A target on no page is only named.
Commands, checks and the record are described from their definitions.
"""

import contextlib
import io
import os
import posixpath
import re
import runpy
from collections.abc import Iterator, Mapping
from pathlib import Path

from described import checks, table, variables
from fields import record

from linkmatrix import cli

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = REPOSITORY / "docs"
TAKEN = re.compile(r"^<!-- from (?P<path>[^\s:]+)(?:: (?P<heading>.+?))? -->$", re.MULTILINE)
LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>[^)\s#]*)(?:#(?P<anchor>[^)\s]+))?\)")
HEADING = re.compile(r"(?P<level>#+) (?P<title>.+)")
MARK = re.compile(r"^<!-- (?:commands: [^,]+, run .+|shown) -->\n", re.MULTILINE)
FENCE = "```"


def lines_of(text: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Each line, and its match as a heading; None for other lines and in blocks of code."""
    inside = False
    for line in text.splitlines():
        inside ^= line.lstrip().startswith(FENCE)
        yield line, None if inside else HEADING.match(line)


def section(path: str, heading: str | None) -> str:
    """The text of a file without its title, or the text below a heading. Its headings begin at the second level.

    Raises LookupError for a missing section.
    """
    found: list[str] = []
    level = 0  # of the heading that was found
    for line, head in lines_of((REPOSITORY / path).read_text(encoding="utf-8")):
        depth = len(head["level"]) if head else 0
        if head and level and depth <= level:
            break
        if level:
            found.append("#" * (2 + depth - level - 1) + line[depth:] if head else line)
        elif head and heading in (None, head["title"]):
            level = depth
    if not found:
        raise LookupError(f"{path} has no section '{heading}', which a page includes")
    return "\n".join(found).strip()


def slug(title: str) -> str:
    """The anchor of a heading, as Sphinx and code hosts generate it."""
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip())


def places() -> dict[tuple[str, str], tuple[str, str]]:
    """{(file, anchor): (page, anchor in the page)} of all included parts. The anchor of a whole file is ""."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for page in sorted(PAGES.glob("*.md")):
        for one in TAKEN.finditer(page.read_text(encoding="utf-8")):
            path, heading = one["path"], one["heading"]
            found.setdefault((path, slug(heading or "")), (page.name, ""))
            for _, head in lines_of(section(path, heading)):
                if head:
                    found.setdefault((path, slug(head["title"])), (page.name, slug(head["title"])))
    return found


def linked(text: str, source: str, known: Mapping[tuple[str, str], tuple[str, str]]) -> str:
    """The text of a file with links to pages of the site. Raises LookupError for a link without target.

    source: the path of the file. known: the result of `places`.
    """

    def replaced(link: re.Match[str]) -> str:
        if "://" in link["path"]:
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["path"])) if link["path"] else source
        if link["image"]:
            return f"![{link['text']}](../{target})"
        page, anchor = known.get((target, link["anchor"] or ""), ("", ""))
        if target.startswith("docs/") and target.endswith(".md"):
            page, anchor = target.removeprefix("docs/"), link["anchor"] or ""
        if page:
            return f"[{link['text']}]({page}{'#' + anchor if anchor else ''})"
        if not (REPOSITORY / target).exists():
            raise LookupError(f"{source} links to {target}, which does not exist")
        name = f"`{target}`"
        return link["text"] if target in link["text"] else f"{link['text']} ({name})"

    return LINK.sub(replaced, text)


def unmarked(text: str) -> str:
    """The text without the marks that name the test of a block of commands."""
    return MARK.sub("", text)


def commands() -> str:
    """The help of each command."""
    parts = []
    for name, command in cli.COMMANDS.items():
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
            cli.parser(name).parse_args([name, "--help"])
        parts.append(f"## {name}\n\n{command.purpose}\n\n{FENCE}text\n{said.getvalue().rstrip()}\n{FENCE}\n")
    return "\n".join(parts)


def imports() -> str:
    """A table of the programs whose output linkmatrix reads, from the list that the tests use."""
    rows = runpy.run_path(str(REPOSITORY / "tests" / "tools" / "foreign_programs.py"))["PROGRAMS"]
    head = ("program", "versions", "options", "output", "recorded as")
    return table(head, [(one.title, one.versions, one.options, one.output, f"`{one.name}`") for one in rows])


GENERATED = {"commands": commands, "checks": checks, "variables": variables, "record": record, "imports": imports}


def page(text: str, name: str) -> str:
    """The complete text of a page. name: of the page. Raises LookupError for a missing part of the repository."""
    os.environ["COLUMNS"] = "90"  # columns of the help of commands, so that blocks of the site do not scroll
    known = places()

    def taken(one: re.Match[str]) -> str:
        return linked(section(one["path"], one["heading"]), one["path"], known)

    def whole(one: re.Match[str]) -> str:
        return f"{FENCE}python\n{(REPOSITORY / one[1]).read_text(encoding='utf-8').rstrip()}\n{FENCE}"

    text = unmarked(TAKEN.sub(taken, linked(text, f"docs/{name}.md", known)))
    text = re.sub(r"^<!-- file: (\S+) -->$", whole, text, flags=re.MULTILINE)
    return re.sub(r"^<!-- generated: (\w+) -->$", lambda one: GENERATED[one[1]](), text, flags=re.MULTILINE)
