"""New weights that reach one of several servers that sample."""

import re
from collections import defaultdict
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log

_SERVER = re.compile(
    r"(?:server|host|engine|replica|worker|url|addr(?:ess)?|instance|upstream|endpoint|backend|"
    r"rollout_?(?:rank|worker|server)|dp_?rank)(?:_?(?:id|idx|name|addr))?",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\|?(?:abs_?|mean_?)*(?:d_?log_?p\w*|(?:lp|log_?p(?:rob)?s?)_?(?:abs_?)?(?:diff|delta|gap)\w*|"
    r"(?:rollout_|mismatch_)?k[l3]|mismatch\w*)\|?",
    re.IGNORECASE,
)
_SENDS = re.compile(
    r"\b(?:post|put|request)\(.*?/(?:update_weights\w*|load_weights\w*|sync_weights\w*|"
    r"update_param\w*|reload_\w*|load_lora_adapter)\b"
)
_BALANCED = re.compile(r"^\s*server\s+[\w.-]+:\d+\b.*;")  # of nginx
_TO_THE_FIRST = re.compile(
    r"\b\w*(?:servers|urls|hosts|engines|backends|endpoints|replicas|clients)\[0\].*"
    r"(?:weights|sync|reload|lora)|(?:weights|sync|reload)\w*\(.*"
    r"\b(?:servers|urls|hosts|engines|backends|endpoints|replicas|clients)\[0\]"
)
_ONE_BY_ONE = re.compile(
    r"\bfor\s+\w+(?:,\s*\w+)*\s+in\s+.*(?:servers|urls|hosts|engines|backends|endpoints|replicas|"
    r"clients|addrs|workers)"
)
FEW, STAYS, GROWS = 3, 2.0, 4.0  # rows of a server; times its first row
ONE_OF_THEM = (
    "the trained weights reach {some} and not {others}: each of those goes on with the weights "
    "that it was started with, so that its part of the samples is of an ever older policy. All "
    "of them agree with the trainer at first, which no difference of hardware or kernels does"
)
BALANCED = (
    "new weights are sent through the address that spreads requests over several servers: one "
    "request reaches one of them, and the others go on with the weights that they were started with"
)
TO_EACH = (
    "send the weights to each server by its own address (or broadcast to all of them), and never "
    "through a balancer or to the first of a list; read the version of the weights back from each "
    "before the next samples; begin again from where all had the same weights"
)
Table = dict[str, list[tuple[Entry | Line, float]]]


def reaches_one(beside: Beside, log: Log) -> Iterator[Finding]:
    """A table by server in which some part from the trainer and others stay, or code that sends
    the weights once where there are several."""
    code = _in_code(beside)
    for table in _tables(log, beside):
        stays = [name for name, rows in table.items() if rows[-1][1] <= STAYS * rows[0][1]]
        grows = [name for name, rows in table.items() if _grows(rows)]
        if not stays or not grows or len(stays) + len(grows) < len(table):
            continue
        starts = [rows[0][1] for rows in table.values()]
        if max(starts) > STAYS * min(starts):
            continue
        proof = [_told(name, table[name]) for name in (stays[0], *grows[:2])] + code
        why = ONE_OF_THEM.format(some=", ".join(stays[:4]), others=", ".join(grows[:4]))
        at = table[grows[0]][-1][0]
        yield Finding("stale_sampler", 9.3, at, tuple(proof), why=why, advice=TO_EACH)
        return
    if len(code) < 2:
        return
    at = next(line for line in beside.words if code[0].startswith(f"{line.where} "))
    against = ("no table of the servers shows which of them part from the trainer",)
    yield Finding("stale_sampler", 7.0, at, tuple(code), against, why=BALANCED, advice=TO_EACH)


def _tables(log: Log, beside: Beside) -> Iterator[Table]:
    """Of each table that names a server and a difference: the differences by server."""
    entries = [entry for run in (*log.earlier, log) for entry in run.entries]
    parts = sorted((*entries, *(line for line in beside.words)), key=place)
    table: Table = defaultdict(list)
    columns: tuple[int, int, int] | None = None
    for part in parts:
        cells = [one for one in re.split(r"[\s,;]+|\s\|\s", part.text.strip("| ")) if one]
        if head := _columns(cells):
            columns, table = head, defaultdict(list)
        elif columns and len(cells) == columns[2] and _is_number(cells[columns[1]]):
            table[cells[columns[0]]].append((part, float(cells[columns[1]])))
        elif columns:
            yield from _whole(table)
            columns, table = None, defaultdict(list)
    yield from _whole(table)


def _whole(table: Table) -> Iterator[Table]:
    if len(table) > 1 and min(map(len, table.values())) >= FEW:
        yield table


def _columns(cells: list[str]) -> tuple[int, int, int] | None:
    """Where a head has the server and the difference, and how many cells it has."""
    server = next((n for n, one in enumerate(cells) if _SERVER.fullmatch(one)), None)
    apart = next((n for n, one in enumerate(cells) if _APART.fullmatch(one)), None)
    return None if server is None or apart is None else (server, apart, len(cells))


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"\d*\.?\d+(?:e-?\d+)?", cell) is not None


def _grows(rows: list[tuple[Entry | Line, float]]) -> bool:
    values = [value for _, value in rows]
    return values[-1] >= GROWS * values[0] > 0 and values[0] < values[len(values) // 2] < values[-1]


def _told(name: str, rows: list[tuple[Entry | Line, float]]) -> str:
    (first, low), (last, high) = rows[0], rows[-1]
    return f"{name}: {low:g} at {first.where}, {high:g} at {last.where}"


def _in_code(beside: Beside) -> list[str]:
    """What sends the weights once, and what shows several servers behind it."""
    if beside.matching(_ONE_BY_ONE):
        return []
    sends, first = beside.matching(_SENDS), beside.matching(_TO_THE_FIRST)
    servers = [line for line in beside.words if _BALANCED.search(line.text)]
    if first:
        return [first[0].says]
    if not sends or len(servers) < 2:
        return []
    shown = [line.says for line in (sends[0], *servers)]
    return [*shown[:2], f"{len(servers)} servers stand behind one address"]
