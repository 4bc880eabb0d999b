"""LoRA adapters of PEFT, in a Trainer and alone."""

import copy

import torch
from peft import LoraConfig, PeftModel, get_peft_model

from course_utils import diagnostics

from .answers import diagnosed, is_same
from .case import FOUND, SILENCE, Group, Seen, first
from .tiny import language_model, one_batch, plain_trainer

CASES = Group("LoRA")


def with_adapter() -> PeftModel:
    wanted = {"r": 4, "target_modules": ["q_proj", "v_proj"], "task_type": "CAUSAL_LM"}
    return get_peft_model(language_model(), LoraConfig(**wanted))


def with_trained_adapter() -> PeftModel:
    model = with_adapter()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(0, 0.1)
    return model


@CASES.case("diagnose, healthy", SILENCE)
def diagnose_healthy() -> Seen:
    return diagnosed(lambda: plain_trainer(with_adapter()))


@CASES.case("diagnose steps=3, healthy", SILENCE)
def diagnose_steps_healthy() -> Seen:
    return diagnosed(lambda: plain_trainer(with_adapter()), steps=3)


@CASES.case("diagnose, the adapter is frozen", first("nothing_trainable", "no_grad_fn"))
def diagnose_frozen() -> Seen:
    return diagnosed(lambda: plain_trainer(with_adapter().requires_grad_(False)))


@CASES.case("compare_models, the merged adapter", SILENCE)
def compare_merged() -> Seen:
    model = with_trained_adapter()
    merged = copy.deepcopy(model).merge_and_unload()
    return is_same(diagnostics.compare_models(model, merged, one_batch()))


@CASES.case("compare_models, the base without its adapter", FOUND)
def compare_base() -> Seen:
    model = with_trained_adapter()
    return is_same(diagnostics.compare_models(model, language_model(), one_batch()))
