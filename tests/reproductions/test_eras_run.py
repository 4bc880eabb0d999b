"""One failure in the unmodified libraries of its time. The others: `make eras`.

Fetches some 40 packages for it from the package index.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_utils.errors import IndexUnreachable
from course_utils.reproductions import eras
from course_utils.reproductions.eras import environment, folders


def own_packages() -> dict[str, int]:
    """When each distribution of the course's own environment was last touched."""
    folder = Path(environment.site_packages(sys.prefix))
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.dist-info")}


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """A function of lesson and "then" or "now" that gives the facts, measured once."""
    known = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(folders.ENV_NAME, str(tmp_path_factory.mktemp("eras")))

        def facts(lesson: str, when: str) -> dict:
            if (lesson, when) not in known:
                try:
                    known[lesson, when] = eras.measure(eras.find_era(lesson), when)
                except IndexUnreachable as error:
                    if os.environ.get("CI") == "true":
                        raise
                    pytest.skip(error.saw)
            return known[lesson, when]

        yield facts


def judged(measured, lesson: str, *when: str) -> eras.ThenAndNow:
    return eras.ThenAndNow(eras.find_era(lesson), {one: measured(lesson, one) for one in when})


def test_grad_fn_then_and_now(measured):
    found = judged(measured, "06", "then", "now")
    assert found.is_proven, found.text()


def test_the_report_of_today_would_not_pass_for_that_of_then(measured):
    found = eras.ThenAndNow(eras.find_era("06"), {"then": measured("06", "now")})
    assert not found.is_proven
    assert "NOT AS EXPECTED" in found.text()


def test_an_environment_is_used_again_and_holds_its_own_versions_and_only_torch(measured):
    measured("06", "then")
    then = eras.find_era("06").then
    assert then.ensure() is False
    ask = (
        "import importlib.util as u, sys;"
        "[print(s.origin if s else None) for s in map(u.find_spec, sys.argv[1:])]"
    )
    names = ["transformers", "trl", "fsspec", "torch", "papermill", "course_utils"]
    command = [str(then.python), "-I", "-c", ask, *names]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    inside = [str(then.path) in origin for origin in found]
    assert inside == [True, True, True, True, False, False]
    assert environment.LINKS in found[3] and environment.LINKS not in "".join(found[:3])
    assert found[4:] == ["None", "None"]


def test_building_touches_nothing_of_the_courses_own(measured, monkeypatch):
    before = own_packages()
    measured("06", "then")
    verl = eras.find_era("04").now
    try:
        verl.ensure()
    except IndexUnreachable as error:
        pytest.skip(error.saw)
    assert own_packages() == before
    ask = "import importlib.util as u; print(u.find_spec('verl').origin, u.find_spec('trl').origin)"
    command = [str(verl.python), "-I", "-c", ask]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [str(verl.path) in origin for origin in found] == [True, False]
