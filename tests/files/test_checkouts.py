"""Checkouts and installed copies of the course are found, wherever they lie."""

import json
from importlib.metadata import PathDistribution

from course_utils.files import checkouts
from course_utils.files.repository import INSTALLED


def test_the_work_trees_of_a_repository_are_found_from_each_of_them(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    own = first / ".git" / "worktrees" / "second"
    own.mkdir(parents=True)
    second.mkdir()
    (second / ".git").write_text(f"gitdir: {own}\n")
    (own / "gitdir").write_text(f"{second / '.git'}\n")
    (own / "commondir").write_text("../..\n")
    assert checkouts.work_trees(first) == checkouts.work_trees(second) == {first, second}
    assert checkouts.work_trees(tmp_path) == set()


def test_an_installed_course_is_found_with_its_lessons(tmp_path):
    site = tmp_path / "lib" / "site-packages"
    said = site / f"{checkouts.NAME}-1.dist-info"
    said.mkdir(parents=True)
    (said / "METADATA").write_text(f"Name: {checkouts.NAME}\nVersion: 1\n")
    lessons = f"../../share/{INSTALLED.name}"
    (said / "RECORD").write_text(f"course_utils/x.py,,\n{lessons}/solutions/99_on_call.py,,\n")
    installed = PathDistribution(said)
    assert checkouts.installed_lessons(installed) == tmp_path / "share" / INSTALLED.name
    assert checkouts.installed_from(installed) == []
    (said / "direct_url.json").write_text(json.dumps({"url": (tmp_path / "of it").as_uri()}))
    assert checkouts.installed_from(installed) == [tmp_path / "of it"]
