"""Looks at forward passes: a row alone and in its batch, the policy and its reference.

Shape letters: B rows, T tokens, V vocabulary or scores.
"""

import math
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.measures.forward import (
    evaluated,
    formats_of,
    has_ids,
    needed_beside_ids,
    outputs_of,
)
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import STOOD
from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, RELEASE, SCORES, Subject
from course_utils.diagnostics.loss_kind import BY_IDS, may_speak, speaks_for

MAX_ROWS = 4
# How far logits may be apart by rounding, in standard deviations of the logits.
SLACK = {torch.float32: 1e-2, torch.float64: 1e-4}
HALF_SLACK = 0.25
STOOD_STILL = 1e-4  # nats per token between the reference and a policy that did not learn


def look_at_forward(subject: Subject, sheet: Sheet) -> None:
    if not has_ids(subject.rows):
        sheet.miss("rows alone", subject.why_no_batch or "there is no batch of token ids")
    elif may_speak(_rows_alone, subject.loss):
        with sheet.trying("rows alone"):
            _rows_alone(subject, sheet)
        if subject.kind == SCORES:
            with sheet.trying("scores of pairs"):
                _scores_differ(subject, sheet)
    if subject.kind == PAIRS and subject.reference is not None and not subject.has_ended:
        if not has_ids(subject.rows):
            sheet.miss("the reference", subject.why_no_batch or "there is no batch of token ids")
            return
        with sheet.trying("the reference"):
            _reference_agrees(subject, sheet)


@speaks_for(*BY_IDS)
def _rows_alone(subject: Subject, sheet: Sheet) -> None:
    """Each row's attended tokens alone must give the same outputs as within the batch.

    How much rounding may leave is known by the format in which the layers compute.
    """
    if more := needed_beside_ids(subject.model):
        sheet.miss("rows alone", f"the model also needs {', '.join(more)}")
        return
    batch = {k: v[:MAX_ROWS] for k, v in subject.rows.items() if isinstance(v, Tensor) and v.dim()}
    ids = batch["input_ids"]
    mask = batch.get("attention_mask")
    mask = mask if mask is not None and mask.shape == ids.shape else _mask_by_pad(subject, ids)
    if _restarts(batch) or mask is None or bool(mask.bool().all()):
        sheet.miss("rows alone", "no row of the batch has padding")
        return
    if bool((_up_to_its_edges(mask.bool()) & ~mask.bool()).any()):
        sheet.miss("rows alone", "the mask hides tokens in the middle of a row")
        return
    if hidden := int((~mask.bool().any(1)).sum()):
        _hidden(hidden, len(ids), sheet)
        return
    with evaluated(subject.model), formats_of(subject.model) as formats:
        together = outputs_of(subject.model, batch)
        alone = partial(_apart, subject.model, masked="attention_mask" in batch)
        apart = [alone(together[b], ids[b], mask[b].bool()) for b in range(len(ids))]
    if not math.isfinite(max(apart)):
        sheet.miss("rows alone", "the logits of the batch are not finite")
        sheet.doubt("the logits of the first rows are not finite")
        return
    scale = float(together[torch.isfinite(together)].std()) or 1.0
    worst = max(range(len(apart)), key=apart.__getitem__)
    share = apart[worst] / scale
    slack = max((SLACK.get(of, HALF_SLACK) for of in formats), default=SLACK[torch.float32])
    if share > slack:
        is_score = subject.kind == SCORES or together.dim() == 2
        what = "its score moves" if is_score else "its logits move"
        said = f"row {worst}: {what} by up to {apart[worst]:.3g} ({share:.1g} of their spread)"
        key = "rows_pooled_wrong" if is_score else "row_depends_on_batch"
        why = "a row has another score within its batch than alone" if is_score else ""
        sheet.find(key, MEASURED + 1, said, place=_padding_side(mask), why=why)
    else:
        fine = f"(fine: up to {slack:g})"
        sheet.clear(
            "rows alone", f"as in the batch, up to {share:.1g} of the logits' spread {fine}"
        )


def _hidden(hidden: int, rows: int, sheet: Sheet) -> None:
    """Rows of which the mask shows no token."""
    said = f"the attention mask of {hidden} of the first {rows} rows is 0 throughout"
    if hidden == rows:
        sheet.find("mask_hides_all", COUNTED, said, place="attention_mask")
    else:
        sheet.doubt(said)
    sheet.miss("rows alone", "a row has no token that its mask shows")


def _restarts(batch: Mapping) -> bool:
    """Whether positions restart inside a row: documents are packed, and nothing is padded."""
    positions = batch.get("position_ids")
    if positions is None or positions.dim() != 2:
        return positions is not None
    falls = positions[:, 1:] < positions[:, :-1]
    return "attention_mask" not in batch and bool(falls.any())


def _mask_by_pad(subject: Subject, ids: Tensor) -> Tensor | None:
    """A mask for a batch without one: everything but padding at an edge."""
    pad = getattr(subject.tokenizer, "pad_token_id", None)
    if pad is None:
        return None
    return _up_to_its_edges(ids != pad)


def _up_to_its_edges(is_text: Tensor) -> Tensor:
    """True from the first token of text to the last one, (B, T)."""
    return is_text.cumsum(1).bool() & is_text.flip(1).cumsum(1).flip(1).bool()


def _apart(model: nn.Module, together: Tensor, ids: Tensor, keep: Tensor, *, masked: bool) -> float:
    """How far a row's logits move; `masked`: the model is handed a mask, and may count on it."""
    row = {"input_ids": ids[keep][None]}
    row |= {"attention_mask": torch.ones_like(row["input_ids"])} if masked else {}
    alone = outputs_of(model, row)[0]
    same = together[keep] if together.dim() == 2 else together
    return float((alone - same).abs().max())


def _padding_side(mask: Tensor) -> str:
    return "padding on the left" if not bool(mask[:, 0].all()) else "padding on the right"


def _scores_differ(subject: Subject, sheet: Sheet) -> None:
    """A score that is read at the end of a reply differs between two replies."""
    ids = subject.rows["input_ids"]
    half = len(ids) // 2
    differ = [i for i in range(half) if not torch.equal(ids[i], ids[i + half])]
    if len(differ) < half / 2:
        said = f"in {half - len(differ)} of {half} pairs chosen and rejected are the same tokens"
        sheet.find("pairs_alike", COUNTED + 1, said, place="chosen, rejected")
        return
    with evaluated(subject.model):
        scores = outputs_of(subject.model, subject.rows)
    if not bool(scores.any()):
        sheet.show("scores of pairs", "all are 0, as those of a head that begins at 0")
        return
    alike = sum(torch.equal(scores[i], scores[i + half]) for i in differ)
    said = f"{alike} of {len(differ)} pairs of different replies get one and the same score"
    if alike > len(differ) / 2:
        why = "the score is read where both replies of a pair are still the same"
        sheet.find(
            "rows_pooled_wrong", COUNTED, said, *_pads_inside(subject), place="pad_token", why=why
        )
    else:
        sheet.clear("scores of pairs", said)


def _pads_inside(subject: Subject) -> tuple[str, ...]:
    """Places inside the text of the id that the model takes for padding."""
    pad = getattr(getattr(subject.model, "config", None), "pad_token_id", None)
    mask = subject.rows.get("attention_mask")
    if pad is None or mask is None:
        return ()
    is_pad = (subject.rows["input_ids"] == pad) & mask.bool()
    rows = int(is_pad.any(1).sum())
    if not rows:
        return ()
    first = int(is_pad[is_pad.any(1)][0].int().argmax())
    return (
        f"id {pad}, the model's padding, is text in {rows} of {len(mask)} rows, first at token "
        f"{first}: the score is read before it",
    )


def _reference_agrees(subject: Subject, sheet: Sheet) -> None:
    """Before the first step of DPO, policy and reference must be one model."""
    batch = {k: v[:MAX_ROWS] for k, v in subject.rows.items() if isinstance(v, Tensor)}
    with evaluated(subject.model), evaluated(subject.reference):
        policy, other = (outputs_of(m, batch) for m in (subject.model, subject.reference))
    if policy.shape != other.shape:
        said = f"policy {policy.shape[-1]} and reference {other.shape[-1]} tokens"
        sheet.find("wrong_reference", COUNTED, said, place="ref_model")
        return
    apart = float((policy - other).abs().max()) / (float(policy.std()) or 1.0)
    if apart > HALF_SLACK:
        kl = subject.reference_kl = _kl(subject, policy, other)
        said = f"before the first step their logits are {apart:.2g} of their spread apart"
        if kl is not None and kl < RELEASE:
            sheet.doubt(
                f"policy and reference are two models, which is right only if it is meant: {said}"
            )
            return
        more = () if kl is None else (f"their KL is {kl:.2g} nats per token of the first replies",)
        sheet.find("wrong_reference", MEASURED, said, *more, place="ref_model")
    else:
        said = f"{apart:.1g} of their spread apart before the first step"
        sheet.clear("reference's logits", f"{said} (fine: up to {HALF_SLACK:g})")


def _kl(subject: Subject, policy_BTV: Tensor, other_BTV: Tensor) -> float | None:
    """Of policy and reference, in nats per token of the first replies; None where none is known."""
    mask = subject.rows.get("completion_mask")
    if not isinstance(mask, Tensor) or policy_BTV.dim() != 3:
        return None
    learnt = mask[:MAX_ROWS, 1:].bool().to(policy_BTV.device)
    if learnt.shape != policy_BTV[:, 1:, 0].shape or not bool(learnt.any()):
        return None
    p, q = (one[:, :-1].log_softmax(-1) for one in (policy_BTV, other_BTV.to(policy_BTV.device)))
    return float((p.exp() * (p - q)).sum(-1)[learnt].mean())


def look_at_reference(subject: Subject, sheet: Sheet) -> None:
    """Compare the policy with its reference when the run has ended."""
    if subject.reference is None or not has_ids(subject.rows):
        return
    batch = {k: v[:MAX_ROWS] for k, v in subject.rows.items() if isinstance(v, Tensor)}
    with evaluated(subject.model), evaluated(subject.reference):
        p, q = (outputs_of(m, batch).log_softmax(-1) for m in (subject.model, subject.reference))
    if p.shape == q.shape and p.dim() == 3:
        kl = float((p.exp() * (p - q)).sum(-1).mean())
        if not math.isfinite(kl):
            sheet.miss("KL of policy and reference", "the logits are not finite")
            sheet.doubt("the logits of policy or reference are not finite")
            return
        taken = getattr(getattr(subject.trainer, "state", None), "global_step", 0)
        when = f" after {taken} steps" if taken else ""
        said = f"{kl:.2g} nats a token on the first batch{when}"
        sheet.show("KL of policy and reference", said)
        if kl < STOOD_STILL and subject.log:
            sheet.became(STOOD, f"KL of policy and reference: {said}")
