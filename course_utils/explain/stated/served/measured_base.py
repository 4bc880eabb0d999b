"""An evaluation of the base model, or with the adapter switched off."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.served.served_base import like_the_base

_OFF = re.compile(r"\b(?:with\s+\S*disable_adapters?\(\)|\w+\.disable_adapters?\(\)\s*$)")
_MEASURES = re.compile(r"\b(?:evaluat\w*|generate|score\w*|run_eval|bench\w*|judge\w*)\(")
_EVALUATES = re.compile(
    r"--model_args[ =]+(?!\S*(?:peft|lora)\w*=)\S*?\b(?:pretrained|model)="
    r"(?P<base>(?!out|ckpt|check|runs|merged|models?/)[A-Za-z][\w.-]*/[\w.-]+)(?![\w./-])"
)
_NAMES_ADAPTER = re.compile(r"\bpeft=|\blora_local_path|\bmerge\w*\b", re.IGNORECASE)
_ADAPTER = re.compile(r"\badapter_(?:config|model)\b|\bq?lora\b|\bpeft\b", re.IGNORECASE)
_FILES = re.compile(r"^\W*checkpoint_dir\s*:\s*(?P<folder>\S+)", re.MULTILINE)
_SAVED = re.compile(r"\bcheckpoint of size\b.*\bsaved to\b.*", re.IGNORECASE)
_TUNE_RUNS = re.compile(
    r"\btune run (?:\S+ )*?(?:generate|eleuther_eval|dev/generate_v2)\b.*", re.IGNORECASE
)
SURE = 8.0
FROM_BASE = (
    "the model that generates is loaded from {folder}, the folder from which the training began, "
    "and not from what it saved: what answers is the base, whatever was trained"
)
LOAD_IT = (
    "let checkpoint_dir and checkpoint_files of the config of the generation name what the run "
    "wrote ({saved}the ft-model or adapter files of its last epoch), and ask again; rank, rate "
    "and modules of the adapter can be judged after that"
)
NOT_NAMED = (
    "the evaluation loads the base ({base}) and names no adapter, so that what is measured is the "
    "base and not what was trained"
)
GIVE_IT = (
    "give the evaluation the adapter (peft=the folder of the adapter in --model_args, or "
    "PeftModel.from_pretrained, or a merged folder), and measure again; a higher rank or more "
    "epochs cannot show before that"
)
SWITCHED_OFF = (
    "the evaluation runs with the adapter switched off (disable_adapter), so that what is measured "
    "is the base and not what was trained"
)
SWITCH_ON = (
    "evaluate outside of disable_adapter(), which is for the log-probs of the reference alone, and "
    "measure again; neither the rate nor beta is shown to be at fault"
)


def base_is_measured(beside: Beside, log: Log) -> Iterator[Finding]:
    """A command of an evaluation with the base alone, and a score that is the base's."""
    lines = beside.words
    found = next(((x, m) for x in lines if (m := _EVALUATES.search(x.text))), None)
    if found is None or beside.matching(_NAMES_ADAPTER) or not beside.matching(_ADAPTER):
        return
    alike = like_the_base([*lines, *log.entries])
    if alike:
        line, named = found
        proof = (line.says, *alike)
        why = NOT_NAMED.format(base=named["base"])
        yield Finding("adapter_not_loaded", SURE, line, proof, why=why, advice=GIVE_IT)


def base_generates(beside: Beside, _log: Log) -> Iterator[Finding]:
    """Two configs of torchtune, of the training and of what generates, that load one folder."""
    runs = beside.matching(_TUNE_RUNS)
    loaded = [(one, m["folder"]) for one in beside.words if (m := _FILES.match(one.text))]
    if runs is None or len(loaded) < 2 or loaded[0][1] != loaded[-1][1]:
        return
    line, folder = loaded[-1]
    saved = beside.matching(_SAVED)
    proof = (loaded[0][0].says, line.says, f"{runs[0].where} says: {runs[1].strip()}")
    at = f"{saved[0].where} shows where: " if saved else ""
    why, advice = FROM_BASE.format(folder=folder), LOAD_IT.format(saved=at)
    yield Finding("adapter_not_loaded", SURE, line, proof, why=why, advice=advice)


def adapter_is_off(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that evaluates while the adapter is switched off."""
    lines = beside.words
    if sum(bool(_MEASURES.search(one.text)) for one in lines) > 1:
        return  # with the adapter as well, so that the base is measured on purpose
    for line, below in pairwise(lines):
        if _OFF.search(line.text) and _MEASURES.search(below.text):
            if re.search(r"\b(?:ref|base|before)\w*\s*=", below.text):
                continue  # the base is measured on purpose
            proof = tuple(x.says for x in (line, below))
            of = ("adapter_not_loaded", SURE, line, proof)
            yield Finding(*of, why=SWITCHED_OFF, advice=SWITCH_ON)
            return
