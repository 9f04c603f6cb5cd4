(* Zero-concentrated privacy from bounded range: an eps-bounded-range mechanism is (eps^2 / 8)-zCDP.

   Bounded range (Durfee and Rogers 2019), the theorem (Cesar and Rogers 2021; miura2025, Definition 2.6). In lib: accounting/conversions.py,
   bounded_range_zcdp and pure_dp_to_zcdp; mechanisms/selection.py, the exponential mechanism. Finitely many outcomes, all possible. *)
From Coq Require Import Reals Lra List.
From Coquelicot Require Import Coquelicot.
From Compendium Require Import Finite WeakTriangle.
Import ListNotations.
Local Open Scope R_scope.

(* The likelihood ratios of any two outcomes differ by a factor of e^eps at most. *)
Definition bounded_range {X A} (neighbours : X -> X -> Prop) (outcomes : list A) (M : X -> A -> R) (eps : R) : Prop :=
  forall x x', neighbours x x' -> forall a b, In a outcomes -> In b outcomes ->
  M x a / M x' a <= exp eps * (M x b / M x' b).

(* rho-zero-concentrated differential privacy: the Renyi divergence of every order alpha > 1 is at most rho alpha. *)
Definition zero_concentrated {X A} (neighbours : X -> X -> Prop) (outcomes : list A) (M : X -> A -> R) (rho : R) : Prop :=
  forall x x', neighbours x x' -> forall alpha, 1 < alpha -> renyi outcomes alpha (M x) (M x') <= rho * alpha.

Lemma derive_sum {A} (l : list A) (f f' : A -> R -> R) s : (forall a, is_derive (f a) s (f' a s)) ->
  is_derive (fun s => sum l (fun a => f a s)) s (sum l (fun a => f' a s)).
Proof.
  intros H. induction l as [|a l IH]; simpl; [apply (is_derive_const (V := R_NormedModule))|].
  now apply (is_derive_plus (V := R_NormedModule) (f a)).
Qed.

Section Pair.
Variables (A : Type) (l : list A) (P Q : A -> R) (eps : R).
Hypotheses (lP : positive_law l P) (lQ : positive_law l Q).

Let L (a : A) : R := ln (P a) - ln (Q a).
Let S0 (s : R) : R := sum l (fun a => Q a * exp (s * L a)).
Let S1 (s : R) : R := sum l (fun a => Q a * (L a * exp (s * L a))).
Let S2 (s : R) : R := sum l (fun a => Q a * (L a * (L a * exp (s * L a)))).

Lemma some : l <> [].
Proof using lP. intros E. destruct lP as [[_ H] _]. rewrite E in H. simpl in H. lra. Qed.

Lemma least : exists a, In a l /\ forall b, In b l -> L a <= L b.
Proof using lP.
  assert (N := some). clear lP lQ. induction l as [|a m IH]; [congruence|]. destruct m as [|b m].
  - exists a. split; [now left|]. intros c [<-|[]]. lra.
  - destruct IH as [c [Hc Lc]]; [discriminate|]. destruct (Rle_or_lt (L a) (L c)) as [H|H].
    + exists a. split; [now left|]. intros e [<-|He]; [lra|]. apply Rle_trans with (1 := H); auto.
    + exists c. split; [now right|]. intros e [<-|He]; [lra|auto].
Qed.

Lemma S0_pos s : 0 < S0 s.
Proof using lP lQ.
  unfold S0. destruct lQ as [_ pos]. assert (N := some). clear lP lQ. induction l as [|a m IH]; [congruence|]. simpl.
  assert (0 < Q a * exp (s * L a)) by (apply Rmult_lt_0_compat; [apply pos; now left|apply exp_pos]).
  destruct m as [|b m]; [simpl; lra|]. assert (0 < sum (b :: m) (fun a => Q a * exp (s * L a))); [|simpl in *; lra].
  apply IH; [|discriminate]. intros c Hc. apply pos. now right.
Qed.

Lemma S0_derive s : is_derive S0 s (S1 s).
Proof using. apply (derive_sum l (fun a s => Q a * exp (s * L a)) (fun a s => Q a * (L a * exp (s * L a)))). intros a. auto_derive; [exact I|ring]. Qed.

Lemma S1_derive s : is_derive S1 s (S2 s).
Proof using. apply (derive_sum l (fun a s => Q a * (L a * exp (s * L a))) (fun a s => Q a * (L a * (L a * exp (s * L a))))). intros a. auto_derive; [exact I|ring]. Qed.

Lemma moments alpha : sum l (fun a => Rpower (P a) alpha * Rpower (Q a) (1 - alpha)) = S0 alpha.
Proof using lP lQ.
  apply sum_ext. intros a Ha. destruct lP as [_ pP], lQ as [_ pQ].
  unfold Rpower. rewrite <- exp_plus. rewrite <- (exp_ln (Q a)) at 2 by auto. rewrite <- exp_plus. f_equal. unfold L. ring.
Qed.

Lemma S0_ends : S0 0 = 1 /\ S0 1 = 1.
Proof using lP lQ.
  destruct lP as [[_ sP] pP], lQ as [[_ sQ] pQ]. split.
  - transitivity (sum l Q); [|exact sQ]. apply sum_ext. intros a _. rewrite Rmult_0_l, exp_0. ring.
  - transitivity (sum l P); [|exact sP]. apply sum_ext. intros a Ha. unfold L. rewrite Rmult_1_l. unfold Rminus. rewrite exp_plus, exp_Ropp, !exp_ln by auto.
    field. apply Rgt_not_eq. now apply pQ.
Qed.

Hypothesis range : forall a b, In a l -> In b l -> P a / Q a <= exp eps * (P b / Q b).

(* A variable in an interval of length eps has a variance of eps^2 / 4 at most, whatever its law. *)
Lemma variance s : S2 s * S0 s - S1 s * S1 s <= eps ^ 2 / 4 * (S0 s * S0 s).
Proof using lP lQ range.
  destruct least as [a0 [H0 H1]]. set (t := L a0) in *.
  assert (R1 : forall a, In a l -> t <= L a <= t + eps).
  { intros a Ha. split; [auto|]. destruct lP as [_ pP], lQ as [_ pQ]. assert (G := range a a0 Ha H0). unfold t, L.
    assert (D : forall c, In c l -> 0 < P c / Q c) by (intros c Hc; apply Rdiv_lt_0_compat; auto).
    assert (E : forall c, In c l -> ln (P c) - ln (Q c) = ln (P c / Q c)).
    { intros c Hc. unfold Rdiv. rewrite ln_mult, ln_Rinv; auto. apply Rinv_0_lt_compat; auto. }
    rewrite !E by assumption. rewrite <- (ln_exp eps). rewrite Rplus_comm, <- ln_mult; auto using exp_pos. apply ln_le; auto. }
  assert (N : 0 <= sum l (fun a => Q a * exp (s * L a) * ((L a - t) * (t + eps - L a)))).
  { apply sum_nonneg. intros a Ha. destruct lQ as [_ pQ].
    assert (B := R1 a Ha). apply Rmult_le_pos; [apply Rmult_le_pos; [apply Rlt_le; auto|apply Rlt_le, exp_pos]|apply Rmult_le_pos; lra]. }
  assert (E : sum l (fun a => Q a * exp (s * L a) * ((L a - t) * (t + eps - L a)))
              = - S2 s + (2 * t + eps) * S1 s - t * (t + eps) * S0 s).
  { unfold S0, S1, S2. clear. induction l as [|a m IH]; simpl; [ring|]. rewrite IH. ring. }
  rewrite E in N. assert (S := S0_pos s).
  assert (M : 0 <= S0 s * (- S2 s + (2 * t + eps) * S1 s - t * (t + eps) * S0 s)) by (apply Rmult_le_pos; lra).
  assert (K := Rle_0_sqr (S1 s - (t + eps / 2) * S0 s)). unfold Rsqr in K. nra.
Qed.

(* g(s) = log S0(s) - s (s - 1) eps^2 / 8 is concave and 0 at 0 and 1, so that it is nowhere positive beyond 1. *)
Let g' (s : R) : R := S1 s / S0 s - (2 * s - 1) * (eps ^ 2 / 8).

Lemma ln_S0_derive s : is_derive (fun s => ln (S0 s)) s (S1 s / S0 s).
Proof using lP lQ.
  apply is_derive_Reals. replace (S1 s / S0 s) with (/ S0 s * S1 s) by (unfold Rdiv; ring).
  apply (derivable_pt_lim_comp S0 ln); [apply is_derive_Reals, S0_derive|apply derivable_pt_lim_ln, S0_pos].
Qed.

Lemma ratio_derive s : is_derive (fun s => S1 s / S0 s) s ((S2 s * S0 s - S1 s * S1 s) / (S0 s * S0 s)).
Proof using lP lQ.
  apply is_derive_Reals, (derivable_pt_lim_div S1 S0); [apply is_derive_Reals, S1_derive|apply is_derive_Reals, S0_derive|].
  apply Rgt_not_eq, S0_pos.
Qed.

Lemma g_derive s : is_derive (fun s => ln (S0 s) - s * (s - 1) * (eps ^ 2 / 8)) s (g' s).
Proof using lP lQ.
  apply (is_derive_minus (V := R_NormedModule) (fun s => ln (S0 s))); [apply ln_S0_derive|]. auto_derive; [exact I|field].
Qed.

Lemma g'_falls s u : s < u -> g' u <= g' s.
Proof using lP lQ range.
  intros H. destruct (MVT_cor2 g' (fun s => (S2 s * S0 s - S1 s * S1 s) / (S0 s * S0 s) - eps ^ 2 / 4) s u H) as [c [E _]].
  - intros c _. apply is_derive_Reals. unfold g'.
    apply (is_derive_minus (V := R_NormedModule) (fun s => S1 s / S0 s)); [apply ratio_derive|]. auto_derive; [exact I|field].
  - assert (V := variance c). assert (P0 := S0_pos c). assert (P1 : 0 < S0 c * S0 c) by now apply Rmult_lt_0_compat.
    assert (W : (S2 c * S0 c - S1 c * S1 c) / (S0 c * S0 c) <= eps ^ 2 / 4).
    { apply (Rmult_le_reg_r (S0 c * S0 c)); [assumption|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. lra. }
    nra.
Qed.

Lemma concentrated alpha : 1 < alpha -> renyi l alpha P Q <= eps ^ 2 / 8 * alpha.
Proof using lP lQ range.
  intros Ha. unfold renyi. rewrite moments. pose (g := fun s => ln (S0 s) - s * (s - 1) * (eps ^ 2 / 8)).
  assert (D : forall c, derivable_pt_lim g c (g' c)) by (intros c; apply is_derive_Reals, g_derive).
  destruct (MVT_cor2 g g' 0 1 Rlt_0_1) as [c [E [_ c1]]]; [intros; apply D|].
  destruct (MVT_cor2 g g' 1 alpha Ha) as [e [F [e1 _]]]; [intros; apply D|].
  destruct S0_ends as [Z O]. unfold g in E, F. rewrite Z, O, ln_1 in E. rewrite O, ln_1 in F.
  assert (G := g'_falls c e ltac:(lra)).
  assert (H : ln (S0 alpha) <= alpha * (alpha - 1) * (eps ^ 2 / 8)) by nra.
  apply (Rmult_le_reg_l (alpha - 1)); [lra|]. rewrite <- Rmult_assoc, Rinv_r by lra. lra.
Qed.
End Pair.

Section Mechanism.
Variables (X A : Type) (neighbours : X -> X -> Prop) (outcomes : list A) (M : X -> A -> R) (eps : R).
Hypothesis laws : forall x, positive_law outcomes (M x).

(* An eps-bounded-range mechanism with finitely many outcomes, all possible, is (eps^2 / 8)-zero-concentrated differentially private. *)
Theorem bounded_range_zcdp : bounded_range neighbours outcomes M eps -> zero_concentrated neighbours outcomes M (eps ^ 2 / 8).
Proof using laws. intros H x x' near alpha Ha. apply concentrated; auto. Qed.

(* An eps-differentially private mechanism with finitely many outcomes, all possible, is (eps^2 / 2)-zero-concentrated differentially private. *)
Theorem pure_dp_zcdp : private neighbours (fun a => In a outcomes) M eps -> zero_concentrated neighbours outcomes M (eps ^ 2 / 2).
Proof using laws.
  intros H x x' near alpha Ha. replace (eps ^ 2 / 2) with ((2 * eps) ^ 2 / 8) by field. apply concentrated; auto.
  intros a b Ia Ib. destruct (laws x) as [_ px], (laws x') as [_ px'].
  assert (H1 := private_outcome _ _ _ _ x x' a H near Ia).
  destruct (H x x' near [b]) as [_ H2]; [repeat constructor; auto|repeat constructor; auto|]. simpl in H2. rewrite !Rplus_0_r in H2.
  assert (Pa := px' a Ia). assert (Pb := px' b Ib). replace (exp (2 * eps)) with (exp eps * exp eps) by (rewrite <- exp_plus; f_equal; ring).
  assert (E := exp_pos eps).
  apply Rle_trans with (exp eps).
  - apply (Rmult_le_reg_r (M x' a)); [assumption|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
  - apply (Rmult_le_reg_r (M x' b)); [assumption|].
    replace (exp eps * exp eps * (M x b / M x' b) * M x' b) with (exp eps * (exp eps * M x b)) by (field; lra).
    apply Rmult_le_compat_l; lra.
Qed.
End Mechanism.

(* The exponential mechanism: outcome a with a probability in proportion to e^(eps u(a) / (2 Delta)), for scores u. *)
Definition exponential {A} (outcomes : list A) (eps sensitivity : R) (u : A -> R) (a : A) : R :=
  exp (eps * u a / (2 * sensitivity)) / sum outcomes (fun b => exp (eps * u b / (2 * sensitivity))).

(* Neighbours change no score by more than the sensitivity. *)
Definition scores_within {A} (outcomes : list A) (sensitivity : R) (u u' : A -> R) : Prop :=
  forall a, In a outcomes -> Rabs (u a - u' a) <= sensitivity.

Lemma exponential_is_law {A} (outcomes : list A) eps sensitivity u : outcomes <> [] ->
  positive_law outcomes (exponential outcomes eps sensitivity u).
Proof.
  intros N. assert (Z : 0 < sum outcomes (fun b => exp (eps * u b / (2 * sensitivity)))).
  { induction outcomes as [|a m IH]; [congruence|]. simpl. assert (E := exp_pos (eps * u a / (2 * sensitivity))).
    destruct m as [|b m]; [simpl; lra|]. assert (G := IH ltac:(discriminate)). lra. }
  assert (P : forall a, 0 < exponential outcomes eps sensitivity u a) by (intros; apply Rdiv_lt_0_compat; [apply exp_pos|assumption]).
  split; [split|]; auto; [intros; now apply Rlt_le|].
  unfold exponential, Rdiv at 1.
  rewrite (sum_ext _ _ (fun a => / sum outcomes (fun b => exp (eps * u b / (2 * sensitivity))) * exp (eps * u a / (2 * sensitivity)))) by (intros; ring).
  rewrite sum_scale. apply Rinv_l. lra.
Qed.

(* The exponential mechanism has bounded range eps; so it is (eps^2 / 8)-zero-concentrated private, for scores of that sensitivity. *)
Theorem exponential_zcdp {A} (outcomes : list A) eps sensitivity : outcomes <> [] -> 0 < sensitivity -> 0 <= eps ->
  bounded_range (scores_within outcomes sensitivity) outcomes (exponential outcomes eps sensitivity) eps /\
  zero_concentrated (scores_within outcomes sensitivity) outcomes (exponential outcomes eps sensitivity) (eps ^ 2 / 8).
Proof.
  intros N s0 e0.
  assert (B : bounded_range (scores_within outcomes sensitivity) outcomes (exponential outcomes eps sensitivity) eps).
  { intros u u' near a b Ha Hb.
    assert (Z : forall w, 0 < sum outcomes (fun b => exp (eps * w b / (2 * sensitivity)))).
    { intros w. clear Ha Hb near. induction outcomes as [|c m IH]; [congruence|]. simpl. assert (E := exp_pos (eps * w c / (2 * sensitivity))).
      destruct m as [|c' m]; [simpl; lra|]. assert (G := IH ltac:(discriminate)). lra. }
    assert (R1 : forall c, exponential outcomes eps sensitivity u c / exponential outcomes eps sensitivity u' c
      = sum outcomes (fun b => exp (eps * u' b / (2 * sensitivity))) / sum outcomes (fun b => exp (eps * u b / (2 * sensitivity)))
        * exp (eps / (2 * sensitivity) * (u c - u' c))).
    { intros c. unfold exponential. replace (eps / (2 * sensitivity) * (u c - u' c)) with (eps * u c / (2 * sensitivity) + - (eps * u' c / (2 * sensitivity))) by (field; lra).
      rewrite exp_plus, exp_Ropp. field. repeat split; apply Rgt_not_eq; [apply exp_pos|apply Z|apply Z]. }
    rewrite !R1. set (k := _ / _). assert (K : 0 < k) by (apply Rdiv_lt_0_compat; apply Z).
    replace (exp eps * (k * exp (eps / (2 * sensitivity) * (u b - u' b)))) with (k * exp (eps + eps / (2 * sensitivity) * (u b - u' b))) by (rewrite exp_plus; ring).
    apply Rmult_le_compat_l; [lra|].
    assert (Da := near a Ha). assert (Db := near b Hb). apply Rabs_le_between in Da. apply Rabs_le_between in Db.
    assert (F : eps / (2 * sensitivity) * (u a - u' a) <= eps + eps / (2 * sensitivity) * (u b - u' b)).
    { assert (q0 : 0 <= eps / (2 * sensitivity)) by (apply Rdiv_le_0_compat; lra).
      replace eps with (eps / (2 * sensitivity) * (2 * sensitivity)) at 2 by (field; lra). nra. }
    destruct F as [F|F]; [left; now apply exp_increasing|right; now rewrite F]. }
  split; [exact B|]. apply bounded_range_zcdp; [intros; now apply exponential_is_law|exact B].
Qed.

(* Where one sum is no larger than another, one of its terms is no larger. *)
Lemma somewhere {A} (l : list A) f g : l <> [] -> sum l f <= sum l g -> exists a, In a l /\ f a <= g a.
Proof.
  induction l as [|a l IH]; [congruence|]. intros _ H. simpl in H.
  destruct (Rle_lt_dec (f a) (g a)) as [L|L]; [exists a; split; [now left|exact L]|].
  destruct l as [|b l]; [simpl in H; lra|]. destruct IH as [c [I C]]; [discriminate|lra|]. exists c. split; [now right|exact C].
Qed.

(* The exponential mechanism is eps-differentially private, for scores of that sensitivity. *)
Theorem exponential_private {A} (outcomes : list A) eps sensitivity : outcomes <> [] -> 0 < sensitivity -> 0 <= eps ->
  private (scores_within outcomes sensitivity) (fun a => In a outcomes) (exponential outcomes eps sensitivity) eps.
Proof.
  intros N s0 e0. apply private_by_outcome; [intros u u' near a Ha; rewrite Rabs_minus_sym; now apply near|].
  intros u u' a near Ha. destruct (exponential_zcdp outcomes eps sensitivity N s0 e0) as [B _].
  destruct (exponential_is_law outcomes eps sensitivity u N) as [[_ S] P], (exponential_is_law outcomes eps sensitivity u' N) as [[_ S'] P'].
  destruct (somewhere outcomes (exponential outcomes eps sensitivity u) (exponential outcomes eps sensitivity u') N) as [b [Hb C]]; [lra|].
  specialize (B u u' near a b Ha Hb). assert (Pa := P' a Ha). assert (Pb := P' b Hb). assert (E := exp_pos eps).
  apply (Rmult_le_reg_r (/ exponential outcomes eps sensitivity u' a)); [now apply Rinv_0_lt_compat|].
  rewrite Rmult_assoc, Rinv_r, Rmult_1_r by lra. apply Rle_trans with (1 := B).
  rewrite <- (Rmult_1_r (exp eps)) at 2. apply Rmult_le_compat_l; [lra|].
  apply (Rmult_le_reg_r (exponential outcomes eps sensitivity u' b)); [exact Pb|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
