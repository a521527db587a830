"""Printed sentences have at most 25 words and avoid the words of the table in tests/tools/printed_sentences.py."""

import ast

import printed_sentences
import pytest
from printed_sentences import Sentence

#: Texts that may break a rule: part of the text, and the reason.
EXCEPTIONS = {
    "The application appears to have been direct launched": "quotes Open MPI",
    "the field kind must be": "quotes the name of a field",
    "nothing stands out": "the term for a list without an outlier",
}


@pytest.mark.parametrize("package", printed_sentences.PACKAGES)
def test_printed_sentences_are_short_and_avoid_words(package):
    found = [
        f"{one.file}:{one.line}: {one.text} [{'; '.join(one.faults())}]"
        for one in printed_sentences.sentences(package)
        if one.faults() and not any(text in one.text for text in EXCEPTIONS)
    ]
    assert found == []


def texts(code):
    return [
        sentence.text
        for line, origin, text in printed_sentences.python_strings(ast.parse(code))
        for sentence in printed_sentences.sentences_of("x.py", line, origin, text)
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('raise BadInput(f"{path} is not a file: name a file")', ["{} is not a file: name a file"]),
        ('x = "the first of " + str(n) + " cells is slow"', ["the first of {} cells is slow"]),
        ('say("One fact is here. Another fact is there; the last is behind")', 3),
        ('def f():\n    """Returns the nodes that passed."""', []),
        ('x = "two words"', []),
        ("x = f\"{'the cells are slow' if n else 1} and more\"", ["the cells are slow"]),
    ],
)
def test_sentences_of_python_code(code, expected):
    assert texts(code) == expected or len(texts(code)) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            'throw BadInput("no GPU to measure (" + why + "); run " "again here");',
            [("error", "no GPU to measure ({}); run again here")],
        ),
        ('std::cerr << "the file " << path << " is damaged\\n";', [("print", "the file {} is damaged\n")]),
        ('f("first text", "second"); // "a comment"', [("text", "first text"), ("text", "second")]),
        ('g(R"(a "raw" text)", \'"\');', [("text", 'a "raw" text')]),
    ],
)
def test_sentences_of_cpp_code(code, expected):
    assert [(origin, text) for _, origin, text in printed_sentences.cpp_strings(code)] == expected


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("the scheduler says that the node is drained", 1),
        ("Slurm reports the node as drained", 0),
        ("use `linkmatrix run --place says` or --part SERIAL", 0),
        (" ".join(["word"] * 26), 1),
        (" ".join(["word"] * 25), 0),
        ("7 samples a cell are measured", 1),
    ],
)
def test_faults_of_a_sentence(text, faults):
    assert len(Sentence("x.py", 1, "text", text).faults()) == faults
