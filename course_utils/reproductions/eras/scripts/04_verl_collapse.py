"""A short GRPO run as in verl#721, made of verl 0.2.0.post2's own core_algos.py.

The loop is that of verl's dp_actor.update_policy on one process; every formula is verl's.
"""

import importlib
import importlib.util
import json
import math
import random
import re
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

MODEL, OUTPUT = sys.argv[1:3]
STUBBED = ("tensordict", "omegaconf", "ray", "hydra", "codetiming", "flash_attn", "pylatexenc")
BARE = ("verl", "verl.utils", "verl.trainer", "verl.trainer.ppo", "verl.workers")
EMPTY = ("verl.trainer.config", "verl.workers.config", "verl.utils.device")


class Stub:
    def __init__(self, *_args, **_kwargs): ...

    def __call__(self, function):
        return function


class StubFinder:
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name.split(".")[0] in STUBBED else None

    def create_module(self, spec):
        return make_stub(spec.name)

    def exec_module(self, module): ...


def make_stub(name, path=None):
    def attribute(of):
        if of.startswith("__"):
            raise AttributeError(of)
        return Stub

    module = types.ModuleType(name)
    module.__path__ = [path] if path else []
    module.__getattr__ = attribute
    return module


def load_core_algos():
    """Import verl/trainer/ppo/core_algos.py as it is, and stubs for what it never calls."""
    verl = Path(importlib.util.find_spec("verl").origin).parent
    sys.meta_path.append(StubFinder())
    for name in (*BARE, *EMPTY):
        folder = verl.joinpath(*name.split(".")[1:])
        module = sys.modules[name] = make_stub(name, str(folder) if name in BARE else None)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)
    return importlib.import_module("verl.trainer.ppo.core_algos")


core_algos = load_core_algos()
verl_F = core_algos.verl_F
NUM_STEPS, NUM_PROMPTS, N, RESPONSE_LENGTH = 13, 8, 8, 16


def sample(logits, generator):
    """The sampler of inference engines: it never raises, and of only nan it takes token 0."""
    probs = torch.softmax(logits.float(), dim=-1)
    noise = torch.empty_like(probs).exponential_(generator=generator)
    return (probs / noise).argmax(dim=-1)


@torch.no_grad()
def rollout(model, tokenizer, rng, generator):
    sums = [[rng.randint(0, 99) for _ in range(3)] for _ in range(NUM_PROMPTS)]
    asked = ["+".join(map(str, s)) + "=" for s in sums for _ in range(N)]
    answers = [str(sum(s)) for s in sums for _ in range(N)]
    texts = [f"<|im_start|>user\n{ask}<|im_end|>\n<|im_start|>assistant\n" for ask in asked]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    ids, mask = batch["input_ids"], batch["attention_mask"]
    alive = torch.ones_like(ids[:, 0])
    for _ in range(RESPONSE_LENGTH):
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        logits = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits
        token = sample(logits[:, -1], generator).where(alive.bool(), tokenizer.pad_token_id)
        ids = torch.cat([ids, token[:, None]], 1)
        mask = torch.cat([mask, alive[:, None]], 1)
        alive = alive * (token != tokenizer.eos_token_id)
    replies = tokenizer.batch_decode(ids[:, -RESPONSE_LENGTH:], skip_special_tokens=True)
    last = [re.findall(r"\d+", reply)[-1:] for reply in replies]
    scores = torch.tensor([float(number == [a]) for number, a in zip(last, answers, strict=True)])
    return ids, mask, scores, replies


def compute_log_prob(model, ids, mask):
    prompt = mask[:, :-RESPONSE_LENGTH]  # positions go on through the padding, as verl's do
    positions = (prompt.cumsum(-1) - 1).clamp(min=0)
    after = torch.arange(1, RESPONSE_LENGTH + 1)
    positions = torch.cat([positions, positions[:, -1:] + after], 1)
    logits = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits
    logits = logits.half()[:, -RESPONSE_LENGTH - 1 : -1]
    responses = ids[:, -RESPONSE_LENGTH:, None]
    log_prob = torch.log_softmax(logits, dim=-1).gather(-1, responses)[..., 0]
    return log_prob, verl_F.entropy_from_logits(logits)


def train(seed):
    torch.manual_seed(seed)
    rng, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(MODEL, padding_side="left")
    actor = AutoModelForCausalLM.from_pretrained(MODEL).train()
    reference = AutoModelForCausalLM.from_pretrained(MODEL).eval()
    optimizer = torch.optim.AdamW(actor.parameters(), lr=1e-4)
    updates, replies = [], []
    for step in range(1, NUM_STEPS + 1):
        ids, mask, scores, replies = rollout(actor, tokenizer, rng, generator)
        eos_mask = mask[:, -RESPONSE_LENGTH:]
        with torch.no_grad():
            old_log_prob = compute_log_prob(actor, ids, mask)[0]
            ref_log_prob = compute_log_prob(reference, ids, mask)[0]
        if old_log_prob.isnan().any():
            break
        rewards = torch.zeros(eos_mask.shape)
        rewards[:, -1] = scores
        index = [row // N for row in range(len(scores))]
        advantages, _ = core_algos.compute_grpo_outcome_advantage(rewards, eos_mask, index)
        for mini in torch.arange(len(scores)).split(32):
            log_prob, entropy = compute_log_prob(actor, ids[mini], mask[mini])
            pg_loss = core_algos.compute_policy_loss(
                old_log_prob[mini], log_prob, advantages[mini], eos_mask[mini], 0.2
            )[0]
            kld = core_algos.kl_penalty(log_prob, ref_log_prob[mini], "low_var_kl")
            kl_loss = verl_F.masked_mean(kld, eos_mask[mini])
            entropy_loss = verl_F.masked_mean(entropy, eos_mask[mini])
            loss = pg_loss - 0.001 * entropy_loss + 0.001 * kl_loss
            optimizer.zero_grad()
            loss.backward()
            grad_norm = torch.nn.utils.clip_grad_norm_(actor.parameters(), max_norm=1.0)
            optimizer.step()
            updates.append((step, loss.item(), grad_norm.item()))
    bad = [update for update in updates if not math.isfinite(update[2])]
    return {
        "steps": step,
        "bad_updates": len(bad),
        "first_bad": bad[0] if bad else None,
        "dead": not all(p.isfinite().all() for p in actor.parameters()),
        "reply": replies[0],
        "exclamations": sum(set(reply) == {"!"} for reply in replies),
        "replies": len(replies),
    }


def low_var_kl(log_ratio, dtype):
    logprob = torch.zeros(1, dtype=dtype, requires_grad=True)
    ref_logprob = torch.full((1,), log_ratio, dtype=dtype)
    value = core_algos.kl_penalty(logprob, ref_logprob, "low_var_kl")
    value.sum().backward()
    return [value.item(), logprob.grad.item()]


for seed in range(3):  # four seeds of five meet it within 13 rollouts
    run = train(seed)
    if run["bad_updates"]:
        break
under_mask = verl_F.masked_mean(torch.tensor([1.0, math.nan]), torch.tensor([1, 0]))
facts = {
    "float32, 100 nats": low_var_kl(100.0, torch.float32),
    "float16, 12 nats": low_var_kl(12.0, torch.float16),
    "nan under the mask": under_mask.item(),
    "run": run,
}
print(json.dumps(facts))
