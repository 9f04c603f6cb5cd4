(* "Beyond the document", the scalars behind Theorems B and G: two eigenvalues that are bounded together. *)
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Formulas Psi.
Local Open Scope R_scope.

(* A product of factors that are not negative. *)
Ltac factors := repeat match goal with |- 0 <= _ * _ => apply Rmult_le_pos | |- 0 <= _ ^ 2 => apply pow2_ge_0 end; try lra.

(* --------------------------------------------------------------- the squares of both eigenvalues *)

(* Two quadratic forms in two variables, neither of them negative anywhere: the trace of their product is not negative. *)
Lemma forms_pair p q r p' q' r' : 0 <= p -> 0 <= q -> r ^ 2 <= p * q -> 0 <= p' -> 0 <= q' -> r' ^ 2 <= p' * q' ->
  0 <= p * p' + q * q' - 2 * (r * r').
Proof.
  intros p0 q0 h p0' q0' h'.
  assert (pp : 0 <= p * p') by now apply Rmult_le_pos. assert (qq : 0 <= q * q') by now apply Rmult_le_pos.
  destruct (Rle_or_lt (r * r') 0) as [L|L]; [lra|].
  assert (H : (r * r') ^ 2 <= (p * p') * (q * q')).
  { replace ((r * r') ^ 2) with (r ^ 2 * r' ^ 2) by ring. replace (p * p' * (q * q')) with (p * q * (p' * q')) by ring.
    apply Rmult_le_compat; try apply pow2_ge_0; assumption. }
  assert (G : (2 * (r * r')) ^ 2 <= (p * p' + q * q') ^ 2).
  { assert (S := pow2_ge_0 (p * p' - q * q')). nra. }
  assert (2 * (r * r') <= p * p' + q * q'); [|lra].
  apply Rsqr_incr_0_var; [|lra]. unfold Rsqr. simpl in G. lra.
Qed.

(* A form that is nowhere negative has r^2 <= p q. *)
Lemma form_cauchy p q r : (forall l, 0 <= p + 2 * l * r + l ^ 2 * q) -> 0 <= p -> 0 <= q -> r ^ 2 <= p * q.
Proof.
  intros form p0 q0. destruct (Req_dec q 0) as [->|B].
  - destruct (Req_dec r 0) as [->|G]; [simpl; lra|]. specialize (form (- (p + 1) / (2 * r))).
    replace (p + 2 * (- (p + 1) / (2 * r)) * r + (- (p + 1) / (2 * r)) ^ 2 * 0) with (-1) in form by (field; assumption). lra.
  - specialize (form (- r / q)). replace (p + 2 * (- r / q) * r + (- r / q) ^ 2 * q) with ((p * q - r ^ 2) / q) in form by (field; assumption).
    assert (bp : 0 < q) by lra. apply (Rmult_le_compat_r q) in form; [|lra]. unfold Rdiv in form. rewrite Rmult_assoc, Rinv_l in form; lra.
Qed.

(* a, b, c: inner products of v and u in the metric of Sigma^-1, which is nowhere above 1/s times the plain one, P, Q, S. *)
Lemma metric_frobenius s a b c P Q S : 0 < s -> 0 <= a -> 0 <= b -> 0 <= P -> 0 <= Q ->
  (forall l, 0 <= a + 2 * l * c + l ^ 2 * b) -> (forall l, 0 <= P + 2 * l * S + l ^ 2 * Q) ->
  (forall l, s * (a + 2 * l * c + l ^ 2 * b) <= P + 2 * l * S + l ^ 2 * Q) -> s * b <= Q ->
  s ^ 2 * (a ^ 2 + b ^ 2 - 2 * c ^ 2) <= P ^ 2 + Q ^ 2 - 2 * S ^ 2.
Proof.
  intros s0 a0 b0 P0 Q0 form plain below bQ.
  assert (H := form_cauchy a b c form a0 b0). assert (G := form_cauchy P Q S plain P0 Q0).
  assert (aP : s * a <= P) by (specialize (below 0); lra).
  assert (F : (S - s * c) ^ 2 <= (P - s * a) * (Q - s * b)).
  { apply form_cauchy; try lra. intros l. specialize (below l). lra. }
  assert (N1 := forms_pair (s * a) (s * b) (s * c) (P - s * a) (Q - s * b) (S - s * c)).
  assert (N2 := forms_pair P Q S (P - s * a) (Q - s * b) (S - s * c)).
  assert (0 <= s * a) by (apply Rmult_le_pos; lra). assert (0 <= s * b) by (apply Rmult_le_pos; lra).
  assert (K : (s * c) ^ 2 <= s * a * (s * b)).
  { replace ((s * c) ^ 2) with (s ^ 2 * c ^ 2) by ring. replace (s * a * (s * b)) with (s ^ 2 * (a * b)) by ring.
    apply Rmult_le_compat_l; [apply pow2_ge_0|assumption]. }
  specialize (N1 ltac:(assumption) ltac:(assumption) K ltac:(lra) ltac:(lra) F).
  specialize (N2 P0 Q0 G ltac:(lra) ltac:(lra) F). nra.
Qed.

(* The two eigenvalues of a replaced record, from what the last lemma says of them in the metric. *)
Lemma within s k a b c t1 t2 F : 0 < s -> 0 <= k ->
  (forall l, (1 + l * k * a) * (1 - l * k * b) + (l * k) ^ 2 * c ^ 2 = (1 + l * t1) * (1 + l * t2)) ->
  s ^ 2 * (a ^ 2 + b ^ 2 - 2 * c ^ 2) <= F -> t1 ^ 2 + t2 ^ 2 <= (k / s) ^ 2 * F.
Proof.
  intros s0 k0 split H. assert (A := split 1). assert (B := split (-1)).
  assert (sum : t1 + t2 = k * a - k * b) by lra. assert (product : t1 * t2 = k ^ 2 * c ^ 2 - k * a * (k * b)) by lra.
  replace (t1 ^ 2 + t2 ^ 2) with ((t1 + t2) ^ 2 - 2 * (t1 * t2)) by ring. rewrite sum, product.
  apply (Rmult_le_reg_l (s ^ 2)); [now apply pow_lt|].
  replace (s ^ 2 * ((k / s) ^ 2 * F)) with (k ^ 2 * F) by (field; lra).
  replace (s ^ 2 * ((k * a - k * b) ^ 2 - 2 * (k ^ 2 * c ^ 2 - k * a * (k * b)))) with (k ^ 2 * (s ^ 2 * (a ^ 2 + b ^ 2 - 2 * c ^ 2))) by ring.
  apply Rmult_le_compat_l; [apply pow2_ge_0|assumption].
Qed.

(* One entry of v v' - u u', where y, x, m lie in the cube and v = y - m, u = x - m. *)
Lemma entry y x m z w k : -1 <= y <= 1 -> -1 <= x <= 1 -> -1 <= m <= 1 -> -1 <= z <= 1 -> -1 <= w <= 1 -> -1 <= k <= 1 ->
  ((y - m) * (z - k) - (x - m) * (w - k)) ^ 2 <= 16.
Proof.
  assert (up : forall y z m k, -1 <= y <= 1 -> -1 <= z <= 1 -> -1 <= m <= 1 -> -1 <= k <= 1 ->
    (y - m) * (z - k) <= (1 - m) * (1 - k) \/ (y - m) * (z - k) <= (1 + m) * (1 + k)).
  { clear. intros y z m k Y Z M K. destruct (Rle_or_lt k z) as [L|L].
    - left. apply Rle_trans with ((1 - m) * (z - k)); [apply Rmult_le_compat_r; lra|apply Rmult_le_compat_l; lra].
    - right. replace ((y - m) * (z - k)) with ((m - y) * (k - z)) by ring.
      apply Rle_trans with ((1 + m) * (k - z)); [apply Rmult_le_compat_r; lra|apply Rmult_le_compat_l; lra]. }
  intros Y X M Z W K.
  assert (one : forall y x z w, -1 <= y <= 1 -> -1 <= x <= 1 -> -1 <= z <= 1 -> -1 <= w <= 1 -> (y - m) * (z - k) - (x - m) * (w - k) <= 4).
  { clear Y X Z W y x z w. intros y x z w Y X Z W.
    assert (U := up y z m k Y Z M K).
    assert (V := up x (- w) m (- k) X ltac:(lra) M ltac:(lra)).
    replace ((x - m) * (- w - - k)) with (- ((x - m) * (w - k))) in V by ring.
    replace (1 - - k) with (1 + k) in V by ring. replace (1 + - k) with (1 - k) in V by ring.
    destruct U, V; lra. }
  assert (A := one y x z w Y X Z W). assert (B := one x y w z X Y W Z).
  set (e := (y - m) * (z - k) - (x - m) * (w - k)) in *. replace 16 with (4 ^ 2) by ring.
  assert (- 4 <= e) by (unfold e in *; lra). nra.
Qed.

(* --------------------------------------------------------------- psi beside the square *)

Section Spread.
Variable a : R.
Hypothesis a1 : 1 < a.

(* On the left psi lies above its parabola, on the right below it. *)
Lemma psi_below t : 0 <= t -> psi a t <= a / 2 * t ^ 2.
Proof using a1.
  intros t0. destruct t0 as [t0| <-]; [|rewrite psi_0 by assumption; simpl; lra].
  destruct (MVT_cor2 (fun t => a / 2 * t ^ 2 - psi a t) (fun c => a * c - a * c / ((1 + c) * (1 + a * c))) 0 t t0) as [c [E [c0 ct]]].
  { intros c [c0 ct]. apply derivable_pt_lim_minus.
    - apply is_derive_Reals. auto_derive; [exact I|field].
    - apply is_derive_Reals, psi_derive; [assumption|nra]. }
  rewrite psi_0 in E by assumption.
  assert (D : 1 <= (1 + c) * (1 + a * c)) by nra.
  assert (a * c / ((1 + c) * (1 + a * c)) <= a * c).
  { apply (Rmult_le_reg_r ((1 + c) * (1 + a * c))); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  assert (0 <= (a * c - a * c / ((1 + c) * (1 + a * c))) * (t - 0)) by (apply Rmult_le_pos; lra). simpl in *. lra.
Qed.

Lemma psi_above t : t <= 0 -> 0 < 1 + a * t -> a / 2 * t ^ 2 <= psi a t.
Proof using a1.
  intros t0 D. destruct t0 as [t0| ->]; [|rewrite psi_0 by assumption; simpl; lra].
  destruct (MVT_cor2 (fun t => a / 2 * t ^ 2 - psi a t) (fun c => a * c - a * c / ((1 + c) * (1 + a * c))) t 0 t0) as [c [E [c0 ct]]].
  { intros c [c0 ct]. apply derivable_pt_lim_minus.
    - apply is_derive_Reals. auto_derive; [exact I|field].
    - apply is_derive_Reals, psi_derive; [assumption|]. apply (dom_up a a1 t); lra. }
  rewrite psi_0 in E by assumption.
  assert (Dc : 0 < 1 + a * c) by (apply (dom_up a a1 t); lra). assert (Dc' := dom_weaker a a1 c Dc).
  assert (P : 0 < (1 + c) * (1 + a * c)) by now apply Rmult_lt_0_compat.
  assert (Q : (1 + c) * (1 + a * c) <= 1) by nra.
  assert (a * c / ((1 + c) * (1 + a * c)) <= a * c).
  { apply (Rmult_le_reg_r ((1 + c) * (1 + a * c))); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  assert (0 <= (a * c - a * c / ((1 + c) * (1 + a * c))) * (0 - t)) by (apply Rmult_le_pos; lra). simpl in *. lra.
Qed.

(* psi(t) / t^2 falls, on the left of 0: its derivative there is m(t) / t^3 with m(t) = t psi'(t) - 2 psi(t), which falls to 0. *)
Lemma slope_above t : t < 0 -> 0 < 1 + a * t -> 0 <= t * (a * t / ((1 + t) * (1 + a * t))) - 2 * psi a t.
Proof using a1.
  intros t0 D.
  destruct (MVT_cor2 (fun t => t * (a * t / ((1 + t) * (1 + a * t))) - 2 * psi a t)
    (fun c => - (a * c ^ 2 * (1 + a + 2 * a * c) / ((1 + c) * (1 + a * c)) ^ 2)) t 0 t0) as [c [E [c0 ct]]].
  { intros c [c0 ct]. assert (Dc : 0 < 1 + a * c) by (apply (dom_up a a1 t); lra). assert (Dc' := dom_weaker a a1 c Dc).
    apply is_derive_Reals. unfold psi. auto_derive; [repeat split; try lra; apply Rmult_integral_contrapositive; lra|field; lra]. }
  rewrite psi_0 in E by assumption.
  assert (Dc : 0 < 1 + a * c) by (apply (dom_up a a1 t); lra). assert (Dc' := dom_weaker a a1 c Dc).
  assert (0 <= a * c ^ 2 * (1 + a + 2 * a * c) / ((1 + c) * (1 + a * c)) ^ 2 * (0 - t)); [|lra].
  apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, pow_lt, Rmult_lt_0_compat; lra].
  apply Rmult_le_pos; [apply Rmult_le_pos; [lra|apply pow2_ge_0]|nra].
Qed.

Lemma psi_ratio_falls s t : s < t < 0 -> 0 < 1 + a * s -> psi a t * s ^ 2 <= psi a s * t ^ 2.
Proof using a1.
  intros [st t0] D.
  destruct (MVT_cor2 (fun t => psi a t / t ^ 2) (fun c => (c * (a * c / ((1 + c) * (1 + a * c))) - 2 * psi a c) / c ^ 3) s t st) as [c [E [c0 ct]]].
  { intros c [c0 ct]. assert (Dc : 0 < 1 + a * c) by (apply (dom_up a a1 s); lra). assert (Dc' := dom_weaker a a1 c Dc).
    apply is_derive_Reals. unfold psi. auto_derive; [repeat split; try lra; try (apply Rmult_integral_contrapositive; lra); nra|field; lra]. }
  assert (Dc : 0 < 1 + a * c) by (apply (dom_up a a1 s); lra).
  assert (M := slope_above c ltac:(lra) Dc).
  assert (P : 0 < - c ^ 3) by (replace (- c ^ 3) with ((- c) ^ 3) by ring; apply pow_lt; lra).
  assert (0 <= (c * (a * c / ((1 + c) * (1 + a * c))) - 2 * psi a c) / (- c ^ 3) * (t - s)).
  { apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; [assumption|now apply Rlt_le, Rinv_0_lt_compat]. }
  assert (L : psi a t / t ^ 2 <= psi a s / s ^ 2).
  { replace ((c * (a * c / ((1 + c) * (1 + a * c))) - 2 * psi a c) / (- c ^ 3) * (t - s)) with (- (psi a t / t ^ 2 - psi a s / s ^ 2)) in H; [lra|].
    rewrite E. assert (Dc2 := dom_weaker a a1 c Dc). field. repeat split; lra. }
  assert (S : 0 < s ^ 2) by nra. assert (T : 0 < t ^ 2) by nra.
  apply (Rmult_le_compat_r (s ^ 2 * t ^ 2)) in L; [|nra].
  replace (psi a t / t ^ 2 * (s ^ 2 * t ^ 2)) with (psi a t * s ^ 2) in L by (field; lra).
  replace (psi a s / s ^ 2 * (s ^ 2 * t ^ 2)) with (psi a s * t ^ 2) in L by (field; lra). assumption.
Qed.

(* psi(t) / t^2 is nowhere right of -kappa above what it is there. *)
Lemma psi_spread kappa t : 0 < kappa -> a * kappa < 1 -> - kappa <= t -> psi a t * kappa ^ 2 <= psi a (- kappa) * t ^ 2.
Proof using a1.
  intros k0 small kt. assert (D : 0 < 1 + a * - kappa) by lra.
  assert (K : 0 < kappa ^ 2) by (apply pow_lt; assumption).
  assert (A := psi_above (- kappa) ltac:(lra) D). replace ((- kappa) ^ 2) with (kappa ^ 2) in A by ring.
  destruct (Rle_or_lt 0 t) as [T|T].
  - assert (B := psi_below t T). assert (T2 := pow2_ge_0 t). nra.
  - destruct kt as [kt| <-]; [|apply Req_le; ring].
    assert (F := psi_ratio_falls (- kappa) t ltac:(lra) D). replace ((- kappa) ^ 2) with (kappa ^ 2) in F by ring. assumption.
Qed.

(* Theorem B: both eigenvalues together. *)
Lemma psi_joint kappa t1 t2 : 0 <= kappa -> a * kappa < 1 -> - kappa <= t1 -> - kappa <= t2 -> t1 ^ 2 + t2 ^ 2 <= kappa ^ 2 ->
  psi a t1 + psi a t2 <= psi a (- kappa).
Proof using a1.
  intros [k0| <-] small h1 h2 sq.
  - assert (K : 0 < kappa ^ 2) by (apply pow_lt; assumption).
    assert (A := psi_spread kappa t1 k0 small h1). assert (B := psi_spread kappa t2 k0 small h2).
    assert (P := psi_nonneg a a1 (- kappa) ltac:(lra)).
    apply (Rmult_le_reg_r (kappa ^ 2)); [assumption|].
    assert (psi a (- kappa) * (t1 ^ 2 + t2 ^ 2) <= psi a (- kappa) * kappa ^ 2) by now apply Rmult_le_compat_l. lra.
  - assert (t1 = 0) as -> by nra. assert (t2 = 0) as -> by nra. rewrite Ropp_0, psi_0 by assumption. lra.
Qed.

(* --------------------------------------------------------------- seen from the second data set *)

(* psi(t) in s = t / (1 + t), an eigenvalue of Sigma_2^-1 X. *)
Definition chi s := - ln (1 - s) - ln (1 + (a - 1) * s) / (a - 1).

Lemma chi_psi s : s < 1 -> 0 < 1 + (a - 1) * s -> psi a (s / (1 - s)) = chi s.
Proof using a1.
  intros s1 D. unfold psi, chi.
  replace (1 + s / (1 - s)) with (/ (1 - s)) by (field; lra).
  replace (1 + a * (s / (1 - s))) with ((1 + (a - 1) * s) * / (1 - s)) by (field; lra).
  assert (0 < / (1 - s)) by (apply Rinv_0_lt_compat; lra).
  rewrite ln_mult, !ln_Rinv by lra. field. lra.
Qed.

Lemma chi_derive h l : l * h < 1 -> 0 < 1 + (a - 1) * (l * h) ->
  derivable_pt_lim (fun l => chi (l * h)) l (l * h ^ 2 * (a / ((1 - l * h) * (1 + (a - 1) * (l * h))))).
Proof using a1. intros H D. apply is_derive_Reals. unfold chi. auto_derive; [repeat split; lra|field; lra]. Qed.

(* On the way from 0 to h both logarithms keep their sense. *)
Lemma chi_domain h l : 0 <= l <= 1 -> h < 1 -> 0 < 1 + (a - 1) * h -> l * h < 1 /\ 0 < 1 + (a - 1) * (l * h).
Proof using a1. intros [l0 l1] h1 D. split; [nra|]. replace (1 + (a - 1) * (l * h)) with ((1 - l) + l * (1 + (a - 1) * h)) by ring.
  destruct l0 as [l0| <-]; [|lra]. assert (0 < l * (1 + (a - 1) * h)) by now apply Rmult_lt_0_compat. lra. Qed.

(* chi(s) / s^2 is convex, so that it is largest at an end: here the end is h, and K no less than its value there and at 0. *)
Lemma chi_below K h l : 0 <= l <= 1 -> h < 1 -> 0 < 1 + (a - 1) * h -> a <= 2 * K -> chi h <= K * h ^ 2 -> chi (l * h) <= K * (l * h) ^ 2.
Proof using a1.
  intros [l0 l1] h1 D K0 Kh. apply Rnot_lt_le. intros F.
  assert (C0 : chi 0 = 0) by (unfold chi; rewrite Rmult_0_r, Rminus_0_r, Rplus_0_r, ln_1; field; lra).
  destruct l0 as [l0| <-]; [|rewrite Rmult_0_l, C0 in F; simpl in F; lra].
  destruct l1 as [l1| ->]; [|rewrite !Rmult_1_l in F; lra].
  assert (der : forall c, 0 <= c <= 1 -> derivable_pt_lim (fun l => chi (l * h) - K * (l * h) ^ 2) c
                (c * h ^ 2 * (a / ((1 - c * h) * (1 + (a - 1) * (c * h)))) - K * (2 * c * h ^ 2))).
  { intros c Hc. destruct (chi_domain h c Hc h1 D). apply derivable_pt_lim_minus; [now apply chi_derive|].
    apply is_derive_Reals. auto_derive; [exact I|ring]. }
  destruct (MVT_cor2 _ _ 0 l l0 (fun c Hc => der c ltac:(lra))) as [c [E [c0 c1]]].
  destruct (MVT_cor2 _ _ l 1 l1 (fun c Hc => der c ltac:(lra))) as [e [G [e0 e1]]].
  rewrite Rmult_0_l, C0 in E. rewrite Rmult_1_l in G.
  destruct (chi_domain h c ltac:(lra) h1 D) as [cd cd']. destruct (chi_domain h e ltac:(lra) h1 D) as [ed ed'].
  assert (Dc : 0 < (1 - c * h) * (1 + (a - 1) * (c * h))) by (apply Rmult_lt_0_compat; lra).
  assert (De : 0 < (1 - e * h) * (1 + (a - 1) * (e * h))) by (apply Rmult_lt_0_compat; lra).
  assert (concave : (e - c) + c * ((1 - e * h) * (1 + (a - 1) * (e * h))) <= e * ((1 - c * h) * (1 + (a - 1) * (c * h)))).
  { apply Rminus_le. replace (_ - _) with (- ((a - 1) * h ^ 2 * c * e * (e - c))) by ring.
    assert (0 <= (a - 1) * h ^ 2 * c * e * (e - c)); [|lra]. factors. }
  set (P := (1 - c * h) * (1 + (a - 1) * (c * h))) in *. set (Q := (1 - e * h) * (1 + (a - 1) * (e * h))) in *.
  assert (left : 2 * K * P < a).
  { apply Rnot_le_lt. intros N. assert (a / P <= 2 * K) by (apply (Rmult_le_reg_r P); [assumption|unfold Rdiv; rewrite (Rmult_assoc a), Rinv_l; lra]).
    assert (0 <= c * h ^ 2 * (2 * K - a / P) * (l - 0)); [|lra].
    factors. }
  assert (right : a < 2 * K * Q).
  { apply Rnot_le_lt. intros N. assert (2 * K <= a / Q) by (apply (Rmult_le_reg_r Q); [assumption|unfold Rdiv; rewrite (Rmult_assoc a), Rinv_l; lra]).
    assert (0 <= e * h ^ 2 * (a / Q - 2 * K) * (1 - l)); [|lra].
    factors. }
  assert (M : 2 * K * ((e - c) + c * Q) <= 2 * K * (e * P)) by (apply Rmult_le_compat_l; lra).
  assert (e * (2 * K * P) < e * a) by (apply Rmult_lt_compat_l; lra).
  assert (c * a < c * (2 * K * Q)) by (apply Rmult_lt_compat_l; lra).
  assert ((e - c) * a <= (e - c) * (2 * K)) by (apply Rmult_le_compat_l; lra). lra.
Qed.

(* At one of the two ends chi(s) / s^2 is no less than at 0. *)
Lemma chi_above h : h < 1 -> 0 < 1 + (a - 1) * h -> (a - 2) * h <= 0 -> a / 2 * h ^ 2 <= chi h.
Proof using a1.
  intros h1 D side.
  destruct (MVT_cor2 (fun l => chi (l * h) - a / 2 * (l * h) ^ 2)
    (fun c => c * h ^ 2 * (a / ((1 - c * h) * (1 + (a - 1) * (c * h)))) - a / 2 * (2 * c * h ^ 2)) 0 1 Rlt_0_1) as [c [E [c0 c1]]].
  { intros c Hc. destruct (chi_domain h c Hc h1 D). apply derivable_pt_lim_minus; [now apply chi_derive|].
    apply is_derive_Reals. auto_derive; [exact I|ring]. }
  assert (C0 : chi 0 = 0) by (unfold chi; rewrite Rmult_0_r, Rminus_0_r, Rplus_0_r, ln_1; field; lra).
  rewrite Rmult_0_l, Rmult_1_l, C0 in E. destruct (chi_domain h c ltac:(lra) h1 D) as [cd cd'].
  assert (P : 0 < (1 - c * h) * (1 + (a - 1) * (c * h))) by (apply Rmult_lt_0_compat; lra).
  assert (Q : (1 - c * h) * (1 + (a - 1) * (c * h)) <= 1).
  { replace ((1 - c * h) * (1 + (a - 1) * (c * h))) with (1 + c * ((a - 2) * h) - (a - 1) * (c * h) ^ 2) by ring.
    assert (0 <= (a - 1) * (c * h) ^ 2) by (apply Rmult_le_pos; [lra|apply pow2_ge_0]). nra. }
  set (W := (1 - c * h) * (1 + (a - 1) * (c * h))) in *.
  assert (a <= a / W) by (apply (Rmult_le_reg_r W); [assumption|unfold Rdiv; rewrite (Rmult_assoc a), Rinv_l; nra]).
  assert (0 <= c * h ^ 2 * (a / W - a)) by factors. simpl in *. lra.
Qed.

(* Theorem G: the largest chi(s) over |s| within kappa, seen from either side. *)
Definition larger kappa := Rmax (psi a (- (kappa / (1 + kappa)))) ((1 + kappa) ^ 2 * psi a kappa).

(* chi(s) <= K s^2 with K = larger(kappa) / kappa^2, and 2 K is no less than a. *)
Lemma chi_each kappa : 0 < kappa -> a * (kappa / (1 + kappa)) < 1 -> a <= 2 * (larger kappa / kappa ^ 2) /\
  forall s, - kappa <= s <= kappa / (1 + kappa) -> chi s <= larger kappa / kappa ^ 2 * s ^ 2.
Proof using a1.
  intros k0 small. set (q := kappa / (1 + kappa)) in *.
  assert (eq : q * (1 + kappa) = kappa) by (unfold q; field; lra).
  assert (q0 : 0 < q) by (apply Rdiv_lt_0_compat; lra). assert (q1 : q < 1) by nra.
  assert (ak : (a - 1) * kappa < 1) by nra.
  assert (Dq : 0 < 1 + (a - 1) * q) by nra. assert (Dk : 0 < 1 + (a - 1) * - kappa) by lra.
  assert (Ek : psi a (- q) = chi (- kappa)) by (rewrite <- chi_psi by lra; f_equal; unfold q; field; lra).
  assert (Eq : psi a kappa = chi q) by (rewrite <- chi_psi by lra; f_equal; unfold q; field; lra).
  unfold larger. fold q. rewrite Ek, Eq. set (M := Rmax _ _). assert (K2 : 0 < kappa ^ 2) by (apply pow_lt; assumption).
  assert (Mk : chi (- kappa) <= M / kappa ^ 2 * (- kappa) ^ 2).
  { replace (M / kappa ^ 2 * (- kappa) ^ 2) with M by (field; lra). apply Rmax_l. }
  assert (Mq : chi q <= M / kappa ^ 2 * q ^ 2).
  { apply (Rmult_le_reg_l ((1 + kappa) ^ 2)); [apply pow_lt; lra|].
    replace ((1 + kappa) ^ 2 * (M / kappa ^ 2 * q ^ 2)) with M by (unfold q; field; lra). apply Rmax_r. }
  assert (half : a <= 2 * (M / kappa ^ 2)).
  { destruct (Rle_or_lt 2 a) as [A|A].
    - assert (H := chi_above (- kappa) ltac:(lra) Dk ltac:(nra)). assert (0 < (- kappa) ^ 2) by nra. nra.
    - assert (H := chi_above q q1 Dq ltac:(nra)). assert (0 < q ^ 2) by nra. nra. }
  split; [exact half|]. intros s [lo hi]. destruct (Rle_or_lt 0 s) as [S|S].
  - replace s with (s / q * q) by (field; lra). apply chi_below; try assumption.
    split; [apply Rmult_le_pos; [assumption|now apply Rlt_le, Rinv_0_lt_compat]|].
    apply (Rmult_le_reg_r q); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
  - replace s with (- s / kappa * - kappa) by (field; lra). apply chi_below; try assumption; try lra.
    split; [apply Rmult_le_pos; [lra|now apply Rlt_le, Rinv_0_lt_compat]|].
    apply (Rmult_le_reg_r kappa); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

(* K falls with kappa. *)
Lemma factor_falls k k' : 0 < k' <= k -> a * (k / (1 + k)) < 1 -> larger k' / k' ^ 2 <= larger k / k ^ 2.
Proof using a1.
  intros [k0 kk] small. assert (K0 : 0 < k) by lra. destruct (chi_each k K0 small) as [_ each]. set (K := larger k / k ^ 2) in *.
  assert (up : k' / (1 + k') <= k / (1 + k)).
  { apply Rminus_le. replace (_ - _) with (- ((k - k') * / ((1 + k) * (1 + k')))) by (field; lra).
    assert (0 <= (k - k') * / ((1 + k) * (1 + k'))); [|lra].
    apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; lra]. }
  set (q := k / (1 + k)) in *. set (q' := k' / (1 + k')) in *.
  assert (eq : q * (1 + k) = k) by (unfold q; field; lra). assert (eq' : q' * (1 + k') = k') by (unfold q'; field; lra).
  assert (q0 : 0 < q') by (apply Rdiv_lt_0_compat; lra). assert (ak : (a - 1) * k < 1) by nra.
  assert (H1 : psi a (- q') <= K * k' ^ 2).
  { replace (- q') with (- k' / (1 - - k')) by (unfold q'; field; lra). rewrite chi_psi by nra.
    replace (k' ^ 2) with ((- k') ^ 2) by ring. apply each. lra. }
  assert (H2 : psi a k' <= K * q' ^ 2).
  { replace k' with (q' / (1 - q')) at 1 by (unfold q'; field; lra). rewrite chi_psi by nra. apply each. lra. }
  apply (Rmult_le_reg_r (k' ^ 2)); [now apply pow_lt|]. replace (larger k' / k' ^ 2 * k' ^ 2) with (larger k') by (field; lra).
  unfold larger. fold q'. apply Rmax_lub; [exact H1|].
  replace (K * k' ^ 2) with ((1 + k') ^ 2 * (K * q' ^ 2)) by (transitivity (K * (q' * (1 + k')) ^ 2); [ring|now rewrite eq']). apply Rmult_le_compat_l; [apply pow2_ge_0|exact H2].
Qed.

(* The two eigenvalues together. *)
Lemma larger_within kappa S : 0 < kappa -> a * (kappa / (1 + kappa)) < 1 -> S <= kappa ^ 2 -> larger kappa / kappa ^ 2 * S <= larger kappa.
Proof using a1.
  intros k0 small H. destruct (chi_each kappa k0 small) as [half _]. assert (K2 : 0 < kappa ^ 2) by (apply pow_lt; assumption).
  apply Rle_trans with (larger kappa / kappa ^ 2 * kappa ^ 2); [apply Rmult_le_compat_l; lra|]. apply Req_le. field. lra.
Qed.

(* The same from what the determinants say: t1, t2 are the eigenvalues seen from the first data set, s1, s2 from the second. *)
Lemma seen_from_second kappa t1 t2 s1 s2 : 0 < kappa -> a * (kappa / (1 + kappa)) < 1 -> 0 <= t1 <= kappa -> t2 <= 0 ->
  0 < (1 + t1) * (1 + t2) -> s1 ^ 2 + s2 ^ 2 <= kappa ^ 2 ->
  (forall s, 0 <= s -> (1 + (1 + s) * t1) * (1 + (1 + s) * t2) = (1 + s * s1) * (1 + s * s2) * ((1 + t1) * (1 + t2))) ->
  0 < 1 + a * t1 /\ 0 < 1 + a * t2 /\
  psi a t1 + psi a t2 <= larger kappa / kappa ^ 2 * (s1 ^ 2 + s2 ^ 2).
Proof using a1.
  intros k0 small [t10 t1k] t20 det sq split.
  assert (e1 : 0 < 1 + t1) by lra. assert (e2 : 0 < 1 + t2) by nra.
  set (x := t1 / (1 + t1)). set (y := t2 / (1 + t2)).
  assert (ex : x * (1 + t1) = t1) by (unfold x; field; lra). assert (ey : y * (1 + t2) = t2) by (unfold y; field; lra).
  assert (same : forall s, 0 <= s -> (1 + s * x) * (1 + s * y) = (1 + s * s1) * (1 + s * s2)).
  { intros s s0. specialize (split s s0). apply (Rmult_eq_reg_r ((1 + t1) * (1 + t2))); [|lra]. rewrite <- split.
    replace ((1 + s * x) * (1 + s * y) * ((1 + t1) * (1 + t2))) with ((1 + t1 + s * (x * (1 + t1))) * (1 + t2 + s * (y * (1 + t2)))) by ring.
    rewrite ex, ey. ring. }
  assert (A := same 1 ltac:(lra)). assert (B := same 2 ltac:(lra)).
  assert (S : x + y = s1 + s2) by lra. assert (P : x * y = s1 * s2) by lra.
  assert (XY : x ^ 2 + y ^ 2 = s1 ^ 2 + s2 ^ 2).
  { replace (x ^ 2 + y ^ 2) with ((x + y) ^ 2 - 2 * (x * y)) by ring. rewrite S, P. ring. }
  assert (sq' : x ^ 2 + y ^ 2 <= kappa ^ 2) by lra.
  assert (x0 : 0 <= x) by (apply Rmult_le_pos; [assumption|now apply Rlt_le, Rinv_0_lt_compat]).
  assert (y0 : y <= 0) by nra.
  assert (yk : - kappa <= y) by (assert (X := pow2_ge_0 x); apply Rnot_lt_le; intros F; nra).
  set (q := kappa / (1 + kappa)) in *. assert (eq : q * (1 + kappa) = kappa) by (unfold q; field; lra).
  assert (q0 : 0 <= q) by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  assert (xq : x <= q).
  { apply Rnot_lt_le. intros F. assert (x < 1) by nra. assert (q < 1) by nra. nra. }
  assert (t2q : - q <= t2) by nra.
  assert (D1 : 0 < 1 + a * t1) by nra. assert (D2 : 0 < 1 + a * t2) by nra.
  split; [exact D1|]. split; [exact D2|].
  assert (x1 : x < 1) by nra. assert (y1 : y < 1) by lra.
  assert (X : psi a t1 = chi x).
  { rewrite <- chi_psi; [f_equal; unfold x; field; lra|assumption|].
    replace (1 + (a - 1) * x) with ((1 + a * t1) / (1 + t1)) by (unfold x; field; lra). now apply Rdiv_lt_0_compat. }
  assert (Y : psi a t2 = chi y).
  { rewrite <- chi_psi; [f_equal; unfold y; field; lra|assumption|].
    replace (1 + (a - 1) * y) with ((1 + a * t2) / (1 + t2)) by (unfold y; field; lra). now apply Rdiv_lt_0_compat. }
  rewrite X, Y, <- XY. destruct (chi_each kappa k0 small) as [_ each]. fold q in each.
  assert (E1 := each x ltac:(lra)). assert (E2 := each y ltac:(lra)). lra.
Qed.

(* The mixed covariance's quadratic form, where both forms lie above s |z|^2: qa, qb and zz are z' A z, z' B z and z' z. *)
Lemma mixed_form s kappa qa qb zz : 0 <= kappa -> a * (kappa / (1 + kappa)) < 1 -> s * zz <= qa -> s * zz <= qb ->
  qa - kappa * (s * zz) <= qb -> s * (1 - a * (kappa / (1 + kappa))) * zz <= (1 - a) * qa + a * qb.
Proof using a1.
  intros k0 small fa fb low. set (q := kappa / (1 + kappa)) in *.
  assert (K : 0 <= kappa * (qb - s * zz)) by (apply Rmult_le_pos; lra).
  assert (B : (1 - q) * qa <= qb).
  { replace (1 - q) with (/ (1 + kappa)) by (unfold q; field; lra). apply (Rmult_le_reg_l (1 + kappa)); [lra|].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. lra. }
  assert (a * ((1 - q) * qa) <= a * qb) by (apply Rmult_le_compat_l; lra).
  assert ((1 - a * q) * (s * zz) <= (1 - a * q) * qa) by (apply Rmult_le_compat_l; lra). lra.
Qed.
End Spread.
