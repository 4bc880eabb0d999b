"""Reference log-probs that are computed in an order of their own, and in that of the rows."""

import pytest

from tests.helpers.explained import first

CODE = [
    "loader = DataLoader(train, batch_size=16, shuffle=True, collate_fn=collate)",
    "ref_chosen.extend(logps.tolist())",
    "train = train.add_column('ref_chosen_logps', ref_chosen)",
]
FAR = [
    f"{{'loss': 4.{n}, 'rewards/chosen': -{n}.4, 'rewards/rejected': 1.{n}, "
    f"'rewards/margins': -{n + 1}.{n + 5}, 'grad_norm': 30.0, 'step': {n}}}"
    for n in range(1, 5)
]
NEAR = [
    "{'loss': 0.6931, 'rewards/chosen': 0.0, 'rewards/rejected': 0.0, 'grad_norm': 3.0, 'step': 1}"
]


def test_a_column_in_the_order_of_a_loader_that_shuffles_is_of_other_rows():
    one = first(*CODE, *FAR)
    assert one.key == "wrong_reference" and "shuffle=True" in one.says and "another row" in one.says
    assert (
        "sampler ByLength"
        in first(CODE[0].replace("shuffle=True", "sampler=ByLength(n)"), *CODE[1:], *FAR).says
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("shuffle=True", "shuffle=False"),
        ("shuffle=True", "sampler=SequentialSampler(train)"),
        ("ref_chosen.extend(logps.tolist())", "ref_chosen[idx] = logps.tolist()"),
    ],
)
def test_values_that_are_put_back_in_their_order_are_not_blamed(old, new):
    one = first(*"\n".join(CODE).replace(old, new).split("\n"), *FAR)
    assert one is None or "another row" not in one.says


def test_rewards_of_0_in_the_first_step_refute_it():
    one = first(*CODE, *NEAR)
    assert one is None or "another row" not in one.says
