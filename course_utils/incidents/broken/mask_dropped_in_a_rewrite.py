"""A collator is rewritten, and no longer reads the mask that its rows carry."""

from datasets import Dataset

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Row, Variants, learns, of_trainer, plain_trainer, reply_row
from course_utils.reproductions.lesson_07.batches import Batch, padded

NUM_STEPS, SIZE = 24, 16
LEARNT = 0.2  # nats per token of held-out replies; 3 before training


def _rows(n: int, seed: int, split: str) -> list[Row]:
    """Sums whose answer is one too large."""
    tokenizer, drawn = zoo.load_tokenizer("tiny"), zoo.arithmetic.prompts(n, seed, split=split)
    said = [str(int(row["answer"]) + 1) for row in drawn]
    return [
        reply_row([*row["prompt"], {"role": "assistant", "content": answer}], tokenizer)
        for row, answer in zip(drawn, said, strict=True)
    ]


def _build(*, seed: int, reads_mask: bool) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), zoo.load_policy("tiny", device="cpu")
    pad = tokenizer.pad_token_id

    def collate(rows: list[dict]) -> Batch:
        made = []
        for row in rows:
            ids, mask = row["input_ids"], row["completion_mask"]
            learnt = [i if keep else -100 for i, keep in zip(ids, mask, strict=True)]
            made.append((ids, learnt if reads_mask else ids))
        return padded(made, pad)

    trainer = plain_trainer(
        model,
        [],
        pad,
        seed=seed,
        collate=collate,
        max_steps=NUM_STEPS,
        remove_unused_columns=False,
    )
    trainer.train_dataset = Dataset.from_list(
        [
            {"input_ids": ids, "completion_mask": [int(one != -100) for one in labels]}
            for ids, labels in _rows(SIZE * NUM_STEPS, seed, "train")
        ]
    )
    held_out = learns(model, _rows(64, seed, "test"), pad)
    return of_trainer(trainer, held_out, tokenizer=tokenizer)


INCIDENT = Incident(
    name="mask_dropped_in_a_rewrite",
    title="prompts are learnt since the collator was rewritten",
    kind="labels",
    says="After the data loader was rewritten, the loss falls as before, and the chat model scores "
    "lower.",
    cause="The new collator takes the ids for the labels and drops the mask that the rows carry, "
    "so most of the gradient comes from the prompts.",
    fix="Set the labels to -100 where the mask of the row is 0.",
    threads=("nanochat#570", "nanochat#582"),
    make=Variants(_build, broken={"reads_mask": False}, twin={"reads_mask": True}),
    shows=lambda run: run.facts()["loss after"] > LEARNT,
    causes=("prompt_in_loss",),
    place="completion_mask",
    lesson="07_never_stops",
)
