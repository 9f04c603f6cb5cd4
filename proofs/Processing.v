(* The data-processing inequality of the Renyi divergence for linear images of Gaussians; Proposition 4.1's closed form is the definition.

   A map of full rank is an invertible one, which keeps the divergence; then coordinates are dropped, one at a time. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Theorem31 Channel Blocks.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

Lemma ln_tangent x y : (0 < x)%coqR -> (0 < y)%coqR -> (ln x <= ln y + (x - y) / y)%coqR.
Proof.
move=> x0 y0; have E := exp_ineq1_le (ln x - ln y).
have -> : ((x - y) / y = x / y - 1)%coqR by field; lra.
have : (exp (ln x - ln y) = x / y)%coqR by rewrite /Rminus exp_plus exp_Ropp !exp_ln.
by move: E => /[swap] ->; lra.
Qed.

(* The logarithm is concave. *)
Lemma ln_mixed alpha a b c : (1 < alpha)%coqR -> (0 < a)%coqR -> (0 < b)%coqR -> (0 < c)%coqR -> (c + (alpha - 1) * a <= alpha * b)%coqR ->
  (ln c - (1 - alpha) * ln a - alpha * ln b <= 0)%coqR.
Proof.
move=> a1 a0 b0 c0 H; have C := ln_tangent c0 b0; have A := ln_tangent a0 b0.
have A' : ((alpha - 1) * ln a <= (alpha - 1) * (ln b + (a - b) / b))%coqR by apply: Rmult_le_compat_l; lra.
have E : ((c - b) / b + (alpha - 1) * ((a - b) / b) <= 0)%coqR.
  have -> : ((c - b) / b + (alpha - 1) * ((a - b) / b) = (c + (alpha - 1) * a - alpha * b) * / b)%coqR by field; lra.
  have i : (0 < / b)%coqR by apply: Rinv_0_lt_compat.
  by have := Rmult_le_compat_r _ _ _ (Rlt_le _ _ i) H; lra.
lra.
Qed.

Lemma Sigma_image d e alpha (T : 'M[R]_(e, d)) (A B : 'M[R]_d) :
  Sigma_alpha alpha (T *m A *m T^T) (T *m B *m T^T) = T *m Sigma_alpha alpha A B *m T^T.
Proof. by rewrite /Sigma_alpha mulmxDr mulmxDl -!scalemxAr -!scalemxAl. Qed.

Lemma ln_det_image d (X A : 'M[R]_d) : X \in unitmx -> pd A -> ln (\det (X *m A *m X^T)) = (ln (\det X * \det X) + ln (\det A))%coqR.
Proof.
move=> uX pA; have a0 := pd_det pA.
have x0 : \det X != 0 by move: uX; rewrite unitmxE unitfE.
rewrite !det_mulmx det_tr mulrAC -[LHS]/(ln (\det X * \det X * \det A)%coqR) ln_mult //; last exact/RltP.
by apply/RltP; rewrite RmultE -expr2 lt_def sqr_ge0 andbT expf_neq0.
Qed.

(* An invertible map changes nothing. *)
Lemma renyi_invertible d alpha (X : 'M[R]_d) m1 m2 (A B : 'M[R]_d) : X \in unitmx -> pd A -> pd B -> pd (Sigma_alpha alpha A B) -> (1 < alpha)%coqR ->
  renyi alpha (X *m m1) (X *m m2) (X *m A *m X^T) (X *m B *m X^T) = renyi alpha m1 m2 A B.
Proof.
move=> uX pA pB pC a1; rewrite /renyi Sigma_image !ln_det_image //; set C := Sigma_alpha alpha A B.
have uC : X *m C *m X^T \in unitmx by rewrite !unitmx_mul unitmx_tr uX pd_unit.
have -> : dot (X *m m1 - X *m m2) (invmx (X *m C *m X^T) *m (X *m m1 - X *m m2)) = dot (m1 - m2) (invmx C *m (m1 - m2)).
  rewrite -mulmxBr; set m := m1 - m2.
  have -> : invmx (X *m C *m X^T) *m (X *m m) = invmx X^T *m (invmx C *m m).
    have e : X *m C *m X^T *m (invmx X^T *m (invmx C *m m)) = X *m m.
      by rewrite -(mulmxA (X *m C)) mulKVmx ?unitmx_tr // -mulmxA mulKVmx // pd_unit.
    by rewrite -{1}e mulKmx.
  by rewrite /dot trmx_mul -(mulmxA _ X^T) mulKVmx ?unitmx_tr.
by congr Rminus; congr Rmult; ring.
Qed.

Section Drop.
Variables (n : nat) (alpha : R) (m1 m2 : 'cV[R]_(1 + n)) (A B : 'M[R]_(1 + n)).
Hypotheses (a1 : (1 < alpha)%coqR) (pA : pd A) (pB : pd B) (pC : pd (Sigma_alpha alpha A B)).
Let C := Sigma_alpha alpha A B.

Lemma schur_mixed : (schur C + (alpha - 1) * schur A <= alpha * schur B)%coqR.
Proof.
have [w eB] := schur_at pB; have /RleP hA := schur_le pA w; have /RleP hC := schur_le pC w; rewrite -/C in hC.
have eC : qf C (col_mx 1%:M w) = ((1 - alpha) * qf A (col_mx 1%:M w) + alpha * qf B (col_mx 1%:M w))%coqR.
  by rewrite /C /Sigma_alpha qfD !qfZ.
rewrite eC in hC; rewrite eB.
by have := Rmult_le_compat_l (alpha - 1)%coqR _ _ ltac:(lra) hA; lra.
Qed.

(* One coordinate is dropped. *)
Lemma renyi_drop : (renyi alpha (dsubmx m1) (dsubmx m2) (drsubmx A) (drsubmx B) <= renyi alpha m1 m2 A B)%coqR.
Proof.
have eS : Sigma_alpha alpha (drsubmx A) (drsubmx B) = drsubmx C by apply/matrixP => i k; rewrite !mxE.
rewrite /renyi eS -/C (det_schur pA) (det_schur pB) (det_schur pC).
have sA := schur_gt0 pA; have sB := schur_gt0 pB; have sC := schur_gt0 pC.
have dA := pd_det (pd_rest pA); have dB := pd_det (pd_rest pB); have dC := pd_det (pd_rest pC).
have M : (dot (dsubmx m1 - dsubmx m2)%R (invmx (drsubmx C) *m (dsubmx m1 - dsubmx m2))%R <= dot (m1 - m2)%R (invmx C *m (m1 - m2))%R)%coqR.
  have -> : dsubmx m1 - dsubmx m2 = dsubmx (m1 - m2) by rewrite linearB.
  set m := m1 - m2; apply/RleP; rewrite -(largest_at (dsubmx m) (pd_rest pC)); set z := invmx _ *m _.
  apply: le_trans (largest m (col_mx 0 z) pC); rewrite (qf_rest pC) -{2}(vsubmxK m) dot_col.
  by rewrite (dotC _ 0) dot0l add0r.
have L := ln_mixed a1 _ _ _ schur_mixed; move: L.
move/RltP: sA => sA; move/RltP: sB => sB; move/RltP: sC => sC; move/RltP: dA => dA; move/RltP: dB => dB; move/RltP: dC => dC.
move=> /(_ sA sB sC) L; rewrite -/C in L *.
rewrite -!RmultE !ln_mult //.
have i : (0 < / (2 * (alpha - 1)))%coqR by apply: Rinv_0_lt_compat; lra.
have M' := Rmult_le_compat_l (alpha / 2)%coqR _ _ ltac:(lra) M.
have L' := Rmult_le_compat_l _ _ _ (Rlt_le _ _ i) L.
rewrite -/C in M' *; move: M' L'; move: (/ (2 * (alpha - 1)))%coqR (dot _ _) (dot _ _) => z x y.
move: (ln _) (ln _) (ln _) (ln _) (ln _) (ln _) => l1 l2 l3 l4 l5 l6; lra.
Qed.
End Drop.

Lemma last_image k d (A : 'M[R]_(k + d)) : row_mx 0 1%:M *m A *m (row_mx 0 1%:M)^T = drsubmx A :> 'M_d.
Proof.
by rewrite -{1}(submxK A) mul_row_block !mul0mx !mul1mx !add0r tr_row_mx mul_row_col trmx0 trmx1 mulmx0 mulmx1 add0r.
Qed.
Lemma last_mean k d (m : 'cV[R]_(k + d)) : row_mx 0 1%:M *m m = dsubmx m :> 'cV_d.
Proof. by rewrite -{1}(vsubmxK m) mul_row_col mul0mx mul1mx add0r. Qed.

(* Coordinates are dropped. *)
Lemma renyi_last k d alpha (m1 m2 : 'cV[R]_(k + d)) (A B : 'M[R]_(k + d)) : (1 < alpha)%coqR -> pd A -> pd B -> pd (Sigma_alpha alpha A B) ->
  (renyi alpha (dsubmx m1) (dsubmx m2) (drsubmx A) (drsubmx B) <= renyi alpha m1 m2 A B)%coqR.
Proof.
move=> a1; elim: k m1 m2 A B => [|k IH] m1 m2 A B pA pB pC.
  have e (X : 'M[R]_(0 + d)) : drsubmx X = X by apply/matrixP => i j; rewrite !mxE; congr (X _ _); apply: val_inj.
  have e' (x : 'cV[R]_(0 + d)) : dsubmx x = x by apply/matrixP => i j; rewrite !mxE; congr (x _ _); apply: val_inj.
  by rewrite !e !e'; apply: Rle_refl.
have e (X : 'M[R]_(k.+1 + d)) : drsubmx X = drsubmx (drsubmx (X : 'M_(1 + (k + d)))).
  by apply/matrixP => i j; rewrite !mxE; congr (X _ _); apply: val_inj.
have e' (x : 'cV[R]_(k.+1 + d)) : dsubmx x = dsubmx (dsubmx (x : 'cV_(1 + (k + d)))).
  by apply/matrixP => i j; rewrite !mxE; congr (x _ _); apply: val_inj.
rewrite !e !e'; apply: Rle_trans (renyi_drop m1 m2 a1 pA pB pC); apply: IH.
- exact: pd_rest pA.
- exact: pd_rest pB.
- have -> // : Sigma_alpha alpha (drsubmx (A : 'M_(1 + (k + d)))) (drsubmx (B : 'M_(1 + (k + d)))) = drsubmx (Sigma_alpha alpha A B : 'M_(1 + (k + d))).
    by apply/matrixP => i l; rewrite !mxE.
  exact: pd_rest pC.
Qed.

(* Data processing: a linear map T of full rank does not increase the divergence of two Gaussians, and keeps it finite. *)
Theorem processing k d alpha (T : 'M[R]_(d, k + d)) m1 m2 (A B : 'M[R]_(k + d)) : row_free T -> (1 < alpha)%coqR ->
  pd A -> pd B -> pd (Sigma_alpha alpha A B) ->
  pd (Sigma_alpha alpha (T *m A *m T^T) (T *m B *m T^T)) /\
  (renyi alpha (T *m m1) (T *m m2) (T *m A *m T^T) (T *m B *m T^T) <= renyi alpha m1 m2 A B)%coqR.
Proof.
move=> fT a1 pA pB pC; split; first by rewrite Sigma_image; apply: pd_image.
have [X uX ->] := completed fT; have fX : row_free X by rewrite row_free_unit.
have e (S : 'M[R]_(k + d)) : row_mx 0 1%:M *m X *m S *m (row_mx 0 1%:M *m X)^T = drsubmx (X *m S *m X^T) :> 'M_d.
  by rewrite -last_image trmx_mul !mulmxA.
rewrite !e -!mulmxA !last_mean -(renyi_invertible m1 m2 uX pA pB pC a1) !mulmxA.
by apply: renyi_last => //; rewrite ?Sigma_image; apply: pd_image.
Qed.
