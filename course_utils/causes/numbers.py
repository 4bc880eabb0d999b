"""Causes of nan and inf, and what they leave in a log."""

from course_utils.causes.cause import Cause, Phrase, keys
from course_utils.causes.harms import BROKEN
from course_utils.causes.shared import OF_NUMBERS

OF_A_NAN = (
    "no rule tells what made it: the number format, a row without labels, an id or image "
    "out of range, an attention kernel on a padded row, gradients read while they are still being "
    "sent; the number formats and one batch in float32 would tell"
)
NUMBERS = (
    Cause(
        "nan_shown_as_zero",
        "the loss is nan and the log shows 0: Trainer leaves nan out of the average "
        "that it prints (logging_nan_inf_filter)",
        "find the first operation that makes it; where weights are float16, load them in float32 "
        "or bfloat16: under AdamW they leave the range",
        "set logging_nan_inf_filter=False, and look whether the weights are nan already",
        lesson="03_reward_nan",
        met="logging_nan_inf_filter",
        instrument="NonFiniteGuard",
        thread="trl#2367",
        kinds=("half_precision",),
        harm=BROKEN,
        damages="numbers",
        explains=keys("nan_gradient nan_metric on_policy_zero_loss rate_zero nan_already"),
        speaks_of=OF_NUMBERS,
        beside="format",
        leaves_open=OF_A_NAN,
    ),
    Cause(
        "nan_weights",
        "the weights are nan: from one update on, every number that comes out of the model is nan",
        "restart from the last good checkpoint and skip updates whose grad_norm is not finite; "
        "find the operation that made the first nan (in RL mostly exp of an unbounded log-ratio)",
        "replay the last finite step and name the operation",
        lesson="04_verl_collapse",
        met="nan",
        instrument="watch",
        thread="verl#747",
        kinds=("collapse", "bad_numbers"),
        harm=BROKEN,
        explains=keys("nan_metric collapse length_is_paid replies_cut entropy_gone"),
        beside="format",
    ),
    Cause(
        "nan_from_the_start",
        "nan in the first step: the data, the loaded weights or the format make it, not training",
        "count labels and look for nan in the weights and the batch before training",
        "run one batch under the watch",
        lesson="01_floats",
        met="inf or nan",
        instrument="watch",
        thread="verl#498",
        kinds=("bad_numbers",),
        harm=BROKEN,
        damages="numbers",
        speaks_of=OF_NUMBERS,
        beside="format",
        leaves_open=OF_A_NAN,
    ),
    Cause(
        "nan_already",
        "these numbers are nan in the first entry pasted here; if the log goes back "
        "further, what turned first is there",
        "paste the entries before it",
        "the first step whose grad_norm is not finite",
        lesson="04_verl_collapse",
        met="nan",
        instrument="watch",
        kinds=("bad_numbers",),
        harm=BROKEN,
        damages="numbers",
        explains=keys("nan_metric"),
        speaks_of=OF_NUMBERS,
        beside="format",
    ),
    Cause(
        "empty_cells",
        "nan stands where a row has no number of this kind: training and evaluation are logged at "
        "different steps",
        "none needed",
        "the rows that have the number",
        healthy=True,
        neutral=True,
    ),
    Cause(
        "nan_gradient",
        "the gradient is nan or inf while the forward pass is finite: the weights are "
        "not nan yet, and one update with it makes them so",
        "skip updates whose grad_norm is not finite; find the operation whose backward makes it",
        "replay this step under the watch",
        lesson="01_floats",
        met="inf or nan",
        instrument="watch",
        kinds=("bad_numbers",),
        harm=BROKEN,
        damages="numbers",
        explains=keys(
            "nan_already nan_from_the_start nan_metric nan_weights norm_never_finite scaler_search"
        ),
        speaks_of=OF_NUMBERS,
        one_fix="find the operation under diagnose.watching and fix its formula; a step that "
        "is skipped comes again",
        settings_fix="more replies to a prompt",
        names=("gradient not finite",),
        beside="format",
        leaves_open=OF_A_NAN,
    ),
    Cause(
        "norm_overflows",
        "every gradient is finite and their total norm is not: clipping by it makes them 0 or nan",
        "make the loss smaller (a mean instead of a sum), or find what makes single gradients huge",
        "the largest gradient, and what the loss is divided by",
        lesson="01_floats",
        met="inf or nan",
        instrument="watch",
        kinds=("bad_numbers",),
        harm=BROKEN,
        damages="numbers",
        explains=keys(
            "above_uniform nan_already nan_from_the_start nan_gradient nan_shown_as_zero "
            "nan_weights no_gradient norm_never_finite step_breaks_weights"
        ),
        speaks_of=OF_NUMBERS,
        names=("clipping by an infinite norm", "max_grad_norm=0"),
    ),
    Cause(
        "norm_never_finite",
        "grad_norm is not finite in any entry, and no rule tells why",
        "look at the dtype of the weights, and at one batch",
        "one step under the watch, in float32",
        lesson="01_floats",
        met="inf or nan",
        instrument="watch",
        kinds=("bad_numbers",),
        harm=BROKEN,
        damages="numbers",
        explains=keys("scaler_search"),
        speaks_of=OF_NUMBERS,
        beside="format",
        leaves_open=OF_A_NAN,
    ),
    Cause(
        "nan_metric",
        "this number is nan beside others that are finite: the run does not train on it",
        "look at how it is computed: the mean or the std of nothing is nan",
        "count what it averages over",
        lesson="01_floats",
        met="inf or nan",
        instrument="watch",
        thread="open-r1#704",
        kinds=("bad_numbers",),
        beside="metric",
    ),
    Cause(
        "nan_now_and_then",
        "some entries are not finite and later ones are: the weights survive them",
        "where weights are float16, load them in bfloat16 or float32; else find the row of data: "
        "an empty reply, a label outside, a length of 0",
        "keep the failing batch and replay it, in float32 as well",
        lesson="01_floats",
        met="inf or nan",
        instrument="watch",
        thread="ChatGLM-Efficient-Tuning#49",
        kinds=("bad_numbers",),
        harm=BROKEN,
        damages="numbers",
        speaks_of=OF_NUMBERS,
        beside="format",
    ),
    Cause(
        "skipped_steps",
        "a few entries have a grad_norm that is not finite, and the numbers after them "
        "are finite: these updates did not reach the weights",
        "none needed while they are rare",
        "how often it happens",
        lesson="01_floats",
        met="skip",
        healthy=True,
        neutral=True,
    ),
    Cause(
        "running_mean",
        "the running mean is not finite while the current value is: one step long ago "
        "is enough for that",
        "none needed",
        "the current value, not the mean in parentheses",
        lesson="01_floats",
        met="running total",
        healthy=True,
        neutral=True,
        phrases=(Phrase(r"grad_norm:? *\d+\.?\d* \((nan|inf)\)", 3.0),),
    ),
    Cause(
        "numbers_broken",
        "these numbers are broken and not learnt: no learning makes a loss exactly 0 from one "
        "entry to the next, one odd gradient norm for ever, or a loss of 1e-39; a loss that is nan "
        "may be logged as 0",
        "go back to the checkpoint before, and look for the first bad step: log grad_norm, set "
        "logging_nan_inf_filter=False; another precision or attention kernel may avoid it",
        "look at the weights: nan, inf, or all alike",
        lesson="01_floats",
        met="inf or nan",
        instrument="watch",
        thread="LLaMA-Factory#8261",
        kinds=("bad_numbers",),
        harm=BROKEN,
        damages="numbers",
        explains=keys("labels_masked"),
        speaks_of=OF_NUMBERS,
    ),
    Cause(
        "lone_spikes",
        "single gradients far above the others, which clipping by norm cuts to its limit: the loss "
        "before and after them is the same",
        "none needed while max_grad_norm is set and the loss goes on; without clipping, set it",
        "the rows of such a step: one odd row, or one with few labels",
        healthy=True,
        neutral=True,
    ),
)
