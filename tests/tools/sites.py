"""A simulated site: references in git, and reports of runs whose checks stored a verdict."""

import json
import os
import shutil
import subprocess
from datetime import datetime

import stored_verdicts

from linkmatrix.judge.test_verdict import CheckFacts
from linkmatrix.judge.verdicts import BY_WORD, Verdict


class Site:
    """A site in the working directory. The arguments are fixtures of tests/unit."""

    def __init__(self, tmp_path, monkeypatch, write_record, reference_folder):
        self.folder, self.elsewhere, self.monkeypatch = tmp_path / "site", tmp_path / "elsewhere", monkeypatch
        self.write_record, self.prefix = write_record, self.folder / "prefix"
        self.references = self.folder / "config" / "references"
        shutil.copytree(reference_folder, self.references)
        (self.folder / "config" / "settings.py").write_text("")
        (self.prefix / "reports").mkdir(parents=True)
        monkeypatch.chdir(self.folder)
        monkeypatch.setenv("LINKMATRIX_PREFIX", str(self.prefix))
        self.git("init", "--quiet")
        self.commit("2026-11-20T12:00:00Z")

    def git(self, *words, when=""):
        names = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when} if when else {}
        subprocess.run(["git", *words], cwd=self.folder, env={**os.environ, **names, **dates}, check=True)

    def commit(self, when):
        """Commit the references with one more comment."""
        with (self.references / "p2p.yaml").open("a") as file:
            file.write(f"# {when}\n")
        self.git("add", "config")
        self.git("commit", "--quiet", "-m", "references", when=when)

    def measure(self, number, day=21, table="hgx", reasons=(), attempts=(), notes=(), **changes):
        """Store a run of a day, and return its report. attempts: changes to the records of earlier attempts."""
        runs = []
        for at, of_attempt in enumerate([*attempts, changes]):
            place = self.prefix / "output" / f"{number}-{at}"
            record = json.loads(self.write_record(path=place / "record.json", **of_attempt).read_text())
            record |= {"started": f"2026-11-{day:02}T01:5{at}:22Z", "notes": [*record["notes"], *notes]}
            (place / "record.json").write_text(json.dumps(record))
            case = {"name": "intranode_p2p_0", "display_name": "intranode_p2p %testcase=0", "environ": "cuda"}
            case |= {"system": "node", "partition": "gpu", "reference_name": table, "run_index": at}
            case |= {"outputdir": str(place), "stagedir": str(place), "result": "pass"}
            content = stored_verdicts.store(case, self.references, CheckFacts(reasons=tuple(reasons)))
            if BY_WORD[content["verdict"]] >= Verdict.DISTURBED:
                case |= {"result": "fail", "fail_phase": "sanity"}
            runs.append({"testcases": [case]})
        began = datetime.fromisoformat(f"2026-11-{day:02}T01:50:00+00:00").timestamp()
        info = {"cmdline": "reframe -r", "time_start_unix": began, "uuid": f"session {number}"}
        report = self.prefix / "reports" / f"run-report-{number}.json"
        report.write_text(json.dumps({"session_info": info, "runs": runs}))
        return report

    def leave(self):
        """Remove the site, and change to an empty folder."""
        self.elsewhere.mkdir()
        self.monkeypatch.chdir(self.elsewhere)
        self.monkeypatch.setenv("LINKMATRIX_PREFIX", str(self.elsewhere))
        shutil.rmtree(self.folder)
