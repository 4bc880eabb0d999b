"""The kinds of failure, and the lessons that teach them."""

# The classes of failure, most frequent first, as fix commits and threads of the field count them.
CLASSES = {
    "adapter": "an adapter misses weights, or is merged, loaded or exported wrongly",
    "images": "images do not reach the model, or not where their tokens stand",
    "never_stops": "the end of a reply is not learned",
    "labels": "labels are masked, cut or misplaced, or no row is left",
    "no_signal": "all rewards of a group, or both replies of a pair, are alike",
    "logp_mismatch": "sampler and trainer give one token different probabilities",
    "hang": "the processes wait for each other",
    "memory": "the memory ends",
    "normalisation": "the loss depends on how the batch is split",
    "sharding": "a weight, or a part of the data, takes no part on one of several processes",
    "half_precision": "numbers leave the range of float16",
    "collapse": "the policy collapses: entropy, KL, clipping",
    "reward_hacking": "the reward is cheated, or a trait gives it away",
    "stale_weights": "old weights are sampled from, or exported",
    "template": "another template or another start token than in training",
    "padding_side": "padding on the wrong side moves positions",
    "packing": "packed rows see each other",
    "retokenised": "other tokens are scored than were sampled",
    "length_bias": "the loss pays for length",
    "kl_place": "the KL stands where it does nothing, or something else",
    "metric": "a number in the log is not what its name says",
    "returns": "the reward does not reach the tokens that earned it",
    "embeddings": "tied or resized embeddings, an id past the table",
    "resume": "a resumed run does not go on where it stopped",
    "pooling": "the reward is read at the wrong token",
    "schedule": "the learning rate is not what was asked for",
    "preference": "pairs: their order, prefix, reference or strength",
    "on_policy": "ratio 1, clip fraction 0: expected",
    "rounding": "updates vanish in bfloat16",
    "routing": "a mixture of experts routes one token differently",
    "tiny_std": "an advantage divided by almost nothing, or by nothing",
    "no_grad": "no gradient arrives, or the optimizer steps other weights",
    "rate": "the learning rate is far too high",
    "bad_numbers": "one row, weight or formula makes nan or an error",
    "checkpoint": "a checkpoint holds other weights or settings than its names say",  # not counted
}
_LESSONS = {
    "01_floats": "rounding",
    "04_verl_collapse": "kl_place",
    "06_grad_fn": "no_grad",
    "07_never_stops": "never_stops labels template padding_side packing pooling",
    "08_batch_loss": "normalisation length_bias",
    "09_two_logprobs": "logp_mismatch stale_weights retokenised",
    "10_reward_up": "no_signal reward_hacking tiny_std",
}
# The lesson of those kinds that one lesson teaches.
TAUGHT = {kind: lesson for lesson, kinds in _LESSONS.items() for kind in kinds.split()}
# Kinds that a lesson teaches and others show as well, by its number; it may not be written yet.
_SHARED = {
    "01": "bad_numbers",
    "03": "bad_numbers half_precision",
    "04": "collapse",
    "05": "half_precision",
    "11": "adapter",
}
_BY_NUMBER = {lesson[:2]: kinds for lesson, kinds in _LESSONS.items()}
# All kinds that a lesson teaches, by its number.
TAUGHT_BY = {
    number: tuple(f"{_BY_NUMBER.get(number, '')} {_SHARED.get(number, '')}".split())
    for number in sorted({*_BY_NUMBER, *_SHARED})
}
