"""The real GRPOTrainer with replies and log-probs from `Engine`, which stands in for vLLM.

TRL's correction, its `sampling/...` metrics and its loss run unchanged. Nothing is judged.
"""

from trl import GRPOConfig, GRPOTrainer

from course_utils import zoo
from course_utils.reproductions.lesson_09.engine import Engine, Ids, Logps
from course_utils.zoo import training

NUM_PROMPTS = 64
SETTINGS = dict(
    learning_rate=1e-4,
    lr_scheduler_type="constant",
    per_device_train_batch_size=32,
    num_generations=8,
    max_completion_length=6,
    logging_steps=1,
    bf16=False,
    use_cpu=True,
    gradient_checkpointing=False,
)


class WithEngine(GRPOTrainer):
    """GRPOTrainer whose replies are those of an engine; its weights are handed over each step."""

    def __init__(self, *args, engine: Engine, **more) -> None:
        super().__init__(*args, **more)
        self.engine = engine
        self.use_vllm = True  # set late, so that no server is asked for (trl 1.16)

    def _generate_single_turn(self, prompt_ids: Ids, *_images, **_more) -> tuple[Ids, Logps]:
        self.engine.sync(self.model)
        return self.engine(prompt_ids, length=self.max_completion_length)


def grpo_trainer(engine: Engine, *, seed: int = 0, max_steps: int = 2, **settings) -> WithEngine:
    """A run on hard sums that has not started.

    Args:
        settings: fields of GRPOConfig, such as `temperature`, at which the *trainer* scores.
    """
    from transformers import set_seed

    set_seed(seed)
    args = GRPOConfig(
        **training.quiet_config(), **SETTINGS | settings, seed=seed, max_steps=max_steps
    )
    return WithEngine(
        model=zoo.load_policy("tiny", device="cpu"),
        args=args,
        reward_funcs=zoo.arithmetic.correct_sum,
        train_dataset=zoo.arithmetic.prompts(NUM_PROMPTS, seed, level="hard"),
        processing_class=zoo.load_tokenizer("tiny"),
        engine=engine,
    )
