"""Inside the box: a warm process whose forks each run one train.py and return its files.

It stands here with the box's own modules alone: no template, no case, no weights of the course. It
counts optimizer steps and trained tokens, and where it is asked to it looks at what a run learns
from, or what it pays for; what it says is checked outside.
"""

import base64
import contextlib
import gc
import os
import runpy
import signal
import socket
import sys
import sysconfig
import tempfile
import traceback
from pathlib import Path

from course_utils.box import confine, zygote
from course_utils.box.lines import Ended, hear, tell
from course_utils.oncall.learned_rows import Learned
from course_utils.oncall.paid_replies import Watch

MAX_FILE, MAX_FILES, MAX_CONSOLE = 16 * 2**20, 64, 400_000
WANTED = (".json", ".safetensors", ".jinja")
PAID, LEARNED = "paid", "learned"  # what a request can ask to look at


def preload() -> None:
    """Import slow modules, once for all forks."""
    import peft  # noqa: F401
    import torch
    import trl
    import yaml  # noqa: F401
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: F401

    torch.ones(64, 64, dtype=torch.float16) @ torch.ones(64, 64, dtype=torch.float16)  # reads /proc

    for name in ("SFTTrainer", "DPOTrainer", "RewardTrainer", "GRPOTrainer"):
        getattr(trl, name)
    gc.collect()
    gc.freeze()  # no fork walks through what the imports made, or copies its pages


def count(watch: Watch | None = None, learned: Learned | None = None) -> dict[str, int]:
    """Count optimizer steps and tokens seen with a gradient, from now on.

    What a frozen model reads does not count, as a teacher's tokens do not.

    Args:
        watch, learned: are told of forward passes and of steps as well.
    """
    import torch
    from torch import nn
    from torch.nn.modules import module as hooks
    from torch.optim.optimizer import register_optimizer_step_post_hook

    counted, running = {"steps": 0, "tokens": 0}, []

    def stepped(*_: object) -> None:
        counted["steps"] += 1
        if watch:
            watch.stepped()

    def entered(module: nn.Module, inputs: tuple) -> None:
        if watch and not running:
            watch.pause()
        running.append(module)
        if watch and watch.is_asking:
            raise RuntimeError("what runs a model is no verifier, and is not asked")
        if not isinstance(module, nn.Embedding) or not inputs or not torch.is_grad_enabled():
            return
        if any(p.requires_grad for one in running for p in one.parameters()):
            counted["tokens"] += inputs[0].numel()

    def left(module: nn.Module, inputs: tuple, output: object) -> None:
        running.pop()
        if watch and not running:
            watch.go_on()
        if learned and isinstance(module, nn.Embedding) and inputs:
            learned.look(inputs[0], output)

    register_optimizer_step_post_hook(stepped)
    hooks.register_module_forward_pre_hook(entered)
    hooks.register_module_forward_hook(left, always_call=True)
    return counted


def unpack(files: dict[str, str], folder: Path) -> None:
    """Write files that were sent as base64."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(text))


def pack(folder: Path) -> dict[str, str]:
    """The files that a run left in run/, as base64; no checkpoints, nothing too large."""
    found = {}
    for path in sorted((folder / "run").rglob("*")):
        is_wanted = path.suffix in WANTED and "checkpoint" not in str(path.relative_to(folder))
        if path.is_symlink() or not path.is_file() or not is_wanted:
            continue
        if path.stat().st_size <= MAX_FILE and len(found) < MAX_FILES:
            name = path.relative_to(folder).as_posix()
            found[name] = base64.b64encode(path.read_bytes()).decode()
    return found


def run(folder: Path) -> int:
    """Run train.py there as `python train.py` would; returns its exit code."""
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.argv = ["train.py"]
    try:
        runpy.run_path("train.py", run_name="__main__")
        return 0
    except SystemExit as ended:
        return 0 if ended.code in (None, 0) else 1
    except BaseException as error:
        own = error.__traceback__
        while own.tb_next and own.tb_frame.f_code.co_filename != "train.py":
            own = own.tb_next
        traceback.print_exception(error.with_traceback(own))
        return 1


def child(
    request: dict, sockets: list[socket.socket], *, has_walls: bool, hidden: tuple[str, ...]
) -> None:
    """One run, in its own box from here on, in which the folders `hidden` are empty."""
    [parent] = sockets
    os.closerange(3, parent.fileno())
    os.closerange(parent.fileno() + 1, 1024)
    confine.remember_use()
    bounds = confine.Bounds(memory_mib=2048, cpu_s=request["cpu_s"], disk_mib=256)
    confine.confine(bounds, walls=has_walls, hidden=hidden)
    folder = Path(tempfile.mkdtemp())
    console = os.open(folder / "console.log", os.O_RDWR | os.O_CREAT)
    for descriptor in (1, 2):
        os.dup2(console, descriptor)
    sys.stdout.reconfigure(line_buffering=True)  # a traceback stands behind what was printed before
    files, _ = hear(parent)
    unpack(files, folder)
    watch = Watch(folder) if request["look_at"] == PAID else None
    learned = Learned() if request["look_at"] == LEARNED else None
    counted = count(watch, learned)
    if watch:
        watch.start()
    code = run(folder)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    said = os.pread(console, MAX_CONSOLE, max(0, os.fstat(console).st_size - MAX_CONSOLE))
    shown = said.decode(errors="replace")
    for here in (folder, sysconfig.get_paths()["purelib"]):  # the reader's are elsewhere
        shown = shown.replace(f"{here}/", "")
    made = {"code": code, "console": shown, "files": pack(folder), "counted": dict(counted)}
    made["cpu_s"] = sum(os.times()[:2])  # what is asked from here on is no work of the run
    made["seen"] = watch.best() if watch else learned.rows() if learned else []
    with contextlib.suppress(Ended):
        tell(parent, made)


def main() -> None:
    control, has_walls = socket.socket(fileno=int(sys.argv[1])), sys.argv[2] == "1"
    hidden = tuple(sys.argv[3:])
    preload()
    zygote.serve(
        control,
        lambda request, sockets: child(request, sockets, has_walls=has_walls, hidden=hidden),
        end=signal.SIGTERM if has_walls else signal.SIGKILL,
    )
    os._exit(0)  # taking all these libraries down by the book takes seconds


if __name__ == "__main__":
    main()
