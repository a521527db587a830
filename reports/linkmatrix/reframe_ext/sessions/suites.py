"""The tests that ReFrame generated, and the suites that select them for a session."""

from __future__ import annotations

from typing import Any

from reframe.core.runtime import valid_sysenv_comb

from . import suite_words

TESTS: dict[tuple[str, str], Any] = {}  # {(class, parameters): test} of all tests that a session may measure


def test_key(test: Any) -> tuple[str, str]:
    """The key of a test in TESTS: (name of the class, parameters as text)."""
    return type(test).__name__, repr(type(test).get_variant_info(test.variant_num)["params"])


def register(test: Any) -> None:
    """Adds a test that ReFrame generated to TESTS.

    For ``--repeat``, ``-P`` and ``--distribute`` ReFrame generates each test again, with a parameter whose name begins
    with a dot. These tests replace the first test. Repetitions, and tests for a chosen node, measure in their own jobs.
    """
    name, given = type(test).__name__, type(test).get_variant_info(test.variant_num)["params"]
    plain = {key: value for key, value in given.items() if not key.startswith(".")}
    if plain != given:
        TESTS.pop((name, repr(plain)), None)
    if not given.get(".repeat_no") and ".nid" not in given:
        TESTS[test_key(test)] = test


def words_of_test(test: Any) -> set[str]:
    """The words of a suite that select a test."""
    return suite_words.matching_words(type(test).__name__, getattr(test, "testcase", ""), test.tags, test.hashcode)


def selects(suite: str, test: Any) -> bool:
    """Whether a suite contains a test."""
    return suite_words.selects_test(suite, words_of_test(test))


def unknown_words_error(suite: str) -> str:
    """A sentence with the unknown words of a suite; "" if all words are known."""
    return suite_words.unknown_words_error(suite, {word for test in TESTS.values() for word in words_of_test(test)})


def select_tests(suite: str, cls: type, partition: Any, environment: Any) -> list[Any]:
    """The tests of a suite that can run in the environment. cls: the required class of their fixture `session`."""

    def can_run(test: Any) -> bool:
        valid = valid_sysenv_comb(test.valid_systems, test.valid_prog_environs)
        return any(
            (one.fullname, environ.name) == (partition.fullname, environment.name)
            for one, environs in valid.items()
            for environ in environs
        )

    return [test for test in TESTS.values() if test.session_class is cls and selects(suite, test) and can_run(test)]
