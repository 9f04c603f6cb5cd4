/* DP-SGD: steps of the sampled Gaussian mechanism (lib.accounting.sampled_gaussian). */

(() => {
  'use strict';
  const {spaced, unclipped, gaussian, logTail, invertedEpsilon} = compendium;

  const NEIGHBOURS = {unbounded: ['remove', 'add'], bounded: ['replace']};
  const MEANS = {remove: [1, 0], add: [0, -1], replace: [1, -1]};
  const ORDERS = spaced(Math.log(0.05), Math.log(511), 56).map(u => 1 + Math.exp(u));

  /* The law of the loss of one step: at each x of a grid the loss, and the log of its weight under the first law.
     Over N(0), a law (1 - q) N(0) + q N(m) has the density 1 - q + q e^((2 m x - 1) / (2 sigma^2)). The grid is made as far as an
     order has asked for, and kept; `count(alpha)` is how many of its points an order needs. */
  function lossOf(direction, sigma, q) {
    const [first, second] = MEANS[direction], step = Math.min(sigma / 12, sigma * sigma / 4), start = -1 - 12 * sigma;
    const losses = [], logs = [], unit = Math.log(step / (sigma * Math.sqrt(2 * Math.PI)));
    const over = (mean, x) => (mean === 0 ? 0 : logMix(q, (2 * mean * x - 1) / (2 * sigma * sigma)));
    const count = alpha => {
      const end = 12 * sigma + first * (first - second) * alpha;  // e^((alpha - 1) L) moves the weight so far at most
      const wanted = Math.ceil((end - start) / step);
      for (let i = losses.length; i < wanted; i++) {
        const x = start + i * step, one = over(first, x);
        losses.push(one - over(second, x));
        logs.push(one - x * x / (2 * sigma * sigma) + unit);
      }
      return wanted;
    };
    return {losses, logs, count};
  }

  /* log(1 - q + q e^y). */
  const logMix = (q, y) => (y > 30 ? y + Math.log(q + (1 - q) * Math.exp(-y)) : Math.log1p(q * Math.expm1(y)));

  const NEGLIGIBLE = -40;  // e^-40 of the largest

  /* log E e^(r L) and, of the points that count, the positions and the weights in that sum, divided by their largest. */
  function tilted({losses, logs, count}, r) {
    const n = count(1 + r), at = [], weights = [];
    let high = -Infinity, total = 0;
    for (let i = 0; i < n; i++) high = Math.max(high, logs[i] + r * losses[i]);
    for (let i = 0; i < n; i++) {
      const log = logs[i] + r * losses[i] - high;
      if (log < NEGLIGIBLE) continue;
      const weight = Math.exp(log);
      total += weight;
      at.push(i);
      weights.push(weight);
    }
    return {at, weights, total, log: high + Math.log(total)};
  }

  /* Rényi epsilon of one step, at one order. */
  const stepRdp = (law, alpha) => Math.max(tilted(law, alpha - 1).log, 0) / (alpha - 1);

  /* The points of a tilted law, in the order in which they are faded out, with room for the half angles u L / 2. */
  function pointsOf({losses}, {at, weights}) {
    const last = losses.length - 1, apart = i => (losses[Math.min(i + 1, last)] - losses[Math.max(i - 1, 0)]) / 2;
    const all = at.map((i, j) => [weights[j], losses[i], apart(i)]).sort((a, b) => a[2] - b[2]);
    const [w, loss, distance] = [0, 1, 2].map(j => Float64Array.from(all, point => point[j]));
    return {w, loss, apart: distance, cos: new Float64Array(w.length), sin: new Float64Array(w.length)};
  }

  /* How many of the first `most` points are not faded out at u. */
  function shown({apart}, u, most) {
    while (most > 0 && u * apart[most - 1] >= 2.5) most--;
    return most;
  }

  function turnTo({loss, cos, sin}, u, first) {
    for (let i = 0; i < first; i++) { cos[i] = Math.cos(u * loss[i] / 2); sin[i] = Math.sin(u * loss[i] / 2); }
  }

  function turnOn({cos, sin}, by, first) {
    for (let i = 0; i < first; i++) {
      const before = cos[i];
      cos[i] = before * by.cos[i] - sin[i] * by.sin[i];
      sin[i] = before * by.sin[i] + sin[i] * by.cos[i];
    }
  }

  /* E e^((r + iu) L) / E e^(rL) - 1, whose logarithm may be small, from the first points, turned by their half angles. */
  function excessOf({w, apart, cos, sin}, total, u, first) {
    let re = 0, im = 0, seen = 0;
    for (let i = 0; i < first; i++) {
      const angle = u * apart[i], share = angle < 1 ? w[i] : w[i] * (1 + Math.cos(Math.PI * (angle - 1) / 1.5)) / 2;
      re -= 2 * share * sin[i] * sin[i];
      im += 2 * share * sin[i] * cos[i];
      seen += share;
    }
    if (seen < total * (1 - 1e-14)) re -= total - seen;
    return [re / total, im / total];
  }

  const AFRESH = 64;  // turns after which the angles are computed anew, so that rounding does not add up

  /* K(r + iu) of `steps` steps: the law's few hundred points are turned by the angles u L. Where neighbouring points turn apart by
     a radian and more, the truth cancels, and the points are faded out. `along(step)` gives the same at 0, step, 2 step, ..., to be asked
     for one after another: there a turn is a product. */
  function momentOf(law, steps, r) {
    const found = tilted(law, r);
    let points = null;
    const at = (u, first) => {
      const [re, im] = excessOf(points, found.total, u, first);
      return [steps * (found.log + Math.log1p(2 * re + re * re + im * im) / 2), steps * Math.atan2(im, 1 + re)];
    };
    const moment = u => {
      if (u === 0) return [steps * found.log, 0];
      points ??= pointsOf(law, found);
      const first = shown(points, u, points.w.length);
      turnTo(points, u, first);
      return at(u, first);
    };
    moment.along = step => {
      points ??= pointsOf(law, found);
      const by = {...points, cos: points.cos.slice(), sin: points.sin.slice()};
      let first = points.w.length;
      turnTo(by, step, first);
      return k => {
        first = shown(points, k * step, first);
        if (k % AFRESH) turnOn(points, by, first); else turnTo(points, k * step, first);
        return at(k * step, first);
      };
    };
    return moment;
  }

  /* Where numbers that fall and then rise are least: the position. */
  function bottom(value, count) {
    let low = 0, high = count - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value(middle + 1) < value(middle)) low = middle + 1; else high = middle;
    }
    return low;
  }

  /* Epsilon at delta of all steps: by Rényi orders, from the loss itself, and as if every record took part in every step.
     With x = order - 1, x times an order's epsilon at delta is convex in x, as log E e^(xL) is; so the epsilons fall and then rise. */
  function dpSgd({sigma, q, steps, delta, neighbours}) {
    const moved = neighbours === 'bounded' ? 2 : 1, whole = gaussian(moved / sigma * Math.sqrt(steps), delta);
    const laws = NEIGHBOURS[neighbours].map(direction => lossOf(direction, sigma, q));
    const at = ORDERS.map(alpha => () => unclipped(alpha, steps * Math.max(...laws.map(law => stepRdp(law, alpha))), delta));
    const best = bottom(i => at[i](), ORDERS.length), order = ORDERS[best], rdp = Math.max(at[best](), 0);
    const apart = 1 - 2 * Math.exp(logTail(moved / (2 * sigma)));  // q times it bounds the delta of a step at epsilon 0
    const numerical = q === 1 ? whole : steps * q * apart <= delta ? 0 : Math.max(...laws.map(law =>
      invertedEpsilon(r => momentOf(law, steps, r), delta)));
    return {whole, rdp, order, numerical};
  }

  Object.assign(compendium, {dpSgd, SGD_ORDERS: ORDERS});
})();
