"""The picture beside an answer: its marks, its words, and the input that it refuses."""

import json
import re

import pytest
from pasted_logs import LOGS

from course_utils.explain import explain
from course_utils.explain.browser import answer
from course_utils.explain.picture import MAX_ENTRIES, picture


def drawn(rows: list[dict]) -> str:
    return picture(explain("\n".join(map(str, rows))))


def alt(svg: str) -> str:
    return re.search(r'aria-label="([^"]*)"', svg)[1]


NAN = float("nan")
DYING = [{"step": n, "loss": 2.0, "grad_norm": 1.0} for n in range(4)]
DYING += [{"step": n, "loss": NAN, "grad_norm": NAN} for n in (4, 5)]


def test_it_marks_the_entry_that_turned_and_says_so():
    svg = drawn(DYING)
    assert svg.count('class="turn"') == 1 and "It turns at step 4." in alt(svg)
    assert svg.count('path class="lost"') == 4
    assert "loss goes from 2 to nan, between 2 and 2; 2 nan" in alt(svg)


def test_a_loss_of_1e34_does_not_flatten_the_others():
    losses = [0.7, 0.6, 0.65, 1.19e34, 0.0, 0.0]
    svg = drawn([{"loss": loss, "reward": 0.5} for loss in losses])
    assert "loss, logarithmic" in svg and "1.19e+34" in svg
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', svg)[:6]]
    assert heights[3] < heights[1] < heights[4]


def test_a_long_log_is_drawn_around_its_turn():
    rows = [{"step": n, "loss": 2.0 - n / 1000, "grad_norm": 1.0} for n in range(900)]
    rows[700] |= {"loss": 0.0, "grad_norm": NAN}
    svg = drawn(rows)
    assert "From step 660 to step 739" in alt(svg) and "turns at step 700" in alt(svg)
    assert svg.count("<circle") <= 2 * MAX_ENTRIES


@pytest.mark.parametrize("text", ["136", "Bus error", "{'loss': 0.0, 'grad_norm': nan}", ""])
def test_what_has_no_two_entries_has_no_picture(text):
    assert picture(explain(text)) == ""


def test_words_of_a_log_cannot_become_a_page():
    name = 'train/loss"><script>'
    odd = [{"<img src=x>": 1.0, name: 1.0, "loss": 0.5 + n, "grad_norm": 1.0} for n in range(6)]
    lines = "\n".join(map(json.dumps, odd))
    assert "<script" not in picture(explain(lines)) and "<img" not in picture(explain(lines))


def test_every_pasted_log_is_drawn_within_its_frame():
    for log in LOGS:
        found = json.loads(answer(log.text.encode()))
        assert found["text"] == str(explain(log.text)), log.thread
        if svg := found["picture"]:
            _, _, width, height = map(float, re.search(r'viewBox="([^"]+)"', svg)[1].split())
            places = re.findall(r' (x|cx|y|cy)="([-\d.]+)"', svg)
            ends = {"x": width, "cx": width, "y": height, "cy": height}
            assert all(0 <= float(value) <= ends[axis] for axis, value in places), log.thread
