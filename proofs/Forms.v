(* Quadratic forms and determinants, in any dimension: what Gaussian synthesis needs of linear algebra.

   A covariance is never diagonalised. That no eigenvalue of A lies below s is said by quadratic forms, s |z|^2 <= z' A z for all z
   (`floor A s`), and all that follows is proved from that: the matrix determinant lemma, the inequality of Cauchy and Schwarz,
   bounds of u' A^-1 u, and that a positive definite matrix has a positive determinant. Over any ordered field: no axiom at all. *)
From mathcomp Require Import all_ssreflect all_algebra ring.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Det.
Variable F : realFieldType.

(* The matrix determinant lemma. *)
Lemma det_rank1 n (u v : 'cV[F]_n) : \det (1%:M + u *m v^T) = 1 + (v^T *m u) 0 0.
Proof.
have E1 : block_mx 1%:M (- u) v^T 1%:M = block_mx 1%:M 0 v^T 1%:M *m block_mx 1%:M (- u) 0 (1%:M + v^T *m u) :> 'M_(n + 1).
  by rewrite mulmx_block !mul1mx !mul0mx !mulmx1 ?mulmx0 !addr0 mulmxN addrCA addNr addr0.
have E2 : block_mx 1%:M (- u) v^T 1%:M = block_mx (1%:M + u *m v^T) (- u) 0 1%:M *m block_mx 1%:M 0 v^T 1%:M :> 'M_(n + 1).
  by rewrite mulmx_block !mul0mx !mulmx1 ?mulmx0 !mul1mx !add0r mulNmx addrK.
have := E1; rewrite E2 => /(congr1 (@determinant _ _)).
rewrite !det_mulmx !det_lblock !det_ublock !det1 !mul1r !mulr1 => ->.
by rewrite {1}[1%:M + _]mx11_scalar det_scalar1 !mxE eqxx.
Qed.

Lemma det_update n (A : 'M[F]_n) (k : F) (u : 'cV[F]_n) : A \in unitmx ->
  \det (A + k *: (u *m u^T)) = \det A * (1 + k * (u^T *m invmx A *m u) 0 0).
Proof.
move=> Au.
have -> : A + k *: (u *m u^T) = A *m (1%:M + (k *: (invmx A *m u)) *m u^T).
  by rewrite mulmxDr mulmx1 -scalemxAl -scalemxAr -mulmxA mulKVmx.
by rewrite det_mulmx det_rank1 -scalemxAr mulmxA mxE.
Qed.

(* --------------------------------------------------------------- quadratic forms *)

(* The inner product u' v. *)
Definition dot n (u v : 'cV[F]_n) : F := (u^T *m v) 0 0.
(* z' A z. *)
Definition qf n (A : 'M[F]_n) (z : 'cV[F]_n) : F := dot z (A *m z).
(* A symmetric matrix. *)
Definition sym n (A : 'M[F]_n) := A^T = A.
(* No eigenvalue below s, said without eigenvalues. *)
Definition floor n (A : 'M[F]_n) (s : F) := forall z, s * dot z z <= qf A z.

Lemma dotE n (u v : 'cV[F]_n) : dot u v = \sum_i u i 0 * v i 0.
Proof. by rewrite /dot mxE; apply: eq_bigr => i _; rewrite mxE. Qed.

Lemma dotC n (u v : 'cV[F]_n) : dot u v = dot v u.
Proof. by rewrite !dotE; apply: eq_bigr => i _; rewrite mulrC. Qed.

Lemma dot_ge0 n (u : 'cV[F]_n) : 0 <= dot u u.
Proof. by rewrite dotE sumr_ge0 // => i _; rewrite -expr2 sqr_ge0. Qed.

Lemma dot_eq0 n (u : 'cV[F]_n) : dot u u = 0 -> u = 0.
Proof.
rewrite dotE => /psumr_eq0P H; apply/matrixP => i j; rewrite ord1 mxE.
apply/eqP; rewrite -sqrf_eq0 expr2; apply/eqP; apply: H => // k _.
by rewrite -expr2 sqr_ge0.
Qed.

Lemma dot_gt0 n (u : 'cV[F]_n) : u != 0 -> 0 < dot u u.
Proof. by move=> u0; rewrite lt_def dot_ge0 andbT; apply: contra u0 => /eqP/dot_eq0 ->. Qed.

Lemma dotDl n (u v w : 'cV[F]_n) : dot (u + v) w = dot u w + dot v w.
Proof. by rewrite /dot linearD mulmxDl mxE. Qed.
Lemma dotDr n (u v w : 'cV[F]_n) : dot u (v + w) = dot u v + dot u w.
Proof. by rewrite /dot mulmxDr mxE. Qed.
Lemma dotZl n k (u v : 'cV[F]_n) : dot (k *: u) v = k * dot u v.
Proof. by rewrite /dot linearZ -scalemxAl mxE. Qed.
Lemma dotZr n k (u v : 'cV[F]_n) : dot u (k *: v) = k * dot u v.
Proof. by rewrite /dot -scalemxAr mxE. Qed.
Lemma dotNl n (u v : 'cV[F]_n) : dot (- u) v = - dot u v.
Proof. by rewrite -scaleN1r dotZl mulN1r. Qed.
Lemma dotNr n (u v : 'cV[F]_n) : dot u (- v) = - dot u v.
Proof. by rewrite -scaleN1r dotZr mulN1r. Qed.
Lemma dot0l n (u : 'cV[F]_n) : dot 0 u = 0.
Proof. by rewrite /dot trmx0 mul0mx mxE. Qed.

Lemma dot_sym n (A : 'M[F]_n) u v : sym A -> dot u (A *m v) = dot v (A *m u).
Proof. by move=> sA; rewrite [RHS]dotC /dot trmx_mul sA mulmxA. Qed.

(* Cauchy and Schwarz, by the square |y|^2 x - (x.y) y *)
Lemma cauchy n (x y : 'cV[F]_n) : dot x y ^+ 2 <= dot x x * dot y y.
Proof.
have [-> | y0] := eqVneq y 0.
  by rewrite dotC !dot0l mulr0 expr0n.
have p := dot_gt0 y0; have := dot_ge0 (dot y y *: x - dot x y *: y).
rewrite dotDl !dotDr !(dotNl, dotNr, dotZl, dotZr) (dotC y x).
rewrite (_ : _ + _ = dot y y * (dot x x * dot y y - dot x y ^+ 2)); last by ring.
by rewrite pmulr_rge0 // subr_ge0.
Qed.

(* positive definite, with a floor under the eigenvalues *)
Lemma floor_unit n (A : 'M[F]_n) s : 0 < s -> floor A s -> A \in unitmx.
Proof.
move=> s0 fA; rewrite -unitmx_tr -row_free_unit -kermx_eq0; apply/eqP/row_matrixP => i.
set r := row i _; rewrite row0; apply: (@trmx_inj _ 1 n); rewrite trmx0; apply: dot_eq0.
have Az : A *m r^T = 0.
  by apply: trmx_inj; rewrite trmx_mul trmxK trmx0 /r -row_mul mulmx_ker row0.
apply/eqP; rewrite eq_le dot_ge0 andbT -(pmulr_rle0 _ s0).
by apply: le_trans (fA r^T) _; rewrite /qf Az dotC dot0l.
Qed.

(* Lemma 4.4 and the range of Lemma 4.5, without a spectral theorem *)
Lemma inv_bound n (A : 'M[F]_n) s u : 0 < s -> floor A s ->
  0 <= dot u (invmx A *m u) <= dot u u / s.
Proof.
move=> s0 fA; have Au := floor_unit s0 fA; set w := invmx A *m u.
have uE : u = A *m w by rewrite /w mulKVmx.
have qE : dot u w = qf A w by rewrite {1}uE dotC.
have ge : s * dot w w <= dot u w by rewrite qE; apply: fA.
have ge0 : 0 <= dot u w by apply: le_trans ge; rewrite mulr_ge0 ?dot_ge0 // ltW.
rewrite ge0 ler_pdivl_mulr //; have [->|p] := eqVneq (dot u w) 0; first by rewrite mul0r dot_ge0.
have {p} p : 0 < dot u w by rewrite lt_def p.
rewrite -(ler_pmul2r p) -mulrA [s * _]mulrC mulrA -expr2.
apply: le_trans (ler_wpmul2r (ltW s0) (cauchy u w)) _.
by rewrite -mulrA ler_wpmul2l ?dot_ge0 // mulrC.
Qed.

(* --------------------------------------------------------------- positive definite matrices *)

(* Symmetric, and with a positive quadratic form but at 0. *)
Definition pd n (A : 'M[F]_n) := sym A /\ forall z, z != 0 -> 0 < qf A z.

Lemma floor_pd n (A : 'M[F]_n) s : 0 < s -> sym A -> floor A s -> pd A.
Proof. by move=> s0 sA fA; split=> // z z0; apply: lt_le_trans (fA z); rewrite mulr_gt0 ?dot_gt0. Qed.

Lemma dot_col n (y1 y2 : 'cV[F]_1) (w1 w2 : 'cV[F]_n) :
  dot (col_mx y1 w1) (col_mx y2 w2) = dot y1 y2 + dot w1 w2.
Proof. by rewrite /dot tr_col_mx mul_row_col mxE. Qed.

Lemma qf_block n (a : F) (b w : 'cV[F]_n) (C : 'M[F]_n) (y : F) :
  qf (block_mx a%:M b^T b C) (col_mx y%:M w) = a * y ^+ 2 + 2 * y * dot b w + qf C w.
Proof.
rewrite /qf mul_block_col dot_col !dotDr (mul_mx_scalar y b) dotZr (dotC w b).
have -> : dot y%:M (a%:M *m y%:M) = a * y ^+ 2.
  by rewrite -scalar_mxM /dot tr_scalar_mx -scalar_mxM !mxE eqxx mulr1n; ring.
have -> : dot y%:M (b^T *m w) = y * dot b w.
  by rewrite /dot tr_scalar_mx mul_scalar_mx mxE.
by ring.
Qed.

Lemma pd_det n (A : 'M[F]_n) : pd A -> 0 < \det A.
Proof.
elim: n A => [|n IH] A; first by rewrite det_mx00 ltr01.
change ('M[F]_(1 + n)) in A; move=> [sA pA].
set a := A 0 0; set b : 'cV_n := dlsubmx A; set C : 'M_n := drsubmx A.
have eA : A = block_mx a%:M b^T b C.
  rewrite -[LHS]submxK; congr block_mx; last by rewrite /b trmx_dlsub sA.
  by rewrite [LHS]mx11_scalar; congr _%:M; rewrite !mxE; congr (A _ _); apply: val_inj.
have sC : sym C by rewrite /sym /C trmx_drsub sA.
have a0 : 0 < a.
  have := pA (col_mx (1%:M : 'M_1) (0 : 'cV_n)); rewrite eA qf_block /qf mulmx0 !(dotC _ 0) !dot0l.
  rewrite mulr0 !addr0 expr1n mulr1; apply.
  apply/eqP => e; have /matrixP/(_ 0 0) : usubmx (col_mx (1%:M : 'M_1) (0 : 'cV_n)) = 0 :> 'M[F]_1.
    by rewrite e linear0.
  by rewrite col_mxKu !mxE => /eqP; rewrite oner_eq0.
set S := C - a^-1 *: (b *m b^T).
have fac : A = block_mx 1%:M 0 (a^-1 *: b) 1%:M *m block_mx a%:M b^T 0 S.
  rewrite {1}eA mulmx_block !mul1mx !mul0mx !addr0; congr block_mx.
    by rewrite mul_mx_scalar scalerA mulfV ?scale1r // gt_eqF.
  by rewrite /S -scalemxAl addrC subrK.
change (0 < @determinant F (1 + n) A); rewrite fac det_mulmx det_lblock det_ublock !det1 !mul1r det_scalar1 mulr_gt0 //.
apply: IH; split=> [|w w0].
  by rewrite /sym /S linearB linearZ /= trmx_mul trmxK sC.
have := pA (col_mx (- (a^-1 * dot b w))%:M w); rewrite eA qf_block.
have -> : qf S w = qf C w - a^-1 * dot b w ^+ 2.
  rewrite /qf /S mulmxBl dotDr dotNr -scalemxAl dotZr -mulmxA.
  by rewrite [b^T *m w]mx11_scalar mul_mx_scalar dotZr -/(dot b w) (dotC w b) expr2.
have -> : a * (- (a^-1 * dot b w)) ^+ 2 + 2 * - (a^-1 * dot b w) * dot b w + qf C w = qf C w - a^-1 * dot b w ^+ 2.
  by field; rewrite gt_eqF.
apply; apply: contra w0 => /eqP e.
have <- : dsubmx (col_mx (- (a^-1 * dot b w))%:M w) = w by rewrite col_mxKd.
by rewrite e linear0.
Qed.

End Det.
