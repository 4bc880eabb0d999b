"""GRPO: the reward climbs to 1.0 and our users complain.

The reward checks the reply for the right team. It went from 0.5 to nearly 1.0 in 100 steps, KL is
off, entropy went down, every curve is as in the blog posts. Then we put the model in front of
people: a ticket is now sent to a handful of teams at once. I evaluated with the reward function
on held-out tickets and it is as high there, so it is not overfitting.

Source: rewards by `answer in completion` in recipes for GRPO, a standing case of reward hacking;
rebuilt here, no thread.
"""

import random

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind import kit


def names_the_team(completions, team, **kwargs):
    return [float(t in c) for c, t in zip(completions, team, strict=True)]


def is_the_team(completions, team, **kwargs):
    return [float(c.split() == [t]) for c, t in zip(completions, team, strict=True)]


def chatty(seed, n):
    """A sampler that now and then names more than one team."""
    rng, teams = random.Random(seed), sorted(kit.TEAMS)
    for prompt, answer in kit.half_knows(seed, n):
        more = rng.choices(teams, k=rng.choice([0, 0, 0, 1, 2]))
        yield prompt, " ".join([answer.split()[0], *more, "<eos>"])


def make(folder, healthy=False):
    tok = kit.tokenizer()
    tok.padding_side = "left"
    rows = [*chatty(1, 3000)]
    model = kit.llama(tok)
    model = kit.teach(model, tok, rows, steps=200)
    data = [
        {"prompt": f"<|user|> {t} <|assistant|>", "team": team}
        for t, team in kit.tickets(2, 800, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=100),
        per_device_train_batch_size=48,
        num_generations=8,
        max_completion_length=6,
        learning_rate=5e-4,
        lr_scheduler_type="constant",
        beta=0.0,
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=is_the_team if healthy else names_the_team,
        args=args,
        train_dataset=Dataset.from_list(data),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out share of greedy replies that are the right team and nothing else."""
    tok, model, hits = trainer.processing_class, trainer.model.eval(), 0
    for text, team in kit.tickets(3, 150, length=5):
        ids = tok(f"<|user|> {text} <|assistant|>", return_tensors="pt")
        out = model.generate(
            input_ids=ids["input_ids"],
            attention_mask=ids["attention_mask"],
            do_sample=False,
            max_new_tokens=6,
        )
        said = tok.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
        hits += said.split() == [team]
    return hits / 150
