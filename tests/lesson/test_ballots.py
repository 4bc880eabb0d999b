"""A ballot is short, and nobody wins it by giving every claim the same vote."""

import ast
from collections import Counter

import pytest
from course_command import ROOT

from course_utils.exercises import all_lessons
from course_utils.lesson.claim_card import LETTERS
from course_utils.lesson.claims import CLAIMS

VOTED = {lesson.stem: lesson.topic for lesson in all_lessons() if lesson.topic}


def verdicts_of(stem: str) -> dict[str, str]:
    """The word of each claim, as a solution's source gives it: in a call, or in a row of a loop."""
    found = {}
    for node in ast.walk(ast.parse((ROOT / "solutions" / f"{stem}.py").read_text("utf-8"))):
        beside = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
        said = [one.value for one in beside[:2] if isinstance(one, ast.Constant)]
        if len(said) == 2 and said[1] in LETTERS.values():
            found[said[0]] = said[1]
    return found


@pytest.mark.parametrize("stem", VOTED)
def test_no_constant_vote_agrees_with_more_than_half(stem):
    ballot = [f"C{n}" for n, one in enumerate(CLAIMS[VOTED[stem]], start=1) if one.voted]
    words = verdicts_of(stem)
    assert 8 <= len(ballot) <= 10
    assert set(ballot) <= words.keys()
    counts = Counter(words[claim] for claim in ballot)
    assert max(counts[word] for word in LETTERS.values()) <= len(ballot) / 2, counts
