/* Numbers that keep their digits: what the formulas of the explorers and of the calculator are made of.

   The files of this folder are plain scripts, read one after another (book/_ext/pages.py says in which order), so that
   they run from a file too. Each adds its names to `compendium`. They compute in the reader's browser what `lib` computes in
   Python; tests/browser compares the two to nine digits. Nothing is loaded, nothing leaves the page. */

globalThis.compendium = {};

(() => {
  'use strict';

  /* log(1 + x) - x for x > -1: the two leading terms cancelled by hand near 0 (lib.accounting.divergence.log1pmx). */
  function log1pmx(x) {
    if (Math.abs(x) >= 0.4) return Math.log1p(x) - x;
    const r = x / (2 + x), square = r * r;
    let series = 1 / 25;
    for (let odd = 23; odd >= 3; odd -= 2) series = series * square + 1 / odd;
    return r * (2 * square * series - x);
  }

  /* e^x - 1 - x. */
  function expm1mx(x) {
    if (Math.abs(x) >= 0.5) return Math.expm1(x) - x;
    let term = x * x / 2, sum = 0;
    for (let n = 3; sum !== sum + term; n++) { sum += term; term *= x / n; }
    return sum;
  }

  /* Twice the order-alpha divergence of N(0, 1) from N(0, 1 + t) (lib.accounting.divergence.psi). */
  function psi(t, alpha) {
    if (alpha * Math.min(t, 0) <= -1) return Infinity;
    const s = t / (1 + t);
    const first = t < 0.5 ? -log1pmx(-s) : Math.log1p(t) - s;
    return first - log1pmx((alpha - 1) * s) / (alpha - 1);
  }

  /* log(e^a + e^b). */
  const logAddExp = (a, b) => (a === b ? a + Math.LN2 : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b))));

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

  /* Where a function that falls and then rises is least, by golden sections. */
  function lowest(f, low, high) {
    const share = (Math.sqrt(5) - 1) / 2;
    let [a, b] = [high - share * (high - low), low + share * (high - low)], [fa, fb] = [f(a), f(b)];
    for (let i = 0; i < 40; i++) {
      if (fa < fb) { high = b; b = a; fb = fa; a = high - share * (high - low); fa = f(a); }
      else { low = a; a = b; fa = fb; b = low + share * (high - low); fb = f(b); }
    }
    return fa < fb ? a : b;
  }

  const spaced = (low, high, count) => Array.from({length: count}, (_, i) => low + (high - low) * i / (count - 1));

  // ---- double-doubles, pairs [high, low] of about 32 digits (lib.numerics.double_double)

  const renormalised = (high, low) => { const total = high + low; return [total, low - (total - high)]; };

  function twoSum(a, b) {
    const high = a + b, shadow = high - a;
    return [high, (a - (high - shadow)) + (b - shadow)];
  }

  const halves = a => { const shifted = 134217729 * a, high = shifted - (shifted - a); return [high, a - high]; };

  function twoProduct(a, b) {
    const [a1, a2] = halves(a), [b1, b2] = halves(b), high = a * b;
    return [high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2];
  }

  function scaled(x, b) {
    const [high, low] = twoProduct(x[0], b);
    return renormalised(high, low + x[1] * b);
  }

  function minus(x, y) {
    const [high, error] = twoSum(x[0], -y[0]), [low, tail] = twoSum(x[1], -y[1]);
    const [first, second] = renormalised(high, error + low);
    return renormalised(first, second + tail);
  }

  // ---- complex numbers, [re, im]

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

  Object.assign(compendium, {log1pmx, expm1mx, psi, logAddExp, erfcx, logTail, root, lowest, spaced, twoSum, twoProduct, scaled, minus,
    times, over, complexLog1pmx});
})();
