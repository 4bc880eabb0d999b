"""JupyterLab on a fresh copy of the course, and a browser page on it."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from course_utils.commands.lab import SETTINGS

COURSE = Path(sys.executable).with_name("course")
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
WAIT_S = 60
OPTIONS = (
    *("--no-browser", "--allow-root", "--ServerApp.port_retries=0"),
    *("--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True"),
)
SILENT = ("--disable-background-networking", "--disable-component-update", "--disable-sync")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def lab_on(folder: Path):
    """Start `course lab` on the course in `folder`; yields its address."""
    port, scratch = free_port(), folder.parent
    env = os.environ | {
        "COURSE_ROOT": str(folder),
        "JUPYTER_CONFIG_DIR": str(scratch / "config"),
        "JUPYTER_DATA_DIR": str(scratch / "data"),
        "IPYTHONDIR": str(scratch / "ipython"),
    }
    whole = f"--LabApp.app_settings_dir={_settings(scratch)}"
    command = [str(COURSE), "lab", f"--port={port}", whole, *OPTIONS]
    with (scratch / "lab.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/api", process, scratch / "lab.log")
        yield address
    finally:
        process.terminate()
        try:
            process.wait(30)
        finally:  # a second Ctrl-C does not wait
            process.kill()
            process.wait()


def _settings(scratch: Path) -> Path:
    """The course's own, and every cell in the page: Lab keeps only those in sight."""
    settings = json.loads((SETTINGS / "overrides.json").read_text())
    settings["@jupyterlab/notebook-extension:tracker"]["windowingMode"] = "none"
    (scratch / "settings").mkdir(exist_ok=True)
    (scratch / "settings" / "overrides.json").write_text(json.dumps(settings))
    return scratch / "settings"


def _wait_for(url: str, process: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url):
            return
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@contextmanager
def browser_page(*, width: int = 1180, height: int = 900):
    """A page of a headless Chromium, as Debian ships it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", *SILENT]
        )
        try:
            page = browser.new_page(viewport={"width": width, "height": height})
            page.set_default_timeout(WAIT_S * 1000)
            yield page
        finally:
            browser.close()


def fresh_course(folder: Path) -> Path:
    """A copy of the course as `course start` makes it."""
    target = folder / "course"
    subprocess.run([COURSE, "start", str(target)], check=True, capture_output=True)
    return target
