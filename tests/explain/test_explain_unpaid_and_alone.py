"""Right answers that earn nothing, and a sharded model that one process runs alone."""

import pytest

from tests.helpers.explained import first

FLAT = [
    f"{{'loss': 0.0, 'grad_norm': 0.0, 'reward': 0.0, 'reward_std': 0.0, 'kl': 0.0, 'step': {n}}}"
    for n in range(1, 9)
]
SHOWN = [
    "completion: so there are seven of them, and",
    "the result is <answer>7</answer>",
    "gold: 7",
    "reward: 0.0",
]
READER = "    found = re.search(r'####\\s*(-?\\d+)', completion)"


def test_a_right_answer_that_earns_nothing_is_of_another_form():
    one = first(READER, *SHOWN, *FLAT)
    assert one.key == "no_signal" and "<answer>...</answer>" in one.says and "7" in one.says
    assert any("####" in row for row in one.for_it) and "one form for both" in one.fix
    assert "Right answers" in first(*SHOWN, *FLAT).says[0].upper() + first(*SHOWN, *FLAT).says[1:]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<answer>7<", "<answer>8<"),
        ("reward: 0.0", "reward: 1.0"),
        ("<answer>7</answer>", "seven"),
        ("'####\\s*(-?\\d+)'", "'<answer>(.*?)</answer>'"),
    ],
)
def test_a_wrong_a_paid_or_a_formless_answer_tells_nothing_of_the_scorer(old, new):
    one = first(*"\n".join([READER, *SHOWN]).replace(old, new).split("\n"), *FLAT)
    assert one.key == "no_signal" and "right answers" not in one.says


RUN = [f"{{'loss': {2 - n / 10:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]
WAITS = [
    f"[rank{n}]:[E1] [Rank {n}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=70, "
    f"OpType={kind}, NumelIn={size}, NumelOut=8, Timeout(ms)=600000) ran for 600031 milliseconds"
    for n, (kind, size) in enumerate([("ALLGATHER", 4096), ("ALLREDUCE", 1), ("ALLREDUCE", 1)])
]
GUARDED = ["    if rank == 0:", "        text = model.generate(ids, max_new_tokens=64)"]
LEFT = ["    if dist.get_rank() != 0:", "        return", "    scores = self.model(**batch)"]


@pytest.mark.parametrize("code", [GUARDED, LEFT])
@pytest.mark.parametrize("shards", ["zero_stage: 3", "strategy: FSDP2", "ds_z3_config.json"])
def test_one_process_alone_cannot_run_a_model_that_is_spread(code, shards):
    one = first(shards, *code, *RUN, *WAITS)
    assert one.key == "ranks_disagree" and "one process alone" in one.says.lower()
    assert "every process" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        ("zero_stage: 2", *GUARDED),
        ("zero_stage: 3", "    if rank == 0:", "        print(text)", "    model.generate(ids)"),
        ("zero_stage: 3", "    if rank != 0:", "        print('wait')", "    model.generate(ids)"),
    ],
)
def test_a_whole_model_or_a_call_on_all_is_not_blamed(lines):
    one = first(*lines, *RUN, *WAITS)
    assert one.key == "ranks_disagree" and "one process alone" not in one.says.lower()
