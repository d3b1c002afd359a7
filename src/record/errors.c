/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Meaning of the errors that socket system calls return. */
#include "record/glossary.h"

static const struct glossary_entry entries[] = {
	{"EACCES", "a firewall rule or security module forbids it (connect, send), or the port is below 1024 (bind)"},
	{"EADDRINUSE", "the local address and port are taken (bind, listen), or no ephemeral port is free (connect)"},
	{"EADDRNOTAVAIL",
	 "the address belongs to no interface of this host (bind), or no ephemeral port is free (connect)"},
	{"EAFNOSUPPORT", "this kernel or socket does not support the address family"},
	{"EAGAIN",
	 "the call would block: nothing to read, no room to write, or no pending connection; also a receive timeout"},
	{"EALREADY", "a non-blocking connect is still in progress"},
	{"EBADF", "not an open file descriptor: it was closed, perhaps by another thread"},
	{"ECONNABORTED", "the connection was reset before the application accepted it"},
	{"ECONNREFUSED",
	 "the peer answered the SYN with RST: nothing listens on that port, or a firewall rejects; for UDP an ICMP "
	 "port unreachable was received"},
	{"ECONNRESET",
	 "the peer sent RST: its application closed with unread data, crashed, or a middlebox cut the connection"},
	{"EDESTADDRREQ", "the socket is not connected and the call names no destination"},
	{"EFAULT", "the buffer's address is not valid"},
	{"EHOSTDOWN", "the destination on the link is down"},
	{"EHOSTUNREACH",
	 "no route to the host: neighbour resolution (ARP, ND) failed, or a router sent ICMP host unreachable"},
	{"EINPROGRESS", "a non-blocking connect has begun; writable means finished"},
	{"EINTR", "a signal interrupted the call before it did anything"},
	{"EINVAL", "an argument is not valid, or the socket is in the wrong state for the call"},
	{"EISCONN", "the socket is connected already"},
	{"EMFILE", "the process is at its limit of open files (RLIMIT_NOFILE); accept and socket fail"},
	{"EMSGSIZE", "the datagram is larger than the socket, or with DF than the path MTU, allows"},
	{"ENETDOWN", "the interface is down"},
	{"ENETUNREACH", "no route to the network, or a router sent ICMP network unreachable"},
	{"ENFILE", "the host is at its limit of open files (fs.file-max)"},
	{"ENOBUFS", "no buffer space: the transmit queue of the interface is full, or memory is short"},
	{"ENOENT", "no such file; for a UNIX socket: nothing at that path"},
	{"ENOMEM", "not enough memory, or net.ipv4.tcp_mem is exhausted"},
	{"ENOTCONN", "the socket is not connected, or the peer has closed already"},
	{"ENOTSOCK", "the file descriptor is not a socket"},
	{"EOPNOTSUPP", "the socket's type does not support the call"},
	{"EPERM", "a firewall rule or a BPF program drops what the socket sends, or a capability is missing"},
	{"EPIPE",
	 "writing to a connection that is shut down for writing: the peer reset it, or this end called shutdown"},
	{"EPROTONOSUPPORT", "this kernel does not support the protocol in that family"},
	{"ETIMEDOUT", "no answer: SYN retries (tcp_syn_retries), retransmissions (tcp_retries2), keep-alives or "
		      "TCP_USER_TIMEOUT were exhausted"},
};

static const struct glossary errors = {.kind = "error", .entries = entries, .count = ARRAY_SIZE(entries)};
GLOSSARY(errors);
