// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A shop in C++ over the library cpp-httplib: threads behind a queue of accepted connections; classes, templates,
 * exceptions, destructors with work to do. A fault is switched on by the request that suffers from it:
 *   ?up=MS        prices come from the upstream server, after so long
 *   ?coupons=N    N coupons that are nested too deeply: each is an exception through all their levels
 *   ?rollback=MS  the order is not committed: its destructor takes so long
 *   ?forgotten=MS nobody wakes the request that waits for its turn: it waits until its time is over
 *   ?pictures=N   each picture needs memory that no page of was touched before
 *   ?depth=N      categories are counted again for every way that leads to them
 *   ?fail=MS      an exception that no handler takes: the report about it takes so long
 */
#include <httplib.h>
#include <sys/mman.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <ctime>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#define QUIET [[gnu::no_instrument_function]]

namespace shop
{

constexpr size_t LARGE_BYTES = 6 * 1024 * 1024;
constexpr size_t PICTURE_BYTES = 4 * 1024 * 1024, PAGE_BYTES = 4096;
constexpr int COUPON_LEVELS = 40, COUPON_LEVELS_MAX = 32, USUAL_LEVELS = 3;
constexpr int USUAL_DEPTH = 4, DEPTH_MAX = 30;
constexpr int THREADS = 24;

static int upstream_port;

QUIET static void nap(int ms)
{
	timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, nullptr);
}

QUIET static int number_of(const httplib::Request &request, const char *name, int fallback)
{
	return request.has_param(name) ? std::atoi(request.get_param_value(name).c_str()) : fallback;
}

/* --- coupons: nested, and refused by an exception --- */

struct BadCoupon : std::runtime_error {
	using std::runtime_error::runtime_error;
};

class Coupons
{
      public:
	int accept(int count, int levels)
	{
		int discount = 0;

		for (int i = 0; i < count; i++)
			discount += redeem(std::string(static_cast<size_t>(levels), '('));
		return discount;
	}

      private:
	static int redeem(const std::string &coupon)
	{
		try {
			return parse_level(coupon, 0);
		} catch (const BadCoupon &) {
			return 0;
		}
	}

	static int parse_level(const std::string &coupon, size_t at)
	{
		std::string rest(coupon, at);

		if (at > COUPON_LEVELS_MAX)
			throw BadCoupon("nested too deeply");
		return rest.empty() ? 1 : 1 + parse_level(coupon, at + 1);
	}
};

/* --- an order, undone by its destructor unless it was committed --- */

class Order
{
      public:
	explicit Order(int undo_ms) : undo_ms(undo_ms)
	{
	}
	~Order()
	{
		if (!committed)
			roll_back();
	}
	void commit()
	{
		committed = true;
	}

      private:
	void roll_back() const
	{
		nap(undo_ms);
	}
	int undo_ms;
	bool committed = false;
};

static void place_order(int undo_ms)
{
	Order order(undo_ms < 0 ? 0 : undo_ms);

	if (undo_ms < 0)
		order.commit();
}

/* --- a ledger: one thread writes, requests wait until it says that theirs is written --- */

class Ledger
{
      public:
	Ledger() : writer([this] { write_entries(); })
	{
		writer.detach();
	}
	void book(int forgotten_ms)
	{
		Entry entry;

		if (forgotten_ms < 0)
			submit(&entry);
		await_turn(entry, forgotten_ms < 0 ? 10000 : forgotten_ms);
	}

      private:
	struct Entry {
		bool written = false;
	};
	void submit(Entry *entry)
	{
		std::lock_guard<std::mutex> hold(lock);

		waiting.push_back(entry);
		filled.notify_one();
	}
	void await_turn(const Entry &entry, int patience_ms)
	{
		std::unique_lock<std::mutex> hold(lock);

		written.wait_for(hold, std::chrono::milliseconds(patience_ms), [&entry] { return entry.written; });
	}
	void write_entries()
	{
		for (;;) {
			std::unique_lock<std::mutex> hold(lock);

			filled.wait(hold, [this] { return !waiting.empty(); });
			waiting.front()->written = true;
			waiting.pop_front();
			written.notify_all();
		}
	}

	std::mutex lock;
	std::condition_variable filled, written;
	std::deque<Entry *> waiting;
	std::thread writer;
};

/* --- pictures: memory from the system, given back after each --- */

class Canvas
{
      public:
	explicit Canvas(size_t size)
	    : size(size), pixels(static_cast<char *>(
				  mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)))
	{
	}
	~Canvas()
	{
		if (pixels != MAP_FAILED)
			munmap(pixels, size);
	}
	Canvas(const Canvas &) = delete;
	Canvas &operator=(const Canvas &) = delete;

	void paint() const
	{
		for (size_t at = 0; pixels != MAP_FAILED && at < size; at += PAGE_BYTES)
			pixels[at] = 1;
	}

      private:
	size_t size;
	char *pixels;
};

static void draw_pictures(int count)
{
	Canvas(PAGE_BYTES).paint();
	for (int i = 0; i < count; i++)
		Canvas(PICTURE_BYTES).paint();
}

/* --- categories --- */

/* The two below a category lead to the same one again. */
static long count_below(int depth)
{
	return depth <= 0 ? 1 : count_below(depth - 1) + count_below(depth - 2);
}

static long count_categories(int depth)
{
	return count_below(depth < DEPTH_MAX ? depth : DEPTH_MAX);
}

/* --- a cache, and prices from upstream --- */

template <typename Value> class Cache
{
      public:
	template <typename Load> Value find(const std::string &name, Load load)
	{
		std::lock_guard<std::mutex> hold(lock);
		auto at = values.find(name);

		if (at == values.end())
			at = values.emplace(name, load(name)).first;
		return at->second;
	}

      private:
	std::mutex lock;
	std::map<std::string, Value> values;
};

static size_t fetch_prices(int wait_ms)
{
	httplib::Client client("127.0.0.1", upstream_port);
	auto reply = client.Get(("/?ms=" + std::to_string(wait_ms)).c_str());

	return reply ? reply->body.size() : 0;
}

/* --- requests --- */

class Shop
{
      public:
	void show(const httplib::Request &request, httplib::Response &response)
	{
		int coupons = number_of(request, "coupons", 0), upstream_ms = number_of(request, "up", -1);
		auto name = titles.find(request.path, [](const std::string &path) { return "page " + path; });

		Coupons().accept(coupons ? coupons : 1, coupons ? COUPON_LEVELS : USUAL_LEVELS);
		count_categories(number_of(request, "depth", USUAL_DEPTH));
		ledger.book(number_of(request, "forgotten", -1));
		draw_pictures(number_of(request, "pictures", 0));
		if (upstream_ms >= 0)
			fetch_prices(upstream_ms);
		if (request.has_param("fail"))
			throw std::runtime_error(request.get_param_value("fail"));
		place_order(number_of(request, "rollback", -1));
		response.set_content(name + std::string(600, 'x'), "text/plain");
	}

	static void show_large(const httplib::Request &, httplib::Response &response)
	{
		response.set_content(std::string(LARGE_BYTES, 'x'), "text/plain");
	}

	static void write_report(int ms)
	{
		nap(ms);
	}

	static void report_failure(const std::exception &error, httplib::Response &response)
	{
		write_report(std::atoi(error.what()));
		response.status = 500;
	}

      private:
	Cache<std::string> titles;
	Ledger ledger;
};

} // namespace shop

QUIET static void end(int)
{
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::cerr << "usage: shop PORT UPSTREAM-PORT\n";
		return 2;
	}
	static shop::Shop all;
	httplib::Server server;

	signal(SIGTERM, end);
	signal(SIGPIPE, SIG_IGN);
	shop::upstream_port = std::atoi(argv[2]);
	auto show = [](const httplib::Request &request, httplib::Response &response) { all.show(request, response); };
	server.new_task_queue = [] { return new httplib::ThreadPool(shop::THREADS); };
	server.Get("/(page|other)[0-9]*", show);
	server.Post("/page", show);
	server.Get("/large", shop::Shop::show_large);
	server.set_exception_handler(
		[](const httplib::Request &, httplib::Response &response, std::exception_ptr error) {
			try {
				std::rethrow_exception(error);
			} catch (const std::exception &known) {
				shop::Shop::report_failure(known, response);
			}
		});
	server.set_tcp_nodelay(true);
	server.set_keep_alive_max_count(1000);
	return server.listen("127.0.0.1", std::atoi(argv[1])) ? 0 : 1;
}
