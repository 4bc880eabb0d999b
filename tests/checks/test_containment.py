"""Whatever an answer does to the process, the check ends in a verdict and leaves no trace."""

import builtins
import gc
import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable

import numpy
import pytest
import torch
import transformers

from course_utils.checks import checking
from course_utils.checks.containment import Tail
from course_utils.checks.declare import Criterion, Exercise
from course_utils.checks.report import Outcome
from course_utils.checks.watched_calls import InputsChanged, watched

OPTIMIZER = sys.modules["torch.optim.optimizer"]  # torch.optim has no name for it
THREE = torch.tensor([1.0, 2.0, 3.0])


def doubles(answer) -> str | None:
    got = answer(THREE.clone())
    return None if torch.equal(got, 2 * THREE) else f"it gives {got}"


DOUBLE = Exercise(
    id="99.1",
    name="DOUBLE",
    title="Double it",
    minutes=1,
    difficulty="one line",
    points=3,
    reads="double",
    expects=(Callable, dict),
    hints=("a", "b"),
    criteria=(Criterion("It doubles.", doubles, why="it is the task", next="multiply by two"),),
    answer=lambda x: 2 * x,
    time_limit_s=20.0,
)


def after(act: Callable[[], object]) -> Callable:
    """A right answer that does `act` first."""

    def double(x):
        act()
        return 2 * x

    return double


# -------------------------------------------------------------------- answers that end things

ENDS = {
    "sys.exit": lambda: sys.exit(3),
    "quit": lambda: quit(),
    "os._exit": lambda: os._exit(3),
    "os.abort": lambda: os.abort(),
    "os.kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "os.kill its group": lambda: os.kill(0, signal.SIGTERM),
    "os.kill its parent": lambda: os.kill(os.getppid(), signal.SIGTERM),
    "os.killpg": lambda: os.killpg(os.getpgid(0), signal.SIGTERM),
    "raise_signal": lambda: signal.raise_signal(signal.SIGTERM),
    "os.execv": lambda: os.execv(sys.executable, [sys.executable, "-c", "pass"]),
    "SystemExit": lambda: (_ for _ in ()).throw(SystemExit(0)),
    "KeyboardInterrupt": lambda: (_ for _ in ()).throw(KeyboardInterrupt),
    "GeneratorExit": lambda: (_ for _ in ()).throw(GeneratorExit),
    "too deep a recursion": lambda: recurses(0),
}


def recurses(n):
    return recurses(n + 1) + 1


@pytest.mark.parametrize("name", ENDS)
def test_an_answer_that_ends_the_process_gets_a_verdict(name):
    report = checking.check(DOUBLE, after(ENDS[name]))
    assert report.outcome is Outcome.RAISED
    assert "Your code raised" in report.text()
    assert "tensor(float32, (3,)) [1.0, 2.0, 3.0]" in report.text()


def test_a_function_inside_an_answer_that_ends_the_process_gets_a_verdict():
    inside = Criterion("Its function doubles.", lambda a: doubles(a["f"]), why="w", next="n")
    exercise = Exercise(**vars(DOUBLE) | {"criteria": (inside,)})
    report = checking.check(exercise, {"f": after(ENDS["sys.exit"])})
    assert report.outcome is Outcome.RAISED


def test_the_readers_own_interrupt_still_stops_a_check():
    def interrupted_from_outside():
        code = f"import os, signal; os.kill({os.getpid()}, signal.SIGINT)"
        subprocess.run([sys.executable, "-c", code], check=True)
        time.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        checking.check(DOUBLE, after(interrupted_from_outside))


def test_a_child_of_an_answer_may_end_as_it_likes():
    def forks():
        if (child := os.fork()) == 0:
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7

    assert checking.check(DOUBLE, after(forks)).outcome is Outcome.PASSED


def test_a_thread_that_dies_is_told_and_harms_nothing(capsys):
    def starts_a_dying_thread():
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()

    report = checking.check(DOUBLE, after(starts_a_dying_thread))
    assert report.outcome is Outcome.PASSED
    assert capsys.readouterr() == ("", "")


def test_a_thread_that_is_left_running_is_ended():
    ticks = []

    def goes_on():
        while True:
            ticks.append(time.monotonic())
            time.sleep(0.01)

    before = threading.active_count()
    for daemon in (True, False):
        thread = threading.Thread(target=goes_on, daemon=daemon)
        assert checking.check(DOUBLE, after(thread.start)).outcome is Outcome.PASSED
    assert threading.active_count() == before


def test_a_timer_that_is_left_waiting_does_not_fire():
    fired = []
    timer = threading.Timer(0.1, lambda: fired.append(1))
    checking.check(DOUBLE, after(timer.start))
    timer.join(2)
    assert not timer.is_alive()


# -------------------------------------------------------------------------------------- floods


def test_ten_megabytes_of_prints_end_in_a_few_lines():
    def floods():
        for n in range(100_000):
            print(f"{n:07}", "x" * 90)
        return 1 / 0

    began = time.process_time()
    text = checking.check(DOUBLE, after(floods)).text()
    assert "Your code printed 100000 lines" in text
    assert "0099999" in text
    assert len(text) < 3000
    assert time.process_time() - began < 10


def test_the_warnings_of_libraries_are_not_counted_as_prints():
    def warned():
        print("peft warns: a layer is shared")
        return 1 / 0

    def warned_and_prints():
        print("mine")
        warned()

    assert "printed" not in checking.check(DOUBLE, after(warned)).text()
    text = checking.check(DOUBLE, after(warned_and_prints)).text()
    assert "Your code printed 1 line:" in text and "mine" in text and "peft" not in text


def test_one_line_without_an_end_is_cut():
    printed = Tail()
    for _ in range(50):
        printed.write("x" * 1_000_000)
    assert len(printed.lines()[0]) < 1_000_000


# ------------------------------------------------------------------------- traces in the process


def adds_a_hook():
    torch.nn.modules.module.register_module_forward_hook(lambda *_: None)


TRACES: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "torch.Tensor.add": (
        lambda: setattr(torch.Tensor, "add", None),
        lambda: torch.Tensor.add,
    ),
    "torch.exp": (lambda: setattr(torch, "exp", torch.log), lambda: torch.exp),
    "F.softmax": (
        lambda: setattr(torch.nn.functional, "softmax", None),
        lambda: torch.nn.functional.softmax,
    ),
    "Module.forward": (
        lambda: setattr(torch.nn.Module, "forward", lambda self, x: x),
        lambda: torch.nn.Module.forward,
    ),
    "Module.__call__": (
        lambda: setattr(torch.nn.Module, "__call__", lambda self, x: x),
        lambda: torch.nn.Module.__call__,
    ),
    "LayerNorm.forward": (
        lambda: setattr(torch.nn.LayerNorm, "forward", lambda self, x: x),
        lambda: torch.nn.LayerNorm.forward,
    ),
    "a new attribute of Linear": (
        lambda: setattr(torch.nn.Linear, "seen", 1),
        lambda: hasattr(torch.nn.Linear, "seen"),
    ),
    "AdamW.step": (
        lambda: setattr(torch.optim.AdamW, "step", lambda self: None),
        lambda: torch.optim.AdamW.step,
    ),
    "GradScaler.step": (
        lambda: setattr(torch.amp.GradScaler, "step", lambda self, o: None),
        lambda: torch.amp.GradScaler.step,
    ),
    "Trainer.training_step": (
        lambda: setattr(transformers.Trainer, "training_step", None),
        lambda: transformers.Trainer.training_step,
    ),
    "numpy.mean": (lambda: setattr(numpy, "mean", None), lambda: numpy.mean),
    "builtins.max": (lambda: setattr(builtins, "max", min), lambda: builtins.max),
    "time.sleep": (lambda: setattr(time, "sleep", lambda s: None), lambda: time.sleep),
    "warnings": (lambda: warnings.simplefilter("ignore"), lambda: list(warnings.filters)),
    "logging": (lambda: logging.disable(50), lambda: logging.root.manager.disable),
    "environment": (lambda: os.environ.update(ABC="1"), lambda: dict(os.environ)),
    "a variable taken away": (lambda: os.environ.clear(), lambda: dict(os.environ)),
    "folder": (lambda: os.chdir("/"), os.getcwd),
    "import path": (lambda: sys.path.clear(), lambda: list(sys.path)),
    "recursion limit": (lambda: sys.setrecursionlimit(5000), sys.getrecursionlimit),
    "collector": (gc.disable, gc.isenabled),
    "interrupt handler": (
        lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        lambda: signal.getsignal(signal.SIGINT),
    ),
    "alarm handler": (
        lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN),
        lambda: signal.getsignal(signal.SIGALRM),
    ),
    "default dtype": (lambda: torch.set_default_dtype(torch.float16), torch.get_default_dtype),
    "default device": (
        lambda: torch.set_default_device("meta"),
        lambda: torch.empty(1).device,
    ),
    "grad mode": (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
    "threads": (lambda: torch.set_num_threads(3), torch.get_num_threads),
    "determinism": (
        lambda: torch.use_deterministic_algorithms(True),
        torch.are_deterministic_algorithms_enabled,
    ),
    "anomaly mode": (
        lambda: torch.autograd.set_detect_anomaly(True),
        torch.is_anomaly_enabled,
    ),
    "matmul precision": (
        lambda: torch.set_float32_matmul_precision("medium"),
        torch.get_float32_matmul_precision,
    ),
    "autocast left on": (
        lambda: torch.set_autocast_enabled("cpu", True),
        lambda: torch.is_autocast_enabled("cpu"),
    ),
    "autocast's dtype": (
        lambda: torch.set_autocast_dtype("cpu", torch.float16),
        lambda: torch.get_autocast_dtype("cpu"),
    ),
    "subnormal numbers": (
        lambda: torch.set_flush_denormal(True),
        lambda: (torch.tensor([1e-40]) * 1).item() > 0,
    ),
    "print options": (
        lambda: torch.set_printoptions(precision=1, sci_mode=True),
        lambda: str(torch.tensor([0.12345])),
    ),
    "a function mode never left": (
        lambda: torch.overrides.BaseTorchFunctionMode().__enter__(),
        torch._C._len_torch_function_stack,
    ),
    "global forward hook": (
        adds_a_hook,
        lambda: list(torch.nn.modules.module._global_forward_hooks),
    ),
    "global optimizer hook": (
        lambda: OPTIMIZER.register_optimizer_step_post_hook(lambda *_: None),
        lambda: list(OPTIMIZER._global_optimizer_post_hooks),
    ),
    "torch's random state": (lambda: torch.rand(3), lambda: torch.get_rng_state().tolist()),
    "torch's seed": (lambda: torch.manual_seed(5), lambda: torch.get_rng_state().tolist()),
    "numpy's random state": (
        lambda: numpy.random.rand(3),
        lambda: numpy.random.get_state()[2],
    ),
    "Python's random state": (random.random, random.getstate),
    "standard output": (lambda: setattr(sys, "stdout", None), lambda: sys.stdout),
    "os._exit itself": (lambda: setattr(os, "_exit", None), lambda: os._exit),
}


@pytest.mark.parametrize("name", TRACES)
def test_nothing_of_an_answer_is_left_in_the_process(name):
    act, look = TRACES[name]
    before, changed = look(), []

    def acts():
        act()
        changed.append(look() != before)

    report = checking.check(DOUBLE, after(acts))
    assert changed == [True], "the act itself does nothing, so this test would prove nothing"
    assert look() == before
    assert report.outcome is not Outcome.NOT_ATTEMPTED


# ------------------------------------------------------------------- what it does to its inputs


def changes_in_place(x):
    x.mul_(2)


def changes_through_data(x):
    x.data.mul_(2)


def changes_through_numpy(x):
    x.numpy()[0] = 7


def changes_under_no_grad(x):
    with torch.no_grad():
        x[0] = 7


def asks_for_a_gradient(x):
    x.requires_grad_()


def leaves_a_gradient(x):
    x.grad = torch.ones(3)


def changes_the_shape(x):
    x.resize_(1)


CHANGES = (
    changes_in_place,
    changes_through_data,
    changes_through_numpy,
    changes_under_no_grad,
    asks_for_a_gradient,
    leaves_a_gradient,
    changes_the_shape,
)


def test_what_an_answer_changes_has_the_name_that_the_answer_gives_it():
    def pack(rows, *more):
        rows[1]["labels"] = more[0]["labels"] = 0

    for first, place in ((1, r"rows\[1\]\['labels'\]"), (0, r"argument 2\['labels'\]")):
        with pytest.raises(InputsChanged, match=f"changed {place}"):
            watched(pack)([{}, {"labels": first}], {"labels": 1})


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_an_answer_that_changes_what_it_is_given_is_told_so(change):
    def double(x):
        right = 2 * x.detach()
        change(x)
        return right

    report = checking.check(DOUBLE, double)
    assert [one.criterion for one in report.observed] == [checking.INPUTS_STAY]
    assert "the call changed" in report.observed[0].saw
