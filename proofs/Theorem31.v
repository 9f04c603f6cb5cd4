(* miura2022, Theorem 3.1, from data sets to the printed epsilon: one record added, and one removed.

   Proposition 4.1's closed form is the definition of the Renyi divergence of two Gaussians here. It is the integral's value where
   Sigma_alpha is positive definite, so each theorem says that this is so as well. Restated in notebooks/miura2022/01_proofs. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Update.
From Compendium Require Formulas Scalars.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

(* Sigma_alpha of Proposition 4.1. *)
Definition Sigma_alpha (d : nat) (alpha : R) (A B : 'M[R]_d) : 'M[R]_d := (1 - alpha) *: A + alpha *: B.

(* Proposition 4.1, with the logarithm of L2 spelled out: D_alpha(N(m1, A) || N(m2, B)). *)
Definition renyi (d : nat) (alpha : R) (m1 m2 : 'cV[R]_d) (A B : 'M[R]_d) : R :=
  let C := Sigma_alpha alpha A B in
  (alpha / 2 * dot (m1 - m2)%R (invmx C *m (m1 - m2))%R
   - / (2 * (alpha - 1)) * (ln (\det C) - (1 - alpha) * ln (\det A) - alpha * ln (\det B)))%coqR.

(* The divergence of one record drawn for D from one drawn for D', before it is clipped. *)
Definition divergence (d : nat) (alpha : R) (D D' : seq 'cV[R]_d) : R :=
  renyi alpha (mean D) (mean D') (cov D) (cov D').

(* That divergence is finite: Sigma_alpha is positive definite. *)
Definition finite (d : nat) (alpha : R) (D D' : seq 'cV[R]_d) : Prop := pd (Sigma_alpha alpha (cov D) (cov D')).

(* D_sigma: data sets in the cube whose covariance has no eigenvalue below sigma. *)
Definition in_D_sigma (d : nat) (sigma : R) (D : seq 'cV[R]_d) : Prop := table D /\ floor (cov D) sigma.

Section Pair.
Variables (j : nat) (A B : 'M[R]_j.+1) (m1 m2 v : 'cV[R]_j.+1) (alpha sigma q k g radius : R).
Hypotheses (s0 : (0 < sigma)%coqR) (fA : floor A sigma) (sA : sym A) (q0 : (0 < q)%coqR).
Hypotheses (eB : B = q *: A + k *: (v *m v^T)) (em : m1 - m2 = g *: v) (vr : dot v v <= radius).
Let r : R := dot v (invmx A *m v).
Let c : R := (1 - alpha + alpha * q)%coqR.
Let C := Sigma_alpha alpha A B.

Lemma det_second : \det B = (q ^ j * (q + k * r) * \det A)%coqR.
Proof. by rewrite eB (det_pair _ _ (s := sigma) _ fA) ?RpowE //; [apply/RltP|apply/eqP => e; move: q0; rewrite e; apply: Rlt_irrefl]. Qed.

Lemma C_update : C = c *: A + (alpha * k)%R *: (v *m v^T).
Proof. by rewrite /C /Sigma_alpha eB mixed. Qed.

Lemma det_mixed : (0 < c)%coqR -> \det C = (c ^ j * (c + alpha * (k * r)) * \det A)%coqR.
Proof.
move=> c0; rewrite C_update (det_pair _ _ (s := sigma) _ fA) ?RpowE //.
- by rewrite -[(alpha * k * _)%R]mulrA.
- exact/RltP.
- by apply/eqP => e; move: c0; rewrite e; apply: Rlt_irrefl.
Qed.

Lemma det_first : (0 < \det A)%coqR.
Proof. by apply/RltP; apply: pd_det; apply: (floor_pd (s := sigma)) => //; apply/RltP. Qed.

Lemma r_range : (0 <= r <= radius / sigma)%coqR.
Proof.
have s0' : 0 < sigma by apply/RltP.
have [r0 r1] := distance_range s0' fA vr; split; first exact/RleP.
move/RleP: r1; rewrite -RmultE => r1.
apply: (Rmult_le_reg_r sigma) => //; rewrite /Rdiv Rmult_assoc Rinv_l ?Rmult_1_r //; lra.
Qed.

Lemma sym_mixed : sym C.
Proof.
rewrite C_update /sym linearD !linearZ /= trmx_mul trmxK; congr (_ *: _ + _); exact: sA.
Qed.

Lemma mean_part t : (0 < t)%coqR -> floor C t -> (dot (m1 - m2) (invmx C *m (m1 - m2)) <= g ^ 2 * radius / t)%coqR.
Proof.
move=> t0 fC; have t0' : 0 < t by apply/RltP.
have := mean_term t0' fC g vr; rewrite -em => /RleP H.
apply: (Rmult_le_reg_r t) => //; rewrite /Rdiv Rmult_assoc Rinv_l ?Rmult_1_r; last lra.
by move: H; rewrite -RpowE.
Qed.

Lemma renyi_closed : (0 < c)%coqR ->
  renyi alpha m1 m2 A B = Scalars.closed_form alpha (dot (m1 - m2) (invmx C *m (m1 - m2))) c q (k * r)%coqR (\det A) j.
Proof. by move=> c0; rewrite /renyi -/C (det_mixed c0) det_second /Scalars.closed_form. Qed.
End Pair.


(* mathcomp's quotients are those of the real numbers. *)
Lemma quotient (x y : R) : y <> 0%coqR -> (x / y)%R = (x / y)%coqR.
Proof. by move=> y0; rewrite RdivE //; apply/eqP. Qed.

Lemma same_terms (j : nat) (c : R) : \sum_(i < j) c = (INR j * c)%coqR.
Proof. by rewrite sumr_const card_ord -mulr_natl INRE. Qed.

Section Theorem31.
Variables (j : nat) (D D' : seq 'cV[R]_j.+1) (alpha sigma : R).
Let n : R := INR (size D).
Let d : R := INR j.+1.
Hypotheses (some : (0 < size D)%N) (neighbours : one_more D D') (inside : table D').
Hypotheses (sigma_range : (0 < sigma <= 1)%coqR) (alpha1 : (1 < alpha)%coqR).

Let s0 : (0 < sigma)%coqR. Proof. by case: sigma_range. Qed.
Let s0' : 0 < sigma. Proof. exact/RltP. Qed.
Let n0 : (0 < n)%coqR. Proof. by apply: lt_0_INR; apply/ssrnat.ltP. Qed.
Let d1 : (1 <= d)%coqR. Proof. by rewrite /d S_INR; have := pos_INR j; lra. Qed.
Let tau : R := Formulas.tau d sigma.

Let tau4 : (4 <= tau)%coqR.
Proof.
have H := d1; case: sigma_range => H1 H2; rewrite /tau /Formulas.tau; apply: (Rmult_le_reg_r sigma); first lra.
by rewrite /Rdiv (Rmult_assoc _ _ sigma) Rinv_l; lra.
Qed.

Let far (E : seq 'cV[R]_j.+1) x : (0 < size E)%N -> table E -> cube x -> dot (x - mean E) (x - mean E) <= (d * 4)%coqR.
Proof.
move=> *; rewrite /d RmultE INRE (_ : 4%coqR = 4%:R); first exact: radius.
by rewrite -INRE INR_IZR_INZ.
Qed.

Let range (E : 'M[R]_j.+1) v : floor E sigma -> dot v v <= (d * 4)%coqR -> (0 <= dot v (invmx E *m v) <= tau)%coqR.
Proof.
move=> fE vr; have := r_range s0 fE vr; rewrite /tau /Formulas.tau.
by have -> : (d * 4 / sigma = 4 * d / sigma)%coqR by field; lra.
Qed.

(* Theorem 3.1, a record added: if D lies in D_sigma and alpha < n + 1, its divergence from D' = D and one record more is at most eps_added(n). *)
Theorem theorem_3_1_added : in_D_sigma sigma D -> (alpha < n + 1)%coqR ->
  finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_added n alpha d (Formulas.tau d sigma))%coqR.
Proof.
move=> [tD fA] an; have [x p] := neighbours; rewrite /finite /divergence (mean_perm p) (cov_perm p).
set A := cov D; set v := x - mean D.
pose q : R := (n / (n + 1))%coqR; pose k : R := (n / (n + 1) ^ 2)%coqR; pose g : R := (- / (n + 1))%coqR.
have n1 : (0 < n + 1)%coqR by move: n0; lra.
have q0 : (0 < q)%coqR by apply: Rdiv_lt_0_compat.
have k0 : (0 < k)%coqR by apply: Rdiv_lt_0_compat => //; apply: pow_lt.
have eB : cov (x :: D) = q *: A + k *: (v *m v^T).
  rewrite (cov_added x some) -/A -/v /q /k -INRE -/n -RplusE -RpowE !quotient //; [exact: not_eq_sym (Rlt_not_eq _ _ (pow_lt _ 2 n1)) | exact: not_eq_sym (Rlt_not_eq _ _ n1)].
have em : mean D - mean (x :: D) = g *: v.
  rewrite -opprB (mean_added x some) -/v -INRE -/n /g -scaleNr RinvE //; apply/eqP; exact: not_eq_sym (Rlt_not_eq _ _ n1).
have cx : cube x by apply: inside; rewrite (perm_mem p) mem_head.
have vr := far some tD cx.
have ec : (1 - alpha + alpha * q = (n + 1 - alpha) / (n + 1))%coqR by rewrite /q; field; lra.
have c0 : (0 < 1 - alpha + alpha * q)%coqR by rewrite ec; apply: Rdiv_lt_0_compat; lra.
have t0 : (0 < (1 - alpha + alpha * q) * sigma)%coqR by apply: Rmult_lt_0_compat.
have fC : floor (Sigma_alpha alpha A (cov (x :: D))) ((1 - alpha + alpha * q) * sigma)%coqR.
  rewrite (C_update alpha eB); apply: floor_added => //; apply/RleP; first exact: Rlt_le.
  by apply: Rmult_le_pos; [lra|exact: Rlt_le].
have sA := cov_sym D; split.
  apply: floor_pd fC; first exact/RltP; exact: (sym_mixed alpha sA eB).
rewrite (renyi_closed _ _ s0 fA q0 eB c0) ec.
have eD : (INR j + 1 = d)%coqR by rewrite /d S_INR.
have t4 := tau4; rewrite -[in X in (_ <= X)%coqR]eD; apply: Scalars.added; rewrite ?eD -/tau //; try lra.
- exact: det_first s0 fA sA.
- exact: range.
- have := mean_part em vr t0 fC; rewrite ec /g /tau /Formulas.tau => H; apply: Rle_trans H _.
  by apply: Req_le; field; repeat split; lra.
Qed.

(* Theorem 3.1, a record removed: if D' = D and one record more lies in D_sigma and alpha < n^2 / (tau (n + 1) - n), its divergence from D is at
   most eps_removed(n). *)
Theorem theorem_3_1_removed : in_D_sigma sigma D' -> (alpha < n ^ 2 / (Formulas.tau d sigma * (n + 1) - n))%coqR ->
  finite alpha D' D /\ (divergence alpha D' D <= Formulas.eps_removed n alpha d (Formulas.tau d sigma))%coqR.
Proof.
move=> [tD fA] an; have [x p] := neighbours; rewrite /finite /divergence; move: tD fA; rewrite (mean_perm p) (cov_perm p) => tD fA.
set A := cov (x :: D); set v := x - mean (x :: D).
pose q : R := ((n + 1) / n)%coqR; pose k : R := (- ((n + 1) / n ^ 2))%coqR; pose g : R := (/ n)%coqR.
have n1 : (0 < n + 1)%coqR by move: n0; lra.
have t4 := tau4; rewrite -/tau in an *.
have q0 : (0 < q)%coqR by apply: Rdiv_lt_0_compat.
have k0 : (0 < (n + 1) / n ^ 2)%coqR by apply: Rdiv_lt_0_compat => //; apply: pow_lt.
have nz : n <> 0%coqR by apply: not_eq_sym (Rlt_not_eq _ _ n0).
have nz2 : (n ^ 2)%coqR <> 0%coqR by apply: not_eq_sym (Rlt_not_eq _ _ (pow_lt _ 2 n0)).
have eB : cov D = q *: A + k *: (v *m v^T).
  by rewrite [LHS](cov_removed x some) -/A -/v /q /k -INRE -/n -RplusE -RpowE !quotient // scaleNr.
have em : mean (x :: D) - mean D = g *: v.
  by rewrite -opprB (mean_removed x some) -/v -INRE -/n /g scaleNr opprK RinvE //; apply/eqP.
have tx : table (x :: D) by move=> y; rewrite -(perm_mem p); apply: tD.
have cx : cube x by apply: tx; rewrite mem_head.
have vr := far (isT : (0 < size (x :: D))%N) tx cx.
have ec : (1 - alpha + alpha * q = (n + alpha) / n)%coqR by rewrite /q; field; lra.
have c0 : (0 < 1 - alpha + alpha * q)%coqR by rewrite ec; apply: Rdiv_lt_0_compat; lra.
have room : (0 < n * (n + alpha) - alpha * (n + 1) * tau)%coqR.
  have pos : (0 < tau * (n + 1) - n)%coqR by nra.
  move: an => /(Rmult_lt_compat_r _ _ _ pos); rewrite /Rdiv Rmult_assoc Rinv_l; nra.
pose t : R := ((1 - alpha + alpha * q) * sigma - alpha * ((n + 1) / n ^ 2) * (d * 4))%coqR.
have et : (t = sigma * (n * (n + alpha) - alpha * (n + 1) * tau) / n ^ 2)%coqR.
  by rewrite /t ec /tau /Formulas.tau; field; split; lra.
have t0 : (0 < t)%coqR by rewrite et; apply: Rdiv_lt_0_compat; [apply: Rmult_lt_0_compat|apply: pow_lt].
have fC : floor (Sigma_alpha alpha A (cov D)) t.
  rewrite (C_update alpha eB) (_ : alpha * k = - (alpha * ((n + 1) / n ^ 2))%coqR)%R; last by rewrite mulrN.
  apply: floor_removed => //; apply/RleP; first exact: Rlt_le.
  by apply: Rmult_le_pos; [lra|exact: Rlt_le].
have sA := cov_sym (x :: D); split.
  apply: floor_pd fC; first exact/RltP; exact: (sym_mixed alpha sA eB).
rewrite (renyi_closed _ _ s0 fA q0 eB c0) ec.
have eD : (INR j + 1 = d)%coqR by rewrite /d S_INR.
rewrite -[in X in (_ <= X)%coqR]eD; apply: Scalars.removed; rewrite ?eD -/tau //; try lra; try nra.
- exact: det_first s0 fA sA.
- exact: range.
- have := mean_part em vr t0 fC; rewrite et /g /tau /Formulas.tau => H; apply: Rle_trans H _.
  apply: Req_le; field; repeat split; try lra.
  have -> : (n * (n + alpha) * sigma - alpha * (n + 1) * (4 * d) = sigma * (n * (n + alpha) - alpha * (n + 1) * tau))%coqR.
    by rewrite /tau /Formulas.tau; field; lra.
  by apply: not_eq_sym (Rlt_not_eq _ _ _); apply: Rmult_lt_0_compat.
Qed.

(* Theorem 3.1: both data sets in D_sigma, both orders, one epsilon. *)
Theorem theorem_3_1 : in_D_sigma sigma D -> in_D_sigma sigma D' -> (alpha < n ^ 2 / (Formulas.tau d sigma * (n + 1) - n))%coqR ->
  (finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_unbounded n alpha d sigma)%coqR) /\
  (finite alpha D' D /\ (divergence alpha D' D <= Formulas.eps_unbounded n alpha d sigma)%coqR).
Proof.
move=> iD iD' an; have t4 := tau4; have n_pos := n0.
have pos : (0 < tau * (n + 1) - n)%coqR by nra.
have an' : (alpha < n + 1)%coqR.
  move: an => /(Rmult_lt_compat_r _ _ _ pos); rewrite -/tau /Rdiv Rmult_assoc Rinv_l; last lra.
  rewrite Rmult_1_r => H; apply: Rnot_le_lt => G.
  have : ((n + 1) * (tau * (n + 1) - n) <= alpha * (tau * (n + 1) - n))%coqR by apply: Rmult_le_compat_r; lra.
  nra.
have [f1 h1] := theorem_3_1_added iD an'; have [f2 h2] := theorem_3_1_removed iD' an.
split; split=> //; [apply: Rle_trans h1 (Rmax_l _ _)|apply: Rle_trans h2 (Rmax_r _ _)].
Qed.
End Theorem31.
