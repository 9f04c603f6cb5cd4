(* Theorem H's epsilons fall as n grows: a bound for n records is one for more records. *)
From Coq Require Import Reals Lra Psatz.
From Compendium Require Import Formulas Psi.

Local Open Scope R_scope.

Section Falls.
Variables (n n' alpha d tau : R).
Hypotheses (n1 : 1 <= n) (more : n < n') (a1 : 1 < alpha) (d0 : 0 <= d) (t0 : 0 < tau).

Let t (m : R) : R := m * tau / (m + 1) ^ 2.

Lemma t_pos m : 0 < m -> 0 < t m.
Proof using t0. intros H. apply Rdiv_lt_0_compat; [now apply Rmult_lt_0_compat|apply pow_lt; lra]. Qed.

Lemma t_falls : t n' <= t n.
Proof using n1 more t0.
  assert (P : 0 < (n + 1) ^ 2) by (apply pow_lt; lra). assert (P' : 0 < (n' + 1) ^ 2) by (apply pow_lt; lra).
  assert (H : 0 <= (n' - n) * (n * n' - 1)) by (apply Rmult_le_pos; nra).
  apply (Rmult_le_reg_r ((n + 1) ^ 2 * (n' + 1) ^ 2)); [now apply Rmult_lt_0_compat|]. unfold t.
  replace (n' * tau / (n' + 1) ^ 2 * ((n + 1) ^ 2 * (n' + 1) ^ 2)) with (tau * (n' * (n + 1) ^ 2)) by (field; lra).
  replace (n * tau / (n + 1) ^ 2 * ((n + 1) ^ 2 * (n' + 1) ^ 2)) with (tau * (n * (n' + 1) ^ 2)) by (field; lra).
  apply Rmult_le_compat_l; [lra|]. assert (n * (n' + 1) ^ 2 - n' * (n + 1) ^ 2 = (n' - n) * (n * n' - 1)) by ring. lra.
Qed.

Lemma psi_up s u : 0 <= s <= u -> psi alpha s <= psi alpha u.
Proof using a1. intros [H [L| ->]]; [left; apply psi_increasing; lra|lra]. Qed.
Lemma psi_down s u : s <= u <= 0 -> 0 < 1 + alpha * s -> psi alpha u <= psi alpha s.
Proof using a1. intros [[L| ->] H] D; [left; apply psi_decreasing; lra|lra]. Qed.
Lemma quotient_falls a x y : 0 <= a -> 0 < x <= y -> a / y <= a / x.
Proof using. intros Ha [Hx Hy]. apply Rmult_le_compat_l; [lra|]. now apply Rinv_le_contravar. Qed.

(* Theorem H, a record added: epsilon does not grow with n. *)
Theorem H_added_falls : alpha < n + 1 -> eps_H_added n' alpha d tau <= eps_H_added n alpha d tau.
Proof using n1 more a1 d0 t0.
  intros an. unfold eps_H_added.
  assert (I : / (n' + 1) <= / (n + 1)) by (apply Rinv_le_contravar; lra). assert (i : 0 < / (n' + 1)) by (apply Rinv_0_lt_compat; lra).
  assert (H1 : tau / ((n' + 1) ^ 2 + alpha * n' * tau) <= tau / ((n + 1) ^ 2 + alpha * n * tau)).
  { apply quotient_falls; [lra|]. assert (0 < alpha * tau) by (apply Rmult_lt_0_compat; lra). split; nra. }
  assert (H2 : psi alpha (t n') <= psi alpha (t n)) by (apply psi_up; split; [apply Rlt_le, t_pos; lra|apply t_falls]).
  assert (H3 : psi alpha (- 1 / (n' + 1)) <= psi alpha (- 1 / (n + 1))).
  { apply psi_down; [unfold Rdiv; split; lra|]. replace (1 + alpha * (-1 / (n + 1))) with ((n + 1 - alpha) / (n + 1)) by (field; lra). apply Rdiv_lt_0_compat; lra. }
  fold (t n) (t n'). assert (d * psi alpha (- 1 / (n' + 1)) <= d * psi alpha (- 1 / (n + 1))) by (apply Rmult_le_compat_l; lra).
  assert (alpha / 2 * (tau / ((n' + 1) ^ 2 + alpha * n' * tau)) <= alpha / 2 * (tau / ((n + 1) ^ 2 + alpha * n * tau))) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

(* Theorem H, a record removed: the condition that holds for n holds for more, and epsilon does not grow. *)
Theorem H_removed_falls : (alpha - 1) * n * tau < (n + 1) ^ 2 ->
  (alpha - 1) * n' * tau < (n' + 1) ^ 2 /\ eps_H_removed n' alpha d tau <= eps_H_removed n alpha d tau.
Proof using n1 more a1 d0 t0.
  intros room. assert (P : 0 < (n + 1) ^ 2) by (apply pow_lt; lra). assert (P' : 0 < (n' + 1) ^ 2) by (apply pow_lt; lra).
  assert (T := t_falls). assert (T0 := t_pos n ltac:(lra)). assert (T0' := t_pos n' ltac:(lra)).
  assert (E : forall m, 0 < (m + 1) ^ 2 -> (m + 1) ^ 2 - (alpha - 1) * m * tau = (m + 1) ^ 2 * (1 - (alpha - 1) * t m)).
  { intros m Hm. unfold t. field. intros Z. rewrite Z in Hm. lra. }
  assert (R : 0 < 1 - (alpha - 1) * t n).
  { apply (Rmult_lt_reg_l ((n + 1) ^ 2)); [assumption|]. rewrite <- E by assumption. lra. }
  assert (R' : 1 - (alpha - 1) * t n <= 1 - (alpha - 1) * t n').
  { assert ((alpha - 1) * t n' <= (alpha - 1) * t n) by (apply Rmult_le_compat_l; lra). lra. }
  assert (S : (n + 1) ^ 2 <= (n' + 1) ^ 2) by (apply pow_incr; lra).
  assert (D : 0 < (n + 1) ^ 2 - (alpha - 1) * n * tau <= (n' + 1) ^ 2 - (alpha - 1) * n' * tau).
  { split; [lra|]. rewrite !E by assumption. apply Rmult_le_compat; lra. }
  split; [lra|]. unfold eps_H_removed.
  assert (H1 := quotient_falls tau _ _ (Rlt_le _ _ t0) D).
  assert (W : forall m, 0 < m -> - (m * tau) / ((m + 1) ^ 2 + m * tau) = / (1 + t m) - 1).
  { intros m Hm. assert (0 < m * tau) by now apply Rmult_lt_0_compat. assert (0 < (m + 1) ^ 2) by (apply pow_lt; lra). unfold t. field. split; lra. }
  rewrite !W by lra.
  assert (I : / (1 + t n) <= / (1 + t n')) by (apply Rinv_le_contravar; lra).
  assert (I1 : / (1 + t n') <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (H2 : psi alpha (/ (1 + t n') - 1) <= psi alpha (/ (1 + t n) - 1)).
  { apply psi_down; [lra|]. replace (1 + alpha * (/ (1 + t n) - 1)) with ((1 - (alpha - 1) * t n) / (1 + t n)) by (field; lra). apply Rdiv_lt_0_compat; lra. }
  assert (H3 : psi alpha (1 / n') <= psi alpha (1 / n)).
  { apply psi_up. split; [apply Rlt_le, Rdiv_lt_0_compat; lra|]. apply quotient_falls; lra. }
  assert (d * psi alpha (1 / n') <= d * psi alpha (1 / n)) by (apply Rmult_le_compat_l; lra).
  assert (alpha / 2 * (tau / ((n' + 1) ^ 2 - (alpha - 1) * n' * tau)) <= alpha / 2 * (tau / ((n + 1) ^ 2 - (alpha - 1) * n * tau))) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.
End Falls.

(* Theorem H: if its conditions hold for n >= 1 records they hold for more, and epsilon is not larger. *)
Theorem H_falls n n' alpha d sigma : 1 <= n < n' -> 1 < alpha -> 0 < d -> 0 < sigma ->
  alpha < n + 1 -> (alpha - 1) * n * tau d sigma < (n + 1) ^ 2 ->
  alpha < n' + 1 /\ (alpha - 1) * n' * tau d sigma < (n' + 1) ^ 2 /\ eps_H n' alpha d sigma <= eps_H n alpha d sigma.
Proof.
  intros [n1 more] a1 d0 s0 an room. assert (t0 : 0 < tau d sigma) by (apply Rdiv_lt_0_compat; lra).
  assert (A := H_added_falls n n' alpha d _ n1 more a1 (Rlt_le _ _ d0) t0 an).
  destruct (H_removed_falls n n' alpha d _ n1 more a1 (Rlt_le _ _ d0) t0 room) as [room' B].
  split; [lra|]. split; [exact room'|]. unfold eps_H. apply Rmax_lub; [apply Rle_trans with (2 := Rmax_l _ _)|apply Rle_trans with (2 := Rmax_r _ _)]; assumption.
Qed.
