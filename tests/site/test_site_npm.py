"""What the site downloads: only the pinned bytes are unpacked, and only the files it needs."""

import base64
import hashlib
import runpy
import tarfile

import pytest
from course_command import ROOT

npm = runpy.run_path(str(ROOT / "docs" / "site" / "npm.py"))


@pytest.fixture
def package(tmp_path):
    """A tarball in the cache, with a file that is wanted, one that is not, and one that climbs."""
    (tmp_path / "file").write_text("content")
    with tarfile.open(tmp_path / "small-1.0.tgz", "w:gz") as tarball:
        for name in ("package/lib/a.js", "package/readme", "package/lib/../../../climbed"):
            tarball.add(tmp_path / "file", arcname=name)
    digest = hashlib.sha512((tmp_path / "small-1.0.tgz").read_bytes()).digest()
    return npm["Package"]("small", "1.0", base64.b64encode(digest).decode(), ("lib/",))


def test_only_what_is_wanted_is_unpacked(package, tmp_path):
    npm["unpack"](package, tmp_path, tmp_path / "out" / "deep")
    held = [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert held == ["a.js"] and not (tmp_path / "climbed").exists()


def test_another_tarball_than_the_pinned_one_is_refused(package, tmp_path):
    with (tmp_path / package.tarball).open("ab") as file:
        file.write(b"more")
    with pytest.raises(npm["NotFetched"], match="is pinned: delete it"):
        npm["unpack"](package, tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_without_npm_it_says_what_is_missing(package, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(npm["NotFetched"], match="there is no npm to fetch it"):
        npm["unpack"](package, tmp_path / "empty", tmp_path / "out")
