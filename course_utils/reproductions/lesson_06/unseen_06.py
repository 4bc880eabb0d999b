"""Three training loops that somebody wrote by hand; each runs, and something in it never learns.

A loop is made of named parts, small functions that `fresh` can replace. Nothing here raises, and
nothing is judged. Shape letters: B batch, T token, F feature, C code.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from course_utils import zoo
from course_utils.reproductions import reported_script
from course_utils.reproductions.lesson_06.small_models import seeded
from course_utils.reproductions.reported_script import Parts
from course_utils.shown.progress_line import track
from course_utils.shown.report import Table

LORA = dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])
CAUSES = {
    "a": "the weights that should learn are frozen",
    "b": "a checkpoint gets no input that requires grad",
    "c": "a forward pass is computed without a graph",
    "d": "the loss is rebuilt from plain numbers",
    "e": "an operation on the way has the derivative 0",
    "f": "the optimizer does not hold the weights that should learn",
}

Batch = dict[str, Tensor]


@dataclass(frozen=True, repr=False)
class Ticket(reported_script.Ticket):
    """A loop, what it is given, and the column of its log that ought to get better."""

    causes = CAUSES

    goal: str
    build: Callable[[], nn.Module]
    batch: Callable[[int], Batch]  # from a seed
    loss: Callable[[Parts, nn.Module, Batch], Tensor]
    measure: Callable[[Parts, nn.Module, Batch], float]
    num_steps: int = 10

    def run(self, parts: Parts, seed: int) -> "Run":
        return Run(self, parts, seed)

    def import_lines(self) -> tuple[str, ...]:
        used = [inspect.getclosurevars(part).globals.items() for part in self.parts.values()]
        names = sorted({name for each in used for name, it in each if not inspect.ismodule(it)})
        return (f"from {__name__} import {', '.join(names)}",) if names else ()


class Run:
    """One run: its model, optimizer and batch, a loss to call, and steps to train."""

    def __init__(self, ticket: Ticket, parts: Parts, seed: int) -> None:
        self._ticket, self._parts = ticket, parts
        self.batch = ticket.batch(seed)
        self.model, self.optimizer = seeded(lambda: parts["prepare"](ticket.build()), seed)
        self.log = [self._entry(0, self.loss(self.batch))]

    def loss(self, batch: Batch) -> Tensor:
        return self._ticket.loss(self._parts, self.model, batch)

    def train(self, num_steps: int | None = None) -> "Run":
        """Take optimizer steps on the run's one batch, logging the first, middle and last."""
        num_steps = num_steps or self._ticket.num_steps
        for step in track(range(1, num_steps + 1), "training"):
            loss = self.loss(self.batch)
            loss.backward()
            self.optimizer.step()
            self.model.zero_grad()
            if step in (1, num_steps // 2, num_steps):
                self.log.append(self._entry(step, loss))
        return self

    def _entry(self, step: int, loss: Tensor) -> dict[str, float]:
        with torch.no_grad():
            goal = self._ticket.measure(self._parts, self.model, self.batch)
        return {"step": step, "loss": loss.item(), self._ticket.goal: goal}

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        rows = [tuple(f"{value:.3g}" for value in entry.values()) for entry in self.log]
        return Table(columns=tuple(self.log[0]), rows=rows)._repr_mimebundle_()


# --- the first: an actor and a critic -------------------------------------------------------


class ActorCritic(nn.Module):
    """A policy with LoRA, and a head that predicts the reward of a reply."""

    def __init__(self, policy: nn.Module) -> None:
        super().__init__()
        self.policy = get_peft_model(policy, LoraConfig(**LORA))
        self.critic = nn.Linear(policy.config.hidden_size, 1)


def prepare_actor_critic(policy):
    model = ActorCritic(policy)
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return model, torch.optim.AdamW(trained, lr=1e-2)


def read_replies(policy, ids):
    with torch.no_grad():  # the critic reads the policy and must not train it
        read = policy(input_ids=ids, output_hidden_states=True)
        logp_BT = read.logits[:, :-1].log_softmax(-1)
        logp_BT = logp_BT.gather(-1, ids[:, 1:, None]).squeeze(-1)
        return logp_BT, read.hidden_states[-1][:, -1]


def policy_term(logp_BT, is_reply_BT, reward_B):
    advantage_B = (reward_B - reward_B.mean()) / reward_B.std()
    logp_B = (logp_BT * is_reply_BT).sum(-1) / is_reply_BT.sum(-1)
    return -(advantage_B * logp_B).mean()


def critic_term(critic, last, reward_B):
    return mse_loss(critic(last).squeeze(-1), reward_B)


def _actor_critic_loss(parts: Parts, model: ActorCritic, batch: Batch) -> Tensor:
    logp, last = parts["read_replies"](model.policy, batch["ids"])
    actor = parts["policy_term"](logp, batch["is_reply"], batch["reward"])
    return actor + parts["critic_term"](model.critic, last, batch["reward"])


def _rewarded_gap(parts: Parts, model: ActorCritic, batch: Batch) -> float:
    logp_BT, _ = read_replies(model.policy, batch["ids"])
    logp_B = (logp_BT * batch["is_reply"]).sum(-1) / batch["is_reply"].sum(-1)
    is_good = batch["reward"] > 0
    return (logp_B[is_good].mean() - logp_B[~is_good].mean()).item()


def _replies(seed: int) -> Batch:
    """Eight replies to sums, four of them right; padded on the left."""
    tokenizer, pairs = zoo.load_tokenizer("tiny"), zoo.arithmetic.preferences(4, seed)
    said = [pair["prompt"] + pair[kind] for pair in pairs for kind in ("chosen", "rejected")]
    asked = [pair["prompt"] for pair in pairs for _ in range(2)]
    whole = [tokenizer.apply_chat_template(chat, tokenize=True)["input_ids"] for chat in said]
    start = [len(tokenizer.apply_chat_template(chat, tokenize=True)["input_ids"]) for chat in asked]
    length = max(map(len, whole))
    ids = torch.tensor([[tokenizer.pad_token_id] * (length - len(w)) + w for w in whole])
    reply = [torch.arange(length) >= length - len(w) + s for w, s in zip(whole, start, strict=True)]
    reward = torch.tensor([1.0, 0.0] * len(pairs))
    return {"ids": ids, "is_reply": torch.stack(reply)[:, 1:], "reward": reward}


def _policy_that_shows_its_states() -> nn.Module:
    policy = zoo.load_policy("tiny", device="cpu", dtype="float32")
    with torch.no_grad():  # the first such call leaves Transformers' hooks on the layers
        policy(input_ids=torch.zeros(1, 1, dtype=torch.long), output_hidden_states=True)
    return policy


def critic_learns_alone() -> Ticket:
    """A reinforcement loop in which the loss falls and the policy stays as it is."""
    return Ticket(
        "A hand-written actor-critic loop on a Qwen2 with LoRA. The loss falls, but\n"
        "right replies do not become likelier than wrong ones (gap, in nats per token).",
        {
            "prepare": prepare_actor_critic,
            "read_replies": read_replies,
            "policy_term": policy_term,
            "critic_term": critic_term,
        },
        "gap",
        _policy_that_shows_its_states,
        _replies,
        _actor_critic_loss,
        _rewarded_gap,
    )


# --- the second: a codec with whole numbers in its middle ------------------------------------


def prepare_codec(model):
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def encode(model, x_BF):
    return 4 * model["encoder"](x_BF).tanh()


def quantise(z_BC):
    return z_BC.round()  # the codes are sent as whole numbers from -4 to 4


def decode(model, codes_BC):
    return model["decoder"](codes_BC)


def _codec() -> nn.ModuleDict:
    encoder = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 3))
    decoder = nn.Sequential(nn.Linear(3, 32), nn.GELU(), nn.Linear(32, 12))
    return nn.ModuleDict({"encoder": encoder, "decoder": decoder})


def _codec_loss(parts: Parts, model: nn.ModuleDict, batch: Batch) -> Tensor:
    codes = parts["quantise"](parts["encode"](model, batch["x"]))
    return mse_loss(parts["decode"](model, codes), batch["x"])


def _signals(seed: int) -> Batch:
    """256 signals of 12 features that depend on 3 hidden numbers."""
    hidden, mix = seeded(lambda: (torch.randn(256, 3), torch.randn(3, 12)), seed)
    return {"x": (hidden @ mix).tanh()}


def encoder_stands_still() -> Ticket:
    """A codec that learns to decode what an untrained encoder happens to send."""
    return Ticket(
        "A hand-written loop for a codec: encoder, whole numbers, decoder. The loss falls,\n"
        "but it stays several times higher than without quantise.",
        {"prepare": prepare_codec, "encode": encode, "quantise": quantise, "decode": decode},
        "squared error",
        _codec,
        _signals,
        _codec_loss,
        lambda parts, model, batch: _codec_loss(parts, model, batch).item(),
        num_steps=150,
    )


# --- the third: a new adapter ----------------------------------------------------------------


def prepare_adapter(base):
    optimizer = torch.optim.AdamW(base.parameters(), lr=1e-2)
    model = get_peft_model(base, LoraConfig(**LORA))
    return model, optimizer


def logits_of(model, ids):
    return model(input_ids=ids).logits[:, :-1]


def reply_loss(logits, ids, is_reply):
    return cross_entropy(logits[is_reply], ids[:, 1:][is_reply])


def _adapter_loss(parts: Parts, model: nn.Module, batch: Batch) -> Tensor:
    logits = parts["logits_of"](model, batch["ids"])
    return parts["reply_loss"](logits, batch["ids"], batch["is_reply"])


def adapter_stands_still() -> Ticket:
    """A fine-tuning loop whose loss stays where it was."""
    return Ticket(
        "A hand-written fine-tuning loop on a Qwen2 with LoRA, on eight replies, half of them\n"
        "wrong on purpose. The loss does not move at all; nothing raises.",
        {"prepare": prepare_adapter, "logits_of": logits_of, "reply_loss": reply_loss},
        "loss of the replies",
        lambda: zoo.load_policy("tiny", device="cpu", dtype="float32"),
        _replies,
        _adapter_loss,
        lambda parts, model, batch: _adapter_loss(parts, model, batch).item(),
    )
