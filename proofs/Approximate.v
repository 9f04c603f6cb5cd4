(* Approximate differential privacy, (eps, delta), of mechanisms with finitely many outcomes: the definition, its meaning for delta = 0, and
   post-processing. *)
From Coq Require Import Reals Lra List Bool.
From Compendium Require Import Finite.
Import ListNotations.
Local Open Scope R_scope.

(* The probability of an event, a set of outcomes. *)
Definition prob {A} (outcomes : list A) (p : A -> R) (event : A -> bool) : R := sum outcomes (fun a => if event a then p a else 0).

(* (eps, delta)-close: the probability of each event under P is at most e^eps times its probability under Q, plus delta. *)
Definition close {A} (outcomes : list A) (eps delta : R) (P Q : A -> R) : Prop :=
  forall event, prob outcomes P event <= exp eps * prob outcomes Q event + delta.

(* (eps, delta)-differential privacy: the outputs for neighbours are (eps, delta)-close. *)
Definition approximately_private {X A} (neighbours : X -> X -> Prop) (outcomes : list A) (M : X -> A -> R) (eps delta : R) : Prop :=
  forall x x', neighbours x x' -> close outcomes eps delta (M x) (M x').

(* The smallest delta at eps: the sum of the positive parts of P - e^eps Q. *)
Definition excess {A} (outcomes : list A) (eps : R) (P Q : A -> R) : R := sum outcomes (fun a => Rmax 0 (P a - exp eps * Q a)).

Lemma difference {A} (l : list A) eps P Q event :
  prob l P event - exp eps * prob l Q event = sum l (fun a => if event a then P a - exp eps * Q a else 0).
Proof. unfold prob. induction l as [|a l IH]; simpl; [ring|]. destruct (event a); lra. Qed.

(* P and Q are (eps, delta)-close if and only if delta is at least the sum of the positive parts of P - e^eps Q. *)
Theorem close_excess {A} (l : list A) eps delta P Q : close l eps delta P Q <-> excess l eps P Q <= delta.
Proof.
  split; intros H.
  - specialize (H (fun a => if Rle_dec 0 (P a - exp eps * Q a) then true else false)).
    assert (D := difference l eps P Q (fun a => if Rle_dec 0 (P a - exp eps * Q a) then true else false)).
    unfold excess. rewrite (sum_ext l _ (fun a => if (if Rle_dec 0 (P a - exp eps * Q a) then true else false) then P a - exp eps * Q a else 0)); [lra|].
    intros a _. unfold Rmax. destruct (Rle_dec 0 (P a - exp eps * Q a)); reflexivity.
  - intros event. assert (D := difference l eps P Q event).
    assert (E : sum l (fun a => if event a then P a - exp eps * Q a else 0) <= excess l eps P Q); [|lra].
    apply sum_le. intros a _. destruct (event a); [apply Rmax_r|apply Rmax_l].
Qed.

(* A larger eps or delta is a weaker guarantee. *)
Lemma close_weaker {A} (l : list A) eps eps' delta delta' P Q : (forall a, In a l -> 0 <= Q a) ->
  eps <= eps' -> delta <= delta' -> close l eps delta P Q -> close l eps' delta' P Q.
Proof.
  intros q0 He Hd H event. assert (H1 := H event). assert (exp eps <= exp eps').
  { destruct He as [He|He]; [left; now apply exp_increasing|right; now rewrite He]. }
  assert (0 <= prob l Q event) by (apply sum_nonneg; intros a Ha; destruct (event a); [auto|lra]). nra.
Qed.

Lemma sum_single {A} (l : list A) (f : A -> R) a : In a l -> (forall b, In b l -> 0 <= f b) -> f a <= sum l f.
Proof.
  induction l as [|b l IH]; intros Ha Hf; [destruct Ha|]. simpl. destruct Ha as [->|Ha].
  - assert (0 <= sum l f) by (apply sum_nonneg; intros; apply Hf; now right). lra.
  - assert (f a <= sum l f) by (apply IH; [assumption|]; intros; apply Hf; now right). assert (0 <= f b) by (apply Hf; now left). lra.
Qed.

(* (eps, 0)-privacy is pure eps-privacy. *)
Theorem pure_is_approximate {X A} (neighbours : X -> X -> Prop) (l : list A) M eps :
  (forall x x', neighbours x x' -> neighbours x' x) ->
  (private neighbours (fun a => In a l) M eps <-> approximately_private neighbours l M eps 0).
Proof.
  intros sym. split; intros H.
  - intros x x' near. apply close_excess. unfold excess. apply Req_le. transitivity (sum l (fun _ : A => 0 * 0)); [|rewrite sum_scale; ring].
    apply sum_ext. intros a Ha. assert (G := private_outcome _ _ _ _ x x' a H near Ha). rewrite Rmax_left; lra.
  - apply private_by_outcome; [assumption|]. intros x x' a near Ha. assert (G := H x x' near). apply close_excess in G.
    assert (S := sum_single l (fun a => Rmax 0 (M x a - exp eps * M x' a)) a Ha (fun b _ => Rmax_l _ _)). unfold excess in G.
    assert (T := Rmax_r 0 (M x a - exp eps * M x' a)). simpl in S. lra.
Qed.

(* ------------------------------------------------------------------ post-processing *)

(* The law of the output of a randomized map K whose input has the law P: `K a b` is the probability of b given a. *)
Definition image {A B} (inputs : list A) (K : A -> B -> R) (P : A -> R) (b : B) : R := sum inputs (fun a => P a * K a b).
(* K gives each input a law on the outputs. *)
Definition channel {A B} (inputs : list A) (outputs : list B) (K : A -> B -> R) : Prop := forall a, In a inputs -> law outputs (K a).

Lemma sum_swap {A B} (l : list A) (m : list B) (f : A -> B -> R) : sum l (fun a => sum m (f a)) = sum m (fun b => sum l (fun a => f a b)).
Proof.
  induction l as [|a l IH]; simpl.
  - induction m as [|b m IH]; simpl; [reflexivity|lra].
  - rewrite IH. rewrite <- sum_plus. reflexivity.
Qed.

Lemma image_sum {A B} (l : list A) (m : list B) K (f : A -> R) : channel l m K -> sum m (image l K f) = sum l f.
Proof.
  intros C. unfold image. rewrite <- sum_swap. apply sum_ext. intros a Ha. rewrite sum_scale. destruct (C a Ha) as [_ ->]. ring.
Qed.

(* The output of a randomized map has a law. *)
Theorem image_law {A B} (l : list A) (m : list B) K P : channel l m K -> law l P -> law m (image l K P).
Proof.
  intros C [p0 p1]. split; [|now rewrite (image_sum l m K P C)].
  intros b Hb. apply sum_nonneg. intros a Ha. apply Rmult_le_pos; [auto|]. now apply (C a Ha).
Qed.

(* Post-processing: a randomized map K of the output, which does not read the data, keeps (eps, delta). *)
Theorem post_processing {A B} (l : list A) (m : list B) K eps delta P Q :
  channel l m K -> close l eps delta P Q -> close m eps delta (image l K P) (image l K Q).
Proof.
  intros C H. apply close_excess. apply close_excess in H. apply Rle_trans with (2 := H). unfold excess.
  rewrite <- (image_sum l m K _ C). apply sum_le. intros b Hb. apply Rmax_lub.
  - apply sum_nonneg. intros a Ha. apply Rmult_le_pos; [apply Rmax_l|now apply (C a Ha)].
  - unfold image. rewrite <- sum_scale. rewrite <- (Rplus_0_r (sum l (fun a => P a * K a b))).
    replace (sum l (fun a => P a * K a b) + 0 - sum l (fun a => exp eps * (Q a * K a b)))
      with (sum l (fun a => P a * K a b) + sum l (fun a => (-1) * (exp eps * (Q a * K a b)))) by (rewrite (sum_scale l (-1)); ring).
    rewrite <- sum_plus. apply sum_le. intros a Ha.
    assert (k0 : 0 <= K a b) by now apply (C a Ha). assert (T := Rmax_r 0 (P a - exp eps * Q a)).
    replace (P a * K a b + -1 * (exp eps * (Q a * K a b))) with ((P a - exp eps * Q a) * K a b) by ring. now apply Rmult_le_compat_r.
Qed.
