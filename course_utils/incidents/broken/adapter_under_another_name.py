"""An adapter saved from a wrapped model, loaded into one whose keys have another prefix."""

import torch
from peft import LoraConfig, get_peft_model, set_peft_model_state_dict
from torch import nn

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import LORA, Variants, batches, of_loop, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model


class Wrapped(nn.Module):
    """As a compiled or a multimodal model has it: the language model is one of its parts."""

    def __init__(self, language_model: nn.Module) -> None:
        super().__init__()
        self.language_model = language_model

    def forward(self, **batch):
        return self.language_model(**batch)


def _adapted(seed: int) -> nn.Module:
    return get_peft_model(base_model(seed=seed), LoraConfig(**LORA))


def _build(*, seed: int, unwrap: bool) -> Run:
    tokenizer, inner = zoo.load_tokenizer("tiny"), _adapted(seed)
    model = Wrapped(inner)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    steps = batches(reply_rows(16 * 17, seed, tokenizer), 16, tokenizer.pad_token_id)
    test = steps.pop()

    def load() -> nn.Module:
        saved = (inner if unwrap else model).state_dict()
        saved = {name.replace(".default", ""): w for name, w in saved.items() if "lora_" in name}
        loaded = _adapted(seed)
        # Its answer says what did not fit; nobody reads it.
        set_peft_model_state_dict(loaded, saved)
        return loaded

    @torch.no_grad()
    def facts() -> dict[str, float]:
        apart = load().eval()(**test).logits - model.eval()(**test).logits
        return {"logits apart": apart.abs().max().item()}

    optimizer = torch.optim.AdamW(trained, lr=5e-3)
    return of_loop(model, optimizer, steps, facts=facts, tokenizer=tokenizer, served=load)


INCIDENT = Incident(
    name="adapter_under_another_name",
    title="adapter keys that do not match the model",
    kind="adapter",
    says="The LoRA loads without an error, and the output is the base model's.",
    cause="The saved keys have a prefix that the loading model does not know, so no weight is "
    "loaded and lora_B stays 0.",
    fix="Save from the inner model, and look at the missing and unexpected keys.",
    threads=("vllm#34186", "peft#2566"),
    make=Variants(_build, broken={"unwrap": False}, twin={"unwrap": True}),
    shows=lambda run: run.facts()["logits apart"] > 1e-2,
    place="keys",
)
