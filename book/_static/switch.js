// The link to the other language takes along what the address asks for, and the place: the fragment or, without one, the section in sight.

{
  const place = () => {
    if (location.hash) return location.hash;
    if (location.search) return "";
    const above = [...document.querySelectorAll(".bd-article section[id]")].filter((section) => section.getBoundingClientRect().top < 120);
    return scrollY > 120 && above.length ? `#${above.at(-1).id}` : "";
  };
  for (const event of ["pointerdown", "click"]) document.addEventListener(event, ({target}) => {
    const link = target.closest("a.language-switch[data-same]");
    if (link) link.href = link.href.split(/[?#]/)[0] + location.search + place();
  }, true);
}
