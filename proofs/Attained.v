(* How far Theorem H is from the largest divergence: a table in one corner of the cube and a record in the opposite corner have all of its
   epsilon but the d psi / 2 of the source's other coordinates, which is of order d / n^2.

   In lib: gaussian_synthesis/pairs.py, regularised_epsilon_attained. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Theorem31 Channel TheoremH.
From Compendium Require Formulas TheoremD.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

Section Corner.
Variables (F : realFieldType) (d m : nat).
(* A corner of the cube. *)
Definition corner : 'cV[F]_d := const_mx 1.
(* The opposite corner. *)
Definition opposite : 'cV[F]_d := const_mx (-1).
(* m + 1 records, all in the corner. *)
Definition constant : seq 'cV[F]_d := nseq m.+1 corner.

Lemma constant_sum (G : zmodType) (f : 'cV[F]_d -> G) : \sum_(x <- constant) f x = f corner *+ m.+1.
Proof. by rewrite /constant big_nseq iter_addr addr0. Qed.

Lemma mean_constant : mean constant = corner.
Proof. by rewrite /mean constant_sum size_nseq -scaler_nat scalerA mulVf ?scale1r // pnatr_eq0. Qed.

Lemma cov_constant : cov constant = 0.
Proof. by rewrite /cov mean_constant constant_sum size_nseq -[(_ *m _) *+ _]scaler_nat scalerA mulVf ?scale1r ?subrr // pnatr_eq0. Qed.

Lemma opposite_table : table (opposite :: constant).
Proof.
have o1 : -1 <= 1 :> F by rewrite -subr_ge0 opprK addr_ge0 ?ler01.
move=> x; rewrite in_cons => /orP[/eqP ->|]; first by move=> i; rewrite mxE lexx o1.
by rewrite /constant => /nseqP[-> _] i; rewrite mxE lexx o1.
Qed.

Lemma opposite_far : dot (opposite - mean constant) (opposite - mean constant) = d%:R * 4.
Proof.
rewrite mean_constant dotE (eq_bigr (fun _ => 4)) ?sumr_const ?card_ord ?mulr_natl // => i _.
by rewrite !mxE -opprD mulrNN -[1 + 1]/(2%:R : F) -natrM.
Qed.
End Corner.

Section Attained.
Variables (j m : nat) (alpha sigma : R).
Let n : R := INR m.+1.
Let d : R := INR j.+1.
Let tau : R := Formulas.tau d sigma.
Let D : seq 'cV[R]_j.+1 := constant _ j.+1 m.
Let D' : seq 'cV[R]_j.+1 := opposite _ j.+1 :: D.
Hypotheses (s0 : (0 < sigma)%coqR) (alpha1 : (1 < alpha)%coqR).

Let s0' : 0 < sigma. Proof. exact/RltP. Qed.
Let n0 : (0 < n)%coqR. Proof. by apply: lt_0_INR; apply/ssrnat.ltP. Qed.
Let t0 : (0 < tau)%coqR.
Proof. by apply: Rdiv_lt_0_compat => //; apply: Rmult_lt_0_compat; [lra|apply: lt_0_INR; apply/ssrnat.ltP]. Qed.
Let v : 'cV[R]_j.+1 := opposite _ j.+1 - mean D.
Let A : 'M[R]_j.+1 := sigma%:M.
Let k : R := (n / (n + 1) ^ 2)%coqR.

Let fA : floor A sigma. Proof. by move=> z; rewrite /A qf_scalar. Qed.
Let sA : sym A. Proof. exact: tr_scalar_mx. Qed.
Let en : (size D)%:R = n :> R. Proof. by rewrite /D /constant size_nseq /n INRE. Qed.
Let N0 : (0 < (n + 1) ^ 2)%coqR. Proof. by apply: pow_lt; have := n0; lra. Qed.

Let r_tau : dot v (invmx A *m v) = tau.
Proof.
rewrite /A invmx_scalar mul_scalar_mx dotZr opposite_far -INRE.
rewrite -RinvE; last by rewrite gt_eqF.
change (/ sigma * (INR j.+1 * 4%:R) = 4 * INR j.+1 / sigma)%coqR; rewrite -(INRE 4) INR_IZR_INZ /=; field; lra.
Qed.

Let eP : released_cov sigma D = 1%coqR *: A + 0%coqR *: (v *m v^T).
Proof. by rewrite /released_cov cov_constant add0r scale1r scale0r addr0. Qed.

Let eQ : released_cov sigma D' = 1%coqR *: A + k *: (v *m v^T).
Proof.
rewrite /released_cov /D' cov_added // cov_constant scaler0 add0r en scale1r addrC -/v; congr (_ + _ *: _).
have n2 : ((n + 1) ^ 2)%coqR <> 0%coqR by have := N0; lra.
by rewrite /k -RpowE; exact: (quotient n n2).
Qed.

Let em' : mean D' - mean D = (/ (n + 1))%coqR *: v.
Proof.
rewrite /D' mean_added // en -/v RinvE //; apply/eqP => e; have := n0; change ((n + 1)%coqR = 0%coqR) in e; lra.
Qed.

Let em : mean D - mean D' = (- / (n + 1))%coqR *: v.
Proof.
rewrite -opprB /D' mean_added // en -/v -scaleNr RinvE //; apply/eqP => e; have := n0; change ((n + 1)%coqR = 0%coqR) in e; lra.
Qed.

(* Theorem H, a record added: D has n records in one corner of the cube, D' one more in the opposite corner. Their divergence is exactly this. *)
Theorem H_added_attained : size D = m.+1 /\ one_more D D' /\ table D' /\ released_finite alpha sigma D D' /\
  released_divergence alpha sigma D D' = (Formulas.eps_H_added n alpha d tau - d * Formulas.psi alpha (- 1 / (n + 1)) / 2)%coqR.
Proof.
split; first by rewrite size_nseq. split; first by exists (opposite _ j.+1); exact: perm_refl. split; first exact: opposite_table.
have p : (0 < k * tau)%coqR by apply: Rmult_lt_0_compat => //; apply: Rdiv_lt_0_compat.
have ap : (0 < alpha * (k * tau))%coqR by apply: Rmult_lt_0_compat; lra.
have := @TheoremD.exact j A (released_cov sigma D) (released_cov sigma D') (mean D) (mean D') v alpha sigma 1%coqR 0%coqR 1%coqR k (- / (n + 1))%coqR s0 fA sA alpha1 eP eQ em Rlt_0_1 Rlt_0_1.
rewrite r_tau => /(_ ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)) [fin e]; split=> //.
rewrite /released_divergence e /Formulas.eps_H_added.
have -> : (1 / 1 - 1 = 0)%coqR by field.
have -> : ((1 + k * tau) / (1 + 0 * tau) - 1 = n * tau / (n + 1) ^ 2)%coqR by rewrite /k; field; have := n0; lra.
have -> : Formulas.psi alpha 0 = 0%coqR by rewrite /Formulas.psi Rmult_0_r Rplus_0_r ln_1; field; lra.
have -> : ((- / (n + 1)) ^ 2 * tau / ((1 - alpha) * (1 + 0 * tau) + alpha * (1 + k * tau)) = tau / ((n + 1) ^ 2 + alpha * n * tau))%coqR.
  have e2 : ((1 - alpha) * (1 + 0 * tau) + alpha * (1 + k * tau) = ((n + 1) ^ 2 + alpha * n * tau) / (n + 1) ^ 2)%coqR by rewrite /k; field; have := n0; lra.
  rewrite e2; have q : (0 < alpha * n * tau)%coqR by apply: Rmult_lt_0_compat => //; apply: Rmult_lt_0_compat => //; lra.
  by field; have := n0; have := N0; repeat split; lra.
lra.
Qed.

(* Theorem H, a record removed: the divergence of the same D' from D is exactly this, where the bound is finite. *)
Theorem H_removed_attained : ((alpha - 1) * n * tau < (n + 1) ^ 2)%coqR -> released_finite alpha sigma D' D /\
  released_divergence alpha sigma D' D = (Formulas.eps_H_removed n alpha d tau - d * Formulas.psi alpha (1 / n) / 2)%coqR.
Proof.
move=> room; have p : (0 < k * tau)%coqR by apply: Rmult_lt_0_compat => //; apply: Rdiv_lt_0_compat.
have e2 : ((1 - alpha) * (1 + k * tau) + alpha * (1 + 0 * tau) = ((n + 1) ^ 2 - (alpha - 1) * n * tau) / (n + 1) ^ 2)%coqR by rewrite /k; field; have := n0; lra.
have e0 : (0 < (1 - alpha) * (1 + k * tau) + alpha * (1 + 0 * tau))%coqR by rewrite e2; apply: Rdiv_lt_0_compat => //; lra.
have := @TheoremD.exact j A (released_cov sigma D') (released_cov sigma D) (mean D') (mean D) v alpha sigma 1%coqR k 1%coqR 0%coqR (/ (n + 1))%coqR s0 fA sA alpha1 eQ eP em' Rlt_0_1 Rlt_0_1.
rewrite r_tau => /(_ ltac:(lra) ltac:(lra) ltac:(lra) e0) [fin e]; split=> //.
rewrite /released_divergence e /Formulas.eps_H_removed.
have -> : (1 / 1 - 1 = 0)%coqR by field.
have nt : (0 < n * tau)%coqR by apply: Rmult_lt_0_compat.
have -> : ((1 + 0 * tau) / (1 + k * tau) - 1 = - (n * tau) / ((n + 1) ^ 2 + n * tau))%coqR by rewrite /k; field; have := n0; have := N0; repeat split; lra.
have -> : Formulas.psi alpha 0 = 0%coqR by rewrite /Formulas.psi Rmult_0_r Rplus_0_r ln_1; field; lra.
have -> : ((/ (n + 1)) ^ 2 * tau / ((1 - alpha) * (1 + k * tau) + alpha * (1 + 0 * tau)) = tau / ((n + 1) ^ 2 - (alpha - 1) * n * tau))%coqR.
  by rewrite e2; field; have := n0; have := N0; repeat split; lra.
lra.
Qed.
End Attained.
