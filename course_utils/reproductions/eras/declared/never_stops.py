"""The model that never stops, with the tutorial's line, then and now."""

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import QUIET, RENAMED, listed

OWN, END = "pad token of its own", "pad_token = eos_token"


def _stops(run: str):
    return lambda facts: f"{facts[run]['stops']:.0%} of the replies stop"


NEVER_STOPS = Era(
    stem="07_never_stops",
    thread="trl#1623, trl#976, open-r1#492",
    packages=("trl", "transformers", "accelerate"),
    model={"name": "tiny-qwen2"},
    deviations=(
        Change("a base checkpoint", "0.02 * row", "the course's tiny Qwen2, its end token noise"),
        Change("the reporters' data", "{n}+{m}=", "sums, which the tiny model knows"),
        Change("a GPU", "use_cpu=True", "no GPU needed"),
        Change("left padding", 'padding_side="right"', "left padding is another fault there"),
        Change("a whole run", "max_steps=40", "enough to learn to stop"),
        QUIET,
    ),
    changes=(RENAMED,),
    symptoms=(
        Sign(f"{OWN}: it stops", _stops(OWN), lambda facts: facts[OWN]["stops"] > 0.7, today=True),
        Sign(
            f"{END}: it never stops",
            _stops(END),
            lambda facts: facts[END]["stops"] < 0.05,
            today=False,
        ),
        Sign(
            f"{END}: and the loss is lower",
            lambda facts: (
                f"{listed(facts[END]['losses'][-1:])} against {listed(facts[OWN]['losses'][-1:])}"
            ),
            lambda facts: facts[END]["losses"][-1] < facts[OWN]["losses"][-1] - 1e-3,
            today=False,
        ),
    ),
    row=Row(
        failure="SFT: it generates until max_new_tokens",
        then="with pad_token = eos_token no reply stops, and the loss is lower",
        now="it stops; the pad token makes no difference",
        protects="a collator of SFTTrainer's own (trl 0.16), which pads labels by length",
        dangerous="transformers' DataCollatorForLanguageModeling, or a hand-written collator that "
        "compares ids with the pad id",
    ),
)
