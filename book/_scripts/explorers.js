/* Sliders beside a chapter's formulas: <div class="explorer" data-explorer="renyi"></div> becomes one of these explorers. */

(() => {
  'use strict';
  const {slider, choice, LOG, WHOLE, toValue, toPosition, shown, cost, element, chart, composed, renyi, local, spaced, METHODS, named, equal} = compendium;

  /* All methods together for each number of releases; `total` is at the one asked for. */
  function composition(values) {
    const grid = [...new Set(spaced(0, Math.log(1000), 25).map(u => Math.round(Math.exp(u))))], curves = {};
    for (const count of grid) for (const [name, total] of Object.entries(named(composed({...values, count})))) {
      (curves[name] ??= []).push([count, total]);
    }
    return {total: composed(values), curves};
  }

  /* The density of a published count under Laplace noise, where the true one is 0 and where it is `change`. */
  function noise({epsilon, change}) {
    const scale = change / epsilon, counts = spaced(-15, 25, 401);
    const around = truth => counts.map(t => [t, Math.exp(-Math.abs(t - truth) / scale) / (2 * scale)]);
    return {scale, within: scale * Math.log(20), factor: Math.exp(epsilon), guess: 1 - Math.exp(-epsilon / 2) / 2,
      curves: Object.fromEntries([0, change].map(truth => [say('true: {count}', {count: truth}), around(truth)]))};
  }

  const SHARES = [2, 5, 11, 16, 13, 7, 4, 5, 10, 14, 9, 4].map(share => share / 100);
  const STRAYS = [0.02, 0.46, 0.41, -0.73, 0.58, 0.07, -0.3, -0.89, -0.53, 0.88, 0.51, -0.72];  // in standard deviations: numpy's normal draws of seed 2015

  /* Iterative Bayes (lib.microdata.IterativeBayes): each record keeps its value with probability `kept`, or else gets one of all at random. */
  function reconstruction({kept, n, steps}) {
    const size = SHARES.length, other = (1 - kept) / size, through = shares => shares.map(share => kept * share + other);
    const observed = through(SHARES).map((p, v) => Math.max(0, Math.round(n * p + STRAYS[v] * Math.sqrt(n * p * (1 - p)))));
    observed[3] += n - observed.reduce((a, b) => a + b);  // the most frequent value takes the rounding
    const seen = observed.map(count => count / n);
    let shares = SHARES.map(() => 1 / size);
    for (let step = 0; step < steps; step++) {
      const ratio = through(shares).map((p, v) => seen[v] / p), common = other * ratio.reduce((a, b) => a + b);
      shares = shares.map((share, v) => share * (kept * ratio[v] + common));
    }
    const distance = found => SHARES.reduce((sum, share, v) => sum + Math.abs(share - found[v]), 0) / 2;
    const line = values => values.map((share, v) => [v + 1, share]);
    return {observed, shares, errors: [distance(seen), distance(shares)],
      curves: {[say('true')]: line(SHARES), [say('perturbed')]: line(seen), [say('estimated')]: line(shares)}};
  }

  const leastOf = numbers => Math.min(...numbers.filter(Number.isFinite));

  /* Rows [name, value], the least of them marked by value, and where several are the least that they tie. */
  function marked(rows) {
    const least = leastOf(rows.map(([, value]) => value)), wins = ([, value]) => equal(value, least);
    const many = rows.filter(wins).length > 1;
    return rows.map(row => (wins(row) ? [say(many ? '{row}, smallest, tied' : '{row}, smallest', {row: row[0]}), row[1]] : row));
  }

  const EXPLORERS = {
    renyi: {
      title: say('How private is a whole release?'),
      inputs: [
        choice('bound', say('guarantee'), {tight: say('Theorems D and E: private n'), unbounded: say('Theorem 3.1: private n, as printed'),
          both: say('Theorem G: public n'), joint: say('Theorem B: public n, the first data set only'), bounded: say('Theorem 3.2: public n, as printed')}),
        slider('n', say('records n'), 1e3, 1e12, 1e7, WHOLE), slider('d', say('attributes d'), 1, 50, 6, {whole: true}),
        slider('sigma', say('smallest eigenvalue σ'), 1e-3, 0.99, 0.01, LOG), slider('alpha', say('order α'), 1.01, 1000, 4, LOG),
        slider('delta', 'δ', 1e-12, 1e-2, 1e-5, LOG),
      ],
      compute: renyi, text: cost,
      results: r => [[say('Rényi ε of one record, at α'), r.record], [say('of n records'), r.release],
        [say('ε at δ of n records, converted* from this α'), r.converted], [say('converted* from the best α'), r.best],
        [say('the best α'), r.bestAlpha, shown], ...(Number.isNaN(r.direct) ? [] : [[say('without any α (Theorem E)'), r.direct]])],
      note: say('* by the conversion of Canonne, Kamath and Steinke (2020), which is tighter than the paper’s.'),
      curves: r => ({x: say('order α'), y: say('ε at δ, n records'), lines: {'ε': r.curve}}),
      mark: (values, r) => [values.alpha, r.converted],
    },
    local: {
      title: say('Which protocol?'),
      inputs: [slider('epsilon', 'ε', 0.1, 8, 1, LOG), slider('k', say('values k'), 2, 1e6, 100, WHOLE),
        slider('n', say('users n'), 100, 1e8, 1e5, WHOLE), slider('f', say('true proportion f'), 0, 1, 0)],
      compute: local,
      results: r => marked(r.ranking),
      heading: say('standard deviation of the estimated proportion'),
      curves: r => ({x: 'ε', y: say('standard deviation'), lines: r.curves}),
      mark: (values, r) => [values.epsilon, r.ranking[0][1]],
    },
    composition: {
      title: say('What do many releases cost?'),
      inputs: [
        choice('mechanism', say('mechanism'), {laplace: say('Laplace'), response: say('randomized response'), gaussian: say('Gaussian')}),
        slider('size', say('ε of one release (Gaussian: sensitivity / σ)'), 0.01, 3, 0.1, LOG), slider('count', say('releases'), 1, 1000, 100, WHOLE),
        slider('delta', 'δ', 1e-12, 1e-2, 1e-5, LOG),
      ],
      compute: composition, text: cost,
      results: r => marked(Object.entries(r.total).map(([key, total]) => [METHODS[key], total])),
      heading: say('total ε at δ'),
      curves: r => ({x: say('releases'), y: say('total ε'), lines: r.curves}),
      mark: (values, r) => [values.count, leastOf(Object.values(r.total))],
    },
    noise: {
      title: say('How much noise?'),
      inputs: [slider('epsilon', 'ε', 0.1, 8, 1, LOG), slider('change', say('sensitivity Δ'), 1, 10, 1, {whole: true})],
      compute: noise,
      results: r => [[say('scale of the noise, Δ/ε'), r.scale], [say('95 % of the published counts are off by at most'), r.within],
        [say('largest ratio of the two densities'), r.factor], [say('an attacker who thinks both counts equally likely guesses right with probability'), r.guess]],
      curves: r => ({x: say('published count'), y: say('density'), lines: r.curves, linear: true}),
    },
    reconstruction: {
      title: say('How much can be reconstructed?'),
      inputs: [slider('kept', say('probability ρ of keeping the value'), 0.02, 0.98, 0.3), slider('n', say('records N'), 100, 1e6, 2000, WHOLE),
        slider('steps', say('steps of iterative Bayes'), 1, 10000, 20, WHOLE)],
      compute: reconstruction,
      results: r => [[say('of the perturbed records'), r.errors[0]], [say('of the estimated proportions'), r.errors[1]]],
      heading: say('total variation distance from the true proportions'),
      curves: r => ({x: say('value'), y: say('proportion'), lines: r.curves, linear: true}),
    },
  };

  /* The control of one input, which calls `changed`; returns its current value by `read`. */
  function control(input, id, changed) {
    const made = input.kind === 'choice'
      ? element('select', {id}, ...Object.entries(input.options).map(([value, text]) => element('option', {value}, text)))
      : element('input', {id, type: 'range', min: input.log ? Math.log(input.low) : input.low,
          max: input.log ? Math.log(input.high) : input.high, step: !input.log && input.whole ? 1 : 'any',
          value: input.log ? Math.log(input.start) : input.start});
    const output = element('output', {for: id});
    const read = () => (input.kind === 'choice' ? made.value : toValue(input, made.value));
    const update = () => {
      if (input.kind === 'choice') return;
      const value = read(), short = Number(value.toPrecision(4));
      output.textContent = Number.isInteger(value) || short < 1e-3 ? shown(value) : String(short);
      made.setAttribute('aria-valuetext', output.textContent);
    };
    if (input.kind === 'slider') made.addEventListener('keydown', event => {  // a hundred steps from end to end
      const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10}[event.key];
      if (!step) return;
      event.preventDefault();
      const low = Number(made.min), high = Number(made.max);
      const move = input.whole && !input.log ? step : step * (high - low) / 100, now = Number(made.value), value = read();
      const still = input.whole && toValue(input, now + move) === value;  // a whole number moves by one at least
      made.value = Math.min(high, Math.max(low, still ? toPosition(input, value + Math.sign(step)) : now + move));
      made.dispatchEvent(new Event('input'));
    });
    made.addEventListener('input', () => { update(); changed(); });
    update();
    return {name: input.name, read, row: element('div', {class: 'row'}, element('label', {for: id}, input.label), made, output)};
  }

  function explore(place, index) {
    const explorer = EXPLORERS[place.dataset.explorer];
    const table = element('table'), picture = element('div', {class: 'picture'});
    const update = () => {
      const values = Object.fromEntries(controls.map(one => [one.name, one.read()]));
      const result = explorer.compute(values);
      table.replaceChildren(...(explorer.heading ? [element('caption', {}, explorer.heading)] : []),
        ...explorer.results(result).map(([name, value, text = explorer.text ?? shown]) => element('tr', {},
          element('th', {scope: 'row'}, name), element('td', {'data-value': value}, text(value)))));
      picture.replaceChildren(chart(explorer.curves(result), explorer.mark?.(values, result)));
    };
    const controls = explorer.inputs.map(input => control(input, `explorer-${index}-${input.name}`, update));
    const note = explorer.note ? [element('p', {class: 'note'}, explorer.note)] : [];
    place.replaceChildren(element('fieldset', {}, element('legend', {}, explorer.title), ...controls.map(one => one.row)),
      element('div', {class: 'answer'}, element('div', {'aria-live': 'polite'}, table), ...note, picture));
    update();
  }

  if (typeof document !== 'undefined') {
    document.addEventListener('DOMContentLoaded', () => document.querySelectorAll('.explorer[data-explorer]').forEach(explore));
  }
  Object.assign(compendium, {composition, noise, reconstruction});
})();
