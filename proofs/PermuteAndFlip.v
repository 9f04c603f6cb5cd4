(* Permute-and-flip (McKenna and Sheldon 2020, Algorithm 1) is eps-differentially private.

   Candidates come in random order; the first whose coin succeeds is chosen. In lib: mechanisms/selection.py, PermuteAndFlip, whose
   `probabilities` integrate as `law_is_integral` below says. Candidates are the whole numbers 0, ..., k. *)
From Coq Require Import Reals Lra Lia List Arith.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Finite.
Import ListNotations.
Local Open Scope R_scope.

(* The candidates that are left without i. *)
Definition without (i : nat) (rest : list nat) : list nat := remove Nat.eq_dec i rest.

(* The algorithm: of those that are left one is drawn, all alike; it is chosen with probability p i, else it goes on without it.
   The probability that r is chosen; `turns` is the number of candidates left. *)
Fixpoint choice (turns : nat) (p : nat -> R) (rest : list nat) (r : nat) : R :=
  match turns with
  | O => 0
  | S later => sum rest (fun i => / INR (length rest) * (p i * (if Nat.eqb i r then 1 else 0) + (1 - p i) * choice later p (without i rest) r))
  end.

(* The candidates 0 to k. *)
Definition candidates (k : nat) : list nat := seq 0 (S k).
(* The highest of the scores q 0, ..., q k. *)
Fixpoint best (k : nat) (q : nat -> R) : R := match k with O => q O | S j => Rmax (best j q) (q (S j)) end.
(* The coin of candidate i: e^(-eps (best - q i) / (2 Delta)). That of the best candidate always succeeds. *)
Definition coin (k : nat) (eps sensitivity : R) (q : nat -> R) (i : nat) : R := exp (- eps * (best k q - q i) / (2 * sensitivity)).
(* Permute-and-flip: the probability of each candidate, for the scores q. *)
Definition permute_and_flip (k : nat) (eps sensitivity : R) (q : nat -> R) : nat -> R :=
  choice (S k) (coin k eps sensitivity q) (candidates k).

(* Neighbours change no score by more than the sensitivity. *)
Definition scores_within (k : nat) (sensitivity : R) (q q' : nat -> R) : Prop :=
  forall i, (i <= k)%nat -> Rabs (q i - q' i) <= sensitivity.

Lemma without_head i rest : ~ In i rest -> without i (i :: rest) = rest.
Proof. intros H. unfold without. simpl. destruct (Nat.eq_dec i i); [|tauto]. now apply notin_remove. Qed.

Lemma without_tail i j rest : i <> j -> without i (j :: rest) = j :: without i rest.
Proof. intros H. unfold without. simpl. destruct (Nat.eq_dec i j); [tauto|reflexivity]. Qed.

Lemma without_twice i j rest : without i (without j rest) = without j (without i rest).
Proof.
  unfold without. induction rest as [|c rest IH]; [reflexivity|]. simpl.
  destruct (Nat.eq_dec j c), (Nat.eq_dec i c); simpl; rewrite ?IH; auto;
    destruct (Nat.eq_dec i c), (Nat.eq_dec j c); simpl; rewrite ?IH; auto; tauto.
Qed.

Lemma without_nodup i rest : NoDup rest -> NoDup (without i rest).
Proof.
  induction 1 as [|c rest N ND IH]; simpl; [constructor|]. destruct (Nat.eq_dec i c); [assumption|].
  constructor; [|assumption]. intros H. apply N. now apply (in_remove Nat.eq_dec _ _ i).
Qed.

Lemma without_length i rest : NoDup rest -> In i rest -> S (length (without i rest)) = length rest.
Proof.
  induction 1 as [|c rest N ND IH]; [intros []|]. intros [->|H].
  - now rewrite without_head.
  - destruct (Nat.eq_dec i c) as [->|E]; [tauto|]. rewrite without_tail by assumption. simpl. now rewrite IH.
Qed.

Arguments without : simpl never.

(* --------------------------------------------------------------- the law as an integral *)

(* The product of 1 - t p_j over the candidates j of a list. *)
Definition misses (p : nat -> R) (js : list nat) (t : R) : R := fold_right (fun j m => (1 - t * p j) * m) 1 js.

Section Law.
Variable p : nat -> R.
Let I (js : list nat) : R := RInt (misses p js) 0 1.

Lemma misses_continuous js t : continuous (misses p js) t.
Proof.
  induction js as [|j js IH]; simpl; [apply continuous_const|].
  apply (continuous_mult (K := R_AbsRing) (fun t => 1 - t * p j)); [|assumption].
  apply (ex_derive_continuous (fun t => 1 - t * p j)). auto_derive. exact Logic.I.
Qed.

Lemma misses_integrable js a b : ex_RInt (misses p js) a b.
Proof. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros; apply misses_continuous. Qed.

(* The derivative of (t - 1) times the product, one factor after the other. *)
Lemma misses_derive js t : NoDup js ->
  is_derive (fun t => (t - 1) * misses p js t) t
    ((INR (length js) + 1) * misses p js t - sum js (fun j => (1 - p j) * misses p (without j js) t)).
Proof.
  intros ND. assert (D : is_derive (misses p js) t (- sum js (fun j => p j * misses p (without j js) t))).
  { induction ND as [|c js N ND IH]; [simpl; rewrite Ropp_0; apply (is_derive_const (V := R_NormedModule))|].
    simpl misses. evar_last.
    - apply (is_derive_mult (fun t => 1 - t * p c) (misses p js)); [|exact IH|intros; apply Rmult_comm]. auto_derive; [exact Logic.I|reflexivity].
    - simpl sum. rewrite without_head by assumption.
      rewrite (sum_ext js (fun j => p j * misses p (without j (c :: js)) t) (fun j => (1 - t * p c) * (p j * misses p (without j js) t))).
      + rewrite sum_scale. unfold plus, mult; simpl. ring.
      + intros j Hj. rewrite without_tail by (intros ->; tauto). simpl. ring. }
  evar_last; [apply (is_derive_mult (fun t => t - 1) (misses p js)); [|exact D|intros; apply Rmult_comm]; auto_derive; [exact Logic.I|reflexivity]|].
  unfold plus, mult; simpl. clear D.
  assert (E : sum js (fun j => t * p j * misses p (without j js) t) = sum js (fun j => misses p (without j js) t) - INR (length js) * misses p js t).
  { induction ND as [|c js N ND IH]; [simpl; ring|]. cbn [sum length]. rewrite S_INR, without_head by assumption.
    rewrite (sum_ext js (fun j => t * p j * misses p (without j (c :: js)) t) (fun j => (1 - t * p c) * (t * p j * misses p (without j js) t))),
            (sum_ext js (fun j => misses p (without j (c :: js)) t) (fun j => (1 - t * p c) * misses p (without j js) t)).
    - rewrite !sum_scale, IH. simpl. ring.
    - intros j Hj. rewrite without_tail by (intros ->; tauto). reflexivity.
    - intros j Hj. rewrite without_tail by (intros ->; tauto). simpl. ring. }
  rewrite (sum_ext js (fun j => (1 - p j) * misses p (without j js) t) (fun j => misses p (without j js) t + -1 * (p j * misses p (without j js) t))) by (intros; ring).
  rewrite sum_plus, sum_scale.
  rewrite (sum_ext js (fun j => t * p j * misses p (without j js) t) (fun j => t * (p j * misses p (without j js) t))) in E by (intros; ring).
  rewrite sum_scale in E. lra.
Qed.

Lemma sum_continuous (js : list nat) (c : nat -> R) (S : nat -> list nat) t :
  continuous (fun t => sum js (fun j => c j * misses p (S j) t)) t.
Proof.
  induction js as [|j js IH]; simpl; [apply continuous_const|].
  apply (continuous_plus (V := R_NormedModule) (fun t => c j * misses p (S j) t)); [|assumption].
  apply (continuous_mult (K := R_AbsRing) (fun _ => c j)); [apply continuous_const|apply misses_continuous].
Qed.

Lemma integral_sum (js : list nat) (c : nat -> R) (S : nat -> list nat) :
  is_RInt (fun t => sum js (fun j => c j * misses p (S j) t)) 0 1 (sum js (fun j => c j * I (S j))).
Proof.
  induction js as [|j js IH]; simpl.
  - evar_last; [apply (is_RInt_const (V := R_NormedModule))|]. unfold scal; simpl; unfold mult; simpl. ring.
  - apply (is_RInt_plus (V := R_NormedModule) (fun t => c j * misses p (S j) t)); [|assumption].
    apply (is_RInt_scal (V := R_NormedModule) (misses p (S j)) 0 1 (c j)). apply (RInt_correct (V := R_CompleteNormedModule)), misses_integrable.
Qed.

Lemma integral_identity js : NoDup js -> (INR (length js) + 1) * I js = 1 + sum js (fun j => (1 - p j) * I (without j js)).
Proof.
  intros ND.
  assert (A : is_RInt (fun t => (INR (length js) + 1) * misses p js t - sum js (fun j => (1 - p j) * misses p (without j js) t)) 0 1 1).
  { evar_last; [apply (is_RInt_derive (V := R_CompleteNormedModule) (fun t => (t - 1) * misses p js t))|].
    - intros t _. now apply misses_derive.
    - intros t _. apply (continuous_minus (V := R_NormedModule)).
      + apply (continuous_mult (K := R_AbsRing) (fun _ => INR (length js) + 1)); [apply continuous_const|apply misses_continuous].
      + apply (sum_continuous js (fun j => 1 - p j) (fun j => without j js)).
    - unfold minus, plus, opp; simpl.
      assert (Z : misses p js 0 = 1) by (clear; induction js as [|j js IH]; simpl; [reflexivity|rewrite IH; ring]).
      rewrite Z. ring. }
  assert (B : is_RInt (fun t => (INR (length js) + 1) * misses p js t - sum js (fun j => (1 - p j) * misses p (without j js) t)) 0 1
                ((INR (length js) + 1) * I js - sum js (fun j => (1 - p j) * I (without j js)))).
  { apply (is_RInt_minus (V := R_NormedModule) (fun t => (INR (length js) + 1) * misses p js t)).
    - apply (is_RInt_scal (V := R_NormedModule) (misses p js)). apply (RInt_correct (V := R_CompleteNormedModule)), misses_integrable.
    - apply integral_sum. }
  assert (E := is_RInt_unique _ _ _ _ A). rewrite (is_RInt_unique _ _ _ _ B) in E. lra.
Qed.

Lemma never_chosen turns rest r : ~ In r rest -> choice turns p rest r = 0.
Proof.
  revert rest. induction turns as [|turns IH]; intros rest N; [reflexivity|]. simpl.
  rewrite (sum_ext _ _ (fun _ => 0 * 0)); [rewrite sum_scale; ring|]. intros i Hi.
  destruct (Nat.eqb_spec i r) as [->|E]; [tauto|]. rewrite IH; [ring|]. intros H. apply N. now apply (in_remove Nat.eq_dec _ _ i).
Qed.

(* Random order is one random time for each candidate: r is chosen if its coin succeeds and those before it fail. *)
Theorem law_is_integral rest r : NoDup rest -> In r rest -> choice (length rest) p rest r = p r * RInt (misses p (without r rest)) 0 1.
Proof.
  intros ND Hr. fold (I (without r rest)). remember (length rest) as turns eqn:T. revert rest ND Hr T.
  induction turns as [|turns IH]; intros rest ND Hr T; [destruct rest; [destruct Hr|discriminate]|].
  cbn [choice]. rewrite <- T, sum_scale. set (js := without r rest).
  assert (ndj : NoDup js) by now apply without_nodup.
  assert (lj : length js = turns) by (assert (H := without_length r rest ND Hr); unfold js; lia).
  assert (E : sum rest (fun i => p i * (if Nat.eqb i r then 1 else 0) + (1 - p i) * choice turns p (without i rest) r)
              = p r + sum js (fun i => (1 - p i) * (p r * I (without i js)))).
  { assert (split : forall f, sum rest f = f r + sum js f).
    { intros f. unfold js. clear - ND Hr. induction ND as [|c rest N ND IHr]; [destruct Hr|]. destruct Hr as [->|Hr].
      - now rewrite without_head.
      - rewrite without_tail by (intros ->; tauto). simpl. rewrite IHr by assumption. ring. }
    rewrite split, Nat.eqb_refl, never_chosen by (apply remove_In).
    rewrite (sum_ext js (fun i => p i * _ + _) (fun i => (1 - p i) * (p r * I (without i js)))); [ring|].
    intros i Hi. unfold js in Hi. apply in_remove in Hi. destruct Hi as [Hi ne]. destruct (Nat.eqb_spec i r); [tauto|].
    rewrite IH; [|now apply without_nodup|now apply in_in_remove; auto|assert (H := without_length i rest ND Hi); lia].
    unfold js. rewrite without_twice. ring. }
  rewrite E. assert (K := integral_identity js ndj). rewrite lj in K.
  rewrite (sum_ext js _ (fun i => p r * ((1 - p i) * I (without i js)))) by (intros; ring). rewrite sum_scale.
  assert (P : 0 < INR (S turns)) by (apply lt_0_INR; lia). rewrite S_INR in *.
  apply (Rmult_eq_reg_l (INR turns + 1)); [|lra]. rewrite <- Rmult_assoc, Rinv_r by lra. nra.
Qed.
End Law.

(* --------------------------------------------------------------- privacy *)

Lemma misses_le p p' js t u : 0 <= t -> (forall j, In j js -> 0 <= 1 - t * p j <= 1 - u * p' j) ->
  0 <= misses p js t <= misses p' js u.
Proof.
  intros t0 H. induction js as [|j js IH]; simpl; [lra|]. assert (G := H j (or_introl eq_refl)).
  assert (K : 0 <= misses p js t <= misses p' js u) by (apply IH; intros; apply H; now right).
  split; [apply Rmult_le_pos; lra|apply Rmult_le_compat; lra].
Qed.

Section Compared.
Variables (p p' : nat -> R) (js : list nat) (r : nat) (e : R).
Hypotheses (e1 : 1 <= e) (pr : 0 < p r) (pr' : 0 < p' r) (own : p r <= e * p' r).
Hypothesis coins : forall j, In j js -> 0 <= p j <= 1 /\ 0 <= p' j <= 1 /\ p' j * p r <= e * (p j * p' r).
Let scale : R := e * p' r / p r.

Lemma scale_1 : 1 <= scale.
Proof. unfold scale. apply (Rmult_le_reg_r (p r)); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. Qed.

Lemma integrals : p r * RInt (misses p js) 0 1 <= e * (p' r * RInt (misses p' js) 0 1).
Proof.
  assert (S1 := scale_1). assert (i0 : 0 < / scale) by (apply Rinv_0_lt_compat; lra).
  assert (i1 : / scale <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
  assert (C : RInt (fun u => scal (/ scale) (misses p' js (/ scale * u + 0))) 0 1 = RInt (misses p' js) (/ scale * 0 + 0) (/ scale * 1 + 0)).
  { apply (RInt_comp_lin (V := R_CompleteNormedModule) (misses p' js)). apply misses_integrable. }
  replace (/ scale * 0 + 0) with 0 in C by ring. replace (/ scale * 1 + 0) with (/ scale) in C by ring.
  assert (A : RInt (fun u => / scale * misses p js u) 0 1 <= RInt (fun u => scal (/ scale) (misses p' js (/ scale * u + 0))) 0 1).
  { apply RInt_le; [lra| | |].
    - apply (ex_RInt_scal (V := R_NormedModule) (misses p js)). apply misses_integrable.
    - apply (ex_RInt_comp_lin (V := R_NormedModule) (misses p' js)). apply misses_integrable.
    - intros u Hu. unfold scal; simpl; unfold mult; simpl. apply Rmult_le_compat_l; [lra|]. rewrite Rplus_0_r.
      apply misses_le; [lra|]. intros j Hj. destruct (coins j Hj) as [P [P' K]]. split; [nra|].
      assert (G : / scale * p' j <= p j).
      { unfold scale. rewrite Rinv_div. apply (Rmult_le_reg_r (e * p' r)); [apply Rmult_lt_0_compat; lra|].
        replace (p r / (e * p' r) * p' j * (e * p' r)) with (p' j * p r) by (field; lra). lra. }
      assert (u * (/ scale * p' j) <= u * p j) by (apply Rmult_le_compat_l; lra). lra. }
  assert (B : RInt (misses p' js) 0 (/ scale) <= RInt (misses p' js) 0 1).
  { rewrite <- (RInt_Chasles (V := R_CompleteNormedModule) (misses p' js) 0 (/ scale) 1) by apply misses_integrable.
    assert (0 <= RInt (misses p' js) (/ scale) 1).
    { apply RInt_ge_0; [assumption|apply misses_integrable|]. intros t Ht. destruct (misses_le p' p' js t t); [lra| |assumption].
      intros j Hj. destruct (coins j Hj) as [_ [P' _]]. nra. }
    unfold plus; simpl. lra. }
  rewrite C in A. assert (E : RInt (fun u => / scale * misses p js u) 0 1 = / scale * RInt (misses p js) 0 1).
  { apply (RInt_scal (V := R_CompleteNormedModule) (misses p js)). apply misses_integrable. }
  rewrite E in A. assert (F : / scale * RInt (misses p js) 0 1 <= RInt (misses p' js) 0 1) by lra.
  apply (Rmult_le_compat_l (e * p' r)) in F; [|apply Rmult_le_pos; lra].
  replace (e * p' r * (/ scale * RInt (misses p js) 0 1)) with (p r * RInt (misses p js) 0 1) in F; [lra|].
  unfold scale. field. lra.
Qed.
End Compared.

Lemma best_ge k q i : (i <= k)%nat -> q i <= best k q.
Proof.
  induction k as [|k IH]; intros H; simpl; [replace i with 0%nat by lia; lra|].
  destruct (Nat.eq_dec i (S k)) as [->|N]; [apply Rmax_r|]. apply Rle_trans with (2 := Rmax_l _ _). apply IH. lia.
Qed.

Lemma best_attained k q : exists i, (i <= k)%nat /\ best k q = q i.
Proof.
  induction k as [|k [i [H E]]]; [exists 0%nat; auto|]. simpl. unfold Rmax. destruct (Rle_dec (best k q) (q (S k))).
  - exists (S k). auto.
  - exists i. split; [lia|assumption].
Qed.

Section Private.
Variables (k : nat) (eps sensitivity : R).
Hypotheses (s0 : 0 < sensitivity) (e0 : 0 <= eps).

Lemma best_within q q' : scores_within k sensitivity q q' -> best k q' - best k q <= sensitivity.
Proof.
  intros H. destruct (best_attained k q') as [i [Hi ->]]. assert (B := best_ge k q i Hi). assert (G := H i Hi).
  apply Rabs_le_between in G. lra.
Qed.

Lemma coin_range q i : (i <= k)%nat -> 0 < coin k eps sensitivity q i <= 1.
Proof.
  intros Hi. split; [apply exp_pos|]. unfold coin. rewrite <- exp_0. assert (B := best_ge k q i Hi).
  assert (H : - eps * (best k q - q i) / (2 * sensitivity) <= 0).
  { unfold Rdiv. assert (0 < / (2 * sensitivity)) by (apply Rinv_0_lt_compat; lra).
    assert (0 <= eps * (best k q - q i)) by (apply Rmult_le_pos; lra). nra. }
  destruct H as [H|H]; [left; now apply exp_increasing|right; now rewrite H].
Qed.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H|H]; [left; now apply exp_increasing|right; now rewrite H]. Qed.

(* In exponents: what moves by 2 Delta at most costs eps at most. *)
Lemma within_eps x y : x <= y + 2 * sensitivity -> eps * x / (2 * sensitivity) <= eps + eps * y / (2 * sensitivity).
Proof.
  intros H. replace (eps + eps * y / (2 * sensitivity)) with (eps * (y + 2 * sensitivity) / (2 * sensitivity)) by (field; lra).
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|]. now apply Rmult_le_compat_l.
Qed.

(* Permute-and-flip is eps-differentially private, for scores of that sensitivity. *)
Theorem permute_and_flip_private :
  private (scores_within k sensitivity) (fun i => (i <= k)%nat) (permute_and_flip k eps sensitivity) eps.
Proof.
  assert (sym : forall q q', scores_within k sensitivity q q' -> scores_within k sensitivity q' q).
  { intros q q' H i Hi. rewrite Rabs_minus_sym. now apply H. }
  apply private_by_outcome; [exact sym|]. intros q q' r near Hr. unfold permute_and_flip.
  assert (ND : NoDup (candidates k)) by apply seq_NoDup. assert (L : length (candidates k) = S k) by apply seq_length.
  assert (Ir : In r (candidates k)) by (apply in_seq; lia).
  rewrite <- L, !law_is_integral by assumption. apply integrals.
  - now apply exp_ge_1.
  - now apply coin_range.
  - now apply coin_range.
  - unfold coin. rewrite <- exp_plus. apply exp_le. assert (B := best_within q q' near). assert (G := near r Hr). apply Rabs_le_between in G.
    replace (- eps * (best k q - q r) / (2 * sensitivity)) with (eps * (q r - best k q) / (2 * sensitivity)) by (field; lra).
    replace (- eps * (best k q' - q' r) / (2 * sensitivity)) with (eps * (q' r - best k q') / (2 * sensitivity)) by (field; lra).
    apply within_eps. lra.
  - intros j Hj. apply in_remove in Hj. destruct Hj as [Hj _]. apply in_seq in Hj. assert (Hk : (j <= k)%nat) by lia.
    assert (P := coin_range q j Hk). assert (P' := coin_range q' j Hk). split; [lra|]. split; [lra|].
    unfold coin. rewrite <- !exp_plus. apply exp_le. assert (G := near r Hr). assert (G' := near j Hk). apply Rabs_le_between in G. apply Rabs_le_between in G'.
    replace (- eps * (best k q' - q' j) / (2 * sensitivity) + - eps * (best k q - q r) / (2 * sensitivity))
      with (eps * (q' j - best k q' + (q r - best k q)) / (2 * sensitivity)) by (field; lra).
    replace (- eps * (best k q - q j) / (2 * sensitivity) + - eps * (best k q' - q' r) / (2 * sensitivity))
      with (eps * (q j - best k q + (q' r - best k q')) / (2 * sensitivity)) by (field; lra).
    apply within_eps. lra.
Qed.

(* --------------------------------------------------------------- a distribution *)

Lemma choice_nonneg turns p rest r : (forall i, In i rest -> 0 <= p i <= 1) -> 0 <= choice turns p rest r.
Proof.
  revert rest. induction turns as [|turns IH]; intros rest H; simpl; [lra|].
  apply sum_nonneg. intros i Hi.
  apply Rmult_le_pos.
  - apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. destruct rest; [destruct Hi|simpl; lia].
  - assert (P := H i Hi). assert (0 <= choice turns p (without i rest) r).
    { apply IH. intros j Hj. apply in_remove in Hj. apply H. tauto. }
    assert (0 <= (1 - p i) * choice turns p (without i rest) r) by (apply Rmult_le_pos; lra).
    apply Rplus_le_le_0_compat; [|assumption]. destruct (Nat.eqb i r); lra.
Qed.

Lemma sum_swap (l m : list nat) (f : nat -> nat -> R) : sum l (fun a => sum m (f a)) = sum m (fun b => sum l (fun a => f a b)).
Proof.
  induction l as [|a l IH]; simpl; [|rewrite IH, sum_plus; reflexivity].
  rewrite (sum_ext m _ (fun _ => 0 * 0)) by (intros; ring). rewrite sum_scale. ring.
Qed.

Lemma sum_one (l : list nat) i : NoDup l -> In i l -> sum l (fun r => if Nat.eqb i r then 1 else 0) = 1.
Proof.
  induction 1 as [|c l N ND IH]; [intros []|]. intros [->|H]; simpl.
  - rewrite Nat.eqb_refl, (sum_ext l _ (fun _ => 0 * 0)); [rewrite sum_scale; ring|].
    intros r Hr. destruct (Nat.eqb_spec i r) as [->|E]; [tauto|ring].
  - rewrite IH by assumption. destruct (Nat.eqb_spec i c) as [->|E]; [tauto|ring].
Qed.

Lemma choice_total turns p all rest : NoDup all -> NoDup rest -> incl rest all -> length rest = turns ->
  (exists i, In i rest /\ p i = 1) -> sum all (choice turns p rest) = 1.
Proof.
  intros NA. revert rest. induction turns as [|turns IH]; intros rest ND inc L [b [Hb p1]]; [destruct rest; [destruct Hb|discriminate]|].
  cbn [choice]. rewrite (sum_swap all rest (fun r i => / INR (length rest) * (p i * (if Nat.eqb i r then 1 else 0) + (1 - p i) * choice turns p (without i rest) r))).
  rewrite (sum_ext rest _ (fun _ => / INR (length rest) * 1)).
  - rewrite sum_scale, L. assert (E : sum rest (fun _ => 1) = INR (S turns)).
    { rewrite <- L. clear. induction rest as [|c rest IHr]; [reflexivity|]. cbn [sum length]. rewrite IHr, S_INR. ring. }
    rewrite E. apply Rinv_l, not_0_INR. discriminate.
  - intros i Hi. rewrite sum_scale, sum_plus, !sum_scale, sum_one by auto.
    destruct (Nat.eq_dec i b) as [->|N]; [rewrite p1; ring|]. rewrite IH; [ring|now apply without_nodup| | |].
    + intros j Hj. apply in_remove in Hj. apply inc. tauto.
    + assert (H := without_length i rest ND Hi). lia.
    + exists b. split; [now apply in_in_remove; auto|assumption].
Qed.

(* One of the candidates is always chosen: the probabilities are a distribution. *)
Theorem permute_and_flip_is_law q : law (candidates k) (permute_and_flip k eps sensitivity q).
Proof.
  split.
  - intros r _. apply choice_nonneg. intros i Hi. apply in_seq in Hi. assert (P := coin_range q i ltac:(lia)). lra.
  - apply choice_total; [apply seq_NoDup|apply seq_NoDup|apply incl_refl|apply seq_length|].
    destruct (best_attained k q) as [i [Hi E]]. exists i. split; [apply in_seq; lia|].
    unfold coin. rewrite E. replace (- eps * (q i - q i) / (2 * sensitivity)) with 0 by (field; lra). apply exp_0.
Qed.
End Private.
