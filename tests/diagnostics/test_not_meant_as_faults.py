"""What looks like a fault and was meant, and faults that were taken for something else."""

import copy

import pytest
import torch
from common_faults.loops import Setting, in_epochs
from datasets import Dataset
from diagnosed_runs import dpo, grpo, sft
from door_runs import VOCAB, LanguageModel, rows
from torch import nn
from transformers import get_linear_schedule_with_warmup, set_seed

from course_utils import zoo
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.looks.tables import look_at_tables
from course_utils.diagnostics.diagnosis.looks.told_apart import (
    look_at_beginnings,
    look_at_ends,
    look_at_forms,
    look_at_lengths,
)
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject


def keys(report) -> list[str]:
    return [one.key for one in report.causes]


# --- references -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_release", [True, False])
def test_an_older_release_as_reference_is_a_doubt_and_one_that_knows_nothing_a_fault(
    is_release,
):
    other = zoo.load_policy("tiny", device="cpu")
    drawn = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in other.parameters():
            noise = torch.randn(weight.shape, generator=drawn) * weight.std().nan_to_num()
            weight.add_((0.05 if is_release else 1.0) * noise)
    report = diagnose(dpo(ref_model=other))
    assert keys(report) == ["wrong_reference"] * (not is_release), report
    assert bool(report.doubts) == is_release and not report.is_healthy


# --- rewards ----------------------------------------------------------------------------------


def test_a_reward_that_compares_a_message_with_a_text_is_named_by_replies_that_are_right():
    def is_answer(completions, answer, **_columns):
        return [float(said == wanted) for said, wanted in zip(completions, answer, strict=True)]

    report = diagnose(grpo(is_answer), steps=2)
    assert keys(report) == ["no_signal"]
    assert "list of messages" in report.cause and "['content']" in report.fix


# --- loops ------------------------------------------------------------------------------------


def step_lr(own):
    return torch.optim.lr_scheduler.StepLR(own.optimizer, 1, 0.5)


def cosine_of_epochs(own):
    return torch.optim.lr_scheduler.CosineAnnealingLR(own.optimizer, 3)


def for_a_longer_run(own):
    return get_linear_schedule_with_warmup(own.optimizer, 0, 1000)


@pytest.mark.parametrize("schedule", [step_lr, cosine_of_epochs, for_a_longer_run])
def test_a_schedule_made_for_epochs_may_be_stepped_once_an_epoch(schedule):
    own = Setting()
    made = schedule(own)
    report = in_epochs(own, diagnose.watching, each=lambda: made.step())
    assert "schedule_too_slow" not in keys(report), report


def test_a_copy_of_the_best_state_is_put_back_and_nothing_is_overfitted():
    own, kept, losses = Setting(), {}, iter([0.3, 0.5, 0.9])

    def each():
        own.log.append({"eval_loss": next(losses)})
        kept.update({} if kept else copy.deepcopy(own.model.state_dict()))

    report = in_epochs(
        own, diagnose.watching, each=each, end=lambda model: model.load_state_dict(kept)
    )
    assert not {"kept_by_reference", "overfits"} & set(keys(report)), report


def watched(loss_of) -> list[str]:
    """The causes that are named of a loop with this loss of (model, batch)."""
    set_seed(0)
    model, data = LanguageModel(), rows()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batches = [torch.stack([one["input_ids"] for one in data[at : at + 4]]) for at in (0, 4, 8)]
    first = {"input_ids": batches[0], "labels": batches[0]}
    with diagnose.watching(model, optimizer=optimizer, batch=first) as run:
        for ids in batches * 2:
            loss_of(model, {"input_ids": ids, "labels": ids}).backward()
            optimizer.step()
            optimizer.zero_grad()
    return keys(run.report)


@pytest.mark.parametrize("axis", [1, -1])
def test_a_softmax_over_positions_is_named(axis):
    def from_teacher(model, batch):
        logits = model(batch["input_ids"])["logits"]
        wanted = nn.functional.one_hot(batch["input_ids"], VOCAB).float()
        return -(wanted * (logits / 2).log_softmax(axis)).sum(-1).mean()

    before = nn.functional.log_softmax, torch.log_softmax, torch.Tensor.log_softmax
    assert ("softmax_axis" in watched(from_teacher)) == (axis == 1)
    assert before == (nn.functional.log_softmax, torch.log_softmax, torch.Tensor.log_softmax)


def test_a_loss_within_the_pass_is_not_held_against_the_logits_of_the_pass_before():
    assert "loss_against_labels" not in watched(lambda model, batch: model(**batch)["loss"])


@pytest.mark.parametrize("is_restored", [True, False])
def test_a_schedule_that_was_restored_at_its_end_is_named(is_restored):
    set_seed(0)
    model, data = LanguageModel(), rows()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / 4))
    batch = {key: torch.stack([one[key] for one in data[:4]]) for key in data[0]}

    def train(steps: int) -> None:
        for _ in range(steps):
            model(**batch)["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()

    train(4)
    state = optimizer.state_dict(), schedule.state_dict()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / 4))
    optimizer.load_state_dict(state[0])
    if is_restored:
        schedule.load_state_dict(state[1])
    else:
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    with diagnose.watching(model, optimizer=optimizer, batch=batch) as run:
        train(6)
    assert keys(run.report) == ["rate_zero"] * is_restored
    assert not is_restored or "the schedule was restored" in run.report.cause


# --- steps, tables, pairs ---------------------------------------------------------------------


def test_a_few_steps_of_a_long_warm_up_are_no_warm_up_longer_than_the_run():
    assert keys(diagnose(sft(max_steps=300, warmup_steps=100), steps=8)) == []


def test_a_padding_token_behind_the_table_is_called_by_its_name():
    class Words:
        pad_token_id, added_tokens_decoder = VOCAB, {}

        def __len__(self):
            return VOCAB + 1

        def convert_ids_to_tokens(self, one):
            return "[PAD]" if one == VOCAB else str(one)

    model = LanguageModel()
    model.get_input_embeddings = lambda: model.embed
    batch = {"input_ids": torch.tensor([[1, 2, VOCAB]])}
    sheet = Sheet()
    look_at_tables(Subject(model, tokenizer=Words(), batch=batch), sheet)
    assert "'[PAD]', with which rows are padded" in sheet.found[0].said[0]


@pytest.mark.parametrize("shorter", [0, 3])
def test_pairs_that_a_count_of_tokens_tells_apart_are_a_doubt(shorter):
    pairs = [{"chosen_ids": [1] * (8 - n % 2), "rejected_ids": [2] * 8} for n in range(40)]
    cut = [one | {"rejected_ids": one["rejected_ids"][shorter + 1 :]} for one in pairs]
    sheet = Sheet()
    look_at_lengths(Dataset.from_list(cut if shorter else pairs), sheet)
    assert not sheet.found and bool(sheet.doubts) == bool(shorter)


@pytest.mark.parametrize("is_scored", [True, False])
@pytest.mark.parametrize(
    ("chosen", "rejected", "is_told"),
    [
        ([9], [], True),  # a marker on one side alone
        ([9], [9], False),
        ([], [], False),
        ([9, 3], [3], True),  # before the end that both share
    ],
)
def test_a_token_that_ends_one_side_alone_is_named_for_scores(chosen, rejected, is_told, is_scored):
    pairs = [
        {"chosen_ids": [1, 10 + n % 7, *chosen], "rejected_ids": [1, 11 + n % 5, *rejected]}
        for n in range(40)
    ]
    sheet = Sheet()
    look_at_ends(Dataset.from_list(pairs), None, sheet, is_scored=is_scored)
    assert [one.key for one in sheet.found] == ["ending_tells"] * (is_told and is_scored)
    assert bool(sheet.doubts) == (is_told and not is_scored)


class Letters:
    """Ids that are the numbers of characters."""

    def decode(self, ids):
        return "".join(map(chr, ids))


@pytest.mark.parametrize(
    ("chosen", "rejected", "said"),
    [
        (
            "it is on its way",
            "It is on its way",
            "100% of 40 rejected replies have capital letters",
        ),
        ("yes, it is.", "yes it is", "chosen replies have marks between their words"),
        ("It is.", "It is not.", ""),
        ("it is", "it is not", ""),
    ],
)
def test_pairs_of_which_one_side_alone_was_cleaned_are_named(chosen, rejected, said):
    pairs = [
        {
            "chosen_ids": [*map(ord, f"Q {n}? {chosen} {n}")],
            "rejected_ids": [*map(ord, f"Q {n}? {rejected} {n}")],
        }
        for n in range(40)
    ]
    sheet = Sheet()
    assert look_at_forms(Dataset.from_list(pairs), Letters(), sheet) == bool(said)
    assert [said in one.said[0] for one in sheet.found] == [True] * bool(said)


@pytest.mark.parametrize(("bare", "is_told"), [(True, True), (False, False)])
def test_pairs_of_which_one_side_alone_has_its_prompt_are_named(bare, is_told):
    pairs = [
        {
            "chosen_ids": [n, n + 1, 2, 3, 40],
            "rejected_ids": [5, 6, 7, 8, n] if bare else [n, n + 1, 2, 3, 41],
        }
        for n in range(40)
    ]
    sheet = Sheet()
    assert look_at_beginnings(Dataset.from_list(pairs), sheet) == is_told
    assert [one.key for one in sheet.found] == ["pair_prompts_differ"] * is_told
