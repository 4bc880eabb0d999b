"""Votes on claims: given in a few keystrokes, kept, shown beside the verdict, and scored."""

import pytest
from fake_course import FIXTURES, cli, edit
from nbformat import v4

from course_utils.checks.declare import TODO
from course_utils.errors import BadRequest, DidNotFail
from course_utils.files.progress import Progress
from course_utils.lesson.claims import CLAIMS, Claim
from course_utils.lesson.votes import Verdicts
from course_utils.notebook.files import read_notebook

lessons_90_and_91, unbuilt, course = FIXTURES

MARKS = "t! f p - f! t t t t t"
UNREADABLE = ("", "t f", f"{MARKS} t", MARKS.replace("p", "x"), f"{MARKS}!!", 7)


@pytest.fixture
def verdicts(tmp_path) -> Verdicts:
    return Verdicts("reward", Progress(tmp_path / "progress.json"))


def test_a_verdict_stands_beside_the_vote(verdicts, capsys):
    verdicts.vote(MARKS)
    verdicts.judge("C1", "false", "it logs something else", "section 1", holds=True)
    verdicts.judge("C2", "false", "", "section 2", holds=True)
    printed = capsys.readouterr().out
    assert "9 of 10 claims voted on, 2 of them for sure." in printed
    assert "FALSE: it logs something else\n  your vote: true, sure ✗" in printed
    assert "FALSE\n  your vote: false ✓" in printed


def test_the_score_counts_votes_and_names_where_she_was_sure_and_wrong(verdicts):
    verdicts.vote(MARKS)
    for claim, word in (("C1", "false"), ("C2", "false"), ("C3", "true"), ("C4", "true")):
        verdicts.judge(claim, word, "", "", holds=True)
    verdicts.cite("C7", "open", "nobody knows", "the thread")
    assert verdicts.table().notes == (
        "Your score: 1 of 3 votes agree with the evidence, 1 more is one step off.",
        "Sure, and wrong: C1. Look at these again.",
    )


def test_a_vote_next_to_the_verdict_is_said_to_be_one_step_off(verdicts, capsys):
    verdicts.vote("t f p f t p t f p t")
    for number, word in enumerate(("true", "true", "true", "partly", "partly"), start=1):
        verdicts.judge(f"C{number}", word, "", "", holds=True)
    said = "Your score: 1 of 5 votes agree with the evidence, 3 more are one step off."
    assert verdicts.table().notes[0] == said
    assert [row[4].split(" ", 1)[1] for row in verdicts.table().rows[:5]] == [
        *("✓", "✗"),
        *["(one step off)"] * 3,
    ]


def test_votes_outlive_the_kernel_and_a_todo_leaves_them_alone(verdicts, tmp_path):
    verdicts.vote(MARKS)
    again = Verdicts("reward", Progress(tmp_path / "progress.json"))
    again.vote(TODO)
    assert again.table().notes[0].startswith("No claim that you voted on has been shown")
    again.judge("C1", "true", "", "", holds=True)
    assert again.table().notes[0] == "Your score: 1 of 1 votes agree with the evidence."


def test_without_votes_there_is_no_score(verdicts):
    verdicts.judge("C1", "true", "", "", holds=True)
    assert verdicts.table().notes == ("You did not vote, so there is no score.",)


@pytest.mark.parametrize("between", ["", ", "])
def test_blanks_between_the_marks_may_be_missing_or_commas(verdicts, between, capsys):
    verdicts.vote(MARKS)
    due = capsys.readouterr().out
    verdicts.vote(MARKS.upper().replace(" ", between))
    assert capsys.readouterr().out == due


@pytest.mark.parametrize("votes", UNREADABLE)
def test_votes_that_cannot_be_read_are_told_how(verdicts, votes):
    with pytest.raises(BadRequest, match="One mark per claim"):
        verdicts.vote(votes)


def test_a_list_of_votes_is_told_that_one_string_is_read(verdicts):
    with pytest.raises(BadRequest, match=r"the votes are a list(.|\n)*one string"):
        verdicts.vote(MARKS.split())


@pytest.mark.parametrize(("claim", "word"), [("C99", "true"), ("C1", "wrong")])
def test_a_verdict_has_a_claim_and_says_true_partly_or_false(verdicts, claim, word):
    with pytest.raises(BadRequest, match="true, partly or false"):
        verdicts.judge(claim, word, "", "", holds=True)


def test_a_verdict_without_its_evidence_says_so_and_ends_a_strict_run(verdicts, tmp_path, capsys):
    verdicts.vote(MARKS)
    verdicts.judge("C1", "true", "as reported", "", holds=False, seeds="9 of 10")
    shown = capsys.readouterr().out
    assert "NOT SHOWN BY THIS SEED, usually TRUE (9 of 10 seeds)" in " ".join(shown.split())
    assert verdicts.table().notes[0].startswith("No claim that you voted on has been shown")
    with pytest.raises(DidNotFail):
        Verdicts("reward", Progress(tmp_path / "p.json"), strict=True).judge(
            "C1", "true", "", "", holds=False
        )


def test_readers_vote_on_the_ballot_alone(monkeypatch, tmp_path, capsys):
    claims = (Claim("asked", "trl#1"), Claim("not asked", voted=False), Claim("asked, too"))
    monkeypatch.setitem(CLAIMS, "made up", claims)
    verdicts = Verdicts("made up", Progress(tmp_path / "p.json"))
    assert [row[0] for row in verdicts.suspects().rows] == ["made up/C1", "made up/C3"]
    assert "said in" in verdicts.suspects().html() and "Partly: right in some" in str(
        verdicts.suspects().text()
    )
    verdicts.vote("t f")
    capsys.readouterr()
    verdicts.judge("C2", "false", "", "", holds=True, show=False)
    assert not capsys.readouterr().out and verdicts.table().rows[1][2] == "FALSE"
    verdicts.judge("C3", "false", "", "", holds=True)
    assert verdicts.table().notes[0] == "Your score: 1 of 1 votes agree with the evidence."


VOTING = f"""\
from course_utils.lesson import start

with_claims = start("03")
with_claims.verdicts.vote({MARKS!r})
with_claims.verdicts.judge("C2", "true", "", "section 1", holds=True)
with_claims.verdicts.table()
"""


def test_papermill_leaves_votes_and_score_in_the_notebook_and_in_the_progress(course, tmp_path):
    def vote(notebook):
        notebook.cells.append(v4.new_code_cell(VOTING))

    edit(course.solved_path("90_fake"), vote)
    result = cli("run", "90", "--solutions", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    last = read_notebook(tmp_path / "out" / "90_fake.ipynb").cells[-1]
    assert "your vote: false ✗" in last.outputs[1].data["text/plain"]
    assert "Your score: 0 of 1 votes agree" in last.outputs[-1].data["text/plain"]
    assert Progress(tmp_path / "out" / "progress.json").votes("reward")["C1"] == "t!"


def test_a_card_shows_what_was_voted_and_found_and_says_no_more_before(verdicts):
    said = verdicts.suspects("C1").html()
    assert "reward/" in said and "your vote" not in said and "TRUE" not in said
    verdicts.vote(MARKS)
    verdicts.judge("C1", "true", "as reported", "section 4", holds=True)
    before, after = verdicts.suspects("C1").html(), verdicts.table().html()
    assert "true, sure" in before and "section 4" not in before
    assert "TRUE: as reported" in after and "section 4" in after and "true, sure ✓" in after
    assert "Your score: 1 of 1" in after
    assert "<style" not in after and "var(" not in after and "class=" not in after
