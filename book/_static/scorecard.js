/* The scorecard's filters, which live in the address: document, verdict, how it was judged, words anywhere in a claim, and places,
   such as "Table 2", in its name only. And a citation for each claim. scrolling.js lays out what is folded. */

document.addEventListener('DOMContentLoaded', () => {
  'use strict';
  const place = document.querySelector('.scorecard-filter');
  if (!place) return;
  const make = (tag, properties, ...content) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...content);
    return made;
  };
  const verdict = badge => badge.className.match(/verdict-(\S+)/)[1].replaceAll('-', ' ').replace('stand in', 'stand-in');
  const documents = new Map(Object.entries(JSON.parse(place.dataset.documents)));
  const cards = [...document.querySelectorAll('.bd-article .claim')].map(e => {
    const content = make('template', {innerHTML: e.firstChild.textContent}).content, badge = content.querySelector('.verdict');
    return {
      element: e,
      id: e.id.replace('claim-', ''),
      item: content.querySelector('.claim-says a').textContent,
      text: content.textContent.toLowerCase(),
      document: documents.get(e.id.replace('claim-', '').split('.')[0]),
      verdict: verdict(badge),
      named: badge.textContent,
      judged: content.querySelector('.judged-read') ? 'read' : 'computed',
    };
  });

  // ---- the form, and the address that says the same

  const words = make('input', {type: 'search', id: 'scorecard-words', placeholder: say('Table 2, OUE, …')});
  const whose = make('select', {id: 'scorecard-document'}, new Option(say('all documents'), ''),
    ...[...documents].map(([key, name]) => new Option(name, key)));
  const judged = make('select', {id: 'scorecard-judged'}, new Option(say('read or computed'), ''), new Option(say('read'), 'read'), new Option(say('computed'), 'computed'));
  const named = new Map(cards.map(card => [card.verdict, card.named]));
  const boxes = [...new Set(cards.map(card => card.verdict))].map(value => make('input', {type: 'checkbox', checked: true, value}));
  const told = make('output', {htmlFor: words.id}), wrong = make('p', {className: 'wrong', role: 'status'});
  place.append(make('label', {htmlFor: words.id}, say('Claims with ')), words, make('label', {htmlFor: whose.id}, say(' of ')), whose,
    make('label', {htmlFor: judged.id}, say(' whose verdict is ')), judged,
    ...boxes.map(box => make('label', {}, box, ` ${named.get(box.value)}`)), told, wrong);
  place.hidden = false;

  // What an address may ask for. A verdict that no claim has at present, such as stand-in, is explained at the top of the page.
  const permitted = {
    document: [...documents.keys()],
    judged: ['read', 'computed'],
    verdict: [...new Set([...document.querySelectorAll('.bd-article .verdict')].map(verdict))],
  };
  function read(asked) {
    const known = name => asked.getAll(name).filter(value => permitted[name].includes(value));
    words.value = asked.get('words') ?? '';
    whose.value = known('document')[0] ?? '';
    judged.value = known('judged')[0] ?? '';
    for (const box of boxes) box.checked = !known('verdict').length || known('verdict').includes(box.value);
    wrong.textContent = Object.entries(permitted).flatMap(([name, values]) => asked.getAll(name)
      .filter(value => value && !values.includes(value))
      .map(value => say('{name} must be one of {permitted}, got “{value}”.', {name, permitted: values.join(', '), value}))).join(' ');
  }
  function write() {
    const asked = new URLSearchParams();
    for (const [name, field] of Object.entries({words, document: whose, judged})) if (field.value) asked.set(name, field.value);
    if (boxes.some(box => !box.checked)) for (const box of boxes) if (box.checked) asked.append('verdict', box.value);
    history.replaceState(null, '', `?${asked}${location.hash}`);
  }

  // ---- which claims are shown

  const FEW = 50;  // claims that are laid out at once; more stay folded, under their headings
  const PLACES = /\b(tables?|figures?|equations?|sections?|theorems?|lemmas?|definitions?|propositions?|algorithms?|footnotes?)\s+\(?((?:[a-z]\.)?\d[\d.-]*)\)?/gi;
  const PLACES_IN_JAPANESE = /(表|図|式|定理|補題|定義|命題|アルゴリズム|脚注)[\s(（]*((?:[A-Z]\.)?\d(?:[\d.-]*\d)?)[)）]?|(\d(?:[\d.-]*\d)?)([節章])/gi;
  const literal = number => number.replace(/\W+$/, '').replace(/\W/g, '\\$&');
  const naming = (kind, number) => new RegExp(`\\b${kind.replace(/s$/, '')}s?\\b[^;,]*?(?<![\\w.-])${literal(number)}(?!\\d)`, 'i');
  const namingInJapanese = (kind, number, section, mark) => new RegExp(
    kind ? `${kind}[\\s(（]*${literal(number)}(?!\\d)` : `(?<![\\d.-])${literal(section)}${mark}`, 'i');

  function update() {
    const patterns = [...[...words.value.matchAll(PLACES)].map(([, ...place]) => naming(...place)),
      ...[...words.value.matchAll(PLACES_IN_JAPANESE)].map(([, ...place]) => namingInJapanese(...place))];
    const wanted = words.value.replace(PLACES, ' ').replace(PLACES_IN_JAPANESE, ' ').toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = new Set(boxes.filter(box => box.checked).map(box => box.value));
    for (const card of cards)
      card.element.hidden = !(card.id.startsWith(whose.value) && ['', card.judged].includes(judged.value) && verdicts.has(card.verdict)
        && patterns.every(pattern => pattern.test(card.item)) && wanted.every(word => card.text.includes(word)));
    const found = cards.filter(card => !card.element.hidden), shown = found.length, filtered = shown < cards.length;
    const open = filtered && shown <= FEW;
    if (open) for (const card of found) layOut(card.element);
    for (const part of document.querySelectorAll('.bd-article :is(details.claims, .verdicts, section section:has(.claim))')) {
      part.hidden = !part.querySelector('.claim:not([hidden])');
      if (part.matches('details')) part.open = open && !part.hidden;
    }
    document.getElementById('totals').hidden = filtered;
    const own = cards.filter(card => card.id.startsWith('compendium.')).length;
    told.textContent = filtered ? say('{shown} of {all} claims (the {all} include {own} of our own)', {shown, own, all: cards.length}) : '';
  }
  function lead() {
    const asked = location.hash.slice(1);
    if (asked.startsWith('claim-') && !document.getElementById(asked)) wrong.textContent = say('There is no claim named “{name}”.', {name: asked.replace('claim-', '')});
  }
  // ---- how to cite one

  // A copy that lies on somebody's own disk has no address for others: then the page is named, and a sentence says why.
  const own = location.protocol === 'file:';
  const page = own ? location.pathname.split('/').pop() : location.href.split(/[?#]/)[0];
  function offerCitation(card) {
    const button = make('button', {type: 'button'}, say('cite'));
    const cited = make('output', {className: 'citation'});
    button.addEventListener('click', () => {
      const told = {id: card.id, verdict: card.named, place: `${card.document}, ${card.item}`,
        address: `${page}#${card.element.id}`};
      cited.textContent = place.dataset.cite.replace(/\{(\w+)\}/g, (_, name) => told[name]);
      getSelection().selectAllChildren(cited);
      if (own && !cited.nextSibling) cited.after(make('p', {className: 'citation'}, say('You read a copy on your own disk, so the address is that within the book.')));
      navigator.clipboard?.writeText(cited.textContent).then(() => { button.textContent = say('copied'); }, () => {});
    });
    card.element.querySelector('.claim-foot').append(' · ', button);
    card.element.append(cited);
  }

  // ---- the start

  const byElement = new Map(cards.map(card => [card.element, card]));
  document.addEventListener('layout', event => offerCitation(byElement.get(event.target)));
  read(new URLSearchParams(location.search));
  lead();
  addEventListener('hashchange', lead);
  if (location.search) {
    update();
    if (!location.hash) place.scrollIntoView();  // whoever asks for some claims sees them, not what the verdicts mean
  }
  for (const event of ['input', 'change']) place.addEventListener(event, () => { wrong.textContent = ''; write(); update(); });
});
