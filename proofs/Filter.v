(* Adaptive composition with a budget: each round reads all outputs so far, which also choose its law and its cost.

   In lib: tables/budget_schedule.py spends AIM's budget; accounting/conversions.py, zcdp_to_dp, says what it gives. A run that stops
   early is one whose last rounds have cost 0 and a constant output. AIM's Gaussian measurements are outside of this file: their
   outcomes are not finitely many. *)
From Coq Require Import Reals Lra List.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Finite Composition Approximate Moments.
Import ListNotations.
Local Open Scope R_scope.

(* The law of two outcomes one after the other: the second depends on the first. *)
Definition chain {A B} (P : A -> R) (P2 : A -> B -> R) (ab : A * B) : R := P (fst ab) * P2 (fst ab) (snd ab).

Lemma sum_map {A B} (h : A -> B) (l : list A) f : sum (map h l) f = sum l (fun a => f (h a)).
Proof. induction l as [|a l IH]; simpl; [reflexivity|]. now rewrite IH. Qed.
Lemma sum_flat_map {A B} (h : A -> list B) (l : list A) f : sum (flat_map h l) f = sum l (fun a => sum (h a) f).
Proof. induction l as [|a l IH]; simpl; [reflexivity|]. now rewrite sum_app, IH. Qed.
Lemma sum_pairs {A B} (l : list A) (m : list B) f : sum (list_prod l m) f = sum l (fun a => sum m (fun b => f (a, b))).
Proof. induction l as [|a l IH]; simpl; [reflexivity|]. now rewrite sum_app, sum_map, IH. Qed.

Lemma quotient_nonneg p q : 0 <= p -> 0 <= q -> 0 <= p / q.
Proof. intros Hp [Hq|<-]; [apply Rmult_le_pos; [assumption|apply Rlt_le, Rinv_0_lt_compat; assumption]|]. unfold Rdiv. rewrite Rinv_0, Rmult_0_r. lra. Qed.

Lemma term_mult p1 q1 p2 q2 alpha : 0 <= p1 -> 0 <= q1 -> 0 <= p2 -> 0 <= q2 ->
  q1 * q2 * power (p1 * p2 / (q1 * q2)) alpha = q1 * power (p1 / q1) alpha * (q2 * power (p2 / q2) alpha).
Proof.
  intros. replace (p1 * p2 / (q1 * q2)) with (p1 / q1 * (p2 / q2)) by (unfold Rdiv; rewrite Rinv_mult; ring).
  rewrite power_mult by now apply quotient_nonneg. ring.
Qed.

(* The step of all compositions: the second moment weighed by the terms of the first. *)
Lemma weighed {A} (l : list A) alpha cost rest (P Q f : A -> R) : (forall a, In a l -> 0 <= Q a) ->
  moment l alpha P Q <= exp ((alpha - 1) * cost) -> (forall a, In a l -> 0 < Q a -> f a <= exp ((alpha - 1) * rest)) ->
  sum l (fun a => Q a * power (P a / Q a) alpha * f a) <= exp ((alpha - 1) * (cost + rest)).
Proof.
  intros q0 M F. apply Rle_trans with (sum l (fun a => exp ((alpha - 1) * rest) * (Q a * power (P a / Q a) alpha))).
  - apply sum_le. intros a Ha. destruct (q0 a Ha) as [q|q]; [|rewrite <- q; lra]. rewrite Rmult_comm. apply Rmult_le_compat_r; [|now apply F].
    apply Rmult_le_pos; [lra|apply power_nonneg].
  - rewrite sum_scale, Rmult_plus_distr_l, exp_plus, (Rmult_comm (exp _) (exp _)). apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|exact M].
Qed.

(* Two rounds at one order. The second round's cost may depend on the first outcome; if the two costs never exceed the budget, the divergence does not. *)
Theorem two_rounds {A B} (l : list A) (m : list B) alpha cost cost2 budget (P Q : A -> R) (P2 Q2 : A -> B -> R) :
  1 < alpha -> law l P -> law l Q -> (forall a, law m (P2 a)) -> (forall a, law m (Q2 a)) ->
  renyi_within l alpha cost P Q -> (forall a, In a l -> 0 < Q a -> renyi_within m alpha (cost2 a) (P2 a) (Q2 a) /\ cost + cost2 a <= budget) ->
  renyi_within (list_prod l m) alpha budget (chain P P2) (chain Q Q2).
Proof.
  intros a1 [p0 _] [q0 _] p2 q2 [dom mom] H2. split.
  - intros [a b] Hab Z. unfold chain in *. simpl in *. apply in_prod_iff in Hab. destruct Hab as [Ha Hb].
    destruct (q0 a Ha) as [q|q]; [|rewrite (dom a Ha (eq_sym q)); ring].
    destruct (H2 a Ha q) as [[dom2 _] _]. apply Rmult_integral in Z. destruct Z as [Z|Z]; [lra|]. rewrite (dom2 b Hb Z). ring.
  - unfold moment, chain. rewrite sum_pairs. simpl.
    rewrite (sum_ext l _ (fun a => Q a * power (P a / Q a) alpha * moment m alpha (P2 a) (Q2 a))).
    2: { intros a Ha. unfold moment. rewrite <- sum_scale. apply sum_ext. intros b Hb. destruct (p2 a) as [p2' _], (q2 a) as [q2' _]. apply term_mult; auto. }
    replace budget with (cost + (budget - cost)) by ring. apply weighed; [exact q0|exact mom|].
    intros a Ha q. destruct (H2 a Ha q) as [[_ mom2] B2]. apply Rle_trans with (1 := mom2).
    assert (G : (alpha - 1) * cost2 a <= (alpha - 1) * (budget - cost)) by (apply Rmult_le_compat_l; lra).
    destruct G as [G|G]; [left; now apply exp_increasing|right; now rewrite G].
Qed.

(* ------------------------------------------------------------------ many rounds *)

Section Rounds.
Variables (X O : Type) (neighbours : X -> X -> Prop) (outcomes : list O).

(* A round: the law of its output given all outputs so far, and its cost, which is chosen by the same outputs. *)
Definition round : Type := step X O * (list O -> R).

(* The total cost of the rounds if the outputs are `os` after those of `past`. *)
Fixpoint spent (rounds : list round) (past os : list O) : R :=
  match rounds, os with r :: rest, o :: later => snd r past + spent rest (past ++ [o]) later | _, _ => 0 end.

(* The probability of the outputs of all rounds, after those of `past`. *)
Definition joint (rounds : list round) (past : list O) : X -> list O -> R := all_steps X O (map fst rounds) past.
(* All sequences of as many outputs as there are rounds. *)
Definition outputs (rounds : list round) : list (list O) := sequences O outcomes (length rounds).

(* Whatever came out before, each round is a law, and its divergence of order alpha between neighbours is at most its cost. *)
Definition each_within (alpha : R) (rounds : list round) : Prop :=
  List.Forall (fun r => forall past, (forall x, law outcomes (fst r x past)) /\
    forall x x', neighbours x x' -> renyi_within outcomes alpha (snd r past) (fst r x past) (fst r x' past)) rounds.

(* The costs add up to at most the budget, for all outputs that have a positive probability on some data. *)
Definition never_above (budget : R) (rounds : list round) : Prop :=
  forall x os, In os (outputs rounds) -> 0 < joint rounds [] x os -> spent rounds [] os <= budget.

Lemma outputs_sum r rest f : sum (outputs (r :: rest)) f = sum outcomes (fun o => sum (outputs rest) (fun os => f (o :: os))).
Proof. unfold outputs. simpl. rewrite sum_flat_map. apply sum_ext. intros o _. apply sum_map. Qed.

Lemma outputs_in r rest os : In os (outputs (r :: rest)) -> exists o later, os = o :: later /\ In o outcomes /\ In later (outputs rest).
Proof.
  intros H. unfold outputs in H. simpl in H. apply in_flat_map in H. destruct H as [o [Ho H]]. apply in_map_iff in H. destruct H as [later [<- Hl]].
  now exists o, later.
Qed.

Lemma outputs_cons r rest o later : In o outcomes -> In later (outputs rest) -> In (o :: later) (outputs (r :: rest)).
Proof. intros Ho Hl. unfold outputs. simpl. apply in_flat_map. exists o. split; [exact Ho|]. now apply in_map. Qed.

Lemma joint_nonneg alpha rounds : each_within alpha rounds -> forall past x os, In os (outputs rounds) -> 0 <= joint rounds past x os.
Proof.
  induction 1 as [|r rest Hr _ IH]; intros past x os Hos.
  - destruct Hos as [<-|[]]. unfold joint. simpl. lra.
  - apply outputs_in in Hos. destruct Hos as [o [later [-> [Ho Hl]]]]. change (0 <= fst r x past o * joint rest (past ++ [o]) x later).
    apply Rmult_le_pos; [|now apply IH]. destruct (Hr past) as [L _]. now apply (L x).
Qed.

Lemma rounds_within alpha rounds : 1 < alpha -> each_within alpha rounds -> forall x x', neighbours x x' -> forall past budget,
  (forall os, In os (outputs rounds) -> 0 < joint rounds past x' os -> spent rounds past os <= budget) ->
  renyi_within (outputs rounds) alpha budget (joint rounds past x) (joint rounds past x').
Proof.
  intros a1 H x x' near. induction H as [|r rest Hr Hrest IH]; intros past budget B.
  - assert (b0 : 0 <= budget) by (apply (B []); [now left|unfold joint; simpl; lra]). split.
    + intros os [<-|[]]. unfold joint. simpl. lra.
    + unfold moment, outputs, joint. simpl. replace (1 / 1) with 1 by field. rewrite power_1, !Rmult_1_l, Rplus_0_r. apply exp_ge_1. apply Rmult_le_pos; lra.
  - destruct (Hr past) as [L R]. destruct (R x x' near) as [dom mom]. destruct (L x) as [p0 _]. destruct (L x') as [q0 _].
    assert (G : forall o, In o outcomes -> 0 < fst r x' past o ->
      renyi_within (outputs rest) alpha (budget - snd r past) (joint rest (past ++ [o]) x) (joint rest (past ++ [o]) x')).
    { intros o Ho q. apply IH. intros os Hos pos. assert (C := B (o :: os) (outputs_cons r rest o os Ho Hos)).
      change (0 < fst r x' past o * joint rest (past ++ [o]) x' os -> snd r past + spent rest (past ++ [o]) os <= budget) in C.
      assert (0 < fst r x' past o * joint rest (past ++ [o]) x' os) by now apply Rmult_lt_0_compat. specialize (C H). lra. }
    split.
    + intros os Hos Z. apply outputs_in in Hos. destruct Hos as [o [later [-> [Ho Hl]]]].
      change (fst r x' past o * joint rest (past ++ [o]) x' later = 0) in Z. change (fst r x past o * joint rest (past ++ [o]) x later = 0).
      destruct (q0 o Ho) as [q|q]; [|rewrite (dom o Ho (eq_sym q)); ring].
      apply Rmult_integral in Z. destruct Z as [Z|Z]; [lra|]. destruct (G o Ho q) as [dom2 _]. rewrite (dom2 later Hl Z). ring.
    + unfold moment. rewrite outputs_sum.
      rewrite (sum_ext outcomes _ (fun o => fst r x' past o * power (fst r x past o / fst r x' past o) alpha
        * moment (outputs rest) alpha (joint rest (past ++ [o]) x) (joint rest (past ++ [o]) x'))).
      2: { intros o Ho. unfold moment. rewrite <- sum_scale. apply sum_ext. intros os Hos. change (joint (r :: rest) past x (o :: os)) with (fst r x past o * joint rest (past ++ [o]) x os).
           change (joint (r :: rest) past x' (o :: os)) with (fst r x' past o * joint rest (past ++ [o]) x' os).
           apply term_mult; auto; now apply (joint_nonneg alpha rest Hrest). }
      replace budget with (snd r past + (budget - snd r past)) by ring. apply weighed; [exact q0|exact mom|].
      intros o Ho q. now destruct (G o Ho q).
Qed.

(* The outputs of all rounds together have a law. *)
Theorem joint_law alpha rounds : each_within alpha rounds -> forall past x, law (outputs rounds) (joint rounds past x).
Proof.
  intros H past x. split; [now apply (joint_nonneg alpha)|]. revert past. induction H as [|r rest Hr _ IH]; intros past.
  - unfold joint, outputs. simpl. lra.
  - rewrite outputs_sum. destruct (Hr past) as [L _]. destruct (L x) as [_ S]. rewrite <- S. apply sum_ext. intros o _.
    transitivity (sum (outputs rest) (fun os => fst r x past o * joint rest (past ++ [o]) x os)); [reflexivity|]. rewrite sum_scale, IH. ring.
Qed.

(* A Renyi filter: if the costs are chosen adaptively but never add up to more than the budget, the divergence of all outputs is at most the budget. *)
Theorem renyi_filter alpha budget rounds : 1 < alpha -> each_within alpha rounds -> never_above budget rounds ->
  forall x x', neighbours x x' -> renyi_within (outputs rounds) alpha budget (joint rounds [] x) (joint rounds [] x').
Proof. intros a1 H B x x' near. apply rounds_within; auto. intros os. apply (B x'). Qed.
End Rounds.

(* ------------------------------------------------------------------ zero-concentrated privacy *)

(* rho-zero-concentrated privacy of a pair: at each order alpha > 1 the divergence is at most rho alpha. Some outcomes may be impossible. *)
Definition concentrated {A} (outcomes : list A) (rho : R) (P Q : A -> R) : Prop :=
  forall alpha, 1 < alpha -> renyi_within outcomes alpha (rho * alpha) P Q.

(* A pair that is rho-concentrated is (eps, delta)-close with the delta of each order alpha. *)
Theorem zcdp_delta {A} (l : list A) rho eps alpha P Q : law l P -> law l Q -> 1 < alpha -> concentrated l rho P Q ->
  close l eps (delta_at alpha (rho * alpha) eps) P Q.
Proof. intros lP lQ a1 H. apply renyi_delta; auto. Qed.

(* Bun and Steinke 2016, Proposition 1.3: a pair that is rho-concentrated is (rho + 2 sqrt(rho ln(1/delta)), delta)-close. *)
Theorem zcdp_eps {A} (l : list A) rho delta P Q : law l P -> law l Q -> 0 <= rho -> 0 < delta < 1 -> concentrated l rho P Q ->
  close l (rho + 2 * sqrt (rho * ln (/ delta))) delta P Q.
Proof.
  intros lP lQ [r0|<-] [d0 d1] H.
  - set (L := ln (/ delta)). assert (L0 : 0 < L).
    { unfold L. rewrite <- ln_1. apply ln_increasing; [lra|]. rewrite <- Rinv_1. apply Rinv_lt_contravar; lra. }
    set (s := sqrt (rho * L)). assert (s0 : 0 < s) by (apply sqrt_lt_R0, Rmult_lt_0_compat; assumption).
    assert (ss : s * s = rho * L) by (apply sqrt_sqrt; apply Rlt_le, Rmult_lt_0_compat; assumption).
    assert (a1 : 1 < 1 + s / rho) by (assert (0 < s / rho) by (now apply Rdiv_lt_0_compat); lra).
    assert (G := renyi_eps_mironov A l P Q (1 + s / rho) (rho * (1 + s / rho)) lP lQ a1 (H _ a1) delta d0). fold L in G.
    replace (rho + 2 * s) with (rho * (1 + s / rho) + L / (1 + s / rho - 1)); [exact G|].
    replace L with (s * s / rho) by (rewrite ss; field; lra). field. repeat split; lra.
  - rewrite Rmult_0_l, sqrt_0, Rmult_0_r, Rplus_0_r. assert (a1 : 1 < 1 + / delta) by (assert (0 < / delta) by (now apply Rinv_0_lt_compat); lra).
    eapply close_weaker; [apply lQ|apply Rle_refl| |apply (zcdp_delta l 0 0 (1 + / delta) P Q lP lQ a1 H)].
    unfold delta_at. replace ((1 + / delta - 1) * (0 * (1 + / delta) - 0)) with 0 by ring. rewrite exp_0, Rmult_1_r.
    replace (1 + / delta - 1) with (/ delta) by ring. unfold Rdiv. rewrite Rinv_inv. apply Rle_trans with (1 * delta); [apply Rmult_le_compat_r; [lra|]|lra].
    assert (i : 0 < / (1 + / delta) < 1).
    { split; [apply Rinv_0_lt_compat; lra|]. apply Rlt_le_trans with (/ 1); [apply Rinv_lt_contravar; lra|rewrite Rinv_1; lra]. }
    unfold Rpower. apply Rle_trans with (exp 0); [|rewrite exp_0; lra]. assert (N : (1 + / delta) * ln (1 - / (1 + / delta)) <= 0).
    { assert (ln (1 - / (1 + / delta)) <= 0) by (rewrite <- ln_1; apply ln_le; lra). nra. }
    destruct N as [N|N]; [left; now apply exp_increasing|right; now rewrite N].
Qed.

(* ------------------------------------------------------------------ AIM's budget *)

Section Budget.
Variables (X O : Type) (neighbours : X -> X -> Prop) (outcomes : list O) (rounds : list (round X O)) (rho : R).

(* Whatever came out before, each round is a law, and concentrated with the rho that the outputs before it have chosen. *)
Definition each_concentrated : Prop := List.Forall (fun r => forall past, (forall x, law outcomes (fst r x past)) /\
  forall x x', neighbours x x' -> concentrated outcomes (snd r past) (fst r x past) (fst r x' past)) rounds.

Hypotheses (each : each_concentrated) (within : never_above X O outcomes rho rounds).

Let scaled (alpha : R) : list (round X O) := map (fun r => (fst r, fun past => snd r past * alpha)) rounds.

Lemma scaled_facts alpha : map fst (scaled alpha) = map fst rounds /\ length (scaled alpha) = length rounds /\
  forall past os, spent X O (scaled alpha) past os = spent X O rounds past os * alpha.
Proof.
  unfold scaled. clear. repeat split.
  - rewrite map_map. reflexivity.
  - apply map_length.
  - induction rounds as [|r rest IH]; intros past os; simpl; [ring|]. destruct os as [|o later]; simpl; [ring|]. rewrite IH. ring.
Qed.

Lemma each_scaled alpha : 1 < alpha -> each_within X O neighbours outcomes alpha (scaled alpha).
Proof.
  intros a1. unfold each_within, scaled. apply Forall_map. apply Forall_impl with (2 := each). intros r H past. destruct (H past) as [L C].
  split; [exact L|]. intros x x' near. now apply C.
Qed.

(* Rounds whose costs are chosen adaptively but never add up to more than rho are together rho-concentrated. *)
Theorem zcdp_filter x x' : neighbours x x' -> concentrated (outputs X O outcomes rounds) rho (joint X O rounds [] x) (joint X O rounds [] x').
Proof.
  intros near alpha a1. destruct (scaled_facts alpha) as [F [N S]].
  assert (G := renyi_filter X O neighbours outcomes alpha (rho * alpha) (scaled alpha) a1 (each_scaled alpha a1)).
  unfold never_above, outputs, joint in *. rewrite F, N in G. apply G; [|exact near].
  intros y os Hos pos. rewrite S. apply Rmult_le_compat_r; [lra|]. now apply (within y).
Qed.

Lemma rounds_law x : law (outputs X O outcomes rounds) (joint X O rounds [] x).
Proof.
  destruct (scaled_facts 2) as [F [N _]]. assert (G := joint_law X O neighbours outcomes 2 (scaled 2) (each_scaled 2 ltac:(lra)) [] x).
  unfold outputs, joint in *. now rewrite F, N in G.
Qed.

(* AIM's budget: rounds whose costs are chosen adaptively but never add up to more than rho are together (eps, delta)-private. *)
Theorem aim_budget delta : 0 <= rho -> 0 < delta < 1 ->
  approximately_private neighbours (outputs X O outcomes rounds) (joint X O rounds []) (rho + 2 * sqrt (rho * ln (/ delta))) delta.
Proof. intros r0 d x x' near. apply zcdp_eps; auto using rounds_law. now apply zcdp_filter. Qed.

(* AIM's budget with the sharper eps, for each order alpha. *)
Theorem aim_budget_sharp delta alpha : 0 < delta -> 1 < alpha ->
  approximately_private neighbours (outputs X O outcomes rounds) (joint X O rounds [])
    (rho * alpha + ln ((alpha - 1) / alpha) - (ln delta + ln alpha) / (alpha - 1)) delta.
Proof. intros d0 a1 x x' near. apply renyi_eps; auto using rounds_law. now apply zcdp_filter. Qed.
End Budget.
