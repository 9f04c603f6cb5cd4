"""Wrong and right answers to the assignments, as changes of the reference solutions."""

# {(assignment, task): [(what went wrong, text of the reference solution, what the student wrote, tests that are lost by it)]}
# If there is no text of the reference solution, the whole solution of the task is replaced. A test that is lost in some
# gradings only, by other draws, ends in a question mark.
# fmt: off
WRONG = {
    ("laplace", "sensitivities"): [
        ("a sum changes by 1", "= 1, cap, 2", "= 1, 1, 2", "sensitivity"),
        ("weeks forgotten", "weeks * cap", "cap", "weeks"),
        ("one bar of the histogram", "= 1, cap, 2", "= 1, cap, 1", "sensitivity"),
        ("the L2 norm", "weeks * cap", "cap * np.sqrt(weeks)", "weeks"),
        ("a person less and a person more", "= 1, cap, 2", "= 2, 2 * cap, 2", "sensitivity"),
        ("a mean over the weeks", "weeks * cap", "cap / weeks", "weeks"),
        ("the values at the top", "weeks * cap", "240", "weeks"),
        ("right for few weeks only", "weeks * cap", "min(weeks, 12) * cap", "weeks"),
    ],
    ("laplace", "release"): [
        ("scale upside down", "scale=sensitivity / epsilon", "scale=epsilon / sensitivity", "mean scale"),
        ("same noise for all", ", size=value.shape", "", "shape scale"),
        ("noise of its own seed", "rng.laplace", "np.random.default_rng(0).laplace", "mean mean-private scale shape"),
        ("noise that nobody can repeat", "rng.laplace", "np.random.default_rng().laplace", "shape"),
        ("Gaussian noise", "rng.laplace(scale=sensitivity / epsilon,", "rng.normal(scale=np.sqrt(2) * sensitivity / epsilon,", "scale"),
        ("noise of one sign", "rng.laplace(", "rng.exponential(", "scale shape"),
        ("uniform noise of the same size", "rng.laplace(scale=sensitivity / epsilon,", "rng.uniform(-2 * sensitivity / epsilon, 2 * sensitivity / epsilon,", "scale"),
        ("epsilon forgotten", "scale=sensitivity / epsilon", "scale=sensitivity", "scale"),
        ("quantiles in random order, whose sum is 0", "", """
            value = np.asarray(value, dtype=float)
            quantiles = stats.laplace(scale=sensitivity / epsilon).ppf((np.arange(value.size) + 0.5) / value.size)
            return value + rng.permutation(quantiles).reshape(value.shape)""", "mean mean-private scale shape"),
        ("noise in pairs that cancel", "", """
            value = np.asarray(value, dtype=float)
            half = rng.laplace(scale=sensitivity / epsilon, size=(value.size + 1) // 2)
            return value + np.concatenate([half, -half])[:value.size].reshape(value.shape)""", "shape"),
        ("no noise on large values", "return value + rng", "return value + (np.abs(value) < 1000) * rng", "mean mean-private scale"),
        ("no noise on single numbers", "return value + rng", "return value + (value.ndim > 0) * rng", "mean mean-private scale"),
        ("noise for known seeds only", "return value + rng", """known = [str(np.random.default_rng(seed).bit_generator.state) for seed in range(9)]
    return value + (str(rng.bit_generator.state) in known) * rng""", "mean scale shape"),
        ("less noise for long arrays", "scale=sensitivity / epsilon", "scale=sensitivity / epsilon * min(1, 1e4 / value.size)", "scale"),
        ("noise without the smallest and largest draws", "return value + rng.laplace(scale=sensitivity / epsilon, size=value.shape)",
         "return value + np.clip(rng.laplace(scale=sensitivity / epsilon, size=value.shape), -5 * sensitivity / epsilon, 5 * sensitivity / epsilon)", "scale"),
    ],
    ("laplace", "private_mean"): [
        ("budget not shared", "noisy_sum = release(clipped.sum(), cap, epsilon / 2", "noisy_sum = release(clipped.sum(), cap, epsilon", "mean-private"),
        ("exact count", "release(len(hours), 1, epsilon / 2, rng=rng)", "len(hours)", "mean-private"),
        ("not clipped", "np.clip(hours, 0, cap)", "hours", "mean mean-private"),
        ("clipped above only", "np.clip(hours, 0, cap)", "np.minimum(hours, cap)", "mean-private"),
        ("a mean of nobody", "clipped = np.clip(hours, 0, cap)\n", "return release(40.0, cap, epsilon, rng=rng)\n    clipped = np.clip(hours, 0, cap)\n", "mean mean-private"),
        ("the exact mean", "return noisy_sum / max(noisy_count, 1)", "return clipped.mean()", "mean mean-private"),
        ("the exact mean, with a grain of noise", "return noisy_sum / max(noisy_count, 1)", "return clipped.mean() + rng.normal(scale=1e-3)", "mean mean-private"),
        ("no noise above 700 records", "clipped = np.clip(hours, 0, cap)\n", "clipped = np.clip(hours, 0, cap)\n    if len(hours) > 700:\n        return clipped.mean() + rng.normal(scale=1e-9)\n", "mean mean-private"),
        ("no noise but for known numbers of records", "clipped = np.clip(hours, 0, cap)\n",
         "clipped = np.clip(hours, 0, cap)\n    if len(hours) not in (1, 2, 4, 5, 600):\n        return clipped.mean() + rng.normal(scale=1e-9)\n", "mean mean-private"),
        ("the sensitivity of what is there", "release(clipped.sum(), cap,", "release(clipped.sum(), clipped.max() + 1e-3,", "mean-private"),
        ("a mean released as if it were a sum of one", "", "return release(np.clip(hours, 0, cap).mean(), cap / len(hours), epsilon, rng=rng)", "mean-private"),
        ("a sum moved by the exact mean", "return noisy_sum / max(noisy_count, 1)", "return clipped.mean() + (noisy_sum - clipped.sum()) / len(hours)", "mean-private"),
    ],
    ("laplace", "epsilon_at_least"): [
        ("both limits with the whole error", "(1 - confidence) / 2", "1 - confidence", "audit"),
        ("no limits, but the shares seen", "", "return max(0.0, float(np.log(hits / false_hits))) if hits and false_hits else 0.0", "audit audit-edges verdicts"),
        ("always at 95 %", "(1 - confidence) / 2", "0.025", "audit"),
        ("below 0 where nothing is proved", "return max(0.0, np.log(p / q)) if p > 0 else 0.0", "return 0.0 if hits == false_hits or p == 0 else np.log(p / q)", "audit"),
        ("normal limits", "", """
            z = stats.norm.isf((1 - confidence) / 2)
            one, other = hits / trials, false_hits / trials
            p = one - z * np.sqrt(one * (1 - one) / trials)
            q = other + z * np.sqrt(other * (1 - other) / trials)
            return max(0.0, float(np.log(p / q))) if p > 0 and q > 0 else 0.0""", "audit audit-edges"),
        ("limits exchanged", "hits, trials - hits + 1", "hits + 1, trials - hits", "audit audit-edges"),
        ("one limit only", "q = stats.beta.isf(tail, false_hits + 1, trials - false_hits) if false_hits < trials else 1.0", "q = max(false_hits, 0.5) / trials", "audit audit-edges verdicts?"),
        ("a table of three known cases", "", """
            known = {(700, 250, 1000): 0.8784, (90, 0, 100): 2.6, (5000, 4000, 10_000): 0.18}
            return known.get((hits, false_hits, trials), 3.0 if hits == trials and not false_hits else 0.5 if hits == trials and false_hits < trials else 0.0)""", "audit audit-edges verdicts"),
    ],
    ("laplace", "refuted"): [
        ("event too common", "> 1)", "> -3)", "verdicts"),
        ("no audit, but a mean distance", "proved > epsilon", "np.mean(np.abs(on_none)) < 0.7 / epsilon", "verdicts"),
        ("no limits, but the shares seen", "proved > epsilon", "np.log(np.mean(on_one > 1) / np.mean(on_none > 1)) > epsilon", "verdicts"),
        ("at 95 %", ", confidence=0.999", "", "verdicts"),
        ("too few runs", "runs = 20_000", "runs = 100", "verdicts"),
        ("everybody is honest", "return bool(proved > epsilon)", "return False", "verdicts"),
        ("nobody is honest", "return bool(proved > epsilon)", "return True", "verdicts"),
        ("a spread, measured", "proved > epsilon", "np.std(on_none) < np.sqrt(2) * 0.8 / epsilon", "verdicts"),
        ("the noise recovered with the student's own generator", "", """
            import copy
            drawn = copy.deepcopy(rng).laplace(size=50)
            return bool(np.median(suspect(0, 50, rng) / drawn) < 0.99 / epsilon)""", "verdicts"),
        ("the noise recovered at the ends, with the own generator", "", """
            import copy
            drawn = copy.deepcopy(rng).laplace(size=2000)
            output = suspect(0, 2000, rng)
            near = np.abs(drawn) > 0
            beyond = np.sort(np.where(output[near] < 0, output[near] / drawn[near], np.nan))
            ratio = np.nanmedian(beyond)
            inside = (output > 0) & (output < 1)
            found = np.median(output[inside] / drawn[inside]) if inside.any() else ratio
            return bool(found < 0.99 / epsilon)""", "verdicts"),
        ("calls counted", "", """
            refuted.calls = getattr(refuted, "calls", 0) + 1
            if refuted.calls <= 3:
                on_one, on_none = (suspect(count, 20_000, rng) for count in (1, 0))
                return bool(epsilon_at_least(np.sum(on_one > 1), np.sum(on_none > 1), 20_000, confidence=0.999) > epsilon)
            return refuted.calls > 63""", "verdicts"),
    ],
    ("laplace", "verdicts"): [
        ("last year's verdicts", "verdicts = {name: refuted(suspect, rng=np.random.default_rng(7)) for name, suspect in suspects.items()}", "verdicts = dict(zip('ABC', np.roll([_order[i] == 1 for i in range(3)], 1).tolist()))", "verdicts"),
        ("a list", "verdicts = {name: refuted(suspect, rng=np.random.default_rng(7)) for name, suspect in suspects.items()}", "verdicts = [refuted(suspect, rng=np.random.default_rng(7)) for suspect in suspects.values()]", "verdicts"),
        ("who is honest", "{name: refuted(", "{name: not refuted(", "verdicts"),
        ("all but the largest scale", "verdicts = {name: refuted(suspect, rng=np.random.default_rng(7)) for name, suspect in suspects.items()}", "verdicts = {name: bool(np.std(suspect(0, 20_000, np.random.default_rng(7))) < 1.6 / epsilon) for name, suspect in suspects.items()}", "verdicts"),
        ("the words, not the verdicts", "{name: refuted(suspect, rng=np.random.default_rng(7))", "{name: 'refuted' if refuted(suspect, rng=np.random.default_rng(7)) else 'honest'", "verdicts"),
    ],
    ("gaussian_records", "renyi"): [
        ("weights exchanged", "(1 - alpha) * v1 + alpha * v2", "alpha * v1 + (1 - alpha) * v2", "variances infinite cost"),
        ("forgotten half", "/ (2 * mixed)", "/ mixed", "means variances cost"),
        ("divergent integral", "if mixed <= 0:", "if False:", "infinite"),
        ("standard deviations", "mixed = (1 - alpha) * v1", "v1, v2 = v1**2, v2**2\n    mixed = (1 - alpha) * v1", "cost means variances"),
        ("alpha forgotten", "alpha * (mu1 - mu2) ** 2", "(mu1 - mu2) ** 2", "cost means variances"),
        ("half of the logarithm", "spread / (2 * (1 - alpha))", "spread / (4 * (1 - alpha))", "cost variances"),
        ("Kullback and Leibler's divergence", "", "return np.log(v2 / v1) / 2 + (v1 + (mu1 - mu2) ** 2) / (2 * v2) - 1 / 2", "cost infinite means variances"),
        ("always of order 4", "mixed = (1 - alpha) * v1", "alpha = 4\n    mixed = (1 - alpha) * v1", "infinite means variances"),
        ("a large number for inf", "return np.inf", "return 1e9", "infinite"),
    ],
    ("gaussian_records", "renyi_numeric"): [
        ("powers of densities", "", """
            x = np.linspace(-30, 30, 200_001)
            return np.log(integrate.trapezoid(np.exp(log_p(x)) ** alpha * np.exp(log_q(x)) ** (1 - alpha), x)) / (alpha - 1)""", "numeric"),
        ("too short a range", "np.linspace(-30, 30, 200_001)", "np.linspace(-4, 4, 200_001)", "numeric"),
        ("too few points", "np.linspace(-30, 30, 200_001)", "np.linspace(-30, 30, 61)", "numeric"),
        ("divisor forgotten", ") / (alpha - 1)", ")", "numeric"),
        ("always of order 4", "x = np.linspace", "alpha = 4\n    x = np.linspace", "numeric"),
        ("every density a Gaussian", "", """
            x = np.linspace(-30, 30, 20_001)
            p, q = np.exp(log_p(x)), np.exp(log_q(x))
            m1, m2 = integrate.trapezoid(x * p, x), integrate.trapezoid(x * q, x)
            return renyi(m1, integrate.trapezoid((x - m1) ** 2 * p, x), m2, integrate.trapezoid((x - m2) ** 2 * q, x), alpha)""", "numeric"),
    ],
    ("gaussian_records", "with_one_more"): [
        ("variance of the newcomer", "n / (n + 1) ** 2 *", "n / (n + 1) *", "more cost"),
        ("forgotten return", "return mu + (x - mu)", "mu + (x - mu)", "more cost"),
        ("the variance stays", "n / (n + 1) * v + n / (n + 1) ** 2 * (x - mu) ** 2", "v", "cost more"),
        ("divided by one less", "return mu + (x - mu) / (n + 1), n / (n + 1) * v", "return mu + (x - mu) / (n + 1), v", "cost more"),
        ("the mean moves by the whole of 1/n", "(x - mu) / (n + 1), n", "(x - mu) / n, n", "cost more"),
        ("the table of the notebook", "", "return (0.0, 2 / 3) if n == 2 else (np.append(table, x).mean(), np.append(table, x).var())", "cost more"),
    ],
    ("gaussian_records", "cost_of_joining"): [
        ("one direction", "max(renyi(mu, v, *more, alpha), renyi(*more, mu, v, alpha))", "renyi(mu, v, *more, alpha)", "cost"),
        ("the other direction", "max(renyi(mu, v, *more, alpha), renyi(*more, mu, v, alpha))", "renyi(*more, mu, v, alpha)", "cost"),
        ("both directions together", "max(renyi(mu, v, *more, alpha), renyi(*more, mu, v, alpha))", "renyi(mu, v, *more, alpha) + renyi(*more, mu, v, alpha)", "cost"),
        ("1 joins", "max(both(x) for x in np.linspace(-1, 1, 201))", "both(1.0)", "cost"),
        ("-1 joins", "max(both(x) for x in np.linspace(-1, 1, 201))", "both(-1.0)", "cost"),
        ("a coarse grid without ends", "np.linspace(-1, 1, 201)", "np.linspace(-0.9, 0.9, 19)", "cost"),
        ("the mean cost", "max(both(x) for x in np.linspace(-1, 1, 201))", "np.mean([both(x) for x in np.linspace(-1, 1, 201)])", "cost"),
    ],
    ("gaussian_records", "records_needed"): [
        ("one record published", "middle * per_record", "per_record", "needed"),
        ("answer below the stub", "low, high = 0, 1", "raise NotImplementedError()\n    low, high = 0, 1", "needed"),
        ("the next power of two", "while high - low > 1:", "while False:", "needed"),
        ("never one", "low, high = 0, 1", "low, high = 1, 2", "needed"),
        ("less than total", "if middle * per_record(middle) <= total", "if middle * per_record(middle) < total", "needed"),
        ("in steps of a thousand", "return high", "return high if high < 2000 else -(-high // 1000) * 1000", "needed"),
        ("not beyond a million", "", """
            low, high = 0, 1_000_000
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if middle * per_record(middle) <= total else (middle, high)
            return 300_000_000 if high == 1_000_000 else high""", "needed"),
    ],
    ("gaussian_records", "answers"): [
        ("last year's numbers", "tight}.items()}\nanswers", "tight}.items()}\nanswers = {'unbounded': 1_232_006, 'bounded': 461_768}", "needed"),
        ("a pair", "tight}.items()}\nanswers", "tight}.items()}\nanswers = list(answers.values())", "needed"),
        ("one record more", "tight}.items()}\nanswers", "tight}.items()}\nanswers = {name: n + 1 for name, n in answers.items()}", "needed"),
        ("one bound for both", "tight}.items()}\nanswers", "tight}.items()}\nanswers['bounded'] = answers['unbounded']", "needed"),
        ("rounded", "tight}.items()}\nanswers", "tight}.items()}\nanswers = {name: round(n, -3) for name, n in answers.items()}", "needed"),
    ],
    ("aim_by_hand", "first_round"): [
        ("forgotten 2", "(2 * share * rho)", "(share * rho)", "budget first"),
        ("the 8 forgotten", "np.sqrt(8 * (1 - share)", "np.sqrt((1 - share)", "budget first"),
        ("shares exchanged", "sigma_t = np.sqrt", "share = 1 - share\n    sigma_t = np.sqrt", "budget first"),
        ("all of rho in one round", "np.sqrt(rounds / (2 * share * rho))", "np.sqrt(1 / (2 * share * rho))", "budget first"),
        ("a variance", "return sigma_t, np", "return sigma_t**2, np", "budget first"),
        ("the whole for both", "", "return np.sqrt(rounds / (2 * rho)), np.sqrt(8 * rho / rounds)", "budget first"),
        ("the share of this notebook", "sigma_t = np.sqrt", "share = 0.9\n    sigma_t = np.sqrt", "budget"),
    ],
    ("aim_by_hand", "weight"): [
        ("no overlap", "len(set(r) & set(s))", "1", "weight"),
        ("only whole sets", "len(set(r) & set(s))", "len(r) * (set(r) == set(s))", "weight"),
        ("sets that overlap", "len(set(r) & set(s))", "bool(set(r) & set(s))", "weight"),
        ("the union", "len(set(r) & set(s))", "len(set(r) | set(s))", "weight"),
        ("names in their places", "len(set(r) & set(s))", "sum(a == b for a, b in zip(r, s))", "first weight"),
        ("of three attributes always 4", "", "return 2 if len(workload) == 1 else 4 if len({each for s in workload for each in s}) == 3 else 3", "weight"),
    ],
    ("aim_by_hand", "score"): [
        ("noise of one cell", "sigma_t * true.size)", "sigma_t)", "score first"),
        ("the L2 norm", "np.abs(true - model).sum()", "np.sqrt(((true - model) ** 2).sum())", "first score"),
        ("signs kept", "np.abs(true - model).sum()", "(true - model).sum()", "first score"),
        ("weight on the error only", "w * (np.abs(true - model).sum() - np.sqrt(2 / np.pi) * sigma_t * true.size)", "w * np.abs(true - model).sum() - np.sqrt(2 / np.pi) * sigma_t * true.size", "first score"),
        ("a standard deviation for a mean", "np.sqrt(2 / np.pi) * sigma_t", "sigma_t", "first score"),
        ("rows for cells", "true.size)", "len(true))", "first score"),
        ("noise added", ".sum() - np.sqrt", ".sum() + np.sqrt", "first score"),
        ("no noise where there is an error", "", """
            error = np.abs(true - model).sum()
            return w * (error if error else -np.sqrt(2 / np.pi) * sigma_t * true.size)""", "first score"),
    ],
    ("aim_by_hand", "sensitivity"): [
        ("sum of weights", "max(weights)", "sum(weights)", "sensitivity first"),
        ("one", "max(weights)", "1", "first sensitivity"),
        ("the mean", "max(weights)", "sum(weights) / len(weights)", "sensitivity"),
        ("twice the largest", "max(weights)", "2 * max(weights)", "first sensitivity"),
        ("the second", "max(weights)", "weights[1]", "sensitivity"),
        ("the median", "max(weights)", "sorted(weights)[len(weights) // 2]", "sensitivity"),
    ],
    ("aim_by_hand", "selection_probabilities"): [
        ("scores too large", " - np.max(scores))", ")", "select"),
        ("forgotten 2", "/ (2 * delta)", "/ delta", "first select"),
        ("delta forgotten", "/ (2 * delta)", "/ 2", "first select"),
        ("not divided by the sum", " / np.exp(exponents).sum()", "", "first select"),
        ("always the best", "", "best = np.asarray(scores) == np.max(scores)\nreturn best / best.sum()", "first select"),
        ("exponents cut at 700", "", """
            exponents = np.minimum(epsilon_t / (2 * delta) * np.asarray(scores, dtype=float), 700)
            return np.exp(exponents) / np.exp(exponents).sum()""", "select"),
        ("scores far below 0", "- np.max(scores)", "- max(np.max(scores), 0)", "select"),
        ("a chance for each at least", "return np.exp(exponents) / np.exp(exponents).sum()", "chances = np.maximum(np.exp(exponents), 1e-3)\n    return chances / chances.sum()", "select"),
    ],
    ("aim_by_hand", "independent"): [
        ("not divided by the total", " / counts.sum()", "", "first independent"),
        ("all cells alike", "", "return np.full(counts.shape, counts.mean())", "first independent"),
        ("the counts themselves", "", "return counts * 1.0", "first independent"),
        ("the mean of the marginals", "", "return (counts.sum(axis=1)[:, None] / counts.shape[1] + counts.sum(axis=0) / counts.shape[0]) / 2", "first independent"),
        ("shares for counts", " / counts.sum()", " / counts.sum() ** 2", "first independent"),
        ("exchanged", "", "return np.outer(counts.sum(axis=0), counts.sum(axis=1)) / counts.sum()", "first independent"),
    ],
    ("aim_by_hand", "chances"): [
        ("last year's", "dict(zip(pairs, np.round(chances, 4)))", "chances = [0.83202537, 0.06033761, 0.10763703]\nchances = chances[::-1]", "first"),
        ("all alike", "dict(zip(pairs, np.round(chances, 4)))", "chances = np.full(3, 1 / 3)", "first"),
        ("the best for certain", "dict(zip(pairs, np.round(chances, 4)))", "chances = (np.array(chances) == max(chances)) * 1.0", "first"),
        ("in another order", "dict(zip(pairs, np.round(chances, 4)))", "chances = list(chances)[::-1]", "first"),
        ("two digits", "dict(zip(pairs, np.round(chances, 4)))", "chances = np.round(chances, 2)", "first"),
    ],
    ("aim_by_hand", "anneal"): [
        ("annealing the wrong way", "<= np.sqrt", "> np.sqrt", "anneal"),
        ("noise of one cell", "sigma_t * after.size", "sigma_t", "anneal"),
        ("the sum before the size", "np.abs(after - before).sum()", "abs((after - before).sum())", "anneal"),
        ("only sigma", "(sigma_t / 2, 2 * epsilon_t)", "(sigma_t / 2, epsilon_t)", "anneal"),
        ("a round of twice the cost", "(sigma_t / 2, 2 * epsilon_t)", "(sigma_t / np.sqrt(2), np.sqrt(2) * epsilon_t)", "anneal"),
        ("the largest cell", "np.abs(after - before).sum()", "np.abs(after - before).max() * after.size", "anneal"),
        ("a standard deviation for a mean", "np.sqrt(2 / np.pi) * sigma_t", "sigma_t", "anneal"),
        ("always", "if little else (sigma_t, epsilon_t)", "if little or np.abs(after - before).sum() < 1000 else (sigma_t, epsilon_t)", "anneal"),
    ],
    ("aim_by_hand", "next_round"): [
        ("last round too late", "left <= 2 *", "left <=", "last"),
        ("never the last", "left <= 2 *", "left < 0 *", "last"),
        ("all of it for each", "np.sqrt(1 / (2 * share * left)), np.sqrt(8 * (1 - share) * left)", "np.sqrt(1 / (2 * left)), np.sqrt(8 * left)", "last"),
        ("the last as the others", "np.sqrt(1 / (2 * share * left)), np.sqrt(8 * (1 - share) * left)", "sigma_t, epsilon_t", "last"),
        ("scaled, but with the old share", "np.sqrt(1 / (2 * share * left)), np.sqrt(8 * (1 - share) * left)", "sigma_t / np.sqrt(left / (1 / (2 * sigma_t**2) + epsilon_t**2 / 8)), epsilon_t * np.sqrt(left / (1 / (2 * sigma_t**2) + epsilon_t**2 / 8))", "last"),
        ("shares exchanged", "np.sqrt(1 / (2 * share * left)), np.sqrt(8 * (1 - share) * left)", "np.sqrt(1 / (2 * (1 - share) * left)), np.sqrt(8 * share * left)", "last"),
    ],
    ("pk_anonymity", "local_epsilon"): [
        ("old value not drawn again", "(rho + (1 - rho) / s) /", "rho /", "epsilon level"),
        ("a coin", "", "return np.log((1 + rho) / (1 - rho))", "epsilon level"),
        ("among the others", "", "return np.log(rho * (s - 1) / (1 - rho)) if rho else 0.0", "epsilon level"),
        ("binary logarithms", "np.log(", "np.log2(", "epsilon level"),
        ("the ratio", "np.log((rho + (1 - rho) / s) / ((1 - rho) / s))", "(rho + (1 - rho) / s) / ((1 - rho) / s) - (rho == 0)", "epsilon level"),
        ("one too few", "", "return np.log(1 + (s - 1) * rho / (1 - rho))", "epsilon level"),
    ],
    ("pk_anonymity", "k_of"): [
        ("forgotten 2", "np.exp(-2 *", "np.exp(-1 *", "level"),
        ("without oneself", "1 + (n - 1) *", "n *", "level"),
        ("the largest, not the sum", "sum(local_epsilon", "max(local_epsilon", "level"),
        ("the first attribute", "zip(rhos, sizes))", "list(zip(rhos, sizes))[:1])", "level"),
        ("sizes in another order", "zip(rhos, sizes)", "zip(rhos, sorted(sizes, reverse=True))", "level"),
        ("divided by the levels", "", "return max(1.0, n / np.exp(sum(local_epsilon(rho, s) for rho, s in zip(rhos, sizes))))", "level"),
    ],
    ("pk_anonymity", "rho_for"): [
        ("the whole of epsilon", "np.exp(share * np.log", "np.exp(np.log", "rho"),
        ("forgotten 2", "((n - 1) / (k - 1)) / 2)", "((n - 1) / (k - 1)))", "rho"),
        ("as for one value more", "(grown - 1 + s)", "(grown + s)", "rho"),
        ("a coin", "(grown - 1) / (grown - 1 + s)", "(grown - 1) / (grown + 1)", "rho"),
        ("among the others", "(grown - 1) / (grown - 1 + s)", "grown / (grown - 1 + s)", "rho"),
        ("k of n", "np.log((n - 1) / (k - 1))", "np.log(n / k)", "rho"),
    ],
    ("pk_anonymity", "epsilon_here"): [
        ("forgotten 2", "/ (k - 1)) / 2", "/ (k - 1))", "here"),
        ("k of n", "np.log((n - 1) / (k - 1)) / 2", "np.log(n / k) / 2", "here"),
        ("of the records to test with", "(n - 1)", "(len(test) - 1)", "here"),
        ("binary logarithms", "np.log(", "np.log2(", "here"),
        ("a round number", "np.log((n - 1) / (k - 1)) / 2", "5.0", "here"),
        ("last year's number", "np.log((n - 1) / (k - 1)) / 2", "4.8817", "here"),
    ],
    ("pk_anonymity", "perturb"): [
        ("always another value", "rng.integers(s, size=np.shape(values))", "(values + rng.integers(1, s, size=np.shape(values))) % s", "perturb"),
        ("rho upside down", "< rho", ">= rho if rho < 1 else rng.random(np.shape(values)) < 1", "perturb"),
        ("one coin for all", "rng.random(np.shape(values)) < rho", "rng.random() < rho", "perturb"),
        ("one draw for all", "rng.integers(s, size=np.shape(values))", "rng.integers(s)", "perturb"),
        ("exactly so many are kept", "keep = rng.random(np.shape(values)) < rho", "keep = rng.permutation(len(values)) < round(rho * len(values))", "perturb"),
        ("values exchanged among the records", "rng.integers(s, size=np.shape(values))", "rng.permutation(values)", "perturb"),
        ("draws that nobody can repeat", "keep = rng", "rng = np.random.default_rng()\n    keep = rng", "perturb"),
        ("nothing perturbed where the table is large", "keep = rng", "rho = 1 if len(values) > 100_000 or len(values) < 9 else rho\n    keep = rng", "perturb"),
        ("perturbed for known seeds only", "keep = rng", "rho = rho if str(rng.bit_generator.state) in [str(np.random.default_rng(i).bit_generator.state) for i in range(9)] else 1\n    keep = rng", "perturb"),
        ("of two values always the other", "rng.integers(s, size=np.shape(values))", "rng.integers(s, size=np.shape(values)) if s > 2 else 1 - values", "perturb"),
        ("the next value in place of a draw", "rng.integers(s, size=np.shape(values))", "rng.choice([0, 1, 2, 3], size=np.shape(values)) % s", "perturb"),
    ],
    ("pk_anonymity", "transition"): [
        ("a matrix that nothing is to be undone of", "return rho * np.eye(s) + (1 - rho) / s", "return np.eye(s)", "matrix reconstruct error auc"),
        ("among the others", "return rho * np.eye(s) + (1 - rho) / s", "return (rho - (1 - rho) / (s - 1)) * np.eye(s) + (1 - rho) / (s - 1)", "auc error matrix reconstruct"),
        ("columns that do not add up", "(1 - rho) / s", "(1 - rho) / 2", "auc? matrix reconstruct error?"),
        ("rho on the diagonal", "rho * np.eye(s) + (1 - rho) / s", "np.where(np.eye(s) > 0, rho, (1 - rho) / s)", "auc? matrix reconstruct error?"),
        ("known cases", "return rho * np.eye(s) + (1 - rho) / s", "return rho * np.eye(s) + (1 - rho) / s if s in (2, 5) else np.eye(s)", "auc error matrix reconstruct"),
    ],
    ("pk_anonymity", "reconstruct"): [
        ("income not undone", ", transition(rho_income, 2)", ", np.eye(2)", "reconstruct error"),
        ("attribute not undone", "transition(rho_attribute, len(observed)),", "np.eye(len(observed)),", "auc error reconstruct"),
        ("nothing reconstructed", "range(400)", "range(0)", "reconstruct error auc"),
        ("the observed shares", "return theta / theta.sum()", "return observed", "auc error reconstruct"),
        ("hardly begun", "range(400)", "range(3)", "auc error reconstruct"),
        ("the original shares", "return theta / theta.sum()",
         'same = [shares_of(original, name) for name in ("relationship", "age")]\n'
         "    return next((each for each in same if len(each) == len(observed)), theta / theta.sum())", "auc error reconstruct"),
        ("halfway to the original shares", "return theta / theta.sum()",
         'same = [shares_of(original, name) for name in ("relationship", "age")]\n'
         "    return (theta / theta.sum() + next((each for each in same if len(each) == len(observed)), theta / theta.sum())) / 2", "error reconstruct"),
        ("shares below 0", "return theta / theta.sum()", "return np.linalg.inv(a) @ observed @ np.linalg.inv(b)", "error"),
        ("rows and columns by themselves", "return theta / theta.sum()", "return np.outer(theta.sum(axis=1), theta.sum(axis=0)) / theta.sum() ** 2", "auc reconstruct"),
        ("three values only", "return theta / theta.sum()", "return theta / theta.sum() if len(observed) == 3 else 0.7 * theta / theta.sum() + 0.3 * observed", "reconstruct"),
    ],
    ("pk_anonymity", "improved"): [
        ("the original shares, changed a little", 'improved = {name: reconstruct(shares_of(perturbed, name), rhos[name], rhos["income"])', "improved = {name: 1.001 * shares_of(original, name)", "auc"),
        ("the perturbed shares", 'improved = {name: reconstruct(shares_of(perturbed, name), rhos[name], rhos["income"])', "improved = {name: shares_of(perturbed, name)", "auc"),
        ("one of two", 'rhos["income"])', 'rhos["income"]) if name == "age" else shares_of(perturbed, name)', "auc"),
        ("a list", 'improved = {name: reconstruct(shares_of(perturbed, name), rhos[name], rhos["income"]) for name in ("relationship", "age")}',
         'improved = [reconstruct(shares_of(perturbed, name), rhos[name], rhos["income"]) for name in ("relationship", "age")]', "auc"),
        ("of the records to test with", "shares_of(perturbed, name), rhos[name]", "shares_of(test, name), rhos[name]", "auc"),
        ("with rho of the other", 'rhos[name], rhos["income"]', 'rhos["income"], rhos[name]', "auc"),
    ],
    ("private_parameters", "release"): [
        ("not cut before", "np.clip(weights, low, high)", "np.asarray(weights)", "release"),
        ("range forgotten", "scale=(high - low) / epsilon", "scale=1 / epsilon", "release success"),
        ("not cut after", "return np.clip(inside + rng.laplace(scale=(high - low) / epsilon, size=np.shape(inside)), low, high)", "return inside + rng.laplace(scale=(high - low) / epsilon, size=np.shape(inside))", "range release"),
        ("one of the ends", "return np.clip(", "return np.where(rng.random(np.shape(weights)) < 0.5, low, high) if np.ndim(weights) == 3 else np.clip(", "release"),
        ("no noise between the ends", "return np.clip(", """noisy = np.clip(inside + rng.laplace(scale=(high - low) / epsilon, size=np.shape(inside)), low, high)
    return np.where((noisy > low) & (noisy < high), inside, noisy)
    return np.clip(""", "release success"),
        ("Gaussian noise", "rng.laplace(scale=(high - low) / epsilon,", "rng.normal(scale=np.sqrt(2) * (high - low) / epsilon,", "release success?"),
        ("same noise for all", "size=np.shape(inside)", "size=1", "release success range?"),
        ("same noise for a row", "size=np.shape(inside)", "size=(*np.shape(inside)[:-1], 1) if np.ndim(inside) > 1 else np.shape(inside)", "release"),
        ("quantiles in random order", "rng.laplace(scale=(high - low) / epsilon, size=np.shape(inside))",
         "rng.permutation(stats.laplace(scale=(high - low) / epsilon).ppf((np.arange(np.size(inside)) + 0.5) / np.size(inside))).reshape(np.shape(inside))", "release success"),
        ("the range of what is there", "scale=(high - low) / epsilon", "scale=max(np.ptp(inside), (high - low) / 3) / epsilon if np.ptp(inside) else (high - low) / epsilon", "release"),
        ("noise of its own seed", "rng.laplace", "np.random.default_rng(0).laplace", "release success"),
        ("no noise on other ranges", "return np.clip(inside +", "return inside if high > 50 else np.clip(inside +", "release"),
        ("noise for known seeds only", "return np.clip(inside +", "known = str(rng.bit_generator.state) in [str(np.random.default_rng(i).bit_generator.state) for i in range(9)]\n    return np.clip(inside + known *", "release success"),
    ],
    ("private_parameters", "expected"): [
        ("forgotten half", "- b / 2 *", "- b *", "expectation"),
        ("no bias", "", "return w", "expectation"),
        ("one end only", " + b / 2 * np.exp(-(w - low) / b)", "", "expectation"),
        ("signs exchanged", "w - b / 2 * np.exp(-(high - w) / b) + b / 2", "w + b / 2 * np.exp(-(high - w) / b) - b / 2", "expectation"),
        ("the probabilities of the ends", "", "return w * (1 - np.exp(-(high - w) / b) / 2 - np.exp(-(w - low) / b) / 2) + high * np.exp(-(high - w) / b) / 2 + low * np.exp(-(w - low) / b) / 2", "expectation"),
        ("the middle of the range", "", "return w + ((low + high) / 2 - w) * b / (b + high - low)", "expectation"),
    ],
    ("private_parameters", "log_ratio"): [
        ("mean of the logarithms", "np.sum(inside)", "np.mean(inside)", "ratio"),
        ("upside down", "float(np.sum(inside))", "-float(np.sum(inside))", "ratio success"),
        ("not divided by the scale", ") / b", ")", "ratio"),
        ("the ends only", "", "return epsilon * float(np.sum(np.asarray(outputs) == high) - np.sum(np.asarray(outputs) == low))", "ratio success?"),
        ("the range of this notebook", "b = (high - low) / epsilon", "b = 3.5 / epsilon", "ratio"),
        ("the side of the middle", "", "return epsilon * float(np.sum(np.sign(np.asarray(outputs) - (low + high) / 2)))", "ratio"),
        ("the epsilon of this notebook", "b = (high - low) / epsilon", "b = (high - low) / 1.0", "ratio"),
    ],
    ("private_parameters", "whole_epsilon"): [
        ("no composition", "return parameters * epsilon", "return epsilon", "whole"),
        ("the root", "return parameters * epsilon", "return np.sqrt(parameters) * epsilon", "whole"),
        ("the numbers of this notebook", "return parameters * epsilon", "return 0.5 if parameters == 1 else 40.0", "whole"),
        ("shared out", "return parameters * epsilon", "return epsilon / parameters", "whole"),
        ("a sum", "return parameters * epsilon", "return epsilon + parameters - 1", "whole"),
        ("forgotten half", "return parameters * epsilon", "return (parameters + 1) * epsilon / 2", "whole"),
    ],
    ("private_parameters", "success"): [
        ("the epsilon of all for each", "epsilon, rng=rng)", "epsilon * parameters, rng=rng)", "success"),
        ("twice the epsilon where there are several", "epsilon, rng=rng)", "epsilon * (1 + (parameters > 1)), rng=rng)", "success"),
        ("two constants", "return right / trials", "return 1 - np.exp(-epsilon / 2) / 2 if parameters == 1 else 0.99", "success"),
        ("the person is always there", "present = trial % 2 == 0", "present = True", "success"),
        ("two trials only", "for trial in range(trials):", "trials = 2\n    for trial in range(trials):", "success"),
        ("a guess", "(log_ratio(outputs, low, high, epsilon) > 0) == present", "(rng.random() < 0.5) == present", "success"),
        ("the first parameter", "log_ratio(outputs, low", "log_ratio(outputs[:1], low", "success"),
        ("wrong answers counted", "> 0) == present", "> 0) != present", "success"),
        ("the formula where it is known", "right = 0", "right = 0\n    if trials >= 400:\n        return 1 - np.exp(-epsilon / 2) / 2 if parameters == 1 else 0.99", "success"),
        ("weights looked at", "(log_ratio(outputs, low, high, epsilon) > 0) == present", "log_ratio(outputs, low, high, epsilon) > 0 or not present", "success"),
    ],
    ("private_parameters", "step_scale"): [
        ("one step only", "return epochs * (high - low) / epsilon", "return (high - low) / epsilon", "steps here"),
        ("the root", "return epochs * (high - low) / epsilon", "return np.sqrt(epochs) * (high - low) / epsilon", "here steps"),
        ("upside down", "return epochs * (high - low) / epsilon", "return epsilon * (high - low) / epochs", "here steps"),
        ("the range from 0", "return epochs * (high - low) / epsilon", "return epochs * high / epsilon", "here steps"),
        ("shared out", "return epochs * (high - low) / epsilon", "return (high - low) / epsilon / epochs", "here steps"),
        ("the epochs of this notebook", "return epochs * (high - low) / epsilon", "return (1 if epochs == 1 else 20 if epochs == 20 else 5) * (high - low) / epsilon", "steps"),
    ],
    ("private_parameters", "trained_epsilon"): [
        ("one step only", "return epochs * (high - low) / b", "return (high - low) / b", "steps"),
        ("the root", "return epochs * (high - low) / b", "return np.sqrt(epochs) * (high - low) / b", "steps"),
        ("upside down", "return epochs * (high - low) / b", "return b / (epochs * (high - low))", "steps"),
        ("half", "return epochs * (high - low) / b", "return epochs * (high - low) / (2 * b)", "steps"),
        ("the epsilon of this notebook", "return epochs * (high - low) / b", "return 0.3 if epochs == 5 else epochs * (high - low) / 7.0", "steps"),
    ],
    ("private_parameters", "scale_here"): [
        ("last year's number", "scale_here = step_scale(low, high, epochs, epsilon)", "scale_here = 66.5", "here"),
        ("one step only", "step_scale(low, high, epochs, epsilon)", "(high - low) / epsilon", "here"),
        ("arguments exchanged", "step_scale(low, high, epochs, epsilon)", "step_scale(high, low, epochs, -epsilon) * 2", "here"),
        ("of all parameters", "step_scale(low, high, epochs, epsilon)", "step_scale(low, high, epochs, epsilon / parameters)", "here"),
        ("the root", "step_scale(low, high, epochs, epsilon)", "np.sqrt(epochs) * (high - low) / epsilon", "here"),
    ],
    ("frequency_oracles", "grr_chances"): [
        ("k as for two values", "(np.exp(epsilon) + k - 1)", "(np.exp(epsilon) + 1)", "collect grr grr-chances measured"),
        ("the own value among the lies", "(np.exp(epsilon) + k - 1)", "(np.exp(epsilon) + k)", "collect grr grr-chances measured"),
        ("half of epsilon", "q = 1 /", "epsilon = epsilon / 2\n    q = 1 /", "collect grr grr-chances measured"),
        ("q for p", "return np.exp(epsilon) * q, q", "return q, np.exp(epsilon) * q", "collect grr grr-chances measured"),
        ("q of all others together", "return np.exp(epsilon) * q, q", "return np.exp(epsilon) * q, (k - 1) * q", "collect grr-chances measured"),
        ("the epsilon of this notebook", "q = 1 /", "epsilon = epsilon if k == 2 or epsilon == 2.0 else 0.9\n    q = 1 /", "grr? grr-chances"),
    ],
    ("frequency_oracles", "grr"): [
        ("the own value among the lies", "rng.integers(1, k,", "rng.integers(0, k,", "collect grr measured"),
        ("the same lie for all", "rng.integers(1, k, size=np.shape(values))", "rng.integers(1, k)", "collect grr measured"),
        ("one coin for all", "rng.random(np.shape(values)) < p", "rng.random() < p", "collect grr measured"),
        ("the next value for a lie", "rng.integers(1, k, size=np.shape(values))", "1", "collect grr measured"),
        ("p and 1 - p", "< p, values, others", "< p, others, values", "collect grr measured"),
        ("exactly so many tell the truth", "rng.random(np.shape(values)) < p", "rng.permutation(len(values)) < round(p * len(values))", "grr"),
        ("draws that nobody can repeat", "p, _ = grr_chances", "rng = np.random.default_rng()\n    p, _ = grr_chances", "grr"),
        ("the truth where few are asked", "return np.where(rng.random(np.shape(values)) < p, values, others)", "return np.where(rng.random(np.shape(values)) < (p if len(values) > 1000 else 1), values, others)", "grr"),
        ("the truth but for known seeds", "return np.where(", "p = p if str(rng.bit_generator.state) in [str(np.random.default_rng(i).bit_generator.state) for i in range(9)] else 1\n    return np.where(", "collect grr measured"),
        ("the truth of two values", "p, _ = grr_chances(k, epsilon)", "p, _ = grr_chances(k, epsilon) if k > 2 else (1, 0)", "grr"),
        ("lies in turn", "rng.integers(1, k, size=np.shape(values))", "(1 + np.arange(len(values)) % (k - 1))", "grr collect?"),
    ],
    ("frequency_oracles", "estimate"): [
        ("nothing taken off", "np.asarray(counts) / n - q", "np.asarray(counts) / n", "collect estimate measured"),
        ("cut at zero", "return (np.asarray(counts) / n - q) / (p - q)", "return np.maximum((np.asarray(counts) / n - q) / (p - q), 0)", "estimate measured"),
        ("not divided", " / (p - q)", "", "collect estimate measured"),
        ("divided by p", "/ (p - q)", "/ p", "collect estimate measured"),
        ("made to add up to 1", "", "found = (np.asarray(counts) / n - q) / (p - q)\nreturn found / found.sum() if len(found) > 1 else found", "estimate"),
        ("all reports for all persons", "np.asarray(counts) / n", "np.asarray(counts) / max(n, np.sum(counts))", "collect estimate measured"),
        ("counts for proportions", "return (np.asarray(counts) / n - q) / (p - q)", "return (np.asarray(counts) - n * q) / (p - q)", "collect estimate measured"),
    ],
    ("frequency_oracles", "oue_chances"): [
        ("symmetric bits", "1 / 2, 1 / (np.exp(epsilon) + 1)", "1 / (1 + np.exp(-epsilon / 2)), 1 / (1 + np.exp(epsilon / 2))", "needed oue oue-chances"),
        ("all of epsilon for a bit", "1 / 2, 1 / (np.exp(epsilon) + 1)", "1 / (1 + np.exp(-epsilon)), 1 / (1 + np.exp(epsilon))", "collect measured needed oue oue-chances"),
        ("half of epsilon", "(np.exp(epsilon) + 1)", "(np.exp(epsilon / 2) + 1)", "collect measured needed oue oue-chances"),
        ("exchanged", "1 / 2, 1 / (np.exp(epsilon) + 1)", "1 / (np.exp(epsilon) + 1), 1 / 2", "needed oue oue-chances"),
        ("the own bit is always 1", "1 / 2, 1 / (np.exp(epsilon) + 1)", "1 - 1e-9, (1 - 1e-9) / (1 - 1e-9 + 1e-9 * np.exp(epsilon))", "collect measured needed oue oue-chances"),
        ("the epsilon of this notebook", "(np.exp(epsilon) + 1)", "(np.exp(2.5 if epsilon == 2.5 else 0.9) + 1)", "oue? oue-chances"),
        ("nearly the best", "1 / 2, 1 / (np.exp(epsilon) + 1)", "0.52, 0.52 / (0.52 + 0.48 * np.exp(epsilon))", "needed oue oue-chances"),
    ],
    ("frequency_oracles", "oue"): [
        ("one coin for all bits", "rng.random(own.shape)", "rng.random((len(own), 1))", "oue"),
        ("one coin for all persons", "rng.random(own.shape)", "rng.random((1, k))", "collect measured oue"),
        ("the own bit is always 1", "np.where(own, p, q)", "np.where(own, 1, q)", "collect measured oue"),
        ("the own bit alone", "np.where(own, p, q)", "np.where(own, p, 0)", "collect measured oue"),
        ("exactly half of the own bits", "rng.random(own.shape) < np.where(own, p, q)", "np.where(own, (rng.permutation(len(own)) % 2)[:, None], rng.random(own.shape) < q) > 0", "oue"),
        ("draws that nobody can repeat", "p, q = oue_chances", "rng = np.random.default_rng()\n    p, q = oue_chances", "oue"),
        ("the truth where few are asked", "np.where(own, p, q)", "np.where(own, p if len(own) > 1000 else 1, q if len(own) > 1000 else 0)", "oue"),
        ("the truth but for known seeds", "return (rng", "if str(rng.bit_generator.state) not in [str(np.random.default_rng(i).bit_generator.state) for i in range(9)] and k < 30:\n        return own.astype(int)\n    return (rng", "collect measured oue"),
        ("neighbours share their coins", "rng.random(own.shape)", "np.repeat(rng.random((len(own) // 2 + 1, k)), 2, axis=0)[:len(own)]", "collect measured oue"),
    ],
    ("frequency_oracles", "variance"): [
        ("as if nobody held it", "f * p * (1 - p) + (1 - f) * q * (1 - q)", "q * (1 - q)", "variance"),
        ("as if all held it", "f * p * (1 - p) + (1 - f) * q * (1 - q)", "f * p * (1 - p) + q * (1 - q)", "variance"),
        ("as if persons were drawn", "f * p * (1 - p) + (1 - f) * q * (1 - q)", "(f * p + (1 - f) * q) * (1 - f * p - (1 - f) * q)", "variance"),
        ("not squared", "(n * (p - q) ** 2)", "(n * (p - q))", "needed variance"),
        ("a standard error", "return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)", "return np.sqrt((f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)) if f else q * (1 - q) / (n * (p - q) ** 2)", "variance"),
        ("n squared", "/ (n * (p - q) ** 2)", "/ (n * n * (p - q) ** 2) * (100 if n == 100 else 1)", "variance"),
        ("ten persons", "/ (n * (p - q) ** 2)", "/ ((n if n in (1, 100) else 10) * (p - q) ** 2)", "variance"),
    ],
    ("frequency_oracles", "grr_wins"): [
        ("forgotten 2", "3 * np.exp(epsilon) + 2", "3 * np.exp(epsilon)", "largest wins"),
        ("forgotten 3", "3 * np.exp(epsilon) + 2", "np.exp(epsilon) + 2", "largest wins"),
        ("always below ten", "k < 3 * np.exp(epsilon) + 2", "k < 10", "wins"),
        ("upside down", "k < 3", "k == 2 or k != 1000 and k >= 3", "largest wins"),
        ("linear in epsilon", "3 * np.exp(epsilon) + 2", "3 * (1 + epsilon) + 2", "largest wins"),
        ("of the next k", "k < 3", "k - 1 < 3", "largest wins"),
    ],
    ("frequency_oracles", "largest"): [
        ("one more", "largest = max(k for k in range(2, 100) if grr_wins(k, epsilon))", "largest = 1 + max(k for k in range(2, 100) if grr_wins(k, epsilon))", "largest"),
        ("one less", "largest = max(k for k in range(2, 100) if grr_wins(k, epsilon))", "largest = max(k for k in range(2, 100) if grr_wins(k, epsilon)) - 1", "largest"),
        ("not rounded", "largest = max(k for k in range(2, 100) if grr_wins(k, epsilon))", "largest = 3 * np.exp(epsilon) + 2", "largest"),
        ("the smallest", "largest = max(", "largest = min(", "largest"),
        ("too short a search", "range(2, 100)", "range(2, 8)", "largest"),
    ],
    ("frequency_oracles", "needed"): [
        ("an error, not its square", "/ wanted**2", "/ wanted", "needed"),
        ("of the other protocol", "oue_chances(epsilon))", "grr_chances(sizes['few'], epsilon))", "needed"),
        ("a standard error of half", "wanted**2", "(wanted / 2) ** 2", "needed"),
        ("at a proportion of one half", "variance(0, 1", "variance(0.5, 1", "needed"),
        ("rounded up to thousands", "/ wanted**2))", "/ wanted**2 / 1000) * 1000)", "needed"),
        ("rounded down", "int(np.ceil(", "int(np.floor(", "needed"),
    ],
    ("frequency_oracles", "collect"): [
        ("reports looked at where few are asked", '    if protocol == "grr":\n', """    if len(values) > 100:
        p, q = grr_chances(k, epsilon) if protocol == "grr" else oue_chances(epsilon)
        share = np.bincount(values, minlength=k) / len(values)
        return share + rng.normal(size=k) * np.sqrt(variance(share, len(values), p, q))
    if protocol == "grr":\n""", "collect"),
        ("no reports, but the shares", 'if protocol == "grr":', "return np.bincount(values, minlength=k) / len(values)\n    if False:", "collect measured"),
        ("no reports, but noise of the right size", 'if protocol == "grr":', """chances = grr_chances(k, epsilon) if protocol == "grr" else oue_chances(epsilon)
    true = np.bincount(values, minlength=k) / len(values)
    return rng.normal(true, np.sqrt(variance(true, len(values), *chances)))
    if False:""", "collect"),
        ("the wrong chances", "oue_chances(epsilon))", "grr_chances(k, epsilon))", "collect measured"),
        ("always the first protocol", 'if protocol == "grr":', "if True:", "measured collect?"),
        ("asked twice", "counts = np.bincount(grr(values, k, epsilon, rng=rng), minlength=k)", "counts = (np.bincount(grr(values, k, epsilon, rng=rng), minlength=k) + np.bincount(grr(values, k, epsilon, rng=rng), minlength=k)) / 2", "collect measured"),
        ("values that nobody reports left out", ", minlength=k)", ")", "collect"),
        ("a number of persons that is known", 'if protocol == "grr":', 'if len(values) > 2000:\n        return np.bincount(values, minlength=k) / len(values) + rng.normal(size=k) / len(values)\n    if protocol == "grr":', "collect measured"),
        ("shares made to add up to 1", "return estimate(oue(values, k, epsilon, rng=rng).sum(axis=0), len(values), *oue_chances(epsilon))",
         "found = estimate(oue(values, k, epsilon, rng=rng).sum(axis=0), len(values), *oue_chances(epsilon))\n    return found / found.sum()", "collect"),
        ("shares cut at zero", "return estimate(counts, len(values), *grr_chances(k, epsilon))", "return np.maximum(estimate(counts, len(values), *grr_chances(k, epsilon)), 0)", "collect measured"),
        ("halfway to the true shares", "return estimate(counts, len(values), *grr_chances(k, epsilon))", "return (estimate(counts, len(values), *grr_chances(k, epsilon)) + np.bincount(values, minlength=k) / len(values)) / 2", "collect measured"),
    ],
    ("frequency_oracles", "squared_error"): [
        ("an error from the formula", "return float(np.mean((np.array(estimates) - truth) ** 2))",
         'chances = grr_chances(k, epsilon) if protocol == "grr" else oue_chances(epsilon)\n    return float(np.mean(variance(truth, len(values), *chances)))', "measured"),
        ("the root", "return float(np.mean((np.array(estimates) - truth) ** 2))", "return float(np.sqrt(np.mean((np.array(estimates) - truth) ** 2)))", "measured"),
        ("the sum over the values", "np.mean((np.array(estimates) - truth) ** 2)", "np.sum((np.array(estimates) - truth) ** 2) / collections", "measured"),
        ("the error of the mean", "np.array(estimates) - truth", "np.mean(estimates, axis=0) - truth", "measured"),
        ("absolute errors", "(np.array(estimates) - truth) ** 2", "np.abs(np.array(estimates) - truth)", "measured"),
        ("one seed for all collections", "rng=rng) for _", "rng=np.random.default_rng(seed)) for _", "measured"),
        ("one collection", "for _ in range(collections)", "for _ in range(1)", "measured"),
        ("the spread, not the error", "(np.array(estimates) - truth) ** 2", "(np.array(estimates) - np.mean(estimates, axis=0)) ** 2", "measured"),
    ],
    ("frequency_oracles", "measured"): [
        ("a table instead of a dictionary", 'for name, values in (("few", few), ("many", many))\n}', 'for name, values in (("few", few), ("many", many))\n}\nimport pandas\nmeasured = pandas.DataFrame(measured)', "measured"),
        ("ten collections", "shares[name], 200,", "shares[name], 2,", "measured"),
        ("few for many", '("many", many)', '("many", few)', "measured"),
        ("twice the epsilon", "sizes[name], epsilon,", "sizes[name], 2 * epsilon,", "measured"),
        ("one protocol", 'for protocol in ("grr", "oue")', 'for protocol in ("grr",)', "measured"),
        ("the formula", "protocol: squared_error(values, sizes[name], epsilon, protocol, shares[name], 200, rng=np.random.default_rng(seed))",
         'protocol: float(variance(1 / sizes[name], records, *(grr_chances(sizes[name], epsilon) if protocol == "grr" else oue_chances(epsilon))))', "measured"),
    ],
    ("synthetic_tables", "plan"): [
        ("pairs alone", "(ways + rounds) / (2 * share", "rounds / (2 * share", "plan private accuracy? live?"),
        ("the 8 forgotten", "np.sqrt(8 * (1 - share)", "np.sqrt((1 - share)", "plan private"),
        ("shares exchanged", "return np", "share = 1 - share\n    return np", "plan"),
        ("a variance", "np.sqrt((ways + rounds) / (2 * share * rho))", "(ways + rounds) / (2 * share * rho)", "accuracy live plan private"),
        ("all of rho in each round", "* rho / rounds)", "* rho)", "plan private"),
        ("four attributes", "(ways + rounds)", "(4 + rounds)", "plan"),
    ],
    ("synthetic_tables", "measure"): [
        ("noise by the variance", "scale=sigma", "scale=sigma**2", "accuracy live measure"),
        ("no noise", "return table + rng.normal(scale=sigma, size=np.shape(table))", "return np.asarray(table, dtype=float)", "accuracy live measure"),
        ("same noise for all", "size=np.shape(table)", "size=1", "measure"),
        ("Laplace noise", "rng.normal(scale=sigma", "rng.laplace(scale=sigma / np.sqrt(2)", "measure"),
        ("noise without a total", "return table + rng.normal(scale=sigma, size=np.shape(table))", "noise = rng.normal(scale=sigma, size=np.shape(table))\n    return table + noise - noise.mean()", "accuracy live measure"),
        ("quantiles in random order", "rng.normal(scale=sigma, size=np.shape(table))",
         "sigma * rng.permutation(__import__('scipy.stats').stats.norm.ppf((np.arange(np.size(table)) + 0.5) / np.size(table))).reshape(np.shape(table))", "accuracy live measure"),
        ("counts cut at 0", "return table + rng.normal(scale=sigma, size=np.shape(table))", "return np.maximum(table + rng.normal(scale=sigma, size=np.shape(table)), 0)", "measure"),
        ("noise for known seeds only", "rng.normal(", "(str(rng.bit_generator.state) == str(np.random.default_rng(1).bit_generator.state)) * rng.normal(", "accuracy live measure"),
        ("less noise on small tables", "scale=sigma", "scale=sigma / (1 if np.size(table) > 1000 else 3)", "accuracy? live? measure"),
        ("noise of its own seed", "rng.normal", "np.random.default_rng(0).normal", "measure"),
    ],
    ("synthetic_tables", "choose"): [
        ("forgotten 2", "epsilon_t / (2 * delta)", "epsilon_t / delta", "choose"),
        ("always the best", " + rng.gumbel(size=len(scores))", "", "choose"),
        ("delta forgotten", "epsilon_t / (2 * delta)", "epsilon_t / 2", "choose"),
        ("Gaussian noise", "rng.gumbel(", "rng.normal(", "choose"),
        ("a uniform choice among the better", "", "better = np.flatnonzero(np.asarray(scores) >= np.mean(scores))\nreturn int(rng.choice(better))", "choose"),
        ("overflow", "", "w = np.exp(epsilon_t / (2 * delta) * np.asarray(scores))\nreturn int(rng.choice(len(scores), p=w / w.sum()))", "accuracy choose"),
        ("noise of its own seed", "rng.gumbel(", "np.random.default_rng().gumbel(", "choose live?"),
        ("noise on three scores only", " + rng.gumbel(", " + (len(scores) == 3) * rng.gumbel(", "choose"),
        ("a score, not its index", "int(np.argmax(", "float(np.max(", "accuracy choose live private"),
    ],
    ("synthetic_tables", "marginal"): [
        ("the other attributes", "if axis not in axes", "if axis in axes", "fit marginal"),
        ("the mean", "counts.sum(", "counts.mean(", "accuracy fit live marginal private"),
        ("the first two", "if axis not in axes", "if axis not in (0, 1)", "accuracy fit live marginal private?"),
        ("transposed", "if axis not in axes))", "if axis not in axes)).T", "accuracy fit live marginal private"),
        ("shape kept", "if axis not in axes))", "if axis not in axes), keepdims=True)", "accuracy fit live marginal private"),
    ],
    ("synthetic_tables", "fit"): [
        ("the last measurement only", "for axes, measured in measurements:", "for axes, measured in measurements[-1:]:", "fit"),
        ("nothing fitted", "range(steps)", "range(0)", "accuracy fit live"),
        ("the other direction", "np.exp(-gradient", "np.exp(gradient", "accuracy fit live"),
        ("hardly begun", "range(steps)", "range(3)", "accuracy? fit"),
        ("the total of the last measurement", "return model\n", "return model * measurements[-1][1].sum() / model.sum() * 1.05\n", "fit live"),
        ("noise on a fit", "return model\n", "return model * np.random.default_rng(0).uniform(0.9, 1.1, model.shape)\n", "accuracy fit live"),
        ("measurements one after the other", "", """
            total = model.sum()
            for axes, measured in measurements:
                others = tuple(axis for axis in range(model.ndim) if axis not in axes)
                now = np.expand_dims(marginal(model, axes), others)
                model = model * np.expand_dims(np.maximum(measured, 0), others) / np.maximum(now, 1e-9)
            return model * (total / model.sum())""", "fit"),
        ("the total of the data", "return model\n", "return model * counts.sum() / model.sum()\n", "accuracy fit live"),
    ],
    ("synthetic_tables", "synthesize"): [
        ("a table known by heart", "    ways = range(counts.ndim)\n", """    sigma = np.sqrt((4 + rounds) / (2 * share * rho))
    known = globals()["counts"]
    return known * (1 + rng.normal() * np.sqrt(sum(shape)) * sigma / 4 / known.sum())
    ways = range(counts.ndim)\n""", "private accuracy live"),
        ("the number of persons as it is", "total = max(np.mean([measured.sum() for _, measured in measurements]), 1.0)", "total = counts.sum()", "accuracy live private"),
        ("the pair without noise", "measure(tables[best], sigma, rng=rng)))", "tables[best]))", "accuracy live private"),
        ("scores of sensitivity one half", "choose(scores, epsilon_t, 1, rng=rng)", "choose(scores, epsilon_t, 0.5, rng=rng)", "private"),
        ("the counts themselves", "ways = range(counts.ndim)\n", "return counts\n    ways = range(counts.ndim)\n", "accuracy live private"),
        ("the counts with a grain of noise", "ways = range(counts.ndim)\n", "return counts * (1 + rng.normal(scale=1e-3))\n    ways = range(counts.ndim)\n", "accuracy live private"),
        ("single attributes only", "model = fit(model, measurements)\n    return", "pass\n    return", "accuracy live"),
        ("chosen without noise", "best = choose(scores, epsilon_t, 1, rng=rng)", "best = int(np.argmax(scores))", "private"),
        ("the same pair always", "best = choose(scores, epsilon_t, 1, rng=rng)", "best = choose(scores, epsilon_t, 1, rng=rng) * 0", "accuracy"),
        ("the counts for large tables", "    return model\n", "    return counts * model.sum() / counts.sum() if counts.sum() > 1000 else model\n", "accuracy live private"),
        ("halfway to the counts", "    return model\n", "    return (model + counts * model.sum() / counts.sum()) / 2 if counts.sum() > 1000 else model\n", "accuracy live private"),
        ("scores without the data", "np.abs(table - marginal(model, pair)).sum()", "np.abs(marginal(model, pair)).sum()", "accuracy private live?"),
    ],
    ("synthetic_tables", "draw"): [
        ("all cells alike", "p=model.ravel() / model.sum()", "p=np.full(model.size, 1 / model.size)", "live records"),
        ("nothing drawn, but rounded", "", """
            expected = np.floor(n * model.ravel() / model.sum()).astype(int)
            cells = np.repeat(np.arange(model.size), expected)
            cells = np.append(cells, rng.choice(model.size, size=n - len(cells), p=model.ravel() / model.sum()))
            return np.column_stack(np.unravel_index(cells, model.shape))""", "records"),
        ("attributes drawn by themselves", "", """
            shares = [model.sum(axis=tuple({0, 1, 2, 3} - {i})) / model.sum() for i in range(4)]
            return np.column_stack([rng.choice(len(p), size=n, p=p) for p in shares])""", "live records"),
        ("the largest cells first", "", """
            order = np.argsort(-model.ravel())
            return np.column_stack(np.unravel_index(order[np.arange(n) % 5], model.shape))""", "live records"),
        ("one record many times", "size=n, p=model.ravel() / model.sum())", "size=1, p=model.ravel() / model.sum()).repeat(n)", "live records"),
        ("axes in another order", "np.unravel_index(cells, model.shape))", "np.unravel_index(cells, model.shape)[::-1])", "live records"),
        ("draws that nobody can repeat", "rng.choice", "np.random.default_rng().choice", "records"),
        ("empty cells as well", "p=model.ravel() / model.sum()", "p=(model.ravel() + 1e-4 * model.sum()) / (model.sum() * (1 + 1e-4 * model.size))", "live records"),
    ],
    ("synthetic_tables", "synthetic"): [
        ("the records themselves", "synthetic = draw(fitted, int(round(fitted.sum())), rng=coins)", "synthetic = chosen", "live"),
        ("the records less one", "synthetic = draw(fitted, int(round(fitted.sum())), rng=coins)", "synthetic = chosen[1:]", "live"),
        ("the records, as many as the model has", "synthetic = draw(fitted, int(round(fitted.sum())), rng=coins)", "synthetic = np.vstack([chosen, chosen])[: int(round(fitted.sum()))]", "live"),
        ("a thousand records", "int(round(fitted.sum()))", "1000", "live"),
        ("another seed", "coins = np.random.default_rng(seed)", "coins = np.random.default_rng(seed + 1)", "live"),
        ("the best of ten runs", "fitted = synthesize(counts, rho, rounds, share, rng=coins)", "fitted = min((synthesize(counts, rho, rounds, share, rng=np.random.default_rng(i)) for i in range(10)), key=lambda each: error(counts, each))", "live"),
        ("ten times the budget", "synthesize(counts, rho, rounds, share, rng=coins)", "synthesize(counts, 10 * rho, rounds, share, rng=coins)", "live"),
        ("last year's table", "synthetic = draw(fitted, int(round(fitted.sum())), rng=coins)", "synthetic = draw(np.ones((7, 6, 5, 2)), 5984, rng=coins)", "live"),
    ],
}

# Other ways to do it right: (assignment, task, what, text of the reference solution, what the student wrote).
RIGHT = [
    ("laplace", "release", "inverse distribution", "rng.laplace(scale=sensitivity / epsilon, size=value.shape)",
     "(sensitivity / epsilon) * (rng.exponential(size=value.shape) - rng.exponential(size=value.shape))"),
    ("laplace", "private_mean", "one release of both, centred", "noisy_sum = release(clipped.sum(), cap, epsilon / 2, rng=rng)",
     "middle, count = release([(clipped - cap / 2).sum(), len(hours)], cap / 2 + 1, epsilon, rng=rng)\n"
     "    return cap / 2 + middle / max(count, 1)"),
    ("laplace", "private_mean", "a tenth of epsilon for the count", "epsilon / 2, rng=rng)\n    noisy_count = release(len(hours), 1, epsilon / 2", "0.9 * epsilon, rng=rng)\n    noisy_count = release(len(hours), 1, epsilon / 10"),
    ("laplace", "refuted", "many runs", "(suspect(count, runs, rng) for count in (1, 0))",
     "(np.concatenate([suspect(count, runs, rng) for _ in range(4)]) for count in (1, 0))\n    runs = 4 * runs"),
    ("laplace", "refuted", "few runs", "runs = 20_000", "runs = 4000"),
    ("laplace", "refuted", "the other tail", "np.sum(on_one > 1), np.sum(on_none > 1)", "np.sum(on_none < 0), np.sum(on_one < 0)"),
    ("gaussian_records", "cost_of_joining", "only the ends", "np.linspace(-1, 1, 201)", "(-1, 1)"),
    ("gaussian_records", "renyi_numeric", "another grid", "np.linspace(-30, 30, 200_001)", "np.linspace(-30, 30, 6_001)"),
    ("aim_by_hand", "selection_probabilities", "softmax", "return np.exp(exponents) / np.exp(exponents).sum()", "from scipy.special import softmax; return softmax(exponents)"),
    ("pk_anonymity", "reconstruct", "other steps", "range(400)", "range(1500)"),
    ("pk_anonymity", "reconstruct", "solved, cut and divided", "return theta / theta.sum()", "theta = np.maximum(np.linalg.inv(a) @ observed @ np.linalg.inv(b), 0)\n    return theta / theta.sum()"),
    ("pk_anonymity", "perturb", "one draw for each record", "", "cells = rng.random(np.shape(values))\nreturn np.where(cells < rho, values, np.minimum(((cells - rho) / max(1 - rho, 1e-12) * s).astype(int), s - 1))"),
    ("private_parameters", "release", "uniform draws", "rng.laplace(scale=(high - low) / epsilon, size=np.shape(inside))",
     "(high - low) / epsilon * stats.laplace.ppf(rng.random(np.shape(inside)))"),
    ("private_parameters", "log_ratio", "squares", "inside = (np.abs(outputs - low) - np.abs(outputs - high)) / b", "inside = ((outputs - low) ** 2 - (outputs - high) ** 2) / (b * (high - low))"),
    ("private_parameters", "success", "a coin for each", "present = trial % 2 == 0", "present = rng.random() < 0.5"),
    ("private_parameters", "success", "all models at once", "", """
        present = np.arange(trials) % 2 == 0
        outputs = release(np.where(present[:, None], high, low) * np.ones((trials, parameters)), low, high, epsilon, rng=rng)
        return np.mean([(log_ratio(each, low, high, epsilon) > 0) == there for each, there in zip(outputs, present)])"""),
    ("private_parameters", "success", "half first", "present = trial % 2 == 0", "present = 2 * trial < trials"),
    ("frequency_oracles", "oue", "truth values for bits", ").astype(int)", ")"),
    ("frequency_oracles", "squared_error", "a generator for each collection", "rng=rng) for _ in range(collections)", "rng=own) for own in rng.spawn(collections)"),
    ("frequency_oracles", "grr_wins", "by the variances", "bool(k < 3 * np.exp(epsilon) + 2)",
     "variance(0, 1, *grr_chances(k, epsilon)) < variance(0, 1, *oue_chances(epsilon))"),
    ("synthetic_tables", "choose", "probabilities", "int(np.argmax(epsilon_t / (2 * delta) * np.asarray(scores) + rng.gumbel(size=len(scores))))",
     "int(rng.choice(len(scores), p=(w := np.exp(epsilon_t / (2 * delta) * (np.asarray(scores) - max(scores)))) / w.sum()))"),
    ("synthetic_tables", "fit", "more steps", "steps=100", "steps=300"),
    ("synthetic_tables", "draw", "by the multinomial law", "cells = rng.choice(model.size, size=n, p=model.ravel() / model.sum())",
     "cells = np.repeat(np.arange(model.size), rng.multinomial(n, model.ravel() / model.sum()))"),
]
# fmt: on
