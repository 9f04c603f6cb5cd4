"""The steps of "The idea in a picture": by the keyboard, by the finger, and all of them on paper."""

import base64
import io

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser import needs

PAGES = {
    "notebooks/kiri2019/02_local.html": 4,
    "notebooks/hasegawa2015/02_reconstruction.html": 5,
    "notebooks/miura2025/01_private_pgm.html": 5,
}
# The texts that can be seen; the picture's width and height; whether a "Next" can.
SEEN = """
const steps = document.querySelector('figure.idea'), box = steps.querySelector('img').getBoundingClientRect();
return [[...steps.querySelectorAll('li')].flatMap((e, i) => e.checkVisibility() ? [i + 1] : []), box.width / box.height,
        [...steps.querySelectorAll('label')].some(e => e.checkVisibility())];
"""

pytestmark = needs.THE_BOOK


def shot(browser) -> np.ndarray:
    """The picture as the page shows it."""
    png = browser.driver.find_element(By.CSS_SELECTOR, "figure.idea img").screenshot_as_base64
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("L")).astype(int)


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_goes_through_the_steps(browser, book, name, width):
    browser.open(f"{book}/{name}", width=width)
    browser.script("document.querySelector('figure.idea input').focus({focusVisible: true})")
    pictures = []
    for step in range(1, PAGES[name] + 1):
        seen, shape, _ = browser.script(SEEN)
        assert seen == [step] and shape == pytest.approx(5 / 3, rel=0.05)
        pictures.append(shot(browser))
        browser.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert browser.script(SEEN)[0] == [1]  # around
    differences = [np.mean(one != other) for one, other in zip(pictures, pictures[1:])]
    assert min(differences) > 0.02 and (shot(browser) == pictures[0]).all()
    outline = "return getComputedStyle(document.activeElement.closest('label')).outlineStyle"
    assert browser.script(outline) == "solid"


@pytest.mark.parametrize("name", PAGES)
def test_next_leads_through_the_steps_and_back(browser, book, name):
    browser.open(f"{book}/{name}", width=390)
    for step in [*range(2, PAGES[name] + 1), 1]:
        browser.script("[...document.querySelectorAll('.idea .onwards')].find(e => e.checkVisibility()).click()")
        assert browser.script(SEEN)[0] == [step]


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_every_step_stands_beside_its_panel(browser, book, name):
    browser.open(f"{book}/{name}", width=800)
    count = PAGES[name]
    try:
        browser._command("Emulation.setEmulatedMedia", media="print")
        seen, shape, buttons = browser.script(SEEN)
        assert seen == list(range(1, count + 1)) and shape == pytest.approx(5 / 3 / count, rel=0.05) and not buttons
    finally:
        browser._command("Emulation.setEmulatedMedia", media="")
