/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text as /proc, /sys or a message of libbpf: answers stay inside their memory and their meaning. */
#include "fuzz.h"
#include "kernel/libbpf_words.h"
#include "kernel/object.h"
#include "kernel/proctext.h"

static bool is_answer(int r)
{
	return r == 0 || r == -ENODATA || r == -E2BIG;
}

static void check_mounts(const char *text)
{
	char path[32], controllers[32];

	fuzz_require(is_answer(proctext_cgroup2_mount(text, path, sizeof(path))));
	fuzz_require(is_answer(proctext_cgroup2_own(text, path, sizeof(path))));
	if (proctext_cgroup2_own(text, path, sizeof(path)) == 0)
		fuzz_require(path[0] == '/');
	proctext_cgroup1_controllers(text, controllers, sizeof(controllers));
	fuzz_require(strlen(controllers) < sizeof(controllers) && !strchr(controllers, '='));
}

static void check_numbers(const char *text)
{
	int64_t number;
	double share;
	int shown = proctext_kallsyms_shown(text);

	fuzz_require(shown == 0 || shown == 1 || shown == -ENODATA);
	fuzz_require(is_answer(proctext_number(text, &number)));
	if (proctext_pressure(text, &share) == 0)
		fuzz_require(share >= 0 && share <= 100);
	fuzz_require(proctext_release(text) <= 999999);
	fuzz_require(proctext_config(text, "CONFIG_BPF") <= CONFIG_ON);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	char word[16], gist[16];

	check_mounts(text);
	check_numbers(text);
	fuzz_require(is_answer(proctext_bracketed(text, word, sizeof(word))));
	libbpf_words_gist_of(text, gist, sizeof(gist));
	fuzz_require(strlen(gist) < sizeof(gist) && !strchr(gist, '\n'));
	return 0;
}
