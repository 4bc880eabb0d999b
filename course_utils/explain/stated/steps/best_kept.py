"""A checkpoint that is kept as the best by a metric that is read the wrong way round."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.columns import rows_of
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log

_METRIC = re.compile(
    r"\b(?:metric_for_best_model|best_(?:checkpoint_)?metric|best-checkpoint-metric|monitor|best_by|"
    r"save_best_by|selection_metric)['\"]?\s*[:= ]\s*['\"]?(?P<name>[A-Za-z][\w/.-]*)"
)
_GREATER = re.compile(
    r"\bgreater_is_better['\"]?\s*[:= ]\s*['\"]?(?P<how>true|false)\b|"
    r"(?<!\w)(?:best_|monitor_|checkpoint_)?mode['\"]?\s*[:=]\s*['\"](?P<mode>max|min)['\"]|"
    r"\b(?:higher|larger|bigger)_(?:is_)?better['\"]?\s*[:= ]\s*['\"]?(?P<also>true|false)\b|"
    r"(?P<flag>--maximize-best-checkpoint-metric)\b",
    re.IGNORECASE,
)
_LOADS_BEST = re.compile(r"\bload_best_model_at_end['\"]?\s*[:= ]\s*['\"]?true\b", re.IGNORECASE)
_KEPT = re.compile(
    r"(?:Loading best model from (?P<path>\S+) \(score: |\bbest_metric['\"]?\s*[:=]\s*)"
    r"(?P<score>-?\d+(?:\.\d+)?(?:e-?\d+)?)"
)
_FALLS = re.compile(
    r"\b(?:loss|ppl|perplexity|bpc|bpb|bits|nll|wer|cer|ter|error|err|mae|mse|rmse|brier|distance|"
    r"ece|fid|eer|xent|entropy)\b"
)
_RISES = re.compile(
    r"\b(?:acc|accuracy|f1|bleu|sacrebleu|rouge\w*|chrf|exact|em|recall|precision|mrr|ndcg|auc|auroc|"
    r"reward|win|winrate|pass|solve|correct|spearman|pearson)\b"
)
FALL, RISE = ("fall", "rise", "False", "min", "least"), ("rise", "fall", "True", "max", "highest")
FEW, NEAR, SURE, LIKELY = 2, 3, 9.2, 6.8  # values of the metric; lines; weights
ROUND = (
    "the best checkpoint is chosen by {name}, which should {should}, as if it should {taken}: "
    "{how}. So what is kept and loaded as the best one is the worst{stops}"
)
AND_STOPS = ", and early stopping counts each improvement as none and ends the run"
BY_ITS_NAME = (
    "the Trainer takes every metric for one that should rise whose name does not end in loss"
)
TURN = (
    "greater_is_better={right} (mode='{mode}' elsewhere), and load the checkpoint with the {least} "
    "{name}{best}{then}. Patience and learning rate are not to blame"
)
GO_ON = "; go on from there, since the metric still got better when the run was stopped"
_STOPS = re.compile(r"\bEarlyStopping\w*|\bearly_stopping\w*|\bpatience\b", re.IGNORECASE)


def worst_taken_for_best(beside: Beside, log: Log) -> Iterator[Finding]:
    """A direction of the choice that does not fit the name of its metric, beside its values."""
    metric = beside.matching(_METRIC)
    way = _way(beside, metric)
    name = _METRIC.search(metric[1])["name"] if metric else ""
    words = re.sub(r"[\W_]+", " ", name.lower())
    is_of_loss, rises = (one.search(words) is not None for one in (_FALLS, _RISES))
    if metric is None or is_of_loss == rises:
        return
    greater = _is_greater(way[1]) if way else not name.lower().endswith("loss")
    if greater != is_of_loss or (way is None and not beside.matching(_LOADS_BEST)):
        return
    values = _values(name, beside, log)
    numbers = [value for _, value in values]
    if len(values) < FEW or min(numbers) == max(numbers):
        return
    best, worst = (min, max) if is_of_loss else (max, min)
    at = next(part for part, value in values if value == best(numbers))
    kept = beside.matching(_KEPT)
    score = float(_KEPT.search(kept[1])["score"]) if kept else None
    is_seen = score is not None and abs(score - worst(numbers)) < 1e-3 * abs(worst(numbers))
    if score is not None and not is_seen:
        return  # another one is kept than the settings say
    told = dict.fromkeys(one[0] for one in (metric, way, kept) if one)
    shown = [one.says for one in told]
    proof = (
        *shown,
        f"{name} is {best(numbers):g} at {at.where} and "
        f"{worst(numbers):g} at worst, in {len(values)} evaluations",
    )
    should, taken, right, mode, least = FALL if is_of_loss else RISE
    stops = AND_STOPS if beside.matching(_STOPS) else ""
    then = GO_ON if stops and numbers[-1] == best(numbers) else ""
    how = way[1].strip() if way else BY_ITS_NAME
    why = ROUND.format(name=name, should=should, taken=taken, how=how, stops=stops)
    of_best = f", {best(numbers):g} at {at.where}"
    advice = TURN.format(right=right, mode=mode, least=least, name=name, best=of_best, then=then)
    weight = SURE if is_seen else LIKELY
    yield Finding("worst_is_kept", weight, (way or metric)[0], proof, why=why, advice=advice)


def _way(beside: Beside, metric: tuple[Line, str] | None) -> tuple[Line, str] | None:
    """The direction that is set; a mode counts only just beside the metric."""
    for line, words in beside.all_matching(_GREATER) if metric else ():
        is_near = abs(place(line) - place(metric[0])) <= NEAR
        if is_near or not _GREATER.search(words)["mode"]:
            return line, words
    return None


def _is_greater(text: str) -> bool:
    found = _GREATER.search(text)
    said = (found["how"] or found["also"] or found["mode"] or "true").lower()
    return said in ("true", "max")


def _values(name: str, beside: Beside, log: Log) -> list[tuple[Line | Entry, float]]:
    """The values of a metric in evaluations: of rows with its name, with or without eval_."""
    bare = re.sub(r"^(?:eval|val|valid|validation|test)[_/ ]", "", name.lower())
    named = re.compile(rf"^(?:(?:eval|val|valid|validation|test)[_/])?{re.escape(bare)}$")
    held = re.compile(rf"^(?:eval|val|valid|validation|test)[_/]{re.escape(bare)}$")
    pattern = held if bare == "loss" else named
    found = ((row.at, row.first(pattern)) for row in rows_of(beside, log))
    values = [(at, pair[1]) for at, pair in found if pair]
    each = re.compile(
        rf"(?:eval|val|valid|validation|test)[_/]{re.escape(bare)}['\"]?\s*[:=]\s*(-?\d[\d.]*(?:e-?\d+)?)",
        re.I,
    )
    seen = {at.where for at, _ in values}
    for entry in log.entries:
        if entry.where not in seen and (one := each.search(entry.text)):
            values.append((entry, float(one[1])))
    return values
