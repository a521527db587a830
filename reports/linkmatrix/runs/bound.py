"""Names of hosts, and whether a test case leaves a record where its check stored no verdict."""

import re
from collections.abc import Mapping
from typing import Any

SKEW = 900.0  # seconds that the clocks of a cluster may differ


def measures(case: Mapping[str, Any]) -> bool:
    """Does a test case leave a record? What it is to keep is an option of its user's, and says only that it does."""
    return (
        "record.json" in case.get("keep_files", ["record.json"])
        or "--record" in (case.get("executable_opts") or [])
        or bool(case.get("testcase"))
    )


def why_no_record(case: Mapping[str, Any]) -> str:
    """Why there is none of a test case that should have left one, in a sentence."""
    if case["result"] == "pass" and "record.json" not in case.get("keep_files", ["record.json"]):
        return "its record.json was not kept, so nothing was judged: leave keep_files as it is"
    return "there is no record.json of this test case: it did not get as far as measuring"


def short(host: str) -> str:
    """A host's name without its domain; an address, which some have for a name, whole."""
    return host if re.fullmatch(r"[0-9.]+", host) else host.partition(".")[0]
