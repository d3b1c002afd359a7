#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The pages that nest flow diagram writes, in a real browser: no error, and search, fold and zoom do what they should,
# also with 100,000 calls on the page.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/browser.sh"
require_cmd python3 chromium

model=$root_dir/tests/golden/input/flow-model
"$model" event --slow 5 --honest 3 >"$room/small.txt"
# One session of 100,000 calls in an order that has no loops in it.
python3 - >"$room/large.txt" <<'PYTHON'
import random
pick = random.Random(1)
print('thread 1 pid=1 tid=1 name=x\n1 1 call main')
now = 10
for i in range(50000):
    print(f'1 {now} call step_{pick.randrange(97)}\n1 {now + 2} call inner_{i % 7}')
    print(f'1 {now + 4} return\n1 {now + 6} return')
    now += 10
print(f'1 {now} return')
PYTHON
for size in small large; do
	"$nest" flow import "$room/$size.txt" -o "$room/$size.trace" 2>/dev/null || exit 1
done
"$nest" flow diagram "$room/small.trace" --divergence -F html -o "$room/small.html" 2>/dev/null
"$nest" flow diagram "$room/large.trace" --by thread --max-lines 200 -F html -o "$room/large.html" 2>/dev/null
"$nest" flow diagram "$room/small.trace" --divergence --flame -F html -o "$room/flame.html" 2>/dev/null

page_try "$room/small.html" \
	'return document.querySelectorAll("#picture .row").length > 10 && document.title.includes("session")'
is "$got" true 'the page draws the session without an error'
page_try "$room/small.html" \
	'const i=document.getElementById("search");i.value="read_more";i.dispatchEvent(new Event("input"));
	return document.getElementById("hits").textContent + "; " + document.querySelectorAll(".now").length'
like "$got" '^1 of [0-9]+; 1$' 'search finds a function and goes to it'
page_try "$room/small.html" 'const v=document.getElementById("view");
	document.getElementById("fold").click();const i=items.findLastIndex(i => i[0] === CALL);show(i);
	const y=rowOf[i] * height() - v.scrollTop;return y >= 0 && y < v.clientHeight'
is "$got" true 'what is gone to is in view, also when it was folded away'
"$nest" flow diagram "$room/small.trace" --divergence -F html --depth 1 -o "$room/shallow.html" 2>/dev/null
page_try "$room/shallow.html" \
	'const i=document.getElementById("search");i.value="read_more";i.dispatchEvent(new Event("input"));
	return document.getElementById("hits").textContent'
is "$got" 'no hit (not all calls included)' 'search does not deny what is folded'
page_try "$room/small.html" 'const before=+document.body.dataset.rows;document.getElementById("fold").click();
	const folded=+document.body.dataset.rows;
	document.getElementById("unfold").click();return folded < before/3 && +document.body.dataset.rows === before'
is "$got" true 'fold and unfold'
page_try "$room/small.html" 'document.getElementById("unfold").click();const before=+document.body.dataset.rows;
	const row=[...document.querySelectorAll(".row")].find(r=>r.textContent.includes("wait_request"))
		||document.querySelector(".row");
	row.querySelector(".hit").dispatchEvent(new MouseEvent("click",{bubbles:true}));
	return +document.body.dataset.rows <= before'
is "$got" true 'a click folds one call'
page_try "$room/small.html" 'const drawn=()=>document.querySelectorAll("#heads rect").length;
	document.getElementById("fold").click();const few=drawn(),narrow=width();
	document.getElementById("unfold").click();
	return [few < drawn() / 2, narrow < width() / 2, drawn() === data.lines.length]'
is "$got" true,true,true 'lifelines of calls that are folded away take no room'
page_try "$room/small.html" 'document.getElementById("fold").click();let sum=0;
	const more=i=>Number((words(i).match(/[+]([0-9]+) call/) || [0, 0])[1]);
	for (const i of rows) if (kind(i) === CALL) sum += 1 + more(i);
	return sum + " " + document.title.match(/([0-9]+) calls/)[1]'
like "$got" '^([0-9]+) \1$' 'folded calls are counted: all together those of the session'
page_try "$room/small.html" \
	'const h=document.getElementById("space").style.height;document.getElementById("larger").click();
	return parseInt(document.getElementById("space").style.height) > parseInt(h)'
is "$got" true 'zoom'
page_try "$room/small.html" 'document.getElementById("unfold").click();
	const ends=i=>[Math.min(x(from(i)),x(to(i))),Math.max(x(from(i)),x(to(i)))];
	const call=rows.filter(i=>kind(i)===CALL).sort((p,q)=>ends(q)[1]-ends(q)[0]-ends(p)[1]+ends(p)[0])[0];
	const edge=ends(call)[0]+50, box=rows.find(i=>kind(i)===BOX);
	return [ends(call)[1]-ends(call)[0]>300, textAt(call,0)<edge, textAt(call,edge)>edge,
		textAt(call,edge)<ends(call)[1], frameRight(box)-frameLeft(box)<width()-40]'
is "$got" true,true,true,true,true 'a call that goes on to the left says its name; a frame is as wide as what is in it'
page_try "$room/large.html" \
	'const a=performance.now();document.getElementById("unfold").click();const rows=+document.body.dataset.rows;
	const v=document.getElementById("view");v.scrollTop=1e6;draw();
	const i=document.getElementById("search");i.value="inner_3";
	i.dispatchEvent(new Event("input"));const took=performance.now()-a;
	const drawn=document.querySelectorAll("#picture .row").length;
	return (rows > 100000) + " " + (drawn < 200) + " " + (took < 5000) + " " + hits.length'
like "$got" '^true true true 71[0-9][0-9]$' '100,000 calls: all there, few drawn at a time, quick'
page_try "$room/flame.html" \
	'const i=document.getElementById("search");i.value="recv";i.dispatchEvent(new Event("input"));
	return +document.body.dataset.boxes > 5 && +document.body.dataset.hits > 1'
is "$got" true 'the flame graph draws and searches'
finish
