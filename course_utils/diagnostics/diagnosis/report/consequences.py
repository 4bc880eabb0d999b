"""Which numbers of a run follow from a cause, and which are no sign of health beside it."""

from course_utils.diagnostics.diagnosis.sheet.harm import OF_NUMBERS
from course_utils.diagnostics.diagnosis.verdicts import (
    EVALUATION,
    REWARD,
    SERVING,
    STILL,
    TRAINING,
    verdict_of,
)

OUTCOME = {"weights that move", "updates", "loss"}
GROUPS = {"groups with a signal", "advantages", "gradients"}
LENGTHS = {"replies that end", "length", "truncated"}
SCHEDULE = {"learning rate", "rates used", "warm-up"}
GRAPH = {"trainable", "optimizer", "one backward pass", "merged model"}
NUMBERS = {
    *("weights", "gradients", "losses, gradients, weights", "rows alone", "weights that move"),
    *("one backward pass", "merged model"),
}

FOLLOWS: dict[str, set[str]] = {
    "rounding_swallows": OUTCOME,
    "labels_masked": OUTCOME | {"gradients", "labels"},
    "rate_zero": OUTCOME | {"rates used"},
    "schedule_ends_early": {"updates", "rates used"},
    "optimizer_holds_others": OUTCOME,
    "nothing_trainable": OUTCOME,
    "weight_without_gradient": {"weights that move"},
    "rows_pooled_wrong": OUTCOME,
    "pairs_alike": OUTCOME,
    "no_signal": OUTCOME | GROUPS,
    "signal_ended": GROUPS,
    "reward_pays_junk": LENGTHS | {"groups with a signal", "entropy"},
    "tiny_std": OUTCOME | GROUPS,
    "pad_is_eos": LENGTHS,
    "end_masked": LENGTHS,
    "end_missing": LENGTHS,
    "stops_elsewhere": LENGTHS,
    "replies_cut": LENGTHS | {"groups with a signal"},
    "rewards_cut": LENGTHS | {"groups with a signal"},
    "stale_sampler": {"sampler's weights"},
    "retokenised": LENGTHS,
    "packing_leak": {"loss"},
    "split_changes_loss": {"loss"},
    "template_differs": LENGTHS | {"loss"},
    "above_uniform": {"loss"},
    "collapse": {"entropy", "updates", "loss"},
    "kl_without_effect": {"KL of policy and reference"},
    "length_is_paid": LENGTHS,
    "update_too_large": OUTCOME | {"entropy"},
    "rate_unusual": OUTCOME | {"entropy"},
    "rate_too_high": OUTCOME,
}
# What is fine for itself and is about the thing that is broken: numbers, and the causes.
_SPEAK = (
    ({"tokens", "the end"}, "pad_is_eos end_masked end_missing stops_elsewhere"),
    (
        {"tokens", "one backward pass", "gradients"},
        "labels_masked labels_shifted padding_learnt prompt_in_loss double_bos",
    ),
    ({"tokens", "rows alone"}, "padding_side padding_attended packing_leak row_depends_on_batch"),
    (
        SCHEDULE | {"gradients"},
        "rate_unusual rate_too_high diverged update_too_large rate_zero schedule_ends_early"
        " rate_not_asked resumed_without_state",
    ),
    (
        {"log-probs", "sampling", "sampler's weights"},
        "logp_disagree stale_sampler retokenised routing_flips engines_disagree",
    ),
    ({"sampling", "gradients", "one backward pass"}, "no_signal"),
    ({"advantages", "the end"}, "replies_cut rewards_cut"),
    ({"advantages", "gradients"}, "reward_pays_junk tiny_std"),
    (
        GRAPH | {"gradients", "updates"},
        "weight_without_gradient nothing_trainable optimizer_holds_others unused_parameters"
        " no_grad_fn",
    ),
    ({"ids", "tied embeddings", "trainable"}, "new_tokens_untrained tie_broken"),
    (
        {"rows alone", "pad of the scores", "scores of pairs", "gradients", "tokens"},
        "rows_pooled_wrong",
    ),
    ({"pairs", "tokens", "gradients", "reference's logits"}, "pairs_alike pair_prompts_differ"),
    ({"reference", "reference's logits"}, "wrong_reference reference_moves"),
    ({"one backward pass", "gradients", "split and whole"}, "split_changes_loss"),
    ({"gradients", "rates used", "rounding", "weights"}, "rounding_swallows"),
    (NUMBERS, " ".join(sorted(OF_NUMBERS))),
)
SPEAKS_OF: dict[str, set[str]] = {key: names for names, keys in _SPEAK for key in keys.split()}
AFTER = {EVALUATION, SERVING}  # causes that leave the numbers of the training as they are
FALLS = "improves"  # what only looks like a fault: a number that moves the way it should
STARTS = {"dpo_start", "on_policy_zero_loss"}  # and a loss that says nothing where it stands
ABOUT_A_LOSS = {"tiny_std", "wrong_reference", "no_signal", "signal_ended", "reward_pays_junk"}


def consequences(key: str, numbers: dict[str, str], where: str = TRAINING) -> dict[str, str]:
    """Those of the numbers, by name, that follow from a cause.

    What goes wrong after training, in evaluation or serving, leaves the training's own as they are.

    >>> consequences("no_signal", {"updates": "0 nats", "weights": "finite"})
    {'updates': '0 nats'}
    """
    names = FOLLOWS.get(key, set())
    names = names - OUTCOME if where in AFTER else names
    return {name: number for name, number in numbers.items() if name in names}


def no_comfort(key: str, numbers: dict[str, str], where: str = TRAINING) -> set[str]:
    """The names of what is fine for itself and no sign of health beside this cause.

    >>> sorted(no_comfort("end_masked", {"tokens": "8 rows", "the log": "fine", "ids": "320"}))
    ['the log', 'tokens']
    """
    names = SPEAKS_OF.get(key, set()) | set(consequences(key, numbers, where))
    if where not in AFTER:
        names = names | {"the log"}
    of_reward = {name for name in numbers if name.startswith("reward ")}
    return (names | of_reward if where == REWARD else names) & set(numbers)


def is_no_comfort(healthy: str, key: str, where: str = TRAINING) -> bool:
    """Whether what only looks like a fault would calm the reader about a cause that is there.

    >>> is_no_comfort("improves", "split_changes_loss"), is_no_comfort("improves", "padding_side")
    (True, True)
    >>> is_no_comfort("improves", "padding_side", "serving")
    False
    """
    if where in AFTER:
        return False
    if healthy in STARTS:
        return verdict_of(key, where).harm == STILL or key in ABOUT_A_LOSS
    return healthy == FALLS
