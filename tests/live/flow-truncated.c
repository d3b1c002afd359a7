/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads that call functions until the file "stop" exists, then print how many sums were right. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned __attribute__((noinline)) add(unsigned a, unsigned b)
{
	return a + b;
}

static unsigned __attribute__((noinline)) sum(unsigned n)
{
	unsigned total = 0;

	for (unsigned i = 0; i < n; i++)
		total = add(total, i);
	return total;
}

static void *work(void *argument)
{
	const char *stop = argument;
	unsigned long rounds = 0;

	while (access(stop, F_OK) < 0)
		for (int i = 0; i < 100; i++, rounds++)
			if (sum(100) != 4950)
				abort();
	return (void *)rounds;
}

int main(int argc, char **argv)
{
	pthread_t other;
	void *here, *there;

	if (argc < 2 || pthread_create(&other, NULL, work, argv[1]) != 0)
		return 2;
	here = work(argv[1]);
	pthread_join(other, &there);
	printf("%s\n", here && there ? "both worked" : "one did not work");
	return 0;
}
