"""The looks worth taking next where nothing was found, the most telling first."""

from collections.abc import Iterator

from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, PAIRS, POLICY, SCORES

MOST = 3


def next_looks(sheet: Sheet) -> tuple[str, ...]:
    """At most three: odd numbers of the log, what was not looked at, and by the kind of run."""
    return tuple(dict.fromkeys(_looks(sheet)))[:MOST]


def _looks(sheet: Sheet) -> Iterator[str]:
    is_loop = sheet.kind == LOOP
    yield from sheet.to_look_at
    if "the run" in sheet.unseen:
        yield (
            "the steps: with diagnose.watching(model, ...) around the loop"
            if is_loop
            else "a few steps: diagnose(trainer, steps=20), which puts everything back"
        )
    if "the weights" in sheet.shown:
        yield "whether a checkpoint is in the weights (missing_keys of its load): norms are all 1"
    if "the tokens" in sheet.unseen and is_loop:
        yield "the tokens: diagnose(model, batch=..., tokenizer=..., loss=...)"
    if "what the reward pays for" in sheet.unseen:
        yield "what the reward function pays for: diagnose(trainer, probe_rewards=True)"
    if sheet.kind == POLICY:
        yield "four replies to one prompt with their rewards, read by eye"
        yield "the log-probs of sampler and trainer: audit_policy(trainer)"
    elif sheet.kind == PAIRS:
        yield "five pairs, read by eye: is the chosen reply the better one?"
    elif sheet.kind == SCORES:
        yield "the scores of ten held-out pairs, beside their texts"
    if sheet.writes:
        yield "what the model writes: generate from three prompts, and read it"
    elif sheet.kind != SCORES:
        yield "ten held-out rows with what the model says of them, beside their labels"
    if sheet.kind != POLICY:
        of = "step, rows, model=model" if is_loop else "trainer"
        yield f"whether the micro-batches matter: compare_splits({of})"
    yield "what is served: compare_models(model, served, batch)"
