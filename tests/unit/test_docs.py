"""The site is built from the repository. Its messages are printed ones, and the shown changes fit the sources."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import printed_sentences
import pytest

from linkmatrix import cli
from linkmatrix.record import reading

REPOSITORY = Path(__file__).resolve().parents[2]
#: what a browser fetches by itself; a link is followed by its reader alone
FETCHED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=["'](?:https?:)?//""")

#: whole numbers of a record that count nothing
NUMBERED = {"index", "pid", "seed", "lines"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """{name: text} of the pages, as built with every warning an error: a link that leads nowhere is one."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    command += ["-d", folder / "trees", "docs", folder / "site"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return {page.stem: unescape(page.read_text(encoding="utf-8")) for page in (folder / "site").glob("*.html")}


@pytest.mark.thorough
def test_every_page_is_there_and_complete(site):
    assert {page.stem for page in (REPOSITORY / "docs").glob("*.md")} <= site.keys()
    left = [name for name, text in site.items() if re.search(r"<!-- (?:from|file:|generated:)", text)]
    assert not left, "a line that takes something from the repository was not understood"


def test_every_command_and_every_check_is_described(site):
    assert not [name for name in cli.COMMANDS if f"usage: linkmatrix {name}" not in site["commands"]]
    for check in ("intranode_p2p", "rank_binding", "rdma_perftest", "tcp_perftest", "gpu_topology", "node_sweep"):
        assert check in site["checks"]


def test_what_a_check_needs_of_a_partition_is_described(site):
    rows = {
        row[0]: row[4]
        for row in (re.findall(r"<td><p>(.*?)</p></td>", one) for one in site["checks"].split("<tr"))
        if len(row) == 5
    }
    where = {re.sub("<.*?>", "", name): re.sub("<.*?>", "", needed) for name, needed in rows.items()}
    assert where["intranode_p2p"] == "any or +gpu +cuda" and where["node_sweep"] == "any"
    assert where["rdma_perftest"] == "+rdma +crossnode" and where["rank_binding"] == "+mpi"


def test_every_variable_of_a_check_is_described_with_its_type_and_default(site):
    """The site is not built where a comment is missing: comments, types and defaults are taken from the sources."""
    texts = {"extra_opts": r"List\[str\]", "wait_idle": "float", "cmake_opts": r"List\[str\]", "refuse_busy": "bool"}
    for name, kind in (texts | dict.fromkeys(("sizes", "bodies", "on", "size"), "str")).items():
        assert re.search(rf">{name}<(?:(?!</tr>).)*>{kind}<", site["checks"], re.DOTALL), name
    assert re.search(r">seconds<(?:(?!</tr>).)*>300<", site["checks"], re.DOTALL)


def objects(schema):
    """Each object of a schema that says its fields."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("type") == "object":
            yield schema
        for one in schema.values():
            yield from objects(one)
    elif isinstance(schema, list):
        for one in schema:
            yield from objects(one)


def test_every_field_of_a_record_has_a_description_and_numbers_have_a_unit():
    schema = reading.schema()
    for one in objects(schema):
        for name, field in one["properties"].items():
            kinds = [field, schema["$defs"].get(field.get("$ref", "").rpartition("/")[2], {})]
            assert any("description" in kind for kind in kinds), f"{name} of {one['required']}"
            if {"minimum", "exclusiveMinimum"} & {key for kind in kinds for key in kind} and name not in NUMBERED:
                assert any("unit" in kind for kind in kinds), f"{name} of {one['required']} has no unit"


def test_every_object_of_a_record_has_its_table(site):
    text = site["record"]
    for path in ("host", "nodes[]", "adapters[].gpus[]", "topology", "soak.matrices[]", "results[].parts.NAME"):
        assert re.search(rf"<h2>.*>{re.escape(path)}<", text), path
    for title in re.findall(r'<a class="reference internal" href="#(record-[\w-]+)"', text):
        assert f'id="{title}"' in text, title
    rows = {
        tuple(re.sub("<.*?>", "", cell) for cell in re.findall(r"<td>(.*?)</td>", row))
        for row in re.findall(r"<tr class.*?</tr>", text, re.DOTALL)
    }
    assert ("bridges", "whole number", "PCI bridges", "yes", "PCI bridges above both the adapter and the GPU") in rows
    assert ("wrong", "whole number", "products", "yes", "number of products with a wrong bit") in rows
    assert ("started", "time, UTC", "", "yes", "when the program began") in rows


def test_what_scrolls_is_reached_by_keyboard_and_captions_have_a_level(site):
    for name, text in site.items():
        assert "<pre>" not in text or name.startswith("run-"), name
        assert not re.search(r'role="heading"(?! aria-level)', text), name


def test_nothing_is_loaded_from_elsewhere(site):
    assert not [name for name, text in site.items() if FETCHED.search(text)]


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE)
#: Messages with a part that another function prints: each part is a sentence.
SEPARATOR = re.compile(r"\s*…\s*|: ")


@pytest.fixture(scope="module")
def printed():
    """All printed sentences, in one text."""
    found = (one.text for package in printed_sentences.PACKAGES for one in printed_sentences.sentences(package))
    return "\n".join(found)


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_printed(printed, message):
    assert [part for part in SEPARATOR.split(message) if part.strip(" ()…") and part.strip(" :()") not in printed] == []


def test_there_are_messages():
    assert len(MESSAGES) > 20


def kept(text):
    """(file, line) of each line that the diffs of a document say is there, and of each place that `@@` names."""
    for diff in re.findall(r"^```diff\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        is_new, file = False, ""
        for line in diff.splitlines():
            if line.startswith("--- "):
                is_new = line == "--- /dev/null"
            elif line.startswith("+++ b/"):
                file = line.removeprefix("+++ b/")
            elif line.startswith("@@"):
                yield file, re.sub(r"^@@( -\S+ \+\S+ @@)?", "", line).strip()
            elif is_new or not line.startswith("+"):
                yield file, line[1:]


CHANGES = sorted(set(kept((REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "line"), CHANGES)
def test_what_a_shown_change_stands_beside_is_there(file, line):
    assert line in (REPOSITORY / file).read_text(encoding="utf-8")


def test_every_file_that_contributing_names_exists():
    folders = ("src", "checks", "config", "docs", "reports", "scripts", "spack-env", "tests/unit", "tests/native")
    folders += ("tests/integration", "tests/tools", "tests/faults")
    known = {path.name for folder in folders for path in (REPOSITORY / folder).rglob("*.*")}
    known |= {path.name for path in REPOSITORY.iterdir()}
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`(?:[\w./-]*/)?([\w-]+\.(?:py|cpp|hpp|sh|ya?ml|json|md|toml))`", text)}
    assert len(named) > 80 and named - known == {"record.json"}


def test_lines_that_are_kept_or_taken_away_are_seen():
    text = "```diff\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ head {\n kept\n-gone\n+new\n```\n"
    assert list(kept(text)) == [("x", "head {"), ("x", "kept"), ("x", "gone")]
    assert {file for file, _ in CHANGES} > {"src/p2p/testcase_table.cpp", "src/core/limits.cpp"}
