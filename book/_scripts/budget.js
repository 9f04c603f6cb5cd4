/* How AIM spends its budget (lib.tables.budget_schedule). */

(() => {
  'use strict';
  const {rhoOf, olderRhoOf} = compendium;

  /* What the rounds cost if d attributes are measured first and then every round, or none, is annealed. */
  function spend(rho, d, rounds, alpha, anneal) {
    let used = 0, multiplier = Math.sqrt(rounds / (2 * alpha * rho)), epsilon = Math.sqrt(8 * (1 - alpha) * rho / rounds);
    let last = false, taken = 0;
    const first = {multiplier, epsilon};
    const finishIfShort = () => {
      const left = (rho - used) * (1 - 1e-12);
      if (left > 2 * (1 / (2 * multiplier ** 2) + epsilon ** 2 / 8)) return;
      last = true;
      epsilon = Math.sqrt(8 * (1 - alpha) * left);
      multiplier = Math.sqrt(1 / (2 * alpha * left));
    };
    finishIfShort();
    for (let j = 0; j < d; j++) { used += 1 / (2 * multiplier ** 2); finishIfShort(); }
    const initial = used;
    for (let done = false; !done;) {
      used += 1 / (2 * multiplier ** 2) + epsilon ** 2 / 8;
      taken++;
      done = last;
      if (done) break;
      if (anneal) { multiplier /= 2; epsilon *= 2; }
      finishIfShort();
    }
    return {first, initial, taken, last: {multiplier, epsilon}};
  }

  /* `each`: into how many rounds for each attribute the budget is divided at first, at least 1. */
  function aimBudget({epsilon, delta, d, each, alpha}) {
    const rho = rhoOf(epsilon, delta), rounds = each * d;
    return {rho, older: olderRhoOf(epsilon, delta), slow: spend(rho, d, rounds, alpha, false), quick: spend(rho, d, rounds, alpha, true)};
  }

  Object.assign(compendium, {aimBudget});
})();
