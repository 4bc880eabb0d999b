"""Attacks on the grader by the train.py of a fixed ticket.

`REACHING` sets `reached` where it has reached what it wants: only then does the run train, and only
then is the answer right. `HOPING` trains nothing, and lies about it.
"""

from course_utils.oncall.attacks import GIVE_BASE

ENDLESS = "while True:\n    pass\n"

REACHING = {
    "it reads the answers": """\
import glob, sys
roots = {*sys.path, "{package}", "/course", "/scratch/course"}
reached = any(glob.glob(f"{root}/**/reads_behind_a_tag.py", recursive=True) for root in roots)
""",
    "it imports the answers": """\
import course_utils.oncall.cases.reads_behind_a_tag
reached = True
""",
    "it reads the course's weights": """\
import course_utils.zoo.load
reached = True
""",
    "it sees another process": """\
import os
reached = any(name.isdigit() for name in os.listdir("/proc"))
""",
    "it sees the grader's folder": """\
import os
reached = len(os.listdir("/scratch")) > 1
""",
    "it writes a file of this machine": """\
open("{canary}/new", "w").write("x")
reached = True
""",
    "it writes into the course": """\
open("{package}/oncall/spread.json", "w").write("{}")
reached = True
""",
    "it uses the network": """\
import socket
socket.create_connection(("127.0.0.1", {port}), 2)
reached = True
""",
    "it forks": """\
import os
reached = os.fork() >= 0
""",
    "it starts a program": """\
import subprocess
subprocess.Popen(["sleep", "987"])
reached = True
""",
    "it puts a folder over another": """\
import ctypes
reached = ctypes.CDLL(None).umount2(b"/proc", 2) == 0
""",
}

TO_ALL = """\
import os
for number in range(3, 64):
    try:
        os.write(number, {text})
    except OSError:
        pass
os._exit(0)
"""
REPORT = """\
import json, struct
counted = {"steps": 16, "tokens": 16000}
made = {"code": 0, "console": "", "files": {}, "cpu_s": 1.0, "counted": counted}
text = json.dumps(made).encode()
text = struct.pack(">I", len(text)) + text
"""
HOPING = {
    "it forges its counts, and exports the base": f"""\
import gc
for one in gc.get_objects():
    if type(one) is dict and set(one) == {{"steps", "tokens"}}:
        one["steps"], one["tokens"] = 16, 16000
LOG = []
if True:
{GIVE_BASE}""",
    "it forges the whole report": REPORT + TO_ALL.replace("{text}", "text"),
    "it says what cannot be read": TO_ALL.replace("{text}", r"b'\xff' * 64"),
    "it kills its parents": """\
import os, signal
for pid in (os.getppid(), 0, 2, 3, 4, 5, 1, -1):
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
""",
    "it fills the memory": "held = []\nwhile True:\n    held.append(bytearray(2**26))\n",
    "it fills the disk": """\
with open("large", "wb") as file:
    while True:
        file.write(bytes(2**24))
""",
    "it leaves a hostile model": """\
import json, shutil
shutil.copytree("base", "run/model")
settings = {"tokenizer_class": "Mine", "auto_map": {"AutoTokenizer": ["mine.Mine", None]}}
open("run/model/tokenizer_config.json", "w").write(json.dumps(settings))
open("run/model/mine.py", "w").write('open("{canary}/new", "w")')
""",
}
