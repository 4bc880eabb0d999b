"""The run of a case, for tools that ride along with one."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

from benchmarks.diagnostics.yardstick.adapters.answers import skipped


def run_in(folder: Path):
    """The run of the case, not started."""
    spec = importlib.util.spec_from_file_location("run", folder / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make()


def riding(folder: Path, ride: Callable, *, kinds: tuple[str, ...] = ()) -> dict:
    """`ride(run)` with a run whose trainer is one of these kinds; none given: any run."""
    if not (folder / "run.py").exists():
        return skipped("needs a run; it reads no logs")
    run = run_in(folder)
    kind = type(run.trainer).__mro__ if run.trainer is not None else ()
    if kinds and not {cls.__name__ for cls in kind} & set(kinds):
        of = type(run.trainer).__name__ if run.trainer is not None else "a loop of its own"
        return skipped(f"is for {', '.join(kinds)}; this is {of}")
    return ride(run)


def to_the_end(run) -> str:
    """Start the run; the error that ended it, or nothing."""
    try:
        run.start()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
