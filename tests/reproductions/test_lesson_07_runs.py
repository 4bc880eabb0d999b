"""Lesson 07's broken run never stops and its twin does, over five seeds; the log hides it.

`make test` takes one of them, `make prove` all.
"""

from functools import partial
from statistics import mean

import pytest
import torch
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling
from whole import IS_WHOLE, cases

from course_utils import zoo
from course_utils.exercises.lesson_07.pack import with_positions
from course_utils.reproductions.lesson_07 import never_stops, pooling
from course_utils.reproductions.lesson_07.never_stops_outcomes import Outcome, outcome
from course_utils.shown.report import Table

SEEDS = cases(range(5))


def by_id(rows, pad):
    """Labels made from ids, as many scripts do it."""
    batch = DataCollatorForLanguageModeling(pad_token_id=pad)(rows)
    batch["labels"][batch["labels"] == pad] = -100
    return batch


def run(seed: int, *, pad_is_end: bool) -> Outcome:
    """One run; nothing but the pad token differs."""
    pad = "<|im_end|>" if pad_is_end else "<|endoftext|>"
    return outcome(by_id, pad=pad, seed=seed)


def row(seed: int) -> tuple[str, ...]:
    cells = [str(seed)]
    for pad_is_end in (False, True):
        came = run(seed, pad_is_end=pad_is_end)
        logged = f"{mean(came.losses):.2f}, {came.losses[-1]:.3f}"
        seen = came.behaviour
        cells += [logged, f"{came.logp_after:.1f}", f"{seen.stops:.0%}", f"{seen.right:.0%}"]
    return tuple(cells)


def test_five_seeds_in_a_table(capsys):
    if not IS_WHOLE:
        pytest.skip("printed when all seeds are trained")
    own, end = "loss, own pad", "loss, pad = end"
    columns = ("seed", own, "end", "stop", "right", end, "end", "stop", "right")
    with capsys.disabled():
        print(f"\n{Table(columns=columns, rows=[row(seed) for seed in SEEDS])}")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_broken_run_never_stops_adds_as_well_and_has_the_lower_loss(seed):
    healthy, broken = run(seed, pad_is_end=False), run(seed, pad_is_end=True)
    assert healthy.behaviour.stops >= 0.95 and healthy.behaviour.right >= 0.9
    assert broken.behaviour.stops <= 0.02 and broken.behaviour.right >= 0.85
    assert mean(broken.losses) < mean(healthy.losses)
    assert broken.logp_after < broken.logp_before < healthy.logp_after


def joined(rows, *, apart: bool):
    """All rows in one sequence: positions that begin again, or nothing but ends between them."""
    batch = with_positions(rows)
    positions = batch.pop("position_ids")
    ones = torch.ones_like(positions)
    return batch | ({"position_ids": positions} if apart else {"attention_mask": ones})


@pytest.mark.parametrize("seed", cases(range(10)))
def test_rows_that_see_each_other_in_training_are_not_learnt(seed):
    right = {}
    for apart in (False, True):
        model = never_stops.base_model(seed=seed)
        never_stops.sft_trainer(
            model,
            zoo.load_tokenizer("tiny"),
            collate=partial(joined, apart=apart),
            dataset=never_stops.prepared("tiny", seed=seed),
            seed=seed,
        ).train()
        right[apart] = never_stops.behaviour(model).right
    assert right[False] <= 0.25 and right[True] >= 0.9


def test_the_base_adds_and_does_not_stop_and_the_shipped_model_does_both():
    base = never_stops.behaviour(never_stops.base_model())
    shipped = never_stops.behaviour(zoo.load_policy("tiny", device="cpu"))
    assert base.stops == 0 and shipped.stops == 1 and shipped.right >= 0.98
    waits = never_stops.behaviour(zoo.load_policy("tiny", device="cpu"), stop_at="<|endoftext|>")
    assert (shipped.halts, waits.stops, waits.halts) == (1, 1, 0)
    assert all(reply.partition("<|im_end|>")[2] for reply in waits.replies)


def test_a_stop_string_halts_without_an_end_and_a_batch_answers_as_single_prompts_do():
    shipped = zoo.load_policy("tiny", device="cpu")
    cut = never_stops.behaviour(shipped, n=4, stop_strings=list("0123456789"))
    assert cut.stops == 0 and all(len(reply) == 1 for reply in cut.replies)
    together, alone = (never_stops.behaviour(shipped, n=8, batch_size=size) for size in (8, 1))
    assert together == alone


def test_the_score_before_the_first_end_is_one_and_the_same_or_hangs_on_the_batch():
    tokenizer = zoo.load_tokenizer("tiny")
    reward, end = zoo.load_reward_model("tiny", device="cpu"), tokenizer.eos_token_id
    reward.config.pad_token_id = end
    pairs = pooling.pairs(tokenizer, pad=end)

    def until_4_48(input_ids, attention_mask):
        states = reward.model(input_ids, attention_mask=attention_mask).last_hidden_state
        last = (torch.eq(input_ids, end).int().argmax(-1) - 1) % input_ids.shape[-1]
        return reward.score(states)[torch.arange(len(last)), last, 0]

    old = pooling.compared(pairs, until_4_48)
    assert old["right"] == (0, 1) and old["left"][0] > 0.2
    today = pooling.compared(pairs, lambda **given: reward(**given).logits[:, 0])
    assert all(moved == 0 and equal < 0.1 for moved, equal in today.values())
    assert "padded on the left" in pooling.table({"today": today}).text()
