"""Lesson 10 in pictures: what one group of replies teaches, and where a reward leads."""

from statistics import mean, stdev

import matplotlib.pyplot as plt

from course_utils.shown import plotting

EPS = 1e-4  # trl 1.16


def one_group(replies: list[str], rewards: list[float]) -> None:
    """Draw the replies to one question, their rewards, and their advantages in GRPO."""
    spread = stdev(rewards) + EPS
    advantages = [f"{(reward - mean(rewards)) / spread:+.2f}" for reward in rewards]
    texts = [[repr(reply) for reply in replies], [f"{r:g}" for r in rewards], advantages]
    meanings = {text: "alive" if text[0] == "+" else "dead" for text in advantages}
    meanings = {text: meaning for text, meaning in meanings.items() if float(text)}
    fig, ax = plt.subplots(figsize=(9, 2), layout="constrained")
    columns = [str(number) for number in range(1, len(replies) + 1)]
    plotting.draw_grid(
        ax, rows=["reply", "reward", "advantage"], columns=columns, texts=texts, meanings=meanings
    )
    ax.set_title("A reply becomes more likely if it earns more than its group")
    up = sum(reward > mean(rewards) for reward in rewards)
    plotting.show(
        fig,
        f"{len(replies)} replies to one question: {up} become more likely, the others less.",
        alt=f"A table of {len(replies)} replies: {', '.join(texts[0])}. They earn "
        f"{', '.join(texts[1])}, and their advantages are {', '.join(advantages)}.",
    )


def proxy_and_truth(proxy: list[float], truth: list[float], *, width: int = 4) -> None:
    """The mean reward of a run and the share of right replies in the same batches."""
    starts = range(0, len(proxy), width)
    steps = [start + width for start in starts]
    curves = {
        "reward": [mean(proxy[start:][:width]) for start in starts],
        "right": [mean(truth[start:][:width]) for start in starts],
    }
    fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    plotting.draw_curves(ax, steps, curves, meanings={"reward": "alive", "right": "dead"})
    ax.set(xlabel="step", ylabel=f"mean of the last {width} steps", ylim=(0, 1.05), xticks=steps)
    ax.set_title("Right replies disappear, and the reward does not show it")
    (first, *_, last), (before, *_, after) = curves["reward"], curves["right"]
    plotting.show(
        fig,
        f"Reward {first:.2f} to {last:.2f}; right replies {before:.2f} to {after:.2f}.",
    )


def held_out_curves(curves: dict[str, dict[int, float]], meanings: dict[str, str]) -> None:
    """Held-out truth by step, of runs of different lengths."""
    fig, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
    for style, (name, truth) in zip(plotting.LINES, curves.items(), strict=True):
        plotting.draw_curves(ax, list(truth), {name: list(truth.values())}, meanings=meanings)
        next(line for line in ax.lines if line.get_label() == name).set_linestyle(style)
    ax.set(xlabel="step", ylabel="share of 100 held-out sums right", ylim=(0, 1))
    ax.set_title("Slower runs fall as low, only later")
    ends = [
        f"{name}: {list(truth.values())[-1]:.2f} at {max(truth)}" for name, truth in curves.items()
    ]
    plotting.show(fig, f"Held-out truth at each run's own last step. {'; '.join(ends)}.")
