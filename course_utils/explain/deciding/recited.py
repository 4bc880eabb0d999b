"""Decides that rows are known by heart: the evaluation has long turned, and replies recite them."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log, finite

_RECITES = re.compile(
    r"\b(?:word[- ]for[- ]word|verbatim|letter for letter|recit\w+|regurgitat\w+|parrot\w*)\b",
    re.IGNORECASE,
)
_OF_TRAINING = re.compile(
    r"\b(?:my|our|the|of) (?:\d[\d,]* )?(?:own )?(?:train\w*|answers?|examples?|rows?|pairs?|"
    r"data(?:set)?|set)\b",
    re.IGNORECASE,
)
_NOT_SO = re.compile(r"\b(?:not|never|no|n't|nothing|isn't|doesn't)\b[^.,;]{0,20}$", re.IGNORECASE)
RISES, FALLS, SHOWN = 1.3, 0.2, 6.2  # of the lowest evaluation; of the first loss; the weight
BY_HEART = (
    "the rows are known by heart: the evaluation loss was lowest at {low} and is {times:.1f} times "
    "that at the end, while the training loss goes to {last:.3g}, and what the model says is said "
    "to be a training answer again. It learnt that in the training, and no export makes it"
)
CLEAR = (
    "the model learns the rows by heart: the evaluation loss was lowest at {low} and is "
    "{times:.1f} times that at the end, while the training loss goes to {last:.3g}. What it "
    "learnt since is those rows and nothing that holds for others"
)
FAR, FEWEST = 1.5, 4  # of the lowest evaluation; evaluations
EARLIER = (
    "take the checkpoint of the lowest evaluation loss (load_best_model_at_end, early stopping), "
    "or train again for as long as that took; a smaller rate, and more and more varied rows"
)


def by_heart(one: Finding, beside: Beside, log: Log) -> Finding:
    """Numbers that are far apart, and a sentence that says that training answers come back; or
    numbers that leave no doubt."""
    judged, losses = finite(log.values("eval_loss")), finite(log.values("loss"))
    if one.why or not judged or not losses or min(judged) <= 0:
        return one
    lowest, best = min(judged), judged.index(min(judged))
    if judged[-1] < RISES * lowest or losses[-1] > FALLS * losses[0] or best > len(judged) / 2:
        return one
    low = next(e for e, v in log.series("eval_loss") if v == lowest)
    names = {"low": low.where, "times": judged[-1] / lowest, "last": losses[-1]}
    for line in beside.words:
        found = _RECITES.search(line.text)
        if not found or not _OF_TRAINING.search(line.text):
            continue
        if _NOT_SO.search(line.text[: found.start()]):
            continue
        proof = (*one.for_it, f"{line.where} says: {found[0]}")
        why = BY_HEART.format(**names)
        return replace(one, weight=SHOWN, for_it=proof, why=why, advice=EARLIER)
    if judged[-1] < FAR * lowest or len(judged) < FEWEST or log.kind() != "supervised":
        return one
    return replace(one, weight=SHOWN, why=CLEAR.format(**names), advice=EARLIER)
