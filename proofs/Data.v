(* miura2022: data sets, their mean and covariance, and what one record does to them (Lemma 4.2), for all n and d.

   A data set is a list of records, columns of d numbers. Over any ordered field: no axiom at all. *)
From mathcomp Require Import all_ssreflect all_algebra ring.
From Compendium Require Import Forms.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Data.
Variables (F : realFieldType) (d : nat).
Implicit Types (D : seq 'cV[F]_d) (x : 'cV[F]_d).

(* The mean. *)
Definition mean D : 'cV[F]_d := (size D)%:R^-1 *: \sum_(x <- D) x.
(* The covariance, with the divisor n. *)
Definition cov D : 'M[F]_d :=
  (size D)%:R^-1 *: (\sum_(x <- D) x *m x^T) - mean D *m (mean D)^T.
(* Records lie in the cube [-1, 1]^d. *)
Definition cube x := forall i, -1 <= x i 0 <= 1.
(* A data set of such records. *)
Definition table D := forall x, x \in D -> cube x.
(* v v'. *)
Definition outer (v : 'cV[F]_d) := v *m v^T.

Lemma cov_sym D : sym (cov D).
Proof.
have tr (a b : 'cV[F]_d) : (a *m b^T)^T = b *m a^T by rewrite trmx_mul trmxK.
rewrite /sym /cov [LHS]linearB /= tr [X in X - _]linearZ /= linear_sum /=.
by congr (_ *: _ - _); apply: eq_bigr => x _; rewrite tr.
Qed.

Section One.
Variables (D : seq 'cV[F]_d) (x : 'cV[F]_d).
Hypothesis D0 : (0 < size D)%N.
Let n : F := (size D)%:R.
Let n0 : n != 0. Proof. by rewrite pnatr_eq0 -lt0n. Qed.
Let n1 : n + 1 != 0. Proof. by rewrite -[1]/(1%:R) -natrD addn1 pnatr_eq0. Qed.
Let sizeE : (size (x :: D))%:R = n + 1 :> F. Proof. by rewrite /= -addn1 natrD. Qed.

(* Lemma 4.2: what one record more does to the mean of n records. *)
Theorem mean_added : mean (x :: D) - mean D = (n + 1)^-1 *: (x - mean D).
Proof.
rewrite /mean sizeE big_cons -/n; move: (\sum_(_ <- D) _) => S.
by apply/matrixP => i j; rewrite !mxE; set s := S i j; field; apply/andP.
Qed.

(* Lemma 4.2: what the removal of one of n + 1 records does to the mean. *)
Theorem mean_removed : mean D - mean (x :: D) = - n^-1 *: (x - mean (x :: D)).
Proof.
rewrite /mean sizeE big_cons -/n; move: (\sum_(_ <- D) _) => S.
by apply/matrixP => i j; rewrite !mxE; set s := S i j; field; apply/andP.
Qed.

(* Lemma 4.2: what one record more does to the covariance of n records. *)
Theorem cov_added : cov (x :: D) = (n / (n + 1)) *: cov D + (n / (n + 1) ^+ 2) *: outer (x - mean D).
Proof.
rewrite /cov /outer /mean sizeE !big_cons -/n.
move: (\sum_(_ <- D) _) (\sum_(_ <- D) _) => S Q.
by apply/matrixP => i j; rewrite !mxE !big_ord1 !mxE; move: n0 n1; move: n (S i 0) (S j 0) (x i 0) (x j 0) (Q i j) => m s t a b q m0 m1; field; rewrite m0 m1.
Qed.

(* Lemma 4.2: what the removal of one of n + 1 records does to the covariance. *)
Theorem cov_removed : cov D = ((n + 1) / n) *: cov (x :: D) - ((n + 1) / n ^+ 2) *: outer (x - mean (x :: D)).
Proof.
rewrite /cov /outer /mean sizeE !big_cons -/n.
move: (\sum_(_ <- D) _) (\sum_(_ <- D) _) => S Q.
by apply/matrixP => i j; rewrite !mxE !big_ord1 !mxE; move: n0 n1; move: n (S i 0) (S j 0) (x i 0) (x j 0) (Q i j) => m s t a b q m0 m1; field; rewrite m0 m1.
Qed.

End One.
(* --------------------------------------------------------------- how far a record can be *)

Lemma mean_cube (D : seq 'cV[F]_d) : (0 < size D)%N -> table D -> cube (mean D).
Proof.
move=> D0 tD i; rewrite mxE summxE mulrC.
have np : 0 < (size D)%:R :> F by rewrite ltr0n.
have b (c : F) : \sum_(y <- D) c = c * (size D)%:R.
  by rewrite big_const_seq count_predT iter_addr addr0 mulr_natr.
rewrite ler_pdivl_mulr // ler_pdivr_mulr // -!b; apply/andP; split;
  rewrite big_seq [X in _ <= X]big_seq; apply: ler_sum => y /tD/(_ i)/andP[] //.
Qed.

Lemma sq_le4 (x y : F) : -1 <= x <= 1 -> -1 <= y <= 1 -> (x - y) * (x - y) <= 4.
Proof.
move=> /andP[a1 a2] /andP[b1 b2].
have h1 : 0 <= 2 - (x - y) by rewrite (_ : 2 - (x - y) = (1 - x) + (y + 1)); [rewrite addr_ge0 ?subr_ge0 // -ler_subl_addr sub0r|ring].
have h2 : 0 <= 2 + (x - y) by rewrite (_ : 2 + (x - y) = (x + 1) + (1 - y)); [rewrite addr_ge0 ?subr_ge0 // -ler_subl_addr sub0r|ring].
by rewrite -subr_ge0 (_ : 4 - (x - y) * (x - y) = (2 - (x - y)) * (2 + (x - y))); [rewrite mulr_ge0|ring].
Qed.

Lemma cube_distance x y : cube x -> cube y -> dot (x - y) (x - y) <= d%:R * 4.
Proof.
move=> cx cy; rewrite dotE; apply: le_trans (_ : \sum_(i < d) 4 <= _); last by rewrite sumr_const card_ord mulr_natl.
by apply: ler_sum => i _; rewrite !mxE; apply: sq_le4; [apply: cx|apply: cy].
Qed.

(* Lemma 4.4: no record of the cube is farther than 2 sqrt(d) from the mean of a data set in it. *)
Theorem radius D x : (0 < size D)%N -> table D -> cube x -> dot (x - mean D) (x - mean D) <= d%:R * 4.
Proof. by move=> D0 tD cx; apply: cube_distance => //; apply: mean_cube. Qed.

(* Lemma 4.6: what it does to the covariance of n + 1 records, those of D and x, that x is replaced by y. *)
Theorem cov_replaced D x y : (0 < size D)%N ->
  cov (y :: D) = cov (x :: D) + ((size D)%:R / ((size D)%:R + 1) ^+ 2) *: (outer (y - mean D) - outer (x - mean D)).
Proof. by move=> D0; rewrite !cov_added // -[RHS]addrA; congr (_ + _); rewrite scalerBr [RHS]addrC subrK. Qed.

(* Lemma 4.6: what it does to the mean of n + 1 records, those of D and x, that x is replaced by y. *)
Theorem mean_replaced D x y : (0 < size D)%N -> mean (x :: D) - mean (y :: D) = ((size D)%:R + 1)^-1 *: (x - y).
Proof.
move=> D0; rewrite -[mean (x :: D)](subrK (mean D)) -[mean (y :: D)](subrK (mean D)) !mean_added //.
by rewrite opprD addrACA subrr addr0 -scalerBr opprB addrA subrK.
Qed.

(* The squared Frobenius norm of v v' - u u', entry by entry. *)
Lemma frobenius (u v : 'cV[F]_d) :
  \sum_i \sum_j (v i 0 * v j 0 - u i 0 * u j 0) ^+ 2 = dot v v ^+ 2 + dot u u ^+ 2 - 2 * dot u v ^+ 2.
Proof.
rewrite !dotE !expr2 !big_distrlr /= mulr_sumr -big_split -sumrB /=; apply: eq_bigr => i _.
rewrite mulr_sumr -big_split -sumrB /=; apply: eq_bigr => k _.
by rewrite expr2; ring.
Qed.

(* --------------------------------------------------------------- neighbours *)

(* D' is D and one record more, wherever it stands: the document's unbounded neighbours. *)
Definition one_more D D' := exists x, perm_eq D' (x :: D).

(* D and D' have the same number of records, and differ in one: the document's bounded neighbours. *)
Definition one_replaced D D' := exists x y E, perm_eq D (x :: E) /\ perm_eq D' (y :: E).

Lemma mean_perm D D' : perm_eq D D' -> mean D = mean D'.
Proof. by move=> p; rewrite /mean (perm_size p) (perm_big _ p). Qed.

Lemma cov_perm D D' : perm_eq D D' -> cov D = cov D'.
Proof. by move=> p; rewrite /cov (mean_perm p) (perm_size p) (perm_big _ p). Qed.
End Data.
