"""Logs of common causes by an author who had the catalogue's keys: those that have been read.

Rules were mended for them, so this says nothing of other logs (docs/unread_logs.md does).
"""

import pytest

from benchmarks.diagnostics.unread.__main__ import FOLDER, READ, is_sound, key
from course_utils.explain import explain

KEYS = {name: told["key"] for name, told in key()["logs"].items() if name[0] == READ}
NAMED_OTHERWISE = {  # what happened first, or the same in the words of a neighbour
    "f_05": "column_missing",
    "f_12": "logp_disagree",
    "f_27": "nan_shown_as_zero",
    "f_30": "label_outside",
    "f_39": "proxy_rises_alone",
    "f_42": "labels_shape",
}
LEFT = {"f_04", "f_10", "f_18"}


@pytest.mark.parametrize("name", [name for name in KEYS if name not in LEFT])
def test_a_common_cause_is_named_first(name):
    answer = explain((FOLDER / "logs" / f"{name}.txt").read_text(encoding="utf-8"))
    if is_sound(KEYS[name]):
        assert not answer.causes
    else:
        assert answer.causes[0].key == NAMED_OTHERWISE.get(name, KEYS[name])
