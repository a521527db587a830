"""The words of a suite: which tests each selects, and what ReFrame's repetitions do to them."""

import pytest

from linkmatrix.reframe_ext.sessions import suites


@pytest.fixture
def generated(monkeypatch):
    """A function that makes a test of a class with parameters as ReFrame generates it, and registers it."""
    monkeypatch.setattr(suites, "TESTS", {})

    def make(name, tags=(), **parameters):
        cls = type(name, (), {"get_variant_info": staticmethod(lambda _: {"params": parameters})})
        one = cls()
        one.variant_num, one.tags, one.hashcode = 0, set(tags), f"{len(suites.TESTS):08}"
        vars(one).update(parameters)
        suites.register(one)
        return one

    return make


@pytest.fixture
def four(generated):
    """Two test cases between GPUs, the topology, and a program of others that measures one of the test cases."""
    return [
        generated("intranode", {"quick", "full"}, testcase="write"),
        generated("intranode", {"full"}, testcase="read"),
        generated("topology", {"quick", "full"}),
        generated("other", {"peers"}, testcase="write"),
    ]


@pytest.mark.parametrize(
    ("suite", "selected"),
    [
        ("", []),
        (" , ", []),
        ("quick", [0, 2]),
        ("full", [0, 1, 2]),
        ("all", [0, 1, 2, 3]),
        ("all,-peers", [0, 1, 2]),
        ("full,-read,-topology", [0]),
        ("quick, read", [0, 1, 2]),
        ("write", [0, 3]),
        ("intranode.write", [0]),
        ("topology", [2]),
        ("acceptance", []),
        ("quick,-/00000002", [0]),
        ("-quick", []),
    ],
)
def test_a_suite_selects_by_tags_classes_test_cases_and_hashes(four, suite, selected):
    assert [at for at, one in enumerate(four) if suites.selects(suite, one)] == selected
    assert suites.unknown_words_error(suite) == ""


@pytest.mark.parametrize(
    ("suite", "unknown"), [("quik", "quik"), ("all,-nobdy", "nobdy"), ("intranode.copy,x", "intranode.copy, x")]
)
def test_unknown_words_are_named_with_the_suites_and_the_list_of_tests(four, suite, unknown):
    sentence = suites.unknown_words_error(suite)
    assert f"suite={suite}: unknown words: {unknown}." in sentence
    assert all(
        word in sentence for word in ("all", "smoke", "acceptance", "reframe -C config/settings.py -c checks -R -l")
    )


def test_a_suite_contains_the_first_repetition_and_no_other(generated):
    generated("intranode", testcase="write")
    first, second = (generated("intranode", testcase="write", **{".repeat_no": number}) for number in (0, 1))
    assert list(suites.TESTS.values()) == [first]
    assert suites.test_key(second) not in suites.TESTS


def test_values_of_a_variable_replace_the_test_without_them(generated):
    generated("intranode", testcase="write")
    both = [generated("intranode", testcase="write", **{".size": size}) for size in ("1MiB", "2MiB")]
    assert list(suites.TESTS.values()) == both


def test_a_suite_contains_no_test_that_is_distributed_over_nodes(generated):
    generated("intranode", testcase="write")
    generated("intranode", testcase="write", **{".nid": ["n1"]})
    assert suites.TESTS == {}


def test_the_suite_of_a_mode_is_known_where_only_some_files_of_checks_are_read(generated):
    """As by `reframe -c checks/intranode.py --mode=measure`: there is no simulation to leave out."""
    generated("intranode", {"full"}, testcase="write")
    assert suites.unknown_words_error("all,-nbody,-peers") == ""
