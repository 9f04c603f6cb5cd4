(* miura2022, Theorem 3.1 once the matrices are gone: from eigenvalues, by Lemma 4.5 and Proposition 4.1, to the printed formulas.

   d = k + 1 attributes. Theorem31.v joins this to data sets. *)
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Psi Formulas.
Local Open Scope R_scope.

(* Proposition 4.1, the right-hand side. *)
Definition div41 (a L1 L2 : R) : R := a / 2 * L1 - / (2 * (a - 1)) * ln L2.

(* L2 = |Sigma_alpha| / (|Sigma_1|^(1-a) |Sigma_2|^a) if Sigma_1^-1 Sigma_2 has the eigenvalues
   q (d - 1 times) and e; d = k + 1. *)
Definition L2_of (a q e : R) (k : nat) : R :=
  (((1 - a) + a * q) ^ k * ((1 - a) + a * e)) / Rpower (q ^ k * e) a.

Lemma ln_Rpower x y : ln (Rpower x y) = y * ln x.
Proof. unfold Rpower. apply ln_exp. Qed.

Lemma ln_div x y : 0 < x -> 0 < y -> ln (x / y) = ln x - ln y.
Proof. intros. unfold Rdiv. rewrite ln_mult, ln_Rinv; try lra. now apply Rinv_0_lt_compat. Qed.

Lemma ln_pow' x k : 0 < x -> ln (x ^ k) = INR k * ln x.
Proof. intros Hx. rewrite <- Rpower_pow by lra. apply ln_Rpower. Qed.

Section S.
Variable a : R.
Hypothesis a1 : 1 < a.

Lemma div41_psi L1 q e k : 0 < 1 + a * (q - 1) -> 0 < 1 + a * (e - 1) ->
  div41 a L1 (L2_of a q e k) = a / 2 * L1 + (INR k * psi a (q - 1) + psi a (e - 1)) / 2.
Proof using a1. intros Hq He. unfold div41, L2_of, psi.
  assert (Hq' := dom_weaker a a1 _ Hq). assert (He' := dom_weaker a a1 _ He).
  replace (1 - a + a * q) with (1 + a * (q - 1)) by ring.
  replace (1 - a + a * e) with (1 + a * (e - 1)) by ring.
  replace (1 + (q - 1)) with q in * by ring. replace (1 + (e - 1)) with e in * by ring.
  assert (0 < (1 + a * (q - 1)) ^ k) by now apply pow_lt.
  assert (0 < q ^ k) by now apply pow_lt.
  rewrite ln_div; [|now apply Rmult_lt_0_compat|apply exp_pos].
  rewrite ln_Rpower, !ln_mult, !ln_pow' by assumption. field. lra. Qed.

(* the ratio that is printed under the minimum is psi again *)
Lemma ratio_psi q e : 0 < 1 + a * (q - 1) -> 0 < 1 + a * (e - 1) ->
  - / (2 * (a - 1)) * ln (((1 + a * (e - 1)) / (1 + a * (q - 1))) / Rpower (e / q) a)
  = (psi a (e - 1) - psi a (q - 1)) / 2.
Proof using a1. intros Hq He. unfold psi.
  assert (Hq' := dom_weaker a a1 _ Hq). assert (He' := dom_weaker a a1 _ He).
  replace (1 + (q - 1)) with q in * by ring. replace (1 + (e - 1)) with e in * by ring.
  rewrite ln_div; [|now apply Rdiv_lt_0_compat|apply exp_pos].
  rewrite ln_Rpower, !ln_div by assumption. field. lra. Qed.

Lemma neg_ln_min x c : 0 < x -> 0 < c -> - c * ln (Rmin 1 x) = Rmax 0 (- c * ln x).
Proof. intros Hx Hc. unfold Rmin. destruct (Rle_dec 1 x) as [L|L].
  - rewrite ln_1, Rmult_0_r, Rmax_left; [reflexivity|].
    assert (ln 1 <= ln x) by (apply ln_le; lra). rewrite ln_1 in *. nra.
  - rewrite Rmax_right; [reflexivity|].
    assert (ln x < ln 1) by (apply ln_increasing; lra). rewrite ln_1 in *. nra. Qed.

(* Lemma 4.5 with Proposition 4.1, any q, any range with q at one end and far at the other. *)
Lemma assembly L1 B q e far k :
  0 < 1 + a * (q - 1) -> 0 < 1 + a * (far - 1) ->
  Rmin q far <= e <= Rmax q far -> L1 <= B ->
  0 < 1 + a * (e - 1) /\
  div41 a L1 (L2_of a q e k) <=
    a / 2 * B + (INR k + 1) * psi a (q - 1) / 2
    - / (2 * (a - 1)) * ln (Rmin 1 (((1 + a * (far - 1)) / (1 + a * (q - 1))) / Rpower (far / q) a)).
Proof using a1. intros Hq Hf He HL.
  assert (Hlo : 0 < 1 + a * (Rmin q far - 1)) by (unfold Rmin; destruct (Rle_dec q far); assumption).
  assert (De : 0 < 1 + a * (e - 1)) by (apply (dom_up a a1 (Rmin q far - 1)); lra).
  split; [exact De|]. rewrite div41_psi by assumption.
  assert (Hq' := dom_weaker a a1 _ Hq). assert (Hf' := dom_weaker a a1 _ Hf).
  assert (M : - / (2 * (a - 1)) * ln (Rmin 1 (((1 + a * (far - 1)) / (1 + a * (q - 1))) / Rpower (far / q) a))
    = Rmax 0 ((psi a (far - 1) - psi a (q - 1)) / 2)).
  { rewrite <- ratio_psi by assumption. apply neg_ln_min.
    - replace (far / q) with ((1 + (far - 1)) / (1 + (q - 1))) by (f_equal; ring).
      apply Rdiv_lt_0_compat; [now apply Rdiv_lt_0_compat|apply exp_pos].
    - apply Rinv_0_lt_compat; lra. }
  assert (E : psi a (e - 1) <= Rmax (psi a (q - 1)) (psi a (far - 1))).
  { destruct (Rle_or_lt q far) as [L|L].
    - rewrite Rmin_left, Rmax_right in He by lra. apply psi_ends; [exact a1|lra|exact Hq].
    - rewrite Rmin_right, Rmax_left in He by lra. rewrite Rmax_comm. apply psi_ends; [exact a1|lra|exact Hf]. }
  assert (E' : Rmax (psi a (q - 1)) (psi a (far - 1)) / 2 = psi a (q - 1) / 2 + Rmax 0 ((psi a (far - 1) - psi a (q - 1)) / 2)).
  { unfold Rmax. destruct (Rle_dec (psi a (q - 1)) (psi a (far - 1))), (Rle_dec 0 ((psi a (far - 1) - psi a (q - 1)) / 2)); lra. }
  assert (a / 2 * L1 <= a / 2 * B) by (apply Rmult_le_compat_l; lra). lra. Qed.

(* s = 1: lambda in [0, n tau / (n+1)^2] is the rank-one part *)
Lemma eigenvalue_added n k tau L1 lambda :
  0 < n -> 0 < tau -> a < n + 1 ->
  0 <= lambda <= n * tau / (n + 1) ^ 2 ->
  L1 <= tau / ((n + 1) * (n + 1 - a)) ->
  div41 a L1 (L2_of a (n / (n + 1)) (n / (n + 1) + lambda) k) <= eps_added n a (INR k + 1) tau.
Proof using a1. intros Hn Ht Ha Hl HL.
  assert (Q : 0 < 1 + a * (n / (n + 1) - 1)).
  { replace (1 + a * (n / (n + 1) - 1)) with ((n + 1 - a) / (n + 1)) by (field; lra). apply Rdiv_lt_0_compat; lra. }
  assert (P : 0 <= n * tau / (n + 1) ^ 2) by lra.
  set (far := n / (n + 1) + n * tau / (n + 1) ^ 2).
  assert (Qf : 0 < 1 + a * (far - 1)) by (apply (dom_up a a1 (n / (n + 1) - 1)); unfold far; lra).
  assert (Hr : Rmin (n / (n + 1)) far <= n / (n + 1) + lambda <= Rmax (n / (n + 1)) far)
    by (rewrite Rmin_left, Rmax_right; unfold far; lra).
  destruct (assembly L1 _ (n / (n + 1)) (n / (n + 1) + lambda) far k Q Qf Hr HL) as [_ G].
  eapply Rle_trans; [exact G|]. apply Req_le. unfold eps_added.
  replace ((1 + a * (far - 1)) / (1 + a * (n / (n + 1) - 1))) with (1 + a * (n * tau / ((n + 1) * (n + 1 - a))))
    by (unfold far; field; lra).
  replace (far / (n / (n + 1))) with (1 + tau / (n + 1)) by (unfold far; field; lra).
  unfold psi.
  replace (1 + (n / (n + 1) - 1)) with (n / (n + 1)) by ring.
  replace (1 + a * (n / (n + 1) - 1)) with (1 - a / (n + 1)) by (field; lra).
  field. lra. Qed.

(* s = -1, with n + 1 records before and n after: q = (n+1)/n *)
Lemma eigenvalue_removed n k tau L1 lambda :
  0 < n -> 0 < tau -> n < tau * (n + 1) -> a < n ^ 2 / (tau * (n + 1) - n) ->
  - ((n + 1) * tau / n ^ 2) <= lambda <= 0 ->
  L1 <= tau / (n * (n + a) - a * (n + 1) * tau) ->
  div41 a L1 (L2_of a ((n + 1) / n) ((n + 1) / n + lambda) k) <= eps_removed n a (INR k + 1) tau.
Proof using a1. intros Hn Ht Hc Ha Hl HL.
  assert (C : 0 < n * (n + a) - a * (n + 1) * tau).
  { apply (Rmult_lt_compat_r (tau * (n + 1) - n)) in Ha; [|lra].
    unfold Rdiv in Ha. rewrite Rmult_assoc, Rinv_l in Ha by lra. nra. }
  assert (Q : 0 < 1 + a * ((n + 1) / n - 1)).
  { replace (1 + a * ((n + 1) / n - 1)) with ((n + a) / n) by (field; lra). apply Rdiv_lt_0_compat; lra. }
  set (far := (n + 1) / n - (n + 1) * tau / n ^ 2).
  assert (Qf : 0 < 1 + a * (far - 1)).
  { replace (1 + a * (far - 1)) with ((n * (n + a) - a * (n + 1) * tau) / n ^ 2) by (unfold far; field; lra).
    apply Rdiv_lt_0_compat; nra. }
  assert (Hr : Rmin ((n + 1) / n) far <= (n + 1) / n + lambda <= Rmax ((n + 1) / n) far)
    by (rewrite Rmin_right, Rmax_left; unfold far; lra).
  destruct (assembly L1 _ ((n + 1) / n) ((n + 1) / n + lambda) far k Q Qf Hr HL) as [_ G].
  eapply Rle_trans; [exact G|]. apply Req_le. unfold eps_removed.
  replace ((1 + a * (far - 1)) / (1 + a * ((n + 1) / n - 1))) with (1 - a * (n + 1) * tau / ((n + a) * n))
    by (unfold far; field; lra).
  replace (far / ((n + 1) / n)) with (1 - tau / n) by (unfold far; field; lra).
  unfold psi.
  replace (1 + ((n + 1) / n - 1)) with ((n + 1) / n) by ring.
  replace (1 + a * ((n + 1) / n - 1)) with (1 + a / n) by (field; lra).
  field. lra. Qed.

(* log L2 from the determinants of the rank-one updates, q A + k v v' and c A + a k v v', as Update.v has them. *)
Lemma log_core q c kr dA k : c = 1 - a + a * q -> 0 < q -> 0 < c -> 0 < dA -> 0 < q + kr -> 0 < c + a * kr ->
  ln (c ^ k * (c + a * kr) * dA) - (1 - a) * ln dA - a * ln (q ^ k * (q + kr) * dA) = ln (L2_of a q (q + kr) k).
Proof using a1.
  intros -> q0 c0 d0 e0 f0. set (c := 1 - a + a * q) in *. unfold L2_of.
  replace (1 - a + a * (q + kr)) with (c + a * kr) by (unfold c; ring). fold c.
  assert (0 < c ^ k) by now apply pow_lt. assert (0 < q ^ k) by now apply pow_lt.
  rewrite ln_div; [|now apply Rmult_lt_0_compat|apply exp_pos]. rewrite ln_Rpower.
  rewrite (ln_mult _ dA), (ln_mult (q ^ k * _) dA); try assumption; try now apply Rmult_lt_0_compat. ring.
Qed.

(* The closed form with those determinants; r is the record's squared Mahalanobis distance, kr = k r. *)
Definition closed_form (L1 c q kr dA : R) (k : nat) : R :=
  a / 2 * L1 - / (2 * (a - 1)) * (ln (c ^ k * (c + a * kr) * dA) - (1 - a) * ln dA - a * ln (q ^ k * (q + kr) * dA)).

Lemma added n k tau L1 r dA : 0 < n -> 0 < tau -> a < n + 1 -> 0 < dA -> 0 <= r <= tau ->
  L1 <= tau / ((n + 1) * (n + 1 - a)) ->
  closed_form L1 ((n + 1 - a) / (n + 1)) (n / (n + 1)) (n / (n + 1) ^ 2 * r) dA k <= eps_added n a (INR k + 1) tau.
Proof using a1.
  intros n0 t0 an d0 [r0 rt] HL. unfold closed_form.
  assert (P : 0 < n / (n + 1) ^ 2) by (apply Rdiv_lt_0_compat; [|apply pow_lt]; lra).
  assert (Q : 0 < n / (n + 1)) by (apply Rdiv_lt_0_compat; lra).
  assert (C : 0 < (n + 1 - a) / (n + 1)) by (apply Rdiv_lt_0_compat; lra).
  assert (K : 0 <= n / (n + 1) ^ 2 * r) by (apply Rmult_le_pos; lra).
  rewrite log_core; try assumption; try lra; [|field; lra|].
  - apply eigenvalue_added; try assumption. split; [assumption|].
    replace (n * tau / (n + 1) ^ 2) with (n / (n + 1) ^ 2 * tau) by (field; lra). apply Rmult_le_compat_l; lra.
  - assert (0 <= a * (n / (n + 1) ^ 2 * r)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma removed n k tau L1 r dA : 0 < n -> 0 < tau -> n < tau * (n + 1) -> a < n ^ 2 / (tau * (n + 1) - n) -> 0 < dA -> 0 <= r <= tau ->
  L1 <= tau / (n * (n + a) - a * (n + 1) * tau) ->
  closed_form L1 ((n + a) / n) ((n + 1) / n) (- ((n + 1) / n ^ 2) * r) dA k <= eps_removed n a (INR k + 1) tau.
Proof using a1.
  intros n0 t0 c0 an d0 [r0 rt] HL. unfold closed_form.
  assert (P : 0 < (n + 1) / n ^ 2) by (apply Rdiv_lt_0_compat; [|apply pow_lt]; lra).
  assert (N : 0 < n * (n + a) - a * (n + 1) * tau).
  { assert (G := an). apply (Rmult_lt_compat_r (tau * (n + 1) - n)) in G; [|lra]. unfold Rdiv in G. rewrite Rmult_assoc, Rinv_l in G by lra. nra. }
  assert (K : (n + 1) / n ^ 2 * r <= (n + 1) / n ^ 2 * tau) by (apply Rmult_le_compat_l; lra).
  assert (K0 : 0 <= (n + 1) / n ^ 2 * r) by (apply Rmult_le_pos; lra).
  assert (M : 0 < (n + a) / n - a * ((n + 1) / n ^ 2 * tau)).
  { replace ((n + a) / n - a * ((n + 1) / n ^ 2 * tau)) with ((n * (n + a) - a * (n + 1) * tau) / n ^ 2) by (field; lra).
    apply Rdiv_lt_0_compat; [assumption|apply pow_lt; lra]. }
  assert (M' : a * ((n + 1) / n ^ 2 * r) <= a * ((n + 1) / n ^ 2 * tau)) by (apply Rmult_le_compat_l; lra).
  assert (C : 0 < (n + a) / n) by (apply Rdiv_lt_0_compat; lra).
  assert (E : (n + a) / n = 1 - a + a * ((n + 1) / n)) by (field; lra).
  rewrite log_core; try assumption; try lra.
  - apply eigenvalue_removed; try assumption.
    replace ((n + 1) * tau / n ^ 2) with ((n + 1) / n ^ 2 * tau) by (field; lra). lra.
  - apply Rdiv_lt_0_compat; lra.
  - apply (Rmult_lt_reg_l a); [lra|]. lra.
Qed.

End S.
