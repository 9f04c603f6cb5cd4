/* The questions that the calculator answers. Each has

   - inputs, as in drawing.js;   compute(values), everything that is shown at once
   - tables(result, values): {caption, columns, rows, budgets}. A column is {key, name, better, text}, better 'less' or 'more' where one
     row can beat another, and text a function that writes its numbers as the statement does; a row is {key, name, cells} with a number
     for each column. With `budgets`, the first column is an epsilon, at delta, and each row is followed by what an attacker can do
   - statement(result, values), a sentence;   call(result, values), lines of Python
   - mark(result), where the setting lies above its place on the curve
   - curve: {x, of, y, grid(values), at(x, values)}, a number for each of some lines at each point of the grid */

(() => {
  'use strict';
  const {slider, choice, LOG, WHOLE, spaced, BOUNDS, renyi, composed, oracles, aimBudget, dpSgd, converted, cost, upwards} = compendium;

  const logarithmic = (low, high, count) => [low, ...spaced(Math.log(low), Math.log(high), count).slice(1, -1).map(Math.exp), high];
  const wholes = (low, high, count) => [...new Set(logarithmic(low, high, count).map(Math.round))];
  const EPSILON = {key: 'epsilon', name: say('ε at δ'), better: 'less', text: cost};

  const TIE = 1e-12;  // numbers that differ by no more of them are equal: the last digits hang on the way of computing

  const equal = (a, b) => Math.abs(a - b) <= TIE * Math.abs(b);

  /* The key with the least number; the first of several. */
  const leastOf = numbers => Object.keys(numbers).reduce((a, b) => (numbers[b] < numbers[a] * (1 - TIE) || Number.isNaN(numbers[a]) ? b : a));

  const NO_GUARANTEE = say('No theorem here gives a guarantee for this setting.');
  const CHANGED = {unbounded: say('added or removed'), bounded: say('replaced'), regularised: say('added or removed'), public: say('replaced')};
  const NEIGHBOURS = choice('neighbours', say('a record is'), {unbounded: CHANGED.unbounded, bounded: CHANGED.bounded});
  const count = number => number.toLocaleString('en');
  const many = (number, one, other) => say(number === 1 ? one : other, {n: count(number)});

  // ---- Gaussian synthesis

  const THEOREMS = {
    unbounded: {unbounded: say('Theorem 3.1, as printed'), tight: say('Theorem D'), direct: say('Theorem E, without Rényi orders')},
    bounded: {bounded: say('Theorem 3.2, as printed'), separate: say('Theorem A'), joint: say('Theorem B'), both: say('Theorem G'),
      centred: say('Theorem G′')},
    regularised: {direct: say('Theorem H'), regularised: say('Theorem H, by Rényi orders')},
    public: {bounded: say('Theorem 3.2, as printed'), separate: say('Theorem A'), joint: say('Theorem B'), both: say('Theorem G')},
  };  // as in lib.gaussian_synthesis.theorems, with which a test compares them
  const CALLS = {unbounded: 'unbounded_epsilon', tight: 'unbounded_epsilon_tight', bounded: 'bounded_epsilon',
    separate: 'bounded_epsilon_tight', joint: 'bounded_epsilon_joint', both: 'bounded_epsilon_both', centred: 'bounded_epsilon_centred',
    regularised: 'regularised_epsilon'};
  const DIRECT = {unbounded: 'released_epsilon', regularised: 'regularised_released_epsilon'};
  const NOISY = ['regularised', 'public'], PUBLIC = ['bounded', 'public'];

  const synthesis = {
    title: say('Gaussian synthesis'),
    lead: say('n synthetic records, drawn from a Gaussian fitted to n real records in a cube. The number of synthetic records is fixed in advance.'),
    inputs: [
      choice('guarantee', say('guarantee'), {regularised: say('private n, σ added to each variance'), public: say('public n, σ added to each variance'),
        unbounded: say('private n: a record added or removed'), bounded: say('public n: a record replaced')}),
      slider('n', say('records n'), 1e3, 1e12, 1e7, WHOLE), slider('d', say('attributes d'), 1, 50, 6, {whole: true}),
      slider('sigma', say('added variance, or smallest eigenvalue, σ'), 1e-3, 0.99, 0.01, LOG), slider('alpha', say('Rényi order α'), 1.01, 1000, 4, LOG),
      slider('delta', 'δ', 1e-12, 1e-2, 1e-5, LOG),
    ],
    compute(values) {
      const found = {}, orders = {}, renyis = {};
      for (const bound of Object.keys(THEOREMS[values.guarantee])) {
        if (bound === 'direct') continue;
        const one = renyi({...values, bound});
        [found[bound], orders[bound], renyis[bound]] = [one.best, one.bestAlpha, one];
        if (bound === 'tight' || bound === 'regularised') found.direct = one.direct;
      }
      return {found, orders, renyis, best: leastOf(found)};
    },
    tables({found, renyis}, {guarantee}) {
      const names = THEOREMS[guarantee];
      return [
        {caption: say('The whole release: (ε, δ), converted* at the best order for each bound'), columns: [EPSILON], budgets: true,
          rows: Object.entries(names).map(([key, name]) => ({key, name, cells: [found[key]]}))},
        {caption: say('Rényi divergence at the order α'), rows: Object.entries(renyis).map(([key, one]) =>
          ({key: `renyi-${key}`, name: names[key], cells: [one.record, one.release, one.converted]})),
        columns: [{key: 'record', name: say('of one record'), better: 'less', text: cost}, {key: 'release', name: say('of n records'), better: 'less', text: cost},
          {key: 'converted', name: say('ε at δ, converted* from it'), better: 'less', text: cost}]},
      ];
    },
    note: ({guarantee}) => [{
      unbounded: say('For d attributes in [−1, 1] whose covariance has no eigenvalue below σ.'),
      bounded: say('Theorems 3.2, A and B assume that the covariance of the first data set has no eigenvalue below σ. Theorems G and G′ assume this of both data sets.'),
    }[guarantee] ?? say('For all data with d attributes in [−1, 1]. Noise of variance σ on each attribute replaces the assumption about the covariance.'), say('* by the conversion of Canonne, Kamath and Steinke (2020), which is tighter than the paper’s.')].join(' '),
    statement({found, best}, {guarantee, n, d, sigma, delta}) {
      if (!Number.isFinite(found[best])) return NO_GUARANTEE;
      const data = {attributes: many(d, '{n} attribute', '{n} attributes'), sigma};
      const whom = NOISY.includes(guarantee) ? say('for any data with {attributes} in [−1, 1] and {sigma} added to each variance', data)
        : say('for data with {attributes} in [−1, 1] whose covariance has no eigenvalue below {sigma}', data);
      const said = say('The release of {records}, a number fixed in advance, is (ε = {epsilon}, δ = {delta})-differentially private when one record is {changed}, {whom} ({theorem}).',
        {records: many(n, '{n} synthetic record', '{n} synthetic records'), epsilon: upwards(found[best]), delta, changed: CHANGED[guarantee], whom, theorem: THEOREMS[guarantee][best]});
      return `${said} ${PUBLIC.includes(guarantee) ? say('There are {n} real records, and this number is public.', {n: count(n)})
        : say('There are at least {n} real records, with or without that record.', {n: count(n)})}`;
    },
    call({best}, {guarantee, n, d, sigma, delta}) {
      const setting = `n=${n}, delta=${delta}, d=${d}, sigma=${sigma}`, direct = DIRECT[guarantee];
      return best === 'direct' ? `from dp_compendium.gaussian_synthesis import ${direct}\n\nprint(${direct}(${setting}))`
        : `from dp_compendium.gaussian_synthesis import ${CALLS[best]}, released_dp\n\nprint(released_dp(${setting}, bound=${CALLS[best]}).epsilon)`;
    },
    budget: ({found, best}, {delta}) => [found[best], delta],
    mark: () => NaN,
    curve: {
      x: say('order α'), of: 'alpha', y: say('ε at δ, n records'), grid: () => logarithmic(1.01, 1e4, 200),
      at: (alpha, {guarantee, n, d, sigma, delta}) => Object.fromEntries(Object.keys(THEOREMS[guarantee]).filter(bound => BOUNDS[bound])
        .map(bound => [THEOREMS[guarantee][bound].replace(say(', as printed'), ''), converted(alpha, n * BOUNDS[bound](n, alpha, d, sigma), delta)])),
    },
  };

  // ---- composition

  const METHODS = {basic: say('basic: epsilons add up'), advanced: say('advanced (Dwork, Rothblum, Vadhan)'),
    optimal: say('from each ε alone (Kairouz, Oh, Viswanath)'), zcdp: 'zCDP', rdp: 'RDP', numerical: say('numerically, from the privacy loss')};
  const named = totals => Object.fromEntries(Object.entries(totals).map(([key, total]) => [{zcdp: 'zCDP', rdp: 'RDP'}[key] ?? key, total]));  // of curves
  const MECHANISMS = {laplace: say('Laplace'), response: say('randomized response'), gaussian: say('Gaussian')};
  const BY = {laplace: say('the Laplace mechanism'), response: say('randomized response'), gaussian: say('the Gaussian mechanism')};
  const MADE = {laplace: size => `mechanisms.Laplace(scale=1 / ${size})`, response: size => `mechanisms.RandomizedResponse(${size})`,
    gaussian: size => `mechanisms.Gaussian(sigma=1 / ${size})`};
  const EXACTLY = {laplace: 'numerical', response: 'optimal', gaussian: 'gaussian'};  // how `Accountant` calls it

  const composition = {
    title: say('Many releases'),
    lead: say('One mechanism runs repeatedly on the same data. The cost of one release is for the neighbours chosen below.'),
    inputs: [choice('mechanism', say('mechanism'), MECHANISMS), NEIGHBOURS, slider('size', say('ε of one release (Gaussian: sensitivity / σ)'), 1e-3, 5, 0.1, LOG),
      slider('count', say('releases'), 1, 1e4, 100, WHOLE), slider('delta', say('δ of all releases'), 1e-12, 1e-2, 1e-5, LOG)],
    compute: values => { const total = composed(values); return {total, best: leastOf(total)}; },
    tables: ({total}) => [{caption: say('All releases together'), columns: [EPSILON], budgets: true,
      rows: Object.entries(METHODS).map(([key, name]) => ({key, name, cells: [total[key]]}))}],
    note: ({mechanism}) => (mechanism === 'gaussian'
      ? say('The first three rows use only that each release is (ε, δ)-private, with the best division of δ for each row. Several Gaussian mechanisms together are one Gaussian mechanism, so the last row is exact.')
      : say('The third row uses only each release’s ε. It covers every mechanism with this ε; randomized response attains it.')),
    statement: ({total, best}, {mechanism, neighbours, size, count, delta}) =>
      say('{releases} by {mechanism}, each with {size}, are together (ε = {epsilon}, δ = {delta})-differentially private when one record is {changed}.',
        {releases: many(count, '{n} release', '{n} releases'), mechanism: BY[mechanism], changed: CHANGED[neighbours], epsilon: upwards(total[best]), delta,
          size: `${mechanism === 'gaussian' ? say('sensitivity / σ') : 'ε'} = ${size}`}),
    call: ({best}, {mechanism, size, count, delta}) => 'from dp_compendium import mechanisms\nfrom dp_compendium.accounting import Accountant\n\n'
      + `mechanism = ${MADE[mechanism](size)}\nprint(Accountant([(mechanism, ${count})], ${delta}).${best === 'numerical' ? EXACTLY[mechanism] : best}())`,
    budget: ({total, best}, {delta}) => [total[best], delta],
    mark: ({total, best}) => total[best],
    curve: {x: say('releases'), of: 'count', y: say('total ε'), grid: () => wholes(1, 1e4, 17),
      at: (count, values) => named(composed({...values, count}))},
  };

  // ---- local protocols

  const ORACLES = {GRR: 'GRR', SUE: 'SUE', OUE: 'OUE', BLH: 'BLH', OLH: 'OLH', SHE: 'SHE', THE: 'THE', SS: 'SubsetSelection', HR: 'HadamardResponse'};

  const local = {
    title: say('Local protocols'),
    lead: say('Each user sends one report, and an untrusted collector estimates how often each value occurs.'),
    inputs: [slider('epsilon', say('ε of one report'), 0.1, 8, 1, LOG), slider('k', say('values k'), 2, 1e6, 100, WHOLE),
      slider('n', say('users n'), 100, 1e9, 1e5, WHOLE), slider('f', say('true proportion f'), 0, 1, 0)],
    compute(values) {
      const found = oracles(values), best = leastOf(Object.fromEntries(Object.entries(found).map(([name, {deviation}]) => [name, deviation])));
      return {found, best, others: Object.keys(found).filter(name => name !== best && equal(found[name].deviation, found[best].deviation))};
    },
    tables: ({found}, {epsilon}) => [
      {caption: say('The estimate of one proportion, and the size of a report'), rows: Object.entries(found).map(([key, {deviation, bits}]) =>
        ({key, name: key, cells: [deviation, bits]})),
      columns: [{key: 'deviation', name: say('standard deviation'), better: 'less'}, {key: 'bits', name: say('bits per report'), better: 'less'}]},
      {caption: say('What a report reveals'), columns: [{key: 'epsilon', name: say('pure ε'), text: String}], budgets: true, rows: [{key: 'report', name: say('any protocol'), cells: [epsilon]}]},
    ],
    note: () => say('Bits: the base-2 logarithm of the number of possible reports. BLH and OLH send their hash function with the bucket.'),
    statement: (result, {epsilon, k}) => say('Each user’s value, one of {k}, leaves the device only in a report that is {epsilon}-locally differentially private.',
      {k: count(k), epsilon}),
    call: ({best, others}, {epsilon, k, n, f}) => `from dp_compendium.local import ${ORACLES[best]}\n\n`
      + `${others.length ? `# the same deviation by ${others.map(name => ORACLES[name]).join(', ')}\n` : ''}oracle = ${ORACLES[best]}(k=${k}, epsilon=${epsilon})\nprint(oracle.variance(${f}, ${n}) ** 0.5)`,
    budget: (result, {epsilon}) => [epsilon, 0],
    mark: ({found, best}) => found[best].deviation,
    curve: {x: 'ε', of: 'epsilon', y: say('standard deviation'), grid: () => logarithmic(0.1, 8, 60),
      at: (epsilon, values) => Object.fromEntries(Object.entries(oracles({...values, epsilon})).map(([name, {deviation}]) => [name, deviation]))},
  };

  // ---- AIM

  const aim = {
    title: say('AIM’s budget'),
    lead: say('AIM makes a synthetic table in rounds. The rounds share its budget.'),
    inputs: [NEIGHBOURS, slider('epsilon', 'ε', 0.01, 20, 1, LOG), slider('delta', 'δ', 1e-12, 1e-2, 1e-9, LOG), slider('d', say('attributes d'), 1, 100, 8, {whole: true}),
      slider('each', say('rounds T per attribute'), 1, 64, 16, {whole: true}), slider('alpha', say('proportion α for measuring'), 0.01, 0.99, 0.9)],
    compute: aimBudget,
    tables({rho, older, slow, quick}, {epsilon}) {
      const schedule = [['first.multiplier', say('σ of the first measurements'), slow.first.multiplier, quick.first.multiplier],
        ['first.epsilon', say('ε of the first choice'), slow.first.epsilon, quick.first.epsilon],
        ['initial', say('ρ of measuring each attribute once'), slow.initial, quick.initial], ['taken', say('rounds until the budget is spent'), slow.taken, quick.taken],
        ['last.multiplier', say('σ of the last measurement'), slow.last.multiplier, quick.last.multiplier],
        ['last.epsilon', say('ε of the last choice'), slow.last.epsilon, quick.last.epsilon]];
      return [
        {caption: say('The budget in zCDP'), columns: [{key: 'rho', name: 'ρ', better: 'more', text: cost}], rows: [
          {key: 'canonne2020', name: say('by Canonne, Kamath and Steinke (2020)'), cells: [rho]}, {key: 'mironov2017', name: say('by the older conversion'), cells: [older]}]},
        {caption: say('How the larger budget is spent'), columns: [{key: 'slow', name: say('never annealed')}, {key: 'quick', name: say('annealed after every round')}],
          rows: schedule.map(([key, name, ...cells]) => ({key, name, cells}))},
        {caption: say('What the synthetic table reveals'), columns: [{key: 'epsilon', name: say('ε at δ'), text: String}], budgets: true, rows: [{key: 'table', name: say('all rounds'), cells: [epsilon]}]},
      ];
    },
    note: () => say('σ is for sensitivity 1. Runs lie between the two columns: AIM anneals after each round that taught the model too little.'),
    statement: ({rho, older}, {neighbours, epsilon, delta}) => say('The synthetic table is (ε = {epsilon}, δ = {delta})-differentially private when '
      + 'one record is {changed}. Its noise is scaled to the effect of this change, and its choices and measurements satisfy {rho}-zCDP.',
    {epsilon, delta, changed: CHANGED[neighbours], rho: upwards(Math.max(rho, older))}),
    call: (result, {epsilon, delta, d, each, alpha}) => 'from dp_compendium.accounting import dp_to_zcdp\nfrom dp_compendium.tables.budget_schedule import Schedule\n\n'
      + `rho = dp_to_zcdp(${epsilon}, ${delta})\nschedule = Schedule(rho, ${each * d}, ${alpha})\nprint(rho)`,
    budget: (result, {epsilon, delta}) => [epsilon, delta],
    mark: ({rho, older}) => Math.max(rho, older),
    curve: {x: 'ε', of: 'epsilon', y: 'ρ', grid: () => logarithmic(0.01, 20, 60), at: (epsilon, {delta}) => ({
      2020: compendium.rhoOf(epsilon, delta), older: compendium.olderRhoOf(epsilon, delta)})},
  };

  // ---- DP-SGD

  const SGD = {whole: say('as if every step used every record'), rdp: say('RDP of the sampled Gaussian'), numerical: say('numerically, from the privacy loss')};

  const sgd = {
    title: say('DP-SGD'),
    lead: say('A network is trained on random batches. Each record’s gradient is clipped, and noise is added to their sum.'),
    inputs: [NEIGHBOURS, slider('sigma', say('noise multiplier σ'), 0.5, 100, 1, LOG), slider('q', say('sampling rate q'), 1e-4, 1, 0.01, LOG),
      slider('steps', say('steps'), 1, 1e6, 1e3, WHOLE), slider('delta', 'δ', 1e-12, 1e-2, 1e-5, LOG)],
    compute(values) {
      const {whole, rdp, numerical} = dpSgd(values), found = {whole, rdp, numerical};
      return {found, best: leastOf(found)};
    },
    tables: ({found}) => [{caption: say('All steps together'), columns: [EPSILON], budgets: true, rows: Object.entries(SGD).map(([key, name]) =>
      ({key, name, cells: [found[key]]}))}],
    note: () => say('Each record takes part in a step with probability q, independently (Poisson sampling).'),
    statement: ({found, best}, {neighbours, sigma, q, steps, delta}) => say('The trained network is (ε = {epsilon}, δ = {delta})-differentially private when one record is '
      + '{changed}. It was trained by {steps} of DP-SGD with noise multiplier {sigma} and Poisson sampling at rate {q}.',
    {epsilon: upwards(found[best]), delta, changed: CHANGED[neighbours], steps: many(steps, '{n} step', '{n} steps'), sigma, q}),
    call({best}, {neighbours, sigma, q, steps, delta}) {
      if (best === 'whole') return `from dp_compendium.accounting import gaussian_epsilon\n\nprint(gaussian_epsilon(${sigma}, ${delta}, ${neighbours === 'bounded' ? 2 : 1} * ${steps} ** 0.5))`;
      const name = best === 'rdp' ? 'rdp_epsilon' : 'epsilon';
      return `from dp_compendium.accounting.sampled_gaussian import ${name}\n\nprint(${name}(${sigma}, ${q}, ${steps}, ${delta}, "${neighbours}"))`;
    },
    budget: ({found, best}, {delta}) => [found[best], delta],
    mark: ({found, best}) => found[best],
    curve: {x: say('steps'), of: 'steps', y: say('ε at δ'), grid: () => wholes(1, 1e6, 13), at(steps, values) {
      const {rdp, numerical} = dpSgd({...values, steps});
      return {RDP: rdp, numerical};
    }},
  };

  // Inputs that mean the same wherever they stand: people, their attributes, and what each is promised. σ and α do not.
  const SHARED = ['neighbours', 'n', 'd', 'epsilon', 'delta'];

  Object.assign(compendium, {QUESTIONS: {composition, synthesis, local, aim, sgd}, SHARED, METHODS, named, equal});
})();
