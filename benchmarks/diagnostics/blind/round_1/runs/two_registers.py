"""The model will not follow the instruction that says in which style to reply.

Each conversation opens with an instruction, `codes` or `names`. With `codes` the reply must be the
code of the team, with `names` its name. The same user text comes with either. SFT goes down to a
loss of about 0.4 and stays there, and on new conversations it is right half of the time: it mixes
codes and names as it likes. Larger models at work do the same.

Source: sgl-project/sglang#40082 (2026-09-18), raullenchai/Rapid-MLX#1765 (2026-08-10),
xorbitsai/inference#1095 (2024-03 to 2024-04).
"""

import random

from datasets import Dataset
from trl import SFTConfig, SFTTrainer

from benchmarks.diagnostics.blind.round_1 import kit

CODES = {team: f"t{i}" for i, team in enumerate(sorted(kit.TEAMS))}
TEMPLATE = (
    "{% for m in messages %}"
    "{% if m['role'] == 'system' %}<|system|> {{ m['content'] }} "
    "{% elif m['role'] == 'user' %}<|user|> {{ m['content'] }} "
    "{% elif m['role'] == 'assistant' %}<|assistant|> {{ m['content'] }} <eos> {% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def chats(seed, n, role):
    rng = random.Random(seed)
    for text, team in kit.tickets(seed, n):
        style = rng.choice(["codes", "names"])
        answer = CODES[team] if style == "codes" else team
        opening = [{"role": role, "content": style}, {"role": "user", "content": text}]
        yield opening, answer


def make(folder, healthy=False):
    tok = kit.tokenizer(extra=["codes", "names", *CODES.values()], template=TEMPLATE)
    role = "system" if healthy else "developer"
    rows = [
        {"prompt": prompt, "completion": [{"role": "assistant", "content": answer}]}
        for prompt, answer in chats(1, 1500, role)
    ]
    args = SFTConfig(
        **kit.quiet(folder, max_steps=150), per_device_train_batch_size=16, learning_rate=3e-3
    )
    trainer = SFTTrainer(
        model=kit.llama(tok, seed=12),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )
    trainer.role = role
    return trainer


def score(trainer, folder):
    """Held-out share of conversations answered right and in the asked style."""
    tok, rows = trainer.processing_class, []
    for prompt, answer in chats(2, 200, trainer.role):
        text = tok.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        rows.append((text, answer))
    return kit.accuracy(trainer.model, tok, rows)
