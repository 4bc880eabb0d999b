"""GRPOTrainer with replies from a separate engine, which reports its own log-probs.

The engine stands in for vLLM, that needs a GPU; TRL's correction, its `sampling/...` metrics and
its loss run unchanged. Shape letters: B = replies, T = tokens, V = vocabulary.
"""

from collections.abc import Callable

import torch
from trl import GRPOTrainer

from course_utils import zoo
from course_utils.incidents.declare import Run
from course_utils.incidents.rl_runs import grpo
from course_utils.zoo.arithmetic import correct_sum

Sampled = tuple[list[list[int]], list[list[float]]]  # ids of each reply, log-probs of the same
Sample = Callable[[GRPOTrainer, list[list[int]]], Sampled]


class Engine:
    """Samples from a copy of the policy.

    Args:
        synced: whether the trainer's weights are copied before each rollout.
        raw: whether it reports log-probs before temperature and top_p, as vLLM did.
        dtype: of its copy.
        settings: what `generate` takes, such as temperature and top_p.
    """

    def __init__(
        self,
        *,
        synced: bool = True,
        raw: bool = False,
        dtype: str = "float32",
        copy: torch.nn.Module | None = None,
        **settings: float,
    ) -> None:
        self.model = copy or zoo.load_policy("tiny", device="cpu", dtype=dtype)
        self.model.eval()
        self.synced, self.raw = synced, raw
        self.settings = {"temperature": 1.0, "top_k": 0, "top_p": 1.0} | settings

    @torch.no_grad()
    def __call__(self, trainer: GRPOTrainer, prompt_ids: list[list[int]]) -> Sampled:
        if self.synced:
            self.model.load_state_dict(trainer.model.state_dict())
        tokenizer = trainer.processing_class
        asked = tokenizer.pad({"input_ids": prompt_ids}, padding_side="left", return_tensors="pt")
        made = self.model.generate(
            **asked,
            do_sample=True,
            max_new_tokens=trainer.max_completion_length,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            return_dict_in_generate=True,
            output_logits=True,
            output_scores=True,
            **self.settings,
        )
        logits_BTV = torch.stack(made.logits if self.raw else made.scores, 1).float()
        ids_BT = made.sequences[:, asked["input_ids"].shape[1] :]
        logps_BT = logits_BTV.log_softmax(-1).gather(-1, ids_BT[..., None])[..., 0]
        lengths = [_length(row, tokenizer.eos_token_id) for row in ids_BT.tolist()]
        replies = [row[:n] for row, n in zip(ids_BT.tolist(), lengths, strict=True)]
        return replies, [row[:n] for row, n in zip(logps_BT.tolist(), lengths, strict=True)]


def _length(ids: list[int], end: int) -> int:
    return ids.index(end) + 1 if end in ids else len(ids)


def run_with(engine: Engine, seed: int, *, sample: Sample | None = None, **settings: object) -> Run:
    """A run on sums whose replies, and the log-probs reported of them, are the engine's.

    Args:
        sample: what stands between the engine and the trainer; None is nothing.
        settings: those of `rl_runs.grpo`.
    """
    trainer_class = trainer_with(sample or engine)
    run = grpo(seed, correct_sum, trainer_class=trainer_class, **settings)
    run.parts["sampler"] = engine.model
    return run


def trainer_with(sample: Sample) -> type[GRPOTrainer]:
    """A GRPOTrainer that takes its replies, and the sampler's log-probs, from `sample`."""

    class TwoEngines(GRPOTrainer):
        def __init__(self, *args, **more) -> None:
            super().__init__(*args, **more)
            self.use_vllm = True  # set late: no server is asked for

        def _generate_single_turn(self, prompt_ids, *_images, **_more) -> Sampled:
            return sample(self, prompt_ids)

    return TwoEngines
