/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments of network calls in words. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "event/sock/sock_call_text.h"
#include "unit.h"

static const char *args_of(struct sock_call call)
{
	static struct sock_call kept;

	kept = call;
	sock_call_write_args(&kept);
	return kept.args;
}

TEST(sockets_that_are_made)
{
	struct sock_call call = {.call = SOCK_CALL_socket, .raw = {AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP}};

	CHECK_EQ_TEXT(args_of(call), "AF_INET6, SOCK_DGRAM|SOCK_NONBLOCK, IPPROTO_UDP");
	call = (struct sock_call){.call = SOCK_CALL_socket, .raw = {AF_NETLINK, SOCK_RAW, 4}};
	CHECK_EQ_TEXT(args_of(call), "AF_NETLINK, SOCK_RAW, 4");
	call = (struct sock_call){.call = SOCK_CALL_socket, .raw = {4711, 77, 5}};
	CHECK_EQ_TEXT(args_of(call), "4711, 77, 5");
	call = (struct sock_call){
		.call = SOCK_CALL_socketpair, .raw = {AF_UNIX, SOCK_STREAM, 0}, .value = 9, .pair = 11};
	CHECK_EQ_TEXT(args_of(call), "AF_UNIX, SOCK_STREAM, 0, [9, 11]");
}

TEST(options_of_every_level)
{
	struct sock_call call = {.call = SOCK_CALL_setsockopt, .raw = {3, SOL_TCP, TCP_NODELAY, 1, 4}, .value = 1};

	CHECK_EQ_TEXT(args_of(call), "3, SOL_TCP, TCP_NODELAY, [1], 4");
	call.raw[1] = SOL_IPV6;
	call.raw[2] = IPV6_V6ONLY;
	CHECK_EQ_TEXT(args_of(call), "3, SOL_IPV6, IPV6_V6ONLY, [1], 4");
	call.raw[1] = 999;
	CHECK_EQ_TEXT(args_of(call), "3, 999, 26, [1], 4");
	call = (struct sock_call){
		.call = SOCK_CALL_getsockopt, .raw = {3, SOL_SOCKET, SO_ERROR, 1, 1}, .value = SOCK_CALL_NO_VALUE};
	CHECK_EQ_TEXT(args_of(call), "3, SOL_SOCKET, SO_ERROR, ...");
}

TEST(addresses_of_every_family)
{
	struct sock_call call = {.call = SOCK_CALL_connect, .raw = {3, 1, 16}, .port = 80};

	CHECK(addr_parse("10.77.0.1", &call.addr) == 0);
	CHECK_EQ_TEXT(args_of(call), "3, 10.77.0.1:80");
	CHECK(addr_parse("fe80::1", &call.addr) == 0);
	CHECK_EQ_TEXT(args_of(call), "3, [fe80::1]:80");
	call.addr = (struct addr){};
	snprintf(call.path, sizeof(call.path), "/run/a\nb");
	CHECK_EQ_TEXT(args_of(call), "3, \"/run/a\\x0ab\"");
	/* Full to the last byte, without an end. */
	memset(call.path, 'x', sizeof(call.path));
	CHECK(strlen(args_of(call)) == strlen("3, \"\"") + sizeof(call.path));
	call.path[0] = '\0';
	CHECK_EQ_TEXT(args_of(call), "3, ...");
	call.raw[1] = 0;
	CHECK_EQ_TEXT(args_of(call), "3, NULL");
}

TEST(data_is_reported_by_its_length)
{
	struct sock_call call = {.call = SOCK_CALL_sendto, .raw = {3, 1, 7919, MSG_NOSIGNAL | MSG_MORE}};

	CHECK_EQ_TEXT(args_of(call), "3, ..., 7919, MSG_NOSIGNAL|MSG_MORE, NULL");
	call.raw[3] = 1u << 27;
	CHECK_EQ_TEXT(args_of(call), "3, ..., 7919, 0x8000000, NULL");
	call = (struct sock_call){.call = SOCK_CALL_sendmmsg, .raw = {3, 1, 5, MSG_DONTWAIT}};
	CHECK_EQ_TEXT(args_of(call), "3, {..., ...}, 5, MSG_DONTWAIT");
	call = (struct sock_call){.call = SOCK_CALL_recvmsg, .raw = {3, 1, 0}};
	CHECK_EQ_TEXT(args_of(call), "3, {NULL, ...}, 0");
	call = (struct sock_call){.call = SOCK_CALL_sendfile, .raw = {3, 4, 0, 137}};
	CHECK_EQ_TEXT(args_of(call), "3, 4, NULL, 137");
}

TEST(the_rest)
{
	struct sock_call call = {.call = SOCK_CALL_shutdown, .raw = {3, SHUT_RDWR}};

	CHECK_EQ_TEXT(args_of(call), "3, SHUT_RDWR");
	call = (struct sock_call){.call = SOCK_CALL_listen, .raw = {3, (__u64)-1}};
	CHECK_EQ_TEXT(args_of(call), "3, -1");
	call = (struct sock_call){.call = SOCK_CALL_accept4, .raw = {3, 0, 0, SOCK_CLOEXEC}};
	CHECK_EQ_TEXT(args_of(call), "3, NULL, SOCK_CLOEXEC");
}
