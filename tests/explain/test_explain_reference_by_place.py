"""Reference log-probs that are read by position in a loader that shuffles."""

import pytest

from course_utils.explain import explain
from tests.helpers.explained import keys


def run(first: float) -> list[str]:
    losses = [first, *(first + 0.2 * (-1) ** n for n in range(9))]
    return [f"dpo step {n} loss {loss:.4f} acc 0.5{n}" for n, loss in enumerate(losses)]


LOADS = "ref_logps = torch.load('ref_logps.pt')"
SHUFFLES = "loader = DataLoader(pairs, batch_size=8, shuffle=True)"
TABLE = ["id  len  pol  ref", "1 20 -40.1 -91.0", "2 90 -160.2 -33.0", "3 44 -81.0 -150.5"]


@pytest.mark.parametrize(
    "lines",
    [
        [LOADS, SHUFFLES, "r = ref_logps[i * 8 : (i + 1) * 8]", *run(4.2)],
        [LOADS, SHUFFLES, "for batch, ref in zip(loader, ref_logps):", *run(4.2)],
        ["wrote ref_lp.npy, order=file", "data: shuffle: true seed: 3", *run(2.9)],
        ["precomputed reference log-probs loaded from cache", "shuffle: True", *run(6.1)],
        ["ref_cache.npy mmap", "shuffle=True", "before any update:", *TABLE, *run(0.9)],
    ],
)
def test_a_reference_that_is_read_by_position_is_that_of_other_rows(lines):
    assert keys(*lines)[0] == "wrong_reference"


@pytest.mark.parametrize(
    "lines",
    [
        [LOADS, SHUFFLES, "r = ref_logps[batch['row_id']]", *run(4.2)],
        [LOADS, "DataLoader(pairs, batch_size=8, shuffle=False)", "ref_logps[i]", *run(4.2)],
        [LOADS, SHUFFLES, "r = ref_logps[i * 8 : (i + 1) * 8]", *run(0.6931)],
        ["precompute_ref_log_probs=True", SHUFFLES, *run(4.2)],
        [SHUFFLES, *run(4.2)],
    ],
)
def test_a_reference_by_id_or_a_start_at_ln_2_is_not_accused_of_it(lines):
    told = explain("\n".join([*lines, ""])).causes
    assert not any("another row" in one.says for one in told)
