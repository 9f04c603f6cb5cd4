(* "Beyond the document", the scalars behind Theorem G': the largest value over the distance of the two records that differ, and its fall in n. *)
From Coq Require Import Reals Lra Psatz.
From Compendium Require Import Formulas Psi Spread.
Local Open Scope R_scope.

Section Peak.
Variables (a b M : R).
Hypotheses (a0 : 0 <= a) (b0 : 0 < b) (M12 : 1 <= M <= 2).

(* For the proof: the sum of both terms where the records are at the mean distance p in an attribute. *)
Definition both_terms p := a * p + b * (2 * M ^ 2 * p - (2 - (2 - M) ^ 2) * p ^ 2).
(* For the proof: the distance at which that sum is largest. *)
Definition peak := Rmin 2 ((a / b + 2 * M ^ 2) / (2 * (2 - (2 - M) ^ 2))).

Lemma curvature : 1 <= 2 - (2 - M) ^ 2 <= 2.
Proof using M12. split; [|assert (H := pow2_ge_0 (2 - M)); lra]. nra. Qed.

Lemma peak_largest p : p <= 2 -> both_terms p <= both_terms peak.
Proof using a0 b0 M12.
  intros p2. assert (C := curvature). unfold both_terms, peak. set (c := 2 - (2 - M) ^ 2) in *. set (v := (a / b + 2 * M ^ 2) / (2 * c)).
  assert (E : forall p, a * p + b * (2 * M ^ 2 * p - c * p ^ 2) = b * c * (v ^ 2 - (v - p) ^ 2)) by (intros; unfold v; field; lra).
  rewrite !E. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. unfold Rmin. destruct (Rle_dec 2 v); [nra|].
  replace (v - v) with 0 by ring. assert (H := pow2_ge_0 (v - p)). lra.
Qed.
End Peak.

(* What is below the root in kappa. *)
Lemma half_curvature M : 1 - (2 - M) ^ 2 / 2 = (2 - (2 - M) ^ 2) / 2.
Proof. field. Qed.

Lemma below_peak M p : 1 <= M <= 2 -> 2 * M ^ 2 * p - (2 - (2 - M) ^ 2) * p ^ 2 <= M ^ 4 / (2 - (2 - M) ^ 2).
Proof.
  intros H. assert (C := curvature M H). set (c := 2 - (2 - M) ^ 2) in *. apply (Rmult_le_reg_r c); [lra|].
  replace (M ^ 4 / c * c) with (M ^ 4) by (field; lra). assert (0 <= (M ^ 2 - c * p) ^ 2) by apply pow2_ge_0. nra.
Qed.

(* One attribute: x and y at most M from the mean. *)
Lemma attribute x y M : - M <= x <= M -> - M <= y <= M -> let p := Rabs (x - y) in
  (x + y) * (x + y) <= 1 * (p * p) + - (4 * M) * p + 4 * M ^ 2 /\ (x + y) * (y - x) <= -1 * (p * p) + 2 * M * p + 0 /\
  1 * (p * p) + - (2 * M) * p + 0 <= (x + y) * (y - x).
Proof. intros X Y p. unfold p, Rabs. destruct (Rcase_abs (x - y)); repeat split; nra. Qed.

(* All attributes: A, B and C are the inner products of the two records, seen from the mean, S1 and S2 the sums of their distances and of the
   squares of these. *)
Lemma frobenius_within d M A B C S1 S2 : 0 < d -> 1 <= M <= 2 -> S2 = A + B - 2 * C -> A + B + 2 * C <= S2 + - (4 * M) * S1 + d * (4 * M ^ 2) ->
  B - A <= - S2 + 2 * M * S1 -> S2 + - (2 * M) * S1 <= B - A -> 0 <= S1 <= d * 2 -> 0 <= S2 <= 2 * S1 -> 0 <= S2 + - (2 * M) * S1 + d * M ^ 2 ->
  B ^ 2 + A ^ 2 - 2 * C ^ 2 <= d ^ 2 * (2 * (2 * M ^ 2 * (S1 / d) - (2 - (2 - M) ^ 2) * (S1 / d) ^ 2)).
Proof.
  intros d0 M12 e HX HD HD' [S10 S12] [S20 S22] V.
  replace (d ^ 2 * (2 * (2 * M ^ 2 * (S1 / d) - (2 - (2 - M) ^ 2) * (S1 / d) ^ 2))) with (4 * M ^ 2 * d * S1 + S1 ^ 2 * (4 - 8 * M + 2 * M ^ 2)) by (field; lra).
  set (X := A + B + 2 * C) in *. set (D := B - A) in *.
  replace (B ^ 2 + A ^ 2 - 2 * C ^ 2) with ((X * S2 + D ^ 2) / 2) by (rewrite e; unfold X, D; field).
  assert (H1 : X * S2 <= (S2 + - (4 * M) * S1 + d * (4 * M ^ 2)) * S2) by (apply Rmult_le_compat_r; lra).
  assert (H2 : D ^ 2 <= (2 * M * S1 - S2) ^ 2) by nra.
  assert (H3 : 0 <= (2 * S1 - S2) * (2 * S1 - S2 + 2 * (S2 + - (2 * M) * S1 + d * M ^ 2))) by (apply Rmult_le_pos; lra).
  replace (4 * M ^ 2 * d * S1 + S1 ^ 2 * (4 - 8 * M + 2 * M ^ 2))
    with (((S2 + - (4 * M) * S1 + d * (4 * M ^ 2)) * S2 + (2 * M * S1 - S2) ^ 2) / 2 + (2 * S1 - S2) * (2 * S1 - S2 + 2 * (S2 + - (2 * M) * S1 + d * M ^ 2))) by field.
  lra.
Qed.
