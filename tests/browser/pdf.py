"""The whole book as one PDF, printed by Chromium: `make pdf`.

    python -m tests.browser.pdf build/compendium.pdf
    python -m tests.browser.pdf build/kiri2019.pdf --only kiri2019
    python -m tests.browser.pdf build/compendium.ja.pdf --language ja

The articles of all pages are put on one page, in the order of the sidebar, after a title and the contents. Links
between pages become links within the PDF, and the headings become bookmarks.
"""

import argparse
import base64
import sys
from pathlib import Path

from book.editions import edition
from book.site import downloads
from tests.browser.chromium import BOOK, BROWSERS, DRIVERS, chromium, found, served

WIDTH = 650  # CSS pixels between the margins of a page of A4
SECONDS = 900

STYLE = """
@page { size: A4; margin: 20mm 19mm 22mm; @bottom-center { content: counter(page); font: 9pt sans-serif; color: #55606c; } }
@page :first { @bottom-center { content: none; } }
html { font-size: 13.5px; }
body { background: #fff; }
main.book { max-width: none; margin: 0; padding: 0; }
/* A heading at the very edge would count for both pages, and its bookmark say it twice. */
main.book :is(.chapter, .contents) { break-before: page; padding-top: 2mm; }
main.book :is(h1, h2, h3, h4, h5) { break-after: avoid; }
main.book .chapter-title { font-size: 2.1rem; border: 0; margin: 0 0 1.4rem; padding: 0; }
main.book :is(figure, img, .admonition, .proof, .sd-card, tr, .claim) { break-inside: avoid; }
main.book :is(p, li, ul, ol) { orphans: 2; widows: 2; max-width: none !important; }
main.book thead { display: table-header-group; }
main.book pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .78rem; }
main.book :is(p, h1, h2, h3, h4, dt, pre, div):not(math *) { overflow: visible !important; max-height: none !important; }
main.book :is(.highlight, pre) { break-inside: auto; }
main.book :is(figure, .cell_output) img { max-width: min(85%, 31rem); max-height: 200mm; width: auto; }
main.book details.hide > summary { display: none !important; }  /* "Show code" */
main.book table:not(:has(tr:nth-child(13))) { break-inside: avoid; }  /* no header alone at the end of a page */
main.book .title-page { height: 245mm; display: flex; flex-direction: column; justify-content: center; text-align: center; }
main.book .title-page img { width: 30mm; margin: 0 auto 12mm; }
main.book .title-page h1 { font-size: 3.2rem; line-height: 1.2; margin: 0 0 8mm; }
main.book .title-page p { font-size: 1.15rem; color: var(--dpc-soft); margin: 0 auto 3mm; max-width: 34rem; }
main.book .contents ul { display: block; list-style: none; padding-left: 1.2rem; margin: 0; }
main.book .contents > ul { padding-left: 0; }
main.book .contents li { margin: .25rem 0; }
main.book .contents .caption { font-weight: 650; margin: 1rem 0 .2rem; }
main.book a { text-decoration: none; }
"""

# Replaces the page by the book. Arguments: what the title page says, the style, what an address must hold, and where to answer.
ASSEMBLE = r"""
const [title, style, only, done] = arguments;
const key = url => new URL(url).pathname.replace(/\W+/g, '-');
const place = url => '#' + key(url) + decodeURIComponent(new URL(url).hash.replace('#', '--'));
const nav = document.querySelector('nav.bd-links');
const entries = [...nav.querySelectorAll('a.reference.internal')].filter(a => a.href.includes(only));
const pages = new Set(entries.map(a => key(a.href)));

const chapter = async a => {
  const parsed = new DOMParser().parseFromString(await (await fetch(a.href)).text(), 'text/html');
  const section = document.createElement('section');
  section.className = 'chapter';
  section.id = key(a.href);
  section.append(document.adoptNode(parsed.querySelector('article.bd-article')));
  // Parsed without scripts, folded claims are all there. The chapters show them, so the scorecard need not.
  if (!section.querySelector('.scorecard-filter')) section.querySelectorAll('.claim > noscript').forEach(e => e.replaceWith(...e.childNodes));
  section.querySelectorAll('a.headerlink, script, button, .scorecard-filter, .claim > noscript').forEach(e => e.remove());
  section.querySelectorAll('.explorer, .calculator').forEach(e => { e.textContent = title.sliders; });
  section.querySelectorAll('details').forEach(e => { e.open = true; });
  section.querySelectorAll('[id]').forEach(e => { e.id = `${section.id}--${e.id}`; });
  section.querySelectorAll('img').forEach(e => { e.src = new URL(e.getAttribute('src'), a.href); e.loading = 'eager'; });
  section.querySelectorAll('a[href]').forEach(e => { e.href = new URL(e.getAttribute('href'), a.href); });
  section.querySelector('h1').classList.add('chapter-title');
  if (a.closest('.toctree-l2'))  // a chapter of a document: its headings stand under the document's
    for (const level of [5, 4, 3, 2, 1])
      section.querySelectorAll('h' + level).forEach(e => {
        const lower = document.createElement('h' + (level + 1));
        lower.append(...e.childNodes);
        for (const {name, value} of e.attributes) lower.setAttribute(name, value);
        e.replaceWith(lower);
      });
  return section;
};

const linksWithin = main => main.querySelectorAll('a[href]').forEach(e => {
  if (new URL(e.href).origin !== location.origin) return;
  if (pages.has(key(e.href))) e.setAttribute('href', place(e.href));
  else e.removeAttribute('href');  // a download
});

const element = (tag, name, ...content) => {
  const made = document.createElement(tag);
  made.className = name;
  made.append(...content);
  return made;
};

const assemble = async () => {
  const logo = document.querySelector('.navbar-brand img').cloneNode();
  const front = element('div', 'title-page', logo, element('h1', '', title.name), ...title.lines.map(line => element('p', '', line)));
  const contents = element('div', 'contents', element('h1', 'chapter-title', title.contents));
  nav.querySelectorAll('.caption, nav > div > ul, ul.nav').forEach(e => {
    if (!e.parentElement.closest('ul')) contents.append(e.matches('.caption') ? element('p', 'caption', e.textContent) : e.cloneNode(true));
  });
  contents.querySelectorAll('details, input, label, i').forEach(e => e.tagName === 'DETAILS' ? e.replaceWith(...e.childNodes) : e.remove());
  contents.querySelectorAll('summary').forEach(e => e.remove());
  contents.querySelectorAll('a').forEach(e => { e.href = e.href; });
  // Pages in English only stand in the sidebar of the other edition, and not in its book.
  contents.querySelectorAll('li').forEach(e => { if (![...e.querySelectorAll('a')].some(a => pages.has(key(a.href)))) e.remove(); });
  contents.querySelectorAll('.caption').forEach(e => { if (!e.nextElementSibling?.querySelector('li')) e.remove(); });
  const main = element('main', 'book bd-content bd-article', front, contents, ...await Promise.all(entries.map(chapter)));
  linksWithin(main);
  document.head.append(element('style', '', style));
  document.body.replaceChildren(main);
  document.documentElement.dataset.theme = 'light';
  document.title = title.name;
  await Promise.all([...document.images].map(image => image.decode().catch(() => {})));
  await document.fonts.ready;
  // What cannot break into lines is made smaller. All is measured before anything changes: to measure lays a book out.
  // A formula in a line of text moves to the next line; it is too wide only if that line could not hold it.
  const room = e => e.closest('p, li, dd, td')?.clientWidth && !e.matches('table') && !e.matches('[display=block]')
    ? e.closest('p, li, dd, td').clientWidth : main.clientWidth - e.getBoundingClientRect().left;
  const wide = [...main.querySelectorAll('table, math')].map(e => [e, room(e) / e.getBoundingClientRect().width]);
  wide.filter(([, part]) => part < 1).forEach(([e, part]) => { e.style.zoom = part * 0.99; });
  return {
    chapters: entries.length,
    formulas: main.querySelectorAll('math').length,
    broken: [...document.images].filter(image => !image.naturalWidth).map(image => image.src),
    wide: [...main.querySelectorAll('table, img, pre, math')].filter(e => e.getBoundingClientRect().right > main.clientWidth + 3)
      .map(e => e.closest('.chapter').id + ': ' + e.tagName + ' ' + e.textContent.trim().slice(0, 60)),
  };
};
assemble().then(done, problem => done({problem: String(problem.stack)}));
"""


def assemble(browser, address: str, only: str = "", language: str = edition.SOURCE) -> dict:
    """Make the book of the pages at `address` in `browser`, or of those with `only` in their addresses; returns what it holds."""
    edition.begin(language)
    browser.driver.set_script_timeout(SECONDS)
    browser.driver.command_executor.client_config.timeout = SECONDS
    browser.open(f"{address}/index.html", width=WIDTH)
    browser.command(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "light"}]
    )
    told = browser.driver.execute_async_script(ASSEMBLE, downloads.title_page(), STYLE, only)
    if "problem" in told:
        raise RuntimeError(told["problem"])
    return told


def printed(browser) -> bytes:
    """Return the PDF of what `browser` shows, with bookmarks and tags for screen readers."""
    done = browser.command(
        "Page.printToPDF",
        printBackground=True,
        preferCSSPageSize=True,
        generateTaggedPDF=True,
        generateDocumentOutline=True,
    )
    return base64.b64decode(done["data"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--only", default="", help="the pages whose addresses contain this")
    parser.add_argument("--language", default=edition.SOURCE, choices=[edition.SOURCE, *edition.OTHERS])
    asked = parser.parse_args()
    folder = "" if asked.language == edition.SOURCE else f"/{asked.language}"
    if not (found(BROWSERS) and found(DRIVERS)):
        print("The PDF needs Chromium and its driver (Debian: chromium, chromium-driver).", file=sys.stderr)
        return 1
    with served(BOOK) as address, chromium() as browser:
        told = assemble(browser, address + folder, asked.only or f"{folder}/", asked.language)
        if told["broken"] or told["wide"]:
            print("\n".join(["Not as it should be:", *told["broken"], *told["wide"]]), file=sys.stderr)
            return 1
        asked.pdf.parent.mkdir(parents=True, exist_ok=True)
        unfinished = asked.pdf.with_suffix(".unfinished")
        unfinished.write_bytes(printed(browser))
        unfinished.replace(asked.pdf)
    return 0


if __name__ == "__main__":
    sys.exit(main())
