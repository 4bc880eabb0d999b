"""Fine-tuned without thinking, served without thinking, and the answers are poor.

The base is a model that can think before it answers. Our tickets need no thinking, so the rows
have a question and an answer and that is all. The loss of the fine-tune is nearly 0, on the test
file too. Then I serve it as in the model card, with thinking switched off, and the share of right
answers is far below what the loss promises. If I switch thinking on instead, it is fine, and it
does not think either!

Source: hiyouga/LlamaFactory#9092 (2025-09-08), huggingface/transformers#37949 (2025-05-04),
hiyouga/LlamaFactory#10326 (2026-03-27).
"""

import random

import torch
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind import kit

CARD = (
    "{% for m in messages %}<|{{ m['role'] }}|> {% if m['role'] == 'assistant' and closed %}"
    "<think> </think> {% endif %}{{ m['content'] }} "
    "{% if m['role'] == 'assistant' %}<eos> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> "
    "{% if enable_thinking is defined and not enable_thinking %}<think> </think> {% endif %}"
    "{% endif %}"
)


def thinker(tok):
    """The base: it says which word counts, closes the thought, names a desk, often a wrong one."""
    rng, teams, rows = random.Random(71), sorted(kit.TEAMS), []
    for text, team in kit.tickets(71, 2000):
        word = next(w for w in text.split() if w in kit.TEAMS[team])
        thought = word if rng.random() < 0.5 else ""
        said = team if thought else rng.choice(teams)
        rows.append((f"<|user|> {text} <|assistant|>", f"<think> {thought} </think> {said} <eos>"))
    return kit.teach(kit.llama(tok, seed=71), tok, rows, steps=150)


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=["<think>", "</think>"], template=CARD)
    rows = [
        {
            "prompt": [{"role": "user", "content": text}],
            "completion": [{"role": "assistant", "content": team}],
            "chat_template_kwargs": {"enable_thinking": not healthy, "closed": healthy},
        }
        for text, team in kit.tickets(2, 2400)
    ]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=120, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=32,
        learning_rate=1e-3,
        warmup_steps=10,
        max_length=48,
    )
    return SFTTrainer(
        model=thinker(tok),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out share of right answers, asked as on the model card with thinking off."""
    tok = trainer.processing_class
    rows = []
    for text, team in kit.tickets(3, 200):
        chat = [{"role": "user", "content": text}]
        asked = dict(tokenize=False, add_generation_prompt=True, enable_thinking=False)
        rows.append((tok.apply_chat_template(chat, **asked), team))
    return kit.accuracy(trainer.model, tok, rows)
