/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of options: words of a command line that parse, or a sentence that can be shown. */
#include "base/option_file.h"
#include "fuzz.h"

struct config {
	bool all;
	uint64_t time_ns, bytes;
	const char *name;
	struct text_list where;
};

static const struct option_spec options[] = {
	OPTION(struct config, all, FLAG, "all", 'a', NULL, "everything"),
	OPTION(struct config, time_ns, SECONDS, "duration", 'd', "SECONDS", "stop after"),
	OPTION(struct config, bytes, SIZE, "size", 's', "BYTES", "how much"),
	OPTION(struct config, name, TEXT, "name", 'n', "NAME", "called so"),
	OPTION(struct config, where, TEXTS, "where", 'w', "EXPR", "filter"),
	OPTION_END,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);
	struct option_words file = {};
	struct config config = {};
	struct why why = {};
	int r = option_file_parse(text, "file", options, &file, &why);

	fuzz_require(r == 0 || r == -EINVAL || r == -E2BIG);
	fuzz_require((r == 0) == (why.text[0] == '\0'));
	fuzz_require(!fuzz_has_control(why.text, strlen(why.text)));
	for (size_t i = 0; i < file.words.count; i++)
		fuzz_require(strncmp(file.words.items[i], "--", 2) == 0 && !strchr(file.words.items[i], '\n'));
	if (r == 0)
		r = option_parse(options, (int)file.words.count, file.words.items, &config, &why);
	fuzz_require(r == 0 || r == -EINVAL || r == -E2BIG);
	option_done(options, &config);
	option_file_done(&file);
	return 0;
}
