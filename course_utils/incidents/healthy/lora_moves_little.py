"""SFT with LoRA under checkpointing: all but a hundredth of the weights have no gradient."""

from peft import LoraConfig, get_peft_model

from course_utils import zoo
from course_utils.incidents.declare import LookAlike, Run
from course_utils.incidents.runs import LORA, logged, moves, of_trainer
from course_utils.reproductions.lesson_07.never_stops import base_model, chats, sft_trainer


def _make(seed: int) -> Run:
    model = get_peft_model(base_model(seed=seed), LoraConfig(**LORA))
    trainer = sft_trainer(
        model,
        zoo.load_tokenizer("tiny"),
        dataset=chats(16 * 12, seed),
        gradient_checkpointing=True,
        learning_rate=5e-3,
        max_steps=12,
        logging_steps=1,
        seed=seed,
    )
    moved = moves(model)
    trained = sum(w.numel() for w in model.parameters() if w.requires_grad)
    share = trained / sum(w.numel() for w in model.parameters())
    return of_trainer(trainer, lambda: {"trained": share} | moved())


def _holds(run: Run) -> bool:
    facts, losses = run.facts(), logged(run)
    moved = facts["moved"] > 0.9 and facts["trained"] < 0.05
    return moved and sum(losses[-3:]) < sum(losses[:3])


LOOK_ALIKE = LookAlike(
    name="lora_moves_little",
    title="LoRA trains few of the weights",
    looks="All but a few hundredths of the model's weights have no gradient and never change.",
    because="They are the frozen base; every weight of the adapter moves, and the loss falls.",
    threads=("peft#282",),
    make=_make,
    holds=_holds,
)
