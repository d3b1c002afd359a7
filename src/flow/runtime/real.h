/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The C library's own functions behind those that the runtime puts in front of them. */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define REAL_FUNCTIONS(x)                                                                                                       \
	x(int, prctl, (int, ...)) x(int, pthread_setname_np, (pthread_t, const char *)) x(                                      \
		int, accept,                                                                                                    \
		(int, struct sockaddr *, socklen_t *)) x(int, accept4,                                                          \
							 (int, struct sockaddr *, socklen_t *,                                  \
							  int)) x(int, connect,                                                 \
								  (int, const struct sockaddr *, socklen_t))                    \
		x(int, bind, (int, const struct sockaddr *, socklen_t)) x(int, listen, (int, int)) x(                           \
			int, socket,                                                                                            \
			(int, int,                                                                                              \
			 int)) x(int, socketpair,                                                                               \
				 (int, int, int, int *)) x(ssize_t, read, (int, void *, size_t))                                \
			x(ssize_t, readv, (int, const struct iovec *, int)) x(ssize_t, recv, (int, void *, size_t, int)) x(     \
				ssize_t,                                                                                        \
				recvfrom,                                                                                       \
				(int, void *, size_t, int, struct sockaddr *,                                                   \
				 socklen_t                                                                                      \
					 *)) x(ssize_t, recvmsg, (int, struct msghdr *, int))                                   \
				x(int, recvmmsg, (int, struct mmsghdr *, unsigned, int, struct timespec *)) x(                  \
					ssize_t, write,                                                                         \
					(int, const void *,                                                                     \
					 size_t)) x(ssize_t, writev,                                                            \
						    (int, const struct iovec *,                                                 \
						     int)) x(ssize_t, send,                                                     \
							     (int, const void *, size_t,                                        \
							      int)) x(ssize_t, sendto,                                          \
								      (int, const void *, size_t, int, const struct sockaddr *, \
								       socklen_t)) x(ssize_t, sendmsg,                          \
										     (int, const struct msghdr *,               \
										      int))                                     \
					x(int, sendmmsg, (int, struct mmsghdr *, unsigned, int)) x(                             \
						ssize_t, sendfile,                                                              \
						(int, int, off_t *,                                                             \
						 size_t)) x(ssize_t, splice,                                                    \
							    (int, off64_t *, int, off64_t *, size_t, unsigned))                 \
						x(int, close, (int)) x(int, shutdown, (int, int)) x(int, dup, (int)) x(         \
							int, dup2,                                                              \
							(int,                                                                   \
							 int)) x(int, dup3,                                                     \
								 (int, int, int)) x(int, fcntl, (int, int, ...))                \
							x(int, close_range, (unsigned, unsigned, int)) x(                       \
								void, closefrom,                                                \
								(int)) x(int, epoll_ctl,                                        \
									 (int, int, int, struct epoll_event *))                 \
								x(                                                              \
									int, epoll_wait,                                        \
									(int, struct epoll_event *, int,                        \
									 int)) x(int, epoll_pwait,                              \
										 (int, struct epoll_event *, int,               \
										  int, const sigset_t *))                       \
									x(int, poll,                                            \
									  (struct pollfd *, nfds_t,                             \
									   int)) x(int, ppoll,                                  \
										   (struct pollfd *, nfds_t,                    \
										    const struct                                \
										    timespec *,                                 \
										    const sigset_t                              \
											    *))                                 \
										x(int, select,                                  \
										  (int, fd_set *, fd_set *, fd_set *,           \
										   struct timeval *))                           \
											x(int, pselect,                         \
											  (int, fd_set *, fd_set *,             \
											   fd_set *,                            \
											   const struct timespec                \
												   *,                           \
											   const sigset_t                       \
												   *)) x(int, fclose,           \
													 (FILE *))              \
												x(void *, dlopen,               \
												  (const char *, int))          \
													x(int,                  \
													  dlclose,              \
													  (void *))

struct real_functions {
#define REAL_MEMBER(result, name, parameters) result(*name) parameters;
	REAL_FUNCTIONS(REAL_MEMBER)
#undef REAL_MEMBER
};

extern struct real_functions real __attribute__((visibility("hidden")));

/* Looked up once, in the constructor; or earlier, when another library's constructor calls one of them. */
void real_find(void);
