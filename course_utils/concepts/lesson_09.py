"""Lesson 09 in pictures: one token's two log-probs, how far each cause moves them, what harms."""

from collections.abc import Sequence

import matplotlib.pyplot as plt

from course_utils.shown import plotting

COLOURS = plotting.COLOURS


def one_token(tokens: Sequence[str], engine: Sequence[float], trainer: Sequence[float]) -> None:
    """Draw the most likely next tokens, their probability on each side, and the ratio.

    Args:
        engine, trainer: probabilities of the same tokens.
    """
    ratios = [f"{t / s:.2f}" for s, t in zip(engine, trainer, strict=True)]
    rows = [[f"{p:.3f}" for p in side] for side in (engine, trainer)]
    meanings = {text: "suspicious" for text in ratios if abs(float(text) - 1) > 0.2}
    fig, ax = plt.subplots(figsize=(8, 2), layout="constrained")
    plotting.draw_grid(
        ax,
        rows=["engine", "trainer", "ratio"],
        columns=list(tokens),
        texts=[*rows, ratios],
        meanings=meanings,
    )
    ax.set_title("The same weights, the same token, two probabilities")
    largest = max(ratios, key=float)
    plotting.show(
        fig,
        f"Ratio of trainer to engine from {min(ratios, key=float)} to {largest}; it should be 1.",
        alt=f"A table of {len(tokens)} next tokens, {', '.join(tokens)}. The engine gives them "
        f"{', '.join(rows[0])}, the trainer {', '.join(rows[1])}; the ratios are "
        f"{', '.join(ratios)}.",
    )


def how_far(gaps: dict[str, tuple[float, float]], kinds: dict[str, str]) -> None:
    """Draw mean |difference| per token and per reply for each cause, on a log scale.

    Args:
        gaps: of a token and of a reply, in nats; the least first.
        kinds: for each cause a key of COLOURS.
    """
    fig, ax = plt.subplots(figsize=(8, 0.34 * len(gaps) + 1.4), layout="constrained")
    for row, (name, (token, reply)) in enumerate(gaps.items()):
        colour = COLOURS[kinds[name]]
        ax.plot([token, reply], [row, row], color=colour, linewidth=1.5)
        ax.plot([token], [row], "o", color=colour)
        ax.plot([reply], [row], "s", color=colour)
    ax.set(xscale="log", xlabel="mean |difference| in nats: circle per token, square per reply")
    ax.set_yticks(range(len(gaps)), list(gaps))
    ax.set_title("From rounding to another text")
    most, (_, high) = list(gaps.items())[-1]
    above = [token for token, _ in gaps.values() if token > 1e-5]
    said = "; ".join(f"{name} {token:.2g} and {reply:.2g}" for name, (token, reply) in gaps.items())
    plotting.show(
        fig,
        f"{len(gaps) - len(above)} stay at the rounding of float32. The others: {min(above):.1g} "
        f"nats per token to {high:.1f} nats per reply ({most}).",
        alt=f"A chart with one row for each cause: mean difference per token and per reply, "
        f"in nats. {said}.",
    )


def size_and_harm(
    truths: dict[str, float], gaps: dict[str, float], worse: set[str], marks: dict[str, float]
) -> None:
    """Draw the final values of runs in the order of their difference, smallest first.

    Args:
        worse: the runs that end lower than they should.
        marks: values to compare with, in grey above the others.
    """
    names = sorted(truths, key=gaps.get)
    bars = {f"{name}: {gaps[name]:.2g} nats": truths[name] for name in names}
    meanings = {
        label: "dead" if name in worse else "alive" for name, label in zip(names, bars, strict=True)
    }
    fig, ax = plt.subplots(figsize=(8, 0.36 * len(marks | bars) + 1.3), layout="constrained")
    plotting.draw_bars(ax, marks | bars, meanings=meanings)
    ax.set(xlabel="held-out sums right, mean of ten seeds", xlim=(0, 0.8))
    ax.set_title("Sorted by the size of the difference")
    found = ", ".join(name for name in names if name in worse)
    plotting.show(
        fig, f"Below the run without a difference in at least eight of ten seeds: {found}."
    )
