"""`inspect_batch` finds every planted fault of a batch, names its cause, and is quiet on twins."""

import pytest
import torch
from datasets import Dataset
from trl import DPOConfig, DPOTrainer, RewardConfig, RewardTrainer, SFTConfig, SFTTrainer

from course_utils import training, zoo
from course_utils.diagnostics import inspect_batch
from course_utils.errors import BadRequest
from course_utils.reproductions import batches, never_stops

FAULTS = {
    "end masked": (batches.labels_by_id, "labels were made from ids"),
    "holes in the mask": (batches.mask_by_id, "made from ids"),
    "end missing": (batches.cut_off, "cut at"),
    "end missing, too": (batches.never_appended, "nothing appends it"),
    "end masked, too": (batches.end_outside, "stops before its end"),
    "no labels": (batches.marker_not_found, "response marker"),
    "no labels, too": (batches.prompt_fills_it, "before the reply"),
    "two BOS": (batches.begins_twice, "renders one"),
    "template differs": (batches.another_template, "not the one"),
    "padding side": (lambda seed: batches.prompts(seed, side="right"), "on the right"),
    "template differs, too": (
        lambda seed: batches.prompts(seed, text=lambda asked: asked.removesuffix("\n")),
        "not the one",
    ),
    "packing leaks": (lambda seed: batches.packed(seed, with_mask=True), "joins the documents"),
}
HEALTHY = {
    "replies": batches.replies_learnt,
    "whole chats": batches.whole_chats,
    "one BOS": batches.begins_once,
    "prompts on the left": batches.prompts,
    "packed": batches.packed,
}
SEEDS = (0, 3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_with_its_cause(fault, seed):
    make, cause = FAULTS[fault]
    found = inspect_batch(*make(seed))
    assert [f.name for f in found.faults] == [fault.partition(",")[0]], str(found)
    assert cause in found.cause and found.fix


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("twin", HEALTHY)
def test_a_healthy_twin_is_quiet(twin, seed):
    found = inspect_batch(*HEALTHY[twin](seed))
    assert found.is_healthy, str(found)
    assert "nothing found" in found.headline and not found.cause


def test_a_prompt_in_the_loss_is_a_note_when_whole_chats_are_learnt_and_a_fault_in_part():
    batch, tokenizer = batches.whole_chats()
    [note] = inspect_batch(batch, tokenizer).findings
    assert note.name == "prompt learnt" and not note.is_fault
    batch["labels"][:, :2] = -100
    assert [f.name for f in inspect_batch(batch, tokenizer).faults] == ["prompt learnt"]


def test_padding_that_is_learnt_or_attended_and_moved_labels_are_found():
    batch, tokenizer = batches.replies_learnt()
    padded = batch["attention_mask"] == 0
    learnt = batch | {"labels": batch["labels"].masked_fill(padded, tokenizer.pad_token_id)}
    assert inspect_batch(learnt, tokenizer).faults[0].name == "padding learnt"
    attended = batch | {"attention_mask": torch.ones_like(padded)}
    assert "padding attended" in {f.name for f in inspect_batch(attended, tokenizer).faults}
    moved = batch | {"labels": batch["labels"].roll(-1, dims=-1)}
    assert inspect_batch(moved, tokenizer).faults[0].name == "labels shifted"


def test_the_first_token_of_a_packed_document_is_not_to_be_guessed():
    batch, tokenizer = batches.packed()
    batch["labels"] = batch["input_ids"].clone()
    names = {f.name for f in inspect_batch(batch, tokenizer).faults}
    assert "labels across documents" in names


def test_several_chats_in_a_row_without_positions_are_a_note():
    found = inspect_batch(*batches.packed(with_positions=False))
    assert found.is_healthy and "several replies" in {f.name for f in found.findings}


def test_serving_with_another_template_is_found():
    batch, tokenizer = batches.replies_learnt()
    serving = zoo.load_tokenizer("tiny")
    assert inspect_batch(batch, tokenizer, serving=serving).is_healthy
    system = "{{ '<|im_start|>system\nAdd.<|im_end|>\n' }}"
    serving.chat_template = system + serving.chat_template
    found = inspect_batch(batch, tokenizer, serving=serving)
    assert [f.name for f in found.faults] == ["template differs"]


# --- trainers ---------------------------------------------------------------------------------

ON_CPU = dict(bf16=False, use_cpu=True, max_steps=1)


def sft(tokenizer=None, dataset=None, **settings):
    tokenizer = tokenizer or zoo.load_tokenizer("tiny")
    rows = never_stops.chats(16) if dataset is None else dataset
    config = SFTConfig(**training.quiet_config(), **ON_CPU | settings)
    model = zoo.load_policy("tiny", device="cpu")
    return SFTTrainer(model=model, args=config, processing_class=tokenizer, train_dataset=rows)


def messages(n: int = 16) -> Dataset:
    return Dataset.from_list(
        [{"messages": r["prompt"] + r["completion"]} for r in never_stops.chats(n)]
    )


def dpo(**settings):
    config = DPOConfig(**training.quiet_config(), **ON_CPU | settings)
    return DPOTrainer(
        model=zoo.load_policy("tiny", device="cpu"),
        args=config,
        processing_class=zoo.load_tokenizer("tiny"),
        train_dataset=zoo.arithmetic.preferences(16, 0, rejected="guess"),
    )


def reward():
    config = RewardConfig(**training.quiet_config(), **ON_CPU)
    return RewardTrainer(
        model=zoo.load_reward_model("tiny", device="cpu"),
        args=config,
        processing_class=zoo.load_tokenizer("tiny"),
        train_dataset=zoo.arithmetic.preferences(16, 0),
    )


TRAINERS = {
    "SFT, prompt and completion": sft,
    "SFT, messages": lambda: sft(dataset=messages()),
    "SFT, packed": lambda: sft(dataset=messages(), packing=True, max_length=64),
    "DPO": dpo,
    "reward": reward,
}


@pytest.mark.parametrize("kind", TRAINERS)
def test_a_healthy_trainer_is_quiet_and_stays_as_it_is(kind):
    trainer = TRAINERS[kind]()
    state, columns = torch.random.get_rng_state(), trainer._signature_columns
    found = inspect_batch(trainer)
    assert found.is_healthy, str(found)
    assert torch.equal(state, torch.random.get_rng_state())
    assert trainer._signature_columns == columns


def test_a_cut_in_a_trainer_is_found_with_its_length():
    found = inspect_batch(sft(max_length=16))
    assert found.faults[0].name == "end missing" and "cut at 16 tokens" in found.cause


def test_a_dpo_trainer_says_which_column_lost_its_end():
    found = inspect_batch(dpo(max_length=16))
    assert "chosen" in found.faults[0].saw and "rejected" in found.faults[0].saw


def test_wrapped_packing_leaks_and_a_foreign_end_stops_nothing():
    wrapped = sft(dataset=messages(), packing=True, packing_strategy="wrapped", max_length=64)
    assert "packing leaks" in {f.name for f in inspect_batch(wrapped).faults}
    trainer = sft()
    trainer.model.generation_config.eos_token_id = 317
    assert [f.name for f in inspect_batch(trainer).faults] == ["stops elsewhere"]


# --- what is shown ----------------------------------------------------------------------------


def test_the_text_marks_what_is_learnt_and_the_page_has_every_number():
    batch, tokenizer = batches.replies_learnt()
    found = inspect_batch(batch, tokenizer)
    answer = batches.sums()[0][-1]["content"]
    assert f"[[{answer}<|im_end|>]]" in found.text()
    assert "mask 0" in found.html() and "position 3" in found.html()
    assert max(map(len, found.text().splitlines())) <= 120
    assert found.to_dict()["share_learnt"] == pytest.approx(found.share_learnt)


@pytest.mark.parametrize("source", [{}, {"input_ids": [[1, 2]]}, {"input_ids": torch.ones(3)}])
def test_what_is_no_batch_says_so(source):
    with pytest.raises(BadRequest, match="input_ids"):
        inspect_batch(source, zoo.load_tokenizer("tiny"))


def test_a_batch_needs_a_tokenizer():
    with pytest.raises(BadRequest, match="tokenizer"):
        inspect_batch(batches.replies_learnt()[0])
