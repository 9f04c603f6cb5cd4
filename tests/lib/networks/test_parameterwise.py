"""Losses by enumeration, and the limited Laplace mechanism."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from lib.networks import parameterwise

XOR = np.array([[[0.5, 0], [0, 0.5]], [[0, 0.5], [0.5, 0]]])  # (r, r xor x) for x = 0 and 1


def random_law(rng, *shape):
    law = rng.uniform(0.05, 1, shape)
    return law / law.reshape(len(law), -1).sum(axis=1).reshape(-1, *[1] * (law.ndim - 1))


def test_two_private_parameters_that_together_tell_everything():
    assert parameterwise.losses(XOR).tolist() == [0, 0]
    assert parameterwise.loss(XOR) == np.inf


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 3), st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_loss_is_that_of_the_worst_event(seed, datasets, shape):
    law = random_law(np.random.default_rng(seed), datasets, *shape)
    rows = law.reshape(datasets, -1)
    outputs = range(rows.shape[1]) if rows.shape[1] <= 9 else range(9)
    events = [list(event) for size in range(1, len(outputs) + 1) for event in itertools.combinations(outputs, size)]
    ratios = [
        np.log(one[event].sum() / other[event].sum())
        for one, other in itertools.permutations(rows, 2)
        for event in events
    ]
    expected = max(ratios)
    if rows.shape[1] <= 9:
        assert parameterwise.loss(law) == pytest.approx(expected, abs=1e-12)
    else:
        assert parameterwise.loss(law) >= expected - 1e-12


def test_loss_of_some_parameters_is_that_of_their_marginal_law():
    law = random_law(np.random.default_rng(1), 3, 2, 3, 2)
    assert parameterwise.loss(law, [0, 2]) == pytest.approx(parameterwise.loss(law.sum(axis=2)))
    assert parameterwise.losses(law) == pytest.approx([parameterwise.loss(law, i) for i in range(3)])


def test_independent_losses_add_up_where_one_data_set_is_extreme_in_all():
    response = np.array([[0.75, 0.25], [0.25, 0.75]])  # loss ln 3
    law = np.einsum("di,dj,dk->dijk", response, response, response)
    assert parameterwise.losses(law) == pytest.approx([np.log(3)] * 3)
    assert parameterwise.loss(law) == pytest.approx(3 * np.log(3))


@settings(derandomize=True, deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_joint_losses_compose_whatever_the_second_step_reads(seed):
    rng = np.random.default_rng(seed)
    first = random_law(rng, 2, 2, 3)
    second = np.array([[[random_law(rng, 1, 2, 2)[0] for _ in range(3)] for _ in range(2)] for _ in range(2)])
    both = parameterwise.chain(first, second)
    worst = max(parameterwise.loss(second[:, i, j]) for i in range(2) for j in range(3))
    assert both.sum(axis=(3, 4)) == pytest.approx(first)
    assert parameterwise.loss(both) <= parameterwise.loss(first) + worst + 1e-12


def test_lemma_2_fails():
    second = np.zeros((2, 2, 2, 2))
    for data, r, s in np.ndindex(2, 2, 2):
        second[data, r, s, (r + s) % 2] = 1
    assert all(parameterwise.loss(second[:, r, s]) == 0 for r in range(2) for s in range(2))
    assert parameterwise.loss(parameterwise.chain(XOR, second), 2) == np.inf


@pytest.mark.parametrize("centre", [-0.5, -0.2, 0.5])
def test_atoms_and_density_of_the_limited_laplace_law(centre):
    low, high = parameterwise.atoms(centre, 0.7, -0.5, 0.5)
    noise = stats.laplace(centre, 0.7)
    assert low == pytest.approx(noise.cdf(-0.5)) and high == pytest.approx(noise.sf(0.5))
    assert low + high + integrate.quad(noise.pdf, -0.5, 0.5, points=[centre])[0] == pytest.approx(1)


# ---- bad input


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: parameterwise.loss([[0.5, 0.6]]), "law must sum to 1"),
        (lambda: parameterwise.loss([0.5, 0.5]), "law must have shape"),
        (lambda: parameterwise.loss([[np.nan, 1]]), r"law must be in \[0, 1\], got nan"),
        (lambda: parameterwise.loss([[1.0]], 1), r"parameters must be in \[0, 0\], got 1"),
        (lambda: parameterwise.chain(XOR, XOR), "second must have the shape .* followed by further dimensions"),
        (lambda: parameterwise.chain(XOR, np.full((2, 2, 2, 2), 0.4)), "second must sum to 1"),
        (lambda: parameterwise.atoms(2, 1, 0, 1), r"centre must be in \[0.0, 1.0\], got 2"),
        (lambda: parameterwise.atoms(0, 0, 0, 1), r"scale must be in \[1e-100, inf\), got 0"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
