/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "base/vec.h"
#include "kernel/symbols.h"

/* 122,000 functions take 6 MB of text. */
#define KALLSYMS_MAX ((size_t)256 << 20)

struct symbol {
	uint64_t address;
	uint32_t name; /* offset in the text */
};

struct kernel_symbols {
	struct buf text;
	VEC(struct symbol) items;
};

/* Sixteen hexadecimal digits; fast, for 122,000 lines. */
static uint64_t parse_address(const char *text)
{
	uint64_t value = 0;

	for (; *text && *text != ' '; text++) {
		unsigned c = (unsigned char)*text;

		value = value << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
	}
	return value;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* "ffffffff81000000 T name\t[module]": functions only. */
static void add_line(struct kernel_symbols *symbols, char *line)
{
	char *type = strchr(line, ' '), *name = type ? strchr(type + 1, ' ') : NULL;
	uint64_t address;

	if (!name || !strchr("tTwW", type[1]))
		return;
	name++;
	name[strcspn(name, "\t\n")] = '\0';
	address = parse_address(line);
	if (address)
		vec_push(&symbols->items, (struct symbol){address, (uint32_t)(name - symbols->text.data)});
}

/* The kernel shows addresses to whoever had the privilege when the file was opened. */
static int held_fd = -1;

void kernel_symbols_hold(void)
{
	if (held_fd < 0)
		held_fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
}

static int read_symbols(struct buf *text)
{
	if (held_fd < 0)
		return buf_read_file(text, "/proc/kallsyms");
	return lseek(held_fd, 0, SEEK_SET) < 0 ? -errno : buf_read_fd(text, held_fd);
}

int kernel_symbols_load(struct kernel_symbols **ret_symbols, struct why *why)
{
	struct kernel_symbols *symbols = xzalloc(sizeof(*symbols));
	int r;

	symbols->text = BUF_INIT(KALLSYMS_MAX);
	r = read_symbols(&symbols->text);
	for (char *line = symbols->text.data; r == 0 && line && *line;) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		add_line(symbols, line);
		line = end ? end + 1 : NULL;
	}
	if (r == 0 && symbols->items.count == 0)
		r = -EPERM;
	if (r < 0) {
		kernel_symbols_free(symbols);
		if (r == -EPERM)
			return why_set(why, r,
				       "/proc/kallsyms hides the addresses of kernel functions (needs CAP_SYSLOG, or "
				       "sysctl kernel.kptr_restrict=0)");
		return why_set(why, r, "cannot read /proc/kallsyms: %s", strerror(-r));
	}
	vec_sort(&symbols->items, by_address);
	*ret_symbols = symbols;
	return 0;
}

static struct why missing;

const struct kernel_symbols *kernel_symbols_get(struct why *why)
{
	static struct kernel_symbols *symbols;
	static int result;
	static bool tried;

	if (!tried)
		result = kernel_symbols_load(&symbols, &missing);
	tried = true;
	if (result < 0) {
		(void)why_set(why, result, "%s", missing.text);
		return NULL;
	}
	return symbols;
}

const char *kernel_symbols_missing(void)
{
	return missing.text[0] ? missing.text : NULL;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	buf_done(&symbols->text);
	vec_done(&symbols->items);
	free(symbols);
}

const char *kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address)
{
	size_t low = bisect(symbols->items.items, symbols->items.count, address, address);

	return low ? symbols->text.data + symbols->items.items[low - 1].name : NULL;
}

void kernel_symbols_each(const struct kernel_symbols *symbols,
			 void (*fn)(const char *name, uint64_t address, void *context), void *context)
{
	vec_each(&symbols->items, symbol)
		fn(symbols->text.data + symbol->name, symbol->address, context);
}
