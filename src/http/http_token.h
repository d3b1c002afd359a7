/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens: what a request carries to prove that its sender may ask. */
#pragma once

#include "base/why.h"

#define HTTP_TOKEN_MIN 16
#define HTTP_TOKEN_MAX 256

struct http_token {
	char text[HTTP_TOKEN_MAX + 1];
};

/* 128 random bits in hexadecimal. */
int http_token_make(struct http_token *ret_token, struct why *why) _must_check_;
/* The first line of a file that other users cannot read; letters, digits and -._~+/= only. */
int http_token_read(const char *path, struct http_token *ret_token, struct why *why) _must_check_;
/* Takes the same time wherever they differ. */
bool http_token_matches(const struct http_token *token, const char *text, size_t len);
/* Of the header Authorization: "Bearer TOKEN"; NULL: another scheme. */
const char *http_token_of_header(const char *header, size_t *ret_len);
/* The value of a cookie in the header Cookie; NULL: it is not there. */
const char *http_token_of_cookie(const char *header, const char *name, size_t *ret_len);
