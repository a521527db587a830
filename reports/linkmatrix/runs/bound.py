"""Whether a record is that of a test case, in reports of earlier versions: by its check, its hosts and its time.

Since verdicts are stored, a report contains digests instead.

The folders of ReFrame are those of a session, and its report names them; but a copy, a stage folder that stayed or a
clock that is wrong puts another record there. Node lists are a scheduler's word, and some give none or the first node
alone: only one that has none of the record's hosts says something.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timezone
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


def others(case: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """Why a record is of another run than this test case, each a sentence."""
    found = []
    name, asked = str(case.get("display_name") or case["name"]), record["asked_by"]
    if asked not in (None, name):
        found.append(f"the record.json there is of the check '{asked}', not of this one")
    nodes = {short(node) for node in case.get("job_nodelist") or []}
    hosts = {short(record["host"]["name"]), *(short(node["name"]) for node in record["nodes"])}
    hosts |= {short(device["node"]) for device in record["devices"]}
    if nodes and not nodes & hosts:
        found.append(
            f"the record.json there is of {', '.join(sorted(hosts))}, and the job ran on {', '.join(sorted(nodes))}"
        )
    return found


def doubts(case: Mapping[str, Any], session: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    """Why a record may be of another run though check and hosts are the same: its time."""
    submitted = case.get("job_submit_time") or session.get("time_start_unix")
    ended = case.get("job_completion_time_unix") or session.get("time_end_unix")
    began = datetime.fromisoformat(record["started"].replace("Z", "+00:00")).timestamp()
    early = submitted is not None and began < float(submitted) - SKEW
    late = ended is not None and began > float(ended) + SKEW
    if not early and not late:
        return []
    what = (
        f"before its job was submitted at {moment(submitted)}" if early else f"after its job ended at {moment(ended)}"
    )
    return [
        f"its record says that it began at {record['started']}, {what}: the clock of {record['host']['name']} is wrong,"
        " or the record is of another run"
    ]


def moment(seconds: Any) -> str:
    """Seconds since 1970 as a time."""
    return f"{datetime.fromtimestamp(float(seconds), timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def short(host: str) -> str:
    """A host's name without its domain; an address, which some have for a name, whole."""
    return host if re.fullmatch(r"[0-9.]+", host) else host.partition(".")[0]
