"""A program that knows no machine learning: it puts back what most tickets of this kind share.

    python -m benchmarks.oncall.restore_commonest seen OUT [--num N]    look at N tickets
    ... -- python -m benchmarks.oncall.restore_commonest fix SEEN       as a program of the bench
    python -m benchmarks.oncall.restore_commonest score SEEN [--write]  every case, offline

It compares tickets in the normal form of `normal_form`, so that names, order and layout do not
count. What nearly all other tickets say and this one does not is put back in the place of what only
this one says; the class is guessed by words in what changed. `score` calls a ticket fixed when the
facts that the fault changed are again those of the healthy run, whatever else was changed.
"""

import argparse
import ast
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

import yaml

from benchmarks.oncall.normal_form import CANON, SET, Fact, Function, read
from course_utils.oncall import cases, folder, judging, report, templates
from course_utils.oncall.declare import Files

PATH = Path(__file__).with_name("commonest.json")
WRITTEN = {folder.AS_THEY_ARE: "all alike", folder.VARIED: "each in its own way"}
RARE = 0.34  # of the other tickets, at most, have it
IMPORTS = ("import copy, json, math, os, random, re", "import torch")
SHARED = 0.5  # of the other tickets say it
MOST_CHANGES = 3
# The first rule that fits what changed names the class.
WORDS = (
    (r"warmup|scheduler|factor|/ \(", "schedule"),
    (r"learning_rate|lr=|rate", "rate"),
    (r"eos_token", "never_stops"),
    (r"entropy_coef", "collapse"),
    (r"max_grad_norm|requires_grad|clip_grad|parameters\(\)|no_grad", "no_grad"),
    (r"pad_token|resize|tie_word", "embeddings"),
    (r"lora|peft|Peft|adapter|merge|target_(modules|parameters)", "adapter"),
    (r"state_dict|sampler|ref_model|average|checkpoint", "stale_weights"),
    (r"chat_template|generation_prompt|role|SYSTEM|system", "template"),
    (r"max_length|IGNORED|labels", "labels"),
    (r"std\(|eps", "tiny_std"),
    (r"beta|chosen|rejected", "preference"),
    (r"fullmatch|startswith|int\(|gold", "reward_hacking"),
    (r"temperature|content|reward", "no_signal"),
    (r"logits\[|logp", "logp_mismatch"),
    (r"top_p|nan|mask", "bad_numbers"),
)


@dataclass(frozen=True)
class Seen:
    """What other tickets say, by kind of run.

    Attributes:
        counts: how many tickets say each fact.
        functions: by name, how many tickets have it in each shape, and its code there.
        shapes: how many rows of each shape there are.
        num: of tickets.
    """

    counts: Counter
    functions: dict[str, Counter]
    codes: dict[str, str]
    shapes: Counter
    num: int


def kind_of(files: Files) -> str:
    """The kind of a run, by the calls and the data that only it has."""
    text = "\n".join(files.values())
    marks = {
        "sft_lora": "SFTTrainer", "dpo_digits": "DPOTrainer", "reward_pairs": "RewardTrainer",
        "grpo_sums": "GRPOTrainer", "rl_loop": "multinomial", "export_serve": "target_parameters",
    }  # fmt: skip
    return next((kind for kind, mark in marks.items() if mark in text), "own_loop")


def shapes_of(files: Files) -> Counter:
    """How often each shape of a row occurs: digits are alike."""
    found: Counter = Counter()
    for name, text in files.items():
        if name.endswith(".jsonl"):
            found.update(map(_shape, text.splitlines()))
    return found


def _shape(line: str) -> str:
    return re.sub(r"\d+", lambda number: "9" * min(len(number[0]), 2), line)


def learn(tickets: list[Files]) -> dict[str, Seen]:
    grouped = defaultdict(list)
    for files in tickets:
        grouped[kind_of(files)].append(files)
    return {kind: _seen(listed) for kind, listed in grouped.items()}


def _seen(listed: list[Files]) -> Seen:
    counts: Counter = Counter()
    functions: dict[str, Counter] = defaultdict(Counter)
    codes: dict[str, str] = {}
    for files in listed:
        facts, own = read(files)
        counts.update({fact.says for fact in facts})
        for one in own:
            functions[one.name][one.shape] += 1
            codes.setdefault(one.shape, one.code)
    shapes = sum(map(shapes_of, listed), Counter())
    return Seen(counts, functions, codes, shapes, len(listed))


def restored(files: Files, seen: Seen, num_faults: int) -> tuple[Files, list[dict]]:
    """The files with what is commonest, and an entry of a report for each fault."""
    fixed, entries = _rows_restored(files, seen)
    facts, functions = read(files)
    own = {fact.says for fact in facts}
    rare = [fact for fact in facts if seen.counts[fact.says] <= max(1, RARE * seen.num)]
    missing = [
        (count / seen.num, says)
        for says, count in seen.counts.items()
        if count >= SHARED * seen.num and says not in own
    ]
    pairs = []
    for share, says in missing:
        alike, fact = max(
            ((_alike(fact, says), fact) for fact in rare), default=(0, None), key=lambda p: p[0]
        )
        share -= seen.counts[fact.says] / seen.num if fact else 0
        pairs.append((share * (0.3 + alike), share, says, fact if alike > 0.4 else None))
    pairs.sort(key=lambda pair: pair[0], reverse=True)
    taken: set[Fact] = set()
    for _, _, says, fact in pairs:
        if fact is None or fact in taken or len(entries) >= MOST_CHANGES:
            continue
        taken.add(fact)
        fixed = _put_back(fixed, fact, says)
        entries.append(_entry(fact, says))
    others = sorted(rare, key=lambda fact: seen.counts[fact.says])
    for fact in others:  # nothing of it is missing: something was added
        if len(entries) < num_faults and fact not in taken and not fact.says.startswith("def "):
            entries.append(_entry(fact, ""))
    return _functions_restored(fixed, files, functions, seen), entries[:num_faults]


def _functions_restored(fixed: Files, files: Files, functions: list[Function], seen: Seen) -> Files:
    """Each function in a shape that few tickets have is written as most have it."""
    names, pieces = _names_here(files), defaultdict(list)
    for one in functions:
        known = seen.functions.get(one.name)
        if not known or known[one.shape] > RARE * seen.num:
            continue
        shape = max(known, key=lambda shape: (known[shape], _typical(shape, seen)))
        if shape != one.shape:
            pieces[one.file].append((one, seen.codes[shape]))
    made = dict(fixed)
    for file, found in pieces.items():
        lines = files[file].splitlines()  # whole functions go first, and hold their settings
        for one, code in sorted(found, key=lambda pair: -pair[0].line):
            text = ast.unparse(_Named(names).visit(ast.parse(code)))
            lines[one.line - 1 : one.end] = text.splitlines()
        made[file] = "\n".join([*IMPORTS, *lines]) + "\n"
    return made


def _typical(shape: str, seen: Seen) -> float:
    lines = [line.strip() for line in shape.splitlines()]
    return sum(seen.counts[line] for line in lines) / len(lines)


def _alike(fact: Fact, says: str) -> float:
    if fact.about == SET:
        own, other = fact.says.partition(SET)[0], says.partition(SET)[0]
        return 1.0 if own == other and SET in says else 0.0
    if fact.about:
        return 1.0 if says.startswith(f"{fact.about.split()[1]}=") else 0.0
    return SequenceMatcher(None, fact.says, says, autojunk=False).ratio()


def _entry(fact: Fact, says: str) -> dict:
    changed = f"{fact.says} {says}"
    kind = next((kind for rule, kind in WORDS if re.search(rule, changed)), "adapter")
    return {"file": fact.file, "where": str(fact.line), "class": kind}


def _rows_restored(files: Files, seen: Seen) -> tuple[Files, list[dict]]:
    """Rows of a shape that no other ticket has are left out."""
    fixed, entries = dict(files), []
    for name, text in files.items():
        if name.endswith(".jsonl"):
            lines = text.splitlines()
            kept = [
                one for one in lines if seen.shapes[_shape(one)] > 0.001 * seen.num * len(lines)
            ]
            if len(kept) < len(lines) and len(lines) - len(kept) > 0.01 * len(lines):
                fixed[name] = "".join(f"{one}\n" for one in kept or lines)
                entries.append({"file": name, "where": "rows", "class": _kind_of_rows(text)})
    return fixed, entries


def _kind_of_rows(text: str) -> str:
    return "preference" if '"chosen"' in text else "bad_numbers"


def _put_back(files: Files, fact: Fact, says: str) -> Files:
    """The files with `says` where the fact stands, in the names of this ticket."""
    text = files[fact.file]
    names = _names_here(files)
    lines = text.splitlines()
    if (fact.about and fact.file == "config.yaml") or fact.about == SET:
        lines[fact.line - 1] = _set(lines[fact.line - 1], fact.says, says)
    elif fact.about:
        value = says.partition("=")[2]
        keyword = fact.about.split()[1]
        pattern = re.compile(rf"\b({keyword}(?:=|\": |\"\] = ))[^,\n]*(?:\([^\n]*\))?")
        window = range(max(0, fact.line - 2), min(len(lines), fact.line + 1))
        for at in window:
            if pattern.search(lines[at]):
                lines[at] = pattern.sub(lambda found: f"{found[1]}{value}", lines[at], count=1)
                break
    else:
        try:
            new = ast.unparse(_Named(names).visit(ast.parse(says.removesuffix(":"))))
        except SyntaxError:
            return files
        indent = re.match(r"\s*", lines[fact.line - 1])[0]
        lines[fact.line - 1 : fact.end] = [indent + one for one in new.splitlines()]
    return files | {fact.file: "\n".join(lines) + "\n"}


def _set(line: str, now: str, wanted: str) -> str:
    """A line `key: value` or `NAME = value` with the value that is wanted, scaled as it was."""
    mark = SET if SET in now else "="
    old, new = (one.partition(mark)[2].strip() for one in (now, wanted))
    head, middle, rest = re.match(r"(\s*\w+)(:| =) *([^#]*)", line).groups()
    try:
        written = float(rest.strip().strip("'\""))
        scaled = float(f"{written * float(new) / float(old):.9g}")
        new = repr(type(ast.literal_eval(new))(scaled))
    except (ValueError, ZeroDivisionError, SyntaxError):
        pass
    return f"{head}{middle} {new}"


def _names_here(files: Files) -> dict[str, str]:
    """How this ticket calls what the list of names knows."""
    words = {word for text in files.values() for word in re.findall(r"[A-Za-z_]\w*", text[:20_000])}
    known = {CANON[word]: word for word in sorted(words) if word in CANON}
    return {name: word for name, word in known.items() if name not in words}


class _Named(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node):
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        return node


def look(num: int, version: int) -> list[Files]:
    """The files of `num` tickets as they are handed out, of all levels."""
    found = []
    for number in range(num):
        ticket = folder.ticket_of(70_000 + number, 1 + number % 3 // 2, version=version)
        found.append(folder.handed_out(ticket)[1])
    return found


def is_mended(healthy: Files, handed: Files, fixed: Files) -> bool:
    """Whether what the fault changed is again as in the healthy run.

    Facts are compared, and rows; where the fault shows in neither, the text of what it changed.
    """
    try:
        was, given, now = (
            {f.says for f in read(one, is_masked=False)[0]} for one in (healthy, handed, fixed)
        )
    except (SyntaxError, ValueError, AttributeError):
        return False
    if (given - was) & now or (was - given) - now:
        return False
    is_seen = given != was
    for name, text in healthy.items():
        if name.endswith(".jsonl"):
            faulty = set(handed[name].splitlines()) - set(text.splitlines())
            is_seen |= bool(faulty)
            if faulty & set(fixed[name].splitlines()):
                return False
    changed = [name for name, text in healthy.items() if handed[name] != text]
    return is_seen or all(fixed[name] == healthy[name] for name in changed)


def score(seen: dict[str, Seen], version: int, names: list[str]) -> Counter:
    """How many of the cases are fixed, located, classified and solved."""
    total: Counter = Counter()
    for number, name in enumerate(names):
        case = cases.load(name)
        ticket = folder.ticket_of(90_000 + number, case.level, case, version=version)
        drawn = folder.drawn(ticket)
        template = templates.load(case.template)
        fixed, entries = restored(drawn.handed, seen[kind_of(drawn.handed)], len(case.faults))
        told = report.judge(case, drawn.places, yaml.safe_dump({"faults": entries}))
        refused = judging.refused(template, drawn.healthy, drawn.handed, fixed)
        mended = not refused and is_mended(drawn.healthy, drawn.handed, fixed)
        total.update(
            cases=1,
            faults=len(case.faults),
            fixed=mended,
            places=told.places,
            classes=told.classes,
            solved=mended and told.is_right,
        )
        print(name, "fixed" if mended else "-", told.places, told.classes, flush=True)
    print(dict(total))
    return total


def kept() -> dict[str, dict[str, dict[str, int]]]:
    """What was scored, by the way in which tickets are written and by how many were seen."""
    return json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}


def fix_here(seen: dict[str, Seen]) -> None:
    """Put back what is shared in the ticket of the current folder, and report it."""
    here = Path.cwd()
    paths = [*here.glob("*.py"), *here.glob("data/*.jsonl"), here / "config.yaml"]
    files = {path.relative_to(here).as_posix(): path.read_text() for path in paths}
    num_faults = Path("report.yaml").read_text().count("- file:")
    fixed, entries = restored(files, seen[kind_of(files)], num_faults)
    for name, text in fixed.items():
        Path(name).write_text(text)
    Path("report.yaml").write_text(yaml.safe_dump({"faults": entries}))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("seen", "fix", "score"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--num", type=int, default=140)
    parser.add_argument("--version", type=int, default=folder.VARIED)
    parser.add_argument("--write", action="store_true", help="keep the score for docs/oncall.md")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    if asked.what == "seen":
        asked.path.write_text(json.dumps(look(asked.num, asked.version)))
        return
    seen = learn(json.loads(asked.path.read_text()))
    if asked.what == "score":
        total = score(seen, asked.version, asked.names or cases.names())
        if asked.write:
            known, num = kept(), sum(one.num for one in seen.values())
            known.setdefault(WRITTEN[asked.version], {})[str(num)] = dict(total)
            PATH.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        return
    fix_here(seen)


if __name__ == "__main__":
    main()
