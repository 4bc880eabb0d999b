"""Gives looks at a closed ticket to a program that cannot open it by itself, and counts them.

The closed ticket lies where the program does not see it. `python look THING`, in the program's
folder, asks over a socket; what was paid for is written by that script, with the program's rights:
nothing out here writes into a folder in which a link may lead anywhere.
"""

import base64
import contextlib
import json
import shutil
import socket
import threading
from pathlib import Path

from course_utils.errors import CourseError
from course_utils.oncall import budget, report
from course_utils.oncall import folder as folders

SCRIPT, SOCKET = "look", ".look.socket"
COMMAND = ("course oncall look", f"python {SCRIPT}")  # in a reader's letter, and in a program's
OF_NONSENSE = (OSError, ValueError, RecursionError)  # that is asked
MOST_ASKED, PATIENCE_S, POLL_S = 1000, 10.0, 0.2
CLIENT = f'''\
"""Opens one thing of this ticket, or runs an instrument on it: python {SCRIPT} THING."""

import base64
import json
import pathlib
import socket
import sys

with socket.socket(socket.AF_UNIX) as desk:
    desk.connect("{SOCKET}")
    desk.sendall(json.dumps(" ".join(sys.argv[1:])).encode() + b"\\n")
    given = json.load(desk.makefile(encoding="utf-8"))
for name, data in given["files"].items():
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(data))
print(given["said"])
'''


class Desk:
    """Answers what a program asks; a context manager, and what was asked is answered at its end.

    Args:
        kept: the folder of the ticket, which this closes.
        folder: what the program gets, a new folder.
    """

    def __init__(self, kept: Path, folder: Path, num_looks: int) -> None:
        budget.close(kept, num_looks)
        self._kept, self._folder, self._is_over = kept, folder, threading.Event()
        self._handed = folders.handed_out(folders.read(kept))[1]
        folder.mkdir()
        letter = (kept / folders.TICKET).read_text(encoding="utf-8").replace(*COMMAND)
        (folder / folders.TICKET).write_text(letter, encoding="utf-8")
        shutil.copy2(kept / report.NAME, folder / report.NAME)
        (folder / SCRIPT).write_text(CLIENT, encoding="utf-8")

    def __enter__(self) -> "Desk":
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._folder / SOCKET))
        self._listener.listen()
        self._listener.settimeout(POLL_S)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._listener.close()
        self.take()

    @property
    def spent(self) -> int:
        """Looks that were paid."""
        return budget.bill(self._kept).spent

    def take(self) -> None:
        """Take over the run's files and the report as the program has them now."""
        now = folders.run_files(self._folder, self._handed)
        now |= folders.text_files(self._folder, [report.NAME])
        before = folders.run_files(self._kept, self._handed)
        for name in before.keys() - now.keys():
            (self._kept / name).unlink()
        folders.write_files(self._kept, now)

    def _serve(self) -> None:
        while not self._is_over.is_set():
            with contextlib.suppress(*OF_NONSENSE):
                asked, _ = self._listener.accept()
                with asked:
                    asked.settimeout(PATIENCE_S)
                    self._answer(asked)

    def _answer(self, asked: socket.socket) -> None:
        thing = json.loads(asked.makefile("rb").readline(MOST_ASKED))
        said = json.dumps(self._given(str(thing)))
        asked.sendall(said.encode())

    def _given(self, thing: str) -> dict:
        self.take()
        try:
            said = budget.look(self._kept, thing).replace(f"{self._kept}/", "")
        except CourseError as error:
            return {"said": str(error), "files": {}}
        names = budget.names_of(self._kept, thing)
        files = {name: (self._kept / name).read_bytes() for name in names}
        encoded = {name: base64.b64encode(data).decode() for name, data in files.items()}
        return {"said": said, "files": encoded}
