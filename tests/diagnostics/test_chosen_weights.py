"""Which weights a run chose to train, and whether it looks meant: small models, single looks."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from course_utils.diagnostics.diagnosis.judges.signal import judge_signal
from course_utils.diagnostics.diagnosis.looks.added_rows import look_at_added_rows
from course_utils.diagnostics.diagnosis.looks.grounds import has_grounds
from course_utils.diagnostics.diagnosis.looks.start_of_adapter import look_at_frozen_head
from course_utils.diagnostics.diagnosis.looks.weights import look_at_weights
from course_utils.diagnostics.diagnosis.measures.last_replies import LastReplies
from course_utils.diagnostics.diagnosis.measures.policy_numbers import PolicyNumbers
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.loss_kind import Loss

OLD, NEW = [1, 2, 3], [4, 5]


def keys(sheet):
    return [one.key for one in sheet.found]


def embedding(kept):
    """A model whose embedding gets a gradient in some rows alone, and its loss on old and new."""
    torch.manual_seed(0)
    model = nn.Module()
    model.table = nn.Embedding(6, 4)
    model.get_input_embeddings = lambda: model.table
    model.get_output_embeddings = lambda: None
    if kept is not None:
        rows = torch.zeros(6, 1)
        rows[kept] = 1
        model.table.weight.register_hook(lambda grad: grad * rows)
    ids = torch.tensor([OLD + NEW])
    tokenizer = SimpleNamespace(
        added_tokens_decoder=dict.fromkeys(NEW),
        pad_token_id=0,
        convert_ids_to_tokens=lambda one: f"<{one}>",
    )
    subject = SimpleNamespace(model=model, rows={"input_ids": ids}, tokenizer=tokenizer)
    return subject, model.table(ids).square().sum()


@pytest.mark.parametrize(("kept", "found"), [(OLD, True), (NEW, False), (None, False)])
def test_a_mask_that_keeps_the_old_rows_is_named_and_one_that_keeps_the_new_is_not(kept, found):
    subject, loss = embedding(kept)
    sheet = Sheet()
    look_at_added_rows(loss, subject, sheet)
    assert keys(sheet) == ["new_tokens_untrained"] * found
    if found:
        assert "'<4>', '<5>'" in sheet.found[0].said[0] and "3 of 3" in sheet.found[0].said[1]


@pytest.mark.parametrize("is_orthogonal", [True, False])
def test_a_frozen_head_of_orthogonal_rows_was_chosen(is_orthogonal):
    torch.manual_seed(0)
    model = nn.Module()
    model.body, model.classifier = nn.Linear(8, 8), nn.Linear(8, 3)
    if is_orthogonal:
        nn.init.orthogonal_(model.classifier.weight, gain=3.0)
    nn.init.zeros_(model.classifier.bias)
    model.classifier.requires_grad_(False)
    trained = [p for p in model.parameters() if p.requires_grad]
    subject = SimpleNamespace(
        model=model, trainable=lambda: trained, has_ended=False, loss=Loss.ROWS
    )
    sheet = Sheet()
    look_at_frozen_head(subject, sheet)
    assert keys(sheet) == ([] if is_orthogonal else ["head_frozen"])


@pytest.mark.parametrize(("reached", "may"), [(1.0, False), (0.4, True), (0.0, True)])
def test_a_rate_that_rises_to_what_was_asked_for_is_meant(reached, may):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1e-3)
    schedule = LambdaLR(optimizer, lambda step: reached * step / 10)
    for _ in range(10):
        optimizer.step()
        schedule.step()
    state = SimpleNamespace(global_step=10, max_steps=10)
    trainer = SimpleNamespace(state=state, lr_scheduler=schedule)
    assert has_grounds("schedule_ends_early", SimpleNamespace(trainer=trainer)) is may


@pytest.mark.parametrize(("missing", "is_named"), [("lora_B", True), ("0", False)])
def test_what_a_filter_by_name_leaves_out_of_the_optimizer_is_said(missing, is_named):
    """The number of a layer is no name."""
    model = nn.ModuleList(
        nn.ParameterDict({name: torch.zeros(2, 2) for name in ("lora_A", "lora_B")})
        for _ in range(2)
    )
    named = dict(model.named_parameters())
    held = [p for name, p in named.items() if missing not in name.split(".")]
    subject = SimpleNamespace(
        model=model,
        trainer=None,
        optimizer=torch.optim.SGD(held, lr=1e-3),
        trainable=lambda: named,
        weights_before=None,
    )
    sheet = Sheet()
    look_at_weights(subject, sheet)
    found = {one.key: one for one in sheet.found}["optimizer_holds_others"]
    assert ("holds no lora_B" in found.says) is is_named
    assert ("after the adapter" in found.fix) is not is_named


@pytest.mark.parametrize("are_messages", [True, False])
def test_a_reward_that_takes_no_text_from_messages_is_told_from_hard_prompts(are_messages):
    fields = {name: None for name in PolicyNumbers.__dataclass_fields__}
    number = PolicyNumbers(**(fields | {"share_no_signal": 1.0}))
    replies = LastReplies(
        "", ("a", "b", "c", "d"), (-0.2,) * 4, 2, 1.0, 8, are_messages=are_messages
    )
    sheet = Sheet()
    judge_signal([number] * 3, replies, sheet)
    assert keys(sheet) == ["no_signal"]
    assert ("['content']" in sheet.found[0].fix) is are_messages
