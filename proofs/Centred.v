(* Public n, "Beyond the document": Theorem G', which adds to Theorem G what Lemma C says about means.

   The mean of the common records bounds how far both records can be from it, attribute by attribute. As in Theorem31.v, Proposition 4.1's
   closed form is the definition of the divergence. In lib: gaussian_synthesis/bounds.py, bounded_epsilon_centred. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Theorem31 PublicN TheoremD.
From Compendium Require Formulas Spread Peak.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

Lemma sum_mono j (f g : 'I_j -> R) : (forall i, (f i <= g i)%coqR) -> (\sum_i f i <= \sum_i g i)%coqR.
Proof. by move=> H; apply/RleP; apply: ler_sum => i _; apply/RleP. Qed.

Lemma sum_linear j (f g : 'I_j -> R) (a b c : R) :
  \sum_i (a * f i + b * g i + c)%coqR = (a * (\sum_i f i)%R + b * (\sum_i g i)%R + INR j * c)%coqR.
Proof. by rewrite -same_terms !RmultE !big_distrr !RplusE -!big_split. Qed.

Lemma dot_sum j (a b : 'cV[R]_j) : dot (a + b) (a + b) = (dot a a + dot b b + 2 * dot a b)%coqR.
Proof.
by rewrite !dotDl !dotDr (dotC b a); change ((dot a a + dot a b + (dot a b + dot b b))%coqR = (dot a a + dot b b + 2 * dot a b)%coqR); ring.
Qed.
Lemma dot_difference j (a b : 'cV[R]_j) : dot (a - b) (a - b) = (dot a a + dot b b - 2 * dot a b)%coqR.
Proof.
by rewrite !dotDl !dotDr !dotNl !dotNr (dotC b a); change ((dot a a + - dot a b + (- dot a b + - - dot b b))%coqR = (dot a a + dot b b - 2 * dot a b)%coqR); ring.
Qed.
Lemma dot_both j (a b : 'cV[R]_j) : dot (a + b) (b - a) = (dot b b - dot a a)%coqR.
Proof.
by rewrite !dotDl !dotDr !dotNr (dotC b a); change ((dot a b + - dot a a + (dot b b + - dot a b))%coqR = (dot b b - dot a a)%coqR); ring.
Qed.

(* Both records are within M of the mean m in each attribute: what their distance says. *)
Section Distances.
Variables (j : nat) (x y m : 'cV[R]_j.+1) (M : R).
Let d : R := INR j.+1.
Let a := x - m.
Let b := y - m.
Hypotheses (M12 : (1 <= M <= 2)%coqR) (ax : forall i, (- M <= a i 0%R <= M)%coqR) (bx : forall i, (- M <= b i 0%R <= M)%coqR).
Hypothesis cube2 : forall i, (-2 <= a i 0%R - b i 0%R <= 2)%coqR.

Let p (i : 'I_j.+1) : R := Rabs (a i 0%R - b i 0%R)%coqR.
Let S1 : R := \sum_i p i.
Let S2 : R := dot (x - y) (x - y).

Lemma distances : exists s, (0 <= s <= 2)%coqR /\ dot (x - y) (x - y) <= (d * (2 * s))%coqR /\ dot a a <= (d * M ^ 2)%coqR /\ dot b b <= (d * M ^ 2)%coqR /\
  (dot b b ^ 2 + dot a a ^ 2 - 2 * dot a b ^ 2 <= d ^ 2 * (2 * (2 * M ^ 2 * s - (2 - (2 - M) ^ 2) * s ^ 2)))%coqR.
Proof.
have d0 : (0 < d)%coqR by apply: lt_0_INR; apply/ssrnat.ltP.
have one i := Peak.attribute _ _ _ (ax i) (bx i); cbv zeta in one.
have e2 : S2 = \sum_i (p i * p i)%coqR.
  rewrite /S2 dotE; apply: eq_bigr => i _; rewrite /p.
  have -> : (x - y) i 0 = (a i 0%R - b i 0%R)%coqR.
    by rewrite /a /b !mxE; change ((x i 0%R - y i 0%R)%coqR = ((x i 0%R - m i 0%R) - (y i 0%R - m i 0%R))%coqR); ring.
  by change (((a i 0%R - b i 0%R) * (a i 0%R - b i 0%R))%coqR = (Rabs (a i 0%R - b i 0%R) * Rabs (a i 0%R - b i 0%R))%coqR); exact: (Rsqr_abs (a i 0%R - b i 0%R)%coqR).
have p2 i : (0 <= p i <= 2)%coqR by rewrite /p; have := cube2 i; split; [exact: Rabs_pos|apply: Rabs_le; lra].
have S1b : (0 <= S1 <= d * 2)%coqR.
  split; first by have -> : 0%coqR = \sum_(i < j.+1) 0%coqR by [rewrite same_terms Rmult_0_r]; apply: sum_mono => i; case: (p2 i).
  by rewrite /d -same_terms; apply: sum_mono => i; case: (p2 i).
have S2b : (0 <= S2 <= 2 * S1)%coqR.
  split; first by apply/RleP; exact: dot_ge0.
  rewrite e2; apply: Rle_trans (_ : \sum_i (0 * p i + 2 * p i + 0)%coqR <= _)%coqR; last by rewrite sum_linear -/S1; lra.
  by apply: sum_mono => i; have := p2 i; nra.
have V : (0 <= S2 + - (2 * M) * S1 + d * M ^ 2)%coqR.
  have -> : (S2 + - (2 * M) * S1 + d * M ^ 2)%coqR = \sum_i (1 * (p i * p i) + - (2 * M) * p i + M ^ 2)%coqR by rewrite sum_linear -e2 -/S1 -/d; ring.
  have -> : 0%coqR = \sum_(i < j.+1) 0%coqR by rewrite same_terms Rmult_0_r.
  by apply: sum_mono => i; have := pow2_ge_0 (p i - M); lra.
have dots (u v : 'cV[R]_j.+1) : dot u v = \sum_i (u i 0%R * v i 0%R)%coqR by rewrite dotE.
have sum_ab i : (a + b) i 0 = (a i 0%R + b i 0%R)%coqR by rewrite mxE.
have dif_ba i : (b - a) i 0 = (b i 0%R - a i 0%R)%coqR by rewrite !mxE.
have HX : (dot a a + dot b b + 2 * dot a b <= S2 + - (4 * M) * S1 + d * (4 * M ^ 2))%coqR.
  rewrite -dot_sum.
  have -> : (S2 + - (4 * M) * S1 + d * (4 * M ^ 2))%coqR = \sum_i (1 * (p i * p i) + - (4 * M) * p i + 4 * M ^ 2)%coqR by rewrite sum_linear -e2 -/S1 -/d; ring.
  by rewrite dots; apply: sum_mono => i; rewrite sum_ab; case: (one i).
have eD := dot_both a b.
have HD : (dot b b - dot a a <= - S2 + 2 * M * S1)%coqR.
  have -> : (- S2 + 2 * M * S1)%coqR = \sum_i (-1 * (p i * p i) + 2 * M * p i + 0)%coqR by rewrite sum_linear -e2 -/S1 -/d; ring.
  by rewrite -eD dots; apply: sum_mono => i; rewrite sum_ab dif_ba; case: (one i) => _ [].
have HD' : (S2 + - (2 * M) * S1 <= dot b b - dot a a)%coqR.
  have -> : (S2 + - (2 * M) * S1)%coqR = \sum_i (1 * (p i * p i) + - (2 * M) * p i + 0)%coqR by rewrite sum_linear -e2 -/S1 -/d; ring.
  by rewrite -eD dots; apply: sum_mono => i; rewrite sum_ab dif_ba; case: (one i) => _ [].
have e : (S2 = dot a a + dot b b - 2 * dot a b)%coqR.
  by rewrite -dot_difference /S2; congr (dot _ _); rewrite /a /b opprB addrA subrK.
exists (S1 / d)%coqR.
have s02 : (0 <= S1 / d <= 2)%coqR.
  split; first by apply: Rmult_le_pos; [lra|apply: Rlt_le; exact: Rinv_0_lt_compat].
  by apply: (Rmult_le_reg_r d) => //; rewrite /Rdiv Rmult_assoc Rinv_l; lra.
have square (u : 'cV[R]_j.+1) : (forall i, (- M <= u i 0%R <= M)%coqR) -> dot u u <= (d * M ^ 2)%coqR.
  move=> H; apply/RleP; rewrite dots /d -same_terms; apply: sum_mono => i; have := H i; nra.
split=> //; split; last split; try exact: square.
  apply/RleP; have -> : (d * (2 * (S1 / d)) = 2 * S1)%coqR by field; lra.
  by case: S2b.
split; first exact: square.
exact: (Peak.frobenius_within _ _ _ _ _ _ _ d0 M12 e HX HD HD' S1b S2b V).
Qed.
End Distances.

Section Centred.
Variables (j : nat) (D D' : seq 'cV[R]_j.+1) (alpha sigma : R).
Let n : R := INR (size D).
Let d : R := INR j.+1.
Hypotheses (two : (1 < size D)%N) (neighbours : one_replaced D D') (s0 : (0 < sigma)%coqR) (alpha1 : (1 < alpha)%coqR).
Hypotheses (iD : in_D_sigma sigma D) (iD' : in_D_sigma sigma D').

Let n1 : (1 < n)%coqR. Proof. by rewrite -[1%coqR]/(INR 1); apply: lt_INR; apply/ssrnat.ltP. Qed.
Let d0 : (0 < d)%coqR. Proof. by apply: lt_0_INR; apply/ssrnat.ltP. Qed.
Let m : R := Formulas.common_mean n sigma.
Let M : R := (1 + m)%coqR.

Let m01 : (0 <= m <= 1)%coqR.
Proof.
rewrite /m /Formulas.common_mean; split; last exact: Rmin_l.
apply: Rmin_glb; first lra.
apply: Rmult_le_pos; last by apply: Rlt_le; apply: Rinv_0_lt_compat; have := n1; lra.
by have H := sqrt_pos (1 - sigma); have : (0 <= n * sqrt (1 - sigma))%coqR by [apply: Rmult_le_pos => //; have := n1; lra]; lra.
Qed.

(* No mean of the common records is beyond m. *)
Lemma common_within (x : 'cV[R]_j.+1) E i : perm_eq D (x :: E) -> (- m <= mean E i 0%R <= m)%coqR.
Proof.
move=> pD; have E0 : (0 < size E)%N by move: two; rewrite (perm_size pD).
have en : INR (size E) = (n - 1)%coqR by rewrite /n (perm_size pD) -[size (_ :: _)]/(size E).+1 S_INR; lra.
have [tD _] := iD; have tE : table E by move=> z zE; apply: tD; rewrite (perm_mem pD) in_cons zE orbT.
have cx : cube x by apply: tD; rewrite (perm_mem pD) mem_head.
have /andP[/RleP lo /RleP hi] := mean_cube E0 tE i; have /andP[/RleP xlo /RleP xhi] := cx i.
have lo' := Rle_trans _ (Ropp 1%coqR) _ (Rle_refl _) lo; have xlo' := Rle_trans _ (Ropp 1%coqR) _ (Rle_refl _) xlo.
have sq := mean_square i (ltnW two) iD.
have s1 : (0 <= 1 - sigma)%coqR by apply: Rle_trans sq; apply: pow2_ge_0.
have r0 := sqrt_pos (1 - sigma); have rr := sqrt_sqrt _ s1.
have ex : (mean D i 0%R = mean E i 0%R + / n * (x i 0%R - mean E i 0%R))%coqR.
  have H := mean_added x E0; rewrite -(mean_perm pD) -INRE en in H; move: H.
  have -> : ((n - 1)%coqR + 1 : R) = n by change ((n - 1 + 1)%coqR = n); lra.
  rewrite -RinvE; last by apply/eqP => e; have := n1; change (n = 0%coqR) in e; lra.
  move: (mean D) (mean E) => u v /(congr1 (fun w : 'cV[R]_j.+1 => w i 0)); rewrite !mxE.
  by move: (u i 0) (v i 0) (x i 0) => u' v' w; change ((u' - v' = / n * (w - v'))%coqR -> (u' = v' + / n * (w - v'))%coqR); lra.
move: ex sq lo' hi xlo' xhi; move: (mean D i 0) (mean E i 0) (x i 0%R) => u v w ex sq vlo vhi wlo whi.
change (v <= 1)%coqR in vhi; change (w <= 1)%coqR in whi.
have nu : (n * u = (n - 1) * v + w)%coqR by rewrite ex; field; have := n1; lra.
set r := sqrt (1 - sigma) in r0 rr.
have ur : (- r <= u <= r)%coqR by split; nra.
have low : ((n - 1) * v <= n * r + 1)%coqR by have := n1; nra.
have upp : (- (n * r + 1) <= (n - 1) * v)%coqR by have := n1; nra.
have inv : (0 < / (n - 1))%coqR by apply: Rinv_0_lt_compat; have := n1; lra.
have vle : (v <= (n * r + 1) / (n - 1))%coqR.
  by apply: (Rmult_le_reg_l (n - 1)); [have := n1; lra|have -> : ((n - 1) * ((n * r + 1) / (n - 1)) = n * r + 1)%coqR by [field; have := n1; lra]].
have vge : (- ((n * r + 1) / (n - 1)) <= v)%coqR.
  by apply: (Rmult_le_reg_l (n - 1)); [have := n1; lra|have -> : ((n - 1) * - ((n * r + 1) / (n - 1)) = - (n * r + 1))%coqR by [field; have := n1; lra]].
rewrite /m /Formulas.common_mean -/r; split; first by rewrite -(Ropp_involutive v); apply: Ropp_le_contravar; apply: Rmin_glb; lra.
by apply: Rmin_glb.
Qed.

(* Theorem G': if both D and D' lie in D_sigma and alpha q < 1, q = kappa / (1 + kappa) with kappa = kappa_centred, the divergence of D from D' is at
   most eps_bounded_centred(n). *)
Theorem theorem_G_centred : (alpha * (Formulas.kappa_centred n d sigma / (1 + Formulas.kappa_centred n d sigma)) < 1)%coqR ->
  finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_bounded_centred n alpha d sigma)%coqR.
Proof.
move=> small; have [x [y [E [p p']]]] := neighbours; have [tD fA] := iD; have [tD' fB] := iD'.
have E0 : (0 < size E)%N by move: two; rewrite (perm_size p).
have en : INR (size E) = (n - 1)%coqR by rewrite /n (perm_size p) -[size (_ :: _)]/(size E).+1 S_INR; lra.
have cx : cube x by apply: tD; rewrite (perm_mem p) mem_head.
have cy : cube y by apply: tD'; rewrite (perm_mem p') mem_head.
have np := n1; have np0 : (0 < n)%coqR by lra. have mb := m01; have dp := d0.
have back : (n - 1)%coqR + 1 = n by change ((n - 1 + 1)%coqR = n); lra.
have coordinate (z : 'cV[R]_j.+1) i : cube z -> (- M <= (z - mean E)%R i 0%R <= M)%coqR.
  move=> /(_ i)/andP[/RleP lo /RleP hi]; have lo' := Rle_trans _ (Ropp 1%coqR) _ (Rle_refl _) lo; have := common_within i p.
  move: (mean E) => v; rewrite !mxE; move: (v i 0) (z i 0) lo' hi => c w lo' hi; change (w <= 1)%coqR in hi; change (- m <= c <= m -> - M <= w - c <= M)%coqR; rewrite /M; lra.
have apart i : (-2 <= (x - mean E)%R i 0%R - (y - mean E)%R i 0%R <= 2)%coqR.
  have /andP[/RleP lo /RleP hi] := cx i; have lo' := Rle_trans _ (Ropp 1%coqR) _ (Rle_refl _) lo.
  have /andP[/RleP lo2 /RleP hi2] := cy i; have lo2' := Rle_trans _ (Ropp 1%coqR) _ (Rle_refl _) lo2.
  move: (mean E) => v; rewrite !mxE; move: (v i 0) (x i 0%R) (y i 0%R) lo' hi lo2' hi2 => c w z lo' hi lo2' hi2; change (w <= 1)%coqR in hi; change (z <= 1)%coqR in hi2.
  change (-2 <= (w - c) - (z - c) <= 2)%coqR; lra.
have M12 : (1 <= M <= 2)%coqR by rewrite /M; lra.
have [s [s02 [wr [ur [vr frob]]]]] := distances M12 (coordinate x ^~ cx) (coordinate y ^~ cy) apart.
have C := Peak.curvature M M12; set c := (2 - (2 - M) ^ 2)%coqR in C frob.
have root0 : (0 < sqrt (c / 2))%coqR by apply: sqrt_lt_R0; lra.
have rr : (sqrt (c / 2) * sqrt (c / 2) = c / 2)%coqR by apply: sqrt_sqrt; lra.
have root1 : (sqrt (c / 2) <= 1)%coqR by rewrite -sqrt_1; apply: sqrt_le_1_alt; lra.
pose radius : R := (d * M ^ 2 / sqrt (c / 2))%coqR.
have dM : (0 < d * M ^ 2)%coqR by apply: Rmult_lt_0_compat => //; apply: pow_lt; lra.
have radius0 : (0 < radius)%coqR by apply: Rdiv_lt_0_compat.
have wider : (d * M ^ 2 <= radius)%coqR.
  apply: (Rmult_le_reg_r (sqrt (c / 2))) => //; rewrite /radius /Rdiv (Rmult_assoc _ (/ _)) Rinv_l; last lra.
  by apply: Rmult_le_compat_l; lra.
have narrow : (d ^ 2 * (2 * (2 * M ^ 2 * s - c * s ^ 2)) <= radius ^ 2)%coqR.
  have -> : (radius ^ 2 = d ^ 2 * (2 * (M ^ 4 / c)))%coqR.
    have -> : (radius ^ 2 = (d * M ^ 2) ^ 2 / (sqrt (c / 2) * sqrt (c / 2)))%coqR by rewrite /radius; field; lra.
    by rewrite rr; field; lra.
  apply: Rmult_le_compat_l; first exact: pow2_ge_0.
  by have := Peak.below_peak M s M12; rewrite -/c; lra.
have eB : cov D' = cov D + ((n - 1) / n ^ 2)%coqR *: ((y - mean E) *m (y - mean E)^T) - ((n - 1) / n ^ 2)%coqR *: ((x - mean E) *m (x - mean E)^T).
  rewrite (cov_perm p) (cov_perm p') (cov_replaced x y E0) scalerBr addrA -INRE en back -RpowE quotient //; apply: pow_pos; lra.
have em : mean D - mean D' = (/ n)%coqR *: (x - y).
  by rewrite (mean_perm p) (mean_perm p') (mean_replaced x y E0) -INRE en back RinvE //; apply/eqP; exact: not_eq_sym (Rlt_not_eq _ _ np0).
have ur' : dot (x - mean E) (x - mean E) <= radius by apply: le_trans ur _; apply/RleP.
have vr' : dot (y - mean E) (y - mean E) <= radius by apply: le_trans vr _; apply/RleP.
have kE : ((n - 1) / n ^ 2 * (radius / sigma) = Formulas.kappa_centred n d sigma)%coqR.
  rewrite /Formulas.kappa_centred -/m -/M /radius.
  have -> : (1 - (1 - m) ^ 2 / 2 = c / 2)%coqR by rewrite /c /M; field.
  by field; lra.
have := both two s0 alpha1 eB em radius0 ur' vr' wr frob narrow fA fB; rewrite -/n kE => /(_ small) [fin H]; split=> //.
apply: Rle_trans H _; rewrite /Formulas.eps_bounded_centred; cbv zeta.
set kappa := Formulas.kappa_centred n d sigma in small *; set q := (kappa / (1 + kappa))%coqR in small *; rewrite -/m -/M.
rewrite -/q -/(Spread.larger alpha kappa).
pose a : R := (alpha * d / (sigma * n ^ 2 * (1 - alpha * q)))%coqR; rewrite -/a.
pose b : R := (Spread.larger alpha kappa / kappa ^ 2 * ((n - 1) / n ^ 2 * (d / sigma)) ^ 2)%coqR; rewrite -/b.
have kp : (0 < kappa)%coqR.
  rewrite /kappa -kE; apply: Rmult_lt_0_compat; apply: Rdiv_lt_0_compat => //; [lra|apply: pow_lt; lra].
have [half _] := Spread.chi_each _ alpha1 _ kp small.
have c0 : (0 < (n - 1) / n ^ 2 * (d / sigma))%coqR.
  apply: Rmult_lt_0_compat; apply: Rdiv_lt_0_compat => //; [lra|apply: pow_lt; lra].
have b0 : (0 < b)%coqR by apply: Rmult_lt_0_compat; [lra|exact: pow_lt].
have den : (0 < sigma * n ^ 2 * (1 - alpha * q))%coqR by apply: Rmult_lt_0_compat; [apply: Rmult_lt_0_compat => //; apply: pow_lt; lra|lra].
have a0 : (0 <= a)%coqR by apply: Rlt_le; apply: Rdiv_lt_0_compat => //; apply: Rmult_lt_0_compat; lra.
have P := Peak.peak_largest a b M a0 b0 M12 s (proj2 s02).
have -> : (1 - m = 2 - M)%coqR by rewrite /M; ring.
rewrite -/(Peak.peak a b M) -/(Peak.both_terms a b M (Peak.peak a b M)).
apply: Rle_trans P; apply: Req_le; rewrite /Peak.both_terms -/c -/d /a /b; field; repeat split; lra.
Qed.
End Centred.
