(* m records that are drawn independently from one Gaussian are one Gaussian in m d dimensions; its divergence is m times as large. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Theorem31 Channel Blocks.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

(* The covariance of m independent records of covariance A: m blocks A on the diagonal. *)
Fixpoint copies_cov d (m : nat) (A : 'M[R]_d) : 'M[R]_(m * d) :=
  match m with O => 0 | S k => block_mx A 0 0 (copies_cov k A) end.
(* Their mean: m times the mean, one below the other. *)
Fixpoint copies_mean d (m : nat) (x : 'cV[R]_d) : 'cV[R]_(m * d) :=
  match m with O => 0 | S k => col_mx x (copies_mean k x) end.

Lemma copies_pd d m (A : 'M[R]_d) : pd A -> pd (copies_cov m A).
Proof.
move=> pA; elim: m => [|m IH]; last exact: (pd_diag pA IH).
by split=> [|z /eqP []]; apply/matrixP => -[].
Qed.

Lemma copies_mixed d m alpha (A B : 'M[R]_d) : Sigma_alpha alpha (copies_cov m A) (copies_cov m B) = copies_cov m (Sigma_alpha alpha A B).
Proof.
elim: m => [|m IH]; first by apply/matrixP => -[].
by rewrite [RHS]/= -IH /Sigma_alpha /= !scale_block_mx add_block_mx !scaler0 !addr0.
Qed.

Lemma copies_ln_det d m (A : 'M[R]_d) : pd A -> ln (\det (copies_cov m A)) = (INR m * ln (\det A))%coqR.
Proof.
move=> pA; elim: m => [|m IH]; first by rewrite det_mx00 ln_1 Rmult_0_l.
rewrite S_INR Rmult_plus_distr_r Rmult_1_l -IH Rplus_comm [copies_cov _ _]/= det_ublock -RmultE ln_mult //; apply/RltP.
- exact: pd_det pA.
- exact: pd_det (copies_pd m pA).
Qed.

Lemma diag_term m n (A : 'M[R]_m) (B : 'M[R]_n) x y : pd A -> pd B ->
  dot (col_mx x y) (invmx (block_mx A 0 0 B) *m col_mx x y) = dot x (invmx A *m x) + dot y (invmx B *m y).
Proof.
move=> pA pB; have e : block_mx A 0 0 B *m col_mx (invmx A *m x) (invmx B *m y) = col_mx x y.
  by rewrite mul_block_col !mul0mx addr0 add0r !mulKVmx // pd_unit.
by rewrite -{2}e mulKmx ?dot_cols //; apply: pd_unit; apply: pd_diag.
Qed.

Lemma copies_term d m (C : 'M[R]_d) (x : 'cV[R]_d) : pd C ->
  dot (copies_mean m x) (invmx (copies_cov m C) *m copies_mean m x) = (INR m * dot x (invmx C *m x))%coqR.
Proof.
move=> pC; elim: m => [|m IH]; first by rewrite dot0l Rmult_0_l.
by rewrite S_INR Rmult_plus_distr_r Rmult_1_l -IH Rplus_comm [copies_cov _ _]/= [copies_mean _ _]/= (diag_term _ _ pC (copies_pd m pC)).
Qed.

Lemma copies_minus d m (x y : 'cV[R]_d) : copies_mean m x - copies_mean m y = copies_mean m (x - y).
Proof. by elim: m => [|m IH]; [rewrite subr0|rewrite [RHS]/= -IH /= opp_col_mx add_col_mx]. Qed.

(* The divergence of m records is m times that of one record, for any two Gaussians. *)
Theorem copies_renyi d m alpha (m1 m2 : 'cV[R]_d) (A B : 'M[R]_d) : (1 < alpha)%coqR -> pd A -> pd B -> pd (Sigma_alpha alpha A B) ->
  pd (Sigma_alpha alpha (copies_cov m A) (copies_cov m B)) /\
  renyi alpha (copies_mean m m1) (copies_mean m m2) (copies_cov m A) (copies_cov m B) = (INR m * renyi alpha m1 m2 A B)%coqR.
Proof.
move=> a1 pA pB pC; rewrite copies_mixed; split; first exact: copies_pd.
by rewrite /renyi copies_mixed copies_minus copies_term // !copies_ln_det //; field; lra.
Qed.
