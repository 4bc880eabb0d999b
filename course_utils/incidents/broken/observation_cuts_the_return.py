"""Returns that begin anew at a tool's reply: what is written before it gets no credit."""

import torch
from torch import Tensor, nn
from transformers import Qwen2Config, Qwen2ForCausalLM

from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.rl_runs import mean, values
from course_utils.incidents.runs import Variants

CALLS, FOUND, NOTHING, SAYS = 4, 4, 9, 10  # calls 0 to 3, replies of the tool from 4 on
KEY, VOCABULARY, ROWS, NUM_STEPS, RATE = 11, 15, 64, 60, 3e-3
# A row: the key, the call, two tokens of the tool's reply, the answer. The policy writes two.
MASK = torch.tensor([1.0, 0.0, 0.0, 1.0])
Batch = dict[str, Tensor]


def policy(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    heads = dict(num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=16)
    size = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=1)
    return Qwen2ForCausalLM(Qwen2Config(**size | heads))


def _drawn(model: nn.Module, ids: Tensor, generator: torch.Generator) -> Tensor:
    """One of the calls, drawn at the end of each row; an answer is one of them as well."""
    probs = model(input_ids=ids).logits[:, -1, :CALLS].softmax(-1)
    return torch.multinomial(probs, 1, generator=generator)


@torch.no_grad()
def rollout(model: nn.Module, generator: torch.Generator, *, goes_on: bool) -> Batch:
    """Only the right call shows the answer; a right answer earns 1 at the last token."""
    kind = torch.randint(CALLS, (ROWS, 1), generator=generator)
    hidden = torch.randint(CALLS, (ROWS, 1), generator=generator)
    call = _drawn(model, kind + KEY, generator)
    shown = torch.where(call == kind, hidden + FOUND, NOTHING)
    reply = torch.cat([torch.full_like(shown, SAYS), shown], 1)
    asked = torch.cat([kind + KEY, call, reply], 1)
    answer = _drawn(model, asked, generator)
    rewards = torch.zeros(ROWS, len(MASK))
    rewards[:, -1] = (answer == hidden)[:, 0].float()
    batch = {"input_ids": torch.cat([asked, answer], 1), "response_mask": MASK.expand(ROWS, -1)}
    returns = returns_of(rewards, batch["response_mask"], goes_on=goes_on)
    batch |= {"token_level_rewards": rewards, "returns": returns}
    return batch | {"advantages": whitened(returns, batch["response_mask"])}


def returns_of(rewards: Tensor, mask: Tensor, *, goes_on: bool) -> Tensor:
    """What is earned from each token on; without `goes_on` it begins anew where the mask is 0."""
    running, returns = torch.zeros(len(rewards)), torch.zeros_like(rewards)
    for at in reversed(range(rewards.shape[1])):
        running = rewards[:, at] + running
        returns[:, at] = running
        running = running if goes_on else running * mask[:, at]
    return returns


def whitened(returns: Tensor, mask: Tensor) -> Tensor:
    learnt = returns[mask.bool()]
    return (returns - learnt.mean()) / (learnt.std() + 1e-8) * mask


def loss_of(model: nn.Module, batch: Batch) -> Tensor:
    logits = model(input_ids=batch["input_ids"]).logits[:, :-1, :CALLS]
    mask, taken = batch["response_mask"], batch["input_ids"][:, 1:, None].clamp(max=CALLS - 1)
    logps = logits.log_softmax(-1).gather(-1, taken)[..., 0]
    return -(batch["advantages"] * logps * mask).sum() / mask.sum()


def _build(*, seed: int, goes_on: bool) -> Run:
    model, generator = policy(seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    first = rollout(model, torch.Generator().manual_seed(seed), goes_on=goes_on)

    def start() -> None:
        for step in range(1, NUM_STEPS + 1):
            batch = rollout(model, generator, goes_on=goes_on)
            loss = loss_of(model, batch)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            reward = batch["token_level_rewards"].sum(1).mean().item()
            entry = {"step": step, "actor/pg_loss": loss.item(), "actor/grad_norm": norm.item()}
            run.log.append(entry | {"critic/score/mean": reward})

    def facts() -> dict[str, float]:
        return {"reward": mean(values(run, "critic/score/mean")[-10:])}

    parts = {"optimizer": optimizer, "batch": first, "loss": loss_of}
    run = Run(model=model, start=start, facts=facts, parts=parts)
    return run


INCIDENT = Incident(
    name="observation_cuts_the_return",
    title="no credit for what stands before a tool's reply",
    kind="returns",
    says="In multi-turn training the last answers improve, but the policy never learns which tool "
    "to call, and the reward stays low.",
    cause="The return is set to 0 wherever the response mask is 0, so the reward at the end does "
    "not reach the tokens before the tool's reply.",
    fix="Carry the running return through tokens of mask 0; only do not learn from them.",
    threads=("verl#7278", "verl#7300", "verl#6376", "miles#1827"),
    rebuilt="REINFORCE++ as verl had it, in a loop of one call and one answer.",
    make=Variants(_build, broken={"goes_on": False}, twin={"goes_on": True}),
    shows=lambda run: run.facts()["reward"] < 0.6,
    place="returns",
)
