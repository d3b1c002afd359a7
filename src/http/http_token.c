/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_token.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/buf.h"

#define RANDOM_BYTES 16
#define FILE_MAX     4096

static const char token_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";

int http_token_make(struct http_token *ret_token, struct why *why)
{
	uint8_t bytes[RANDOM_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return why_set(why, -EIO, "no random bytes for a token: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret_token->text + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int check_file(int fd, const char *path, struct why *why)
{
	struct stat found;

	if (fstat(fd, &found) < 0 || !S_ISREG(found.st_mode))
		return why_set(why, -EINVAL, "--token-file: %s is not a regular file", path);
	if (found.st_mode & S_IRWXO)
		return why_set(why, -EINVAL, "--token-file: other users can read %s (chmod 600)", path);
	return 0;
}

int http_token_read(const char *path, struct http_token *ret_token, struct why *why)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_buf_ struct buf text = BUF_INIT(FILE_MAX);
	size_t len;
	int r;

	if (fd < 0)
		return why_set(why, -EIO, "--token-file: cannot open %s: %s", path, strerror(errno));
	r = check_file(fd, path, why);
	if (r < 0)
		return r;
	r = buf_read_fd(&text, fd);
	if (r < 0)
		return why_set(why, -EIO, "--token-file: cannot read %s: %s", path, strerror(-r));
	len = strspn(buf_text(&text), token_letters);
	if (len < HTTP_TOKEN_MIN || len > HTTP_TOKEN_MAX || !strchr("\r\n", buf_text(&text)[len]))
		return why_set(why, -EINVAL,
			       "--token-file: the first line of %s is no token: %d to %d letters, digits or -._~+/=",
			       path, HTTP_TOKEN_MIN, HTTP_TOKEN_MAX);
	memcpy(ret_token->text, buf_text(&text), len);
	ret_token->text[len] = '\0';
	return 0;
}

bool http_token_matches(const struct http_token *token, const char *text, size_t len)
{
	size_t own = strlen(token->text);
	unsigned different = own != len;

	/* As many steps as the text has letters, which its sender knows. */
	for (size_t i = 0; i < len && i < HTTP_TOKEN_MAX; i++)
		different |= (unsigned)(token->text[i < own ? i : own] ^ text[i]);
	return own > 0 && different == 0;
}

const char *http_token_of_header(const char *header, size_t *ret_len)
{
	if (!header || strncasecmp(header, "Bearer ", 7) != 0)
		return NULL;
	header += 7 + strspn(header + 7, " ");
	*ret_len = strcspn(header, " \t");
	return header;
}

const char *http_token_of_cookie(const char *header, const char *name, size_t *ret_len)
{
	size_t len = strlen(name);

	while (header && *header) {
		header += strspn(header, " \t;");
		if (strncmp(header, name, len) == 0 && header[len] == '=') {
			*ret_len = strcspn(header + len + 1, "; \t");
			return header + len + 1;
		}
		header = strchr(header, ';');
	}
	return NULL;
}
