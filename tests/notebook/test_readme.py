"""What is written into the README: every symptom, every lesson, nothing outside the marks."""

from course_command import ROOT

from course_utils.exercises.outline import outline
from course_utils.lesson.symptoms import SYMPTOMS
from course_utils.notebook.readme import filled


def test_the_readme_knows_every_symptom_and_every_lesson():
    readme = (ROOT / "README.md").read_text()
    assert all(symptom.seen in readme for symptom in SYMPTOMS)
    for entry in outline():
        row = next(line for line in readme.splitlines() if f"notebooks/{entry.stem}.ipynb)" in line)
        assert f"[{entry.title}]" in row and f"| {entry.minutes}" in row


def test_only_what_stands_between_the_marks_is_made_anew():
    readme = "a\n<!-- lessons: written by course build -->\nold\n<!-- end -->\nb\n"
    assert filled(readme).startswith("a\n<!-- lessons: written by course build -->\n\n| what")
    assert filled(readme).endswith("|\n\n<!-- end -->\nb\n") and "old" not in filled(readme)
    assert filled(filled(readme)) == filled(readme)
