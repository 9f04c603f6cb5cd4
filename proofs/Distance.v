(* "Beyond the document", Theorem D once the matrices are gone: the divergence of unbounded neighbours as a function of the distance. *)
From Coq Require Import Reals Lra Psatz.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Formulas Psi Scalars.
Local Open Scope R_scope.

Section Distance.
Variable a : R.
Hypothesis a1 : 1 < a.

(* Proposition 4.1 with determinants q^k (q + e) of either covariance and c^k (c + e) of the mixed one; f, g, c are the eigenvalues in the odd direction. *)
Lemma psi_pair p q : 0 < p -> 0 < q -> 0 < (1 - a) * p + a * q ->
  psi a (q / p - 1) = (a * ln q + (1 - a) * ln p - ln ((1 - a) * p + a * q)) / (a - 1).
Proof using a1.
  intros p0 q0 c0. unfold psi.
  replace (1 + (q / p - 1)) with (q / p) by ring.
  replace (1 + a * (q / p - 1)) with (((1 - a) * p + a * q) / p) by (field; lra).
  rewrite !ln_div by assumption. field. lra.
Qed.

Lemma exact_psi k p q f g dA L1 : 0 < p -> 0 < q -> 0 < f -> 0 < g -> 0 < dA -> 0 < (1 - a) * p + a * q -> 0 < (1 - a) * f + a * g ->
  a / 2 * L1 - / (2 * (a - 1)) * (ln (((1 - a) * p + a * q) ^ k * ((1 - a) * f + a * g) * dA) - (1 - a) * ln (p ^ k * f * dA) - a * ln (q ^ k * g * dA))
  = (a * L1 + INR k * psi a (q / p - 1) + psi a (g / f - 1)) / 2.
Proof using a1.
  intros p0 q0 f0 g0 d0 c0 e0. rewrite !psi_pair by assumption.
  set (c := (1 - a) * p + a * q) in *. set (e := (1 - a) * f + a * g) in *.
  assert (0 < c ^ k) by now apply pow_lt. assert (0 < p ^ k) by now apply pow_lt. assert (0 < q ^ k) by now apply pow_lt.
  rewrite !ln_mult, !ln_pow' by (try assumption; now apply Rmult_lt_0_compat). field. lra.
Qed.

Variable n : R.
Hypothesis n0 : 0 < n.

(* For the proof: what stands below the fraction in div_added. *)
Definition room_added r := (n + 1) * (n + 1 - a) + a * n * r.
(* For the proof: what stands below the fraction in div_removed. *)
Definition room_removed r := (n + 1) * (n + a) - n * (a - 1) * r.

Lemma room_added_pos r : 0 <= r -> a < n + 1 -> 0 < room_added r.
Proof using a1 n0. intros r0 an. unfold room_added.
  assert (0 <= a * n * r) by (repeat apply Rmult_le_pos; lra).
  assert (0 < (n + 1) * (n + 1 - a)) by (apply Rmult_lt_0_compat; lra). lra. Qed.

(* For the proof: the factor of the slope in r on which its sign depends, a record added. *)
Definition bracket_added r := a * n ^ 2 * r - a * (2 * n + 1) * (n + 1) + (n + 1) ^ 3.
(* For the proof: the factor of the slope in r on which its sign depends, a record removed. *)
Definition bracket_removed r := a * (2 * n + 1) * (n + 1) + n ^ 2 * (n + 1) - n ^ 2 * (a - 1) * r.

Lemma added_derive d r : 0 <= r -> a < n + 1 ->
  is_derive (div_added n a d) r (a * r * bracket_added r / (2 * room_added r ^ 2 * (n + 1 + r))).
Proof using a1 n0.
  intros r0 an. assert (P := room_added_pos r r0 an).
  assert (E : 1 + a * ((n * r - (n + 1)) / (n + 1) ^ 2) = room_added r / (n + 1) ^ 2) by (unfold room_added; field; lra).
  assert (Q : 0 < 1 + a * ((n * r - (n + 1)) / (n + 1) ^ 2)) by (rewrite E; apply Rdiv_lt_0_compat; [assumption|apply pow_lt; lra]).
  assert (W := dom_weaker a a1 _ Q).
  unfold div_added, psi, room_added, bracket_added in *. auto_derive.
  - repeat split; simpl in *; lra.
  - assert (E1 : 1 + (n * r - (n + 1)) / (n + 1) ^ 2 = n * (n + 1 + r) / (n + 1) ^ 2) by (field; lra).
    rewrite ?E, ?E1 in *. simpl in *. field. repeat split; nra.
Qed.

Lemma removed_derive d r : 0 <= r -> 0 < room_removed r ->
  is_derive (div_removed n a d) r (a * r * bracket_removed r / (2 * room_removed r ^ 2 * (n + 1 + r))).
Proof using a1 n0.
  intros r0 P. assert (M : 0 < n * (n + 1 + r)) by (apply Rmult_lt_0_compat; lra).
  assert (E : 1 + a * ((n + 1 - n * r) / (n * (n + 1 + r))) = room_removed r / (n * (n + 1 + r))) by (unfold room_removed; field; lra).
  assert (Q : 0 < 1 + a * ((n + 1 - n * r) / (n * (n + 1 + r)))) by (rewrite E; now apply Rdiv_lt_0_compat).
  assert (W := dom_weaker a a1 _ Q).
  unfold div_removed, psi, room_removed, bracket_removed in *. auto_derive.
  - repeat split; simpl in *; lra.
  - assert (E1 : 1 + (n + 1 - n * r) / (n * (n + 1 + r)) = (n + 1) ^ 2 / (n * (n + 1 + r))) by (field; lra).
    rewrite ?E, ?E1 in *. simpl in *. field. repeat split; nra.
Qed.

(* Theorem D, a record removed: the divergence grows with the distance, as far as it is finite. *)
Theorem removed_grows d r s : 0 <= r < s -> n * (a - 1) * s < (n + 1) * (n + a) -> div_removed n a d r < div_removed n a d s.
Proof using a1 n0.
  intros [r0 rs] fin.
  assert (PP : forall z, z <= s -> 0 < room_removed z).
  { intros z Hz. unfold room_removed. assert (n * (a - 1) * z <= n * (a - 1) * s) by (apply Rmult_le_compat_l; [apply Rmult_le_pos|]; lra). lra. }
  destruct (MVT_cor2 (div_removed n a d) (fun z => a * z * bracket_removed z / (2 * room_removed z ^ 2 * (n + 1 + z))) r s rs) as [z [E [z1 z2]]].
  { intros z Hz. apply is_derive_Reals, removed_derive; [lra|apply PP; lra]. }
  assert (Pz := PP z ltac:(lra)).
  assert (B : 0 < bracket_removed z).
  { unfold bracket_removed, room_removed in *.
    assert (0 < n * ((n + 1) * (n + a) - n * (a - 1) * z)) by now apply Rmult_lt_0_compat.
    assert (0 < a * (2 * n + 1) * (n + 1)) by (repeat apply Rmult_lt_0_compat; lra).
    assert (0 < n * a * (n + 1)) by (repeat apply Rmult_lt_0_compat; lra).
    assert (0 < a * (n + 1) * (n + 1)) by (repeat apply Rmult_lt_0_compat; lra). lra. }
  assert (0 < a * z * bracket_removed z / (2 * room_removed z ^ 2 * (n + 1 + z)) * (s - r)); [|lra].
  apply Rmult_lt_0_compat; [|lra]. apply Rdiv_lt_0_compat; [repeat apply Rmult_lt_0_compat; lra|].
  apply Rmult_lt_0_compat; [|lra]. apply Rmult_lt_0_compat; [lra|now apply pow_lt].
Qed.

Lemma added_mvt d r s : 0 <= r < s -> a < n + 1 ->
  exists z p, r < z < s /\ 0 < p /\ div_added n a d s - div_added n a d r = p * bracket_added z.
Proof using a1 n0.
  intros [r0 rs] an.
  destruct (MVT_cor2 (div_added n a d) (fun z => a * z * bracket_added z / (2 * room_added z ^ 2 * (n + 1 + z))) r s rs) as [z [E [z1 z2]]].
  { intros z Hz. apply is_derive_Reals, added_derive; lra. }
  assert (Pz := room_added_pos z ltac:(lra) an).
  assert (M : 0 < 2 * room_added z ^ 2 * (n + 1 + z)).
  { apply Rmult_lt_0_compat; [|lra]. apply Rmult_lt_0_compat; [lra|now apply pow_lt]. }
  exists z, (a * z / (2 * room_added z ^ 2 * (n + 1 + z)) * (s - r)). split; [lra|]. split.
  - apply Rmult_lt_0_compat; [|lra]. apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|assumption].
  - rewrite E. field. split; [lra|now apply Rgt_not_eq].
Qed.

Lemma bracket_up r s : r < s -> bracket_added r < bracket_added s.
Proof using a1 n0. intros H. unfold bracket_added. assert (0 < n ^ 2) by now apply pow_lt.
  assert (0 < a * n ^ 2 * (s - r)) by (apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat|]; lra). lra. Qed.

(* Where the divergence of an added record turns. *)
Definition turn := (n + 1) * (a * (2 * n + 1) - (n + 1) ^ 2) / (a * n ^ 2).

Lemma bracket_turn : bracket_added turn = 0.
Proof using a1 n0. unfold bracket_added, turn. field. lra. Qed.

(* Theorem D, a record added, alpha < n + 1: the divergence falls as far as the turn. *)
Theorem added_falls d r s : 0 <= r < s -> s <= turn -> a < n + 1 -> div_added n a d s < div_added n a d r.
Proof using a1 n0.
  intros H st an. destruct (added_mvt d r s H an) as [z [p [Hz [p0 E]]]].
  assert (B : bracket_added z < 0) by (rewrite <- bracket_turn; apply bracket_up; lra). nra.
Qed.

(* Theorem D, a record added, alpha < n + 1: the divergence grows from the turn on. *)
Theorem added_grows d r s : 0 <= r < s -> turn <= r -> a < n + 1 -> div_added n a d r < div_added n a d s.
Proof using a1 n0.
  intros H tr an. destruct (added_mvt d r s H an) as [z [p [Hz [p0 E]]]].
  assert (B : 0 < bracket_added z) by (rewrite <- bracket_turn; apply bracket_up; lra). nra.
Qed.

(* Theorem D, a record added: the turn lies at 0 or to the left of it, so that the divergence grows from 0 on, if and only if alpha is at most (n + 1)^2 / (2 n + 1). *)
Theorem turn_sign : turn <= 0 <-> a <= (n + 1) ^ 2 / (2 * n + 1).
Proof using a1 n0.
  assert (N : 0 < n ^ 2) by now apply pow_lt. assert (M : 0 < (n + 1) / (a * n ^ 2)).
  { apply Rdiv_lt_0_compat; [lra|apply Rmult_lt_0_compat; lra]. }
  assert (E : turn = (n + 1) / (a * n ^ 2) * ((2 * n + 1) * (a - (n + 1) ^ 2 / (2 * n + 1)))) by (unfold turn; field; lra).
  rewrite E. split; intros H.
  - apply Rnot_lt_le. intros G.
    assert (0 < (n + 1) / (a * n ^ 2) * ((2 * n + 1) * (a - (n + 1) ^ 2 / (2 * n + 1)))); [|lra].
    apply Rmult_lt_0_compat; [assumption|apply Rmult_lt_0_compat; lra].
  - assert (0 <= (n + 1) / (a * n ^ 2) * ((2 * n + 1) * ((n + 1) ^ 2 / (2 * n + 1) - a))); [|lra].
    apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra].
Qed.

Lemma added_ends d r s : 0 <= r <= s -> a < n + 1 -> div_added n a d r <= Rmax (div_added n a d 0) (div_added n a d s).
Proof using a1 n0.
  intros [r0 rs] an. destruct (Rle_or_lt r turn) as [T|T].
  - apply Rle_trans with (2 := Rmax_l _ _). destruct r0 as [r0| <-]; [left; apply added_falls; lra|lra].
  - apply Rle_trans with (2 := Rmax_r _ _). destruct rs as [rs| ->]; [left; apply added_grows; lra|lra].
Qed.

(* The largest over the distances up to the radius. *)
Lemma largest d sigma r : 0 <= r <= largest_radius d sigma -> a < n + 1 -> n * (a - 1) * largest_radius d sigma < (n + 1) * (n + a) ->
  div_added n a d r <= eps_unbounded_tight n a d sigma /\ div_removed n a d r <= eps_unbounded_tight n a d sigma.
Proof using a1 n0.
  intros H an fin. unfold eps_unbounded_tight. split.
  - apply Rle_trans with (2 := Rmax_l _ _). now apply added_ends.
  - apply Rle_trans with (2 := Rmax_r _ _). destruct H as [r0 [H| ->]]; [left; apply removed_grows; lra|lra].
Qed.
End Distance.
