/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/trace/elf_kind.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"

/* PATH lookup; NULL: not found. */
static char *find_program(const char *command)
{
	const char *path = getenv("PATH");

	if (strchr(command, '/'))
		return xstrdup(command);
	while (path && *path) {
		size_t n = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)n, n ? path : ".", command);

		if (access(file, X_OK) == 0)
			return file;
		free(file);
		path += n + (path[n] == ':');
	}
	return NULL;
}

static bool has_loader(Elf *elf)
{
	GElf_Phdr segment;
	size_t count;

	if (elf_getphdrnum(elf, &count) < 0)
		return true;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_INTERP)
			return true;
	return false;
}

enum elf_kind elf_kind_of(const char *command)
{
	_cleanup_free_ char *path = find_program(command);
	_cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	enum elf_kind kind = ELF_KIND_OTHER;
	struct stat st;
	Elf *elf;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || elf_version(EV_CURRENT) == EV_NONE)
		return ELF_KIND_OTHER;
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_getident(elf, NULL) && gelf_getclass(elf) != ELFCLASSNONE)
		kind = has_loader(elf) ? ELF_KIND_DYNAMIC : ELF_KIND_STATIC;
	elf_end(elf);
	if (kind == ELF_KIND_DYNAMIC && st.st_mode & S_ISUID && st.st_uid != getuid())
		kind = ELF_KIND_SECURE;
	return kind;
}
