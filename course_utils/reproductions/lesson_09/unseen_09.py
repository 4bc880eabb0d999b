"""GRPO scripts with an engine beside the trainer, each with one part at fault. Judges nothing.

A script is made of named parts, small functions that `fresh` can replace.
"""

from course_utils.diagnostics.policies import PolicyComparison
from course_utils.diagnostics.policies.decoding import Decoding
from course_utils.reproductions import reported_script
from course_utils.reproductions.lesson_09.engine import Engine
from course_utils.reproductions.lesson_09.two_policies import TwoPolicies
from course_utils.reproductions.reported_script import Parts
from course_utils.shown.report import Table

NUM_STEPS = 4
CAUSES = {
    "a": "the engine's weights are not the policy's",
    "b": "the trainer's log-probs are not at the sampler's temperature",
    "c": "the trainer sees another text before the replies",
    "d": "a support that was cut is not scored",
    "e": "only rounding: the sides compute in different formats",
    "f": "each log-prob belongs to the neighbouring token",
    "g": "replies are decoded and encoded again",
}


# --- the parts: one script, in which one part or another is at fault ----------------------------


def settings():
    """What engine and optimizer are given."""
    return {"temperature": 0.8, "learning_rate": 1e-4}


def sync(engine, policy):
    """Hand the policy's weights to the engine, before each rollout."""
    engine.load_state_dict(policy.state_dict())


def sync_by_name(engine, policy):
    """Hand the policy's weights to the engine, before each rollout."""
    weights = {f"actor.{name}": w for name, w in policy.state_dict().items()}
    engine.load_state_dict(weights, strict=False)


def score(logits, ids, temperature):
    """The trainer's log-probs of the tokens `ids`."""
    logps = (logits / temperature).log_softmax(-1)
    return logps.gather(-1, ids[..., None])[..., 0]


def score_then_divide(logits, ids, temperature):
    """The trainer's log-probs of the tokens `ids`."""
    logps = logits.log_softmax(-1)
    return logps.gather(-1, ids[..., None])[..., 0] / temperature


def prompt_of(ids):
    """The ids that the trainer puts before a reply, from those that the engine was given."""
    return ids


def prompt_of_text(ids):
    """The ids that the trainer puts before a reply, from those that the engine was given."""
    newline = 198
    while ids and ids[-1] == newline:
        ids = ids[:-1]
    return ids


HEALTHY: Parts = {"settings": settings, "sync": sync, "score": score, "prompt_of": prompt_of}


class _ByParts(TwoPolicies):
    """The loop, with a prompt of the trainer's own and a sync of the script's."""

    def __init__(self, parts: Parts, seed: int) -> None:
        given = dict(parts["settings"]())
        temperature = given.pop("temperature")
        engine = Engine(Decoding(temperature=temperature))
        engine.sync = lambda policy: parts["sync"](engine.model, policy)
        score = lambda logits, ids: parts["score"](logits, ids, temperature)  # noqa: E731
        super().__init__(engine, score=score, keep=8, seed=seed, num_prompts=4, n=4, **given)
        self.prompt_of = parts["prompt_of"]

    def lay_out(self, asked, replies, scores):
        return super().lay_out([self.prompt_of(list(ids)) for ids in asked], replies, scores)


class Ticket(reported_script.Ticket):
    """A script with an engine beside its trainer."""

    causes = CAUSES

    def run(self, parts: Parts, seed: int) -> "Script":
        return Script(parts, seed)


class Script:
    """One run of a script: `train` it, then look at `log` and `compare()`."""

    def __init__(self, parts: Parts, seed: int) -> None:
        self.loop = _ByParts(parts, seed)

    def train(self, num_steps: int = NUM_STEPS) -> "Script":
        self.loop.train(num_steps)
        return self

    def compare(self) -> PolicyComparison:
        """Engine and trainer as they stand now."""
        return self.loop.compare()

    @property
    def log(self) -> Table:
        """What the script logs of each rollout."""
        rows = []
        for step, update in zip(self.loop.steps, self.loop.updates, strict=True):
            shown = (
                step["critic/score/mean"],
                update["actor/pg_clipfrac"],
                update["actor/ppo_kl"],
                update["actor/grad_norm"],
            )
            rows.append((str(step["step"]), *(f"{value:.2f}" for value in shown)))
        columns = ("rollout", "score of the engine", "pg_clipfrac", "ppo_kl", "grad_norm")
        return Table(columns=columns, rows=rows)


def never_loaded() -> Ticket:
    """A sync that hands nothing over."""
    report = (
        "The score of the rollouts stays constant for a thousand steps. The checkpoint that was\n"
        "saved at the end is much better than that score. Every sync returns without an error."
    )
    return Ticket(report, HEALTHY | {"sync": sync_by_name})


def divided_late() -> Ticket:
    """A temperature behind the softmax."""
    report = (
        "Someone noticed that the trainer scored at temperature 1, and fixed it last week.\n"
        "The run has not become any better."
    )
    return Ticket(report, HEALTHY | {"score": score_then_divide})


def stripped() -> Ticket:
    """A prompt that lost its last token."""
    report = (
        "The trainer of this run has its own chat template. The texts of both sides look the\n"
        "same in the log, which strips white space; importance ratios are far from 1."
    )
    return Ticket(report, HEALTHY | {"prompt_of": prompt_of_text})
