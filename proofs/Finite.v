(* Finite sums, distributions and differential privacy, as every file on discrete mechanisms uses them.

   A mechanism is a function M: `M x a` is the probability that it outputs a when its input is x. *)
From Coq Require Import Reals Lra List.
Import ListNotations.
Local Open Scope R_scope.

(* The sum of f(a) over the entries a of a list. *)
Fixpoint sum {A} (l : list A) (f : A -> R) : R :=
  match l with [] => 0 | a :: rest => f a + sum rest f end.

(* p is a probability distribution on the finitely many outcomes of the list. *)
Definition law {A} (outcomes : list A) (p : A -> R) : Prop :=
  (forall a, In a outcomes -> 0 <= p a) /\ sum outcomes p = 1.

(* Pure differential privacy: for all neighbours, in both orders, and every event, that is every finite set of
   possible outcomes, Pr[M(x) in event] <= e^eps Pr[M(x') in event]. (Where the outcomes are countably many, an infinite event
   is a limit of finite ones.) *)
Definition private {X A} (neighbours : X -> X -> Prop) (possible : A -> Prop) (M : X -> A -> R) (eps : R) : Prop :=
  forall x x', neighbours x x' -> forall event, NoDup event -> Forall possible event ->
  sum event (M x) <= exp eps * sum event (M x') /\ sum event (M x') <= exp eps * sum event (M x).

Lemma sum_ext {A} (l : list A) f g : (forall a, In a l -> f a = g a) -> sum l f = sum l g.
Proof. induction l as [|a l IH]; simpl; intros H; [reflexivity|]. rewrite (H a), IH; auto. Qed.

Lemma sum_plus {A} (l : list A) f g : sum l (fun a => f a + g a) = sum l f + sum l g.
Proof. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. ring. Qed.

Lemma sum_scale {A} (l : list A) c f : sum l (fun a => c * f a) = c * sum l f.
Proof. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. ring. Qed.

Lemma sum_le {A} (l : list A) f g : (forall a, In a l -> f a <= g a) -> sum l f <= sum l g.
Proof. induction l as [|a l IH]; simpl; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.

Lemma sum_nonneg {A} (l : list A) f : (forall a, In a l -> 0 <= f a) -> 0 <= sum l f.
Proof. induction l as [|a l IH]; simpl; intros H; [lra|]. apply Rplus_le_le_0_compat; auto. Qed.

Lemma sum_app {A} (l m : list A) f : sum (l ++ m) f = sum l f + sum m f.
Proof. induction l as [|a l IH]; simpl; [lra|]. rewrite IH. ring. Qed.

(* It is enough to look at single outcomes. *)
Lemma private_by_outcome {X A} (neighbours : X -> X -> Prop) (possible : A -> Prop) (M : X -> A -> R) eps :
  (forall x x', neighbours x x' -> neighbours x' x) ->
  (forall x x' a, neighbours x x' -> possible a -> M x a <= exp eps * M x' a) ->
  private neighbours possible M eps.
Proof.
  intros sym H x x' near event _ poss. rewrite Forall_forall in poss.
  split; rewrite <- sum_scale; apply sum_le; intros a Ha; apply H; auto.
Qed.

Lemma private_outcome {X A} neighbours (possible : A -> Prop) (M : X -> A -> R) eps x x' a :
  private neighbours possible M eps -> neighbours x x' -> possible a -> M x a <= exp eps * M x' a.
Proof.
  intros H near poss. destruct (H x x' near [a]) as [G _]; simpl in *; [repeat constructor; auto..|lra].
Qed.

Lemma exp_ge_1 eps : 0 <= eps -> 1 <= exp eps.
Proof. intros H. destruct (Req_dec eps 0) as [->|N]; [rewrite exp_0; lra|]. assert (1 + eps < exp eps) by (apply exp_ineq1; lra). lra. Qed.

(* Privacy at a larger eps is asked less. *)
Lemma exp_le_inv x y : exp x <= exp y -> x <= y.
Proof. intros [H|H]; [left; now apply exp_lt_inv|right; now apply exp_inv]. Qed.
