"""Looks at all rows of a data set: the type of their ids, their labels, their offsets."""

from collections import Counter
from itertools import chain
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from datasets import Dataset
from diagnosed_runs import dpo, grpo, sft
from test_diagnose_learnt import classifier, keys
from test_diagnose_true import kto
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split, WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from course_utils import zoo
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.looks import classes
from course_utils.diagnostics.diagnosis.looks.all_pairs import look_at_pairs_in_both_orders
from course_utils.diagnostics.diagnosis.looks.batch_inputs import look_at_batch_inputs
from course_utils.diagnostics.diagnosis.looks.id_type import look_at_id_type
from course_utils.diagnostics.diagnosis.looks.offsets import look_at_offsets
from course_utils.diagnostics.diagnosis.looks.ratings import look_at_ratings
from course_utils.diagnostics.diagnosis.looks.row_order import judge_order
from course_utils.diagnostics.diagnosis.looks.targets import look_at_tags
from course_utils.diagnostics.diagnosis.looks.text_and_ids import look_at_text_and_ids
from course_utils.diagnostics.diagnosis.looks.what_labels_say import look_at_labels_across
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject


class Blocks(torch.utils.data.Dataset):
    """Rows of a flat file of ids."""

    def __init__(self, ids: np.ndarray):
        self.ids = ids

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, at):
        ids = torch.from_numpy(self.ids[at].astype(np.int64))
        return {"input_ids": ids, "labels": ids.clone()}


def in_file(kind, size: int) -> list[str]:
    """The causes that are found where ids below `size` are kept in a file of this type."""
    ids = np.random.default_rng(0).integers(0, size, (64, 32)).astype(kind)
    trainer = sft()
    trainer.train_dataset = Blocks(ids)
    trainer.data_collator = torch.utils.data.default_collate
    return keys(trainer)


@pytest.mark.parametrize(
    ("kind", "size", "is_wrong"),
    [(np.uint8, 320, True), (np.uint16, 320, False), (np.uint8, 200, False)],
)
def test_ids_in_a_type_that_ends_below_the_vocabulary_are_named(kind, size, is_wrong):
    assert ("ids_wrapped" in in_file(kind, size)) == is_wrong


@pytest.mark.parametrize(("largest", "is_wrong"), [(2**16, True), (2**17, False), (2**15, False)])
def test_ids_that_end_at_a_type_are_named_without_its_file(largest, is_wrong):
    ids = np.random.default_rng(0).integers(0, 2**17, (64, 32)) % largest
    if largest == 2**15:
        ids = ids // 2  # far from the end of any type
    data = Dataset.from_dict({"input_ids": ids.tolist()})
    batch = {"input_ids": torch.as_tensor(ids[:2])}
    trainer = SimpleNamespace(train_dataset=data, args=None)
    sheet, words = Sheet(), range(2**17)
    subject = Subject(torch.nn.Linear(1, 1), trainer=trainer, tokenizer=words, batch=batch)
    look_at_id_type(subject, sheet)
    assert [one.key for one in sheet.found] == ["ids_wrapped"] * is_wrong


# --- labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_wrong", [True, False])
def test_single_replies_that_are_all_marked_alike_are_named(is_wrong):
    report = diagnose(
        kto(label=(lambda n: bool(str(n % 2 == 0))) if is_wrong else lambda n: n % 2 == 0)
    )
    assert [one.key for one in report.causes] == ["labels_constant"] * is_wrong
    assert not is_wrong or "bool('False') is True" in report.fix


@pytest.mark.parametrize("are_alike", [False, True])
def test_pairs_in_both_orders_are_named_and_pairs_of_one_reply_are_in_none(are_alike):
    rows = [{"prompt": [n], "chosen": [1], "rejected": [1 if are_alike else 2]} for n in range(16)]
    turned = [row | {"chosen": row["rejected"], "rejected": row["chosen"]} for row in rows]
    sheet = Sheet()
    look_at_pairs_in_both_orders(Dataset.from_list(rows + turned), sheet)
    assert [one.key for one in sheet.found] == ["pairs_contradict"] * (not are_alike)


def labelled(labels: list[int], seed: int) -> Dataset:
    """Rows that differ, and in which nothing tells the label."""
    ids = np.random.default_rng(seed).integers(4, 32, (len(labels), 8)).tolist()
    masks = [[1] * 8] * len(labels)
    return Dataset.from_dict({"input_ids": ids, "attention_mask": masks, "labels": labels})


def test_a_split_may_lack_one_of_several_classes():
    four, three, sheet = Counter([0, 1, 2, 3] * 20), Counter([0, 1, 2] * 20), Sheet()
    classes._evaluated(four, three, sheet)
    assert not sheet.found
    classes._evaluated(four, Counter([0, 1] * 20), sheet)
    assert [one.key for one in sheet.found] == ["evaluation_lacks_classes"]


COMMON, RARE = [0, 1] * 20, [0] * 60 + [1]


@pytest.mark.parametrize(
    ("learnt", "tested", "found"),
    [
        (COMMON, [0] * 40, ["evaluation_lacks_classes"]),
        (COMMON, COMMON, []),
        (COMMON, [0] * 8, []),  # too few rows to tell
        (RARE, [0] * 40, []),  # rows drawn at random may well lack a rare class
        ([1] * 40, COMMON, ["labels_constant"]),
    ],
)
def test_labels_of_training_and_evaluation_are_held_against_each_other(
    tmp_path, learnt, tested, found
):
    trainer = classifier(tmp_path, labelled(learnt, seed=0))
    trainer.eval_dataset = labelled(tested, seed=1)
    assert keys(trainer) == found


def told_by_words(num: int, words: range, draw: Random, moved: int = 0) -> Dataset:
    """Rows of which six ids tell the label, even or odd, among three that any row may have."""
    labels = [draw.randrange(2) for _ in range(num)]
    telling = [[2 * draw.choice(words) + label for _ in range(6)] for label in labels]
    noise = [[draw.randrange(200) for _ in range(3)] for _ in labels]
    ids = [a + b for a, b in zip(telling, noise, strict=True)]
    return Dataset.from_dict({"input_ids": ids, "labels": [one ^ moved for one in labels]})


@pytest.mark.parametrize("num", [16, 50, 200])
@pytest.mark.parametrize(
    ("words", "moved", "found"),
    [
        (range(10), 0, []),
        (range(10), 1, ["evaluation_rows_differ"]),
        (range(10, 100), 0, []),  # words that training does not know
    ],
)
def test_labels_are_numbered_otherwise_only_where_words_of_training_say_so(
    num, words, moved, found
):
    for seed in range(20):
        draw = Random(seed)
        data = [told_by_words(128, range(10), draw), told_by_words(num, words, draw, moved)]
        trainer = SimpleNamespace(train_dataset=data[0], eval_dataset=data[1])
        sheet = Sheet()
        look_at_labels_across(Subject(torch.nn.Linear(1, 1), trainer=trainer), sheet)
        assert [one.key for one in sheet.found] == found, seed


def test_a_best_checkpoint_is_not_fine_where_it_is_chosen_on_one_class(tmp_path):
    best = dict(metric_for_best_model="accuracy", greater_is_better=True)
    trainer = classifier(tmp_path, labelled(COMMON, seed=0), **best)
    trainer.eval_dataset = labelled([0] * 40, seed=1)
    assert not any("best" in name for name in diagnose(trainer).checked)


# --- offsets ------------------------------------------------------------------------------------


def looked_at_offsets(tokenizer) -> Sheet:
    ids = torch.tensor([tokenizer("cut the words of a text")["input_ids"]] * 2)
    batch = {"input_ids": ids, "start_positions": torch.tensor([1, 1])}
    sheet = Sheet()
    look_at_offsets(Subject(torch.nn.Linear(1, 1), tokenizer=tokenizer, batch=batch), sheet)
    return sheet


def test_offsets_where_their_tokens_stand_are_fine():
    sheet = looked_at_offsets(zoo.load_tokenizer("tiny"))
    assert not sheet.found and "offsets" in sheet.cleared


def test_offsets_that_cut_out_other_text_are_named():
    moved = zoo.load_tokenizer("tiny")

    class Moved:
        """A fast tokenizer whose offsets begin one letter late."""

        is_fast = True

        def __call__(self, text, **settings):
            known = moved(text, **settings)
            if "offset_mapping" in known:
                known["offset_mapping"] = [(a + 1, b + 1) for a, b in known["offset_mapping"]]
            return known

        def decode(self, ids, **settings):
            return moved.decode(ids, **settings)

    sheet = looked_at_offsets(Moved())
    assert [one.key for one in sheet.found] == ["offsets_shifted"]
    assert "for" in sheet.found[0].said[0]


# --- ids without a tokenizer --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moved", "masked", "found"),
    [(1, 0, ["labels_shifted"]), (1, 3, ["labels_shifted"]), (0, 0, []), (2, 0, [])],
)
def test_labels_that_are_the_next_id_at_every_place_were_moved_by_hand(moved, masked, found):
    stream = torch.randint(0, 50, (4, 20), generator=torch.Generator().manual_seed(0))
    ids, labels = stream[:, :16], stream[:, moved : 16 + moved].clone()
    labels[:, :masked] = -100
    model, sheet = zoo.load_policy("tiny", device="cpu"), Sheet()
    look_at_batch_inputs(Subject(model, batch={"input_ids": ids, "labels": labels}), sheet)
    assert [one.key for one in sheet.found] == found


# --- texts and their ids ------------------------------------------------------------------------

LINES = [f"GET /item/{at * 7919 % 1000} 404 ok" for at in range(40)]


def vocabulary(pieces, split) -> PreTrainedTokenizerFast:
    """A tokenizer of whole pieces, which a decoder joins with spaces."""
    core = Tokenizer(WordLevel({one: at for at, one in enumerate(["<unk>", *pieces])}, "<unk>"))
    core.pre_tokenizer = split
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")


LETTERS = vocabulary(sorted({*"".join(LINES)}), Split("", "isolated"))
WORDS = vocabulary(sorted({w for line in LINES for w in line.split()}), WhitespaceSplit())


def moved(ids: list[int]) -> list[int]:
    return [1 + one % 40 for one in ids]


@pytest.mark.parametrize(
    ("tokenizer", "made", "found"),
    [
        (LETTERS, list, []),
        (WORDS, list, []),
        (WORDS, moved, ["other_tokenizer"]),
        (LETTERS, lambda ids: ids[:5], ["too_long"]),
    ],
)
def test_ids_are_held_against_what_their_tokenizer_reads_of_a_text(tokenizer, made, found):
    data = Dataset.from_dict(
        {"text": LINES, "input_ids": [made(tokenizer(x)["input_ids"]) for x in LINES]}
    )
    trainer, sheet = SimpleNamespace(train_dataset=data), Sheet()
    look_at_text_and_ids(
        Subject(torch.nn.Linear(1, 1), tokenizer=tokenizer, trainer=trainer), sheet
    )
    assert [one.key for one in sheet.found] == found


# --- workers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seeds", [(0, 0, 0), (0, 1, 2)])
@pytest.mark.parametrize("averages", [True, False])
def test_workers_with_one_gradient_and_different_weights_are_named(seeds, averages):
    models = []
    for seed in seeds:
        torch.manual_seed(seed)
        models.append(torch.nn.Linear(8, 8))
    optimizers = [torch.optim.AdamW(model.parameters()) for model in models]
    with diagnose.watching(models[0], optimizer=optimizers[0]) as run:
        for _ in range(3):
            for model in models:
                model(torch.randn(4, 8)).square().mean().backward()
            for same in zip(*(model.parameters() for model in models), strict=True):
                mean = torch.stack([p.grad for p in same]).mean(0)
                for p in same if averages else ():
                    p.grad.copy_(mean)
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
    found = [one.key for one in run.report.causes]
    assert found == ["workers_begin_apart"] * (averages and len(set(seeds)) > 1)
    assert ("weights of the workers" in run.report.checked) == (averages and len(set(seeds)) == 1)


def by_year(num_batches: int = 80, size: int = 32, desks: int = 12) -> list[list[int]]:
    """Tickets as they came: a new desk opens now and then, and asks most at first."""
    draw = Random(0)
    found = []
    for batch in range(num_batches):
        newest = batch * desks // num_batches
        rest = [draw.randint(0, newest) for _ in range(size)]
        found.append([newest if draw.random() < 0.4 else label for label in rest])
    return found


def test_labels_that_come_one_after_the_other_are_named_and_those_that_join_in_are_not():
    ordered = [sorted(chain(*by_year()))[at : at + 32] for at in range(0, 80 * 32, 32)]
    for batches, expected in ((by_year(), []), (ordered, ["rows_in_order"])):
        sheet = Sheet()
        judge_order(batches, [], sheet)
        assert [one.key for one in sheet.found] == expected


# --- pairs that are alike, and the cut that made them so ---------------------------------------


@pytest.mark.parametrize(
    ("ends", "limit", "is_cut"),
    [((" 5", " 6"), 12, True), ((" 5", " 5"), 12, False), ((" 5", " 6"), 512, None)],
)
def test_pairs_that_a_cut_makes_alike_are_named_before_their_missing_ends(ends, limit, is_cut):
    start = " + ".join("1234567890")
    row = {"prompt": "1 + 1 =", "chosen": f" {start}{ends[0]}", "rejected": f" {start}{ends[1]}"}
    trainer = dpo(max_length=limit)
    trainer = type(trainer)(
        model=trainer.model,
        args=trainer.args,
        processing_class=trainer.processing_class,
        train_dataset=Dataset.from_list([row] * 16),
    )
    found = {one.key: one for one in diagnose(trainer).causes}
    assert ("pairs_alike" in found) == (is_cut is not None)
    if is_cut:
        assert next(iter(found)) == "pairs_alike" and found["pairs_alike"].place == "max_length"
        assert f"cut at {limit} tokens" in found["pairs_alike"].why and "end_missing" in found
    elif "pairs_alike" in found:
        assert found["pairs_alike"].place == "chosen, rejected"


def test_a_collator_that_makes_pairs_alike_is_no_cut():
    trainer = dpo(max_length=512)
    new = trainer.data_collator
    trainer.data_collator = lambda rows: new([r | {"rejected_ids": r["chosen_ids"]} for r in rows])
    [found] = [one for one in diagnose(trainer).causes if one.key == "pairs_alike"]
    assert found.place == "chosen, rejected" and "cut at" not in found.why


def tagged(tag_of, num: int = 64) -> Subject:
    """Rows of a mark (10 to 13) and a name (20 to 29) in turn, tagged by a function of a row."""
    draw = Random(0)
    turn = [range(10, 14), range(20, 30)] * 8
    rows = [[draw.choice(these) for these in turn] for _ in range(num)]
    data = Dataset.from_list([{"input_ids": ids, "labels": tag_of(ids)} for ids in rows])
    return Subject(torch.nn.Linear(1, 1), trainer=SimpleNamespace(train_dataset=data))


def by_the_mark(ids):
    """The mark says what the name behind it is; a mark itself has the tag 0."""
    return [0 if at % 2 == 0 else 1 + ids[at - 1] % 2 for at in range(len(ids))]


def by_the_token(ids):
    return [one % 3 for one in ids]


def one_token_late(ids):
    return [-100, *by_the_token(ids)[:-1]]


@pytest.mark.parametrize(
    ("tag_of", "found"),
    [(by_the_mark, []), (by_the_token, []), (one_token_late, ["tags_misplaced"])],
)
def test_tags_that_the_token_before_tells_are_misplaced_only_where_the_own_tells_little(
    tag_of, found
):
    sheet = Sheet()
    look_at_tags(tagged(tag_of), sheet)
    assert [one.key for one in sheet.found] == found


@pytest.mark.parametrize(
    ("chosen", "rejected", "column", "found"),
    [
        (1, 2, "rank", []),
        (2, 1, "rank", ["pairs_inverted"]),
        (0.4, 1.9, "judge_loss", []),
        (4, 2, "stars", []),
        (2, 4, "stars", ["pairs_inverted"]),
        ("9", "12", "stars", ["pairs_inverted"]),
        (1, 2, "replaced_score", ["pairs_inverted"]),  # no place
        (1, 2, "words", []),
        (2, 1, "words", []),
    ],
)
def test_a_lower_rank_is_a_better_one_and_fewer_stars_are_worse(chosen, rejected, column, found):
    row = {"chosen": "yes", "rejected": "no"}
    row |= {f"chosen_{column}": chosen, f"rejected_{column}": rejected}
    trainer, sheet = type("RewardTrainer", (), {})(), Sheet()
    trainer.train_dataset = Dataset.from_list([row] * 16)
    look_at_ratings(Subject(torch.nn.Linear(1, 1), trainer=trainer), sheet)
    assert [one.key for one in sheet.found] == found


@pytest.mark.parametrize(("num_answers", "is_named"), [(1, False), (2, True)])
def test_one_prompt_that_a_policy_practises_is_no_fault_unless_its_answers_differ(
    num_answers, is_named
):
    trainer = grpo()
    row = trainer.train_dataset[0]
    rows = [row | {"answer": at % num_answers} for at in range(32)]
    trainer.train_dataset = Dataset.from_list(rows)
    assert ("rows_alike" in keys(trainer)) is is_named
