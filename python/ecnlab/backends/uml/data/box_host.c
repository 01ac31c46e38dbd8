// SPDX-License-Identifier: GPL-2.0
/* The host's side of box.c. */

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

typedef void entry(long (*call)(long, long, long, long, long, long, long));

/*
 * Before anything else: the process ends with its parent, and starts again
 * without a random layout of its memory, on which the kernel's sizes depend.
 */
void os_box_prepare(char **argv)
{
	int now = personality(0xffffffff);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (now == -1 || (now & ADDR_NO_RANDOMIZE))
		return;
	if (personality(now | ADDR_NO_RANDOMIZE) != -1 && (personality(0xffffffff) & ADDR_NO_RANDOMIZE))
		execv("/proc/self/exe", argv);
}

/* Loads the program and enters it. */
int os_box_run(const char *file, long (*call)(long, long, long, long, long, long, long))
{
	void *program = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	entry *enter = program ? (entry *)dlsym(program, "ecnlab_box") : NULL;

	if (enter == NULL) {
		fprintf(stderr, "box: %s\n", dlerror());
		return -1;
	}
	enter(call);
	return 0;
}
