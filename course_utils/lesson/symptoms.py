"""Maps a symptom in a log to the lesson about it, and to the first instrument to use."""

from dataclasses import dataclass

from course_utils.exercises import lesson_numbers
from course_utils.shown.page import Link
from course_utils.shown.report import Table


@dataclass(frozen=True)
class Symptom:
    """A symptom, the lesson about it, and an instrument to run on one's own model meanwhile."""

    seen: str
    lesson: str
    instrument: str
    call: str  # lines to copy


FROM = "from course_utils import diagnostics"
GUARD = f"{FROM}\n\ndiagnostics.NonFiniteGuard().attach(trainer)"
CHILD = f'{FROM}\n\nprint(diagnostics.run_in_child("train.py", timeout_s=600))'
WATCH = f"{FROM}\n\nwith diagnostics.watch(trainer):\n    trainer.train()"
RANGES = f"{FROM}\n\nprint(diagnostics.profile_ranges(model, batch))"
AUDIT = f"{FROM}\n\nprint(diagnostics.audit_gradients(model, batch))"
BATCH = f"{FROM}\n\nprint(diagnostics.inspect_batch(trainer))"
SPLITS = f"{FROM}\n\nprint(diagnostics.compare_splits(trainer))"
TRUTH = (
    f"{FROM}\n\naudit = diagnostics.TruthAudit(held_out, is_right).attach(trainer)\n"
    "trainer.train()\nprint(audit)"
)
POLICIES = f"{FROM}\n\nprint(diagnostics.compare_policies(sampler, scorer, prompts, model=model))"
MODELS = f"{FROM}\n\nprint(diagnostics.compare_models(trained, served, batch))"
REACH = f"{FROM}\n\nprint(diagnostics.adapter_reach(model))"
DIAGNOSE = f"{FROM}\n\nprint(diagnostics.diagnose(trainer))"
TRACE = f"{FROM}\n\nprint(diagnostics.trace_step(model, batch))"

SYMPTOMS = (
    Symptom(
        "loss 1.19e+34, then loss 0.0, grad_norm nan", "03_reward_nan", "NonFiniteGuard", GUARD
    ),
    Symptom("Floating point exception, exit code -8", "02_grpo_sigfpe", "run_in_child", CHILD),
    Symptom("completions are only !!!!!!!!, kl_loss is nan", "04_verl_collapse", "watch", WATCH),
    Symptom("Gemma 3 in fp16: loss 0, reward nan", "05_gemma_fp16", "profile_ranges", RANGES),
    Symptom("element 0 of tensors does not require grad", "06_grad_fn", "audit_gradients", AUDIT),
    Symptom("the loss falls, the adapter never moves", "06_grad_fn", "audit_gradients", AUDIT),
    Symptom("it generates until max_new_tokens", "07_never_stops", "inspect_batch", BATCH),
    Symptom(
        "loss 0.0, grad_norm 0.0 from the first step", "07_never_stops", "inspect_batch", BATCH
    ),
    Symptom(
        "more accumulation or GPUs, and it learns something else",
        "08_batch_loss",
        "compare_splits",
        SPLITS,
    ),
    Symptom(
        "the logged loss is 4, 16 or 32 times too large", "08_batch_loss", "compare_splits", SPLITS
    ),
    Symptom("the reward goes up, the evaluation goes down", "10_reward_up", "TruthAudit", TRUTH),
    Symptom("GRPO: loss 0.0, and is anything learned?", "10_reward_up", "TruthAudit", TRUTH),
    Symptom("the importance ratio is not 1", "09_two_logprobs", "compare_policies", POLICIES),
    Symptom("reward flat, checkpoints improve", "09_two_logprobs", "compare_policies", POLICIES),
    Symptom(
        "the adapter was right, and the served model is not",
        "11_served_not_trained",
        "compare_models",
        MODELS,
    ),
    Symptom(
        "LoRA on a mixture: the loss falls, and it learns little",
        "11_served_not_trained",
        "adapter_reach",
        REACH,
    ),
    Symptom("inf or nan, and no idea from where", "01_floats", "trace_step", TRACE),
    Symptom("none of these, and the model is no good", "99_on_call", "diagnose", DIAGNOSE),
)


def symptom_map() -> Table:
    """Every symptom with a link to its lesson; lessons that are not written yet say so.

    >>> symptom_map().columns
    ('what you see', 'lesson', 'instrument in course_utils.diagnostics')
    """
    rows = [(s.seen, _link(s.lesson), s.instrument) for s in SYMPTOMS]
    columns = ("what you see", "lesson", "instrument in course_utils.diagnostics")
    return Table(columns=columns, rows=rows)


def _link(stem: str) -> str:
    """The lesson's notebook lies beside the one that shows the map, solved or not."""
    is_written = stem[:2] in lesson_numbers()
    return Link(stem, to=f"{stem}.ipynb") if is_written else f"{stem} (not yet)"
