(* "Beyond the document", Theorem A: one of n records replaced, public n, the first data set in D_sigma.

   It sharpens Theorem 3.2 of miura2022 (Lemmas 4.6 to 4.9), which follows from it at the end. As in Theorem31.v, Proposition 4.1's closed form is the definition of
   the divergence, and the theorem says that it is finite as well. In lib: gaussian_synthesis/bounds.py, bounded_epsilon_tight. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Update Theorem31.
From Compendium Require Formulas Eigenvalues.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

Lemma mixed_replaced (d : nat) (A U V : 'M[R]_d) (a k : R) :
  (1 - a) *: A + a *: (A + k *: V - k *: U) = A + (a * k)%coqR *: V - (a * k)%coqR *: U.
Proof. by rewrite -(addrA A) scalerDr addrA -scalerDl subrK scale1r scalerBr !scalerA addrA. Qed.

Lemma sym_replaced (d : nat) (A : 'M[R]_d) (u v : 'cV[R]_d) (k : R) : sym A -> sym (A + k *: (v *m v^T) - k *: (u *m u^T)).
Proof. by move=> sA; rewrite /sym linearB linearD !linearZ /= !trmx_mul !trmxK sA. Qed.

Section TheoremA.
Variables (j : nat) (D D' : seq 'cV[R]_j.+1) (alpha sigma : R).
Let n : R := INR (size D).
Let d : R := INR j.+1.
Hypotheses (two : (1 < size D)%N) (neighbours : one_replaced D D') (inside : table D) (inside' : table D').
Hypotheses (s0 : (0 < sigma)%coqR) (alpha1 : (1 < alpha)%coqR).

Let s0' : 0 < sigma. Proof. exact/RltP. Qed.
Let d1 : (1 <= d)%coqR. Proof. by rewrite /d S_INR; have := pos_INR j; lra. Qed.
Let four : (d * 4)%coqR = j.+1%:R * 4 :> R.
Proof. by rewrite /d RmultE INRE (_ : 4%coqR = 4%:R) // -INRE INR_IZR_INZ. Qed.

(* Theorem A: if D lies in D_sigma and alpha kappa < 1, kappa = (n - 1) tau / n^2, the divergence of D from D' is at most eps_bounded_tight(n). *)
Theorem theorem_A : floor (cov D) sigma -> (alpha * ((n - 1) * Formulas.tau d sigma / n ^ 2) < 1)%coqR ->
  finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_bounded_tight n alpha d sigma)%coqR.
Proof.
move=> fA small; have [x [y [E [p p']]]] := neighbours.
have E0 : (0 < size E)%N by move: two; rewrite (perm_size p).
rewrite /finite /divergence; move: fA; rewrite (mean_perm p) (cov_perm p) (mean_perm p') (cov_perm p') => fA.
set A := cov (x :: E) in fA *; set u := x - mean E; set v := y - mean E.
pose m : R := INR (size E); have en : n = (m + 1)%coqR by rewrite /n (perm_size p) -[size _]/(size E).+1 S_INR.
have m0 : (0 < m)%coqR by apply: lt_0_INR; apply/ssrnat.ltP.
have m1 : (0 < m + 1)%coqR by lra.
have n0 : (0 < n)%coqR by rewrite en; lra.
pose k : R := (m / n ^ 2)%coqR; pose g : R := (/ n)%coqR.
have k0 : (0 < k)%coqR by apply: Rdiv_lt_0_compat => //; apply: pow_lt.
have nz2 : (n ^ 2)%coqR <> 0%coqR by apply: not_eq_sym (Rlt_not_eq _ _ (pow_lt _ 2 n0)).
have ek : (size E)%:R / ((size E)%:R + 1) ^+ 2 = k.
  by rewrite /k -INRE -/m -RplusE -RpowE quotient -?en.
have eB : cov (y :: E) = A + k *: (v *m v^T) - k *: (u *m u^T).
  by rewrite (cov_replaced x y E0) ek scalerBr addrA.
have em : mean (x :: E) - mean (y :: E) = g *: (x - y).
  by rewrite (mean_replaced x y E0) -INRE -/m /g en RinvE //; apply/eqP; exact: not_eq_sym (Rlt_not_eq _ _ m1).
have tE z : z \in E -> cube z by move=> zE; apply: inside; rewrite (perm_mem p) in_cons zE orbT.
have cx : cube x by apply: inside; rewrite (perm_mem p) mem_head.
have cy : cube y by apply: inside'; rewrite (perm_mem p') mem_head.
have ur : dot u u <= (d * 4)%coqR by rewrite four; apply: radius.
have vr : dot v v <= (d * 4)%coqR by rewrite four; apply: radius.
have xy : dot (x - y) (x - y) <= (d * 4)%coqR by rewrite four; apply: cube_distance.
have sA : sym A := cov_sym _.
have [a0 ak] := r_range s0 fA vr; have [b0 bk] := r_range s0 fA ur.
have det0 := det_first s0 fA sA.
set a : R := dot v (invmx A *m v) in a0 ak; set b : R := dot u (invmx A *m u) in b0 bk; pose c : R := dot u (invmx A *m v).
have form l : (0 <= a + 2 * l * c + l ^ 2 * b)%coqR.
  by have /RleP := inverse_form u v s0' fA sA l; rewrite -/a -/b -/c -RpowE.
pose tau := Formulas.tau d sigma; pose kappa := ((n - 1) * tau / n ^ 2)%coqR; rewrite -/tau -/kappa in small.
have kk : kappa = (k * (d * 4 / sigma))%coqR by rewrite /kappa /k /tau /Formulas.tau en; field; move: n0; rewrite en; lra.
have ka : (k * a <= kappa)%coqR by rewrite kk; apply: Rmult_le_compat_l => //; lra.
have kb : (k * b <= kappa)%coqR by rewrite kk; apply: Rmult_le_compat_l => //; lra.
have [t1 [t2 [r1 [r2 split_]]]] := Eigenvalues.two_eigenvalues k a b c kappa (Rlt_le _ _ k0) a0 b0 form ka kb.
have detE (s : R) : (0 <= s)%coqR -> \det (A + (s * k)%coqR *: (v *m v^T) - (s * k)%coqR *: (u *m u^T)) = ((1 + s * t1) * (1 + s * t2) * \det A)%coqR.
  move=> sp; have sk : 0 <= (s * k)%coqR by apply/RleP; apply: Rmult_le_pos; lra.
  by rewrite (det_replaced u v s0' fA sA sk) -split_ -/a -/b -/c -!RpowE.
have eC : Sigma_alpha alpha A (cov (y :: E)) = A + (alpha * k)%coqR *: (v *m v^T) - (alpha * k)%coqR *: (u *m u^T).
  by rewrite /Sigma_alpha eB mixed_replaced.
pose t : R := (sigma - alpha * k * (d * 4))%coqR.
have et : t = (sigma * (1 - alpha * kappa))%coqR by rewrite kk /t; field; lra.
have t0 : (0 < t)%coqR by rewrite et; apply: Rmult_lt_0_compat; lra.
have ak0 : 0 <= (alpha * k)%coqR by apply/RleP; apply: Rmult_le_pos; lra.
have fC : floor (Sigma_alpha alpha A (cov (y :: E))) t.
  have fV : floor (A + (alpha * k)%coqR *: (v *m v^T)) sigma.
    by move=> z; have := floor_added fA v ler01 ak0 z; rewrite scale1r mul1r.
  move=> z; rewrite eC; have := floor_removed fV ler01 ak0 ur z; rewrite scale1r mul1r scaleNr.
  exact.
have sC : sym (Sigma_alpha alpha A (cov (y :: E))).
  by rewrite eC; apply: sym_replaced.
split; first by apply: floor_pd fC => //; apply/RltP.
have HL : (dot (g *: (x - y)) (invmx (Sigma_alpha alpha A (cov (y :: E))) *m (g *: (x - y)))
           <= tau / (n ^ 2 - alpha * (n - 1) * tau))%coqR.
  have t0' : 0 < t by apply/RltP.
  set L1 : R := dot _ _; have H : (L1 * t <= g ^ 2 * (d * 4))%coqR.
    by have /RleP := mean_term t0' fC g xy; rewrite -RpowE.
  apply: (Rmult_le_reg_r t) => //; apply: Rle_trans H _; apply: Req_le.
  have room : (n ^ 2 - alpha * (n - 1) * tau = n ^ 2 * (1 - alpha * kappa))%coqR by rewrite /kappa; field; lra.
  rewrite room et /g /tau /Formulas.tau; field; repeat split; lra.
rewrite /renyi em eC -eC (_ : \det (Sigma_alpha _ _ _) = ((1 + alpha * t1) * (1 + alpha * t2) * \det A)%coqR); last by rewrite eC detE //; lra.
have -> : \det (cov (y :: E)) = ((1 + t1) * (1 + t2) * \det A)%coqR.
  have := detE 1%coqR; rewrite !Rmult_1_l -eB => -> //; lra.
exact: (Eigenvalues.through_psi _ _ _ _ _ _ _ alpha1 small r1 r2 det0 HL).
Qed.

(* Theorem 3.2 of miura2022, under the same conditions: the divergence of D from D' is at most eps_bounded(n). *)
Theorem theorem_3_2 : floor (cov D) sigma -> (alpha * ((n - 1) * Formulas.tau d sigma / n ^ 2) < 1)%coqR ->
  finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_bounded n alpha d sigma)%coqR.
Proof.
move=> fA small; have [fin H] := theorem_A fA small; split=> //; apply: Rle_trans H _.
have n1 : (1 < n)%coqR by rewrite -[1%coqR]/(INR 1); apply: lt_INR; apply/ssrnat.ltP.
apply: Eigenvalues.tight_below_printed => //; first lra.
have t0 : (0 < Formulas.tau d sigma)%coqR by rewrite /Formulas.tau; apply: Rdiv_lt_0_compat => //; move: d1; lra.
apply: Rmult_le_pos; first by apply: Rmult_le_pos; lra.
by apply: Rlt_le; apply: Rinv_0_lt_compat; apply: pow_lt; lra.
Qed.
End TheoremA.
