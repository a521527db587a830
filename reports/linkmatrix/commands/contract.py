"""`linkmatrix contract`: limits that are frozen before a run, a bundle that proves the verdict, a page to sign.

`freeze` writes down what was sold; `run` measures under it, through `linkmatrix run`, and packs all that the verdict is
made of; `pack` does so where a full disk or an interrupt kept `run` from it; `verify` judges a bundle again, anywhere
and offline; its answer is PASS only for what its records give.
"""

import argparse
import hashlib
import os
import re
import shlex
from pathlib import Path
from typing import Any

from .. import lock
from ..contract import collecting, example, terms
from ..contract.cases import WORDS
from ..contract.ruling import Ruling
from ..contract.terms import WORD, Terms
from ..errors import BadInput, clean, say
from ..files import path_of, write_new, write_whole
from ..record.units import counted
from ..runs import folders
from ..runs.modes import SWEEP
from ..show import contract_page
from . import run

BAD_INPUT, CANNOT = 2, 4
SHA256 = re.compile(r"[0-9a-f]{64}")
EXAMPLES = """examples:
  linkmatrix contract freeze --example > lot1.yaml    a draft to write
  linkmatrix contract freeze lot1.yaml --out lot1.contract.json
  linkmatrix contract run lot1.contract.json --out lot1.tar
  linkmatrix contract run lot1.contract.json --out lot1.tar -- -S on=n12    options of ReFrame
  linkmatrix contract pack lot1.contract.json --out other/lot1.tar    where run could not write it
  linkmatrix contract verify lot1.tar --page lot1.html"""


class BehindDashes(argparse.ArgumentParser):
    """Gives what is behind -- to `more`: argparse does not where an option stands between the positionals and it."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's."""
        words = list(args or ())
        if "--" not in words or "more" not in [action.dest for action in self._actions]:
            return super().parse_known_args(words, namespace)
        at = words.index("--")
        found, rest = super().parse_known_args(words[:at], namespace)
        found.more = [*found.more, *words[at + 1 :]]
        return found, rest


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of `contract`."""
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description = EXAMPLES
    verbs = command.add_subparsers(required=True, metavar="VERB", parser_class=BehindDashes)
    freeze = verbs.add_parser("freeze", help="write limits, parts and test cases down, before the run")
    freeze.add_argument("draft", nargs="?", type=path_of, metavar="DRAFT", help="YAML; --example prints one")
    freeze.add_argument("--out", type=path_of, metavar="FILE", help="default: DRAFT with .contract.json")
    freeze.add_argument("--example", action="store_true", help="print a draft")
    freeze.set_defaults(command=run_freeze)
    measure = verbs.add_parser("run", help="measure under a contract, and pack the proof")
    measure.add_argument("contract", type=path_of, metavar="CONTRACT")
    measure.add_argument("--out", type=path_of, metavar="BUNDLE", help="default: CONTRACT with .tar; a page beside it")
    measure.add_argument("--timeout", type=float, default=24.0, metavar="HOURS", help="default: 24")
    measure.add_argument("--reframe", default="reframe", metavar="PROGRAM", help="default: reframe")
    measure.add_argument("more", nargs="*", metavar="OPTION", help="for reframe, behind --")
    measure.set_defaults(command=run_contract)
    pack = verbs.add_parser("pack", help="pack again what was measured, where run could not")
    pack.add_argument("contract", type=path_of, metavar="CONTRACT")
    pack.add_argument("--out", type=path_of, metavar="BUNDLE", help="default: CONTRACT with .tar; a page beside it")
    pack.set_defaults(command=run_pack)
    verify = verbs.add_parser("verify", help="judge a bundle again")
    verify.add_argument("bundle", type=path_of, metavar="BUNDLE")
    verify.add_argument("--sha256", metavar="HEX", help="of the bundle, as the signed page has it")
    verify.add_argument("--contract", type=path_of, metavar="FILE", help="that it must be of")
    verify.add_argument("--page", type=path_of, metavar="FILE", help="write the page to sign")
    verify.set_defaults(command=run_verify)


def run_freeze(options: argparse.Namespace) -> int:
    """Writes a contract; never over another one. Raises BadInput."""
    if options.example or options.draft is None:
        if not options.example:
            raise BadInput("name a draft: linkmatrix contract freeze --example prints one")
        print(example.EXAMPLE, end="")
        return 0
    out = options.out or options.draft.with_suffix(".contract.json")
    if out.exists():
        raise BadInput(f"{out} is there: a contract is frozen once; name another file with --out")
    frozen = terms.frozen(options.draft)
    write_new(out, frozen.content)
    parts, nodes = counted(len(frozen.parts), "part"), counted(len(frozen.nodes), "node")
    say(f"{out}: {frozen.title}: {parts} of {nodes}, {counted(len(frozen.cases), 'test case')}")
    say(f"frozen at {frozen.frozen}, SHA-256 {frozen.digest}")
    return 0


def run_contract(options: argparse.Namespace) -> int:
    """Measures, packs and prints the verdict. Raises BadInput."""
    contract, out = asked(options)
    prefix, known = folders.prefix(), set(folders.reports(folders.prefix()))
    begun: list[bool] = []

    def begins() -> None:
        collecting.begin(prefix, contract)
        begun.append(True)

    try:
        code = run.run_acceptance(run_options(contract, options), begins)
    except BadInput as error:
        if not begun or not collecting.under(prefix, contract, known):
            raise
        say(f"note: {error}: what was measured counts all the same")
        code = CANNOT
    new = collecting.under(prefix, contract, known) if begun else []
    if begun and not new and code == BAD_INPUT:  # ReFrame has said which
        collecting.withdrawn(prefix, contract)
    elif begun and not new:
        say(f"nothing was measured under {contract.title}: the run left no report, and is told in the bundle")
    if not new:
        return code or CANNOT
    try:
        collecting.ended(prefix, contract, new[-1])
        return packed(prefix, contract, out)
    except (OSError, lock.Held, KeyboardInterrupt):
        say(f"note: what was measured is kept: linkmatrix contract pack {shlex.quote(str(options.contract))} packs it")
        raise


def run_pack(options: argparse.Namespace) -> int:
    """Packs what `run` measured and could not write into a bundle, and prints the verdict. Raises BadInput."""
    contract, out = asked(options)
    prefix = folders.prefix()
    if not collecting.gathered(prefix, contract):
        raise BadInput(f"nothing was measured under {options.contract} in {prefix}: linkmatrix contract run measures")
    return packed(prefix, contract, out)


def asked(options: argparse.Namespace) -> tuple[Terms, Path]:
    """(the contract, where its bundle goes). Raises BadInput."""
    contract = terms.load(options.contract)
    out = options.out or options.contract.with_suffix("").with_suffix(".tar")
    refuse_place(out)
    return contract, out


def packed(prefix: Path, contract: Terms, out: Path) -> int:
    """Packs what was measured under a contract, and prints the verdict. Raises BadInput, OSError, lock.Held."""
    content, ruling = collecting.made(prefix, folders.repository(), contract)
    digest = hashlib.sha256(content).hexdigest()
    page = page_beside(out)
    shown = contract_page.page(contract, ruling, digest, out.name)
    write_new(out, content)
    first, *rest = lines(contract, ruling, digest)
    say(*([first] if ruling.simulated else []), "", "by the limits of the contract:")
    say(*([] if ruling.simulated else [first]), *rest, str(out))
    write_new(page, shown)
    say(str(page))
    return ruling.exit_code


def refuse_place(out: Path) -> None:
    """Raises BadInput where a bundle and its page cannot be written, or something is there: found before measuring."""
    if not out.name:
        raise BadInput(f"--out {out} is no name of a file: name a bundle, such as lot1.tar")
    page = page_beside(out)
    if page == out:
        raise BadInput(f"--out {out} is the name of its page: name a bundle, such as {out.with_suffix('.tar')}")
    for file in (out, page):
        if file.exists() or file.is_symlink():
            raise BadInput(f"{file} is there: it is proof, and is not written over; name another file with --out")
    if not out.parent.is_dir() or not os.access(out.parent, os.W_OK | os.X_OK):
        raise BadInput(f"{out.parent} is no folder that can be written: name another file with --out")


def page_beside(out: Path) -> Path:
    """The page of a bundle that was just made."""
    return out.with_suffix(".html")


def run_options(contract: Terms, options: argparse.Namespace) -> argparse.Namespace:
    """The options of `linkmatrix run` that measure under a contract."""
    command = argparse.ArgumentParser()
    run.add_options(command)
    words = [f"--mode={contract.mode}", f"--retries={contract.retries}", f"--timeout={options.timeout}"]
    words += [f"--system={contract.system}"] if contract.system else []
    words += [f"--nodes={','.join(contract.nodes)}"] if contract.mode == SWEEP else []
    words += [f"--reframe={options.reframe}", "--", f"--session-extras={WORD}{contract.digest}", *options.more]
    return command.parse_args(words)


def run_verify(options: argparse.Namespace) -> int:
    """Judges a bundle again, and says its verdict. Raises BadInput for one that is not as it was made."""
    if options.sha256 is not None and not SHA256.fullmatch(options.sha256.lower()):
        raise BadInput(f"--sha256 {options.sha256[:80]} is no SHA-256: copy its 64 digits from the signed page")
    for file in (options.bundle, options.contract):
        if options.page and file and options.page.resolve() == file.resolve():
            raise BadInput(f"--page {options.page} is {file} itself: name another file for the page")
    wanted = terms.load(options.contract).digest if options.contract else None
    contract, ruling, digest = collecting.verified(options.bundle)
    if options.sha256 is not None and options.sha256.lower() != digest:
        raise BadInput(f"{options.bundle} is not the bundle that was signed: its SHA-256 is {digest}")
    if wanted is not None and wanted != contract.digest:
        raise BadInput(
            f"{options.bundle} is of another contract, {contract.digest[:12]}, and not of {options.contract}"
        )
    if options.page:
        write_whole(options.page, contract_page.page(contract, ruling, digest, options.bundle.name))
    say(*lines(contract, ruling, digest))
    return ruling.exit_code


def lines(contract: Terms, ruling: Ruling, digest: str) -> list[str]:
    """The lines on a bundle in a terminal: a simulated fault first, the verdict last."""
    found = [line for line in (contract_page.simulated_line(ruling), contract_page.ignored_line(ruling)) if line]
    found += [f"contract {contract.title}, frozen {contract.frozen}, SHA-256 {contract.digest}"]
    found += [f"run {one['began']}: {one['verdict']} ({one['report']})" for one in ruling.runs]
    found += [
        f"retry: {one['test']}, attempt {one['attempt']}: {one['verdict']}: {one['reason']}" for one in ruling.retries
    ]
    for one in ruling.cases:
        row = contract_page.case_row(one)
        near = f"; nearest to its limit {row['limit']}: {row['worst']}" if one.worst else ""
        seen = f"; smallest deficit seen: {row['deficit']}" if row["deficit"] else ""
        found.append(f"{row['verdict']:10}  {row['testcase']}: {row['cells']} records{near}{seen}")
    found += [f"{WORDS[one.verdict]:10}  {one.sentence}" for one in ruling.reasons]
    step = "" if ruling.simulated else contract_page.STEPS[WORDS[ruling.verdict]]
    found += [f"Next step: {step}"] if step else []
    found += [f"bundle SHA-256 {digest}", f"{WORDS[ruling.verdict]}  {shlex.quote(contract.title)}"]
    return [clean(line) for line in found]
