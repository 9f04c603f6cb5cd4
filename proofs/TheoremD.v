(* Private n, "Beyond the document": Lemma C and Theorem D, from data sets to the divergence itself and to its largest value.

   n records, the smaller data set, lie in D_sigma; then the larger one may have any record of the cube besides. As in Theorem31.v,
   Proposition 4.1's closed form is the definition of the divergence. In lib: gaussian_synthesis/bounds.py, largest_radius,
   divergence_added, divergence_removed and unbounded_epsilon_tight. *)
From Coq Require Import Reals Lra.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Update Theorem31.
From Compendium Require Formulas Distance.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

(* The squared Mahalanobis distance of a record from the mean of a data set, in its covariance. *)
Definition distance (d : nat) (D : seq 'cV[R]_d) (x : 'cV[R]_d) : R := dot (x - mean D)%R (invmx (cov D) *m (x - mean D))%R.

Lemma posn0 (x : R) : (0 < x)%coqR -> x <> 0%coqR.
Proof. by move=> x0; apply: not_eq_sym (Rlt_not_eq _ _ x0). Qed.

Section Exact.
Variables (j : nat) (A P Q : 'M[R]_j.+1) (m1 m2 v : 'cV[R]_j.+1) (alpha sigma p h q l g : R).
Let r : R := dot v (invmx A *m v).
Let c : R := ((1 - alpha) * p + alpha * q)%coqR.
Let e : R := ((1 - alpha) * (p + h * r) + alpha * (q + l * r))%coqR.
Hypotheses (s0 : (0 < sigma)%coqR) (fA : floor A sigma) (sA : sym A) (alpha1 : (1 < alpha)%coqR).
Hypotheses (eP : P = p *: A + h *: (v *m v^T)) (eQ : Q = q *: A + l *: (v *m v^T)) (em : m1 - m2 = g *: v).
Hypotheses (p0 : (0 < p)%coqR) (q0 : (0 < q)%coqR) (p1 : (0 < p + h * r)%coqR) (q1 : (0 < q + l * r)%coqR).
Hypotheses (c0 : (0 < c)%coqR) (e0 : (0 < e)%coqR).

(* Proposition 4.1 where both covariances are updates of one matrix by one vector. *)
Lemma exact : pd (Sigma_alpha alpha P Q) /\
  renyi alpha m1 m2 P Q = ((alpha * (g ^ 2 * r / e) + INR j * Formulas.psi alpha (q / p - 1) + Formulas.psi alpha ((q + l * r) / (p + h * r) - 1)) / 2)%coqR.
Proof.
have s0' : 0 < sigma by apply/RltP.
pose k : R := ((1 - alpha) * h + alpha * l)%coqR.
have eC : Sigma_alpha alpha P Q = c *: A + k *: (v *m v^T).
  by rewrite /Sigma_alpha eP eQ !scalerDr !scalerA addrACA -!scalerDl.
have ee : (c + k * r)%coqR = e by rewrite /c /k /e; ring.
have c0' : 0 < c by apply/RltP.
have pC : pd (Sigma_alpha alpha P Q).
  by rewrite eC; apply: (pd_update s0' fA) => //; rewrite -/r -RmultE -RplusE ee; apply/RltP.
split=> //.
have detC : \det (Sigma_alpha alpha P Q) = (c ^ j * e * \det A)%coqR.
  by rewrite eC (det_pair _ _ s0' fA) ?gt_eqF // -/r -RmultE -RplusE ee RpowE.
have up w t : (0 < w)%coqR -> \det (w *: A + t *: (v *m v^T)) = (w ^ j * (w + t * r) * \det A)%coqR.
  by move=> w0; rewrite (det_pair _ _ s0' fA) ?gt_eqF -/r ?RpowE //; apply/RltP.
have mean_part : dot (m1 - m2) (invmx (Sigma_alpha alpha P Q) *m (m1 - m2)) = (g ^ 2 * r / e)%coqR.
  rewrite em eC (mean_term_exact s0' fA).
  - by rewrite -/r -RmultE -RplusE ee RdivE ?RpowE //; apply/eqP; apply: posn0.
  - by rewrite unitmxE unitfE gt_eqF // -eC; apply: pd_det.
  - by rewrite -/r -RmultE -RplusE ee gt_eqF //; apply/RltP.
rewrite /renyi mean_part detC eP eQ !up //.
by rewrite (Distance.exact_psi _ alpha1) //; exact: det_first s0 fA sA.
Qed.
End Exact.

Section TheoremD.
Variables (j : nat) (D D' : seq 'cV[R]_j.+1) (x : 'cV[R]_j.+1) (alpha sigma : R).
Let n : R := INR (size D).
Let d : R := INR j.+1.
Hypotheses (some : (0 < size D)%N) (neighbour : perm_eq D' (x :: D)) (s0 : (0 < sigma)%coqR) (spread : floor (cov D) sigma).

Let s0' : 0 < sigma. Proof. exact/RltP. Qed.
Let n0 : (0 < n)%coqR. Proof. by apply: lt_0_INR; apply/ssrnat.ltP. Qed.
Let n1 : (0 < n + 1)%coqR. Proof. by move: n0; lra. Qed.
Let r0 : (0 <= distance D x)%coqR.
Proof. by have /andP[/RleP H _] := inv_bound (x - mean D) s0' spread. Qed.
Let covE : cov D' = (n / (n + 1))%coqR *: cov D + (n / (n + 1) ^ 2)%coqR *: ((x - mean D) *m (x - mean D)^T).
Proof.
rewrite (cov_perm neighbour) (cov_added x some) -INRE -/n -RplusE -RpowE !quotient //; apply: posn0; [exact: pow_lt|exact: n1].
Qed.
Let meanE : mean D - mean D' = (- / (n + 1))%coqR *: (x - mean D).
Proof.
rewrite (mean_perm neighbour) -opprB (mean_added x some) -INRE -/n -scaleNr RinvE //; apply/eqP; exact: posn0.
Qed.
Let meanE' : mean D' - mean D = (/ (n + 1))%coqR *: (x - mean D).
Proof. by rewrite -opprB meanE -scaleNr; congr (_ *: _); rewrite -RoppE Ropp_involutive. Qed.
Let one : cov D = 1%coqR *: cov D + 0%coqR *: ((x - mean D) *m (x - mean D)^T).
Proof. by rewrite scale0r addr0 scale1r. Qed.
Let jd : INR j = (d - 1)%coqR. Proof. by rewrite /d S_INR; ring. Qed.

(* Theorem D, a record added: for alpha < n + 1 the divergence of D from D' = D and the record x, at squared distance r, is div_added(n, r). *)
Theorem theorem_D_added : (1 < alpha)%coqR -> (alpha < n + 1)%coqR ->
  finite alpha D D' /\ divergence alpha D D' = Formulas.div_added n alpha d (distance D x).
Proof.
move=> a1 an; have np := n0; have r_pos := r0; rewrite /finite /divergence.
have q0 : (0 < n / (n + 1))%coqR by apply: Rdiv_lt_0_compat; lra.
have l0 : (0 <= n / (n + 1) ^ 2 * distance D x)%coqR.
  by apply: Rmult_le_pos => //; apply: Rlt_le; apply: Rdiv_lt_0_compat => //; apply: pow_lt; lra.
have c0 : (0 < (1 - alpha) * 1 + alpha * (n / (n + 1)))%coqR.
  have -> : ((1 - alpha) * 1 + alpha * (n / (n + 1)) = (n + 1 - alpha) / (n + 1))%coqR by field; lra.
  by apply: Rdiv_lt_0_compat; lra.
have q1 : (0 < n / (n + 1) + n / (n + 1) ^ 2 * distance D x)%coqR by lra.
have e0 : (0 < (1 - alpha) * (1 + 0 * distance D x) + alpha * (n / (n + 1) + n / (n + 1) ^ 2 * distance D x))%coqR.
  have : (0 <= alpha * (n / (n + 1) ^ 2 * distance D x))%coqR by apply: Rmult_le_pos; lra.
  lra.
have p1 : (0 < 1 + 0 * distance D x)%coqR by lra.
have [fin ->] := exact s0 spread (cov_sym D) a1 one covE meanE Rlt_0_1 q0 p1 q1 c0 e0; split=> //.
rewrite -/(distance D x) jd /Formulas.div_added; move: (distance D x) r_pos => r r_pos.
have M : (0 < (n + 1) * (n + 1 - alpha) + alpha * n * r)%coqR by apply: Distance.room_added_pos.
congr (_ / _)%coqR; congr (_ + _)%coqR; [congr (_ + _)%coqR|].
- field; repeat split; try lra; apply: posn0; lra.
- by congr (_ * Formulas.psi _ _)%coqR; field; lra.
- by congr (Formulas.psi _ _)%coqR; field; lra.
Qed.

(* Theorem D, a record removed: the divergence of D' = D and the record x from D is div_removed(n, r), where that is finite. *)
Theorem theorem_D_removed : (1 < alpha)%coqR -> (n * (alpha - 1) * distance D x < (n + 1) * (n + alpha))%coqR ->
  finite alpha D' D /\ divergence alpha D' D = Formulas.div_removed n alpha d (distance D x).
Proof.
move=> a1 room; have np := n0; have r_pos := r0; rewrite /finite /divergence.
have q0 : (0 < n / (n + 1))%coqR by apply: Rdiv_lt_0_compat; lra.
have l0 : (0 <= n / (n + 1) ^ 2 * distance D x)%coqR.
  by apply: Rmult_le_pos => //; apply: Rlt_le; apply: Rdiv_lt_0_compat => //; apply: pow_lt; lra.
have c0 : (0 < (1 - alpha) * (n / (n + 1)) + alpha * 1)%coqR.
  have -> : ((1 - alpha) * (n / (n + 1)) + alpha * 1 = (n + alpha) / (n + 1))%coqR by field; lra.
  by apply: Rdiv_lt_0_compat; lra.
have q1 : (0 < n / (n + 1) + n / (n + 1) ^ 2 * distance D x)%coqR by lra.
have e0 : (0 < (1 - alpha) * (n / (n + 1) + n / (n + 1) ^ 2 * distance D x) + alpha * (1 + 0 * distance D x))%coqR.
  have -> : ((1 - alpha) * (n / (n + 1) + n / (n + 1) ^ 2 * distance D x) + alpha * (1 + 0 * distance D x)
             = ((n + 1) * (n + alpha) - n * (alpha - 1) * distance D x) / (n + 1) ^ 2)%coqR by field; lra.
  by apply: Rdiv_lt_0_compat; [lra|apply: pow_lt; lra].
have p1 : (0 < 1 + 0 * distance D x)%coqR by lra.
have [fin ->] := exact s0 spread (cov_sym D) a1 covE one meanE' q0 Rlt_0_1 q1 p1 c0 e0; split=> //.
rewrite -/(distance D x) jd /Formulas.div_removed; move: (distance D x) r_pos room {q1 p1 e0 l0} => r r_pos room.
congr (_ / _)%coqR; congr (_ + _)%coqR; [congr (_ + _)%coqR|].
- field; repeat split; try lra; apply: posn0; lra.
- by congr (_ * Formulas.psi _ _)%coqR; field; lra.
- congr (Formulas.psi _ _)%coqR; field; repeat split; try lra; apply: posn0.
  by have : (0 <= n * r)%coqR by [apply: Rmult_le_pos; lra]; have : (0 < n * n)%coqR by [apply: Rmult_lt_0_compat]; lra.
Qed.
End TheoremD.

(* No attribute varies by more than its mean allows. *)
Lemma variance (d : nat) (D : seq 'cV[R]_d) i : (0 < size D)%N -> table D -> cov D i i <= 1 - mean D i 0 ^+ 2.
Proof.
move=> D0 tD; have np : 0 < (size D)%:R :> R by rewrite ltr0n.
have -> : cov D i i = (size D)%:R^-1 * (\sum_(x <- D) x *m x^T) i i - mean D i 0 ^+ 2.
  by rewrite /cov; move: (\sum_(x <- D) _) (mean D) => S m; rewrite !mxE big_ord1 !mxE expr2.
rewrite ler_add2r mulrC ler_pdivr_mulr // mul1r summxE.
apply: (@le_trans _ _ (\sum_(x <- D) 1)); last by rewrite big_const_seq count_predT iter_addr addr0.
rewrite big_seq [X in _ <= X]big_seq; apply: ler_sum => x /tD/(_ i)/andP[lo hi].
rewrite !mxE big_ord1 !mxE; apply/RleP; rewrite -RmultE.
have lo' := Rle_trans _ (Ropp 1%coqR) _ (Rle_refl _) (RleP _ _ lo); have hi' := RleP _ _ hi.
by move: (x i 0) lo' hi' => y lo' hi'; change (y <= 1)%coqR in hi'; change (y * y <= 1)%coqR; nra.
Qed.

(* No attribute's mean exceeds sqrt(1 - sigma), in absolute value. *)
Lemma mean_square (j : nat) (D : seq 'cV[R]_j.+1) (sigma : R) i : (0 < size D)%N -> in_D_sigma sigma D -> ((mean D i 0%R) ^ 2 <= 1 - sigma)%coqR.
Proof.
move=> D0 [tD fA]; have var := variance i D0 tD.
have unit_ (w : 'cV[R]_j.+1) : dot (delta_mx i 0) w = w i 0 by rewrite /dot trmx_delta -rowE mxE.
have col_ (M : 'M[R]_j.+1) : (M *m (delta_mx i 0 : 'cV[R]_j.+1)) i 0 = M i i by rewrite -colE mxE.
have := fA (delta_mx i 0); rewrite /qf !unit_ col_ mxE !eqxx mulr1 => low.
by have /RleP := le_trans low var; rewrite RpowE => H; move: (mean D i 0 ^+ 2) H => m H; change (sigma <= 1 - m)%coqR in H; lra.
Qed.

(* Lemma C: on data in the cube whose covariance has no eigenvalue below sigma, no record of the cube is at a squared distance above largest_radius. *)
Theorem lemma_C (j : nat) (D : seq 'cV[R]_j.+1) (x : 'cV[R]_j.+1) (sigma : R) : (0 < size D)%N -> in_D_sigma sigma D -> cube x -> (0 < sigma)%coqR ->
  (distance D x <= Formulas.largest_radius (INR j.+1) sigma)%coqR.
Proof.
move=> D0 iD cx s0; set d := INR j.+1; have [tD fA] := iD.
have s0' : 0 < sigma by apply/RltP.
have each i := mean_square i D0 iD.
have near i : ((x i 0%R - mean D i 0%R) ^ 2 <= (1 + sqrt (1 - sigma)) ^ 2)%coqR.
  have m := each i; have m' : (0 <= 1 - sigma)%coqR by apply: Rle_trans m; apply: pow2_ge_0.
  have r0 := sqrt_pos (1 - sigma); have rr := sqrt_sqrt _ m'.
  have /andP[/RleP lo /RleP hi] := cx i; have lo' := Rle_trans _ (Ropp 1%coqR) _ (Rle_refl _) lo.
  move: (x i 0) (mean D i 0) (sqrt _) m r0 rr lo' hi => y c r m r0 rr lo' hi; change (y <= 1)%coqR in hi.
  have c1 : (c <= r)%coqR by apply: Rnot_lt_le => F; have : (r * r < c * c)%coqR by [apply: Rmult_le_0_lt_compat]; lra.
  have c2 : (- c <= r)%coqR by apply: Rnot_lt_le => F; have : (r * r < - c * - c)%coqR by [apply: Rmult_le_0_lt_compat]; lra.
  nra.
have far : (dot (x - mean D) (x - mean D) <= d * (1 + sqrt (1 - sigma)) ^ 2)%coqR.
  rewrite /d -same_terms; apply/RleP; rewrite dotE; apply: ler_sum => i _.
  have := near i; move: (mean D) => m H; rewrite !mxE; apply/RleP; move: (x i 0) (m i 0) H => y c H; change ((y - c) * (y - c) <= (1 + sqrt (1 - sigma)) ^ 2)%coqR; lra.
have /andP[_] := inv_bound (x - mean D) s0' fA; rewrite ler_pdivl_mulr // => /RleP H.
rewrite /Formulas.largest_radius /distance; apply: (Rmult_le_reg_r sigma) => //.
rewrite /Rdiv Rmult_assoc Rinv_l ?Rmult_1_r; last lra.
exact: Rle_trans H far.
Qed.

(* tau = 4 d / sigma bounds the squared distance, too; Lemma C is sharper. *)
Theorem tau_bounds (j : nat) (D : seq 'cV[R]_j.+1) (x : 'cV[R]_j.+1) (sigma : R) : (0 < size D)%N -> in_D_sigma sigma D -> cube x -> (0 < sigma)%coqR ->
  (distance D x <= Formulas.tau (INR j.+1) sigma)%coqR.
Proof.
move=> D0 [tD fA] cx s0; rewrite /Formulas.tau (_ : 4%coqR = 4%:R); last by rewrite -INRE INR_IZR_INZ.
have far : dot (x - mean D) (x - mean D) <= (4%:R * INR j.+1)%coqR by rewrite RmultE INRE mulrC; apply: radius.
by have [_] := r_range s0 fA far.
Qed.

Section Largest.
Variables (j : nat) (D D' : seq 'cV[R]_j.+1) (alpha sigma : R).
Let n : R := INR (size D).
Let d : R := INR j.+1.
Hypotheses (some : (0 < size D)%N) (neighbours : one_more D D') (inside : table D') (sigma0 : (0 < sigma)%coqR) (alpha1 : (1 < alpha)%coqR).

(* Theorem D: if the smaller data set D lies in D_sigma, D' is D and one record more, alpha < n + 1, and the divergence of a removed record is finite at the
   largest radius R of Lemma C, both divergences are at most eps_unbounded_tight(n). *)
Theorem theorem_D : in_D_sigma sigma D -> (alpha < n + 1)%coqR -> (n * (alpha - 1) * Formulas.largest_radius d sigma < (n + 1) * (n + alpha))%coqR ->
  (finite alpha D D' /\ (divergence alpha D D' <= Formulas.eps_unbounded_tight n alpha d sigma)%coqR) /\
  (finite alpha D' D /\ (divergence alpha D' D <= Formulas.eps_unbounded_tight n alpha d sigma)%coqR).
Proof.
move=> iD an room; have [x p] := neighbours; have [tD fA] := iD.
have cx : cube x by apply: inside; rewrite (perm_mem p) mem_head.
have n0 : (0 < n)%coqR by apply: lt_0_INR; apply/ssrnat.ltP.
have far := lemma_C some iD cx sigma0; rewrite -/d in far.
have r0 : (0 <= distance D x)%coqR.
  by have s0' : 0 < sigma by [apply/RltP]; have /andP[/RleP H _] := inv_bound (x - mean D) s0' fA.
have here : (n * (alpha - 1) * distance D x < (n + 1) * (n + alpha))%coqR.
  by apply: Rle_lt_trans room; apply: Rmult_le_compat_l => //; apply: Rmult_le_pos; lra.
have [f1 e1] := theorem_D_added some p sigma0 fA alpha1 an.
have [f2 e2] := theorem_D_removed some p sigma0 fA alpha1 here.
have [H1 H2] := Distance.largest _ alpha1 _ n0 d sigma _ (conj r0 far) an room.
by split; split; rewrite ?e1 ?e2.
Qed.
End Largest.
