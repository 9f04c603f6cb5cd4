"""Checks of a page that is open in a browser: each returns a sentence for everything that is wrong with the page."""

from __future__ import annotations

from importlib.metadata import files
from urllib.parse import urlsplit

from tests.browser.chromium import Chromium

MOST_BYTES = 2_400_000
MOST_IN_JAPANESE = 2_600_000  # whose letters take three bytes each
MOST_ELEMENTS = 12_000

# Helpers shared by the scripts: is an element shown, what is it called, what colours meet in it.
COMMON = r"""
const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') +
  (typeof e.className === 'string' && e.className ? '.' + e.className.trim().split(/\s+/).join('.') : '');
const shown = e => e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && e.getClientRects().length > 0;
const article = document.querySelector('article') || document.querySelector('main') || document.body;
const brush = document.createElement('canvas').getContext('2d', {willReadFrequently: true}), known = new Map();
const rgba = text => {
  if (!known.has(text)) {
    brush.clearRect(0, 0, 1, 1); brush.fillStyle = text; brush.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
    known.set(text, {r, g, b, a: a / 255});
  }
  return {...known.get(text)};
};
const over = (top, under) => ({r: top.r * top.a + under.r * (1 - top.a), g: top.g * top.a + under.g * (1 - top.a),
                               b: top.b * top.a + under.b * (1 - top.a), a: 1});
const paper = matchMedia('(prefers-color-scheme: dark)').matches && getComputedStyle(document.documentElement)
  .colorScheme.includes('dark') ? {r: 18, g: 18, b: 18, a: 1} : {r: 255, g: 255, b: 255, a: 1}, grounds = new Map();
const ground = e => {
  if (!e) return paper;
  if (!grounds.has(e)) grounds.set(e, over(rgba(getComputedStyle(e).backgroundColor), ground(e.parentElement)));
  return grounds.get(e);
};
const luminance = c => {
  const [r, g, b] = [c.r, c.g, c.b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
"""

MATHEMATICS = r"""
const problems = [];
for (const e of document.querySelectorAll('span.math, div.math'))
  if (!e.querySelector('math')) problems.push('not typeset: ' + e.textContent.trim().slice(0, 80));
for (const e of document.querySelectorAll('merror')) problems.push('TeX error: ' + e.textContent.slice(0, 120));
const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode());) {
  if (node.parentElement.closest('code, pre, script, style, math') || !shown(node.parentElement)) continue;
  const raw = node.data.match(/\$[^$\s][^$]*\$|\$\$|\\[(\[]|\\(frac|varepsilon|alpha|sum|mathcal|left|begin)\b/);
  if (raw) problems.push('raw TeX: ' + node.data.trim().slice(0, 80));
}
return problems;
"""

OVERFLOW = r"""
const problems = [], width = document.documentElement.clientWidth;
const scrolls = e => {
  for (e = e.parentElement; e; e = e.parentElement)
    if (getComputedStyle(e).overflowX !== 'visible' || getComputedStyle(e).position === 'fixed') return true;
  return false;
};
if (document.documentElement.scrollWidth > width) {
  problems.push(`the page is ${document.documentElement.scrollWidth} pixels wide in a window of ${width}`);
  for (const e of document.body.querySelectorAll('*'))
    if (e.getBoundingClientRect().right > width + 1 && shown(e) && !scrolls(e))
      problems.push('sticks out: ' + name(e));
}
for (const e of article.querySelectorAll('*'))
  if (['hidden', 'clip'].includes(getComputedStyle(e).overflowX) && e.clientWidth > 2 && shown(e)
      && e.scrollWidth > e.clientWidth + 1 && !e.closest('math, button'))
    problems.push('cut off: ' + name(e));
return problems.slice(0, 8);
"""

# All that is folded is unfolded for it. A box that scrolls must show it, by its edge that fades (book/_static/scrolling.js), and on a
# desktop no table may need to. On a phone the long texts of a table are in sight, and wide enough to read.
COLUMNS = (
    COMMON
    + r"""
const done = arguments[0], width = document.documentElement.clientWidth, problems = [];
const scrolling = e => {
  for (e = e.parentElement; e && e !== document.body; e = e.parentElement)
    if (['auto', 'scroll'].includes(getComputedStyle(e).overflowX)) return e;
  return null;
};
const edge = box => box ? box.getBoundingClientRect().left + box.clientLeft + box.clientWidth : width;
const told = e => e.textContent.trim().replace(/\s+/g, ' ').slice(0, 60);
const measure = () => {
  for (const table of [...article.querySelectorAll('table')].filter(shown)) {
    const box = scrolling(table), over = Math.round(table.getBoundingClientRect().right - edge(box));
    const fades = box && (box.dataset.more || '').includes('right') && getComputedStyle(box).maskImage !== 'none';
    if (over > 1 && width >= 1400) problems.push(`${over} pixels of a table are cut: ${told(table)}`);
    else if (over > 1 && !fades) problems.push(`${over} pixels of a table are out of sight, and nothing says so: ${told(table)}`);
    if (width >= 600 || table.matches('.dataframe')) continue;
    for (const cell of [...table.querySelectorAll('td, th')].filter(e => e.textContent.trim().length >= 60 && shown(e))) {
      const cut = Math.round(cell.getBoundingClientRect().right - edge(box));
      if (cut > 1) problems.push(`${cut} pixels of a text are out of sight: ${told(cell)}`);
      else if (cell.clientWidth < 100) problems.push(`a long text is ${cell.clientWidth} pixels wide: ${told(cell)}`);
    }
  }
  for (const e of [...article.querySelectorAll('.verdict, .claim-note, .claim-says, .claim-values, .claim-reply')].filter(shown))
    if (e.getBoundingClientRect().right > Math.min(edge(scrolling(e)), width) + 1) problems.push(`out of sight: ${name(e)} ${told(e)}`);
  for (const e of folded) e.open = false;
  done(problems.slice(0, 8));
};
const folded = article.querySelectorAll('details:not([open])');
for (const e of folded) e.open = true;
const frames = n => n ? requestAnimationFrame(() => setTimeout(() => frames(n - 1))) : measure();
frames(folded.length ? 2 : 0);  // after the events of what was unfolded
"""
)

PICTURES = r"""
const problems = [];
for (const e of document.querySelectorAll('img')) {
  const alt = (e.getAttribute('alt') || '').trim(), source = (e.getAttribute('src') || '').slice(0, 80);
  if (!alt) problems.push('no alternative text: ' + source);
  else if (/^\S*\.(png|svg|jpe?g|gif)$/i.test(alt)) problems.push('a file name for alternative text: ' + source);
  if (e.complete && e.naturalWidth === 0) problems.push('broken picture: ' + source);
  if (article.contains(e) && shown(e) && luminance(ground(e)) < 0.8) problems.push('plot on a dark ground: ' + source);
}
for (const e of article.querySelectorAll('svg:not(.sd-octicon):not([aria-hidden="true"])'))
  if (shown(e) && !e.closest('button, a') && !e.getAttribute('aria-label') && !e.querySelector('title'))
    problems.push('no alternative text: ' + name(e));
return problems;
"""

# What can be clicked or filled in; axe tells more of it, on fewer pages.
NAMES = r"""
const called = e => [e.textContent, e.title, e.getAttribute('aria-label'), e.getAttribute('aria-labelledby'), e.labels?.length,
  ...[...e.querySelectorAll('img')].map(image => image.alt)].some(said => String(said || '').trim());
return [...article.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, textarea')]
  .filter(e => shown(e) && !called(e)).map(e => 'without a name: ' + name(e));
"""

OBJECTS = r"""
const shown = [...document.querySelectorAll('.cell_output')].map(e => e.textContent.match(/<[\w.]+ object[^>]*>|^\w+\.\S+ +printed /m));
return shown.filter(Boolean).map(found => 'instead of what it shows: ' + found[0]);
"""

# Whether a file came from the browser's cache or not.
WEIGHT = f"""
const files = ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind));
const loaded = files.reduce((sum, file) => sum + file.decodedBodySize, 0);
return loaded > (document.documentElement.lang === 'ja' ? {MOST_IN_JAPANESE} : {MOST_BYTES})
  ? [`the page weighs ${{(loaded / 1e6).toFixed(2)}} MB`] : [];
"""

ELEMENTS = f"""
const count = document.querySelectorAll(':not(details.claims:not([open]) .claim *)').length;
return count > {MOST_ELEMENTS} ? [`the page has ${{count}} elements`] : [];
"""

# WCAG 2 AA: 4.5 to 1 for text, 3 to 1 for large text.
CONTRAST = r"""
const problems = new Set();
const judge = (e, text) => {
  const style = getComputedStyle(e), under = ground(e);
  let ink = rgba(style.color);
  for (let a = e; a; a = a.parentElement) ink.a *= parseFloat(getComputedStyle(a).opacity);
  const [light, dark] = [luminance(over(ink, under)), luminance(under)].sort((a, b) => b - a);
  const ratio = (light + 0.05) / (dark + 0.05), size = parseFloat(style.fontSize);
  const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  if (ratio < least) problems.add(`contrast ${ratio.toFixed(2)} of '${text.trim().slice(0, 40)}' in ${name(e)}`);
};
const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode());) {
  const e = node.parentElement;
  if (node.data.trim() && shown(e) && !e.closest('script, style, button, math, svg')) judge(e, node.data);
}
for (const e of article.querySelectorAll('math')) if (shown(e)) judge(e, 'a formula');
return [...problems].slice(0, 8);
"""

# Without `resultTypes`, axe would list every element that passed. Two of its rules compare colours and take half a minute
# for a long article: they are for the pages that try menus, headers and links; contrasts are judged by `contrast` everywhere.
AXE = """
const [colours, done] = arguments, rule = {enabled: colours};
axe.run({resultTypes: ['violations'], rules: {'color-contrast': rule, 'link-in-text-block': rule}}).then(found => done(found.violations
  .filter(rule => ['serious', 'critical'].includes(rule.impact))
  .map(rule => `${rule.impact}, ${rule.id}: ${rule.help}: ` + rule.nodes.slice(0, 4).map(node => node.target.join(' ')).join('; '))));
"""


def _found(browser: Chromium, *scripts: str) -> list[str]:
    """Return what `scripts` find, asked in one call: a call to the browser takes longer than most of them."""
    asked = ", ".join(f"...(() => {{{script}}})()" for script in scripts)
    return browser.script(f"{COMMON}\nreturn [{asked}];")


def mathematics(browser: Chromium) -> list[str]:
    """Return formulas that are not in MathML, or are an error."""
    return _found(browser, MATHEMATICS)


def overflow(browser: Chromium) -> list[str]:
    """Return a page wider than its window, or content cut off where nothing scrolls."""
    return _found(browser, OVERFLOW)


def columns(browser: Chromium) -> list[str]:
    """Return tables wider than their boxes where nothing shows it, and verdicts or notes out of sight, also in what is folded."""
    return browser.driver.execute_async_script(COLUMNS)


def pictures(browser: Chromium) -> list[str]:
    """Return pictures that are broken or have no alternative text, and plots on a dark background."""
    return _found(browser, PICTURES)


def objects(browser: Chromium) -> list[str]:
    """Return outputs of cells that name a Python object, as one that shows nothing is, or that show a claim as plain text."""
    return _found(browser, OBJECTS)


def names(browser: Chromium) -> list[str]:
    """Return links, buttons and fields of the article that a screen reader cannot name."""
    return _found(browser, NAMES)


def contrast(browser: Chromium) -> list[str]:
    """Return the text of the article that is too close to the colour behind it."""
    return _found(browser, CONTRAST)


def console(browser: Chromium) -> list[str]:
    """Return errors that the page wrote to the console."""
    return [f"console: {message}" for message in browser.console]


def network(browser: Chromium) -> list[str]:
    """Return requests that failed, and any that left this machine."""
    away = [
        url
        for url in browser.requests
        if urlsplit(url).scheme not in ("data", "blob", "about") and urlsplit(url).hostname != "127.0.0.1"
    ]
    return [f"remote request: {url}" for url in away] + [f"failed request: {failure}" for failure in browser.failures]


def weight(browser: Chromium) -> list[str]:
    """Return a page that loads more than 2.4 megabytes, all its files together, uncompressed; some more in Japanese."""
    return _found(browser, WEIGHT)


def elements(browser: Chromium) -> list[str]:
    """Return a page of more than 12,000 elements, which a phone takes long to lay out; claims that are folded (again) do not count."""
    return _found(browser, ELEMENTS)


def accessibility(browser: Chromium, colours: bool = False) -> list[str]:
    """Return the serious and critical findings of axe; with its rules about `colours`, if asked for."""
    browser.script(axe())
    return browser.driver.execute_async_script(AXE, colours)


def axe() -> str:
    """Return the script axe-core, as a package brings it."""
    return next(file for file in files("selenium-axe-python") if file.name == "axe.min.js").read_text(encoding="utf-8")


def problems(browser: Chromium) -> list[str]:
    """Return everything that is wrong with the page that `browser` has open: what all checks above find but `accessibility`."""
    found = _found(browser, MATHEMATICS, OVERFLOW, PICTURES, NAMES, OBJECTS, CONTRAST, WEIGHT, ELEMENTS)
    return [*found, *console(browser), *network(browser), *columns(browser)]
