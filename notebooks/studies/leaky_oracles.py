"""Deliberately broken frequency oracles: audits must catch each of them. Never use one.

Each oracle claims the epsilon that its constructor is given, and states the probabilities of the protocol that it
breaks.
"""

from __future__ import annotations

import numpy as np

from lib.local import GRR, OLH, SHE, SUE, HadamardResponse, SubsetSelection
from lib.local.local_hashing import bucket, scramble
from lib.local.subset_selection import optimal_size


class _Hashing(OLH):
    """OLH in two parts, the seed and the reported bucket; each leak breaks one."""

    def perturb(self, values, *, rng):
        seeds = self._seeds(np.asarray(values).astype(np.uint64), rng)
        own = bucket(seeds[:, 0] * scramble(values) + seeds[:, 1], self.g)
        return np.column_stack([seeds, self._told(own, seeds, rng)])

    def _seeds(self, values, rng):
        return rng.integers(0, 2**64 - 1, size=(values.size, 2), dtype=np.uint64, endpoint=True)

    def _told(self, own, seeds, rng):
        return self._randomizer.perturb(own.astype(np.int64), rng=rng).astype(np.uint64)

    def _other(self, own, rng):
        """Return a uniformly random bucket other than `own`."""
        return (own + 1 + rng.integers(self.g - 1, size=own.size).astype(np.uint64)) % np.uint64(self.g)


class _SeedHoldsValue(_Hashing):
    """The low bits of the seed, as many as needed, are the value."""

    def _seeds(self, values, rng):
        seeds = np.array(super()._seeds(values, rng))
        low = np.uint64((1 << (self.k - 1).bit_length()) - 1)
        seeds[:, 0] = seeds[:, 0] & ~low | values
        return seeds


class _SeedParity(_Hashing):
    """The seed has an odd number of ones for odd values, and an even number for even values."""

    def _seeds(self, values, rng):
        seeds = np.array(super()._seeds(values, rng))
        seeds[:, 0] ^= (np.bitwise_count(seeds[:, 0]) ^ values) & np.uint64(1)
        return seeds


class _SeedOfValue(_Hashing):
    """The seed is made from the value, so that each value has a fixed hash function."""

    def _seeds(self, values, rng):
        return np.column_stack([scramble(values), scramble(values + np.uint64(1))])


class _RareSeed(_Hashing):
    """One seed in a thousand is the value itself."""

    def _seeds(self, values, rng):
        seeds = np.array(super()._seeds(values, rng))
        seeds[:, 0] = np.where(rng.random(values.size) < 0.001, values, seeds[:, 0])
        return seeds


class _SeedReused(_Hashing):
    """The draw that decides whether the true bucket is reported is half of the seed."""

    def _told(self, own, seeds, rng):
        return np.where(seeds[:, 1] / 2.0**64 < self.p, own, self._other(own, rng))


class _WrongOdds(_Hashing):
    """The true bucket is reported with the probability for two buckets, though there are g."""

    def _told(self, own, seeds, rng):
        return np.where(rng.random(own.size) < 1 / (1 + np.exp(-self.epsilon)), own, self._other(own, rng))


class _ShortRange(_Hashing):
    """Lies are drawn from all buckets but the last, which therefore is never a lie."""

    def _told(self, own, seeds, rng):
        lie = rng.integers(self.g - 1, size=own.size).astype(np.uint64)
        return np.where(rng.random(own.size) < self.p, own, lie)


class _OneUnprotected(GRR):
    """The last value is always reported truthfully."""

    def perturb(self, values, *, rng):
        return np.where(np.asarray(values) == self.k - 1, values, super().perturb(values, rng=rng))


class _NoNoiseFromTwo(HadamardResponse):
    """Report only +1 cells for values of at least 2."""

    def perturb(self, values, *, rng):
        values, reports = np.asarray(values), super().perturb(values, rng=rng)
        row, within = self._row[values], reports % self.size
        within = within ^ np.where(np.bitwise_count(within & row) & 1, row & -row, 0)
        return np.where(values >= 2, self._block[values] * self.size + within, reports)


class _SameParity(GRR):
    """A lie has the parity of the truth."""

    def perturb(self, values, *, rng):
        reports = super().perturb(values, rng=rng)
        other = reports ^ ((reports ^ np.asarray(values)) & 1)
        return np.where(other < self.k, other, values)


class _NextValue(GRR):
    """A lie is the next value, or the one before."""

    def perturb(self, values, *, rng):
        step = 2 * rng.integers(2, size=np.shape(values)) - 1
        return np.where(rng.random(np.shape(values)) < self.p, values, (np.asarray(values) + step) % self.k)


class _EpsilonTwice(GRR):
    """The report is made with twice the epsilon that is claimed."""

    def perturb(self, values, *, rng):
        return GRR(self.k, 2 * self.epsilon).perturb(values, rng=rng)


class _OneDrawForAllBits(SUE):
    """One random number serves all bits: it is compared with p for the bit of the value and with q for the others."""

    def perturb(self, values, *, rng):
        own = np.asarray(values)[:, None] == np.arange(self.k)
        draw = rng.random(len(own))
        return np.where(own, (draw < self.p)[:, None], (draw < self.q)[:, None])


class _OwnBitOnly(SUE):
    """The bit of the value is noisy, and all other bits are 0."""

    def perturb(self, values, *, rng):
        return super().perturb(values, rng=rng) & (np.asarray(values)[:, None] == np.arange(self.k))


class _OwnFirst(SubsetSelection):
    """The report is a list in the order of choice, not a set: the user's value, if chosen, is first."""

    def __init__(self, k, epsilon):
        super().__init__(k, epsilon, d=min(max(2, optimal_size(k, epsilon)), k - 1))

    def perturb(self, values, *, rng):
        sets = super().perturb(values, rng=rng)
        first = np.asarray(values)[:, None] == np.arange(self.k)
        return np.argsort(-(sets * 1 + (sets & first)), axis=1, kind="stable")[:, : self.d]

    def supports(self, reports):
        return (np.asarray(reports)[:, :, None] == np.arange(self.k)).any(axis=1)


class _SameNoise(SHE):
    """All cells get the same noise."""

    def perturb(self, values, *, rng):
        one_hot = np.asarray(values)[:, None] == np.arange(self.k)
        return one_hot + rng.laplace(scale=self.scale, size=(len(one_hot), 1))


class _HalfTheNoise(SHE):
    """The noise is made for a sensitivity of one cell, but two cells change."""

    def perturb(self, values, *, rng):
        return SHE(self.k, 2 * self.epsilon).perturb(values, rng=rng)


class _MoreDraws(GRR):
    """The value says how many additional random numbers are drawn and discarded. The report itself is correct."""

    def perturb(self, values, *, rng):
        reports = super().perturb(values, rng=rng)
        rng.random(int(np.sum(values)))
        return reports


class _OneCoinForAll(GRR):
    """All users of a call tell the truth, or none does. Each single report is correct."""

    def perturb(self, values, *, rng):
        values = np.asarray(values)
        other = rng.integers(self.k - 1, size=values.size)
        return np.where(rng.random() < self.p, values, other + (other >= values))


LEAKS = {
    "seed: low bits are the value": _SeedHoldsValue,
    "seed: parity is the value's": _SeedParity,
    "seed: made from the value": _SeedOfValue,
    "seed: one in 1,000 is the value": _RareSeed,
    "seed: its bits decide the lie as well": _SeedReused,
    "hashing: odds for two buckets": _WrongOdds,
    "hashing: lies from too few buckets": _ShortRange,
    "GRR: last value unprotected": _OneUnprotected,
    "GRR: lies keep the parity": _SameParity,
    "GRR: lies are next to the truth": _NextValue,
    "GRR: epsilon counted twice": _EpsilonTwice,
    "GRR: one coin for all users": _OneCoinForAll,
    "GRR: more draws for larger values": _MoreDraws,
    "HR: no noise from value 2 on": _NoNoiseFromTwo,
    "SUE: one draw for all bits": _OneDrawForAllBits,
    "SUE: noise on the own bit only": _OwnBitOnly,
    "SS: own value first": _OwnFirst,
    "SHE: same noise in all cells": _SameNoise,
    "SHE: half the noise": _HalfTheNoise,
}
