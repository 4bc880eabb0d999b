"""What a log can point to: a sentence of cause, the fix, where to look next, lesson, instrument."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    """One thing that can be wrong with a run, or `healthy` and only looks wrong.

    `thread` names where it was reported.
    """

    key: str
    says: str
    fix: str
    look: str
    lesson: str = ""
    instrument: str = ""
    thread: str = ""
    healthy: bool = False


_ALL = (
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
        "nan_metric",
        "only this number is nan, and the run does not train on it",
        "look at how it is computed: the mean or the std of nothing is nan",
        "count what it averages over",
        "01_floats",
        "watch",
        "open-r1#704",
    ),
    Cause(
        "nan_now_and_then",
        "some steps are not finite, and the weights survive them: a scaler or a guard skipped "
        "these updates, or a metric alone is nan",
        "find the row of data: an empty reply, a label outside, a length of 0",
        "keep the failing batch and replay it",
        "01_floats",
        "watch",
        "ChatGLM-Efficient-Tuning#49",
    ),
    Cause(
        "scaler_search",
        "a gradient scaler looks for its scale: it skips the steps that overflow and halves",
        "none needed",
        "count the skipped steps; they should become rare",
        "05_gemma_fp16",
        healthy=True,
    ),
    Cause(
        "fp16_overflow",
        "every step overflows in float16: the scaler can halve for ever and nothing is trained",
        "train in bfloat16, or rescale the activations that pass 65504",
        "measure the activations against 65504",
        "05_gemma_fp16",
        "profile_ranges",
        "transformers#36822",
    ),
    Cause(
        "on_policy_zero_loss",
        "GRPO's loss is 0 by its formula when the policy is the one that sampled: the advantages "
        "of a group add up to 0. Its gradient is not 0, and grad_norm shows it",
        "none needed; watch the reward",
        "the reward, not the loss",
        thread="open-r1#239",
        healthy=True,
    ),
    Cause(
        "no_signal",
        "all replies of a group get one reward, so the advantages are 0 and nothing is learned",
        "make the reward tell replies apart, or the prompts neither too easy nor too hard",
        "read the replies of one group with their rewards",
        thread="trl#3452",
    ),
    Cause(
        "no_gradient",
        "the rewards differ and still no gradient arrives: what is trained and what computes the "
        "loss are not connected, or nothing is trainable",
        "load an adapter with is_trainable=True; check requires_grad and what the optimizer holds",
        "audit the gradients of one step",
        "06_grad_fn",
        "audit_gradients",
        "ms-swift#5571",
    ),
    Cause(
        "policy_is_reference",
        "policy and reference give the same log-probs for ever: the policy does not move",
        "load the adapter with is_trainable=True, and check the learning rate",
        "compare a weight before and after a step",
        "06_grad_fn",
        "audit_gradients",
        "trl#1311",
    ),
    Cause(
        "dpo_start",
        "ln 2 = 0.6931 is where DPO starts: policy and reference are still the same",
        "none needed",
        "the margin of the next hundred steps",
        "06_grad_fn",
        healthy=True,
    ),
    Cause(
        "few_rows",
        "accuracies of only 0 and 1 come from a batch of one pair",
        "none needed; average over more steps",
        "a moving average",
        thread="LLaMA-Factory#5778",
        healthy=True,
    ),
    Cause(
        "margin_by_pushing_down",
        "the margin grows because the rejected replies lose faster than the chosen ones; both "
        "become unlikely, and so may the replies you want",
        "a smaller learning rate or larger beta; add the negative log-likelihood of the chosen",
        "sample replies and read them",
        thread="LLaMA-Factory#7643",
    ),
    Cause(
        "labels_masked",
        "no token counts: all labels are -100, so the loss is 0 or nan and nothing is learned",
        "count the labels that are not -100; check truncation, template and response template",
        "look at one batch token by token",
        "07_never_stops",
        "inspect_batch",
        "trl#6668",
    ),
    Cause(
        "rate_too_high",
        "the loss climbs with the gradient: steps are too long",
        "a tenth of the learning rate, with warm-up",
        "whether the climb begins where the learning rate peaks",
        "01_floats",
    ),
    Cause(
        "collapse",
        "the reward falls from where it was and stays there",
        "a checkpoint before the turn; then a smaller learning rate, clipping, a look at the ratio",
        "kl, entropy and reply length just before the turn",
        "04_verl_collapse",
        "watch",
        "verl#5953",
    ),
    Cause(
        "entropy_gone",
        "the entropy is gone: replies of a group are alike, so there is soon nothing to compare",
        "a higher sampling temperature, clip higher than lower, an entropy term",
        "read several replies to one prompt",
    ),
    Cause(
        "proxy_rises_alone",
        "the reward rises and the evaluation falls: the reward is being cheated",
        "read the replies with the highest reward, and harden the verifier",
        "a held-out verifier on a fixed set",
        thread="Visual-RFT#176",
    ),
    Cause(
        "replies_cut",
        "replies run into the length limit and are scored unfinished, or the model cannot stop",
        "allow longer replies, or find out whether the end token is learned",
        "the share of replies that end by themselves",
        "07_never_stops",
        "inspect_batch",
        "trl#1623",
    ),
    Cause(
        "engines_disagree",
        "the engine that samples and the trainer that scores give one token different "
        "probabilities",
        "the same temperature, weights and template in both; truncated importance sampling",
        "log-probs of the same tokens in both",
        thread="trl#4159",
    ),
    Cause(
        "tiny_std",
        "an advantage far from 0 comes from a division by a tiny standard deviation",
        "add eps to the std, or leave the division out (scale_rewards=False)",
        "the group with the largest advantage",
        thread="NeMo-RL#4161",
    ),
    Cause(
        "loss_off_by_a_factor",
        "the training loss is a whole multiple of the evaluation loss: micro-batches are summed "
        "where they should be averaged",
        "update, or divide by num_items_in_batch in compute_loss",
        "the loss with gradient_accumulation_steps=1",
        thread="transformers#37766",
    ),
    Cause(
        "nothing_moves",
        "the loss stays where it is though the gradient is not 0: the steps vanish in rounding, or "
        "the learning rate is 0",
        "look at the learning rate; keep float32 master weights when training in bfloat16",
        "the share of weights that change in a step",
        "01_floats",
        "profile_ranges",
        "torchtune#2254",
    ),
    Cause(
        "critic_nan",
        "the critic's numbers are nan from the start: its value head was not initialised or loaded",
        "look at the value head's weights before the first step",
        "the critic's weights",
        "01_floats",
        "watch",
        "verl#498",
    ),
    Cause(
        "sigfpe",
        "an integer was divided by 0 in native code; floating point numbers cannot do that",
        "another version of the library that the native stack names",
        "the native stack, then bisect the settings that differ from a run that lives",
        "02_grpo_sigfpe",
        "run_in_child",
        "trl#2906",
    ),
    Cause(
        "killed_for_memory",
        "the operating system killed the process, nearly always for memory",
        "smaller batches, shorter replies; the largest tensor is often batch x length x vocabulary",
        "the kernel's log (dmesg), and peak memory",
        "02_grpo_sigfpe",
        "run_in_child",
    ),
    Cause(
        "bad_memory_access",
        "native code read memory that is not its own",
        "match the versions of driver, CUDA and extensions",
        "the native stack",
        "02_grpo_sigfpe",
        "run_in_child",
    ),
    Cause(
        "mapped_file_shrank",
        "a file that is mapped into memory became shorter, or its disk is full",
        "write a new file instead of truncating the one that is mapped",
        "who writes the file",
        "02_grpo_sigfpe",
        "run_in_child",
    ),
    Cause(
        "aborted",
        "the process aborted itself, after a failed check in native code",
        "the line above the abort names the check",
        "the last lines of stderr",
        "02_grpo_sigfpe",
        "run_in_child",
    ),
    Cause(
        "cuda_memory",
        "the GPU's memory is full",
        "a smaller micro-batch with more accumulation, shorter replies, gradient checkpointing",
        "the size it asked for: batch x length x vocabulary x 4 bytes is the usual one",
    ),
    Cause(
        "no_grad_fn",
        "the loss does not depend on any weight that is trained",
        "load the adapter with is_trainable=True; with checkpointing use_reentrant=False or "
        "enable_input_require_grads()",
        "where along the model the gradient is cut",
        "06_grad_fn",
        "audit_gradients",
        "trl#2819",
    ),
    Cause(
        "unscale_half",
        "the trained weights are float16, and a gradient scaler cannot unscale those",
        "load the weights in float32 and let autocast work in float16",
        "the dtype of the trainable weights",
        "03_reward_nan",
        "profile_ranges",
        "transformers#23165",
    ),
    Cause(
        "sampling_from_nan",
        "the probabilities to sample from are nan: the weights or the logits are",
        "find the first step whose gradient is not finite",
        "the weights after the last update",
        "04_verl_collapse",
        "watch",
        "verl#747",
    ),
    Cause(
        "index_outside",
        "an index is outside its table: a token id beyond the vocabulary, or a label",
        "compare the largest id with the number of rows of the embedding",
        "run the batch on the CPU, where the line is named",
        "",
        "watch",
    ),
    Cause(
        "ranks_disagree",
        "the processes wait for each other: one has died, or they run different collectives",
        "find the rank that stopped first; its own error is the one that counts",
        "the last line of each rank",
        "",
        "run_in_child",
        "trl#2923",
    ),
    Cause(
        "unused_parameters",
        "a weight took no part in a step, and DDP waits for its gradient",
        "freeze it, or find_unused_parameters=True",
        "the names of weights without a gradient",
        "06_grad_fn",
        "audit_gradients",
        "peft#951",
    ),
    Cause(
        "anomaly",
        "a backward operation made nan; the trace above it names the forward line",
        "bound what goes into that operation",
        "the values that went in",
        "01_floats",
        "watch",
    ),
    Cause(
        "no_samples",
        "the dataset is empty after preparation: every row was filtered out or has no label",
        "look at one row before and after preparation",
        "the template and the truncation",
        "07_never_stops",
        "inspect_batch",
        "trl#6668",
    ),
    Cause(
        "no_pad_token",
        "the tokenizer has no pad token; the usual remedy, pad = eos, unlearns the end",
        "add a pad token of its own",
        "the labels at the end of a reply",
        "07_never_stops",
        "inspect_batch",
        "trl#1623",
    ),
    Cause(
        "improves",
        "the numbers move the way they should",
        "none needed",
        "held-out data",
        healthy=True,
    ),
)

CAUSES = {cause.key: cause for cause in _ALL}
