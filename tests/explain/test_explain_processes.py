"""Hangs, aborts and full memory: which processes waited, for what, and what the log cannot tell."""

from course_utils.explain import explain

WAITS = (
    "[rank{rank}]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum={number}, OpType={kind}, NumelIn={size}, "
    "NumelOut={size}, Timeout(ms)=600000) ran for 600058 milliseconds before timing out."
)
DETECTED = (
    "[rank{rank}]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:1664] [PG 1 Rank {rank}] Exception "
    "(either an error or timeout) detected by watchdog at work: {number}, last enqueued NCCL "
    "work: {last}, last completed NCCL work: {done}."
)


def waits(rank: int, number: int = 90, kind: str = "ALLREDUCE", size: int = 4096) -> str:
    return WAITS.format(rank=rank, number=number, kind=kind, size=size)


def answer(*lines: str) -> tuple[list[str], str]:
    """The causes, and the text on one line."""
    found = explain("\n".join([*lines, ""]))
    return [one.key for one in found.causes], " ".join(str(found).split())


def test_a_rank_that_reports_its_last_work_waits_as_well():
    _, said = answer(waits(0), waits(3), DETECTED.format(rank=4, number=90, last=92, done=89))
    assert "ranks 0, 3, 4 wait in the same ALLREDUCE number 90" in said
    assert "that is not among them did not get there" not in said
    assert "no wait of ranks 1, 2" in said


def test_where_every_rank_waits_none_is_said_to_be_missing():
    _, said = answer(waits(0), waits(1), waits(2))
    assert "ranks 0, 1, 2 wait in the same" in said
    assert "no wait of" not in said


def test_an_abort_after_the_watchdog_is_its_own():
    aborted = "srun: error: node014: task 0: Aborted (core dumped)"
    assert answer(waits(0), aborted)[0] == ["ranks_disagree"]
    assert answer(aborted)[0] == ["aborted"]
    first, _ = answer("terminate called: Aborted (core dumped)", waits(1))
    assert first[0] == "aborted"  # the other ranks waited for the one that aborted


OUT_OF_MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.12 GiB."
KEEPS = '  File ".../transformers/trainer.py", line 3229, in evaluation_loop\n' + (
    "    preds_host = logits if preds_host is None else nested_concat(preds_host, logits)"
)


def test_memory_that_fills_where_predictions_are_gathered_is_not_laid_to_training():
    begin = "Traceback (most recent call last):"
    found, said = answer(begin, KEEPS, OUT_OF_MEMORY)
    assert found == ["predictions_kept"]
    assert "preprocess_logits_for_metrics" in said
    forward = '  File ".../modeling_llama.py", line 9, in forward'
    assert answer(begin, forward, OUT_OF_MEMORY)[0] == ["cuda_memory"]
    earlier = (begin, KEEPS, "ValueError: shapes", begin, forward, OUT_OF_MEMORY)
    assert "predictions_kept" not in answer(*earlier)[0]  # frames of another error


def test_a_wait_behind_the_end_of_training_leaves_what_was_saved():
    over = "`Trainer.fit` stopped: `max_epochs=60` reached."
    found, said = answer("loss: 0.04  epoch: 59", over, waits(0, size=1))
    assert found == ["ranks_disagree"]
    assert "raining was over" in said and "no need to train again" in said
    assert "raining was over" not in answer("loss: 0.04  epoch: 59", waits(0), over)[1]


SIZES = (
    "size mismatch for h.0.q_proj.lora_A.weight: copying a param with shape torch.Size({saved}) "
)
SIZES += "from checkpoint, the shape in current model is torch.Size({here})."


def test_weights_without_elements_were_partitioned():
    error = "RuntimeError: Error(s) in loading state_dict for PeftModelForCausalLM:"
    assert answer(error, SIZES.format(saved=[0], here=[16, 4096]))[0] == ["saved_partitioned"]
    assert answer(error, SIZES.format(saved=[16, 4096], here=[0]))[0] == ["loaded_partitioned"]
    assert answer(error, SIZES.format(saved=[1], here=[768, 768]))[0] == ["saved_partitioned"]
    assert answer(error, SIZES.format(saved=[8, 4096], here=[16, 4096]))[0] == ["shapes_differ"]


def test_a_bus_error_of_a_worker_is_of_shared_memory():
    worker = "ERROR: Unexpected bus error encountered in worker. This might be caused by "
    assert answer(worker + "insufficient shared memory (shm).", "x")[0] == ["shared_memory_full"]
    assert answer("Bus error (core dumped)", "x")[0] == ["mapped_file_shrank"]


DUMP = '--- py-spy dump --pid {pid} (rank {rank}), 03:31 ---\nThread {pid} (active): "MainThread"'
SENDS = "    broadcast (vllm/distributed/pynccl.py:376)\n    send_weights (trl/sync.py:151)"
GATHERS = (
    "    wait_tensor (torch/distributed/collectives.py:150)\n    full_tensor (tensor/api.py:590)"
)
COMPUTES = "    forward (model.py:12)\n    train (trainer.py:90)"


def dump(rank: int, frames: str) -> str:
    return f"{DUMP.format(pid=700 + rank, rank=rank)}\n{frames}"


def test_a_rank_that_a_dump_shows_in_a_broadcast_to_the_engine_stands_there():
    found, said = answer(waits(1), waits(2), dump(0, SENDS), dump(2, GATHERS))
    assert found == ["ranks_disagree"]
    assert "rank 0 stands in broadcast (vllm/distributed/pynccl.py:376)" in said
    assert "line 5: rank 0" in said and "ank 0 stands in the broadcast" in said
    assert "no wait of rank 0" not in said and "its own error" not in said


def test_another_dump_is_quoted_and_says_no_more():
    _, said = answer(waits(1), waits(2), dump(0, COMPUTES), dump(2, GATHERS))
    assert "rank 0 stands in forward (model.py:12)" in said
    assert "stands in the broadcast" not in said
    _, alone = answer(waits(1), waits(2), dump(0, SENDS))  # the others are in no gather
    assert "rank 0 stands in broadcast" in alone and "wait in gathers" not in alone
    _, none = answer(waits(1), waits(2), SENDS)  # of no rank
    assert "stands in" not in none and "no wait of rank 0" in none
