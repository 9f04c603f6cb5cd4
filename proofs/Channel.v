(* Theorem H's channel: one linear map and one added noise send a pair of known covariances and means to those of the two data sets.

   Over any ordered field, without square roots and inverses: no axiom at all. *)
From mathcomp Require Import all_ssreflect all_algebra ring.
From Compendium Require Import Forms Data Update.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory Order.TTheory.
Local Open Scope ring_scope.

Section Channel.
Variable F : realFieldType.
Implicit Types (d : nat) (s t q : F).

(* A positive semidefinite matrix. *)
Definition psd d (A : 'M[F]_d) := sym A /\ forall z, 0 <= qf A z.

Lemma qfD d (A B : 'M[F]_d) z : qf (A + B) z = qf A z + qf B z.
Proof. by rewrite /qf mulmxDl dotDr. Qed.
Lemma qfN d (A : 'M[F]_d) z : qf (- A) z = - qf A z.
Proof. by rewrite /qf mulNmx dotNr. Qed.
Lemma qfZ d k (A : 'M[F]_d) z : qf (k *: A) z = k * qf A z.
Proof. by rewrite /qf -scalemxAl dotZr. Qed.
Lemma qf_scalar d k (z : 'cV[F]_d) : qf k%:M z = k * dot z z.
Proof. by rewrite /qf mul_scalar_mx dotZr. Qed.
Lemma qf_outer d (v z : 'cV[F]_d) : qf (outer v) z = dot v z ^+ 2.
Proof. by rewrite /qf /outer -mulmxA [v^T *m z]mx11_scalar mul_mx_scalar dotZr -/(dot v z) (dotC z v) expr2. Qed.

Lemma sym_outer d (v : 'cV[F]_d) : sym (outer v).
Proof. by rewrite /sym /outer trmx_mul trmxK. Qed.

(* The noise that the channel adds. *)
Definition noise d (v : 'cV[F]_d) (tau sigma : F) : 'M[F]_d := sigma%:M - tau^-1 *: outer v.

(* The noise is a covariance if |v|^2 <= tau sigma. *)
Theorem noise_psd d (v : 'cV[F]_d) tau sigma : 0 < tau -> dot v v <= tau * sigma -> psd (noise v tau sigma).
Proof.
move=> t0 vs; split=> [|z]; first by rewrite /sym /noise linearB linearZ /= tr_scalar_mx sym_outer.
rewrite /noise qfD qfN qfZ qf_scalar qf_outer subr_ge0 mulrC ler_pdivr_mulr //.
by apply: le_trans (cauchy v z) _; rewrite mulrAC ler_wpmul2r ?dot_ge0 // mulrC.
Qed.

(* The linear map: (y, z) to y v + z. *)
Definition spread d (v : 'cV[F]_d) : 'M[F]_(d, 1 + d) := row_mx v 1%:M.

Lemma spread_image d (v : 'cV[F]_d) (a : F) (S : 'M[F]_d) :
  spread v *m block_mx a%:M 0 0 S *m (spread v)^T = a *: outer v + S.
Proof.
rewrite /spread mul_row_block !mulmx0 mul1mx addr0 add0r tr_row_mx mul_row_col trmx1 mulmx1.
by rewrite mul_mx_scalar -scalemxAl.
Qed.

(* The channel sends the covariance diag(1/tau, S) to S + sigma I. *)
Theorem channel_first d (S : 'M[F]_d) v tau sigma :
  spread v *m block_mx (tau^-1)%:M 0 0 S *m (spread v)^T + noise v tau sigma = S + sigma%:M.
Proof. by rewrite spread_image /noise addrC addrA subrK addrC. Qed.

(* The channel sends the covariance with one more record's factors to the covariance of one more record. *)
Theorem channel_second d (S : 'M[F]_d) v tau sigma n : tau != 0 -> n + 1 != 0 ->
  spread v *m block_mx ((1 + n * tau / (n + 1) ^+ 2) / tau)%:M 0 0 ((n / (n + 1)) *: S) *m (spread v)^T + noise v tau sigma
  = (n / (n + 1)) *: S + (n / (n + 1) ^+ 2) *: outer v + sigma%:M.
Proof.
move=> t0 n1; rewrite spread_image /noise (_ : (1 + _) / tau = tau^-1 + n / (n + 1) ^+ 2); last by field; rewrite t0 n1.
by rewrite scalerDl; apply/matrixP => i j; rewrite !mxE; ring.
Qed.

(* The channel sends the mean (k, 0) to k v. *)
Theorem channel_mean d (v : 'cV[F]_d) (k : F) : spread v *m col_mx k%:M 0 = k *: v.
Proof. by rewrite /spread mul_row_col mulmx0 addr0 mul_mx_scalar. Qed.

Lemma rearranged d (S O s : 'M[F]_d) t k q : (t + k) *: O + q *: S + (s - t *: O) = q *: S + k *: O + s.
Proof.
rewrite scalerDl; apply/matrixP => i j; rewrite !mxE.
by move: (O i j) (S i j) (s i j) => o u w; ring.
Qed.

(* Theorem H's channel for data sets: with v = x - mean D, one linear map and one noise give both released covariances, D's and that of D and x,
   and the difference of the means. The source depends on the data only by cov D, which both sides share. *)
Theorem channel_data d (D : seq 'cV[F]_d) x tau sigma : (0 < size D)%N -> table D -> cube x -> 0 < sigma -> tau * sigma = d%:R * 4 -> 0 < tau ->
  let v := x - mean D in let n := (size D)%:R in
  psd (noise v tau sigma) /\
  spread v *m block_mx (tau^-1)%:M 0 0 (cov D) *m (spread v)^T + noise v tau sigma = cov D + sigma%:M /\
  spread v *m block_mx ((1 + n * tau / (n + 1) ^+ 2) / tau)%:M 0 0 ((n / (n + 1)) *: cov D) *m (spread v)^T + noise v tau sigma
    = cov (x :: D) + sigma%:M /\
  spread v *m col_mx ((n + 1)^-1)%:M 0 = mean (x :: D) - mean D.
Proof.
move=> D0 tD cx s0 ts t0 v n; split; first by apply: noise_psd => //; rewrite ts; apply: radius.
split; first exact: channel_first.
split; last by rewrite channel_mean mean_added.
rewrite channel_second ?cov_added //; first by rewrite gt_eqF.
by rewrite -[1]/(1%:R) -natrD addn1 pnatr_eq0.
Qed.
End Channel.
