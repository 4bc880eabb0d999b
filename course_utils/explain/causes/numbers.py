"""What nan, inf and float16 leave in a log."""

from course_utils.explain.causes.cause import Cause

NUMBERS = (
    Cause(
        "nan_shown_as_zero",
        "the loss is nan and the log shows 0: Trainer leaves nan out of the average that it prints "
        "(logging_nan_inf_filter)",
        "load the weights in float32 or bfloat16; float16 weights under AdamW leave the range",
        "set logging_nan_inf_filter=False, and look whether the weights are nan already",
        "03_reward_nan",
        "NonFiniteGuard",
        "trl#2367",
    ),
    Cause(
        "nan_weights",
        "the weights are nan: from one update on, every number that comes out of the model is nan",
        "bound log-ratios before exp, skip updates whose grad_norm is not finite, restart from "
        "the last good checkpoint",
        "replay the last finite step and name the operation",
        "04_verl_collapse",
        "watch",
        "verl#747",
    ),
    Cause(
        "nan_from_the_start",
        "nan in the first step: the data, the loaded weights or the format make it, not training",
        "count labels and look for nan in the weights and the batch before training",
        "run one batch under the watch",
        "01_floats",
        "watch",
        "verl#498",
    ),
    Cause(
        "nan_already",
        "these numbers are nan in the first entry pasted here; if the log goes back further, what "
        "turned first is there",
        "paste the entries before it",
        "the first step whose grad_norm is not finite",
        lesson="04_verl_collapse",
        instrument="watch",
    ),
    Cause(
        "nan_gradient",
        "the gradient is nan or inf while the forward pass is finite: the weights are not nan "
        "yet, and one update with it makes them so",
        "skip updates whose grad_norm is not finite; find the operation whose backward makes it",
        "replay this step under the watch",
        lesson="01_floats",
        instrument="watch",
    ),
    Cause(
        "norm_never_finite",
        "grad_norm is not finite in any entry; the log does not show why",
        "look at the dtype of the weights, and at one batch",
        "one step under the watch, in float32",
        lesson="01_floats",
        instrument="watch",
    ),
    Cause(
        "nan_metric",
        "this number is nan beside others that are finite: the run does not train on it",
        "look at how it is computed: the mean or the std of nothing is nan",
        "count what it averages over",
        "01_floats",
        "watch",
        "open-r1#704",
    ),
    Cause(
        "nan_now_and_then",
        "some entries are not finite and later ones are: the weights survive them",
        "find the row of data: an empty reply, a label outside, a length of 0",
        "keep the failing batch and replay it",
        "01_floats",
        "watch",
        "ChatGLM-Efficient-Tuning#49",
    ),
    Cause(
        "skipped_steps",
        "a few entries have a grad_norm that is not finite, and the numbers after them are "
        "finite: these updates did not reach the weights",
        "none needed while they are rare",
        "how often it happens",
        lesson="01_floats",
        healthy=True,
    ),
    Cause(
        "running_mean",
        "the running mean is not finite while the current value is: one step long ago is "
        "enough for that",
        "none needed",
        "the current value, not the mean in parentheses",
        lesson="01_floats",
        healthy=True,
    ),
    Cause(
        "reward_nan",
        "the reward itself is nan: what scores the replies returns it, and every advantage made of "
        "it is nan",
        "score one reply by hand; a reward model in float16 overflows",
        "the reward model's inputs and weights",
        "03_reward_nan",
        "watch",
        "ColossalAI#3732",
    ),
    Cause(
        "std_of_one",
        "reward_std is nan while the reward is finite: the standard deviation of one sample "
        "is nan, and so are the advantages",
        "at least two replies to a prompt (num_generations)",
        "the size of a group",
        lesson="01_floats",
        instrument="watch",
        thread="R1-V#69",
    ),
    Cause(
        "numbers_broken",
        "these numbers are broken: no learning makes a loss exactly 0 from one entry to the next "
        "beside a finite gradient, one odd gradient norm for ever, or a loss of 1e-39",
        "restart from the checkpoint before; another precision or attention kernel",
        "look at the weights: nan, inf, or all alike",
        lesson="01_floats",
        instrument="watch",
        thread="LLaMA-Factory#8261",
    ),
    Cause(
        "critic_nan",
        "the critic's own numbers are nan: its value head was not initialised or loaded, or its "
        "weights broke",
        "look at the value head's weights before the first step",
        "the critic's weights",
        "01_floats",
        "watch",
        "verl#498",
    ),
    Cause(
        "critic_update_nan",
        "the update of the critic is nan while the values that it gives are still finite",
        "look at what its loss is made of: returns, values, mask",
        "the returns and the mask of this batch",
        "01_floats",
        "watch",
    ),
    Cause(
        "scaler_search",
        "a gradient scaler looks for its scale: it skips a step that overflows and halves",
        "none needed",
        "count the skipped steps; they should become rare",
        "05_gemma_fp16",
        healthy=True,
    ),
    Cause(
        "fp16_overflow",
        "numbers overflow in float16 even at a small loss scale: the scaler can halve for ever, "
        "and every overflow is a step that trains nothing",
        "train in bfloat16, or rescale the activations that pass 65504",
        "measure the activations against 65504",
        "05_gemma_fp16",
        "profile_ranges",
        "transformers#36822",
    ),
)
