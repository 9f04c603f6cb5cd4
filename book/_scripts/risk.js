/* What an attacker can do against (epsilon, delta)-DP at most (lib.attacks.membership_inference). */

(() => {
  'use strict';

  /* The greatest rate of true positives at a rate of false ones (Kairouz, Oh, Viswanath 2015). */
  function truePositives(fpr, epsilon, delta) {
    if (epsilon > 700) return fpr > 0 ? 1 : delta;
    return Math.min(Math.exp(epsilon) * fpr + delta, 1 - Math.exp(-epsilon) * (1 - delta - fpr), 1);
  }

  /* The greatest TPR - FPR. */
  const advantage = (epsilon, delta) => Math.tanh(epsilon / 2) + delta * (1 - Math.tanh(epsilon / 2));

  /* What a suspicion of probability `prior` can become. */
  const posterior = (prior, epsilon) => prior / (prior + (1 - prior) * Math.exp(-epsilon));

  /* The false negatives left at each rate of false positives: from (0, 1 - delta) by the corner to (1, 0). */
  function tradeOff(epsilon, delta) {
    const corner = (1 - advantage(epsilon, delta)) / 2;
    return [[0, 1 - delta], [corner, 1 - truePositives(corner, epsilon, delta)], [1 - delta, 0], [1, 0]];
  }

  Object.assign(compendium, {truePositives, advantage, posterior, tradeOff});
})();
