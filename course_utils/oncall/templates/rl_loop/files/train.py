"""GRPO with our own loop: roll out, score, update, send the weights to the sampler.

python train.py      reads config.yaml and data/, starts from base/, writes run/
"""

import json
import os
import random

import torch
import yaml
from losses import group_advantages, kl_to_reference, policy_loss, token_mean
from rollout import Sampler, positions_of
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, set_seed

RUN = "run"


def read_config(path="config.yaml"):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file)


def read_jsonl(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def load_model(cfg):
    return AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")


def score(model, batch, cfg):
    """Log-probs of the reply's tokens and the entropy there, each (B, T)."""
    output = model(batch.ids, attention_mask=batch.mask, position_ids=positions_of(batch.mask))
    length = batch.replies.shape[1]
    logits = output.logits[:, -length - 1 : -1] / cfg["temperature"]
    logp = logits.log_softmax(-1)
    entropy = -(logp.exp() * logp).sum(-1)
    return logp.gather(-1, batch.replies[..., None])[..., 0], entropy


def update(model, optimizer, batch, cfg):
    """One optimizer step on a mini-batch, and its metrics."""
    mask = batch.reply_mask
    logp, entropy = score(model, batch, cfg)
    pg_loss, clipped = policy_loss(
        logp, batch.old_logp, batch.advantages, mask, cfg["clip_low"], cfg["clip_high"]
    )
    kl = kl_to_reference(logp, batch.ref_logp, mask, cfg["kl_kind"])
    mean_entropy = token_mean(entropy, mask)
    loss = pg_loss + cfg["kl_coef"] * kl - cfg["entropy_coef"] * mean_entropy
    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
    optimizer.step()
    return {
        "actor/pg_loss": pg_loss.item(),
        "actor/pg_clipfrac": clipped.item(),
        "actor/kl_loss": kl.item(),
        "actor/ppo_kl": token_mean(batch.old_logp - logp, mask).item(),
        "actor/entropy": mean_entropy.item(),
        "actor/grad_norm": norm.item(),
    }


def one_rollout(model, reference, sampler, optimizer, rows, cfg):
    """Replies to these rows, all updates on them, and what is logged of it."""
    batch = sampler.rollout(rows)
    batch.advantages = group_advantages(batch.rewards, cfg["replies_per_prompt"])
    with torch.no_grad():
        batch.ref_logp, _ = score(reference, batch, cfg)
    minis = batch.split(cfg["mini_batch_size"])
    updates = [update(model, optimizer, mini, cfg) for mini in minis]
    sampler.update_weights(model)
    groups = batch.rewards.view(-1, cfg["replies_per_prompt"])
    means = {name: sum(one[name] for one in updates) / len(updates) for name in updates[0]}
    return {
        "critic/score/mean": batch.rewards.mean().item(),
        "critic/groups_without_signal": (groups.std(1) == 0).float().mean().item(),
        "response_length/mean": batch.reply_mask.sum(1).float().mean().item(),
        **means,
    }


def train(cfg, tokenizer):
    """The trained policy and its log, one entry a rollout."""
    rows = read_jsonl(cfg["train_file"])
    model, reference = load_model(cfg), load_model(cfg).eval()
    sampler = Sampler(model, tokenizer, cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=float(cfg["learning_rate"]))
    drawn, log = random.Random(cfg["seed"]), []
    for number in range(1, cfg["num_rollouts"] + 1):
        chosen = drawn.sample(rows, cfg["prompts_per_rollout"])
        entry = one_rollout(model, reference, sampler, optimizer, chosen, cfg)
        log.append({"step": number, **entry})
        said = " - ".join(f"{name}:{value:.4g}" for name, value in log[-1].items())
        print(said)
    return model, log


def export(model, tokenizer, log):
    model.generation_config = GenerationConfig(
        max_new_tokens=8,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model.save_pretrained(f"{RUN}/model")
    tokenizer.save_pretrained(f"{RUN}/model")
    with open(f"{RUN}/trainer_state.json", "w", encoding="utf-8") as file:
        json.dump({"global_step": log[-1]["step"], "log_history": log}, file, indent=1)


def main():
    cfg = read_config()
    set_seed(cfg["seed"])
    os.makedirs(RUN, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(cfg["model"])
    model, log = train(cfg, tokenizer)
    export(model, tokenizer, log)
    print(f"done: {len(log)} rollouts, model in {RUN}/model")


if __name__ == "__main__":
    main()
