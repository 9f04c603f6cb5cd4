/* Conversions, the Gaussian's curve, and what several releases cost together (lib.accounting). */

(() => {
  'use strict';
  const {expm1mx, logAddExp, logTail, root, lowest} = compendium;

  // ---- conversions

  /* (epsilon, delta) from a Rényi epsilon at one order (Canonne, Kamath, Steinke 2020); `unclipped`, it can be below 0. */
  function unclipped(alpha, epsilon, delta) {
    const x = alpha - 1;
    return epsilon - Math.log1p(1 / x) - Math.log1p(x) / x - Math.log(delta) / x;
  }

  const converted = (alpha, epsilon, delta) => Math.max(0, unclipped(alpha, epsilon, delta));

  /* The best of a curve of Rényi epsilons, [order, epsilon] each: [epsilon, its order]. */
  function overOrders(curve, delta) {
    let best = [Infinity, NaN], least = Infinity;
    for (const [alpha, epsilon] of curve) {
      const value = unclipped(alpha, epsilon, delta);
      if (value < least) { least = value; best = [Math.max(value, 0), alpha]; }
    }
    return best;
  }

  /* The best (epsilon, delta) that rho-zCDP implies (accounting.zcdp_to_dp). */
  function zcdp(rho, delta) {
    const goal = -Math.log(delta), slope = x => rho * x * x + Math.log1p(x) - goal;
    let high = 1;
    while (slope(high) < 0) high *= 2;
    const x = root(slope, 0, high);
    return converted(1 + x, rho * (1 + x), delta);
  }

  /* The largest rho for which `zcdp` gives at most epsilon (accounting.dp_to_zcdp). */
  function rhoOf(epsilon, delta) {
    const goal = -Math.log(delta);
    const excess = u => {
      const x = Math.exp(u);
      return (2 + 1 / x) * (goal - logAddExp(0, u)) / x - logAddExp(0, -u) - epsilon;
    };
    const x = Math.exp(root(excess, Math.log(Math.min(goal, 1) / 4 / (1 + epsilon)), goal + 1));
    return (epsilon + Math.log1p(1 / x) + Math.log1p(x) / x - goal / x) / (1 + x);
  }

  /* The same by the older conversion, rho + 2 sqrt(rho log(1/delta)). */
  function olderRhoOf(epsilon, delta) {
    const goal = -Math.log(delta);
    return (epsilon / (Math.sqrt(epsilon + goal) + Math.sqrt(goal))) ** 2;
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

  // ---- composition

  const ORDERS = Array.from({length: 241}, (_, i) => 1 + 2 ** (-7 + 0.1 * i));

  /* What a single run of each mechanism is known to cost; e is its epsilon. */
  const PURE = {
    response: {
      rho: e => e * Math.tanh(e / 2),
      rdp: (a, e) => {  // both outputs, p = e^e/(1 + e^e)
        const x = a - 1, p = -Math.log1p(Math.exp(-e)), q = p - e;
        if (x * e > 1) return logAddExp(a * p - x * q, a * q - x * p) / x;
        const excess = loss => expm1mx(x * loss) + x * expm1mx(-loss);  // without the terms of first order, which cancel
        return Math.log1p(Math.exp(p) * excess(e) + Math.exp(q) * excess(-e)) / x;
      },
    },
    laplace: {
      rho: e => expm1mx(-e),
      rdp: (a, e) => {
        const x = a - 1, rise = x * e, fall = -a * e;
        if (rise < 1) return Math.log1p((a * expm1mx(rise) + x * expm1mx(fall)) / (1 + 2 * x)) / x;
        return logAddExp(Math.log(a / (1 + 2 * x)) + rise, Math.log(x / (1 + 2 * x)) + fall) / x;
      },
    },
  };

  const pureRdp = (mechanism, alpha, e) => Math.min(PURE[mechanism].rdp(alpha, e), alpha * PURE[mechanism].rho(e), e);

  /* Dwork, Rothblum, Vadhan 2010. */
  const advanced = (epsilon, count, slack) => Math.sqrt(2 * count * -Math.log(slack)) * epsilon + count * epsilon * Math.expm1(epsilon);

  /* log C(count, k) for k = 0 ... count, kept for the next call. */
  let kept = {count: -1, logs: null};
  function logChoose(count) {
    if (kept.count !== count) {
      const logs = new Float64Array(count + 1);
      for (let k = 1; k <= count; k++) logs[k] = logs[k - 1] + Math.log((count - k + 1) / k);
      for (let k = Math.floor(count / 2) + 1; k <= count; k++) logs[k] = logs[count - k];
      kept = {count, logs};
    }
    return kept.logs;
  }

  /* The least epsilon at `total` for count mechanisms of which only (epsilon, own)-DP is known (Kairouz, Oh, Viswanath 2015):
     if nothing is revealed outright, the loss is (2 heads - count) epsilon, heads binomial with the odds e^epsilon. */
  function optimal(epsilon, count, total, own = 0) {
    const target = -Math.expm1(Math.log1p(-total) - count * Math.log1p(-own)), negligible = Math.log(target) - 60;
    if (target < 0) return Infinity;
    if (target === 0) return count * epsilon;
    const p = -Math.log1p(Math.exp(-epsilon)), q = p - epsilon, choose = logChoose(count);
    let mass = 0, tilted = -Infinity;  // of the losses above the one that is looked at: their sum, and log sum m e^-loss
    for (let heads = count; heads >= 0; heads--) {
      const loss = (2 * heads - count) * epsilon;
      const delta = mass - Math.exp(tilted + loss);
      if (delta > target || loss <= 0) return mass > target ? Math.max(Math.log(mass - target) - tilted, 0) : 0;
      const log = choose[heads] + heads * p + (count - heads) * q;
      if (log < negligible) continue;
      mass += Math.exp(log);
      tilted = logAddExp(tilted, log - loss);
    }
    return 0;
  }

  /* A theorem about (epsilon, own) applied to Gaussian mechanisms: the best of many shares of delta that each run may use up
     (lib.accounting.Accountant, whose search ends at about seven digits). */
  function bestShare(theorem, mu, count, delta) {
    const cost = log => {
      const own = Math.exp(log) * delta / count;
      return theorem(gaussian(mu, own), own);
    };
    const shares = Array.from({length: 24}, (_, i) => Math.log(1e-4) + (Math.log(0.99) - Math.log(1e-4)) * i / 23);
    shares.push(Math.log1p(-1e-9));
    const costs = shares.map(cost), best = costs.indexOf(Math.min(...costs));
    return Math.min(costs[best], cost(lowest(cost, shares[Math.max(best - 1, 0)], shares[Math.min(best + 1, 24)])));
  }

  /* Epsilon at delta of `count` runs of one mechanism, by every theorem. `size`: the epsilon of one run or, for
     "gaussian", sensitivity over standard deviation. */
  function composed({mechanism, size, count, delta}) {
    if (mechanism === 'gaussian') {
      return {
        basic: count * gaussian(size, delta / count),
        advanced: bestShare((e, own) => advanced(e, count, delta - count * own), size, count, delta),
        optimal: bestShare((e, own) => optimal(e, count, delta, own), size, count, delta),
        zcdp: zcdp(count * size * size / 2, delta),
        rdp: overOrders(ORDERS.map(a => [a, count * a * size * size / 2]), delta)[0],
        numerical: gaussian(size * Math.sqrt(count), delta),
      };
    }
    const [rdp] = overOrders(ORDERS.map(a => [a, count * pureRdp(mechanism, a, size)]), delta);
    const fromEpsilon = optimal(size, count, delta);
    return {
      basic: count * size,
      advanced: advanced(size, count, delta),
      optimal: fromEpsilon,
      zcdp: zcdp(count * PURE[mechanism].rho(size), delta),
      rdp,
      numerical: mechanism === 'response' ? fromEpsilon : compendium.laplaceComposed(size, count, delta),
    };
  }

  Object.assign(compendium, {unclipped, converted, overOrders, zcdp, rhoOf, olderRhoOf, gaussian, logChoose, composed});
})();
