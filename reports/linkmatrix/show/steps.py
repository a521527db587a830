"""What to do now, by the verdict and by what was found, for the terminal, the page and `linkmatrix run` alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..judge import few
from ..judge.verdicts import Verdict
from ..locate.sentences import listed
from ..runs.judging import Judged
from . import words

MOST_TOPICS = 3  # of which it is said what to do: the most urgent
ALONE = "Measure {who} again, alone, before a part is replaced: what stays slow beside healthy ones is at fault."
#: Topic of a finding → what to do about it, the most urgent topic first. {who}: the parts of that topic.
TOPICS: dict[str, tuple[str, ...]] = {
    "wrong data": (
        "Take the nodes of {who} out of service now: what arrives is not what was sent, and jobs compute with it.",
        "Look for errors of memory and links (dmesg, nvidia-smi -q -d ECC), and at IOMMU and ACS; then measure again.",
    ),
    "computes wrong": (
        "Take {who} out of service now: it computes wrong bits in silence, and jobs take them for results.",
        "Heat it again, alone (p2p_matrix --soak): one that does so again is to be replaced.",
    ),
    "impossible": (
        "Believe nothing of {who} yet, which was faster than its path can be: see that the link is the one that the"
        " record names (nvidia-smi topo -m), and measure again.",
    ),
    "build": (
        "Read the end of the build's output, mend what it names, and run it again: nothing was measured, so no part is"
        " suspect.",
    ),
    "not run": (
        "Mend what kept the job from running (scheduler, environment or node), and run it again: no part is suspect"
        " before it was measured.",
    ),
    "program": (
        "Read what the program printed last, in the folder of its test: it did not end well, so that its run is"
        " no PASS, whatever it measured by then. Run it again.",
    ),
    "gone": (
        "See whether {who} is there at all: nvidia-smi -L or ibstat, and dmesg for a device or link that was lost.",
        "Restart the device or its node and measure again; what stays without an answer is to be replaced.",
    ),
    "device": (
        ALONE,
        "Look at {who}: dmesg for Xid errors, nvidia-smi -q -d PERFORMANCE,ECC for what holds it back, nvidia-smi"
        " nvlink -e for errors of its links.",
        "If it stays slow, reseat it, then swap it with a good one: a fault that goes with it is the part's, one that"
        " stays is the slot's.",
    ),
    "link": (
        ALONE,
        "Look at both ends of {who}: over NVLink nvidia-smi nvlink -s and -e, over PCIe lspci -vv (LnkSta) for width"
        " and speed.",
        "If it stays slow, swap one end with a good device: a fault that goes with it is the part's, one that stays is"
        " the place's.",
    ),
    "adapter": (
        ALONE,
        "Look at {who}: ibstat or ethtool for state and rate, its error counters, lspci -vv (LnkSta) for width and"
        " speed.",
        "If it stays slow, exchange its cable, then its switch port, with those of a good one: what the fault goes with"
        " is at fault.",
    ),
    "node": (
        ALONE,
        "Compare {who} with a good node: what else runs there, BIOS, driver and firmware, clocks, IOMMU and ACS.",
        "If it stays slow, keep jobs away from it until it passes: linkmatrix export --format slurm-exclude.",
    ),
    "host": (
        ALONE,
        "Compare the host with a good one: width and speed of its PCIe switches (lspci -vv), memory channels and their"
        " speed, power limits, NUMA and BIOS settings.",
    ),
    "fabric": (
        ALONE,
        "Look at the switches on the way of {who}: rates and error counters of their ports, number of uplinks,"
        " routing.",
    ),
    "settings": (
        "No part is to be replaced for it, as all of {who} are slow alike: compare driver, BIOS, clocks and power"
        " limits with those of the runs that the references are from (linkmatrix history names what changed).",
    ),
    "rank": (
        "Measure {who} again, alone: what stays slow beside healthy ones is at fault.",
        "Look at where it ran: what else uses its cores and memory, to which cores it was bound, their clocks.",
    ),
    "path": (
        "Measure {who} again, alone: what stays slow beside healthy ones is at fault.",
        "Look at what is between them: state and rate of the adapters, error counters, routing.",
    ),
    "once": ("Measure {who} again, alone: it was seen once, and nothing is suspected before it is seen again.",),
    "cell": ("Measure {who} again, alone, before a part is replaced: no part explains it.",),
    "busy": (
        "End what others run there, or let it wait for them: -S wait_idle=SECONDS of ReFrame, --wait-idle SECONDS of"
        " each program. Then measure again: what stays slow without them is at fault.",
    ),
    "missing": ("Find out why {who} has no value, as its reason says, and measure it again: a pass needs every cell.",),
    "skipped": (
        "A skipped test is no pass. Where its reason is wrong, compare the partition in config/systems with what"
        " linkmatrix detect --dry-run finds here. Where it is right, leave the test out: -x NAME of ReFrame; of"
        " linkmatrix run, --manifest REASON says what may be skipped from then on.",
    ),
    "no pair": (
        "One endpoint makes no pair: measure with more of them, or what one has by itself, as copies inside it and with"
        " its host. linkmatrix measure chooses what fits this machine.",
    ),
    "counters": ("Errors were counted: look at the device and its links (dmesg, nvidia-smi -q) before it is used.",),
    "odd": ("Give the odd node what the others have, before figures are compared.",),
    "throttled": (
        "Devices were held back: look at temperature, power limit and clocks (nvidia-smi -q -d PERFORMANCE), then"
        " measure again.",
    ),
    "samples": (
        "Where medians are less sure than asked for, measure on a quiet machine, or with more samples:"
        " -S extra_opts=--samples,31 of ReFrame, behind the -- of linkmatrix measure or run; --samples 31 of the"
        " program.",
    ),
    "noted": (),
}
REFERENCES = (
    "To get references, measure six times, then linkmatrix adopt --table NAME --write. A run is held against them by"
    " linkmatrix show --reference NAME, and each from then on by 'reference': NAME in the partition's extras, in"
    " config/systems."
)
CHOOSE = (
    "Choose tests that there are: reframe -C config/settings.py -c checks -R -l lists them, and linkmatrix measure"
    " chooses what fits this machine."
)
FIRST = "Measure what was found again, alone, before anything is adopted."
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


@dataclass(frozen=True)
class Headline:
    """A finding of a run.

    topic: a row of `TOPICS`. who: the part, by name, "" for none. where: the test cases that show it, the worst
    first. sure: what speaks for it and against it. command: the next experiment, "" for none. weight: how much it
    stands out among its like.
    """

    verdict: Verdict
    topic: str
    text: str
    who: str = ""
    where: tuple[str, ...] = ()
    sure: tuple[str, ...] = ()
    command: str = ""
    weight: float = 0.0

    @property
    def order(self) -> tuple[int, int, float]:
        """From first to last."""
        return -self.verdict, list(TOPICS).index(self.topic), -self.weight


def steps(verdict: Verdict, judged: list[Judged], found: Sequence[Headline]) -> list[str]:
    """What to do now, in order; nothing where all is as it should be."""
    wanting = verdict is Verdict.INCOMPLETE and bool(judged) and words.only_references_missing(judged)
    lines = [FIRST] if wanting and any(one.topic in SLOW for one in found) else []
    said = {"skipped"} if wanting else {"program"} if failed_by_data(judged, found) else set()
    topics = list(dict.fromkeys(one.topic for one in found if TOPICS[one.topic] and one.topic not in said))[
        :MOST_TOPICS
    ]
    if not topics and nothing_measured(verdict, judged):  # and nobody said why
        return list(TOPICS["not run"]) if judged else [CHOOSE]
    for topic in topics:
        named = dict.fromkeys(one.who for one in found if one.topic == topic and one.who)
        who = listed(list(named)) or "it"
        told = [text.replace("{who}", who) for text in TOPICS[topic]]
        # before anything is adopted it is measured again anyway
        lines += told[1:] if lines and lines[0] == FIRST and topic in SLOW and len(told) > 1 else told
    return list(dict.fromkeys([*lines, *([REFERENCES] if wanting else [])]))


def failed_by_data(judged: Iterable[Judged], found: Iterable[Headline]) -> bool:
    """Did each program end as it should where bits are wrong, so that what it printed tells no more than these do?"""
    ended = all(one.test.record is not None and one.test.record["result"] in ("PASS", "FAIL") for one in judged)
    return ended and any(one.topic in WRONG_BITS for one in found)


def nothing_measured(verdict: Verdict, judged: Iterable[Judged]) -> bool:
    """Is there no verdict, and no value of which there could be one?"""
    return verdict is Verdict.INCOMPLETE and not any(words.has_values(of) for one in judged for of, _ in one.matrices)


def assessment(verdict: Verdict, judged: list[Judged]) -> str:
    """What a verdict means here, in a sentence or two."""
    rest, unseen = words.left_out(judged), links_unseen(judged)
    said = meaning(verdict, judged) + (f" Not measured, for a budget: {', '.join(rest)}." if rest else "")
    return said + (f" Of {'; '.join(unseen)}." if unseen else "")


def links_unseen(judged: Iterable[Judged]) -> list[str]:
    """ "node_to_node_bandwidth_mpi 0.4 % of pairs seen: links not judged", of matrices of few matchings."""
    said = {result["testcase"]: few.coverage(result) for one in judged for result, _ in one.matrices}
    return [f"{name} {share}" for name, share in said.items() if share]


def meaning(verdict: Verdict, judged: list[Judged]) -> str:
    """The same of what was measured."""
    some = words.left_out(judged) or any(words.has_nothing_to_do(one) for one in judged)
    good = "What was measured is verified" if some else "Everything was measured and verified"
    if nothing_measured(verdict, judged):
        return "Nothing was measured, so there is nothing to judge."
    if verdict <= Verdict.WARN and not any(one.matrices for one in judged):
        rest = ": look at what is marked WARN." if verdict else ", and the checks passed."
        return f"Nothing was to be measured{rest}"
    if verdict is Verdict.PASS:
        held = any(matrix.held for one in judged for _, matrix in one.matrices)
        return f"{good}, and {'is as the references say' if held else 'nothing of it needs a reference'}."
    if verdict is Verdict.WARN:
        return "All cells are within their limits, but look at what is marked WARN."
    if verdict is Verdict.FAIL:
        return "Each failure is listed with its reason."
    if words.only_references_missing(judged):
        matrices = [matrix for one in judged for _, matrix in one.matrices]
        held, count = sum(matrix.held for matrix in matrices), sum(sum(matrix.counts.values()) for matrix in matrices)
        lacks = f"there are references for only {held} of {count} cells" if held else "there are no references"
        return f"{good}; {lacks}{'' if held else ' to hold it against'}."
    return "Something is missing, as listed: without it there is no verdict."
