/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two user threads that take turns, three times, each in a function of its own; then a third on the first's stack. With
 * an argument the second one computes instead of sleeping.
 */
#include <time.h>
#include <ucontext.h>

#define QUIET       __attribute__((no_instrument_function, noinline))
#define STACK_BYTES (256 * 1024)

static ucontext_t home, users[2];
static char stacks[2][STACK_BYTES];
static int computes;

void pass_on(int user)
{
	swapcontext(&users[user], &home);
}

void rest(void)
{
	struct timespec time = {.tv_nsec = 5000000};

	if (!computes)
		nanosleep(&time, NULL);
	for (clock_t end = clock() + CLOCKS_PER_SEC / 50; computes && clock() < end;)
		;
}

void first(void)
{
	for (int i = 0; i < 3; i++)
		pass_on(0);
}

void second(void)
{
	for (int i = 0; i < 3; i++) {
		rest();
		pass_on(1);
	}
}

void third(void)
{
	rest();
}

static QUIET void start(int user, void (*what)(void), void *stack)
{
	getcontext(&users[user]);
	users[user].uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES};
	users[user].uc_link = &home;
	makecontext(&users[user], what, 0);
}

void resume(int user)
{
	swapcontext(&home, &users[user]);
}

int main(int argc, char **argv)
{
	(void)argv;
	computes = argc > 1;
	start(0, first, stacks[0]);
	start(1, second, stacks[1]);
	/* The first one never returns. */
	for (int i = 0; i < 6; i++)
		resume(i % 2);
	start(0, third, stacks[0]);
	resume(0);
	return 0;
}
