/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/alloc.h"
#include "kernel/proctext.h"
#include "unit.h"

TEST(lines_of_any_text)
{
	const char *text = "a\n\nlast", *line;
	size_t n;

	REQUIRE(proctext_line(&text, &line, &n));
	CHECK_EQ_UINT(n, 1);
	REQUIRE(proctext_line(&text, &line, &n));
	CHECK_EQ_UINT(n, 0);
	REQUIRE(proctext_line(&text, &line, &n));
	CHECK_EQ_UINT(n, 4);
	CHECK(!proctext_line(&text, &line, &n));
	text = "";
	CHECK(!proctext_line(&text, &line, &n));
}

TEST(configuration)
{
	static const char text[] =
		"#\n# Automatically generated\n#\nCONFIG_BPF=y\nCONFIG_BPF_JIT=y\nCONFIG_VETH=m\n"
		"# CONFIG_KPROBES is not set\nCONFIG_NAME=\"\"\nCONFIG_HZ=250\nCONFIG_OLD=n\nCONFIG_CUT=";

	CHECK_EQ_INT(proctext_config(text, "CONFIG_BPF"), CONFIG_ON);
	CHECK_EQ_INT(proctext_config(text, "CONFIG_BPF_JIT"), CONFIG_ON);
	CHECK_EQ_INT(proctext_config(text, "CONFIG_VETH"), CONFIG_MODULE);
	CHECK_EQ_INT(proctext_config(text, "CONFIG_KPROBES"), CONFIG_OFF);
	CHECK_EQ_INT(proctext_config(text, "CONFIG_HZ"), CONFIG_ON);
	CHECK_EQ_INT(proctext_config(text, "CONFIG_OLD"), CONFIG_OFF);
	/* Not listed: a dependency is off. */
	CHECK_EQ_INT(proctext_config(text, "CONFIG_FPROBE"), CONFIG_OFF);
	/* A prefix of another option's name is not that option. */
	CHECK_EQ_INT(proctext_config(text, "CONFIG_BP"), CONFIG_OFF);
	CHECK_EQ_INT(proctext_config(text, "CONFIG_CUT"), CONFIG_OFF);
}

TEST(configuration_of_nothing)
{
	CHECK_EQ_INT(proctext_config("", "CONFIG_BPF"), CONFIG_UNKNOWN);
	CHECK_EQ_INT(proctext_config("\n\n\n", "CONFIG_BPF"), CONFIG_UNKNOWN);
	CHECK_EQ_INT(proctext_config("<html>CONFIG_BPF=y</html>", "CONFIG_BPF"), CONFIG_UNKNOWN);
}

static const char mountinfo[] =
	"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	"23 22 0:5 / /proc rw shared:5 master:1 - proc proc rw\n"
	"30 22 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
	"31 22 0:27 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	"32 22 0:28 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"
	"33 22 0:29 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup rw\n";

TEST(mounts)
{
	char path[64], controllers[64];

	CHECK_OK(proctext_cgroup2_mount(mountinfo, path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/sys/fs/cgroup/unified");
	proctext_cgroup1_controllers(mountinfo, controllers, sizeof(controllers));
	CHECK_EQ_TEXT(controllers, "cpu,cpuacct,memory");
}

TEST(mount_paths_with_blanks)
{
	char path[64] = "untouched";

	CHECK_OK(proctext_cgroup2_mount("1 2 0:1 / /a\\040b\\134c rw - cgroup2 x rw\n", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/a b\\c");
	/* A path that ends in the middle of an escape is unchanged. */
	CHECK_OK(proctext_cgroup2_mount("1 2 0:1 / /a\\04 rw - cgroup2 x rw\n", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/a\\04");
	CHECK_OK(proctext_cgroup2_mount("1 2 0:1 / /a\\999 rw - cgroup2 x rw\n", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/a\\999");
}

TEST(mounts_that_do_not_fit)
{
	char path[8], controllers[6];

	CHECK_ERR(proctext_cgroup2_mount(mountinfo, path, sizeof(path)), -E2BIG);
	/* Only whole names that fit. */
	proctext_cgroup1_controllers(mountinfo, controllers, sizeof(controllers));
	CHECK_EQ_TEXT(controllers, "cpu");
}

TEST(mounts_of_nonsense)
{
	static const char *const texts[] = {
		"",
		"\n",
		" - ",
		" - cgroup2",
		"1 2 3 - cgroup2 x rw",
		"1 2 0:1 / /path rw - ",
		"1 2 0:1 / /path rw - cgroup2",
		"1 2 0:1 / /path rw - cgroup2 x",
		"1 2 0:1 / /path rw cgroup2 x rw",
		"cgroup2 cgroup2 cgroup2 cgroup2 cgroup2 cgroup2",
	};
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		unit_note("'%s'", texts[i]);
		CHECK_ERR(proctext_cgroup2_mount(texts[i], path, sizeof(path)), -ENODATA);
		proctext_cgroup1_controllers(texts[i], path, sizeof(path));
		CHECK_EQ_TEXT(path, "");
	}
}

/* No prefix of a valid text may be read past its end. */
TEST(cut_texts)
{
	for (size_t n = 0; n < sizeof(mountinfo); n++) {
		char *text = xstrndup(mountinfo, n), path[64], controllers[64];
		int r = proctext_cgroup2_mount(text, path, sizeof(path));

		unit_note("first %zu bytes", n);
		CHECK(r == -ENODATA || (r == 0 && strcmp(path, "/sys/fs/cgroup/unified") == 0));
		proctext_cgroup1_controllers(text, controllers, sizeof(controllers));
		CHECK(strlen(controllers) < sizeof(controllers));
		free(text);
	}
}

TEST(own_control_group)
{
	char path[64];

	CHECK_OK(proctext_cgroup2_own("9:name=systemd:/\n1:cpu:/x\n0::/user.slice/a b\n", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/user.slice/a b");
	CHECK_OK(proctext_cgroup2_own("0::/", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/");
	CHECK_ERR(proctext_cgroup2_own("1:cpu:/x\n", path, sizeof(path)), -ENODATA);
	CHECK_ERR(proctext_cgroup2_own("10::/x\n", path, sizeof(path)), -ENODATA);
	CHECK_ERR(proctext_cgroup2_own("0::", path, sizeof(path)), -ENODATA);
	CHECK_ERR(proctext_cgroup2_own("", path, sizeof(path)), -ENODATA);
	CHECK_ERR(proctext_cgroup2_own("0::/12345678901234567890", path, 8), -E2BIG);
}

TEST(lockdown_modes)
{
	char word[16];

	CHECK_OK(proctext_bracketed("none [integrity] confidentiality\n", word, sizeof(word)));
	CHECK_EQ_TEXT(word, "integrity");
	CHECK_OK(proctext_bracketed("[none] integrity confidentiality", word, sizeof(word)));
	CHECK_EQ_TEXT(word, "none");
	CHECK_ERR(proctext_bracketed("", word, sizeof(word)), -ENODATA);
	CHECK_ERR(proctext_bracketed("none integrity", word, sizeof(word)), -ENODATA);
	CHECK_ERR(proctext_bracketed("none [integrity", word, sizeof(word)), -ENODATA);
	CHECK_ERR(proctext_bracketed("] [", word, sizeof(word)), -ENODATA);
	CHECK_ERR(proctext_bracketed("[]", word, sizeof(word)), -ENODATA);
	CHECK_ERR(proctext_bracketed("[aaaaaaaaaaaaaaaaaaaaaaa]", word, sizeof(word)), -E2BIG);
}

TEST(symbols)
{
	CHECK_EQ_INT(proctext_kallsyms_shown("0000000000000000 A fixed\nffffffff81000000 T _text\n"), 1);
	CHECK_EQ_INT(proctext_kallsyms_shown("0000000000000000 A fixed\n0000000000000000 T _text\n"), 0);
	/* The last line may be truncated; a line without a symbol does not count. */
	CHECK_EQ_INT(proctext_kallsyms_shown("0000000000000000 A fixed\nffffffff81"), 0);
	CHECK_ERR(proctext_kallsyms_shown(""), -ENODATA);
	CHECK_ERR(proctext_kallsyms_shown("ffffffff81000000"), -ENODATA);
	CHECK_ERR(proctext_kallsyms_shown("ffffffff81000000 T"), -ENODATA);
	CHECK_ERR(proctext_kallsyms_shown("hello world\n1 T x\n"), -ENODATA);
}

TEST(pressure)
{
	double value = -1;

	CHECK_OK(proctext_pressure("some avg10=12.34 avg60=1.00 avg300=0.05 total=1234\nfull avg10=0.00\n", &value));
	CHECK_NEAR(value, 12.34, 1e-9);
	value = -1;
	CHECK_ERR(proctext_pressure("", &value), -ENODATA);
	CHECK_ERR(proctext_pressure("some", &value), -ENODATA);
	CHECK_ERR(proctext_pressure("some avg10=", &value), -ENODATA);
	CHECK_ERR(proctext_pressure("some avg10=x avg60=1", &value), -ENODATA);
	CHECK_ERR(proctext_pressure("some avg10=101 avg60=1", &value), -ENODATA);
	CHECK_ERR(proctext_pressure("some avg60=1 avg10=2", &value), -ENODATA);
	CHECK_ERR(proctext_pressure("full avg10=1.00\n", &value), -ENODATA);
	CHECK_ERR(proctext_pressure("some avg10=1111111111111111111111111111111111111111111", &value), -ENODATA);
	CHECK_NEAR(value, -1, 0);
}

TEST(numbers)
{
	int64_t value = 7;

	CHECK_OK(proctext_number("2\n", &value));
	CHECK_EQ_INT(value, 2);
	CHECK_OK(proctext_number(" -1 \n", &value));
	CHECK_EQ_INT(value, -1);
	value = 7;
	CHECK_ERR(proctext_number("", &value), -ENODATA);
	CHECK_ERR(proctext_number("\n", &value), -ENODATA);
	CHECK_ERR(proctext_number("2 3", &value), -ENODATA);
	CHECK_ERR(proctext_number("2x", &value), -ENODATA);
	CHECK_ERR(proctext_number("99999999999999999999999", &value), -ENODATA);
	CHECK_ERR(proctext_number("1111111111111111111111111111111111111111111111", &value), -ENODATA);
	CHECK_EQ_INT(value, 7);
}

TEST(runs_of_threads)
{
	static const char *const wrong[] = {"",        "1",      "1 2",    "1 2 x",
					    "1 2 3 4", "-1 2 3", "1  2 3", "99999999999999999999999 2 3"};
	struct proctext_run run;

	CHECK_OK(proctext_schedstat("231536165 70942943 1420\n", &run));
	CHECK_EQ_UINT(run.ran_ns, 231536165);
	CHECK_EQ_UINT(run.times, 1420);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		unit_note("%s", wrong[i]);
		CHECK_ERR(proctext_schedstat(wrong[i], &run), -ENODATA);
	}
	CHECK_EQ_UINT(run.times, 1420);
}

TEST(releases)
{
	CHECK_EQ_UINT(proctext_release("6.18.44-fc"), 6018);
	CHECK_EQ_UINT(proctext_release("6.1.0-53-amd64"), 6001);
	CHECK_EQ_UINT(proctext_release("5.15"), 5015);
	CHECK_EQ_UINT(proctext_release("10.0-rc1"), 10000);
	CHECK_EQ_UINT(proctext_release(""), 0);
	CHECK_EQ_UINT(proctext_release("6"), 0);
	CHECK_EQ_UINT(proctext_release("6."), 0);
	CHECK_EQ_UINT(proctext_release(".1"), 0);
	CHECK_EQ_UINT(proctext_release("x.y"), 0);
	CHECK_EQ_UINT(proctext_release("6.99999999999999999999"), 0);
	CHECK(proctext_release("6.9") < proctext_release("6.10"));
}

/* Random bytes: no access out of bounds, as sanitizers check. */
TEST(random_bytes)
{
	static const char alphabet[] = "0123456789 \n:/-=[]\\,cgroup2CONFIG_avg10somefT";
	uint64_t state = 42;

	for (unsigned round = 0; round < 3000; round++) {
		size_t n = unit_random(&state) % 200;
		char *text = xzalloc(n + 1), word[16];
		double real;
		struct proctext_run run;
		int64_t number;
		int r;

		for (size_t i = 0; i < n; i++)
			text[i] = alphabet[unit_random(&state) % (sizeof(alphabet) - 1)];
		unit_note("round %u", round);
		r = proctext_cgroup2_mount(text, word, sizeof(word));
		CHECK(r == 0 || r == -ENODATA || r == -E2BIG);
		r = proctext_cgroup2_own(text, word, sizeof(word));
		CHECK(r == 0 || r == -ENODATA || r == -E2BIG);
		r = proctext_bracketed(text, word, sizeof(word));
		CHECK(r == 0 || r == -ENODATA || r == -E2BIG);
		CHECK(proctext_pressure(text, &real) <= 0 && proctext_number(text, &number) <= 0);
		CHECK(proctext_schedstat(text, &run) <= 0);
		CHECK(proctext_kallsyms_shown(text) <= 1 && proctext_release(text) <= 999999);
		CHECK(proctext_config(text, "CONFIG_X") <= CONFIG_ON);
		proctext_cgroup1_controllers(text, word, sizeof(word));
		CHECK(strlen(word) < sizeof(word));
		free(text);
	}
}
