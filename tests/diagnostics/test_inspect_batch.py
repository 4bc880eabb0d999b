"""`inspect_batch` finds every planted fault of a batch, names its cause, and is quiet on twins."""

from itertools import islice, product
from operator import itemgetter

import numpy as np
import pytest
import torch
from datasets import Dataset
from trl import (
    DPOConfig,
    DPOTrainer,
    GRPOConfig,
    GRPOTrainer,
    RewardConfig,
    RewardTrainer,
    SFTConfig,
    SFTTrainer,
)
from whole import cases

from course_utils import zoo
from course_utils.diagnostics import inspect_batch
from course_utils.errors import BadRequest
from course_utils.reproductions.lesson_07 import batches, never_stops
from course_utils.zoo import training


def end_outside(seed=0):
    """An assistant mask from a template whose generation block closes before the end."""
    tokenizer = zoo.load_tokenizer("tiny")
    tokenizer.chat_template = batches.MARKED
    rows = []
    for chat in batches.sums(seed):
        said = tokenizer.apply_chat_template(
            chat, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
        )
        pairs = zip(said["input_ids"], said["assistant_masks"], strict=True)
        rows.append((said["input_ids"], [i if m else -100 for i, m in pairs]))
    return batches.padded(rows, tokenizer.pad_token_id), tokenizer


FAULTS = {
    "end masked": (batches.labels_by_id, "labels were made from ids"),
    "holes in the mask": (batches.mask_by_id, "made from ids"),
    "end missing": (batches.cut_off, "cut at"),
    "end missing, too": (batches.never_appended, "nothing appends it"),
    "end masked, too": (end_outside, "stops before its end"),
    "no labels": (batches.marker_not_found, "response marker"),
    "no labels, too": (batches.prompt_fills_it, "before the reply"),
    "two BOS": (batches.begins_twice, "renders one"),
    "template differs": (batches.another_template, "do not begin it there"),
    "padding side": (lambda seed: batches.prompts(seed, side="right"), "on the right"),
    "template differs, too": (
        lambda seed: batches.prompts(seed, text=lambda asked: asked.removesuffix("\n")),
        "do not begin it there",
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


@pytest.mark.parametrize(("fault", "seed"), cases(product(FAULTS, SEEDS), itemgetter(0)))
def test_a_planted_fault_is_found_with_its_cause(fault, seed):
    make, cause = FAULTS[fault]
    found = inspect_batch(*make(seed))
    assert [f.name for f in found.faults] == [fault.partition(",")[0]], str(found)
    assert cause in found.cause and found.fix


@pytest.mark.parametrize(("twin", "seed"), cases(product(HEALTHY, SEEDS), itemgetter(0)))
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


def marked():
    """A tokenizer whose template marks replies and their ends."""
    tokenizer, close = zoo.load_tokenizer("tiny"), "{% endgeneration %}"
    tokenizer.chat_template = batches.MARKED.replace(close, "{{ '<|im_end|>' }}" + close).replace(
        close + "{{ '<|im_end|>' }}", close
    )
    return tokenizer


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


def grpo(tokenizer=None, **settings):
    config = GRPOConfig(
        **training.quiet_config(),
        **ON_CPU | {"num_generations": 2, "per_device_train_batch_size": 2} | settings,
    )
    return GRPOTrainer(
        model=zoo.load_policy("tiny", device="cpu"),
        args=config,
        processing_class=tokenizer or zoo.load_tokenizer("tiny"),
        train_dataset=zoo.arithmetic.prompts(16, 0),
        reward_funcs=lambda completions, **more: [0.0] * len(completions),
    )


TRAINERS = {
    "SFT, prompt and completion": sft,
    "GRPO": grpo,
    "SFT, replies by the template": lambda: sft(
        marked(), dataset=messages(), assistant_only_loss=True
    ),
    "SFT, messages": lambda: sft(dataset=messages()),
    "SFT, packed": lambda: sft(dataset=messages(), packing=True, max_length=64),
    "DPO": dpo,
    "reward": reward,
}


@pytest.mark.parametrize("kind", TRAINERS)
def test_a_healthy_trainer_is_quiet_and_stays_as_it_is(kind):
    trainer = TRAINERS[kind]()
    state, columns = torch.random.get_rng_state(), trainer._signature_columns
    before = np.random.get_state()[1].copy()
    found = inspect_batch(trainer)
    assert found.is_healthy, str(found)
    assert torch.equal(state, torch.random.get_rng_state())
    assert (np.random.get_state()[1] == before).all()
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


def test_a_grpo_trainer_shows_the_prompts_that_it_will_sample_replies_to():
    trainer = grpo()
    found = inspect_batch(trainer, num_rows=3)
    assert found.case.kind == "generation" and len(found.case.view.rows) == 3
    assert all(row.ids[-3:] == list(found.case.template.header) for row in found.case.view.rows)
    trainer.eos_token_ids = [317]
    assert [f.name for f in inspect_batch(trainer).faults] == ["stops elsewhere"]


# --- loaders ----------------------------------------------------------------------------------


class Drawn(torch.utils.data.Dataset):
    """Rows that are drawn when they are asked for, by a generator of their own."""

    def __init__(self) -> None:
        self.generator = torch.Generator().manual_seed(1)
        batch, self.tokenizer = batches.labels_by_id()
        self.rows = [
            dict(zip(batch, row, strict=True)) for row in zip(*batch.values(), strict=True)
        ]

    def __len__(self) -> int:
        return 64

    def __getitem__(self, at: int) -> dict:
        return self.rows[int(torch.randint(len(self.rows), (1,), generator=self.generator))]


def mixed(rows: list[dict]) -> dict:
    np.random.rand()
    return torch.utils.data.default_collate(rows)


def test_a_loader_is_read_and_gives_the_batches_that_it_would_have_given():
    def first_two(look):
        torch.manual_seed(0)
        np.random.seed(0)
        dataset = Drawn()
        order = torch.Generator().manual_seed(2)
        loader = torch.utils.data.DataLoader(
            dataset, batch_size=4, shuffle=True, generator=order, collate_fn=mixed
        )
        look(loader, dataset)
        ids = [batch["input_ids"] for batch in islice(loader, 2)]
        return torch.cat(ids), torch.rand(1), np.random.rand(1)

    def read(loader, dataset):
        assert inspect_batch(loader, dataset.tokenizer).faults[0].name == "end masked"

    for mine, alone in zip(first_two(read), first_two(lambda *_: None), strict=True):
        assert (mine == alone).all()


def test_rows_that_can_be_read_only_once_are_left_alone():
    class Once(torch.utils.data.IterableDataset):
        rows = iter(range(3))

        def __iter__(self):
            return self.rows

    once = Once()
    with pytest.raises(BadRequest, match="only once"):
        inspect_batch(torch.utils.data.DataLoader(once), zoo.load_tokenizer("tiny"))
    assert list(once.rows) == [0, 1, 2]


# --- what is shown ----------------------------------------------------------------------------


def test_the_text_marks_what_is_learnt_and_the_page_has_every_number():
    batch, tokenizer = batches.replies_learnt()
    found = inspect_batch(batch, tokenizer)
    answer = batches.sums()[0][-1]["content"]
    assert f"[[{answer}<|im_end|>]]" in found.text()
    assert "mask 0" in found.html() and "position 3" in found.html()
    assert max(map(len, found.text().splitlines())) <= 120
    first = found.tokens.numbers(0, last=3).rows
    assert [row[2:4] for row in first][-1] == ("-100", "0") and first[0][1] == first[0][2]
    assert found.to_dict()["share_learnt"] == pytest.approx(found.share_learnt)


NO_BATCHES = {
    "its keys are labels": {"labels": torch.ones(1, 2)},
    "different lengths": {"input_ids": [[1, 2], [3]]},
    "shape \\(3,\\)": {"input_ids": torch.ones(3)},
    "no token ids": {"input_ids": torch.tensor([[-100, 3]])},
    "labels` has the shape": {"input_ids": torch.ones(1, 3).long(), "labels": torch.ones(1, 2)},
    "one tensor": torch.ones(1, 3),
    "rows .list.": [{"input_ids": [1, 2]}],
    "rows .Dataset.": Dataset.from_list([{"input_ids": [1, 2]}]),
    "an iterator": iter([]),
    "holds no batch": torch.nn.Linear(1, 1),
    "is a str": "a text",
}


@pytest.mark.parametrize("saw", NO_BATCHES)
def test_what_is_no_batch_is_told_why_in_a_sentence(saw):
    with pytest.raises(BadRequest, match=saw):
        inspect_batch(NO_BATCHES[saw], zoo.load_tokenizer("tiny"))


def test_swapped_arguments_a_name_for_a_tokenizer_and_no_rows_are_told():
    batch, tokenizer = batches.replies_learnt()
    for wrong, saw in (
        ((tokenizer, batch), "first argument is a tokenizer"),
        ((batch, "tiny"), "tokenizer is a str"),
    ):
        with pytest.raises(BadRequest, match=saw):
            inspect_batch(*wrong)
    with pytest.raises(BadRequest, match="num_rows"):
        inspect_batch(batch, tokenizer, num_rows=0)


def test_lists_and_arrays_are_read_as_tensors_are():
    batch, tokenizer = batches.labels_by_id()
    want = inspect_batch(batch, tokenizer).to_dict()
    for kept in (lambda v: v.tolist(), lambda v: v.numpy()):
        assert inspect_batch({k: kept(v) for k, v in batch.items()}, tokenizer).to_dict() == want


def test_a_batch_needs_a_tokenizer():
    with pytest.raises(BadRequest, match="tokenizer"):
        inspect_batch(batches.replies_learnt()[0])
