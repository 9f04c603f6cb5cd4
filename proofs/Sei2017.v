(* A counterexample to Lemma 2 of sei2017: parts that are parameter-wise private do not compose to a whole that is.

   The document's definition (its "Theorem 2"): a mechanism that outputs a vector of parameters is parameter-based eps-differentially
   private if each single parameter, whatever the others are, has a law that is eps-differentially private. Its Lemma 2:
   mechanisms that are parameter-based eps_i-private, each of which takes the output of the one before, are together
   parameter-based (sum of eps_i)-private. Evidence of another kind is in notebooks/sei2017/01_theory. *)
From Coq Require Import Reals Lra List Bool.
From Compendium Require Import Finite.
Import ListNotations.
Local Open Scope R_scope.

(* Data sets of one record, a bit, which is replaced: any two are neighbours. *)
Definition replaced (x x' : bool) : Prop := True.
(* The two bits. *)
Definition bits : list bool := [false; true].
(* All vectors of m bits. *)
Fixpoint vectors (m : nat) : list (list bool) :=
  match m with 0%nat => [[]] | S j => map (cons false) (vectors j) ++ map (cons true) (vectors j) end.

(* The law of parameter i of the vector of m parameters that M outputs. *)
Definition parameter (m i : nat) (M : bool -> list bool -> R) (x : bool) (b : bool) : R :=
  sum (vectors m) (fun w => if eqb (nth i w false) b then M x w else 0).

(* sei2017, "Theorem 2": parameter-based differential privacy of a mechanism with m parameters. *)
Definition parameter_private (m : nat) (M : bool -> list bool -> R) (eps : R) : Prop :=
  (forall x, law (vectors m) (M x)) /\
  forall i, (i < m)%nat -> private replaced (fun _ => True) (parameter m i M) eps.

(* The first mechanism outputs m1 parameters; the second reads them, and the data, and outputs m2. The output of both, one after the other. *)
Definition chain (m1 : nat) (M1 : bool -> list bool -> R) (M2 : list bool -> bool -> list bool -> R) (x : bool) (w2 : list bool) : R :=
  sum (vectors m1) (fun w1 => M1 x w1 * M2 w1 x w2).

(* What Lemma 2 claims of two mechanisms. *)
Definition lemma2 : Prop := forall m1 m2 M1 M2 eps1 eps2, 0 <= eps1 -> 0 <= eps2 ->
  parameter_private m1 M1 eps1 -> (forall w1, In w1 (vectors m1) -> parameter_private m2 (M2 w1) eps2) ->
  parameter_private m2 (chain m1 M1 M2) (eps1 + eps2).

(* The counterexample's first step publishes (r, r xor x) for a fair coin r. *)
Definition masked (x : bool) (w : list bool) : R :=
  match w with [r; s] => if eqb s (xorb r x) then 1 / 2 else 0 | _ => 0 end.
(* The second step adds the two up, and does not look at the data. *)
Definition unmask (w1 : list bool) (x : bool) (w2 : list bool) : R :=
  match w1, w2 with [r; s], [o] => if eqb o (xorb r s) then 1 else 0 | _, _ => 0 end.

Lemma same_law_private {A} (M : bool -> A -> R) : (forall x a, M x a = M true a) ->
  private replaced (fun _ => True) M 0.
Proof. intros H. apply private_by_outcome; [unfold replaced; tauto|]. intros x x' a _ _. rewrite exp_0, (H x), (H x'). lra. Qed.

Lemma masked_private : parameter_private 2 masked 0.
Proof.
  split.
  - intros []; split; simpl; try lra; intros a Ha; repeat (destruct Ha as [<-|Ha]; [simpl; lra|]); destruct Ha.
  - intros [|[|i]] Hi; [| |exfalso; inversion Hi as [|? H]; inversion H as [|? G]; inversion G];
      apply same_law_private; intros [] []; unfold parameter; simpl; lra.
Qed.

Lemma unmask_private w1 : In w1 (vectors 2) -> parameter_private 1 (unmask w1) 0.
Proof.
  intros H. split.
  - simpl in H. repeat (destruct H as [<-|H]; [intros x; split; [intros a Ha; simpl in Ha; repeat (destruct Ha as [<-|Ha]; [simpl; lra|]); destruct Ha|simpl; lra]|]). destruct H.
  - intros i Hi. apply same_law_private. intros x b. reflexivity.
Qed.

(* The output of both, one after the other, is the record. *)
Theorem lemma2_output_is_the_record x b : chain 2 masked unmask x [b] = if eqb b x then 1 else 0.
Proof. destruct x, b; unfold chain; simpl; lra. Qed.

(* Two mechanisms that are parameter-based 0-private, one after the other, are not parameter-based eps-private for any eps. *)
Theorem lemma2_counterexample :
  parameter_private 2 masked 0 /\ (forall w1, In w1 (vectors 2) -> parameter_private 1 (unmask w1) 0) /\
  forall eps, ~ parameter_private 1 (chain 2 masked unmask) eps.
Proof.
  split; [exact masked_private|]. split; [exact unmask_private|].
  intros eps [_ H]. assert (G := private_outcome _ _ _ _ true false true (H 0%nat ltac:(auto)) I I).
  unfold parameter, chain in G. simpl in G. lra.
Qed.

(* Lemma 2 of sei2017 is false. *)
Theorem lemma2_is_false : ~ lemma2.
Proof.
  intros H. destruct lemma2_counterexample as [A [B C]]. apply (C (0 + 0)).
  apply (H 2%nat 1%nat masked unmask); auto; lra.
Qed.
