"""The real GRPOTrainer with replies and log-probs from `Engine`, which stands in for vLLM.

TRL's correction, its `sampling/...` metrics and its loss run unchanged. Nothing is judged.
"""

from collections.abc import Callable

from trl import GRPOTrainer

from course_utils import zoo
from course_utils.reproductions import tiny_grpo
from course_utils.reproductions.lesson_09.engine import Engine, Ids, Logps

Sample = Callable[[GRPOTrainer, Ids], tuple[Ids, Logps]]  # of prompts, the replies


class WithSampler(GRPOTrainer):
    """GRPOTrainer that takes its replies, and their log-probs, from `sampler`."""

    def __init__(self, *args, sampler: Sample, **more) -> None:
        super().__init__(*args, **more)
        self.sampler = sampler
        self.use_vllm = True  # set late, so that no server is asked for (trl 1.16)

    def _generate_single_turn(self, prompt_ids: Ids, *_images, **_more) -> tuple[Ids, Logps]:
        return self.sampler(self, prompt_ids)


def served_by(engine: Engine, *, synced: bool = True) -> Sample:
    """Replies of the engine, which takes over the trainer's weights first if it is `synced`."""

    def sample(trainer: GRPOTrainer, prompt_ids: Ids) -> tuple[Ids, Logps]:
        if synced:
            engine.sync(trainer.model)
        return engine(prompt_ids, length=trainer.max_completion_length)

    return sample


def grpo_trainer(engine: Engine, *, seed: int = 0, max_steps: int = 2, **settings) -> WithSampler:
    """A run on hard sums that has not started.

    Args:
        settings: fields of GRPOConfig, such as `temperature`, at which the *trainer* scores.
    """
    return tiny_grpo.grpo_trainer(
        zoo.arithmetic.correct_sum,
        seed=seed,
        num_prompts=64,
        trainer_class=WithSampler,
        sampler=served_by(engine),
        **{"max_completion_length": 6, "max_steps": max_steps} | settings,
    )
