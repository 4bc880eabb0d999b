"""Faults that show when a model is resumed, averaged or served, each with its healthy twin."""

import copy
from functools import partial

import torch
from datasets import Dataset
from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.adapters import causal, lora_tagger
from ordinary.models_of import chat_model
from ordinary.settings import as_class
from ordinary.usual import shared
from peft import LoraConfig
from torch import nn
from transformers import Trainer
from trl import SFTConfig, SFTTrainer

from common_faults.loops import STEPS, Setting
from common_faults.own_habits import Patches
from common_faults.own_loops import run
from common_faults.registry import fault

loop_with_twin = partial(fault, is_loop=True, has_twin=True)


@loop_with_twin("resumed_at_the_first_batch", "resumed_without_state")
def resumed_at_the_first_batch(watching, healthy=False):
    """Weights, optimizer and step are loaded at each third of the run, the data's place is not."""
    own, part = Setting(), STEPS // 3

    def loss_of(step):
        if step and step % part == 0:
            kept = copy.deepcopy((own.model.state_dict(), own.optimizer.state_dict()))
            own.model.load_state_dict(kept[0])
            own.optimizer.load_state_dict(kept[1])
        return own.model(**own.batch(step if healthy else step % part)).loss

    return run(own, watching, loss_of)


@loop_with_twin("average_of_parameters_alone", "average_without_buffers")
def average_of_parameters_alone(watching, healthy=False):
    """An average of the weights that keeps the batch norms' statistics of its first day."""
    own = Setting()
    torch.manual_seed(0)
    own.model = Patches()
    own.optimizer = torch.optim.AdamW(own.model.parameters(), lr=2e-3)
    average = copy.deepcopy(own.model)

    @torch.no_grad()
    def follow(step):
        parts = nn.Module.state_dict if healthy else lambda model: dict(model.named_parameters())
        for name, value in parts(average).items():
            new = parts(own.model)[name]
            value.lerp_(new, 0.2) if value.is_floating_point() else value.copy_(new)

    pictures, classes = torch.rand(256, 1, 8, 8), torch.arange(256) % 2
    pictures[classes == 1, :, :4] += 0.5

    def loss_of(step):
        at = step * 16 % 256
        logits = own.model(pictures[at : at + 16])
        return nn.functional.cross_entropy(logits, classes[at : at + 16])

    return run(own, watching, loss_of, after=follow)


@fault("second_adapter_not_active", "another_adapter_trained", has_twin=True)
def second_adapter_not_active(folder, healthy=False):
    """A model with one trained adapter gets another, which is not made the active one."""
    config = LoraConfig(r=8, lora_alpha=16, task_type="CAUSAL_LM")
    trainer = causal(folder, config)
    for name, weight in trainer.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.02)
    trainer.model.add_adapter("second", config)
    if healthy:
        trainer.model.set_adapter("second")
    return trainer


class OwnTags(Trainer):
    """A loss over all tags; the number that pads them is that of the first class."""

    ignored = 0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        labels = labels.masked_fill(labels == -100, self.ignored)
        logits = outputs.logits.flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, labels.flatten(), ignore_index=self.ignored)
        return (loss, outputs) if return_outputs else loss


@fault("tags_padded_with_a_class", "class_without_weight", has_twin=True)
def tags_padded_with_a_class(folder, healthy=False):
    trainer = as_class(OwnTags, lora_tagger(folder))
    trainer.ignored = -100 if healthy else 0
    return trainer


THINKS = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['role'] == 'assistant' and closed %}<think>\n\n</think>\n\n{% endif %}"
    "{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


@fault("learnt_with_thinking_on", "template_differs", has_twin=True)
def learnt_with_thinking_on(folder, healthy=False):
    """Rows without a thought, in the prompt that asks for one."""
    tokenizer = copy.deepcopy(tok.chat())
    tokenizer.chat_template = THINKS
    rows = [
        {
            "prompt": [{"role": "user", "content": question}],
            "completion": [{"role": "assistant", "content": "Well. " + answer}],
            "chat_template_kwargs": {"enable_thinking": not healthy, "closed": healthy},
        }
        for question, answer in texts.chats(96, seed=7)
    ]
    return SFTTrainer(
        model=chat_model(folder),
        args=SFTConfig(**shared(folder, max_length=96, bf16=False)),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
