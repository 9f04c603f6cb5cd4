(* Randomized response: k values, one report a user, no trusted collector.

   kiri2019, "Random Response" (equations 6 and 7; k = 2), and its generalisation GRR of Kairouz et al. and Wang et al.
   In lib: mechanisms/randomized_response.py, local/protocol.py (GRR, pure_variance). Values are the whole numbers 0, ..., k - 1. *)
From Coq Require Import Reals Lra Lia List Arith.
From Compendium Require Import Finite.
Import ListNotations.
Local Open Scope R_scope.

(* The k values, 0 to k - 1. *)
Definition values (k : nat) : list nat := seq 0 k.
(* x is one of them. *)
Definition is_value (k x : nat) : Prop := (x < k)%nat.

(* p, the probability of the truth. *)
Definition truth (k : nat) (eps : R) : R := exp eps / (exp eps + INR k - 1).
(* q, the probability of each other value. *)
Definition lie (k : nat) (eps : R) : R := 1 / (exp eps + INR k - 1).
(* Generalized randomized response: the probability of the report y, if the value is x. *)
Definition grr (k : nat) (eps : R) (x y : nat) : R := if Nat.eqb y x then truth k eps else lie k eps.

(* kiri2019, equation 6: the true bit with probability p, the opposite one with probability 1 - p. *)
Definition rr (p : R) (x y : nat) : R := if Nat.eqb y x then p else 1 - p.

(* The neighbours of local privacy: any two values of one user. *)
Definition any_two (k : nat) (x x' : nat) : Prop := is_value k x /\ is_value k x'.

(* --------------------------------------------------------------- one report *)

Lemma sum_split (l : list nat) (p : nat -> R) v a b : NoDup l -> In v l ->
  sum l (fun y => p y * (if Nat.eqb y v then a else b)) = p v * a + (sum l p - p v) * b.
Proof.
  assert (out : forall l, ~ In v l -> sum l (fun y => p y * (if Nat.eqb y v then a else b)) = sum l p * b).
  { induction l0 as [|y l0 IH]; simpl; intros N; [lra|]. rewrite IH by tauto.
    destruct (Nat.eqb_spec y v); [tauto|]. ring. }
  induction l as [|y l IH]; simpl; intros nd inv; [tauto|]. inversion_clear nd as [|? ? ny nl].
  destruct (Nat.eqb_spec y v) as [->|ne].
  - rewrite out by assumption. ring.
  - rewrite IH by tauto. ring.
Qed.

Lemma values_in k v : is_value k v -> In v (values k).
Proof. intros H. apply in_seq. unfold is_value in H. lia. Qed.

Lemma one_or_another k x a b : is_value k x ->
  sum (values k) (fun y => if Nat.eqb y x then a else b) = a + (INR k - 1) * b.
Proof.
  intros H. rewrite (sum_ext _ _ (fun y => 1 * (if Nat.eqb y x then a else b))) by (intros; ring).
  rewrite (sum_split _ (fun _ => 1)) by (apply seq_NoDup || now apply values_in).
  assert (E : forall s, sum (seq s k) (fun _ => 1) = INR k).
  { induction k as [|j IH] in |- *; intros s; [reflexivity|]. simpl sum. rewrite IH, S_INR. ring. }
  unfold values. rewrite E. ring.
Qed.

Section GRR.
Variables (k : nat) (eps : R).
Hypotheses (k2 : (2 <= k)%nat) (eps0 : 0 <= eps).

Lemma k_ge_2 : 2 <= INR k.
Proof using k2. change 2 with (INR 2). now apply le_INR. Qed.

Lemma odds_pos : 0 < exp eps + INR k - 1.
Proof using k2. assert (H := exp_pos eps). assert (G := k_ge_2). lra. Qed.

(* GRR's reports of a value are a probability distribution on the k values. *)
Theorem grr_is_law x : is_value k x -> law (values k) (grr k eps x).
Proof using k2.
  intros H. assert (O := odds_pos). assert (E := exp_pos eps). split.
  - intros y _. unfold grr, truth, lie. destruct (Nat.eqb y x); apply Rlt_le, Rdiv_lt_0_compat; lra.
  - unfold grr. rewrite one_or_another by assumption. unfold truth, lie. field. lra.
Qed.

(* GRR is eps-locally differentially private. *)
Theorem grr_private : private (any_two k) (is_value k) (grr k eps) eps.
Proof using k2 eps0.
  assert (O := odds_pos). assert (E := exp_ge_1 eps eps0).
  assert (I : 0 < / (exp eps + INR k - 1)) by now apply Rinv_0_lt_compat.
  apply private_by_outcome; [unfold any_two; tauto|].
  intros x x' y _ _. unfold grr, truth, lie, Rdiv. set (e := exp eps) in *. set (i := / _) in *.
  assert (i <= e * i) by nra. assert (e * i <= e * (e * i)) by nra.
  destruct (Nat.eqb y x), (Nat.eqb y x'); nra.
Qed.

(* GRR is not eps'-locally differentially private for any eps' below eps. *)
Theorem grr_no_better eps' : private (any_two k) (is_value k) (grr k eps) eps' -> eps <= eps'.
Proof using k2.
  intros H. assert (O := odds_pos).
  assert (G := private_outcome _ _ _ _ 0%nat 1%nat 0%nat H). unfold any_two, is_value in G.
  specialize (G ltac:(lia) ltac:(lia)). unfold grr, truth, lie in G. simpl in G.
  apply exp_le_inv. apply (Rmult_le_reg_r (/ (exp eps + INR k - 1))); [now apply Rinv_0_lt_compat|]. unfold Rdiv in G. lra.
Qed.
End GRR.

(* kiri2019, equation 6: for 1/2 <= p < 1 the answer is ln(p / (1 - p))-locally differentially private. *)
Theorem rr_private p : 1 / 2 <= p < 1 -> private (any_two 2) (is_value 2) (rr p) (ln (p / (1 - p))).
Proof.
  intros [Hp H1]. assert (Q : 0 < 1 - p) by lra. assert (I : 0 < p / (1 - p)) by (apply Rdiv_lt_0_compat; lra).
  apply private_by_outcome; [unfold any_two; tauto|]. intros x x' y _ _. rewrite exp_ln by assumption.
  assert (E : p / (1 - p) * (1 - p) = p) by (field; lra).
  assert (G : 1 <= p / (1 - p)) by (apply (Rmult_le_reg_r (1 - p)); lra).
  unfold rr. destruct (Nat.eqb y x), (Nat.eqb y x'); nra.
Qed.

(* kiri2019, equation 6: the answer is not eps-locally differentially private for any eps below ln(p / (1 - p)). *)
Theorem rr_no_better p eps : 1 / 2 <= p < 1 -> private (any_two 2) (is_value 2) (rr p) eps -> ln (p / (1 - p)) <= eps.
Proof.
  intros [Hp H1] H. assert (G := private_outcome _ _ _ _ 0%nat 1%nat 0%nat H). unfold any_two, is_value in G.
  specialize (G ltac:(lia) ltac:(lia)). unfold rr in G. simpl in G.
  assert (I : 0 < p / (1 - p)) by (apply Rdiv_lt_0_compat; lra).
  apply exp_le_inv. rewrite exp_ln by assumption. apply (Rmult_le_reg_r (1 - p)); [lra|].
  replace (p / (1 - p) * (1 - p)) with p by (field; lra). assumption.
Qed.

(* --------------------------------------------------------------- the reports of many users *)

(* The expectation of g(reports), if the users with the values xs report independently, each by the mechanism M. *)
Fixpoint expectation (k : nat) (M : nat -> nat -> R) (xs : list nat) (g : list nat -> R) : R :=
  match xs with
  | [] => g []
  | x :: others => sum (values k) (fun y => M x y * expectation k M others (fun ys => g (y :: ys)))
  end.

(* How many of the entries are v. *)
Definition count (v : nat) (xs : list nat) : R := sum xs (fun x => if Nat.eqb x v then 1 else 0).
(* How many entries there are. *)
Definition size (xs : list nat) : R := sum xs (fun _ => 1).
(* The share of the entries that are v. *)
Definition share (v : nat) (xs : list nat) : R := count v xs / size xs.

(* kiri2019, equation 7: from n reports, (number of reports of v - n q) / (p - q) users have the value v. *)
Definition estimate (p q : R) (v : nat) (ys : list nat) : R := (count v ys - size ys * q) / (p - q).

(* The variance of the estimated share of v among n users of whom the share f has it. *)
Definition pure_variance (p q f n : R) : R := (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ^ 2).

Section Pure.
Variables (k : nat) (M : nat -> nat -> R) (p q : R) (v : nat).
Hypotheses (isv : is_value k v) (pq : p <> q).
Hypothesis isl : forall x, is_value k x -> sum (values k) (M x) = 1.
Hypothesis pure : forall x, is_value k x -> M x v = if Nat.eqb x v then p else q.

Let score (y : nat) : R := ((if Nat.eqb y v then 1 else 0) - q) / (p - q).
Let d0 : p - q <> 0. Proof. lra. Qed.

Lemma estimate_scores ys : estimate p q v ys = sum ys score.
Proof using pq.
  unfold estimate, count, size. induction ys as [|y ys IH]; simpl; [field; exact d0|].
  rewrite <- IH. unfold score. field. exact d0.
Qed.

Lemma expectation_ext xs g h : (forall ys, g ys = h ys) -> expectation k M xs g = expectation k M xs h.
Proof using. revert g h. induction xs as [|x xs IH]; simpl; intros g h H; [apply H|].
  apply sum_ext. intros y _. f_equal. apply IH. intros ys. apply H. Qed.

Lemma step x a b : is_value k x ->
  sum (values k) (fun y => M x y * (if Nat.eqb y v then a else b)) = M x v * a + (1 - M x v) * b.
Proof using isv isl. intros H. rewrite sum_split by (apply seq_NoDup || now apply values_in). now rewrite isl. Qed.

Lemma mean_scores xs a : Forall (is_value k) xs ->
  expectation k M xs (fun ys => sum ys score - a) = count v xs - a.
Proof using isv pq isl pure.
  unfold count. revert a. induction xs as [|x xs IH]; simpl; intros a H; [reflexivity|]. inversion_clear H as [|? ? Hx Hxs].
  rewrite (sum_ext _ _ (fun y => M x y * (if Nat.eqb y v
    then sum xs (fun x => if Nat.eqb x v then 1 else 0) - (a - (1 - q) / (p - q))
    else sum xs (fun x => if Nat.eqb x v then 1 else 0) - (a - (0 - q) / (p - q))))).
  - rewrite step, pure by assumption. destruct (Nat.eqb x v); field; exact d0.
  - intros y _. f_equal. rewrite (expectation_ext _ _ (fun ys => sum ys score - (a - score y))) by (intros; ring).
    rewrite IH by assumption. unfold score. destruct (Nat.eqb y v); reflexivity.
Qed.

Lemma square_scores xs a : Forall (is_value k) xs ->
  expectation k M xs (fun ys => (sum ys score - a) ^ 2)
  = (count v xs * (p * (1 - p)) + (size xs - count v xs) * (q * (1 - q))) / (p - q) ^ 2 + (count v xs - a) ^ 2.
Proof using isv pq isl pure.
  unfold count, size. revert a. induction xs as [|x xs IH]; intros a H; [simpl; field; exact d0|].
  inversion_clear H as [|? ? Hx Hxs].
  change (sum (values k) (fun y => M x y * expectation k M xs (fun ys => (sum (y :: ys) score - a) ^ 2)) = 
    ((((if Nat.eqb x v then 1 else 0) + sum xs (fun x => if Nat.eqb x v then 1 else 0)) * (p * (1 - p))
     + ((1 + sum xs (fun _ => 1)) - ((if Nat.eqb x v then 1 else 0) + sum xs (fun x => if Nat.eqb x v then 1 else 0))) * (q * (1 - q))) / (p - q) ^ 2
     + (((if Nat.eqb x v then 1 else 0) + sum xs (fun x => if Nat.eqb x v then 1 else 0)) - a) ^ 2)).
  set (c := sum xs (fun x => if Nat.eqb x v then 1 else 0)) in *. set (n := sum xs (fun _ => 1)) in *.
  set (V := (c * (p * (1 - p)) + (n - c) * (q * (1 - q))) / (p - q) ^ 2) in *.
  rewrite (sum_ext _ _ (fun y => M x y * (if Nat.eqb y v
    then V + (c - (a - (1 - q) / (p - q))) ^ 2 else V + (c - (a - (0 - q) / (p - q))) ^ 2))).
  - rewrite step, pure by assumption. unfold V. destruct (Nat.eqb x v); field; exact d0.
  - intros y _. f_equal. rewrite (expectation_ext _ _ (fun ys => (sum ys score - (a - score y)) ^ 2)) by (intros; simpl; ring).
    rewrite IH by assumption. unfold score. destruct (Nat.eqb y v); reflexivity.
Qed.

(* The estimate is unbiased, whatever the values are. *)
Theorem pure_unbiased xs : Forall (is_value k) xs -> expectation k M xs (estimate p q v) = count v xs.
Proof using isv pq isl pure.
  intros H. rewrite (expectation_ext _ _ (fun ys => sum ys score - 0)) by (intros; rewrite estimate_scores; ring).
  rewrite mean_scores by assumption. ring.
Qed.

(* Its variance as a share of the n users, not an approximation of it. *)
Theorem pure_has_variance xs : Forall (is_value k) xs -> size xs <> 0 ->
  expectation k M xs (fun ys => (estimate p q v ys / size xs - share v xs) ^ 2) = pure_variance p q (share v xs) (size xs).
Proof using isv pq isl pure.
  intros H n0.
  assert (scale : forall c g zs, expectation k M zs (fun ys => c * g ys) = c * expectation k M zs g).
  { intros c g zs. revert g. induction zs as [|z zs IH]; simpl; intros g; [reflexivity|]. rewrite <- sum_scale. apply sum_ext.
    intros y _. rewrite IH. ring. }
  rewrite (expectation_ext _ _ (fun ys => / size xs ^ 2 * (sum ys score - count v xs) ^ 2)).
  - rewrite scale, square_scores by assumption. unfold pure_variance, share. field. split; [exact n0|exact d0].
  - intros ys. rewrite estimate_scores. unfold share. field. exact n0.
Qed.
End Pure.

Section ManyUsers.
Variables (k : nat) (eps : R) (v : nat) (xs : list nat).
Hypotheses (k2 : (2 <= k)%nat) (eps0 : 0 < eps) (isv : is_value k v) (users : Forall (is_value k) xs).

Lemma truth_is_not_lie : truth k eps <> lie k eps.
Proof using k2 eps0.
  assert (O := odds_pos k eps k2). assert (1 + eps < exp eps) by (apply exp_ineq1; lra).
  unfold truth, lie, Rdiv. assert (I : 0 < / (exp eps + INR k - 1)) by now apply Rinv_0_lt_compat. nra.
Qed.

Lemma grr_pure x : is_value k x -> grr k eps x v = if Nat.eqb x v then truth k eps else lie k eps.
Proof using. intros _. unfold grr. now rewrite Nat.eqb_sym. Qed.

(* From GRR's reports of any users, equation 7 estimates without bias how many have the value v. *)
Theorem grr_unbiased :
  expectation k (grr k eps) xs (estimate (truth k eps) (lie k eps) v) = count v xs.
Proof using k2 eps0 isv users.
  apply pure_unbiased; auto using truth_is_not_lie, grr_pure. intros x Hx. now apply grr_is_law.
Qed.

(* The mean squared error of GRR's estimate of the share of v, which is its variance, for any values of any number of users. *)
Theorem grr_variance : size xs <> 0 ->
  expectation k (grr k eps) xs (fun ys => (estimate (truth k eps) (lie k eps) v ys / size xs - share v xs) ^ 2)
  = pure_variance (truth k eps) (lie k eps) (share v xs) (size xs).
Proof using k2 eps0 isv users.
  apply pure_has_variance; auto using truth_is_not_lie, grr_pure. intros x Hx. now apply grr_is_law.
Qed.
End ManyUsers.

(* kiri2019, equation 7 for its own answer of equation 6: unbiased for p other than 1/2. *)
Theorem rr_unbiased p v xs : p <> 1 / 2 -> is_value 2 v -> Forall (is_value 2) xs ->
  expectation 2 (rr p) xs (estimate p (1 - p) v) = count v xs.
Proof.
  intros Hp Hv Hxs. apply pure_unbiased; auto; [lra| |].
  - intros x Hx. unfold rr. rewrite one_or_another by assumption. simpl. ring.
  - intros x _. unfold rr. now rewrite Nat.eqb_sym.
Qed.
