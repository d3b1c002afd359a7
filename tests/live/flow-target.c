/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that behaves badly in a way that its first argument chooses, and prints what it did: the recorder's guest
 * in tests/live/flow.t. Built there with -finstrument-functions.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/flow/runtime/nestflow.h"

static volatile unsigned long sink;

__attribute__((noinline)) static void leaf(unsigned long x)
{
	sink += x;
}

__attribute__((noinline)) static void work(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		leaf(i);
}

static void do_calls(unsigned long n)
{
	work(n);
}

/* --- threads --- */

static void *thread_body(void *data)
{
	work((unsigned long)(uintptr_t)data);
	return NULL;
}

static void do_threads(unsigned long n)
{
	pthread_attr_t attr;
	static pthread_t threads[2000];
	unsigned long made = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384 + 4096);
	for (unsigned long i = 0; i < n && made < 2000; i++)
		made += pthread_create(&threads[made], &attr, thread_body, (void *)(uintptr_t)100) == 0;
	for (unsigned long i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	printf("threads %lu\n", made);
}

/* --- processes --- */

static void do_fork(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			work(10);
			exit(0);
		}
		work(1);
		waitpid(pid, NULL, 0);
	}
}

static void do_exec(unsigned long n, char **argv)
{
	char count[20];

	work(5);
	if (n == 0)
		return;
	snprintf(count, sizeof(count), "%lu", n - 1);
	execl(argv[0], argv[0], "exec", count, NULL);
}

static void do_vfork(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		work(1);
	}
}

static void do_killed(unsigned long n)
{
	work(n);
	kill(getpid(), SIGKILL);
}

/* Until somebody ends it. */
static void do_spin(unsigned long n)
{
	do
		work(1000);
	while (!n);
}

__attribute__((noinline)) static void only_late(unsigned long x)
{
	sink -= x;
}

/* Something new at the end, and then killed: what is in the buffers is all that tells about it. */
static void do_late(unsigned long n)
{
	work(n);
	for (unsigned long i = 0; i < 10; i++)
		only_late(i);
	kill(getpid(), SIGKILL);
}

static void do_crash(unsigned long n)
{
	work(n);
	*(volatile int *)(uintptr_t)(n - n) = 1;
}

__attribute__((noinline)) static void *linger(void *data)
{
	for (;;)
		pause();
	return data;
}

__attribute__((noinline)) static void after_child(void)
{
	sink++;
}

/* A child whose thread is inside a call when it leaves; the parent goes on. */
static void do_leave(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pthread_t thread;

			pthread_create(&thread, NULL, linger, NULL);
			usleep(100000);
			work(1);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		after_child();
	}
}

/* Another program, without the recorder, takes the place of a child inside a call. */
static void do_replace(unsigned long n)
{
	char *const argv[] = {"sleep", "0.2", NULL}, *const none[] = {NULL};

	for (unsigned long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			work(1);
			execve("/nowhere", argv, none);
			work(1);
			if (i % 3 == 0)
				execve("/bin/sleep", argv, none);
			else if (i % 3 == 1)
				execle("/bin/sleep", "sleep", "0.2", NULL, none);
			else if (clearenv() == 0)
				execlp("sleep", "sleep", "0.2", NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
		after_child();
	}
}

static void do_quick_exit(unsigned long n)
{
	work(n);
	_exit(7);
}

/* --- jumps and signals --- */

static jmp_buf place;

__attribute__((noinline)) static void jump_from(unsigned depth)
{
	if (!depth)
		longjmp(place, 1);
	jump_from(depth - 1);
	sink++;
}

static void do_longjmp(unsigned long n)
{
	for (volatile unsigned long i = 0; i < n; i++)
		if (!setjmp(place))
			jump_from(9);
	work(3);
}

static volatile unsigned long handled;

__attribute__((noinline)) static void in_handler(void)
{
	handled++;
}

static void on_signal(int number)
{
	(void)number;
	in_handler();
}

static void do_signals(unsigned long n)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &often, NULL);
	work(n);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("handled %lu\n", handled);
}

static void on_slow_signal(int number)
{
	(void)number;
	in_handler();
	usleep(3000);
}

/* Handlers that take long, and interrupt the recorder as often as the program. */
static void do_slow_signals(unsigned long n)
{
	struct itimerval often = {{0, 5000}, {0, 5000}}, never = {{0, 0}, {0, 0}};
	struct timespec begin, end;

	signal(SIGALRM, on_slow_signal);
	setitimer(ITIMER_REAL, &often, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	work(n);
	clock_gettime(CLOCK_MONOTONIC, &end);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("took %lld\n", (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
}

static sigjmp_buf signal_place;

static void on_signal_jump(int number)
{
	(void)number;
	handled++;
	siglongjmp(signal_place, 1);
}

static void do_signal_jump(unsigned long n)
{
	signal(SIGALRM, on_signal_jump);
	for (volatile unsigned long i = 0; i < n; i++)
		if (!sigsetjmp(signal_place, 1)) {
			struct itimerval once = {{0, 0}, {0, 500}};

			setitimer(ITIMER_REAL, &once, NULL);
			for (;;)
				work(1000);
		}
	work(7);
	printf("handled %lu\n", handled);
}

__attribute__((noinline)) static unsigned long deep(unsigned long n)
{
	return n ? deep(n - 1) + 1 : 0;
}

static void do_deep(unsigned long n)
{
	printf("deep %lu\n", deep(n));
	work(5);
}

__attribute__((noinline)) static void jump_out(unsigned long n)
{
	if (!setjmp(place))
		jump_from((unsigned)n);
}

static void do_deep_jump(unsigned long n)
{
	jump_out(n);
	work(5);
}

/* --- libraries --- */

static void do_dlopen(unsigned long n, char **argv)
{
	for (unsigned long i = 0; i < n; i++)
		for (int which = 3; which < 5; which++) {
			void *handle = dlopen(argv[which], RTLD_NOW);
			void (*function)(void) = handle ? (void (*)(void))dlsym(handle, "plugin") : NULL;

			if (!function) {
				fprintf(stderr, "%s\n", dlerror());
				exit(1);
			}
			function();
			dlclose(handle);
		}
}

/* --- descriptors --- */

static void do_close_all(unsigned long n)
{
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	closefrom(3);
	close_range(3, 2000, 0);
	work(n);
	/* Numbers that the recorder may have used belong to the program. */
	for (int fd = 990; fd < 1010; fd++)
		if (dup2(1, fd) != fd)
			exit(1);
	work(n);
	for (int fd = 990; fd < 1010; fd++)
		close(fd);
}

static void do_limit(unsigned long n)
{
	struct rlimit limit = {300000, 300000};

	setrlimit(RLIMIT_FSIZE, &limit);
	work(n);
	printf("survived\n");
}

static void do_user(unsigned long n)
{
	pthread_t thread;

	if (chdir("/") < 0 || chroot("/proc") < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		exit(1);
	clearenv();
	pthread_create(&thread, NULL, thread_body, (void *)(uintptr_t)n);
	pthread_join(thread, NULL);
	work(n);
	do_calls(n);
}

/* Works until it is told to end. */
static void do_serve_signals(unsigned long n)
{
	printf("running\n");
	fflush(stdout);
	for (;;) {
		work(n);
		if (poll(NULL, 0, 1) < 0 && errno != EINTR)
			return;
	}
}

/* --- a server and its clients, in one process --- */

static unsigned long clients;
static unsigned short port;

static void *client_body(void *data)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = port, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	char text[100];

	(void)data;
	for (unsigned long i = 0; i < clients; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
			exit(1);
		memset(text, 'a', sizeof(text));
		if (write(fd, text, 40) != 40 || recv(fd, text, 40, MSG_WAITALL) != 40)
			exit(1);
		close(fd);
	}
	return NULL;
}

__attribute__((noinline)) static void serve(int fd)
{
	char text[100];
	ssize_t n = recv(fd, text, 10, MSG_PEEK);

	/* What was only looked at is received now. */
	if (n > 0)
		n = read(fd, text, sizeof(text));
	if (n > 0)
		n = send(fd, text, (size_t)n, 0);
	close(fd);
}

/* The same through a stream: 20 bytes are in its buffer until it is flushed, and 20 until it is closed. */
__attribute__((noinline)) static void serve_stream(int fd)
{
	char text[100];
	FILE *out = fdopen(fd, "w");

	if (read(fd, text, sizeof(text)) != 40 || !out)
		exit(1);
	fprintf(out, "%d", 123456789);
	fputc('x', out);
	fwrite(text, 1, 10, out);
	if (fflush(out) != 0)
		exit(1);
	fputs("012345678", out);
	putc('y', out);
	fwrite(text, 1, 10, out);
	if (fclose(out) != 0)
		exit(1);
}

static void serve_clients(unsigned long n, void (*serve_one)(int fd))
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = 4711}};
	pthread_t thread;

	if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 100) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		exit(1);
	port = address.sin_port;
	clients = n;
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	pthread_create(&thread, NULL, client_body, NULL);
	for (unsigned long i = 0; i < n; i++) {
		if (epoll_wait(epoll, &event, 1, 10000) != 1)
			exit(1);
		serve_one(accept4(listener, NULL, NULL, 0));
	}
	pthread_join(thread, NULL);
	printf("port %u\n", ntohs(port));
}

static void do_sockets(unsigned long n)
{
	serve_clients(n, serve);
}

static void do_streams(unsigned long n)
{
	serve_clients(n, serve_stream);
}

/* A descriptor is sent to another process, which reads from it. */
static void do_pass(unsigned long n)
{
	int pair[2], through[2];
	char control[CMSG_SPACE(sizeof(int))], text[10];
	struct iovec part = {text, 1};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	pid_t pid;

	(void)n;
	text[0] = 'x';
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	socketpair(AF_UNIX, SOCK_STREAM, 0, through);
	pid = fork();
	if (pid == 0) {
		int fd;

		close(pair[0]);
		close(pair[1]);
		if (recvmsg(through[1], &message, 0) != 1)
			exit(1);
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
		exit(read(fd, text, 5) == 5 ? 0 : 1);
	}
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &pair[1], sizeof(int));
	if (sendmsg(through[0], &message, 0) != 1 || write(pair[0], "hello", 5) != 5)
		exit(1);
	waitpid(pid, NULL, 0);
}

/* --- operations that wait --- */

static pid_t waiter;
static int waiter_fd, waker_fd;
static pthread_barrier_t both;

/* A waiter that sleeps is in its operation: whatever it waits for comes a tenth of a second later. */
static void let_it_wait(void)
{
	char path[64], line[512], *state;
	FILE *file;

	pthread_barrier_wait(&both);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)waiter);
	do {
		usleep(1000);
		file = fopen(path, "r");
		state = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
		if (file)
			fclose(file);
	} while (state && state[2] != 'S');
	usleep(100000);
}

/* Nothing of it is recorded before its first operation. */
__attribute__((no_instrument_function)) static void *wait_body(void *data)
{
	struct pollfd ready = {.events = POLLIN};
	char byte;
	int fd;

	waiter = gettid();
	pthread_barrier_wait(&both);
	if (read(waiter_fd, &byte, 1) != 1)
		exit(1);
	pthread_barrier_wait(&both);
	fd = accept(*(int *)data, NULL, NULL);
	ready.fd = fd;
	pthread_barrier_wait(&both);
	if (poll(&ready, 1, 10000) != 1)
		exit(1);
	close(fd);
	return NULL;
}

static void do_wait(unsigned long n)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0), pair[2];
	pthread_t thread;

	(void)n;
	if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 5) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		exit(1);
	waiter_fd = pair[0];
	waker_fd = pair[1];
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&thread, NULL, wait_body, &listener);
	let_it_wait();
	if (write(waker_fd, "x", 1) != 1)
		exit(1);
	let_it_wait();
	if (connect(client, (struct sockaddr *)&address, length) < 0)
		exit(1);
	let_it_wait();
	if (write(client, "x", 1) != 1)
		exit(1);
	pthread_join(thread, NULL);
}

/* --- work that goes from thread to thread --- */

static int queue[2], answers[2];

__attribute__((noinline)) static void compute(unsigned long x)
{
	for (unsigned long i = 0; i < 3; i++)
		leaf(x);
}

/* It never sees a socket: whom it works for is only known from what is handed to it. */
static void *worker_body(void *data)
{
	void *job;

	(void)data;
	while (read(queue[0], &job, sizeof(job)) == sizeof(job) && job) {
		NESTFLOW(pop, job);
		compute((unsigned long)job);
		if (write(answers[1], &job, sizeof(job)) != sizeof(job))
			exit(1);
	}
	return NULL;
}

__attribute__((noinline)) static void hand_over(int fd)
{
	static char jobs[16];
	static unsigned next;
	void *job = &jobs[next++ % sizeof(jobs)];
	char text[100];
	ssize_t n = read(fd, text, sizeof(text));

	NESTFLOW(push, job);
	if (write(queue[1], &job, sizeof(job)) != sizeof(job) || read(answers[0], &job, sizeof(job)) != sizeof(job))
		exit(1);
	if (n > 0)
		n = send(fd, text, (size_t)n, 0);
	close(fd);
}

static void do_hand_over(unsigned long n)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t client, worker;
	void *none = NULL;

	if (pipe(queue) < 0 || pipe(answers) < 0 || bind(listener, (struct sockaddr *)&address, length) < 0 ||
	    listen(listener, 100) < 0 || getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		exit(1);
	port = address.sin_port;
	clients = n;
	pthread_create(&worker, NULL, worker_body, NULL);
	pthread_create(&client, NULL, client_body, NULL);
	for (unsigned long i = 0; i < n; i++)
		hand_over(accept(listener, NULL, NULL));
	pthread_join(client, NULL);
	if (write(queue[1], &none, sizeof(none)) != sizeof(none))
		exit(1);
	pthread_join(worker, NULL);
	printf("port %u\n", ntohs(port));
}

__attribute__((noinline)) static void only_when_strict(void)
{
	leaf(2);
}

/* --- threads that get their names late --- */

static void *named_body(void *data)
{
	leaf(1);
	pthread_barrier_wait(&both);
	if (data)
		pthread_setname_np(pthread_self(), data);
	pthread_barrier_wait(&both);
	leaf(2);
	return NULL;
}

static void do_names(unsigned long n)
{
	pthread_t own, others, asleep;

	(void)n;
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&own, NULL, named_body, "named-itself");
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	pthread_join(own, NULL);
	pthread_create(&others, NULL, named_body, NULL);
	pthread_barrier_wait(&both);
	pthread_setname_np(others, "named-by-other");
	pthread_barrier_wait(&both);
	pthread_join(others, NULL);
	pthread_create(&asleep, NULL, named_body, NULL);
	pthread_barrier_wait(&both);
	pthread_setname_np(asleep, "named-asleep");
	pthread_setname_np(pthread_self(), "longer-than-the-kernel-takes");
	leaf(3);
	prctl(PR_SET_NAME, "named-killed");
	leaf(4);
	kill(getpid(), SIGKILL);
}

/* --- strict seccomp: any system call but read, write and exit is the end --- */

static void do_strict(unsigned long n)
{
	static const char done[] = "done\n";

	leaf(1);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		exit(1);
	work(n);
	only_when_strict();
	syscall(SYS_exit, write(1, done, sizeof(done) - 1) == sizeof(done) - 1 ? 7 : 1);
}

static void do_slow(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		work(5);
		usleep(2000);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(unsigned long n);
	} ways[] = {
		{"calls", do_calls},
		{"threads", do_threads},
		{"fork", do_fork},
		{"vfork", do_vfork},
		{"killed", do_killed},
		{"spin", do_spin},
		{"late", do_late},
		{"crash", do_crash},
		{"quick-exit", do_quick_exit},
		{"leave", do_leave},
		{"replace", do_replace},
		{"longjmp", do_longjmp},
		{"signals", do_signals},
		{"slow-signals", do_slow_signals},
		{"signal-jump", do_signal_jump},
		{"deep", do_deep},
		{"deep-jump", do_deep_jump},
		{"close-all", do_close_all},
		{"limit", do_limit},
		{"user", do_user},
		{"serve-signals", do_serve_signals},
		{"sockets", do_sockets},
		{"streams", do_streams},
		{"pass", do_pass},
		{"slow", do_slow},
		{"wait", do_wait},
		{"names", do_names},
		{"strict", do_strict},
		{"hand-over", do_hand_over},
	};
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (argc > 1 && strcmp(argv[1], "exec") == 0) {
		do_exec(n, argv);
		return 0;
	}
	if (argc > 4 && strcmp(argv[1], "dlopen") == 0) {
		do_dlopen(n, argv);
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(argv[1], ways[i].name) == 0) {
			ways[i].run(n);
			return 3;
		}
	return 1;
}
