"""A benchmark measures a kept outcome again when the code that made it has changed."""

from benchmarks import kept_outcomes
from benchmarks.diagnostics.tools import Outcome
from benchmarks.incidents.proofs import proved
from benchmarks.kept_outcomes import Kept, fingerprint


def test_an_outcome_is_kept_until_its_sources_change(tmp_path, monkeypatch):
    file = tmp_path / "build" / "kept.pickle"
    Kept(file).put("pad_is_eos", "diagnose", "broken/pad_is_eos", Outcome(keys=["pad_is_eos"]))
    again = Kept(file)
    assert again.get("pad_is_eos", "diagnose", "broken/pad_is_eos").keys == ["pad_is_eos"]
    assert again.get("pad_is_eos", "bare log", "broken/pad_is_eos") is None
    monkeypatch.setattr(kept_outcomes, "fingerprint", lambda tool, module: "another")
    assert again.get("pad_is_eos", "diagnose", "broken/pad_is_eos") is None


def test_a_bare_run_does_not_rest_on_diagnose():
    module = "broken/pad_is_eos"
    assert fingerprint("diagnose", module) != fingerprint("bare log", module)
    assert fingerprint("bare log", module) == fingerprint("underflow", module)
    assert fingerprint("bare log", module) != fingerprint("bare log", "broken/two_start_tokens")


def test_a_page_gives_back_the_proofs_that_held():
    page = "\n".join(
        [
            "| incident | class | held | CPU s |",
            "| --- | --- | --- | --- |",
            "| pad_is_eos | never_stops | goes on \\| and on | 3 of 3 | 2.9 |",
            "| rate_5e_2 | rate | jumps | 2 of 3 | 2.2 |",
        ]
    )
    assert set(proved(page)) == {"pad_is_eos"}
    assert proved(page)["pad_is_eos"].cpu_s == 2.9
