#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 600
# runs beside others
# Junk on the command line of every command and tool: an unexpected argument, an unknown option, and a value that fits
# no option. Nothing crashes, nothing hangs, nothing runs as if it had been asked for.
. "$(dirname "$0")/lib.sh"
require_cmd python3

cat >"$room/junk.py" <<'END'
import concurrent.futures, os, re, subprocess, sys

nest, what = sys.argv[1:]
JUNK = "\x1b[31mjunk,"
# Arguments that any text fits: the command itself would run.
FREE = {"COMMAND", "PATTERN", "GLOB", "TEXT"}
os.chdir(os.path.dirname(os.path.abspath(__file__)))

def run(words):
    try:
        done = subprocess.run([nest] + words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    return done.returncode, done.stderr.decode("utf-8", "surrogateescape")

def names():
    found = re.findall(r"^  (\S+)  +\S", run_help(["help"]).split("Tools,")[0], re.M)
    found += [line.split()[0] for line in run_help(["tools", "--show", "tool"]).splitlines()[1:]]
    members = re.findall(r"^  (\w+)  +\S", run_help(["flow"]), re.M)
    return [[name] for name in found] + [["flow", member] for member in members]

def run_help(words):
    return subprocess.run([nest] + words, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout

def options_of(text):
    return re.findall(r"^  +(?:-\w, )?(--[\w-]+) (\S+)", text, re.M)

def required(text):
    usage = re.search(r"^Usage: nest .*", text, re.M).group()
    # A file that may be left out would be one of this host.
    return ["/nonexistent"] * len(re.findall(r" (?:[A-Z]+\d?|\[FILE\])(?= |$)", usage.split("[OPTIONS]", 1)[1]))

def cases(name):
    text = run_help(name + ["--help"])
    if what == "argument":
        # Some take any number of words: then the word must be one that is known.
        yield name + required(text) + [JUNK] * 5, {2, 3, 5}
    elif what == "option":
        yield name + ["--no-such-option"], {2}
        yield name + ["-" + "\x01"], {2}
    else:
        where = ["-f", "/nonexistent"] if "--file" in text else required(text)
        for option, argument in options_of(text):
            if argument not in FREE and (option != "--file"):
                # Text that is no mistake by itself meets a recording that does not exist.
                yield name + [option, JUNK] + where, {2, 3, 5} if where else {0, 2, 3, 5}

def judge(case):
    words, allowed = case
    code, said = run(words)
    if code not in allowed:
        return f"{words}: {code}, not {sorted(allowed)}: {said[-200:]!r}"
    if "\x1b" in said:
        return f"{words}: prints an escape byte: {said!r}"
    if code and not re.search(r"^nest: ", said, re.M):
        return f"{words}: ends with {code} and says nothing"

all_cases = [case for name in names() for case in cases(name)]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    wrong = [line for line in pool.map(judge, all_cases) if line]
print(f"# {len(all_cases)} command lines")
print("\n".join(wrong[:40]))
sys.exit(bool(wrong) or len(all_cases) < 90)
END

for what in argument option value; do
	ok "junk as $what: no crash, no hang, a documented exit code and a message" \
		python3 "$room/junk.py" "$nest" "$what"
done
finish
