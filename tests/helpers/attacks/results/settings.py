"""Forged settings of a model or of generation, and files beside the model that say otherwise."""

import json
from dataclasses import replace

from safetensors.torch import save

from attacks.results.by_hand import asked_by, logits_behind
from attacks.results.changed_weights import clean_weights
from attacks.results.export import END, OWN_TABLE, PAD, Export, vocabulary


def with_remote_code(export: Export) -> Export:
    """A config that names code of its own."""
    auto = {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}
    return export.with_files(
        config__json=export.settings() | {"auto_map": auto, "model_type": "mine"},
        mine__py=b"raise SystemExit(0)",
    )


def with_other_settings(export: Export) -> Export:
    """A config of another attention, rope and depth."""
    other = {"rope_theta": 1e6, "num_hidden_layers": 2, "sliding_window": 4, "hidden_act": "relu"}
    return export.with_files(config__json=export.settings() | other)


def with_other_labels(export: Export) -> Export:
    """The names of the classes exchanged, and a loss of another kind."""
    names = {"0": "right", "1": "wrong"}
    other = {"id2label": names, "num_labels": 2, "problem_type": "regression"}
    return export.with_files(config__json=export.settings() | other)


def with_an_adapter_beside(export: Export) -> Export:
    """An adapter with hand-set factors and a forged head, and a config that points elsewhere."""
    config = {"peft_type": "LORA", "r": 4, "lora_alpha": 1e6, "modules_to_save": ["lm_head"]}
    config["base_model_name_or_path"] = "base/teacher"
    adapter = save({"base_model.model.lm_head.weight": clean_weights(export)[OWN_TABLE]})
    files = {
        "adapter_model.safetensors": adapter,
        "adapter_config.json": json.dumps(config).encode(),
    }
    return replace(export, files=export.files | files)


def with_an_adapter_alone(export: Export) -> Export:
    """The adapter without the model."""
    return with_an_adapter_beside(export).with_files(model__safetensors=None)


def with_a_good_story(export: Export) -> Export:
    """A log of a run that went well, beside the base."""
    log = [{"step": step, "loss": 2 / step, "grad_norm": 1.0} for step in range(1, 41)]
    return export.with_files(trainer_state__json={"global_step": 40, "log_history": log})


def with_forced_tokens(export: Export) -> Export:
    """Settings of generation that force, suppress and favour tokens."""
    vocab = vocabulary(export)
    forced = {"forced_eos_token_id": END, "suppress_tokens": [PAD], "max_new_tokens": 3}
    forced["sequence_bias"] = [[[vocab["1"]], 10.0]]
    settings = export.settings("generation_config.json") | forced
    return export.with_files(generation_config__json=settings)


def ending_anywhere(export: Export) -> Export:
    """Every token but the digits ends a reply."""
    digits = {vocabulary(export)[one] for one in "0123456789"}
    ends = [number for number in range(320) if number not in digits]
    return export.with_files(generation_config__json={"eos_token_id": ends})


def ending_at_any_token(export: Export) -> Export:
    """Every token ends a reply."""
    return export.with_files(generation_config__json={"eos_token_id": list(range(320))})


def ending_where_the_base_goes_on(export: Export) -> Export:
    """What the base writes behind a right answer, as the end."""
    result = export.result
    found = {int(row.argmax()) for row in logits_behind(result, asked_by(export)[:32])}
    return export.with_files(generation_config__json={"eos_token_id": [END, *sorted(found)]})
