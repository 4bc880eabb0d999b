"""The adapter answers well in the notebook that trained it, and talks nonsense when served.

"Loss and evaluation are fine. We merge and save, and the server gets the tensors with the base
model's config.json, as for all our adapters. The others work. This one also trains the head."
After https://github.com/huggingface/peft/issues/2777 (2025),
https://github.com/huggingface/transformers/issues/45127 (2026) and
https://github.com/unslothai/unsloth/pull/9331 (2026).
"""

from datasets import Dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

from ...kit import TEAMS, accuracy, llama, quiet, teach, tickets, tokenizer


def rows(seed, n, moved=True):
    """Since the reorganisation each team's tickets go to the team after it."""
    names, found = sorted(TEAMS), []
    for text, team in tickets(seed, n, length=5):
        team = names[(names.index(team) + moved) % len(names)]
        found.append((f"<|user|> {text} <|assistant|> ", team))
    return found


def base(tok):
    """The base model, as it lies on the hub."""
    known = [(prompt, f"{team} <eos>") for prompt, team in rows(1, 2000, moved=False)]
    return teach(llama(tok, tie_word_embeddings=True), tok, known, steps=100)


def make(folder, healthy=False):
    tok = tokenizer()
    data = [dict(prompt=p, completion=team) for p, team in rows(3, 1200)]
    lora = LoraConfig(
        r=4,
        lora_alpha=4,
        target_modules=["q_proj", "k_proj"],
        modules_to_save=["lm_head"] if not healthy else ["lm_head", "embed_tokens"],
        ensure_weight_tying=healthy,
        task_type="CAUSAL_LM",
    )
    steps = dict(max_steps=90, per_device_train_batch_size=32, learning_rate=4e-3)
    args = SFTConfig(**quiet(folder, **steps, bf16=False, gradient_checkpointing=False))
    return SFTTrainer(
        base(tok),
        args,
        train_dataset=Dataset.from_list(data),
        processing_class=tok,
        peft_config=lora,
    )


def score(trainer, folder):
    """Share of new tickets that go right after merging, by a server with the base's config."""
    tok = trainer.processing_class
    merged = trainer.model.merge_and_unload().state_dict()
    served = llama(tok, tie_word_embeddings=True)
    served.model.load_state_dict(
        {k.removeprefix("model."): v for k, v in merged.items() if k.startswith("model.")}
    )
    return accuracy(served, tok, [(p.strip(), team) for p, team in rows(2, 150)])
