#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout: 300
# runs beside others
# Every option of every tool: what a tool's help lists, the tool takes; what it does not list, it refuses with the
# reason; and --where lists no field that its events never have.
. "$(dirname "$0")/lib.sh"
require_cmd python3

cat >"$room/options.py" <<'END'
import concurrent.futures, os, re, subprocess, sys

nest = sys.argv[1]
os.chdir(os.path.dirname(os.path.abspath(__file__)))
VALUES = {"PID": "1", "PORT,..": "80", "NETNS": "4026531840", "PATH": "/", "IFACE": "lo", "SECONDS": "1",
          "SIZE": "1MiB", "N": "3", "FILE": "demo:lossy-path", "NAME": "csv", "FIELD,..": "time", "EXPR": "time > 0",
          "TIME": "1ms", "ADDR": "127.0.0.1", "NET,..": "10.0.0.0/8", "HZ": "99"}

def run(words):
    done = subprocess.run([nest] + words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()

def options_of(tool):
    text = run([tool, "--help"])[1]
    return {m[2]: m[3] for m in re.finditer(r"^ +(?:(-\w), )?(--[\w-]+)(?: ([A-Z][\w,.]*))?(?=$|  )", text, re.M)}

def value_of(option, argument):
    if option in ("--from", "--to"):
        return ["+0s"]
    return [] if argument is None else ["out"] if option == "--output" else [VALUES[argument]]

# Of a recording without its events: 5 after the command line was accepted, 2 if not, and nothing is attached.
def refused(tool, option, argument):
    words = [tool] + (["f"] if tool == "funccount" else [])
    words += ["-f", "demo:lossy-path"] if option != "--file" else []
    code, _, said = run(words + [option] + value_of(option, argument) + (["-p", "1"] if option == "--children" else []))
    if code == 2:
        return said.splitlines()[0] if said.startswith("nest: ") else "no reason"
    return None if code in (0, 2, 5) else f"exit code {code}: {said[-200:]}"

def judge(case):
    tool, option, argument, listed = case
    reason = refused(tool, option, argument)
    if reason and "-f excludes" in reason:
        return None
    if listed and reason:
        return f"{tool} {option} is listed and not accepted: {reason}"
    if not listed and (not reason or not re.search("does not apply|unknown option|needs -p", reason)):
        return f"{tool} {option} is not listed and not refused: {reason}"

tools = [line.split()[0] for line in run(["tools", "--show", "tool"])[1].splitlines()[1:]]
listed = {tool: options_of(tool) for tool in tools}
every = {option: argument for options in listed.values() for option, argument in options.items()}
cases = [(tool, option, listed[tool].get(option, argument), option in listed[tool])
         for tool in tools for option, argument in every.items()]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    wrong = [line for line in pool.map(judge, cases) if line]
print(f"# {len(cases)} command lines")
print("\n".join(wrong[:40]))
sys.exit(bool(wrong) or len(tools) < 60 or len(every) < 40)
END
ok 'help and command line agree' python3 "$room/options.py" "$nest"

for tool in irqlat softirqlat napilat softnet; do
	for where in 'pid == 1' 'comm == "x"' 'raddr == 10.0.0.1' 'cgroup == "/x"'; do
		"$nest" "$tool" --where "$where" -d 1 >/dev/null 2>"$room/err"
		is "$?" 2 "$tool --where '$where' is refused"
		like "$(cat "$room/err")" 'unknown field' 'with the reason'
	done
	unlike "$("$nest" "$tool" --where help)" '^(pid|comm|laddr|cgroup|container|ustack) ' 'and not listed'
done
for tool in irqlat softirqlat napilat softnet 'funccount tcp_*' 'trace irq,sock.send'; do
	# shellcheck disable=SC2086
	(cd "$room" && "$nest" $tool -d 1 -- true) >/dev/null 2>"$room/err"
	is "$?" 2 "$tool -- COMMAND: nothing can be of its processes"
	like "$(cat "$room/err")" 'a command does not apply: .* has no pid' 'with the reason'
	unlike "$("$nest" ${tool%% *} --help)" '^Usage: nest [a-su-z].*-- COMMAND' \
		'and not listed'
done
for command in 'tcptop --stack' 'tcprtt --ustack' 'tcpretrans -c --stack' 'trace sock.send --count --stack'; do
	# shellcheck disable=SC2086
	"$nest" $command -d 1 >/dev/null 2>"$room/err"
	is "$?" 2 "$command: sums have no stack of each event"
	like "$(cat "$room/err")" '--count --by [ku]stack groups by it' 'the message says how to group by it'
done

finish
