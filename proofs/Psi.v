(* The function psi behind all Renyi bounds of Gaussian synthesis: psi_alpha(t) = (alpha log(1 + t) - log(1 + alpha t)) / (alpha - 1).

   Each eigenvalue 1 + t of Sigma_1^-1 Sigma_2 adds psi(t) / 2 to the divergence. In lib: accounting/divergence.py, psi. Here: it is
   0 at 0, positive elsewhere, falls on the left and rises on the right, so that over a range it is largest at an end. *)
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Formulas.
Local Open Scope R_scope.

Section Valley.
Variable a : R.
Hypothesis a1 : 1 < a.

Lemma dom_weaker t : 0 < 1 + a * t -> 0 < 1 + t.
Proof using a1. intros H. destruct (Rle_or_lt 0 t) as [Ht|Ht]; [lra|].
  assert (a * t <= 1 * t) by nra. lra. Qed.

Lemma dom_up s t : s <= t -> 0 < 1 + a * s -> 0 < 1 + a * t.
Proof using a1. intros st H. assert (a * s <= a * t) by (apply Rmult_le_compat_l; lra). lra. Qed.

Lemma psi_0 : psi a 0 = 0.
Proof using a1. unfold psi. rewrite Rmult_0_r, Rplus_0_r, ln_1. field. lra. Qed.

Lemma psi_derive t : 0 < 1 + a * t ->
  is_derive (psi a) t (a * t / ((1 + t) * (1 + a * t))).
Proof using a1. intros H. assert (H1 := dom_weaker t H). unfold psi.
  auto_derive; [repeat split; lra|]. field. repeat split; lra. Qed.

Lemma psi_mvt s t : s < t -> 0 < 1 + a * s ->
  exists c, psi a t - psi a s = a * c / ((1 + c) * (1 + a * c)) * (t - s) /\ s < c < t.
Proof using a1. intros st H.
  apply (MVT_cor2 (psi a) (fun c => a * c / ((1 + c) * (1 + a * c)))); [lra|].
  intros c Hc. apply is_derive_Reals, psi_derive. apply (dom_up s); lra. Qed.

(* psi rises to the right of 0. *)
Theorem psi_increasing s t : 0 <= s < t -> psi a s < psi a t.
Proof using a1. intros [Hs Hst]. assert (D : 0 < 1 + a * s) by (assert (0 <= a * s) by (apply Rmult_le_pos; lra); lra).
  destruct (psi_mvt s t Hst D) as [c [E [c1 c2]]].
  assert (Dc := dom_up s c (Rlt_le _ _ c1) D). assert (Dc' := dom_weaker c Dc).
  assert (0 < a * c / ((1 + c) * (1 + a * c)) * (t - s)); [|lra].
  apply Rmult_lt_0_compat; [|lra]. apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|].
  apply Rmult_lt_0_compat; lra. Qed.

(* psi falls to the left of 0, as far as it is defined. *)
Theorem psi_decreasing s t : s < t <= 0 -> 0 < 1 + a * s -> psi a t < psi a s.
Proof using a1. intros [Hst Ht] D.
  destruct (psi_mvt s t Hst D) as [c [E [c1 c2]]].
  assert (Dc := dom_up s c (Rlt_le _ _ c1) D). assert (Dc' := dom_weaker c Dc).
  assert (0 < a * (-c) / ((1 + c) * (1 + a * c)) * (t - s)).
  { apply Rmult_lt_0_compat; [|lra]. apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|].
    apply Rmult_lt_0_compat; lra. }
  assert (a * c / ((1 + c) * (1 + a * c)) * (t - s) = - (a * (-c) / ((1 + c) * (1 + a * c)) * (t - s))) by (field; lra).
  lra. Qed.

(* psi is positive but at 0. *)
Theorem psi_pos t : 0 < 1 + a * t -> t <> 0 -> 0 < psi a t.
Proof using a1. intros D Ht. rewrite <- psi_0. destruct (Rtotal_order t 0) as [L|[L|L]]; [|contradiction|].
  - apply psi_decreasing; lra.
  - apply psi_increasing; lra. Qed.

(* psi is nowhere negative. *)
Theorem psi_nonneg t : 0 < 1 + a * t -> 0 <= psi a t.
Proof using a1. intros D. destruct (Req_dec t 0) as [->|H]; [rewrite psi_0; lra|].
  left; now apply psi_pos. Qed.

(* Lemma 4.5, first half: over a range the largest value is at an end. *)
Theorem psi_ends lo t hi : lo <= t <= hi -> 0 < 1 + a * lo ->
  psi a t <= Rmax (psi a lo) (psi a hi).
Proof using a1. intros [L H] D. destruct (Rle_or_lt 0 t) as [P|P].
  - destruct H as [H| ->]; [|apply Rmax_r]. apply Rle_trans with (2 := Rmax_r _ _).
    left; apply psi_increasing; lra.
  - destruct L as [L| ->]; [|apply Rmax_l]. apply Rle_trans with (2 := Rmax_l _ _).
    left; apply psi_decreasing; lra. Qed.

End Valley.
