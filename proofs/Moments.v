(* Renyi divergence of laws on finitely many outcomes, some of which may be impossible, and the (eps, delta) that it implies.

   In lib: accounting/conversions.py, rdp_to_dp and rdp_to_delta. *)
From Coq Require Import Reals Lra List.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Finite WeakTriangle Approximate.
Import ListNotations.
Local Open Scope R_scope.

(* x^a for x >= 0. (Rpower 0 a is 1 in Coq's library.) *)
Definition power (x a : R) : R := if Rlt_dec 0 x then Rpower x a else 0.

(* The mean of (P/Q)^alpha under Q: e to the (alpha - 1) D_alpha(P || Q). *)
Definition moment {A} (outcomes : list A) (alpha : R) (P Q : A -> R) : R := sum outcomes (fun a => Q a * power (P a / Q a) alpha).

(* Each outcome that is impossible under Q is impossible under P. *)
Definition dominated {A} (outcomes : list A) (P Q : A -> R) : Prop := forall a, In a outcomes -> Q a = 0 -> P a = 0.

(* D_alpha(P || Q) <= eps: where Q is 0 so is P, and the moment is at most e^((alpha - 1) eps). *)
Definition renyi_within {A} (outcomes : list A) (alpha eps : R) (P Q : A -> R) : Prop :=
  dominated outcomes P Q /\ moment outcomes alpha P Q <= exp ((alpha - 1) * eps).

Lemma power_pos x a : 0 < x -> power x a = Rpower x a.
Proof. intros H. unfold power. destruct (Rlt_dec 0 x); [reflexivity|contradiction]. Qed.
Lemma power_0 a : power 0 a = 0.
Proof. unfold power. destruct (Rlt_dec 0 0); [lra|reflexivity]. Qed.
Lemma power_nonneg x a : 0 <= power x a.
Proof. unfold power. destruct (Rlt_dec 0 x); [apply Rlt_le, exp_pos|lra]. Qed.
Lemma power_1 a : power 1 a = 1.
Proof. rewrite power_pos by lra. unfold Rpower. rewrite ln_1, Rmult_0_r. apply exp_0. Qed.
Lemma power_mult x y a : 0 <= x -> 0 <= y -> power (x * y) a = power x a * power y a.
Proof.
  intros [Hx|<-] [Hy|<-]; rewrite ?Rmult_0_l, ?Rmult_0_r, ?power_0, ?Rmult_0_l, ?Rmult_0_r; try reflexivity.
  rewrite !power_pos, Rpower_mult_distr; auto. now apply Rmult_lt_0_compat.
Qed.

(* If all outcomes are possible, renyi_within(alpha, eps) says that the divergence of Definition 2.2 is at most eps. *)
Theorem renyi_within_positive {A} (l : list A) alpha eps P Q : 1 < alpha -> positive_law l P -> positive_law l Q ->
  (renyi_within l alpha eps P Q <-> renyi l alpha P Q <= eps).
Proof.
  intros a1 [lP pP] [lQ pQ].
  assert (E : moment l alpha P Q = sum l (fun a => Rpower (P a) alpha * Rpower (Q a) (1 - alpha))).
  { apply sum_ext. intros a Ha. assert (p := pP a Ha). assert (q := pQ a Ha). rewrite power_pos by now apply Rdiv_lt_0_compat.
    unfold Rpower. rewrite <- exp_plus. rewrite <- (exp_ln (Q a)) at 1 by assumption. rewrite <- exp_plus. f_equal.
    unfold Rdiv. rewrite ln_mult, ln_Rinv by (auto using Rinv_0_lt_compat). ring. }
  assert (M : 0 < moment l alpha P Q).
  { destruct l as [|a m]; [destruct lP as [_ H]; simpl in H; lra|].
    apply Rlt_le_trans with (Q a * power (P a / Q a) alpha).
    - apply Rmult_lt_0_compat; [apply pQ; now left|]. rewrite power_pos; [apply exp_pos|]. apply Rdiv_lt_0_compat; [apply pP|apply pQ]; now left.
    - apply (sum_single (a :: m) (fun a => Q a * power (P a / Q a) alpha)); [now left|]. intros b Hb. apply Rmult_le_pos; [apply Rlt_le; auto|apply power_nonneg]. }
  unfold renyi. rewrite <- E. split.
  - intros [_ H]. apply (Rmult_le_reg_l (alpha - 1)); [lra|]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    rewrite <- (ln_exp ((alpha - 1) * eps)). now apply ln_le.
  - intros H. split; [intros a Ha q0; specialize (pQ a Ha); lra|]. rewrite <- (exp_ln (moment l alpha P Q)) by assumption.
    assert (G : ln (moment l alpha P Q) <= (alpha - 1) * eps).
    { apply (Rmult_le_reg_l (/ (alpha - 1))); [apply Rinv_0_lt_compat; lra|]. rewrite <- (Rmult_assoc _ (alpha - 1)), Rinv_l by lra. lra. }
    destruct G as [G|G]; [left; now apply exp_increasing|right; now rewrite G].
Qed.

(* ------------------------------------------------------------------ the tangent of a power *)

Lemma exp_minus x y : exp (x - y) = exp x / exp y.
Proof. unfold Rminus. rewrite exp_plus, exp_Ropp. reflexivity. Qed.

Lemma ln_below x : 0 < x -> ln x <= x - 1.
Proof. intros H. assert (E := exp_ineq1_le (ln x)). rewrite exp_ln in E by assumption. lra. Qed.

(* Bernoulli's inequality for real exponents. *)
Lemma bernoulli y alpha : 1 < alpha -> 0 <= y -> 1 + alpha * (y - 1) <= power y alpha.
Proof.
  intros a1 y0. destruct (Rle_or_lt (1 + alpha * (y - 1)) 0) as [H|H]; [assert (N := power_nonneg y alpha); lra|].
  assert (yp : 0 < y) by nra. rewrite power_pos by assumption. set (u := 1 + alpha * (y - 1)) in *.
  assert (H1 := ln_below (/ y) (Rinv_0_lt_compat _ yp)). rewrite ln_Rinv in H1 by assumption.
  assert (H2 := ln_below (u / y) (Rdiv_lt_0_compat _ _ H yp)).
  assert (F : ln (u / y) = ln u - ln y) by (unfold Rdiv; rewrite ln_mult, ln_Rinv by (auto using Rinv_0_lt_compat); ring). rewrite F in H2.
  assert (G : ln u <= alpha * ln y).
  { replace (u / y) with (alpha - (alpha - 1) * / y) in H2 by (unfold u; field; lra). nra. }
  unfold Rpower. rewrite <- (exp_ln u) by assumption. destruct G as [G|G]; [left; now apply exp_increasing|right; now rewrite G].
Qed.

(* The tangent at x0 lies below x^alpha. *)
Lemma tangent x x0 alpha : 1 < alpha -> 0 <= x -> 0 < x0 -> power x0 alpha * (1 + alpha * (x / x0 - 1)) <= power x alpha.
Proof.
  intros a1 Hx H0. replace x with (x0 * (x / x0)) at 2 by (field; lra).
  assert (0 <= x / x0) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; assumption]).
  rewrite power_mult by lra. apply Rmult_le_compat_l; [apply power_nonneg|]. now apply bernoulli.
Qed.

(* The line x - t touches c x^alpha. *)
Lemma touching t x alpha : 1 < alpha -> 0 < t -> 0 <= x ->
  x - t <= Rpower (1 - / alpha) alpha / (alpha - 1) * Rpower t (1 - alpha) * power x alpha.
Proof.
  intros a1 t0 Hx. set (x0 := t / (1 - / alpha)).
  assert (i : 0 < / alpha < 1) by (split; [apply Rinv_0_lt_compat; lra|rewrite <- Rinv_1; apply Rinv_lt_contravar; lra]).
  assert (x00 : 0 < x0) by (apply Rdiv_lt_0_compat; lra).
  assert (T := tangent x x0 alpha a1 Hx x00).
  set (c := Rpower (1 - / alpha) alpha / (alpha - 1) * Rpower t (1 - alpha)).
  assert (c0 : 0 <= c).
  { apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rlt_le, exp_pos|apply Rlt_le, Rinv_0_lt_compat; lra]|apply Rlt_le, exp_pos]. }
  apply Rle_trans with (c * (power x0 alpha * (1 + alpha * (x / x0 - 1)))); [|now apply Rmult_le_compat_l].
  apply Req_le. assert (E : c * power x0 alpha = t / (alpha - 1)).
  { unfold c, x0. replace t with ((1 - / alpha) * (t / (1 - / alpha))) at 1 by (field; split; lra).
    rewrite <- Rpower_mult_distr; [|lra|assumption].
    fold x0. rewrite (power_pos x0) by lra. unfold Rpower.
    replace ((1 - alpha) * ln (1 - / alpha)) with (ln (1 - / alpha) - alpha * ln (1 - / alpha)) by ring.
    replace ((1 - alpha) * ln x0) with (ln x0 - alpha * ln x0) by ring.
    rewrite !exp_minus, !exp_ln by lra.
    unfold x0 at 1. field. repeat split; try lra; apply Rgt_not_eq, exp_pos. }
  rewrite <- Rmult_assoc, E. unfold x0. field. repeat split; lra.
Qed.

(* ------------------------------------------------------------------ Renyi to (eps, delta) *)

(* The delta at a given eps: Canonne, Kamath and Steinke 2020, Proposition 12. *)
Definition delta_at (alpha cost eps : R) : R := Rpower (1 - / alpha) alpha / (alpha - 1) * exp ((alpha - 1) * (cost - eps)).

Section Conversion.
Variables (A : Type) (l : list A) (P Q : A -> R) (alpha cost : R).
Hypotheses (lP : law l P) (lQ : law l Q) (a1 : 1 < alpha) (H : renyi_within l alpha cost P Q).

(* A pair whose divergence of order alpha is at most cost is (eps, delta)-close for each eps, with this delta. *)
Theorem renyi_delta eps : close l eps (delta_at alpha cost eps) P Q.
Proof using lP lQ a1 H.
  destruct H as [dom mom]. apply close_excess. unfold excess.
  set (c := Rpower (1 - / alpha) alpha / (alpha - 1) * Rpower (exp eps) (1 - alpha)).
  assert (c0 : 0 <= c).
  { apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rlt_le, exp_pos|apply Rlt_le, Rinv_0_lt_compat; lra]|apply Rlt_le, exp_pos]. }
  apply Rle_trans with (sum l (fun a => c * (Q a * power (P a / Q a) alpha))).
  - apply sum_le. intros a Ha. destruct lP as [p0 _], lQ as [q0 _]. specialize (p0 a Ha). specialize (q0 a Ha).
    apply Rmax_lub; [apply Rmult_le_pos; [exact c0|apply Rmult_le_pos; [exact q0|apply power_nonneg]]|].
    destruct q0 as [q0|q0].
    + assert (r0 : 0 <= P a / Q a) by (apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; assumption]).
      assert (T := touching (exp eps) (P a / Q a) alpha a1 (exp_pos eps) r0). fold c in T.
      replace (P a - exp eps * Q a) with (Q a * (P a / Q a - exp eps)) by (field; lra).
      replace (c * (Q a * power (P a / Q a) alpha)) with (Q a * (c * power (P a / Q a) alpha)) by ring. apply Rmult_le_compat_l; lra.
    + rewrite (dom a Ha (eq_sym q0)), <- q0. lra.
  - rewrite sum_scale. apply Rle_trans with (c * exp ((alpha - 1) * cost)); [now apply Rmult_le_compat_l|].
    apply Req_le. unfold c, delta_at. unfold Rpower. rewrite ln_exp, Rmult_assoc, <- exp_plus. do 2 f_equal. ring.
Qed.

(* The eps at a given delta: the same proposition, solved for eps. *)
Theorem renyi_eps delta : 0 < delta -> close l (cost + ln ((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1)) delta P Q.
Proof using lP lQ a1 H.
  intros d0. set (eps := _ - _ : R). assert (G := renyi_delta eps).
  replace delta with (delta_at alpha cost eps); [exact G|]. unfold delta_at, eps.
  assert (i : 0 < (alpha - 1) / alpha) by (apply Rdiv_lt_0_compat; lra).
  replace (1 - / alpha) with ((alpha - 1) / alpha) by (field; lra). unfold Rpower.
  replace ((alpha - 1) * (cost - (cost + ln ((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1))))
    with (ln ((alpha - 1) / alpha) - alpha * ln ((alpha - 1) / alpha) + ln delta + ln alpha) by (field; lra).
  rewrite !exp_plus, exp_minus, !exp_ln by lra. field. repeat split; try lra. apply Rgt_not_eq, exp_pos.
Qed.

(* The eps at a given delta that Mironov 2017, Proposition 3 prints. It is never smaller. *)
Theorem renyi_eps_mironov delta : 0 < delta -> close l (cost + ln (/ delta) / (alpha - 1)) delta P Q.
Proof using lP lQ a1 H.
  intros d0. eapply close_weaker; [apply lQ| |apply Rle_refl|apply renyi_eps; exact d0].
  rewrite ln_Rinv by assumption. assert (0 <= ln alpha) by (rewrite <- ln_1; apply ln_le; lra).
  assert (B := ln_below ((alpha - 1) / alpha)). assert (i : 0 < / alpha) by (apply Rinv_0_lt_compat; lra).
  assert (E : (alpha - 1) / alpha = 1 - / alpha) by (field; lra).
  assert (0 <= / (alpha - 1)) by (apply Rlt_le, Rinv_0_lt_compat; lra).
  assert (ln ((alpha - 1) / alpha) <= 0).
  { rewrite E in *. apply Rle_trans with (1 - / alpha - 1); [|lra]. apply B. assert (/ alpha < 1) by (rewrite <- Rinv_1; apply Rinv_lt_contravar; lra). lra. }
  unfold Rdiv. rewrite Rmult_plus_distr_r. assert (0 <= ln alpha * / (alpha - 1)) by (apply Rmult_le_pos; assumption). lra.
Qed.
End Conversion.

(* ------------------------------------------------------------------ post-processing of the divergence *)

(* Post-processing: a randomized map K of the output, which does not read the data, does not increase the divergence. *)
Theorem renyi_post {A B} (l : list A) (m : list B) K alpha cost P Q : 1 < alpha -> law l P -> law l Q ->
  channel l m K -> renyi_within l alpha cost P Q -> renyi_within m alpha cost (image l K P) (image l K Q).
Proof.
  intros a1 [p0 _] [q0 _] C [dom mom].
  assert (k0 : forall a b, In a l -> In b m -> 0 <= K a b) by (intros a b Ha Hb; now apply (C a Ha)).
  assert (dom' : dominated m (image l K P) (image l K Q)).
  { intros b Hb Z. unfold image in *. transitivity (sum l (fun a => 0 * 0)); [|rewrite sum_scale; ring]. apply sum_ext. intros a Ha.
    assert (S : Q a * K a b <= 0).
    { rewrite <- Z. apply (sum_single l (fun a => Q a * K a b)); [exact Ha|]. intros c Hc. apply Rmult_le_pos; auto. }
    destruct (q0 a Ha) as [q|q].
    - assert (k := k0 a b Ha Hb). assert (K a b = 0) by nra. rewrite H. ring.
    - rewrite (dom a Ha (eq_sym q)). ring. }
  split; [exact dom'|]. apply Rle_trans with (2 := mom). unfold moment.
  rewrite <- (image_sum l m K (fun a => Q a * power (P a / Q a) alpha) C). apply sum_le. intros b Hb.
  assert (qb : 0 <= image l K Q b) by (apply sum_nonneg; intros a Ha; apply Rmult_le_pos; auto).
  assert (pb : 0 <= image l K P b) by (apply sum_nonneg; intros a Ha; apply Rmult_le_pos; auto).
  assert (R0 : 0 <= image l K (fun a => Q a * power (P a / Q a) alpha) b).
  { apply sum_nonneg. intros a Ha. apply Rmult_le_pos; [apply Rmult_le_pos; [auto|apply power_nonneg]|auto]. }
  destruct qb as [qb|qb]; [|rewrite <- qb, Rmult_0_l; exact R0].
  destruct pb as [pb|pb]; [|rewrite <- pb; unfold Rdiv at 1; rewrite Rmult_0_l, power_0, Rmult_0_r; exact R0].
  set (x0 := image l K P b / image l K Q b). assert (x00 : 0 < x0) by now apply Rdiv_lt_0_compat.
  apply Rle_trans with (sum l (fun a => power x0 alpha * ((1 - alpha) * (Q a * K a b) + alpha / x0 * (P a * K a b)))).
  - rewrite sum_scale, sum_plus, !sum_scale. fold (image l K Q b) (image l K P b). apply Req_le. unfold x0. field. split; lra.
  - unfold image. apply sum_le. intros a Ha. assert (k := k0 a b Ha Hb). destruct (q0 a Ha) as [q|q].
    + assert (r0 : 0 <= P a / Q a) by (apply Rmult_le_pos; [auto|apply Rlt_le, Rinv_0_lt_compat; assumption]).
      assert (T := tangent (P a / Q a) x0 alpha a1 r0 x00).
      replace (power x0 alpha * ((1 - alpha) * (Q a * K a b) + alpha / x0 * (P a * K a b)))
        with (Q a * K a b * (power x0 alpha * (1 + alpha * (P a / Q a / x0 - 1)))) by (field; split; lra).
      replace (Q a * power (P a / Q a) alpha * K a b) with (Q a * K a b * power (P a / Q a) alpha) by ring.
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact T].
    + rewrite (dom a Ha (eq_sym q)), <- q. lra.
Qed.
