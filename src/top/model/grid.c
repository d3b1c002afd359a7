/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/model/grid.h"

#include <math.h>

#include "view/format.h"

#define GROUPS_MAX 65536
#define SUMS_MAX   1000000
#define FOLDED_MAX 4096
#define ALIGNED(n) (((n) + 15) & ~(size_t)15)
#define NO_GROUP   UINT32_MAX

/* A row begins with the parts that it has. */
struct row_head {
	uint32_t present;
};

/* A sum that was computed already; no padding. */
struct sum_key {
	const struct field *field;
	uint64_t group;
};

void grid_init(struct grid *grid, const struct shape *shape)
{
	*grid = (struct grid){.shape = shape,
			      .folded = MAP_INIT(0, 1, FOLDED_MAX),
			      .sums = MAP_INIT(sizeof(struct sum_key), sizeof(struct value), SUMS_MAX)};
	keeper_init(&grid->keeper);
	grid->row_size = ALIGNED(sizeof(struct row_head));
	for (unsigned i = 0; i < shape->count; i++) {
		grid->offsets[i] = grid->row_size;
		grid->row_size += ALIGNED((size_t)shape->types[i]->size);
	}
}

static void clear_groups(struct grid *grid)
{
	vec_each(&grid->groups, group)
		free(group->name);
	grid->groups.count = 0;
	if (grid->sums.count > 0) {
		map_done(&grid->sums);
		grid->sums = MAP_INIT(sizeof(struct sum_key), sizeof(struct value), SUMS_MAX);
	}
}

void grid_clear(struct grid *grid)
{
	keeper_clear(&grid->keeper);
	clear_groups(grid);
	grid->order.count = grid->lines.count = grid->count = 0;
	grid->refused = 0;
}

void grid_done(struct grid *grid)
{
	grid_clear(grid);
	keeper_done(&grid->keeper);
	map_done(&grid->folded);
	map_done(&grid->sums);
	vec_done(&grid->order);
	vec_done(&grid->groups);
	vec_done(&grid->lines);
	expr_free(grid->where);
	expr_free(grid->hide);
	free(grid->rows);
}

/* --- copies --- */

void grid_add(struct grid *grid, const struct record *record)
{
	struct row_head *head;
	uint8_t *row;

	if (grid->count >= GRID_ROWS_MAX) {
		grid->refused++;
		return;
	}
	if (grid->count == grid->room) {
		grid->room = grid->room * 2 + 64;
		grid->rows = xrealloc_array(grid->rows, grid->room, grid->row_size);
	}
	row = grid->rows + grid->count++ * grid->row_size;
	head = (struct row_head *)row;
	head->present = 0;
	for (unsigned i = 0; i < grid->shape->count; i++) {
		if (!record->parts[i])
			continue;
		head->present |= 1U << i;
		memcpy(row + grid->offsets[i], record->parts[i], grid->shape->types[i]->size);
		keeper_own(&grid->keeper, grid->shape->types[i], row + grid->offsets[i]);
	}
}

struct record grid_record(const struct grid *grid, uint32_t row)
{
	const uint8_t *data = grid->rows + row * grid->row_size;
	uint32_t present = ((const struct row_head *)data)->present;
	struct record record = {};

	for (unsigned i = 0; i < grid->shape->count; i++)
		if (present >> i & 1)
			record.parts[i] = data + grid->offsets[i];
	return record;
}

/* Without a record around it: for sums and orders of all rows. */
static struct value field_value(const struct grid *grid, uint32_t row, struct field_ref ref)
{
	const uint8_t *data = grid->rows + row * grid->row_size;
	uint32_t present = ((const struct row_head *)data)->present;

	if (!(present >> ref.part & 1))
		return (struct value){.class = VALUE_UNKNOWN};
	return value_get(ref.field, data + grid->offsets[ref.part]);
}

struct value grid_value(const struct grid *grid, const struct grid_column *column, uint32_t row,
			const struct field **ret_field)
{
	struct record record = grid_record(grid, row);
	struct value value = record_get(&record, column->ref);

	*ret_field = column->ref.field;
	if (value.class != VALUE_UNKNOWN || !column->instead.field)
		return value;
	*ret_field = column->instead.field;
	return record_get(&record, column->instead);
}

/* --- order --- */

/* What a row is sorted by, taken out once. */
struct sort_key {
	double number;
	const char *text;
	uint32_t len;
	uint32_t row;
	uint32_t group;
	bool unknown;
};

static struct sort_key key_of(const struct value *value)
{
	switch (value->class) {
	case VALUE_UINT:
		return (struct sort_key){.number = (double)value->uint};
	case VALUE_INT:
		return (struct sort_key){.number = (double)value->sint};
	case VALUE_REAL:
		return (struct sort_key){.number = value->real};
	case VALUE_TEXT:
		return (struct sort_key){.text = value->text, .len = (uint32_t)value->len};
	case VALUE_ADDR:
		return (struct sort_key){.text = (const char *)value->addr, .len = sizeof(*value->addr)};
	case VALUE_ENDPOINT:
		return (struct sort_key){.text = (const char *)value->endpoint, .len = sizeof(*value->endpoint)};
	case VALUE_LIST:
		return (struct sort_key){.number = value->list->count};
	default:
		return (struct sort_key){.unknown = true};
	}
}

static int compare_keys(const struct sort_key *x, const struct sort_key *y)
{
	uint32_t len = min_of(x->len, y->len);
	int order;

	if (!x->text || !y->text)
		return x->number < y->number ? -1 : x->number > y->number;
	order = memcmp(x->text, y->text, len);
	return order != 0 ? order : x->len < y->len ? -1 : x->len > y->len;
}

/* Unknown comes last in both directions; equal rows stay in the order in which they came. */
static int by_key(const void *a, const void *b, void *context)
{
	const struct sort_key *x = a, *y = b;
	const struct grid *grid = context;
	int order = 0;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->unknown != y->unknown)
		return x->unknown ? 1 : -1;
	if (!x->unknown)
		order = compare_keys(x, y);
	if (order == 0)
		return x->row < y->row ? -1 : x->row > y->row;
	return grid->descending ? -order : order;
}

/* A value as the key of a map: its bytes, of a short text or anything of a fixed size. */
struct group_key {
	uint32_t class;
	uint32_t len;
	char bytes[56];
};

static bool make_key(const struct value *value, struct group_key *key)
{
	struct sort_key sort = key_of(value);

	*key = (struct group_key){.class = value->class};
	if (sort.text && sort.len > sizeof(key->bytes))
		return false;
	key->len = sort.text ? sort.len : sizeof(sort.number);
	memcpy(key->bytes, sort.text ?: (const char *)&sort.number, key->len);
	return true;
}

static uint32_t add_group(struct grid *grid, const char *name)
{
	vec_push(&grid->groups,
		 (struct grid_group){.name = xstrdup(name), .folded = map_get(&grid->folded, name) != NULL});
	return (uint32_t)grid->groups.count - 1;
}

/* The group of a row by the value of its field; long texts by their first characters. */
static uint32_t group_of(struct grid *grid, struct map *numbers, uint32_t row)
{
	_cleanup_buf_ struct buf name = BUF_INIT(4096);
	struct value value = field_value(grid, row, grid->tree), start = value;
	struct group_key key;
	uint32_t *number;
	bool is_new;

	if (!make_key(&value, &key)) {
		start.len = sizeof(key.bytes);
		(void)make_key(&start, &key);
	}
	number = map_put(numbers, &key, &is_new);
	if (!number)
		return 0; /* there are more than anybody looks at: the rest is in the first one */
	if (is_new) {
		format_add_value(&name, grid->tree.field, &value);
		*number = add_group(grid, buf_text(&name));
	}
	return *number;
}

typedef VEC(struct sort_key) sort_keys;

/* The filter, then what is hidden: the count is of rows that the filter would show. */
static bool is_shown(struct grid *grid, uint32_t row)
{
	struct record record;

	if (!grid->where && !grid->hide)
		return true;
	record = grid_record(grid, row);
	if (grid->where && !expr_matches(grid->where, &record))
		return false;
	if (!grid->hide || !expr_matches(grid->hide, &record))
		return true;
	grid->hidden++;
	return false;
}

static void take_keys(struct grid *grid, sort_keys *keys)
{
	struct map numbers = MAP_INIT(sizeof(struct group_key), sizeof(uint32_t), GROUPS_MAX);

	vec_reserve(keys, grid->count);
	for (uint32_t row = 0; row < grid->count; row++) {
		struct sort_key key = {.unknown = true};

		if (!is_shown(grid, row))
			continue;
		if (grid->sort.field) {
			struct value value = field_value(grid, row, grid->sort);

			key = key_of(&value);
		}
		key.row = row;
		key.group = grid->tree.field ? group_of(grid, &numbers, row) : NO_GROUP;
		vec_push(keys, key);
	}
	map_done(&numbers);
}

static int by_rank(const void *a, const void *b, void *context)
{
	const uint32_t *x = a, *y = b;
	const struct sort_key *first = context;
	const struct sort_key *p = &first[*x], *q = &first[*y];

	return p->number > q->number ? -1 : p->number < q->number ? 1 : *x < *y ? -1 : *x > *y;
}

static double rank_of(struct grid *grid, const struct grid_group *group)
{
	struct grid_column column = {.ref = grid->sort, .adds = true};
	struct value sum = grid->sort.field ? grid_sum(grid, &column, group) : (struct value){};
	struct sort_key key = key_of(&sum);

	return key.unknown || key.text ? (double)group->count : key.number;
}

/* Groups by the sum of what rows are sorted by, largest first, or by their size. */
static void rank_groups(struct grid *grid)
{
	size_t count = grid->groups.count;
	_cleanup_free_ struct sort_key *ranks = xrealloc_array(NULL, count + 1, sizeof(*ranks));
	_cleanup_free_ uint32_t *order = xrealloc_array(NULL, count + 1, sizeof(*order));
	VEC(struct grid_group) sorted = {};

	for (uint32_t i = 0; i < count; i++) {
		order[i] = i;
		ranks[i] = (struct sort_key){.number = rank_of(grid, &grid->groups.items[i])};
	}
	qsort_r(order, count, sizeof(*order), by_rank, ranks);
	for (size_t i = 0; i < count; i++)
		vec_push(&sorted, grid->groups.items[order[i]]);
	free(grid->groups.items);
	grid->groups.items = sorted.items;
	grid->groups.count = sorted.count;
	grid->groups.room = sorted.room;
}

static void lay_lines(struct grid *grid)
{
	grid->lines.count = 0;
	if (!grid->tree.field) {
		vec_reserve(&grid->lines, grid->order.count);
		vec_each(&grid->order, row)
			vec_push(&grid->lines, (struct grid_line){*row, NO_GROUP});
		return;
	}
	for (uint32_t i = 0; i < grid->groups.count; i++) {
		const struct grid_group *group = &grid->groups.items[i];

		vec_push(&grid->lines, (struct grid_line){UINT32_MAX, i});
		for (uint32_t k = 0; !group->folded && k < group->count; k++)
			vec_push(&grid->lines, (struct grid_line){grid->order.items[group->first + k], i});
	}
}

void grid_arrange(struct grid *grid)
{
	sort_keys keys = {};

	clear_groups(grid);
	grid->order.count = 0;
	grid->hidden = 0;
	take_keys(grid, &keys);
	if (keys.count > 1)
		qsort_r(keys.items, keys.count, sizeof(*keys.items), by_key, grid);
	vec_reserve(&grid->order, keys.count);
	vec_each(&keys, key) {
		struct grid_group *group = key->group < grid->groups.count ? &grid->groups.items[key->group] : NULL;

		if (group && group->count++ == 0)
			group->first = (uint32_t)grid->order.count;
		vec_push(&grid->order, key->row);
	}
	vec_done(&keys);
	if (grid->tree.field && grid->groups.count > 1)
		rank_groups(grid);
	lay_lines(grid);
}

/* --- groups --- */

static struct value sum_rows(const struct grid *grid, const struct grid_column *column, const struct grid_group *group)
{
	struct value sum = {.class = VALUE_UNKNOWN};

	for (uint32_t i = 0; i < group->count; i++) {
		struct value value = field_value(grid, grid->order.items[group->first + i], column->ref);

		if (value.class == VALUE_UNKNOWN)
			continue;
		if (value.class != VALUE_UINT && value.class != VALUE_INT && value.class != VALUE_REAL)
			return (struct value){.class = VALUE_UNKNOWN};
		if (sum.class == VALUE_UNKNOWN)
			sum = value;
		else if (sum.class == VALUE_REAL)
			sum.real += value.real;
		else
			sum.uint += value.uint;
	}
	return sum;
}

struct value grid_sum(struct grid *grid, const struct grid_column *column, const struct grid_group *group)
{
	/* By its rows, which are its own: groups are moved when they are ranked. */
	struct sum_key key = {column->ref.field, group->first};
	bool is_new;
	struct value *sum = map_put(&grid->sums, &key, &is_new);

	if (!sum)
		return sum_rows(grid, column, group);
	if (is_new)
		*sum = sum_rows(grid, column, group);
	return *sum;
}

void grid_fold(struct grid *grid, uint32_t number)
{
	struct grid_group *group = number < grid->groups.count ? &grid->groups.items[number] : NULL;

	if (!group)
		return;
	group->folded = !group->folded;
	if (group->folded)
		(void)map_put(&grid->folded, group->name, NULL);
	else
		(void)map_remove(&grid->folded, group->name);
	lay_lines(grid);
}

void grid_fold_all(struct grid *grid, bool folded)
{
	for (uint32_t i = 0; i < grid->groups.count; i++)
		if (grid->groups.items[i].folded != folded)
			grid_fold(grid, i);
}

bool grid_same(const struct record *a, const struct record *b, struct field_ref ref)
{
	struct value x = record_get(a, ref), y = record_get(b, ref);
	struct sort_key p = key_of(&x), q = key_of(&y);

	return p.unknown == q.unknown && (p.unknown || compare_keys(&p, &q) == 0);
}
