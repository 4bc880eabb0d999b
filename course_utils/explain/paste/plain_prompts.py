"""Prompts that are handed to a chat model as plain strings: without its chat template."""

import re

from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line

_COLUMN = r"\w+\[['\"](?!messages|conversation|chat|turns|dialog|prompt)\w+['\"]\]"
_PLAIN = re.compile(  # code that makes one
    r"(?:['\"]prompt['\"]\s*:\s*|\bdict\(prompt\s*=\s*)(?:\w+\s*\+\s*)?(?:[fr]{0,2}['\"]|"
    rf"[A-Z][A-Z_]+\s*\+|{_COLUMN}\s*[,}}+)]|\w+\.format\()|"
    r"\brename_columns?\(\s*\{?\s*['\"](?:question|problem|query|instruction|input|text)['\"]"
    r"\s*[,:]\s*['\"]prompt['\"]|"
    rf"\b(?:tok\w*|generate)\(\s*\[?\s*{_COLUMN}"
)
_INPUT_KEY = re.compile(r"--input_key[ =]['\"]?\w+")  # OpenRLHF's, which adds no template unasked
_APPLIES = re.compile(r"--apply_chat_template|--input_template")
_CHAT_MODEL = re.compile(
    r"[\w./-]+-(?:instruct|it|chat|sft)\b|[\w./-]*Qwen3-\d[\w.]*B\b(?!-Base)|[\w./-]+-R1-Distill-\S+",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(r"apply_chat_template")
_OF_PROMPT = re.compile(
    r"prompt['\"]?\s*[:=\]].{0,40}apply_chat_template|['\"]role['\"]\s*:|\.chat\("
)
_HAS_MARKS = re.compile(r"<\|\w+\|>|\[INST\]|<start_of_turn>|<\uff5cUser\uff5c>")


def plain_prompt(beside: Beside) -> tuple[Line, Line] | None:
    """A prompt that is a plain string, and a template applied elsewhere, or a chat model."""
    asked, model = beside.matching(_INPUT_KEY), beside.matching(_CHAT_MODEL)
    if asked and model and not beside.matching(_APPLIES):
        return asked[0], model[0]
    if beside.matching(_OF_PROMPT):
        return None
    plain = next((line for line, _ in beside.all_matching(_PLAIN)), None)
    if plain is None or _HAS_MARKS.search(plain.text):
        return None
    other = beside.matching(_TEMPLATE) or model
    return (plain, other[0]) if other else None


def has_template_elsewhere(line: Line) -> bool:
    return bool(_TEMPLATE.search(line.text))
