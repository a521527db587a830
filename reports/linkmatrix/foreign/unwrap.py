"""Removes text that launchers, terminals, mails and Markdown add to the output of a program.

A prefix is removed only if a known header line of a program follows it. Other text that resembles a prefix stays. A
launcher's prefix names a process. The lines of each process are grouped, in their order.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from .table import Run

IsHead = Callable[[str], bool]

ESCAPE = re.compile(r"(?:\x1b|\^\[)(?:\[[0-9;:<=>?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B])|\x1b[=>78]")
MOST_PREFIX, MOST_NESTED, MOST_LINE, MOST_SEARCHED = 200, 3, 2_000, 2_000
STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
#: Prefixes of lines. The group `process`, if any, names the process that printed the line.
PREFIXES = tuple(
    map(
        re.compile,
        (
            r"(?P<process>[^\[<]{0,40}\[[\w.@-]{0,80}\d+,\d+\](?:\[[\w.:-]+\])?<std(?:out|err|diag)>):[ ]?",  # Open MPI
            r"[ ]*(?P<process>\d{1,6}):(?:[ ]|$)",  # srun --label
            r"(?P<process>\[\d{1,6}\])(?:[ ]|$)",  # MPICH and Intel MPI -prepend-rank
            r"(?P<process>\[(?:default|rank) ?\d{1,6}\]):?(?:[ ]|$)",  # torchrun
            r"(?P<process>\[pod/[\w./-]{1,180}\])(?:[ ]|$)",  # kubectl logs --prefix
            r"(?P<process>\([\w .:<>-]{1,80}(?:pid|ip)=[^()]{1,80}\))(?:[ ]|$)",  # ray
            r"(?P<process>[A-Za-z0-9][\w.-]{0,100})[ ]{0,40}\|(?:[ ]|$)",  # docker compose
            rf"\[?{STAMP}\]?(?:[ ]|$)",
            # syslog
            r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<process>[\w.-]{1,80} [\w./-]{1,80}(?:\[\d+\])?):(?:[ ]|$)",
            r"(?:>[ ]?)+",  # a quotation
            r"(?:<[a-z]{1,20}(?:\s[^<>]{0,80})?>)+",  # HTML
            r"(?:\"[^\"]{0,80}\"[\t,;])*\"",  # cells of a spreadsheet
        ),
    )
)
HOST = re.compile(
    r"(?P<process>[A-Za-z][\w.-]{0,100}):(?:[ ]|$)"
)  # pdsh; matches "Device: 0" too, so most lines must have it
INDENT = re.compile(r"[ \t]*")
TABLE_ROW = re.compile(r"\s*\|(.*)\|\s*")
TABLE_RULE = re.compile(r"\s*\|[\s|:]*-[\s|:-]*\|\s*")
WORD = re.compile(r"(?<=\W)(?=[#\w\[])")
EMPHASIS = re.compile(r"[*`]+")
LINE_NUMBER = re.compile(r"\b(lines?) (\d+)\b")


def decoded(content: bytes) -> str:
    """The bytes of a file as text: UTF-8, or UTF-16 as in files of Windows. Invalid bytes become U+FFFD."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = content.decode("utf-16", "replace")
    else:
        sample = content[:4096]
        zeros = sample[0::2].count(0), sample[1::2].count(0)
        wide = max(zeros) > len(sample) // 5 and min(zeros) <= max(zeros) // 10
        text = content.decode(("utf-16-be" if zeros[0] > zeros[1] else "utf-16-le") if wide else "utf-8-sig", "replace")
    return text.replace("\x00", " ")


@dataclass
class Lines:
    """The lines of a text without added text, and the number of each line in the original text, counted from 1."""

    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def add(self, line: str, number: int) -> None:
        """Append a line."""
        self.lines.append(line)
        self.numbers.append(number)

    def original(self, sentence: str) -> str:
        """The sentence, with line numbers of the original text."""
        return LINE_NUMBER.sub(lambda found: f"{found[1]} {self.number(int(found[2]))}", sentence)

    def number(self, line: int) -> int:
        """The number of a line in the original text. line: its number in these lines. Both count from 1."""
        return self.numbers[line - 1] if 0 < line <= len(self.numbers) else line

    def renumbered(self, run: Run) -> Run:
        """The run, with line numbers of the original text."""
        if self.numbers == list(range(1, len(self.numbers) + 1)):
            return run
        ends = [self.number(run.first), self.number(run.last)]
        run.first, run.last = min(ends), max(ends)
        run.problems, run.wrong = list(map(self.original, run.problems)), list(map(self.original, run.wrong))
        run.tables = [
            replace(one, line=self.number(one.line), faults=tuple(map(self.original, one.faults))) for one in run.tables
        ]
        if run.topology:
            faults = tuple(map(self.original, run.topology.faults))
            run.topology = replace(run.topology, line=self.number(run.topology.line), faults=faults)
        return run


def unwrapped(text: str, is_head: IsHead) -> Lines:
    """The lines of a text without prefixes, indentation and Markdown tables.

    is_head: a function that returns whether a line is a header line: the start of a program's output, or of a table.
    """
    lines = [ESCAPE.sub("", line) for line in re.sub(r"\r+\n", "\n", text).splitlines()]
    patterns = prefixes_before_heads(lines, is_head) or common_prefix(lines, is_head)
    found = Lines(lines, list(range(1, len(lines) + 1)))
    if patterns:
        found = grouped_by_process(lines, patterns, is_head)
        if text[-1] not in "\r\n" and found.numbers[-1] != len(lines):
            # the last line may be cut; away from the end, no reader would notice
            moved = found.numbers.index(len(lines))
            del found.lines[moved], found.numbers[moved]
    return without_table_bars(dedented(found, is_head), is_head)


def prefixes_before_heads(lines: Sequence[str], is_head: IsHead) -> list[re.Pattern[str]]:
    """The regular expressions of the prefixes that precede header lines, the outermost first."""
    found: dict[tuple[re.Pattern[str], ...], None] = {}
    filled = [line for line in lines if line.strip()]
    for line in filled:
        if len(line) < MOST_LINE and not is_head(line):
            found |= dict.fromkeys(nested_prefixes(line, is_head, MOST_NESTED))
    several = list(dict.fromkeys(one for patterns in sorted(found, key=len, reverse=True) for one in patterns))
    return [one for one in several if one is not HOST or 2 * sum(map(bool, map(HOST.match, filled))) > len(filled)]


def nested_prefixes(line: str, is_head: IsHead, most: int) -> Iterator[tuple[re.Pattern[str], ...]]:
    """Yields the regular expressions of a line's prefixes as one tuple, the outermost first.

    If no header line follows the prefixes, the function yields nothing.
    most: the maximum number of prefixes.
    """
    for pattern in (*PREFIXES, HOST):
        prefix = pattern.match(line, 0, MOST_PREFIX)
        if prefix is None or not prefix[0]:
            continue
        rest = line[prefix.end() :]
        if is_head(rest) or is_head(rest.strip()):
            yield (pattern,)
            return
        if most > 1 and (inner := next(nested_prefixes(rest, is_head, most - 1), None)):
            yield (pattern, *inner)
            return


def grouped_by_process(lines: Sequence[str], patterns: Sequence[re.Pattern[str]], is_head: IsHead) -> Lines:
    """The lines without prefixes, grouped by process.

    A header line without a prefix ends all groups. Lines above the header line stay above the header line.
    """
    found = Lines()
    processes: dict[str, Lines] = {}

    def flush() -> None:
        for one in processes.values():
            found.lines += one.lines
            found.numbers += one.numbers
        processes.clear()

    for number, line in enumerate(lines, start=1):
        process, rest = without_prefixes(line, patterns)
        if rest == line and is_head(line):
            flush()
        processes.setdefault(process, Lines()).add(rest, number)
    flush()
    return found


def without_prefixes(line: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, str]:
    """Returns (process, line without its prefixes). The process is "" if no prefix names a process."""
    process = ""
    for pattern in patterns:
        prefix = pattern.match(line, 0, MOST_PREFIX)
        if prefix is not None:
            process += prefix.groupdict().get("process") or ""
            line = line[prefix.end() :]
    return process, line


def dedented(all_lines: Lines, is_head: IsHead) -> Lines:
    """The lines, with less indentation in each block that starts with an indented header line."""
    depth, lines = 0, []
    for line in all_lines.lines:
        blanks = INDENT.match(line, 0, MOST_PREFIX).end()  # type: ignore[union-attr]
        if blanks < depth and line.strip():
            depth = 0
        if not depth and 0 < blanks < len(line) and not is_head(line):
            # lines of perftest start with a blank
            depth = next((cut for cut in (blanks, blanks - 1) if cut and is_head(line[cut:])), 0)
        lines.append(line[depth:])
    return Lines(lines, all_lines.numbers)


def without_table_bars(lines: Lines, is_head: IsHead) -> Lines:
    """The lines, with each row of a Markdown table changed to a plain row.

    If a program itself prints the bars, the table starts with a header line and stays unchanged.
    """
    result, in_table, is_plain = Lines(), False, False
    for place, (line, number) in enumerate(zip(lines.lines, lines.numbers, strict=True)):
        row = TABLE_ROW.fullmatch(line)
        if row is not None and not in_table:
            below = lines.lines[place + 1] if place + 1 < len(lines.lines) else ""
            is_plain = bool(TABLE_RULE.fullmatch(below)) and not is_head(line)
            if is_plain:
                # Markdown needs blank lines before a table; programs print none
                while result.lines and not result.lines[-1].strip():
                    del result.lines[-1], result.numbers[-1]
        in_table = line.lstrip().startswith("|")
        if row is None or not is_plain:
            result.add(line, number)
        elif not TABLE_RULE.fullmatch(line):
            result.add(EMPHASIS.sub("", row[1].replace("|", " ")), number)
    return result


def unknown_prefix(lines: Sequence[str], is_head: IsHead) -> tuple[int, str]:
    """Returns (index, prefix) of the first header line that follows an unknown prefix; (0, "") if there is none."""
    for place, line in enumerate(lines[:MOST_SEARCHED]):
        for word in WORD.finditer(line, 0, MOST_PREFIX):
            before = line[: word.start()]
            if before.strip() and is_head(line[word.start() :]):
                return place, before
    return 0, ""


def common_prefix(lines: Sequence[str], is_head: IsHead) -> list[re.Pattern[str]]:
    """[regular expression of an unknown prefix], if most lines have this prefix; [] otherwise.

    The numbers in the prefix may differ between lines. If a header line has no prefix, the result is [].
    """
    before = "" if any(map(is_head, lines)) else unknown_prefix(lines, is_head)[1]
    if not before:
        return []
    words = (re.sub(r"\d+", r"\\d+", re.escape(word)) for word in before.split())
    pattern = re.compile(r"\s*" + r"\s+".join(words) + (r"(?:\s|$)" if before[-1].isspace() else ""))
    filled = [line for line in lines if line.strip()]
    return [pattern] if 2 * sum(bool(pattern.match(line)) for line in filled) > len(filled) else []


def prefix_problem(lines: Lines, is_head: IsHead) -> str:
    """A sentence about the first header line that follows an unknown prefix; "" if there is none.

    A header line is the start of a program's output, or of a table.
    """
    place, before = unknown_prefix(lines.lines, is_head)
    if not before:
        return ""
    rest = lines.lines[place][len(before) :]
    return f"line {lines.numbers[place]} has '{before[:60]}' in front of '{rest[:40]}': remove it from all lines"
