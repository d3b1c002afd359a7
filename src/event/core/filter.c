/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "event/core/filter.h"

enum event_form event_number_form(const struct field *field)
{
	switch (field->store) {
	case STORE_U8:
		return EVENT_U8;
	case STORE_U16:
		return EVENT_U16;
	case STORE_U32:
		return EVENT_U32;
	case STORE_U64:
		return EVENT_U64;
	case STORE_I32:
		return EVENT_I32;
	case STORE_I64:
		return EVENT_I64;
	default:
		return EVENT_FORM_NONE;
	}
}

uint8_t event_number_flags(const struct field *field)
{
	if (!field->zero_is_unknown)
		return 0;
	/* As value_get: port 65535 is a valid port. */
	return EVENT_ZERO_UNKNOWN | (field->store == STORE_U16 ? EVENT_ONES_KNOWN : 0);
}

static int op_of(enum expr_op op)
{
	switch (op) {
	case EXPR_EQ:
	case EXPR_IN:
		return EVENT_EQ;
	case EXPR_NE:
		return EVENT_NE;
	case EXPR_LT:
		return EVENT_LT;
	case EXPR_LE:
		return EVENT_LE;
	case EXPR_GT:
		return EVENT_GT;
	case EXPR_GE:
		return EVENT_GE;
	case EXPR_MATCH:
		return EVENT_ALL_BITS;
	case EXPR_KNOWN:
		return EVENT_KNOWN;
	case EXPR_UNKNOWN:
		return EVENT_UNKNOWN;
	default:
		return -1;
	}
}

/* A literal out of range of the field is left to user space. */
static bool number_term(const struct field *field, const struct expr_literal *literal, struct event_term *term)
{
	enum event_form form = event_number_form(field);
	bool has_sign = form == EVENT_I32 || form == EVENT_I64;

	term->form = (uint8_t)form;
	term->flags = event_number_flags(field);
	if (form == EVENT_FORM_NONE || literal->integer < (has_sign ? INT64_MIN : 0) ||
	    literal->integer > (has_sign ? (__int128)INT64_MAX : (__int128)UINT64_MAX))
		return false;
	term->value[0] = (uint64_t)literal->integer;
	return true;
}

static bool addr_term(const struct expr_literal *literal, struct event_term *term)
{
	uint8_t mask[16] = {};

	if (term->op >= EVENT_KNOWN) {
		term->form = EVENT_ADDR;
		return true;
	}
	if (term->op != EVENT_EQ && term->op != EVENT_NE)
		return false;
	for (unsigned i = 0; i < literal->prefix.bits; i++)
		mask[i / 8] |= (uint8_t)(0x80 >> i % 8);
	memcpy(term->value, literal->prefix.addr.bytes, sizeof(term->value));
	memcpy(term->mask, mask, sizeof(mask));
	term->form = EVENT_ADDR;
	term->family = literal->prefix.addr.family;
	return true;
}

/* 16-byte names: the whole name, or a prefix with * at the end. */
static bool text_term(const struct field *field, const char *text, bool pattern, struct event_term *term)
{
	size_t n = text ? strlen(text) : 0, compared = sizeof(term->value);
	uint8_t mask[16] = {};

	if (field->store != STORE_CHARS || field->size != sizeof(term->value))
		return false;
	if (pattern) {
		size_t plain = strcspn(text, "*?\\[");

		if (plain != n && !(plain + 1 == n && text[plain] == '*'))
			return false;
		if (plain != n)
			n = compared = plain;
		term->op = EVENT_EQ;
	}
	term->form = EVENT_WORDS;
	if (term->op >= EVENT_KNOWN)
		return true;
	if ((term->op != EVENT_EQ && term->op != EVENT_NE) || n >= sizeof(term->value))
		return false;
	memset(mask, 0xff, compared);
	memcpy(term->value, text, n);
	memcpy(term->mask, mask, sizeof(mask));
	return true;
}

static bool make_term(const struct expr_term *from, const struct expr_literal *literal, struct event_term *term)
{
	int offset = event_field_offset(from->ref), op = op_of(from->op);
	const struct field *field = from->ref.field;

	*term = (struct event_term){.offset = (uint16_t)offset, .op = (uint8_t)op, .clause = (uint8_t)from->clause};
	if (offset < 0 || op < 0)
		return false;
	switch (field->kind) {
	case KIND_ADDR:
		return addr_term(literal, term);
	case KIND_TEXT:
		return text_term(field, literal->text, from->op == EXPR_MATCH, term);
	case KIND_TIME: /* still time since boot there */
	case KIND_RATIO:
	case KIND_BOOL:
	case KIND_ENDPOINT:
	case KIND_STACK:
	case KIND_LIST:
		return false;
	default:
		return number_term(field, literal, term);
	}
}

bool event_filter_add(struct event_config *config, const struct expr *expr)
{
	struct expr_term terms[EVENT_TERMS_MAX];
	bool complete;
	size_t count = expr_terms(expr, terms, ARRAY_SIZE(terms), &complete);
	uint8_t clause = config->term_count ? config->terms[config->term_count - 1].clause + 1 : 0;

	for (size_t i = 0; i < count;) {
		uint32_t before = config->term_count;
		unsigned of = terms[i].clause;
		bool fits = true;

		for (; i < count && terms[i].clause == of; i++)
			for (size_t j = 0; fits && j < terms[i].literal_count; j++) {
				struct event_term *term = &config->terms[config->term_count];

				fits = config->term_count < EVENT_TERMS_MAX &&
				       make_term(&terms[i], &terms[i].literals[j], term);
				if (fits) {
					term->clause = clause;
					config->term_count++;
				}
			}
		if (!fits) {
			config->term_count = before;
			complete = false;
		} else {
			clause++;
		}
	}
	return complete;
}

static bool is_early(const struct event *event, uint16_t offset)
{
	struct shape shape = event_shape(event);
	struct field_ref ref;

	for (const char *const *name = event->early; *name; name++)
		if (shape_find(&shape, *name, &ref) == 0 && event_field_offset(ref) == (int)offset)
			return true;
	return false;
}

void event_filter_early(const struct event *event, const struct event_config *config, struct event_config *ret_early)
{
	*ret_early = (struct event_config){.id = config->id, .comm_is_padded = config->comm_is_padded};
	for (uint32_t i = 0; i < config->term_count;) {
		uint8_t clause = config->terms[i].clause;
		uint32_t end = i;
		bool all = true;

		for (; end < config->term_count && config->terms[end].clause == clause; end++)
			all = all && is_early(event, config->terms[end].offset);
		for (; i < end; i++)
			if (all) {
				ret_early->terms[ret_early->term_count++] = config->terms[i];
				if (config->terms[i].offset < sizeof(struct event_head))
					ret_early->needs = config->needs;
			}
	}
}

bool event_key_shorten(const struct event *event, struct event_config *config)
{
	static const uint16_t words[EVENT_BRIEF_WORDS] = {
		offsetof(struct event_head, laddr.family), offsetof(struct event_head, raddr.family),
		offsetof(struct event_head, comm), offsetof(struct event_head, comm) + 8};
	struct event_key_word key[EVENT_BRIEF_WORDS] = {};

	if (!event->adds_briefly || config->mode == EVENT_STREAM || config->term_count || config->by_tree ||
	    config->by_cgroup || config->add_count ||
	    (config->mode != EVENT_COUNT && config->value_offset != sizeof(struct event_head)) ||
	    config->needs & ~(uint32_t)(EVENT_NEED_OWNER | EVENT_NEED_COMM | EVENT_NEED_ENDPOINTS))
		return false;
	for (unsigned i = 0; i < EVENT_BRIEF_WORDS; i++)
		key[i].offset = words[i];
	for (unsigned k = 0; k < config->key_words; k++) {
		unsigned at = 0;

		while (at < EVENT_BRIEF_WORDS && words[at] != config->key[k].offset)
			at++;
		if (at == EVENT_BRIEF_WORDS)
			return false;
		key[at].mask = config->key[k].mask;
	}
	/* comm is not masked: all of it or nothing. */
	if (config->needs & EVENT_NEED_COMM && (key[2].mask & key[3].mask) != UINT64_MAX)
		return false;
	memcpy(config->key, key, sizeof(key));
	config->key_words = EVENT_BRIEF_WORDS;
	return true;
}

/* Key word at this offset of the event, added if missing; NULL if there is no room. */
static struct event_key_word *key_word(struct event_config *config, uint32_t offset)
{
	for (uint32_t i = 0; i < config->key_words; i++)
		if (config->key[i].offset == offset)
			return &config->key[i];
	if (config->key_words == EVENT_KEY_WORDS)
		return NULL;
	config->key[config->key_words] = (struct event_key_word){.offset = (uint16_t)offset};
	return &config->key[config->key_words++];
}

bool event_key_add(struct event_config *config, uint32_t offset, uint32_t size)
{
	if (size > sizeof(struct addr))
		return false;
	for (uint32_t at = offset; at < offset + size; at++) {
		struct event_key_word *word = key_word(config, at / 8 * 8);

		if (!word)
			return false;
		((uint8_t *)&word->mask)[at % 8] = 0xff;
	}
	return true;
}
