// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control for tests: it uses each hook of the kernels of ecnlab, and shows each in its packets or its window.
 *
 * The window is 10 segments, 5 more once the kernel has asked for the size of a burst, and one for each packet that was reported with CE.
 */

#include <linux/module.h>
#include <linux/version.h>
#include <net/tcp.h>

struct hooks {
	u32 ce;
	bool asked;
};

static void hooks_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->ecn_flags |= TCP_ECN_ECT_1_ESTABLISH;
	tp->mss_cache_set_by_cca = true;
	tcp_sync_mss(sk, 600);
}

static u32 hooks_tso_segs(struct sock *sk, unsigned int mss_now)
{
	struct hooks *ca = inet_csk_ca(sk);

	ca->asked = true;
	return 0;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
static void hooks_main(struct sock *sk, const struct rate_sample *rs)
#else
static void hooks_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#endif
{
	struct hooks *ca = inet_csk_ca(sk);

	ca->ce += rs->ece_delta;
	tcp_snd_cwnd_set(tcp_sk(sk), 10 + 5 * ca->asked + ca->ce);
}

static u32 hooks_ssthresh(struct sock *sk)
{
	return TCP_INFINITE_SSTHRESH;
}

static u32 hooks_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static struct tcp_congestion_ops hooks __read_mostly = {
	.init		= hooks_init,
	.ssthresh	= hooks_ssthresh,
	.cong_control	= hooks_main,
	.undo_cwnd	= hooks_undo_cwnd,
	.tso_segs	= hooks_tso_segs,
	.flags		= TCP_CONG_NON_RESTRICTED,
	.owner		= THIS_MODULE,
	.name		= "hooks",
};

static int __init hooks_register(void)
{
	BUILD_BUG_ON(sizeof(struct hooks) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&hooks);
}

module_init(hooks_register);

MODULE_LICENSE("GPL");
