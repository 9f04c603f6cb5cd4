/* The calculator: a question of questions.js, its fields and sliders, and everything that follows from them. The state is the
   address' fragment, `#composition?mechanism=laplace&size=0.1`, so that a setting can be sent. What was entered comes back with its
   question, and goes along to others where it means the same. */

(() => {
  'use strict';
  const {QUESTIONS, SHARED, equal, toValue, toPosition, shown, cost, element, chart, advantage, posterior, tradeOff} = compendium;

  const PRIORS = {'1 in 10': 0.1, '1 in 100': 0.01, '1 in 1,000': 0.001};
  const RISKS = ['advantage', ...Object.keys(PRIORS)];
  const NAMES = {advantage: say('advantage'), '1 in 10': say('prior 1 in 10'), '1 in 100': say('prior 1 in 100'), '1 in 1,000': say('prior 1 in 1,000')};
  const named = risk => NAMES[risk];
  const risks = (epsilon, delta) => [advantage(epsilon, delta), ...Object.values(PRIORS).map(prior => posterior(prior, epsilon))];

  // ---- fields

  const said = bound => (Math.abs(bound) >= 1e6 ? bound.toExponential().replace('e+', 'e') : bound.toLocaleString('en', {maximumSignificantDigits: 9}));

  /* The number that a field's text means, or {wrong: a sentence}. */
  function parsed(input, text) {
    const written = text.trim().replace('−', '-'), grouped = input.whole && /^[1-9]\d{0,2}(,\d{3})+$/.test(written);
    const number = grouped ? Number(written.replaceAll(',', '')) : /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written) ? Number(written) : NaN;
    const ends = {low: said(input.low), high: said(input.high)};
    const range = input.whole ? say('an integer from {low} to {high}', ends) : say('a number from {low} to {high}', ends);
    if (Number.isNaN(number)) return {wrong: written.includes(',') ? say('This must be {range}, with a point before the decimals.', {range}) : say('This must be {range}.', {range})};
    if (number < input.low || number > input.high || (input.whole && !Number.isInteger(number))) return {wrong: say('This must be {range}, not {text}.', {range, text: text.trim()})};
    return {number};
  }

  /* A slider's value with as few digits as a step of it has. */
  const rounded = (input, value) => Math.min(input.high, Math.max(input.low, input.whole ? Math.round(Number(value.toPrecision(3))) : Number(value.toPrecision(3))));

  const first = input => (input.kind === 'choice' ? Object.keys(input.options)[0] : String(input.start));

  /* The row of one input: `text` is what stands in it, `read()` its value or {wrong}. */
  function field(input, text, changed) {
    const id = `calculator-${input.name}`;
    if (input.kind === 'choice') {
      const select = element('select', {id}, ...Object.entries(input.options).map(([value, name]) => element('option', {value}, name)));
      select.value = Object.hasOwn(input.options, text) ? text : first(input);
      select.addEventListener('input', changed);
      return {name: input.name, text: () => select.value, read: () => select.value,
        row: element('div', {class: 'row'}, element('label', {for: id}, input.label), select)};
    }
    const number = element('input', {id, type: 'text', inputmode: 'decimal', autocomplete: 'off', spellcheck: 'false', value: text, 'aria-describedby': `${id}-wrong`});
    const range = element('input', {type: 'range', 'aria-label': say('{label}, slider', {label: input.label}), step: !input.log && input.whole ? 1 : 'any',
      min: toPosition(input, input.low), max: toPosition(input, input.high)});
    const wrong = element('p', {class: 'wrong', id: `${id}-wrong`, 'aria-live': 'polite'});
    const read = () => {
      const {number: value, wrong: sentence} = parsed(input, number.value);
      return sentence ? {wrong: sentence} : value;
    };
    const tell = () => {
      const value = read();
      wrong.textContent = value.wrong || '';
      number.setAttribute('aria-invalid', Boolean(value.wrong));
      if (!value.wrong) { range.value = toPosition(input, value); range.setAttribute('aria-valuetext', number.value); }
    };
    const moved = value => { number.value = String(rounded(input, value)); tell(); changed(); };
    number.addEventListener('input', () => { tell(); changed(); });
    range.addEventListener('input', () => moved(toValue(input, range.value)));
    range.addEventListener('keydown', event => {  // a hundred steps from end to end
      const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10}[event.key];
      if (!step) return;
      event.preventDefault();
      const low = Number(range.min), high = Number(range.max), size = input.whole && !input.log ? 1 : (high - low) / 100;
      moved(toValue(input, Math.min(high, Math.max(low, Number(range.value) + step * size))));
    });
    tell();
    return {name: input.name, text: () => number.value.trim(), read, row: element('div', {class: 'row'}, element('label', {for: id}, input.label), range, number, wrong)};
  }

  // ---- answers

  const number = (value, key, attributes = {}, text = cost) => element('td', {'data-value': value, 'data-key': key, ...attributes}, text(value));

  /* A table of `question.tables`: of each column in which one row can beat another, the winners by value are marked. What an
     attacker can do is rounded up, as costs are. */
  function answered({caption, columns, rows, budgets}, delta) {
    const winners = columns.map(({better}, i) => {
      const values = rows.map(({cells}) => cells[i]).filter(Number.isFinite);
      return better && rows.length > 1 && values.length ? Math[better === 'less' ? 'min' : 'max'](...values) : NaN;
    });
    const wins = (row, i) => equal(row.cells[i], winners[i]);
    const words = columns.map(({better}, i) => (rows.filter(row => wins(row, i)).length > 1 ? (better === 'less' ? say('smallest, tied') : say('largest, tied')) : better === 'less' ? say('smallest') : say('largest')));
    const heads = [...columns.map(({name}) => name), ...(budgets ? RISKS.map(named) : [])];
    const body = rows.map(row => element('tr', {'data-row': row.key}, element('th', {scope: 'row'}, row.name),
      ...row.cells.map((value, i) => {
        const cell = number(value, columns[i].key, {'data-label': columns[i].name}, columns[i].text ?? shown);
        if (wins(row, i)) cell.append(' ', element('span', {class: 'winner'}, words[i]));
        return cell;
      }),
      ...(budgets ? risks(row.cells[0], delta).map((value, i) => number(value, RISKS[i], {'data-label': named(RISKS[i])})) : [])));
    const above = budgets ? [element('tr', {class: 'above'}, element('td', {colspan: columns.length + 1}), element('th', {scope: 'colgroup', colspan: RISKS.length}, say('attacker')))] : [];
    return element('table', {}, element('caption', {}, caption),
      element('thead', {}, ...above, element('tr', {}, element('td', {}), ...heads.map(name => element('th', {scope: 'col'}, name)))), element('tbody', {}, ...body));
  }

  /* False negatives against false positives: what an attacker can reach lies above the line. */
  function errors(epsilon, delta) {
    const size = 220, left = 52, top = 12, x = value => left + value * (size - left - 12), y = value => top + (1 - value) * (size - top - 44);
    const made = element('svg', {viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': say('Smallest rate of false negatives at each rate of false positives')});
    for (const share of [0, 0.5, 1]) made.append(element('line', {x1: x(share), x2: x(share), y1: y(0), y2: y(1)}), element('line', {x1: x(0), x2: x(1), y1: y(share), y2: y(share)}),
      element('text', {x: x(share), y: y(0) + 16, 'text-anchor': 'middle'}, String(share)), element('text', {x: x(0) - 6, y: y(share) + 4, 'text-anchor': 'end'}, String(share)));
    const path = points => `M${points.map(point => `${x(point[0]).toFixed(1)} ${y(point[1]).toFixed(1)}`).join(' L')}`;
    made.append(element('path', {d: path([[0, 1], [1, 0]]), class: 'chance'}), element('path', {d: path(tradeOff(epsilon, delta)), class: 'line-0'}),
      element('text', {x: x(0.5), y: size - 8, 'text-anchor': 'middle'}, say('false positives')),
      element('text', {x: 12, y: y(0.5), 'text-anchor': 'middle', transform: `rotate(-90 12 ${y(0.5)})`}, say('false negatives')));
    return element('figure', {class: 'errors'}, made, element('figcaption', {}, say('At the smallest ε, an attacker’s error rates lie on or above the line. The dashed line is guessing.')));
  }

  /* Said below the table and in the statement, of a bound that lets an attacker be nearly certain. */
  const NEARLY = 0.99;
  function caution(epsilon, delta) {
    const most = advantage(epsilon, delta), right = Math.ceil(1e4 * (1 + most) / 2) / 100;
    const told = right < 100 ? say('up to {percent} %', {percent: right}) : say('more than 99.99 %');
    return most < NEARLY || !Number.isFinite(epsilon) ? []
      : [say('This ε guarantees almost nothing: with even odds, an attacker may be right in {told} of cases.', {told})];
  }

  /* A block of text, and a button that copies it. */
  function copyable(title, tag, text, key) {
    const button = element('button', {type: 'button'}, say('Copy')), body = element(tag, {'data-text': key}, text);
    button.setAttribute('aria-label', say('Copy: {title}', {title}));
    button.addEventListener('click', () => navigator.clipboard.writeText(text).then(() => { button.textContent = say('Copied'); }, () => { getSelection().selectAllChildren(body); }));
    return element('div', {class: 'copyable'}, element('h2', {}, title), body, button);
  }

  // ---- the curve, drawn after the numbers stand, a point at a time

  function* curveOf({curve}, values) {
    const lines = {};
    for (const at of curve.grid(values)) {
      for (const [name, value] of Object.entries(curve.at(at, values))) (lines[name] ??= []).push([at, value]);
      yield lines;
    }
  }

  const whole = points => { let lines = {}; for (lines of points); return lines; };

  /* The curve as comma-separated lines; where there is no guarantee, `inf`, and nothing where none is found. */
  function csv(question, values) {
    const lines = whole(curveOf(question, values)), names = Object.keys(lines), cell = value => (Number.isNaN(value) ? '' : Number.isFinite(value) ? value : 'inf');
    return [[question.curve.x, ...names].join(','), ...lines[names[0]].map(([x], i) => [x, ...names.map(name => cell(lines[name][i][1]))].join(','))].join('\n') + '\n';
  }

  function save(name, text) {
    const link = element('a', {href: URL.createObjectURL(new Blob([text], {type: 'text/csv'})), download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // ---- the page

  function start(place) {
    let controls = [], name = null, drawing = 0, remembering = 0;
    const entered = {};  // texts, by the slot of their input
    const slot = (key, input) => (SHARED.includes(input.name) ? input.name : `${key} ${input.name}`);
    const picture = element('div', {class: 'picture'}), answer = element('div', {class: 'answers', 'aria-live': 'polite'}), inputs = element('div', {});
    const picks = Object.entries(QUESTIONS).map(([key, {title}]) => {
      const radio = element('input', {type: 'radio', name: 'question', value: key});
      radio.addEventListener('change', () => { show(key, kept(key)); remember(); });
      return element('label', {class: 'pick'}, radio, title);
    });

    /* What was entered for a question, by name, as far as its ranges permit what was entered for another. */
    const kept = key => Object.fromEntries(QUESTIONS[key].inputs.map(input => [input.name, entered[slot(key, input)], input])
      .filter(([, text, input]) => text !== undefined && (input.kind === 'choice' || !parsed(input, text).wrong)));

    const remember = () => {  // when it is quiet: an address may not change at every move of a slider (Safari: a hundred times in half a minute)
      clearTimeout(remembering);
      const address = location.href;
      remembering = setTimeout(() => {
        if (location.href !== address) return;  // a link has set another, which is about to be read
        const state = new URLSearchParams(controls.map(one => [one.name, one.text()]));
        history.replaceState(null, '', `#${name}?${state}`);
      }, 300);
    };

    function draw(question, values, mark) {  // in slices of a few milliseconds, and not at all if the values change meanwhile
      const mine = ++drawing, points = curveOf(question, values);
      let lines = {};
      const step = () => {
        const until = performance.now() + 12;
        for (let next; mine === drawing && performance.now() < until;) {
          next = points.next();
          if (next.done) { picture.replaceChildren(chart({...question.curve, lines}, mark)); picture.dataset.done = 'true'; return; }
          lines = next.value;
        }
        if (mine === drawing) setTimeout(step);
      };
      picture.dataset.done = 'false';
      setTimeout(step, 60);
    }

    function update() {
      const question = QUESTIONS[name], values = Object.fromEntries(controls.map(one => [one.name, one.read()]));
      if (Object.values(values).some(value => value.wrong)) {
        drawing++;
        picture.replaceChildren();
        answer.replaceChildren(element('p', {class: 'wrong'}, say('Correct the marked field to see the numbers.')));
        return;
      }
      const result = question.compute(values), [epsilon, delta] = question.budget(result, values);
      const warned = caution(epsilon, delta), button = element('button', {type: 'button'}, say('Save the curve (CSV)'));
      button.addEventListener('click', () => save(`${name}.csv`, csv(question, values)));
      answer.replaceChildren(...question.tables(result, values).map(table => answered(table, delta)),
        ...warned.map(text => element('p', {class: 'caution'}, text)), element('p', {class: 'note'}, question.note(values)),
        element('div', {class: 'risk'}, errors(epsilon, delta), element('p', {class: 'note'}, `${say('Advantage: an attacker’s true positive rate minus the false positive rate. '
          + 'With even odds, the attacker’s success rate exceeds ½ by half the advantage.')} ${delta
          ? say('1 in 10: the highest probability that a suspicion of that size can reach. It may exceed this value, but by at most δ on average over all possible releases.')
          : say('1 in 10: the highest probability that a suspicion of that size can reach.')}`)),
        copyable(say('For a privacy statement'), 'p', [question.statement(result, values), ...warned].join(' '), 'statement'), copyable(say('In Python'), 'pre', question.call(result, values), 'call'), button);
      draw(question, values, [values[question.curve.of], question.mark(result)]);
    }

    function show(key, texts) {
      name = key;
      const question = QUESTIONS[key];
      controls = question.inputs.map(input => {
        const one = field(input, texts[input.name] ?? first(input), () => { entered[slot(key, input)] = one.text(); update(); remember(); });
        return one;
      });
      inputs.replaceChildren(element('p', {class: 'lead'}, question.lead), ...controls.map(one => one.row));
      for (const pick of picks) pick.firstChild.checked = pick.firstChild.value === key;
      update();
    }

    const read = () => {
      const [key, query = ''] = location.hash.slice(1).split('?');
      show(Object.hasOwn(QUESTIONS, key) ? key : Object.keys(QUESTIONS)[0], Object.fromEntries(new URLSearchParams(query)));
      QUESTIONS[name].inputs.forEach((input, i) => {  // an address is the whole state: what it leaves out is as at the start
        entered[slot(name, input)] = controls[i].text() === first(input) ? undefined : controls[i].text();
      });
    };
    place.replaceChildren(element('fieldset', {class: 'picks'}, element('legend', {}, say('Compute the cost of')), ...picks),
      element('fieldset', {}, element('legend', {class: 'visually-hidden'}, say('Setting')), inputs), answer, picture);
    window.addEventListener('hashchange', read);
    read();
  }

  Object.assign(compendium, {csv, parsed});
  if (typeof document !== 'undefined') {
    document.addEventListener('DOMContentLoaded', () => document.querySelectorAll('.calculator').forEach(start));
  }
})();
