"""A program that makes an adapter anew from its saved configuration, and loads no weights."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_CONFIG = re.compile(r"\b(?P<name>\w+)\s*=\s*\w*(?:Lora|Peft)Config\.from_pretrained\(")
_MADE = r"\bget_peft_model\(\s*[\w.]+\s*,\s*(?:peft_config\s*=\s*)?{}\b"
_LOADS = re.compile(
    r"\b(?:Auto)?Peft\w*\.from_pretrained\(|\.load_adapter\(|set_peft_model_state_dict\(|"
    r"\bload_peft_weights\(|\.load_state_dict\("
)
_OF_CONFIG = re.compile(r"\b\w*Config\.from_pretrained\(")
SURE = 9.4
DRAWN = (
    "the adapter that answers is a new one: get_peft_model makes it from the saved configuration "
    "({name}), and no line loads the saved weights into it. Its B is 0, so that the model answers "
    "as its base does, whatever was trained and saved"
)
LOAD_IT = (
    "PeftModel.from_pretrained(base, folder) (or AutoPeftModel...) in place of get_peft_model; the "
    "file is not shown to be at fault, and nothing has to be trained again"
)


def made_anew_and_not_loaded(beside: Beside, _log: Log) -> Iterator[Finding]:
    """`get_peft_model(base, config)` of a loaded configuration, without a load of its weights."""
    for line in beside.words:
        found = _CONFIG.search(line.text)
        if not found:
            continue
        made = beside.matching(re.compile(_MADE.format(re.escape(found["name"]))))
        loads = any(
            _LOADS.search(one.text) and not _OF_CONFIG.search(one.text) for one in beside.words
        )
        if made is None or loads:
            continue
        proof = (line.says, made[0].says)
        why = DRAWN.format(name=found["name"])
        yield Finding("adapter_not_loaded", SURE, made[0], proof, why=why, advice=LOAD_IT)
        return
