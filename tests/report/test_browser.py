"""Pages in Chromium: accessible, without a request, in every form in which they are read."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("jinja2")

from factoid.report.inspector import Inspector, InspectorServer
from factoid.report.page import render
from tests.report.saved import HOSTILE, comparison, of_granularities

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
FORMS = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone, dark": {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"},
}


class Visit:
    """A page with what it asked for and complained of."""

    def __init__(self, browser, address, **form):
        self.context = browser.new_context(**form)
        self.page = self.context.new_page()
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(address)

    def follow(self, link):
        """Click and wait until the next page is loaded; a click alone returns before it is."""
        with self.page.expect_navigation():
            link.click()


@pytest.fixture
def visit(chromium, tmp_path):
    visits = []

    def start(html, **form):
        file = tmp_path / f"{len(visits)}.html"
        file.write_text(html, encoding="utf-8")
        visits.append(Visit(chromium, file.as_uri(), **form))
        return visits[-1]

    yield start
    for made in visits:
        made.context.close()


@pytest.fixture
def served(store):
    with InspectorServer(Inspector(store, "ships")) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


def violations(page):
    """What axe-core finds against WCAG 2.2 AA."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe-playwright-python"
    )
    options = {"runOnly": {"type": "tag", "values": RULES}}
    found = axe.Axe().run(page, options=options).response["violations"]
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]


def check(made):
    assert violations(made.page) == []
    assert made.complaints == []
    width = made.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert width <= 0  # only tables scroll sideways, in their own frames


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "make", [lambda: of_granularities(90), lambda: comparison(9, text=HOSTILE, name=HOSTILE)]
)
def test_the_page_of_a_comparison(visit, make, form):
    made = visit(render(make()), **FORMS[form])
    made.page.locator("details.question summary").first.click()
    check(made)
    assert len(made.requests) == 1


@pytest.mark.parametrize("form", FORMS)
def test_the_page_of_a_store(visit, store, form):
    made = visit(Inspector(store, "ships").to_html(), **FORMS[form])
    check(made)
    assert len(made.requests) == 1


@pytest.mark.parametrize("form", FORMS)
def test_the_served_pages(chromium, served, form):
    made = Visit(chromium, served, **FORMS[form])
    check(made)
    made.page.get_by_label("What would the model receive?").fill("When did the Vasa sink?")
    made.page.get_by_role("spinbutton", name="Words").fill("12")
    made.follow(made.page.get_by_role("button", name="Search"))
    assert "The Vasa sank in 1628." in made.page.locator(".context").inner_text()
    check(made)
    made.follow(made.page.locator(".hit a").first)
    assert made.page.locator(".passage").count() > 0
    check(made)
    assert all(request.startswith(served) for request in made.requests)
    made.context.close()


def test_hostile_documents_are_reached_and_do_nothing(chromium, served):
    made = Visit(chromium, served)
    made.follow(made.page.locator(".documents a").last)
    assert made.page.locator("h1").inner_text() == HOSTILE
    assert made.page.locator("img").count() == 0
    assert made.complaints == []
    made.context.close()


def test_no_other_script_runs(visit):
    html = render(comparison(9)).replace(
        "</main>", "<script>document.title = 'broken'</script></main>"
    )
    made = visit(html)
    assert made.page.title() != "broken"
    assert "Content Security Policy" in made.complaints[0]


def test_without_script(visit, store):
    made = visit(render(comparison(9)), java_script_enabled=False)
    assert made.page.locator(".filters").is_hidden()
    assert made.page.get_by_text("When did it sink? 3").is_visible()
    made = visit(Inspector(store, "ships").to_html(), java_script_enabled=False)
    made.page.get_by_role("link", name="Divers found her in 1956.").first.click()
    source = made.page.locator(".text span:target")
    assert source.inner_text().startswith("Divers found her")


def test_print(visit):
    made = visit(render(of_granularities(90)))
    made.page.emulate_media(media="print")
    assert made.page.locator(".filters").is_hidden()
    assert made.page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
    # Nothing is wider than a sheet of Letter on its side: 279 mm less margins of 10 mm, of 96 dots
    # per inch.
    made.page.set_viewport_size({"width": 979, "height": 700})
    widest = """() => Math.max(...[...document.querySelectorAll("table, svg, p, pre")].map(e => e.getBoundingClientRect().right))"""
    assert made.page.evaluate(widest) <= 979


def test_facts_light_up_with_their_source(visit, store):
    made = visit(Inspector(store, "ships").to_html())
    fact = made.page.get_by_role("link", name="The Vasa sank in 1628.").last
    fact.hover()
    lit = made.page.locator(".text .on")
    assert "".join(lit.all_inner_texts()).strip() == "The Vasa sank in 1628."
    made.page.mouse.move(0, 0)  # else it points at something else once the page has scrolled
    made.page.get_by_role("link", name="Divers found her in 1956.").last.focus()
    assert "".join(lit.all_inner_texts()).strip() == "Divers found her in 1956."
    made.page.locator(".text span", has_text="Divers found").first.hover()
    assert made.page.locator(".facts .on").count() >= 2  # the sentence, and the fact


def test_tables_sort_by_keyboard_and_questions_are_filtered(visit):
    made = visit(render(comparison(9)))
    page = made.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the table"
    header = page.locator("table.sortable").first.locator("th").nth(1)
    names = page.locator("table.sortable").first.locator("tbody th")
    header.locator("button").focus()
    page.keyboard.press("Enter")
    # Five of nine questions against six: the second setting is better.
    assert (header.get_attribute("aria-sort"), names.all_inner_texts()[0]) == (
        "descending",
        "facts",
    )
    page.keyboard.press("Enter")
    assert (header.get_attribute("aria-sort"), names.all_inner_texts()[1]) == ("ascending", "facts")
    shown = page.locator("#shown")
    assert shown.inner_text() == "9 of 9 questions"
    page.get_by_label("Right with").select_option("0")
    # Passages answer questions 0 to 4, of which facts miss 0 and 3.
    assert shown.inner_text() == "5 of 9 questions"
    page.get_by_label("Wrong with").select_option("1")
    assert shown.inner_text() == "2 of 9 questions"
    page.get_by_label("Contains").fill("sink? 3")
    assert shown.inner_text() == "1 of 9 questions"
