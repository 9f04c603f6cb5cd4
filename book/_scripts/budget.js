/* How AIM spends its budget (lib.tables.budget_schedule). */

(() => {
  'use strict';
  const {rhoOf, olderRhoOf} = compendium;

  /* The rounds into which the budget is divided at first, for d attributes (lib.tables.aim). */
  const dividedInto = d => Math.max(Math.min(16 * d, 512), 4 * d);

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

  function aimBudget({epsilon, delta, d, rounds, alpha}) {
    const rho = rhoOf(epsilon, delta);
    return {rho, older: olderRhoOf(epsilon, delta), slow: spend(rho, d, rounds, alpha, false), quick: spend(rho, d, rounds, alpha, true)};
  }

  Object.assign(compendium, {aimBudget, dividedInto});
})();
