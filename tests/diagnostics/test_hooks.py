"""A run that copies its model or saves it whole may be watched: the copy is not listened to."""

import copy

import pytest
import torch
from diagnosed_runs import dpo, reward, sft
from transformers import TrainerCallback

from course_utils import zoo
from course_utils.diagnostics import diagnose, watch
from course_utils.diagnostics.hooks import Hook

MODES = {"watching": diagnose.watching, "watch": watch}


class Copies(TrainerCallback):
    """Keeps a copy of the model of the last step."""

    def on_step_end(self, args, state, control, model=None, **kwargs):
        self.copy = copy.deepcopy(model)
        self.copy(input_ids=torch.ones(1, 4, dtype=torch.long))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [sft, reward, dpo])
def test_a_callback_may_copy_the_model_that_is_watched(make, mode):
    trainer, copies = make(), Copies()
    trainer.add_callback(copies)
    with MODES[mode](trainer):
        trainer.train()
    weights = zip(copies.copy.parameters(), trainer.model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in weights)


def test_a_copy_generates_with_its_own_weights():
    model, tokenizer = zoo.load_policy("tiny"), zoo.load_tokenizer("tiny")
    prompt = tokenizer("12+7=", return_tensors="pt")
    optimizer = torch.optim.AdamW(model.parameters())
    with diagnose.watching(model, optimizer=optimizer, tokenizer=tokenizer):
        other = copy.deepcopy(model)
        with torch.no_grad():
            for weight in other.parameters():
                weight.zero_()
        assert other.generate.__self__ is other
        said = other(**prompt).logits
        assert model.generate(**prompt, max_new_tokens=1) is not None
    assert not said.any()


def test_a_model_that_is_watched_is_saved_whole(tmp_path):
    model = zoo.load_policy("tiny")
    optimizer = torch.optim.AdamW(model.parameters())
    with diagnose.watching(model, optimizer=optimizer):
        torch.save(model, tmp_path / "model.pt")
    loaded = torch.load(tmp_path / "model.pt", weights_only=False)
    assert loaded.generate.__self__ is loaded
    assert loaded(input_ids=torch.ones(1, 4, dtype=torch.long)).logits.isfinite().all()


def test_the_passes_of_a_copy_are_not_heard():
    heard = []
    layer = torch.nn.Linear(2, 2)
    layer.register_forward_pre_hook(Hook(lambda module, args: heard.append(module)))
    layer.register_forward_hook(
        Hook(lambda module, args, kwargs, out: heard.append(module)), with_kwargs=True
    )
    copied = copy.deepcopy(layer)
    copied(torch.ones(2))
    assert heard == []
    layer(torch.ones(2))
    assert heard == [layer, layer]
