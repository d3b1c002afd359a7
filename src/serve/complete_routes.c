/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may follow in an expression over the fields of a table. */
#include <string.h>

#include "base/exit_code.h"
#include "record/bare.h"
#include "record/expr.h"
#include "serve/serve.h"
#include "serve/table_name.h"
#include "view/json.h"

#define BODY_MAX  ((size_t)4 << 20)
#define NAMES_MAX 500

struct completion_item {
	const char *text;
	const char *help;
};

static const struct field completion_item_fields[] = {
	FIELD(struct completion_item, text, TEXT, "what may stand there"),
	FIELD(struct completion_item, help, TEXT, "meaning"),
};
static RECORD_TYPE(completion_item_type, "serve.completion_item", struct completion_item, completion_item_fields,
		   "what may stand at a place of an expression");

struct completion_error {
	const char *error;
	uint64_t at;
};

static const struct field completion_error_fields[] = {
	FIELD(struct completion_error, error, TEXT, "what is wrong"),
	FIELD(struct completion_error, at, ID, "character of the expression"),
};
static RECORD_TYPE(completion_error_type, "serve.completion_error", struct completion_error, completion_error_fields,
		   "what is wrong with an expression");

struct completion_answer {
	uint64_t from;
	uint64_t to;
	struct list items;
	struct list error;
};

static const struct field completion_fields[] = {
	FIELD(struct completion_answer, from, ID, "first byte of the word that is completed"),
	FIELD(struct completion_answer, to, ID, "byte behind it"),
	FIELD(struct completion_answer, items, LIST, "what may stand there", .element = &completion_item_type),
	FIELD(struct completion_answer, error, LIST, "what is wrong with the expression",
	      .element = &completion_error_type, .single = true),
};
static RECORD_TYPE(completion_type, "serve.completion", struct completion_answer, completion_fields,
		   "how an expression may go on");

/* The word that ends at the cursor. */
static size_t word_begin(const char *text, size_t at)
{
	while (at > 0 && (strchr("_.", text[at - 1]) || (text[at - 1] >= '0' && text[at - 1] <= '9') ||
			  ((text[at - 1] | 0x20) >= 'a' && (text[at - 1] | 0x20) <= 'z')))
		at--;
	return at;
}

struct completion {
	struct http_request *request;
	const char *text;
	size_t from, to; /* bytes */
	VEC(struct completion_item) items;
};

static bool fits_word(const struct completion *completion, const char *name)
{
	return strncasecmp(name, completion->text + completion->from, completion->to - completion->from) == 0;
}

static void offer(struct completion *completion, const char *text, const char *help)
{
	if (fits_word(completion, text))
		vec_push(&completion->items, (struct completion_item){text, help});
}

/* The field whose value is compared at this place: "state == ES". */
static const struct field *field_before(const struct completion *completion, const struct shape *shape)
{
	const char *text = completion->text;
	size_t end = completion->from, begin;
	struct field_ref ref;
	char name[64];

	while (end > 0 && strchr(" =!<>~\"(,", text[end - 1]))
		end--;
	begin = word_begin(text, end);
	snprintf(name, sizeof(name), "%.*s", (int)min_of(end - begin, sizeof(name) - 1), text + begin);
	return end < completion->from && strpbrk(text + end, "=!<>~") && shape_find(shape, name, &ref) == 0 ? ref.field
													    : NULL;
}

static void offer_all(struct completion *completion, const struct shape *shape)
{
	static const char *const words[] = {"and", "or", "not", "in", "is known", "is unknown"};
	const struct field *field = field_before(completion, shape);
	struct field_ref at = {};

	if (field && field->names) {
		const struct enum_names *names = enum_names_get(field->names);

		for (size_t i = 0; i < names->count && i < NAMES_MAX; i++)
			offer(completion, names->items[i].name, names->items[i].help);
		return;
	}
	while (shape_next(shape, &at))
		offer(completion, at.field->name, at.field->help);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		offer(completion, words[i], NULL);
}

static int complete_look(const struct look *look, void *context)
{
	_cleanup_free_ struct field_alias *aliases = NULL;
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct completion *completion = context;
	struct shape shape = table_name_shape(look, &aliases);
	struct completion_answer answer = {.from = completion->from, .to = completion->to};
	struct buf body = BUF_INIT(BODY_MAX);
	struct completion_error wrong;
	struct why why = {};
	size_t at = 0;

	offer_all(completion, &shape);
	answer.items = BARE_LIST(&completion->items);
	if (*completion->text && expr_parse_at(completion->text, &shape, &expr, &at, &why) < 0) {
		why.text[strcspn(why.text, "\n")] = '\0';
		wrong = (struct completion_error){why.text, at};
		answer.error = (struct list){&wrong, 1};
	}
	json_add_object(&body, &completion_type, &answer);
	http_answer(completion->request, 200, NULL, &body);
	vec_done(&completion->items);
	return EXIT_DONE;
}

static void complete(struct http_request *request)
{
	const char *text = http_request_text(request, "text") ?: "";
	size_t at = min_of(http_request_number(request, "at", UINT64_MAX), (uint64_t)strlen(text));
	struct completion completion = {.request = request, .text = text, .from = word_begin(text, at), .to = at};
	struct table_name name;

	if (!table_name_find(http_request_text(request, "table"), &name))
		http_refuse(request, 404, "there is no such table (/api/v1/tables lists them)");
	else if (table_name_borrow(&name, complete_look, &completion) != EXIT_DONE)
		http_refuse(request, 500, "this table cannot be shown");
}

static const struct http_param complete_params[] = {
	{"table", HTTP_TEXT, "name of the table", .required = true},
	{"text", HTTP_TEXT, "the expression so far"},
	{"at", HTTP_NUMBER, "position of the cursor in it (default: the end)"},
	{},
};

static const struct http_route complete_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/complete",
	.summary = "completions of an expression at a position, and its error",
	.params = complete_params,
	.answer = "serve.completion",
	.handle = complete,
};
HTTP_ROUTE(complete_route);
