"""The topics of findings with their next steps, and a finding as every output shows it."""

from __future__ import annotations

from dataclasses import dataclass

from ..judge.findings import NEXT
from ..judge.verdicts import Verdict
from ..locate.next_steps import KINDS, LADDER, Rung
from .words import NEXT_STEPS, WAIT

#: Topic of a finding → its steps, the most urgent topic first. {who}: the components or processes of that topic.
TOPICS: dict[str, tuple[str, ...]] = {
    "wrong data": (
        "Take the nodes of {who} out of service now: the data that arrives is not the data that was sent.",
        "Look for memory and link errors (dmesg, nvidia-smi -q -d ECC). Check the IOMMU and ACS settings. Then measure"
        " again.",
    ),
    "computes wrong": (
        "Take {who} out of service now: it computes wrong bits without reporting an error.",
        "Repeat the soak with {who} alone: p2p_matrix --soak 30m. Replace it if it computes wrong bits again.",
    ),
    "impossible": (
        "{who} is faster than its path can carry. Compare the link class in the record with nvidia-smi topo -m, and"
        " measure again.",
    ),
    "build": ("Fix the reason of the failed build, and run again. Nothing was measured, so no part is flagged.",),
    "not run": (
        "Fix what kept the job from running (scheduler, environment or node), and run again. Nothing was measured, so"
        " no part is flagged.",
    ),
    "aborted": ("Repeat the run: it ended early, because of a signal or a limit of ReFrame. No component is flagged.",),
    "options": ("Correct the options of the program, such as extra_opts, and run again.",),
    "busy": (f"Wait until the other processes end: {WAIT}",),
    "program": (
        "Read the last output of the program in the folder of its test, and run the test again. A run whose program"
        " failed cannot be PASS.",
    ),
    "gone": (
        "Check whether {who} is present: nvidia-smi -L or ibstat, and dmesg for a lost device or link.",
        "Restart the device or its node and measure again. Replace a device that still does not answer.",
    ),
    **{kind: LADDER[kind, Rung.AGAIN] for kind in ("device", "link", "adapter", "node", "host", "fabric")},
    "settings": (
        "Replace no component: {who} and other components are slow for a common reason. Measure again. If the result is"
        " the same, compare driver, BIOS, clocks and power limits with the runs of the references. linkmatrix history"
        " prints the changes.",
    ),
    **{kind: LADDER[kind, Rung.AGAIN] for kind in ("rank", "path")},
    "once": ("Measure {who} again, alone. A component that was slow once is not flagged.",),
    **{kind: (step,) for kind, step in NEXT.items()},
    "changed": (
        "Compare the path of {who} with that of the adopted runs: nvidia-smi topo -m, nvidia-smi nvlink -s, lspci -tv."
        " The system reports the link class, so noise does not explain the change.",
    ),
    "intermittent": (
        "Measure {who} again with short samples, alone, before you replace a component: p2p_matrix --short-samples 72."
        " Without short samples, the measurement can miss the fault.",
    ),
    "cell": (
        "Measure {who} again, alone, before you replace a component. No single component explains the slow cells.",
    ),
    "disturbed": (
        NEXT_STEPS[Verdict.DISTURBED],
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
    "odd": ("Give the different node the same configuration as the other nodes, then compare again.",),
    "throttled": (
        "Check temperature, power limit and clocks (nvidia-smi -q -d PERFORMANCE), then measure again: devices were"
        " throttled.",
    ),
    "samples": ("Measure again with more samples: linkmatrix measure --samples 31",),
    "noted": (),
}
WRONG_BITS = ("wrong data", "computes wrong")
SLOW = (*KINDS, "once", "cell", "gone", *WRONG_BITS)
#: topics that a run without references begins with
BEFORE_ASSESSMENT = (*SLOW, *NEXT, "settings", "changed", "intermittent", "disturbed")


@dataclass(frozen=True)
class Headline:
    """A finding of a run.

    topic: a row of `TOPICS`. who: the component or process by name, "" for none. where: the test cases that show it,
    the worst first. sure: the evidence for and against it. command: the next experiment, "" for none. weight: its
    deviation from comparable components, as a fraction. simulated: whether the fault was simulated. rung: how well the
    fault is confirmed.
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
