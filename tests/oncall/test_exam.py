"""The exam's folders, answers and sheet; only a stand-in is trained here."""

import ast
from contextlib import suppress

import pytest

from course_utils.checks.declare import TODO
from course_utils.checks.time_limit import TimeLimitReached
from course_utils.errors import BadRequest
from course_utils.exercises import find_lesson
from course_utils.files.progress import ENV_NAME, Progress
from course_utils.oncall import exam, folder, shared_trainer, sheet
from course_utils.oncall import hand_in as handed
from course_utils.oncall.training import Trained

RIGHT = {e.reads: e.answer for e in find_lesson("99").exercises}
NAMES = dict(zip(sheet.EXERCISES, RIGHT, strict=True))
LOG = b'{"log_history": [{"loss": 1.0, "step": 1}]}'


class StandIn:
    """In place of a warm process; keeps what it was asked to train."""

    def __init__(self):
        self.asked, self.closed = [], 0

    def train(self, files, base, **settings):
        self.asked.append(files)
        if "loops" in files.get("train.py", ""):
            raise TimeLimitReached
        return Trained(0, "{'loss': 1.0}\n", {"run/trainer_state.json": LOG})

    def close(self):
        self.closed += 1


@pytest.fixture
def stand_in(monkeypatch):
    made = StandIn()
    monkeypatch.setattr(exam, "TRAINERS", made)
    return made


@pytest.fixture
def progress(monkeypatch, tmp_path):
    monkeypatch.setenv(ENV_NAME, str(tmp_path / "progress.json"))
    return Progress(tmp_path / "progress.json")


def test_tickets_of_the_exam_differ_in_template_and_class():
    declared = [task.declared for task in exam.TASKS.values()]
    assert len({case.template for case in declared}) == len(declared)
    kinds = [fault.kind for case in declared for fault in case.faults]
    assert len(set(kinds)) == len(kinds)
    assert [case.level for case in declared] == [2, 1, 2, 3]


@pytest.mark.parametrize("name", exam.TASKS)
def test_a_folder_is_written_once_and_never_over_what_is_there(name, tmp_path, stand_in):
    path = exam.open_folder(name, tmp_path)
    (path / "train.py").write_text("mine")
    assert exam.open_folder(name, tmp_path) == path
    assert (path / "train.py").read_text() == "mine" and len(stand_in.asked) == 1
    assert exam.log_of(path)[0]["loss"] == 1.0


def test_a_folder_of_another_ticket_is_left_alone(tmp_path, stand_in):
    exam.open_folder("first", tmp_path)
    (tmp_path / "first").rename(tmp_path / "second")
    with pytest.raises(BadRequest, match="holds another ticket"):
        exam.open_folder("second", tmp_path)
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "notes.txt").write_text("mine")
    with pytest.raises(BadRequest, match="is no ticket"):
        exam.open_folder("third", tmp_path)


def test_a_run_with_edits_leaves_the_folder_as_it_is(tmp_path, stand_in):
    path = exam.open_folder("worked", tmp_path)
    trained = exam.run(path, [("config.yaml", "legs: 4", "legs: 1")])
    assert exam.log_in(trained)[0]["step"] == 1
    assert "legs: 1" in stand_in.asked[-1]["config.yaml"]
    assert "legs: 4" in (path / "config.yaml").read_text()
    with pytest.raises(BadRequest, match="must be once"):
        exam.run(path, [("config.yaml", "no such", "text")])


@pytest.mark.parametrize("name", NAMES)
def test_what_was_changed_in_a_folder_is_written_out_as_the_answer(name, tmp_path, stand_in):
    path, right = exam.open_folder(name, tmp_path), RIGHT[NAMES[name]]
    assert handed.edits_of(path) == [] and handed.reported_in(path) == []
    for file, text in exam.edited(exam.files_of(path), right["edits"]).items():
        (path / file).write_text(text)
    entries = "".join(
        f"  - file: {file}\n    where: {where}\n    class: {kind}\n"
        for file, where, kind in right["faults"]
    )
    (path / "report.yaml").write_text(f"faults:\n{entries}")
    source = handed.answer_text("answer", path)
    answer = ast.literal_eval(source.removeprefix("answer = "))
    tried = handed.tried(name, answer)
    assert tried.mended == handed.tried(name, right).mended
    assert tried.reported.is_right and not tried.misfit and not tried.refusals


def test_pieces_rebuild_any_text():
    old = "".join(f"line {n % 7}\n" for n in range(60))
    for new in (old + "end\n", "begin\n" + old, old.replace("line 3\n", ""), "", "no break"):
        files = {"": old}
        for before, after in handed._pieces(old, new):
            files = exam.edited(files, [("", before, after)])
        assert files == {"": new}


def test_a_sheet_of_nothing_says_so_and_trains_nothing(tmp_path, progress):
    answers = dict.fromkeys(NAMES, TODO) | {"first": {"edits": 1}}
    rows = sheet.sheet(answers, tmp_path).rows
    assert {row[4] for row in rows} == {"not attempted"}
    assert [row[1] for row in rows] == ["1", "2", "3"]


def test_a_sheet_counts_places_classes_and_hints(tmp_path, progress):
    progress.take_hint("99.3")
    edits = RIGHT["answer_3"]["edits"][:1]
    half = {"edits": edits, "faults": [("train.py", "export", "no_grad")] * 3}
    [row] = sheet.sheet({"third": half}, tmp_path).rows
    assert row == ("third", "3", "1 of 3", "1 of 3", "not healthy", "-", "1")


def test_what_was_practised_is_what_was_solved(progress):
    assert sheet.practised().rows[0][1] == "0"
    progress.record_check("99.1", outcome="passed", points=4)
    progress.record_check("99.2", outcome="wrong", points=0)
    drawn = folder.draw(5, 1).faults[0].kind
    progress.record_check("oncall.1.5", outcome="passed", points=1)
    progress.record_check("oncall.9.5", outcome="passed", points=1)
    which = set(sheet.practised().rows[0][2].split(", "))
    assert which == {"no_signal", drawn}


def test_a_warm_process_is_kept_until_a_call_was_cut_off(monkeypatch):
    made = []
    monkeypatch.setattr(shared_trainer, "Trainers", lambda: made.append(StandIn()) or made[-1])
    trainers = shared_trainer.KeptTrainers()
    for text in ("a", "b", "loops", "c", "d"):
        with suppress(TimeLimitReached):
            trainers.train({"train.py": text}, {}, seed=0)
    assert [len(one.asked) for one in made] == [3, 2]
    trainers.close()
    assert [one.closed for one in made] == [1, 1]
