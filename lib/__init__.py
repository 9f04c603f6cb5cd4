"""Mechanisms, bounds and estimators of the five documents of the compendium.

One idea a module; import the module and call its functions::

    from lib import gaussian_synthesis
    gaussian_synthesis.unbounded_epsilon(n=10**7, alpha=4, d=6, sigma=0.01)

Where to look:

Ground
    checks, double_double, log_space, contraction, lbfgs
Randomness
    noise, exact_noise, floating_point
Mechanisms (kiri2019)
    mechanisms, guarantees, additive_noise, selection, randomized_response, sensitivity
What privacy costs
    divergence, hockey_stick, accounting, privacy_loss, composition, bounded_range, odometer, audit
Local privacy (kiri2019)
    frequency_oracles, local_protocol, unary_encoding, histogram_encoding, local_hashing, subset_selection,
    hadamard_response, consistency
Synthetic data from a Gaussian (miura2022)
    gaussian_synthesis, synthesis_audit, instances
Synthetic tables (miura2025)
    table, encodings, junction_tree, effects, marginal_oracle, graphical_model, mirror_descent, reconciliation, records, aim,
    aim_trace, privbayes, stand_in, utility
Reconstruction from perturbed records (hasegawa2015)
    perturbation, reconstruction, iterative_bayes, density_ratio, pairwise, mixture, hierarchies, k_anonymity, pk_features,
    pk_methods, pk_chain
Private networks (sei2017)
    network, intervals, private_networks, parameterwise, microaggregation, dp_sgd, private_regression, membership_inference,
    adult_features
Studies: grids of runs on the real data, whose results are in book/results
    aim_study, aim_ablation, pk_study, pk_beyond, network_study, grid, command_line, results
The book
    claims, proofs, figures, plotted, datasets
"""
