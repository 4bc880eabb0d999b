"""What is private to transformers' Trainer and accelerate, or has another name in some version.

The versions in the comments are those whose source was read: 4.46, 4.51, 4.57, 5.8, 5.23.
"""

from inspect import signature
from typing import Any

from course_utils.diagnostics.libraries.versions import installed, unreadable, version_of

# Generation settings with which the sampler draws from the policy itself.
PLAIN = {
    "top_p": (1.0, None),
    "top_k": (0, None),
    "min_p": (None, 0.0),
    "repetition_penalty": (1.0, None),
    "temperature": (1.0, None),
    "typical_p": (1.0, None),
    "no_repeat_ngram_size": (0, None),
    "suppress_tokens": (None,),
    "bad_words_ids": (None,),
    "min_new_tokens": (0, None),
    "epsilon_cutoff": (0.0, None),
    "eta_cutoff": (0.0, None),
}


def num_items_of(trainer: Any, batches: list) -> Any:
    """The number of labels that the Trainer divides the loss of these batches by, or None."""
    device = trainer.args.device
    count = getattr(trainer, "_get_num_items_in_batch", None)  # 4.57 to 5.23
    if count is not None:
        return count(batches, device)
    collect = trainer.get_batch_samples  # 4.46 and 4.51 count in here; 4.46 takes no device
    takes_device = "device" in signature(collect).parameters
    _, found = collect(iter(batches), len(batches), *[device][:takes_device])
    return found


def prepared(trainer: Any, batch: Any) -> Any:
    """The batch as `compute_loss` gets it: on the device, in the right number format."""
    prepare = getattr(trainer, "_prepare_inputs", None)  # 4.46 to 5.23
    if prepare is not None:
        return prepare(batch)
    from accelerate.utils import send_to_device  # whoever has a Trainer has it

    return send_to_device(batch, trainer.args.device)


def of_columns(trainer: Any, rows: list) -> list:
    """The rows as the trainer's own loader gets them: dicts without unused columns."""
    if not getattr(trainer.args, "remove_unused_columns", False):
        return rows
    kept = {*_columns(trainer), "label", "label_ids"}
    return [
        {key: value for key, value in row.items() if key in kept} if isinstance(row, dict) else row
        for row in rows
    ]


def _columns(trainer: Any) -> list[str]:
    columns = getattr(trainer, "_signature_columns", None)  # 4.46 to 5.23
    find = getattr(trainer, "_set_signature_columns_if_needed", None)  # 4.46 to 5.23
    if columns is not None:
        return columns
    if find is None:
        return list(signature(trainer.model.forward).parameters)
    before = vars(trainer).get("_signature_columns")
    find()
    columns, trainer._signature_columns = trainer._signature_columns, before
    return columns


def switch_checkpointing_on(trainer: Any) -> None:
    """As train() does first; before it, the model does not show its settings."""
    # 5.23 says activation_checkpointing; 4.46 to 5.8 say gradient_checkpointing.
    kind = "activation" if hasattr(trainer.args, "activation_checkpointing") else "gradient"
    is_on = any(getattr(m, "gradient_checkpointing", False) for m in trainer.model.modules())
    if not getattr(trainer.args, f"{kind}_checkpointing", False) or is_on:
        return
    switch = getattr(trainer.model, f"{kind}_checkpointing_enable", None)
    if switch is None:
        why = f"the model has no {kind}_checkpointing_enable"
        raise unreadable("transformers", "checkpointing cannot be switched on as train() does", why)
    settings = dict(getattr(trainer.args, f"{kind}_checkpointing_kwargs", None) or {})
    names = ("every_n_layers", "offload") if kind == "activation" else ()  # 5.23
    own = {name: settings.pop(name) for name in names if name in settings}
    switch(settings or None, **own)


def attention_of(config: Any) -> str:
    """The attention implementation of a model; "" where the configuration does not say."""
    return getattr(config, "_attn_implementation", None) or ""  # 4.46 to 5.23


def generation_settings(trainer: Any) -> dict[str, Any]:
    """The settings that `generate` will use: the trainer's configuration over the model's.

    Of the model's, what differs from the default counts: in 4.46 to 4.57 the class itself says
    top_k=50, and `generate` takes that of a model only where somebody set it. 5.8 and 5.23 have
    no such default.
    """
    own = getattr(trainer, "generation_config", None)
    of_model = getattr(trainer.model, "generation_config", None)
    default = type(of_model)()
    found = {}
    for name in PLAIN:
        value, found[name] = getattr(of_model, name, None), getattr(own, name, None)
        if found[name] is None and value != getattr(default, name, None):
            found[name] = value
    size = getattr(getattr(trainer.model, "config", None), "vocab_size", None)
    if size and (found["top_k"] or 0) >= size:
        found["top_k"] = None  # cuts nothing off
    return found


def norm_by_clipping() -> str:
    """The transformers that logs the norm by clip_grad_norm_(inf) if max_grad_norm is 0, or ""."""
    known = version_of("transformers")  # 5.8 and 5.23 do; 4.46 to 4.57 clip nothing then
    return "" if known and known < (5,) else installed("transformers")


def states_of_processes() -> list[dict]:
    """The dicts in which accelerate keeps how many processes there are."""
    from accelerate.state import AcceleratorState, PartialState  # takes seconds

    kept = [getattr(state, "_shared_state", None) for state in (PartialState, AcceleratorState)]
    if None in kept:  # _shared_state: accelerate 1.x
        why = "its states have no _shared_state"
        raise unreadable("accelerate", "no number of processes can be played in one", why)
    return kept
