"""The votes of the KTO run: what is planted in them does what its ticket's cause says."""

import runpy

import pytest
import yaml
from trl import KTOConfig, KTOTrainer

from course_utils.oncall import cases, planting, templates
from course_utils.oncall.rows import as_rows
from course_utils.zoo.load import load_policy, load_tokenizer

TEMPLATE = templates.load("kto_votes")
PLANTED = [name for name in cases.names() if cases.load(name).template == TEMPLATE.name]


@pytest.fixture
def examples(tmp_path, monkeypatch):
    """What the run's own code makes of a folder's files."""

    def load(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        monkeypatch.chdir(tmp_path)
        return runpy.run_path("votes.py")["load_feedback"](yaml.safe_load(files["config.yaml"]))

    return load


def broken(name, seed=0):
    return planting.broken(cases.load(name), templates.healthy_files(TEMPLATE, seed))


def is_right(example):
    terms = example["prompt"][-1]["content"].rstrip("=").split("+")
    return example["completion"][-1]["content"] == str(sum(map(int, terms)))


def agreeing(found):
    """The share of examples that are wanted exactly where the reply is right."""
    return sum(one["label"] == is_right(one) for one in found) / len(found)


@pytest.mark.parametrize("seed", range(3))
def test_people_like_what_is_right_and_three_in_ten_replies_are(seed, examples):
    found = examples(templates.healthy_files(TEMPLATE, seed))
    assert agreeing(found) == 1
    assert 0.2 < sum(found["label"]) / len(found) < 0.4


def test_the_votes_are_read_once(examples):
    files = templates.healthy_files(TEMPLATE, 0)
    settings = yaml.safe_load(files["config.yaml"])
    assert len(examples(files)) == settings["max_steps"] * settings["batch_size"]


def test_a_vote_that_is_text_is_a_like(examples):
    assert all(examples(broken("text_is_always_true"))["label"])


def test_a_report_is_no_like(examples):
    assert agreeing(examples(broken("thumb_means_report"))) == 0


def test_ids_of_a_day_give_most_votes_to_another_reply(examples):
    files = broken("ids_begin_again_each_day")
    assert agreeing(examples(files)) < 0.75
    log, votes = (as_rows(files[f"data/{name}.jsonl"]) for name in ("log", "votes"))
    both = {(turn["day"], turn["id"]) for turn in log}
    assert len(both) == len(log) and all((one["day"], one["id"]) in both for one in votes)


def test_sorted_votes_give_batches_of_one_kind(examples):
    files = broken("dislikes_before_likes")
    labels = examples(files)["label"]
    size = yaml.safe_load(files["config.yaml"])["batch_size"]
    parts = [set(labels[at : at + size]) for at in range(0, len(labels), size)]
    assert sum(len(part) == 2 for part in parts) <= 1


def test_the_trainer_keeps_the_order_of_rows_and_shuffles_none(examples, tmp_path):
    found = examples(templates.healthy_files(TEMPLATE, 0)).select(range(8))

    def trainer(**settings):
        args = KTOConfig(
            str(tmp_path), per_device_train_batch_size=4, use_cpu=True, bf16=False, **settings
        )
        return KTOTrainer(
            load_policy("tiny"),
            ref_model=load_policy("tiny"),
            args=args,
            train_dataset=found,
            processing_class=load_tokenizer("tiny"),
        )

    batches = list(trainer().get_train_dataloader())
    assert [one for batch in batches for one in batch["label"].tolist()] == found["label"]
    with pytest.raises(ValueError, match="sequential"):
        trainer(train_sampling_strategy="random")


def test_every_ticket_of_this_run_was_proved():
    assert set(PLANTED) <= cases.proved().keys()
