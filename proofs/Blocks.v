(* What the data-processing inequality of Gaussians needs of matrices: Schur complements, factors, and maps that invertible ones complete.

   Over any ordered field (factors: a real closed one): no axiom at all. *)
From mathcomp Require Import all_ssreflect all_algebra ring.
From Compendium Require Import Forms Data Channel.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Blocks.
Variable F : realFieldType.

Lemma pd_unit n (A : 'M[F]_n) : pd A -> A \in unitmx.
Proof. by move=> /pd_det p; rewrite unitmxE unitfE gt_eqF. Qed.

Lemma pd_ge0 n (A : 'M[F]_n) z : pd A -> 0 <= qf A z.
Proof. by move=> [_ p]; have [->|/p/ltW//] := eqVneq z 0; rewrite /qf dot0l. Qed.

Lemma sym_block n (A : 'M[F]_(1 + n)) : sym A -> A = block_mx (A 0 0)%:M (dlsubmx A)^T (dlsubmx A) (drsubmx A).
Proof.
move=> sA; rewrite -[LHS]submxK; congr block_mx; last by rewrite trmx_dlsub sA.
by rewrite [LHS]mx11_scalar; congr _%:M; rewrite !mxE; congr (A _ _); apply: val_inj.
Qed.

(* The square is completed. *)
Lemma square n (A : 'M[F]_n) m z : pd A -> qf A (z - invmx A *m m) = qf A z - 2 * dot m z + dot m (invmx A *m m).
Proof.
move=> pA; have [sA _] := pA; set u := invmx A *m m.
have Au : A *m u = m by rewrite /u mulKVmx // pd_unit.
rewrite /qf mulmxBr Au !dotDl !dotDr !dotNr !dotNl (dot_sym u z sA) Au (dotC u m) (dotC z m); ring.
Qed.

(* m' A^-1 m is the largest value of 2 m' z - z' A z. *)
Lemma largest n (A : 'M[F]_n) m z : pd A -> 2 * dot m z - qf A z <= dot m (invmx A *m m).
Proof. by move=> pA; have := pd_ge0 (z - invmx A *m m) pA; rewrite square // => H; rewrite -subr_ge0; apply: le_trans H _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring. Qed.

Lemma largest_at n (A : 'M[F]_n) m : pd A -> 2 * dot m (invmx A *m m) - qf A (invmx A *m m) = dot m (invmx A *m m).
Proof.
move=> pA; have := square m (invmx A *m m) pA; rewrite subrr {1}/qf mulmx0 dot0l => H.
by rewrite -[RHS]subr0 H; ring.
Qed.

Section Schur.
Variables (n : nat) (A : 'M[F]_(1 + n)).
Hypothesis pA : pd A.
Let b := dlsubmx A.
Let C := drsubmx A.

Lemma qf_first y w : qf A (col_mx y%:M w) = A 0 0 * y ^+ 2 + 2 * y * dot b w + qf C w.
Proof. by have [sA _] := pA; rewrite {1}(sym_block sA) qf_block. Qed.

Lemma qf_rest w : qf A (col_mx 0 w) = qf C w.
Proof. by have := qf_first 0 w; rewrite scalemx1 scale0r || rewrite raddf0; rewrite ?expr0n ?mulr0 ?mul0r ?add0r. Qed.

Lemma pd_rest : pd C.
Proof.
have [sA pos] := pA; split=> [|w w0]; first by rewrite /sym /C trmx_drsub sA.
rewrite -qf_rest; apply: pos; apply: contra w0 => /eqP e.
by apply/eqP; rewrite -(col_mxKd (0 : 'M[F]_1) w) e linear0.
Qed.

(* The Schur complement of the first coordinate: the variance that the others leave. *)
Definition schur : F := A 0 0 - dot b (invmx C *m b).

Lemma schur_le w : schur <= qf A (col_mx 1%:M w).
Proof.
rewrite qf_first; have := largest b (- w) pd_rest; rewrite /schur -/C /qf mulmxN dotNl !dotNr opprK => H.
by rewrite ler_subl_addl -ler_subl_addr; apply: le_trans H; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

Lemma schur_at : exists w, schur = qf A (col_mx 1%:M w).
Proof.
exists (- (invmx C *m b)); rewrite qf_first; have := largest_at b pd_rest; rewrite -/C /schur => H.
by rewrite -{1}H /qf mulmxN dotNl !dotNr; ring.
Qed.

Lemma schur_gt0 : 0 < schur.
Proof.
have [w ->] := schur_at; have [_ pos] := pA; apply: pos; apply/eqP => e.
have /matrixP/(_ 0 0) : usubmx (col_mx (1%:M : 'M_1) w) = 0 :> 'M[F]_1 by rewrite e linear0.
by rewrite col_mxKu !mxE => /eqP; rewrite oner_eq0.
Qed.

Lemma det_schur : \det A = schur * \det C.
Proof.
have [sA _] := pA; have Cu := pd_unit pd_rest; have [sC _] := pd_rest.
have fac : A = block_mx 1%:M (b^T *m invmx C) 0 1%:M *m block_mx schur%:M 0 b C.
  rewrite {1}(sym_block sA) mulmx_block !mul1mx !mul0mx !add0r mulmxKV //; congr block_mx.
  by rewrite -mulmxA [b^T *m _]mx11_scalar -/(dot b _) -raddfD /schur subrK.
by rewrite {1}fac det_mulmx det_ublock det_lblock !det1 !mul1r det_scalar1.
Qed.
End Schur.

(* ------------------------------------------------------------------ images *)

Lemma qf_image m n (T : 'M[F]_(m, n)) (A : 'M[F]_n) z : qf (T *m A *m T^T) z = qf A (T^T *m z).
Proof. by rewrite /qf /dot trmx_mul trmxK !mulmxA. Qed.

Lemma pd_image m n (T : 'M[F]_(m, n)) (A : 'M[F]_n) : row_free T -> pd A -> pd (T *m A *m T^T).
Proof.
move=> fT [sA pA]; split=> [|z z0]; first by rewrite /sym !trmx_mul trmxK sA mulmxA.
rewrite qf_image; apply: pA; apply: contra z0 => /eqP e; apply/eqP/trmx_inj.
have /(congr1 trmx) : T^T *m z = 0 by []; rewrite trmx_mul trmxK trmx0 => e'.
by apply/eqP; rewrite trmx0 -(mulmx_free_eq0 _ fT) e'.
Qed.

(* A map of full rank is an invertible one, followed by the choice of the last coordinates. *)
Lemma swap (d k p : nat) (e : (d + k = p)%N) : exists J : 'M[F]_(k + d, p), row_mx 0 1%:M *m J = pid_mx d :> 'M[F]_(d, p) /\ exists J', J *m J' = 1%:M.
Proof.
case: p / e; exists (col_mx (row_mx 0 1%:M) (row_mx 1%:M 0)); split; first by rewrite mul_row_col mul0mx mul1mx add0r pid_mx_row.
exists (row_mx (col_mx 0 1%:M) (col_mx 1%:M 0)).
by rewrite mul_col_row !mul_row_col !mulmx0 !mul0mx !mulmx1 !addr0 !add0r [RHS]scalar_mx_block.
Qed.

Lemma completed d k (T : 'M[F]_(d, k + d)) : row_free T -> exists2 X : 'M[F]_(k + d), X \in unitmx & T = row_mx 0 1%:M *m X.
Proof.
move=> fT; have [J [eJ [J' J1]]] := swap (addnC d k).
exists (block_mx 1%:M 0 0 (col_ebase T) *m J *m row_ebase T).
  rewrite !unitmx_mul row_ebase_unit andbT; have [-> _] := mulmx1_unit J1; rewrite andbT.
  by rewrite unitmxE det_ublock det1 mul1r -unitmxE col_ebase_unit.
rewrite !mulmxA mul_row_block !mul0mx mulmx0 mul1mx !add0r.
have -> : row_mx 0 (col_ebase T) = col_ebase T *m row_mx 0 1%:M :> 'M_(d, k + d) by rewrite mul_mx_row mulmx0 mulmx1.
by rewrite -(mulmxA (col_ebase T)) eJ -{1}(mulmx_ebase T); move/eqP: fT => ->.
Qed.
(* ------------------------------------------------------------------ blocks on the diagonal *)

Lemma dot_cols m n (y1 y2 : 'cV[F]_m) (w1 w2 : 'cV[F]_n) : dot (col_mx y1 w1) (col_mx y2 w2) = dot y1 y2 + dot w1 w2.
Proof. by rewrite /dot tr_col_mx mul_row_col mxE. Qed.

Lemma qf_diag m n (A : 'M[F]_m) (B : 'M[F]_n) y w : qf (block_mx A 0 0 B) (col_mx y w) = qf A y + qf B w.
Proof. rewrite /qf mul_block_col !mul0mx addr0 add0r. by rewrite dot_cols. Qed.

Lemma pd_diag m n (A : 'M[F]_m) (B : 'M[F]_n) : pd A -> pd B -> pd (block_mx A 0 0 B).
Proof.
move=> pA pB; split=> [|z z0]; first by case: pA => [sA _]; case: pB => [sB _]; rewrite /sym tr_block_mx sA sB !trmx0.
rewrite -(vsubmxK z) qf_diag; have [u0|u0] := eqVneq (usubmx z) 0; last first.
  by apply: ltr_spaddl; [case: pA => _; apply|apply: pd_ge0].
apply: ltr_spaddr; last exact: pd_ge0.
by case: pB => _; apply; apply: contra z0 => /eqP e; rewrite -(vsubmxK z) u0 e col_mx0.
Qed.

Lemma pd_scalar n (a : F) : 0 < a -> pd (a%:M : 'M[F]_n).
Proof. by move=> a0; split=> [|z z0]; rewrite ?/sym ?tr_scalar_mx // qf_scalar mulr_gt0 ?dot_gt0. Qed.
End Blocks.

(* A positive semidefinite matrix has a factor, by Cholesky's method; it may be singular. *)
Lemma factor (F : rcfType) n (A : 'M[F]_n) : psd A -> exists L : 'M[F]_n, L *m L^T = A.
Proof.
elim: n A => [|n IH] A; first by move=> _; exists 0; apply/matrixP => -[].
change ('M[F]_(1 + n)) in A; move=> [sA pA].
set a := A 0 0; set b := dlsubmx A; set C := drsubmx A.
have form y w : 0 <= a * y ^+ 2 + 2 * y * dot b w + qf C w by rewrite -qf_block -sym_block.
have a0 : 0 <= a.
  by have := form 1 0; rewrite /qf mulmx0 !(dotC _ 0) !dot0l mulr0 !addr0 expr1n mulr1.
have b0 : a = 0 -> b = 0.
  move=> e; apply: dot_eq0; apply/eqP; rewrite eq_le dot_ge0 andbT leNgt; apply/negP => rp.
  have q0 := form 0 b; have := form (- ((qf C b + 1) / dot b b)) b; move: q0; rewrite e !mul0r !add0r mulr0 mul0r add0r => q0.
  have -> : 2 * - ((qf C b + 1) / dot b b) * dot b b + qf C b = - (qf C b + 2) by field; rewrite gt_eqF.
  by rewrite oppr_ge0 leNgt ltr_spaddr ?ltr0n.
have sC : sym C by rewrite /sym /C trmx_drsub sA.
have [L eL] : exists L : 'M_n, L *m L^T = C - a^-1 *: (b *m b^T).
  apply: IH; split=> [|w]; first by rewrite /sym linearB linearZ /= trmx_mul trmxK sC.
  rewrite qfD qfN qfZ qf_outer; have := form (- (a^-1 * dot b w)) w.
  have [e|an] := eqVneq a 0; first by rewrite e invr0 !mul0r subr0 oppr0 !mulr0 mul0r !add0r.
  have -> // : a * (- (a^-1 * dot b w)) ^+ 2 + 2 * - (a^-1 * dot b w) * dot b w + qf C w = qf C w - a^-1 * dot b w ^+ 2 by field.
pose M : 'M[F]_(1 + n) := block_mx (Num.sqrt a)%:M 0 ((Num.sqrt a)^-1 *: b) L.
suff E : M *m M^T = A by exists M.
rewrite /M tr_block_mx mulmx_block trmx0 !mulmx0 !mul0mx !addr0 tr_scalar_mx linearZ /=.
rewrite [RHS](sym_block sA) -/a -/b -/C.
have s2 : Num.sqrt a * Num.sqrt a = a by rewrite -expr2 sqr_sqrtr.
have sb : Num.sqrt a *: ((Num.sqrt a)^-1 *: b) = b.
  have [e|an] := eqVneq a 0; first by rewrite (b0 e) !scaler0.
  by rewrite scalerA mulfV ?scale1r // sqrtr_eq0 -ltNge lt_def an.
congr block_mx.
- by rewrite -scalar_mxM s2.
- by rewrite mul_scalar_mx; apply/matrixP => i j; have := congr1 (fun X : 'cV_n => X j i) sb; rewrite !mxE.
- exact: etrans (mul_mx_scalar _ _) sb.
- by rewrite -scalemxAl -scalemxAr scalerA -invfM s2 eL addrC subrK.
Qed.
