"""Options in the command line of a program: `--name VALUE` or `--name=VALUE`."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Given(NamedTuple):
    """An option of a command line.

    value: "" where the command line ends. first, end: the positions of its first word, and after its last word.
    """

    value: str
    first: int
    end: int


def given(words: Sequence[str], name: str) -> Iterator[Given]:
    """Each `--name VALUE` and `--name=VALUE` of a command line."""
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option == name:
            yield Given(value, at, at + 1) if equals else Given("".join(words[at + 1 : at + 2]), at, at + 2)
