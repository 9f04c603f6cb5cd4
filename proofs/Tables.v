(* miura2022, Tables 1 and 2: each of the 40 printed numbers is its formula's value, rounded to the printed digits.

   The numbers are computed in interval arithmetic of 120 binary digits (coq-interval), which proves both ends; it uses the machine's
   63-bit whole numbers, whose rules are the axioms that it brings. Cells.v is written from the ledger, book/claims.yml. *)
From Coq Require Import Reals ZArith List Lra.
From Interval Require Import Tactic.
From Compendium Require Import Formulas Cells.
Import ListNotations.
Local Open Scope R_scope.

(* The document's setting: d = 6 attributes. *)
Definition d : R := 6.
(* sigma = 0.01: no eigenvalue of the covariance lies below it. *)
Definition sigma : R := 1 / 100.

(* The Renyi epsilon of a release of n records, with the formula of the cell's neighbours. *)
Definition renyi_cell (c : cell) : R :=
  whole (IZR (n c)) (match kind c with
    | private_n => eps_unbounded (IZR (n c)) (IZR (alpha c)) d sigma
    | public_n => eps_bounded (IZR (n c)) (IZR (alpha c)) d sigma end).
(* What stands in a cell: of Table 1 that epsilon, of Table 2 the epsilon at delta = 10^-k. *)
Definition value (c : cell) : R :=
  match k c with None => renyi_cell c | Some k => converted (IZR (alpha c)) (renyi_cell c) (/ IZR (10 ^ k)) end.

(* m / 10^e is the value, rounded: within half a unit of the last printed place. *)
Definition rounds_to_printed (c : cell) : Prop :=
  Rabs (value c - IZR (m c) / IZR (10 ^ Z.of_nat (e c))) <= 1 / 2 / IZR (10 ^ Z.of_nat (e c)).

(* interval knows no Rmin and no Rmax: which side counts is proved first. *)
Ltac cell :=
  unfold rounds_to_printed, value, renyi_cell, whole, converted, eps_unbounded, eps_added, eps_removed, eps_bounded, tau, d, sigma, Rpower;
  cbn [kind n alpha k m e];
  repeat match goal with |- context [IZR (10 ^ ?x)] => let y := eval compute in (10 ^ x)%Z in change (10 ^ x)%Z with y end;
  rewrite ?Rinv_inv;
  replace (4 * 6 / (1 / 100)) with 2400 by lra;
  try (first [rewrite (Rmin_right 1 ((1 + _) / _)) by interval with (i_prec 120) | rewrite (Rmin_left 1 ((1 + _) / _)) by interval with (i_prec 120)];
       first [rewrite (Rmin_right 1 ((1 - _) / _)) by interval with (i_prec 120) | rewrite (Rmin_left 1 ((1 - _) / _)) by interval with (i_prec 120)];
       first [rewrite Rmax_right by (apply Rminus_le; interval with (i_prec 120)) | rewrite Rmax_left by (apply Rminus_le; interval with (i_prec 120))]);
  interval with (i_prec 120).

(* All 40 printed numbers of Tables 1 and 2 are their formulas' values, rounded. *)
Theorem tables_1_and_2 : length cells = 40%nat /\ Forall rounds_to_printed cells.
Proof. split; [reflexivity|]. unfold cells. repeat apply Forall_cons; try apply Forall_nil; cell. Qed.
