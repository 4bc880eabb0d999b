"""The snippets at a lesson's end work when copied, on a healthy run and on a broken one."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from transformers import DataCollatorForLanguageModeling

from course_utils import zoo
from course_utils.errors import TrainingStopped
from course_utils.exercises.outline import outline
from course_utils.lesson.symptoms import SYMPTOMS
from course_utils.reproductions.lesson_03.reward_model import reward_trainer
from course_utils.reproductions.lesson_07 import never_stops
from course_utils.reproductions.lesson_08 import batch_loss, batch_trainers
from course_utils.reproductions.lesson_09 import policy_pairs
from course_utils.reproductions.lesson_10 import reward_up, verifiers
from course_utils.reproductions.lesson_11 import adapter_life, jobs, servings

CALLS = {symptom.instrument: symptom.call for symptom in SYMPTOMS}
# How what each says begins: of a run that is well, and of one that is not.
SAYS = {
    "NonFiniteGuard": ("", ""),
    "run_in_child": ("the child ended with exit code 0", "the child ended with exit code 3"),
    "watch": ("", "Step 1, optimizer on base_model.model.score"),
    "profile_ranges": ("float16 holds every number", "This step left float32 itself"),
    "audit_gradients": ("50 of 50 trainable parameters", "Every gradient holds nan or inf"),
    "inspect_batch": ("nothing found in 8 rows", "end masked: the end of all 8 replies"),
    "compare_splits": ("The gradient of 4 rows is the same", "The gradient depends on the split"),
    "TruthAudit": ("The truth did not move beyond the noise", "The truth fell"),
    "compare_policies": ("Sampler and trainer agree", "They differ by"),
    "compare_models": ("all 51 weights are the same", "the first layer that differs is"),
    "adapter_reach": ("An adapter on attention", "No expert has an adapter"),
    "diagnose": ("RewardTrainer: nothing found", "RewardTrainer: a fault in training"),
    "trace_step": ("Loss, gradients and weights are finite.", "Inf was already in the weights"),
}


def names_of(dtype: str) -> dict[str, object]:
    """A reader's own trainer, and a model with a batch that has labels."""
    batch = dict(zoo.load_tokenizer("tiny")(["1+1=2", "2+3=5"], return_tensors="pt"))
    trainer = reward_trainer(model="tiny", device="cpu", dtype=dtype, max_steps=2)
    model = zoo.load_policy("tiny", device="cpu")
    return dict(model=model, batch=batch | {"labels": batch["input_ids"]}, trainer=trainer)


def never_stops_trainer():
    """A chat's pad is its end, and the collator takes every pad out of the labels."""
    tokenizer = zoo.load_tokenizer("tiny")
    tokenizer.pad_token = "<|im_end|>"
    by_id = DataCollatorForLanguageModeling(tokenizer, mlm=False)

    def collate(rows: list[dict]) -> dict:
        return by_id([{"input_ids": row["input_ids"]} for row in rows])

    model, dataset = never_stops.base_model(), never_stops.chats(8)
    return never_stops.sft_trainer(model, tokenizer, collate=collate, dataset=dataset)


def mean_trainer():
    """compute_loss is overridden with the mean of its micro-batch."""
    return batch_loss.trainer(batch_trainers.Mean)


def grpo_names(check, num_steps: int) -> dict[str, object]:
    """A GRPO run of a reader's own, with questions and a judge that are not its reward's."""
    trainer = reward_up.grpo_trainer([reward_up.reward_of(check)], max_steps=num_steps)
    return dict(trainer=trainer, held_out=reward_up.held_out(32), is_right=zoo.arithmetic.is_right)


def two_sides(cause: str) -> dict[str, object]:
    """An engine, a trainer's log-probs of its replies, and prompts."""
    pair = policy_pairs.pair(cause, 0)
    sides = dict(sampler=pair.sampler, scorer=pair.trainer)
    return sides | dict(prompts=pair.prompts, model=pair.model)


def trained_and_served(serve) -> dict[str, object]:
    """The model of job B as training left it, and the one that a server makes of it."""
    job = jobs.run("B", 0)
    batch = {**zoo.load_tokenizer("tiny")(["1+1=2", "2+3=5"], return_tensors="pt")}
    return dict(trained=job.model, served=serve(job), batch=batch)


SICK = {
    "inspect_batch": lambda: {"trainer": never_stops_trainer()},
    "compare_splits": lambda: {"trainer": mean_trainer()},
    "compare_policies": lambda: two_sides("temperature"),
    "TruthAudit": lambda: grpo_names(verifiers.occurs, num_steps=16),
    "compare_models": lambda: trained_and_served(servings.serve_b),
    "adapter_reach": lambda: {"model": adapter_life.adapter("mixture")},
}


def say(instrument: str, names: dict[str, object], script: str) -> None:
    """What a reader does: copy the call into a folder with a script called train.py."""
    Path("train.py").write_text(script)
    exec(CALLS[instrument], names)
    if instrument == "NonFiniteGuard":
        names["trainer"].train()


@pytest.mark.parametrize("instrument", CALLS)
def test_the_call_at_a_lessons_end_has_no_fault_to_find_in_a_sound_run(
    instrument, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    names = names_of("float32")
    if instrument == "TruthAudit":
        names |= grpo_names(zoo.arithmetic.is_right, num_steps=2)
    if instrument == "compare_policies":
        names |= two_sides("healthy")
    if instrument == "compare_models":
        names |= trained_and_served(servings.reloaded)
    if instrument == "adapter_reach":
        names["model"] = adapter_life.adapter()
    say(instrument, names, "print('training')")
    said, expected = capsys.readouterr().out, SAYS[instrument][0]
    assert said.startswith(expected) if expected else said == ""


@pytest.mark.parametrize("instrument", CALLS)
def test_the_call_at_a_lessons_end_finds_the_fault_of_a_sick_run(
    instrument, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    names = names_of("float16")
    names["model"].model.norm.weight.data[0] = float("inf")
    if instrument in SICK:
        names |= SICK[instrument]()
    stops = pytest.raises(TrainingStopped) if instrument == "NonFiniteGuard" else nullcontext()
    with stops:
        say(instrument, names, "raise SystemExit(3)")
    assert capsys.readouterr().out.startswith(SAYS[instrument][1])


def test_every_lesson_about_a_failure_has_a_symptom():
    assert {symptom.lesson for symptom in SYMPTOMS} == {entry.stem for entry in outline()[1:]}
