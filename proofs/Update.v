(* miura2022, Lemmas 4.3 and 4.4: a covariance that is scaled and changed by a rank-one matrix, q A + k v v'.

   Its determinant, what bounds its quadratic form from below, and the Mahalanobis distance of v. No axiom. *)
From mathcomp Require Import all_ssreflect all_algebra ring.
From Compendium Require Import Forms.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Update.
Variables (F : realFieldType) (d : nat) (A : 'M[F]_d) (s : F).
Hypotheses (s0 : 0 < s) (fA : floor A s).
Implicit Types (q k R : F) (v : 'cV[F]_d).

Lemma det_rank1_update q k v : q != 0 ->
  \det (q *: A + k *: (v *m v^T)) = q ^+ d * \det A * (1 + k / q * dot v (invmx A *m v)).
Proof.
move=> q0; have Au := floor_unit s0 fA.
rewrite (_ : q *: A + _ = q *: (A + (k / q) *: (v *m v^T))); last first.
  by rewrite scalerDr scalerA mulrCA mulfV // mulr1.
by rewrite detZ det_update // /dot mulmxA mulrA.
Qed.

Lemma qf_update q k v z : qf (q *: A + k *: (v *m v^T)) z = q * qf A z + k * dot v z ^+ 2.
Proof.
rewrite /qf mulmxDl dotDr -!scalemxAl !dotZr -mulmxA.
by rewrite [v^T *m z]mx11_scalar mul_mx_scalar dotZr -/(dot v z) (dotC z v) expr2.
Qed.

(* Lemma 4.3: an added record *)
Lemma floor_added q k v : 0 <= q -> 0 <= k -> floor (q *: A + k *: (v *m v^T)) (q * s).
Proof.
move=> q0 k0 z; rewrite qf_update -mulrA; apply: (@le_trans _ _ (q * qf A z)).
  by rewrite ler_wpmul2l.
by rewrite ler_addl mulr_ge0 // sqr_ge0.
Qed.

(* Lemma 4.3: a removed record *)
Lemma floor_removed q k v R : 0 <= q -> 0 <= k -> dot v v <= R ->
  floor (q *: A + (- k) *: (v *m v^T)) (q * s - k * R).
Proof.
move=> q0 k0 vR z; rewrite qf_update mulrBl mulNr ler_sub //.
  by rewrite -mulrA ler_wpmul2l.
rewrite -mulrA ler_wpmul2l //; apply: le_trans (cauchy v z) _.
by rewrite ler_wpmul2r // dot_ge0.
Qed.

(* Sigma_alpha is an update, too. *)
Lemma mixed (a q k : F) v :
  (1 - a) *: A + a *: (q *: A + k *: (v *m v^T)) = (1 - a + a * q) *: A + (a * k) *: (v *m v^T).
Proof. by rewrite scalerDr !scalerA addrA -scalerDl. Qed.

(* The squared Mahalanobis distance of a record that is not farther than R in the cube. *)
Lemma distance_range v R : dot v v <= R -> 0 <= dot v (invmx A *m v) /\ dot v (invmx A *m v) * s <= R.
Proof.
move=> vR; have /andP[r0 r1] := inv_bound v s0 fA; split=> //.
by apply: le_trans vR; rewrite -ler_pdivl_mulr.
Qed.

(* Lemma 4.4: the mean term. *)
Lemma mean_term v g R : dot v v <= R -> dot (g *: v) (invmx A *m (g *: v)) * s <= g ^+ 2 * R.
Proof.
move=> vR; have /andP[_] := inv_bound (g *: v) s0 fA; rewrite ler_pdivl_mulr // => /le_trans; apply.
by rewrite dotZl dotZr mulrA -expr2 ler_wpmul2l // sqr_ge0.
Qed.

(* The inequality of Cauchy and Schwarz in the metric of A. *)
Lemma metric_cauchy v z : sym A -> dot v z ^+ 2 <= dot v (invmx A *m v) * qf A z.
Proof.
move=> sA; set w := invmx A *m v; set r := dot v w.
have Aw : A *m w = v by rewrite /w mulKVmx // (floor_unit s0 fA).
have qw : qf A w = r by rewrite /qf Aw dotC.
have pos y : 0 <= qf A y by apply: le_trans (fA y); rewrite mulr_ge0 ?dot_ge0 // ltW.
have r0 : 0 <= r by rewrite -qw.
have [e|rn] := eqVneq r 0.
  have w0 : w = 0.
    apply: dot_eq0; apply/eqP; rewrite eq_le dot_ge0 andbT -(pmulr_rle0 _ s0); apply: le_trans (fA w) _.
    by rewrite qw e.
  by rewrite e -Aw w0 mulmx0 dot0l expr0n mul0r.
have rp : 0 < r by rewrite lt_def rn.
have := pos (r *: z - dot v z *: w).
rewrite /qf mulmxDr mulmxN -!scalemxAr Aw !dotDl !dotDr !(dotNl, dotNr, dotZl, dotZr) -/(qf A z).
have -> : dot w (A *m z) = dot v z by rewrite dot_sym // Aw dotC.
rewrite (dotC w v) -/r (dotC z v).
rewrite (_ : _ + _ = r * (r * qf A z - dot v z ^+ 2)); last by ring.
by rewrite pmulr_rge0 // subr_ge0.
Qed.

(* The update is positive definite where its eigenvalue along v is positive. *)
Lemma pd_update q k v : sym A -> 0 < q -> 0 < q + k * dot v (invmx A *m v) -> pd (q *: A + k *: (v *m v^T)).
Proof.
move=> sA q0 e0; split=> [|z z0].
  by rewrite /sym linearD !linearZ /= trmx_mul trmxK sA.
have pz : 0 < qf A z by apply: lt_le_trans (fA z); rewrite mulr_gt0 ?dot_gt0.
rewrite qf_update; have [k0|k0] := lerP 0 k.
  by apply: ltr_spaddl; [rewrite mulr_gt0|rewrite mulr_ge0 ?sqr_ge0].
apply: (@lt_le_trans _ _ ((q + k * dot v (invmx A *m v)) * qf A z)); first by rewrite mulr_gt0.
by rewrite mulrDl ler_add2l -(mulrA k) ler_nmul2l //; apply: metric_cauchy.
Qed.

(* The mean term, with equality. *)
Lemma mean_term_exact q k g v : q *: A + k *: (v *m v^T) \in unitmx -> q + k * dot v (invmx A *m v) != 0 ->
  dot (g *: v) (invmx (q *: A + k *: (v *m v^T)) *m (g *: v)) = g ^+ 2 * dot v (invmx A *m v) / (q + k * dot v (invmx A *m v)).
Proof.
move=> Cu e0; set C := q *: A + _; set r := dot v _; set w := invmx A *m v.
have Cw : C *m ((q + k * r)^-1 *: w) = v.
  rewrite -scalemxAr /C mulmxDl -!scalemxAl -mulmxA [v^T *m w]mx11_scalar mul_mx_scalar -/(dot v w) -/r scalerA.
  by rewrite /w mulKVmx ?(floor_unit s0 fA) // -scalerDl scalerA mulVf // scale1r.
have -> : invmx C *m (g *: v) = g *: ((q + k * r)^-1 *: w).
  by rewrite -scalemxAr -[in LHS]Cw mulKmx.
by rewrite dotZl !dotZr -/r expr2; rewrite -!mulrA; congr (_ * (_ * _)); rewrite mulrC.
Qed.
End Update.

(* The determinant of the update, in d = j + 1 dimensions and without a division. *)
Lemma det_pair (F : realFieldType) (j : nat) (A : 'M[F]_j.+1) (s q k : F) (v : 'cV[F]_j.+1) :
  0 < s -> floor A s -> q != 0 ->
  \det (q *: A + k *: (v *m v^T)) = q ^+ j * (q + k * dot v (invmx A *m v)) * \det A.
Proof.
move=> s0 fA q0; rewrite (det_rank1_update s0 fA) // exprS.
move: (dot _ _) (\det A) (q ^+ j) => r D p; field; exact: q0.
Qed.

(* --------------------------------------------------------------- a record replaced *)

Section Replaced.
Variables (F : realFieldType) (d : nat) (A : 'M[F]_d) (s : F) (u v : 'cV[F]_d).
Hypotheses (s0 : 0 < s) (fA : floor A s) (sA : sym A).
Let a : F := dot v (invmx A *m v).
Let b : F := dot u (invmx A *m u).
Let g : F := dot u (invmx A *m v).

Lemma inverse_sym : dot v (invmx A *m u) = g.
Proof. by rewrite /g dot_sym // /sym trmx_inv sA. Qed.

(* The inverse has a quadratic form that is nowhere negative. *)
Lemma inverse_form l : 0 <= a + 2 * l * g + l ^+ 2 * b.
Proof.
have /andP[+ _] := inv_bound (v + l *: u) s0 fA.
rewrite mulmxDr -scalemxAr !dotDl !dotDr !dotZl !dotZr inverse_sym -/a -/b -/g => H.
by rewrite (_ : _ + _ = a + l * g + (l * g + l * (l * b))) //; ring.
Qed.

(* It is nowhere above 1 / s times the plain one. *)
Lemma inverse_below l : s * (a + 2 * l * g + l ^+ 2 * b) <= dot v v + 2 * l * dot u v + l ^+ 2 * dot u u.
Proof.
have /andP[_] := inv_bound (v + l *: u) s0 fA; rewrite ler_pdivl_mulr // mulrC.
rewrite mulmxDr -scalemxAr !dotDl !dotDr !dotZl !dotZr inverse_sym -/a -/b -/g (dotC v u) => H.
rewrite (_ : a + _ + _ = a + l * g + (l * g + l * (l * b))); last by ring.
by rewrite (_ : dot v v + _ + _ = dot v v + l * dot u v + (l * dot u v + l * (l * dot u u))) //; ring.
Qed.

Lemma plain_form l : 0 <= dot v v + 2 * l * dot u v + l ^+ 2 * dot u u.
Proof.
have := dot_ge0 (v + l *: u); rewrite !dotDl !dotDr !dotZl !dotZr (dotC v u) => H.
by rewrite (_ : _ + _ = dot v v + l * dot u v + (l * dot u v + l * (l * dot u u))) //; ring.
Qed.

(* The determinant where v comes and u goes. *)
Lemma det_replaced k : 0 <= k ->
  \det (A + k *: (v *m v^T) - k *: (u *m u^T)) = ((1 + k * a) * (1 - k * b) + k ^+ 2 * g ^+ 2) * \det A.
Proof.
move=> k0; set B := A + k *: _.
have fB : floor B s.
  by move=> z; have := floor_added fA v ler01 k0 z; rewrite scale1r mul1r.
have uB := floor_unit s0 fB; have uA := floor_unit s0 fA.
have a0 : 0 <= a by have /andP[] := inv_bound v s0 fA.
have p0 : 1 + k * a != 0 by rewrite gt_eqF // ltr_spaddl // mulr_ge0.
set w := invmx B *m u; pose t := dot v w.
have Bw : A *m w + (k * t) *: v = u.
  have : B *m w = u by rewrite /w mulKVmx.
  by rewrite /B mulmxDl -scalemxAl -mulmxA [v^T *m w]mx11_scalar mul_mx_scalar -/(dot v w) -/t scalerA.
have ew : w = invmx A *m u - (k * t) *: (invmx A *m v).
  by rewrite -[in RHS]Bw mulmxDr mulKmx // -scalemxAr addrK.
have et : t * (1 + k * a) = g.
  have : t = g - k * t * a by rewrite {1}/t ew dotDr dotNr dotZr inverse_sym.
  by move=> e; rewrite mulrDr mulr1 {1}e; ring.
have ed : dot u w = b - k * t * g by rewrite ew dotDr dotNr dotZr.
rewrite -scaleNr det_update // -mulmxA -/w -/(dot u w) ed.
rewrite det_update // -mulmxA -/(dot v _) -/a.
rewrite -mulrA [RHS]mulrC; congr (_ * _).
have -> : (1 + k * a) * (1 + - k * (b - k * t * g)) = (1 + k * a) * (1 - k * b) + k ^+ 2 * g * (t * (1 + k * a)) by ring.
by rewrite et; ring.
Qed.
End Replaced.
