"""What lesson 06 rests on: which runs raise, which train in silence, and what a step costs.

About 20 s of CPU, most of it importing trl and training ten tiny runs of two or three steps.
"""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from whole import cases

from course_utils.reproductions.lesson_06.frozen_inputs import (
    GUARDS,
    grpo_trainer,
    outcome_of,
    reward_run,
)
from course_utils.reproductions.lesson_06.stages import follow_stages
from course_utils.reproductions.lesson_06.vision import vision_adapters_moved
from course_utils.zoo.step_cost import step_cost

pytestmark = [
    # torch says it of every reentrant checkpoint on a frozen input, and that is the subject here
    pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad"),
    # Transformers 5.23 renamed the option; TRL 1.16 still calls it by its old name
    pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing"),
]


@pytest.mark.parametrize("guard", cases(GUARDS))
def test_each_guard_of_today_alone_makes_the_reported_run_train(guard):
    found = outcome_of(grpo_trainer(guards=(guard,)))
    assert found.word == "trains"
    assert found.num_moved == found.num_adapters > 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_without_a_guard_the_reported_run_raises_in_every_format(dtype):
    assert outcome_of(grpo_trainer(dtype=dtype, bf16=dtype == "bfloat16")).word == "error"


def test_without_lora_the_reported_run_trains_without_a_guard():
    found = outcome_of(grpo_trainer(lora=False, learning_rate=1e-3))
    assert found.word == "trains"
    assert found.others_moved


def test_a_trained_head_turns_the_error_into_silence():
    found = outcome_of(reward_run())
    assert found.word == "silent"
    assert found.others_moved
    assert outcome_of(reward_run(task_type=None)).word == "error"


def test_the_outcome_has_no_word_for_another_runtime_error():
    trainer = reward_run()
    trainer.train = lambda: torch.ones(2).reshape(3)
    with pytest.raises(RuntimeError, match="shape"):
        outcome_of(trainer)


def test_stages_of_the_silent_run_are_cut_below_the_head_and_whole_with_the_hook():
    for hook in (False, True):
        trainer = reward_run(enable_input_require_grads=hook)
        trainer.model.activation_checkpointing_enable({"use_reentrant": True})
        batch = dict(next(iter(trainer.get_train_dataloader())))
        batch["labels"] = torch.ones(len(batch["input_ids"]), 1)
        stages = {s.name: s for s in follow_stages(trainer.model.train(), batch)}
        assert stages["score"].weights == "gradient"
        assert stages["layers.0"].weights == ("gradient" if hook else "no gradient")
        assert stages["embed_tokens"].in_graph is hook


class _Stack(nn.Module):
    """Four blocks of one wide layer each, checkpointed when asked."""

    def __init__(self, use_reentrant: bool | None) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 64)) for _ in range(4)
        )
        self.use_reentrant = use_reentrant

    def loss(self) -> torch.Tensor:
        hidden = torch.ones(128, 64, requires_grad=True)
        for block in self.blocks:
            if self.use_reentrant is None:
                hidden = block(hidden)
            else:
                hidden = checkpoint(block, hidden, use_reentrant=self.use_reentrant)
        return hidden.sum()


def test_step_cost_counts_the_activations_that_a_checkpoint_throws_away():
    bare, checkpointed = _Stack(None), _Stack(False)
    kept = [step_cost(model, model.loss).kept_mib for model in (bare, checkpointed)]
    inside = 4 * 128 * 512 * 4 / 2**20  # four blocks, float32, after the tanh
    assert kept[0] - kept[1] == pytest.approx(inside, rel=0.1)


def test_step_cost_counts_the_recomputation_that_only_the_reentrant_kind_ends():
    gflop = {kind: step_cost(m := _Stack(kind), m.loss).gflop for kind in (None, True, False)}
    forward = gflop[None] / 3  # backward is twice the forward pass: for inputs and for weights
    assert gflop[True] == pytest.approx(gflop[None] + forward)
    assert gflop[None] < gflop[False] < gflop[True]


def test_step_cost_leaves_no_gradient_and_repeats_itself():
    model = _Stack(True)
    first = step_cost(model, model.loss)
    assert all(p.grad is None for p in model.parameters())
    assert step_cost(model, model.loss) == first


def test_a_vision_model_on_todays_libraries_is_cut_off_in_silence_and_only_when_reentrant():
    cut, whole = (vision_adapters_moved(use_reentrant=kind, use_cpu=True) for kind in (True, False))
    assert len(cut) == len(whole) > 0
    assert not any(cut) and all(whole)
