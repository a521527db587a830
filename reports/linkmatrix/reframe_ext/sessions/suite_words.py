"""The words of a suite, without ReFrame: `linkmatrix run` checks a suite before it starts ReFrame."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: The names of suites: `all`, and the tags of the modes.
SUITES = ("all", "smoke", "quick", "visibility", "acceptance", "full", "nbody", "peers")
MOST_SIMILAR = 3
LIST = "reframe -C config/settings.py -c checks -R -l"


def words_of(check: str, testcase: str, tags: Iterable[str], code: str) -> set[str]:
    """The words by which a suite selects a test.

    Words are the class, the test case, ``CLASS.TESTCASE``, the tags, ``/HASH`` and ``all``.
    """
    both = (testcase, f"{check}.{testcase}") if testcase else ()
    return {check, *both, *tags, f"/{code}", "all"}


def split(suite: str) -> tuple[set[str], set[str]]:
    """(words that include tests, words that exclude tests) of a suite."""
    words = [word.strip() for word in suite.split(",") if word.strip()]
    return {word for word in words if word[0] != "-"}, {word[1:] for word in words if word[0] == "-"}


def selects_test(suite: str, words: set[str]) -> bool:
    """Whether a suite selects the test with these words."""
    wanted, left_out = split(suite)
    return bool(wanted & words) and not left_out & words


def unknown_words_error(suite: str, known: Iterable[str]) -> str:
    """A sentence with the unknown words of a suite, and similar known words; "" if there are no unknown words.

    `linkmatrix run --resume` excludes tests by hash. An excluded test may not exist any more.
    """
    known = {*known, *SUITES}
    wanted, left_out = split(suite)
    unknown = sorted({*wanted, *(word for word in left_out if word[0] != "/")} - known)
    if not unknown:
        return ""
    similar = [close for word in unknown for close in difflib.get_close_matches(word, sorted(known), MOST_SIMILAR)]
    meant = f" Similar words: {', '.join(similar)}." if similar else ""
    return f"suite={suite}: unknown words: {', '.join(unknown)}.{meant} Suites: {', '.join(SUITES)}. Tests: {LIST}"
