/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps addresses to functions. Instrumented modules (program and libraries) are scanned at start, while files can still
 * be opened, and when a function is in none of them: their symbols are read then, so that the first call of a function
 * needs only a search. Its number, location and name go into the trace at that moment.
 */
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bisect.h"
#include "flow/runtime/runtime.h"
#include "flow/runtime/runtime_filter.h"
#include "flow/runtime/sys.h"

#define MODULES_MAX 512
#define PENDING_MAX 1024
#define NAME_BYTES  1000
#define FILE_BYTES  200
#define PROBES_MAX  64

struct symbol {
	uint64_t value;
	uint32_t name; /* offset in the name table */
	uint32_t file; /* the same of its source file; 0: unknown, or a global function */
	uint32_t size;
};

struct module {
	uintptr_t begin, end; /* 0: unloaded */
	uintptr_t bias;
	uint32_t id;
	uint32_t symbol_count;
	struct symbol *symbols; /* by value */
	char *names;
	size_t names_bytes;
};

struct fn_entry fn_cache[1u << FN_CACHE_BITS] __attribute__((aligned(64)));

static struct module modules[MODULES_MAX];
static uint32_t module_count;
/* Functions called while another thread scanned the modules. */
static void *pending[PENDING_MAX];
static uint32_t pending_ids[PENDING_MAX];
static uint32_t pending_count;

/* --- reading symbols --- */

static void *map_private(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *read_part(int fd, uint64_t at, uint64_t bytes)
{
	uint8_t *p;
	uint64_t done = 0;

	if (!bytes || bytes > (512u << 20))
		return NULL;
	p = map_private(bytes);
	while (p && done < bytes) {
		ssize_t n = sys_pread(fd, p + done, bytes - done, at + done);

		if (n <= 0) {
			munmap(p, bytes);
			return NULL;
		}
		done += (uint64_t)n;
	}
	return p;
}

/* Heap sort: qsort may allocate. */
static void sift(struct symbol *s, size_t at, size_t count)
{
	for (size_t child; (child = at * 2 + 1) < count; at = child) {
		struct symbol swap;

		if (child + 1 < count && s[child + 1].value > s[child].value)
			child++;
		if (s[child].value <= s[at].value)
			return;
		swap = s[at];
		s[at] = s[child];
		s[child] = swap;
	}
}

static void sort_symbols(struct symbol *s, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift(s, i, count);
	for (size_t i = count; i-- > 1;) {
		struct symbol swap = s[0];

		s[0] = s[i];
		s[i] = swap;
		sift(s, 0, i);
	}
}

/* Local symbols follow the one of their source file. */
static void keep_symbols(struct module *module, const Elf64_Sym *table, size_t count, char *names, size_t names_bytes)
{
	size_t wanted = 0;
	uint32_t file = 0;

	for (size_t i = 0; i < count; i++)
		wanted += ELF64_ST_TYPE(table[i].st_info) == STT_FUNC && table[i].st_value;
	module->symbols = wanted ? map_private(wanted * sizeof(struct symbol)) : NULL;
	if (!module->symbols)
		return;
	for (size_t i = 0; i < count; i++) {
		bool is_local = ELF64_ST_BIND(table[i].st_info) == STB_LOCAL;

		if (table[i].st_name >= names_bytes)
			continue;
		if (ELF64_ST_TYPE(table[i].st_info) == STT_FILE)
			file = table[i].st_name;
		else if (ELF64_ST_TYPE(table[i].st_info) == STT_FUNC && table[i].st_value)
			module->symbols[module->symbol_count++] = (struct symbol){
				table[i].st_value, table[i].st_name, is_local ? file : 0, (uint32_t)table[i].st_size};
	}
	sort_symbols(module->symbols, module->symbol_count);
	module->names = names;
	module->names_bytes = names_bytes;
	names[names_bytes - 1] = '\0';
}

/* The full symbol table, or the dynamic one when the file is stripped. */
static bool read_table(struct module *module, int fd, const Elf64_Ehdr *header, const Elf64_Shdr *sections,
		       uint32_t type)
{
	for (unsigned i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i], *strings;
		Elf64_Sym *table;
		char *names;

		if (section->sh_type != type || section->sh_link >= header->e_shnum)
			continue;
		strings = &sections[section->sh_link];
		table = read_part(fd, section->sh_offset, section->sh_size);
		names = read_part(fd, strings->sh_offset, strings->sh_size);
		if (table && names)
			keep_symbols(module, table, section->sh_size / sizeof(*table), names, strings->sh_size);
		if (table)
			munmap(table, section->sh_size);
		if (module->symbol_count)
			return true;
		if (names)
			munmap(names, strings->sh_size);
	}
	return false;
}

static void read_symbols(struct module *module, const char *path)
{
	Elf64_Shdr *sections;
	Elf64_Ehdr header;
	int fd = sys_open(path, O_RDONLY);

	if (fd < 0)
		return;
	if (sys_pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
	    header.e_shentsize == sizeof(Elf64_Shdr)) {
		size_t bytes = header.e_shnum * sizeof(Elf64_Shdr);

		sections = read_part(fd, header.e_shoff, bytes);
		if (sections) {
			if (!read_table(module, fd, &header, sections, SHT_SYMTAB))
				(void)read_table(module, fd, &header, sections, SHT_DYNSYM);
			munmap(sections, bytes);
		}
	}
	sys_close(fd);
}

static const struct symbol *find_symbol(const struct module *module, uint64_t value)
{
	size_t low = bisect(module->symbols, module->symbol_count, value, value);

	if (!low)
		return NULL;
	low--;
	if (module->symbols[low].value == value || value < module->symbols[low].value + module->symbols[low].size)
		return &module->symbols[low];
	return NULL;
}

static const char *file_of(const struct module *module, const struct symbol *symbol)
{
	return symbol && symbol->file ? module->names + symbol->file : NULL;
}

/* --- writing metadata --- */

struct meta_head {
	struct flow_chunk chunk;
	struct flow_meta meta;
};

/* The body follows its head contiguously, with room for seven more bytes. */
static void write_meta(struct meta_head *head, uint8_t *body, uint32_t kind, size_t bytes)
{
	size_t padded = (bytes + 7) & ~(size_t)7;

	memset(body + bytes, 0, padded - bytes);
	head->chunk = (struct flow_chunk){.kind = FLOW_CHUNK_META, .bytes = (uint32_t)(sizeof(head->meta) + padded)};
	head->meta = (struct flow_meta){kind, (uint32_t)bytes};
	(void)trace_file_add(&head->chunk);
}

/* One at a time, never in hooks of two threads: modules_update ensures that. */
static void write_module(const struct module *module, const char *path, const uint8_t *build_id, size_t build_id_bytes)
{
	static struct {
		struct meta_head head;
		uint8_t body[sizeof(struct flow_meta_module) + 64 + PATH_MAX + 8];
	} m;
	struct flow_meta_module fixed = {
		.module = module->id,
		.pid = (uint32_t)getpid(),
		.bias = module->bias,
		.begin = module->begin,
		.end = module->end,
		.build_id_bytes = (uint32_t)build_id_bytes,
		.path_bytes = (uint32_t)strnlen(path, PATH_MAX),
	};
	uint8_t *at = m.body;

	memcpy(at, &fixed, sizeof(fixed));
	at += sizeof(fixed);
	memcpy(at, build_id, build_id_bytes);
	at += build_id_bytes;
	memcpy(at, path, fixed.path_bytes);
	at += fixed.path_bytes;
	write_meta(&m.head, m.body, FLOW_META_MODULE, (size_t)(at - m.body));
}

static void write_function(uint32_t id, const struct module *module, uint64_t offset, const char *name,
			   const char *file)
{
	struct {
		struct meta_head head;
		uint8_t body[sizeof(struct flow_meta_function) + NAME_BYTES + FILE_BYTES + 8];
	} m;
	struct flow_meta_function fixed = {
		.fn = id,
		.module = module ? module->id : 0,
		.offset = offset,
		.name_bytes = (uint16_t)(name ? strnlen(name, NAME_BYTES) : 0),
		.file_bytes = (uint16_t)(file ? strnlen(file, FILE_BYTES) : 0),
	};

	memcpy(m.body, &fixed, sizeof(fixed));
	memcpy(m.body + sizeof(fixed), name ? name : "", fixed.name_bytes);
	memcpy(m.body + sizeof(fixed) + fixed.name_bytes, file ? file : "", fixed.file_bytes);
	write_meta(&m.head, m.body, FLOW_META_FUNCTION, sizeof(fixed) + fixed.name_bytes + fixed.file_bytes);
}

void thread_name_write(uint32_t thread, const char *name)
{
	struct {
		struct meta_head head;
		uint8_t body[sizeof(struct flow_meta_thread) + 8];
	} m;
	struct flow_meta_thread fixed = {.thread = thread};

	memcpy(fixed.name, name, sizeof(fixed.name));
	memcpy(m.body, &fixed, sizeof(fixed));
	write_meta(&m.head, m.body, FLOW_META_THREAD, sizeof(fixed));
}

/* --- numbers --- */

static struct module *module_of(uintptr_t address)
{
	uint32_t count = __atomic_load_n(&module_count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++)
		if (address >= modules[i].begin && address < modules[i].end)
			return &modules[i];
	return NULL;
}

/*
 * Number of a function, the same in all processes of the recording. The process that claims the table entry assigns the
 * number; one that races with it takes another number, and the reader unifies them.
 */
static uint32_t shared_number(uint64_t key, bool *ret_new)
{
	uint32_t at = (uint32_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 48) % FLOW_FN_SLOTS;

	*ret_new = false;
	for (uint32_t i = 0; i < PROBES_MAX; i++, at = (at + 1) % FLOW_FN_SLOTS) {
		uint64_t there = __atomic_load_n(&live->fn_keys[at], __ATOMIC_ACQUIRE);
		uint32_t id;

		if (!there && __atomic_compare_exchange_n(&live->fn_keys[at], &there, key, false, __ATOMIC_ACQ_REL,
							  __ATOMIC_ACQUIRE)) {
			*ret_new = true;
			id = __atomic_add_fetch(&live->last_fn, 1, __ATOMIC_RELAXED);
			__atomic_store_n(&live->fn_ids[at], id, __ATOMIC_RELEASE);
			return id;
		}
		id = __atomic_load_n(&live->fn_ids[at], __ATOMIC_ACQUIRE);
		if (there == key && id)
			return id;
	}
	*ret_new = true;
	return __atomic_add_fetch(&live->last_fn, 1, __ATOMIC_RELAXED);
}

/* Scans the loaded libraries; an uninstrumented one only if it contains fn; 0: none of those. */
static void update_for(uintptr_t fn);

/* Numbers the function and writes its description. */
static uint32_t describe(void *fn, bool *ret_excluded)
{
	struct module *module = module_of((uintptr_t)fn);
	const struct symbol *symbol;
	const char *name;
	uint64_t offset;
	uint32_t id;
	bool new;

	*ret_excluded = false;
	if (!module && !sealed) {
		/* A library loaded since. dlopen itself cannot be wrapped: it inspects its caller. */
		update_for((uintptr_t)fn);
		module = module_of((uintptr_t)fn);
	}
	if (!module) {
		uint32_t n = __atomic_fetch_add(&pending_count, 1, __ATOMIC_RELAXED);

		id = __atomic_add_fetch(&live->last_fn, 1, __ATOMIC_RELAXED);
		write_function(id, NULL, (uintptr_t)fn, NULL, NULL);
		if (n < PENDING_MAX) {
			pending_ids[n] = id;
			__atomic_store_n(&pending[n], fn, __ATOMIC_RELEASE);
		}
		return id;
	}
	offset = (uintptr_t)fn - module->bias;
	symbol = find_symbol(module, offset);
	name = symbol ? module->names + symbol->name : NULL;
	*ret_excluded = !filter_wants(live->filters, name);
	id = shared_number((uint64_t)module->id << 48 | (offset & UINT64_C(0xffffffffffff)), &new);
	if (new)
		write_function(id, module, offset, name, file_of(module, symbol));
	return id;
}

#define FN_CLAIMED ((void *)1)
#define FN_GONE    ((void *)2)

COLD const struct fn_entry *fn_find(void *fn)
{
	uint32_t mask = (1u << FN_CACHE_BITS) - 1, at = fn_hash(fn);

	for (uint32_t i = 0; i <= mask; i++, at = (at + 1) & mask) {
		struct fn_entry *entry = &fn_cache[at];
		void *there = __atomic_load_n(&entry->fn, __ATOMIC_ACQUIRE);
		bool excluded;
		uint32_t id;

		if (((uintptr_t)there & ~FN_LONG) == (uintptr_t)fn)
			return entry;
		if (there || !__atomic_compare_exchange_n(&entry->fn, &there, FN_CLAIMED, false, __ATOMIC_ACQ_REL,
							  __ATOMIC_ACQUIRE))
			continue;
		id = describe(fn, &excluded);
		entry->id_flags = id << 1 | excluded;
		entry->word = flow_word_call(id, 0);
		there = excluded || id >= FLOW_SHORT_FN ? (void *)((uintptr_t)fn | FN_LONG) : fn;
		__atomic_store_n(&entry->fn, there, __ATOMIC_RELEASE);
		return entry;
	}
	return NULL;
}

/* Functions of an unloaded library: another one may take its place. */
static void forget_range(uintptr_t begin, uintptr_t end)
{
	for (uint32_t i = 0; i < 1u << FN_CACHE_BITS; i++) {
		uintptr_t fn = (uintptr_t)__atomic_load_n(&fn_cache[i].fn, __ATOMIC_RELAXED) & ~FN_LONG;

		if (fn >= begin && fn < end)
			__atomic_store_n(&fn_cache[i].fn, FN_GONE, __ATOMIC_RELEASE);
	}
}

/* --- scanning modules --- */

struct found {
	bool seen[MODULES_MAX];
	uintptr_t wanted; /* function whose module is searched */
};

static const void *dynamic_pointer(const struct dl_phdr_info *info, uintptr_t value)
{
	/* The loader has relocated them already, except in a few special modules (vDSO). */
	return (const void *)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

/* Relocations of a module. */
struct wants {
	const ElfW(Rela) * list[2]; /* data and PLT */
	size_t bytes[2];
	const ElfW(Sym) * symbols;
	const char *strings;
};

static bool has_hook(const struct wants *wants, size_t which)
{
	const ElfW(Rela) *rela = wants->list[which];

	for (size_t i = 0; rela && i < wants->bytes[which] / sizeof(*rela); i++) {
		size_t symbol = rela[i].r_info >> 32;

		if (symbol && strcmp(wants->strings + wants->symbols[symbol].st_name, "__cyg_profile_func_enter") == 0)
			return true;
	}
	return false;
}

/* Whether it calls the hooks. Not all linkers record the number of symbols; relocations are always there. */
static bool calls_hooks(const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic)
{
	struct wants wants = {};

	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		const void *p = dynamic_pointer(info, dynamic->d_un.d_ptr);

		if (dynamic->d_tag == DT_SYMTAB)
			wants.symbols = p;
		else if (dynamic->d_tag == DT_STRTAB)
			wants.strings = p;
		else if (dynamic->d_tag == DT_RELA)
			wants.list[0] = p;
		else if (dynamic->d_tag == DT_RELASZ)
			wants.bytes[0] = dynamic->d_un.d_val;
		else if (dynamic->d_tag == DT_JMPREL)
			wants.list[1] = p;
		else if (dynamic->d_tag == DT_PLTRELSZ)
			wants.bytes[1] = dynamic->d_un.d_val;
	}
	return wants.symbols && wants.strings && (has_hook(&wants, 1) || has_hook(&wants, 0));
}

static size_t find_build_id(const struct dl_phdr_info *info, uint8_t *to, size_t room)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		const uint8_t *end = at + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_NOTE)
			continue;
		while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			size_t name = (note->n_namesz + 3u) & ~3u, desc = (note->n_descsz + 3u) & ~3u;

			at += sizeof(*note) + name + desc;
			if (at > end || note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4)
				continue;
			room = min_of(room, (size_t)note->n_descsz);
			memcpy(to, (const uint8_t *)(note + 1) + name, room);
			return room;
		}
	}
	return 0;
}

static void add_module(const struct dl_phdr_info *info, uintptr_t begin, uintptr_t end)
{
	struct module *module = &modules[module_count];
	static char path[PATH_MAX]; /* static: one at a time, and stacks may be small */
	uint8_t build_id[32];
	ssize_t n;

	if (module_count == MODULES_MAX)
		return;
	*module = (struct module){.begin = begin, .end = end, .bias = info->dlpi_addr};
	if (info->dlpi_name && info->dlpi_name[0]) {
		n = (ssize_t)min_of(strlen(info->dlpi_name), sizeof(path) - 1);
		memcpy(path, info->dlpi_name, (size_t)n);
	} else {
		n = readlink("/proc/self/exe", path, sizeof(path) - 1);
		n = n < 0 ? 0 : n;
	}
	path[n] = '\0';
	module->id = __atomic_add_fetch(&live->last_module, 1, __ATOMIC_RELAXED);
	read_symbols(module, n && info->dlpi_name && info->dlpi_name[0] ? path : "/proc/self/exe");
	write_module(module, path, build_id, find_build_id(info, build_id, sizeof(build_id)));
	__atomic_store_n(&module_count, module_count + 1, __ATOMIC_RELEASE);
}

static int scan_module(struct dl_phdr_info *info, size_t size, void *context)
{
	uintptr_t begin = UINTPTR_MAX, end = 0;
	const ElfW(Dyn) *dynamic = NULL;
	struct found *found = context;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_DYNAMIC)
			dynamic = (const void *)(info->dlpi_addr + p->p_vaddr);
		if (p->p_type != PT_LOAD)
			continue;
		begin = min_of(begin, info->dlpi_addr + p->p_vaddr);
		end = info->dlpi_addr + p->p_vaddr + p->p_memsz > end ? info->dlpi_addr + p->p_vaddr + p->p_memsz : end;
	}
	for (uint32_t i = 0; i < module_count; i++)
		if (modules[i].begin == begin && modules[i].end == end) {
			found->seen[i] = true;
			return 0;
		}
	/* Inline functions (C++) are merged: the copy in use may be that of an uninstrumented library. */
	if (!dynamic || (!(found->wanted >= begin && found->wanted < end) && !calls_hooks(info, dynamic)))
		return 0;
	if (module_count < MODULES_MAX)
		found->seen[module_count] = true;
	add_module(info, begin, end);
	return 0;
}

/* Describes pending functions whose module is now known. */
static void settle_pending(void)
{
	uint32_t count = min_of(__atomic_load_n(&pending_count, __ATOMIC_RELAXED), (uint32_t)PENDING_MAX);

	for (uint32_t i = 0; i < count; i++) {
		void *fn = __atomic_load_n(&pending[i], __ATOMIC_ACQUIRE);
		struct module *module = fn ? module_of((uintptr_t)fn) : NULL;
		const struct symbol *symbol;

		if (!module)
			continue;
		pending[i] = NULL;
		symbol = find_symbol(module, (uintptr_t)fn - module->bias);
		write_function(pending_ids[i], module, (uintptr_t)fn - module->bias,
			       symbol ? module->names + symbol->name : NULL, file_of(module, symbol));
	}
}

static void update_for(uintptr_t fn)
{
	static bool updating;
	struct found found = {.wanted = fn};

	if (__atomic_exchange_n(&updating, true, __ATOMIC_ACQUIRE))
		return;
	(void)dl_iterate_phdr(scan_module, &found);
	for (uint32_t i = 0; i < module_count; i++)
		if (!found.seen[i] && modules[i].end) {
			forget_range(modules[i].begin, modules[i].end);
			modules[i].begin = modules[i].end = 0;
		}
	settle_pending();
	__atomic_store_n(&updating, false, __ATOMIC_RELEASE);
}

void modules_update(void)
{
	update_for(0);
}
