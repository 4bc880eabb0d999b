"""A teacher's log-probs of the tokens that are there, beside a student's of the tokens to come."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_TEACHER = re.compile(r"\.prompt_logprobs\b|\bprompt_logprobs\s*=\s*\d")
_STUDENT = re.compile(
    r"\bstudent\w*\(.*\.logits|\blog_softmax\([^)]*logits.*gather\(|\blogits\s*=\s*student\b"
)
_MOVED = re.compile(
    r"\[[^\]]*:\s*-\s*1\s*(?:,[^\]]*)?\]|\[[^\]]*\b1\s*:[^\]]*\]|roll\(|i\s*[-+]\s*1\]|"
    r"enumerate\([^)]*prompt_logprobs\[1:|start=-1"
)
_DOUBLED = re.compile(r"\b([A-Za-z]{3,})[ ]?\1\b.*\b([A-Za-z]{2,})[ ]?\2\b")
SURE, SAID = 9.2, 7.4
SHIFTED = (
    "teacher and student are compared one place apart: prompt_logprobs[i] is the teacher's "
    "distribution of the token AT i, given those before it (so it is None at 0), and the student's "
    "logits[i] say the token BEHIND i. The student learns to say once more what it has just read"
)
SHIFT = (
    "compare logits[:, :-1] with the teacher's [:, 1:], and the mask as well; before the first "
    "step the divergence of the untouched student must be small and the next-token accuracy must "
    "not fall. Temperature, top-k and rate are not to blame"
)


def one_place_apart(beside: Beside, log: Log) -> Iterator[Finding]:
    """`prompt_logprobs` of a teacher, a student's logits, and no line that moves one of them."""
    teacher, student = beside.matching(_TEACHER), beside.matching(_STUDENT)
    if not teacher or not student or any(_MOVED.search(x.text) for x in _code(beside)):
        return
    doubled = beside.matching(_DOUBLED)
    told = [teacher[0].says, student[0].says, *([doubled[0].says] if doubled else [])]
    weight = SURE if doubled else SAID
    yield Finding(
        "teacher_one_place_on", weight, teacher[0], tuple(told), why=SHIFTED, advice=SHIFT
    )


def _code(beside: Beside) -> list:
    return [x for x in beside.words if "logits" in x.text or "logprob" in x.text or "lp" in x.text]
