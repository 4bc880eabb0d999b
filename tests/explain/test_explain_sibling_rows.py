"""Rows of one document in one batch of in-batch negatives, by a sampler that sorts by length."""

import math

import pytest

from tests.helpers.explained import first

CODE = [
    "order = np.argsort(doc_lengths)",
    "for query in queries[doc][:3]: pairs.append((query, doc))",
    "labels = torch.arange(len(scores)); loss = F.cross_entropy(scores, labels)",
]


def run(floor: float, share: float):
    return [
        f"step {n} | loss {floor + 2 / 2**n:.4f} | hit@1 {share + 0.001 * (n % 2):.3f} | "
        "grad_norm 1.1"
        for n in range(1, 11)
    ]


def test_a_loss_that_ends_at_the_number_of_siblings():
    one = first(*CODE, *run(math.log(3), 0.333))
    assert one.key == "positives_twice" and "ln 3 = 1.099" in one.says and "2 more" in one.says
    assert "argsort" in one.for_it[1] and "in a batch" in one.fix


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        (run(0.08, 0.97), CODE),
        (run(math.log(3), 0.71), CODE),
        (run(1.22, 0.333), CODE),
        (run(math.log(3), 0.333), ["order = rng.permutation(len(rows))", *CODE[1:]]),
        (run(math.log(3), 0.333), [*CODE, "scores = scores.masked_fill(same_doc, -1e9)"]),
    ],
)
def test_other_losses_and_samplers_are_not_blamed(rows, code):
    one = first(*code, *rows)
    assert one is None or one.key != "positives_twice"
