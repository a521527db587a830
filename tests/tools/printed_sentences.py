"""Lists the sentences that programs, checks and commands print, and flags sentences that break the rules of wording.

python tests/tools/printed_sentences.py             all sentences: file, line, origin, text
python tests/tools/printed_sentences.py --flagged   only sentences that are too long or contain an avoided word
python tests/tools/printed_sentences.py judge src   only sentences of these packages

A sentence is read from the sources, so a value in it is printed as "{}". The list contains each string literal of
three or more words, except docstrings, and so also some texts that no user reads.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
LONGEST = 25  # words of a sentence
SUBPACKAGES = ["record", "foreign", "references", "judge", "locate", "runs", "adopt", "show", "reframe_ext", "site"]
#: Each package and its folders or files.
PACKAGES: dict[str, tuple[str, ...]] = {
    "checks": ("checks",),
    "config": ("config",),
    "src": ("src",),
    **{name: (f"reports/linkmatrix/{name}",) for name in SUBPACKAGES},
    "commands": ("reports/linkmatrix/commands", *(f"reports/linkmatrix/{name}.py" for name in ("cli", "errors"))),
    "files": tuple(f"reports/linkmatrix/{name}.py" for name in ("files", "invocation", "lock", "suite")),
}
#: Words that sentences avoid, and the words to use.
AVOIDED = {
    r"(?:hold|holds|held) (?:\w+ )?against": "compare with",
    r"says?|said|tells?|told": "reports, contains, specified",
    r"stands?|lies|is had": "is, see",
    r"(?:a|second|one|last|first|two|\{\}) looks?|looks": "measurement, remeasurement, poll",
    r"less sure": "too noisy",
    r"others|somebody|nobody|who was there": "other processes, another user",
    r"NO VERDICT": "NOT JUDGED, DISTURBED or INCOMPLETE",
    r"(?:\d+|\{\}) \w+ an? (?:line|job|node|cell|second|sample|pair|rank|device|GPU|run)": "per",
    r"(?:both|two|one|no|each|other|either) ways?|ways? (?:back|out|in)": "direction, reverse direction",
    r"at once": "concurrently",
    r"besides?": "compared with; in addition to",
    r"(?<!as )well|sick": "healthy, faulty",
    r"promised?|promises": "expected configuration",
    r"(?<!in )(?<!take )places?": "slot, position, folder",
    r"(?<!no )(?<!in )parts?(?! of| in)": "component",
    r"kinds?": "type",
    r"(?:both|either|each|other|two|one) ends?": "endpoint",
    r"drills?": "fault injection",
    r"witness(?:es)?": "control measurement",
    r"mend(?:s|ed)?|anew|meanwhile|foreseen": "fix, again, during the run, expected",
    r"(?:to|and|must) suspect|suspect (?:the|that|its|their|an?|what|one)": "check",
    r"blam(?:e|es|ed)|cleared": "attribute, unflag",
    r"transient|it stayed": "not reproduced, reproduced",
    r"what each is": "baseline",
}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z{'\"`])|\n|;\s")
#: An option with its value, or a quoted text.
CODE = re.compile(r"`[^`]*`|'[^']*'|(?<!\S)-\S+(?: [A-Z]+\b)?")
HTML_TAG = re.compile(r"<[a-zA-Z/!][^<>]*>")
#: A word of a sentence, and not a name of code, an option or a path.
PROSE_WORD = re.compile(r"(?<![\w./=<>-])[A-Za-z]?[a-z]+(?![\w/=<>(])")
#: A regular expression, a program or a statement of SQL.
NO_PROSE = re.compile(
    r"^\s*SELECT |\\[dwsb]|\(\?[:<P=!]|[{;]\s*\n.*[};]|\w\(\);|^\s*(?:#SBATCH|import |from \w+ import )"
)


class Sentence(NamedTuple):
    """A printed sentence: file relative to the repository, line, origin ("error", "help", "print", "text"), text."""

    file: str
    line: int
    origin: str
    text: str

    def words(self) -> int:
        """The number of words; a command in backquotes and a value are one word each."""
        text = re.sub(r"`[^`]*`", "command", self.text)
        return len(re.findall(r"(?<!\S)\S*[\w{]\S*", text))

    def faults(self) -> list[str]:
        """What breaks the rules of wording; [] if nothing does."""
        found = [f"{self.words()} words"] if self.words() > LONGEST else []
        prose = CODE.sub("{}", self.text)
        for words, instead in AVOIDED.items():
            match = re.search(rf"\b(?:{words})\b", prose)
            if match:
                found.append(f"'{match[0]}': {instead}")
        return found


def sentences_of(file: str, line: int, origin: str, text: str) -> Iterator[Sentence]:
    """The sentences of a string literal; none if the literal contains no prose."""
    if NO_PROSE.search(text):
        return
    for part in SENTENCE_END.split(HTML_TAG.sub(" ", text)):
        words = " ".join(part.split())
        if len(PROSE_WORD.findall(words)) >= 3:
            yield Sentence(file, line, origin, words)


def text_of(node: ast.AST) -> str | None:
    """The text of a string expression, with "{}" for each value; None for another expression."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        if left is not None or right is not None:
            return ("{}" if left is None else left) + ("{}" if right is None else right)
    return None


def origin_of(node: ast.AST, origin: str) -> str:
    """The origin of the strings in a node of the syntax tree: what the node raises, prints or describes."""
    if isinstance(node, ast.Raise):
        return "error"
    if isinstance(node, ast.keyword) and node.arg in ("help", "description", "epilog"):
        return "help"
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        return "print" if name in ("print", "say", "write") else origin
    return origin


def python_strings(tree: ast.AST, origin: str = "text") -> Iterator[tuple[int, str, str]]:
    """(line, origin, text) of each string expression of Python code, except docstrings."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        own = origin_of(node, origin)
        text = text_of(node)
        if text is None:
            yield from python_strings(node, own)
            continue
        yield node.lineno, own, text
        for inner in ast.walk(node):
            if isinstance(inner, ast.FormattedValue):  # a text of its own, such as a condition in an f-string
                yield from python_strings(inner, own)


#: A comment, a raw string, a string literal, a character or another token of C++.
CPP_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)\"|\"(?P<text>(?:[^\"\\\n]|\\.)*)\""
    r"|'(?:[^'\\\n]|\\.)+'|#[^\n]*|<<|->|::|\w+|\S",
    re.DOTALL,
)
ESCAPED = {r"\n": "\n", r"\t": " ", r"\"": '"', r"\\": "\\"}


def cpp_strings(code: str) -> Iterator[tuple[int, str, str]]:
    """(line, origin, text) of each string expression of C++ code: literals that follow, or that + or << connects."""
    line, text, depth, open_value, origin = 0, None, 0, False, "text"
    for token in CPP_TOKEN.finditer(code):
        word = token[0]
        literal = token["raw"] if token["raw"] is not None else token["text"]
        if word.startswith(("//", "/*", "#")):
            continue
        if literal is not None:
            if text is None or (depth == 0 and not open_value and text == ""):
                line, text, depth = code.count("\n", 0, token.start()) + 1, "", 0
            text += re.sub(r"\\[nt\"\\]", lambda found: ESCAPED[found[0]], literal)
            open_value = False
            continue
        if word in ("throw", "cerr", "cout"):
            origin = "error" if word == "throw" else "print"
        if text is None:
            if word in ";{}":
                origin = "text"
            continue
        depth += (word in "([{") - (word in ")]}")
        if word in ("+", "<<") and depth == 0:
            open_value = True
        elif (word in ",;?:{}" and depth == 0) or depth < 0:
            yield line, origin, text
            text, depth, open_value = None, 0, False
            if word in ";{}":
                origin = "text"
        elif open_value:
            text, open_value = text + "{}", False
    if text:
        yield line, origin, text


def sentences(package: str) -> Iterator[Sentence]:
    """The sentences of a package, by file and line."""
    for folder in PACKAGES[package]:
        path = REPOSITORY / folder
        for file in sorted(path.rglob("*.*")) if path.is_dir() else [path]:
            name = str(file.relative_to(REPOSITORY))
            if file.suffix == ".py":
                found = python_strings(ast.parse(file.read_text(encoding="utf-8")))
            elif file.suffix in (".cpp", ".hpp", ".cu", ".cuh"):
                found = cpp_strings(file.read_text(encoding="utf-8"))
            else:
                continue
            for line, origin, text in found:
                yield from sentences_of(name, line, origin, text)


def main() -> None:
    """Prints one sentence per line, and the number of sentences and flagged sentences per package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"default: all of {', '.join(PACKAGES)}")
    parser.add_argument("--flagged", action="store_true", help="print only sentences that break a rule")
    options = parser.parse_args()
    for package in options.packages or PACKAGES:
        found = list(sentences(package))
        for one in found:
            faults = "; ".join(one.faults())
            if faults or not options.flagged:
                print(f"{one.file}:{one.line}: {one.origin}: {one.text}" + (f"  [{faults}]" if faults else ""))
        print(f"{package}: {len(found)} sentences, {sum(bool(one.faults()) for one in found)} flagged")


if __name__ == "__main__":
    main()
