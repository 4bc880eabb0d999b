"""Which numbers of a run follow from a cause, and so are no sign of health beside it."""

from course_utils.diagnostics.diagnosis.verdicts import EVALUATION, SERVING, TRAINING

OUTCOME = {"weights that move", "updates", "loss"}
GROUPS = {"groups with a signal", "advantages", "gradients"}
LENGTHS = {"replies that end", "length", "truncated"}

FOLLOWS: dict[str, set[str]] = {
    "rounding_swallows": OUTCOME,
    "labels_masked": OUTCOME | {"gradients", "labels", "tokens"},
    "rate_zero": OUTCOME | {"rates used"},
    "schedule_ends_early": {"updates", "loss", "rates used"},
    "optimizer_holds_others": OUTCOME,
    "nothing_trainable": OUTCOME,
    "weight_without_gradient": {"weights that move", "one backward pass"},
    "rows_pooled_wrong": OUTCOME | {"gradients", "pad of the scores"},
    "no_signal": OUTCOME | GROUPS,
    "signal_ended": GROUPS,
    "reward_pays_junk": GROUPS | LENGTHS | {"loss", "entropy"},
    "tiny_std": OUTCOME | GROUPS,
    "pad_is_eos": LENGTHS,
    "end_masked": LENGTHS,
    "end_missing": LENGTHS,
    "stops_elsewhere": LENGTHS,
    "replies_cut": LENGTHS | GROUPS,
    "rewards_cut": LENGTHS | GROUPS,
    "stale_sampler": {"entropy", "sampler's weights"},
    "retokenised": LENGTHS,
    "packing_leak": {"loss"},
    "split_changes_loss": {"loss"},
    "template_differs": LENGTHS | {"loss"},
    "above_uniform": {"loss"},
    "collapse": {"entropy", "updates", "loss"},
    "length_is_paid": LENGTHS,
    "update_too_large": OUTCOME | {"entropy"},
    "rate_unusual": OUTCOME | {"entropy"},
    "rate_too_high": OUTCOME,
    "resumed_without_state": {"loss", "rates used"},
}


def consequences(key: str, numbers: dict[str, str], where: str = TRAINING) -> dict[str, str]:
    """Those of the numbers, by name, that follow from a cause.

    What goes wrong after training, in evaluation or serving, leaves the training's own as they are.

    >>> consequences("no_signal", {"updates": "0 nats", "weights": "finite"})
    {'updates': '0 nats'}
    """
    names = FOLLOWS.get(key, set())
    names = names - OUTCOME if where in (EVALUATION, SERVING) else names
    return {name: number for name, number in numbers.items() if name in names}
