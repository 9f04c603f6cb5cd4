/* The least epsilon at a delta from the moments of the privacy loss, by inverting their transform (lib.accounting.hockey_stick).

   With K(z) = log E e^(zL), delta(epsilon) is the integral of exp(K(z) - z epsilon) / (z (1 + z)) over u / (2 pi), on any line
   z = r + iu, r > 0. The line is chosen through the saddle point, and the trapezoidal rule adds the integral up. Far out, the
   transform of a loss that is nearly an atom does not vanish, and is faded out. */

(() => {
  'use strict';
  const {times, over, complexLog1pmx, log1pmx} = compendium;

  const MOST_NODES = [1200, 4000];  // at first, and on lines chosen again

  /* What is known at the point r of the real axis if the saddle point lies there: epsilon and, by Laplace's method, log delta.
     `moment(u)` is K(r + iu), [re, im]; K' and K'' are taken from a short step into the plane. */
  function saddle(moment, r) {
    const peak = moment(0)[0], slope = moment(1e-4 * r)[1] / (1e-4 * r);
    let probe = r / 64;  // until |e^K| has fallen enough to tell the width of the loss
    const fall = u => Math.max(peak - moment(u)[0], 0);
    while (fall(probe) < 0.01 && probe < 4 * r) probe *= 2;
    const curvature = 2 * fall(probe) / (probe * probe) + r ** -2 + (1 + r) ** -2;
    const epsilon = slope - 1 / r - 1 / (1 + r);
    const log = peak - r * epsilon - Math.log(r * (1 + r)) - Math.log(2 * Math.PI * curvature) / 2;
    return {r, peak, epsilon, log, curvature};
  }

  /* How far apart copies of the curve must lie, for the rule to tell them apart: Chernoff's bounds on both sides of the line. */
  function period(line, {r, epsilon, end}, goal) {
    const needed = other => (line(other)(0)[0] - other * epsilon - goal + 23) / Math.abs(other - r);
    const below = [(23 - goal) / r, needed(r / 4), needed(r / 2)], above = [];
    for (let more = 1 / 16; more < 64; more *= 2) {
      const other = Math.min(r * (1 + more), r + (end - r) * more / (1 + more));
      const width = needed(other);
      if (width > 0) above.push(width);
      if (above.length > 1 && width > above[above.length - 2]) break;
    }
    return Math.max(Math.min(...below), Math.min(...above));
  }

  /* The least epsilon at delta of the loss with K(r + iu) = line(r)(u), r < end; NaN where too many nodes would be needed. A part of it may be `known`: its
     transform on the line, to be taken off, and its delta, to be added. */
  function invertedEpsilon(line, delta, {end = Infinity, known = null} = {}) {
    const goal = Math.log(delta), place = u => (end === Infinity ? Math.exp(u) : end / (1 + Math.exp(-u)));
    const log = u => saddle(line(place(u)), place(u)).log;  // falls as r grows
    let low = -7, high = 0;
    while (high < 14 && log(high) > goal) { low = high; high += 1; }
    while (end < Infinity && low > -40 && log(low) <= goal) { high = low; low -= 7; }
    for (let i = 0; i < 9; i++) {
      const middle = (low + high) / 2;
      if (log(middle) > goal) low = middle; else high = middle;
    }
    let r = place((low + high) / 2), found = onLine(line, r, goal, end, known, MOST_NODES[0]);
    for (let pass = 0; pass < 3 && found.epsilon > 0 && (found.faded || Math.abs(found.epsilon - found.saddle) * r > 2); pass++) {
      const next = quickest(line, found.epsilon, r, goal, end);
      if (pass > 0 && Math.abs(next / r - 1) < 1e-9) break;  // it would be the same again
      r = next;
      found = onLine(line, r, goal, end, known, MOST_NODES[1]);
    }
    return found.doubt > 1e-3 * found.epsilon + 1e-6 ? NaN : found.epsilon;  // not settled
  }

  /* Of the lines on which the integrand is not much larger than the integral, the one with the shortest period. */
  function quickest(line, epsilon, r, goal, end) {
    const found = [];
    for (let other = r / 32; other <= 2 * r && other < end; other *= Math.SQRT2) {
      const height = line(other)(0)[0] - other * epsilon - Math.log(other * (1 + other));
      if (height < goal + 9) found.push([period(line, {r: other, epsilon, end}, goal), other]);
    }
    return found.length ? found.reduce((a, b) => (b[0] < a[0] ? b : a))[1] : r;
  }

  /* The integral on one line: the epsilon at which it is e^goal, and the one whose saddle point lies there. */
  function onLine(line, r, goal, end, known, most) {
    const moment = line(r), at = {...saddle(moment, r), end}, delta = Math.exp(goal), {epsilon: saddlePoint} = at;
    at.epsilon = Math.max(at.epsilon, 0);
    const step = 2 * Math.PI / period(line, at, goal), node = moment.along?.(step) ?? (k => moment(k * step)), re = [], im = [];
    let largest = 0, small = 0;
    for (let k = 0; k < most && small < 4; k++) {
      const u = k * step, [log, angle] = node(k), size = Math.exp(log - at.peak);
      let value = [size * Math.cos(angle), size * Math.sin(angle)];
      if (known) { const part = known.transform(r, u, at.peak); value = [value[0] - part[0], value[1] - part[1]]; }
      const [x, y] = over(value, times([r, u], [1 + r, u]));
      re.push(k ? x : x / 2);
      im.push(k ? y : y / 2);
      largest = Math.max(largest, Math.hypot(x, y));
      small = Math.hypot(x, y) < 1e-15 * largest ? small + 1 : 0;
    }
    const faded = re.length === most, solve = count => {
      const share = k => (faded && k > count / 2 ? (1 + Math.cos(Math.PI * (2 * k / count - 1))) / 2 : 1);  // over the last half
      const x = re.slice(0, count).map((part, k) => part * share(k)), y = im.slice(0, count).map((part, k) => part * share(k));
      const excess = epsilon => {
        const cos = Math.cos(step * epsilon), sin = Math.sin(step * epsilon);
        let sum = 0, off = 0;  // of (x - iy) e^(ik step epsilon), by Horner's rule
        for (let k = count - 1; k >= 0; k--) [sum, off] = [x[k] + sum * cos - off * sin, sum * sin + off * cos - y[k]];
        const found = step / Math.PI * sum * Math.exp(at.peak - r * epsilon - goal) + (known ? known.delta(epsilon) / delta : 0);
        return Math.log(Math.max(found, 1e-300));
      };
      let [below, above] = [at.epsilon, at.epsilon];
      for (let reach = 1 / r; excess(above) > 0 && reach < 1e6; reach *= 2) { below = above; above += reach; }
      for (let reach = 1 / r; below > 0 && excess(below) <= 0; reach *= 2) { above = below; below = Math.max(below - reach, 0); }
      return below === 0 && excess(0) <= 0 ? 0 : between(excess, below, above);
    };
    const epsilon = solve(re.length), doubt = faded ? Math.abs(epsilon - solve(Math.round(0.7 * re.length))) : 0;
    return {epsilon, saddle: saddlePoint, faded: faded && !known, doubt};
  }

  /* The root of a falling, mostly straight function between two bounds: secants, the end that stays counting half (Illinois). */
  function between(f, a, b) {
    let fa = f(a), fb = f(b);
    for (let i = 0; i < 60 && Math.abs(b - a) > 1e-12 * Math.abs(b); i++) {
      const x = b - fb * (b - a) / (fb - fa), fx = f(x);
      if (fx === 0 || x === a || x === b) return x;
      if ((fx > 0) === (fb > 0)) fa /= 2; else { a = b; fa = fb; }
      b = x;
      fb = fx;
    }
    return b;
  }

  /* log of a complex number given in parts. */
  const logOf = z => [Math.log(Math.hypot(...z)), Math.atan2(z[1], z[0])];

  /* `count` draws of the Laplace mechanism's loss: atoms at -e and e, and between them a density proportional to e^(t/2). With z = x + iu
     E e^(zL) is A + U, A = (e^(ze) + e^(-(1+z)e)) / 2 of the atoms and U = (e^(ze) - e^(-(1+z)e)) / (2 + 4 z) of the rest. What is
     made of atoms alone, or of all but one, has corners, and is known: binomial sums. */
  function laplaceComposed(e, count, delta) {
    if (count === 1) return Math.max(e + 2 * Math.log1p(-delta), 0);
    const parts = (r, u) => {  // A and U without their factor e^(ze)
      const size = Math.exp(-(1 + 2 * r) * e), back = [size * Math.cos(2 * u * e), -size * Math.sin(2 * u * e)];
      return [[(1 + back[0]) / 2, back[1] / 2], over([1 - back[0], -back[1]], [2 + 4 * r, 4 * u])];
    };
    const line = r => u => {
      const [A, U] = parts(r, u), [re, im] = logOf([A[0] + U[0], A[1] + U[1]]);
      return [count * (re + r * e), count * (im + u * e)];
    };
    const transform = (r, u, peak) => {  // A^count + count A^(count - 1) U
      const [A, U] = parts(r, u), [re, im] = logOf(A), size = Math.exp((count - 1) * re + count * r * e - peak);
      const angle = (count - 1) * im + count * u * e;
      return times([size * Math.cos(angle), size * Math.sin(angle)], [A[0] + count * U[0], A[1] + count * U[1]]);
    };
    const choose = compendium.logChoose(count - 1);  // of the atoms but one
    const known = epsilon => {
      let sum = 0;
      for (let heads = count - 1; heads >= 0; heads--) {
        const x = epsilon - (2 * heads - count + 1) * e;  // what the last draw has to exceed
        if (x >= e) break;
        const mass = Math.exp(choose[heads] - (count - 1) * Math.LN2 - (count - 1 - heads) * e);
        const atoms = -Math.expm1(x - e) / 2 - Math.exp(-e) / 2 * Math.min(Math.expm1(x + e), 0);
        const between = x > -e ? Math.expm1((x - e) / 2) ** 2 / 2 : Math.expm1(-e) * Math.expm1(x) / 2;
        sum += mass * (atoms + count * between);
      }
      return sum;
    };
    return Math.min(invertedEpsilon(line, delta, {known: {transform, delta: known}}), count * e);
  }

  /* The least epsilon at delta of `count` draws of two Gaussians: `parts` are [how many coordinates, t, m^2], the second having variance 1 + t
     and mean m where the first has 1 and 0. */
  function gaussianDraws(parts, count, delta) {
    const terms = parts.map(([many, t, square]) => {
      const s = t / (1 + t);
      return {half: count * many / 2, s, b: square / (1 + t), slope: -log1pmx(-s)};
    });
    const lowest = Math.min(...terms.map(({s}) => s));
    return invertedEpsilon(r => u => {
      const z = [r, u];
      let sum = [0, 0];
      for (const {half, s, b, slope} of terms) {
        const mean = over(times(z, [1 + r, u]), [1 + r * s, u * s]), log = complexLog1pmx([r * s, u * s]);
        sum = sum.map((part, i) => part + half * (b * mean[i] + slope * z[i] - log[i]));
      }
      return sum;
    }, delta, {end: lowest < 0 ? -1 / lowest : Infinity});
  }

  Object.assign(compendium, {invertedEpsilon, laplaceComposed, gaussianDraws});
})();
