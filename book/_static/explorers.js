/* Sliders beside a chapter's formulas: <div class="explorer" data-explorer="renyi"></div> becomes one of the
   explorers at the end of this file. They compute here, in the reader's browser, what `lib` computes in Python;
   tests/browser/test_explorers.py compares the two to nine digits. Nothing is loaded, nothing leaves the page. */

const compendium = (() => {
  'use strict';

  // ---------------------------------------------------------------- numbers

  /* log(1 + x) - x for x > -1: the two leading terms cancelled by hand near 0 (lib.accounting.divergence.log1pmx). */
  function log1pmx(x) {
    if (Math.abs(x) >= 0.4) return Math.log1p(x) - x;
    const r = x / (2 + x), square = r * r;
    let series = 1 / 25;
    for (let odd = 23; odd >= 3; odd -= 2) series = series * square + 1 / odd;
    return r * (2 * square * series - x);
  }

  /* Twice the order-alpha divergence of N(0, 1) from N(0, 1 + t) (lib.accounting.divergence.psi). */
  function psi(t, alpha) {
    if (alpha * Math.min(t, 0) <= -1) return Infinity;
    const s = t / (1 + t);
    const first = t < 0.5 ? -log1pmx(-s) : Math.log1p(t) - s;
    return first - log1pmx((alpha - 1) * s) / (alpha - 1);
  }

  /* log(e^a + e^b). */
  function logAddExp(a, b) {
    return a === b ? a + Math.LN2 : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));
  }

  /* e^(x^2) erfc(x) for x >= 0: the Maclaurin series of erf up to 2.5, beyond it the continued fraction. */
  function erfcx(x) {
    if (x < 2.5) {
      let term = x, sum = x;
      for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) { term *= 2 * x * x / (2 * n + 1); sum += term; }
      return Math.exp(x * x) - 2 / Math.sqrt(Math.PI) * sum;  // e^(x^2) erf(x) = 2/sqrt(pi) sum of positive terms
    }
    let tail = 0;
    for (let n = 120; n >= 1; n--) tail = n / 2 / (x + tail);
    return 1 / ((x + tail) * Math.sqrt(Math.PI));
  }

  /* log of Pr[N(0, 1) > t]. */
  function logTail(t) {
    const x = Math.abs(t) / Math.SQRT2, log = Math.log(erfcx(x) / 2) - x * x;
    return t >= 0 ? log : Math.log1p(-Math.exp(log));
  }

  /* The root of an increasing or decreasing function between two bounds, by bisection to the last digit. */
  function root(f, low, high) {
    const rising = f(high) > f(low);
    for (let i = 0; i < 200; i++) {
      const middle = (low + high) / 2;
      if (middle <= low || middle >= high) break;
      if ((f(middle) > 0) === rising) high = middle; else low = middle;
    }
    return (low + high) / 2;
  }

  const spaced = (low, high, count) => Array.from({length: count}, (_, i) => low + (high - low) * i / (count - 1));

  // ---------------------------------------------------------------- Rényi bounds (lib.gaussian_synthesis)

  /* The two directions of Theorem 3.1: epsilon of one record, private n. */
  function unboundedEpsilon(n, alpha, d, sigma) {
    const more = n + 1, tau = 4 * d / sigma;
    const margin = n * (n + alpha) - alpha * more * tau;
    if (!(margin > 0)) return Infinity;
    let ordinary = psi(-1 / more, alpha);
    const added = alpha * tau / (more * (more - alpha)) + (d - 1) * ordinary
      + Math.max(ordinary, psi((n * tau - more) / (more * more), alpha));
    const slope = (more * tau - n) / (more * (n - tau)), x = (1 - alpha) * slope;
    const last = x < -0.5 ? Math.log(margin / (more * (n - tau))) - x : log1pmx(x);
    ordinary = psi(1 / n, alpha);
    const removed = alpha * tau / margin + (d - 1) * ordinary
      + Math.max(ordinary, -log1pmx(slope) - last / (alpha - 1));
    return Math.max(added, removed) / 2;
  }

  /* Margin and eigenvalue bound that the theorems for public n share, and 1 - alpha kappa. */
  function boundedTerms(n, alpha, d, sigma) {
    const tau = 4 * d / sigma, margin = n * n - alpha * (n - 1) * tau;
    return {tau, margin, kappa: (n - 1) * tau / (n * n), rest: margin / (n * n)};
  }

  /* Theorem 3.2: epsilon of one record, public n. */
  function boundedEpsilon(n, alpha, d, sigma) {
    const {tau, margin, kappa, rest} = boundedTerms(n, alpha, d, sigma);
    if (!(margin > 0)) return Infinity;
    const last = alpha * kappa > 0.5 ? Math.log(rest) : Math.log1p(-alpha * kappa);
    return alpha * tau / (2 * margin) + (alpha * Math.log1p(kappa) - last) / (2 * (alpha - 1));
  }

  /* Theorem B: the eigenvalues bounded together. */
  function boundedEpsilonJoint(n, alpha, d, sigma) {
    const {tau, margin, kappa, rest} = boundedTerms(n, alpha, d, sigma);
    if (!(margin > 0)) return Infinity;
    const slope = kappa / (1 - kappa), x = (1 - alpha) * slope;
    const last = x < -0.5 ? Math.log(rest / (1 - kappa)) - x : log1pmx(x);
    return alpha * tau / (2 * margin) + (-log1pmx(slope) - last / (alpha - 1)) / 2;
  }

  /* Theorem G: both data sets in D_sigma, public n. */
  function boundedEpsilonBoth(n, alpha, d, sigma) {
    const tau = 4 * d / sigma, kappa = (n - 1) * tau / (n * n), shrunk = kappa / (1 + kappa), left = 1 - alpha * shrunk;
    if (!(left > 0)) return Infinity;
    return (alpha * tau / (n * n) / left + Math.max(psi(-shrunk, alpha), (1 + kappa) ** 2 * psi(kappa, alpha))) / 2;
  }

  /* Lemma C: the largest squared Mahalanobis distance. */
  const largestRadius = (d, sigma) => d * (1 + Math.sqrt(1 - sigma)) ** 2 / sigma;

  /* Theorem D: the smaller data set in D_sigma, private n. */
  function unboundedEpsilonTight(n, alpha, d, sigma) {
    const more = n + 1, reach = largestRadius(d, sigma), margin = more * (n + alpha) - n * (alpha - 1) * reach;
    if (!(margin > 0 && more > alpha)) return Infinity;
    const added = r => alpha * r / (more * (more - alpha) + alpha * n * r) + (d - 1) * psi(-1 / more, alpha)
      + psi((n * r - more) / (more * more), alpha);
    const removed = alpha * reach / margin + (d - 1) * psi(1 / n, alpha) + psi((more - n * reach) / (n * (more + reach)), alpha);
    return Math.max(added(0), added(reach), removed) / 2;
  }

  /* Complex numbers as [re, im]. */
  const times = (a, b) => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
  const over = (a, b) => {
    const size = b[0] * b[0] + b[1] * b[1];
    return [(a[0] * b[0] + a[1] * b[1]) / size, (a[1] * b[0] - a[0] * b[1]) / size];
  };

  /* log(1 + x) - x for complex x, as `log1pmx`. */
  function complexLog1pmx(x) {
    if (Math.hypot(...x) >= 0.4) return [Math.log(Math.hypot(1 + x[0], x[1])) - x[0], Math.atan2(x[1], 1 + x[0]) - x[1]];
    const r = over(x, [2 + x[0], x[1]]), square = times(r, r);
    let series = [1 / 25, 0];
    for (let odd = 23; odd >= 3; odd -= 2) { series = times(series, square); series[0] += 1 / odd; }
    const twice = times([2 * square[0], 2 * square[1]], series);
    return times(r, [twice[0] - x[0], twice[1] - x[1]]);
  }

  /* delta(epsilon) of `count` draws of two Gaussians: `parts` are [how many coordinates, t, m^2], the second having variance 1 + t
     and mean m where the first has 1 and 0 (lib.accounting.hockey_stick, on its line Re z > 0 alone). */
  function hockeyStick(parts, count, epsilon) {
    const terms = parts.map(([many, t, square]) => {
      const s = t / (1 + t);
      return {half: count * many / 2, s, b: square / (1 + t), slope: -log1pmx(-s)};
    });
    const least = Math.min(...terms.map(({s}) => s)), high = least < 0 ? -1 / least : Infinity;
    const exponent = z => {  // K(z) - z epsilon
      let sum = [-z[0] * epsilon, -z[1] * epsilon];
      for (const {half, s, b, slope} of terms) {
        const mean = over(times(z, [1 + z[0], z[1]]), [1 + z[0] * s, z[1] * s]), log = complexLog1pmx([z[0] * s, z[1] * s]);
        sum = sum.map((part, i) => part + half * (b * mean[i] + slope * z[i] - log[i]));
      }
      return sum;
    };
    const slope = r => terms.reduce((sum, {half, s, b, slope}) => {
      const w = 1 + r * s;
      return sum + half * (b * (1 + 2 * r + s * r * r) / (w * w) + slope + r * s * s / w);
    }, -epsilon) - 1 / r - 1 / (1 + r);
    const at = u => (high === Infinity ? Math.exp(u) : high / (1 + Math.exp(-u)));
    const r = at(root(u => slope(at(u)), -30, 30));
    const curvature = terms.reduce((sum, {half, s, b}) => {
      const w = 1 + r * s;
      return sum + half * (2 * b * (1 - s) / w ** 3 + (s / w) ** 2);
    }, r ** -2 + (1 + r) ** -2);
    const step = 1 / (6 * Math.sqrt(curvature)), peak = exponent([r, 0])[0];
    let total = 0;
    for (let k = 0; k < 1e5; k++) {
      const z = [r, k * step], [re, im] = exponent(z), size = Math.exp(re - peak);
      const value = over([size * Math.cos(im), size * Math.sin(im)], times(z, [1 + r, z[1]]));
      total += (k ? 1 : 0.5) * value[0];
      if (Math.hypot(...value) < 1e-15 * total) break;
    }
    return step / Math.PI * total * Math.exp(peak);
  }

  /* Theorem E: epsilon of n records at delta, private n; `above` is where to look first. */
  function releasedEpsilon(n, d, sigma, delta, above) {
    const more = n + 1, r = largestRadius(d, sigma);
    const pairs = [[[d, -1 / more, 0], [1, (n * r - more) / (more * more), r / (more * more)]],
      [[d, 1 / n, 0], [1, (more - n * r) / (n * (more + r)), r / n / (more + r)]]];
    const excess = epsilon => Math.max(...pairs.map(parts => hockeyStick(parts, n, epsilon))) - delta;
    if (excess(0) <= 0) return 0;
    while (excess(above) > 0) above *= 2;  // its extra dimension may cost more than a conversion loses
    return root(excess, 0, above);
  }

  /* (epsilon, delta) from a Rényi epsilon at one order (Canonne, Kamath, Steinke 2020). */
  function converted(alpha, epsilon, delta) {
    const x = alpha - 1;
    return Math.max(0, epsilon - Math.log1p(1 / x) - Math.log1p(x) / x - Math.log(delta) / x);
  }

  const RELEASE_ORDERS = spaced(Math.log(1e-2), Math.log(1e4), 1200).map(u => 1 + Math.exp(u));
  const BOUNDS = {tight: unboundedEpsilonTight, unbounded: unboundedEpsilon, both: boundedEpsilonBoth, joint: boundedEpsilonJoint,
    bounded: boundedEpsilon};

  /* Everything the explorer shows, for whole n and d, sigma in (0, 1), alpha > 1, delta in (0, 1). */
  function renyi({bound, n, d, sigma, alpha, delta}) {
    const epsilon = BOUNDS[bound](n, alpha, d, sigma);
    const curve = RELEASE_ORDERS.map(order => [order, converted(order, n * BOUNDS[bound](n, order, d, sigma), delta)]);
    const [bestAlpha, best] = curve.reduce((a, b) => (b[1] < a[1] ? b : a));
    return {record: epsilon, release: n * epsilon, converted: converted(alpha, n * epsilon, delta), best,
            bestAlpha: Number.isFinite(best) ? bestAlpha : NaN, curve,
            direct: bound === 'tight' && Number.isFinite(best) ? releasedEpsilon(n, d, sigma, delta, best) : NaN};
  }

  // ---------------------------------------------------------------- frequency oracles (lib.local)

  const pure = (p, q) => ({zero: q * (1 - q) / (p - q) ** 2, slope: (p * (1 - p) - q * (1 - q)) / (p - q) ** 2});

  function hashing(epsilon, g) {
    return pure(1 / (1 + (g - 1) * Math.exp(-epsilon)), 1 / g);
  }

  function olh(epsilon) {
    const odds = Math.exp(Math.min(epsilon, Math.log(65536)));
    const worth = g => (odds + g - 1) ** 2 / (g - 1);
    const [low, high] = [Math.floor, Math.ceil].map(round => Math.min(round(odds + 1), 65536));
    return hashing(epsilon, worth(low) <= worth(high) ? low : high);
  }

  function the(epsilon) {
    const q = theta => Math.exp(-epsilon * theta / 2) / 2;
    const gap = theta => -(Math.expm1(epsilon * (theta - 1) / 2) + Math.expm1(-epsilon * theta / 2)) / 2;
    const slope = t => gap(t) * (1 - 2 * q(t)) - 2 * q(t) * Math.expm1(epsilon * (t - 0.5)) * (1 - q(t));
    const theta = root(slope, 0.5, 1);
    return pure(1 - Math.exp(epsilon * (theta - 1) / 2) / 2, q(theta));
  }

  function subsets(epsilon, k) {
    const odds = Math.exp(-epsilon), sizes = [Math.floor, Math.ceil]
      .map(round => Math.min(Math.max(round(k * odds / (1 + odds)), 1), k - 1));
    const [best] = sizes.map(d => {
      const p = d / (d + (k - d) * odds), q = (p * (d - 1) + (1 - p) * d) / (k - 1);
      const gap = d * (k - d) / (d + (k - d) * odds);
      return {p, q, worth: (p * (1 - p) + (k - 1) * q * (1 - q)) / gap ** 2};
    }).sort((a, b) => a.worth - b.worth);
    return pure(best.p, best.q);
  }

  /* Hadamard response, the other users spread evenly over the blocks. */
  function hadamard(epsilon, k) {
    const blocks = 2 ** (Math.ceil(Math.min(epsilon / Math.LN2, Math.log2(2 * k))) - 1);
    const odds = Math.exp(-epsilon), scale = 1 + (2 * blocks - 1) * odds;
    const forced = (1 - odds) / scale, inside = (1 + odds) / scale, outside = 2 * odds / scale;
    const at = share => (share * inside + (1 - share) * outside) / forced ** 2;
    return {zero: at(1 / blocks), slope: at(1) - at(1 / blocks) - 1};
  }

  const ORACLES = {
    GRR: (e, k) => pure(1 / (1 + (k - 1) * Math.exp(-e)), Math.exp(-e) / (1 + (k - 1) * Math.exp(-e))),
    SUE: e => pure(1 / (1 + Math.exp(-e / 2)), Math.exp(-e / 2) / (1 + Math.exp(-e / 2))),
    OUE: e => pure(1 / 2, Math.exp(-e) / (1 + Math.exp(-e))),
    BLH: e => hashing(e, 2),
    OLH: olh,
    SHE: e => ({zero: 8 / e ** 2, slope: 0}),
    THE: the,
    SS: subsets,
    HR: hadamard,
  };

  /* Standard deviation of each oracle's estimate at true frequency f among n users, best first. */
  function local({epsilon, k, n, f}) {
    const deviation = (name, e) => {
      const {zero, slope} = ORACLES[name](e, k);
      return Math.sqrt((zero + slope * f) / n);
    };
    const ranking = Object.keys(ORACLES).map(name => [name, deviation(name, epsilon)]).sort((a, b) => a[1] - b[1]);
    const grid = spaced(Math.log(0.1), Math.log(8), 60).map(Math.exp);
    const curves = Object.fromEntries(Object.keys(ORACLES).map(name => [name, grid.map(e => [e, deviation(name, e)])]));
    return {ranking, curves};
  }

  // ---------------------------------------------------------------- composition (lib.accounting.composition)

  const COMPOSITION_ORDERS = Array.from({length: 241}, (_, i) => 1 + 2 ** (-7 + 0.1 * i));

  const MECHANISMS = {
    response: {
      rho: e => e * Math.tanh(e / 2),
      rdp: (a, e) => {  // both outputs of randomized response, p = e^e/(1 + e^e)
        const p = -Math.log1p(Math.exp(-e)), q = p - e;
        return logAddExp(a * p + (1 - a) * q, a * q + (1 - a) * p) / (a - 1);
      },
    },
    laplace: {
      rho: e => (e > 1e-4 ? Math.expm1(-e) + e : e * e / 2),
      rdp: (a, e) => logAddExp(Math.log(a / (2 * a - 1)) + (a - 1) * e, Math.log((a - 1) / (2 * a - 1)) - a * e) / (a - 1),
    },
  };

  /* The best (epsilon, delta) that rho-zCDP implies (accounting.zcdp_to_dp). */
  function zcdp(rho, delta) {
    const goal = -Math.log(delta), slope = x => rho * x * x + Math.log1p(x) - goal;
    let high = 1;
    while (slope(high) < 0) high *= 2;
    return converted(1 + root(slope, 0, high), rho * (1 + root(slope, 0, high)), delta);
  }

  /* The exact epsilon at delta of a Gaussian mechanism whose means lie mu standard deviations apart. */
  function gaussian(mu, delta) {
    const excess = e => {
      const t0 = e / mu - mu / 2, t1 = e / mu + mu / 2;
      const ratio = Math.exp(e + logTail(t1) - logTail(t0));
      return logTail(t0) + Math.log1p(-Math.min(ratio, 1 - 1e-16)) - Math.log(delta);
    };
    return excess(0) <= 0 ? 0 : root(excess, 0, mu * (mu / 2 + 2 * Math.sqrt(-2 * Math.log(delta))));
  }

  /* The least epsilon at delta for count mechanisms of which only epsilon-DP is known (Kairouz, Oh, Viswanath 2015):
     the privacy loss of randomized response is (2 heads - count) epsilon, heads binomial. */
  function optimal(epsilon, count, delta) {
    const p = -Math.log1p(Math.exp(-epsilon)), q = p - epsilon;
    const masses = [];
    let choose = 0;
    for (let heads = 0; heads <= count; heads++) {
      masses.push([(2 * heads - count) * epsilon, choose + heads * p + (count - heads) * q]);
      choose += Math.log((count - heads) / (heads + 1));
    }
    const excess = total => masses.reduce(
      (sum, [loss, log]) => (loss > total ? sum - Math.exp(log) * Math.expm1(total - loss) : sum), 0) - delta;
    return excess(0) <= 0 ? 0 : root(excess, 0, count * epsilon);
  }

  /* Epsilon at delta of `count` runs of one mechanism, by every theorem. `size`: the epsilon of one run or, for
     "gaussian", sensitivity over standard deviation. */
  function composition({mechanism, size, count, delta}) {
    const methods = (runs) => {
      if (mechanism === 'gaussian') {
        return {zCDP: zcdp(runs * size * size / 2, delta), exact: gaussian(size * Math.sqrt(runs), delta)};
      }
      const {rho, rdp} = MECHANISMS[mechanism];
      return {
        basic: runs * size,
        advanced: Math.sqrt(2 * runs * -Math.log(delta)) * size + runs * size * Math.expm1(size),
        zCDP: zcdp(runs * rho(size), delta),
        RDP: Math.min(...COMPOSITION_ORDERS.map(a => converted(a, runs * Math.min(rdp(a, size), a * rho(size)), delta))),
        optimal: optimal(size, runs, delta),
      };
    };
    const grid = [...new Set(spaced(0, Math.log(1000), 25).map(u => Math.round(Math.exp(u))))];
    const rows = grid.map(runs => [runs, methods(runs)]);
    const total = methods(count);
    const curves = Object.fromEntries(Object.keys(total).map(name => [name, rows.map(([runs, row]) => [runs, row[name]])]));
    return {total, curves};
  }

  // ---------------------------------------------------------------- what a reader sees

  /* A slider's position is linear in the value or, with `log`, in its logarithm; `whole` rounds. */
  const slider = (name, label, low, high, start, options = {}) => ({kind: 'slider', name, label, low, high, start, ...options});
  const choice = (name, label, options) => ({kind: 'choice', name, label, options});
  const LOG = {log: true}, WHOLE = {log: true, whole: true};

  const EXPLORERS = {
    renyi: {
      title: 'How private is a whole release?',
      inputs: [
        choice('bound', 'guarantee', {tight: 'Theorems D and E: private n', unbounded: 'Theorem 3.1: private n, as printed',
          both: 'Theorem G: public n', joint: 'Theorem B: public n, the first data set only', bounded: 'Theorem 3.2: public n, as printed'}),
        slider('n', 'records n', 1e3, 1e12, 1e7, WHOLE), slider('d', 'attributes d', 1, 50, 6, {whole: true}),
        slider('sigma', 'smallest eigenvalue σ', 1e-3, 0.99, 0.01, LOG), slider('alpha', 'order α', 1.01, 1000, 4, LOG),
        slider('delta', 'δ', 1e-12, 1e-2, 1e-5, LOG),
      ],
      compute: renyi,
      results: r => [['Rényi ε of one record, at α', r.record], ['of n records', r.release],
        ['ε at δ of n records, converted* from this α', r.converted], ['converted* from the best α', r.best],
        ['the best α', r.bestAlpha], ...(Number.isNaN(r.direct) ? [] : [['without any α (Theorem E)', r.direct]])],
      note: '* by the conversion of Canonne, Kamath and Steinke (2020), tighter than the document’s.',
      curves: r => ({x: 'order α', y: 'ε at δ, n records', lines: {'ε': r.curve}}),
      mark: (values, r) => [values.alpha, r.converted],
    },
    local: {
      title: 'Which protocol?',
      inputs: [slider('epsilon', 'ε', 0.1, 8, 1, LOG), slider('k', 'values k', 2, 1e6, 100, WHOLE),
        slider('n', 'users n', 100, 1e8, 1e5, WHOLE), slider('f', 'true share f', 0, 1, 0)],
      compute: local,
      results: r => r.ranking.map(([name, deviation], i) => [i ? name : `${name}, the best`, deviation]),
      heading: 'standard deviation of the estimated share',
      curves: r => ({x: 'ε', y: 'standard deviation', lines: r.curves}),
      mark: (values, r) => [values.epsilon, r.ranking[0][1]],
    },
    composition: {
      title: 'What do many releases cost?',
      inputs: [
        choice('mechanism', 'mechanism', {laplace: 'Laplace', response: 'randomized response', gaussian: 'Gaussian'}),
        slider('size', 'ε of one (Gaussian: sensitivity / σ)', 0.01, 3, 0.1, LOG), slider('count', 'releases', 1, 1000, 100, WHOLE),
        slider('delta', 'δ', 1e-12, 1e-2, 1e-5, LOG),
      ],
      compute: composition,
      results: r => Object.entries(r.total),
      heading: 'total ε at δ',
      curves: r => ({x: 'releases', y: 'total ε', lines: r.curves}),
      mark: (values, r) => [values.count, Math.min(...Object.values(r.total))],
    },
  };

  const toValue = (input, position) => {
    const value = input.log ? Math.exp(Number(position)) : Number(position);
    return input.whole ? Math.round(value) : value;
  };
  const shown = value => {
    if (!Number.isFinite(value)) return Number.isNaN(value) ? 'none' : '∞ (no guarantee)';
    if (Number.isInteger(value)) return value.toLocaleString('en');
    return value !== 0 && (value >= 1e5 || value < 1e-3) ? value.toExponential(3) : value.toPrecision(4);
  };

  function element(tag, attributes = {}, ...children) {
    const svg = ['svg', 'path', 'line', 'circle', 'text', 'g'].includes(tag);
    const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  const COLORS = 9;  // classes line-0 to line-8 of compendium.css

  /* Lines over logarithmic axes, each named at its right end, and a point. */
  function chart({x, y, lines}, mark) {
    const width = 460, height = 290, left = 58, right = 66, top = 12, bottom = 44;
    const points = Object.values(lines).flat().filter(p => p.every(v => Number.isFinite(v) && v > 0));
    const made = element('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${y} against ${x}`});
    if (!points.length) {
      made.append(element('text', {x: left, y: height / 2}, 'no finite value here'));
      return made;
    }
    const range = (i, pad) => [Math.min(...points.map(p => p[i])) / pad, Math.max(...points.map(p => p[i])) * pad];
    const [xs, ys] = [range(0, 1), range(1, 1.15)];
    const px = v => left + (width - left - right) * Math.log(v / xs[0]) / Math.log(xs[1] / xs[0]);
    const py = v => height - bottom - (height - top - bottom) * Math.log(v / ys[0]) / Math.log(ys[1] / ys[0]);
    const ticks = ([low, high]) => {
      const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
      const steps = last - first > 3 ? [1] : [1, 2, 5], every = Math.ceil((last - first) / 6), found = [];
      for (let power = first; power <= last; power += every) found.push(...steps.map(step => step * 10 ** power));
      return found.filter(v => v >= low && v <= high);
    };
    const label = v => (v >= 1e4 || v < 1e-2 ? v.toExponential(0).replace('e+', 'e') : String(Number(v.toPrecision(2))));
    for (const v of ticks(xs)) made.append(element('line', {x1: px(v), x2: px(v), y1: top, y2: height - bottom}),
      element('text', {x: px(v), y: height - bottom + 17, 'text-anchor': 'middle'}, label(v)));
    for (const v of ticks(ys)) made.append(element('line', {x1: left, x2: width - right, y1: py(v), y2: py(v)}),
      element('text', {x: left - 6, y: py(v) + 4, 'text-anchor': 'end'}, label(v)));
    made.append(element('text', {x: (left + width - right) / 2, y: height - 8, 'text-anchor': 'middle'}, x),
      element('text', {x: 14, y: (top + height - bottom) / 2, 'text-anchor': 'middle',
        transform: `rotate(-90 14 ${(top + height - bottom) / 2})`}, y));
    const ends = [];
    Object.entries(lines).forEach(([name, line], i) => {
      const kept = line.filter(p => p.every(v => Number.isFinite(v) && v > 0));
      if (!kept.length) return;
      const path = kept.map(p => `${px(p[0]).toFixed(1)} ${py(p[1]).toFixed(1)}`).join(' L');
      made.append(element('path', {d: `M${path}`, class: `line-${i % COLORS}`}));
      ends.push({name, i, y: py(kept[kept.length - 1][1]) + 4});
    });
    ends.sort((a, b) => a.y - b.y);
    ends.forEach((end, i) => { if (i) end.y = Math.max(end.y, ends[i - 1].y + 13); });
    const below = ends.length ? Math.max(0, ends[ends.length - 1].y - (height - bottom + 4)) : 0;
    if (ends.length > 1) for (const end of ends) {
      made.append(element('text', {x: width - right + 6, y: end.y - below, class: `line-${end.i % COLORS}`}, end.name));
    }
    const [mx, my] = mark;
    if (Number.isFinite(my) && my >= ys[0] && my <= ys[1] && mx >= xs[0] && mx <= xs[1]) {
      made.append(element('circle', {cx: px(mx), cy: py(my), r: 5}));
    }
    return made;
  }

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
      output.textContent = shown(read());
      made.setAttribute('aria-valuetext', output.textContent);
    };
    if (input.kind === 'slider') made.addEventListener('keydown', event => {  // a hundred steps from end to end
      const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10}[event.key];
      if (!step) return;
      event.preventDefault();
      const low = Number(made.min), high = Number(made.max);
      const move = input.whole && !input.log ? step : step * (high - low) / 100;
      made.value = Math.min(high, Math.max(low, Number(made.value) + move));
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
        ...explorer.results(result).map(([name, value]) => element('tr', {},
          element('th', {scope: 'row'}, name), element('td', {'data-value': value}, shown(value)))));
      picture.replaceChildren(chart(explorer.curves(result), explorer.mark(values, result)));
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

  return {log1pmx, psi, renyi, local, composition};
})();
