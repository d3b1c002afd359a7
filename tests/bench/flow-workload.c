/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Workload of tests/bench/flow-record.py: 33 calls per request, hot leaf functions. Prints CPU ns per call. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef XRAY_FDR
#include <unistd.h>

/* XRay's own headers are for C++. */
int __xray_log_select_mode(const char *mode);
int __xray_log_init_mode(const char *mode, const char *config);
int __xray_patch(void);
int __xray_log_finalize(void);
int __xray_log_flushLog(void);
#endif

#define CALL __attribute__((noinline))

static volatile unsigned sink;

CALL static void leaf_add(unsigned x)
{
	sink += x;
}

CALL static void leaf_mix(unsigned x)
{
	sink ^= x;
}

CALL static void leaf_take(unsigned x)
{
	sink -= x;
}

CALL static void middle(unsigned i)
{
	leaf_add(i);
	leaf_mix(i);
	leaf_take(i);
}

CALL static void request(unsigned i)
{
	for (unsigned k = 0; k < 8; k++)
		middle(i + k);
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 300000;
	double start;

#ifdef XRAY_FDR
	__xray_log_select_mode("xray-fdr");
	__xray_log_init_mode("xray-fdr", "func_duration_threshold_us=0:buffer_size=65536:buffer_max=4000");
	__xray_patch();
#endif
	start = cpu_ns();
	for (unsigned i = 0; i < n; i++)
		request(i);
#ifdef XRAY_FDR
	__xray_log_finalize();
	usleep(10000);
	__xray_log_flushLog();
#endif
	printf("%.4f\n", (cpu_ns() - start) / ((double)n * 33));
	return 0;
}
