"""compute_metrics makes the Trainer keep the logits of the whole evaluation set."""

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, of_trainer, plain_trainer, reply_rows
from course_utils.reproductions.lesson_07.never_stops import base_model

NUM_TESTED = 480


def _best_tokens(logits, _labels):
    return logits.argmax(-1)


def _build(*, seed: int, reduce: bool) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    rows = reply_rows(128 + NUM_TESTED, seed, tokenizer)
    held, labels = [], []

    def metrics(found) -> dict[str, float]:
        held.append(found.predictions.nbytes)
        labels.append(found.label_ids.nbytes)
        return {}

    trainer = plain_trainer(
        model,
        rows[NUM_TESTED:],
        tokenizer.pad_token_id,
        max_steps=8,
        learning_rate=2e-4,
        eval_strategy="steps",
        eval_steps=4,
        tested=rows[:NUM_TESTED],
        seed=seed,
    )
    trainer.compute_metrics = metrics
    trainer.preprocess_logits_for_metrics = _best_tokens if reduce else None
    return of_trainer(trainer, lambda: {"bytes held a label's byte": max(held) / max(labels)})


INCIDENT = Incident(
    name="evaluation_keeps_logits",
    title="evaluation keeps all logits",
    kind="memory",
    says="Training fits in memory; evaluation ends in CUDA out of memory, sooner for a larger set.",
    cause="With compute_metrics the Trainer collects the logits of every token of the evaluation "
    "set: rows x length x vocabulary numbers.",
    fix="Set preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1).",
    threads=("transformers#12878", "transformers#15466", "transformers#8476"),
    make=Variants(_build, broken={"reduce": False}, twin={"reduce": True}),
    shows=lambda run: run.facts()["bytes held a label's byte"] > 50,
    place="compute_metrics",
)
