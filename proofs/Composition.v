(* Basic composition: mechanisms one after the other on the same data, each of which reads all outputs so far.

   In lib: accounting/composition.py. In kiri2019's and sei2017's chapters: "ordinary composition". *)
From Coq Require Import Reals Lra List.
From Compendium Require Import Finite.
Import ListNotations.
Local Open Scope R_scope.

Section Composition.
Variables (X O : Type) (neighbours : X -> X -> Prop) (outcomes : list O).
Hypothesis symmetric : forall x x', neighbours x x' -> neighbours x' x.

(* A step: data, the outputs so far (the latest last), and the probability of the next output. *)
Definition step := X -> list O -> O -> R.

(* The probability of the outputs `os` after those of `past`. *)
Fixpoint all_steps (steps : list step) (past : list O) (x : X) (os : list O) : R :=
  match steps, os with
  | [], [] => 1
  | M :: rest, o :: later => M x past o * all_steps rest (past ++ [o]) x later
  | _, _ => 0
  end.

(* All sequences of m outputs. *)
Fixpoint sequences (m : nat) : list (list O) :=
  match m with 0%nat => [[]] | S j => flat_map (fun o => map (cons o) (sequences j)) outcomes end.
(* All outputs are among the outcomes. *)
Definition possible (os : list O) : Prop := Forall (fun o => In o outcomes) os.

(* `steps` with the epsilon of each: every step is a distribution, and eps-private, whatever came out before. *)
Definition each_private (steps : list (step * R)) : Prop :=
  Forall (fun s => forall past, (forall x, law outcomes (fst s x past)) /\
                   private neighbours (fun o => In o outcomes) (fun x => fst s x past) (snd s)) steps.

Lemma all_nonneg steps : each_private steps -> forall past x os, possible os -> 0 <= all_steps (map fst steps) past x os.
Proof using.
  induction 1 as [|[M e] rest HM _ IH]; intros past x [|o os] P; simpl; try lra.
  inversion_clear P. apply Rmult_le_pos; [|now apply IH]. now apply (HM past).
Qed.

(* The outputs of all steps together have a law: the probabilities of all sequences of outputs sum to 1. *)
Theorem composed_is_law steps : each_private steps ->
  forall x past, law (sequences (length steps)) (all_steps (map fst steps) past x).
Proof using.
  intros H x past. split.
  - intros os Hos. apply all_nonneg; [assumption|]. clear H past. revert os Hos.
    induction steps as [|s rest IH]; simpl; intros os Hos.
    + destruct Hos as [<-|[]]. constructor.
    + apply in_flat_map in Hos. destruct Hos as [o [Ho Hos]]. apply in_map_iff in Hos. destruct Hos as [later [<- Hl]].
      constructor; [assumption|]. now apply IH.
  - revert past. induction H as [|[M e] rest HM _ IH]; intros past; [simpl; lra|].
    change (sum (flat_map (fun o => map (cons o) (sequences (length rest))) outcomes) (all_steps (M :: map fst rest) past x) = 1).
    assert (E : forall l, sum (flat_map (fun o => map (cons o) (sequences (length rest))) l)
                  (all_steps (M :: map fst rest) past x) = sum l (M x past)).
    { induction l as [|o l IHl]; [reflexivity|]. cbn [flat_map sum]. rewrite sum_app, IHl. f_equal.
      assert (F : forall ss, sum (map (cons o) ss) (all_steps (M :: map fst rest) past x)
                             = M x past o * sum ss (all_steps (map fst rest) (past ++ [o]) x)).
      { induction ss as [|s ss IHs]; cbn [map sum]; [lra|]. rewrite IHs. cbn [all_steps]. ring. }
      rewrite F, IH. ring. }
    rewrite E. now destruct (HM past) as [L _]; destruct (L x).
Qed.

(* Steps that are each private, whatever came out before, are together private with the sum of their epsilons. *)
Theorem basic_composition steps : each_private steps ->
  private neighbours possible (all_steps (map fst steps) []) (sum steps snd).
Proof using symmetric.
  intros H. apply private_by_outcome; [assumption|]. intros x x' os near. generalize (@nil O) as past. revert os.
  induction H as [|[M e] rest HM HR IH]; intros [|o os] past P; simpl; try (rewrite ?exp_0; lra).
  inversion_clear P as [|? ? Po Pos]. destruct (HM past) as [L Pr]. simpl in *.
  rewrite exp_plus. specialize (IH os (past ++ [o]) Pos).
  apply Rle_trans with ((exp e * M x' past o) * (exp (sum rest snd) * all_steps (map fst rest) (past ++ [o]) x' os)).
  - apply Rmult_le_compat; auto; [now apply (L x)|now apply all_nonneg|]. exact (private_outcome _ _ _ _ x x' o Pr near Po).
  - apply Req_le. enough (S : forall a b c d : R, a * b * (c * d) = a * c * (b * d)) by apply S. intros; ring.
Qed.
End Composition.
