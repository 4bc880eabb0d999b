"""The words that name a cause outright: errors and warnings of the libraries, signals, codes."""

import re

_ATOM = re.compile(r"\\.|\[[^\]]*\]|\{[\d,]*\}|.")  # of a pattern
CERTAIN, LATER, WARNED, WEAK = 10.0, 9.0, 6.0, 5.5

_DEATHS = (  # cause, signal's number, other words for it
    ("sigfpe", 8, r"Floating[- ]point exception|SIGFPE"),
    ("mapped_file_shrank", 7, r"\bBus error|SIGBUS"),
    (
        "killed_for_memory",
        9,
        r"SIGKILL|oom[-_ ]?kill|^Killed$|^\S+ line \d+:\s+\d+ Killed|"
        r"(exceed|reach|hit)\w* (its |the )?(pod |container )?memory limit",
    ),
    ("bad_memory_access", 11, r"Segmentation fault|SIGSEGV"),
    ("aborted", 6, r"\bAborted\b|SIGABRT|Fatal Python error: .{0,80}"),
    ("terminated", 15, r"terminated by SIGTERM"),
    ("interrupted", 2, r"^\^?C?KeyboardInterrupt\b"),
)
BY_SIGNAL = {number: key for key, number, _ in _DEATHS}


def _death(number: int, words: str) -> str:
    return rf"{words}|exit ?code\s*:?\s*\(?(-{number}|{128 + number})\b|\bSignal {number}\b"


# First match wins within a line: cause, weight, pattern.
_PHRASES = (
    ("no_grad_fn", CERTAIN, r"element 0 of tensors does not require grad"),
    ("checkpoint_without_gradient", WEAK, r"None of the inputs have requires_grad=True"),
    ("unscale_half", CERTAIN, r"Attempting to unscale FP16 gradients"),
    ("weight_without_gradient", CERTAIN, r"No inf checks were recorded for this optimizer"),
    ("nothing_trainable", CERTAIN, r"optimizer got an empty parameter list|trainable params: 0\b"),
    ("sampling_from_nan", CERTAIN, r"probability tensor contains either .?inf"),
    ("ray_worker_died", CERTAIN, r"(The actor is dead because|Worker exit detail:).{0,600}"),
    *((key, CERTAIN, _death(number, words)) for key, number, words in _DEATHS[:-3]),
    ("fp16_overflow", CERTAIN, r"Minimum loss scale reached|Fp16 Grad Scale: +0\b"),
    ("fp16_overflow", CERTAIN, r"loss scale already at minimum[^.]*"),
    ("scaler_search", 4.0, r"overflow detected, setting loss scale|reducing (the )?loss scale"),
    ("scaler_search", 4.0, r"Gradient overflow\. +Skipping step"),
    ("optimizer_waits", 3.0, r"tried to get lr value before scheduler/optimizer started stepping"),
    ("cuda_memory", CERTAIN, r"CUDA out of memory|OutOfMemoryError|HIP out of memory"),
    ("cache_memory", CERTAIN, r"No available memory for the cache blocks"),
    ("cache_memory", CERTAIN, r"larger than the maximum number of tokens that can be stored in KV"),
    ("ranks_disagree", LATER, r"Watchdog caught collective operati(on timeout)?"),
    ("ranks_disagree", LATER, r"Timed out waiting \d+ ?ms for (send|recv) operation"),
    ("ranks_disagree", LATER, r"wait ?timeout after \d+ ?ms"),
    ("ranks_disagree", LATER, r"connection (closed|reset) by (remote )?peer"),
    ("python_error", WEAK, r"failed \(exitcode: 1\) local_rank: \d+"),
    ("nccl_failed", LATER, r"nccl(System|Internal|Remote|UnhandledCuda)Error"),
    ("nccl_failed", LATER, r"NCCL error in: ?\S+"),
    ("unused_parameters", CERTAIN, r"Expected to have finished reduction in the prior iteration"),
    ("marked_ready_twice", CERTAIN, r"Expected to mark a variable ready only once"),
    ("anomaly", CERTAIN, r"Function '\w+' returned nan values in its"),
    ("graph_used_twice", CERTAIN, r"Trying to backward through the graph a second time"),
    ("changed_in_place", CERTAIN, r"modified by an inplace operation"),
    ("no_samples", CERTAIN, r"num_samples should be a positive integer.{0,40}num_samples=0"),
    ("no_pad_id", CERTAIN, r"Cannot handle batch sizes > 1 if no padding token"),
    ("no_pad_token", CERTAIN, r"tokenizer does not have a padding token"),
    ("index_outside", CERTAIN, r"index out of range in self|indexSelect.*Assertion|srcIndex <"),
    ("index_outside", CERTAIN, r"device-side assert triggered|Target -?\d+ is out of bounds"),
    ("kl_negative", CERTAIN, r"KL divergence is starting to become negative: *-?[\d.]*\d"),
    ("running_mean", 3.0, r"grad_norm:? *\d+\.?\d* \((nan|inf)\)"),
    ("update_skipped", WEAK, r"\(norm=\d+\.?\d*\); skipping optimizer step"),
    ("rewards_missing", CERTAIN, r"All reward functions returned None"),
    ("labels_masked", WARNED, r"Could not find (response|instruction) key"),
    ("labels_masked", WARNED, r"ignored in loss calculation|no assistant tokens"),
    ("labels_masked", WARNED, r"chat template is not training-compatible"),
    ("end_masked", WARNED, r"end-of-turn token in the loss mask"),
    ("new_tokens_untrained", WARNED, r"may not learn to generate outputs with these new"),
    ("new_tokens_untrained", WARNED, r"added new tokens to the tokenizer, but 'lm_head' is not"),
    ("tie_broken", WARNED, r"Input and output embeddings are no longer tied"),
    ("reference_moves", CERTAIN, r"`model` and `ref_model` cannot be the same object"),
    ("adapter_twice", WEAK, r"Already found a `peft_config` attribute in the model"),
    ("pair_prompts_differ", WARNED, r"tokenized prompt is not a prefix of the"),
    ("pair_prompts_differ", WARNED, r"Mismatch between tokenized prompt and the start of"),
    ("padding_side", WARNED, r"right-padding was detected"),
    ("padding_side", WARNED, r"batched generation with padding_side=.right"),
    ("merged_not_equal", WEAK, r"Merge lora module to \d-bit linear may get different"),
    ("packing_leak", WARNED, r"cross-contamination between"),
    ("no_template", CERTAIN, r"chat_template is not set|does not have a (default )?chat template"),
    ("shapes_differ", CERTAIN, r"size mismatch for \S+: copying a param with shape.{0,160}"),
    ("shapes_differ", CERTAIN, r"Trying to set a tensor of shape .{0,160}which has shape.{0,40}"),
    ("adapter_not_loaded", CERTAIN, r"Found missing adapter keys"),
    ("adapter_not_loaded", CERTAIN, r"(lora_[AB]|modules_to_save)\S* *\| *(MISSING|UNEXPECTED)"),
    ("adapter_not_loaded", CERTAIN, r"were not used when.{0,120}(base_model\.model\.|lora_[AB])"),
    ("head_is_new", WEAK, r"newly initialized:? \[[^\]]{0,120}"),
    ("targets_missing", CERTAIN, r"were set but no module was matched"),
    ("targets_missing", CERTAIN, r"Target modules .{0,200} not found in the base model"),
    ("purely_quantized", CERTAIN, r"model you want to train is loaded in \d-bit precision"),
    ("purely_quantized", CERTAIN, r"cannot perform fine-tuning on purely quantized models"),
    ("formats_mixed", CERTAIN, r"(mat1|self) and mat2 .{0,40}same dtype.{0,60}"),
    ("formats_mixed", CERTAIN, r"expected scalar type \w+ but found \w+"),
    ("formats_mixed", CERTAIN, r"FlashAttention only supports? fp16 and bf16 data type"),
    ("devices_mixed", CERTAIN, r"Expected all tensors to be on the same device.{0,80}"),
    ("sharded_weight", CERTAIN, r"'weight' must be 2-D"),
    ("binary_mismatch", CERTAIN, r"undefined symbol: \w+|no kernel image is available"),
    ("binary_mismatch", CERTAIN, r"FlashAttention only supports Ampere GPUs"),
    ("binary_mismatch", CERTAIN, r"compiled without GPU support|CUDA Setup failed"),
    ("too_long", WARNED, r"longer than the specified maximum sequence length.{0,40}"),
    ("too_long", CERTAIN, r"(longer|larger) than the maximum model length.{0,40}"),
    ("disk_full", CERTAIN, r"No space left on device"),
    ("api_changed", CERTAIN, r"got an unexpected keyword argument '\w+'"),
    ("api_changed", CERTAIN, r"cannot import name '\w+' from '[\w.]+'"),
    *((key, CERTAIN, _death(number, words)) for key, number, words in _DEATHS[-3:]),
)


def branches(pattern: str) -> list[str]:
    """The alternatives of a pattern, outside of its groups.

    >>> branches(r"a(b|c)|d")
    ['a(b|c)', 'd']
    """
    found, depth = [""], 0
    for part in _ATOM.findall(pattern):
        depth += (part == "(") - (part == ")")
        if part == "|" and not depth:
            found.append("")
        else:
            found[-1] += part
    return found


def literal(branch: str) -> str:
    r"""The longest text, in lower case, that whatever matches a branch must hold.

    >>> literal(r"exit ?code\s*:?\s*\(?(-9|137)\b"), literal(r"NCCL error in: ?\S+")
    ('exit', 'nccl error in:')
    """
    runs, depth, atoms = [""], 0, _ATOM.findall(branch)
    for part, following in zip(atoms, [*atoms[1:], ""], strict=True):
        depth += part == "("
        plain = part[1:] if part in (r"\.", r"\(", r"\]") else part
        if depth or len(plain) > 1 or plain in "^$.)|?*+" or following[:1] in ("?", "*", "{"):
            runs.append("")
        else:
            runs[-1] += plain
        depth -= part == ")"
    return max(runs, key=len).lower()


# Cause, weight, what the line must hold in lower case, pattern.
PHRASES = tuple(
    (key, weight, literal(branch), re.compile(branch, re.IGNORECASE))
    for key, weight, text in _PHRASES
    for branch in branches(text)
)
