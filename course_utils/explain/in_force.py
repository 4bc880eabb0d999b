"""Advice that a log shows to be followed already, which is left out of the answer."""

import re
from collections.abc import Iterator
from dataclasses import replace

from course_utils.explain.beside import Beside, is_prose
from course_utils.explain.clauses import clauses
from course_utils.explain.finding import Finding
from course_utils.explain.log import Log

_SHOWN_BY = (  # words of advice, and what a log that follows it, or cannot, has in it
    (r"gradient checkpointing", r"gradient_checkpointing['\"]?\s*[:= ]\s*['\"]?true"),
    (r"truncated importance sampling", r"importance_sampling_ratio|rollout_is\b|\btis_\w+"),
    (r"entropy[_ ](?:coeff|bonus|term)", r"entropy_coeff['\"]?\s*[:= ]\s*0(?:\.0+)?(?![.\d])"),
    (r"is_trainable=True", r"trainable params:?\s*[1-9]"),
    (r"zero_to_fp32", r"save_strategy['\"]?\s*[:= ]\s*['\"]?no\b"),
)
_SHOWN = tuple(
    (re.compile(advice), re.compile(shown, re.IGNORECASE)) for advice, shown in _SHOWN_BY
)
_SETTING = re.compile(r"\b(\w+_\w+)='?([\w.]+)'?")


def with_what_is_in_force(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding, which then leaves out what its log has already of its fix and next look."""
    texts = [line.text for _, line in beside.lines if not is_prose(line.text)]
    texts += [name for entry in log.entries[-1:] for name in entry.names.values()]
    advised = clauses(one.fix) + clauses(one.look)
    return replace(one, in_force=frozenset(said for said in advised if _is_shown(said, texts)))


def _is_shown(clause: str, texts: list[str]) -> bool:
    return any(shown.search(text) for shown in _that_show(clause) for text in texts)


def _that_show(clause: str) -> Iterator[re.Pattern]:
    yield from (shown for advice, shown in _SHOWN if advice.search(clause))
    for name, value in _SETTING.findall(clause):
        said = rf"\b{name}['\"]?\s*[:= ]\s*['\"]?{re.escape(value)}(?![.\w])"
        yield re.compile(said, re.IGNORECASE)
