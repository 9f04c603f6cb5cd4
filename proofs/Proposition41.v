(* miura2022, Proposition 4.1 in one dimension: Theorem31.v's closed form `renyi` is the integral of Definition 2.2. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Theorem31.
From Compendium Require Gaussian.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

(* A number as a 1 x 1 matrix. *)
Lemma pd_1 (v : R) : pd (v%:M : 'M[R]_1) <-> (0 < v)%coqR.
Proof.
have q (z : 'cV[R]_1) : qf (v%:M) z = v * (z 0 0) ^+ 2.
  by rewrite /qf mul_scalar_mx dotE big_ord1 !mxE mulrCA -expr2.
split=> [[_ H]|/RltP v0].
  have := H 1%:M; rewrite q mxE expr1n mulr1 => P; apply/RltP; apply: P.
  by apply/eqP => /matrixP /(_ 0 0); rewrite !mxE /=; move/eqP; rewrite oner_eq0.
split=> [|z z0]; first by rewrite /sym tr_scalar_mx.
rewrite q mulr_gt0 // lt_def sqr_ge0 sqrf_eq0 andbT.
by apply: contra z0 => /eqP e; apply/eqP/matrixP => i k; rewrite !ord1 e mxE.
Qed.

Lemma Sigma_alpha_1 alpha (v1 v2 : R) : Sigma_alpha alpha (v1%:M : 'M[R]_1) v2%:M = ((1 - alpha) * v1 + alpha * v2)%coqR%:M.
Proof. by rewrite /Sigma_alpha !scale_scalar_mx -raddfD. Qed.

Lemma renyi_1 alpha (m1 v1 m2 v2 : R) : ((1 - alpha) * v1 + alpha * v2)%coqR <> 0%coqR ->
  renyi alpha (m1%:M : 'cV[R]_1) m2%:M v1%:M v2%:M = Gaussian.closed_form_1 alpha m1 v1 m2 v2.
Proof.
move=> c0; rewrite /renyi Sigma_alpha_1 !det_scalar !expr1 /Gaussian.closed_form_1; set c := ((1 - alpha) * v1 + alpha * v2)%coqR in c0 *.
rewrite invmx_scalar -raddfB /= mul_scalar_mx dotE big_ord1 !mxE /= !mulr1n.
by rewrite -RinvE //; apply/eqP.
Qed.

Section Proposition41.
Variables (alpha : R) (m1 m2 : 'cV[R]_1) (A B : 'M[R]_1).
Hypotheses (alpha1 : (1 < alpha)%coqR) (pA : pd A) (pB : pd B).
(* The densities of N(m1, A) and N(m2, B). *)
Let p : R -> R := Gaussian.density (m1 0 0) (A 0 0).
Let q : R -> R := Gaussian.density (m2 0 0) (B 0 0).

(* Proposition 4.1 in one dimension: if Sigma_alpha is positive definite, p^alpha q^(1 - alpha) has an integral, and the divergence of Definition 2.2,
   log(integral) / (alpha - 1), is the closed form. *)
Theorem proposition_4_1_line : pd (Sigma_alpha alpha A B) ->
  exists I, Gaussian.line (Gaussian.product alpha p q) I /\ (ln I / (alpha - 1) = renyi alpha m1 m2 A B)%coqR.
Proof.
move: pA pB; rewrite /p /q (mx11_scalar m1) (mx11_scalar m2) (mx11_scalar A) (mx11_scalar B) !mxE /= !mulr1n.
rewrite Sigma_alpha_1 => /pd_1 v1 /pd_1 v2 /pd_1 c0.
eexists; split; first exact: Gaussian.product_integral.
rewrite ln_exp renyi_1; last lra.
by field; lra.
Qed.

(* Proposition 4.1 in one dimension: if Sigma_alpha is not positive definite, the integral of p^alpha q^(1 - alpha) is infinite. *)
Theorem proposition_4_1_infinite : ~ pd (Sigma_alpha alpha A B) -> Gaussian.infinite (Gaussian.product alpha p q).
Proof.
move: pA pB; rewrite /p /q (mx11_scalar A) (mx11_scalar B) !mxE /= !mulr1n Sigma_alpha_1 => /pd_1 v1 /pd_1 v2 c0.
by apply: Gaussian.product_infinite => //; apply: Rnot_lt_le => c1; apply: c0; apply/pd_1.
Qed.

(* In one dimension the paper's T_alpha is positive definite if and only if Sigma_alpha is. *)
Theorem T_alpha_line : pd (alpha *: invmx A + (1 - alpha) *: invmx B) <-> pd (Sigma_alpha alpha A B).
Proof.
move: pA pB; rewrite (mx11_scalar A) (mx11_scalar B); move: (A 0 0) (B 0 0) => v w /pd_1 v0 /pd_1 w0.
rewrite Sigma_alpha_1 !invmx_scalar !scale_scalar_mx -raddfD !pd_1.
have nz (u : R) : (0 < u)%coqR -> u != 0 by move=> u0; apply/eqP => e; move: u0; rewrite e; apply: Rlt_irrefl.
rewrite -(RinvE (nz _ v0)) -(RinvE (nz _ w0)) -!RmultE -RplusE.
have -> : (alpha * / v + (1 - alpha) * / w = ((1 - alpha) * v + alpha * w) / (v * w))%coqR by field; lra.
have vw : (0 < v * w)%coqR by apply: Rmult_lt_0_compat.
split=> H; last by apply: Rdiv_lt_0_compat.
by apply: (Rmult_lt_reg_r (/ (v * w))%coqR); [apply: Rinv_0_lt_compat|rewrite Rmult_0_l].
Qed.
End Proposition41.
