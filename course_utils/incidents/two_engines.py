"""GRPOTrainer with replies from a separate engine, which reports its own log-probs."""

import torch

from course_utils.diagnostics.policies.decoding import Decoding
from course_utils.incidents.declare import Run
from course_utils.incidents.rl_runs import grpo
from course_utils.reproductions.lesson_09.engine import Engine
from course_utils.reproductions.lesson_09.two_engines import Sample, WithSampler, served_by
from course_utils.zoo.arithmetic import correct_sum


def engine_with(*, processed: bool = True, dtype: str = "float32", **decoding: float) -> Engine:
    """An engine that draws from torch's own generator, which the run's seed sets.

    Args:
        decoding: temperature, top_p and the like.
    """
    engine = Engine(Decoding(**decoding), dtype=dtype, processed=processed)
    engine.generator = torch.default_generator
    return engine


def run_with(
    engine: Engine,
    seed: int,
    *,
    sample: Sample | None = None,
    synced: bool = True,
    **settings: object,
) -> Run:
    """A run on sums whose replies, and the log-probs reported of them, are the engine's.

    Args:
        sample: what stands between the engine and the trainer; None is nothing.
        synced: whether the trainer's weights are copied before each rollout.
        settings: those of `rl_runs.grpo`.
    """
    sampler = sample or served_by(engine, synced=synced)
    run = grpo(seed, correct_sum, trainer_class=WithSampler, sampler=sampler, **settings)
    run.parts["sampler"] = engine.model
    return run
