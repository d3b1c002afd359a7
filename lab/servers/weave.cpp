// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Coroutines of C++20 on threads that steal work from each other: a request is one coroutine that waits for sockets,
 * timers, credits, a batch, parts of its page and a shard, and continues in whichever thread is free. Shards have a
 * thread of their own each. A fault is switched on by the request that suffers from it:
 *   ?slow=MS       computation in one step
 *   ?slices=N      computation in so many slices, each of which returns to the queue
 *   ?credit=MS     credits of the tenant are all taken, and come back after so long
 *   ?batch=MS      the batch that the request joins is not full, and written when its timer ends
 *   ?part=MS       one of the three parts that others make takes so long
 *   ?shard=N&compact=MS   the shard's thread is busy for so long with something else
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <coroutine>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "flow/runtime/nestflow.h"

#define QUIET [[gnu::no_instrument_function]]

namespace weave
{

using Handle = std::coroutine_handle<>;
using Clock = std::chrono::steady_clock;

constexpr int WORKERS = 4, SHARDS = 8, PARTS = 3;
constexpr size_t PAGE_BYTES = 600, LARGE_BYTES = 6 * 1024 * 1024, READ_BYTES = 8192;
constexpr long STEP_NS = 20000, SLICE_NS = 2000;
constexpr int USUAL_SLICES = 3, SLICES_MAX = 1000000;

static int upstream_port;

/* CPU time: on a busy machine a computation is as much work, and takes longer. */
QUIET static void spin(long ns)
{
	timespec t;
	long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * 1000000000L + t.tv_nsec + ns;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000000000L + t.tv_nsec < end);
}

/* --- threads --- */

/* Each thread has a queue: it takes the newest of its own, or the oldest of another one's. */
class Pool
{
      public:
	void start()
	{
		sem_init(&ready, 0, 0);
		for (int i = 0; i < WORKERS; i++)
			std::thread([this, i] { run(i); }).detach();
	}

	void add(Handle handle)
	{
		int to = mine >= 0 ? mine : static_cast<int>(turn++ % WORKERS);

		{
			std::lock_guard<std::mutex> hold(queues[to].lock);
			queues[to].waiting.push_back(handle);
		}
		sem_post(&ready);
	}

      private:
	struct Queue {
		std::mutex lock;
		std::deque<Handle> waiting;
	};

	Handle take_own()
	{
		std::lock_guard<std::mutex> hold(queues[mine].lock);
		auto &waiting = queues[mine].waiting;
		/* Every other time the oldest, so that it is not left behind. */
		bool newest = ++taken % 2;

		if (waiting.empty())
			return nullptr;
		Handle handle = newest ? waiting.back() : waiting.front();

		if (newest)
			waiting.pop_back();
		else
			waiting.pop_front();
		return handle;
	}

	Handle steal()
	{
		for (int i = 1; i < WORKERS; i++) {
			Queue &other = queues[(mine + i) % WORKERS];
			std::lock_guard<std::mutex> hold(other.lock);

			if (other.waiting.empty())
				continue;
			Handle handle = other.waiting.front();

			other.waiting.pop_front();
			return handle;
		}
		return nullptr;
	}

	void run(int number)
	{
		mine = number;
		for (;;) {
			Handle handle = nullptr;

			while (sem_wait(&ready) < 0)
				;
			while (!handle) {
				handle = take_own();
				if (!handle)
					handle = steal();
			}
			resume(handle);
		}
	}

	static void resume(Handle handle)
	{
		NESTFLOW(pop, handle.address());
		handle.resume();
	}

	static thread_local int mine;
	static thread_local unsigned taken;
	Queue queues[WORKERS];
	std::atomic<unsigned> turn{0};
	sem_t ready;
};

thread_local int Pool::mine = -1;
thread_local unsigned Pool::taken;
static Pool pool;

/* --- sockets and timers --- */

class Poller
{
      public:
	void start()
	{
		epoll_event event = {.events = EPOLLIN, .data = {.ptr = nullptr}};

		events = epoll_create1(EPOLL_CLOEXEC);
		changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		epoll_ctl(events, EPOLL_CTL_ADD, changed, &event);
		std::thread([this] { run(); }).detach();
	}

	void watch(int fd, uint32_t what, Handle handle)
	{
		epoll_event event = {.events = what | EPOLLONESHOT, .data = {.ptr = handle.address()}};

		if (epoll_ctl(events, EPOLL_CTL_MOD, fd, &event) < 0)
			epoll_ctl(events, EPOLL_CTL_ADD, fd, &event);
	}

	void wake_at(Clock::time_point when, Handle handle)
	{
		uint64_t one = 1;

		{
			std::lock_guard<std::mutex> hold(lock);
			timers.emplace(when, handle);
		}
		if (write(changed, &one, sizeof(one)) < 0)
			perror("eventfd");
	}

      private:
	int patience()
	{
		std::lock_guard<std::mutex> hold(lock);

		if (timers.empty())
			return -1;
		auto left = timers.begin()->first - Clock::now();
		auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();

		return ms < 0 ? 0 : static_cast<int>(ms);
	}

	void end_timers()
	{
		std::lock_guard<std::mutex> hold(lock);

		while (!timers.empty() && timers.begin()->first <= Clock::now()) {
			pool.add(timers.begin()->second);
			timers.erase(timers.begin());
		}
	}

	void run()
	{
		epoll_event found[64];

		for (;;) {
			int n = epoll_wait(events, found, 64, patience());

			for (int i = 0; i < n; i++) {
				uint64_t count;

				if (found[i].data.ptr)
					pool.add(Handle::from_address(found[i].data.ptr));
				else if (read(changed, &count, sizeof(count)) < 0)
					perror("eventfd");
			}
			end_timers();
		}
	}

	int events, changed;
	std::mutex lock;
	std::multimap<Clock::time_point, Handle> timers;
};

static Poller poller;

/* --- coroutines --- */

/* Begins when it is awaited; who awaits it continues at its end. */
template <typename Value> class Task
{
      public:
	struct promise_type {
		Value value{};
		Handle continuation;

		QUIET Task get_return_object()
		{
			return Task(std::coroutine_handle<promise_type>::from_promise(*this));
		}
		QUIET std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		struct End {
			QUIET bool await_ready() noexcept
			{
				return false;
			}
			QUIET void await_suspend(std::coroutine_handle<promise_type> handle) noexcept
			{
				handle.promise().continuation.resume();
			}
			QUIET void await_resume() noexcept
			{
			}
		};
		QUIET End final_suspend() noexcept
		{
			return {};
		}
		QUIET void return_value(Value result)
		{
			value = std::move(result);
		}
		QUIET void unhandled_exception()
		{
			std::terminate();
		}
	};

	QUIET explicit Task(std::coroutine_handle<promise_type> handle) : handle(handle)
	{
	}
	QUIET Task(Task &&other) noexcept : handle(std::exchange(other.handle, nullptr))
	{
	}
	QUIET ~Task()
	{
		if (handle)
			handle.destroy();
	}
	QUIET bool await_ready()
	{
		return false;
	}
	QUIET void await_suspend(Handle who)
	{
		handle.promise().continuation = who;
		handle.resume();
	}
	QUIET Value await_resume()
	{
		return std::move(handle.promise().value);
	}

      private:
	std::coroutine_handle<promise_type> handle;
};

/* Begins at once, and belongs to nobody. */
struct Detached {
	struct promise_type {
		QUIET Detached get_return_object()
		{
			return {};
		}
		QUIET std::suspend_never initial_suspend() noexcept
		{
			return {};
		}
		QUIET std::suspend_never final_suspend() noexcept
		{
			return {};
		}
		QUIET void return_void()
		{
		}
		QUIET void unhandled_exception()
		{
			std::terminate();
		}
	};
};

struct Wait {
	QUIET bool await_ready()
	{
		return false;
	}
	QUIET void await_resume()
	{
	}
};

struct Ready : Wait {
	int fd;
	uint32_t what;

	QUIET Ready(int fd, uint32_t what) : fd(fd), what(what)
	{
	}
	void await_suspend(Handle handle) const
	{
		NESTFLOW(push, handle.address());
		poller.watch(fd, what, handle);
	}
};

struct After : Wait {
	int ms;

	QUIET explicit After(int ms) : ms(ms)
	{
	}
	void await_suspend(Handle handle) const
	{
		NESTFLOW(push, handle.address());
		poller.wake_at(Clock::now() + std::chrono::milliseconds(ms), handle);
	}
};

struct Yield : Wait {
	void await_suspend(Handle handle) const
	{
		NESTFLOW(push, handle.address());
		pool.add(handle);
	}
};

/* --- shards: a thread each --- */

class Shard
{
      public:
	void start()
	{
		sem_init(&ready, 0, 0);
		std::thread([this] { run(); }).detach();
	}
	void add(std::function<void()> job)
	{
		{
			std::lock_guard<std::mutex> hold(lock);
			jobs.push_back(std::move(job));
		}
		sem_post(&ready);
	}
	void compact(int ms)
	{
		timespec t = {ms / 1000, ms % 1000 * 1000000L};

		nanosleep(&t, nullptr);
	}
	void append()
	{
		spin(STEP_NS);
	}

      private:
	void run()
	{
		for (;;) {
			std::function<void()> job;

			while (sem_wait(&ready) < 0)
				;
			{
				std::lock_guard<std::mutex> hold(lock);
				job = std::move(jobs.front());
				jobs.pop_front();
			}
			job();
		}
	}

	std::mutex lock;
	std::deque<std::function<void()>> jobs;
	sem_t ready;
};

static Shard shards[SHARDS];

/* Continues in the shard's thread. */
struct OnShard : Wait {
	Shard &shard;

	QUIET explicit OnShard(Shard &shard) : shard(shard)
	{
	}
	void await_suspend(Handle handle) const
	{
		NESTFLOW(push, handle.address());
		shard.add([handle] {
			NESTFLOW(pop, handle.address());
			handle.resume();
		});
	}
};

/* --- credits --- */

class Tenant
{
      public:
	explicit Tenant(int taken_ms) : free_at(Clock::now() + std::chrono::milliseconds(taken_ms))
	{
	}
	int left() const
	{
		auto ms = std::chrono::ceil<std::chrono::milliseconds>(free_at - Clock::now()).count();

		return ms < 0 ? 0 : static_cast<int>(ms);
	}

      private:
	Clock::time_point free_at;
};

/* --- a request --- */

struct Request {
	std::string page;
	int slow_ms, slices, credit_ms, batch_ms, part_ms, upstream_ms, shard, compact_ms;
	bool last;
};

static int number_of(const std::string &line, const char *name, int fallback)
{
	auto at = line.find(name);

	return at == std::string::npos ? fallback : std::atoi(line.c_str() + at + strlen(name));
}

static Request parse_request(const std::string &text)
{
	std::string line = text.substr(0, text.find('\r'));
	size_t begin = line.find('/'), end = line.find_first_of("? ", begin);

	return {.page = line.substr(begin, end - begin),
		.slow_ms = number_of(line, "slow=", 0),
		.slices = number_of(line, "slices=", USUAL_SLICES),
		.credit_ms = number_of(line, "credit=", 0),
		.batch_ms = number_of(line, "batch=", 0),
		.part_ms = number_of(line, "part=", -1),
		.upstream_ms = number_of(line, "up=", -1),
		.shard = number_of(line, "shard=", 0) % SHARDS,
		.compact_ms = number_of(line, "compact=", 0),
		.last = text.find("Connection: close") != std::string::npos};
}

static Task<bool> take_credit(int taken_ms)
{
	Tenant tenant(taken_ms);

	while (tenant.left() > 0)
		co_await After(tenant.left());
	co_return true;
}

static Task<bool> join_batch(int timer_ms)
{
	if (timer_ms > 0)
		co_await After(timer_ms);
	else
		co_await Yield();
	co_return true;
}

static void count_slice()
{
	spin(SLICE_NS);
}

static Task<bool> count_rows(int slices)
{
	for (int i = 0; i < slices && i < SLICES_MAX; i++) {
		count_slice();
		co_await Yield();
	}
	co_return true;
}

static void compress_page(int ms)
{
	spin(STEP_NS + ms * 1000000L);
}

static int connect_upstream()
{
	sockaddr_in to = {};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_family = AF_INET;
	to.sin_port = htons(static_cast<uint16_t>(upstream_port));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof(to)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static Task<bool> ask_upstream(int ms)
{
	std::string text = "GET /?ms=" + std::to_string(ms) + " HTTP/1.0\r\n\r\n";
	int fd = connect_upstream();
	char reply[2048];

	if (fd < 0)
		co_return false;
	if (send(fd, text.data(), text.size(), MSG_NOSIGNAL) > 0) {
		co_await Ready(fd, EPOLLIN);
		if (recv(fd, reply, sizeof(reply), 0) < 0)
			perror("upstream");
	}
	close(fd);
	co_return true;
}

/* Who comes last continues the request. */
struct Join {
	std::atomic<int> left{PARTS + 1};
	Handle whole;
};

static Detached fetch_part(std::shared_ptr<Join> join, int ms)
{
	co_await Yield();
	co_await ask_upstream(ms);
	if (--join->left == 0)
		pool.add(join->whole);
}

struct Joined : Wait {
	std::shared_ptr<Join> join;

	QUIET explicit Joined(std::shared_ptr<Join> join) : join(std::move(join))
	{
	}
	void await_suspend(Handle handle) const
	{
		std::shared_ptr<Join> kept = join;

		NESTFLOW(push, handle.address());
		kept->whole = handle;
		if (--kept->left == 0)
			pool.add(handle);
	}
};

static Task<bool> gather_parts(int slow_ms)
{
	auto join = std::make_shared<Join>();

	for (int i = 0; i < PARTS; i++)
		fetch_part(join, i == 1 ? slow_ms : 0);
	co_await Joined(join);
	co_return true;
}

static Task<bool> write_shard(int number, int compact_ms)
{
	Shard &shard = shards[number];

	if (compact_ms > 0)
		shard.add([&shard, compact_ms] { shard.compact(compact_ms); });
	co_await OnShard(shard);
	shard.append();
	co_await Yield();
	co_return true;
}

static std::string make_answer(const Request &request)
{
	bool found = request.page.rfind("/missing", 0) != 0;
	size_t size = !found ? 0 : request.page == "/large" ? LARGE_BYTES : PAGE_BYTES;

	return std::string(found ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 Not Found") +
	       "\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" + std::string(size, 'x');
}

/* --- connections --- */

static size_t request_size(const std::string &text)
{
	size_t end = text.find("\r\n\r\n"), length = text.find("Content-Length:");

	if (end == std::string::npos)
		return 0;
	end += 4;
	if (length < end)
		end += static_cast<size_t>(std::atoi(text.c_str() + length + 15));
	return text.size() < end ? 0 : end;
}

/* False at the end of the connection. */
static bool receive_some(int fd, std::string &text)
{
	char part[READ_BYTES];
	ssize_t n = recv(fd, part, sizeof(part), MSG_DONTWAIT);

	if (n > 0)
		text.append(part, static_cast<size_t>(n));
	return n > 0 || (n < 0 && errno == EAGAIN);
}

static Task<size_t> read_request(int fd, std::string &text)
{
	size_t whole;

	while (!(whole = request_size(text))) {
		co_await Ready(fd, EPOLLIN);
		if (!receive_some(fd, text))
			co_return 0;
	}
	co_return whole;
}

static ssize_t send_some(int fd, const std::string &answer, size_t done)
{
	ssize_t n = send(fd, answer.data() + done, answer.size() - done, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 && errno == EAGAIN ? 0 : n;
}

static Task<bool> write_answer(int fd, const std::string &answer)
{
	for (size_t done = 0; done < answer.size();) {
		ssize_t n = send_some(fd, answer, done);

		if (n < 0)
			co_return false;
		done += static_cast<size_t>(n);
		if (done < answer.size())
			co_await Ready(fd, EPOLLOUT);
	}
	co_return true;
}

static Task<bool> serve_request(int fd, const Request &request)
{
	co_await take_credit(request.credit_ms);
	co_await count_rows(request.slices);
	co_await write_shard(request.shard, request.compact_ms);
	co_await join_batch(request.batch_ms);
	if (request.part_ms >= 0)
		co_await gather_parts(request.part_ms);
	if (request.upstream_ms >= 0)
		co_await ask_upstream(request.upstream_ms);
	compress_page(request.slow_ms);
	std::string answer = make_answer(request);

	co_return co_await write_answer(fd, answer) && !request.last;
}

static Detached serve_connection(int fd)
{
	std::string text;
	size_t whole;
	bool more = true;

	co_await Yield();
	while (more && (whole = co_await read_request(fd, text)) > 0) {
		Request request = parse_request(text);

		text.erase(0, whole);
		more = co_await serve_request(fd, request);
	}
	close(fd);
}

static int listen_at(int port)
{
	sockaddr_in at = {};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	at.sin_family = AF_INET;
	at.sin_port = htons(static_cast<uint16_t>(port));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, reinterpret_cast<sockaddr *>(&at), sizeof(at)) < 0 || listen(fd, 512) < 0) {
		perror("weave");
		std::exit(1);
	}
	return fd;
}

} // namespace weave

QUIET static void end(int)
{
	_exit(0);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: weave PORT UPSTREAM-PORT\n");
		return 2;
	}
	int listener = weave::listen_at(std::atoi(argv[1])), one = 1;

	signal(SIGTERM, end);
	signal(SIGPIPE, SIG_IGN);
	weave::upstream_port = std::atoi(argv[2]);
	weave::pool.start();
	weave::poller.start();
	for (auto &shard : weave::shards)
		shard.start();
	for (;;) {
		int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		weave::serve_connection(fd);
	}
}
