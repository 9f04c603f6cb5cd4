/* Bounds on Gaussian synthesis, of one record and of as many as there were (lib.gaussian_synthesis). */

(() => {
  'use strict';
  const {log1pmx, psi, spaced, twoSum, twoProduct, scaled, minus, overOrders, converted, gaussianDraws} = compendium;

  const float = x => x[0] + x[1];

  /* The two directions of Theorem 3.1: epsilon of one record, private n. */
  function unboundedEpsilon(n, alpha, d, sigma) {
    const more = n + 1, tau = 4 * d / sigma;
    const [high, low] = twoSum(n, alpha), whole = twoProduct(sigma, n);
    const square = minus(scaled(whole, high), scaled(whole, -low));
    const margin = float(minus(square, scaled(twoProduct(4 * d, more), alpha)));  // sigma (n (n + alpha) - alpha (n + 1) tau)
    if (!(margin > 0)) return Infinity;
    const room = float(minus(whole, [4 * d, 0]));
    let ordinary = psi(-1 / more, alpha);
    const added = alpha * tau / (more * (more - alpha)) + (d - 1) * ordinary
      + Math.max(ordinary, psi((n * tau - more) / (more * more), alpha));
    const slope = (more * tau - n) * sigma / (more * room), x = (1 - alpha) * slope;
    const last = x < -0.5 ? Math.log(margin / (more * room)) - x : log1pmx(x);
    ordinary = psi(1 / n, alpha);
    const removed = 4 * alpha * d / margin + (d - 1) * ordinary + Math.max(ordinary, -log1pmx(slope) - last / (alpha - 1));
    return Math.max(added, removed) / 2;
  }

  /* For N = n + more and a = alpha - less: sigma (N^2 - a (N - 1) tau), kappa = (N - 1) tau / N^2, and 1 - a kappa. */
  function boundedTerms(n, alpha, d, sigma, more = 0, less = 0) {
    const square = scaled(twoProduct(sigma, n + more), n + more), whole = float(square);
    const margin = float(minus(square, scaled(twoProduct(4 * d, n + more - 1), alpha - less)));
    return {margin, kappa: 4 * d * (n + more - 1) / whole, rest: margin / whole};
  }

  /* psi(t), t = -slope / (1 + slope), also where 1 - (alpha - 1) slope, given as `rest`, is nearly 0. */
  function psiFrom(slope, alpha, rest) {
    const x = (1 - alpha) * slope;
    return -log1pmx(slope) - (x < -0.5 ? Math.log(rest) - x : log1pmx(x)) / (alpha - 1);
  }

  /* psi(-kappa), also where 1 - alpha kappa, given as `rest`, is nearly 0. */
  const psiShrinking = (kappa, alpha, rest) => psiFrom(kappa / (1 - kappa), alpha, rest / (1 - kappa));

  /* A bound for public n, of which `spread` is what the covariances add. */
  const bounded = spread => (n, alpha, d, sigma) => {
    const {margin, kappa, rest} = boundedTerms(n, alpha, d, sigma);
    return margin > 0 ? 2 * alpha * d / margin + spread(kappa, alpha, rest) / 2 : Infinity;
  };
  const boundedEpsilon = bounded((kappa, alpha, rest) =>
    (alpha * Math.log1p(kappa) - (alpha * kappa > 0.5 ? Math.log(rest) : Math.log1p(-alpha * kappa))) / (alpha - 1));
  const boundedEpsilonTight = bounded((kappa, alpha, rest) => psi(kappa, alpha) + psiShrinking(kappa, alpha, rest));
  const boundedEpsilonJoint = bounded(psiShrinking);

  /* kappa^2 K of Theorems G and G', for a kappa and 1 - (alpha - 1) kappa. */
  const spreadOf = (kappa, alpha, left) => Math.max(psiFrom(kappa, alpha, left), (1 + kappa) ** 2 * psi(kappa, alpha));

  /* Theorem G: both data sets in D_sigma, public n. */
  function boundedEpsilonBoth(n, alpha, d, sigma) {
    const {margin, kappa, rest} = boundedTerms(n, alpha, d, sigma, 0, 1);
    return margin > 0 ? 2 * alpha * d * (1 + kappa) / margin + spreadOf(kappa, alpha, rest) / 2 : Infinity;
  }

  /* Theorem G': the same, with what is known about means; `m` and the letters are those of lib. */
  function boundedEpsilonCentred(n, alpha, d, sigma) {
    const m = Math.min((n * Math.sqrt(1 - sigma) + 1) / (n - 1), 1), more = 1 + m, less = 1 - m;
    const factor = more ** 2 / Math.sqrt(1 - less ** 2 / 2) / 4, kappa = boundedTerms(n, alpha, d, sigma).kappa * factor * (1 + 2 ** -46);
    const left = 1 - (alpha - 1) * kappa;
    if (!(left > 0)) return Infinity;
    const mean = alpha * d * (1 + kappa) / (sigma * n ** 2 * left), spread = spreadOf(kappa, alpha, left) / factor ** 2 / 16;
    const e = Math.max((2 * m * more * less - mean / spread) / (more ** 2 - 2 * m ** 2) / 2, -less);
    return mean * (more - e) + spread * (more ** 4 + (2 * m * e + more * less) ** 2 - 2 * (more * e) ** 2) / 2;
  }

  /* Lemma C: the largest squared Mahalanobis distance. */
  const largestRadius = (d, sigma) => d * (1 + Math.sqrt(1 - sigma)) ** 2 / sigma;

  /* Theorem D: the smaller data set in D_sigma, private n. */
  function unboundedEpsilonTight(n, alpha, d, sigma) {
    const more = n + 1, reach = largestRadius(d, sigma), margin = more * (n + alpha) - n * (alpha - 1) * reach;
    if (!(margin > 0 && (more > alpha || d === 1))) return Infinity;
    const added = r => {
      const room = more * (more - alpha) + alpha * n * r;
      if (!(room > 0)) return Infinity;
      const others = d > 1 ? (d - 1) * psi(-1 / more, alpha) : 0;
      return alpha * r / room + others + psi((n * r - more) / (more * more), alpha);
    };
    const removed = alpha * reach / margin + (d - 1) * psi(1 / n, alpha) + psi((more - n * reach) / (n * (more + reach)), alpha);
    return Math.max(added(0), added(reach), removed) / 2;
  }

  /* Theorem H: a variance of sigma is added, whatever the data; private n. */
  function regularisedEpsilon(n, alpha, d, sigma) {
    const {kappa, rest} = boundedTerms(n, alpha, d, sigma, 1, 1), others = (n - alpha + 1) / n;
    if (!(rest > 0 && others > 0)) return Infinity;
    const added = alpha * kappa / (n * (1 + alpha * kappa)) + psi(kappa, alpha) + d * psiFrom(1 / n, alpha, others);
    const removed = alpha * kappa / (n * rest) + psiFrom(kappa, alpha, rest) + d * psi(1 / n, alpha);
    return Math.max(added, removed) / 2;
  }

  /* Theorems E and H: epsilon of n records at delta, private n. Each part has a number of coordinates, t, and a squared mean. */
  function releasedEpsilon(n, d, sigma, delta) {
    const more = n + 1, r = largestRadius(d, sigma);
    const pairs = [[[d, -1 / more, 0], [1, (n * r - more) / (more * more), r / (more * more)]],
      [[d, 1 / n, 0], [1, (more - n * r) / (n * (more + r)), r / n / (more + r)]]];
    return Math.max(...pairs.map(parts => gaussianDraws(parts, n, delta)));
  }

  function regularisedReleasedEpsilon(n, d, sigma, delta) {
    const more = n + 1, square = 4 * d / sigma / (more * more), t = n * square;
    const pairs = [[[d, -1 / more, 0], [1, t, square]], [[d, 1 / n, 0], [1, -t / (1 + t), square / (1 + t)]]];
    return Math.max(...pairs.map(parts => gaussianDraws(parts, n, delta)));
  }

  const RELEASE_ORDERS = spaced(Math.log(1e-2), Math.log(1e4), 1200).map(u => 1 + Math.exp(u));
  const BOUNDS = {unbounded: unboundedEpsilon, tight: unboundedEpsilonTight, bounded: boundedEpsilon, separate: boundedEpsilonTight,
    joint: boundedEpsilonJoint, both: boundedEpsilonBoth, centred: boundedEpsilonCentred, regularised: regularisedEpsilon};
  const RELEASED = {tight: releasedEpsilon, regularised: regularisedReleasedEpsilon};

  /* What a bound says of one record and of n, for whole n and d, sigma in (0, 1), alpha > 1, delta in (0, 1). */
  function renyi({bound, n, d, sigma, alpha, delta}) {
    const record = BOUNDS[bound](n, alpha, d, sigma);
    const renyi = RELEASE_ORDERS.map(order => [order, n * BOUNDS[bound](n, order, d, sigma)]);
    const [best, bestAlpha] = overOrders(renyi, delta);
    return {record, release: n * record, converted: converted(alpha, n * record, delta), best, bestAlpha,
      curve: renyi.map(([order, epsilon]) => [order, converted(order, epsilon, delta)]),
      direct: RELEASED[bound]?.(n, d, sigma, delta) ?? NaN};
  }

  Object.assign(compendium, {BOUNDS, renyi});
})();
