(* The epsilons that miura2022 prints, as functions of n, alpha, d and tau = 4 d / sigma.

   In lib: gaussian_synthesis/bounds.py, unbounded_epsilon and bounded_epsilon, which compute the same numbers in other words
   (tests/book/test_machine_checked.py holds the two against each other). For one released record. *)
From Coq Require Import Reals.
Local Open Scope R_scope.

(* tau, which bounds a record's squared Mahalanobis distance. *)
Definition tau (d sigma : R) : R := 4 * d / sigma.

(* Theorem 3.1, a record added: n records against n + 1. *)
Definition eps_added (n alpha d tau : R) : R :=
  alpha / 2 * (tau / ((n + 1) * (n + 1 - alpha)))
  + alpha * d / (2 * (alpha - 1)) * ln (n / (n + 1)) - d / (2 * (alpha - 1)) * ln (1 - alpha / (n + 1))
  - / (2 * (alpha - 1)) * ln (Rmin 1 ((1 + alpha * (n * tau / ((n + 1) * (n + 1 - alpha)))) / Rpower (1 + tau / (n + 1)) alpha)).

(* Theorem 3.1, a record removed: n + 1 records against n. *)
Definition eps_removed (n alpha d tau : R) : R :=
  alpha / 2 * (tau / (n * (n + alpha) - alpha * (n + 1) * tau))
  + alpha * d / (2 * (alpha - 1)) * ln ((n + 1) / n) - d / (2 * (alpha - 1)) * ln (1 + alpha / n)
  - / (2 * (alpha - 1)) * ln (Rmin 1 ((1 - alpha * (n + 1) * tau / ((n + alpha) * n)) / Rpower (1 - tau / n) alpha)).

(* Theorem 3.1: private n, both directions. *)
Definition eps_unbounded (n alpha d sigma : R) : R :=
  Rmax (eps_added n alpha d (tau d sigma)) (eps_removed n alpha d (tau d sigma)).

(* Theorem 3.2: public n, one of n records replaced. *)
Definition eps_bounded (n alpha d sigma : R) : R :=
  let v := (n - 1) * tau d sigma / n ^ 2 in
  alpha / 2 * (tau d sigma / (n ^ 2 * (1 - alpha * v)))
  + (alpha * ln (1 + v) - ln (1 - alpha * v)) / (2 * (alpha - 1)).

(* What an eigenvalue 1 + t of Sigma_1^-1 Sigma_2 adds to the divergence, twice. *)
Definition psi (alpha t : R) : R := (alpha * ln (1 + t) - ln (1 + alpha * t)) / (alpha - 1).

(* Theorem A of "Beyond the document": public n, the two eigenvalues kept apart. *)
Definition eps_bounded_tight (n alpha d sigma : R) : R :=
  let kappa := (n - 1) * tau d sigma / n ^ 2 in
  alpha / 2 * (tau d sigma / (n ^ 2 - alpha * (n - 1) * tau d sigma)) + (psi alpha kappa + psi alpha (- kappa)) / 2.

(* Theorem B: the two eigenvalues together. *)
Definition eps_bounded_joint (n alpha d sigma : R) : R :=
  let kappa := (n - 1) * tau d sigma / n ^ 2 in
  alpha / 2 * (tau d sigma / (n ^ 2 - alpha * (n - 1) * tau d sigma)) + psi alpha (- kappa) / 2.

(* Theorem G: both data sets in D_sigma. *)
Definition eps_bounded_both (n alpha d sigma : R) : R :=
  let kappa := (n - 1) * tau d sigma / n ^ 2 in
  let q := kappa / (1 + kappa) in
  alpha / 2 * (tau d sigma / (n ^ 2 * (1 - alpha * q))) + Rmax (psi alpha (- q)) ((1 + kappa) ^ 2 * psi alpha kappa) / 2.

(* Theorem G': in absolute value, no attribute's mean over the common records of two data sets in D_sigma is larger. *)
Definition common_mean (n sigma : R) : R := Rmin 1 ((n * sqrt (1 - sigma) + 1) / (n - 1)).

(* Theorem G': the largest eigenvalue of Sigma_1^-1 (Sigma_2 - Sigma_1), in absolute value. *)
Definition kappa_centred (n d sigma : R) : R :=
  (n - 1) / n ^ 2 * (d / sigma) * (1 + common_mean n sigma) ^ 2 / sqrt (1 - (1 - common_mean n sigma) ^ 2 / 2).

(* Theorem G': the terms of means and spread together, where the two records differ most, by p per attribute on average. *)
Definition eps_bounded_centred (n alpha d sigma : R) : R :=
  let m := common_mean n sigma in
  let kappa := kappa_centred n d sigma in
  let q := kappa / (1 + kappa) in
  let a := alpha * d / (sigma * n ^ 2 * (1 - alpha * q)) in
  let b := Rmax (psi alpha (- q)) ((1 + kappa) ^ 2 * psi alpha kappa) / kappa ^ 2 * ((n - 1) / n ^ 2 * (d / sigma)) ^ 2 in
  let p := Rmin 2 ((a / b + 2 * (1 + m) ^ 2) / (2 * (2 - (1 - m) ^ 2))) in
  a * p + b * (2 * (1 + m) ^ 2 * p - (2 - (1 - m) ^ 2) * p ^ 2).

(* Lemma C: the largest squared Mahalanobis distance of a record of the cube. *)
Definition largest_radius (d sigma : R) : R := d * (1 + sqrt (1 - sigma)) ^ 2 / sigma.

(* Theorem D, what the divergence of n records from n + 1 is for a record at squared distance r from the n others. *)
Definition div_added (n alpha d r : R) : R :=
  (alpha * r / ((n + 1) * (n + 1 - alpha) + alpha * n * r) + (d - 1) * psi alpha (- 1 / (n + 1))
   + psi alpha ((n * r - (n + 1)) / (n + 1) ^ 2)) / 2.

(* Theorem D, what the divergence of n + 1 records from n is for such a record. *)
Definition div_removed (n alpha d r : R) : R :=
  (alpha * r / ((n + 1) * (n + alpha) - n * (alpha - 1) * r) + (d - 1) * psi alpha (1 / n)
   + psi alpha ((n + 1 - n * r) / (n * (n + 1 + r)))) / 2.

(* Theorem D: the largest of both over 0 <= r <= R. *)
Definition eps_unbounded_tight (n alpha d sigma : R) : R :=
  Rmax (Rmax (div_added n alpha d 0) (div_added n alpha d (largest_radius d sigma))) (div_removed n alpha d (largest_radius d sigma)).

(* Theorem H, a record added: the source's divergence, n records against n + 1. *)
Definition eps_H_added (n alpha d tau : R) : R :=
  alpha / 2 * (tau / ((n + 1) ^ 2 + alpha * n * tau)) + (psi alpha (n * tau / (n + 1) ^ 2) + d * psi alpha (- 1 / (n + 1))) / 2.

(* Theorem H, a record removed: n + 1 records against n. *)
Definition eps_H_removed (n alpha d tau : R) : R :=
  alpha / 2 * (tau / ((n + 1) ^ 2 - (alpha - 1) * n * tau))
  + (psi alpha (- (n * tau) / ((n + 1) ^ 2 + n * tau)) + d * psi alpha (1 / n)) / 2.

(* Theorem H: both directions. *)
Definition eps_H (n alpha d sigma : R) : R :=
  Rmax (eps_H_added n alpha d (tau d sigma)) (eps_H_removed n alpha d (tau d sigma)).

(* The whole release of n records. *)
Definition whole (n eps : R) : R := n * eps.
(* (alpha, eps)-RDP converted to the epsilon at delta, by Mironov's conversion, which the document uses. *)
Definition converted (alpha eps delta : R) : R := eps + ln (/ delta) / (alpha - 1).
