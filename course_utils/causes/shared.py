"""Sets that several causes share: the findings they explain, the numbers they move."""

from course_utils.causes.cause import keys

# Findings that follow from many a cause.
NOTHING_MOVES = keys(
    "at_chance gradient_mostly_zero no_gradient nothing_moves policy_is_reference "
    "weights_do_not_move"
)
NOT_FINITE = keys(
    "diverged nan_already nan_from_the_start nan_gradient nan_now_and_then nan_shown_as_zero "
    "nan_weights norm_never_finite numbers_broken sampling_from_nan"
)
NO_END = keys("length_into_limit replies_cut rewards_cut")
DRIFTS = keys("collapse diverged entropy_gone kl_runs rate_too_high")
APART = keys("collapse engines_disagree kl_negative kl_runs")

# Numbers of `diagnose`, by the names it shows, that follow from a cause.
OUTCOME = frozenset({"loss", "updates", "weights that move"})
GROUPS = frozenset({"advantages", "gradients", "groups with a signal"})
LENGTHS = frozenset({"length", "replies that end", "truncated"})

# What may be fine for itself and is no sign of health, where the cause is about it.
OF_ENDS = frozenset({"the end", "tokens"})
OF_LABELS = frozenset({"gradients", "one backward pass", "tokens"})
OF_ROWS = frozenset({"rows alone", "tokens"})
OF_RATES = frozenset({"gradients", "learning rate", "rates used", "warm-up"})
OF_SAMPLING = frozenset({"log-probs", "sampler's weights", "sampling"})
OF_GRAPH = frozenset(
    {"gradients", "merged model", "one backward pass", "optimizer", "trainable", "updates"}
)
OF_NUMBERS = frozenset(
    {
        "gradients",
        "losses, gradients, weights",
        "merged model",
        "one backward pass",
        "rows alone",
        "weights",
        "weights that move",
    }
)
