"""Weights are sent to the engine by named_parameters(), which has no buffers: a router's bias."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log

_PARAMETERS = re.compile(r"\bin\s+.*\bnamed_parameters\(|=\s*(?:dict|list)\(.*\bnamed_parameters\(")
_WHOLE = re.compile(r"\bnamed_buffers\(|\.buffers\(|\bstate_dict\(")
_SENDS = re.compile(
    r"update_weights?|load_weights|sync_weights?|broadcast|\bbucket|\bflush\(|push_weights|"
    r"weight[_ ]sync|send_weights|collective_rpc",
    re.IGNORECASE,
)
_MOVES = re.compile(
    r"(?:router[-_])?(?:enable[-_]expert[-_]bias|(?:expert_|score_)?bias[-_]update[-_](?:rate|speed))"
    r"\b(?!['\"]?\s*[:= ]\s*['\"]?(?:false|0(?:\.0*)?(?![\d.e])))|"
    r"e_score_correction_bias|expert_bias",
    re.IGNORECASE,
)
_STANDS = re.compile(
    r"bias[-_]update[-_](?:rate|speed)['\"]?\s*[:= ]\s*0(?:\.0*)?(?![\d.e])|"
    r"freeze_\w*router\w*|enable[-_]expert[-_]bias['\"]?\s*[:=]\s*false",
    re.IGNORECASE,
)
_LOADED = re.compile(r"\bload(?:ed|ing)\b.*?\b(?P<n>\d+) (?:tensors|weights|params)", re.IGNORECASE)
_SENT = re.compile(
    r"(?:\b|_)(?:updat\w+|sync\w*|sent|broadcast\w*|push\w*)\b.*?"
    r"\b(?P<n>\d+) (?:tensors|weights|params)",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\b(?P<name>\w*(?:log_?prob\w*|lp|logp)_?(?:abs_?)?diff\w*)\W{1,3}(?P<value>\d*\.\d+)"
)
FEW, GROWN = 3, 3.0  # values; times the first
LEFT_OUT = (
    "the weights go to the engine by named_parameters(), and the bias by which the router chooses "
    "its experts is a buffer, which is not among them: training moves it with every update (even "
    "at a learning rate of 0), and the engine keeps the first one, so that the two choose ever "
    "more different experts"
)
SEND_THEM = (
    "send the buffers too (named_buffers(), or what state_dict() holds) under the engine's name of "
    "the bias, and compare the number of tensors sent with the number that the engine loads; or "
    "let the bias stand in this training (an update rate of 0). Routing replay does not mend it"
)


def router_bias_left(beside: Beside, log: Log) -> Iterator[Finding]:
    """A loop over the parameters sends the weights, beside a router whose bias is updated."""
    lines = beside.words
    loop, sends = beside.matching(_PARAMETERS), beside.matching(_SENDS)
    moves = beside.matching(_MOVES)
    if not loop or not sends or not moves or beside.matching(_STANDS) or beside.matching(_WHOLE):
        return
    shown = [*_counts(lines), *_parts(log, lines)]
    proof = [line.says for line, _ in (loop, moves)]
    against = () if shown else ("no numbers of engine and trainer are read beside it",)
    key, weight = "stale_sampler", 9.2 if shown else 6.4
    of = (key, weight, loop[0], (*proof, *shown), against)
    yield Finding(*of, why=LEFT_OUT, advice=SEND_THEM)


def _counts(lines: list[Line]) -> list[str]:
    """More tensors are loaded than are sent."""
    loaded = next(((line, m) for line in lines if (m := _LOADED.search(line.text))), None)
    sent = next(((line, m) for line in lines if (m := _SENT.search(line.text))), None)
    if not loaded or not sent or int(loaded[1]["n"]) <= int(sent[1]["n"]):
        return []
    (line, all_of), (below, some) = loaded, sent
    missing = int(all_of["n"]) - int(some["n"])
    return [
        f"{line.where}: {all_of['n']} tensors are loaded; {below.where}: {some['n']} are sent, "
        f"{missing} fewer"
    ]


def _parts(log: Log, lines: list[Line]) -> list[str]:
    """A difference of log-probs that grows from its first value."""
    entries = [entry for run in (*log.earlier, log) for entry in run.entries]
    parts: list[Entry | Line] = sorted((*entries, *lines), key=place)
    rows = [(one, m) for one in parts if (m := _APART.search(one.text))]
    values = [float(m["value"]) for _, m in rows]
    if len(values) < FEW or max(values) < GROWN * values[0]:
        return []
    most = values.index(max(values))
    return [
        f"{rows[0][1]['name']} {values[0]:g} at {rows[0][0].where}, {values[most]:g} at "
        f"{rows[most][0].where}"
    ]
