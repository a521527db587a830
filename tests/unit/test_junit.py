"""The JUnit file of a run: nothing that did not pass looks so."""

import xml.etree.ElementTree as Tree

import pytest

from linkmatrix.runs import junit

RESULTS = ("pass", "fail", "skip", "fail_deps", "abort", "xpass", "xfail", "<unknown>")


@pytest.fixture
def written(tmp_path):
    """A JUnit file as ReFrame 4.10 writes it: only 'fail' has an element."""
    path = tmp_path / "junit.xml"

    def write(results):
        root = Tree.Element("testsuites")
        suite = Tree.SubElement(root, "testsuite", {"errors": "0", "failures": "1", "tests": str(len(results))})
        for number, result in enumerate(results):
            test = Tree.SubElement(suite, "testcase", {"name": f"t{number}"})
            if result == "fail":
                Tree.SubElement(test, "failure", {"type": "failure", "message": "sanity"})
        Tree.ElementTree(root).write(path)
        return path

    return write


def report(results):
    return {"runs": [{"testcases": [{"result": result, "fail_reason": None} for result in results]}]}


def test_only_what_passed_looks_so(written):
    path = written(RESULTS)
    assert junit.correct_file(path, report(RESULTS)) == ""
    (suite,) = Tree.parse(path).getroot()
    looks = {result: [child.tag for child in test] for result, test in zip(RESULTS, suite, strict=True)}
    assert looks == {
        "pass": [],
        "fail": ["failure"],
        "skip": ["skipped"],
        "fail_deps": ["error"],
        "abort": ["error"],
        "xpass": ["error"],
        "xfail": [],
        "<unknown>": ["error"],
    }
    assert (suite.get("errors"), suite.get("skipped"), suite.get("failures")) == ("4", "1", "1")


def test_words_that_are_not_ascii_lose_nothing_of_a_file_whose_encoding_reframe_calls_utf8(tmp_path):
    path, said = tmp_path / "junit.xml", "4 µs → gpu0 ‘größer’"
    failure = f'<failure type="failure" message="sanity">{said}</failure>'
    suite = f'<testsuite tests="1"><testcase name="t0">{failure}</testcase></testsuite>'
    path.write_bytes(f"<?xml version='1.0' encoding='utf8'?>\n<testsuites>{suite}</testsuites>".encode())
    assert junit.correct_file(path, report(["fail"])) == ""
    assert Tree.parse(path).find(".//failure").text == said


def test_a_file_that_does_not_fit_the_report_goes(written):
    path = written(["pass"])
    assert "was removed" in junit.correct_file(path, report(["pass", "pass"]))
    assert not path.exists()


def test_a_file_that_is_cut_off_goes_and_a_missing_one_is_no_trouble(written, tmp_path):
    path = written(["pass"])
    path.write_text(path.read_text()[:-5])
    assert "was removed" in junit.correct_file(path, report(["pass"]))
    assert not path.exists()
    assert junit.correct_file(tmp_path / "none.xml", report([])) == ""


@pytest.mark.parametrize("reason", ["\x1b[31mno GPU", "\x00no GPU", "\ud800no GPU", "\ufffeno GPU"], ids=ascii)
def test_a_reason_with_a_control_character_leaves_the_file_valid(written, reason):
    path = written(["abort"])
    content = {"runs": [{"testcases": [{"result": "abort", "fail_reason": reason}]}]}
    assert junit.correct_file(path, content) == junit.add_run_notices(path, [f"SIMULATED: {reason}"]) == ""
    (suite,) = Tree.parse(path).getroot()
    assert "no GPU" in suite.find("testcase/error").get("message")
    assert "no GPU" in suite.find("properties/property").get("value")
