"""What is private to TRL's trainers, or has another name in some version.

The versions in the comments are those whose source was read: 0.12, 0.15, 0.16, 0.17, 0.19, 0.22,
0.24, 1.0, 1.16. Shape letters: N replies, T tokens.
"""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from torch import Tensor

from course_utils.diagnostics.libraries.versions import installed, unreadable

# The method of a GRPOTrainer that samples replies and scores them, newest name first.
MAKES = (
    "_generate_and_score_completions",  # 0.16 to 1.16
    "_prepare_inputs",  # 0.15, which keeps no replies for a second step
)
# What the trainers count beside the log; a look puts it back.
COUNTERS = (
    "_metrics",  # 0.15 to 1.16
    "_total_train_tokens",  # 0.19 to 1.16
    "_stored_metrics",  # DPO of 0.12 to 0.24
)
NO_MAKER = "it makes its replies in a place that was not seen in another version"


def samples_replies(trainer: Any) -> bool:
    """Whether this is a GRPOTrainer or one of its kind."""
    return hasattr(trainer, "reward_funcs")


def makes_its_rows(trainer: Any) -> bool:
    """Whether a trainer makes anew, in each step, what it learns from."""
    return samples_replies(trainer) or hasattr(trainer, "_buffered_inputs")  # 0.17 to 1.16


def maker_of(trainer: Any) -> str:
    """The name of the method that samples and scores replies.

    Raises:
        Unreadable: it has neither.
    """
    for name in MAKES:
        if samples_replies(trainer) and hasattr(trainer, name):
            return name
    raise unreadable("trl", "its replies are not seen", NO_MAKER)


def require_replies(output: Any) -> None:
    """
    Raises:
        Unreadable: what the method returned holds no replies.
    """
    if not isinstance(output, Mapping) or "completion_ids" not in output:
        raise unreadable("trl", "its replies are not seen", NO_MAKER)  # by memory: 0.14


def score(trainer: Any, ids: Tensor, mask: Tensor, width: int) -> tuple[Tensor, Tensor | None]:
    """Log-probs and, where TRL computes them, entropies (N, T) of the last `width` tokens.

    Raises:
        Unreadable: the trainer's own function for them is gone.
    """
    of_both = getattr(trainer, "_get_per_token_logps_and_entropies", None)  # 0.22 to 1.16
    if of_both is not None:
        found = of_both(trainer.model, ids, mask, width, compute_entropy=True)
        if isinstance(found, Mapping):  # as its annotation says in 0.22 and 0.24
            return found["logps"], found["entropies"]
        return found[0], found[1]  # 0.22 to 1.0 give two, 1.16 gives three
    of_one = getattr(trainer, "_get_per_token_logps", None)  # 0.15 to 0.19
    if of_one is not None:
        return of_one(trainer.model, ids, mask, width), None
    why = "the trainer's function that scores replies has another name"
    raise unreadable("trl", "the log-probs of replies are not at hand", why)


def noted_rewards(trainer: Any) -> dict[str, Any] | None:
    """By reward function, the rewards of the last replies; None where TRL does not keep them."""
    noted = getattr(trainer, "_logs", None)  # 0.22 to 1.16
    noted = getattr(trainer, "_textual_logs", None) if noted is None else noted  # 0.17 and 0.19
    return noted.get("rewards", {}) if noted is not None else None  # 0.15 and 0.16: None


def not_kept(trainer: Any) -> dict[str, str]:
    """What older versions never compute or keep of their replies, each with the reason."""
    missing = {}
    if not hasattr(trainer, "_get_per_token_logps_and_entropies"):
        missing["entropy"] = f"{installed('trl')} computes log-probs of its replies, and no entropy"
    if noted_rewards(trainer) is None:
        missing["the rewards of the last replies"] = f"{installed('trl')} keeps their mean alone"
    return missing


def reward_names(trainer: Any) -> list[str]:
    names = getattr(trainer, "reward_func_names", None)  # 0.17 to 1.16
    return names or [getattr(one, "__name__", type(one).__name__) for one in trainer.reward_funcs]


def accepted(function: Callable, extras: dict[str, Any]) -> dict[str, Any]:
    """What TRL hands a reward function beside its columns, as far as this one takes it.

    0.19 began with completion_ids, 0.22 with trainer_state: older functions know of neither.
    """
    try:
        known = signature(function).parameters
    except (TypeError, ValueError):  # a builtin
        return extras
    if any(one.kind is one.VAR_KEYWORD for one in known.values()):
        return extras
    return {name: value for name, value in extras.items() if name in known}


def prompt_ids(trainer: Any, prompts: list) -> list[list[int]] | None:
    """The tokens of prompts as the trainer makes them; None before 1.0, where none else does."""
    tokenize = getattr(trainer, "_tokenize_prompts", None)  # 1.0 to 1.16
    return tokenize(prompts)[0] if tokenize is not None else None


def adds_special_tokens(trainer: Any) -> bool:
    """Whether a prompt that is text gets a start token: 0.15 to 0.24 never add one."""
    return hasattr(trainer, "_tokenize_prompts")  # 1.0 to 1.16


def scale_of(trainer: Any) -> str:
    """By which spread rewards are divided: "group", "batch" or "none"."""
    if hasattr(trainer, "normalize_advantages"):  # RLOO, in 1.16
        return "batch" if trainer.normalize_advantages else "none"
    scale = getattr(trainer, "scale_rewards", None)  # 0.17 to 1.16
    if scale is None:  # 0.16 keeps it in the arguments; 0.15 always divides by that of the group
        scale = getattr(trainer.args, "scale_rewards", True)
    return {True: "group", False: "none"}.get(scale, scale)  # a bool until 0.19


def loss_type_of(trainer: Any) -> str:
    asked = getattr(trainer, "loss_type", "grpo")  # 0.17 to 1.16; before it there was one
    return asked if isinstance(asked, str) else " + ".join(map(str, asked))  # DPO may have several


def ends_of(trainer: Any) -> set[int]:
    """The ids at which a reply ends."""
    config = getattr(trainer, "generation_config", None) or trainer.model.generation_config
    own = getattr(trainer, "eos_token_id", None)  # 0.22 to 1.16; before it the tokenizer's counts
    of_tokenizer = getattr(getattr(trainer, "processing_class", None), "eos_token_id", None)
    known = (getattr(config, "eos_token_id", None), own, of_tokenizer)
    end = next((end for end in known if end is not None), None)
    return set(end) if isinstance(end, (list, tuple)) else {end} - {None}
