"""What a message of PyTorch, a trainer or a tokenizer means."""

from course_utils.explain.causes.cause import Cause

MESSAGES = (
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
        "no_pad_id",
        "the model's own configuration has no pad token, so it cannot tell where replies end",
        "set model.config.pad_token_id to the tokenizer's",
        "whether tokenizer and model agree",
        thread="MedicalGPT#417",
    ),
    Cause(
        "update_skipped",
        "the training code itself skips updates whose gradient norm passes its threshold, and "
        "the norms here are finite",
        "a larger threshold, or a larger batch",
        "the threshold in that code against the usual norm",
        thread="minFM#4",
    ),
)
