(* sei2017, Theorem 4: AnonymizedLearning, and four records by which it is not parameter-based eps-differentially private.

   The networks here have one input, no hidden layer and two classes: four parameters, for which the document's equations (1) to (6) and
   (16) to (18) are written out. Every mended formula of the errata is used in its mended form. Evidence of another kind: notebooks/sei2017/01_theory. *)
From Coq Require Import Reals Lra Psatz List Bool FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
Import ListNotations.
Local Open Scope R_scope.

(* What f of the output is on average, if the output is c plus Laplace noise, limited to [low, high], in which c lies: two values have
   positive probability (Lemma 1), and between them there is a density. *)
Definition noisy (low high scale c : R) (f : R -> R) : R :=
  f low * (/ 2 * exp (- (c - low) / scale)) + f high * (/ 2 * exp (- (high - c) / scale))
  + RInt (fun x => f x * (/ (2 * scale) * exp (- Rabs (x - c) / scale))) low high.

(* A record: an input in [0, 1], and whether it is of class 1, not of class 0. *)
Record record := { input : R; second : bool }.
(* The weights from the input to either class, and the biases of both. *)
Record model := { w0 : R; w1 : R; b0 : R; b1 : R }.
(* All weights and biases are 0 at the start. *)
Definition start : model := {| w0 := 0; w1 := 0; b0 := 0; b1 := 0 |}.

(* Softmax: the output of class 0; that of class 1 is 1 less it. *)
Definition output (m : model) (x : R) : R := exp (w0 m * x + b0 m) / (exp (w0 m * x + b0 m) + exp (w1 m * x + b1 m)).
(* The error signal of class 0, output less target; that of class 1 is the opposite number. *)
Definition signal (m : model) (r : record) : R := output m (input r) - (if second r then 0 else 1).
(* What a batch says of a change: of a weight with the input as a factor, of a bias without. *)
Fixpoint total (f : record -> R) (batch : list record) : R :=
  match batch with [] => 0 | r :: rest => f r + total f rest end.
(* x, limited to [low, high]. *)
Definition limit (low high x : R) : R := Rmin high (Rmax low x).

(* The settings: epsilon, learning rate, factor of the L2 term, thresholds of the changes, epochs. *)
Record settings := { eps : R; rate : R; decay : R; low : R; high : R; epochs : nat }.

(* A step down, by changes that are given: (5) for weights and (6) for biases. *)
Definition update (s : settings) (B : R) (m : model) (c0 c1 e0 e1 : R) : model :=
  {| w0 := w0 m - rate s / B * (c0 + decay s * w0 m); w1 := w1 m - rate s / B * (c1 + decay s * w1 m);
     b0 := b0 m - rate s / B * e0; b1 := b1 m - rate s / B * e1 |}.

(* Each change is limited, gets noise of its own, and is limited again. What f of the model after the batch is on average: *)
Definition step (s : settings) (batch : list record) (m : model) (f : model -> R) : R :=
  let change c g := noisy (low s) (high s) ((high s - low s) * INR (epochs s) / eps s) (limit (low s) (high s) c) g in
  let weight := total (fun r => input r * signal m r) batch in
  let bias := total (fun r => signal m r) batch in
  change weight (fun c0 => change (- weight) (fun c1 => change bias (fun e0 => change (- bias) (fun e1 =>
    f (update s (INR (length batch)) m c0 c1 e0 e1))))).

(* Batch after batch, and epoch after epoch. *)
Fixpoint learn (s : settings) (batches : list (list record)) (m : model) (f : model -> R) : R :=
  match batches with [] => f m | batch :: rest => step s batch m (fun m' => learn s rest m' f) end.
(* AnonymizedLearning: all batches, in each epoch, from the start. What f of the finished model is on average. *)
Definition anonymized_learning (s : settings) (data : list (list record)) (f : model -> R) : R :=
  learn s (concat (repeat data (epochs s))) start f.

(* The probability that a parameter of the finished model has one certain value. *)
Definition probability (s : settings) (data : list (list record)) (parameter : model -> R) (value : R) : R :=
  anonymized_learning s data (fun m => if Req_EM_T (parameter m) value then 1 else 0).

(* One record of one batch is replaced; inputs lie in [0, 1]. *)
Definition replaced (data data' : list (list record)) : Prop := exists before after left right r r',
  data = before ++ (left ++ r :: right) :: after /\ data' = before ++ (left ++ r' :: right) :: after /\
  List.Forall (List.Forall (fun r => 0 <= input r <= 1)) data /\ List.Forall (List.Forall (fun r => 0 <= input r <= 1)) data'.

(* What Theorem 4 says of these networks and of events that consist of one value: parameter-based eps-differential privacy. *)
Definition theorem4 : Prop := forall s data data', 0 < eps s -> 0 < rate s -> 0 <= decay s -> low s < high s -> (1 <= epochs s)%nat ->
  replaced data data' -> forall parameter, In parameter [w0; w1; b0; b1] -> forall value,
  probability s data parameter value <= exp (eps s) * probability s data' parameter value.

(* The errata's four records: two batches of two; neighbours differ in the class of the first record. *)
Definition four (class : bool) : list (list record) :=
  [[{| input := 1; second := class |}; {| input := 0; second := true |}]; [{| input := 1; second := false |}; {| input := 1; second := true |}]].

(* --------------------------------------------------------------- one noisy value *)

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [H| ->]; [left; now apply exp_increasing|lra]. Qed.

Section Noise.
Variable e : R.
Hypothesis e0 : 0 < e.
Let E (c : R) (f : R -> R) := noisy (- / 2) (/ 2) (/ e) c f.
(* For the proof: the density of the noise, within the thresholds. *)
Definition density (c x : R) : R := e / 2 * exp (- e * Rabs (x - c)).

(* For the proof: a function that nowhere grows faster than some constant. *)
Definition lipschitz (f : R -> R) := exists L, forall x y, Rabs (f x - f y) <= L * Rabs (x - y).

Lemma lipschitz_continuous f : lipschitz f -> forall x, continuous f x.
Proof using.
  intros [L H] x. assert (L' : 0 < Rabs L + 1) by (assert (P := Rabs_pos L); lra).
  apply filterlim_locally. intros d. exists (mkposreal _ (Rdiv_lt_0_compat _ _ (cond_pos d) L')). intros y Hy.
  change (Rabs (f y - f x) < d). change (Rabs (y - x) < d / (Rabs L + 1)) in Hy.
  apply Rle_lt_trans with (1 := H y x).
  apply Rle_lt_trans with ((Rabs L + 1) * Rabs (y - x)).
  - apply Rmult_le_compat_r; [apply Rabs_pos|]. assert (P := Rle_abs L). lra.
  - apply (Rmult_lt_compat_l (Rabs L + 1)) in Hy; [|assumption]. replace ((Rabs L + 1) * (d / (Rabs L + 1))) with (pos d) in Hy by (field; lra). assumption.
Qed.

Lemma density_continuous c x : continuous (density c) x.
Proof using.
  unfold density. apply (continuous_mult (fun _ => e / 2) (fun x => exp (- e * Rabs (x - c)))); [apply continuous_const|].
  apply (continuous_comp (fun x => - e * Rabs (x - c)) exp); [|apply continuity_pt_filterlim, derivable_continuous_pt, derivable_pt_exp].
  apply (continuous_mult (fun _ => - e) (fun x => Rabs (x - c))); [apply continuous_const|].
  apply (continuous_comp (fun x => x - c) Rabs); [|apply continuous_Rabs].
  apply (continuous_minus (fun x => x) (fun _ => c)); [apply continuous_id|apply continuous_const].
Qed.

Lemma integrable c f : lipschitz f -> ex_RInt (fun x => f x * density c x) (- / 2) (/ 2).
Proof using.
  intros H. apply (ex_RInt_continuous (fun x => f x * density c x)). intros x _. apply (continuous_mult f (density c)); [now apply lipschitz_continuous|apply density_continuous].
Qed.

Lemma E_density c f : E c f = f (- / 2) * (/ 2 * exp (- e * (c + / 2))) + f (/ 2) * (/ 2 * exp (- e * (/ 2 - c))) + RInt (fun x => f x * density c x) (- / 2) (/ 2).
Proof using e0.
  unfold E, noisy. replace (- (c - - / 2) / / e) with (- e * (c + / 2)) by (field; lra).
  replace (- (/ 2 - c) / / e) with (- e * (/ 2 - c)) by (field; lra). f_equal.
  apply RInt_ext. intros x _. unfold density. replace (- Rabs (x - c) / / e) with (- e * Rabs (x - c)) by (field; lra).
  replace (/ (2 * / e)) with (e / 2) by (field; lra). reflexivity.
Qed.

(* The whole mass is 1. *)
Lemma mass c : - / 2 <= c <= / 2 -> is_RInt (density c) (- / 2) (/ 2) (1 - / 2 * exp (- e * (c + / 2)) - / 2 * exp (- e * (/ 2 - c))).
Proof using e0.
  intros [c1 c2].
  assert (left : is_RInt (density c) (- / 2) c (/ 2 - / 2 * exp (- e * (c + / 2)))).
  { replace (/ 2 - / 2 * exp (- e * (c + / 2))) with (minus (/ 2 * exp (e * (c - c))) (/ 2 * exp (e * (- / 2 - c)))).
    2:{ unfold minus, plus, opp. simpl. rewrite Rminus_diag_eq, Rmult_0_r, exp_0 by reflexivity. replace (e * (- / 2 - c)) with (- e * (c + / 2)) by ring. lra. }
    apply (is_RInt_ext (fun x => e / 2 * exp (e * (x - c)))).
    - intros x. rewrite Rmin_left, Rmax_right by lra. intros Hx. unfold density. rewrite Rabs_left by lra. f_equal. f_equal. ring.
    - apply (is_RInt_derive (fun x => / 2 * exp (e * (x - c))) (fun x => e / 2 * exp (e * (x - c)))).
      + intros x _. auto_derive; [exact I|unfold Rminus; field].
      + intros x _. apply (@ex_derive_continuous R_AbsRing R_NormedModule). auto_derive. exact I. }
  assert (right : is_RInt (density c) c (/ 2) (/ 2 - / 2 * exp (- e * (/ 2 - c)))).
  { replace (/ 2 - / 2 * exp (- e * (/ 2 - c))) with (minus (- / 2 * exp (- e * (/ 2 - c))) (- / 2 * exp (- e * (c - c)))).
    2:{ unfold minus, plus, opp. simpl. rewrite (Rminus_diag_eq c c), Rmult_0_r, exp_0 by reflexivity. lra. }
    apply (is_RInt_ext (fun x => e / 2 * exp (- e * (x - c)))).
    - intros x. rewrite Rmin_left, Rmax_right by lra. intros Hx. unfold density. rewrite Rabs_right by lra. reflexivity.
    - apply (is_RInt_derive (fun x => - / 2 * exp (- e * (x - c))) (fun x => e / 2 * exp (- e * (x - c)))).
      + intros x _. auto_derive; [exact I|unfold Rminus; field].
      + intros x _. apply (@ex_derive_continuous R_AbsRing R_NormedModule). auto_derive. exact I. }
  replace (1 - / 2 * exp (- e * (c + / 2)) - / 2 * exp (- e * (/ 2 - c)))
    with (plus (/ 2 - / 2 * exp (- e * (c + / 2))) (/ 2 - / 2 * exp (- e * (/ 2 - c)))) by (unfold plus; simpl; lra).
  exact (is_RInt_Chasles (V := R_NormedModule) (density c) (- / 2) c (/ 2) _ _ left right).
Qed.

Lemma E_const c k : - / 2 <= c <= / 2 -> E c (fun _ => k) = k.
Proof using e0.
  intros H. rewrite E_density. cbv beta.
  assert (I : RInt (fun x => k * density c x) (- / 2) (/ 2) = k * (1 - / 2 * exp (- e * (c + / 2)) - / 2 * exp (- e * (/ 2 - c)))).
  { apply is_RInt_unique. exact (is_RInt_scal (density c) _ _ k _ (mass c H)). }
  rewrite I. lra.
Qed.

Lemma farther x y : x <= y -> exp (- e * y) <= exp (- e * x).
Proof using e0. intros H. apply exp_le. assert (e * x <= e * y) by (apply Rmult_le_compat_l; lra). lra. Qed.

Lemma density_pos c x : 0 < density c x.
Proof using e0. unfold density. apply Rmult_lt_0_compat; [lra|apply exp_pos]. Qed.

Lemma E_le c f g k : - / 2 <= c <= / 2 -> lipschitz f -> lipschitz g -> (forall x, - / 2 <= x <= / 2 -> f x <= g x + k) -> E c f <= E c g + k.
Proof using e0.
  intros H lf lg fg. rewrite <- (E_const c k) at 1 by assumption. rewrite !E_density.
  assert (I : RInt (fun x => f x * density c x) (- / 2) (/ 2) <= RInt (fun x => g x * density c x) (- / 2) (/ 2) + RInt (fun x => k * density c x) (- / 2) (/ 2)).
  { assert (ik : ex_RInt (fun x => k * density c x) (- / 2) (/ 2)).
    { apply (integrable c (fun _ => k)). exists 0. intros x y. rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra. }
    rewrite <- (RInt_plus (fun x => g x * density c x) (fun x => k * density c x)) by (try assumption; now apply integrable).
    apply RInt_le; [lra|now apply integrable|apply (ex_RInt_plus (fun x => g x * density c x) (fun x => k * density c x)); [now apply integrable|assumption]|].
    intros x Hx. unfold plus. simpl. rewrite <- Rmult_plus_distr_r. apply Rmult_le_compat_r; [left; apply density_pos|apply fg; lra]. }
  assert (A := fg (- / 2) ltac:(lra)). assert (B := fg (/ 2) ltac:(lra)).
  assert (P := exp_pos (- e * (c + / 2))). assert (Q := exp_pos (- e * (/ 2 - c))). nra.
Qed.

(* The law moves to the right with its centre. *)
Lemma dominance c c' f : - / 2 <= c -> c < c' -> c' <= / 2 -> lipschitz f -> (forall x y, x <= y -> f x <= f y) ->
  (f (/ 2) - f ((c + c') / 2)) * (/ 2 * (exp (- e * (/ 2 - c')) - exp (- e * (/ 2 - c)))) <= E c' f - E c f.
Proof using e0.
  intros H1 H2 H3 lf mono. set (m := (c + c') / 2).
  assert (C := E_const c (f m) ltac:(lra)). assert (C' := E_const c' (f m) ltac:(lra)).
  assert (lk : lipschitz (fun _ => f m)) by (exists 0; intros x y; rewrite Rminus_diag_eq, Rabs_R0 by reflexivity; lra).
  rewrite E_density in C, C'. rewrite !E_density.
  assert (I : RInt (fun x => f x * density c x) (- / 2) (/ 2) + RInt (fun x => f m * density c' x) (- / 2) (/ 2)
              <= RInt (fun x => f x * density c' x) (- / 2) (/ 2) + RInt (fun x => f m * density c x) (- / 2) (/ 2)).
  { assert (i1 := integrable c f lf). assert (i2 := integrable c' f lf). assert (i3 := integrable c _ lk). assert (i4 := integrable c' _ lk).
    rewrite <- (RInt_plus (fun x => f x * density c x) (fun x => f m * density c' x)), <- (RInt_plus (fun x => f x * density c' x) (fun x => f m * density c x)) by assumption.
    apply RInt_le; [lra|exact (ex_RInt_plus _ _ _ _ i1 i4)|exact (ex_RInt_plus _ _ _ _ i2 i3)|].
    intros x Hx. unfold plus. simpl. apply Rminus_le.
    replace (_ - _) with (- ((f x - f m) * (density c' x - density c x))) by ring.
    assert (0 <= (f x - f m) * (density c' x - density c x)); [|lra]. unfold density.
    destruct (Rle_or_lt x m) as [X|X].
    - assert (f x <= f m) by now apply mono. assert (Rabs (x - c) <= Rabs (x - c')).
      { rewrite (Rabs_left1 (x - c')) by (unfold m in X; lra). apply Rabs_le. unfold m in X. lra. }
      assert (F := farther _ _ H0).
      replace (_ * _) with ((f m - f x) * (e / 2 * (exp (- e * Rabs (x - c)) - exp (- e * Rabs (x - c'))))) by ring.
      apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra].
    - assert (f m <= f x) by (apply mono; lra). assert (Rabs (x - c') <= Rabs (x - c)).
      { rewrite (Rabs_right (x - c)) by (unfold m in X; lra). apply Rabs_le. unfold m in X. lra. }
      assert (F := farther _ _ H0).
      apply Rmult_le_pos; [lra|rewrite <- Rmult_minus_distr_l; apply Rmult_le_pos; lra]. }
  assert (A : 0 <= (f m - f (- / 2)) * (/ 2 * exp (- e * (c + / 2)) - / 2 * exp (- e * (c' + / 2)))).
  { apply Rmult_le_pos; [assert (f (- / 2) <= f m) by (apply mono; unfold m; lra); lra|].
    assert (exp (- e * (c' + / 2)) <= exp (- e * (c + / 2))) by (apply farther; lra). lra. }
  lra.
Qed.

Lemma lipschitz_const k : lipschitz (fun _ => k).
Proof using. exists 0. intros x y. rewrite Rminus_diag_eq, Rabs_R0 by reflexivity. lra. Qed.

(* Strictly below, if it is so at an end, too. *)
Lemma E_strict c f g : - / 2 <= c <= / 2 -> lipschitz f -> lipschitz g -> (forall x, f x <= g x) ->
  f (- / 2) < g (- / 2) \/ f (/ 2) < g (/ 2) -> E c f < E c g.
Proof using e0.
  intros H lf lg fg st. rewrite !E_density.
  assert (I : RInt (fun x => f x * density c x) (- / 2) (/ 2) <= RInt (fun x => g x * density c x) (- / 2) (/ 2)).
  { apply RInt_le; [lra|now apply integrable|now apply integrable|]. intros x Hx. apply Rmult_le_compat_r; [left; apply density_pos|apply fg]. }
  assert (A := fg (- / 2)). assert (B := fg (/ 2)).
  assert (P := exp_pos (- e * (c + / 2))). assert (Q := exp_pos (- e * (/ 2 - c))). destruct st; nra.
Qed.

Lemma E_mono c f g : - / 2 <= c <= / 2 -> lipschitz f -> lipschitz g -> (forall x, f x <= g x) -> E c f <= E c g.
Proof using e0. intros H lf lg fg. rewrite <- (Rplus_0_r (E c g)). apply E_le; try assumption. intros x _. specialize (fg x). lra. Qed.

Lemma lipschitz_shift f z : lipschitz f -> lipschitz (fun x => f (z + x)).
Proof using. intros [L H]. exists L. intros x y. replace (x - y) with (z + x - (z + y)) by ring. apply H. Qed.
Lemma lipschitz_flip f z : lipschitz f -> lipschitz (fun x => f (z - x)).
Proof using. intros [L H]. exists L. intros x y. rewrite (Rabs_minus_sym x y). replace (y - x) with (z - x - (z - y)) by ring. apply H. Qed.
Lemma lipschitz_opp f : lipschitz f -> lipschitz (fun x => - f x).
Proof using. intros [L H]. exists L. intros x y. replace (- f x - - f y) with (f y - f x) by ring. rewrite (Rabs_minus_sym x y). apply H. Qed.

(* A mean over one noise, as a function of what is added to it, or of what it is taken from. *)
Lemma lipschitz_mean c f (h : R -> R -> R) : - / 2 <= c <= / 2 -> lipschitz f -> (forall z, lipschitz (fun x => f (h z x))) ->
  (forall y z x, h y x - h z x = y - z) -> lipschitz (fun z => E c (fun x => f (h z x))).
Proof using e0.
  intros Hc [L H] each par. exists L. intros y z.
  assert (one : forall y z, E c (fun x => f (h y x)) <= E c (fun x => f (h z x)) + L * Rabs (y - z)).
  { clear y z. intros y z. apply E_le; try assumption; try apply each. intros x _.
    assert (G := H (h y x) (h z x)). rewrite par in G. assert (P := Rle_abs (f (h y x) - f (h z x))). lra. }
  apply Rabs_le. assert (A := one y z). assert (B := one z y). rewrite (Rabs_minus_sym z y) in B. lra.
Qed.

Lemma E_opp c f : lipschitz f -> E c (fun x => - f x) = - E c f.
Proof using e0.
  intros lf. rewrite !E_density.
  assert (I : RInt (fun x => - f x * density c x) (- / 2) (/ 2) = - RInt (fun x => f x * density c x) (- / 2) (/ 2)).
  { rewrite <- (RInt_opp (fun x => f x * density c x)) by now apply integrable. apply RInt_ext. intros x _. unfold opp. simpl. ring. }
  rewrite I. ring.
Qed.

Lemma rises c c' f : - / 2 <= c -> c < c' -> c' <= / 2 -> lipschitz f -> (forall x y, x <= y -> f x <= f y) -> E c f <= E c' f.
Proof using e0.
  intros H1 H2 H3 lf mono. assert (D := dominance c c' f H1 H2 H3 lf mono).
  assert (0 <= (f (/ 2) - f ((c + c') / 2)) * (/ 2 * (exp (- e * (/ 2 - c')) - exp (- e * (/ 2 - c))))); [|lra].
  apply Rmult_le_pos; [assert (f ((c + c') / 2) <= f (/ 2)) by (apply mono; lra); lra|].
  assert (exp (- e * (/ 2 - c)) <= exp (- e * (/ 2 - c'))) by (apply farther; lra). lra.
Qed.

(* Three noises, in a function that rises: the means for the labels 0 and 1 of the errata's record. *)
Section Three.
Variable H : R -> R.
Hypotheses (lH : lipschitz H) (mono : forall x y, x <= y -> H x <= H y) (strict : H (-1) < H (- / 2)).
Let A c z := E c (fun x => H (z + x)).
Let B c c' z := E c (fun x => A c' (z - x)).

Let A_lip c : - / 2 <= c <= / 2 -> lipschitz (A c).
Proof using e0 lH. intros Hc. apply (lipschitz_mean c H (fun z x => z + x)); try assumption; [|intros; ring]. intros z. now apply lipschitz_shift. Qed.
Let A_mono c x y : - / 2 <= c <= / 2 -> x <= y -> A c x <= A c y.
Proof using e0 lH mono. intros Hc xy. apply E_mono; try assumption; try now apply lipschitz_shift. intros w. apply mono. lra. Qed.
Let B_lip c c' : - / 2 <= c <= / 2 -> - / 2 <= c' <= / 2 -> lipschitz (B c c').
Proof using e0 lH. intros Hc Hc'. apply (lipschitz_mean c (A c') (fun z x => z - x)); try assumption; [now apply A_lip| |intros; ring]. intros z. now apply lipschitz_flip, A_lip. Qed.
Let B_mono c c' x y : - / 2 <= c <= / 2 -> - / 2 <= c' <= / 2 -> x <= y -> B c c' x <= B c c' y.
Proof using e0 lH mono. intros Hc Hc' xy. apply E_mono; try assumption; try now apply lipschitz_flip, A_lip. intros w. apply A_mono; [assumption|lra]. Qed.

Lemma three : E (- / 2) (B (/ 2) (- / 2)) < E (/ 2) (B 0 0).
Proof using e0 lH mono strict.
  assert (h0 : - / 2 <= 0 <= / 2) by lra. assert (hm : - / 2 <= - / 2 <= / 2) by lra. assert (hp : - / 2 <= / 2 <= / 2) by lra.
  apply Rlt_le_trans with (E (/ 2) (B (/ 2) (- / 2))).
  - assert (D := dominance (- / 2) (/ 2) (B (/ 2) (- / 2)) ltac:(lra) ltac:(lra) ltac:(lra) (B_lip _ _ hp hm) (fun x y => B_mono _ _ x y hp hm)).
    replace ((- / 2 + / 2) / 2) with 0 in D by field.
    assert (S : B (/ 2) (- / 2) 0 < B (/ 2) (- / 2) (/ 2)).
    { apply E_strict; try assumption; try (now apply lipschitz_flip, A_lip); [intros x; apply A_mono; [assumption|lra]|right].
      apply E_strict; try assumption; try (now apply lipschitz_shift); [intros x; apply mono; lra|left].
      replace (0 - / 2 + - / 2) with (-1) by lra. replace (/ 2 - / 2 + - / 2) with (- / 2) by lra. exact strict. }
    assert (P : 0 < / 2 * (exp (- e * (/ 2 - / 2)) - exp (- e * (/ 2 - - / 2)))).
    { assert (exp (- e * (/ 2 - - / 2)) < exp (- e * (/ 2 - / 2))) by (apply exp_increasing; nra). lra. }
    assert (0 < (B (/ 2) (- / 2) (/ 2) - B (/ 2) (- / 2) 0) * (/ 2 * (exp (- e * (/ 2 - / 2)) - exp (- e * (/ 2 - - / 2))))) by (apply Rmult_lt_0_compat; lra). lra.
  - apply E_mono; try assumption; try now apply B_lip. intros z.
    apply Rle_trans with (B 0 (- / 2) z).
    + assert (N := rises 0 (/ 2) (fun x => - A (- / 2) (z - x)) ltac:(lra) ltac:(lra) ltac:(lra)).
      rewrite !E_opp in N by now apply lipschitz_flip, A_lip. unfold B.
      assert (G : - E 0 (fun x => A (- / 2) (z - x)) <= - E (/ 2) (fun x => A (- / 2) (z - x))); [|lra].
      apply N; [now apply lipschitz_opp, lipschitz_flip, A_lip|].
      intros x y xy. apply Ropp_le_contravar, A_mono; [assumption|lra].
    + apply E_mono; try assumption; try now apply lipschitz_flip, A_lip. intros x.
      apply rises; try lra; [now apply lipschitz_shift|]. intros u v uv. apply mono. lra.
Qed.
End Three.

(* --------------------------------------------------------------- values of the algorithm *)

Lemma E_ext c f g : (forall x, f x = g x) -> E c f = E c g.
Proof using. intros H. f_equal. now apply functional_extensionality. Qed.

Lemma zero_between x y f : (forall z, Rmin x y < z < Rmax x y -> f z = 0) -> is_RInt f x y 0.
Proof using.
  intros H. apply (is_RInt_ext (fun _ => 0)); [intros z Hz; symmetry; now apply H|].
  assert (C := @is_RInt_const R_NormedModule x y 0). unfold scal in C. simpl in C. unfold mult in C. simpl in C. rewrite Rmult_0_r in C. exact C.
Qed.

(* Functions that vanish but at one value: the upper end, the lower end, one in between. *)
Lemma upper_only c f : (forall x, - / 2 <= x < / 2 -> f x = 0) -> E c f = f (/ 2) * (/ 2 * exp (- e * (/ 2 - c))).
Proof using e0.
  intros H. rewrite E_density, (H (- / 2)) by lra.
  rewrite (is_RInt_unique _ _ _ 0); [ring|]. apply zero_between. intros z. rewrite Rmin_left, Rmax_right by lra. intros Hz. rewrite H by lra. ring.
Qed.

Lemma lower_only c f : (forall x, - / 2 < x <= / 2 -> f x = 0) -> E c f = f (- / 2) * (/ 2 * exp (- e * (c + / 2))).
Proof using e0.
  intros H. rewrite E_density, (H (/ 2)) by lra.
  rewrite (is_RInt_unique _ _ _ 0); [ring|]. apply zero_between. intros z. rewrite Rmin_left, Rmax_right by lra. intros Hz. rewrite H by lra. ring.
Qed.

Lemma point_only c f p : - / 2 < p < / 2 -> (forall x, x <> p -> f x = 0) -> E c f = 0.
Proof using e0.
  intros Hp H. rewrite E_density, (H (- / 2)), (H (/ 2)) by lra.
  rewrite (is_RInt_unique _ _ _ 0); [ring|].
  assert (L : is_RInt (fun x => f x * density c x) (- / 2) p 0).
  { apply zero_between. intros z. rewrite Rmin_left, Rmax_right by lra. intros Hz. rewrite H by lra. ring. }
  assert (M : is_RInt (fun x => f x * density c x) p (/ 2) 0).
  { apply zero_between. intros z. rewrite Rmin_left, Rmax_right by lra. intros Hz. rewrite H by lra. ring. }
  assert (S := is_RInt_Chasles (V := R_NormedModule) _ _ _ _ _ _ L M).
  unfold plus in S. simpl in S. rewrite Rplus_0_r in S. exact S.
Qed.

Let lim x := limit (- / 2) (/ 2) x.
Lemma lim_range x : - / 2 <= lim x <= / 2.
Proof using. unfold lim, limit, Rmin, Rmax. destruct (Rle_dec (- / 2) x), (Rle_dec (/ 2) _); lra. Qed.
Lemma lim_mono x y : x <= y -> lim x <= lim y.
Proof using. intros H. unfold lim, limit, Rmin, Rmax. destruct (Rle_dec (- / 2) x), (Rle_dec (- / 2) y); repeat destruct (Rle_dec (/ 2) _); lra. Qed.
Lemma lim_lip x y : Rabs (lim x - lim y) <= Rabs (x - y).
Proof using.
  unfold lim, limit, Rmin, Rmax, Rabs.
  destruct (Rle_dec (- / 2) x), (Rle_dec (- / 2) y); repeat destruct (Rle_dec (/ 2) _); repeat destruct (Rcase_abs _); lra.
Qed.

Section Second.
Variable k : R.
Hypothesis k0 : 0 < k.
(* For the proof: the second record's output of class 0, after a first change of z. *)
Definition share z := / (1 + exp (- (k * (/ 2 + z)))).
(* For the proof: the probability that the second change is the lowest that there is, as a function of what the first batch has told the other parameters. *)
Definition chance z := / 2 * exp (- e * (/ 2 - lim (2 * share z - 1))).

Lemma share_mono x y : x < y -> share x < share y.
Proof using k0.
  intros H. unfold share. assert (P := exp_pos (- (k * (/ 2 + x)))). assert (Q := exp_pos (- (k * (/ 2 + y)))).
  apply Rinv_lt_contravar; [apply Rmult_lt_0_compat; lra|]. apply Rplus_lt_compat_l, exp_increasing. nra.
Qed.

Lemma chance_mono x y : x <= y -> chance x <= chance y.
Proof using e0 k0.
  intros H. assert (S : share x <= share y) by (destruct H as [H| ->]; [left; now apply share_mono|lra]).
  assert (L := lim_mono (2 * share x - 1) (2 * share y - 1) ltac:(lra)). unfold chance.
  assert (F := farther (/ 2 - lim (2 * share y - 1)) (/ 2 - lim (2 * share x - 1)) ltac:(lra)). lra.
Qed.

Lemma share_half : share (- / 2) = / 2.
Proof using. unfold share. replace (- (k * (/ 2 + - / 2))) with 0 by ring. rewrite exp_0. field. Qed.

Lemma chance_strict : chance (-1) < chance (- / 2).
Proof using e0 k0.
  assert (S := share_mono (-1) (- / 2) ltac:(lra)). rewrite share_half in S. unfold chance. rewrite share_half.
  apply Rmult_lt_compat_l; [lra|]. apply exp_increasing.
  assert (L : lim (2 * share (-1) - 1) < lim (2 * / 2 - 1)).
  { replace (lim (2 * / 2 - 1)) with 0 by (unfold lim, limit, Rmin, Rmax; repeat destruct (Rle_dec _ _); lra).
    unfold lim, limit, Rmin, Rmax; repeat destruct (Rle_dec _ _); lra. }
  assert (e * lim (2 * share (-1) - 1) < e * lim (2 * / 2 - 1)) by (apply Rmult_lt_compat_l; assumption). lra.
Qed.

Lemma chance_lip : lipschitz chance.
Proof using e0 k0.
  exists (/ 2 * (e * (2 * k))). intros x y.
  assert (G : Rabs (2 * share x - 1 - (2 * share y - 1)) <= 2 * k * Rabs (x - y)).
  { destruct (MVT_gen (fun z => 2 * share z - 1) y x (fun z => 2 * (k * exp (- (k * (/ 2 + z))) / (1 + exp (- (k * (/ 2 + z)))) ^ 2))) as [c [_ Q]].
    - intros z _. assert (P := exp_pos (- (k * (/ 2 + z)))). unfold share. auto_derive; [lra|field; lra].
    - intros z _. assert (P := exp_pos (- (k * (/ 2 + z)))). apply continuity_pt_filterlim.
      apply (@ex_derive_continuous R_AbsRing R_NormedModule (fun z => 2 * share z - 1)). unfold share. auto_derive. lra.
    - rewrite Q, Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
      assert (P := exp_pos (- (k * (/ 2 + c)))). set (w := exp _) in *.
      assert (0 < k * w / (1 + w) ^ 2) by (apply Rdiv_lt_0_compat; [now apply Rmult_lt_0_compat|apply pow_lt; lra]).
      rewrite Rabs_right by lra. assert (k * w / (1 + w) ^ 2 <= k); [|lra].
      apply (Rmult_le_reg_r ((1 + w) ^ 2)); [apply pow_lt; lra|]. unfold Rdiv. rewrite (Rmult_assoc (k * w)), Rinv_l by (apply Rgt_not_eq, pow_lt; lra).
      assert (0 <= k * (1 + w + w ^ 2)) by (apply Rmult_le_pos; [lra|assert (X := pow2_ge_0 w); lra]). lra. }
  assert (T := Rle_trans _ _ _ (lim_lip _ _) G). unfold chance.
  assert (R1 := lim_range (2 * share x - 1)). assert (R2 := lim_range (2 * share y - 1)).
  set (v := lim (2 * share x - 1)) in *. set (u := lim (2 * share y - 1)) in *.
  replace (/ 2 * exp (- e * (/ 2 - v)) - / 2 * exp (- e * (/ 2 - u))) with (/ 2 * (exp (- e * (/ 2 - v)) - exp (- e * (/ 2 - u)))) by ring.
  rewrite Rabs_mult, (Rabs_right (/ 2)), !Rmult_assoc by lra. apply Rmult_le_compat_l; [lra|].
  apply Rle_trans with (e * Rabs (v - u)); [|apply Rmult_le_compat_l; lra].
  destruct (MVT_gen (fun z => exp (- e * (/ 2 - z))) u v (fun z => e * exp (- e * (/ 2 - z)))) as [c [Hc Q]].
  - intros z _. auto_derive; [exact I|unfold Rminus; ring].
  - intros z _. apply continuity_pt_filterlim. apply (@ex_derive_continuous R_AbsRing R_NormedModule (fun z => exp (- e * (/ 2 - z)))). auto_derive. exact I.
  - rewrite Q, Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
    assert (P := exp_pos (- e * (/ 2 - c))). assert (c <= / 2) by (apply Rle_trans with (1 := proj2 Hc), Rmax_lub; lra).
    assert (exp (- e * (/ 2 - c)) <= 1) by (rewrite <- exp_0; apply exp_le; assert (0 <= e * (/ 2 - c)) by (apply Rmult_le_pos; lra); lra).
    rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; lra).
    assert (e * exp (- e * (/ 2 - c)) <= e * 1) by (apply Rmult_le_compat_l; lra). lra.
Qed.
End Second.
End Noise.

(* --------------------------------------------------------------- the counterexample *)

Section Counterexample.
Variables e al la : R.
Hypotheses (e0 : 0 < e) (al0 : 0 < al) (la0 : 0 < la) (small : al * la < 2).
Let s : settings := {| eps := e; rate := al; decay := la; low := - / 2; high := / 2; epochs := 1 |}.
Let value : R := - (al ^ 2 * la / 8).
Let N c f := noisy (- / 2) (/ 2) (/ e) c f.
Let lim x := limit (- / 2) (/ 2) x.

Lemma step_noisy batch m f : step s batch m f =
  N (lim (total (fun r => input r * signal m r) batch)) (fun c0 => N (lim (- total (fun r => input r * signal m r) batch)) (fun c1 =>
  N (lim (total (fun r => signal m r) batch)) (fun d0 => N (lim (- total (fun r => signal m r) batch)) (fun d1 =>
    f (update s (INR (length batch)) m c0 c1 d0 d1))))).
Proof using e0. unfold step. cbv zeta. replace ((high s - low s) * INR (epochs s) / eps s) with (/ e) by (simpl; field; lra). reflexivity. Qed.

Let later := [{| input := 1; second := false |}; {| input := 1; second := true |}].
Let ends (m : model) (c : R) : R := if Req_EM_T (w0 m - al / (1 + 1) * (c + la * w0 m)) value then 1 else 0.

(* The second batch: three of its noises do not touch the weight. *)
Lemma second_batch m : step s later m (fun m => if Req_EM_T (w0 m) value then 1 else 0) = N (lim (2 * output m 1 - 1)) (ends m).
Proof using e0.
  rewrite step_noisy. unfold later at 1. unfold total at 1. cbn [input second].
  replace (1 * signal m {| input := 1; second := false |} + (1 * signal m {| input := 1; second := true |} + 0)) with (2 * output m 1 - 1)
    by (unfold signal; cbn [input second]; ring).
  apply E_ext. intros c.
  etransitivity; [|apply (E_const e e0 (lim (- total (fun r => input r * signal m r) later)) (ends m c)), lim_range].
  apply E_ext. intros c1.
  etransitivity; [|apply (E_const e e0 (lim (total (fun r => signal m r) later)) (ends m c)), lim_range].
  apply E_ext. intros d0.
  etransitivity; [|apply (E_const e e0 (lim (- total (fun r => signal m r) later)) (ends m c)), lim_range].
  apply E_ext. intros d1. reflexivity.
Qed.

(* A model after the first batch, and where the weight ends. *)
Let after c0 c1 d0 d1 := update s (1 + 1) start c0 c1 d0 d1.
Lemma hit c0 c1 d0 d1 c : ends (after c0 c1 d0 d1) c = if Req_EM_T (c + c0 * (1 - al * la / 2)) (al * la / 4) then 1 else 0.
Proof using al0.
  unfold ends, after, value, s. cbn [w0 update start rate decay].
  destruct (Req_EM_T _ _) as [A|A], (Req_EM_T _ _) as [B|B]; try reflexivity; exfalso.
  - apply B. apply (Rmult_eq_reg_l (- (al / 2))); [|lra]. etransitivity; [|etransitivity; [exact A|]]; field.
  - apply A. apply (Rmult_eq_compat_l (- (al / 2))) in B. etransitivity; [|etransitivity; [exact B|]]; field.
Qed.

(* The first change at -1/2: the second must be 1/2. *)
Lemma then_upper c1 d0 d1 : N (lim (2 * output (after (- / 2) c1 d0 d1) 1 - 1)) (ends (after (- / 2) c1 d0 d1)) = chance e (al / 2) (c1 - d0 + d1).
Proof using e0 al0.
  unfold N. rewrite (upper_only e e0).
  2:{ intros x Hx. rewrite hit. destruct (Req_EM_T _ _) as [A|A]; [exfalso; lra|reflexivity]. }
  rewrite hit. destruct (Req_EM_T _ _) as [A|A]; [|exfalso; apply A; field].
  assert (O : output (after (- / 2) c1 d0 d1) 1 = share (al / 2) (c1 - d0 + d1)).
  { unfold output, share, after, s. cbn [w0 w1 b0 b1 update start rate decay].
    set (p := (0 - al / (1 + 1) * (- / 2 + la * 0)) * 1 + (0 - al / (1 + 1) * d0)).
    set (q := (0 - al / (1 + 1) * (c1 + la * 0)) * 1 + (0 - al / (1 + 1) * d1)).
    replace (- (al / 2 * (/ 2 + (c1 - d0 + d1)))) with (q + - p) by (unfold p, q; field).
    rewrite exp_plus, exp_Ropp. assert (P := exp_pos p). assert (Q := exp_pos q). field. lra. }
  rewrite O, Rmult_1_l. reflexivity.
Qed.

(* The first change anywhere else: no second change has a positive probability to end there. *)
Lemma then_never c0 c1 d0 d1 : - / 2 < c0 <= / 2 -> N (lim (2 * output (after c0 c1 d0 d1) 1 - 1)) (ends (after c0 c1 d0 d1)) = 0.
Proof using e0 al0 la0 small.
  intros H. assert (pos : 0 < al * la) by now apply Rmult_lt_0_compat.
  unfold N. apply (point_only e e0 _ _ (al * la / 4 - c0 * (1 - al * la / 2))).
  - assert (0 < (c0 + / 2) * (1 - al * la / 2)) by (apply Rmult_lt_0_compat; lra).
    assert (0 <= (/ 2 - c0) * (1 - al * la / 2)) by (apply Rmult_le_pos; lra). lra.
  - intros x Hx. rewrite hit. destruct (Req_EM_T _ _) as [A|A]; [exfalso; apply Hx; lra|reflexivity].
Qed.

Lemma first_output x : output start x = / 2.
Proof using. unfold output. cbn [w0 w1 b0 b1 start]. replace (0 * x + 0) with 0 by ring. rewrite exp_0. field. Qed.

(* The probability of the value, by the class of the first record. *)
Lemma by_class (class : bool) (m b : R) : m = (if class then / 2 else - / 2) -> b = (if class then / 2 else 0) ->
  probability s (four class) w0 value =
  N (- m) (fun c1 => N b (fun d0 => N (- b) (fun d1 => chance e (al / 2) (c1 - d0 + d1)))) * (/ 2 * exp (- e * (m + / 2))).
Proof using e0 al0 la0 small.
  intros em eb.
  change (probability s (four class) w0 value) with
    (step s [{| input := 1; second := class |}; {| input := 0; second := true |}] start (fun m => step s later m (fun m => if Req_EM_T (w0 m) value then 1 else 0))).
  rewrite step_noisy. cbn [total input].
  assert (W : lim (1 * signal start {| input := 1; second := class |} + (0 * signal start {| input := 0; second := true |} + 0)) = m).
  { unfold signal. cbn [input second]. rewrite !first_output, em. unfold lim, limit, Rmin, Rmax. destruct class; repeat destruct (Rle_dec _ _); lra. }
  assert (W' : lim (- (1 * signal start {| input := 1; second := class |} + (0 * signal start {| input := 0; second := true |} + 0))) = - m).
  { unfold signal. cbn [input second]. rewrite !first_output, em. unfold lim, limit, Rmin, Rmax. destruct class; repeat destruct (Rle_dec _ _); lra. }
  assert (B : lim (signal start {| input := 1; second := class |} + (signal start {| input := 0; second := true |} + 0)) = b).
  { unfold signal. cbn [input second]. rewrite !first_output, eb. unfold lim, limit, Rmin, Rmax. destruct class; repeat destruct (Rle_dec _ _); lra. }
  assert (B' : lim (- (signal start {| input := 1; second := class |} + (signal start {| input := 0; second := true |} + 0))) = - b).
  { unfold signal. cbn [input second]. rewrite !first_output, eb. unfold lim, limit, Rmin, Rmax. destruct class; repeat destruct (Rle_dec _ _); lra. }
  rewrite W, W', B, B'.
  assert (rm : - / 2 <= - m <= / 2) by (rewrite em; destruct class; lra).
  assert (rb : - / 2 <= b <= / 2) by (rewrite eb; destruct class; lra). assert (rb' : - / 2 <= - b <= / 2) by lra.
  etransitivity; [apply (lower_only e e0 m)|].
  - intros c0 Hc. etransitivity; [|exact (E_const e e0 (- m) 0 rm)]. apply E_ext. intros c1.
    etransitivity; [|exact (E_const e e0 b 0 rb)]. apply E_ext. intros d0.
    etransitivity; [|exact (E_const e e0 (- b) 0 rb')]. apply E_ext. intros d1.
    rewrite second_batch. exact (then_never c0 c1 d0 d1 Hc).
  - apply (f_equal (fun w => w * (/ 2 * exp (- e * (m + / 2))))). apply E_ext. intros c1. apply E_ext. intros d0. apply E_ext. intros d1. rewrite second_batch. exact (then_upper c1 d0 d1).
Qed.

(* Two batches of two records, one epoch, thresholds -1/2 and 1/2, any positive epsilon, any positive learning rate alpha and any positive L2 factor lambda with alpha lambda < 2: the weight from the
   input to class 0 ends at -alpha^2 lambda / 8 more than e^eps times as probably if the first record is of class 0 as if it is of class 1. *)
Theorem theorem4_counterexample : exp e * probability s (four true) w0 value < probability s (four false) w0 value.
Proof using e0 al0 la0 small.
  assert (k0 : 0 < al / 2) by lra.
  rewrite (by_class true (/ 2) (/ 2) eq_refl eq_refl), (by_class false (- / 2) 0 eq_refl eq_refl).
  assert (T := three e e0 (chance e (al / 2)) (chance_lip e e0 _ k0) (chance_mono e e0 _ k0) (chance_strict e e0 _ k0)).
  replace (- - / 2) with (/ 2) by lra. replace (- 0) with 0 by lra.
  replace (- e * (/ 2 + / 2)) with (- e) by lra. replace (- e * (- / 2 + / 2)) with 0 by lra. rewrite exp_0, exp_Ropp.
  assert (P := exp_pos e).
  match goal with |- _ * (?G * _) < _ => replace (exp e * (G * (/ 2 * / exp e))) with (G * (/ 2 * 1)) by (field; lra) end.
  apply Rmult_lt_compat_r; [lra|]. exact T.
Qed.
End Counterexample.

(* Theorem 4 of sei2017, as `theorem4` says it of these networks, is false. *)
Theorem theorem4_is_false : ~ theorem4.
Proof.
  intros H.
  set (s := {| eps := 1; rate := 1; decay := 1; low := - / 2; high := / 2; epochs := 1 |}).
  assert (G := theorem4_counterexample 1 1 1 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)). cbv zeta in G. fold s in G.
  apply (Rlt_irrefl (probability s (four false) w0 (- (1 ^ 2 * 1 / 8)))). eapply Rle_lt_trans; [|exact G].
  apply (H s (four false) (four true)); simpl; try lra; try auto.
  exists [], [[{| input := 1; second := false |}; {| input := 1; second := true |}]], [], [{| input := 0; second := true |}],
    {| input := 1; second := false |}, {| input := 1; second := true |}.
  split; [reflexivity|]. split; [reflexivity|].
  split; repeat (apply List.Forall_cons || apply List.Forall_nil); simpl; lra.
Qed.
