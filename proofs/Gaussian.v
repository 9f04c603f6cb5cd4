(* Gaussians on the line: their densities integrate to 1, and the integral behind their Renyi divergence.

   Integrals are improper Riemann integrals. The integral of e^(-x^2/2) is shown to exist; that it is sqrt(2 pi) is not needed.
   Proposition41.v joins this to Proposition 4.1. In lib: accounting/divergence.py, renyi_gaussian. *)
From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
Local Open Scope R_scope.

(* f has the integral I from minus infinity to infinity. *)
Definition line (f : R -> R) (I : R) : Prop := is_RInt_gen f (Rbar_locally m_infty) (Rbar_locally p_infty) I.
(* e^(-x^2/2). *)
Definition bell (x : R) : R := exp (- x ^ 2 / 2).
(* Its integral over the line. *)
Definition area : R := RInt_gen bell (Rbar_locally m_infty) (Rbar_locally p_infty).

Lemma bell_continuous x : continuous bell x.
Proof. unfold bell. apply (ex_derive_continuous (fun x => exp (- x ^ 2 / 2))). auto_derive. exact I. Qed.

Lemma bell_integrable a b : ex_RInt bell a b.
Proof. apply (ex_RInt_continuous bell). intros; apply bell_continuous. Qed.

Lemma bell_le x : bell x <= exp (/ 2 - x).
Proof. unfold bell. destruct (Rle_or_lt (- x ^ 2 / 2) (/ 2 - x)) as [H|H]; [|assert (S := pow2_ge_0 (x - 1)); exfalso; lra].
  destruct H as [H| ->]; [left; now apply exp_increasing|apply Rle_refl]. Qed.

(* From 0 to b. *)
Definition half (b : R) : R := RInt bell 0 b.

Lemma half_grows a b : a <= b -> half a <= half b.
Proof. intros ab. unfold half. rewrite <- (RInt_Chasles bell 0 a b) by apply bell_integrable.
  assert (0 <= RInt bell a b); [|unfold plus; simpl; lra].
  apply RInt_ge_0; [assumption|apply bell_integrable|]. intros; left; apply exp_pos. Qed.

Lemma half_bounded b : half b <= exp (/ 2).
Proof.
  destruct (Rle_or_lt b 0) as [n|p].
  { apply Rle_trans with (half 0); [now apply half_grows|]. unfold half. rewrite RInt_point. left; apply exp_pos. }
  assert (I : is_RInt (fun x => exp (/ 2 - x)) 0 b (exp (/ 2 - 0) - exp (/ 2 - b))).
  { replace (exp (/ 2 - 0) - exp (/ 2 - b)) with (minus (- exp (/ 2 - b)) (- exp (/ 2 - 0))) by (unfold minus, plus, opp; simpl; ring).
    apply (is_RInt_derive (fun x => - exp (/ 2 - x)) (fun x => exp (/ 2 - x))).
    - intros x _. auto_derive; [exact I|unfold Rminus; ring].
    - intros x _. apply (ex_derive_continuous (fun x => exp (/ 2 - x))). auto_derive. exact I. }
  assert (L : half b <= exp (/ 2 - 0) - exp (/ 2 - b)).
  { apply (is_RInt_le bell (fun x => exp (/ 2 - x)) 0 b); [lra|apply (RInt_correct (V := R_CompleteNormedModule)), bell_integrable|exact I|].
    intros x _. apply bell_le. }
  rewrite Rminus_0_r in L. assert (0 < exp (/ 2 - b)) by apply exp_pos. lra.
Qed.

Lemma half_limit : exists l, 0 < l /\ filterlim half (Rbar_locally p_infty) (locally l).
Proof.
  destruct (completeness (fun y => exists b, y = half b)) as [l [up least]].
  { exists (exp (/ 2)). intros y [b ->]. apply half_bounded. }
  { exists (half 0), 0. reflexivity. }
  exists l. split.
  - apply Rlt_le_trans with (half 1); [|apply up; now exists 1]. unfold half.
    apply RInt_gt_0; [lra|intros; apply exp_pos|intros; apply bell_continuous].
  - apply filterlim_locally. intros e.
    assert (near : exists b, l - e < half b).
    { apply Classical_Prop.NNPP. intros no. assert (l <= l - e); [|destruct e as [e e0]; simpl in *; lra].
      apply least. intros y [b ->]. apply Rnot_lt_le. intros H. apply no. now exists b. }
    destruct near as [b B]. exists b. intros x bx. unfold ball; simpl; unfold AbsRing_ball, abs, minus, plus, opp; simpl.
    assert (half b <= half x) by (apply half_grows; lra). assert (half x <= l) by (apply up; now exists x).
    apply Rabs_def1; destruct e as [e e0]; simpl in *; lra.
Qed.

Lemma bell_right : exists l, 0 < l /\ is_RInt_gen bell (at_point 0) (Rbar_locally p_infty) l.
Proof.
  destruct half_limit as [l [l0 L]]. exists l. split; [assumption|].
  intros P HP. destruct (L P HP) as [M HM]. exists (fun x => x = 0) (fun b => M < b); [reflexivity|now exists M|].
  intros a b -> Mb. exists (half b). split; [apply (RInt_correct (V := R_CompleteNormedModule)), bell_integrable|now apply HM].
Qed.

Lemma bell_left l : is_RInt_gen bell (at_point 0) (Rbar_locally p_infty) l -> is_RInt_gen bell (Rbar_locally m_infty) (at_point 0) l.
Proof.
  intros G P HP. destruct (G P HP) as [Q S Q0 [M HM] H]. exists (fun a => a < - M) (fun b => b = 0); [now exists (- M)|reflexivity|].
  intros a b aM ->. destruct (H 0 (- a)) as [y [Hy Py]]; [exact Q0|apply HM; lra|]. exists y. split; [|exact Py]. simpl in *.
  apply is_RInt_swap in Hy. rewrite <- Ropp_0 in Hy. apply (is_RInt_comp_opp bell a 0) in Hy. apply is_RInt_opp in Hy.
  rewrite opp_opp in Hy. apply (is_RInt_ext _ bell) with (2 := Hy). intros x _. rewrite opp_opp. unfold bell. f_equal. field.
Qed.

(* The integral of e^(-x^2/2) over the line exists and is positive. Its value, sqrt(2 pi), is not needed. *)
Theorem bell_integral : 0 < area /\ line bell area.
Proof.
  destruct bell_right as [l [l0 right]]. assert (G := is_RInt_gen_Chasles bell 0 l l (bell_left l right) right).
  replace area with (l + l); [split; [lra|exact G]|]. symmetry. exact (is_RInt_gen_unique (V := R_CompleteNormedModule) bell (l + l) G).
Qed.

(* The same for f(u x + v). *)
Lemma line_affine f I u v : 0 < u -> line f I -> line (fun x => f (u * x + v)) (I / u).
Proof.
  intros u0 G. unfold line in *.
  assert (H : is_RInt_gen (fun y => scal u (f (u * y + v))) (Rbar_locally m_infty) (Rbar_locally p_infty) I).
  { intros P HP. destruct (G P HP) as [Q S [M HM] [N HN] H].
    exists (fun a => Q (u * a + v)) (fun b => S (u * b + v)).
    - exists ((M - v) / u). intros x xM. apply HM. apply (Rmult_lt_compat_r u) in xM; [|assumption].
      unfold Rdiv in xM. rewrite Rmult_assoc, Rinv_l in xM; lra.
    - exists ((N - v) / u). intros x xN. apply HN. apply (Rmult_lt_compat_r u) in xN; [|assumption].
      unfold Rdiv in xN. rewrite Rmult_assoc, Rinv_l in xN; lra.
    - intros a b Qa Sb. destruct (H _ _ Qa Sb) as [y [Hy Py]]. exists y. split; [|exact Py]. now apply (is_RInt_comp_lin f u v a b y). }
  apply (is_RInt_gen_scal _ (/ u)) in H. replace (I / u) with (scal (/ u) I) by (unfold scal; simpl; unfold mult; simpl; field; lra).
  revert H. apply is_RInt_gen_ext. exists (fun _ => True) (fun _ => True); [now exists 0|now exists 0|].
  intros a b _ _ x _. unfold scal; simpl; unfold mult; simpl. field. lra.
Qed.

Lemma line_scale f I k : line f I -> line (fun x => k * f x) (k * I).
Proof. exact (is_RInt_gen_scal f k I). Qed.

Lemma line_ext f g I : (forall x, f x = g x) -> line f I -> line g I.
Proof. intros E. apply is_RInt_gen_ext. exists (fun _ => True) (fun _ => True); [now exists 0|now exists 0|]. intros; apply E. Qed.

(* The density at x of a Gaussian with mean m and variance v. *)
Definition density (m v x : R) : R := exp (- (x - m) ^ 2 / (2 * v)) / (sqrt v * area).

(* A Gaussian's density integrates to 1. *)
Theorem density_integrates m v : 0 < v -> line (density m v) 1.
Proof.
  intros v0. assert (s0 := sqrt_lt_R0 v v0). destruct bell_integral as [Z0 B].
  assert (u0 : 0 < / sqrt v) by now apply Rinv_0_lt_compat.
  assert (A := line_scale _ _ (/ (sqrt v * area)) (line_affine bell area (/ sqrt v) (- m / sqrt v) u0 B)).
  replace (/ (sqrt v * area) * (area / / sqrt v)) with 1 in A by (field; lra).
  revert A. apply line_ext. intros x. unfold density, bell.
  replace (- (x - m) ^ 2 / (2 * v)) with (- (/ sqrt v * x + - m / sqrt v) ^ 2 / 2); [unfold Rdiv; ring|].
  assert (E := sqrt_sqrt v (Rlt_le _ _ v0)). clear - s0 E. set (s := sqrt v) in *. clearbody s. subst v. field. lra.
Qed.

Lemma density_pos m v x : 0 < v -> 0 < density m v x.
Proof.
  intros v0. destruct bell_integral as [Z0 _]. apply Rdiv_lt_0_compat; [apply exp_pos|].
  apply Rmult_lt_0_compat; [now apply sqrt_lt_R0|assumption].
Qed.

Lemma ln_density m v x : 0 < v -> ln (density m v x) = - (x - m) ^ 2 / (2 * v) - ln v / 2 - ln area.
Proof.
  intros v0. destruct bell_integral as [Z0 _]. assert (s0 := sqrt_lt_R0 v v0). unfold density.
  rewrite ln_div, ln_exp, ln_mult; try assumption; [|apply exp_pos|now apply Rmult_lt_0_compat].
  rewrite <- Rpower_sqrt by assumption. unfold Rpower. rewrite ln_exp. lra.
Qed.

(* p^alpha q^(1 - alpha), whose integral is exp((alpha - 1) D_alpha(p || q)). *)
Definition product (alpha : R) (p q : R -> R) (x : R) : R := Rpower (p x) alpha * Rpower (q x) (1 - alpha).

(* Proposition 4.1 at d = 1: means m1 and m2, variances v1 and v2. *)
Definition closed_form_1 (alpha m1 v1 m2 v2 : R) : R :=
  let c := (1 - alpha) * v1 + alpha * v2 in
  alpha / 2 * ((m1 - m2) * (/ c * (m1 - m2))) - / (2 * (alpha - 1)) * (ln c - (1 - alpha) * ln v1 - alpha * ln v2).

(* The square completed: the product is the density of a third Gaussian, times a constant. *)
Lemma product_density alpha m1 v1 m2 v2 x : let c := (1 - alpha) * v1 + alpha * v2 in 1 < alpha -> 0 < v1 -> 0 < v2 -> 0 < c ->
  product alpha (density m1 v1) (density m2 v2) x
  = exp ((alpha - 1) * closed_form_1 alpha m1 v1 m2 v2) * density ((alpha * m1 * v2 + (1 - alpha) * m2 * v1) / c) (v1 * v2 / c) x.
Proof.
  intros c a1 v10 v20 c0. assert (w0 : 0 < v1 * v2 / c) by (apply Rdiv_lt_0_compat; [now apply Rmult_lt_0_compat|assumption]).
  rewrite <- (exp_ln (density (_ / c) _ x)) by now apply density_pos. rewrite ln_density by assumption.
  unfold product, Rpower. rewrite <- !exp_plus. f_equal. rewrite !ln_density by assumption.
  rewrite ln_div, ln_mult by (try assumption; now apply Rmult_lt_0_compat).
  unfold closed_form_1. fold c. generalize (ln c) (ln v1) (ln v2) (ln area). unfold c in *. intros. field. repeat split; lra.
Qed.

(* If (1 - alpha) v1 + alpha v2 > 0, the integral of p^alpha q^(1 - alpha) is the exponential of alpha - 1 times the closed form. *)
Lemma product_integral alpha m1 v1 m2 v2 : 1 < alpha -> 0 < v1 -> 0 < v2 -> 0 < (1 - alpha) * v1 + alpha * v2 ->
  line (product alpha (density m1 v1) (density m2 v2)) (exp ((alpha - 1) * closed_form_1 alpha m1 v1 m2 v2)).
Proof.
  intros a1 v10 v20 c0. rewrite <- (Rmult_1_r (exp _)).
  assert (w0 : 0 < v1 * v2 / ((1 - alpha) * v1 + alpha * v2)) by (apply Rdiv_lt_0_compat; [now apply Rmult_lt_0_compat|assumption]).
  eapply line_ext; [|apply line_scale, density_integrates, w0]. intros x. symmetry. now apply product_density.
Qed.

(* The integral of f over longer and longer intervals grows beyond each number. *)
Definition infinite (f : R -> R) : Prop :=
  filterlim (fun ab => RInt f (fst ab) (snd ab)) (filter_prod (Rbar_locally m_infty) (Rbar_locally p_infty)) (Rbar_locally p_infty).

(* It does if f is positive and on one side of 0 at least h > 0. *)
Lemma infinite_beside f h : (forall x, continuous f x) -> (forall x, 0 < f x) -> 0 < h ->
  (forall x, 0 <= x -> h <= f x) \/ (forall x, x <= 0 -> h <= f x) -> infinite f.
Proof.
  intros C P h0 side Q [M HM].
  assert (F : forall a b, ex_RInt f a b) by (intros; apply (ex_RInt_continuous f); intros; apply C).
  assert (G : forall a b, a <= b -> 0 <= RInt f a b) by (intros; apply RInt_ge_0; [assumption|apply F|intros; left; apply P]).
  assert (L : forall a b, a <= b -> (forall x, a < x < b -> h <= f x) -> (b - a) * h <= RInt f a b).
  { intros a b ab H. apply (is_RInt_le (fun _ => h) f a b); [assumption|apply (is_RInt_const a b h)| |exact H].
    apply (RInt_correct (V := R_CompleteNormedModule)), F. }
  set (r := Rmax 0 (M / h)). assert (r0 : 0 <= r) by apply Rmax_l.
  assert (rM : M <= r * h).
  { apply (Rmult_le_reg_r (/ h)); [now apply Rinv_0_lt_compat|]. rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra. apply Rmax_r. }
  exists (fun a => a < - r) (fun b => r < b); [now exists (- r)|now exists r|]. intros a b ar rb. apply HM. simpl.
  rewrite <- (RInt_Chasles f a 0 b) by apply F. unfold plus; simpl.
  assert (I1 := G a 0). assert (I2 := G 0 b).
  destruct side as [S|S].
  - assert (K : (b - 0) * h <= RInt f 0 b) by (apply L; [lra|intros; apply S; lra]).
    assert (r * h < b * h) by (apply Rmult_lt_compat_r; lra). lra.
  - assert (K : (0 - a) * h <= RInt f a 0) by (apply L; [lra|intros; apply S; lra]).
    assert (r * h < - a * h) by (apply Rmult_lt_compat_r; lra). lra.
Qed.

(* If (1 - alpha) v1 + alpha v2 <= 0, the integral of p^alpha q^(1 - alpha) is infinite. *)
Lemma product_infinite alpha m1 v1 m2 v2 : 1 < alpha -> 0 < v1 -> 0 < v2 -> (1 - alpha) * v1 + alpha * v2 <= 0 ->
  infinite (product alpha (density m1 v1) (density m2 v2)).
Proof.
  intros a1 v10 v20 c0.
  set (a := - ((1 - alpha) * v1 + alpha * v2) / (2 * v1 * v2)).
  set (b := alpha * m1 / v1 + (1 - alpha) * m2 / v2).
  set (k := alpha * (- m1 ^ 2 / (2 * v1) - ln v1 / 2 - ln area) + (1 - alpha) * (- m2 ^ 2 / (2 * v2) - ln v2 / 2 - ln area)).
  assert (a0 : 0 <= a).
  { apply Rmult_le_pos; [lra|]. left. apply Rinv_0_lt_compat. repeat apply Rmult_lt_0_compat; lra. }
  assert (E : forall x, exp (a * x ^ 2 + b * x + k) = product alpha (density m1 v1) (density m2 v2) x).
  { intros x. unfold product, Rpower. rewrite <- exp_plus, !ln_density by assumption. f_equal. unfold a, b, k. field. lra. }
  assert (A : infinite (fun x => exp (a * x ^ 2 + b * x + k))).
  { apply (infinite_beside _ (exp k)).
    - intros x. apply (ex_derive_continuous (fun x => exp (a * x ^ 2 + b * x + k))). auto_derive. exact I.
    - intros; apply exp_pos.
    - apply exp_pos.
    - assert (up : forall x, 0 <= b * x -> exp k <= exp (a * x ^ 2 + b * x + k)).
      { intros x bx. assert (0 <= a * x ^ 2) by (apply Rmult_le_pos; [assumption|apply pow2_ge_0]).
        destruct (Rle_lt_or_eq_dec k (a * x ^ 2 + b * x + k)) as [l|<-]; [lra|left; now apply exp_increasing|apply Rle_refl]. }
      destruct (Rle_or_lt 0 b); [left|right]; intros x x0; apply up; nra. }
  unfold infinite in *. revert A. apply filterlim_ext. intros [u v]. simpl. apply RInt_ext. intros; apply E.
Qed.
