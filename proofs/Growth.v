(* miura2022, "larger data sets are safer": the epsilons of Theorems 3.1 and 3.2, and of A, B and G, fall as the number of records grows. *)
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Formulas Psi Scalars.
Local Open Scope R_scope.

(* What grows and stays positive has an inverse that falls. *)
Lemma over_falls c x y : 0 < c -> 0 < x -> x < y -> c / y < c / x.
Proof. intros c0 x0 xy. apply Rmult_lt_compat_l; [assumption|]. apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; lra|assumption]. Qed.

Section Growth.
Variable a : R.
Hypothesis a1 : 1 < a.

(* kappa of n >= 2 records falls. *)
Lemma kappa_falls n m d sigma : 0 < d -> 0 < sigma -> 2 <= n < m -> 0 < (m - 1) * tau d sigma / m ^ 2 < (n - 1) * tau d sigma / n ^ 2.
Proof using.
  intros d0 s0 [n2 nm]. assert (t0 : 0 < tau d sigma) by (apply Rdiv_lt_0_compat; lra). set (t := tau d sigma) in *.
  split; [apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|apply pow_lt; lra]|].
  apply Rminus_gt_0_lt. replace (_ - _) with (t * (m - n) * ((m - 1) * (n - 1) - 1) / (n ^ 2 * m ^ 2)) by (field; lra).
  apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat; apply pow_lt; lra]. apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; lra|nra].
Qed.

(* So does the term of the means, with kappa or with what falls as it does. *)
Lemma means_fall n m t k l : 0 < t -> 2 <= n < m -> a * k < 1 -> l < k -> t / (m ^ 2 * (1 - a * l)) < t / (n ^ 2 * (1 - a * k)).
Proof using a1.
  intros t0 [n2 nm] C lk. assert (alk : a * l < a * k) by (apply Rmult_lt_compat_l; lra).
  assert (nn : n ^ 2 < m ^ 2) by nra. assert (n0 : 0 < n ^ 2) by (apply pow_lt; lra).
  apply over_falls; [assumption|apply Rmult_lt_0_compat; lra|]. apply Rmult_le_0_lt_compat; lra.
Qed.

(* Theorem 3.2: with at least 2 records, where the condition alpha kappa < 1 holds for n it holds for more, and epsilon is smaller. *)
Theorem bounded_falls n m d sigma : 0 < d -> 0 < sigma -> 2 <= n < m -> a * ((n - 1) * tau d sigma / n ^ 2) < 1 ->
  a * ((m - 1) * tau d sigma / m ^ 2) < 1 /\ eps_bounded m a d sigma < eps_bounded n a d sigma.
Proof using a1.
  intros d0 s0 nm C. destruct (kappa_falls n m d sigma d0 s0 nm) as [l0 lk].
  assert (t0 : 0 < tau d sigma) by (apply Rdiv_lt_0_compat; lra). assert (M := means_fall n m (tau d sigma) _ _ t0 nm C lk).
  unfold eps_bounded. set (t := tau d sigma) in *. set (k := (n - 1) * t / n ^ 2) in *. set (l := (m - 1) * t / m ^ 2) in *.
  assert (alk : a * l < a * k) by (apply Rmult_lt_compat_l; lra). split; [lra|].
  assert (al0 : 0 < a * l) by (apply Rmult_lt_0_compat; lra).
  assert (L1 : ln (1 + l) < ln (1 + k)) by (apply ln_increasing; lra).
  assert (L2 : ln (1 - a * k) < ln (1 - a * l)) by (apply ln_increasing; lra).
  apply Rplus_lt_compat; [apply Rmult_lt_compat_l; lra|].
  apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; lra|]. assert (a * ln (1 + l) < a * ln (1 + k)) by (apply Rmult_lt_compat_l; lra). lra.
Qed.

(* Theorem A: with at least 2 records, where its condition holds for n it holds for more, and epsilon is smaller. *)
Theorem tight_falls n m d sigma : 0 < d -> 0 < sigma -> 2 <= n < m -> a * ((n - 1) * tau d sigma / n ^ 2) < 1 ->
  a * ((m - 1) * tau d sigma / m ^ 2) < 1 /\ eps_bounded_tight m a d sigma < eps_bounded_tight n a d sigma.
Proof using a1.
  intros d0 s0 nm C. destruct (kappa_falls n m d sigma d0 s0 nm) as [l0 lk].
  assert (t0 : 0 < tau d sigma) by (apply Rdiv_lt_0_compat; lra). assert (M := means_fall n m (tau d sigma) _ _ t0 nm C lk).
  unfold eps_bounded_tight. set (t := tau d sigma) in *.
  replace (n ^ 2 - a * (n - 1) * t) with (n ^ 2 * (1 - a * ((n - 1) * t / n ^ 2))) by (field; lra).
  replace (m ^ 2 - a * (m - 1) * t) with (m ^ 2 * (1 - a * ((m - 1) * t / m ^ 2))) by (field; lra).
  set (k := (n - 1) * t / n ^ 2) in *. set (l := (m - 1) * t / m ^ 2) in *.
  assert (alk : a * l < a * k) by (apply Rmult_lt_compat_l; lra). split; [lra|].
  assert (P : psi a l < psi a k) by (apply psi_increasing; lra). assert (Q : psi a (- l) < psi a (- k)) by (apply psi_decreasing; lra).
  apply Rplus_lt_compat; [apply Rmult_lt_compat_l; lra|lra].
Qed.

(* Theorem B: with at least 2 records, where its condition holds for n it holds for more, and epsilon is smaller. *)
Theorem joint_falls n m d sigma : 0 < d -> 0 < sigma -> 2 <= n < m -> a * ((n - 1) * tau d sigma / n ^ 2) < 1 ->
  a * ((m - 1) * tau d sigma / m ^ 2) < 1 /\ eps_bounded_joint m a d sigma < eps_bounded_joint n a d sigma.
Proof using a1.
  intros d0 s0 nm C. destruct (kappa_falls n m d sigma d0 s0 nm) as [l0 lk].
  assert (t0 : 0 < tau d sigma) by (apply Rdiv_lt_0_compat; lra). assert (M := means_fall n m (tau d sigma) _ _ t0 nm C lk).
  unfold eps_bounded_joint. set (t := tau d sigma) in *.
  replace (n ^ 2 - a * (n - 1) * t) with (n ^ 2 * (1 - a * ((n - 1) * t / n ^ 2))) by (field; lra).
  replace (m ^ 2 - a * (m - 1) * t) with (m ^ 2 * (1 - a * ((m - 1) * t / m ^ 2))) by (field; lra).
  set (k := (n - 1) * t / n ^ 2) in *. set (l := (m - 1) * t / m ^ 2) in *.
  assert (alk : a * l < a * k) by (apply Rmult_lt_compat_l; lra). split; [lra|].
  assert (Q : psi a (- l) < psi a (- k)) by (apply psi_decreasing; lra).
  apply Rplus_lt_compat; [apply Rmult_lt_compat_l; lra|lra].
Qed.

(* The printed minimum, through psi. *)
Lemma printed_psi B d q far : 0 < 1 + a * (q - 1) -> 0 < 1 + a * (far - 1) ->
  B + d * psi a (q - 1) / 2 - / (2 * (a - 1)) * ln (Rmin 1 (((1 + a * (far - 1)) / (1 + a * (q - 1))) / Rpower (far / q) a))
  = B + (d - 1) * psi a (q - 1) / 2 + Rmax (psi a (q - 1)) (psi a (far - 1)) / 2.
Proof using a1.
  intros Hq Hf. assert (Hq' := dom_weaker a a1 _ Hq). assert (Hf' := dom_weaker a a1 _ Hf).
  assert (M : - / (2 * (a - 1)) * ln (Rmin 1 (((1 + a * (far - 1)) / (1 + a * (q - 1))) / Rpower (far / q) a))
    = Rmax 0 ((psi a (far - 1) - psi a (q - 1)) / 2)).
  { rewrite <- ratio_psi by assumption. apply neg_ln_min.
    - replace (far / q) with ((1 + (far - 1)) / (1 + (q - 1))) by (f_equal; ring).
      apply Rdiv_lt_0_compat; [now apply Rdiv_lt_0_compat|apply exp_pos].
    - apply Rinv_0_lt_compat; lra. }
  replace (_ - _) with (B + d * psi a (q - 1) / 2 + Rmax 0 ((psi a (far - 1) - psi a (q - 1)) / 2)) by lra.
  unfold Rmax. destruct (Rle_dec (psi a (q - 1)) (psi a (far - 1))), (Rle_dec 0 ((psi a (far - 1) - psi a (q - 1)) / 2)); lra.
Qed.

Lemma added_psi n d t : 0 < n -> 0 < t -> a < n + 1 ->
  eps_added n a d t = a / 2 * (t / ((n + 1) * (n + 1 - a))) + (d - 1) * psi a (- / (n + 1)) / 2
    + Rmax (psi a (- / (n + 1))) (psi a ((n * t - (n + 1)) / (n + 1) ^ 2)) / 2.
Proof using a1.
  intros n0 t0 an.
  assert (Q : 0 < 1 + a * (n / (n + 1) - 1)).
  { replace (1 + a * (n / (n + 1) - 1)) with ((n + 1 - a) / (n + 1)) by (field; lra). apply Rdiv_lt_0_compat; lra. }
  set (far := n / (n + 1) + n * t / (n + 1) ^ 2).
  assert (F : n / (n + 1) <= far).
  { unfold far. assert (0 < n * t / (n + 1) ^ 2) by (apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|apply pow_lt; lra]). lra. }
  assert (Qf : 0 < 1 + a * (far - 1)) by (apply (dom_up a a1 (n / (n + 1) - 1)); lra).
  replace (- / (n + 1)) with (n / (n + 1) - 1) by (field; lra).
  replace ((n * t - (n + 1)) / (n + 1) ^ 2) with (far - 1) by (unfold far; field; lra).
  rewrite <- printed_psi by assumption. unfold eps_added.
  replace ((1 + a * (far - 1)) / (1 + a * (n / (n + 1) - 1))) with (1 + a * (n * t / ((n + 1) * (n + 1 - a)))) by (unfold far; field; lra).
  replace (far / (n / (n + 1))) with (1 + t / (n + 1)) by (unfold far; field; lra).
  unfold psi. replace (1 + (n / (n + 1) - 1)) with (n / (n + 1)) by ring.
  replace (1 + a * (n / (n + 1) - 1)) with (1 - a / (n + 1)) by (field; lra). field. lra.
Qed.

Lemma removed_psi n d t : 0 < n -> 0 < t -> 0 < n * (n + a) - a * (n + 1) * t ->
  eps_removed n a d t = a / 2 * (t / (n * (n + a) - a * (n + 1) * t)) + (d - 1) * psi a (/ n) / 2
    + Rmax (psi a (/ n)) (psi a (- (((n + 1) * t - n) / n ^ 2))) / 2.
Proof using a1.
  intros n0 t0 C.
  assert (Q : 0 < 1 + a * ((n + 1) / n - 1)).
  { replace (1 + a * ((n + 1) / n - 1)) with ((n + a) / n) by (field; lra). apply Rdiv_lt_0_compat; lra. }
  set (far := (n + 1) / n - (n + 1) * t / n ^ 2).
  assert (Qf : 0 < 1 + a * (far - 1)).
  { replace (1 + a * (far - 1)) with ((n * (n + a) - a * (n + 1) * t) / n ^ 2) by (unfold far; field; lra). apply Rdiv_lt_0_compat; [assumption|now apply pow_lt]. }
  replace (/ n) with ((n + 1) / n - 1) by (field; lra).
  replace (- (((n + 1) * t - n) / n ^ 2)) with (far - 1) by (unfold far; field; lra).
  rewrite <- printed_psi by assumption. unfold eps_removed.
  replace ((1 + a * (far - 1)) / (1 + a * ((n + 1) / n - 1))) with (1 - a * (n + 1) * t / ((n + a) * n)) by (unfold far; field; lra).
  replace (far / ((n + 1) / n)) with (1 - t / n) by (unfold far; field; lra).
  unfold psi. replace (1 + ((n + 1) / n - 1)) with ((n + 1) / n) by ring.
  replace (1 + a * ((n + 1) / n - 1)) with (1 + a / n) by (field; lra). field. lra.
Qed.

Lemma max_falls x y u v : x < u -> y < v -> Rmax x y < Rmax u v.
Proof using. intros H G. apply Rmax_lub_lt; [apply Rlt_le_trans with (2 := Rmax_l u v)|apply Rlt_le_trans with (2 := Rmax_r u v)]; assumption. Qed.

(* Theorem G: with at least 2 records, where its condition holds for n it holds for more, and epsilon is smaller. *)
Theorem both_falls n m d sigma : 0 < d -> 0 < sigma -> 2 <= n < m ->
  a * ((n - 1) * tau d sigma / n ^ 2 / (1 + (n - 1) * tau d sigma / n ^ 2)) < 1 ->
  a * ((m - 1) * tau d sigma / m ^ 2 / (1 + (m - 1) * tau d sigma / m ^ 2)) < 1 /\ eps_bounded_both m a d sigma < eps_bounded_both n a d sigma.
Proof using a1.
  intros d0 s0 nm C. destruct (kappa_falls n m d sigma d0 s0 nm) as [l0 lk].
  assert (t0 : 0 < tau d sigma) by (apply Rdiv_lt_0_compat; lra). unfold eps_bounded_both. set (t := tau d sigma) in *.
  set (k := (n - 1) * t / n ^ 2) in *. set (l := (m - 1) * t / m ^ 2) in *.
  set (q := k / (1 + k)) in *. set (r := l / (1 + l)).
  assert (r0 : 0 < r) by (apply Rdiv_lt_0_compat; lra).
  assert (rq : r < q).
  { apply Rminus_gt_0_lt. replace (q - r) with ((k - l) / ((1 + k) * (1 + l))) by (unfold q, r; field; lra).
    apply Rdiv_lt_0_compat; [lra|apply Rmult_lt_0_compat; lra]. }
  assert (M := means_fall n m t q r t0 nm C rq). assert (arq : a * r < a * q) by (apply Rmult_lt_compat_l; lra). split; [lra|].
  assert (P : psi a l < psi a k) by (apply psi_increasing; lra). assert (Q : psi a (- r) < psi a (- q)) by (apply psi_decreasing; lra).
  assert (p0 : 0 <= psi a l) by (apply psi_nonneg; [assumption|]; assert (0 < a * l) by (apply Rmult_lt_0_compat; lra); lra).
  assert (S : (1 + l) ^ 2 * psi a l < (1 + k) ^ 2 * psi a k).
  { apply Rle_lt_trans with ((1 + k) ^ 2 * psi a l); [apply Rmult_le_compat_r; [assumption|apply pow_incr; lra]|].
    apply Rmult_lt_compat_l; [apply pow_lt; lra|assumption]. }
  assert (R := max_falls _ _ _ _ Q S). apply Rplus_lt_compat; [apply Rmult_lt_compat_l; lra|lra].
Qed.

(* Theorem 3.1: where the condition holds for n it holds for more, and epsilon is smaller. *)
Theorem unbounded_falls n m d sigma : 1 <= d -> 0 < sigma <= 1 -> 0 < n < m -> a < n ^ 2 / (tau d sigma * (n + 1) - n) ->
  a < m ^ 2 / (tau d sigma * (m + 1) - m) /\ eps_unbounded m a d sigma < eps_unbounded n a d sigma.
Proof using a1.
  intros d1 [s0 s1] [n0 nm] C.
  assert (t4 : 4 <= tau d sigma).
  { unfold tau. apply (Rmult_le_reg_r sigma); [lra|]. unfold Rdiv. rewrite (Rmult_assoc _ _ sigma), Rinv_l; lra. }
  unfold eps_unbounded. set (t := tau d sigma) in *.
  assert (Pn : 0 < t * (n + 1) - n) by nra. assert (Pm : 0 < t * (m + 1) - m) by nra.
  assert (C' : a * (t * (n + 1) - n) < n ^ 2).
  { apply (Rmult_lt_compat_r (t * (n + 1) - n)) in C; [|assumption]. unfold Rdiv in C. rewrite Rmult_assoc, Rinv_l in C by lra. lra. }
  assert (tn : t < n).
  { assert (1 * (t * (n + 1) - n) <= a * (t * (n + 1) - n)) by (apply Rmult_le_compat_r; lra). nra. }
  assert (Cm : a < m ^ 2 / (t * (m + 1) - m)).
  { apply Rlt_trans with (1 := C). apply Rminus_gt_0_lt.
    replace (m ^ 2 / (t * (m + 1) - m) - n ^ 2 / (t * (n + 1) - n))
      with ((m - n) * ((t - 1) * (m * n) + t * (m + n)) / ((t * (m + 1) - m) * (t * (n + 1) - n))) by (field; lra).
    apply Rdiv_lt_0_compat; [|now apply Rmult_lt_0_compat]. apply Rmult_lt_0_compat; [lra|].
    assert (0 < m * n) by (apply Rmult_lt_0_compat; lra). assert (0 < (t - 1) * (m * n)) by (apply Rmult_lt_0_compat; lra).
    assert (0 < t * (m + n)) by (apply Rmult_lt_0_compat; lra). lra. }
  split; [exact Cm|].
  assert (C'm : a * (t * (m + 1) - m) < m ^ 2).
  { apply (Rmult_lt_compat_r (t * (m + 1) - m)) in Cm; [|assumption]. unfold Rdiv in Cm. rewrite Rmult_assoc, Rinv_l in Cm by lra. lra. }
  assert (an : a < n + 1).
  { apply Rnot_le_lt. intros G. assert ((n + 1) * (t * (n + 1) - n) <= a * (t * (n + 1) - n)) by (apply Rmult_le_compat_r; lra). nra. }
  assert (i : / (m + 1) < / (n + 1)) by (apply Rinv_lt_contravar; [apply Rmult_lt_0_compat|]; lra).
  assert (j : / m < / n) by (apply Rinv_lt_contravar; [apply Rmult_lt_0_compat|]; lra).
  assert (im : 0 < / (m + 1)) by (apply Rinv_0_lt_compat; lra). assert (jm : 0 < / m) by (apply Rinv_0_lt_compat; lra).
  assert (D1 : 0 < 1 + a * - / (n + 1)).
  { replace (1 + a * - / (n + 1)) with ((n + 1 - a) / (n + 1)) by (field; lra). apply Rdiv_lt_0_compat; lra. }
  apply max_falls.
  - rewrite !added_psi by lra.
    assert (P : psi a (- / (m + 1)) < psi a (- / (n + 1))) by (apply psi_decreasing; lra).
    assert (T0 : 0 <= (m * t - (m + 1)) / (m + 1) ^ 2) by (apply Rmult_le_pos; [nra|apply Rlt_le, Rinv_0_lt_compat, pow_lt; lra]).
    assert (T : (m * t - (m + 1)) / (m + 1) ^ 2 < (n * t - (n + 1)) / (n + 1) ^ 2).
    { apply Rminus_gt_0_lt.
      replace ((n * t - (n + 1)) / (n + 1) ^ 2 - (m * t - (m + 1)) / (m + 1) ^ 2)
        with ((m - n) * ((t - 1) * (m * n - 1) - (m + n + 2)) / ((n + 1) ^ 2 * (m + 1) ^ 2)) by (field; lra).
      apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat; apply pow_lt; lra]. apply Rmult_lt_0_compat; [lra|].
      assert (4 * m < m * n) by nra. assert (3 * (m * n - 1) <= (t - 1) * (m * n - 1)) by (apply Rmult_le_compat_r; lra). lra. }
    assert (S : psi a ((m * t - (m + 1)) / (m + 1) ^ 2) < psi a ((n * t - (n + 1)) / (n + 1) ^ 2)) by (apply psi_increasing; lra).
    assert (M := max_falls _ _ _ _ P S).
    assert (B : t / ((m + 1) * (m + 1 - a)) < t / ((n + 1) * (n + 1 - a))).
    { apply over_falls; [lra|apply Rmult_lt_0_compat; lra|]. apply Rmult_le_0_lt_compat; lra. }
    assert (a / 2 * (t / ((m + 1) * (m + 1 - a))) < a / 2 * (t / ((n + 1) * (n + 1 - a)))) by (apply Rmult_lt_compat_l; lra).
    assert ((d - 1) * psi a (- / (m + 1)) <= (d - 1) * psi a (- / (n + 1))) by (apply Rmult_le_compat_l; lra). lra.
  - assert (Rn : 0 < n * (n + a) - a * (n + 1) * t) by lra. assert (Rm : 0 < m * (m + a) - a * (m + 1) * t) by lra.
    rewrite !removed_psi by lra.
    assert (P : psi a (/ m) < psi a (/ n)) by (apply psi_increasing; lra).
    assert (T0 : 0 <= ((m + 1) * t - m) / m ^ 2) by (apply Rmult_le_pos; [nra|apply Rlt_le, Rinv_0_lt_compat, pow_lt; lra]).
    assert (T : ((m + 1) * t - m) / m ^ 2 < ((n + 1) * t - n) / n ^ 2).
    { apply Rminus_gt_0_lt.
      replace (((n + 1) * t - n) / n ^ 2 - ((m + 1) * t - m) / m ^ 2) with ((m - n) * ((t - 1) * (m * n) + t * (m + n)) / (n ^ 2 * m ^ 2)) by (field; lra).
      apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat; apply pow_lt; lra]. apply Rmult_lt_0_compat; [lra|].
      assert (0 < m * n) by (apply Rmult_lt_0_compat; lra). assert (0 < (t - 1) * (m * n)) by (apply Rmult_lt_0_compat; lra).
      assert (0 < t * (m + n)) by (apply Rmult_lt_0_compat; lra). lra. }
    assert (Dn : 0 < 1 + a * - (((n + 1) * t - n) / n ^ 2)).
    { replace (1 + a * - (((n + 1) * t - n) / n ^ 2)) with ((n * (n + a) - a * (n + 1) * t) / n ^ 2) by (field; lra). apply Rdiv_lt_0_compat; [assumption|now apply pow_lt]. }
    assert (S : psi a (- (((m + 1) * t - m) / m ^ 2)) < psi a (- (((n + 1) * t - n) / n ^ 2))) by (apply psi_decreasing; lra).
    assert (M := max_falls _ _ _ _ P S).
    assert (B : t / (m * (m + a) - a * (m + 1) * t) < t / (n * (n + a) - a * (n + 1) * t)).
    { apply over_falls; [lra|assumption|]. apply Rminus_gt_0_lt.
      replace (_ - _) with ((m - n) * (m + n + a - a * t)) by ring. apply Rmult_lt_0_compat; [lra|].
      assert (a * t < m + n + a); [|lra]. apply Rnot_le_lt. intros G. nra. }
    assert (a / 2 * (t / (m * (m + a) - a * (m + 1) * t)) < a / 2 * (t / (n * (n + a) - a * (n + 1) * t))) by (apply Rmult_lt_compat_l; lra).
    assert ((d - 1) * psi a (/ m) <= (d - 1) * psi a (/ n)) by (apply Rmult_le_compat_l; lra). lra.
Qed.
End Growth.
