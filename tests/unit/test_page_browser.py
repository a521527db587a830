"""The page in a real browser, where there is one: nothing is refused, it is dark where it should be, and it prints."""

import importlib.util
import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest
from adapter_records import with_adapters

from linkmatrix.cli import main
from linkmatrix.references.tables import References
from linkmatrix.runs import judging, testcases
from linkmatrix.runs.stored import Run
from linkmatrix.show import page
from linkmatrix.show.analysis import Analysis

pytestmark = pytest.mark.thorough

LIMIT = 120  # seconds for a start of the browser
DATA = Path(__file__).resolve().parents[1] / "data"
NARROW = 320  # pixels that WCAG 2.1, success criterion 1.4.10, wants a page to fit
#: of whatever a page loads: it may load nothing
POLICY = re.compile(r"<meta http-equiv=.Content-Security-Policy.[^>]*>")
#: tells who shows the page what there is to say of it, which no script of the page itself may
ASKED = """
<script>{axe}</script>
<script>addEventListener("load", async () => {{
  const root = document.documentElement, of = {{resultTypes: ["violations"]}};
  const found = (await axe.run(document, of)).violations.map(one => one.id + ": " + one.nodes[0].html);
  const box = one => one.getBoundingClientRect();
  const parts = ".topology .device, .topology .adapter, .topology .switch";
  const boxes = [...document.querySelectorAll(parts)];
  const spilled = [...document.querySelectorAll(".topology text.middle:not(.label)")].filter(one => !boxes.some(of =>
    box(of).left <= box(one).left && box(one).right <= box(of).right && box(of).top <= box(one).top
    && box(one).bottom <= box(of).bottom + 1)).map(one => one.textContent);
  parent.postMessage({{wider: root.scrollWidth - root.clientWidth, found, spilled}}, "*");
}})</script>
"""
SHOWN = """<!DOCTYPE html><title>shown</title><pre>nothing was said</pre>
<script>onmessage = one => document.querySelector("pre").textContent = JSON.stringify(one.data)</script>
<iframe src="asked.html" width="{width}" height="900"></iframe>
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Opens a file with further options: what the browser did."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("there is no chromium to open the page with")
    profile = tmp_path_factory.mktemp("profile")
    quiet = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--enable-logging=stderr")
    alone = ("--disable-background-networking", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND")
    fixed = (program, "--headless", *quiet, *alone, f"--user-data-dir={profile}", "--window-size=1280,900")

    def opened(path, *options):
        command = [*fixed, *options, path.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)

    blank = profile / "blank.html"
    blank.write_text("<!DOCTYPE html><title>blank</title><p>it starts</p>")
    if "it starts" not in opened(blank, "--dump-dom").stdout:
        pytest.skip(f"{program} does not start here")
    return opened


@pytest.fixture
def report(write_record, tmp_path):
    """The page of a matrix with a slow row."""
    path = write_record(count=8, off={(3, column): 352.4 for column in range(8) if column != 3})
    main(["report", str(path), "--out", str(tmp_path / "out")])
    return tmp_path / "out" / "report.html"


def corner(picture):
    from PIL import Image

    return sum(Image.open(picture).convert("RGB").getpixel((3, 3))) / 3


def test_the_browser_refuses_nothing_of_it_and_says_nothing(browser, report):
    done = browser(report, "--dump-dom")
    assert done.returncode == 0 and "gpu3 sends" in done.stdout
    assert "CONSOLE" not in done.stderr, done.stderr


def test_it_is_light_or_dark_as_the_system_is_and_prints_in_either(browser, report, tmp_path):
    for name, options in (("light", ()), ("dark", ("--blink-settings=preferredColorScheme=0",))):
        browser(report, *options, f"--screenshot={tmp_path / name}.png")
        browser(report, *options, f"--print-to-pdf={tmp_path / name}.pdf")
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF-")
    assert corner(tmp_path / "light.png") > 250 and corner(tmp_path / "dark.png") < 60


@pytest.fixture
def asked(browser, tmp_path):
    """A function that says of a page how much wider it is than a window, and what axe has against it."""
    spec = importlib.util.find_spec("axe_core_python")
    axe = (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")

    def answers(path, width):
        text = POLICY.sub("", path.read_text(encoding="utf-8"))
        asking = text.replace("</body>", ASKED.format(axe=axe) + "</body>")
        assert len(asking) > len(text), "the page has changed, and nothing is asked of it"
        (tmp_path / "asked.html").write_text(asking, encoding="utf-8")
        (tmp_path / "shown.html").write_text(SHOWN.format(width=width), encoding="utf-8")
        done = browser(tmp_path / "shown.html", "--dump-dom", "--virtual-time-budget=60000")
        return json.loads(unescape(re.search("<pre>(.*?)</pre>", done.stdout, re.DOTALL)[1]))

    return answers


@pytest.mark.parametrize("name", ["h200x4_gate_failed", "h200x2_collectives", "cpu16_ranks_storm", "h200x4_sweep"])
def test_a_page_fits_a_narrow_window_and_axe_has_nothing_against_it(asked, tmp_path, name):
    """Its tables and pictures scroll by themselves; of the page, half of each line was out of sight."""
    main(["report", str(DATA / f"{name}.record.json"), "--out", str(tmp_path / "out")])
    assert asked(tmp_path / "out" / "report.html", NARROW) == {"wider": 0, "found": [], "spilled": []}


def test_why_a_test_was_skipped_is_whole_in_sight(browser, tmp_path):
    """The reason stood on one line, most of it beyond the edge of the table."""
    reason = "skipped: osu_bw is not installed on vm: put it on PATH, load its module in the environment default"
    test = testcases.Test(name="peer_osu %testcase=osu_bw_hh", result="skip", reason=reason * 2, partition="node:gpu")
    run = Run(path=tmp_path / "run-report-0.json", tests=(test,), rerun="reframe -r")
    judged = judging.judge_all(run, References({}), None)
    text = POLICY.sub("", page.render(Analysis(run, judged), lambda *_: b""))
    script = """<script>addEventListener("load", () => {
      const around = document.querySelector(".overview").parentElement;
      document.body.textContent = "beyond the edge: " + (around.scrollWidth - around.clientWidth);
    })</script></body>"""
    assert "</body>" in text
    (tmp_path / "asked.html").write_text(text.replace("</body>", script), encoding="utf-8")
    assert "beyond the edge: 0<" in browser(tmp_path / "asked.html", "--dump-dom").stdout


def test_a_page_of_many_devices_is_folded_and_axe_has_nothing_against_it(asked, write_record, tmp_path):
    path = write_record(count=40, off={(3, column): 352.4 for column in range(40) if column != 3})
    main(["report", str(path), "--out", str(tmp_path / "out")])
    page = tmp_path / "out" / "report.html"
    assert asked(page, NARROW) == {"wider": 0, "found": [], "spilled": []}
    unfolded = page.with_name("unfolded.html")
    unfolded.write_text(page.read_text(encoding="utf-8").replace("<details>", "<details open>"), encoding="utf-8")
    assert asked(unfolded, NARROW) == {"wider": 0, "found": [], "spilled": []}


@pytest.mark.parametrize("name", ["mlx5_bond_{}", "rocep{:03}s0f1np1", "an_adapter_of_thirty_letters_{}"])
@pytest.mark.parametrize(("count", "each"), [(2, 1), (8, 1), (16, 4), (16, 1)])
def test_what_stands_in_a_box_of_a_drawing_fits_it(asked, make_record, write_record, tmp_path, name, count, each):
    record = with_adapters(make_record(count=count, off={(1, column): 352.4 for column in range(count)}), each)
    for at, port in enumerate(record["adapters"]):
        port["name"] = name.format(at)
    main(["report", str(write_record(record)), "--out", str(tmp_path / "out")])
    assert asked(tmp_path / "out" / "report.html", 1280) == {"wider": 0, "found": [], "spilled": []}


def test_what_is_asked_of_a_page_is_answered(asked, tmp_path):
    page = tmp_path / "wide.html"
    drawing = (
        '<svg class="topology"><rect class="device" width="9" height="9"/><text class="middle" y="9">long</text></svg>'
    )
    page.write_text(
        f'<!DOCTYPE html><html lang="en"><title>t</title><body><img style="width: 900px">{drawing}</body></html>'
    )
    answer = asked(page, NARROW)
    assert answer["wider"] > 0 and any(one.startswith("image-alt: ") for one in answer["found"])
    assert answer["spilled"] == ["long"]
