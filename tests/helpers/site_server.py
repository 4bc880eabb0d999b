"""Serves the site as its host does: built once, in a subfolder, with compressed text."""

import gzip
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from course_command import ROOT
from filelock import FileLock
from lab_pages import VIOLATIONS, axe

SUBFOLDER = "/course"
TEXT = (".html", ".css", ".js", ".mjs", ".json", ".wasm", ".svg")


def site_in(folder: Path) -> Path:
    """The whole site, built by the first who asks; without Pyodide if it cannot be had."""
    target = folder / "site"
    with FileLock(folder / "site.lock"):
        if not target.exists():
            done = _build(target)
            if "builds without them" in done.stderr:
                done = _build(target, "--without-packages")
            assert done.returncode == 0, done.stderr
    return target


def axe_finds(page) -> dict[str, list[str]]:
    """The elements of a page that axe-core objects to, by rule."""
    found = axe().run(page, options=VIOLATIONS).response["violations"]
    return {one["id"]: [node["html"][:120] for node in one["nodes"]] for one in found}


def _build(folder: Path, *options: str) -> subprocess.CompletedProcess:
    """What `make site` does, into another folder."""
    command = [sys.executable, "docs/site", "--out", str(folder), *options]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


class _Handler(SimpleHTTPRequestHandler):
    """Knows which bytes went out for which path, in `server.sent`."""

    def translate_path(self, path: str) -> str:
        if not path.startswith(f"{SUBFOLDER}/"):
            return str(Path(self.directory) / "outside of the site")
        return super().translate_path(path.removeprefix(SUBFOLDER))

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        if not path.is_file():
            self.send_error(404)
            return
        body, is_text = path.read_bytes(), path.suffix in TEXT
        body = gzip.compress(body, 6) if is_text else body
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Length", str(len(body)))
        if is_text:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with suppress(ConnectionError):  # the page was left
            self.wfile.write(body)
        self.server.sent[self.path] = (len(body), path.stat().st_size)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path):
    """Serve a folder; yields the server, which has `address` and `sent`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
    server.address = f"http://127.0.0.1:{server.server_port}{SUBFOLDER}"
    server.sent = {}
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
