"""A head that is drawn anew where an adapter is loaded, since the adapter's file has none."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import place
from course_utils.explain.paste.log import Log

_LOADS = re.compile(r"\bPeftModel\w*\.from_pretrained\(|\.load_adapter\(|AutoPeftModel\w*\.from")
_NEW = re.compile(
    r"newly initialized: \[[^\]]*['\"](?:score|classifier|classification_head|qa_outputs|v_head)"
)
_KEPT = re.compile(r"modules_to_save['\"]?\s*[=:]\s*\[\s*['\"]|_CLS\b|TaskType\.SEQ_CLS")
_RANDOM = re.compile(
    r"\b(?:random|chance|coin|each (?:time|start)|every (?:time|start|load|process)|second time|"
    r"third|another number|different (?:number|result)s?|newly|reload\w*)\b",
    re.IGNORECASE,
)
NEAR, SURE = 14, 6.55  # lines between the load and what it prints; below an untrained head
DRAWN = (
    "the head of the classes is drawn anew at every load: the adapter's file does not hold it, so "
    "that the classifier that was measured is lost and each process has another one"
)
SAVE_IT = (
    "task_type=TaskType.SEQ_CLS (or modules_to_save=['score']) in the adapter's config, which "
    "saves the head with it; see score.weight among the keys of the file. The head that was "
    "trained cannot be had back: train again, or save it from the process that still has it"
)


def head_not_in_the_file(beside: Beside, log: Log) -> Iterator[Finding]:
    """A load of an adapter, the message that a head is new, and results that differ by load."""
    loads = [x for x in beside.words if _LOADS.search(x.text)]
    new = [x for x in beside.words if _NEW.search(x.text)]
    if not loads or not new or beside.matching(_KEPT):
        return
    near = next((n for n in new for x in loads if abs(place(n) - place(x)) <= NEAR), None)
    told = next((x for x in beside.told() if _RANDOM.search(x.text)), None)
    if near is None or told is None:
        return
    proof = (loads[0].says, near.says, told.says)
    yield Finding("adapter_not_loaded", SURE, near, proof, why=DRAWN, advice=SAVE_IT)
