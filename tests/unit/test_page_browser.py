"""The page in a real browser, where there is one: nothing is refused, it is dark where it should be, and it prints."""

import shutil
import subprocess

import pytest

from linkmatrix.cli import main

LIMIT = 120  # seconds for a start of the browser


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
