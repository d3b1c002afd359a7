/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the value in a register came from, with types made up for the purpose. */
#include <string.h>

#include "oops/oops_origin.h"
#include "unit.h"

/* int f(struct sk_buff *skb, int n): skb->dev at 0x10, dev->qdisc at 0x50. */
static bool find_parameter(const void *context, unsigned number, struct oops_value *ret_value)
{
	(void)context;
	*ret_value = (struct oops_value){.text = "skb", .type_name = "sk_buff", .type = 1};
	if (number == 1)
		*ret_value = (struct oops_value){.text = "n"};
	return number < 2;
}

static bool find_member(const void *context, uint64_t type, uint64_t offset, struct oops_value *ret_value)
{
	(void)context;
	*ret_value = type == 1 ? (struct oops_value){.text = "dev", .type_name = "net_device", .type = 2}
			       : (struct oops_value){.text = "qdisc", .type_name = "Qdisc", .type = 3};
	return (type == 1 && offset == 0x10) || (type == 2 && offset == 0x50);
}

/* A variable that lives in RBX from offset 2 on. */
static bool find_variable(const void *context, const char *reg, uint32_t offset, struct oops_value *ret_value)
{
	(void)context;
	*ret_value = (struct oops_value){.text = "q", .type_name = "net_device", .type = 2};
	return strcmp(reg, "RBX") == 0 && offset >= 2;
}

static const struct oops_types btf_like = {.parameter = find_parameter, .member = find_member};
static const struct oops_types dwarf_like = {
	.variable = find_variable, .parameter = find_parameter, .member = find_member};

/* The member that the report has for this code at this offset of a function; "-": none. */
static const char *member_of(const struct oops_types *types, const char *place, const char *code, char *text,
			     size_t room)
{
	_cleanup_oops_ struct oops_list list = {};
	char log[512];

	snprintf(log, sizeof(log),
		 "BUG: kernel NULL pointer dereference, address: 0000000000000050\nCPU: 0 PID: 1 Comm: a Not tainted "
		 "6.1 #1\n"
		 "%s\nRDI: ffff000000000000\nCode: %s\n",
		 place, code);
	oops_read(log, strlen(log), &list);
	if (!CHECK_EQ_UINT(list.items.count, 1))
		return "none";
	oops_origin_find(list.items.items[0], types);
	snprintf(text, room, "%s", list.items.items[0]->report.member ? list.items.items[0]->report.member : "-");
	return text;
}

#define MEMBER(types, place, code) member_of((types), (place), (code), (char[200]){}, 200)

TEST(loads_and_copies_are_followed_back)
{
	/* mov rax,[rdi+0x10]; mov rax,[rax+0x50] */
	CHECK_EQ_TEXT(MEMBER(&btf_like, "RIP: 0010:f+0x4/0x20", "48 8b 47 10 <48> 8b 40 50"),
		      "skb->dev->qdisc (struct net_device, offset 0x50)");
	/* mov rbx,rdi; mov rax,[rbx+0x10]; mov rcx,[rax+0x50] */
	CHECK_EQ_TEXT(MEMBER(&btf_like, "RIP: 0010:f+0x7/0x20", "48 89 fb 48 8b 43 10 <48> 8b 48 50"),
		      "skb->dev->qdisc (struct net_device, offset 0x50)");
	/* ldr x1,[x0,#0x10]; ldr x2,[x1,#0x50] */
	CHECK_EQ_TEXT(MEMBER(&btf_like, "pc : f+0x4/0x20", "f9400801 (f9402822)"),
		      "skb->dev->qdisc (struct net_device, offset 0x50)");
}

TEST(what_is_not_certain_is_not_named)
{
	/* The code starts after the function's entry. */
	CHECK_EQ_TEXT(MEMBER(&btf_like, "RIP: 0010:f+0x14/0x20", "48 8b 47 10 <48> 8b 40 50"), "-");
	/* A call may change rdi: call 0; mov rax,[rdi+0x10] */
	CHECK_EQ_TEXT(
		MEMBER(&btf_like, "RIP: 0010:f+0xe/0x20", "48 8b 07 48 8b 07 48 8b 07 e8 00 00 00 00 <48> 8b 47 10"),
		"-");
	/* What follows a jump is reached from elsewhere: jmp +0; mov rax,[rdi+0x10] */
	CHECK_EQ_TEXT(MEMBER(&btf_like, "RIP: 0010:f+0x2/0x20", "eb 00 <48> 8b 47 10"), "-");
	/* lea rdi,[rdi+8]; mov rax,[rdi+0x10] */
	CHECK_EQ_TEXT(MEMBER(&btf_like, "RIP: 0010:f+0x4/0x20", "48 8d 7f 08 <48> 8b 47 10"), "-");
	/* A number is no structure: mov rax,[rsi+0x10] */
	CHECK_EQ_TEXT(MEMBER(&btf_like, "RIP: 0010:f+0x0/0x20", "<48> 8b 46 10"), "-");
	/* No such member: mov rax,[rdi+0x18] */
	CHECK_EQ_TEXT(MEMBER(&btf_like, "RIP: 0010:f+0x0/0x20", "<48> 8b 47 18"), "-");
}

TEST(variables_are_known_anywhere)
{
	/* mov rax,[rbx+0x50], far from the entry */
	CHECK_EQ_TEXT(MEMBER(&dwarf_like, "RIP: 0010:f+0x14/0x20", "90 90 <48> 8b 43 50"),
		      "q->qdisc (struct net_device, offset 0x50)");
	CHECK_EQ_TEXT(MEMBER(&btf_like, "RIP: 0010:f+0x14/0x20", "90 90 <48> 8b 43 50"), "-");
}
