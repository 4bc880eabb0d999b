"""Processes that wait for each other in different code, and what is not asked for again."""

from course_utils.explain import explain

LATE = (
    "[rank{rank}]:[E411 09:02:10.1 ProcessGroupNCCL.cpp:632] [Rank {rank}] Work WorkNCCL(SeqNum=71"
    ", OpType=_ALLGATHER_BASE, NumelIn={size}, NumelOut={size}, Timeout(ms)=900000) timed out in "
    "blocking wait."
)
CODE = ["def on_log(self, state):", "    if val_loss < self.lowest:", "        self.store(state)"]


def trace(rank: int, *names: str, error: str = "torch.distributed.DistBackendError: timed out"):
    frames = (
        f'[rank{rank}]:   File "/app/mine.py", line {n}, in {name}' for n, name in names_of(names)
    )
    return [f"[rank{rank}]: Traceback (most recent call last):", *frames, f"[rank{rank}]: {error}"]


def names_of(names):
    return enumerate(names, start=30)


def waits(*traces: list[str], numbers: str = "", second: str = "") -> str:
    late = [LATE.format(rank=0, size=900), LATE.format(rank=2, size=4100)]
    rows = [*CODE, numbers, late[0], *traces[0], second or late[1], *traces[1]]
    return "\n".join([*rows, ""])


SAVES, TRAINS = trace(0, "run", "save_best"), trace(2, "run", "train_step", "forward")
NUMBERS = "[rank0] val_loss 0.611 lowest 0.640  [rank2] val_loss 0.633 lowest 0.629"


def test_a_rank_that_trains_on_while_another_saves_took_another_way():
    one = explain(waits(SAVES, TRAINS, numbers=NUMBERS)).causes[0]
    assert one.key == "ranks_disagree" and "rank 0 is in save_best" in one.says
    assert "rank 2 has gone on" in one.says and "own part of the data" in one.says
    told = " ".join(one.for_it)
    assert "val_loss < self.lowest" in told and "0.633" in told and "all_reduce" in one.fix


def test_without_numbers_of_the_ranks_the_reason_stays_open():
    one = explain(waits(SAVES, TRAINS)).causes[0]
    assert "rank 2 has gone on" in one.says and "own part of the data" not in one.says


def test_ranks_in_the_same_code_are_not_said_to_be_apart():
    told = explain(waits(SAVES, trace(2, "run", "save_best"), numbers=NUMBERS))
    assert "has gone on" not in str(told)


def test_a_rank_that_died_of_its_own_error_took_no_other_way():
    own = trace(2, "run", "train_step", "forward", error="ValueError: bad row")
    told = explain(waits(SAVES, own, numbers=NUMBERS, second="[rank2]: stopped"))
    assert "has gone on" not in str(told)


def test_a_line_of_code_or_a_whole_traceback_is_no_reason_to_ask_for_more():
    text = "\n".join(
        [
            "My own trainer breaks",
            "self.lowest = float('inf')",
            "total += loss.item()",
            "Traceback (most recent call last):",
            '  File "a.py", line 3, in <module>',
            "mylib.errors.OddError: gone",
            "",
        ]
    )
    said = str(explain(text))
    assert (
        "not finite" not in said and "loss.item" not in said and "from its first line" not in said
    )


def test_the_loss_that_openrlhf_writes_behind_its_bar_is_read():
    bar = "Train step of epoch 0:  9%|▉  | {n}/99 [00:10<1:10, 1.2s/it, gpt_loss={loss}, lr=1e-5]"
    told = explain("\n".join(bar.format(n=n, loss=2 - n / 10) for n in range(1, 9)) + "\n")
    assert told.num_entries == 8 and "gpt_loss" in told.fields
