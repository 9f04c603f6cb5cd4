/* Filters for the scorecard: document, verdict, how it was judged, and words anywhere in a row. Without JavaScript all rows are shown. */

document.addEventListener('DOMContentLoaded', () => {
  'use strict';
  const place = document.querySelector('.scorecard-filter');
  if (!place) return;
  const rows = [...document.querySelectorAll('.scorecard tbody tr')].filter(row => row.querySelector('.verdict'));
  const verdicts = [...new Set(rows.map(row => row.querySelector('.verdict').textContent))];

  const documentOf = row => row.closest('section').querySelector('h2').firstChild.textContent;
  const documents = Object.assign(document.createElement('select'), {id: 'scorecard-document'});
  documents.append(new Option('all documents', ''), ...[...new Set(rows.map(documentOf))].map(name => new Option(name)));
  const of = Object.assign(document.createElement('label'), {htmlFor: documents.id, textContent: ' of '});

  const judged = Object.assign(document.createElement('select'), {id: 'scorecard-judged'});
  judged.append(new Option('read or computed', ''), new Option('read'), new Option('not read'));
  const how = Object.assign(document.createElement('label'), {htmlFor: judged.id, textContent: ' whose verdict is '});
  const howOf = row => row.querySelector('.judged-read') ? 'read' : 'not read';

  const words = Object.assign(document.createElement('input'), {type: 'search', id: 'scorecard-words', placeholder: 'Table 1, OUE, …'});
  const label = Object.assign(document.createElement('label'), {htmlFor: words.id, textContent: 'Claims with '});
  const boxes = verdicts.map(verdict => {
    const box = Object.assign(document.createElement('input'), {type: 'checkbox', checked: true, value: verdict});
    const named = document.createElement('label');
    named.append(box, ` ${verdict}`);
    place.append(named);
    return box;
  });
  const told = Object.assign(document.createElement('output'), {htmlFor: words.id});
  place.prepend(label, words, of, documents, how, judged);
  place.append(told);
  place.hidden = false;

  function update() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = new Set(boxes.filter(box => box.checked).map(box => box.value));
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !(['', documentOf(row)].includes(documents.value) && ['', howOf(row)].includes(judged.value)
        && chosen.has(row.querySelector('.verdict').textContent)
        && wanted.every(word => text.includes(word)));
      shown += !row.hidden;
    }
    const filtered = shown < rows.length;
    for (const part of document.querySelectorAll('.bd-article details')) {
      const inside = part.querySelectorAll('.scorecard tbody tr');
      if (!inside.length) continue;
      const left = [...inside].filter(row => !row.hidden).length;
      part.hidden = !left;
      part.open = filtered && left > 0;
    }
    told.textContent = filtered ? `${shown} of ${rows.length} claims` : '';
  }
  for (const event of ['input', 'change']) place.addEventListener(event, update);
});
