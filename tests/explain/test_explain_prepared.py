"""What stands beside the numbers of rows and weights: ids of rows, types of columns, formats."""

import json

from course_utils.explain import explain


def keys(text: str) -> list[str]:
    return [one.key for one in explain(text).causes]


def step(n: int, first: int, loss: float = 2.0) -> str:
    return (
        f"step {n} | loss {loss - n / 100:.4f} | lr 2e-05 | idx [{first}, {first + 7}, {first + 2}]"
    )


def straight(shuffled: bool = True) -> list[str]:
    """Two epochs of five steps, in another order each if shuffled."""
    return [step(n, 100 * n if shuffled else 100 * (n % 5)) for n in range(1, 11)]


RESUMED = ["killed; resuming from checkpoint-7", "loader = skip_first_batches(loader, 2)"]


def test_a_resumed_run_that_reads_the_rows_of_the_epoch_before_is_told_by_their_ids():
    again = [step(n, 100 * (n - 5)) for n in (8, 9, 10)]
    one = explain("\n".join([*straight(), *RESUMED, *again, ""])).causes[0]
    assert one.key == "resumed_without_state" and "5 steps before" in one.says
    assert "set_epoch" in one.fix and any("800, 807" in row for row in one.for_it)


def test_rows_as_in_the_straight_run_or_in_one_order_for_all_epochs_are_no_fault():
    for before in (straight(), straight(shuffled=False)):
        again = before[7:]
        assert "resumed_without_state" not in keys("\n".join([*before, *RESUMED, *again, ""]))


FEATURES = "{{'input_ids': List(Value('int64')), 'labels': List(Value('{kind}'))}}"
MASKED = "labels = [-100] * len(prompt_ids) + step_labels"
ROWS = [
    {"loss": 0.2 - n / 99, "grad_norm": 1.0, "learning_rate": 1e-5, "epoch": n / 9}
    for n in range(6)
] + [{"eval_loss": 0.02, "eval_accuracy": 0.991, "epoch": 0.7}]


def prepared(kind: str, *more: str) -> str:
    return "\n".join([*more, FEATURES.format(kind=kind), *map(json.dumps, ROWS), ""])


def test_labels_in_a_type_without_minus_100_are_all_learnt():
    shown = str(
        [(word, True) for word in ("How", "many", "cups", "are", "left", "?")] + [("Ċ", False)]
    )
    one = explain(prepared("bool", MASKED, shown)).causes[0]
    assert one.key == "mask_not_kept" and "becomes True" in one.says and "int64" in one.fix
    assert any("of which 6 are True" in row for row in one.for_it)
    assert any("0.991" in row for row in one.for_it)


def test_labels_that_can_hold_minus_100_or_that_mask_nothing_are_no_fault():
    assert "mask_not_kept" not in keys(prepared("int64", MASKED))
    assert "mask_not_kept" not in keys(prepared("bool"))  # labels of whole rows


ASKED = "{{w.dtype for g in opt.optimizer.param_groups for w in g['params']}}\n{{torch.{}}}"
CHANGED = ["part of the weights that changed in 100 steps", "  mine    2.4 %", "  other  99.7 %"]


def losses(*values: float, rate: float = 1e-6) -> list[str]:
    return [
        json.dumps({"loss": v, "grad_norm": 4.0 + n / 9, "learning_rate": rate, "step": n + 1})
        for n, v in enumerate(values)
    ]


def two(dtype: str, *more: str, rate: float = 1e-6) -> str:
    still = losses(2.11, 2.1, 2.105, 2.1, 2.098, 2.09, rate=rate)
    learns = losses(2.05, 1.8, 1.6, 1.5, 1.45, 1.4, rate=rate)
    return "\n".join([*still, "other engine:", *learns, *more, ASKED.format(dtype), ""])


def test_an_optimizer_that_answers_bfloat16_beside_a_run_that_learns_rounds_its_updates_away():
    for more in ((), CHANGED):
        one = explain(two("bfloat16", *more)).causes[0]
        assert one.key == "rounding_swallows" and one.at.where == "line 1"
        assert any("bfloat16" in row for row in one.for_it)
        assert any("2.4 %" in row for row in one.for_it) == bool(more)


def test_float32_or_a_rate_whose_updates_arrive_is_not_said_to_round():
    assert "rounding_swallows" not in keys(two("float32", *CHANGED))
    assert "rounding_swallows" not in keys(two("bfloat16", rate=2e-4))
    learns = losses(2.05, 1.8, 1.6, 1.5, 1.45, 1.4)
    text = "\n".join([*learns, *CHANGED[:1], "  mine 98.9 %", ASKED.format("bfloat16"), ""])
    assert "rounding_swallows" not in keys(text)
