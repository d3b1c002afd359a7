/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "kernel/insn.h"
#include "kernel/layout.h"
#include "kernel/program.h"

void insns_put(struct insns *code, const struct bpf_insn *insns, size_t count)
{
	if (code->count + count > ARRAY_SIZE(code->items))
		abort();
	memcpy(code->items + code->count, insns, count * sizeof(*insns));
	code->count += count;
}

size_t insns_jump(const struct insns *code)
{
	return code->count - 1;
}

void insns_land(struct insns *code, size_t jump)
{
	code->items[jump].off = (int16_t)(code->count - jump - 1);
}

void insns_repeat(struct insns *code, int times)
{
	code->repeated = code->count + 1;
	PUT(code, SET(R1, times), ADDRESS(BPF_PSEUDO_FUNC, R2, 0), SET(R3, 0), SET(R4, 0), CALL(BPF_FUNC_loop),
	    SET(R0, 0), RETURN);
	code->step = code->count;
	code->items[code->repeated].imm = (int)(code->step - code->repeated - 1);
}

/* The verifier needs BTF that declares the callback as a function of this program. */
static int load_types(struct bpf_func_info functions[2])
{
	struct btf *btf = btf__new_empty();
	int number, proto, fd;
	const void *bytes;
	uint32_t len;

	if (!btf)
		return -errno;
	number = btf__add_int(btf, "long", 8, BTF_INT_SIGNED);
	proto = btf__add_func_proto(btf, number);
	(void)btf__add_func_param(btf, "context", number);
	functions[0].type_id = (uint32_t)btf__add_func(btf, "main", BTF_FUNC_GLOBAL, proto);
	proto = btf__add_func_proto(btf, number);
	(void)btf__add_func_param(btf, "index", number);
	(void)btf__add_func_param(btf, "context", number);
	functions[1].type_id = (uint32_t)btf__add_func(btf, "step", BTF_FUNC_STATIC, proto);
	bytes = btf__raw_data(btf, &len);
	fd = bytes ? bpf_btf_load(bytes, len, NULL) : -ENOMEM;
	btf__free(btf);
	return fd;
}

int program_share(struct program *program, const char *name, size_t size, struct why *why)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	_cleanup_close_ int map =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), (uint32_t)size, 1, &options);
	void *area;

	*program = (struct program){.fd = -1};
	if (map < 0)
		return why_set(why, map, "cannot create a map: %s", strerror(-map));
	size = (size + page - 1) & ~(page - 1);
	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (area == MAP_FAILED)
		return why_set(why, -errno, "cannot map a BPF map: %s", strerror(errno));
	program->area = area;
	program->area_size = size;
	return take_fd(&map);
}

int program_load(struct program *program, const char *name, const struct insns *code, struct why *why)
{
	struct bpf_func_info functions[2] = {{}, {.insn_off = (uint32_t)code->step}};
	_cleanup_close_ int types = load_types(functions);
	LIBBPF_OPTS(bpf_prog_load_opts, options, .func_info = functions, .func_info_cnt = 2,
		    .func_info_rec_size = sizeof(functions[0]), .prog_btf_fd = (uint32_t)types);

	if (types < 0)
		return why_set(why, types, "cannot load the BTF of a program: %s", strerror(-types));
	program->fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, name, "GPL", code->items, code->count, &options);
	if (program->fd < 0)
		return why_set(why, program->fd, "cannot load the program %s: %s", name, strerror(-program->fd));
	return 0;
}

int program_run(const struct program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	return bpf_prog_test_run_opts(program->fd, &options);
}

void program_done(struct program *program)
{
	closep(&program->fd);
	if (program->area)
		(void)munmap(program->area, program->area_size);
	*program = (struct program){.fd = -1};
}

int program_try_entry(const char *function)
{
	static const struct bpf_insn empty[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	struct layout_question target = {.type = function};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY);
	_cleanup_close_ int fd = -1;
	int r = layout_find(&target, 1, NULL);

	if (r < 0)
		return r;
	options.attach_btf_id = target.answer;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "nest_entry", "GPL", empty, ARRAY_SIZE(empty), &options);
	return min_of(fd, 0);
}

int program_try_atomics(void)
{
	struct insns code = {};
	_cleanup_close_ int fd = -1;

	PUT(&code, SET(R0, 0), STORE(BPF_DW, STACK, -8, R0),
	    insn(BPF_STX | BPF_ATOMIC | BPF_DW, STACK, R0, -8, BPF_XCHG), SET(R0, 0), RETURN);
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "nest_atomics", "GPL", code.items, code.count, NULL);
	return min_of(fd, 0);
}

int program_try_variable(const char *variable)
{
	struct layout_question target = {.type = variable, .is_variable = true};
	struct insns code = {};
	_cleanup_close_ int fd = -1;
	int r = layout_find(&target, 1, NULL);

	if (r < 0)
		return r;
	PUT(&code, ADDRESS(BPF_PSEUDO_BTF_ID, R1, target.answer), SET(R0, 0), RETURN);
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "nest_variable", "GPL", code.items, code.count, NULL);
	return min_of(fd, 0);
}
