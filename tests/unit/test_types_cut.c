/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A part of the running kernel's type information says the same as all of it. */
#include <bpf/btf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/layout.h"
#include "kernel/types_cut.h"
#include "unit.h"

#define TYPES_FILE "/sys/kernel/btf/vmlinux"

static int cut(const char *const *names, struct types_number *numbers, size_t count)
{
	struct map set = MAP_INIT(0, 1, 100);
	int fd = -1, r;

	for (; *names; names++)
		(void)map_put(&set, *names, NULL);
	r = types_cut(&set, numbers, count, &fd);
	map_done(&set);
	return r < 0 ? r : fd;
}

TEST(a_part_says_the_same_as_the_whole)
{
	static const char *const names[] = {"sock", "tcp_sock", "sk_buff", "skb_drop_reason", "no_such_thing", NULL};
	struct layout_question cut_off[] = {
		{"sock", "__sk_common.skc_dport"}, {"tcp_sock", "snd_una"}, {"sk_buff", "len"},
		{"sk_buff", "pkt_type"},           {"tcp_sock", "rtt_min"}, {"sock", "sk_receive_queue.qlen"}};
	struct layout_question whole[ARRAY_SIZE(cut_off)];
	struct why why = {};
	struct stat stat;
	void *bytes;
	int fd;

	if (access(TYPES_FILE, R_OK) < 0)
		SKIP("the kernel shows no BTF");
	memcpy(whole, cut_off, sizeof(whole));
	fd = cut(names, NULL, 0);
	REQUIRE(fd >= 0 && fstat(fd, &stat) == 0);
	CHECK(stat.st_size < 1 << 20);
	bytes = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	REQUIRE(bytes != MAP_FAILED);
	CHECK_EQ_INT(layout_find(whole, ARRAY_SIZE(whole), &why), 0);
	CHECK_EQ_INT(layout_find_in(bytes, (size_t)stat.st_size, cut_off, ARRAY_SIZE(cut_off), &why), 0);
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		unit_note("%s.%s", whole[i].type, whole[i].member);
		CHECK_EQ_UINT(cut_off[i].answer, whole[i].answer);
		CHECK_EQ_UINT(cut_off[i].shift, whole[i].shift);
		CHECK_EQ_UINT(cut_off[i].width, whole[i].width);
	}
	(void)munmap(bytes, (size_t)stat.st_size);
	(void)close(fd);
}

/* As libbpf reads it, and finds sizes and values. */
TEST(libbpf_reads_the_part)
{
	static const char *const names[] = {"sock", "task_struct", "net_device", "skb_drop_reason", NULL};
	char path[64];
	struct btf *all, *part;
	int fd;

	if (access(TYPES_FILE, R_OK) < 0)
		SKIP("the kernel shows no BTF");
	fd = cut(names, NULL, 0);
	REQUIRE(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	part = btf__parse(path, NULL);
	all = btf__load_vmlinux_btf();
	REQUIRE(part && all);
	for (size_t i = 0; i < 3; i++) {
		int a = btf__find_by_name_kind(all, names[i], BTF_KIND_STRUCT);
		int b = btf__find_by_name_kind(part, names[i], BTF_KIND_STRUCT);

		unit_note("%s", names[i]);
		REQUIRE(a > 0 && b > 0);
		CHECK_EQ_INT(btf__resolve_size(part, (uint32_t)b), btf__resolve_size(all, (uint32_t)a));
		CHECK_EQ_UINT(btf_vlen(btf__type_by_id(part, (uint32_t)b)),
			      btf_vlen(btf__type_by_id(all, (uint32_t)a)));
		for (unsigned k = 0; k < btf_vlen(btf__type_by_id(all, (uint32_t)a)); k++) {
			const struct btf_member *x = &btf_members(btf__type_by_id(all, (uint32_t)a))[k];
			const struct btf_member *y = &btf_members(btf__type_by_id(part, (uint32_t)b))[k];

			CHECK_EQ_TEXT(btf__name_by_offset(part, y->name_off), btf__name_by_offset(all, x->name_off));
			CHECK_EQ_UINT(y->offset, x->offset);
			CHECK_EQ_INT(btf__resolve_size(part, y->type), btf__resolve_size(all, x->type));
		}
	}
	CHECK(btf__type_cnt(part) < btf__type_cnt(all) / 10);
	btf__free(part);
	btf__free(all);
	(void)close(fd);
}

TEST(numbers_are_those_of_the_kernel)
{
	static const char *const none[] = {NULL};
	struct types_number numbers[] = {{BTF_KIND_FUNC, "tcp_sendmsg", false, 0},
					 {BTF_KIND_STRUCT, "tcp_sock", false, 0},
					 {BTF_KIND_FUNC, "no_such_function", true, 0}};
	struct layout_question asked[] = {{.type = "tcp_sendmsg"}, {.type = "tcp_sock", .member = ""}};
	struct why why = {};
	int fd;

	if (access(TYPES_FILE, R_OK) < 0)
		SKIP("the kernel shows no BTF");
	fd = cut(none, numbers, ARRAY_SIZE(numbers));
	CHECK(fd >= 0);
	(void)close(fd);
	CHECK_EQ_INT(layout_find(asked, ARRAY_SIZE(asked), &why), 0);
	CHECK_EQ_UINT(numbers[0].number, asked[0].answer);
	CHECK_EQ_UINT(numbers[1].number, asked[1].answer);
	CHECK_EQ_UINT(numbers[2].number, 0);
	numbers[2].optional = false;
	CHECK_ERR(cut(none, numbers, ARRAY_SIZE(numbers)), -ENOENT);
}
