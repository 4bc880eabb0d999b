"""A reference that is far from the policy at the start: its log-probs were kept from an earlier
model."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.rules.kept_of_another import MAKE_ANEW, OF_ANOTHER_MODEL, meant

_KEPT = re.compile(
    r"_precomputed_\w*ref\w*log_?probs\s*=\s*True|"
    r"\bload_from_disk\((?=.*(?<![a-z])ref(?:erence)?[_ ]?log)|"
    r"\b(?:load|torch\.load|read_parquet|np\.load)\w*\([^)]*(?<![a-z])ref(?:erence)?_?(?:chosen_)?log_?p\w*"
)
_NAMED_BY_MODEL = re.compile(r"\b\w*(?:hash|sha\d*|fingerprint|revision|commit)\w*", re.IGNORECASE)
_FOLDER = re.compile(r"(?:cache|prep\w*|ref\w*)\w*.*?=.*(?:Path\(|/|f['\"]).*")
_TRAINED_ON = re.compile(r"\bPeftModel\w*\.from_pretrained\(.*is_trainable\s*=\s*True")
_NO_REFERENCE = re.compile(r"\bref_model\s*=\s*None\b")
_ADAPTER_KEPT = re.compile(r"\bref_adapter_name\b|\bmerge_and_unload\(")
WITHOUT_ADAPTER = (
    "the reference is the base model, and not the model that the policy begins from: with "
    "ref_model=None the trainer turns the adapter off for the reference, and this adapter had "
    "learnt something before (SFT). So the rewards are far from 0 in the first step, and nothing "
    "holds the policy near the model that it begins from"
)
MERGE_FIRST = (
    "merge that LoRA into the base and train a new one on it (peft_config=...), or load it "
    "twice: model.load_adapter(path, adapter_name='reference') and DPOConfig("
    "model_adapter_name='default', ref_adapter_name='reference'); then the rewards of the first "
    "step are 0 and its loss is ln 2 = 0.6931. Neither the rate nor beta is to blame"
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
        said = [x.says for x in lines]
        why = TWO_MODELS.format(policy=policy, reference=reference)
        return replace(one, weight=8.6, for_it=(*one.for_it, *said), why=why, advice=ONE_MODEL)
    if not one.why and (found := _adapter_off(beside)):
        said = dict.fromkeys(line.says for line, _ in found)
        proof = (*one.for_it, *said)
        return replace(one, weight=8.6, for_it=proof, why=WITHOUT_ADAPTER, advice=MERGE_FIRST)
    kept = beside.matching(_KEPT)
    if kept is None or beside.matching(_NAMED_BY_MODEL) or not isinstance(one.at, Entry):
        return one
    folder = beside.matching(_FOLDER)
    said = [kept[0].says]
    said += [folder[0].says] if folder else []
    said += meant(one.at, beside)
    proof = (*one.for_it, *said)
    return replace(one, weight=8.6, for_it=proof, why=OF_ANOTHER_MODEL, advice=MAKE_ANEW)


def _adapter_off(beside: Beside) -> list[tuple[Line, str]]:
    """The adapter that is trained on, and no reference: it is the same model without it."""
    if beside.matching(_ADAPTER_KEPT):
        return []
    found = [beside.matching(one) for one in (_TRAINED_ON, _NO_REFERENCE)]
    return [] if None in found else found


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
