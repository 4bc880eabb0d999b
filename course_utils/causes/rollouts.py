"""Causes in the limits of a run that samples replies: of their length, of a ratio, of a value."""

from course_utils.causes.cause import Cause, keys
from course_utils.causes.harms import LESS, WRONG
from course_utils.causes.shared import LENGTHS

ROLLOUTS = (
    Cause(
        "length_penalised_throughout",
        "the penalty for replies near the limit reaches short ones too: its buffer is as long as "
        "the limit, so that each token of each reply costs something",
        "a buffer that is a small part of the limit, or no such penalty",
        "the penalty of a reply of middle length",
        kinds=("length_bias",),
        harm=WRONG,
        damages="length",
        explains=keys("reward_pays_junk entropy_gone collapse"),
        follows=LENGTHS,
    ),
    Cause(
        "clip_of_whole_replies",
        "the clip range is one for the ratio of a whole reply, and the ratios here are those of "
        "single tokens: nearly every token that has moved is clipped",
        "a clip range of 0.2 for ratios of tokens, or ratios of whole replies with this range",
        "the share of tokens that is clipped behind the first update of a batch",
        kinds=("collapse",),
        harm=LESS,
        explains=keys("much_is_clipped"),
    ),
    Cause(
        "values_held_back",
        "the clipping of values lets the critic move by no more than its range for each batch of "
        "replies, and the returns are many such ranges away",
        "a range for the values that fits the returns, or none; or returns that are normalised",
        "the mean value and the mean return of each batch",
        kinds=("returns",),
        harm=LESS,
    ),
    Cause(
        "rows_by_difficulty",
        "the rows stand in an order of difficulty and are not shuffled: the reward falls as they "
        "get harder, and begins anew with each epoch, while the evaluation rises",
        "none needed; shuffle the rows if the reward of training is to be read",
        "the reward at the same place of two epochs",
        healthy=True,
    ),
)
