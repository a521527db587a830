"""A contract on a machine whose ReFrame is played, for the tests of it."""

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from linkmatrix import cli
from linkmatrix.contract import bundle, terms

TESTCASE = "device_to_device_memcpy_write_ce"
LONG_AGO = datetime(2020, 1, 1, tzinfo=timezone.utc)
SIZE = 1 << 29  # bytes, of the records that tests make
SERIALS = ("1650", "1651", "1652", "1653")


def limits_of(low):
    head = "intranode_p2p:\n  $index: [reference_name, testcase]\n  sold:\n"
    return f"{head}    {TESTCASE}:\n      cell[NV18]: [{low}, 0, null, GB/s]\n"


def draft_of(serials=SERIALS, node="node001", **more):
    said = {"title": "Lot 1", "source": "quote 4711", "limits": "limits.yaml", "table": "sold", "system": "node:gpu"}
    said["parts"] = [{"node": node, "slot": str(at), "serial": serial} for at, serial in enumerate(serials)]
    said = {**said, "testcases": {TESTCASE: {}}, **more}
    cases = said["testcases"]
    return {**said, "testcases": {name: {"size": SIZE, **of} for name, of in cases.items()}}


class Sold:
    """A contract in a folder; machine, capsys: fixtures of tests/unit. Commands answer (exit code, what they say)."""

    def __init__(self, folder: Path, machine: Any, capsys: Any) -> None:
        self.folder, self.machine, self.capsys = folder, machine, capsys
        self.contract, self.bundle = folder / "lot.contract.json", folder / "lot.tar"

    def freeze(self, low: float = 380.0, when: datetime = LONG_AGO, **more: Any) -> terms.Terms:
        """Freezes limits of so many GB/s at a time; more: of the draft."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "limits.yaml").write_text(limits_of(low))
        (self.folder / "draft.yaml").write_text(json.dumps(draft_of(**more)))
        frozen = terms.frozen(self.folder / "draft.yaml", when)
        self.contract.write_bytes(frozen.content)
        return frozen

    def cases(self, change: Callable[[Any], Any]) -> None:
        """Changes the prepared cases, a list for each attempt."""
        file = self.machine.folder / "prepared.json"
        content = json.loads(file.read_text())
        content["runs"] = change(content["runs"])
        file.write_text(json.dumps(content))

    def later(self) -> None:
        """The prepared record is of another run of the program."""
        (path,) = (self.machine.folder / "output").glob(f"0-{self.machine.prepared}/record.json")
        path.write_text(path.read_text().replace("2026-11-21T01:50:22Z", "2026-11-22T01:50:22Z"))

    def run(self, out: Path | None = None) -> tuple[int, str]:
        """Measures under it."""
        arguments = ["contract", "run", str(self.contract), "--out", str(out or self.bundle)]
        code = cli.main([*arguments, "--reframe", str(self.machine.reframe)])
        said = self.capsys.readouterr()
        return code, said.err + said.out

    def verify(self, *arguments: Any) -> tuple[int, str]:
        """Judges the bundle again."""
        code = cli.main(["contract", "verify", str(self.bundle), *map(str, arguments)])
        return code, "".join(self.capsys.readouterr())

    def tampered(self, change: Callable[[dict[str, bytes]], Any]) -> None:
        """Changes the members of the bundle and packs them again, with a manifest that fits."""
        members = dict(bundle.unpacked(self.bundle.read_bytes(), self.bundle))
        del members[bundle.MANIFEST]
        change(members)
        self.bundle.write_bytes(bundle.packed(members))
