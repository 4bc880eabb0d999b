"""A stop string that is a line's end, in the evaluation of a model that reasons first."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, plain_number
from course_utils.explain.paste.log import Log

_STOP = re.compile(
    r"\b(?:until|stop|stop_sequences|stop_strings)['\"]?\s*[:=]\s*\[?\s*(['\"])(?P<what>(?:\\n){1,2})\1"
)
_LIMIT = re.compile(r"\b(?:max_gen_toks|max_tokens|max_new_tokens)['\"]?\s*[:=]\s*(\d+)")
_MEAN = re.compile(r"\btokens?\b\W{1,3}(?:mean|avg|median|p50)\W{1,3}(?P<n>\d+(?:\.\d+)?)", re.I)
_ROWS = re.compile(r"(?P<n>\d+) rows\b")
_CLOSED = re.compile(r"(?:</think>|</reasoning>)['\"]?\W{1,3}(?P<n>\d+)\b")
_LONGER = re.compile(
    r"\b(?:response_length/mean|mean_length|completion_length)\W{1,3}(?P<n>\d+)|"
    r"\b(?P<m>\d[\d,]*) tokens,? finish_reason",
)
SMALL, FEW, TIMES = 0.05, 0.1, 5.0  # of a limit; of the rows; the length elsewhere
CUT = (
    "the evaluation cuts the replies, and the model is not at fault: {stop} is a stop string, and "
    "a model that reasons ends its first paragraph with it. Replies are {mean:g} tokens long where "
    "{limit} are allowed, and hardly any comes to its answer"
)
NO_STOP = (
    "set until (stop) to the end of a turn alone, or to an empty list, in the task; score again, "
    "and look at the lengths of the replies and at how many hold an answer; the checkpoint stays"
)


def reasoning_cut(beside: Beside, log: Log) -> Iterator[Finding]:
    """A stop of one or two line ends, short replies under a large limit, and few with an answer."""
    stop, limit, mean = (beside.first(one) for one in (_STOP, _LIMIT, _MEAN))
    if stop is None or limit is None or mean is None:
        return
    most, short = int(limit[1][1]), float(mean[1]["n"])
    shown = [*_few_answers(beside), *_longer_elsewhere(beside, log, short)]
    if short > SMALL * most or not shown:
        return
    proof = (
        f"{stop[0].where} says: {stop[1][0]}",
        f"{limit[0].where} says: {limit[1][0]}",
        mean[0].says,
        *shown,
    )
    why = CUT.format(stop=f"'{stop[1]['what']}'", mean=short, limit=most)
    yield Finding("evaluation_cuts_replies", 9.0, stop[0], proof, why=why, advice=NO_STOP)


def _few_answers(beside: Beside) -> Iterator[str]:
    """A line that counts rows, and how few of them close their reasoning or give an answer."""
    for line in beside.words:
        rows, closed = _ROWS.search(line.text), list(_CLOSED.finditer(line.text))
        if rows and closed and max(int(one["n"]) for one in closed) <= FEW * int(rows["n"]):
            told = ", ".join(one[0].strip() for one in closed)
            yield f"{line.where}: of {rows['n']} rows {told}"
            return


def _longer_elsewhere(beside: Beside, log: Log, short: float) -> Iterator[str]:
    """Replies of the same model that are far longer where nothing stops them."""
    parts: list[Line | Entry] = [*(line for line in beside.words), *log.entries]
    for part in parts:
        found = _LONGER.search(part.text)
        if found and plain_number(found["n"] or found["m"]) > TIMES * short:
            yield part.says
            return
