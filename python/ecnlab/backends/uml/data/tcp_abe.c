// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Alternative Backoff with ECN (ABE), RFC 8511, for Reno's growth.
 *
 * A window is multiplied by beta_loss = 0.5 after a loss and by the larger
 * beta_ecn after the receiver's echo of a mark, since a mark says that an AQM
 * keeps its queue short (section 3.1).  When one acknowledgment reports both,
 * the loss decides.
 *
 * beta_ecn_percent: 80, the RFC's value for Reno.
 */

#include <linux/module.h>
#include <net/tcp.h>

static int beta_ecn_percent __read_mostly = 80;
module_param(beta_ecn_percent, int, 0644);
MODULE_PARM_DESC(beta_ecn_percent, "window kept after an echo of a mark, in percent");

struct abe {
	bool echo;	/* the acknowledgment being processed echoes a mark */
};

static void abe_init(struct sock *sk)
{
	struct abe *ca = inet_csk_ca(sk);

	ca->echo = false;
}

/* Heard of every acknowledgment before loss recovery asks for ssthresh. */
static void abe_in_ack_event(struct sock *sk, u32 flags)
{
	struct abe *ca = inet_csk_ca(sk);

	ca->echo = flags & CA_ACK_ECE;
}

static bool abe_lost(const struct tcp_sock *tp)
{
	return tp->lost_out ||
	       (tcp_is_reno(tp) && tp->sacked_out >= tp->reordering);
}

static u32 abe_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct abe *ca = inet_csk_ca(sk);
	u32 percent = clamp(READ_ONCE(beta_ecn_percent), 50, 100);

	if (!ca->echo || abe_lost(tp))
		return tcp_reno_ssthresh(sk);
	return max(tcp_snd_cwnd(tp) * percent / 100U, 2U);
}

static struct tcp_congestion_ops abe __read_mostly = {
	.init		= abe_init,
	.in_ack_event	= abe_in_ack_event,
	.ssthresh	= abe_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "abe",
};

static int __init abe_register(void)
{
	BUILD_BUG_ON(sizeof(struct abe) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&abe);
}

static void __exit abe_unregister(void)
{
	tcp_unregister_congestion_control(&abe);
}

module_init(abe_register);
module_exit(abe_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("TCP Alternative Backoff with ECN, RFC 8511");
