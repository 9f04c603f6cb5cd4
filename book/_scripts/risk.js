/* What an attacker can do against (epsilon, delta)-DP at most (lib.attacks.membership_inference). */

(() => {
  'use strict';

  /* The greatest TPR - FPR. */
  const advantage = (epsilon, delta) => Math.tanh(epsilon / 2) + delta * (1 - Math.tanh(epsilon / 2));

  /* What a suspicion of probability `prior` can become; with a delta, it exceeds this by (1 - this) delta at most on average. */
  const posterior = (prior, epsilon) => prior / (prior + (1 - prior) * Math.exp(-epsilon));

  /* The false negatives left at each rate of false positives (Kairouz, Oh, Viswanath 2015): from (0, 1 - delta) by the corner, where both
     rates are the same, to (1, 0). */
  function tradeOff(epsilon, delta) {
    const corner = (1 - delta) / (1 + Math.exp(epsilon));
    return [[0, 1 - delta], [corner, corner], [1 - delta, 0], [1, 0]];
  }

  Object.assign(compendium, {advantage, posterior, tradeOff});
})();
