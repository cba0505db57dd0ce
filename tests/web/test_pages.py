"""The pages end to end, in headless Chromium (`web/e2e`)."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"


@pytest.fixture
def address(tmp_path):
    command = [
        sys.executable,
        "-m",
        "komadori",
        "web",
        "--no-browser",
        "--threads",
        "1",
        str(tmp_path),
    ]
    environment = os.environ | {"XDG_DATA_HOME": str(tmp_path / "data"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            for line in server.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield found[0]
                    break
            else:
                pytest.fail("the server printed no address")
        finally:
            server.terminate()


@pytest.mark.slow
def test_pages_in_a_browser(address):
    node, chromium = shutil.which("node"), shutil.which("chromium")
    if node is None or not (WEB / "node_modules/playwright-core").is_dir():
        pytest.skip("needs Node and `npm --prefix web ci`")
    if chromium is None:
        pytest.skip("needs Chromium (Debian's package chromium)")
    environment = os.environ | {"KOMADORI_URL": address, "CHROMIUM": chromium}
    subprocess.run([node, "--test", "e2e/"], cwd=WEB, env=environment, check=True)
