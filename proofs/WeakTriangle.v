(* miura2022, Lemma A.1.2: the weak triangle inequality of Renyi divergence, as printed, is false.

   Its factor stands upside down: (alpha - 1) / (alpha - 1/p) where Mironov (2017) has (alpha - 1/p) / (alpha - 1).
   The document's own example of a divergence is between Gaussians; a coin is enough. In lib: accounting/divergence.py, renyi_discrete. *)
From Coq Require Import Reals Lra List Bool.
From Compendium Require Import Finite.
Import ListNotations.
Local Open Scope R_scope.

(* Definition 2.2 for two laws of positive probabilities on finitely many outcomes: log(sum P^alpha Q^(1 - alpha)) / (alpha - 1). *)
Definition renyi {A} (outcomes : list A) (alpha : R) (P Q : A -> R) : R :=
  / (alpha - 1) * ln (sum outcomes (fun a => Rpower (P a) alpha * Rpower (Q a) (1 - alpha))).

(* A law that gives each outcome of the list a positive probability. *)
Definition positive_law {A} (outcomes : list A) (P : A -> R) : Prop := law outcomes P /\ forall a, In a outcomes -> 0 < P a.

(* The inequality with a factor that depends on alpha and p. *)
Definition weak_triangle (factor : R -> R -> R) : Prop :=
  forall (A : Type) (outcomes : list A) (P Q R : A -> R), 
  positive_law outcomes P -> positive_law outcomes Q -> positive_law outcomes R ->
  forall alpha p q, 1 < alpha -> 1 < p -> 1 < q -> / p + / q = 1 ->
  renyi outcomes alpha P Q <= factor alpha p * renyi outcomes (p * alpha) P R + renyi outcomes (q * (alpha - / p)) R Q.

(* The factor that is printed in Lemma A.1.2. *)
Definition printed_factor (alpha p : R) : R := (alpha - 1) / (alpha - / p).

(* At alpha = p = q = 2: a coin that shows heads with probability 1/3 against one with 2/3, which is its own way station. *)
Definition coin (heads : R) (b : bool) : R := if b then heads else 1 - heads.

Lemma coin_positive h : 0 < h < 1 -> positive_law [true; false] (coin h).
Proof. intros H. split; [split|]; simpl; try lra; intros a [<-|[<-|[]]]; simpl; lra. Qed.

Lemma moment h g (m : nat) : 0 < h < 1 -> 0 < g < 1 ->
  sum [true; false] (fun a => Rpower (coin h a) (INR (S m)) * Rpower (coin g a) (1 - INR (S m)))
  = h ^ S m / g ^ m + (1 - h) ^ S m / (1 - g) ^ m.
Proof.
  intros H G. assert (E : forall x, 0 < x -> Rpower x (1 - INR (S m)) = / x ^ m).
  { intros x x0. rewrite S_INR. replace (1 - (INR m + 1)) with (- INR m) by ring. now rewrite Rpower_Ropp, Rpower_pow. }
  cbn [sum coin]. rewrite !E, !Rpower_pow by lra. unfold Rdiv. ring.
Qed.

(* The weak triangle inequality with the printed factor is false. *)
Theorem printed_weak_triangle_is_false : ~ weak_triangle printed_factor.
Proof.
  intros H. assert (a0 : 0 < 1 / 3 < 1) by lra. assert (b0 : 0 < 2 / 3 < 1) by lra.
  specialize (H bool [true; false] (coin (1 / 3)) (coin (2 / 3)) (coin (2 / 3))
    (coin_positive _ a0) (coin_positive _ b0) (coin_positive _ b0) 2 2 2 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)).
  unfold renyi, printed_factor in H.
  replace (2 * 2) with (INR 4) in H by (simpl; ring). replace (2 * (2 - / 2)) with (INR 3) in H by (simpl; field).
  assert (E := moment (1 / 3) (2 / 3) 1 a0 b0). replace (INR 2) with 2 in E by (simpl; ring). rewrite E in H. clear E.
  replace ((1 / 3) ^ 2 / (2 / 3) ^ 1 + (1 - 1 / 3) ^ 2 / (1 - 2 / 3) ^ 1) with (3 / 2) in H by field.
  rewrite (moment (1 / 3) (2 / 3) 3), (moment (2 / 3) (2 / 3) 2) in H by assumption.
  replace ((1 / 3) ^ 4 / (2 / 3) ^ 3 + (1 - 1 / 3) ^ 4 / (1 - 2 / 3) ^ 3) with (43 / 8) in H by field.
  replace ((2 / 3) ^ 3 / (2 / 3) ^ 2 + (1 - 2 / 3) ^ 3 / (1 - 2 / 3) ^ 2) with 1 in H by field.
  rewrite ln_1 in H. simpl INR in H.
  assert (G : 9 * ln (3 / 2) <= 2 * ln (43 / 8)) by lra.
  assert (L : forall n x, 0 < x -> INR n * ln x = ln (x ^ n)).
  { intros n x x0. rewrite <- Rpower_pow by assumption. unfold Rpower. now rewrite ln_exp. }
  replace 9 with (INR 9) in G by (simpl; ring). replace (2 * ln (43 / 8)) with (INR 2 * ln (43 / 8)) in G by (simpl; ring).
  rewrite !L in G by lra. assert (F : ln ((43 / 8) ^ 2) < ln ((3 / 2) ^ 9)) by (apply ln_increasing; lra). lra.
Qed.
