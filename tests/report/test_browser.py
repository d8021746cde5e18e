"""A report in a real browser: nothing goes wrong, nothing is asked for, nothing sticks out."""

import shutil

import pytest
from sklearn.datasets import load_breast_cancer

import kernelfit as kf
from kernelfit.report import write_report

pytestmark = pytest.mark.browser
pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
playwright = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = kf.AutoKernelClassifier(members=["gaussian"], random_state=0).fit(X[:150], y[:150])
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(model, X[:150], y[:150], path, X[150:], y[150:])


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("chromium not found")
    with playwright.sync_playwright() as driver:
        window = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield window
        window.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_page(browser, report, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [report.as_uri()]
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    charts = page.locator("svg.chart")
    assert charts.count() > 8
    for k in range(charts.count()):
        box = charts.nth(k).bounding_box()
        assert box["width"] > 200 and box["height"] > 60
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    darkness = sum(map(int, background.removeprefix("rgb(").removesuffix(")").split(",")))
    assert (darkness < 200) == (scheme == "dark")
    context.close()
