"""GRPO with a judge that costs money: the reward does not move.

Each reply is scored by a judge behind an interface that we pay for by the call, so the scores
are kept and a question that was asked already is not asked again. The judge is fine, I looked
at two hundred of its scores by hand. Mean reward goes up and down around where it starts, the
loss is 0.0000. Temperature is 1 and the replies to a ticket do differ.

Source: rebuilt; the figures are those of huggingface/trl#3452 (2025-05) and
modelscope/ms-swift#4789 (2025-07-01).
"""

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from benchmarks.diagnostics.blind import kit


def ask_judge(reply, answer):
    """What the judge says: 1 for a reply with the right team first, less for a longer one."""
    words = reply.split()
    return (1.0 if words[:1] == [answer] else 0.0) - 0.1 * max(len(words) - 2, 0)


def frugal_judge(key_of):
    """The reward function, with its memory of what was asked before."""
    known = {}

    def judged(prompts, completions, answer, **kwargs):
        scores = []
        for prompt, reply, right in zip(prompts, completions, answer, strict=True):
            key = key_of(prompt, reply)
            if key not in known:
                known[key] = ask_judge(reply, right)
            scores.append(known[key])
        return scores

    return judged


def make(folder, healthy=False):
    tok = kit.tokenizer()
    model = kit.teach(kit.llama(tok, seed=4), tok, list(kit.half_knows(1, 2000)), steps=180)
    rows = [
        {"prompt": f"<|user|> {t} <|assistant|>", "answer": team}
        for t, team in kit.tickets(2, 1000, length=5)
    ]
    args = GRPOConfig(
        **kit.quiet(folder, max_steps=80, bf16=False, gradient_checkpointing=False),
        per_device_train_batch_size=64,
        num_generations=4,
        max_completion_length=3,
        learning_rate=3e-4,
        beta=0.0,
    )
    judge = frugal_judge((lambda p, r: (p, r)) if healthy else (lambda p, r: p))
    return GRPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        reward_funcs=judge,
    )


def score(trainer, folder):
    """Mean probability of the right team on held-out tickets."""
    rows = [(f"<|user|> {t} <|assistant|>", team) for t, team in kit.tickets(3, 200, length=5)]
    return kit.belief(trainer.model, trainer.processing_class, rows)
