// SPDX-License-Identifier: GPL-2.0-only
/*
 * sock.pass: file descriptors in the control data of sendmsg and recvmsg, one event each, read when the call returns.
 */
#include "event/sock/sock_pass.h"
#include "event/bpf/syscall.bpf.h"

#define SOL_SOCKET   1
#define SCM_RIGHTS   1
#define MESSAGES_MAX 4  /* control messages read per call */
#define PASSED_MAX   32 /* descriptors reported per control message */
#define S_IFIFO      0010000

EVENT(sock_pass, struct sock_pass_event)

/* User-space struct msghdr, from msg_control on. */
struct user_control {
	__u64 data;
	__u64 len;
};
#define MSGHDR_CONTROL 32

struct user_cmsg {
	__u64 len;
	__s32 level;
	__s32 type;
};

static __always_inline void set_file(struct sock_pass *pass, __u32 fd)
{
	struct file *file = event_fd_file(fd);

	if (!file)
		return;
	bpf_probe_read_kernel_str(pass->file, sizeof(pass->file), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	if (pass->file[0] == 0 && (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) == S_IFIFO)
		__builtin_memcpy(pass->file, "pipe", 5);
}

static __always_inline void report_fd(void *ctx, __u32 socket_fd, __u32 fd, __u8 action)
{
	struct sock_pass_event *e = sock_pass_begin();

	if (!e)
		return;
	event_set_found_sock(&sock_pass_config, &e->head, event_fd_sock(socket_fd));
	e->data.socket_fd = socket_fd;
	e->data.fd = fd;
	e->data.action = action;
	set_file(&e->data, fd);
	sock_pass_end(ctx, e);
}

static __always_inline void report_message(void *ctx, __u32 socket_fd, __u64 at, __u64 len, __u8 action)
{
	__u64 count = len > sizeof(struct user_cmsg) ? (len - sizeof(struct user_cmsg)) / sizeof(__u32) : 0;

	for (__u32 i = 0; i < PASSED_MAX; i++) {
		__u32 fd;

		if (i >= count ||
		    bpf_probe_read_user(&fd, sizeof(fd), (void *)(at + sizeof(struct user_cmsg) + i * sizeof(fd))) < 0)
			return;
		report_fd(ctx, socket_fd, fd, action);
	}
}

static __always_inline int passed(void *ctx, struct pt_regs *regs, long result, __u8 action)
{
	__u32 socket_fd = (__u32)event_syscall_arg(regs, 0);
	const char *message = (const char *)event_syscall_arg(regs, 1);
	struct user_control control;
	struct user_cmsg cmsg;

	if (result < 0 || bpf_probe_read_user(&control, sizeof(control), message + MSGHDR_CONTROL) < 0)
		return 0;
	for (int i = 0; i < MESSAGES_MAX; i++) {
		__u64 step;

		if (control.len < sizeof(cmsg) || bpf_probe_read_user(&cmsg, sizeof(cmsg), (void *)control.data) < 0 ||
		    cmsg.len < sizeof(cmsg) || cmsg.len > control.len)
			return 0;
		if (cmsg.level == SOL_SOCKET && cmsg.type == SCM_RIGHTS)
			report_message(ctx, socket_fd, control.data, cmsg.len, action);
		step = (cmsg.len + 7) & ~7ull;
		if (step > control.len)
			return 0;
		control.data += step;
		control.len -= step;
	}
	return 0;
}

static __always_inline int pass_sent(void *ctx, struct pt_regs *regs, long result)
{
	return passed(ctx, regs, result, SOCK_PASS_SEND);
}

static __always_inline int pass_received(void *ctx, struct pt_regs *regs, long result)
{
	return passed(ctx, regs, result, SOCK_PASS_RECV);
}

EVENT_SYSCALL(sock_pass_send, sendmsg, pass_sent)
EVENT_SYSCALL(sock_pass_recv, recvmsg, pass_received)
