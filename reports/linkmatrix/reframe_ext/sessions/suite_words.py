"""The words of a suite. This module does not import ReFrame: `linkmatrix run` checks suites before ReFrame starts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: The names of suites: `all`, and the tags of the modes.
SUITES = ("all", "smoke", "quick", "visibility", "acceptance", "full", "nbody", "peers")
MOST_SIMILAR = 3  # suggestions per unknown word
LIST = "reframe -C config/settings.py -c checks -R -l"  # lists the tests


def matching_words(check: str, testcase: str, tags: Iterable[str], code: str) -> set[str]:
    """The words of a suite that select a test: class, test case, ``CLASS.TESTCASE``, tags, ``/HASH`` and ``all``."""
    names = (testcase, f"{check}.{testcase}") if testcase else ()
    return {check, *names, *tags, f"/{code}", "all"}


def split_suite(suite: str) -> tuple[set[str], set[str]]:
    """Splits a suite such as "all,-nbody" into (words that include tests, words that exclude tests)."""
    words = [word.strip() for word in suite.split(",") if word.strip()]
    return {word for word in words if word[0] != "-"}, {word[1:] for word in words if word[0] == "-"}


def selects_test(suite: str, words: set[str]) -> bool:
    """Whether a suite selects a test.

    words: the `matching_words` of the test.
    """
    wanted, left_out = split_suite(suite)
    return bool(wanted & words) and not left_out & words


def unknown_words_error(suite: str, known: Iterable[str]) -> str:
    """A sentence with the unknown words of a suite, and similar known words; "" if all words are known.

    The hash of an excluded test may be unknown. `linkmatrix run --resume` may exclude a test that no longer exists.
    """
    known = {*known, *SUITES}
    wanted, left_out = split_suite(suite)
    unknown = sorted({*wanted, *(word for word in left_out if word[0] != "/")} - known)
    if not unknown:
        return ""
    similar = [close for word in unknown for close in difflib.get_close_matches(word, sorted(known), MOST_SIMILAR)]
    hint = f" Similar words: {', '.join(similar)}." if similar else ""
    return f"suite={suite}: unknown words: {', '.join(unknown)}.{hint} Suites: {', '.join(SUITES)}. Tests: {LIST}"
