"""The page on which a log is pasted: in Chromium, with the Python that the page itself loads.

Skipped where Chromium or Sphinx is missing, or Pyodide cannot be fetched.
"""

import pytest
from click.testing import CliRunner
from lab_server import CHROMIUM
from pasted_logs import LOGS
from site_server import axe_finds

from course_utils.commands import main
from course_utils.explain.causes import CAUSES
from course_utils.symptoms import SYMPTOMS

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: pages are not looked at"),
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of playwright's asyncio use
]
SECRET = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.00012321}"
ASK = """async texts => {
    const [field, result] = ['paste', 'result'].map(n => document.getElementById(`explain-${n}`));
    const answers = [];
    for (const text of texts) {
        field.value = text;
        field.form.requestSubmit();
        while (result.hidden) await new Promise(done => setTimeout(done, 10));
        answers.push(document.getElementById('explain-text').textContent);
    }
    return answers;
}"""


@pytest.fixture
def explain_page(site, server, page):
    if not (site / "_static" / "pyodide").exists():
        pytest.skip("Pyodide could not be fetched: nothing is explained in the browser")
    page.goto(f"{server.address}/explain.html")
    return page


def said_by_the_command(text: str, folder) -> str:
    (folder / "log.txt").write_text(text, encoding="utf-8", newline="")
    return CliRunner().invoke(main, ["explain", str(folder / "log.txt")]).output


def test_the_page_answers_every_pasted_log_as_the_command_does(explain_page, tmp_path):
    texts = [*(log.text for log in LOGS), "136", "exit code -9", "nothing of a log"]
    answers = explain_page.evaluate(ASK, texts)
    expected = [said_by_the_command(text, tmp_path) for text in texts]
    assert [f"{answer}\n" for answer in answers] == expected


def test_a_file_is_read_as_the_command_reads_it(explain_page, tmp_path):
    bars = "".join(f"\r{n}/9 {{'loss': {9 - n}.5, 'grad_norm': 1.0}}" for n in range(8))
    text = f"{bars}\r\n{{'loss': nan, 'grad_norm': nan}}\r\n\x00\ufffd"
    expected = said_by_the_command(text, tmp_path)
    explain_page.set_input_files("#explain-file", tmp_path / "log.txt")
    explain_page.wait_for_selector("#explain-result:not([hidden])")
    assert explain_page.locator("#explain-text").text_content() + "\n" == expected
    assert "nan" in explain_page.locator("#explain-picture svg").get_attribute("aria-label")


def test_nothing_leaves_the_machine(server, explain_page):
    explain_page.asked.clear()
    explain_page.evaluate(ASK, ["136"])
    loaded = list(explain_page.asked)
    assert all(one.url.startswith(f"{server.address}/") for one in loaded)
    assert all(one.method == "GET" and "?" not in one.url for one in loaded)
    explain_page.context.set_offline(True)
    explain_page.asked.clear()
    [answer] = explain_page.evaluate(ASK, [SECRET])
    explain_page.context.set_offline(False)
    assert "0.00012321" in answer and explain_page.asked == []
    refused = "fetch('https://example.org/').then(() => 'sent', () => 'refused')"
    assert explain_page.evaluate(refused) == "refused"
    assert explain_page.complaints and "Content Security Policy" in explain_page.complaints[0]
    explain_page.complaints.clear()


def test_a_link_keeps_the_answer_and_nothing_of_the_log(server, explain_page):
    explain_page.evaluate(ASK, [SECRET])
    link = explain_page.locator("#explain-link").get_attribute("href")
    assert link == "#found=nan_shown_as_zero"
    explain_page.goto("about:blank")
    explain_page.goto(f"{server.address}/explain.html{link}")
    kept = explain_page.locator("#explain-links").inner_text()
    assert CAUSES["nan_shown_as_zero"].says in kept
    assert not explain_page.locator("#explain-text").is_visible()
    for odd in ("#found=no_such_cause", "#found=<img src=x onerror=alert(1)>"):
        explain_page.goto("about:blank")
        explain_page.goto(f"{server.address}/explain.html{odd}")
        assert not explain_page.locator("#explain-links").is_visible()


def test_a_broken_paste_gets_a_sentence(explain_page):
    explain_page.locator("#explain button[type=submit]").click()
    assert "nothing to read yet" in explain_page.locator("#explain-status").inner_text()
    broken = ["{'loss': ", '{"log_history": [1, 2', "\x00\x01\x02", "[" * 9999, "<b>nan</b>"]
    for answer in explain_page.evaluate(ASK, broken):
        assert answer.endswith(".") and "Traceback" not in answer


def test_the_keyboard_alone_suffices(explain_page):
    explain_page.focus("#explain-paste")
    explain_page.keyboard.insert_text(SECRET)
    explain_page.keyboard.press("Tab")
    explain_page.keyboard.press("Enter")
    explain_page.wait_for_selector("#explain-result:not([hidden])")
    reached = []
    for _ in range(6):
        reached.append(explain_page.evaluate("document.activeElement.id"))
        explain_page.keyboard.press("Tab")
    assert reached[0] == "explain-heading" and {"explain-text", "explain-link"} <= set(reached)
    assert axe_finds(explain_page) == {}


def test_without_javascript_the_page_is_a_list_of_symptoms(server, browser):
    context = browser.context.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server.address}/explain.html")
    text = page.locator("article").inner_text()
    context.close()
    assert "Without JavaScript" in text
    assert all(symptom.seen in text for symptom in SYMPTOMS)
    assert all(cause.says in text for cause in CAUSES.values())
