(* The theorems of Gaussian synthesis can be applied: in each dimension and for each order there are data that satisfy their hypotheses.

   The data are the unit vectors of all axes and their opposites, m of each, in a space of j + 1 dimensions. Their covariance is
   1 / (j + 1) times the identity, and a record more at most halves it. *)
From Coq Require Import Reals Lra ZArith.
From Compendium Require Formulas Peak Falls.

(* What n records must be for the conditions on alpha: more than 4 alpha tau. *)
Section Numbers.
Local Open Scope R_scope.
Variables (n alpha t : R).
Hypotheses (alpha1 : 1 < alpha) (t4 : 4 <= t) (many : 4 * alpha * t < n).

Lemma at_n : 16 * alpha < n.
Proof using alpha1 t4 many. nra. Qed.

Lemma order_added : alpha < n + 1.
Proof using alpha1 t4 many. assert (H := at_n). lra. Qed.

Lemma order_removed : alpha < n ^ 2 / (t * (n + 1) - n).
Proof using alpha1 t4 many.
  assert (H := at_n). assert (P : 0 < t * (n + 1) - n) by nra.
  apply (Rmult_lt_reg_r (t * (n + 1) - n)); [exact P|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (A : 0 < alpha * t) by nra. assert (B : 4 * alpha * t * n < n * n) by (apply Rmult_lt_compat_r; lra). nra.
Qed.

Lemma order_replaced : alpha * ((n - 1) * t / n ^ 2) < 1.
Proof using alpha1 t4 many.
  assert (H := at_n). assert (P : 0 < n ^ 2) by (apply pow_lt; lra).
  apply (Rmult_lt_reg_r (n ^ 2)); [exact P|]. unfold Rdiv. rewrite !Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  assert (A : 0 < alpha * t) by nra. assert (B : 4 * alpha * t * n < n * n) by (apply Rmult_lt_compat_r; lra). nra.
Qed.

Lemma order_both : alpha * ((n - 1) * t / n ^ 2 / (1 + (n - 1) * t / n ^ 2)) < 1.
Proof using alpha1 t4 many.
  assert (H := at_n). assert (S := order_replaced). set (k := (n - 1) * t / n ^ 2) in *.
  assert (k0 : 0 <= k) by (apply Rmult_le_pos; [nra|apply Rlt_le, Rinv_0_lt_compat, pow_lt; lra]).
  apply (Rmult_lt_reg_r (1 + k)); [lra|]. unfold Rdiv. rewrite !Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra.
Qed.

Lemma room_removed r : r <= t -> n * (alpha - 1) * r < (n + 1) * (n + alpha).
Proof using alpha1 t4 many.
  intros rt. assert (H := at_n). assert (A : n * (alpha - 1) * r <= n * (alpha - 1) * t) by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|exact rt]).
  assert (B : 4 * alpha * t * n < n * n) by (apply Rmult_lt_compat_r; lra). assert (C : 0 < n * t) by nra. assert (E : 0 < n * alpha) by nra.
  assert (F : 0 < n * n) by nra. lra.
Qed.

Lemma order_centred k : 0 < k <= (n - 1) * t / n ^ 2 -> alpha * (k / (1 + k)) < 1.
Proof using alpha1 t4 many.
  intros [k0 kk]. assert (S := order_replaced). assert (alpha * k <= alpha * ((n - 1) * t / n ^ 2)) by (apply Rmult_le_compat_l; lra).
  apply (Rmult_lt_reg_r (1 + k)); [lra|]. unfold Rdiv. rewrite !Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra.
Qed.

Lemma room_H : (alpha - 1) * n * t < (n + 1) ^ 2.
Proof using alpha1 t4 many.
  assert (H := at_n). assert (B : 4 * alpha * t * n < n * n) by (apply Rmult_lt_compat_r; lra). assert (C : 0 < n * t) by nra.
  assert (F : 0 < n * n) by nra. lra.
Qed.
End Numbers.

(* kappa of Theorem G' is not larger than that of Theorem G. *)
Lemma kappa_centred_range (n d s : R) : (2 <= n -> 0 < d -> 0 < s -> 0 < Formulas.kappa_centred n d s <= (n - 1) * Formulas.tau d s / n ^ 2)%R.
Proof.
  intros n2 d0 s0. assert (C := Falls.common_range n s n2). assert (G := Falls.radius_grows 2 (1 + Formulas.common_mean n s) ltac:(lra) ltac:(lra)).
  replace ((2 - 2) ^ 2 / 2)%R with 0%R in G by field. rewrite Rminus_0_r, sqrt_1 in G.
  unfold Formulas.kappa_centred. replace (1 - Formulas.common_mean n s)%R with (2 - (1 + Formulas.common_mean n s))%R by ring.
  assert (M12 : (1 <= 1 + Formulas.common_mean n s <= 2)%R) by lra. assert (P := Peak.curvature _ M12). set (M := (1 + Formulas.common_mean n s)%R) in *.
  assert (g : (0 < M ^ 2 / sqrt (1 - (2 - M) ^ 2 / 2))%R) by (apply Rdiv_lt_0_compat; [apply pow_lt; lra|apply sqrt_lt_R0; lra]).
  assert (u : (0 < (n - 1) / n ^ 2 * (d / s))%R) by (apply Rmult_lt_0_compat; apply Rdiv_lt_0_compat; try lra; apply pow_lt; lra).
  set (x := ((n - 1) / n ^ 2 * (d / s))%R) in *. replace (x * M ^ 2 / sqrt (1 - (2 - M) ^ 2 / 2))%R with (x * (M ^ 2 / sqrt (1 - (2 - M) ^ 2 / 2)))%R by (unfold Rdiv; ring).
  split; [now apply Rmult_lt_0_compat|]. apply Rle_trans with (x * 4)%R; [apply Rmult_le_compat_l; lra|].
  apply Req_le. unfold x, Formulas.tau. field. split; lra.
Qed.

Lemma beyond (r : R) : (0 < r -> exists m, r < INR m)%R.
Proof.
  intros r0. destruct (archimed r) as [H _]. exists (Z.to_nat (up r)). rewrite INR_IZR_INZ, Z2Nat.id; [lra|]. apply le_IZR. lra.
Qed.

Lemma radius_tau (d s : R) : (0 < d -> 0 < s <= 1 -> Formulas.largest_radius d s <= Formulas.tau d s)%R.
Proof.
  intros d0 [s0 s1]. unfold Formulas.largest_radius, Formulas.tau. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, s0|].
  assert (P := sqrt_pos (1 - s)). assert (Q : (sqrt (1 - s) <= 1)%R) by (rewrite <- sqrt_1 at 2; apply sqrt_le_1_alt; lra).
  rewrite (Rmult_comm 4). apply Rmult_le_compat_l; [lra|]. set (q := sqrt (1 - s)) in *. nra.
Qed.

From mathcomp Require Import all_ssreflect all_algebra ring.
From mathcomp Require Import Rstruct.
From Compendium Require Import Forms Data Update Theorem31 PublicN TheoremD TheoremH Centred.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Delimit Scope R_scope with coqR.
Local Open Scope ring_scope.

Section Axes.
Variables (j m : nat).
Hypothesis m0 : (0 < m)%N.

(* The unit vector of axis i. *)
Definition axis (i : 'I_j.+1) : 'cV[R]_j.+1 := delta_mx i 0.
(* The unit vectors of all axes and their opposites. *)
Definition axes : seq 'cV[R]_j.+1 := [seq axis i | i <- enum 'I_j.+1] ++ [seq - axis i | i <- enum 'I_j.+1].
(* m copies of these. *)
Definition spread_out : seq 'cV[R]_j.+1 := flatten (nseq m axes).

Lemma axes_sum (V : zmodType) (f : 'cV[R]_j.+1 -> V) : \sum_(x <- axes) f x = \sum_i (f (axis i) + f (- axis i)).
Proof. by rewrite /axes big_cat /= !big_map -!enumT !big_enum /= big_split. Qed.

Lemma spread_out_sum (V : zmodType) (f : 'cV[R]_j.+1 -> V) : \sum_(x <- spread_out) f x = (\sum_(x <- axes) f x) *+ m.
Proof. by rewrite /spread_out; elim: (m) => [|k IH]; rewrite ?big_nil //= big_cat IH mulrS. Qed.

Lemma spread_out_size : size spread_out = (m * (2 * j.+1))%N.
Proof.
rewrite size_flatten /shape map_nseq sumn_nseq /axes size_cat !size_map -enumT size_enum_ord.
by rewrite mulnC addnn mul2n.
Qed.

Lemma spread_out_mean : mean spread_out = 0.
Proof. by rewrite /mean spread_out_sum axes_sum big1 ?mul0rn ?scaler0 // => i _; rewrite subrr. Qed.

Lemma spread_out_cov : cov spread_out = (j.+1%:R)^-1 *: 1%:M.
Proof.
rewrite /cov spread_out_mean mul0mx subr0 spread_out_sum axes_sum.
have -> : \sum_(i < j.+1) (axis i *m (axis i)^T + - axis i *m (- axis i)^T) = 2%:R *: 1%:M.
  rewrite mx1_sum_delta scaler_sumr; apply: eq_bigr => i _.
  by rewrite linearN mulNmx mulmxN opprK /= /axis trmx_delta mul_delta_mx scaler_nat mulr2n.
rewrite -scaler_nat !scalerA spread_out_size !natrM; congr (_ *: _).
have a : m%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have b : 2%:R != 0 :> R by rewrite pnatr_eq0.
have c : j.+1%:R != 0 :> R by rewrite pnatr_eq0.
by field; rewrite a andbT -[1]/(1%:R) -natrD add1n.
Qed.

Let d0 : 0 < (j.+1%:R)^-1 :> R. Proof. by rewrite invr_gt0 ltr0n. Qed.

Lemma spread_out_floor : floor (cov spread_out) (j.+1%:R)^-1.
Proof. by move=> z; rewrite spread_out_cov /qf -scalemxAl mul1mx dotZr. Qed.

Lemma axis_cube i : cube (axis i) /\ cube (- axis i).
Proof.
have low : -1 <= 0 :> R by rewrite oppr_le0 ler01.
have both : -1 <= 1 :> R := le_trans low ler01.
by split=> k; rewrite !mxE eqxx andbT; case: (k == i); rewrite ?oppr0 ?lexx ?low ?both ?ler01.
Qed.

Lemma spread_out_table : table spread_out.
Proof.
move=> x /flattenP[s /nseqP[-> _]]; rewrite mem_cat => /orP[] /mapP[i _ ->]; by have [] := axis_cube i.
Qed.

(* A record more at most halves the spread. *)
Lemma spread_out_more x : floor (cov (x :: spread_out)) (2 * j.+1%:R)^-1.
Proof.
have s0 : (0 < size spread_out)%N by rewrite spread_out_size !muln_gt0 m0.
have np : 0 < (size spread_out)%:R :> R by rewrite ltr0n.
have n1 : 1 <= (size spread_out)%:R :> R by rewrite (ler_nat _ 1).
have p1 : 0 < (size spread_out)%:R + 1 :> R by rewrite addr_gt0 // ltr01.
have q0 : 0 <= (size spread_out)%:R / ((size spread_out)%:R + 1) :> R by rewrite divr_ge0 // ltW.
have k0 : 0 <= (size spread_out)%:R / ((size spread_out)%:R + 1) ^+ 2 :> R by rewrite divr_ge0 ?exprn_ge0 // ltW.
move=> z; rewrite (cov_added _ s0); apply: le_trans (floor_added spread_out_floor (x - mean spread_out) q0 k0 z).
rewrite ler_wpmul2r ?dot_ge0 // invfM ler_wpmul2r ?(ltW d0) // ler_pdivl_mulr // ler_pdivr_mull ?ltr0n //.
by rewrite mulr_natl mulr2n ler_add2l.
Qed.
End Axes.

Section Exist.
Variables (j : nat) (alpha : R).

(* Private n, what Theorems 3.1, D and H and Lemma C ask for: D' is D and one more record, both are in D_sigma, and the order is not too large. *)
Definition private_hypotheses (D D' : seq 'cV[R]_j.+1) (sigma : R) : Prop :=
  let n := INR (size D) in let d := INR j.+1 in
  (0 < size D)%N /\ one_more D D' /\ (0 < sigma <= 1)%coqR /\ in_D_sigma sigma D /\ in_D_sigma sigma D' /\
  (alpha < n + 1)%coqR /\ (alpha < n ^ 2 / (Formulas.tau d sigma * (n + 1) - n))%coqR /\
  (n * (alpha - 1) * Formulas.largest_radius d sigma < (n + 1) * (n + alpha))%coqR /\
  ((alpha - 1) * n * Formulas.tau d sigma < (n + 1) ^ 2)%coqR.

(* Public n, what Theorems 3.2, A, B, G and G' ask for: D and D' differ in one record, both are in D_sigma, and the order is not too large. Their
   means differ, so that the divergence is not 0. *)
Definition public_hypotheses (D D' : seq 'cV[R]_j.+1) (sigma : R) : Prop :=
  let n := INR (size D) in let kappa := ((n - 1) * Formulas.tau (INR j.+1) sigma / n ^ 2)%coqR in
  (1 < size D)%N /\ one_replaced D D' /\ mean D <> mean D' /\ (0 < sigma)%coqR /\ in_D_sigma sigma D /\ in_D_sigma sigma D' /\
  (alpha * kappa < 1)%coqR /\ (alpha * (kappa / (1 + kappa)) < 1)%coqR /\
  (alpha * (Formulas.kappa_centred n (INR j.+1) sigma / (1 + Formulas.kappa_centred n (INR j.+1) sigma)) < 1)%coqR.

Hypothesis alpha1 : (1 < alpha)%coqR.
Let d : R := INR j.+1.
Let sigma : R := (/ (2 * d))%coqR.
Let t : R := Formulas.tau d sigma.

Let d1 : (1 <= d)%coqR. Proof. by rewrite /d S_INR; have := pos_INR j; lra. Qed.
Let sigma_range : (0 < sigma <= 1)%coqR.
Proof.
have H := d1; split; first by apply: Rinv_0_lt_compat; lra.
by rewrite -Rinv_1; apply: Rinv_le_contravar; lra.
Qed.
Let sigmaE : sigma = (2 * j.+1%:R)^-1.
Proof.
have nz : (2 * d)%coqR != 0 by apply/eqP; apply: posn0; have H := d1; lra.
rewrite /sigma RinvE // RmultE /d INRE; congr ((_ * _)^-1).
Qed.
Let tE : t = (8 * d ^ 2)%coqR.
Proof. by have H := d1; rewrite /t /Formulas.tau /sigma /Rdiv Rinv_inv; lra. Qed.
Let t4 : (4 <= t)%coqR. Proof. by have H := d1; rewrite tE; nra. Qed.
Let enough : exists m, (0 < m)%N /\ (4 * alpha * t < INR (size (spread_out j m)))%coqR.
Proof.
have pos : (0 < 4 * alpha * t)%coqR by have H := t4; nra.
have [m H] := beyond _ pos; exists m; have m0 : (0 < m)%N by case: m H => //= H; lra.
split=> //; apply: Rlt_le_trans H _; apply: le_INR; apply/ssrnat.leP; rewrite spread_out_size.
by rewrite -{1}[m]muln1 leq_mul2l muln_gt0 /= orbT.
Qed.

Lemma private_data : exists (D D' : seq 'cV[R]_j.+1) (sigma : R), private_hypotheses D D' sigma.
Proof.
have [m [m0 many]] := enough; set D := spread_out j m in many *; have H1 := d1; have H4 := t4.
have tD := @spread_out_table j m; have [cx _] := axis_cube (ord0 : 'I_j.+1).
have tx : table (axis ord0 :: D) by move=> x; rewrite inE => /orP[/eqP->|/tD].
exists D, (axis ord0 :: D), sigma; rewrite /private_hypotheses -/d -/t; split; first by rewrite spread_out_size !muln_gt0 m0.
split; first by exists (axis ord0).
split; first exact: sigma_range.
have fD : floor (cov D) sigma.
  move=> z; have low := spread_out_floor (j := j) m0 z; apply: le_trans low; rewrite ler_wpmul2r ?dot_ge0 // sigmaE invfM.
  by rewrite ler_pimull ?invr_ge0 ?ler0n // invf_le1 ?ltr0n // ler1n.
split; first exact: conj tD fD.
have fD' : floor (cov (axis ord0 :: D)) sigma by rewrite sigmaE; apply: spread_out_more.
split; first exact: conj tx fD'.
split; first exact: (order_added _ _ _ alpha1 H4 many).
split; first exact: (order_removed _ _ _ alpha1 H4 many).
split; last exact: (room_H _ _ _ alpha1 H4 many).
apply: (room_removed _ _ _ alpha1 H4 many); apply: radius_tau; [lra|exact: sigma_range].
Qed.

Lemma public_data : exists (D D' : seq 'cV[R]_j.+1) (sigma : R), public_hypotheses D D' sigma.
Proof.
have [m [m0 many]] := enough; set E := spread_out j m in many *; have H1 := d1; have H4 := t4.
have tE' := @spread_out_table j m; have [cx cy] := axis_cube (ord0 : 'I_j.+1).
have E0 : (0 < size E)%N by rewrite spread_out_size !muln_gt0 m0.
have more : (4 * alpha * t < INR (size (axis ord0 :: E)))%coqR by rewrite [size _]/= S_INR; lra.
exists (axis ord0 :: E), (- axis ord0 :: E), sigma; rewrite /public_hypotheses -/d -/t; split; first by [].
split; first by exists (axis ord0), (- axis ord0), E.
split.
  move=> e; have := mean_replaced (axis ord0) (- axis ord0) E0; rewrite e subrr => /esym/eqP; rewrite scaler_eq0 => /orP[].
    by rewrite invr_eq0 -(natrD _ _ 1) pnatr_eq0 addn1.
  by move=> /eqP/matrixP/(_ ord0 0); rewrite !mxE !eqxx opprK => /eqP; rewrite -(natrD _ 1 1) pnatr_eq0.
split; first by case: sigma_range.
split; first by split; [move=> x; rewrite inE => /orP[/eqP->|/tE']|rewrite sigmaE; exact: spread_out_more].
split; first by split; [move=> x; rewrite inE => /orP[/eqP->|/tE']|rewrite sigmaE; exact: spread_out_more].
split; first exact: (order_replaced _ _ _ alpha1 H4 more).
split; first exact: (order_both _ _ _ alpha1 H4 more).
have n2 := at_n _ _ _ alpha1 H4 more; have [s1 _] := sigma_range.
apply: (order_centred _ _ _ alpha1 H4 more); rewrite -/d /t; apply: kappa_centred_range => //; [lra|have := d1; lra].
Qed.

(* Private n, for each order alpha and each dimension: there are data sets D and D' that satisfy all hypotheses of Theorems 3.1, D and H and
   of Lemma C, and of which the theorems then say this. *)
Theorem private_theorems_apply : exists (D D' : seq 'cV[R]_j.+1) (sigma : R), private_hypotheses D D' sigma /\
  let n := INR (size D) in let d := INR j.+1 in
  (finite alpha D D' /\ divergence alpha D D' <= Formulas.eps_unbounded n alpha d sigma)%coqR /\
  (finite alpha D' D /\ divergence alpha D' D <= Formulas.eps_unbounded n alpha d sigma)%coqR /\
  (forall x, cube x -> distance D x <= Formulas.largest_radius d sigma)%coqR /\
  (divergence alpha D D' <= Formulas.eps_unbounded_tight n alpha d sigma)%coqR /\
  (divergence alpha D' D <= Formulas.eps_unbounded_tight n alpha d sigma)%coqR /\
  (released_finite alpha sigma D D' /\ released_divergence alpha sigma D D' <= Formulas.eps_H_added n alpha d (Formulas.tau d sigma))%coqR /\
  (released_finite alpha sigma D' D /\ released_divergence alpha sigma D' D <= Formulas.eps_H_removed n alpha d (Formulas.tau d sigma))%coqR.
Proof.
have [D [D' [s h]]] := private_data; exists D, D', s; split=> //.
have [some [near [s1 [iD [iD' [a1 [a2 [a3 a4]]]]]]]] := h; have [inside _] := iD'; have [s0 _] := s1.
have [h1 h2] := theorem_3_1 some near inside s1 alpha1 iD iD' a2; split=> //; split=> //.
split; first by move=> x cx; apply: lemma_C.
have [[_ h3] [_ h4]] := theorem_D some near inside s0 alpha1 iD a1 a3; split=> //; split=> //.
by split; [apply: theorem_H_added|apply: theorem_H_removed].
Qed.

(* Public n, for each order alpha and each dimension: there are data sets D and D' that satisfy all hypotheses of Theorems 3.2, A, B, G and G',
   and of which the theorems then say this. *)
Theorem public_theorems_apply : exists (D D' : seq 'cV[R]_j.+1) (sigma : R), public_hypotheses D D' sigma /\
  finite alpha D D' /\ let n := INR (size D) in let d := INR j.+1 in
  (divergence alpha D D' <= Formulas.eps_bounded n alpha d sigma)%coqR /\
  (divergence alpha D D' <= Formulas.eps_bounded_tight n alpha d sigma)%coqR /\
  (divergence alpha D D' <= Formulas.eps_bounded_joint n alpha d sigma)%coqR /\
  (divergence alpha D D' <= Formulas.eps_bounded_both n alpha d sigma)%coqR /\
  (divergence alpha D D' <= Formulas.eps_bounded_centred n alpha d sigma)%coqR.
Proof.
have [D [D' [s h]]] := public_data; exists D, D', s; split=> //.
have [two [near [_ [s0 [iD [iD' [a1 [a2 a3]]]]]]]] := h; have [tD fD] := iD; have [tD' fD'] := iD'.
have [f h1] := theorem_3_2 two near tD tD' s0 alpha1 fD a1; have [_ h2] := theorem_A two near tD tD' s0 alpha1 fD a1.
have [_ h3] := theorem_B two near tD tD' s0 alpha1 fD a1; have [_ h4] := theorem_G two near tD tD' s0 alpha1 fD fD' a2.
by have [_ h5] := theorem_G_centred two near s0 alpha1 iD iD' a3.
Qed.
End Exist.
