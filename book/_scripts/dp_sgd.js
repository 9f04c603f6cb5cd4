/* DP-SGD: steps of the sampled Gaussian mechanism (lib.accounting.sampled_gaussian). */

(() => {
  'use strict';
  const {spaced, overOrders, gaussian, logTail, invertedEpsilon} = compendium;

  const NEIGHBOURS = {unbounded: ['remove', 'add'], bounded: ['replace']};
  const MEANS = {remove: [1, 0], add: [0, -1], replace: [1, -1]};
  const ORDERS = spaced(Math.log(0.05), Math.log(511), 56).map(u => 1 + Math.exp(u));

  /* The law of the loss of one step: at each x of a grid the loss, and the log of its weight under the first law.
     Over N(0), a law (1 - q) N(0) + q N(m) has the density 1 - q + q e^((2 m x - 1) / (2 sigma^2)). */
  function lossOf(direction, sigma, q, alpha) {
    const [first, second] = MEANS[direction], step = Math.min(sigma / 12, sigma * sigma / 4), start = -1 - 12 * sigma;
    const end = 12 * sigma + first * (first - second) * alpha;  // e^((alpha - 1) L) moves the weight so far at most
    const count = Math.ceil((end - start) / step);
    const losses = new Float64Array(count), logs = new Float64Array(count);
    const over = (mean, x) => (mean === 0 ? 0 : logMix(q, (2 * mean * x - 1) / (2 * sigma * sigma)));
    for (let i = 0; i < count; i++) {
      const x = start + i * step, one = over(first, x);
      losses[i] = one - over(second, x);
      logs[i] = one - x * x / (2 * sigma * sigma) + Math.log(step / (sigma * Math.sqrt(2 * Math.PI)));
    }
    return {losses, logs};
  }

  /* log(1 - q + q e^y). */
  const logMix = (q, y) => (y > 30 ? y + Math.log(q + (1 - q) * Math.exp(-y)) : Math.log1p(q * Math.expm1(y)));

  /* log E e^(r L), and the weights of that sum, divided by their largest. */
  function tilted({losses, logs}, r) {
    let high = -Infinity;
    for (let i = 0; i < losses.length; i++) high = Math.max(high, logs[i] + r * losses[i]);
    const weights = logs.map((log, i) => Math.exp(log + r * losses[i] - high));
    return {weights, log: high + Math.log(weights.reduce((sum, w) => sum + w, 0))};
  }

  /* Rényi epsilon of one step, at one order. */
  const stepRdp = (direction, sigma, q, alpha) =>
    Math.max(tilted(lossOf(direction, sigma, q, alpha), alpha - 1).log, 0) / (alpha - 1);

  /* K(r + iu) of `steps` steps: the law's few hundred points are turned by the angles u L. Where neighbouring points turn apart by
     a radian and more, the truth cancels, and the points are faded out. */
  function momentOf(direction, sigma, q, steps, r) {
    const law = lossOf(direction, sigma, q, 1 + r), {weights, log} = tilted(law, r), {losses} = law, points = [];
    let total = 0;
    weights.forEach((w, i) => {
      total += w;
      if (w > 1e-17) points.push([w, losses[i], (losses[Math.min(i + 1, losses.length - 1)] - losses[Math.max(i - 1, 0)]) / 2]);
    });
    points.sort((a, b) => a[2] - b[2]);
    const w = Float64Array.from(points, p => p[0]), loss = Float64Array.from(points, p => p[1]), apart = points.map(p => p[2]);
    return u => {
      let re = 0, im = 0, seen = 0;  // of E e^((r + iu) L) / E e^(rL) - 1, whose logarithm may be small
      for (let i = 0; i < w.length && u * apart[i] < 2.5; i++) {
        const angle = u * apart[i], share = angle < 1 ? w[i] : w[i] * (1 + Math.cos(Math.PI * (angle - 1) / 1.5)) / 2;
        const half = Math.sin(u * loss[i] / 2);
        re -= 2 * share * half * half;
        im += share * Math.sin(u * loss[i]);
        seen += share;
      }
      if (seen < total * (1 - 1e-14)) re -= total - seen;
      re /= total;
      im /= total;
      return [steps * (log + Math.log1p(2 * re + re * re + im * im) / 2), steps * Math.atan2(im, 1 + re)];
    };
  }

  /* Epsilon at delta of all steps: by Rényi orders, from the loss itself, and as if every record took part in every step. */
  function dpSgd({sigma, q, steps, delta, neighbours}) {
    const moved = neighbours === 'bounded' ? 2 : 1, whole = gaussian(moved / sigma * Math.sqrt(steps), delta);
    const directions = NEIGHBOURS[neighbours];
    const [rdp, order] = overOrders(ORDERS.map(alpha =>
      [alpha, steps * Math.max(...directions.map(direction => stepRdp(direction, sigma, q, alpha)))]), delta);
    const apart = 1 - 2 * Math.exp(logTail(moved / (2 * sigma)));  // q times it bounds the delta of a step at epsilon 0
    const numerical = q === 1 ? whole : steps * q * apart <= delta ? 0 : Math.max(...directions.map(direction =>
      invertedEpsilon(r => momentOf(direction, sigma, q, steps, r), delta)));
    return {whole, rdp, order, numerical: Math.min(numerical, rdp, whole)};
  }

  Object.assign(compendium, {dpSgd, SGD_ORDERS: ORDERS});
})();
