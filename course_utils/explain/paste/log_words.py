"""The words of a line that say how a run goes on, ends, or is set: what a log listens for."""

import re

RESUMED = re.compile(
    r"\bresum(?:ed|ing)\b.{0,40}\b(?:from|checkpoint|training)\b|"
    r"\bload(?:ed|ing)\b.{0,20}\b(?:checkpoint|optimizer state)\b",
    re.IGNORECASE,
)
RESUMES = re.compile(
    r"\bresum(?:e|ed|ing)\b(?!\W{0,2}[=:])|\b(?:re)?started again\b|\bSIGTERM\b|^Terminated\b",
    re.IGNORECASE,
)
_OF_ANOTHER = (
    r"\b(?:(?:for|as a) (?:reference|comparison)|(?:baseline|reference|working|good|other|healthy|"
    r"sound|earlier|comparison) (?:run|job|log))\b[^:=]{0,40}"
)
ANOTHER_RUN = re.compile(  # the head of a block that is pasted beside the run
    rf"^(?!\W*(?:\d{{4}}-\d\d|\[|\())(?!.*\bresum)"
    rf"(?:[^:=]{{0,90}}{_OF_ANOTHER}:\s*$|\W{{1,6}}[^:=]{{0,60}}{_OF_ANOTHER}\W*$|"
    r"\W*(?:run|job|variant|experiment) (?:[B-Z]|#?[2-9])\b[^:=]{0,40}:\s*$)",
    re.IGNORECASE,
)
EVALUATES = re.compile(  # the head of a table of checkpoints
    r"^\W*(?:eval\w*|validation|held[- ]out|test (?:set|split|data|pairs|scores?|accuracy))\b"
    r"(?!.*\bruns?\b)[^=|]*$|"
    r"\b(?:each|all|same|every|saved) (?:\w+ )?checkpoints?\b",
    re.IGNORECASE,
)
JUDGED = re.compile(r"\breward\s*[:=]\s*-?[\d.]+(?:\s*/\s*\d+)?\s+-?[\d.]+\s*$", re.IGNORECASE)
NO_KL = re.compile(
    r"\b(?:beta|(?:init_)?kl_coef)\b\W*(?:is|=|:)?\W*0(?:\.0+)?(?![\d.])", re.IGNORECASE
)
WEIGHS_KL = re.compile(
    r"\b(?:beta|kl_coef|kl_loss_coef)['\"]?\s*[:=]\s*['\"]?(?!0(?:\.0*)?(?![\d.]))\d", re.IGNORECASE
)
CHOOSES = re.compile(
    r"metric_for_best_model\W+(?:eval_)?loss|load_best_model_at_end\W+True", re.IGNORECASE
)
WARMS_UP = re.compile(r"warmup_steps['\"]?\s*[=:]\s*(\d+)", re.IGNORECASE)
OF_SCORES = re.compile(  # a reward model is trained
    r"\b(?:reward[- _]?model\w*|RewardTrainer|RewardConfig|train_rm|preference model)\b|"
    r"\b(?:stage|task)\b\s*[:=]\s*['\"]?rm\b|\bRM\b(?=.*\b(?:acc\w*|train\w*|pairs?)\b)|"
    r"center_rewards_coefficient|Bradley[- ]Terry",
    re.IGNORECASE,
)
OF_REFERENCE = re.compile(
    r"\b\w*dpo(?!int)\w*|(?<![a-z])[ik]po(?![a-z])|\bbeta\b|"
    r"\bref(?:erence)?[_ -](?:model|policy|log-?prob)\w*|implicit reward",
    re.IGNORECASE,
)
