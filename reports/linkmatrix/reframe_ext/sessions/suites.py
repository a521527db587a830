"""The tests that ReFrame generated, and the suites that select them for a session."""

from __future__ import annotations

from typing import Any

from reframe.core.runtime import valid_sysenv_comb

#: The names of suites: `all`, and the tags of the modes.
SUITES = ("all", "smoke", "quick", "visibility", "acceptance", "full", "nbody", "peers")
TESTS: dict[tuple[str, str], Any] = {}  # {(class, parameters): test}: all tests that a session may measure


def test_key(test: Any) -> tuple[str, str]:
    """(name of the class, parameters as text) of a test."""
    return type(test).__name__, repr(type(test).get_variant_info(test.variant_num)["params"])


def register(test: Any) -> None:
    """Adds a test that ReFrame generated.

    For ``--repeat``, ``-P`` and ``--distribute`` ReFrame generates each test again, with a parameter whose name begins
    with a dot. These tests replace the first one. Repetitions and tests on given nodes measure in jobs of their own.
    """
    name, given = type(test).__name__, type(test).get_variant_info(test.variant_num)["params"]
    plain = {key: value for key, value in given.items() if not key.startswith(".")}
    if plain != given:
        TESTS.pop((name, repr(plain)), None)
    if not given.get(".repeat_no") and ".nid" not in given:
        TESTS[test_key(test)] = test


def suite_words(test: Any) -> set[str]:
    """The words by which a suite selects a test.

    Words are the class, the test case, ``CLASS.TESTCASE``, the tags, ``/HASH`` and ``all``.
    """
    name, testcase = type(test).__name__, getattr(test, "testcase", "")
    both = (testcase, f"{name}.{testcase}") if testcase else ()
    return {name, *both, *test.tags, f"/{test.hashcode}", "all"}


def split(suite: str) -> tuple[set[str], set[str]]:
    """(words that include tests, words that exclude tests) of a suite."""
    words = [word.strip() for word in suite.split(",") if word.strip()]
    return {word for word in words if word[0] != "-"}, {word[1:] for word in words if word[0] == "-"}


def selects(suite: str, test: Any) -> bool:
    """Whether a suite contains a test."""
    wanted, left_out = split(suite)
    words = suite_words(test)
    return bool(wanted & words) and not left_out & words


def unknown_words_error(suite: str) -> str:
    """A sentence with the unknown words of a suite and all known words; "" if there are no unknown words."""
    known = {word for test in TESTS.values() for word in suite_words(test)}.union(SUITES)
    unknown = sorted(word for word in set.union(*split(suite)) - known if not word.startswith("/"))
    if not unknown:
        return ""
    testcases = sorted({test.testcase for test in TESTS.values() if getattr(test, "testcase", "")})
    classes = sorted({type(test).__name__ for test in TESTS.values()})
    return (
        f"suite={suite}: unknown words: {', '.join(unknown)}. Suites: {', '.join(SUITES)}. Classes of tests:"
        f" {', '.join(classes)}. Test cases: {', '.join(testcases)}"
    )


def select_tests(suite: str, cls: type, partition: Any, environment: Any) -> list[Any]:
    """The tests of a suite whose fixture `session` is of the class `cls`, and which can run in the environment."""

    def can_run(test: Any) -> bool:
        valid = valid_sysenv_comb(test.valid_systems, test.valid_prog_environs)
        return any(
            (one.fullname, environ.name) == (partition.fullname, environment.name)
            for one, environs in valid.items()
            for environ in environs
        )

    return [
        test
        for test in TESTS.values()
        if type(test).fixture_space["session"].cls is cls and selects(suite, test) and can_run(test)
    ]
