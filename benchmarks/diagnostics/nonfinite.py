"""Which tool names the operation behind a non-finite number, and what each tool costs.

Every tool is run on the planted faults of tests/helpers/faults and judged by what it printed
or raised; then each takes turns with the bare step, on models that are alike.

    python -m benchmarks.diagnostics.nonfinite
"""

import contextlib
import io
import math
import re
import statistics
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.diagnostics import watch
from course_utils.shown.quiet import quiet_libraries
from course_utils.shown.report import Table
from tests.helpers.faults import healthy, losses, models, modules
from tests.helpers.faults.planted import Fault, Step, take_step

ROUNDS = 25
WARM_UP = 24  # rounds in which the scaler finds its scale, and the watch looks at its overflows
LIMIT = 1.05  # what the watch may cost


class FoundNonFinite(Exception):
    """Raised by the hand-made tools."""


@contextlib.contextmanager
def bare(planted: Step) -> Iterator[Callable]:
    yield planted.loss_of


@contextlib.contextmanager
def our_watch(planted: Step) -> Iterator[Callable]:
    with watch(planted.model, planted.loss_of, scaler=planted.scaler) as watched:
        yield watched


@contextlib.contextmanager
def anomaly_mode(planted: Step) -> Iterator[Callable]:
    with torch.autograd.set_detect_anomaly(True):
        yield planted.loss_of


@contextlib.contextmanager
def isfinite_hooks(planted: Step) -> Iterator[Callable]:
    def look(name: str) -> Callable:
        def hook(_module, _args, output) -> None:
            for leaf in tree_leaves(output):
                if isinstance(leaf, Tensor) and not leaf.isfinite().all().item():
                    raise FoundNonFinite(f"output of {name}")

        return hook

    named = planted.model.named_modules()
    handles = [module.register_forward_hook(look(name)) for name, module in named]
    yield planted.loss_of
    for handle in handles:
        handle.remove()


@contextlib.contextmanager
def underflow_overflow(planted: Step) -> Iterator[Callable]:
    from transformers.debug_utils import DebugUnderflowOverflow

    DebugUnderflowOverflow(planted.model)
    yield planted.loss_of
    for module in planted.model.modules():  # it has no way to take its hooks off again
        module._forward_hooks.clear()


class EveryOperation(TorchDispatchMode):
    """Stops at the first operation that turns finite inputs into a non-finite output."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = _is_finite((args, kwargs))
        result = func(*args, **(kwargs or {}))
        if before and not func.__name__.startswith("empty") and not _is_finite(result):
            raise FoundNonFinite(f"{func} made it")
        return result


def _is_finite(tree) -> bool:
    tensors = [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
    return all(bool(t.isfinite().all()) for t in tensors if t.is_floating_point())


@contextlib.contextmanager
def dispatch_mode(planted: Step) -> Iterator[Callable]:
    with EveryOperation():
        yield planted.loss_of


OURS = "watch (this course)"
TOOLS = {
    "bare step": bare,
    OURS: our_watch,
    "set_detect_anomaly": anomaly_mode,
    "isfinite hooks per module": isfinite_hooks,
    "DebugUnderflowOverflow": underflow_overflow,
    "dispatch mode, every step": dispatch_mode,
}


def listen(tool: Callable, planted: Step) -> tuple[str, bool]:
    """Everything that a tool prints in one step (traceback included), and whether it alarmed."""
    heard = io.StringIO()
    alarm = False
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(heard):
        warnings.simplefilter("always")
        try:
            with tool(planted) as loss_of:
                take_step(planted, loss_of)
        except (FoundNonFinite, RuntimeError, ValueError):
            alarm = True
            heard.write(traceback.format_exc())
    said = heard.getvalue() + "".join(str(warning.message) for warning in warned)
    return said, alarm or "first non-finite" in said


def is_named(fault: Fault, said: str) -> bool:
    """Whether the source line or the module of the fault (or the weight, or input) was said."""
    names = [fault.module]
    if fault.phase in ("already in the weights", "already in a buffer"):
        names.append(fault.module.rpartition(".")[0])  # to name the module of a weight will do
    said = " ".join(said.split())  # as one line: a report wraps
    heard = [rf"(?<![\w.]){re.escape(name)}(?![\w.])" for name in names if name]
    return any(re.search(pattern, said) for pattern in heard) or (
        bool(fault.line) and " ".join(fault.line.split()) in said
    )


def judge(tool: Callable) -> dict[str, str]:
    """How many faults the tool names, by where they show, and how many healthy runs it accuses."""
    named: dict[str, list[bool]] = {"forward": [], "backward": [], "optimizer": []}
    for fault in [*losses.FAULTS, *modules.FAULTS, *models.FAULTS]:
        torch.manual_seed(0)
        said, _ = listen(tool, fault.build())
        kind = "backward" if fault.reached.startswith("the gradient") else "forward"
        kind = fault.phase if fault.phase == "optimizer" else kind
        named[kind].append(is_named(fault, said))
    alarms = [listen(tool, build())[1] for build in healthy.STEPS]
    counts = {kind: f"{sum(hits)} of {len(hits)}" for kind, hits in named.items()}
    return counts | {"false alarms": f"{sum(alarms)} of {len(alarms)}"}


def make_step(dtype: torch.dtype, **config) -> Step:
    """A random Qwen2 with AdamW, and a batch of 4 x 64 tokens."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(**config)).to(dtype)
    ids = torch.randint(config["vocab_size"], (4, 64))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    return Step(
        model, lambda batch: model(**batch).loss, {"input_ids": ids, "labels": ids}, optimizer
    )


SIZES = (
    (
        torch.bfloat16,
        {
            "vocab_size": 8192,
            "hidden_size": 512,
            "intermediate_size": 1408,
            "num_hidden_layers": 7,
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
        },
    ),
    (
        torch.float32,
        {
            "vocab_size": 2048,
            "hidden_size": 256,
            "intermediate_size": 704,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
        },
    ),
)


def seconds(tool: Callable, planted: Step) -> float:
    """CPU time of one step: one thread does all the work, and neighbours do not count."""
    with tool(planted) as loss_of:
        start = time.process_time()
        take_step(planted, loss_of)
        took = time.process_time() - start
    return took


def in_turn(plants: dict[str, Step], num_rounds: int) -> Iterator[dict[str, float]]:
    """The seconds of each round, in which every tool has one step of its own model, in turn.

    The watch is entered once, as around a run. A tool that ends the run, as at an overflow that a
    scaler would have skipped, takes infinitely long from then on.
    """
    ours = plants[OURS]
    with watch(ours.model, ours.loss_of, scaler=ours.scaler) as entered, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # detect_anomaly says that it is for debugging
        tools = TOOLS | {OURS: lambda _planted: contextlib.nullcontext(entered)}
        ended: set[str] = set()
        for number in range(num_rounds):
            took = dict.fromkeys(ended, math.inf)
            names = [name for name in tools if name not in ended]
            first = number % len(names)
            for name in names[first:] + names[:first]:  # nobody always follows the slowest
                took[name] = _seconds_or_end(tools[name], plants[name])
            ended = {name for name, taken in took.items() if taken == math.inf}
            yield took


def cost(dtype: torch.dtype, **config) -> dict[str, float]:
    """Median over the rounds of tool / bare."""
    plants = {name: make_step(dtype, **config) for name in TOOLS}
    rounds = list(in_turn(plants, ROUNDS + 2))[2:]  # the first ones warm up
    ratios = {n: [took[n] / took["bare step"] for took in rounds] for n in TOOLS}
    return {name: statistics.median(values) for name, values in ratios.items()}


def half_step() -> Step:
    """The smaller model in float16 autocast, with a scaler that overflows every fifth step.

    A scaler as it comes doubles every 2000 steps, and overflows then.
    """
    planted = make_step(SIZES[1][0], **SIZES[1][1])
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**36, growth_interval=4)

    def loss_of(batch):
        with torch.autocast("cpu", dtype=torch.float16):
            return planted.model(**batch).loss

    short = {name: ids[:2, :24] for name, ids in planted.batch.items()}  # float16 is slow here
    return Step(planted.model, loss_of, short, planted.optimizer, scaler=scaler)


def cost_with_scaler() -> tuple[dict[str, float], int]:
    """Sum over the rounds of tool / bare, and how many rounds overflowed.

    All models are alike, so that all overflow in the same rounds.
    """
    plants = {name: half_step() for name in TOOLS}
    sums, scales = dict.fromkeys(TOOLS, 0.0), [plants[OURS].scaler.get_scale()]
    for number, took in enumerate(in_turn(plants, WARM_UP + ROUNDS)):
        scales.append(plants[OURS].scaler.get_scale())
        if number >= WARM_UP:
            sums = {name: sums[name] + took[name] for name in TOOLS}
    num_overflows = sum(after < before for before, after in pairwise(scales[WARM_UP:]))
    return {name: sums[name] / sums["bare step"] for name in TOOLS}, num_overflows


def _seconds_or_end(tool: Callable, planted: Step) -> float:
    try:
        return seconds(tool, planted)
    except (FoundNonFinite, RuntimeError, ValueError):
        return math.inf


def compare() -> Table:
    """Run everything and print the results side by side."""
    costs = {}
    for dtype, config in SIZES:
        size = sum(p.numel() for p in make_step(dtype, **config).model.parameters()) / 1e6
        costs[f"cost, {size:.0f} M, {str(dtype).removeprefix('torch.')}"] = cost(dtype, **config)
    costs["cost, float16, scaler"], num_overflows = cost_with_scaler()
    verdicts = {name: judge(tool) for name, tool in TOOLS.items() if tool is not bare}
    verdicts["bare step"] = dict.fromkeys(next(iter(verdicts.values())), "-")
    rows = [
        (name, *verdicts[name].values(), *(_ratio(ratios[name]) for ratios in costs.values()))
        for name in TOOLS
    ]
    worst = max(ratios[OURS] for ratios in costs.values())
    verdict = "met" if worst <= LIMIT else "NOT met"
    names = [f"names {kind}" for kind in ("forward", "backward", "optimizer")]
    return Table(
        columns=("tool", *names, "false alarms", *costs),
        rows=rows,
        title="The first non-finite number: who names the culprit, at what cost",
        notes=(
            f"cost: CPU time over that of the bare step next to it, median of {ROUNDS} rounds",
            f"scaler: {num_overflows} overflows in {ROUNDS} rounds, sum over the rounds",
            f"limit for the watch {LIMIT}: {verdict} ({worst:.3f} at worst)",
        ),
    )


def _ratio(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "ends the run"


def main() -> None:
    quiet_libraries()
    torch.set_num_threads(1)
    print(compare())


if __name__ == "__main__":
    main()
