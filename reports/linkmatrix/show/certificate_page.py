"""The page of a certificate: one page to print and to sign."""

from ..judge.disturbances import ignored
from ..judge.verdicts import WORDS, Verdict
from ..runs.certificate import Certificate
from . import html, words


def render(one: Certificate) -> str:
    """The page as HTML."""
    bundle, judged = one.bundle, one.judged
    records = words.records_of(judged)
    software = dict.fromkeys(f"{name} {version}" for record in records for name, version in record["software"].items())
    programs = dict.fromkeys(f"{record['program']} {record['version']}" for record in records)
    processes = dict.fromkeys(process for record in records for process in ignored(record))
    unreported = [("", "no report", WORDS[Verdict.INCOMPLETE], sentence) for sentence in bundle.unreported]
    return html.rendered(
        "certificate.html",
        "certificate.css",
        title=words.title(judged),
        simulated=words.simulated_line(records),
        word=WORDS[one.verdict],
        glyph=words.GLYPHS[one.verdict],
        tally=words.tally(list(judged)),
        step=words.next_step(one.verdict),
        reasons=[(WORDS[reason.verdict], reason.sentence) for reason in one.reasons],
        facts=[
            ("Measured", one.began.replace("T", " ").replace("Z", " UTC") or "unknown"),
            ("References", ", ".join(dict.fromkeys(each.reference for each in judged if each.reference)) or "none"),
            ("Committed", " ".join(bundle.frozen.get(name, "") for name in ("time", "commit")).strip() or "no"),
            ("Suite", ", ".join(f"{name} {version}" for name, version in bundle.versions.items())),
            ("Software", ", ".join([*programs, *software]) or "unknown"),
            ("Ignored processes", ", ".join(processes) or "none"),
        ],
        nodes=one.nodes,
        attempts=[*one.attempts, *unreported],
        waivers=one.waivers,
        not_covered=one.not_covered,
        name=bundle.path.name,
        sha256=bundle.sha256,
    )
