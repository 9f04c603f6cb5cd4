(* Theorem H, at each order alpha: synthesis from N(mean, cov + sigma I), for all data in the cube.

   The pair of released Gaussians is the image, under one linear map, of a pair that does not depend on the data (the source). As in
   Theorem31.v, Proposition 4.1's closed form is the definition of the divergence. In lib: gaussian_synthesis/bounds.py, regularised_epsilon. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Theorem31 Channel Blocks Processing Records.
From Compendium Require Formulas.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

(* ------------------------------------------------------------------ the source *)

(* The source's covariance: diag(b, q, ..., q), and d coordinates of variance 1 for the channel's noise. *)
Definition source_cov (d : nat) (b q : R) : 'M[R]_((1 + d) + d) := block_mx (block_mx b%:M 0 0 q%:M) 0 0 1%:M.
(* The source's mean, (g, 0, ..., 0). *)
Definition source_mean (d : nat) (g : R) : 'cV[R]_((1 + d) + d) := col_mx (col_mx g%:M 0) 0.

(* The divergence of N((g, 0, ...), diag(b1, q1, ...)) from N(0, diag(b2, q2, ...)). *)
Definition source_divergence (d alpha g b1 q1 b2 q2 : R) : R :=
  let b := ((1 - alpha) * b1 + alpha * b2)%coqR in let q := ((1 - alpha) * q1 + alpha * q2)%coqR in
  (alpha / 2 * (g ^ 2 / b)
   - / (2 * (alpha - 1)) * (ln b + d * ln q - (1 - alpha) * (ln b1 + d * ln q1) - alpha * (ln b2 + d * ln q2)))%coqR.

Lemma source_pd d b q : (0 < b)%coqR -> (0 < q)%coqR -> pd (source_cov d b q).
Proof. by move=> b0 q0; apply: pd_diag; [apply: pd_diag|]; apply: pd_scalar; rewrite ?ltr01 //; apply/RltP. Qed.

Lemma source_mixed d alpha b1 q1 b2 q2 : Sigma_alpha alpha (source_cov d b1 q1) (source_cov d b2 q2)
  = source_cov d ((1 - alpha) * b1 + alpha * b2)%coqR ((1 - alpha) * q1 + alpha * q2)%coqR.
Proof.
rewrite /Sigma_alpha /source_cov !scale_block_mx !add_block_mx !scaler0 !addr0 !scale_scalar_mx -!raddfD /=.
by rewrite !mulr1 subrK.
Qed.

Lemma source_det d b q : \det (source_cov d b q) = (b * q ^ d)%coqR.
Proof. by rewrite /source_cov !det_ublock det1 mulr1 det_scalar1 det_scalar RpowE. Qed.

Lemma source_ln d b q : (0 < b)%coqR -> (0 < q)%coqR -> ln (\det (source_cov d b q)) = (ln b + INR d * ln q)%coqR.
Proof.
move=> b0 q0; rewrite source_det ln_mult //; last exact: pow_lt.
by congr Rplus; rewrite -Rpower_pow // /Rpower ln_exp.
Qed.

Lemma source_mean_term d b q g : (0 < b)%coqR -> (0 < q)%coqR ->
  dot (source_mean d g) (invmx (source_cov d b q) *m source_mean d g) = (g ^ 2 / b)%coqR.
Proof.
move=> b0 q0; have e : source_cov d b q *m source_mean d (g / b)%coqR = source_mean d g.
  rewrite /source_cov /source_mean !mul_block_col !mulmx0 !mul0mx !addr0 -scalar_mxM.
  have -> // : b * (g / b)%coqR = g by change ((b * (g / b))%coqR = g); field; lra.
rewrite -{2}e mulKmx; last by apply: pd_unit; apply: source_pd.
rewrite /source_mean !dot_cols !dot0l !addr0 /dot tr_scalar_mx -scalar_mxM !mxE eqxx mulr1n.
by change ((g * (g / b))%coqR = (g ^ 2 / b)%coqR); field; lra.
Qed.

Lemma source_renyi d alpha g b1 q1 b2 q2 : (0 < b1)%coqR -> (0 < q1)%coqR -> (0 < b2)%coqR -> (0 < q2)%coqR ->
  (0 < (1 - alpha) * b1 + alpha * b2)%coqR -> (0 < (1 - alpha) * q1 + alpha * q2)%coqR -> forall m1 m2, m1 - m2 = source_mean d g ->
  renyi alpha m1 m2 (source_cov d b1 q1) (source_cov d b2 q2) = source_divergence (INR d) alpha g b1 q1 b2 q2.
Proof. by move=> ? ? ? ? ? ? m1 m2 e; rewrite /renyi source_mixed !source_ln // e source_mean_term. Qed.

(* ------------------------------------------------------------------ the map *)

Section Map.
Variables (d : nat) (S : 'M[R]_d) (v : 'cV[R]_d) (tau sigma : R).
Hypotheses (pS : psd S) (t0 : 0 < tau) (s0 : 0 < sigma) (vs : dot v v <= tau * sigma).

Lemma map_exists : exists T : 'M[R]_(d, (1 + d) + d), row_free T /\
  (forall b q, T *m source_cov d b q *m T^T = (b / tau) *: outer v + q *: S + noise v tau sigma) /\
  (forall g, T *m source_mean d g = (g / Num.sqrt tau) *: v).
Proof.
have [L eL] := factor pS; have [G eG] := factor (noise_psd t0 vs).
pose T : 'M[R]_(d, (1 + d) + d) := row_mx (row_mx ((Num.sqrt tau)^-1 *: v) L) G; exists T.
have rt : (Num.sqrt tau)^-1 * (Num.sqrt tau)^-1 = tau^-1 by rewrite -invfM -expr2 sqr_sqrtr // ltW.
have image b q : T *m source_cov d b q *m T^T = (b / tau) *: outer v + q *: S + noise v tau sigma.
  rewrite /T /source_cov !mul_row_block !mulmx0 !addr0 !add0r mulmx1 !tr_row_mx !mul_row_col eG.
  have -> : ((Num.sqrt tau)^-1 *: v)^T = (Num.sqrt tau)^-1 *: v^T by rewrite linearZ.
  rewrite !mul_mx_scalar -!scalemxAl eL -scalemxAr !scalerA -/(outer v); congr (_ *: _ + _ + _).
  by rewrite -mulrA rt.
split; last split=> // g.
  have u : T *m T^T \in unitmx.
    have -> : T *m T^T = S + sigma%:M.
      have := image 1 1; rewrite /source_cov -!scalar_mx_block mulmx1 => ->.
      by rewrite mul1r scale1r /noise addrC addrA subrK addrC.
    apply: (@floor_unit _ _ _ sigma) => // z; rewrite qfD qf_scalar ler_addr; by case: pS.
  by apply/row_freeP; exists (T^T *m invmx (T *m T^T)); rewrite mulmxA mulmxV.
by rewrite /T /source_mean !mul_row_col !mulmx0 !addr0 mul_mx_scalar scalerA.
Qed.
End Map.

(* ------------------------------------------------------------------ data sets *)

Lemma cov_psd d (D : seq 'cV[R]_d) : psd (cov D).
Proof.
split=> [|z]; first exact: cov_sym.
elim: D => [|x [|y D] IH].
- by rewrite /cov /mean /= !big_nil !scaler0 mul0mx subrr /qf mul0mx dotC dot0l.
- by rewrite /cov /mean /= !big_seq1 !invr1 !scale1r subrr /qf mul0mx dotC dot0l.
- set E := y :: D in IH *; rewrite cov_added // qfD !qfZ qf_outer addr_ge0 // mulr_ge0 ?sqr_ge0 ?divr_ge0 ?exprn_ge0 ?addr_ge0 ?ler0n ?ler01 //.
Qed.

(* The covariance of the Gaussian that records are drawn from. *)
Definition released_cov d (sigma : R) (D : seq 'cV[R]_d) : 'M[R]_d := cov D + sigma%:M.
(* The divergence of one record that is released for D from one that is released for D'. *)
Definition released_divergence d (alpha sigma : R) (D D' : seq 'cV[R]_d) : R :=
  renyi alpha (mean D) (mean D') (released_cov sigma D) (released_cov sigma D').
(* That divergence is finite. *)
Definition released_finite d (alpha sigma : R) (D D' : seq 'cV[R]_d) : Prop :=
  pd (Sigma_alpha alpha (released_cov sigma D) (released_cov sigma D')).
(* The divergence of m records, drawn independently for D, from m records for D'. *)
Definition records_divergence d (m : nat) (alpha sigma : R) (D D' : seq 'cV[R]_d) : R :=
  renyi alpha (copies_mean m (mean D)) (copies_mean m (mean D')) (copies_cov m (released_cov sigma D)) (copies_cov m (released_cov sigma D')).
(* That divergence is finite. *)
Definition records_finite d (m : nat) (alpha sigma : R) (D D' : seq 'cV[R]_d) : Prop :=
  pd (Sigma_alpha alpha (copies_cov m (released_cov sigma D)) (copies_cov m (released_cov sigma D'))).

Lemma source_added n alpha d tau : (0 < n)%coqR -> (1 < alpha)%coqR -> (0 < tau)%coqR ->
  source_divergence d alpha (- (sqrt tau / (n + 1))) 1 1 (1 + n * tau / (n + 1) ^ 2) (n / (n + 1)) = Formulas.eps_H_added n alpha d tau.
Proof.
move=> n0 a1 t0; rewrite /source_divergence /Formulas.eps_H_added /Formulas.psi ln_1.
have -> : ((- (sqrt tau / (n + 1))) ^ 2 = tau / (n + 1) ^ 2)%coqR.
  by rewrite -{2}(sqrt_sqrt tau); [field; lra|lra].
have N0 : (0 < (n + 1) ^ 2)%coqR by apply: pow_lt; lra.
have p : (0 < n * tau)%coqR by apply: Rmult_lt_0_compat.
have -> : ((1 - alpha) * 1 + alpha * (1 + n * tau / (n + 1) ^ 2) = 1 + alpha * (n * tau / (n + 1) ^ 2))%coqR by ring.
have -> : ((1 - alpha) * 1 + alpha * (n / (n + 1)) = 1 + alpha * (- 1 / (n + 1)))%coqR by field; lra.
have -> : (1 + - 1 / (n + 1) = n / (n + 1))%coqR by field; lra.
have -> : (tau / (n + 1) ^ 2 / (1 + alpha * (n * tau / (n + 1) ^ 2)) = tau / ((n + 1) ^ 2 + alpha * n * tau))%coqR.
  have : (0 < alpha * (n * tau))%coqR by apply: Rmult_lt_0_compat; lra.
  by move=> ?; field; repeat split; lra.
by move: (ln _) (ln _) (ln _) (ln _) (_ / (_ + _))%coqR => a b c e x; field; lra.
Qed.

Lemma ln_quotient x y : (0 < x)%coqR -> (0 < y)%coqR -> ln (x / y)%coqR = (ln x - ln y)%coqR.
Proof. by move=> x0 y0; rewrite /Rdiv ln_mult ?ln_Rinv //; apply: Rinv_0_lt_compat. Qed.

Lemma source_removed n alpha d tau : (0 < n)%coqR -> (1 < alpha)%coqR -> (0 < tau)%coqR -> ((alpha - 1) * n * tau < (n + 1) ^ 2)%coqR ->
  source_divergence d alpha (sqrt tau / (n + 1)) (1 + n * tau / (n + 1) ^ 2) (n / (n + 1)) 1 1 = Formulas.eps_H_removed n alpha d tau.
Proof.
move=> n0 a1 t0 room; rewrite /source_divergence /Formulas.eps_H_removed /Formulas.psi ln_1.
have -> : ((sqrt tau / (n + 1)) ^ 2 = tau / (n + 1) ^ 2)%coqR.
  by rewrite -{2}(sqrt_sqrt tau); [field; lra|lra].
have p : (0 < n * tau)%coqR by apply: Rmult_lt_0_compat.
have N0 : (0 < (n + 1) ^ 2)%coqR by apply: pow_lt; lra.
have -> : ((1 - alpha) * (1 + n * tau / (n + 1) ^ 2) + alpha * 1 = ((n + 1) ^ 2 - (alpha - 1) * n * tau) / (n + 1) ^ 2)%coqR by field; lra.
have -> : ((1 - alpha) * (n / (n + 1)) + alpha * 1 = (n + alpha) / (n + 1))%coqR by field; lra.
have -> : (1 + n * tau / (n + 1) ^ 2 = ((n + 1) ^ 2 + n * tau) / (n + 1) ^ 2)%coqR by field; lra.
have -> : (1 + - (n * tau) / ((n + 1) ^ 2 + n * tau) = (n + 1) ^ 2 / ((n + 1) ^ 2 + n * tau))%coqR by field; lra.
have -> : (1 + alpha * (- (n * tau) / ((n + 1) ^ 2 + n * tau)) = ((n + 1) ^ 2 - (alpha - 1) * n * tau) / ((n + 1) ^ 2 + n * tau))%coqR by field; lra.
have -> : (1 + 1 / n = (n + 1) / n)%coqR by field; lra.
have -> : (1 + alpha * (1 / n) = (n + alpha) / n)%coqR by field; lra.
have -> : (tau / (n + 1) ^ 2 / (((n + 1) ^ 2 - (alpha - 1) * n * tau) / (n + 1) ^ 2) = tau / ((n + 1) ^ 2 - (alpha - 1) * n * tau))%coqR.
  by field; repeat split; lra.
rewrite !ln_quotient; try lra.
by move: (tau / _)%coqR => x; move: (ln _) (ln _) (ln _) (ln _) (ln _) (ln _) => *; field; lra.
Qed.

Section TheoremH.
Variables (d : nat) (D D' : seq 'cV[R]_d) (alpha sigma : R).
Let n : R := INR (size D).
Hypotheses (d0 : (0 < d)%N) (some : (0 < size D)%N) (neighbours : one_more D D') (inside : table D').
Hypotheses (s0 : (0 < sigma)%coqR) (alpha1 : (1 < alpha)%coqR).
Let tau : R := Formulas.tau (INR d) sigma.

Let n0 : (0 < n)%coqR. Proof. by apply: lt_0_INR; apply/ssrnat.ltP. Qed.
Let t0 : (0 < tau)%coqR.
Proof. by apply: Rdiv_lt_0_compat => //; apply: Rmult_lt_0_compat; [lra|apply: lt_0_INR; apply/ssrnat.ltP]. Qed.

(* Both released Gaussians are images of the source under one linear map. *)
Lemma images : exists T : 'M[R]_(d, (1 + d) + d), row_free T /\
  released_cov sigma D = T *m source_cov d 1 1 *m T^T /\
  released_cov sigma D' = T *m source_cov d (1 + n * tau / (n + 1) ^ 2)%coqR (n / (n + 1))%coqR *m T^T /\
  mean D' - mean D = T *m source_mean d (sqrt tau / (n + 1))%coqR.
Proof.
have [x p] := neighbours; set v := x - mean D.
have s0' : 0 < sigma by apply/RltP. have t0' : 0 < tau by apply/RltP.
have cx : cube x by apply: inside; rewrite (perm_mem p) mem_head.
have tD : table D by move=> y yD; apply: inside; rewrite (perm_mem p) in_cons yD orbT.
have n1 : (n + 1)%coqR != 0 by apply/eqP => e; have := n0; change ((n + 1)%coqR = 0%coqR) in e; lra.
have n2 : ((n + 1) ^ 2)%coqR <> 0%coqR by apply: pow_nonzero; have := n0; lra.
have vs : dot v v <= tau * sigma.
  have -> : tau * sigma = d%:R * 4 :> R.
    rewrite -INRE -[LHS]/((4 * INR d / sigma) * sigma)%coqR -[RHS]/(INR d * 4%:R)%coqR -(INRE 4) INR_IZR_INZ /=; field; lra.
  exact: radius.
have [T [fT [iT mT]]] := map_exists (cov_psd D) t0' s0' vs; exists T; split=> //.
have en : (size D)%:R = n by rewrite /n INRE.
have t1 : tau != 0 by rewrite gt_eqF.
split; last split.
- by rewrite iT scale1r /noise mul1r /released_cov addrC [RHS]addrC addrA subrK addrC.
- rewrite iT /released_cov (cov_perm p) (cov_added x some) -/v en /noise.
  have -> : (n / (n + 1))%coqR = n / (n + 1) :> R by rewrite RdivE.
  have -> : (1 + n * tau / (n + 1) ^ 2)%coqR / tau = tau^-1 + n / (n + 1) ^+ 2 :> R.
    have tn : tau <> 0%coqR by have := t0; lra.
    rewrite -RpowE (quotient _ tn) (quotient _ n2) -RinvE //.
    change ((1 + n * tau / (n + 1) ^ 2) / tau = / tau + n / (n + 1) ^ 2)%coqR; field; have := n0; split; lra.
  by rewrite rearranged.
- rewrite mT (mean_perm p) (mean_added x some) -/v en; congr (_ *: _).
  have r0 : (0 < sqrt tau)%coqR by apply: sqrt_lt_R0.
  rewrite -RsqrtE; last by apply: ltW.
  rewrite quotient; last lra.
  rewrite -RinvE //; change (/ (n + 1) = sqrt tau / (n + 1) / sqrt tau)%coqR; field; have := n0; split; lra.
Qed.

Let N0 : (0 < (n + 1) ^ 2)%coqR. Proof. by apply: pow_lt; have := n0; lra. Qed.
Let b0 : (0 < 1 + n * tau / (n + 1) ^ 2)%coqR.
Proof. by have : (0 < n * tau / (n + 1) ^ 2)%coqR by [apply: Rdiv_lt_0_compat => //; apply: Rmult_lt_0_compat]; lra. Qed.
Let q0 : (0 < n / (n + 1))%coqR. Proof. by apply: Rdiv_lt_0_compat; have := n0; lra. Qed.

(* The divergence reads the means only by their difference. *)
Lemma renyi_shift m1 m2 m1' m2' (A B : 'M[R]_d) : m1 - m2 = m1' - m2' -> renyi alpha m1 m2 A B = renyi alpha m1' m2' A B.
Proof. by rewrite /renyi => ->. Qed.

Lemma source_mean_opp g : 0 - source_mean d g = source_mean d (- g)%coqR.
Proof. by rewrite sub0r /source_mean !opp_col_mx !oppr0 -raddfN. Qed.

(* Theorem H, a record added, for any data D in the cube: if alpha < n + 1, the divergence of D from D' = D and one more record is at most
   eps_H_added(n). *)
Theorem theorem_H_added : (alpha < n + 1)%coqR ->
  released_finite alpha sigma D D' /\ (released_divergence alpha sigma D D' <= Formulas.eps_H_added n alpha (INR d) (Formulas.tau (INR d) sigma))%coqR.
Proof.
move=> an; have [T [fT [eA [eB eM]]]] := images.
have B0 : (0 < (1 - alpha) * 1 + alpha * (1 + n * tau / (n + 1) ^ 2))%coqR.
  have -> : ((1 - alpha) * 1 + alpha * (1 + n * tau / (n + 1) ^ 2) = 1 + alpha * (n * tau / (n + 1) ^ 2))%coqR by field; have := N0; lra.
  have : (0 < alpha * (n * tau / (n + 1) ^ 2))%coqR by [apply: Rmult_lt_0_compat; [lra|apply: Rdiv_lt_0_compat => //; apply: Rmult_lt_0_compat]]; lra.
have Q0 : (0 < (1 - alpha) * 1 + alpha * (n / (n + 1)))%coqR.
  have -> : ((1 - alpha) * 1 + alpha * (n / (n + 1)) = (n + 1 - alpha) / (n + 1))%coqR by field; have := n0; lra.
  by apply: Rdiv_lt_0_compat; have := n0; lra.
have pA := source_pd d Rlt_0_1 Rlt_0_1; have pB := source_pd d b0 q0.
have pC : pd (Sigma_alpha alpha (source_cov d 1 1) (source_cov d (1 + n * tau / (n + 1) ^ 2)%coqR (n / (n + 1))%coqR)).
  by rewrite source_mixed; apply: source_pd.
have [fin H] := processing 0 (source_mean d (sqrt tau / (n + 1))%coqR) fT alpha1 pA pB pC.
rewrite /released_finite /released_divergence eA eB; split=> //.
rewrite (source_renyi Rlt_0_1 Rlt_0_1 b0 q0 B0 Q0 (source_mean_opp _)) source_added // in H.
apply: Rle_trans H; apply: Req_le; apply: renyi_shift.
by rewrite mulmx0 -eM sub0r opprB.
Qed.

(* Theorem H, a record removed, for any data D in the cube: if (alpha - 1) n tau < (n + 1)^2, the divergence of D' = D and one more record from
   D is at most eps_H_removed(n). *)
Theorem theorem_H_removed : ((alpha - 1) * n * tau < (n + 1) ^ 2)%coqR ->
  released_finite alpha sigma D' D /\ (released_divergence alpha sigma D' D <= Formulas.eps_H_removed n alpha (INR d) (Formulas.tau (INR d) sigma))%coqR.
Proof.
move=> room; have [T [fT [eA [eB eM]]]] := images.
have B0 : (0 < (1 - alpha) * (1 + n * tau / (n + 1) ^ 2) + alpha * 1)%coqR.
  have -> : ((1 - alpha) * (1 + n * tau / (n + 1) ^ 2) + alpha * 1 = ((n + 1) ^ 2 - (alpha - 1) * n * tau) / (n + 1) ^ 2)%coqR by field; have := n0; lra.
  by apply: Rdiv_lt_0_compat => //; lra.
have Q0 : (0 < (1 - alpha) * (n / (n + 1)) + alpha * 1)%coqR.
  have -> : ((1 - alpha) * (n / (n + 1)) + alpha * 1 = (n + alpha) / (n + 1))%coqR by field; have := n0; lra.
  by apply: Rdiv_lt_0_compat; have := n0; lra.
have pA := source_pd d Rlt_0_1 Rlt_0_1; have pB := source_pd d b0 q0.
have pC : pd (Sigma_alpha alpha (source_cov d (1 + n * tau / (n + 1) ^ 2)%coqR (n / (n + 1))%coqR) (source_cov d 1 1)).
  by rewrite source_mixed; apply: source_pd.
have [fin H] := processing (source_mean d (sqrt tau / (n + 1))%coqR) 0 fT alpha1 pB pA pC.
rewrite /released_finite /released_divergence eA eB; split=> //.
rewrite (source_renyi b0 q0 Rlt_0_1 Rlt_0_1 B0 Q0 (subr0 _)) source_removed // in H.
apply: Rle_trans H; apply: Req_le; apply: renyi_shift.
by rewrite mulmx0 -eM subr0.
Qed.

Let released_pd (E : seq 'cV[R]_d) : pd (released_cov sigma E).
Proof.
have [sE pE] := cov_psd E; have s0' : 0 < sigma by apply/RltP.
apply: (floor_pd s0') => [|z]; first by rewrite /sym /released_cov linearD /= sE tr_scalar_mx.
by rewrite /released_cov qfD qf_scalar ler_addr.
Qed.

(* Theorem H for m released records, for any data D in the cube, in both directions: the divergence of all m records is at most m eps_H(n). *)
Theorem theorem_H (m : nat) : (alpha < n + 1)%coqR -> ((alpha - 1) * n * tau < (n + 1) ^ 2)%coqR ->
  (records_finite m alpha sigma D D' /\ (records_divergence m alpha sigma D D' <= INR m * Formulas.eps_H n alpha (INR d) sigma)%coqR) /\
  (records_finite m alpha sigma D' D /\ (records_divergence m alpha sigma D' D <= INR m * Formulas.eps_H n alpha (INR d) sigma)%coqR).
Proof.
move=> an room; have [f1 h1] := theorem_H_added an; have [f2 h2] := theorem_H_removed room.
have [F1 E1] := copies_renyi m (mean D) (mean D') alpha1 (released_pd D) (released_pd D') f1.
have [F2 E2] := copies_renyi m (mean D') (mean D) alpha1 (released_pd D') (released_pd D) f2.
rewrite /records_finite /records_divergence E1 E2; split; split=> //; apply: Rmult_le_compat_l; try exact: pos_INR.
- by apply: Rle_trans h1 _; apply: Rmax_l.
- by apply: Rle_trans h2 _; apply: Rmax_r.
Qed.
End TheoremH.
