(* The epsilons of Theorems H, D and G' do not grow with n: a bound for n records is one for more records. *)
From Coq Require Import Reals Lra Psatz.
From Compendium Require Import Formulas Psi Spread Peak.

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

(* --------------------------------------------------------------- Theorem D *)

Section DFalls.
Variables (n n' alpha d r : R).
Hypotheses (more : n < n') (a1 : 1 < alpha) (d1 : 1 <= d) (r1 : 1 < r) (many : 2 * r <= (n + 1) * (r - 1)) (an : alpha < n + 1).

Let t (m : R) : R := (m * r - (m + 1)) / (m + 1) ^ 2.

Lemma more_than_one : 1 < n /\ 2 <= (n - 1) * (r - 1).
Proof using r1 many. assert (H : 2 <= (n - 1) * (r - 1)) by lra. split; [|exact H]. apply Rnot_le_lt. intros L. assert (0 <= (1 - n) * (r - 1)) by (apply Rmult_le_pos; lra). lra. Qed.

Lemma distance_falls : 0 <= t n' <= t n.
Proof using more a1 r1 many an.
  destruct more_than_one as [n1 H]. assert (P : 0 < (n + 1) ^ 2) by (apply pow_lt; lra). assert (P' : 0 < (n' + 1) ^ 2) by (apply pow_lt; lra).
  split; [apply Rmult_le_pos; [nra|now apply Rlt_le, Rinv_0_lt_compat]|].
  apply Rminus_le. unfold t.
  replace (_ - _) with (- ((n' - n) * ((r - 1) * (n * n' - 1) - (n + n' + 2)) * / ((n + 1) ^ 2 * (n' + 1) ^ 2))) by (field; lra).
  assert (0 <= (n' - n) * ((r - 1) * (n * n' - 1) - (n + n' + 2)) * / ((n + 1) ^ 2 * (n' + 1) ^ 2)); [|lra].
  apply Rmult_le_pos; [|now apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat]. apply Rmult_le_pos; [lra|].
  apply (Rmult_le_reg_l (n - 1)); [lra|]. rewrite Rmult_0_r.
  replace ((n - 1) * ((r - 1) * (n * n' - 1) - (n + n' + 2)))
    with (((n - 1) * (r - 1) - 2) * (n * n' - 1) + (n + 1) * (n' - n)) by ring.
  assert (0 <= ((n - 1) * (r - 1) - 2) * (n * n' - 1)) by (apply Rmult_le_pos; nra).
  assert (0 <= (n + 1) * (n' - n)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma others_fall : psi alpha (- 1 / (n' + 1)) <= psi alpha (- 1 / (n + 1)).
Proof using more a1 r1 many an.
  destruct more_than_one as [n1 _]. assert (I : / (n' + 1) <= / (n + 1)) by (apply Rinv_le_contravar; lra). assert (i : 0 < / (n' + 1)) by (apply Rinv_0_lt_compat; lra).
  apply psi_down; [exact a1|unfold Rdiv; split; lra|]. replace (1 + alpha * (-1 / (n + 1))) with ((n + 1 - alpha) / (n + 1)) by (field; lra). apply Rdiv_lt_0_compat; lra.
Qed.

Lemma div_added_falls : div_added n' alpha d r <= div_added n alpha d r /\ div_added n' alpha d 0 <= div_added n alpha d 0.
Proof using more a1 d1 r1 many an.
  destruct more_than_one as [n1 _]. assert (T := distance_falls). assert (O := others_fall).
  assert (O' : (d - 1) * psi alpha (- 1 / (n' + 1)) <= (d - 1) * psi alpha (- 1 / (n + 1))) by (apply Rmult_le_compat_l; lra).
  unfold div_added. fold (t n) (t n'). split.
  - assert (P : psi alpha (t n') <= psi alpha (t n)) by (apply psi_up; [exact a1|exact T]).
    assert (Q : alpha * r / ((n' + 1) * (n' + 1 - alpha) + alpha * n' * r) <= alpha * r / ((n + 1) * (n + 1 - alpha) + alpha * n * r)).
    { apply quotient_falls; [apply Rmult_le_pos; lra|].
      assert (0 < (n + 1) * (n + 1 - alpha)) by (apply Rmult_lt_0_compat; lra). assert (0 < alpha * n * r) by (repeat apply Rmult_lt_0_compat; lra).
      assert ((n + 1) * (n + 1 - alpha) <= (n' + 1) * (n' + 1 - alpha)) by (apply Rmult_le_compat; lra).
      assert (alpha * n * r <= alpha * n' * r) by (apply Rmult_le_compat_r; [lra|apply Rmult_le_compat_l; lra]). split; lra. }
    lra.
  - replace ((n' * 0 - (n' + 1)) / (n' + 1) ^ 2) with (- 1 / (n' + 1)) by (field; lra).
    replace ((n * 0 - (n + 1)) / (n + 1) ^ 2) with (- 1 / (n + 1)) by (field; lra).
    unfold Rdiv. rewrite !Rmult_0_r, !Rmult_0_l. unfold Rdiv in O, O'. lra.
Qed.

Lemma div_removed_falls : n * (alpha - 1) * r < (n + 1) * (n + alpha) ->
  n' * (alpha - 1) * r < (n' + 1) * (n' + alpha) /\ div_removed n' alpha d r <= div_removed n alpha d r.
Proof using more a1 d1 r1 many an.
  intros room. destruct more_than_one as [n1 _]. destruct distance_falls as [T0 T].
  assert (P : 0 < (n + 1) ^ 2) by (apply pow_lt; lra). assert (P' : 0 < (n' + 1) ^ 2) by (apply pow_lt; lra).
  assert (E : forall m, 1 < m -> (m + 1) * (m + alpha) - m * (alpha - 1) * r = (m + 1) ^ 2 * (1 - (alpha - 1) * t m)) by (intros m Hm; unfold t; field; lra).
  assert (R : 0 < 1 - (alpha - 1) * t n) by (apply (Rmult_lt_reg_l ((n + 1) ^ 2)); [assumption|]; rewrite <- E; lra).
  assert (R' : 1 - (alpha - 1) * t n <= 1 - (alpha - 1) * t n') by (assert ((alpha - 1) * t n' <= (alpha - 1) * t n) by (apply Rmult_le_compat_l; lra); lra).
  assert (S : (n + 1) ^ 2 <= (n' + 1) ^ 2) by (apply pow_incr; lra).
  assert (D : 0 < (n + 1) * (n + alpha) - n * (alpha - 1) * r <= (n' + 1) * (n' + alpha) - n' * (alpha - 1) * r).
  { split; [lra|]. rewrite !E by lra. apply Rmult_le_compat; lra. }
  split; [lra|]. unfold div_removed.
  assert (H1 := quotient_falls (alpha * r) _ _ ltac:(apply Rmult_le_pos; lra) D).
  assert (W : forall m, 1 < m -> (m + 1 - m * r) / (m * (m + 1 + r)) = / (1 + t m) - 1).
  { intros m Hm. assert (0 < m * (m + 1 + r)) by (apply Rmult_lt_0_compat; lra). replace (1 + t m) with (m * (m + 1 + r) / (m + 1) ^ 2) by (unfold t; field; lra). field. repeat split; lra. }
  rewrite !W by lra.
  assert (I : / (1 + t n) <= / (1 + t n')) by (apply Rinv_le_contravar; lra).
  assert (I1 : / (1 + t n') <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (H2 : psi alpha (/ (1 + t n') - 1) <= psi alpha (/ (1 + t n) - 1)).
  { apply psi_down; [exact a1|lra|]. replace (1 + alpha * (/ (1 + t n) - 1)) with ((1 - (alpha - 1) * t n) / (1 + t n)) by (field; lra). apply Rdiv_lt_0_compat; lra. }
  assert (H3 : psi alpha (1 / n') <= psi alpha (1 / n)).
  { apply psi_up; [exact a1|]. split; [apply Rlt_le, Rdiv_lt_0_compat; lra|]. apply quotient_falls; lra. }
  assert ((d - 1) * psi alpha (1 / n') <= (d - 1) * psi alpha (1 / n)) by (apply Rmult_le_compat_l; lra). lra.
Qed.
End DFalls.

(* Theorem D: with R = largest_radius > 1 and n + 1 >= 2 R / (R - 1) records, if its conditions hold for n they hold for more, and epsilon is not larger. *)
Theorem unbounded_tight_falls n n' alpha d sigma : n < n' -> 1 < alpha -> 1 <= d ->
  let R := largest_radius d sigma in 1 < R -> 2 * R <= (n + 1) * (R - 1) ->
  alpha < n + 1 -> n * (alpha - 1) * R < (n + 1) * (n + alpha) ->
  alpha < n' + 1 /\ n' * (alpha - 1) * R < (n' + 1) * (n' + alpha) /\ eps_unbounded_tight n' alpha d sigma <= eps_unbounded_tight n alpha d sigma.
Proof.
  intros more a1 d1 R R1 many an room. destruct (div_added_falls n n' alpha d R more a1 d1 R1 many an) as [A Z].
  destruct (div_removed_falls n n' alpha d R more a1 d1 R1 many an room) as [room' B].
  split; [lra|]. split; [exact room'|]. unfold eps_unbounded_tight. fold R.
  apply Rmax_lub; [apply Rmax_lub|].
  - apply Rle_trans with (2 := Rmax_l _ _). apply Rle_trans with (2 := Rmax_l _ _). exact Z.
  - apply Rle_trans with (2 := Rmax_l _ _). apply Rle_trans with (2 := Rmax_r _ _). exact A.
  - apply Rle_trans with (2 := Rmax_r _ _). exact B.
Qed.

(* --------------------------------------------------------------- Theorem G' *)

Lemma common_falls n n' sigma : 2 <= n < n' -> common_mean n' sigma <= common_mean n sigma.
Proof.
  intros [n2 more]. unfold common_mean. set (r := sqrt (1 - sigma)). assert (r0 : 0 <= r) by apply sqrt_pos.
  assert (E : forall m, 2 <= m -> (m * r + 1) / (m - 1) = r + (r + 1) / (m - 1)) by (intros; field; lra). rewrite !E by lra.
  assert (H : (r + 1) / (n' - 1) <= (r + 1) / (n - 1)) by (apply quotient_falls; lra).
  apply Rmin_glb; [apply Rmin_l|]. apply Rle_trans with (1 := Rmin_r _ _). lra.
Qed.

Lemma common_range n sigma : 2 <= n -> 0 <= common_mean n sigma <= 1.
Proof.
  intros n2. unfold common_mean. assert (r0 := sqrt_pos (1 - sigma)). split; [|apply Rmin_l]. apply Rmin_glb; [lra|].
  apply Rmult_le_pos; [assert (0 <= n * sqrt (1 - sigma)) by (apply Rmult_le_pos; lra); lra|apply Rlt_le, Rinv_0_lt_compat; lra].
Qed.

(* The spread term, as a function of M and of the distance p of the two records. *)
Lemma spread_grows M M' p : 1 <= M' <= M -> M <= 2 -> 0 <= p <= 2 ->
  0 <= 2 * M' ^ 2 * p - (2 - (2 - M') ^ 2) * p ^ 2 <= 2 * M ^ 2 * p - (2 - (2 - M) ^ 2) * p ^ 2.
Proof.
  intros [m1 mm] m2 [p0 p2]. split.
  - replace (_ - _) with (p * (4 * (M' - 1) ^ 2 + (2 - (2 - M') ^ 2) * (2 - p))) by ring.
    assert (C := curvature M' ltac:(lra)). apply Rmult_le_pos; [exact p0|].
    assert (0 <= (2 - (2 - M') ^ 2) * (2 - p)) by (apply Rmult_le_pos; lra). assert (0 <= (M' - 1) ^ 2) by apply pow2_ge_0. lra.
  - apply Rminus_le. replace (_ - _) with (- (p * ((M - M') * ((M - 1) * p + (M' - 1) * p + 2 * (M - 1) + 2 * (M' - 1) + 2 * (2 - p))))) by ring.
    assert (0 <= (M - 1) * p) by (apply Rmult_le_pos; lra). assert (0 <= (M' - 1) * p) by (apply Rmult_le_pos; lra).
    assert (0 <= p * ((M - M') * ((M - 1) * p + (M' - 1) * p + 2 * (M - 1) + 2 * (M' - 1) + 2 * (2 - p)))); [|lra].
    apply Rmult_le_pos; [exact p0|]. apply Rmult_le_pos; lra.
Qed.

Lemma radius_grows M M' : 1 <= M' <= M -> M <= 2 -> M' ^ 2 / sqrt (1 - (2 - M') ^ 2 / 2) <= M ^ 2 / sqrt (1 - (2 - M) ^ 2 / 2).
Proof.
  intros mm m2. assert (C := curvature M ltac:(lra)). assert (C' := curvature M' ltac:(lra)). rewrite !half_curvature.
  set (p := M' ^ 2 / (2 - (2 - M') ^ 2)).
  assert (p02 : 0 <= p <= 2).
  { unfold p. split; [apply Rmult_le_pos; [apply pow2_ge_0|apply Rlt_le, Rinv_0_lt_compat; lra]|].
    apply (Rmult_le_reg_r (2 - (2 - M') ^ 2)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  assert (G := proj2 (spread_grows M M' p mm m2 p02)). assert (B := below_peak M p ltac:(lra)).
  assert (E : 2 * M' ^ 2 * p - (2 - (2 - M') ^ 2) * p ^ 2 = M' ^ 4 / (2 - (2 - M') ^ 2)) by (unfold p; field; lra). rewrite E in G.
  set (c := 2 - (2 - M) ^ 2) in *. set (c' := 2 - (2 - M') ^ 2) in *.
  assert (S : forall x, 1 <= x -> 0 < sqrt (x / 2) /\ sqrt (x / 2) * sqrt (x / 2) = x / 2) by (intros; split; [apply sqrt_lt_R0|apply sqrt_sqrt]; lra).
  destruct (S c ltac:(lra)) as [s0 ss]. destruct (S c' ltac:(lra)) as [s0' ss'].
  apply Rsqr_incr_0_var; [|apply Rmult_le_pos; [apply pow2_ge_0|now apply Rlt_le, Rinv_0_lt_compat]]. unfold Rsqr.
  replace (M' ^ 2 / sqrt (c' / 2) * (M' ^ 2 / sqrt (c' / 2))) with (M' ^ 4 / (sqrt (c' / 2) * sqrt (c' / 2))) by (field; lra).
  replace (M ^ 2 / sqrt (c / 2) * (M ^ 2 / sqrt (c / 2))) with (M ^ 4 / (sqrt (c / 2) * sqrt (c / 2))) by (field; lra).
  rewrite ss, ss'. replace (M' ^ 4 / (c' / 2)) with (2 * (M' ^ 4 / c')) by (field; lra). replace (M ^ 4 / (c / 2)) with (2 * (M ^ 4 / c)) by (field; lra). lra.
Qed.

(* Theorem G': with at least 2 records, if its condition holds for n it holds for more, and epsilon is not larger. *)
Theorem centred_falls n n' alpha d sigma : 2 <= n < n' -> 1 < alpha -> 0 < d -> 0 < sigma ->
  alpha * (kappa_centred n d sigma / (1 + kappa_centred n d sigma)) < 1 ->
  alpha * (kappa_centred n' d sigma / (1 + kappa_centred n' d sigma)) < 1 /\ eps_bounded_centred n' alpha d sigma <= eps_bounded_centred n alpha d sigma.
Proof.
  intros nn a1 d0 s0 small. assert (L := common_falls n n' sigma nn). destruct nn as [n2 more].
  assert (R := common_range n sigma n2). assert (R' := common_range n' sigma ltac:(lra)).
  unfold eps_bounded_centred. cbv zeta.
  set (k := kappa_centred n d sigma) in *. set (k' := kappa_centred n' d sigma) in *.
  set (u := (n - 1) / n ^ 2 * (d / sigma)). set (u' := (n' - 1) / n' ^ 2 * (d / sigma)).
  assert (ds : 0 < d / sigma) by now apply Rdiv_lt_0_compat.
  assert (u0 : 0 < u' <= u).
  { split; [apply Rmult_lt_0_compat; [apply Rdiv_lt_0_compat; [lra|apply pow_lt; lra]|exact ds]|].
    apply Rmult_le_compat_r; [lra|]. apply Rminus_le.
    replace (_ - _) with (- ((n' - n) * ((n - 1) * (n' - 1) - 1) * / (n ^ 2 * n' ^ 2))) by (field; lra).
    assert (0 <= (n' - n) * ((n - 1) * (n' - 1) - 1) * / (n ^ 2 * n' ^ 2)); [|lra].
    apply Rmult_le_pos; [apply Rmult_le_pos; [lra|nra]|apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; apply pow_lt; lra]. }
  assert (E : k = u * ((1 + common_mean n sigma) ^ 2 / sqrt (1 - (2 - (1 + common_mean n sigma)) ^ 2 / 2))).
  { unfold k, kappa_centred, u. replace (2 - (1 + common_mean n sigma)) with (1 - common_mean n sigma) by ring. unfold Rdiv. ring. }
  assert (E' : k' = u' * ((1 + common_mean n' sigma) ^ 2 / sqrt (1 - (2 - (1 + common_mean n' sigma)) ^ 2 / 2))).
  { unfold k', kappa_centred, u'. replace (2 - (1 + common_mean n' sigma)) with (1 - common_mean n' sigma) by ring. unfold Rdiv. ring. }
  clearbody k k'. replace (1 - common_mean n sigma) with (2 - (1 + common_mean n sigma)) by ring.
  replace (1 - common_mean n' sigma) with (2 - (1 + common_mean n' sigma)) by ring.
  set (M := 1 + common_mean n sigma) in *. set (M' := 1 + common_mean n' sigma) in *.
  assert (mm : 1 <= M' <= M) by (unfold M, M'; lra). assert (m2 : M <= 2) by (unfold M; lra). clearbody M M'.
  assert (G0 : forall x, 1 <= x <= 2 -> 0 < x ^ 2 / sqrt (1 - (2 - x) ^ 2 / 2)).
  { intros x Hx. assert (C := curvature x Hx). apply Rdiv_lt_0_compat; [apply pow_lt; lra|apply sqrt_lt_R0; lra]. }
  assert (G := radius_grows M M' mm m2). assert (g := G0 M ltac:(lra)). assert (g' := G0 M' ltac:(lra)).
  assert (k0 : 0 < k') by (rewrite E'; apply Rmult_lt_0_compat; lra).
  assert (kk : k' <= k) by (rewrite E, E'; apply Rmult_le_compat; lra).
  assert (F := factor_falls alpha a1 k k' (conj k0 kk) small).
  assert (qq : k' / (1 + k') <= k / (1 + k)).
  { apply Rminus_le. replace (_ - _) with (- ((k - k') * / ((1 + k) * (1 + k')))) by (field; lra).
    assert (0 <= (k - k') * / ((1 + k) * (1 + k'))); [|lra]. apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; lra]. }
  destruct (chi_each alpha a1 k ltac:(lra) small) as [half _].
  assert (small' : alpha * (k' / (1 + k')) < 1) by (assert (alpha * (k' / (1 + k')) <= alpha * (k / (1 + k))) by (apply Rmult_le_compat_l; lra); lra).
  destruct (chi_each alpha a1 k' k0 small') as [half' _]. split; [exact small'|].
  set (q := k / (1 + k)) in *. set (q' := k' / (1 + k')) in *.
  fold (larger alpha k) (larger alpha k').
  set (a := alpha * d / (sigma * n ^ 2 * (1 - alpha * q))). set (a' := alpha * d / (sigma * n' ^ 2 * (1 - alpha * q'))).
  set (b := larger alpha k / k ^ 2 * u ^ 2). set (b' := larger alpha k' / k' ^ 2 * u' ^ 2).
  assert (aq : alpha * q' <= alpha * q) by (apply Rmult_le_compat_l; lra).
  assert (ad : 0 < alpha * d) by (apply Rmult_lt_0_compat; lra).
  assert (den : 0 < sigma * n ^ 2 * (1 - alpha * q) <= sigma * n' ^ 2 * (1 - alpha * q')).
  { assert (0 < n ^ 2) by (apply pow_lt; lra). assert (n ^ 2 <= n' ^ 2) by (apply pow_incr; lra).
    assert (0 < sigma * n ^ 2) by (apply Rmult_lt_0_compat; lra).
    split; [apply Rmult_lt_0_compat; lra|]. apply Rmult_le_compat; try lra. apply Rmult_le_compat_l; lra. }
  assert (aa : 0 < a' <= a).
  { split; [apply Rdiv_lt_0_compat; lra|]. apply quotient_falls; lra. }
  assert (bb : 0 < b' <= b).
  { split; [apply Rmult_lt_0_compat; [lra|apply pow_lt; lra]|]. apply Rmult_le_compat; try lra; [apply pow2_ge_0|apply pow_incr; lra]. }
  fold (peak a b M) (peak a' b' M'). fold (both_terms a b M (peak a b M)) (both_terms a' b' M' (peak a' b' M')).
  assert (p02 : 0 <= peak a' b' M' <= 2).
  { unfold peak. split; [|apply Rmin_l]. assert (C := curvature M' ltac:(lra)). apply Rmin_glb; [lra|].
    assert (0 < a' / b') by (apply Rdiv_lt_0_compat; lra). assert (0 <= M' ^ 2) by apply pow2_ge_0.
    apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]. }
  apply Rle_trans with (both_terms a b M (peak a' b' M')); [|apply peak_largest; lra].
  set (p := peak a' b' M') in *. destruct (spread_grows M M' p mm m2 p02) as [S0 S]. unfold both_terms.
  apply Rplus_le_compat; [apply Rmult_le_compat_r; lra|].
  apply Rmult_le_compat; [exact (Rlt_le _ _ (proj1 bb))|exact S0|exact (proj2 bb)|exact S].
Qed.
