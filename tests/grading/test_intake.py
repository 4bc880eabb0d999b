"""Files of teaching platforms are recognised by name alone, and no name can do harm."""

import csv
import io
import json
import os
from xml.etree import ElementTree

import pytest

from course_utils.errors import BadRequest
from course_utils.grading import outcome_files
from course_utils.grading.intake import of_folder, shard
from course_utils.grading.layouts import MARK
from course_utils.grading.result import CannotBeGraded, Grade, Record, Score, Scores


def files(folder, *paths):
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("{}")
    return folder


LAYOUTS = {
    "moodle": (
        "Ada Lovelace_12345_assignsubmission_file_/03.ipynb",
        "Bob O'Neil_678_assignsubmission_file_/deep/er/03.ipynb",
        "Cem_9_assignsubmission_file_03_reward_nan.ipynb",
    ),
    "exchange": (
        "ada+03_reward_nan+2026-11-20 10:00:00 UTC+x1/03_reward_nan.ipynb",
        "ada+03_reward_nan+2026-11-21 09:00:00 UTC+x2/03_reward_nan.ipynb",
        "bob+03_reward_nan+2026-11-20 11:00:00.123 UTC/03_reward_nan.ipynb",
    ),
    "nbgrader": ("submitted/ada/03/03.ipynb", "submitted/bob/03/03.ipynb"),
    "classroom": (
        "post-training-ada/notebooks/00.ipynb",
        "post-training-ada/notebooks/01.ipynb",
        "post-training-ada/solutions/00.ipynb",
        "post-training-bob-b/notebooks/00.ipynb",
    ),
    "name": ("ada/course/notebooks/00.ipynb", "bob/00.ipynb", "bob/.ipynb_checkpoints/00.ipynb"),
}
STUDENTS = {
    "moodle": ["12345", "678", "9"],
    "exchange": ["ada", "bob"],
    "nbgrader": ["ada", "bob"],
    "classroom": ["ada", "ada", "bob-b"],
    "name": ["ada", "bob"],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_platform_is_recognised_and_its_students_are_told_apart(layout, tmp_path):
    found = of_folder(files(tmp_path, *LAYOUTS[layout]))
    assert found.pattern == layout
    assert sorted(handin.student for handin in found.handins) == STUDENTS[layout]
    assert not any(handin.problem for handin in found.handins)


def test_moodles_names_are_kept_and_of_two_times_the_last_counts(tmp_path):
    [ada, *_] = of_folder(files(tmp_path / "m", *LAYOUTS["moodle"])).handins
    assert (ada.name, ada.student) == ("Ada Lovelace", "12345")
    found = of_folder(files(tmp_path / "e", *LAYOUTS["exchange"]))
    assert [h.below[:27] for h in found.handins if h.student == "ada"] == [
        "ada+03_reward_nan+2026-11-2" + ""
    ]
    assert "2026-11-21" in found.handins[0].below and "2026-11-20" in found.notes[0]


# What one student can do to the names, and what must come of all: (student, has a problem).
ODD = {
    "a name that looks like Moodle's": (
        ("X_111_assignsubmission_file__222_assignsubmission_file_/a.ipynb",),
        {("222", False)},
        "moodle",
    ),
    "a file whose name looks like Moodle's": (
        ("X_111_assignsubmission_file_a_222_assignsubmission_file_b.ipynb", "x_5_assign.ipynb"),
        {
            ("X_111_assignsubmission_file_a_222_assignsubmission_file_b.ipynb", True),
            ("x_5_assign.ipynb", True),
        },
        "moodle",
    ),
    "one of Moodle's names among others": (
        ("x_1_assignsubmission_file_.ipynb",),
        {("x_1_assignsubmission_file_", False)},
        "name",
    ),
    "one name of the exchange's": (
        ("eve+03+2026+x/a.ipynb",),
        {("eve+03+2026+x", False)},
        "name",
    ),
    "a folder called submitted": (("submitted/a.ipynb",), {("submitted", False)}, "name"),
    "an essay": (("essay.ipynb", "notes.txt"), {("essay.ipynb", True)}, "moodle"),
    "capitals": (("bob.IPYNB", "eva/a.IpyNb"), {("bob", False), ("eva", False)}, "name"),
    "a scratch folder of the course's name": (
        ("eve/course/notebooks/00.ipynb", "eve/notebooks/scratch.ipynb"),
        {("eve", False)},
        "name",
    ),
    "an empty notebooks/": (("eve/00.ipynb", "eve/notebooks/n.txt"), {("eve", False)}, "name"),
}


@pytest.mark.parametrize("odd", ODD)
def test_no_name_decides_about_the_others_and_each_notebook_gets_a_result(odd, tmp_path):
    names, wanted, layout = ODD[odd]
    folders = [f"Ada_1{MARK}", f"Cem_2{MARK}", f"Dan_3{MARK}"]
    others = [f"{f}/a.ipynb" for f in (folders if layout == "moodle" else ("ada", "cem", "dan"))]
    found = of_folder(files(tmp_path, *others, *names))
    told = {(handin.student, bool(handin.problem)) for handin in found.handins}
    usual = {"1", "2", "3"} if layout == "moodle" else {"ada", "cem", "dan"}
    assert found.pattern == layout
    assert told == wanted | {(student, False) for student in usual}
    num_notebooks = sum(name.lower().endswith(".ipynb") for name in names)
    assert len(found.handins) == 3 + num_notebooks


@pytest.mark.parametrize("layout", ["moodle", "nbgrader", "classroom", "name"])
def test_a_student_without_a_notebook_is_not_forgotten(layout, tmp_path):
    names = {
        "moodle": "Eve_77_assignsubmission_file_",
        "nbgrader": "submitted/eve/03",
        "classroom": "post-training-eve",
        "name": "eve",
    }
    files(tmp_path, *LAYOUTS[layout], f"{names[layout]}/essay.pdf")
    lost = [handin for handin in of_folder(tmp_path).handins if handin.problem]
    assert [(one.student, one.problem) for one in lost] == [
        ("77" if layout == "moodle" else "eve", "holds no notebook")
    ]


def test_a_pattern_of_ones_own_names_the_students(tmp_path):
    files(tmp_path, "ada_03.ipynb", "bob_03.ipynb", "README.md")
    found = of_folder(tmp_path, r"(?P<id>\w+)_03\.ipynb")
    assert [handin.student for handin in found.handins] == ["ada", "bob"]
    assert found.notes == ("README.md is nobody's by this pattern: left out",)


@pytest.mark.parametrize("pattern", ["(", r"\w+", "moddle"])
def test_a_pattern_that_is_none_is_refused_with_an_example(pattern, tmp_path):
    with pytest.raises(BadRequest, match=r"is no pattern(.|\n)*moodle, exchange"):
        of_folder(tmp_path, pattern)


def test_a_student_with_too_many_files_is_one_submission_that_cannot_be_graded(tmp_path):
    files(tmp_path, *(f"ada/{number}.ipynb" for number in range(60)), "bob/1.ipynb")
    ada, bob = of_folder(tmp_path).handins
    assert ada.problem == "holds more than 50 notebooks" and bob.problem == ""


def test_links_are_not_followed(tmp_path):
    files(tmp_path / "elsewhere", "secret.ipynb")
    files(tmp_path / "class", "ada/a.ipynb")
    (tmp_path / "class" / "ada" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "class" / "bob").symlink_to(tmp_path / "elsewhere")
    handins = of_folder(tmp_path / "class").handins
    assert [handin.below for handin in handins] == ["ada/a.ipynb", "bob"]


NAMES = ("..", "Ada", "ada", "<b>&amp;", "=cmd|' /c calc'!A0", "\x1b[31mred\r\n", "a" * 200, "-rf")
NAMES += ("con", "\udcff\udcfe", "\u202egnp", "🤖", "a;b,c\"d'e")


def test_no_name_leaves_its_folder_or_meets_another(tmp_path):
    for number, name in enumerate(NAMES):
        folder = tmp_path / "class" / (name if name != ".." else "...")
        folder.mkdir(parents=True)
        (folder / f"{number}.ipynb").write_text("{}")
    handins = of_folder(tmp_path / "class").handins
    assert len(handins) == len(NAMES)
    keys = [handin.key for handin in handins]
    assert len({key.lower() for key in keys}) == len(keys)
    assert all(key.replace("-", "").replace("_", "").isalnum() and key.isascii() for key in keys)
    assert all(handin.below.isprintable() and len(handin.below) < 600 for handin in handins)


def record(student: str, details=()) -> Record:
    score = Score("90.1", "A <title>", "wrong", 0, 2, (*details, "\x1b[31m\ud800 <script>"))
    return Record(f"{student}/n.ipynb", student, student, "", "", Grade(Scores("90", (score,))))


def test_names_and_details_are_escaped_in_every_file(tmp_path):
    records = [record(name) for name in NAMES]
    refused = CannotBeGraded("=1+1\n  why: <b>\x1b\n  fix: none")
    records.append(Record("p", "eve", "", "", "", refused))
    paths = outcome_files.save_all(records, tmp_path / "out")
    assert [path.name for path in paths] == ["grades.csv", "grades.json", "grades.xml", "feedback"]
    texts = {path.name: path.read_text() for path in paths[:3]}
    assert len(json.loads(texts["grades.json"])["notebooks"]) == len(NAMES)
    assert len(ElementTree.fromstring(texts["grades.xml"])) == len(records)
    rows = list(csv.reader(io.StringIO(texts["grades.csv"])))
    assert len(rows) == len(records) + 1
    assert not any(
        cell.startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row
    )
    pages = list((tmp_path / "out" / "feedback").iterdir())
    assert len({page.name.lower() for page in pages}) == len(pages) == len(records)
    for page in pages:
        text = page.read_text()
        assert "<script>" not in text and "\x1b" not in text and "<b>&amp" not in text


def test_moodles_worksheet_has_its_columns_and_no_grade_where_there_is_none():
    graded = Record("x", "12345", "Ada", "", "", record("x").result)
    refused = Record("y", "678", "Bob", "", "", CannotBeGraded("no"))
    rows = list(csv.DictReader(io.StringIO(outcome_files.as_csv([graded, refused]))))
    assert [row["Identifier"] for row in rows] == ["Participant 12345", "Participant 678"]
    assert [row["Grade"] for row in rows] == ["0", ""]
    assert "Last modified (grade)" in rows[0]


def test_shards_are_disjoint_and_together_everything(tmp_path):
    handins = of_folder(files(tmp_path, *(f"s{n}/n.ipynb" for n in range(60)))).handins
    parts = [shard(handins, part, 7) for part in range(1, 8)]
    assert sorted(h.key for part in parts for h in part) == sorted(h.key for h in handins)
    assert all(len(part) < 25 for part in parts)


def test_a_folder_that_cannot_be_read_is_said(tmp_path):
    with pytest.raises(BadRequest, match="cannot be read"):
        of_folder(tmp_path / "missing")
    assert os.listdir(tmp_path) == []
