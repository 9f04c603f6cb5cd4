"""The steps of "The idea in a picture" work by keyboard and by touch, and all of them are on paper."""

import base64
import io
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser import needs
from tests.browser.chromium import BOOK

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


EDGE = 7  # pixels of padding and border around the picture


def blurred(image) -> np.ndarray:
    """Return a picture that is too coarse for fractions of a pixel to matter."""
    return np.asarray(image.convert("L").resize((64, 38), Image.Resampling.BOX)).astype(float)


def panel_shown(browser, count) -> int:
    """Return which of the equal parts of the picture's file is most like what the page shows of it."""
    element = browser.driver.find_element(By.CSS_SELECTOR, "figure.idea img")
    shot = Image.open(io.BytesIO(base64.b64decode(element.screenshot_as_base64)))
    shot = blurred(shot.crop((EDGE, EDGE, shot.width - EDGE, shot.height - EDGE)))
    whole = Image.open(BOOK / urlsplit(element.get_attribute("src")).path.lstrip("/")).convert("L")
    cuts = [round(whole.height * cut / count) for cut in range(count + 1)]
    parts = [blurred(whole.crop((0, above, whole.width, below))) for above, below in zip(cuts, cuts[1:])]
    far = [np.abs(part - shot).mean() for part in parts]
    return 1 + int(np.argmin(far))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_goes_through_the_steps(browser, book, name, width):
    browser.open(f"{book}/{name}", width=width)
    browser.script("document.querySelector('figure.idea input').focus({focusVisible: true})")
    for step in range(1, PAGES[name] + 1):
        seen, shape, _ = browser.script(SEEN)
        assert seen == [step] and shape == pytest.approx(5 / 3, rel=0.05)
        assert panel_shown(browser, PAGES[name]) == step
        browser.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert browser.script(SEEN)[0] == [1] and panel_shown(browser, PAGES[name]) == 1  # around
    outline = "return getComputedStyle(document.activeElement.closest('label')).outlineStyle"
    assert browser.script(outline) == "solid"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PAGES)
def test_next_leads_through_the_steps_and_back(browser, book, name):
    browser.open(f"{book}/{name}", width=390)
    for step in [*range(2, PAGES[name] + 1), 1]:
        browser.script("[...document.querySelectorAll('.idea .onwards')].find(e => e.checkVisibility()).click()")
        assert browser.script(SEEN)[0] == [step]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PAGES)
def test_on_paper_every_step_stands_beside_its_panel(browser, book, name):
    browser.open(f"{book}/{name}", width=800)
    count = PAGES[name]
    try:
        browser.command("Emulation.setEmulatedMedia", media="print")
        seen, shape, buttons = browser.script(SEEN)
        assert seen == list(range(1, count + 1)) and shape == pytest.approx(5 / 3 / count, rel=0.05) and not buttons
    finally:
        browser.command("Emulation.setEmulatedMedia", media="")
