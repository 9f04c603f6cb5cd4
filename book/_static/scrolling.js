// What is wider than its box scrolls in it; by the keyboard, too, once the box can have the focus. While something is out of sight on
// a side, data-more names the side, and compendium.css fades it there.

{
  const BOXES = "p, h1, h2, h3, dt, pre, .math, .cell_output, .cell_output > .output, .pst-scrollable-table-container";

  const mark = (box) => {
    const left = box.scrollLeft > 1, right = box.scrollLeft + box.clientWidth < box.scrollWidth - 1;
    box.dataset.more = [left && "left", right && "right"].filter(Boolean).join(" ");
  };
  const reach = (root) => {
    // A long formula in a line of text scrolls by itself. All are measured before any is changed.
    const long = [...root.querySelectorAll("span.math")].map((formula) =>
      [formula, formula.firstElementChild?.getBoundingClientRect().width > formula.closest("p, li, dt, dd, h1, h2, h3, td, th")?.clientWidth]);
    for (const [formula, is] of long) if (!formula.closest("td, th")) formula.classList.toggle("long", is);
    for (const box of root.querySelectorAll(BOXES)) {
      const wide = box.scrollWidth > box.clientWidth && ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
      if (wide && !box.hasAttribute("tabindex")) {
        box.tabIndex = 0;
        box.addEventListener("scroll", () => mark(box), {passive: true});
      }
      if (wide || box.dataset.more) mark(box);
    }
  };
  const everywhere = () => document.querySelectorAll(".bd-article").forEach(reach);

  window.addEventListener("load", () => document.fonts.ready.then(everywhere));
  window.addEventListener("resize", everywhere);
  document.addEventListener("toggle", (event) => {  // what was folded had no width
    if (event.target.matches("details.claims[open]")) layOut(event.target);
    reach(event.target);
  }, true);
}

// A folded claim is one text until it is shown (book/ledger/cards.py).

globalThis.layOut = (part) => {
  for (const folded of part.querySelectorAll(".claim > noscript")) {
    const claim = folded.parentElement;
    folded.outerHTML = folded.textContent;
    claim.dispatchEvent(new Event("layout", {bubbles: true}));
  }
};

// What is folded opens for whoever is led to it by an address, and on paper.

{
  const lead = () => {
    const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = place && place.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (place && place.matches(".claim")) {
      layOut(place.parentElement);
      place.scrollIntoView();
    }
  };
  window.addEventListener("load", lead);
  window.addEventListener("hashchange", lead);

  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details.claims:not([open])")];
    for (const fold of unfolded) fold.open = true;
    layOut(document);
  });
  window.addEventListener("afterprint", () => { for (const fold of unfolded) fold.open = false; });
}

// The sidebar shows where one is. The theme goes back to where it was scrolled to on the page before.

window.addEventListener("load", () => {
  const bar = document.querySelector(".bd-sidebar-primary"), here = [...bar?.querySelectorAll("li.current > a") ?? []].at(-1);
  if (here) bar.scrollTop += here.getBoundingClientRect().top - bar.getBoundingClientRect().top - bar.clientHeight / 3;
});
