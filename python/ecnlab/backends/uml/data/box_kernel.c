// SPDX-License-Identifier: GPL-2.0
/*
 * The box's program as a part of the kernel's own process.
 *
 * A system call of a process in user mode costs two switches between processes
 * of the host and half a dozen ptrace requests, 15 us and more, and a router in
 * user mode spends nearly all of its time there.  With `box=FILE` on the command
 * line the first process never becomes one of user mode: it loads a shared
 * object and calls its function `ecnlab_box` with a function that does system
 * calls.  A system call is then a function call, and there is no process beside
 * the kernel's.
 *
 * Memory of the program is memory of this process, so what the kernel copies
 * from and to it is copied as it stands.  That holds for the first process alone.
 */

#include <linux/kernel.h>
#include <linux/netdevice.h>
#include <linux/reboot.h>
#include <linux/resume_user_mode.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/syscalls.h>
#include <linux/version.h>
#include <asm/unistd.h>
#include <asm/uaccess.h>
#include <shared/init.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#include <sysdep/syscalls.h>
#else
#include <asm/syscall.h>
#endif

extern int os_box_run(const char *file, long (*call)(long, long, long, long, long, long, long));

static char *program;
static struct task_struct *first;

static int __init box_setup(char *line, int *add)
{
	*add = 0;
	program = line;
	return 0;
}
__uml_setup("box=", box_setup, "box=<file>\n    The first process is this shared object, in the kernel's own process.\n\n");

bool box_inside(void)
{
	return first != NULL && current == first;
}

/* What is otherwise done on the way back to user mode. */
static void settle(void)
{
	if (need_resched())
		schedule();
	if (test_thread_flag(TIF_NOTIFY_RESUME))
		resume_user_mode_work(&current->thread.regs);
	if (unlikely(signal_pending(current))) {
		clear_thread_flag(TIF_NOTIFY_SIGNAL);
		flush_signals(current);
	}
}

/*
 * A device of this name stands for the transmitter of a link (tun.c). Packets for
 * it carry a mark, of which the lower half says which packet it is.
 */
#define TRANSMITTER "queue"
#define MARK 0xec41

/* The call that gives the marks of packets dropped since the last one, and how many it gave. */
#define DROPPED 100000

static u16 drops[1 << 16];
static unsigned int dropped;

bool box_transmits(const struct net_device *dev)
{
	return first != NULL && strncmp(dev->name, TRANSMITTER, strlen(TRANSMITTER)) == 0;
}

void box_dropped(const struct sk_buff *skb)
{
	if (unlikely(skb->mark >> 16 == MARK) && dropped < ARRAY_SIZE(drops))
		drops[dropped++] = skb->mark;
}

static long give_drops(u16 *to)
{
	long count = dropped;

	memcpy(to, drops, count * sizeof(*to));
	dropped = 0;
	return count;
}

static long box_call(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	if (number == DROPPED)
		return give_drops((u16 *)a);
	if (number < 0 || number >= __NR_syscalls)
		return -ENOSYS;
	result = (*sys_call_table[number])(a, b, c, d, e, f);
	settle();
	if (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK)
		result = -EINTR;
	return result;
}

/* Runs the program, if there is one, and does not come back then. */
void box_run(void)
{
	if (program == NULL)
		return;
	first = current;
	if (os_box_run(program, box_call))
		pr_err("box: the program could not be started\n");
	kernel_power_off();
}
