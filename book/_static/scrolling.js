// What is wider than its box scrolls in it; by the keyboard, too, once the box can have the focus.

{
  const BOXES = "p, h1, h2, h3, dt, pre, div.math, mjx-container, .cell_output, .cell_output > .output, .pst-scrollable-table-container";

  const reach = () => {
    const boxes = [...document.querySelectorAll(`:is(${BOXES}):not([tabindex])`)];
    boxes
      .filter((box) => box.scrollWidth > box.clientWidth && ["auto", "scroll"].includes(getComputedStyle(box).overflowX))
      .forEach((box) => { box.tabIndex = 0; });
  };

  window.addEventListener("load", () => (window.MathJax?.startup?.promise ?? Promise.resolve()).then(reach));
  window.addEventListener("resize", reach);
}
