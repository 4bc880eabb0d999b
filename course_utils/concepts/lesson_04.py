"""Lesson 04 in pictures: a step of GRPO, the chain from symptom to cause, large log-ratios.

Each function shows one picture. What it draws of a run, it is given.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle
from torch import Tensor

from course_utils.concepts.diagram import SIZE, Box, arrow, box, note, path, sheet
from course_utils.numerics import float_format
from course_utils.reproductions.lesson_04.verl_grpo import Settings
from course_utils.reproductions.lesson_04.verl_outcomes import COLUMNS, MEANINGS, Outcomes
from course_utils.shown import plotting

MONO = "DejaVu Sans Mono"
MODELS = ("policy", "reference")
LINKS = ("tokens", "operation", "gradient", "weights", "logits", "reply")  # cause to symptom
MADE_BY = {
    "advantages": "score",
    "old_log_prob": "policy",
    "ref_log_prob": "reference",
    "response_mask": "end of reply",
}


def one_step(settings: Settings) -> None:
    """Draw the outputs of a rollout, those that the loss uses, and what an update returns."""
    num_replies, mini = settings.num_prompts * settings.n, settings.ppo_mini_batch_size
    ax = sheet(8.6, 4.1)
    _band(ax, 1.64, 2.4, "one rollout, without gradients")
    _band(ax, 0.06, 1.5, f"{num_replies // mini} updates, {mini} replies each")
    prompts = box(ax, (0.85, 2.76), f"prompts\n{settings.num_prompts} sums")
    size = f"{num_replies} x {settings.response_length} tokens"
    replies = box(ax, (2.75, 2.76), f"replies\n{size}", width=1.5)
    arrow(ax, prompts.right, replies.left)
    policy = box(ax, (2.75, 0.95), "policy", width=1.5, meaning="alive", filled=True)
    arrow(ax, policy.top, replies.bottom, meaning="alive")
    note(ax, (2.83, 1.85), "writes", ha="left", meaning="alive")
    now = box(ax, (4.75, 0.95), "log_prob", width=1.2, height=0.4, meaning="alive", font=MONO)
    loss = box(ax, (7.75, 0.95), "loss\npg_loss, kl_loss", width=1.4)
    arrow(ax, policy.right, now.left, meaning="alive")
    arrow(ax, now.right, loss.left, meaning="alive")
    for row, (name, maker) in enumerate(MADE_BY.items()):
        y, meaning = 3.66 - 0.6 * row, "alive" if maker == "policy" else "neutral"
        made = box(ax, (4.75, y), maker, height=0.4, meaning=meaning, filled=maker in MODELS)
        tensor = box(ax, (6.55, y), name, width=1.5, height=0.4, font=MONO)
        path(ax, [replies.right, (3.8, replies.y), (3.8, y), made.left])
        arrow(ax, made.right, tensor.left)
        path(ax, [tensor.right, (loss.x, y), loss.top])
    path(ax, [loss.bottom, (loss.x, 0.36), (policy.x, 0.36), policy.bottom], meaning="alive")
    note(ax, (5.2, 0.5), "backward, clip, step", meaning="alive")
    plotting.show(
        ax.figure,
        f"A rollout fixes {len(MADE_BY)} tensors; only log_prob is computed again in every "
        "update, and only log_prob carries a gradient.",
        alt="Two bands. One rollout, without gradients: prompts become replies, written by the "
        "policy; of the replies the score makes advantages, the policy old_log_prob, the "
        "reference ref_log_prob, and the end of each reply response_mask. Updates: the policy "
        "computes log_prob, the loss takes it with those four, and backward, clip and step lead "
        "back to the policy.",
    )


def chain(known: dict[str, str]) -> None:
    """Draw the links from cause to symptom: `known` ones in words, the others open."""
    ax = sheet(8.6, 1.7)
    boxes = []
    for number, name in enumerate(LINKS):
        x, meaning = 0.8 + 1.4 * number, "dead" if name in known else "neutral"
        text = known.get(name, "?")
        boxes.append(box(ax, (x, 0.95), text, width=1.12, height=0.5, meaning=meaning))
        note(ax, (x, 1.42), name, weight="bold")
    for made, makes in pairwise(boxes):
        arrow(ax, made.right, makes.left)
    for nearer, further in pairwise(reversed(boxes)):
        arrow(ax, (nearer.x - 0.1, 0.46), (further.x + 0.1, 0.46), meaning="suspicious")
    note(ax, (4.3, 0.2), "you walk back, one link at a time", meaning="suspicious")
    num_open = len(LINKS) - len(known)
    links = "; ".join(f"{name}: {known.get(name, 'open')}" for name in LINKS)
    plotting.show(
        ax.figure,
        f"Each link makes the one to its right. You walk from right to left; "
        f"{num_open} of {len(LINKS)} are still open.",
        alt=f"A chain of boxes from cause to symptom, and arrows back below it. {links}.",
    )


def there_and_back(d: float, dtype: torch.dtype) -> None:
    """The value of the KL at one place of padding, and the gradient on its way back."""
    steps = _kl_at_padding(torch.tensor(d, dtype=dtype, requires_grad=True))
    ax = sheet(8.6, 2.2)
    values = _row(ax, 1.4, "value", [step for step in steps.values()])
    gradients = _row(ax, 0.6, "gradient", [step.grad for step in steps.values()])
    for at, name in zip(values, steps, strict=True):
        note(ax, (at.x, 1.95), name, color=plotting.INK, family=MONO)
    for here, further in pairwise(values):
        arrow(ax, here.right, further.left)
    for here, further in pairwise(gradients):
        arrow(ax, further.left, here.right)
    between = (gradients[0].right[0] + gradients[1].left[0]) / 2
    note(ax, (between, 0.2), f"0 x {steps['exp(d)'].item():g}", meaning="dead", weight="bold")
    there, back = (
        ", ".join(f"{name}: {number.item():g}" for name, number in numbers.items())
        for numbers in (steps, {name: step.grad for name, step in steps.items()})
    )
    plotting.show(
        ax.figure,
        f"One place of padding, d = {d:g} in {str(dtype).removeprefix('torch.')}. Clamp and mask "
        f"hide the {steps['exp(d)'].item():g} and send back 0; exp multiplies it by its result.",
        alt=f"Two rows of boxes. Values, from left to right: {there}. Gradients, from right to "
        f"left, given here in the same order: {back}.",
    )


def _row(ax: Axes, y: float, name: str, numbers: list[Tensor]) -> list[Box]:
    note(ax, (0.15, y), name, ha="left", weight="bold")
    boxes = []
    for column, number in enumerate(numbers):
        bad, at = not number.isfinite(), (1.7 + 1.55 * column, y)
        look = {"meaning": "dead", "filled": True} if bad else {}
        boxes.append(box(ax, at, f"{number.item():g}", width=0.9, **look))
    return boxes


def _kl_at_padding(d: Tensor) -> dict[str, Tensor]:
    """verl's low_var_kl of `d` under a mask of 0, step by step, each with its gradient."""
    ratio = torch.exp(d)
    kld = ratio - d - 1
    clamped = torch.clamp(kld, min=-10, max=10)
    masked = clamped * 0
    steps = {"d": d, "exp(d)": ratio, "- d - 1": kld, "clamp(10)": clamped, "* mask": masked}
    for step in steps.values():
        step.retain_grad()
    masked.backward()
    return steps


def log_ratios(log_ratio_BT: Tensor, mask_BT: Tensor) -> None:
    """The log-ratio of every reply at every position, shortest reply on top, and where it ends."""
    limit = float_format(log_ratio_BT.dtype).max_exp_input
    order = mask_BT.sum(1).argsort(stable=True)
    ratio, mask = log_ratio_BT[order].float().cpu(), mask_BT[order].bool().cpu()
    beyond, (num_rows, num_columns) = ratio > limit, ratio.shape
    fig, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
    _heat(ax, ratio, limit)
    for row, column in beyond.nonzero().tolist():
        ax.plot(column, row, "x", color="white", markersize=5)
    ends = (mask.sum(1) - 0.5).tolist()
    rims = [row - 0.5 for row in range(num_rows + 1)]
    look = {"orientation": "horizontal", "baseline": None, "color": plotting.INK, "zorder": 3}
    ax.stairs(ends, rims, linewidth=1.5, **look)
    ax.set(xlabel="position; left of the line tokens, right of it padding", yticks=[])
    ax.set_ylabel(f"{num_rows} replies, the shortest on top")
    ax.set_title("The log-ratio runs away behind the end of a reply")
    counts = f"{int(beyond.sum())} places beyond {limit:.2f}, {int((beyond & ~mask).sum())} of them"
    largest = f"{ratio[mask].max():.1f} at the tokens, {ratio[~mask].max():.1f} at the padding"
    plotting.show(
        fig,
        f"{counts} padding. The largest log-ratio is {largest}.",
        alt=f"A grid of {num_rows} replies by {num_columns} positions, darker where the log-ratio "
        f"is larger. A line parts tokens on the left from padding on the right. {counts} on the "
        f"right, marked with a cross.",
    )


def drift(updates: list[dict], dtype: str) -> None:
    """The largest log-ratio of each update, at tokens and at padding, against the limit of exp."""
    limit = float_format(dtype).max_exp_input
    meanings = {"padding": "suspicious", "tokens": "alive"}
    curves = {place: [update[f"largest at {place}"] for update in updates] for place in meanings}
    fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    plotting.draw_curves(ax, range(1, len(updates) + 1), curves, meanings=meanings)
    plotting.draw_limit(ax, limit, f"exp overflows {dtype}, {limit:.2f}")
    ax.set(xlabel="update", ylabel="largest log-ratio (nats)")
    ax.set_title("Padding drifts past the limit, the tokens stay near")
    plotting.show(
        fig,
        f"In the fatal update padding reaches {curves['padding'][-1]:.1f} nats; no token ever went "
        f"past {max(curves['tokens']):.1f}.",
    )


def what_each_fix_does(each: Outcomes) -> None:
    """Each run by its links: gradient, update, weights, reward."""
    words = {name: outcome.words for name, outcome in each.runs.items()}
    fig, ax = plt.subplots(figsize=(7.6, 3.6), layout="constrained")
    grid = {"rows": list(words), "columns": list(COLUMNS), "meanings": MEANINGS}
    plotting.draw_grid(ax, texts=[list(row) for row in words.values()], **grid)
    cured = [name for name, outcome in each.runs.items() if outcome.num_bad == 0]
    ax.set_title(f"Every gradient is finite in {len(cured)} of {len(words)} runs")
    rows = (f"{name}: {', '.join(row)}" for name, row in words.items())
    plotting.show(
        fig,
        f"Every gradient is finite in {len(cured)} of {len(words)} runs: {', '.join(cured)}.",
        alt=f"A table of words: {', '.join(COLUMNS)} of each run. {'; '.join(rows)}.",
    )


def before_and_after(curves: dict[str, list[float]], *, x: str, y: str) -> None:
    """Draw the fixed run and the broken one over the unit that `x` counts."""
    (fixed, rising), (broken, falling) = curves.items()
    fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    meanings = {fixed: "alive", broken: "dead"}
    plotting.draw_curves(ax, range(len(rising)), curves, meanings=meanings)
    ax.set(xlabel=x, ylabel=y, title="One change, and the run goes on learning")
    start, *_, end = rising
    plotting.show(
        fig,
        f"{y.capitalize()}: {fixed} from {start:.0%} to {end:.0%}; {broken} ends at "
        f"{falling[-1]:.0%}.",
    )


def _heat(ax: Axes, ratio_BT: Tensor, limit: float) -> None:
    """Shades for up to 1, 2, 4, 8 nats and `limit`, and the colour of dead values beyond it."""
    steps = torch.tensor([1.0, 2.0, 4.0, 8.0, limit])
    shades = [plotting.tint("suspicious", share) for share in (0, 0.14, 0.28, 0.46, 0.68)]
    colours = ListedColormap([*shades, plotting.COLOURS["dead"]])
    bins = torch.bucketize(ratio_BT, steps).numpy()
    image = ax.imshow(bins, cmap=colours, vmin=-0.5, vmax=5.5, aspect="auto")
    num_rows, num_columns = ratio_BT.shape
    rows = [row + 0.5 for row in range(num_rows - 1)]
    ax.hlines(rows, -0.5, num_columns - 0.5, color="white", linewidth=0.6)
    bar = ax.figure.colorbar(image, ticks=range(6))
    bar.ax.set_yticklabels([f"up to {step:.4g}" for step in steps] + ["beyond: exp is inf"])
    bar.ax.set_title("log-ratio, nats", fontsize=SIZE - 1, loc="left")


def _band(ax: Axes, bottom: float, height: float, words: str) -> None:
    """A pale stripe across the sheet, with its meaning in the upper left corner."""
    width = ax.get_xlim()[1] - 0.12
    ax.add_patch(Rectangle((0.06, bottom), width, height, facecolor="#f4f4f4"))
    note(ax, (0.2, bottom + height - 0.18), words, ha="left", weight="bold")
