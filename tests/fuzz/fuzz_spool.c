/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an earlier process left in a spool, server URLs, the answer of an agent's socket. */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/why.h"
#include "fleet/fleet_url.h"
#include "fleet/spool.h"
#include "run/agent_ask.h"

#define SEGMENT "00000000000000000007.batches"

static char dir[] = "/tmp/nest-fuzz-XXXXXX";

static void remove_dir(void)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)!unlinkat(fd, SEGMENT, 0);
	(void)!unlinkat(fd, "lock", 0);
	close(fd);
	(void)!rmdir(dir);
}

static void write_segment(const uint8_t *data, size_t size)
{
	static bool made;
	char path[64];
	FILE *file;

	if (!made) {
		fuzz_require(mkdtemp(dir));
		made = true;
		atexit(remove_dir);
	}
	snprintf(path, sizeof(path), "%s/" SEGMENT, dir);
	file = fopen(path, "w");
	fuzz_require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static bool count_rows(const struct batch *batch, void *context)
{
	*(uint64_t *)context += batch->rows;
	return true;
}

/* Whole frames are taken over, all else is cut off: rows and bytes agree however they are counted. */
static void read_spool(const uint8_t *data, size_t size)
{
	struct spool_options options = {.dir = dir, .limit_bytes = 1 << 20, .drop_oldest = true};
	_cleanup_(spool_closep) struct spool *spool = NULL;
	struct spool_segment segment;
	struct spool_figures figures;
	uint64_t rows = 0;
	struct why why = {};

	write_segment(data, size);
	fuzz_require(spool_open(&options, &spool, &why) == 0);
	figures = spool_look(spool);
	fuzz_require(figures.segments <= 1 && figures.bytes <= size);
	fuzz_require(figures.bytes == size || figures.damaged == 1 || size == 0);
	fuzz_require(spool_each(spool, count_rows, &rows, &why) == 0 && rows == figures.rows);
	if (spool_first(spool, &segment, &why) == 1) {
		fuzz_require(segment.number == 7 && segment.inherited && segment.len == figures.bytes &&
			     segment.rows == figures.rows);
		spool_remove(spool, segment.number);
	}
	fuzz_require(spool_look(spool).rows == 0);
}

static void read_url(const char *text)
{
	struct fleet_url url = {};
	struct why why = {};
	int r = fleet_url_parse(text, &url, &why);

	fuzz_require(r == 0 || why.text[0]);
	fuzz_require(r < 0 || (url.base && strncmp(url.base, "http", 4) == 0));
	fleet_url_done(&url);
}

static void read_agent(const char *text, size_t len)
{
	char *path = agent_ask_parse(text, len);

	fuzz_require(!path || (path[0] == '/' && !strchr(path, '\n')));
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = size > 1 ? fuzz_text(data + 1, size - 1) : NULL;

	if (!text)
		return 0;
	switch (data[0] % 3) {
	case 0:
		read_spool(data + 1, size - 1);
		break;
	case 1:
		read_url(text);
		break;
	default:
		read_agent(text, strlen(text));
	}
	return 0;
}
