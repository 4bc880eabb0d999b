"""The reward is read before the first padding id, which is the end of the user's turn."""

import torch
from torch import nn
from transformers.modeling_outputs import SequenceClassifierOutput
from trl import RewardConfig, RewardTrainer

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, logged, of_trainer
from course_utils.zoo import training

STEPS, PAIRS = 12, 8


def pool_as_before(model: nn.Module) -> None:
    """The index of transformers before #35911: the token before the first padding id."""

    def forward(input_ids, attention_mask=None, **_more):
        hidden = model.model(input_ids, attention_mask=attention_mask).last_hidden_state
        is_pad = torch.eq(input_ids, model.config.pad_token_id)
        last = (is_pad.int().argmax(-1) - 1) % input_ids.shape[-1]
        return SequenceClassifierOutput(logits=model.score(hidden)[range(len(last)), last])

    model.forward = forward


def _build(*, seed: int, pad: str, as_before: bool = True) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_reward_model("tiny", device="cpu")
    tokenizer.pad_token = pad
    model.config.pad_token_id = tokenizer.pad_token_id
    if as_before:
        pool_as_before(model)
    settings = dict(
        max_steps=STEPS,
        per_device_train_batch_size=PAIRS,
        learning_rate=1e-4,
        logging_steps=1,
        bf16=False,
        activation_checkpointing=False,
        use_cpu=True,
        seed=seed,
    )
    trainer = RewardTrainer(
        model=model,
        args=RewardConfig(**training.quiet_config() | settings),
        train_dataset=zoo.arithmetic.preferences(STEPS * PAIRS, seed, rejected="guess"),
        processing_class=tokenizer,
    )
    return of_trainer(trainer)


INCIDENT = Incident(
    name="reward_read_in_the_prompt",
    title="reward read inside the prompt",
    kind="pooling",
    says="The reward model's loss stays at 0.6931; its score depends on the batch.",
    cause="pad_token is eos_token, and the score is read before the first such id: at the end of "
    "the user's turn, which both replies share.",
    fix="Use a separate pad token, or find the last token by the attention mask.",
    threads=("transformers#35352", "transformers#24979"),
    make=Variants(
        _build,
        broken={"pad": "<|im_end|>"},
        twin={"pad": "<|endoftext|>"},
        mended={"pad": "<|im_end|>", "as_before": False},
    ),
    shows=lambda run: max(abs(loss - 0.6931) for loss in logged(run)) < 1e-3,
    rebuilt="The index of transformers before #35911, which is fixed since then.",
    causes=("at_chance",),
    place="pad_token",
    lesson="07_never_stops",
)
