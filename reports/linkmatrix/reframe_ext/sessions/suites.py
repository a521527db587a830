"""The tests that ReFrame has generated, and the suites that select tests for a session."""

from __future__ import annotations

from typing import Any

from reframe.core.runtime import valid_sysenv_comb

from . import suite_words

TESTS: dict[tuple[str, str], Any] = {}  # {(class, parameters): test} of all tests that a session may measure


def test_key(test: Any) -> tuple[str, str]:
    """The key of a test in the dictionary TESTS: (name of the class, parameters as text)."""
    return type(test).__name__, repr(type(test).get_variant_info(test.variant_num)["params"])


def register(test: Any) -> None:
    """Adds a generated test to TESTS, so that sessions can select the test.

    With ``--repeat``, ``-P`` or ``--distribute``, ReFrame generates each test again. The new test has an additional
    parameter whose name begins with a dot. The new test replaces the first test in TESTS. Repetitions, and tests of a
    chosen node, are not in TESTS, so they measure in their own jobs.
    """
    name, given = type(test).__name__, type(test).get_variant_info(test.variant_num)["params"]
    plain = {key: value for key, value in given.items() if not key.startswith(".")}
    if plain != given:
        TESTS.pop((name, repr(plain)), None)
    if not given.get(".repeat_no") and ".nid" not in given:
        TESTS[test_key(test)] = test


def words_of_test(test: Any) -> set[str]:
    """The words of a suite that select the test."""
    return suite_words.matching_words(type(test).__name__, getattr(test, "testcase", ""), test.tags, test.hashcode)


def selects(suite: str, test: Any) -> bool:
    """Whether a suite contains a test."""
    return suite_words.selects_test(suite, words_of_test(test))


def unknown_words_error(suite: str) -> str:
    """A sentence with the unknown words of a suite; "" if all words are known."""
    return suite_words.unknown_words_error(suite, {word for test in TESTS.values() for word in words_of_test(test)})


def select_tests(suite: str, cls: type, partition: Any, environment: Any) -> list[Any]:
    """The tests of a suite that can run in an environment of a partition.

    cls: the class of the session that measures the tests.
    """

    def can_run(test: Any) -> bool:
        valid = valid_sysenv_comb(test.valid_systems, test.valid_prog_environs)
        return any(
            (one.fullname, environ.name) == (partition.fullname, environment.name)
            for one, environs in valid.items()
            for environ in environs
        )

    return [test for test in TESTS.values() if test.session_class is cls and selects(suite, test) and can_run(test)]
