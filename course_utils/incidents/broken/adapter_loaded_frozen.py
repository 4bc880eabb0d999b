"""An adapter is loaded to go on with, and PeftModel.from_pretrained freezes it."""

import tempfile

from peft import LoraConfig, PeftModel, get_peft_model
from trl import DPOConfig, DPOTrainer

from course_utils import training, zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, logged, of_trainer

LORA = dict(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
STEPS, PAIRS = 8, 4


def _saved_adapter(folder: str) -> None:
    base = zoo.load_policy("tiny", device="cpu")
    get_peft_model(base, LoraConfig(**LORA)).save_pretrained(folder)


def _build(*, seed: int, is_trainable: bool) -> Run:
    base = zoo.load_policy("tiny", device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        _saved_adapter(folder)
        model = PeftModel.from_pretrained(base, folder, is_trainable=is_trainable)
    settings = dict(
        max_steps=STEPS,
        per_device_train_batch_size=PAIRS,
        learning_rate=5e-3,
        logging_steps=1,
        bf16=False,
        use_cpu=True,
        seed=seed,
    )
    trainer = DPOTrainer(
        model=model,
        args=DPOConfig(**training.quiet_config() | settings),
        train_dataset=zoo.arithmetic.preferences(STEPS * PAIRS, seed),
        processing_class=zoo.load_tokenizer("tiny"),
    )
    return of_trainer(trainer)


INCIDENT = Incident(
    name="adapter_loaded_frozen",
    kind="adapter",
    says="DPO on a LoRA checkpoint: the loss is 0.6931 in every step.",
    cause="PeftModel.from_pretrained loads an adapter for inference, frozen; checkpointing makes "
    "the inputs require a gradient, so nothing raises.",
    fix="PeftModel.from_pretrained(..., is_trainable=True)",
    threads=("peft#282", "trl#1311", "trl#6700"),
    make=Variants(_build, broken={"is_trainable": False}, twin={"is_trainable": True}),
    shows=lambda run: max(abs(loss - 0.6931) for loss in logged(run)) < 1e-3,
    causes=("policy_is_reference", "no_gradient", "no_grad_fn"),
    place="is_trainable",
    lesson="06_grad_fn",
)
