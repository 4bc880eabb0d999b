"""Lesson 07's broken run never stops and its twin does, over five seeds; the log hides it."""

from functools import cache

import pytest
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from course_utils import zoo
from course_utils.report import Table
from course_utils.reproductions import never_stops

SEEDS = range(5)


@cache
def run(seed: int, *, pad_is_end: bool):
    """One run whose labels are made from ids; nothing but the pad token differs."""
    tokenizer = zoo.load_tokenizer("tiny")
    if pad_is_end:
        tokenizer.pad_token = tokenizer.eos_token
    padded = DataCollatorForLanguageModeling(pad_token_id=tokenizer.pad_token_id)

    def collate(rows):
        batch = padded(rows)
        batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
        return batch

    watcher = never_stops.EndWatcher(every=60)
    model = never_stops.base_model(seed=seed)
    trainer = never_stops.sft_trainer(
        model, tokenizer, collate=collate, seed=seed, callbacks=(watcher,)
    )
    trainer.train()
    return never_stops.losses(trainer), watcher.logps, never_stops.behaviour(model)


def row(seed: int) -> tuple[str, ...]:
    cells = [str(seed)]
    for pad_is_end in (False, True):
        losses, logps, seen = run(seed, pad_is_end=pad_is_end)
        logged = f"{sum(losses) / len(losses):.2f}, {losses[-1]:.3f}"
        cells += [logged, f"{logps[-1]:.1f}", f"{seen.stops:.0%}", f"{seen.right:.0%}"]
    return tuple(cells)


def test_five_seeds_in_a_table(capsys):
    own, end = "loss, own pad", "loss, pad = end"
    columns = ("seed", own, "end", "stop", "right", end, "end", "stop", "right")
    with capsys.disabled():
        print(f"\n{Table(columns=columns, rows=[row(seed) for seed in SEEDS])}")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_broken_run_never_stops_adds_as_well_and_has_the_lower_loss(seed):
    healthy_losses, healthy_logps, healthy = run(seed, pad_is_end=False)
    losses, logps, broken = run(seed, pad_is_end=True)
    assert healthy.stops >= 0.95 and healthy.right >= 0.9
    assert broken.stops <= 0.02 and broken.right >= 0.85
    assert sum(losses) < sum(healthy_losses)
    assert logps[-1] < logps[0] < healthy_logps[-1]


def test_the_base_adds_and_does_not_stop_and_the_shipped_model_does_both():
    base = never_stops.behaviour(never_stops.base_model())
    shipped = never_stops.behaviour(zoo.load_policy("tiny", device="cpu"))
    assert base.stops == 0 and shipped.stops == 1 and shipped.right >= 0.98
