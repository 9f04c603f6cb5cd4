(* Public n, one of n records replaced: Theorem 3.2 of miura2022 (Lemmas 4.6 to 4.9), and Theorems A, B and G of "Beyond the document".

   Theorem A sharpens 3.2, which follows from it; B bounds both eigenvalues together; G has both data sets in D_sigma. As in
   Theorem31.v, Proposition 4.1's closed form is the definition of the divergence, and each theorem says that it is finite as well. In
   lib: gaussian_synthesis/bounds.py, bounded_epsilon and what follows it. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Update Theorem31.
From Compendium Require Formulas Eigenvalues Spread.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

Lemma mixed_replaced (d : nat) (A U V : 'M[R]_d) (a k : R) :
  (1 - a) *: A + a *: (A + k *: V - k *: U) = A + (a * k)%coqR *: V - (a * k)%coqR *: U.
Proof. by rewrite -(addrA A) scalerDr addrA -scalerDl subrK scale1r scalerBr !scalerA addrA. Qed.

Lemma sym_replaced (d : nat) (A : 'M[R]_d) (u v : 'cV[R]_d) (k l : R) : sym A -> sym (A + k *: (v *m v^T) - l *: (u *m u^T)).
Proof. by move=> sA; rewrite /sym linearB linearD !linearZ /= !trmx_mul !trmxK sA. Qed.

Lemma pow_pos (x : R) k : (0 < x)%coqR -> (x ^ k)%coqR <> 0%coqR.
Proof. by move=> x0; apply: not_eq_sym (Rlt_not_eq _ _ (pow_lt _ _ x0)). Qed.

(* v v' - u u' for records y and x of the cube, seen from a point of it: no entry is larger than 4. *)
Lemma cube_frobenius j (x y m : 'cV[R]_j) : cube x -> cube y -> cube m ->
  (dot (y - m) (y - m) ^ 2 + dot (x - m) (x - m) ^ 2 - 2 * dot (x - m) (y - m) ^ 2 <= (INR j * 4) ^ 2)%coqR.
Proof.
move=> cx cy cm; apply/RleP.
have -> (a b c : R) : (a ^ 2 + b ^ 2 - 2 * c ^ 2)%coqR = a ^+ 2 + b ^+ 2 - 2%:R * c ^+ 2.
  by rewrite -!RpowE (_ : 2%:R = 2%coqR :> R) // -INRE.
rewrite -frobenius; have -> : ((INR j * 4) ^ 2)%coqR = \sum_(i < j) \sum_(k < j) 16%coqR by rewrite !same_terms; ring.
apply: ler_sum => i _; apply: ler_sum => k _; apply/RleP; rewrite -RpowE !mxE -!RmultE -!RplusE -!RoppE.
have in_cube (z : 'cV[R]_j) l : cube z -> let e := z l 0 in (-1 <= e <= 1)%coqR.
  by move=> /(_ l)/andP[/RleP lo /RleP hi]; split=> //; apply: (Rle_trans _ (Ropp 1%coqR) _ _ lo); lra.
by apply: Spread.entry; apply: in_cube.
Qed.

(* --------------------------------------------------------------- the eigenvalues *)

Section Spectrum.
Variables (j : nat) (A : 'M[R]_j.+1) (u v : 'cV[R]_j.+1) (k radius frobenius sigma : R).
Hypotheses (s0 : (0 < sigma)%coqR) (fA : floor A sigma) (sA : sym A) (k0 : (0 <= k)%coqR).
Hypotheses (ur : dot u u <= radius) (vr : dot v v <= radius).
Hypothesis frob : (dot v v ^ 2 + dot u u ^ 2 - 2 * dot u v ^ 2 <= frobenius)%coqR.
Let kappa : R := (k * (radius / sigma))%coqR.

(* Those of A^-1 k (v v' - u u') that are not 0: one on each side, within kappa, and both together. *)
Lemma spectrum : exists t1 t2, (0 <= t1 <= kappa)%coqR /\ (- kappa <= t2 <= 0)%coqR /\ (t1 ^ 2 + t2 ^ 2 <= (k / sigma) ^ 2 * frobenius)%coqR /\
  forall s, (0 <= s)%coqR -> \det (A + (s * k)%coqR *: (v *m v^T) - (s * k)%coqR *: (u *m u^T)) = ((1 + s * t1) * (1 + s * t2) * \det A)%coqR.
Proof.
have s0' : 0 < sigma by apply/RltP.
have [a0 ak] := r_range s0 fA vr; have [b0 bk] := r_range s0 fA ur.
set a : R := dot v (invmx A *m v) in a0 ak; set b : R := dot u (invmx A *m u) in b0 bk; pose c : R := dot u (invmx A *m v).
have form l : (0 <= a + 2 * l * c + l ^ 2 * b)%coqR.
  by have /RleP := inverse_form u v s0' fA sA l; rewrite -/a -/b -/c -RpowE.
have ka : (k * a <= kappa)%coqR by apply: Rmult_le_compat_l.
have kb : (k * b <= kappa)%coqR by apply: Rmult_le_compat_l.
have [t1 [t2 [r1 [r2 split_]]]] := Eigenvalues.two_eigenvalues k a b c kappa k0 a0 b0 form ka kb.
exists t1, t2; do 3!split=> //; last first.
  by move=> s sp; have sk : 0 <= (s * k)%coqR by [apply/RleP; apply: Rmult_le_pos]; rewrite (det_replaced u v s0' fA sA sk) -split_ -/a -/b -/c -!RpowE.
pose P : R := dot v v; pose Q : R := dot u u; pose S : R := dot u v.
have plain l : (0 <= P + 2 * l * S + l ^ 2 * Q)%coqR by have /RleP := plain_form u v l; rewrite -RpowE.
have below l : (sigma * (a + 2 * l * c + l ^ 2 * b) <= P + 2 * l * S + l ^ 2 * Q)%coqR.
  by have /RleP := inverse_below u v s0' fA sA l; rewrite -/a -/b -/c -RpowE.
have P0 : (0 <= P)%coqR by apply/RleP; apply: dot_ge0.
have Q0 : (0 <= Q)%coqR by apply/RleP; apply: dot_ge0.
have bQ : (sigma * b <= Q)%coqR.
  by have /andP[_] := inv_bound u s0' fA; rewrite ler_pdivl_mulr // mulrC => /RleP.
have H := Spread.metric_frobenius _ _ _ _ _ _ _ s0 a0 b0 P0 Q0 form plain below bQ.
exact: (Spread.within _ _ _ _ _ _ _ _ s0 k0 split_ (Rle_trans _ _ _ H frob)).
Qed.
End Spectrum.

Section Public.
Variables (j : nat) (D D' : seq 'cV[R]_j.+1) (alpha sigma : R).
Let n : R := INR (size D).
Let d : R := INR j.+1.
Hypotheses (two : (1 < size D)%N) (neighbours : one_replaced D D') (inside : table D) (inside' : table D').
Hypotheses (s0 : (0 < sigma)%coqR) (alpha1 : (1 < alpha)%coqR).
Let tau : R := Formulas.tau d sigma.
Let kappa : R := ((n - 1) * tau / n ^ 2)%coqR.
Let k : R := ((n - 1) / n ^ 2)%coqR.

Let s0' : 0 < sigma. Proof. exact/RltP. Qed.
Let d1 : (1 <= d)%coqR. Proof. by rewrite /d S_INR; have := pos_INR j; lra. Qed.
Let four : (d * 4)%coqR = j.+1%:R * 4 :> R.
Proof. by rewrite /d RmultE INRE (_ : 4%coqR = 4%:R) // -INRE INR_IZR_INZ. Qed.
Let n1 : (1 < n)%coqR. Proof. by rewrite -[1%coqR]/(INR 1); apply: lt_INR; apply/ssrnat.ltP. Qed.
Let k0 : (0 <= k)%coqR.
Proof. by apply: Rmult_le_pos; [move: n1; lra|apply: Rlt_le; apply: Rinv_0_lt_compat; apply: pow_lt; move: n1; lra]. Qed.
Let tau0 : (0 < tau)%coqR. Proof. by apply: Rdiv_lt_0_compat => //; move: d1; lra. Qed.
Let kappaE : (k * (d * 4 / sigma))%coqR = kappa.
Proof. by rewrite /kappa /k /tau /Formulas.tau; field; move: n1; lra. Qed.
Let kappa0 : (0 <= kappa)%coqR.
Proof. by rewrite -kappaE; apply: Rmult_le_pos => //; apply: Rlt_le; apply: Rdiv_lt_0_compat => //; move: d1; lra. Qed.

(* Lemma 4.6, with what the cube says of the three vectors in it. *)
Lemma unpacked : exists u v w : 'cV[R]_j.+1,
  cov D' = cov D + k *: (v *m v^T) - k *: (u *m u^T) /\ mean D - mean D' = (/ n)%coqR *: w /\
  dot u u <= (d * 4)%coqR /\ dot v v <= (d * 4)%coqR /\ dot w w <= (d * 4)%coqR /\
  (dot v v ^ 2 + dot u u ^ 2 - 2 * dot u v ^ 2 <= (d * 4) ^ 2)%coqR.
Proof.
have [x [y [E [p p']]]] := neighbours.
have E0 : (0 < size E)%N by move: two; rewrite (perm_size p).
have en : INR (size E) = (n - 1)%coqR by rewrite /n (perm_size p) -[size (_ :: _)]/(size E).+1 S_INR; lra.
have tE z : z \in E -> cube z by move=> zE; apply: inside; rewrite (perm_mem p) in_cons zE orbT.
have cx : cube x by apply: inside; rewrite (perm_mem p) mem_head.
have cy : cube y by apply: inside'; rewrite (perm_mem p') mem_head.
have np := n1; have np0 : (0 < n)%coqR by lra.
have back : (n - 1)%coqR + 1 = n by change ((n - 1 + 1)%coqR = n); lra.
exists (x - mean E), (y - mean E), (x - y).
rewrite (mean_perm p) (cov_perm p) (mean_perm p') (cov_perm p'); repeat split.
- by rewrite (cov_replaced x y E0) scalerBr addrA -INRE en back -RpowE quotient //; apply: pow_pos; lra.
- by rewrite (mean_replaced x y E0) -INRE en back RinvE //; apply/eqP; exact: not_eq_sym (Rlt_not_eq _ _ np0).
- by rewrite four; apply: radius.
- by rewrite four; apply: radius.
- by rewrite four; apply: cube_distance.
- by apply: cube_frobenius => //; apply: mean_cube.
Qed.

Let together : ((k / sigma) ^ 2 * (d * 4) ^ 2 = kappa ^ 2)%coqR.
Proof. by rewrite -kappaE; field; move: s0; lra. Qed.

(* Proposition 4.1 for the pair: t bounds the mixed covariance from below, t1 and t2 are the eigenvalues. *)
Lemma closed W t (u v w : 'cV[R]_j.+1) t1 t2 :
  cov D' = cov D + k *: (v *m v^T) - k *: (u *m u^T) -> mean D - mean D' = (/ n)%coqR *: w -> dot w w <= W ->
  floor (cov D) sigma -> (0 < t)%coqR -> floor (Sigma_alpha alpha (cov D) (cov D')) t ->
  (forall s, (0 <= s)%coqR -> \det (cov D + (s * k)%coqR *: (v *m v^T) - (s * k)%coqR *: (u *m u^T)) = ((1 + s * t1) * (1 + s * t2) * \det (cov D))%coqR) ->
  (0 < 1 + alpha * t1)%coqR -> (0 < 1 + alpha * t2)%coqR ->
  finite alpha D D' /\ exists2 L1, (L1 <= W / (n ^ 2 * t))%coqR & (divergence alpha D D' = alpha / 2 * L1 + (Formulas.psi alpha t1 + Formulas.psi alpha t2) / 2)%coqR.
Proof.
move=> eB em wr fA t0 fC detE D1 D2; have np := n1.
have eC : Sigma_alpha alpha (cov D) (cov D') = cov D + (alpha * k)%coqR *: (v *m v^T) - (alpha * k)%coqR *: (u *m u^T).
  by rewrite /Sigma_alpha eB mixed_replaced.
split.
  by split; [rewrite eC; apply: sym_replaced; apply: cov_sym|move=> z z0; apply: lt_le_trans (fC z); rewrite mulr_gt0 ?dot_gt0 //; apply/RltP].
have t0' : 0 < t by apply/RltP.
exists (dot (mean D - mean D') (invmx (Sigma_alpha alpha (cov D) (cov D')) *m (mean D - mean D'))).
  rewrite em; set L1 : R := dot _ _.
  have H : (L1 * t <= (/ n) ^ 2 * W)%coqR by have /RleP := mean_term t0' fC (/ n)%coqR wr; rewrite -RpowE.
  apply: (Rmult_le_reg_r t) => //; apply: Rle_trans H _; apply: Req_le; field; split; lra.
rewrite -(Eigenvalues.closed_psi _ _ _ _ (\det (cov D)) alpha1 D1 D2 (det_first s0 fA (cov_sym D))).
rewrite /divergence /renyi {2}eC detE; last lra.
by have := detE 1%coqR; rewrite !Rmult_1_l -eB => -> //; lra.
Qed.

(* The mixed covariance, where only the first data set lies in D_sigma. *)
Lemma floor_first (u v : 'cV[R]_j.+1) : cov D' = cov D + k *: (v *m v^T) - k *: (u *m u^T) -> dot u u <= (d * 4)%coqR -> floor (cov D) sigma ->
  floor (Sigma_alpha alpha (cov D) (cov D')) (sigma * (1 - alpha * kappa))%coqR.
Proof.
move=> eB ur fA; have ak0 : 0 <= (alpha * k)%coqR by apply/RleP; apply: Rmult_le_pos => //; lra.
have eC : Sigma_alpha alpha (cov D) (cov D') = cov D + (alpha * k)%coqR *: (v *m v^T) - (alpha * k)%coqR *: (u *m u^T).
  by rewrite /Sigma_alpha eB mixed_replaced.
have fV : floor (cov D + (alpha * k)%coqR *: (v *m v^T)) sigma.
  by move=> z; have := floor_added fA v ler01 ak0 z; rewrite scale1r mul1r.
have -> : (sigma * (1 - alpha * kappa))%coqR = (sigma - alpha * k * (d * 4))%coqR.
  by rewrite -kappaE; field; lra.
by move=> z; rewrite eC; have := floor_removed fV ler01 ak0 ur z; rewrite scale1r mul1r scaleNr.
Qed.

(* Theorem A: if D lies in D_sigma and alpha kappa < 1, kappa = (n - 1) tau / n^2, the divergence of D from D' is at most eps_bounded_tight(n). *)
Theorem theorem_A : floor (cov D) sigma -> (alpha * ((n - 1) * Formulas.tau d sigma / n ^ 2) < 1)%coqR ->
  finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_bounded_tight n alpha d sigma)%coqR.
Proof.
move=> fA small; have [u [v [w [eB [em [ur [vr [wr frob]]]]]]]] := unpacked.
have [t1 [t2 [r1 [r2 [_ detE]]]]] := spectrum s0 fA (cov_sym D) k0 ur vr frob.
rewrite kappaE in r1 r2; rewrite -/tau -/kappa in small; have np := n1; have k0' := kappa0.
have t0 : (0 < sigma * (1 - alpha * kappa))%coqR by apply: Rmult_lt_0_compat; lra.
have D1 : (0 < 1 + alpha * t1)%coqR by have : (0 <= alpha * t1)%coqR by [apply: Rmult_le_pos; lra]; lra.
have D2 : (0 < 1 + alpha * t2)%coqR by have : (alpha * - kappa <= alpha * t2)%coqR by [apply: Rmult_le_compat_l; lra]; lra.
have [fin [L1 HL ->]] := closed eB em wr fA t0 (floor_first eB ur fA) detE D1 D2; split=> //.
have P := Eigenvalues.psi_apart _ _ _ _ alpha1 small r1 r2.
rewrite /Formulas.eps_bounded_tight -/tau -/kappa (_ : (n ^ 2 - alpha * (n - 1) * tau = n ^ 2 * (1 - alpha * kappa))%coqR).
  have -> : (tau / (n ^ 2 * (1 - alpha * kappa)) = d * 4 / (n ^ 2 * (sigma * (1 - alpha * kappa))))%coqR by rewrite /tau /Formulas.tau; field; lra.
  by have : (alpha / 2 * L1 <= alpha / 2 * (d * 4 / (n ^ 2 * (sigma * (1 - alpha * kappa)))))%coqR by [apply: Rmult_le_compat_l; lra]; lra.
by rewrite /kappa; field; lra.
Qed.

(* Theorem 3.2 of miura2022, under the same conditions: the divergence of D from D' is at most eps_bounded(n). *)
Theorem theorem_3_2 : floor (cov D) sigma -> (alpha * ((n - 1) * Formulas.tau d sigma / n ^ 2) < 1)%coqR ->
  finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_bounded n alpha d sigma)%coqR.
Proof.
move=> fA small; have [fin H] := theorem_A fA small; split=> //; apply: Rle_trans H _.
by apply: Eigenvalues.tight_below_printed => //; move: n1; lra.
Qed.

(* Theorem B: in the setting of Theorem A the divergence is at most eps_bounded_joint(n). *)
Theorem theorem_B : floor (cov D) sigma -> (alpha * ((n - 1) * Formulas.tau d sigma / n ^ 2) < 1)%coqR ->
  finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_bounded_joint n alpha d sigma)%coqR.
Proof.
move=> fA small; have [u [v [w [eB [em [ur [vr [wr frob]]]]]]]] := unpacked.
have [t1 [t2 [r1 [r2 [sq detE]]]]] := spectrum s0 fA (cov_sym D) k0 ur vr frob.
rewrite together in sq; rewrite kappaE in r1 r2; rewrite -/tau -/kappa in small; have np := n1; have k0' := kappa0.
have t0 : (0 < sigma * (1 - alpha * kappa))%coqR by apply: Rmult_lt_0_compat; lra.
have D1 : (0 < 1 + alpha * t1)%coqR by have : (0 <= alpha * t1)%coqR by [apply: Rmult_le_pos; lra]; lra.
have D2 : (0 < 1 + alpha * t2)%coqR by have : (alpha * - kappa <= alpha * t2)%coqR by [apply: Rmult_le_compat_l; lra]; lra.
have [fin [L1 HL ->]] := closed eB em wr fA t0 (floor_first eB ur fA) detE D1 D2; split=> //.
have P : (Formulas.psi alpha t1 + Formulas.psi alpha t2 <= Formulas.psi alpha (- kappa))%coqR by apply: Spread.psi_joint => //; lra.
rewrite /Formulas.eps_bounded_joint -/tau -/kappa (_ : (n ^ 2 - alpha * (n - 1) * tau = n ^ 2 * (1 - alpha * kappa))%coqR).
  have -> : (tau / (n ^ 2 * (1 - alpha * kappa)) = d * 4 / (n ^ 2 * (sigma * (1 - alpha * kappa))))%coqR by rewrite /tau /Formulas.tau; field; lra.
  by have : (alpha / 2 * L1 <= alpha / 2 * (d * 4 / (n ^ 2 * (sigma * (1 - alpha * kappa)))))%coqR by [apply: Rmult_le_compat_l; lra]; lra.
by rewrite /kappa; field; lra.
Qed.

(* Both data sets lie in D_sigma. `radius` bounds the records' squared distances from the mean of the common records, `frobenius` the squared
   norm of v v' - u u', and `far` the squared distance of the two records that differ. *)
Section Both.
Variables (radius frobenius far : R) (u v w : 'cV[R]_j.+1).
Let kappa' : R := (k * (radius / sigma))%coqR.
Let q : R := (kappa' / (1 + kappa'))%coqR.
Hypotheses (eB : cov D' = cov D + k *: (v *m v^T) - k *: (u *m u^T)) (em : mean D - mean D' = (/ n)%coqR *: w) (radius0 : (0 < radius)%coqR).
Hypotheses (ur : dot u u <= radius) (vr : dot v v <= radius) (wr : dot w w <= far).
Hypotheses (frob : (dot v v ^ 2 + dot u u ^ 2 - 2 * dot u v ^ 2 <= frobenius)%coqR) (narrow : (frobenius <= radius ^ 2)%coqR).
Hypotheses (fA : floor (cov D) sigma) (fB : floor (cov D') sigma) (small : (alpha * q < 1)%coqR).

Let kappa'0 : (0 < kappa')%coqR.
Proof.
apply: Rmult_lt_0_compat; last exact: Rdiv_lt_0_compat.
by apply: Rdiv_lt_0_compat; [|apply: pow_lt]; move: n1; lra.
Qed.

(* The mixed covariance. *)
Lemma floor_both : floor (Sigma_alpha alpha (cov D) (cov D')) (sigma * (1 - alpha * q))%coqR.
Proof.
move=> z; apply/RleP.
have /RleP lowA := fA z; have /RleP lowB := fB z.
have -> : qf (Sigma_alpha alpha (cov D) (cov D')) z = ((1 - alpha) * qf (cov D) z + alpha * qf (cov D') z)%coqR.
  by rewrite /qf /Sigma_alpha mulmxDl dotDr -!scalemxAl !dotZr.
apply: (Spread.mixed_form _ alpha1 _ _ _ _ _ (Rlt_le _ _ kappa'0) small lowA lowB).
have -> : qf (cov D') z = (qf (cov D) z + k * dot v z ^ 2 - k * dot u z ^ 2)%coqR.
  have -> : cov D' = 1 *: (1 *: cov D + k *: (v *m v^T)) + (- k) *: (u *m u^T) by rewrite eB !scale1r scaleNr.
  by rewrite !qf_update !mul1r -!RpowE mulNr.
have /RleP uz : dot u z ^+ 2 <= radius * dot z z.
  by apply: le_trans (cauchy u z) _; rewrite ler_wpmul2r ?dot_ge0.
rewrite -RpowE -RmultE in uz; have vz := pow2_ge_0 (dot v z).
have kv : (0 <= k * dot v z ^ 2)%coqR by apply: Rmult_le_pos.
have ku : (k * dot u z ^ 2 <= k * (radius * dot z z))%coqR by apply: Rmult_le_compat_l.
have -> : (kappa' * (sigma * dot z z))%coqR = (k * (radius * dot z z))%coqR by rewrite /kappa'; field; move: s0; lra.
lra.
Qed.

(* The step of Theorems G and G'. *)
Lemma both : finite alpha D D' /\
  (divergence alpha D D' <= alpha / 2 * (far / (n ^ 2 * (sigma * (1 - alpha * q))))
                            + Spread.larger alpha kappa' / kappa' ^ 2 * ((k / sigma) ^ 2 * frobenius) / 2)%coqR.
Proof.
have [t1 [t2 [r1 [r2 [_ detE]]]]] := spectrum s0 fA (cov_sym D) k0 ur vr frob.
have [s1 [s2 [_ [_ [sq detE']]]]] := spectrum s0 fB (cov_sym D') k0 ur vr frob.
rewrite -/kappa' in r1 r2; have np := n1; have k0' := kappa'0.
have dA := det_first s0 fA (cov_sym D); have dB := det_first s0 fB (cov_sym D').
have e1 : \det (cov D') = ((1 + t1) * (1 + t2) * \det (cov D))%coqR.
  by have := detE 1%coqR; rewrite !Rmult_1_l -eB => -> //; lra.
have pos : (0 < (1 + t1) * (1 + t2))%coqR.
  by apply: (Rmult_lt_reg_r (\det (cov D))) => //; rewrite Rmult_0_l -e1.
have same s : (0 <= s)%coqR -> ((1 + (1 + s) * t1) * (1 + (1 + s) * t2) = (1 + s * s1) * (1 + s * s2) * ((1 + t1) * (1 + t2)))%coqR.
  move=> sp; apply: (Rmult_eq_reg_r (\det (cov D))); last by apply: not_eq_sym (Rlt_not_eq _ _ dA).
  rewrite -detE; last lra.
  rewrite Rmult_assoc -e1 -detE' // eB; congr (\det _).
  have -> (t : R) : ((1 + t) * k)%coqR = k + (t * k)%coqR by rewrite -RplusE; ring.
  by rewrite !scalerDl opprD !addrA; congr (_ - _); rewrite addrAC.
have within : ((k / sigma) ^ 2 * frobenius <= kappa' ^ 2)%coqR.
  have -> : (kappa' ^ 2 = (k / sigma) ^ 2 * radius ^ 2)%coqR by rewrite /kappa'; field; move: s0; lra.
  by apply: Rmult_le_compat_l => //; apply: pow2_ge_0.
have [D1 [D2 P]] := Spread.seen_from_second _ alpha1 _ _ _ _ _ k0' small r1 (proj2 r2) pos (Rle_trans _ _ _ sq within) same.
have t0 : (0 < sigma * (1 - alpha * q))%coqR by apply: Rmult_lt_0_compat; lra.
have [fin [L1 HL ->]] := closed eB em wr fA t0 floor_both detE D1 D2; split=> //.
have [half _] := Spread.chi_each _ alpha1 _ k0' small.
have P' := Rmult_le_compat_l (Spread.larger alpha kappa' / kappa' ^ 2)%coqR _ _ ltac:(lra) sq.
by have : (alpha / 2 * L1 <= alpha / 2 * (far / (n ^ 2 * (sigma * (1 - alpha * q)))))%coqR by [apply: Rmult_le_compat_l; lra]; lra.
Qed.
End Both.

(* Theorem G: if both D and D' lie in D_sigma and alpha q < 1, q = kappa / (1 + kappa), the divergence of D from D' is at most eps_bounded_both(n). *)
Theorem theorem_G : floor (cov D) sigma -> floor (cov D') sigma ->
  (alpha * ((n - 1) * Formulas.tau d sigma / n ^ 2 / (1 + (n - 1) * Formulas.tau d sigma / n ^ 2)) < 1)%coqR ->
  finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_bounded_both n alpha d sigma)%coqR.
Proof.
move=> fA fB; rewrite -/tau -/kappa => small; have [u [v [w [eB [em [ur [vr [wr frob]]]]]]]] := unpacked.
have d4 : (0 < d * 4)%coqR by move: d1; lra.
have := both eB em d4 ur vr wr frob (Rle_refl _) fA fB; rewrite kappaE together => /(_ small) [fin H]; split=> //; apply: Rle_trans H _.
have np := n1; have kp : (0 < kappa)%coqR.
  by rewrite -kappaE; apply: Rmult_lt_0_compat; apply: Rdiv_lt_0_compat => //; [lra|apply: pow_lt; lra].
have L := Spread.larger_within _ alpha1 _ _ kp small (Rle_refl _).
rewrite /Formulas.eps_bounded_both -/tau -/kappa -/(Spread.larger alpha kappa).
have -> : (tau / (n ^ 2 * (1 - alpha * (kappa / (1 + kappa)))) = d * 4 / (n ^ 2 * (sigma * (1 - alpha * (kappa / (1 + kappa))))))%coqR.
  rewrite /tau /Formulas.tau; move: (kappa / (1 + kappa))%coqR small => q small; field; move: s0; lra.
lra.
Qed.
End Public.
