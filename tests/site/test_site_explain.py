"""The page for pasting a log: in Chromium, with the Python that the page itself loads.

Skipped where Chromium or Sphinx is missing, or Pyodide cannot be fetched.
"""

import re
from contextlib import redirect_stdout, suppress
from io import StringIO

import pytest
from lab_server import CHROMIUM
from pasted_logs import LOGS
from site_server import axe_finds
from whole import cases

from course_utils.causes import CAUSES
from course_utils.explain.__main__ import main
from course_utils.lesson.symptoms import SYMPTOMS

pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: pages are not looked at"),
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of playwright's asyncio use
]
SECRET = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 0.00012321}"
ASK = """async texts => {
    const [field, result, status, answer] = ['paste', 'result', 'status', 'text']
        .map(name => document.getElementById(`explain-${name}`));
    const answers = [];
    for (const text of texts) {
        field.value = text;
        field.form.requestSubmit();
        const late = performance.now() + 9e4;  // a failure says why in brackets
        while (result.hidden && !status.textContent.includes('(') && performance.now() < late)
            await new Promise(done => setTimeout(done, 5));
        answers.push((result.hidden ? status : answer).textContent);
    }
    return answers;
}"""


@pytest.fixture(scope="module")
def loaded(site, server, watched):
    """What the page asked for until Python, which it loads once, had answered."""
    if not (site / "_static" / "pyodide").exists():
        pytest.skip("no npm, or it could not fetch Pyodide: nothing is explained in the browser")
    watched.goto(f"{server.address}/explain.html")
    watched.asked.clear()
    watched.evaluate(ASK, ["136"])
    return list(watched.asked)


@pytest.fixture
def explain_page(loaded, page):
    return page


@pytest.fixture
def other_page(server, browser):
    """A second page, on which Python is not loaded."""
    page = browser.context.browser.new_page()
    yield page
    page.context.close()


def said_by_the_command(text: str, folder) -> str:
    (folder / "log.txt").write_text(text, encoding="utf-8", newline="")
    with redirect_stdout(StringIO()) as said, suppress(SystemExit):  # 1 where nothing was read
        main([str(folder / "log.txt")])
    return said.getvalue()


def test_the_page_answers_every_pasted_log_as_the_command_does(explain_page, tmp_path):
    texts = [*(log.text for log in cases(LOGS)), "136", "exit code -9", "nothing of a log"]
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


def test_nothing_leaves_the_machine(server, loaded, explain_page, tmp_path):
    assert any(one.url.endswith("pyodide.asm.wasm") for one in loaded)  # the worker is watched too
    assert all(one.url.startswith(f"{server.address}/") for one in loaded)
    assert all(one.method == "GET" and "?" not in one.url for one in loaded)
    explain_page.context.set_offline(True)
    explain_page.asked.clear()
    [answer] = explain_page.evaluate(ASK, [SECRET])
    explain_page.context.set_offline(False)
    assert explain_page.asked == [] and f"{answer}\n" == said_by_the_command(SECRET, tmp_path)
    refused = "fetch('https://example.org/').then(() => 'sent', () => 'refused')"
    assert explain_page.evaluate(refused) == "refused"
    assert explain_page.complaints and "Content Security Policy" in explain_page.complaints[0]
    explain_page.complaints.clear()


def test_a_link_keeps_the_answer_and_nothing_of_the_log(server, explain_page, other_page):
    explain_page.evaluate(ASK, [SECRET])
    link = explain_page.locator("#explain-link").get_attribute("href")
    assert re.fullmatch("#found=nan_shown_as_zero[a-z_,]*", link)
    other_page.goto(f"{server.address}/explain.html{link}")
    kept = other_page.locator("#explain-links").inner_text()
    assert CAUSES["nan_shown_as_zero"].says in kept
    assert not other_page.locator("#explain-text").is_visible()
    for odd in ("#found=no_such_cause", "#found=<img src=x onerror=alert(1)>"):
        other_page.goto("about:blank")
        other_page.goto(f"{server.address}/explain.html{odd}")
        assert not other_page.locator("#explain-links").is_visible()


def test_python_that_cannot_be_loaded_gets_a_sentence(loaded, server, other_page):
    other_page.context.route("**/pyodide.asm.wasm", lambda route: route.abort())
    other_page.goto(f"{server.address}/explain.html")
    [said] = other_page.evaluate(ASK, ["136"])
    assert said.startswith("Python could not be loaded (") and "list of symptoms works" in said


def test_a_broken_paste_gets_a_sentence(explain_page):
    explain_page.fill("#explain-paste", "")
    explain_page.locator("#explain button[type=submit]").click()
    assert "nothing to read yet" in explain_page.locator("#explain-status").inner_text()
    broken = ["{'loss': ", '{"log_history": [1, 2', "\x00\x01\x02", "[" * 9999, "<b>nan</b>"]
    for answer in explain_page.evaluate(ASK, broken):
        assert answer.endswith(".") and "Traceback" not in answer


def test_the_keyboard_alone_suffices(explain_page):
    explain_page.fill("#explain-paste", "")
    explain_page.focus("#explain-paste")
    explain_page.keyboard.insert_text(SECRET)
    explain_page.keyboard.press("Tab")
    explain_page.keyboard.press("Enter")
    explain_page.wait_for_selector("#explain-result:not([hidden])")
    reached = []
    for _ in range(8):
        reached.append(explain_page.evaluate("document.activeElement.id"))
        explain_page.keyboard.press("Tab")
    assert reached[0] == "explain-heading" and {"explain-link", "explain-copy"} <= set(reached)
    assert axe_finds(explain_page) == {}


def test_the_first_page_of_the_site_answers_as_well(loaded, server, other_page):
    other_page.goto(f"{server.address}/index.html")
    [answer] = other_page.evaluate(ASK, [SECRET])
    assert "logging_nan_inf_filter" in answer
    assert CAUSES["nan_shown_as_zero"].says in other_page.locator("#explain-links").inner_text()


def test_without_javascript_the_page_is_a_list_of_symptoms(server, browser):
    page = browser.context.browser.new_page(java_script_enabled=False)
    page.goto(f"{server.address}/explain.html")
    text = page.locator("article").inner_text()
    page.context.close()
    assert "Without JavaScript" in text
    said = [*(symptom.seen for symptom in SYMPTOMS), *(cause.says for cause in CAUSES.values())]
    assert [words for words in said if words not in text] == []
