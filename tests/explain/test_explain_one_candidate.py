"""A loss of 0 without a gradient, in training that compares texts and has no labels of tokens."""

import json

import pytest

from course_utils.explain import explain

COMMAND = """torchrun --nproc_per_node 1 -m tevatron.retriever.driver.train \\
--per_device_train_batch_size {batch} \\
--{group} \\
--passage_max_len 180 --query_max_len 32
"""


def log(loss: float = 0.0, norm: float = 0.0, num: int = 6) -> str:
    rows = ({"loss": loss, "grad_norm": norm, "lr": 1e-5 * (9 - n) / 9} for n in range(num))
    return "".join(json.dumps(row) + "\n" for row in rows)


def keys(text: str) -> list[str]:
    return [one.key for one in explain(text).causes]


@pytest.mark.parametrize("group", ["train_n_passages 1", "train_group_size 1"])
def test_one_candidate_makes_a_loss_of_exactly_0(group):
    told = explain(COMMAND.format(batch=1, group=group) + log())
    one = told.causes[0]
    assert one.key == "one_candidate" and group.split()[0] in one.fix
    assert any(f"says: {group}" in row for row in one.for_it)
    assert "labels_masked" not in keys(COMMAND.format(batch=1, group=group) + log())


def test_a_reranker_scores_one_list_so_the_batch_adds_no_candidate():
    text = "python -m FlagEmbedding.reranker.run \\\n" + COMMAND
    assert keys(text.format(batch=16, group="train_group_size 1") + log()) == ["one_candidate"]


def test_with_several_candidates_neither_is_said():
    text = COMMAND.format(batch=4, group="train_group_size 8") + log()
    assert not {"one_candidate", "labels_masked"} & set(keys(text))


def test_a_loss_that_is_not_0_has_several_candidates():
    text = COMMAND.format(batch=1, group="train_group_size 1") + log(0.4, 2.0)
    assert "one_candidate" not in keys(text)


def test_without_words_of_a_comparison_the_labels_are_masked_as_before():
    assert keys("per_device_train_batch_size: 1\n" + log()) == ["labels_masked"]
