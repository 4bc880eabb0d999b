"""A new token trained with LoRA, which leaves the embeddings frozen."""

import torch
from peft import LoraConfig, get_peft_model

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import LORA, Variants, chats, of_trainer, plain_trainer, reply_row

NEW = "<|sum|>"
STEPS = 40


def _build(*, seed: int, train_rows: bool) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu")
    tokenizer.add_special_tokens({"additional_special_tokens": [NEW]})
    model.resize_token_embeddings(len(tokenizer))
    new = tokenizer.convert_tokens_to_ids(NEW)
    indices = {"embed_tokens": [new]} if train_rows else None
    model = get_peft_model(model, LoraConfig(**LORA, trainable_token_indices=indices))
    asked = [(chat[0], {"role": "assistant", "content": NEW}) for chat in chats(640, seed)]
    rows = [reply_row(list(chat), tokenizer) for chat in asked]
    trainer = plain_trainer(
        model, rows, tokenizer.pad_token_id, learning_rate=5e-3, max_steps=STEPS, seed=seed
    )
    (prompt, _labels), *_ = rows

    @torch.no_grad()
    def facts() -> dict[str, float]:
        ids = torch.tensor([prompt[: prompt.index(new)]])
        logp = model.eval()(input_ids=ids).logits[0, -1].log_softmax(-1)
        return {"probability of the new token": logp[new].exp().item()}

    return of_trainer(trainer, facts, tokenizer=tokenizer)


INCIDENT = Incident(
    name="new_token_frozen",
    title="new token with frozen embeddings",
    kind="embeddings",
    says="I added a special token and trained with LoRA; the model never says it.",
    cause="The new row of the tied embeddings is initialised at random and frozen; LoRA on the "
    "attention cannot change it.",
    fix="Set trainable_token_indices=[the new id], or modules_to_save with embed_tokens.",
    threads=("LLaMA-Factory#6446", "peft#1750"),
    make=Variants(_build, broken={"train_rows": False}, twin={"train_rows": True}),
    shows=lambda run: run.facts()["probability of the new token"] < 0.5,
    place="embed_tokens",
)
