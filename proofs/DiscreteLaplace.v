(* The discrete Laplace mechanism: whole numbers, with two-sided geometric noise.

   In lib: mechanisms/additive_noise.py, DiscreteLaplace. The scale is t = Delta / eps. *)
From Coq Require Import Reals Lra Lia ZArith List.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Finite.
Import ListNotations.
Local Open Scope R_scope.

(* The probability of the noise z: proportional to e^(-|z| / t). *)
Definition noise (t : R) (z : Z) : R := (1 - exp (- 1 / t)) / (1 + exp (- 1 / t)) * exp (- IZR (Z.abs z) / t).

(* A vector of answers is released with independent noise in each entry: the probability of the outcome o. *)
Fixpoint release (t : R) (answers o : list Z) : R :=
  match answers, o with
  | [], [] => 1
  | f :: fs, y :: ys => noise t (y - f) * release t fs ys
  | _, _ => 0
  end.

(* The L1 distance of two vectors of answers. *)
Fixpoint distance (fs gs : list Z) : Z :=
  match fs, gs with f :: fs', g :: gs' => Z.abs (f - g) + distance fs' gs' | _, _ => 0%Z end.
(* Neighbours: answers to as many queries, no farther apart than the sensitivity. *)
Definition within (sensitivity : Z) (fs gs : list Z) : Prop := length fs = length gs /\ (distance fs gs <= sensitivity)%Z.

Section Noise.
Variable t : R.
Hypothesis t0 : 0 < t.
Let a : R := exp (- 1 / t).

Let a_range : 0 < a < 1.
Proof using t0. split; [apply exp_pos|]. rewrite <- exp_0. apply exp_increasing.
  assert (0 < 1 / t) by (apply Rdiv_lt_0_compat; lra). lra. Qed.

Lemma noise_pos z : 0 < noise t z.
Proof using t0. unfold noise. fold a. apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat|apply exp_pos]; lra. Qed.

Lemma noise_power n : noise t (Z.of_nat n) = (1 - a) / (1 + a) * a ^ n /\ noise t (- Z.of_nat n) = (1 - a) / (1 + a) * a ^ n.
Proof using t0.
  assert (E : exp (- INR n / t) = a ^ n).
  { unfold a. induction n as [|n IH]; [simpl; rewrite <- exp_0; f_equal; field; lra|].
    rewrite S_INR. simpl pow. rewrite <- IH, <- exp_plus. f_equal. field. lra. }
  unfold noise. fold a. rewrite Z.abs_opp, Z.abs_eq, <- INR_IZR_INZ, E by lia. auto.
Qed.

(* The noise is a probability distribution on all whole numbers: with 0 first, then n and -n together, the sum is 1. *)
Theorem noise_is_law :
  (forall z, 0 <= noise t z) /\
  is_series (fun n => match n with O => noise t 0 | S _ => noise t (Z.of_nat n) + noise t (- Z.of_nat n) end) 1.
Proof using t0.
  split; [intros z; apply Rlt_le, noise_pos|].
  assert (G : is_series (fun n => 2 * ((1 - a) / (1 + a)) * a ^ n) (2 * ((1 - a) / (1 + a)) * / (1 - a))).
  { assert (B : is_series (fun n => a ^ n) (/ (1 - a))) by (apply is_series_geom; rewrite Rabs_pos_eq; lra).
    exact (is_series_scal_l (2 * ((1 - a) / (1 + a))) (fun n => a ^ n) _ B). }
  apply is_series_decr_1. destruct (noise_power 0) as [E0 _]. simpl Z.of_nat in E0.
  assert (G' : is_series (fun n => 2 * ((1 - a) / (1 + a)) * a ^ S n) (1 - noise t 0)).
  { apply (is_series_incr_1 (fun n => 2 * ((1 - a) / (1 + a)) * a ^ n)).
    match goal with |- is_series _ ?m => replace m with (2 * ((1 - a) / (1 + a)) * / (1 - a)); [exact G|] end.
    change (2 * ((1 - a) / (1 + a)) * / (1 - a) = 1 - noise t 0 + 2 * ((1 - a) / (1 + a)) * a ^ 0).
    rewrite E0. simpl. field. lra. }
  refine (is_series_ext _ _ _ _ G'). intros n. destruct (noise_power (S n)) as [-> ->].
  change (2 * ((1 - a) / (1 + a)) * a ^ S n = (1 - a) / (1 + a) * a ^ S n + (1 - a) / (1 + a) * a ^ S n). ring.
Qed.

Lemma noise_shift z w : noise t z <= exp (IZR (Z.abs (z - w)) / t) * noise t w.
Proof using t0.
  unfold noise. fold a. rewrite (Rmult_comm (exp _)), Rmult_assoc. apply Rmult_le_compat_l.
  - apply Rlt_le, Rdiv_lt_0_compat; lra.
  - rewrite <- exp_plus. assert (H : - IZR (Z.abs z) / t <= - IZR (Z.abs w) / t + IZR (Z.abs (z - w)) / t).
    { replace (- IZR (Z.abs w) / t + IZR (Z.abs (z - w)) / t) with ((- IZR (Z.abs w) + IZR (Z.abs (z - w))) / t) by (field; lra).
      apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|].
      assert (Z.abs w - Z.abs (z - w) <= Z.abs z)%Z by lia. apply IZR_le in H. rewrite minus_IZR in H. lra. }
    destruct H as [H|H]; [left; now apply exp_increasing|right; now rewrite H].
Qed.
End Noise.

Lemma release_nonneg t fs o : 0 < t -> 0 <= release t fs o.
Proof.
  intros t0. revert o. induction fs as [|f fs IH]; intros [|y ys]; simpl; try lra.
  apply Rmult_le_pos; [apply Rlt_le, noise_pos|]; auto.
Qed.

Lemma release_shift t fs gs o : 0 < t -> length fs = length gs ->
  release t fs o <= exp (IZR (distance fs gs) / t) * release t gs o.
Proof.
  intros t0. revert gs o. induction fs as [|f fs IH]; intros [|g gs] [|y ys] L; simpl in *; try discriminate; try lra.
  - unfold Rdiv. rewrite Rmult_0_l, exp_0. lra.
  - rewrite plus_IZR. unfold Rdiv. rewrite Rmult_plus_distr_r, exp_plus.
    assert (H1 := noise_shift t t0 (y - f) (y - g)). replace (y - f - (y - g))%Z with (- (f - g))%Z in H1 by lia.
    rewrite Z.abs_opp in H1. specialize (IH gs ys ltac:(lia)).
    apply Rle_trans with ((exp (IZR (Z.abs (f - g)) / t) * noise t (y - g)) * (exp (IZR (distance fs gs) / t) * release t gs ys)).
    + apply Rmult_le_compat; auto; [apply Rlt_le, noise_pos|apply release_nonneg]; assumption.
    + apply Req_le. unfold Rdiv. ring.
Qed.

Lemma distance_sym fs gs : distance fs gs = distance gs fs.
Proof. revert gs. induction fs as [|f fs IH]; intros [|g gs]; simpl; auto. rewrite IH. lia. Qed.

(* Noise of scale Delta / eps makes the release of whole numbers of L1 sensitivity Delta eps-differentially private. *)
Theorem discrete_laplace_private (sensitivity : Z) (eps : R) : (0 < sensitivity)%Z -> 0 < eps ->
  private (within sensitivity) (fun _ => True) (release (IZR sensitivity / eps)) eps.
Proof.
  intros s0 e0. apply IZR_lt in s0. assert (t0 : 0 < IZR sensitivity / eps) by (apply Rdiv_lt_0_compat; lra).
  apply private_by_outcome.
  - intros fs gs [L D]. split; [auto|]. now rewrite distance_sym.
  - intros fs gs o [L D] _. eapply Rle_trans; [now apply (release_shift _ fs gs)|].
    apply Rmult_le_compat_r; [now apply release_nonneg|]. apply IZR_le in D.
    assert (H : IZR (distance fs gs) / (IZR sensitivity / eps) <= eps).
    { replace (IZR (distance fs gs) / (IZR sensitivity / eps)) with (IZR (distance fs gs) * eps / IZR sensitivity) by (field; lra).
      apply (Rmult_le_reg_r (IZR sensitivity)); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
    destruct H as [H|H]; [left; now apply exp_increasing|right; now rewrite H].
Qed.

(* That release is not eps'-differentially private for any eps' below eps. *)
Theorem discrete_laplace_no_better (sensitivity : Z) (eps eps' : R) : (0 < sensitivity)%Z -> 0 < eps ->
  private (within sensitivity) (fun _ => True) (release (IZR sensitivity / eps)) eps' -> eps <= eps'.
Proof.
  intros s0 e0 H. assert (t0 : 0 < IZR sensitivity / eps) by (apply Rdiv_lt_0_compat; [now apply IZR_lt|lra]).
  assert (G := private_outcome _ _ _ _ [0%Z] [sensitivity] [0%Z] H). unfold within in G.
  specialize (G ltac:(cbn -[Z.abs Z.sub]; lia) I). cbn -[Z.abs Z.sub] in G.
  unfold noise in G. replace (Z.abs (0 - 0)) with 0%Z in G by lia. replace (Z.abs (0 - sensitivity)) with sensitivity in G by lia.
  apply IZR_lt in s0. set (c := (1 - _) / _) in G.
  assert (c0 : 0 < c). { assert (P := noise_pos _ t0 0). unfold noise in P. fold c in P. replace (- IZR (Z.abs 0) / (IZR sensitivity / eps)) with 0 in P by (simpl; field; lra).
    rewrite exp_0 in P. lra. }
  replace (- (0) / (IZR sensitivity / eps)) with 0 in G by (field; lra).
  replace (- IZR sensitivity / (IZR sensitivity / eps)) with (- eps) in G by (field; lra).
  rewrite exp_0, !Rmult_1_r in G. apply exp_le_inv. apply (Rmult_le_reg_r (c * exp (- eps))); [apply Rmult_lt_0_compat; [assumption|apply exp_pos]|].
  replace (exp eps * (c * exp (- eps))) with (c * exp (eps + - eps)) by (rewrite exp_plus; ring). rewrite Rplus_opp_r, exp_0. lra.
Qed.
