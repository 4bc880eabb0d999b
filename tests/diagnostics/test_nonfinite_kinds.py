"""Each kind of broken run is detected, placed, explained, and its twin accuses nobody. ~10 s."""

from contextlib import suppress

import pytest
import torch
from faults.planted import Step
from faults.threads import KINDS

from course_utils.diagnostics import watch
from course_utils.shown.report import Table

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # the faults themselves and old APIs inside trl warn
    pytest.mark.timeout(120),
]
SAID = {}
# What `watch` said of the same runs at commit 38e404d: whether it found anything (or gave no
# all-clear), and whether its text held the place. It printed no cause, no fix and no row.
BEFORE = {
    "all_labels_masked": (True, True),
    "too_high_learning_rate": (True, True),
    "max_grad_norm_is_0": (True, False),
    "clipping_by_an_infinite_norm": (False, False),
    "broken_embedding_row": (True, True),  # and blamed AdamW
    "sampling_from_a_broken_checkpoint": (False, False),
    "id_beyond_the_vocabulary": (False, False),
    "label_of_minus_one": (False, False),
    "trainable_weights_in_half": (False, False),
    "loss_wrapped_again": (False, False),
    "nan_in_one_row_of_the_data": (True, True),
    "target_missing_in_micro_batch_two": (True, True),
    "row_without_a_token": (True, True),
    "group_of_one": (True, True),
    "row_of_padding_sees_nothing": (True, True),
    "every_token_forbidden": (True, True),
    "log_of_a_softmax": (True, True),
    "cosine_of_a_zero_vector": (True, True),
    "distance_of_equal_points": (True, True),
    "optimizer_of_another_model": (False, False),
    "batch_without_labels": (False, False),
}


def take_steps(planted: Step, loss_of) -> None:
    for _ in range(2):
        output = loss_of(planted.batch)
        loss = output if torch.is_tensor(output) else output.get("loss", output["logits"].sum())
        loss.backward()
        planted.optimizer.step()
        planted.optimizer.zero_grad()


def report_of(build, broken: bool):
    """The report of a run, whatever ends it."""
    torch.manual_seed(0)
    planted = build(broken)
    is_loop = isinstance(planted, Step)
    targets = (planted.model, planted.loss_of) if is_loop else (planted,)
    seen = watch(*targets, then=lambda _report: None)
    with suppress(IndexError, ValueError, RuntimeError), seen:  # what the run itself dies of
        take_steps(planted, seen) if is_loop else planted.train()
    return seen.report


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in KINDS])
def test_a_kind_is_detected_placed_and_explained(kind):
    report = report_of(kind.build, broken=True)
    SAID[kind.name] = report
    assert report.found is not kind.is_harmless and not report.is_clear, report.text()
    assert report.kind == kind.kind, report.text()
    said = " ".join(report.text().split())
    assert kind.place in said and kind.cause in said, report.text()
    assert report.rows == kind.rows, report.text()
    assert kind.micro_batch in (None, report.micro_batch), report.text()
    assert said.endswith(f"cause: {report.cause} fix: {report.fix}")


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.name) for kind in KINDS])
def test_its_healthy_twin_accuses_nobody(kind):
    report = report_of(kind.build, broken=False)
    assert report.is_clear, report.text()
    assert report.cause == report.fix == ""


def test_the_table_of_faults_before_and_after_is_printed(capsys):
    def marks(*flags) -> list[str]:
        return ["yes" if flag else "-" for flag in flags]

    rows = []
    for kind in KINDS:
        report = SAID.get(kind.name) or report_of(kind.build, broken=True)
        placed = kind.place in report.text()
        after = (not report.is_clear, placed, report.kind == kind.kind, report.fix)
        of_batch = ", ".join(map(str, report.rows))
        rows.append((kind.name, *marks(*BEFORE[kind.name]), *marks(*after), of_batch))
    columns = ("kind", "found before", "placed", "found now", "placed", "cause", "fix", "row")
    with capsys.disabled():
        print("\n" + Table(columns, rows, title="Faults before and after").text())
    assert all(row[3:7] == ("yes",) * 4 for row in rows)
