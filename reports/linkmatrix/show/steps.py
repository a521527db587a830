"""The steps that follow a verdict and its findings, the same in the terminal, on the page and in `linkmatrix run`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..judge import few, intermittent
from ..judge.evaluate import MatrixVerdict
from ..judge.findings import NEXT
from ..judge.verdicts import Verdict
from ..locate.ladder import LADDER, Rung
from ..locate.sentences import listed
from ..record.reading import Result
from ..runs.judging import Judged
from ..suite import REFUSED_OPTIONS
from . import words
from .notices import records_of, simulated_line
from .other_processes import disturbing

MOST_TOPICS = 3  # the most urgent topics, whose steps are shown
#: Topic of a finding → its steps, the most urgent topic first. {who}: the components or processes of that topic.
TOPICS: dict[str, tuple[str, ...]] = {
    "wrong data": (
        "Take the nodes of {who} out of service now: the data that arrives is not the data that was sent.",
        "Look for memory and link errors (dmesg, nvidia-smi -q -d ECC), and at IOMMU and ACS. Then measure again.",
    ),
    "computes wrong": (
        "Take {who} out of service now: it computes wrong bits without reporting an error.",
        "Heat {who} again, alone (p2p_matrix --soak). Replace it if it computes wrong bits again.",
    ),
    "impossible": (
        "Do not trust {who} yet: it was faster than its path can be. Check that the link is the one in the record"
        " (nvidia-smi topo -m), and measure again.",
    ),
    "build": ("Fix the reason of the failed build, and run again. Nothing was measured, so no part is flagged.",),
    "not run": (
        "Fix what kept the job from running (scheduler, environment or node), and run again. Nothing was measured, so"
        " no part is flagged.",
    ),
    "aborted": ("Repeat the run: it ended early, because of a signal or a limit of ReFrame. No part is flagged.",),
    "options": ("Correct the options of the program, such as extra_opts, and run again.",),
    "busy": (f"Wait until the other processes end: {words.WAIT}",),
    "program": (
        "Read what the program printed last, in the folder of its test, and run it again. A run that does not end well"
        " is no PASS, whatever it measured before.",
    ),
    "gone": (
        "Check whether {who} is present: nvidia-smi -L or ibstat, and dmesg for a lost device or link.",
        "Restart the device or its node and measure again. Replace a device that still does not answer.",
    ),
    **{kind: LADDER[kind, Rung.AGAIN] for kind in ("device", "link", "adapter", "node", "host", "fabric")},
    "settings": (
        "Replace no part: others are slow for the same reason as {who}. Measure again. If the result is the same,"
        " compare driver, BIOS, clocks and power limits with those of the runs that the references come from"
        " (linkmatrix history names the changes).",
    ),
    **{kind: LADDER[kind, Rung.AGAIN] for kind in ("rank", "path")},
    "once": ("Measure {who} again, alone. A component that was slow once is not flagged.",),
    **{kind: (step,) for kind, step in NEXT.items()},
    "changed": (
        "Compare the path of {who} with that of the adopted runs: nvidia-smi topo -m, nvidia-smi nvlink -s, lspci -tv."
        " The system reports the link class, so noise does not explain the change.",
    ),
    "intermittent": (
        "Measure {who} again with short samples, alone, before a part is replaced: --short-samples 72 of p2p_matrix."
        " Without short samples, the measurement can miss the fault.",
    ),
    "cell": ("Measure {who} again, alone, before a part is replaced. No single part explains the slow cells.",),
    "disturbed": (
        f"Ask the owner of {{who}} to stop it, or wait for its end, 10 minutes at most: {words.WAIT}",
        "List a daemon of the node in ignored_processes of the partition.",
    ),
    "references": (
        "Adopt references for these test cases: linkmatrix baseline",
        "Or name another table: 'reference' in the partition's extras.",
    ),
    "missing": ("Find out why {who} has no value, then measure again. A PASS needs every cell.",),
    "skipped": (
        "Check the reason of each skipped test: a skipped test is no PASS. If the reason is wrong, compare the"
        " partition in config/systems with linkmatrix detect --dry-run. If the reason is right, leave the test out:"
        " -x NAME of ReFrame, or linkmatrix run --manifest REASON.",
    ),
    "no pair": (
        "Measure with more endpoints, or choose test cases that need one endpoint, such as copies inside a device."
        " linkmatrix measure chooses what fits this machine.",
    ),
    "counters": ("Check the device and its links before use (dmesg, nvidia-smi -q): their error counters rose.",),
    "odd": ("Give the different node the same configuration as the others, then compare again.",),
    "throttled": (
        "Check temperature, power limit and clocks (nvidia-smi -q -d PERFORMANCE), then measure again: devices were"
        " throttled.",
    ),
    "samples": ("Measure again with more samples: linkmatrix measure --samples 31",),
    "noted": (),
}
GET_REFERENCES = words.NEXT_STEPS[Verdict.NOT_JUDGED]
#: An import is of another machine or time, so runs of this machine judge nothing in it.
COMPARE_IMPORT = (
    "Compare the import with a run or another import of the same machine: linkmatrix compare IMPORT --against OTHER"
)
CHOOSE = (
    "Choose existing tests: reframe -C config/settings.py -c checks -R -l lists them, and linkmatrix measure chooses"
    " what fits this machine."
)
FIRST = "Measure the slow part again, alone, before you adopt references."
SIMULATED = "No part is faulty: the fault was simulated. Measure without --simulate-fault."
WRONG_BITS = ("wrong data", "computes wrong")
SLOW = (
    "device",
    "link",
    "adapter",
    "node",
    "host",
    "fabric",
    "rank",
    "path",
    "once",
    "cell",
    "gone",
    "wrong data",
    "computes wrong",
)
#: topics that a run without references begins with
BEFORE_ASSESSMENT = (*SLOW, *NEXT, "settings", "changed", "intermittent", "disturbed")


@dataclass(frozen=True)
class Headline:
    """A finding of a run.

    topic: a row of `TOPICS`. who: the component or process by name, "" for none. where: the test cases that show it,
    the worst first. sure: the evidence for and against it. command: the next experiment, "" for none. weight: how far
    it is from its like. simulated: of a record with a simulated fault. rung: how well the fault is confirmed.
    """

    verdict: Verdict
    topic: str
    text: str
    who: str = ""
    where: tuple[str, ...] = ()
    sure: tuple[str, ...] = ()
    command: str = ""
    weight: float = 0.0
    simulated: bool = False
    rung: Rung = Rung.AGAIN

    @property
    def order(self) -> tuple[int, int, float]:
        """The key for sorting, most urgent first."""
        return -self.verdict, list(TOPICS).index(self.topic), -self.weight


def steps(verdict: Verdict, judged: list[Judged], found: Sequence[Headline]) -> list[str]:
    """What to do now, in order; nothing after a PASS. The step after a simulated fault is to leave it out."""
    if verdict is Verdict.PASS:
        return []
    simulated, found = bool(simulated_line(records_of(judged))), [one for one in found if not one.simulated]
    if simulated and not found:
        return [SIMULATED]
    wanting = words.only_references_missing(judged) and not simulated
    lines = [FIRST] if wanting and any(one.topic in SLOW for one in found) else []
    said = {"program"} if failed_by_data(judged, found) else set()
    said |= {"skipped"} if wanting or any(one.topic == "build" for one in found) else set()
    topics = list(dict.fromkeys(one.topic for one in found if TOPICS[one.topic] and one.topic not in said))
    if not topics and not wanting and not judged:
        return [CHOOSE]
    if not topics and nothing_measured(verdict, judged):  # and no reason is known
        return list(TOPICS["not run"])
    for topic in topics[:MOST_TOPICS]:
        of_topic = [one for one in found if one.topic == topic]
        for rung in sorted({one.rung for one in of_topic}, reverse=True):
            named = dict.fromkeys(one.who for one in of_topic if one.rung == rung and one.who)
            who = listed(list(named)) or "it"
            told = [text.replace("{who}", who) for text in LADDER.get((topic, rung), TOPICS[topic])]
            # FIRST already has the measurement again
            is_said = rung is Rung.AGAIN and lines and lines[0] == FIRST and topic in SLOW
            lines += told[1:] if is_said else told
    lines += [COMPARE_IMPORT if are_imports(judged) else GET_REFERENCES] if wanting else []
    return list(dict.fromkeys([*([SIMULATED] if simulated else []), *lines]))


def failed_by_data(judged: Iterable[Judged], found: Iterable[Headline]) -> bool:
    """Whether bits are wrong and each program ended well, so that its output adds nothing."""
    ended = all(one.test.record is not None and one.test.record["result"] in ("PASS", "FAIL") for one in judged)
    return ended and any(one.topic in WRONG_BITS for one in found)


def are_imports(judged: Sequence[Judged]) -> bool:
    """Whether `linkmatrix import` wrote all records. Records of other programs in a run have a partition."""
    tests = [one.test for one in judged]
    return bool(tests) and all(
        test.record is not None and test.record["backend"] == "imported" and not test.partition for test in tests
    )


def nothing_measured(verdict: Verdict, judged: Iterable[Judged]) -> bool:
    """Whether the run is INCOMPLETE and no cell has a value."""
    return verdict is Verdict.INCOMPLETE and not any(words.has_values(of) for one in judged for of, _ in one.matrices)


def answer(verdict: Verdict, judged: list[Judged]) -> list[str]:
    """What the verdict means for this run, and what was not measured, in sentences."""
    rest, unseen = words.left_out(judged), links_unseen(judged)
    told = [meaning(verdict, judged)]
    told += [f"Not measured, for a budget: {', '.join(rest)}."] if rest else []
    told += [f"Of {'; '.join(unseen)}."] if unseen else []
    measured = ((one.test.record, result) for one in judged for result, _ in measured_here(one))
    return told + intermittent.detection_power(measured)


def measured_here(one: Judged) -> Sequence[tuple[Result, MatrixVerdict]]:
    """The matrices of a test that the programs of linkmatrix measured."""
    return () if one.test.record is None or one.test.record["backend"] == "imported" else one.matrices


def next_step(verdict: Verdict, judged: Sequence[Judged], found: Sequence[Headline] = ()) -> list[str]:
    """ "Next step: …", the same words in every output; nothing for PASS and for a simulated fault."""
    step = "" if simulated_line(records_of(judged)) else words.next_step(verdict, disturbing(judged))
    if verdict is Verdict.NOT_JUDGED and are_imports(judged):
        step = "" if all(one.is_of_state for one in judged) else COMPARE_IMPORT
        step = next((text.replace("{who}", one.who) for one in found for text in TOPICS[one.topic]), step)
    if verdict is Verdict.NOT_JUDGED and any(one.topic in SLOW and not one.simulated for one in found):
        step = FIRST
    if verdict is Verdict.INCOMPLETE and any(REFUSED_OPTIONS in line for one in judged for line in one.reasons):
        step = TOPICS["options"][0]
    return [f"Next step: {step}"] if step else []


def links_unseen(judged: Iterable[Judged]) -> list[str]:
    """ "node_to_node_bandwidth_mpi 0.4 % of pairs seen: links not judged", of matrices of few matchings."""
    said = {result["testcase"]: few.coverage(result) for one in judged for result, _ in one.matrices}
    return [f"{name} {share}" for name, share in said.items() if share]


def meaning(verdict: Verdict, judged: list[Judged]) -> str:
    """What the verdict means for what this run measured."""
    some = words.left_out(judged) or any(words.has_nothing_to_do(one) for one in judged)
    good = "What was measured is verified" if some else "Everything was measured and verified"
    if compared := words.compared_share(result for one in judged for result, _ in one.matrices):
        good += f" ({compared})"
    matrices = [matrix for one in judged for _, matrix in one.matrices]
    if judged and all(one.is_of_state for one in judged):
        return "Nothing was measured. Connections and states were compared with each other."
    if nothing_measured(verdict, judged):
        return "Nothing was measured, so there is nothing to judge."
    if verdict <= Verdict.WARN and not matrices:
        rest = ": read the lines marked WARN." if verdict else ", and the checks passed."
        return f"Nothing was to be measured{rest}"
    if verdict is Verdict.PASS:
        held = any(matrix.held for matrix in matrices)
        return f"{good}, and {'all cells are inside their references' if held else 'no cell needs a reference'}."
    if words.only_references_missing(judged):
        return f"{good}. {lacking(matrices)}"
    unverified = words.unverified(judged)
    if verdict is Verdict.NOT_JUDGED and unverified:
        no_reference = f" {lacking(matrices)}" if any(matrix.unjudged for matrix in matrices) else ""
        return f"The data of {listed(unverified)} was not verified.{no_reference}"
    return OF_VERDICT[verdict]


OF_VERDICT = {
    Verdict.WARN: "All cells are inside their references. Read the lines marked WARN.",
    Verdict.NOT_JUDGED: "The measured data is verified. No reference describes the measurement.",
    Verdict.DISTURBED: "Another process used the node, and cells are outside. No part is flagged.",
    Verdict.INCOMPLETE: "The run has no result, because the listed items are missing.",
    Verdict.FAIL: "Each failure is listed with its reason.",
}


def lacking(matrices: Sequence[MatrixVerdict]) -> str:
    """How many cells have no reference, or have one that does not describe them."""
    held, count = sum(matrix.held for matrix in matrices), sum(sum(matrix.counts.values()) for matrix in matrices)
    if not held:
        return "There are no references to compare with."
    if held < count:
        return f"References exist for only {held} of {count} cells."
    outside = sum(matrix.counts[Verdict.NOT_JUDGED] for matrix in matrices)
    return f"The references do not describe {outside} of {count} cells, which are better than their tolerance."
