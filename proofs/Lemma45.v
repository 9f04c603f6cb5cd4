(* miura2022, Lemma 4.5, its proof: where the determinants' ratio L2 grows and where it falls.

   The derivative is printed right, the sentence after it has the signs exchanged. (With the printed signs, the least value would
   lie inside the range; with the right ones it lies at an end, as the lemma says.) Evidence of another kind: notebooks/miura2022/01_proofs. *)
From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
Local Open Scope R_scope.

Section Lemma45.
Variables (n s alpha : R).
Hypotheses (n1 : 1 < n) (direction : s = 1 \/ s = -1) (alpha1 : 1 < alpha) (small : 0 < n + s - s * alpha).

(* L2 as a function of the eigenvalue lambda, without the constant factor before it; s = 1 for an added record, -1 for a removed one. *)
Definition ratio (lambda : R) : R :=
  (1 + (n + s) / (n + s - s * alpha) * alpha * lambda) / Rpower (1 + (n + s) / n * lambda) alpha.

(* The printed derivative. *)
Definition slope (lambda : R) : R :=
  alpha * (alpha - 1) * (n + s) / (n * (n + s - s * alpha)) * (s - (n + s) * lambda)
  / Rpower (1 + (n + s) / n * lambda) (alpha + 1).

(* The printed derivative is the derivative. *)
Theorem printed_derivative lambda : 0 < 1 + (n + s) / n * lambda -> is_derive ratio lambda (slope lambda).
Proof using n1 direction small.
  intros r0. assert (E : 0 < Rpower (1 + (n + s) / n * lambda) alpha) by apply exp_pos.
  unfold ratio, slope. rewrite Rpower_plus, Rpower_1 by assumption. unfold Rpower in *.
  auto_derive.
  - repeat split; try assumption; lra.
  - set (e := exp _) in *. assert (n0 : n <> 0) by lra. assert (d0 : n + s - s * alpha <> 0) by lra.
    assert (q0 : n + (n + s) * lambda <> 0).
    { intros Q. apply (Rlt_irrefl 0). replace (1 + (n + s) / n * lambda) with ((n + (n + s) * lambda) / n) in r0 by (field; lra).
      rewrite Q in r0. unfold Rdiv in r0. now rewrite Rmult_0_l in r0. }
    destruct direction as [-> | ->]; field; repeat split; try assumption; try lra; fold e; lra.
Qed.

(* L2 grows below lambda = s / (n + s): the derivative is positive there. *)
Theorem grows_below lambda : 0 < 1 + (n + s) / n * lambda -> lambda < s / (n + s) -> 0 < slope lambda.
Proof using n1 direction alpha1 small.
  intros r0 H. assert (ns : 0 < n + s) by (destruct direction as [-> | ->]; lra).
  apply (Rmult_lt_compat_r (n + s)) in H; [|lra]. unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l, Rmult_1_r in H by lra.
  unfold slope. apply Rdiv_lt_0_compat; [|apply exp_pos]. apply Rmult_lt_0_compat; [|lra].
  apply Rdiv_lt_0_compat; repeat apply Rmult_lt_0_compat; lra.
Qed.

(* L2 falls above lambda = s / (n + s). *)
Theorem falls_above lambda : 0 < 1 + (n + s) / n * lambda -> s / (n + s) < lambda -> slope lambda < 0.
Proof using n1 direction alpha1 small.
  intros r0 H. assert (ns : 0 < n + s) by (destruct direction as [-> | ->]; lra).
  apply (Rmult_lt_compat_r (n + s)) in H; [|lra]. unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l, Rmult_1_r in H by lra.
  assert (P : 0 < alpha * (alpha - 1) * (n + s) / (n * (n + s - s * alpha)) * ((n + s) * lambda - s)
              / Rpower (1 + (n + s) / n * lambda) (alpha + 1)).
  { apply Rdiv_lt_0_compat; [|apply exp_pos]. apply Rmult_lt_0_compat; [|lra].
    apply Rdiv_lt_0_compat; repeat apply Rmult_lt_0_compat; lra. }
  assert (E : forall b y z, b * (s - y) / z = - (b * (y - s) / z)) by (intros; unfold Rdiv; ring).
  unfold slope. rewrite E. lra.
Qed.
End Lemma45.

(* The printed sentence says the opposite of both. (It fails at n = 100, alpha = 4, a record removed.) *)
Definition printed_signs : Prop := forall n s alpha lambda, 1 < n -> s = 1 \/ s = -1 -> 1 < alpha -> 0 < n + s - s * alpha ->
  0 < 1 + (n + s) / n * lambda -> 0 < 1 + (n + s) / (n + s - s * alpha) * alpha * lambda ->
  (lambda < s / (n + s) -> slope n s alpha lambda < 0) /\ (s / (n + s) < lambda -> 0 < slope n s alpha lambda).

(* What is printed of the derivative's signs is false. *)
Theorem printed_signs_are_exchanged : ~ printed_signs.
Proof.
  intros H. destruct (H 100 (-1) 4 (-2 / 99)) as [G _]; try lra.
  assert (P := grows_below 100 (-1) 4 ltac:(lra) ltac:(now right) ltac:(lra) ltac:(lra) (-2 / 99) ltac:(lra) ltac:(lra)). lra.
Qed.
