"""A reference that is far from the policy at the start: its log-probs were kept from an earlier
model."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line
from course_utils.explain.paste.log import Log

_KEPT = re.compile(
    r"_precomputed_\w*ref\w*log_?probs\s*=\s*True|"
    r"\bload_from_disk\((?=.*(?<![a-z])ref(?:erence)?[_ ]?log)|"
    r"\b(?:load|torch\.load|read_parquet|np\.load)\w*\([^)]*(?<![a-z])ref(?:erence)?_?(?:chosen_)?log_?p\w*"
)
_NAMED_BY_MODEL = re.compile(r"\b\w*(?:hash|sha\d*|fingerprint|revision|commit)\w*", re.IGNORECASE)
_FOLDER = re.compile(r"(?:cache|prep\w*|ref\w*)\w*.*?=.*(?:Path\(|/|f['\"]).*")
OF_ANOTHER_MODEL = (
    "the rewards of DPO are far from 0 in the first step, where policy and reference must agree: "
    "the log-probs of the reference are not computed but read from what was kept, and do not fit "
    "the model that is trained now, as where they were made with an earlier one (or for other "
    "lengths). What DPO learns first is to go back to that model"
)
MAKE_ANEW = (
    "delete what was kept and compute the reference's log-probs with the model that the run begins "
    "with; let the name of the cache hold that model (its path and a hash), and assert that the "
    "rewards of the first step are 0"
)
TWO_MODELS = (
    "the reference is another model than the one that the policy begins from: {reference}, and "
    "not {policy}. So the rewards of DPO are far from 0 in the first step, where they must be 0, "
    "and the loss pulls the policy back to that model"
)
ONE_MODEL = (
    "name the same checkpoint for both (or no reference at all, where the trainer then takes the "
    "policy as it begins), see that the rewards of the first step are 0 and the loss is ln 2 = "
    "0.6931, and train again from that checkpoint; noisy labels, smoothing or beta are not to blame"
)
_REFERENCE_PATH = re.compile(
    r"(?<![\w.])(?:--)?ref(?:erence)?_(?:pretrain|model(?:_name(?:_or_path)?|_path)?|path|ckpt|"
    r"checkpoint)['\"]?[\s=:]+['\"]?(?P<of>[\w.~-]*[/\w.-]*\w)",
    re.IGNORECASE,
)
_POLICY_PATH = re.compile(
    r"(?<![\w.])(?:--)?(?:pretrain|model_name_or_path|(?:policy|actor|base)(?:_model)?(?:_path)?|"
    r"model(?:_path)?)['\"]?[\s=:]+['\"]?(?P<of>[\w.~-]*/[/\w.-]*\w)",
    re.IGNORECASE,
)


def of_another_model(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding with the log-probs that are read back, and what they say of their model; or with
    the two models that the settings name."""
    if not one.why and (named := _two_models(beside)):
        (line, policy), (other, reference) = named
        lines = dict.fromkeys((line, other))
        said = [f"{x.where} says: {x.text.strip()[:MAX_QUOTE]}" for x in lines]
        why = TWO_MODELS.format(policy=policy, reference=reference)
        return replace(one, weight=8.6, for_it=(*one.for_it, *said), why=why, advice=ONE_MODEL)
    kept = beside.matching(_KEPT)
    if kept is None or beside.matching(_NAMED_BY_MODEL) or not isinstance(one.at, Entry):
        return one
    folder = beside.matching(_FOLDER)
    said = [f"{kept[0].where} says: {kept[0].text.strip()[:MAX_QUOTE]}"]
    said += [f"{folder[0].where} says: {folder[0].text.strip()[:MAX_QUOTE]}"] if folder else []
    said += meant(one.at, beside)
    proof = (*one.for_it, *said)
    return replace(one, weight=8.6, for_it=proof, why=OF_ANOTHER_MODEL, advice=MAKE_ANEW)


def _two_models(beside: Beside) -> tuple[tuple[Line, str], tuple[Line, str]] | None:
    """The policy and the reference by their paths, where these are two."""
    found = [beside.matching(one) for one in (_POLICY_PATH, _REFERENCE_PATH)]
    if None in found:
        return None
    paths = [
        (line, pattern.search(words)["of"])
        for pattern, (line, words) in zip((_POLICY_PATH, _REFERENCE_PATH), found, strict=True)
    ]
    (_, policy), (_, reference) = paths
    is_path = "/" in reference and reference.lower() not in ("none", "null")
    return (paths[0], paths[1]) if is_path and policy != reference else None


def meant(entry: Entry, beside: Beside) -> list[str]:
    """The log-prob that the reference must have had."""
    beta = next((s.number for s in beside.of("beta") if s.number), None)
    beta = beta or _flag(beside)
    reward, logp = (entry.numbers.get(name) for name in ("chosen_reward", "chosen_logp"))
    if not beta or reward is None or logp is None:
        return []
    meant = logp - reward / beta
    return [
        f"a chosen log-prob of {logp:g} and a reward of {reward:g} at beta {beta:g} mean that the "
        f"reference had {meant:.1f}: that of the model which was in use when it was kept"
    ]


def _flag(beside: Beside) -> float | None:
    found = beside.matching(re.compile(r"--(?:dpo_)?beta[= ](\d*\.\d+)"))
    return float(found[1].replace("=", " ").split()[-1]) if found else None
