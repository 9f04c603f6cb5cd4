/* Frequency oracles: how far their estimates stray, and how long their reports are (lib.local). */

(() => {
  'use strict';
  const {root, spaced} = compendium;

  /* log C(k, d): a sum or, for many factors, Stirling's series. */
  function logBinomial(k, d) {
    const few = Math.min(d, k - d);
    if (few > 1000) {
      const gamma = x => (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1260 * x ** 5);
      return gamma(k + 1) - gamma(d + 1) - gamma(k - d + 1);
    }
    let sum = 0;
    for (let j = 1; j <= few; j++) sum += Math.log((k - few + j) / j);
    return sum;
  }

  /* n times the variance is zero + slope f, for a report that supports the own value with probability p and any other with q. */
  const pure = (p, q) => ({zero: q * (1 - q) / (p - q) ** 2, slope: (p * (1 - p) - q * (1 - q)) / (p - q) ** 2});

  function hashing(epsilon, g) {
    return pure(1 / (1 + (g - 1) * Math.exp(-epsilon)), 1 / g);
  }

  function olh(epsilon) {
    const odds = Math.exp(Math.min(epsilon, Math.log(65536)));
    const worth = g => (odds + g - 1) ** 2 / (g - 1);
    const [low, high] = [Math.floor, Math.ceil].map(round => Math.min(round(odds + 1), 65536));
    const g = worth(low) <= worth(high) ? low : high;
    return {...hashing(epsilon, g), bits: 128 + Math.log2(g)};
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
      return {d, p, q, worth: (p * (1 - p) + (k - 1) * q * (1 - q)) / gap ** 2};
    }).sort((a, b) => a.worth - b.worth);
    return {...pure(best.p, best.q), bits: logBinomial(k, best.d) / Math.LN2};
  }

  /* Hadamard response, the other users spread evenly over the blocks. */
  function hadamard(epsilon, k) {
    const blocks = 2 ** (Math.ceil(Math.min(epsilon / Math.LN2, Math.log2(2 * k))) - 1);
    const odds = Math.exp(-epsilon), scale = 1 + (2 * blocks - 1) * odds;
    const forced = (1 - odds) / scale, inside = (1 + odds) / scale, outside = 2 * odds / scale;
    const at = share => (share * inside + (1 - share) * outside) / forced ** 2;
    const size = 2 ** (Math.floor(Math.log2(Math.ceil(k / blocks))) + 1);
    return {zero: at(1 / blocks), slope: at(1) - at(1 / blocks) - 1, bits: Math.log2(blocks * size)};
  }

  const ORACLES = {  // `bits`: log2 of the number of reports there are (lib.local.communication)
    GRR: (e, k) => ({...pure(1 / (1 + (k - 1) * Math.exp(-e)), Math.exp(-e) / (1 + (k - 1) * Math.exp(-e))), bits: Math.log2(k)}),
    SUE: (e, k) => ({...pure(1 / (1 + Math.exp(-e / 2)), Math.exp(-e / 2) / (1 + Math.exp(-e / 2))), bits: k}),
    OUE: (e, k) => ({...pure(1 / 2, Math.exp(-e) / (1 + Math.exp(-e))), bits: k}),
    BLH: e => ({...hashing(e, 2), bits: 129}),
    OLH: olh,
    SHE: (e, k) => ({zero: 8 / e ** 2, slope: 0, bits: 64 * k}),
    THE: (e, k) => ({...the(e), bits: k}),
    SS: subsets,
    HR: hadamard,
  };

  /* Standard deviation of each oracle's estimate at true frequency f among n users, and the length of its reports. */
  function oracles({epsilon, k, n, f}) {
    return Object.fromEntries(Object.entries(ORACLES).map(([name, oracle]) => {
      const {zero, slope, bits} = oracle(epsilon, k);
      return [name, {deviation: Math.sqrt((zero + slope * f) / n), bits}];
    }));
  }

  /* The deviations, smallest first, and how they fall with epsilon. */
  function local(values) {
    const named = at => Object.entries(oracles(at)).map(([name, {deviation}]) => [name, deviation]);
    const ranking = named(values).sort((a, b) => a[1] - b[1]);
    const grid = spaced(Math.log(0.1), Math.log(8), 60).map(Math.exp), curves = {};
    for (const epsilon of grid) for (const [name, deviation] of named({...values, epsilon})) (curves[name] ??= []).push([epsilon, deviation]);
    return {ranking, curves};
  }

  Object.assign(compendium, {oracles, local});
})();
