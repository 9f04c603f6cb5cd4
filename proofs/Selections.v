(* An application of the budget: exponential mechanisms whose scores and eps are chosen by all outputs so far, as AIM's choices are. *)
From Coq Require Import Reals Lra List.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Finite WeakTriangle BoundedRange Composition Approximate Moments Filter.
Import ListNotations.
Local Open Scope R_scope.

(* If all outcomes are possible, the definition is that of BoundedRange.v. *)
Lemma concentrated_positive {A} (l : list A) rho P Q : positive_law l P -> positive_law l Q ->
  (concentrated l rho P Q <-> forall alpha, 1 < alpha -> renyi l alpha P Q <= rho * alpha).
Proof. intros p q. split; intros H alpha a1; apply (renyi_within_positive l alpha (rho * alpha) P Q a1 p q); auto. Qed.

Section Selections.
Variables (X O : Type) (neighbours : X -> X -> Prop) (outcomes : list O).
Hypothesis some : outcomes <> [].

(* A selection: scores, a bound of their sensitivity, and eps, all chosen by the outputs so far. *)
Record selection := { score : X -> list O -> O -> R; sensitivity : list O -> R; epsilon : list O -> R;
  sensitivity_pos : forall past, 0 < sensitivity past; epsilon_nonneg : forall past, 0 <= epsilon past;
  sensitive : forall past x x', neighbours x x' -> scores_within outcomes (sensitivity past) (score x past) (score x' past) }.

(* The round of a selection: the exponential mechanism, at the cost eps^2 / 8. *)
Definition select (s : selection) : round X O :=
  (fun x past o => exponential outcomes (epsilon s past) (sensitivity s past) (score s x past) o, fun past => epsilon s past ^ 2 / 8).

(* Adaptive selections whose costs eps^2 / 8 never add up to more than rho are together (rho + 2 sqrt(rho ln(1/delta)), delta)-private. *)
Theorem selections_private (selections : list selection) rho delta : 0 <= rho -> 0 < delta < 1 ->
  never_above X O outcomes rho (map select selections) ->
  approximately_private neighbours (outputs X O outcomes (map select selections)) (joint X O (map select selections) [])
    (rho + 2 * sqrt (rho * ln (/ delta))) delta.
Proof using some.
  intros r0 d B. apply aim_budget; try assumption. unfold each_concentrated. apply Forall_map, Forall_forall.
  intros s _ past. simpl. assert (L : forall x, positive_law outcomes (exponential outcomes (epsilon s past) (sensitivity s past) (score s x past))).
  { intros x. now apply exponential_is_law. }
  split; [intros x; apply L|]. intros x x' near. apply concentrated_positive; [apply L|apply L|].
  destruct (exponential_zcdp outcomes (epsilon s past) (sensitivity s past) some (sensitivity_pos s past) (epsilon_nonneg s past)) as [_ Z].
  apply (Z (score s x past) (score s x' past)). now apply sensitive.
Qed.
End Selections.
