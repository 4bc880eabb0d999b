"""The exam: every case can be planted and found again, and its judge cannot be deceived.

One case is trained here; `make oncall` trains all of them over three seeds, and is part of the
whole proof.
"""

import ast
import dataclasses
import itertools
import json
import random
import re
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from jsonschema import Draft202012Validator, validate
from whole import cases as some

from benchmarks.oncall import mends
from benchmarks.oncall.words import guessed
from course_utils import incidents
from course_utils.box.kind import OPEN, Kind
from course_utils.causes.kinds import CLASSES
from course_utils.commands.group import course
from course_utils.errors import BadRequest, GraderFailed
from course_utils.files.progress import Progress
from course_utils.oncall import (
    actions,
    attacks,
    cases,
    certificate,
    exam,
    folder,
    planting,
    report,
    spread,
    templates,
)
from course_utils.oncall import check as checks
from course_utils.oncall.actions import next_hint
from course_utils.oncall.bench import drawing, running, score, stored
from course_utils.oncall.binaries import HANDED_OVER, TENSORS
from course_utils.oncall.check import seeds_of, told
from course_utils.oncall.check_result import SCHEMA, result_of
from course_utils.oncall.declare import DoesNotFit, Edit, Verdict
from course_utils.oncall.diary import NAME as DIARY
from course_utils.oncall.diary import Diary, hints
from course_utils.oncall.judging import MORE_BYTES, MORE_CHARS, judged, new_bytes, refused
from course_utils.oncall.proving import (
    ENOUGH,
    UNDONE,
    Judge,
    VariantResult,
    fingerprint,
    undone_alone,
    variants,
)
from course_utils.oncall.rows import as_lines, as_rows
from course_utils.oncall.tensors import as_tensors
from course_utils.oncall.training import Trained, Trainers

ROOT = Path(__file__).parents[2]
CASES, TEMPLATES = cases.names(), templates.names()
SAMPLE = "stops_at_another_id" if "stops_at_another_id" in CASES else CASES[0]
QUICK = "resumed_under_other_names"


@pytest.fixture(scope="module")
def judge():
    with Trainers() as trainers:
        yield Judge(trainers)


def healthy_of(name, seed=0):
    return templates.healthy_files(templates.load(cases.load(name).template), seed)


# --- what is declared ---------------------------------------------------------------------------


def test_every_case_can_be_planted_in_every_part_and_stays_readable():
    read = set()  # most parts leave most files as they were
    for name in CASES:
        case, healthy = cases.load(name), healthy_of(name)
        assert case.id == name, name
        assert len(case.faults) == (3 if case.level == 3 else 1), name
        for variant, files in variants(case, healthy):
            assert set(files) == set(healthy), (name, variant)
            for path, text in files.items() - read:
                read.add((path, text))
                if path.endswith(".py"):
                    ast.parse(text)
                elif path.endswith(".jsonl"):
                    assert as_rows(text), name
                elif path.endswith(TENSORS):
                    assert as_tensors(text), name
                else:
                    yaml.safe_load(text)


def test_every_case_names_what_exists():
    for name in CASES:
        case = cases.load(name)
        for fault in case.faults:
            assert {fault.kind, *fault.also_kinds} <= set(CLASSES), name
            assert fault.threads and all("#" in thread for thread in fault.threads), name
            assert fault.title and fault.cause and fault.fix, name
        assert set(case.spares) <= set(attacks.STANDARD), name
        assert len(case.non_fixes) >= (2 if case.level < 3 else 0), name


def test_what_a_fault_names_as_enough_is_undone_alone():
    for name in CASES:
        case = cases.load(name)
        fault = case.faults[0]
        if len(case.faults) == 1 and fault.enough:
            tried = dict(undone_alone(case, healthy_of(name)))
            assert {f"{UNDONE}{n} undone{ENOUGH}" for n in fault.enough} <= set(tried), name


def test_each_edit_is_undone_alone_where_the_others_fit_without_it():
    case, healthy = cases.load(QUICK), healthy_of(QUICK)
    first, second = case.faults[0].plant
    on_top = Edit(second.file, second.new, f"{second.new}  # as it was")
    fault = dataclasses.replace(case.faults[0], plant=(first, second, on_top), enough=(3,))
    found = dict(undone_alone(dataclasses.replace(case, faults=(fault,)), healthy))
    assert list(found) == [f"{UNDONE}1 undone", f"{UNDONE}3 undone{ENOUGH}"]
    assert found[f"{UNDONE}3 undone{ENOUGH}"] == planting.changed(healthy, (first, second))


def test_a_part_of_a_fix_must_fail_unless_it_is_enough():
    sound, bad = Verdict((), {}), Verdict(("no",), {})
    for variant, wanted, other in (
        (f"{UNDONE}1 undone", bad, sound),
        (f"{UNDONE}1 undone{ENOUGH}", sound, bad),
    ):
        assert VariantResult(variant, 0, wanted).is_as_it_must_be
        assert not VariantResult(variant, 0, other).is_as_it_must_be
    assert VariantResult(f"{UNDONE}1 undone{ENOUGH}", 0, bad, is_like_fix=True).is_as_it_must_be


def test_no_ticket_names_a_class_or_a_file():
    for name in CASES:
        case = cases.load(name)
        said = case.ticket.lower()
        for fault in case.faults:
            assert fault.kind not in said and fault.kind.replace("_", " ") not in said, name
        assert not re.search(r"\w\.(py|yaml|jsonl)\b", said), name
        assert case.id not in json.dumps(folder.ticket_of(3, case.level, case).__dict__), name


def test_a_ticket_like_an_incident_has_its_facts_and_keeps_its_own():
    fault, told = cases.load("rate_of_sft").faults[0], incidents.declaration("rate_of_sft")
    assert (fault.kind, fault.cause) == (told["kind"], told["cause"])
    assert fault.fix and fault.fix != told["fix"]
    like = cases.load(cases.load("template_of_its_own").faults[0].like)
    assert like.title == cases.load("template_of_its_own").title


def test_a_link_ends_where_the_facts_are_given():
    for name in CASES:
        for fault in cases.load(name).faults:
            like = fault.like
            assert not like or like in incidents.names() or not cases.load(like).faults[0].like


def test_the_tickets_are_read_without_torch():
    code = "import sys; from course_utils.oncall import cases; list(map(cases.load, cases.names()))"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"], check=True)


def test_the_words_of_a_ticket_do_not_give_its_class_away():
    right, chance, num = guessed([cases.load(name) for name in CASES])
    assert right <= chance + 3 * max(chance, 1.0) ** 0.5, f"{right} of {num}, chance {chance}"


def test_no_two_cases_tell_the_same():
    tickets = [cases.load(name).ticket for name in CASES]
    assert len(set(tickets)) == len(tickets)


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_healthy_runs_of_a_template_were_measured_as_it_is(name):
    template = templates.load(name)
    kept = spread.load(template)
    assert not spread.is_stale(template)
    assert set(kept.values) == set(template.metrics)
    assert all(len(values) == len(spread.SEEDS) for values in kept.values.values())
    for metric, values in kept.values.items():
        worst, is_higher = spread.bound(template, kept, metric), template.metrics[metric].higher
        beyond = sum(value < worst if is_higher else value > worst for value in values)
        assert beyond <= spread.LEFT_OUT * len(values), metric
    refused, of = spread.refused_by_half(template, kept)
    assert refused <= 0.05 * of


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_declares_sizes_that_it_has(name):
    settings = yaml.safe_load(templates.healthy_files(templates.load(name), 0)["config.yaml"])
    assert set(templates.load(name).sizes) <= set(settings)
    assert {"seed", "learning_rate", "max_grad_norm"} <= set(settings)


# --- what is proved by training -----------------------------------------------------------------


def test_the_broken_run_fails(judge):  # that the fix passes is asked of a folder below
    case, healthy = cases.load(QUICK), healthy_of(QUICK)
    broken = planting.broken(case, healthy)
    assert not judge.verdict(case, broken, seed=1, healthy=healthy, handed=broken).is_healthy


def test_what_can_be_drawn_was_proved_as_it_is():
    proved = cases.proved()
    changed = [name for name in proved if proved[name] != fingerprint(cases.load(name))]
    assert changed == [], "make oncall"


def test_there_are_tickets_of_every_level_and_those_of_the_lesson():
    levels = Counter(cases.load(name).level for name in cases.proved())
    assert levels[1] >= 30 and levels[2] >= 15 and levels[3] >= 10
    assert {task.case for task in exam.TASKS.values()} <= set(cases.proved())


# --- the judge is not talked round --------------------------------------------------------------

NOTHING_TRAINED = f"LOG = []\nif True:\n{attacks.GIVE_BASE}"
ATTACKS = {
    "a log written by hand": NOTHING_TRAINED.replace("LOG = []", "LOG = [{'loss': 0.01}]"),
    "nothing at all": "pass\n",
    "it deletes what it was given": "import shutil\nshutil.rmtree('base')\nshutil.rmtree('data')\n",
    "it ends its process": "import os\nos._exit(0)\n",
    "it writes no tensors": "import os\nos.makedirs('run/model')\n"
    "open('run/model/model.safetensors', 'w').write('not tensors')\n",
    "it takes what lies beside it": "import shutil\nshutil.copytree('kept', 'run')\n",
    "it reads the course": "import course_utils.zoo\n",
    "it links to a file of this machine": "import os\nos.makedirs('run/model')\n"
    "os.symlink('/etc/passwd', 'run/model/model.safetensors')\n",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_train_py_that_trains_nothing_fails(name, judge):
    case, healthy = cases.load(QUICK), healthy_of(QUICK)
    files = healthy | {"train.py": ATTACKS[name]}
    broken = planting.broken(case, healthy)
    assert not judge.verdict(case, files, seed=1, healthy=healthy, handed=broken).is_healthy


def test_a_train_py_that_never_ends_is_ended(judge):
    files = healthy_of(QUICK) | {"train.py": "while True:\n    pass\n"}
    base = templates.load(cases.load(QUICK).template).base(0)
    assert judge.trainers.train(files, base, seed=0, cpu_s=2).code is None


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ({"code": None}, "far more time or memory"),
        ({"code": 1, "console": "ValueError: no\n\n"}, "ValueError: no"),
        ({"steps": 500}, "500 optimizer steps were taken"),
        ({"tokens": 10**9}, "times as many tokens"),
        ({}, "the run left no run/model/model.safetensors"),
    ],
)
def test_what_was_counted_outweighs_what_was_made(work, said):
    template = templates.load(cases.load(QUICK).template)
    kept = spread.load(template)
    trained = Trained(**{"code": 0, "steps": kept.steps, "tokens": kept.tokens} | work)
    verdict = judged(template, kept, trained, template.base(0))
    assert not verdict.is_healthy and said in verdict.problems[0]


def test_a_base_serves_no_other_seed():
    """What was trained beforehand, from the base that was handed out, fits no other."""
    for name in TEMPLATES:
        template = templates.load(name)
        weights = [template.base(seed)["model.safetensors"] for seed in (0, 1)]
        assert weights[0] != weights[1] and template.base(0)["model.safetensors"] == weights[0]


def changed(files, **changes):
    """The files with keys of config.yaml changed."""
    settings = yaml.safe_load(files["config.yaml"]) | changes
    return files | {"config.yaml": yaml.safe_dump(settings)}


def with_rows(files, change):
    (name,) = (path for path in files if path.endswith(".jsonl"))
    return files | {name: as_lines(change(as_rows(files[name])))}


REFUSED = {
    "more steps": lambda files: changed(files, max_steps=10_000),
    "larger batches": lambda files: changed(files, batch_size=64),
    "a larger adapter": lambda files: changed(files, lora_r=64),
    "another base": lambda files: changed(files, model="elsewhere"),
    "no settings": lambda files: files | {"config.yaml": "- 1\n"},
    "broken settings": lambda files: files | {"config.yaml": "a: [1\n"},
    "a file is gone": lambda files: {k: v for k, v in files.items() if k != "data.py"},
    "half of the rows": lambda files: with_rows(files, lambda rows: rows[::2]),
    "rows of one's own": lambda files: with_rows(
        files, lambda rows: [*rows, {"question": "1+1=", "answer": "2"}]
    ),
    "other answers": lambda files: with_rows(
        files, lambda rows: [row | {"answer": "7"} for row in rows]
    ),
    "rows that are none": lambda files: files | {"data/train.jsonl": "[1]\n"},
    "weights in the source": lambda files: (
        files | {"train.py": files["train.py"] + f"W = '{'x' * 10_000}'\n"}
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_changes_the_run_is_refused_before_it_runs(name):
    case, healthy = cases.load(SAMPLE), healthy_of(SAMPLE)
    handed = planting.broken(case, healthy)
    template = templates.load(case.template)
    assert refused(template, healthy, handed, REFUSED[name](healthy))
    assert not refused(template, healthy, handed, healthy)


def test_sound_rows_that_look_faulty_may_be_mended_and_copies_left_out():
    template = templates.load(cases.load(SAMPLE).template)
    settings = {"config.yaml": "a: 1\n"}

    def problems(was, given, now):
        files = [settings | {"data/a.jsonl": as_lines(rows)} for rows in (was, given, now)]
        return refused(template, *files)

    healthy = [{"reply": str(n), "n": n} for n in range(0, 800, 8)]  # of one digit in two rows
    cut = [row | {"reply": row["reply"][:1]} for row in healthy]
    mended = [row | {"reply": f"{row['n']} of mine"} for row in healthy]
    assert problems(healthy, cut, mended) == []
    repeated = [*healthy[:4] * 10, *cut[4:]]
    assert problems(repeated, repeated, [*healthy[:4], *cut[4:]]) == []
    assert problems(healthy, [*healthy[:50], *cut[50:]], mended)


# --- folder, report, check ----------------------------------------------------------------------


def entry_of(case, places, number=0):
    """A right entry for one fault of a case, whose places are given."""
    place = places[number][0]
    where = str(sorted(place.lines)[0]) if place.lines else "rows"
    return {"file": place.file, "where": where, "class": case.faults[number].kind}


def test_a_right_report_on_each_case_is_right_and_an_empty_one_is_not():
    for name in CASES:
        case, healthy = cases.load(name), healthy_of(name)
        places = planting.places(case, healthy)
        entries = [entry_of(case, places, at) for at in range(len(case.faults))]
        assert report.judge(case, places, yaml.safe_dump({"faults": entries})).is_right, name
        assert report.judge(case, places, report.form(len(case.faults))).problem, name
        wrong = [entry | {"file": "elsewhere.py"} for entry in entries]
        assert report.judge(case, places, yaml.safe_dump({"faults": wrong})).places == 0, name


@pytest.mark.parametrize(
    "text",
    [
        *("", "faults: 3", "faults: [1]", "- a", "a: [", "faults:\n  - class: no_such"),
        "\0",
        "[" * 2000,
        "a: 1\n" * 10_000,
        "a: &a [1, 1]\nb: &b [*a, *a]\nfaults:\n  - file: *b\n",
    ],
)
def test_a_report_that_cannot_be_read_is_said_to_be_so(text):
    case, healthy = cases.load(SAMPLE), healthy_of(SAMPLE)
    judged = report.judge(case, planting.places(case, healthy), text)
    assert judged.problem and not judged.is_right
    assert "\n\n" not in report.message(judged)


def test_one_entry_counts_for_one_fault():
    case = next(c for c in map(cases.load, CASES) if c.level == 3)
    healthy = healthy_of(case.id)
    places = planting.places(case, healthy)
    entry = entry_of(case, places)
    judged = report.judge(case, places, yaml.safe_dump({"faults": [entry]}))
    assert (judged.places, judged.classes) == (1, 1)
    entries = [entry_of(case, places, at) for at in (2, 0, 1)]
    assert report.judge(case, places, yaml.safe_dump({"faults": entries})).is_right


def test_a_list_of_guesses_is_no_place():
    case, healthy = cases.load(SAMPLE), healthy_of(SAMPLE)
    places = planting.places(case, healthy)
    [place] = places[0]
    everything = " ".join(str(number) for number in range(1, 200))
    assert not planting.is_at(place, place.file, everything)
    many = {"faults": [entry_of(case, places)] * 9}
    assert report.judge(case, places, yaml.safe_dump(many)).problem


def functions_of(source):
    return [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("name", some(CASES, kind=lambda name: cases.load(name).template))
def test_the_first_functions_of_the_right_file_are_no_place(name):
    case, healthy = cases.load(name), healthy_of(name)
    handed = planting.broken(case, healthy)
    for place in itertools.chain(*planting.places(case, healthy)):
        if place.file.endswith(".py") and len(named := functions_of(handed[place.file])) > 3:
            for many in (4, 8):
                assert not planting.is_at(place, place.file, " ".join(named[:many]))


def test_every_right_report_that_others_wrote_names_one_thing_in_what_colleagues_wrote():
    due = (mend for mend in mends.kept()[1] if mend.must_be_solved)
    entries = (one for mend in due for one in mend.reported)
    for one in (one for one in entries if not one["file"].endswith(HANDED_OVER)):
        where = str(one["where"]).lower()
        assert len(set(planting.WORD.findall(where)) - planting.FILLERS) <= 1


def test_draws_are_the_same_for_all_and_reach_every_case():
    for level in folder.LEVELS:
        known = {name for name in cases.proved() if cases.load(name).level == level}
        drawn = {folder.draw(seed, level).id for seed in range(60 * len(known))}
        assert drawn == known
    assert folder.draw(5, 1) is folder.draw(5, 1)
    with pytest.raises(BadRequest):
        folder.draw(5, 4)


def test_an_edit_that_fits_twice_or_never_is_refused():
    for old in ("a", "c"):
        with pytest.raises(DoesNotFit):
            Edit("x", old, "b").apply({"x": "a a"})


def test_the_seeds_of_a_check_are_not_those_that_were_handed_out():
    for seed in range(20):
        ticket = folder.ticket_of(seed, 1)
        assert folder.data_seed(ticket) not in islice(seeds_of(ticket), checks.MOST_SEEDS)


@pytest.fixture(scope="module")
def ticket_folder(tmp_path_factory, judge):
    """A ticket as it is handed out."""
    path = tmp_path_factory.mktemp("oncall") / "ticket"
    case = cases.load(QUICK)
    folder.write(path, folder.ticket_of(11, case.level, case), judge.trainers)
    return path


def test_a_folder_holds_a_run_and_no_answer(ticket_folder):
    names = {path.relative_to(ticket_folder).as_posix() for path in ticket_folder.rglob("*.*")}
    assert {
        "ticket.md",
        "train.py",
        "config.yaml",
        "report.yaml",
        "base/model.safetensors",
    } <= names
    assert {"run/console.log", "run/trainer_state.json"} <= names
    case = cases.load(QUICK)
    for path in ticket_folder.rglob("*.*"):
        if path.suffix in (".md", ".json", ".py", ".log"):
            text = path.read_text()
            assert case.id not in text and case.faults[0].cause not in text
    state = json.loads((ticket_folder / "run" / "trainer_state.json").read_text())
    assert state["log_history"]


def test_a_folder_is_judged_again_and_again_until_it_is_solved(
    ticket_folder, judge, tmp_path, monkeypatch
):
    monkeypatch.setattr(actions, "Trainers", lambda: nullcontext(judge.trainers))
    monkeypatch.setenv("COURSE_ROOT", str(tmp_path))
    for name in ("solutions", "notebooks"):
        (tmp_path / name).mkdir()
    ticket = folder.read(ticket_folder)
    case, (healthy, handed) = folder.case_of(ticket), folder.handed_out(ticket)
    untouched = actions.check_ticket(ticket_folder)
    assert not untouched.is_fixed and not untouched.reported.is_right
    for name, text in healthy.items():
        (ticket_folder / name).write_text(text)
    entry = {"faults": [entry_of(case, folder.drawn(ticket).places)]}
    (ticket_folder / "report.yaml").write_text(yaml.safe_dump(entry))
    said = []
    solved = actions.check_ticket(ticket_folder, say=said.append)
    assert solved.is_solved and len(said) == checks.NUM_SEEDS, solved
    assert case.faults[0].cause.split()[0] in told(solved)
    assert case.faults[0].kind not in told(untouched)
    noted = Diary(ticket_folder / DIARY).read()["checks"]
    assert [one["solved"] for one in noted] == [False, True]
    progress = Progress(tmp_path / "notebooks" / ".progress.json")
    assert progress.exercise(f"oncall.2.{ticket.seed}")["best"] == 2
    for name, text in handed.items():
        (ticket_folder / name).write_text(text)


class Draws:
    """A judge that trains nothing: the share right of each run, seed after seed."""

    def __init__(self, ticket, healthy_files, *, may_be_chance=False, strays="", **shares):
        self.healthy, self.may_be_chance, self.said = healthy_files, may_be_chance, strays
        self.held = []  # the seeds on which weights were held against the healthy ones
        self.shares = {  # by seed
            of: dict(zip(seeds_of(ticket), values, strict=False)) for of, values in shares.items()
        }

    def verdict(self, case, files, *, seed, healthy, handed):
        share = self.shares["healthy" if files == self.healthy else "fixed"][seed]
        of = templates.load(case.template).metrics
        problems = () if share > 0.5 else ("too few are right",)
        return Verdict(problems, dict.fromkeys(of, share), may_be_chance=self.may_be_chance)

    def strays(self, case, mended, *, seed, healthy):
        self.held.append(seed)
        return self.said


@pytest.fixture
def quick_ticket():
    ticket = folder.ticket_of(11, 2, cases.load(QUICK))
    return ticket, *folder.handed_out(ticket)


COUNTING = """
import torch
from course_utils import zoo
from course_utils.oncall import box_side

counted = box_side.count()
policy, teacher = (zoo.load_policy("tiny", device="cpu") for _ in range(2))
teacher.requires_grad_(False)
ids = torch.ones(2, 5, dtype=torch.long)
teacher(ids), policy(ids)
with torch.no_grad():
    policy(ids)
print(counted["tokens"])


class Hidden(torch.nn.Module):
    def forward(self, ids):
        models[0](ids)  # neither a part of this module, nor in what it returns


models = [policy]
Hidden()(ids)
print(counted["tokens"])
"""


def test_the_tokens_of_a_frozen_teacher_do_not_count_however_it_is_run():
    command = [sys.executable, "-c", COUNTING]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["10", "20"]


def test_the_place_of_one_fault_is_none_of_another():
    names = ("a", "b", "c")
    planted = tuple(
        (planting.Place("train.py", frozenset({10 * n}), frozenset({name})),)
        for n, name in enumerate(names, start=1)
    )
    text = [f"x{n} = 0" for n in range(40)]
    healthy, handed, fixed = (list(text) for _ in range(3))
    for n, name in enumerate(names, start=1):
        healthy[10 * n - 1], handed[10 * n - 1] = f"{name} = 1", f"{name} = 2"
        fixed[10 * n - 1] = f"{name} = 3 - 2"  # each mended where it is, and otherwise
    files = [{"train.py": "\n".join(lines)} for lines in (healthy, handed, fixed)]
    found = planting.fixed_elsewhere(planted, *files)
    for own, line in zip(found, (10, 20, 30), strict=True):
        at = [n for n in (10, 20, 30) if any(planting.is_at(p, "train.py", str(n)) for p in own)]
        assert at == [line]


def test_a_key_of_two_letters_is_a_place():
    (place,) = planting._changes("config.yaml", "lr: 1.0e-4\n", "lr: 1.0e-2\n")
    assert planting.is_at(place, "config.yaml", "lr")


class Notes:
    """Trainers that train nothing, and keep what they were asked to train."""

    def __init__(self):
        self.asked = []

    def train(self, files, base, **settings):
        self.asked.append(files)
        return Trained(code=1, console="not trained")


def of_each_template():
    found = {cases.load(name).template: name for name in cases.proved()}
    return [cases.load(name) for name in found.values()]


@pytest.mark.parametrize("case", some(of_each_template()), ids=lambda case: case.template)
def test_the_healthy_files_of_any_ticket_are_trained(case):
    """Under the names that this ticket has for them."""
    ticket, trainers = folder.ticket_of(40, case.level, case), Notes()
    healthy, handed = folder.handed_out(ticket)
    assert healthy.keys() != healthy_of(case.id).keys()
    found = Judge(trainers).verdict(case, healthy, seed=1, healthy=healthy, handed=handed)
    assert trainers.asked == [healthy], found.problems


def test_a_fix_may_add_a_module_and_nothing_else(quick_ticket, tmp_path):
    _, healthy, handed = quick_ticket
    for name, text in {**healthy, "losses_here.py": "X = 1\n", "notes.txt": "not read"}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    fixed, template = folder.run_files(tmp_path, handed), templates.load(cases.load(QUICK).template)
    assert fixed == healthy | {"losses_here.py": "X = 1\n"}
    assert refused(template, healthy, handed, fixed) == []
    outside = fixed | {"../losses.py": "X = 1\n"}
    assert "is no module of this run" in refused(template, healthy, handed, outside)[0]
    long = fixed | {"losses_here.py": "X = 1\n" * MORE_CHARS}
    assert "that were added" in refused(template, healthy, handed, long)[0]


def test_a_fix_that_carries_more_than_a_fix_needs_is_refused(quick_ticket):
    _, healthy, handed = quick_ticket
    template = templates.load(cases.load(QUICK).template)
    drawn = random.Random(0).randbytes(1200).hex()  # as weights are that a text replays
    packed = healthy | {"train.py": healthy["train.py"] + f'\nMOVES = "{drawn}"\n'}
    assert "bytes when it is compressed" in refused(template, healthy, handed, packed)[0]
    twice = healthy | {"train.py": healthy["train.py"] + "\n# said again\n" * 100}
    assert refused(template, healthy, handed, twice) == []


BY_OTHERS = [mend for mend in mends.kept()[1] if mend.is_right]


@pytest.mark.parametrize(
    "mend", some(BY_OTHERS, kind=lambda one: cases.load(one.case).template), ids=lambda m: m.case
)
def test_a_fix_by_another_author_carries_less_than_half_of_what_it_may(mend):
    handed, files = folder.handed_out(mend.ticket)[1], mend.files()
    if files is None:
        pytest.skip("the ticket is written in another way now")
    assert new_bytes(handed, files) < MORE_BYTES / 2


def test_a_healthy_run_that_is_not_healthy_is_not_held_against_a_fix(quick_ticket):
    ticket, healthy, handed = quick_ticket
    draws = Draws(ticket, healthy, healthy=[0.4] * 2, fixed=[0.8] * 2, strays="another way")
    found = checks.verdicts_on(ticket, fixed_otherwise(handed), lambda: draws)
    assert [one.problems for one in found] == [(), ()] and draws.held == []


def fixed_otherwise(handed):
    return handed | {"train.py": handed["train.py"] + "\n# fixed\n"}


def test_a_seed_on_which_the_healthy_run_is_refused_is_not_held_against_a_fix(quick_ticket):
    ticket, healthy, handed = quick_ticket
    draws = Draws(ticket, healthy, healthy=[0.4, 0.9, 0.9], fixed=[0.4, 0.8, 0.7])
    found = checks.verdicts_on(ticket, fixed_otherwise(handed), lambda: draws)
    assert [one.is_healthy for one in found] == [True, True]
    assert {share for one in found for share in one.measured.values()} == {0.8, 0.7}


def test_a_seed_on_which_the_healthy_run_passes_is_held_against_a_fix(quick_ticket):
    ticket, healthy, handed = quick_ticket
    draws = Draws(ticket, healthy, healthy=[0.9, 0.6, 0.9], fixed=[0.8, 0.4, 0.7])
    found = checks.verdicts_on(ticket, fixed_otherwise(handed), lambda: draws)
    assert [one.is_healthy for one in found] == [True, False]
    outcome = checks.Outcome(
        cases.load(QUICK),
        found[-1].problems,
        tuple(one.measured for one in found),
        report.Judged(1),
    )
    assert "0.8, 0.4 (healthy: at least" in told(outcome)


@pytest.mark.parametrize("last, is_fixed", [(0.8, True), (0.4, False)])
def test_what_may_be_chance_is_asked_of_a_third_seed(quick_ticket, last, is_fixed):
    ticket, healthy, handed = quick_ticket
    draws = Draws(ticket, healthy, healthy=[0.9] * 3, fixed=[0.8, 0.4, last], may_be_chance=True)
    found = checks.verdicts_on(ticket, fixed_otherwise(handed), lambda: draws)
    assert [one.is_healthy for one in found] == [True, False, is_fixed]


def test_healthy_results_of_weights_that_went_another_way_are_not_a_fix(quick_ticket):
    ticket, healthy, handed = quick_ticket
    draws = Draws(ticket, healthy, healthy=[0.9] * 2, fixed=[0.8] * 2, strays="another way")
    found = checks.verdicts_on(ticket, fixed_otherwise(handed), lambda: draws)
    assert [one.problems for one in found] == [(), ("another way",)]


def test_weights_are_held_against_healthy_ones_on_a_seed_on_which_those_are_healthy(quick_ticket):
    """A hand-in that won stood on a seed on which the healthy run is just below a bound."""
    ticket, healthy, handed = quick_ticket
    draws = Draws(ticket, healthy, healthy=[0.9, 0.4], fixed=[0.8] * 2, strays="another way")
    found = checks.verdicts_on(ticket, fixed_otherwise(handed), lambda: draws)
    assert found[-1].problems == ("another way",) and draws.held == [next(seeds_of(ticket))]


def test_a_ticket_that_no_seed_can_judge_is_no_ones_wrong_answer(quick_ticket):
    ticket, healthy, handed = quick_ticket
    never = [0.4] * checks.MOST_SEEDS
    draws = Draws(ticket, healthy, healthy=never, fixed=never)
    with pytest.raises(GraderFailed, match="cannot be judged on this machine"):
        checks.verdicts_on(ticket, fixed_otherwise(handed), lambda: draws)


def reported_places(ticket, fixed, file, where, *, is_fixed=True):
    kind = folder.case_of(ticket).faults[0].kind
    entry = {"file": file, "where": where, "class": kind}
    text = yaml.safe_dump({"faults": [entry]})
    return checks.reported_on(ticket, fixed, text, lambda: is_fixed).places


def test_a_fix_elsewhere_is_a_place_once_the_run_is_healthy(quick_ticket):
    ticket, healthy, handed = quick_ticket
    fixed = fixed_otherwise(handed)
    last = f"line {len(handed['train.py'].splitlines())}"
    assert reported_places(ticket, fixed, "train.py", last) == 1
    assert reported_places(ticket, fixed, "train.py", last, is_fixed=False) == 0
    assert reported_places(ticket, fixed, "config.yaml", "1") == 0
    in_its_place = fixed_otherwise(healthy)  # so what is changed elsewhere has fixed nothing
    assert reported_places(ticket, in_its_place, "train.py", last) == 0


def test_a_report_on_unchanged_files_is_not_judged(quick_ticket):
    ticket, _, handed = quick_ticket
    text = yaml.safe_dump({"faults": [entry_of(cases.load(QUICK), folder.drawn(ticket).places)]})
    judged = checks.reported_on(ticket, handed, text, lambda: True)
    assert judged.problem == checks.NOT_YET and not judged.places and not judged.classes
    assert checks.reported_on(ticket, handed, text, lambda: True, report_alone=True).is_right


@pytest.mark.parametrize("is_fixed", [True, False])
def test_nothing_of_a_report_but_its_form_is_told_before_the_run_is_fixed(quick_ticket, is_fixed):
    ticket, healthy, handed = quick_ticket
    share = [0.8 if is_fixed else 0.1] * checks.MOST_SEEDS
    draws = Draws(ticket, {}, fixed=share, healthy=[0.9] * checks.MOST_SEEDS)
    draws.healthy = healthy
    entry = entry_of(cases.load(QUICK), folder.drawn(ticket).places)
    told_of = {}
    for said, changes in (("right", {}), ("wrong", {"where": "1", "class": "template"})):
        text = yaml.safe_dump({"faults": [entry | changes]})
        fixed = fixed_otherwise(handed)
        outcome = checks.judged(ticket, fixed, text, lambda: draws)
        assert outcome.is_fixed == is_fixed
        told_of[said] = (told(outcome), outcome.to_dict())
    assert (told_of["right"] == told_of["wrong"]) == (not is_fixed)
    if not is_fixed:
        assert f"report: {checks.NOT_YET}" in told_of["right"][0]
    unreadable = checks.judged(ticket, fixed, "faults: 3", lambda: draws)
    assert "`faults:`" in told(unreadable)


def test_a_folder_that_is_no_ticket_is_told_so(tmp_path):
    with pytest.raises(BadRequest, match="is no ticket"):
        folder.read(tmp_path)
    (tmp_path / folder.KEPT).write_text('{"seed": "x"}')
    with pytest.raises(BadRequest, match="damaged"):
        folder.read(tmp_path)
    fields = dataclasses.asdict(folder.ticket_of(1, 1)) | {"mark": "0" * 20}
    (tmp_path / folder.KEPT).write_text(json.dumps(fields))
    with pytest.raises(BadRequest, match="another version"):
        folder.case_of(folder.read(tmp_path))


def test_a_ticket_whose_files_would_be_written_otherwise_now_is_told_so(quick_ticket):
    ticket, _, handed = quick_ticket
    as_now = dataclasses.replace(ticket, handed=folder.digest(handed))
    assert folder.handed_out(as_now)[1] == handed
    with pytest.raises(BadRequest, match="another version"):
        folder.handed_out(dataclasses.replace(ticket, handed="0" * 16))


def test_hints_go_from_a_thread_to_lines(tmp_path):
    case, healthy = cases.load(SAMPLE), healthy_of(SAMPLE)
    given = hints(case, planting.places(case, healthy))
    assert len(given) == 3 * len(case.faults)
    assert "#" in given[0] and "lines" in given[2] and case.faults[0].kind not in " ".join(given)
    diary = Diary(tmp_path / "diary.json")
    assert [diary.take_hint(), diary.take_hint()] == [1, 2]
    (tmp_path / "diary.json").write_text("[")
    assert diary.take_hint() == 1


def test_asking_after_the_last_hint_counts_no_hint(quick_ticket, tmp_path):
    ticket, _, _ = quick_ticket
    (tmp_path / folder.KEPT).write_text(json.dumps(dataclasses.asdict(ticket)))
    num = len(hints(folder.case_of(ticket), folder.drawn(ticket).places))
    said = [next_hint(tmp_path) for _ in range(num + 2)]
    assert said[num - 1].startswith(f"hint {num} of {num}") and "no more" in said[-1]
    assert Diary(tmp_path / DIARY).read()["hints"] == num


@pytest.fixture
def solved_folder(quick_ticket, tmp_path, monkeypatch):
    """A solved ticket; the runs are healthy, and none is trained."""
    ticket, healthy, _ = quick_ticket
    entry = yaml.safe_dump({"faults": [entry_of(cases.load(QUICK), folder.drawn(ticket).places)]})
    kept = {folder.KEPT: json.dumps(dataclasses.asdict(ticket)), report.NAME: entry}
    for name, text in (healthy | kept).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    draws = Draws(ticket, {}, fixed=[0.8] * checks.MOST_SEEDS, healthy=[0.9] * checks.MOST_SEEDS)
    monkeypatch.setattr(actions, "_judging", lambda: nullcontext(lambda: draws))
    return tmp_path


def oncall_command(*arguments):
    return CliRunner().invoke(course, ["oncall", *map(str, arguments)])


def test_a_certificate_is_judged_again_by_anybody(solved_folder, quick_ticket):
    made = solved_folder / "certificate.json"
    assert oncall_command("certificate", solved_folder, "--out", made).exit_code == 0
    again = oncall_command("verify", made)
    assert again.exit_code == 0 and "seed 11, level 2: solved" in again.output
    data = json.loads(made.read_text())
    assert data["digest"] in again.output
    changed = [name for name, text in quick_ticket[1].items() if quick_ticket[2][name] != text]
    assert list(data["tickets"][0]["files"]) == changed
    assert oncall_command("certificate", solved_folder, "--out", made).exit_code == 2
    assert json.loads(made.read_text()) == data


def test_a_module_that_a_solver_added_is_judged_again_with_the_rest(solved_folder, quick_ticket):
    (solved_folder / "losses_here.py").write_text("X = 1\n")
    made = solved_folder / "certificate.json"
    oncall_command("certificate", solved_folder, "--out", made)
    seen = []

    class Notes(Draws):
        def verdict(self, case, files, **of):
            seen.append(files)
            return super().verdict(case, files, **of)

    ticket = quick_ticket[0]
    draws = Notes(ticket, quick_ticket[1], fixed=[0.8] * 8, healthy=[0.9] * 8)
    [(_, outcome)] = certificate.judged_again(certificate.read(made)[1], lambda: draws)
    assert outcome.is_solved
    assert seen[0] == folder.run_files(solved_folder, quick_ticket[2])
    assert "losses_here.py" in seen[0]


def test_a_certificate_cannot_add_what_a_fix_may_not(solved_folder, quick_ticket):
    made = solved_folder / "certificate.json"
    oncall_command("certificate", solved_folder, "--out", made)
    [entry] = certificate.read(made)[1]
    entry.files["../elsewhere.py"] = "X = 1\n"
    fixed = quick_ticket[2] | entry.files
    template = templates.load(cases.load(QUICK).template)
    assert "is no module" in refused(template, quick_ticket[1], quick_ticket[2], fixed)[0]


@pytest.mark.parametrize("key, value", [("measured", []), ("files", {}), ("report", "")])
def test_a_certificate_that_was_changed_is_refused(solved_folder, key, value):
    made = solved_folder / "certificate.json"
    oncall_command("certificate", solved_folder, "--out", made)
    data = json.loads(made.read_text())
    data["tickets"][0][key] = value
    made.write_text(json.dumps(data))
    refused = oncall_command("verify", made)
    assert refused.exit_code == 2 and "was changed" in refused.output
    data["digest"] = certificate._digest(data)  # a forger can write it, and is judged
    made.write_text(json.dumps(data))
    forged = oncall_command("verify", made)
    assert forged.exit_code == (0 if key == "measured" else 1)


def test_no_certificate_is_written_of_what_is_not_solved(solved_folder):
    (solved_folder / report.NAME).write_text("faults: []")
    refused = oncall_command("certificate", solved_folder, "--out", solved_folder / "c.json")
    assert refused.exit_code == 2 and "is not solved" in refused.output
    assert not (solved_folder / "c.json").exists()


def test_a_check_as_json_has_the_form_of_its_schema(solved_folder):
    Draft202012Validator.check_schema(SCHEMA)
    for name, code in ((None, 0), ("report.yaml", 1)):
        if name:
            (solved_folder / name).unlink()
        said = oncall_command("check", "--json", solved_folder)
        told = json.loads(said.stdout)
        validate(told, SCHEMA)
        assert said.exit_code == code and told["solved"] == (code == 0)
        assert told["level"] == 2 and told["looks"] is None and told["seconds"] >= 0
        values = {value for one in told["measured"] for value in one.values()}
        assert values == {0.8} and len(told["measured"]) == checks.NUM_SEEDS
        assert bool(told["report"]) == (code == 1)


def test_a_value_that_json_does_not_have_is_null():
    outcome = checks.Outcome(cases.load(QUICK), ("no",), ({"a": float("nan")},), report.Judged(1))
    assert result_of(outcome, seconds=0.0, looks=None)["measured"] == [{"a": None}]


# --- the bench ----------------------------------------------------------------------------------


def test_a_bench_goes_on_where_it_was_and_shows_no_answer(tmp_path, judge):
    secret = tmp_path / "seed"
    secret.write_text("5")
    look = "test ! -e .oncall.json && test -s ticket.md && touch new"
    if judge.trainers.kind.has_walls:
        look += f" && test ! -s {secret}"
        look += f' && test -z "$(ls {templates.FOLDER.parent})" && ! touch {ROOT}/new'
    protocol = stored.Protocol(("sh", "-c", look), (1,), 1, 20.0, False, drawing.seed_mark(5))
    out = tmp_path / "out"
    first = list(running.scores(protocol, 5, out, judge.trainers, hidden=(secret,)))
    with (out / stored.RESULTS).open("a") as file:
        file.write('\n{"name": "1.2", "lev')  # a crash
    again = list(running.scores(protocol, 5, out, judge.trainers))
    assert again == first and len(first) == 1
    assert not first[0].fixed and first[0].faults == 1 and first[0].ended == "code 0"
    assert score.table(first).rows[-1][0] == "all"
    other = dataclasses.replace(protocol, limit_s=30.0)
    with pytest.raises(BadRequest, match="another command, seed or limit"):
        stored.StoredScores(out, other)


def test_a_bench_takes_no_case_twice():
    drawn = [folder.case_of(ticket).id for _, ticket in drawing.tickets(9, (1, 2, 3), 999)]
    assert sorted(drawn) == sorted(cases.proved())


@pytest.mark.parametrize("asked", [(), ("--network",)])
def test_a_program_is_given_the_network_only_where_it_is_asked_for(asked, tmp_path, monkeypatch):
    lost = score.Score("1.1", 1, False, 0, 0, 1, False, 9.0, "code 0", "")
    monkeypatch.setattr(running, "scores", lambda *_, **__: [lost])
    monkeypatch.setattr("course_utils.commands.oncall.find_kind", lambda: Kind("bubblewrap", ""))
    monkeypatch.setattr("course_utils.oncall.training.Trainers", lambda _: nullcontext())
    done = oncall_command("bench", *asked, "--out", tmp_path, "--", "true")
    assert done.exit_code == 0, done.output
    told = json.loads((tmp_path / "result.json").read_text())["protocol"]
    assert told["network"] == bool(asked) and told["walls"] and not told["readable"]


def test_without_walls_a_bench_is_refused_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("course_utils.commands.oncall.find_kind", lambda: OPEN)
    done = oncall_command("bench", "--out", tmp_path / "out", "--", "touch", tmp_path / "ran")
    assert done.exit_code == 2 and "--without-walls" in done.output
    assert not any(tmp_path.iterdir())


def test_a_secret_seed_is_made_once(tmp_path):
    path = tmp_path / "deep" / "seed"
    assert drawing.secret_seed(path) == drawing.secret_seed(path)
    path.write_text("no number")
    with pytest.raises(BadRequest):
        drawing.secret_seed(path)


# --- the command --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("new", "--level", "4"),
        ("new", "--seed", "x"),
        ("new", "--lesson", "00"),
        ("new", "--class", "no_such"),
        ("new", "--seed", "1", "--lesson", "11"),
        ("check", "no-such-folder"),
        ("hint",),
    ],
)
def test_bad_input_ends_with_2_and_no_traceback(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(course, ["oncall", *arguments])
    assert done.exit_code == 2 and "Traceback" not in done.output


def test_a_folder_that_is_there_is_not_written_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    done = CliRunner().invoke(course, ["oncall", "new", "--seed", "1", "--out", "mine"])
    assert done.exit_code == 2 and "is there already" in done.output


def test_rows_survive_a_round_trip():
    rows = [{"question": "1+1=", "answer": str(random.Random(0).random())}]
    assert as_rows(as_lines(rows)) == rows
