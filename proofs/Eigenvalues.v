(* "Beyond the document", Theorem A once the matrices are gone: the two eigenvalues of a replaced record, as the roots of a quadratic.

   With a, b, g the inner products of the record that comes and the one that goes, in the metric of Sigma_1^-1, the determinant is
   det(Sigma_1 + s X) / det Sigma_1 = (1 + s k a) (1 - s k b) + (s k g)^2 = (1 + s t1) (1 + s t2). No matrix is diagonalised. *)
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Formulas Psi.
Local Open Scope R_scope.

(* One eigenvalue lies to the right of 0 and one to the left, neither farther than kappa. *)
Lemma two_eigenvalues k a b g kappa : 0 <= k -> 0 <= a -> 0 <= b -> (forall l, 0 <= a + 2 * l * g + l ^ 2 * b) ->
  k * a <= kappa -> k * b <= kappa ->
  exists t1 t2, 0 <= t1 <= kappa /\ - kappa <= t2 <= 0 /\
    forall s, (1 + s * k * a) * (1 - s * k * b) + (s * k) ^ 2 * g ^ 2 = (1 + s * t1) * (1 + s * t2).
Proof.
  intros k0 a0 b0 form ka kb.
  assert (cauchy : g ^ 2 <= a * b).
  { destruct (Req_dec b 0) as [->|B].
    - destruct (Req_dec g 0) as [->|G]; [simpl; lra|]. specialize (form (- (a + 1) / (2 * g))).
      replace (a + 2 * (- (a + 1) / (2 * g)) * g + (- (a + 1) / (2 * g)) ^ 2 * 0) with (-1) in form by (field; assumption). lra.
    - specialize (form (- g / b)). replace (a + 2 * (- g / b) * g + (- g / b) ^ 2 * b) with ((a * b - g ^ 2) / b) in form by (field; assumption).
      assert (bp : 0 < b) by lra. apply (Rmult_le_compat_r b) in form; [|lra]. unfold Rdiv in form. rewrite Rmult_assoc, Rinv_l in form; lra. }
  set (q := (k * (a - b)) ^ 2 + 4 * (k ^ 2 * (a * b - g ^ 2))). set (r := sqrt q).
  assert (m0 : 0 <= k ^ 2 * (a * b - g ^ 2)) by (apply Rmult_le_pos; [apply pow2_ge_0|lra]).
  assert (q0 : 0 <= q) by (unfold q; assert (H := pow2_ge_0 (k * (a - b))); lra).
  assert (rr : r * r = q) by now apply sqrt_sqrt. assert (r0 : 0 <= r) by apply sqrt_pos.
  assert (up : r <= k * (a + b)).
  { apply Rsqr_incr_0_var; [|apply Rmult_le_pos; lra]. unfold Rsqr. rewrite rr. unfold q.
    assert (H : 0 <= k ^ 2 * g ^ 2) by (apply Rmult_le_pos; apply pow2_ge_0). nra. }
  assert (low : Rabs (k * (a - b)) <= r).
  { unfold r. rewrite <- sqrt_Rsqr_abs. apply sqrt_le_1_alt. unfold Rsqr, q. simpl in m0 |- *. lra. }
  apply Rabs_le_between in low.
  exists ((k * (a - b) + r) / 2), ((k * (a - b) - r) / 2). split; [lra|]. split; [lra|]. intros s.
  replace ((1 + s * ((k * (a - b) + r) / 2)) * (1 + s * ((k * (a - b) - r) / 2)))
    with (1 + s * (k * (a - b)) + s ^ 2 * (((k * (a - b)) ^ 2 - r * r) / 4)) by field.
  rewrite rr. unfold q. field.
Qed.

(* The closed form with these determinants, through psi. *)
Lemma closed_psi alpha t1 t2 L1 dA : 1 < alpha -> 0 < 1 + alpha * t1 -> 0 < 1 + alpha * t2 -> 0 < dA ->
  alpha / 2 * L1 - / (2 * (alpha - 1)) * (ln ((1 + alpha * t1) * (1 + alpha * t2) * dA) - (1 - alpha) * ln dA - alpha * ln ((1 + t1) * (1 + t2) * dA))
  = alpha / 2 * L1 + (psi alpha t1 + psi alpha t2) / 2.
Proof.
  intros a1 D1 D3 d0. assert (E1 := dom_weaker alpha a1 t1 D1). assert (E2 := dom_weaker alpha a1 t2 D3).
  rewrite !ln_mult; try assumption; try (apply Rmult_lt_0_compat; assumption). unfold psi. field. lra.
Qed.

(* Each of the two is largest at its end. *)
Lemma psi_apart alpha kappa t1 t2 : 1 < alpha -> alpha * kappa < 1 -> 0 <= t1 <= kappa -> - kappa <= t2 <= 0 ->
  psi alpha t1 + psi alpha t2 <= psi alpha kappa + psi alpha (- kappa).
Proof.
  intros a1 small [t10 t1k] [t2k t20].
  assert (P1 : psi alpha t1 <= psi alpha kappa).
  { destruct t1k as [t1k| ->]; [left; apply psi_increasing; lra|lra]. }
  assert (P2 : psi alpha t2 <= psi alpha (- kappa)).
  { destruct t2k as [t2k| <-]; [left; apply psi_decreasing; lra|lra]. }
  lra.
Qed.

(* Theorem 3.2 bounds both logarithms apart from each other, and so lies above Theorem A. *)
Lemma tight_below_printed n alpha d sigma : 0 < n -> 1 < alpha ->
  0 <= (n - 1) * tau d sigma / n ^ 2 -> alpha * ((n - 1) * tau d sigma / n ^ 2) < 1 ->
  eps_bounded_tight n alpha d sigma <= eps_bounded n alpha d sigma.
Proof.
  intros n0 a1 K S. unfold eps_bounded_tight, eps_bounded. set (t := tau d sigma) in *. set (k := (n - 1) * t / n ^ 2) in *.
  assert (E : n ^ 2 * (1 - alpha * k) = n ^ 2 - alpha * (n - 1) * t) by (unfold k; field; lra). rewrite E.
  assert (ak : 0 <= alpha * k) by (apply Rmult_le_pos; lra). assert (k1 : k < 1) by nra.
  assert (P : 0 <= ln (1 + alpha * k)) by (rewrite <- ln_1; apply ln_le; lra).
  assert (N : ln (1 - k) <= 0) by (rewrite <- ln_1; apply ln_le; lra).
  unfold psi. replace (1 + - k) with (1 - k) by ring. replace (1 + alpha * - k) with (1 - alpha * k) by ring.
  apply Rplus_le_compat_l.
  replace ((alpha * ln (1 + k) - ln (1 - alpha * k)) / (2 * (alpha - 1)))
    with (((alpha * ln (1 + k) - ln (1 + alpha * k)) / (alpha - 1) + (alpha * ln (1 - k) - ln (1 - alpha * k)) / (alpha - 1)) / 2
          + (ln (1 + alpha * k) - alpha * ln (1 - k)) / (2 * (alpha - 1))) by (field; lra).
  assert (0 <= (ln (1 + alpha * k) - alpha * ln (1 - k)) / (2 * (alpha - 1))); [|lra].
  apply Rmult_le_pos; [nra|apply Rlt_le, Rinv_0_lt_compat; lra].
Qed.
